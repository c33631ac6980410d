//! A search space of named parameters; some may depend on others.

mod conditions;
mod partial;

use crate::parameter::{Parameter, ParameterError};
use crate::value_text::split_at_commas;
use foretell::{Configuration, Value};
use rand::Rng;
use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// The reason why parameters do not form a space, or why a configuration is outside the space.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum ParameterSpaceError {
    /// One of the parameters is wrong in itself.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// No parameter at all.
    #[error("the space contains no parameters. Add at least one, for example lr=log:1e-4:1")]
    Empty,
    /// Two parameters have the same name.
    #[error("parameter {name} is defined twice. Rename or remove one")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// A condition names a parameter that the space does not have.
    #[error(
        "parameter {name} applies only if {condition}, but there is no parameter {parent}. The others are {known}"
    )]
    UnknownParent {
        /// The conditional parameter.
        name: String,
        /// The parameter's condition.
        condition: String,
        /// The parameter that its condition names.
        parent: String,
        /// The other parameters.
        known: String,
    },
    /// Conditions depend on each other.
    #[error("the conditions go in a circle: {circle}. Remove one of them")]
    Circle {
        /// Each parameter of the circle with its condition.
        circle: String,
    },
    /// A condition asks for a value that the other parameter never has.
    #[error("parameter {name} applies if {parent} is `{value}`, but {parent}={kind} never takes this value")]
    Unreachable {
        /// The conditional parameter.
        name: String,
        /// The parameter that its condition names.
        parent: String,
        /// The value that the condition asks for.
        value: String,
        /// The values of the other parameter.
        kind: String,
    },
    /// No value of the other parameter passes all tests of a condition.
    #[error(
        "parameter {name} never applies, because no value of {parent}={kind} fits its condition {condition}"
    )]
    Never {
        /// The conditional parameter.
        name: String,
        /// The parameter's condition.
        condition: String,
        /// The parameter that its condition names.
        parent: String,
        /// The values of the other parameter.
        kind: String,
    },
    /// A configuration has no value for a parameter that applies.
    #[error("the configuration contains no value for {name}. Add one from {kind}")]
    Absent {
        /// The parameter.
        name: String,
        /// The parameter's values.
        kind: String,
    },
    /// A configuration has a value outside of the parameter's values.
    #[error("{name} is `{value}`, which is outside {kind}")]
    Outside {
        /// The parameter.
        name: String,
        /// The value.
        value: String,
        /// The parameter's values.
        kind: String,
    },
    /// A configuration has a value for a parameter that does not apply.
    #[error("{name} is `{value}`, but it applies only if {condition}. Leave it out")]
    Inactive {
        /// The parameter.
        name: String,
        /// The parameter's value.
        value: String,
        /// The parameter's condition.
        condition: String,
    },
    /// A configuration names a parameter that the space does not have.
    #[error("the space contains no parameter {name}. Its parameters are {known}")]
    Unknown {
        /// The name.
        name: String,
        /// The space's parameters.
        known: String,
    },
}

/// Named parameters in order. A conditional parameter follows those that it depends on: [`ParameterSpace::new`] moves it behind them.
///
/// Serialized as the list of its [`Parameter`]s; reading one checks it.
///
/// ```
/// # use foretell_search::{ParameterSpace, trial_stream};
/// let space = ParameterSpace::parse(&["lr=log:1e-4:1", "optimizer=choice:sgd,adam", "momentum=float:0:1 if optimizer=sgd"])?;
/// let configuration = space.sample(&mut trial_stream(7, 0));
/// assert!(space.check_configuration(&configuration).is_ok());
/// # Ok::<(), foretell_search::ParameterSpaceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Parameter>", into = "Vec<Parameter>")]
pub struct ParameterSpace {
    parameters: Vec<Parameter>,
}

impl ParameterSpace {
    /// Reads a space from one text a parameter: see [`Parameter`].
    ///
    /// # Errors
    /// Those of [`ParameterSpace::new`].
    pub fn parse<T: AsRef<str>>(texts: &[T]) -> Result<Self, ParameterSpaceError> {
        let parameters = texts.iter().map(|text| text.as_ref().parse());
        Self::new(parameters.collect::<Result<_, ParameterError>>()?)
    }

