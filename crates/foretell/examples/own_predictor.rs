//! How do I bring a predictor of my own?

use foretell::{
    FitError, Forecast, Model, Predictor, RunQuery, TrainingSet, check_predictor, check_training,
};

/// Forecasts that a run gains from here on what the completed runs gained on average.
struct MeanGain;

/// The mean gain, its standard deviation, and the forecast of each completed run from the others.
struct Fitted(f64, f64, Vec<Forecast>);

impl Predictor for MeanGain {
    fn name(&self) -> &'static str {
        "mean-gain"
    }

    fn fit(&self, training: &TrainingSet) -> Result<Box<dyn Model>, FitError> {
        check_training(self.name(), 2, training)?;
        let (n, ends) = (training.len() as f64, &training.targets);
        let gains = (0..training.len()).map(|i| ends[i] - training.query(i).last_score());
        let mean = gains.clone().sum::<f64>() / n;
        // a run's gain is n/(n − 1) times as far from the mean of the others as from the mean of all
        let errors: Vec<f64> = gains.map(|gain| (gain - mean) * n / (n - 1.0)).collect();
        let sigma = (errors.iter().map(|error| error * error).sum::<f64>() / n).sqrt();
        let held_out = ends.iter().zip(&errors).map(|(end, error)| Forecast::gaussian(end - error, sigma));
        Ok(Box::new(Fitted(mean, sigma, held_out.collect())))
    }
}

impl Model for Fitted {
    fn forecast(&self, query: &RunQuery<'_>) -> Forecast {
        Forecast::gaussian(query.last_score() + self.0, self.1)
    }
    fn held_out(&self) -> &[Forecast] {
        &self.2
    }
}

fn main() -> Result<(), String> {
    check_predictor(&MeanGain)
}
