//! Predictors by name, and names without repeats.

use crate::catalogue;
use foretell::{Predictor, PredictorOptions, Purpose, UnknownPredictor};
use std::sync::Arc;

/// The predictor `name` for recorded runs.
pub(super) fn predictor_of_recorded(
    name: &str,
    options: &PredictorOptions,
) -> Result<Arc<dyn Predictor>, UnknownPredictor> {
    let options = PredictorOptions { purpose: Purpose::Recorded, ..*options };
    catalogue().predictors().predictor(name, &options).map(Arc::from)
}

/// The different names, in the order in which they appear.
pub(super) fn distinct<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut all = Vec::new();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}