    /// The parameters, in order.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Draws a configuration: every parameter independently, then those that do not apply become
    /// [`Value::Missing`]. Each parameter is drawn whether it applies or not, so that a draw that switches one off
    /// does not shift the others.
    pub fn sample(&self, rng: &mut impl Rng) -> Configuration {
        let mut configuration = Configuration::new();
        for parameter in &self.parameters {
            let drawn = parameter.kind.sample(rng);
            let value = if parameter.applies_in(&configuration) { drawn } else { Value::Missing };
            configuration.insert(parameter.name.clone(), value);
        }
        configuration
    }

    /// A space that stands for any other.
    pub(crate) fn any() -> Self {
        Self { parameters: Vec::new() }
    }

    /// Whether the two spaces have a parameter of the same name.
    pub(crate) fn has_a_parameter_of(&self, other: &Self) -> bool {
        self.parameters.iter().any(|mine| other.parameters.iter().any(|theirs| mine.name == theirs.name))
    }

    /// Reads a configuration written `lr=0.1,opt=sgd`, which may name only some parameters; those that do not apply are left out.
    ///
    /// # Errors
    /// Those of [`check_part`](Self::check_part), and [`ParameterSpaceError::Parameter`] for what is no `NAME=VALUE`.
    ///
    /// ```
    /// # use foretell_search::ParameterSpace;
    /// let space = ParameterSpace::parse(&["lr=log:1e-4:1", "opt=choice:sgd,adam"])?;
    /// assert_eq!(space.read_configuration("lr=0.1, opt=sgd")?["lr"].as_number(), Some(0.1));
    /// assert!(space.read_configuration("lr=7,opt=sgd").is_err());
    /// # Ok::<(), foretell_search::ParameterSpaceError>(())
    /// ```
    pub fn read_configuration(&self, text: &str) -> Result<Configuration, ParameterSpaceError> {
        let configuration = self.parts(text)?;
        self.check_part(&configuration)?;
        Ok(configuration)
    }

    /// Reads a configuration as [`read`](Self::read) does, without checking its values.
    pub(crate) fn parts(&self, text: &str) -> Result<Configuration, ParameterSpaceError> {
        let mut configuration = Configuration::new();
        for pair in split_at_commas(text) {
            let Some((name, value)) = pair.split_once('=') else {
                return Err(ParameterError::Syntax { text: pair.trim().to_owned() }.into());
            };
            let (name, value) = (name.trim(), value.trim());
            let kind =
                self.parameters.iter().find(|parameter| parameter.name == name).map(|found| &found.kind);
            let known = kind.and_then(|kind| kind.value_of(value));
            let value = known.unwrap_or_else(|| Value::from_cell(value));
            configuration.insert(name.to_owned(), value);
        }
        Ok(configuration)
    }

    /// `values`, where a text writes a number of its parameter with the number.
    pub(crate) fn convert_number_texts(&self, values: &Configuration) -> Configuration {
        let typed = values.iter().map(|(name, value)| {
            let parameter = self.parameters.iter().find(|parameter| parameter.name == *name);
            let read =
                parameter.zip(value.as_text()).and_then(|(parameter, text)| parameter.kind.value_of(text));
            let is_choice = parameter.is_some_and(|parameter| parameter.kind.options().is_some());
            // what lies outside of the range is a number all the same
            let number = value.as_text().filter(|_| !is_choice).and_then(|text| text.trim().parse().ok());
            (name.clone(), read.or(number.map(Value::Number)).unwrap_or_else(|| value.clone()))
        });
        typed.collect()
    }

    /// The values of `configuration` as a program is given them: real numbers with a point (`1.0`), whole numbers without, flags as `true`
    /// and `false`.
    ///
    /// ```
    /// # use foretell_search::ParameterSpace;
    /// let space = ParameterSpace::parse(&["dropout=float:0:1", "layers=int:1:9", "amp=flag"])?;
    /// let written = space.program_values(&space.read_configuration("dropout=0,layers=2,amp=true")?);
    /// assert_eq!(serde_json::Value::from(written).to_string(), r#"{"amp":true,"dropout":0.0,"layers":2}"#);
    /// # Ok::<(), foretell_search::ParameterSpaceError>(())
    /// ```
    pub fn program_values(
        &self,
        configuration: &Configuration,
    ) -> serde_json::Map<String, serde_json::Value> {
        let written = configuration.iter().map(|(name, value)| {
            let parameter = self.parameters.iter().find(|parameter| parameter.name == *name);
            let value = match parameter {
                Some(parameter) => parameter.kind.program_value(value),
                None => serde_json::to_value(value).unwrap_or_default(),
            };
            (name.clone(), value)
        });
        written.collect()
    }

