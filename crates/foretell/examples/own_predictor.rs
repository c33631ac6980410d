//! How do I bring a predictor of my own?
#![allow(clippy::print_stdout, reason = "an example speaks")]

use foretell::{FitError, Forecast, Model, Predictor, Query, TrainingSet, check_predictor};

/// Forecasts that a run gains from here on what the finished runs gained on average.
struct MeanGain;

struct FittedGain {
    gain: f64,
    sigma: f64,
    held_out: Vec<Forecast>,
}

fn last(query: &Query<'_>) -> f64 {
    query.prefix.last().copied().unwrap_or(0.0)
}

impl Predictor for MeanGain {
    fn name(&self) -> &'static str {
        "mean-gain"
    }

    fn fit(&self, training: &TrainingSet) -> Result<Box<dyn Model>, FitError> {
        let n = training.len();
        if n < 2 {
            return Err(FitError::TooFew { predictor: "mean-gain", needed: 2, got: n });
        }
        for run in 0..n {
            let query = training.query(run);
            if !query
                .prefix
                .iter()
                .chain(query.configuration)
                .chain([&training.targets[run]])
                .all(|v| v.is_finite())
            {
                return Err(FitError::NotFinite { run, what: "score" });
            }
        }
        let gains: Vec<f64> = (0..n).map(|i| training.targets[i] - last(&training.query(i))).collect();
        let total: f64 = gains.iter().sum();
        // without run i the mean gain is that of the others
        let others = |i: usize| (total - gains[i]) / (n - 1) as f64;
        let residuals = (0..n).map(|i| gains[i] - others(i));
        let sigma = (residuals.map(|r| r * r).sum::<f64>() / n as f64).sqrt();
        let held_out =
            (0..n).map(|i| Forecast::gaussian(last(&training.query(i)) + others(i), sigma)).collect();
        Ok(Box::new(FittedGain { gain: total / n as f64, sigma, held_out }))
    }
}

impl Model for FittedGain {
    fn forecast(&self, query: &Query<'_>) -> Forecast {
        Forecast::gaussian(last(query) + self.gain, self.sigma)
    }

    fn held_out(&self) -> &[Forecast] {
        &self.held_out
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    check_predictor(&MeanGain)?;
    println!("mean-gain keeps the laws that every predictor must keep");
    Ok(())
}
