//! Conditions of parameters: `momentum=float:0:1 if optimizer=sgd,rmsprop and layers>=3`.

use crate::comparison::Comparison;
use crate::value_text::{quote_option, read_value, split_at_commas, split_unquoted, without_quotes};
use foretell::{Configuration, Value};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The word between the tests of a condition.
const CLAUSE_SEPARATOR: &str = " and ";

/// The reason why a condition is invalid.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum ConditionError {
    /// The text is no condition.
    #[error("{text:?} is not a condition{hint}. Write for example optimizer=sgd,rmsprop and layers>=3")]
    Syntax {
        /// The text.
        text: String,
        /// What it may have been meant for.
        hint: &'static str,
    },
    /// A comparison with something that isn't a number.
    #[error("`{text}` compares with `{value}`, which is not a number. Use a number, or = or !=")]
    Number {
        /// The test.
        text: String,
        /// The value.
        value: String,
    },
    /// An object without a test.
    #[error(
        "the condition on {name} has no test. Add equals, any_of, none_of, below, at_most, at_least or above"
    )]
    NoTest {
        /// The parameter that it names.
        name: String,
    },
}

/// A requirement of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueTest {
    /// The value is one of these.
    AnyOf(Vec<Value>),
    /// The value is none of these.
    NoneOf(Vec<Value>),
    /// This comparison of it with a number holds.
    Compared(Comparison, f64),
}

impl ValueTest {
    /// Whether `value` passes; [`Value::Missing`] never does.
    fn is_passed_by(&self, value: &Value) -> bool {
        match self {
            Self::AnyOf(values) => values.contains(value) && *value != Value::Missing,
            Self::NoneOf(values) => !values.contains(value) && *value != Value::Missing,
            Self::Compared(comparison, with) => {
                value.as_number().is_some_and(|number| comparison.holds(number, *with))
            }
        }
    }

    /// The values that it names.
    pub(crate) fn values_mut(&mut self) -> &mut [Value] {
        match self {
            Self::AnyOf(values) | Self::NoneOf(values) => values,
            Self::Compared(..) => &mut [],
        }
    }

    /// The numbers at which its answer changes.
    pub(crate) fn marks(&self) -> Vec<f64> {
        match self {
            Self::AnyOf(values) | Self::NoneOf(values) => {
                values.iter().filter_map(Value::as_number).collect()
            }
            Self::Compared(_, number) => vec![*number],
        }
    }
}

/// A test of another parameter's value.
#[derive(Clone, Debug, PartialEq)]
pub struct ConditionClause {
    /// The other parameter.
    pub name: String,
    /// The test.
    pub test: ValueTest,
}

impl ConditionClause {
    /// Whether the other parameter has a value in `configuration`, and it passes.
    fn holds_in(&self, configuration: &Configuration) -> bool {
        configuration.get(&self.name).is_some_and(|value| self.test.is_passed_by(value))
    }
}

/// When a parameter applies: other parameters have values that pass all tests. A parameter that doesn't apply itself passes none.
///
/// Written `optimizer=sgd,rmsprop and layers>=3`. As JSON an object such as `{"name": "layers", "at_least": 3}` with `equals`, `any_of`,
/// `none_of`, `below`, `at_most`, `at_least` or `above`, a list of such objects, or the text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WrittenCondition", into = "WrittenCondition")]
pub struct Condition {
    clauses: Vec<ConditionClause>,
}

impl Condition {
    /// The tests, all of which have to be passed.
    pub fn clauses(&self) -> &[ConditionClause] {
        &self.clauses
    }

    pub(crate) fn clauses_mut(&mut self) -> &mut [ConditionClause] {
        &mut self.clauses
    }

    /// A condition on the parameter `name` alone.
    pub(crate) fn on(name: &str, test: ValueTest) -> Self {
        Self { clauses: vec![ConditionClause { name: name.to_owned(), test }] }
    }

    /// Whether all tests are passed in `configuration`.
    pub fn holds_in(&self, configuration: &Configuration) -> bool {
        self.clauses.iter().all(|clause| clause.holds_in(configuration))
    }
}

/// Whether `value` passes all `tests`.
pub(crate) fn passes_all(value: &Value, tests: &[&ValueTest]) -> bool {
    tests.iter().all(|test| test.is_passed_by(value))
}

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        let clauses = split_unquoted(text, CLAUSE_SEPARATOR).into_iter().map(read_clause);
        Ok(Self { clauses: clauses.collect::<Result<_, _>>()? })
    }
}