    /// The number of configurations, those that differ only in parameters that do not apply counted apart; `None` if any is a real number.
    pub(crate) fn combinations(&self) -> Option<u64> {
        let mut counts = self.parameters.iter().map(|parameter| parameter.kind.value_count());
        counts.try_fold(1_u64, |all, count| all.checked_mul(count?))
    }

    /// All configurations in a fixed order, the last parameter varying fastest; `None` if they are more than `most`, or if any is a real number.
    pub(crate) fn all(&self, most: u64) -> Option<Vec<Configuration>> {
        self.combinations().filter(|&all| all <= most)?;
        let mut all = vec![Configuration::new()];
        for parameter in &self.parameters {
            let values = parameter.kind.all();
            let mut extended = Vec::new();
            for configuration in all {
                let values =
                    if parameter.applies_in(&configuration) { &values[..] } else { &[Value::Missing] };
                for value in values {
                    let mut longer = configuration.clone();
                    longer.insert(parameter.name.clone(), value.clone());
                    extended.push(longer);
                }
            }
            all = extended;
        }
        Some(all)
    }

    /// Checks that `configuration` is a point of this space: a value inside for each parameter that applies,
    /// [`Value::Missing`] or nothing for each that does not, and no other names.
    ///
    /// # Errors
    /// [`ParameterSpaceError::Absent`], `Outside`, `Inactive`, `Unknown`.
    pub fn check_configuration(&self, configuration: &Configuration) -> Result<(), ParameterSpaceError> {
        if let Some(error) = unknown_name(&self.parameters, configuration) {
            return Err(error);
        }
        self.parameters.iter().try_for_each(|parameter| check_value(parameter, configuration))
    }
}

/// The error of the first name in `configuration` that no parameter has.
fn unknown_name(parameters: &[Parameter], configuration: &Configuration) -> Option<ParameterSpaceError> {
    let known: Vec<&str> = parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    let name = configuration.keys().find(|name| !known.contains(&name.as_str()))?;
    Some(ParameterSpaceError::Unknown { name: name.clone(), known: known.join(", ") })
}

/// Checks the value of one parameter in `configuration`.
fn check_value(parameter: &Parameter, configuration: &Configuration) -> Result<(), ParameterSpaceError> {
    let name = parameter.name.clone();
    let value = configuration.get(&name).unwrap_or(&Value::Missing);
    match (&parameter.active_if, parameter.applies_in(configuration), value) {
        (_, true, Value::Missing) => {
            Err(ParameterSpaceError::Absent { name, kind: parameter.kind.to_string() })
        }
        (_, true, value) if !parameter.kind.contains(value) => {
            let kind = parameter.kind.to_string();
            Err(ParameterSpaceError::Outside { name, value: value.to_string(), kind })
        }
        (Some(condition), false, value) if *value != Value::Missing => Err(ParameterSpaceError::Inactive {
            name,
            value: value.to_string(),
            condition: condition.to_string(),
        }),
        _ => Ok(()),
    }
}

impl TryFrom<Vec<Parameter>> for ParameterSpace {
    type Error = ParameterSpaceError;

    fn try_from(parameters: Vec<Parameter>) -> Result<Self, Self::Error> {
        Self::new(parameters)
    }
}

impl From<ParameterSpace> for Vec<Parameter> {
    fn from(space: ParameterSpace) -> Self {
        space.parameters
    }
}

