//! Every predictor keeps what the conformance suite asks.

use foretell::{PREDICTORS, PredictorOptions, check_predictor, predictor};

#[test]
fn every_predictor_keeps_the_promises_of_the_conformance_suite() {
    // few draws: the promises do not depend on how long a search takes
    let options = PredictorOptions { draws: Some(10), ..PredictorOptions::default() };
    let spreads = ["last-value+calibrated", "svr-rbf+calibrated", "gp+calibrated", "auto+gaussian"];
    let broken: Vec<String> = PREDICTORS
        .iter()
        .copied()
        .chain(spreads)
        .filter_map(|name| {
            let predictor = predictor(name, &options).expect("listed");
            check_predictor(predictor.as_ref()).err().map(|error| format!("{name}: {error}"))
        })
        .collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_suite_finds_a_predictor_that_breaks_a_promise() {
    use foretell::{FitError, Forecast, Model, Predictor, Query, TrainingSet};
    /// Forecasts the last run's final score: the order of runs matters.
    struct LastRun;
    struct LastRunModel(Vec<Forecast>);
    impl Predictor for LastRun {
        fn name(&self) -> &'static str {
            "last-run"
        }
        fn fit(&self, training: &TrainingSet) -> Result<Box<dyn Model>, FitError> {
            let all_finite =
                training.prefixes.as_slice().iter().chain(&training.targets).all(|y| y.is_finite());
            match training.targets.last() {
                Some(&last) if all_finite => {
                    Ok(Box::new(LastRunModel(vec![Forecast::gaussian(last, 0.1); training.len()])))
                }
                _ => Err(FitError::TooFew { predictor: "last-run", needed: 1, got: 0 }),
            }
        }
    }
    impl Model for LastRunModel {
        fn forecast(&self, _: &Query<'_>) -> Forecast {
            self.0[0].clone()
        }
        fn held_out(&self) -> &[Forecast] {
            &self.0
        }
    }
    let error = check_predictor(&LastRun).unwrap_err();
    assert!(error.contains("order of runs"), "{error}");
}