/// Reads one test, such as `layers>=3`.
fn read_clause(text: &str) -> Result<ConditionClause, ConditionError> {
    let text = text.trim();
    let hint = match split_unquoted(text, " or ").len() > 1 {
        true => ", because conditions have no `or`: list the values of a parameter with commas",
        false => "",
    };
    let parts = Comparison::split(text).filter(|(name, _, values)| !name.is_empty() && !values.is_empty());
    let Some((name, comparison, values)) = parts.filter(|_| hint.is_empty()) else {
        return Err(ConditionError::Syntax { text: text.to_owned(), hint });
    };
    let test = match comparison {
        Comparison::Equal => ValueTest::AnyOf(read_values(values)),
        Comparison::Unequal => ValueTest::NoneOf(read_values(values)),
        Comparison::Below | Comparison::AtMost | Comparison::AtLeast | Comparison::Above => {
            let number = values.parse().ok().filter(|number: &f64| number.is_finite());
            let Some(number) = number else {
                return Err(ConditionError::Number { text: text.to_owned(), value: values.to_owned() });
            };
            ValueTest::Compared(comparison, number)
        }
    };
    Ok(ConditionClause { name: name.to_owned(), test })
}

/// The values in a list with commas.
fn read_values(list: &str) -> Vec<Value> {
    let values = split_at_commas(list).into_iter().map(|text| match without_quotes(text) {
        Some(text) => Value::Text(text.to_owned()),
        None => read_value(text),
    });
    values.collect()
}

impl fmt::Display for ConditionClause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, values) = match &self.test {
            ValueTest::AnyOf(values) => (Comparison::Equal.sign(), values),
            ValueTest::NoneOf(values) => (Comparison::Unequal.sign(), values),
            ValueTest::Compared(comparison, number) => {
                return write!(f, "{}{}{number}", self.name, comparison.sign());
            }
        };
        let values: Vec<String> = values.iter().map(|value| quote_option(value, false)).collect();
        write!(f, "{}{sign}{}", self.name, values.join(","))
    }
}

/// As it stands after a parameter's `if`.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clauses: Vec<String> = self.clauses.iter().map(ConditionClause::to_string).collect();
        f.write_str(&clauses.join(CLAUSE_SEPARATOR))
    }
}

/// A condition as JSON.
#[derive(Clone, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a condition such as \"layers>=3\", or an object with name and one of equals, any_of, none_of, below, at_most, at_least and above"
)]
enum WrittenCondition {
    Text(String),
    One(WrittenClause),
    All(Vec<WrittenClause>),
}

/// The tests of one parameter as JSON.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenClause {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    equals: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    any_of: Option<Vec<Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    none_of: Option<Vec<Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    below: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_most: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_least: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    above: Option<f64>,
}

impl WrittenClause {
    /// A clause for each of its tests.
    fn clauses(self) -> Result<Vec<ConditionClause>, ConditionError> {
        let tests = [
            self.equals.map(|value| ValueTest::AnyOf(vec![value])),
            self.any_of.map(ValueTest::AnyOf),
            self.none_of.map(ValueTest::NoneOf),
            self.below.map(|number| ValueTest::Compared(Comparison::Below, number)),
            self.at_most.map(|number| ValueTest::Compared(Comparison::AtMost, number)),
            self.at_least.map(|number| ValueTest::Compared(Comparison::AtLeast, number)),
            self.above.map(|number| ValueTest::Compared(Comparison::Above, number)),
        ];
        let tests = tests.into_iter().flatten();
        let clauses: Vec<_> = tests.map(|test| ConditionClause { name: self.name.clone(), test }).collect();
        if clauses.is_empty() { Err(ConditionError::NoTest { name: self.name }) } else { Ok(clauses) }
    }
}

impl From<ConditionClause> for WrittenClause {
    fn from(clause: ConditionClause) -> Self {
        let mut written = Self { name: clause.name, ..Self::default() };
        match clause.test {
            ValueTest::AnyOf(values) if values.len() == 1 => written.equals = values.into_iter().next(),
            ValueTest::AnyOf(values) => written.any_of = Some(values),
            ValueTest::NoneOf(values) => written.none_of = Some(values),
            ValueTest::Compared(Comparison::Below, number) => written.below = Some(number),
            ValueTest::Compared(Comparison::AtMost, number) => written.at_most = Some(number),
            ValueTest::Compared(Comparison::AtLeast, number) => written.at_least = Some(number),
            ValueTest::Compared(Comparison::Above, number) => written.above = Some(number),
            ValueTest::Compared(Comparison::Equal, number) => written.equals = Some(Value::Number(number)),
            ValueTest::Compared(Comparison::Unequal, number) => {
                written.none_of = Some(vec![Value::Number(number)]);
            }
        }
        written
    }
}

