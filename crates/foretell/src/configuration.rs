//! Configurations: what is known of a trial before it runs, as named values.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// One value of a configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A finite number: a learning rate, a count.
    Number(f64),
    /// A category, or an architecture in layer notation.
    Text(String),
    /// Nothing: a conditional parameter that does not apply.
    Missing,
}

impl Value {
    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Reads a table cell: empty and `nan`-like cells are missing, a finite number is a number, the rest is text.
    ///
    /// ```
    /// use foretell::Value;
    /// assert_eq!(Value::of_cell("1e-3"), Value::Number(0.001));
    /// assert_eq!(Value::of_cell("adam"), Value::Text("adam".into()));
    /// assert_eq!(Value::of_cell(" "), Value::Missing);
    /// ```
    pub fn of_cell(cell: &str) -> Self {
        let cell = cell.trim();
        if cell.is_empty() || ["nan", "na", "none", "null"].iter().any(|word| cell.eq_ignore_ascii_case(word))
        {
            return Self::Missing;
        }
        match cell.parse::<f64>() {
            Ok(number) if number.is_finite() => Self::Number(number),
            _ => Self::Text(cell.to_owned()),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
            Self::Missing => f.write_str(""),
        }
    }
}

/// A configuration: its values by name, in the order of the names.
pub type Configuration = BTreeMap<String, Value>;

/// The paper's feature groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum FeatureGroup {
    /// TS: the curve so far.
    #[serde(rename = "ts")]
    TimeSeries,
    /// AP: architecture parameters (weights, layers).
    #[serde(rename = "ap")]
    Architecture,
    /// HP: optimisation hyperparameters.
    #[serde(rename = "hp")]
    Hyperparameter,
}

/// One training: its name, what was known before it ran, and its curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// A name that is unique among the runs it is compared with.
    pub id: String,
    /// What was known before it ran.
    pub configuration: Configuration,
    /// What it reported.
    pub curve: crate::Curve,
}
