//! The laboratory's predictors pass the conformance suite.

use foretell::{PredictorOptions, check_predictor};

#[test]
fn curve_extrapolation_keeps_the_promises_of_the_conformance_suite() {
    conform(["lce", "lce-domhan2015"]);
}

#[test]
fn bayesian_networks_keep_the_promises_of_the_conformance_suite() {
    conform(["bnn", "bnn-plain"]);
}

fn conform(names: [&str; 2]) {
    // few draws: the promises do not depend on how long a chain is
    let options = PredictorOptions { draws: Some(10), ..PredictorOptions::default() };
    let catalogue = foretell_paper::full_catalogue();
    for name in names {
        let predictor = catalogue.predictors().make_predictor(name, &options).expect("listed");
        check_predictor(predictor.as_ref()).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}