impl From<Condition> for WrittenCondition {
    fn from(condition: Condition) -> Self {
        let mut clauses: Vec<WrittenClause> = condition.clauses.into_iter().map(Into::into).collect();
        match (clauses.pop(), clauses.is_empty()) {
            (Some(only), true) => Self::One(only),
            (last, _) => {
                clauses.extend(last);
                Self::All(clauses)
            }
        }
    }
}

impl TryFrom<WrittenCondition> for Condition {
    type Error = ConditionError;

    fn try_from(written: WrittenCondition) -> Result<Self, ConditionError> {
        let clauses = match written {
            WrittenCondition::Text(text) => return text.parse(),
            WrittenCondition::One(clause) => clause.clauses()?,
            WrittenCondition::All(all) => {
                all.into_iter().map(WrittenClause::clauses).collect::<Result<Vec<_>, _>>()?.concat()
            }
        };
        // an empty list would always hold, as if there were no condition
        match clauses.is_empty() {
            true => Err(ConditionError::Syntax { text: "[]".to_owned(), hint: "" }),
            false => Ok(Self { clauses }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(text: &str) -> Condition {
        text.parse().expect(text)
    }

    #[test]
    fn texts_and_json_read_and_print_alike() {
        for (text, json) in [
            ("o=sgd", r#"{"name":"o","equals":"sgd"}"#),
            ("o=sgd,rmsprop", r#"{"name":"o","any_of":["sgd","rmsprop"]}"#),
            ("o!=adam", r#"{"name":"o","none_of":["adam"]}"#),
            ("n>=3", r#"{"name":"n","at_least":3.0}"#),
            ("n<3 and o=a", r#"[{"name":"n","below":3.0},{"name":"o","equals":"a"}]"#),
            ("o='a and b','c,d'", r#"{"name":"o","any_of":["a and b","c,d"]}"#),
        ] {
            let read: Condition = serde_json::from_str(json).expect(json);
            assert_eq!(read.to_string(), text);
            assert_eq!(serde_json::to_string(&read).expect("JSON"), json);
            let as_text = serde_json::to_string(text).expect("JSON");
            let from_text: Condition = serde_json::from_str(&as_text).expect(text);
            assert_eq!(from_text.to_string(), text);
        }
        let both: Condition =
            serde_json::from_str(r#"{"name":"n","at_least":2,"below":5}"#).expect("two tests");
        assert_eq!(both.to_string(), "n<5 and n>=2");
    }

    #[test]
    fn mistakes_are_named_with_their_cure() {
        for (text, expected) in [
            ("sgd", "\"sgd\" is not a condition. Write for example"),
            ("o=", "\"o=\" is not a condition"),
            ("=sgd", "\"=sgd\" is not a condition"),
            ("o=sgd and", "never"),
            ("o=a or o=b", "no `or`: list the values of a parameter with commas"),
            ("n>=many", "`n>=many` compares with `many`, which is not a number"),
            ("n<nan", "compares with `nan`"),
        ] {
            match text.parse::<Condition>() {
                // read as a value, which no parameter has
                Ok(read) => assert_eq!((expected, read.to_string().as_str()), ("never", "o=sgd and")),
                Err(error) => assert!(error.to_string().contains(expected), "{text}: {error}"),
            }
        }
        for (json, expected) in [
            (r#"{"name":"n"}"#, "the condition on n has no test. Add equals"),
            (r#"{"name":"n","more":3}"#, "expected a condition such as"),
            ("[]", "is not a condition"),
        ] {
            let error = serde_json::from_str::<Condition>(json).expect_err(json).to_string();
            assert!(error.contains(expected), "{json}: {error}");
        }
    }

    #[test]
    fn all_tests_have_to_be_passed_and_a_value_that_is_missing_passes_none() {
        let configuration: Configuration = [
            ("o".to_owned(), Value::Text("sgd".into())),
            ("n".to_owned(), Value::Number(3.0)),
            ("m".to_owned(), Value::Missing),
        ]
        .into();
        for (text, expected) in [
            ("o=sgd,rmsprop", true),
            ("o!=sgd", false),
            ("n>=3 and o=sgd", true),
            ("n>3 and o=sgd", false),
            ("m!=1", false),
            ("x!=1", false),
        ] {
            assert_eq!(condition(text).holds_in(&configuration), expected, "{text}");
        }
    }
}