/// One parameter a line, as [`ParameterSpace::parse`] reads them.
impl fmt::Display for ParameterSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, parameter) in self.parameters.iter().enumerate() {
            write!(f, "{}{parameter}", if i > 0 { "\n" } else { "" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::condition::ValueTest;
    use crate::samplers::random::trial_stream;

    const OPTIMIZER: [&str; 4] = [
        "lr=log:1e-4:1",
        "optimizer=choice:sgd,adam",
        "nesterov=choice:0,1 if optimizer=sgd",
        "momentum=float:0.5:1 if nesterov=1",
    ];

    fn configuration(pairs: &[(&str, Value)]) -> Configuration {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    #[test]
    fn draws_are_in_the_space_and_conditions_cascade() {
        let space = ParameterSpace::parse(&OPTIMIZER).unwrap();
        let mut patterns = std::collections::BTreeSet::new();
        for trial in 0..200 {
            let drawn = space.sample(&mut trial_stream(1, trial));
            space.check_configuration(&drawn).unwrap();
            let missing = |name: &str| drawn[name] == Value::Missing;
            assert_eq!(missing("nesterov"), drawn["optimizer"] == Value::Text("adam".into()));
            assert_eq!(missing("momentum"), drawn["nesterov"] != Value::Number(1.0));
            patterns.insert((missing("nesterov"), missing("momentum")));
        }
        assert_eq!(patterns.len(), 3, "adam, sgd without and sgd with nesterov all occur");
    }

    #[test]
    fn a_parameter_switched_off_does_not_shift_the_others() {
        let with = ParameterSpace::parse(&["o=choice:a,b", "m=int:0:9 if o=a", "lr=float:0:1"]).unwrap();
        let without = ParameterSpace::parse(&["o=choice:a,b", "m=int:0:9", "lr=float:0:1"]).unwrap();
        for trial in 0..20 {
            let [a, b] = [&with, &without].map(|space| space.sample(&mut trial_stream(3, trial)));
            assert_eq!(a["lr"], b["lr"]);
        }
    }

    #[test]
    fn spaces_that_cannot_work_are_refused() {
        let rows: [(&[&str], &str); 11] = [
            (&[], "no parameters"),
            (&["lr=float:0:1", "lr=int:0:1"], "parameter lr is defined twice"),
            (
                &["m=float:0:1 if o=sgd", "lr=float:0:1"],
                "m applies only if o=sgd, but there is no parameter o. The others are lr",
            ),
            (&["m=float:0:1 if m=0"], "the conditions go in a circle: m applies only if m=0"),
            (
                &["a=int:0:1 if c=1", "x=int:0:1 if a=1", "b=int:0:1 if a=1", "c=int:0:1 if b=1"],
                "in a circle: a applies only if c=1, c applies only if b=1, b applies only if a=1. Remove one",
            ),
            (
                &["n=int:1:8", "m=int:0:1 if n>8"],
                "m never applies, because no value of n=int:1:8 fits its condition n>8",
            ),
            (&["n=int:1:8", "m=int:0:1 if n>3 and n<4"], "fits its condition n>3 and n<4"),
            (&["o=choice:a,b", "m=int:0:1 if o>1"], "no value of o=choice:a,b fits its condition o>1"),
            (&["o=choice:a,b", "m=int:0:1 if o!=c"], "is `c`, but o=choice:a,b never takes this value"),
            (&["o=choice:a,b", "m=float:0:1 if o=c"], "is `c`, but o=choice:a,b never takes this value"),
            (&["lr=log:-1:1"], "parameter lr: a log scale"),
        ];
        for (texts, expected) in rows {
            let error = ParameterSpace::parse(texts).unwrap_err().to_string();
            assert!(error.contains(expected), "{texts:?}: {error}");
        }
    }

    #[test]
    fn configurations_outside_are_refused_by_name() {
        let space = ParameterSpace::parse(&["n=int:1:3", "o=choice:a,b", "m=float:0:1 if o=a"]).unwrap();
        let (a, b) = (Value::Text("a".into()), Value::Text("b".into()));
        let n = |x| ("n", Value::Number(x));
        let m = ("m", Value::Number(0.5));
        let rows = [
            (vec![n(1.0), ("o", b.clone())], None),
            (vec![n(1.0), ("o", b.clone()), ("m", Value::Missing)], None),
            (vec![n(1.0), ("o", a.clone()), m.clone()], None),
            (vec![n(1.0), ("o", b), m.clone()], Some("m is `0.5`, but it applies only if o=a")),
            (vec![n(1.0), ("o", a.clone())], Some("no value for m. Add one from float:0:1")),
            (vec![n(1.5), ("o", a.clone()), m.clone()], Some("n is `1.5`, which is outside int:1:3")),
            (vec![n(f64::NAN), ("o", a.clone()), m.clone()], Some("n is `NaN`, which is outside")),
            (vec![("n", a.clone()), ("o", a.clone()), m.clone()], Some("n is `a`, which is outside")),
            (
                vec![n(1.0), ("o", a), m, ("x", Value::Missing)],
                Some("no parameter x. Its parameters are n, o, m"),
            ),
        ];
        for (pairs, expected) in rows {
            let result = space.check_configuration(&configuration(&pairs)).map_err(|error| error.to_string());
            match (&result, expected) {
                (Ok(()), None) => {}
                (Err(error), Some(expected)) => assert!(error.contains(expected), "{pairs:?}: {error}"),
                _ => panic!("{pairs:?}: {result:?} but expected {expected:?}"),
            }
        }
    }

    #[test]
    fn json_and_text_round_trip_and_reading_checks() {
        let space = ParameterSpace::parse(&OPTIMIZER).unwrap();
        let json = serde_json::to_string(&space).unwrap();
        assert_eq!(serde_json::from_str::<ParameterSpace>(&json).unwrap(), space);
        let lines = space.to_string();
        assert_eq!(ParameterSpace::parse(&lines.lines().collect::<Vec<_>>()).unwrap(), space);
        let error = serde_json::from_str::<ParameterSpace>(r#"[{"name":"a","kind":"float","lo":2,"hi":1}]"#);
        assert!(error.unwrap_err().to_string().contains("Swap them"));
    }

    #[test]
    fn a_finite_space_is_listed_without_repeats() {
        let space = |texts: &[&str]| ParameterSpace::parse(texts).unwrap();
        let finite = space(&["o=choice:a,b", "n=int:1:3 if o=a", "k=logint:2:3"]);
        assert_eq!(finite.all(100).unwrap().len(), 8, "3 · 2 with a, 2 with b");
        assert_eq!(finite.all(11), None, "twelve combinations are looked through");
        assert_eq!(space(&["x=float:0:1"]).all(100), None);
        assert_eq!(space(&["x=float:1:1"]).all(100).unwrap().len(), 1);
        assert_eq!(space(&["x=float:0:1:0.5", "amp=flag"]).all(100).unwrap().len(), 6);
    }

    #[test]
    fn a_configuration_is_read_with_lists_as_values() {
        let space = ParameterSpace::parse(&["w=choice:[64,64],[128]", "lr=float:0:1", "amp=flag"]).unwrap();
        let read = space.read_configuration("w=[64,64],lr=0.5,amp=true").unwrap();
        assert_eq!((read["w"].as_text(), read["amp"].as_text()), (Some("[64,64]"), Some("true")));
        space.check_configuration(&read).unwrap();
    }

    #[test]
    fn a_condition_on_a_text_that_looks_like_a_number_or_nothing_is_kept() {
        let space =
            ParameterSpace::parse(&["o=choice:none,1,a", "m=int:0:9 if o=1", "k=int:0:9 if o=none"]).unwrap();
        let test = |i: usize| space.parameters()[i].active_if.clone().unwrap().clauses()[0].test.clone();
        let any_of = |text: &str| ValueTest::AnyOf(vec![Value::Text(text.into())]);
        assert_eq!((test(1), test(2)), (any_of("1"), any_of("none")));
    }

    #[test]
    fn a_condition_may_have_several_values_comparisons_and_any_order() {
        let texts = [
            "units3=int:8:256 if layers>=3",
            "momentum=float:0:1 if optimizer=sgd,rmsprop and units3>100",
            "layers=int:1:8",
            "optimizer=choice:sgd,rmsprop,adam",
        ];
        let space = ParameterSpace::parse(&texts).unwrap();
        let names: Vec<&str> = space.parameters().iter().map(|parameter| parameter.name.as_str()).collect();
        assert_eq!(names, ["layers", "units3", "optimizer", "momentum"]);
        let mut seen = std::collections::BTreeSet::new();
        for trial in 0..200 {
            let drawn = space.sample(&mut trial_stream(1, trial));
            space.check_configuration(&drawn).unwrap();
            let has_units = drawn["layers"].as_number().unwrap() >= 3.0;
            assert_eq!(drawn["units3"] != Value::Missing, has_units);
            let has_momentum = drawn["units3"].as_number().is_some_and(|units| units > 100.0)
                && drawn["optimizer"].as_text() != Some("adam");
            assert_eq!(drawn["momentum"] != Value::Missing, has_momentum);
            seen.insert((has_units, has_momentum));
        }
        assert_eq!(seen.len(), 3, "{seen:?}");
    }
}
