//! The metric of the trainings that tests of whole studies make up.

use foretell::{Configuration, Value};

/// The accuracy rises to an end that is best at a learning rate near 0.01, with a little noise of its own.
pub(crate) fn accuracy(configuration: &Configuration, step: u64) -> f64 {
    let lr = configuration.get("lr").and_then(Value::as_number).unwrap_or(0.01);
    let top = 0.9 - 0.2 * (lr.log10() + 2.0).abs();
    top * (1.0 - (-(step as f64) / 3.0).exp()) + 0.003 * (lr * 1e5 + step as f64).sin()
}
