//! Every predictor passes the conformance suite.

use foretell::{PredictorOptions, PredictorRegistry, check_predictor, make_predictor};

#[test]
fn every_predictor_keeps_the_promises_of_the_conformance_suite() {
    let spreads = ["last-value+calibrated", "svr-rbf+calibrated", "gp+calibrated", "auto+gaussian"];
    conform(PredictorRegistry::default().predictor_names().into_iter().chain(spreads));
}

fn conform<'a>(names: impl Iterator<Item = &'a str>) {
    // few draws: the promises do not depend on how long a search takes
    let options = PredictorOptions { draws: Some(10), ..PredictorOptions::default() };
    let check = |name| {
        let predictor = make_predictor(name, &options).expect("listed");
        check_predictor(predictor.as_ref()).err().map(|error| format!("{name}: {error}"))
    };
    let broken: Vec<String> = names.filter_map(check).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_suite_finds_predictors_that_break_a_promise() {
    use foretell::{FitError, Forecast, Model, Predictor, RunQuery, TrainingSet};
    /// Forecasts all runs alike, as `forecast` has it of the final scores learned from.
    struct Broken {
        forecast: fn(&[f64]) -> f64,
        held_out: fn(&[f64], usize) -> f64,
    }
    struct BrokenModel(Forecast, Vec<Forecast>);
    impl Predictor for Broken {
        fn name(&self) -> &'static str {
            "broken"
        }
        fn fit(&self, training: &TrainingSet) -> Result<Box<dyn Model>, FitError> {
            let targets = &training.targets;
            let all_finite = training.prefixes.as_slice().iter().chain(targets).all(|y| y.is_finite());
            if targets.is_empty() || !all_finite {
                return Err(FitError::TooFew { predictor: "broken", needed: 1, got: 0 });
            }
            let spread = foretell::statistics::standard_deviation(targets);
            let forecast = |mean| Forecast::gaussian(mean, spread);
            let held_out = (0..targets.len()).map(|i| forecast((self.held_out)(targets, i)));
            Ok(Box::new(BrokenModel(forecast((self.forecast)(targets)), held_out.collect())))
        }
    }
    impl Model for BrokenModel {
        fn forecast(&self, _: &RunQuery<'_>) -> Forecast {
            self.0.clone()
        }
        fn held_out(&self) -> &[Forecast] {
            &self.1
        }
    }
    let mean = |targets: &[f64]| targets.iter().sum::<f64>() / targets.len() as f64;
    let sound = Broken {
        forecast: mean,
        held_out: |targets, i| (targets.iter().sum::<f64>() - targets[i]) / (targets.len() - 1).max(1) as f64,
    };
    assert_eq!(check_predictor(&sound), Ok(()));
    let last = |targets: &[f64]| targets[targets.len() - 1];
    let last_run = Broken { forecast: last, ..sound };
    let error = check_predictor(&last_run).unwrap_err();
    assert!(error.contains("order of runs"), "{error}");
    let all_knowing = Broken { forecast: mean, held_out: |targets, i| targets[i] };
    let error = check_predictor(&all_knowing).unwrap_err();
    assert!(error.contains("know the results"), "{error}");
}
