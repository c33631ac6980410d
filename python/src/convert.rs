//! Converts Python's values to the core's: configurations, curves, options. Errors name the place of the problem.

use foretell::{Configuration, Curve, Direction, FeatureGroup, Scale, Value};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};
use std::collections::BTreeMap;
use std::fmt::Display;

/// Bad input, in the core's words.
pub(crate) fn invalid(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// `maximize` or `minimize`.
pub(crate) fn direction(text: &str) -> PyResult<Direction> {
    match text {
        "maximize" | "max" => Ok(Direction::Maximize),
        "minimize" | "min" => Ok(Direction::Minimize),
        _ => Err(invalid(format!("direction {text:?} is unknown. Use 'maximize' or 'minimize'"))),
    }
}

/// The name of a direction.
pub(crate) fn direction_name(direction: Direction) -> &'static str {
    match direction {
        Direction::Maximize => "maximize",
        Direction::Minimize => "minimize",
    }
}

/// The numbers of a NumPy array of float64, or of a sequence of numbers.
pub(crate) fn numbers(given: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    if let Ok(array) = given.extract::<PyReadonlyArray1<'_, f64>>() {
        return Ok(array.as_array().iter().copied().collect());
    }
    given.extract()
}

/// A curve of `values` at `steps`; without steps one value an epoch, from 1 on.
pub(crate) fn curve(values: &[f64], steps: Option<&[f64]>, direction: Direction) -> PyResult<Curve> {
    match steps {
        None => Ok(Curve::from_epoch_values(values, direction)),
        Some(steps) => {
            if let Some(step) = steps.iter().find(|step| **step < 0.0) {
                return Err(invalid(format!("step {step} is negative. Count steps from 0 or 1")));
            }
            Curve::new(steps, values, direction).map_err(invalid)
        }
    }
}

/// A configuration from a dict of numbers, texts and `None`; truth values are 0 and 1. A value that is not finite is missing.
pub(crate) fn configuration(given: Option<&Bound<'_, PyDict>>) -> PyResult<Configuration> {
    let mut configuration = Configuration::new();
    let Some(given) = given else { return Ok(configuration) };
    for (name, value) in given.iter() {
        let name: String = name.extract().map_err(|_| {
            PyTypeError::new_err(format!(
                "the names in a configuration must be strings, not {}",
                describe_object(&name)
            ))
        })?;
        let value = self::value(&name, &value)?;
        configuration.insert(name, value);
    }
    Ok(configuration)
}

fn value(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(number) = given.cast::<PyFloat>() {
        return Ok(number_or_missing(number.extract()?));
    }
    if let Ok(truth) = given.cast::<PyBool>() {
        return Ok(Value::Number(f64::from(u8::from(truth.is_true()))));
    }
    if let Ok(number) = given.cast::<PyInt>() {
        return Ok(number_or_missing(number.extract()?));
    }
    if let Ok(text) = given.cast::<PyString>() {
        return Ok(Value::Text(text.extract()?));
    }
    if given.is_none() {
        return Ok(Value::Missing);
    }
    // NumPy's numbers
    if given.hasattr("__float__")? {
        return Ok(number_or_missing(given.call_method0("__float__")?.extract()?));
    }
    Err(PyTypeError::new_err(format!(
        "configuration value `{name}` is {}. Use a number, a string or None",
        describe_object(given)
    )))
}

fn number_or_missing(number: f64) -> Value {
    if number.is_finite() { Value::Number(number) } else { Value::Missing }
}

fn describe_object(given: &Bound<'_, PyAny>) -> String {
    given.get_type().name().map_or_else(|_| "of no known type".to_owned(), |name| format!("of type {name}"))
}

/// A configuration as a dict.
pub(crate) fn dict<'py>(py: Python<'py>, configuration: &Configuration) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in configuration {
        match value {
            Value::Number(number) if number.fract() == 0.0 && number.abs() < 9e15 => {
                dict.set_item(name, *number as i64)?;
            }
            Value::Number(number) => dict.set_item(name, number)?,
            Value::Text(text) => dict.set_item(name, text)?,
            Value::Missing => dict.set_item(name, py.None())?,
        }
    }
    Ok(dict)
}

/// The scales of the columns named.
pub(crate) fn scales(logarithmic: Vec<String>, linear: Vec<String>) -> BTreeMap<String, Scale> {
    let logarithmic = logarithmic.into_iter().map(|name| (name, Scale::Log));
    logarithmic.chain(linear.into_iter().map(|name| (name, Scale::Linear))).collect()
}

/// The groups of the columns named.
pub(crate) fn groups(
    architecture: Vec<String>,
    hyperparameters: Vec<String>,
) -> BTreeMap<String, FeatureGroup> {
    let architecture = architecture.into_iter().map(|name| (name, FeatureGroup::Architecture));
    architecture.chain(hyperparameters.into_iter().map(|name| (name, FeatureGroup::Hyperparameter))).collect()
}
