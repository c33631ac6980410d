//! Configurations: the facts known about a trial before it runs, as named values.

use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// A value of a configuration. A Boolean is read as the string `true` or `false`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "WrittenValue")]
pub enum Value {
    /// A finite number: a learning rate, a count.
    Number(f64),
    /// A category, or an architecture in layer notation.
    Text(String),
    /// Nothing: a conditional parameter that does not apply.
    Missing,
}

/// A value as it may be written.
#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenValue {
    Number(f64),
    Truth(bool),
    Text(String),
    Missing,
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Value {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Value".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        if generator.contract().is_serialize() {
            schemars::json_schema!({"type": ["number", "string", "null"]})
        } else {
            schemars::json_schema!({"type": ["number", "string", "boolean", "null"]})
        }
    }
}

impl From<WrittenValue> for Value {
    fn from(written: WrittenValue) -> Self {
        match written {
            WrittenValue::Number(number) => Self::Number(number),
            WrittenValue::Truth(truth) => Self::Text(truth.to_string()),
            WrittenValue::Text(text) => Self::Text(text),
            WrittenValue::Missing => Self::Missing,
        }
    }
}

impl Value {
    /// The number, if it is one.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(_) | Self::Missing => None,
        }
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Number(_) | Self::Missing => None,
        }
    }

    /// Reads a table cell: empty and `nan`-like cells are missing, a finite number is a number, the rest is text.
    ///
    /// ```
    /// use foretell::Value;
    /// assert_eq!(Value::from_cell("1e-3"), Value::Number(0.001));
    /// assert_eq!(Value::from_cell("adam"), Value::Text("adam".into()));
    /// assert_eq!(Value::from_cell(" "), Value::Missing);
    /// ```
    pub fn from_cell(cell: &str) -> Self {
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

/// Whole numbers without a point, as [`Value`]'s text has them: a count is read as one by whoever is given it.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => match whole(*number) {
                Some(whole) => serializer.serialize_i64(whole),
                None => serializer.serialize_f64(*number),
            },
            Self::Text(text) => serializer.serialize_str(text),
            Self::Missing => serializer.serialize_unit(),
        }
    }
}

/// `number` as an integer, if it is one that every reader of JSON gives back exactly.
fn whole(number: f64) -> Option<i64> {
    let exact = number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0;
    // an integer has no −0, so that would come back as another number
    (exact && !(number == 0.0 && number.is_sign_negative())).then_some(number as i64)
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
    /// HP: optimization hyperparameters.
    #[serde(rename = "hp")]
    Hyperparameter,
}

/// A run: its name, its configuration and its curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// A name that is unique among the runs it is compared with.
    pub id: String,
    /// The configuration.
    pub configuration: Configuration,
    /// The learning curve.
    pub curve: crate::Curve,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_written_without_a_point_and_every_number_comes_back() {
        let written = |number: f64| serde_json::to_string(&Value::Number(number)).unwrap();
        for (number, text) in
            [(7.0, "7"), (-2.0, "-2"), (0.0, "0"), (0.5, "0.5"), (1e-7, "1e-7"), (1e300, "1e+300")]
        {
            assert_eq!(written(number), text);
        }
        for number in [7.0, -0.0, 0.1, 9_007_199_254_740_991.0, 9_007_199_254_740_992.0, -1e18, f64::MAX] {
            let back: Value = serde_json::from_str(&written(number)).unwrap();
            assert_eq!(back.as_number().map(f64::to_bits), Some(number.to_bits()), "{number}");
        }
        let others = [Value::Text("7".into()), Value::Missing];
        assert_eq!(serde_json::to_string(&others).unwrap(), r#"["7",null]"#);
        let read: Vec<Value> = serde_json::from_str(r#"["7",null,true,1]"#).unwrap();
        assert_eq!(read[..2], others);
        assert_eq!(read[2..], [Value::Text("true".into()), Value::Number(1.0)]);
    }
}
