//! One numeric or categorical parameter of a search space, written `lr=log:1e-4:1`.

use foretell::Value;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The largest integer that a [`Value::Number`] holds exactly, 2^53.
const EXACT: i64 = 1 << 53;

/// Why a text or a description is no parameter.
#[derive(Debug, Error, Clone, PartialEq)]
#[non_exhaustive]
pub enum ParameterError {
    /// There is no `=` between name and kind.
    #[error("cannot read `{text}` as a parameter; expected NAME=KIND, for example lr=log:1e-4:1")]
    Syntax {
        /// The text.
        text: String,
    },
    /// The name is empty or has a character that placeholders cannot hold.
    #[error("`{name}` is no parameter name; use letters, digits, `_`, `-` and `.` only")]
    Name {
        /// The name.
        name: String,
    },
    /// The kind is none of the known ones, or has the wrong number of fields.
    #[error(
        "parameter {name}: unknown kind `{kind}`; known kinds are float:lo:hi, log:lo:hi, int:lo:hi, logint:lo:hi and choice:a,b,c"
    )]
    Kind {
        /// The parameter.
        name: String,
        /// What was written instead of a kind.
        kind: String,
    },
    /// A bound is no finite number (for the integer kinds: no integer of magnitude up to 2^53).
    #[error("parameter {name}: bound `{bound}` is no {expected}")]
    Bound {
        /// The parameter.
        name: String,
        /// The bound as written.
        bound: String,
        /// What it must be.
        expected: &'static str,
    },
    /// The lower bound is above the upper one.
    #[error("parameter {name}: lower bound {lo} is above upper bound {hi}; swap them")]
    Reversed {
        /// The parameter.
        name: String,
        /// The lower bound.
        lo: f64,
        /// The upper bound.
        hi: f64,
    },
    /// A logarithmic scale starts at zero or below.
    #[error(
        "parameter {name}: a log scale needs bounds above 0 but the lower bound is {lo}; raise it or use {instead}"
    )]
    Logarithm {
        /// The parameter.
        name: String,
        /// The lower bound.
        lo: f64,
        /// The linear kind that allows it.
        instead: &'static str,
    },
    /// A choice without options, or with an option that cannot be one.
    #[error("parameter {name}: {reason}")]
    Options {
        /// The parameter.
        name: String,
        /// What is wrong.
        reason: String,
    },
}

/// The values that a parameter can take and how they are drawn.
///
/// | kind     | written            | drawn                                                         |
/// |----------|--------------------|---------------------------------------------------------------|
/// | `float`  | `float:lo:hi`      | uniform on \[lo, hi\]                                         |
/// | `log`    | `log:lo:hi`        | exp of uniform on \[ln lo, ln hi\], lo > 0                    |
/// | `int`    | `int:lo:hi`        | uniform on the integers lo ..= hi                             |
/// | `logint` | `logint:lo:hi`     | round(exp of uniform on \[ln(lo − ½), ln(hi + ½)\]), lo ≥ 1   |
/// | `choice` | `choice:a,b,c`     | uniform on the options                                        |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ParameterKind {
    /// A real number on a linear scale.
    Float {
        /// Lower bound, included.
        lo: f64,
        /// Upper bound, included.
        hi: f64,
    },
    /// A real number on a logarithmic scale.
    Log {
        /// Lower bound, included, above 0.
        lo: f64,
        /// Upper bound, included.
        hi: f64,
    },
    /// An integer on a linear scale.
    Int {
        /// Lower bound, included.
        lo: i64,
        /// Upper bound, included.
        hi: i64,
    },
    /// An integer on a logarithmic scale.
    LogInt {
        /// Lower bound, included, at least 1.
        lo: i64,
        /// Upper bound, included.
        hi: i64,
    },
    /// One of a list of options without an order. Written options are numbers if every one of them reads as a finite
    /// number, and texts otherwise, so that the parameter is one column of one type.
    Choice {
        /// The options: numbers or texts, no two equal.
        options: Vec<Value>,
    },
}

/// When a conditional parameter applies: if another one has a given value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// The other parameter, listed before this one.
    pub name: String,
    /// The value it must have.
    pub equals: Value,
}

/// A named parameter of a [`ParameterSpace`](crate::ParameterSpace).
///
/// Written `NAME=KIND`, or `NAME=KIND if OTHER=VALUE` where it applies only then; otherwise it is [`Value::Missing`].
///
/// ```
/// # use foretell_search::Parameter;
/// let momentum: Parameter = "momentum=float:0:0.99 if optimizer=sgd".parse()?;
/// assert_eq!(momentum.active_if.as_ref().unwrap().name, "optimizer");
/// assert_eq!(momentum.to_string(), "momentum=float:0:0.99 if optimizer=sgd");
/// # Ok::<(), foretell_search::ParameterError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name: letters, digits, `_`, `-` and `.`.
    pub name: String,
    /// Its values.
    #[serde(flatten)]
    pub kind: ParameterKind,
    /// When it applies; always, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_if: Option<Condition>,
}

impl ParameterKind {
    /// Draws a value, using exactly one draw of `rng` for each call but for rejected integer draws.
    pub fn sample(&self, rng: &mut impl Rng) -> Value {
        match self {
            Self::Float { lo, hi } => {
                let u: f64 = rng.random();
                Value::Number((lo * (1.0 - u) + hi * u).clamp(*lo, *hi))
            }
            Self::Log { lo, hi } => Value::Number(between_logarithms(*lo, *hi, rng).clamp(*lo, *hi)),
            Self::Int { lo, hi } => Value::Number(rng.random_range(*lo..=*hi) as f64),
            Self::LogInt { lo, hi } => {
                let (lo, hi) = (*lo as f64, *hi as f64);
                Value::Number(between_logarithms(lo - 0.5, hi + 0.5, rng).round().clamp(lo, hi))
            }
            Self::Choice { options } => options[rng.random_range(0..options.len())].clone(),
        }
    }

    /// Whether `value` is one of this kind's values; never true of [`Value::Missing`].
    pub fn contains(&self, value: &Value) -> bool {
        let whole = |lo: &i64, hi: &i64, x: f64| x.fract() == 0.0 && *lo as f64 <= x && x <= *hi as f64;
        match (self, value) {
            (Self::Float { lo, hi } | Self::Log { lo, hi }, Value::Number(x)) => lo <= x && x <= hi,
            (Self::Int { lo, hi } | Self::LogInt { lo, hi }, Value::Number(x)) => whole(lo, hi, *x),
            (Self::Choice { options }, value) => *value != Value::Missing && options.contains(value),
            _ => false,
        }
    }

    /// Checks the bounds or options of the parameter `name`.
    ///
    /// # Errors
    /// [`ParameterError::Bound`], [`ParameterError::Reversed`], [`ParameterError::Logarithm`],
    /// [`ParameterError::Options`].
    pub fn validate(&self, name: &str) -> Result<(), ParameterError> {
        match self {
            Self::Float { lo, hi } | Self::Log { lo, hi } => check_reals(name, *lo, *hi)?,
            Self::Int { lo, hi } | Self::LogInt { lo, hi } => check_integers(name, *lo, *hi)?,
            Self::Choice { options } => check_options(name, options)?,
        }
        match *self {
            Self::Log { lo, .. } if lo <= 0.0 => {
                Err(ParameterError::Logarithm { name: name.to_owned(), lo, instead: "float" })
            }
            Self::LogInt { lo, .. } if lo < 1 => {
                Err(ParameterError::Logarithm { name: name.to_owned(), lo: lo as f64, instead: "int" })
            }
            _ => Ok(()),
        }
    }

    /// Reads the kind of the parameter `name`, for example `log:1e-4:1`, and checks it.
    ///
    /// # Errors
    /// Those of [`ParameterKind::validate`], and [`ParameterError::Kind`].
    pub fn parse(name: &str, text: &str) -> Result<Self, ParameterError> {
        let unknown = || ParameterError::Kind { name: name.to_owned(), kind: text.to_owned() };
        let (kind, rest) = text.split_once(':').ok_or_else(unknown)?;
        let bounds = || rest.split_once(':').ok_or_else(unknown);
        let parsed = match kind.trim() {
            "float" | "log" => {
                let (lo, hi) = bounds()?;
                let (lo, hi) = (real(name, lo)?, real(name, hi)?);
                if kind.trim() == "log" { Self::Log { lo, hi } } else { Self::Float { lo, hi } }
            }
            "int" | "logint" => {
                let (lo, hi) = bounds()?;
                let (lo, hi) = (integer(name, lo)?, integer(name, hi)?);
                if kind.trim() == "logint" { Self::LogInt { lo, hi } } else { Self::Int { lo, hi } }
            }
            "choice" => Self::Choice { options: read_options(rest) },
            _ => return Err(unknown()),
        };
        parsed.validate(name)?;
        Ok(parsed)
    }

    /// The value of this kind that `text` writes, if there is one.
    pub(crate) fn value_of(&self, text: &str) -> Option<Value> {
        let number = text.trim().parse().ok().map(Value::Number);
        let written = [number, Some(Value::Text(text.trim().to_owned()))];
        written.into_iter().flatten().find(|value| self.contains(value))
    }
}

/// exp of a uniform draw between the logarithms of `lo` and `hi`.
fn between_logarithms(lo: f64, hi: f64, rng: &mut impl Rng) -> f64 {
    let u: f64 = rng.random();
    (lo.ln() * (1.0 - u) + hi.ln() * u).exp()
}

fn check_reals(name: &str, lo: f64, hi: f64) -> Result<(), ParameterError> {
    if let Some(bound) = [lo, hi].into_iter().find(|bound| !bound.is_finite()) {
        return Err(not_a_bound(name, &bound.to_string(), "finite number"));
    }
    ordered(name, lo, hi)
}

fn check_integers(name: &str, lo: i64, hi: i64) -> Result<(), ParameterError> {
    if let Some(bound) = [lo, hi].into_iter().find(|bound| !(-EXACT..=EXACT).contains(bound)) {
        return Err(not_a_bound(name, &bound.to_string(), "integer of magnitude up to 2^53"));
    }
    ordered(name, lo as f64, hi as f64)
}

fn ordered(name: &str, lo: f64, hi: f64) -> Result<(), ParameterError> {
    if lo > hi {
        return Err(ParameterError::Reversed { name: name.to_owned(), lo, hi });
    }
    Ok(())
}

fn check_options(name: &str, options: &[Value]) -> Result<(), ParameterError> {
    let wrong = |reason: String| Err(ParameterError::Options { name: name.to_owned(), reason });
    if options.is_empty() {
        return wrong("a choice needs at least one option".to_owned());
    }
    for (i, option) in options.iter().enumerate() {
        let text = option.to_string();
        if text.is_empty() || text.trim() != text || text.contains(',') {
            return wrong(format!("option `{text}` is empty, has a comma or spaces around it; rename it"));
        }
        if options[..i].contains(option) {
            return wrong(format!("option `{text}` is listed twice; drop one"));
        }
        if option.number().is_some_and(|x| !x.is_finite()) {
            return wrong(format!("option `{text}` is not finite"));
        }
    }
    Ok(())
}

fn not_a_bound(name: &str, bound: &str, expected: &'static str) -> ParameterError {
    ParameterError::Bound { name: name.to_owned(), bound: bound.trim().to_owned(), expected }
}

fn real(name: &str, text: &str) -> Result<f64, ParameterError> {
    text.trim().parse().map_err(|_| not_a_bound(name, text, "finite number"))
}

fn integer(name: &str, text: &str) -> Result<i64, ParameterError> {
    text.trim().parse().map_err(|_| not_a_bound(name, text, "integer of magnitude up to 2^53"))
}

/// A finite number if it reads as one, otherwise a text: unlike in a table, `none` is a text.
fn read_value(text: &str) -> Value {
    let number = text.trim().parse().ok().filter(|x: &f64| x.is_finite());
    number.map_or_else(|| Value::Text(text.trim().to_owned()), Value::Number)
}

fn read_options(text: &str) -> Vec<Value> {
    let options: Vec<&str> = text.split(',').map(str::trim).collect();
    let values: Vec<Value> = options.iter().map(|text| read_value(text)).collect();
    if values.iter().all(|value| value.number().is_some()) {
        return values;
    }
    options.iter().map(|&text| Value::Text(text.to_owned())).collect()
}

impl Parameter {
    /// Checks name, bounds and options.
    ///
    /// # Errors
    /// Any [`ParameterError`] but `Syntax`.
    pub fn validate(&self) -> Result<(), ParameterError> {
        let allowed = |c: char| c.is_alphanumeric() || "_-.".contains(c);
        if self.name.is_empty() || !self.name.chars().all(allowed) {
            return Err(ParameterError::Name { name: self.name.clone() });
        }
        self.kind.validate(&self.name)
    }

    /// Turns the value of `active_if`, read as a number or a text, into the one that `kind` has, if it has it.
    pub(crate) fn settle_condition(&mut self, kind: &ParameterKind) -> bool {
        let Some(condition) = &mut self.active_if else { return true };
        match kind.value_of(&condition.equals.to_string()) {
            Some(value) => condition.equals = value,
            None => return false,
        }
        true
    }
}

impl FromStr for Parameter {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let syntax = || ParameterError::Syntax { text: text.to_owned() };
        let (name, rest) = text.split_once('=').ok_or_else(syntax)?;
        let (kind, active_if) = match rest.rsplit_once(" if ") {
            Some((kind, condition)) => {
                let (name, value) = condition.split_once('=').ok_or_else(syntax)?;
                let condition = Condition { name: name.trim().to_owned(), equals: read_value(value) };
                (kind, Some(condition))
            }
            None => (rest, None),
        };
        let name = name.trim();
        let kind = ParameterKind::parse(name, kind.trim())?;
        let parameter = Self { name: name.to_owned(), kind, active_if };
        parameter.validate()?;
        Ok(parameter)
    }
}

impl fmt::Display for ParameterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Float { lo, hi } => write!(f, "float:{lo}:{hi}"),
            Self::Log { lo, hi } => write!(f, "log:{lo}:{hi}"),
            Self::Int { lo, hi } => write!(f, "int:{lo}:{hi}"),
            Self::LogInt { lo, hi } => write!(f, "logint:{lo}:{hi}"),
            Self::Choice { options } => {
                let options: Vec<String> = options.iter().map(Value::to_string).collect();
                write!(f, "choice:{}", options.join(","))
            }
        }
    }
}

/// As it stands after a parameter: `if name=value`.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "if {}={}", self.name, self.equals)
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.kind)?;
        match &self.active_if {
            Some(condition) => write!(f, " {condition}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samplers::random::trial_stream;
    use proptest::prelude::*;

    fn parameter(text: &str) -> Parameter {
        text.parse().unwrap()
    }

    #[test]
    fn texts_read_and_print_alike() {
        for text in [
            "lr=log:0.0001:1",
            "dropout=float:-0.5:0.5",
            "layers=int:-3:18",
            "units=logint:1:1024",
            "optimizer=choice:sgd,adam",
            "batch=choice:16,32,64",
            "momentum=float:0:0.99 if optimizer=sgd",
        ] {
            assert_eq!(parameter(text).to_string(), text);
        }
        assert_eq!(parameter(" lr = log : 1e-4 : 1 "), parameter("lr=log:0.0001:1"));
    }

    #[test]
    fn options_are_numbers_only_if_all_of_them_are() {
        let numbers = ParameterKind::Choice { options: vec![Value::Number(16.0), Value::Number(32.0)] };
        assert_eq!(parameter("batch=choice:16,32").kind, numbers);
        let texts = ["2", "auto", "none"].map(|text| Value::Text(text.into())).to_vec();
        assert_eq!(parameter("k=choice:2,auto,none").kind, ParameterKind::Choice { options: texts });
    }

    #[test]
    fn mistakes_are_named_with_their_cure() {
        for (text, expected) in [
            ("lr", "expected NAME=KIND"),
            ("=float:0:1", "`` is no parameter name"),
            ("a b=float:0:1", "`a b` is no parameter name"),
            ("lr=gauss:0:1", "unknown kind `gauss:0:1`; known kinds are float:lo:hi, log:lo:hi"),
            ("lr=float:0", "unknown kind `float:0`"),
            ("lr=3", "parameter lr: unknown kind `3`"),
            ("lr=float:1:0", "lower bound 1 is above upper bound 0; swap them"),
            ("n=int:5:2", "lower bound 5 is above upper bound 2"),
            ("lr=float:NaN:1", "bound `NaN` is no finite number"),
            ("lr=float:0:inf", "bound `inf` is no finite number"),
            ("lr=float:0:x", "bound `x` is no finite number"),
            ("n=int:0:1.5", "bound `1.5` is no integer"),
            ("n=int:0:9007199254740993", "no integer of magnitude up to 2^53"),
            ("lr=log:0:1", "lower bound is 0; raise it or use float"),
            ("n=logint:0:9", "lower bound is 0; raise it or use int"),
            ("o=choice:", "option `` is empty"),
            ("o=choice:a,a", "option `a` is listed twice"),
            ("m=float:0:1 if sgd", "expected NAME=KIND"),
        ] {
            let error = text.parse::<Parameter>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn json_has_the_kind_beside_the_name() {
        let text = r#"{"name":"m","kind":"float","lo":0.0,"hi":1.0,"active_if":{"name":"o","equals":"sgd"}}"#;
        let read: Parameter = serde_json::from_str(text).unwrap();
        assert_eq!(read, parameter("m=float:0:1 if o=sgd"));
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        assert!(serde_json::from_str::<Parameter>(r#"{"name":"m","kind":"gauss"}"#).is_err());
    }

    #[test]
    fn a_log_scale_gives_each_decade_the_same_share() {
        let kind = parameter("lr=log:1e-4:1").kind;
        let mut rng = trial_stream(1, 0);
        let mut decades = [0; 4];
        for _ in 0..4000 {
            let x = kind.sample(&mut rng).number().unwrap();
            decades[((x.log10() + 4.0) as usize).min(3)] += 1;
        }
        // binomial(4000, 1/4): standard deviation 27, five of them either side
        assert!(decades.iter().all(|count| (863..=1137).contains(count)), "{decades:?}");
    }

    #[test]
    fn integers_reach_both_ends() {
        for kind in [ParameterKind::Int { lo: -1, hi: 2 }, ParameterKind::LogInt { lo: 1, hi: 4 }] {
            let mut rng = trial_stream(2, 0);
            let mut seen: Vec<f64> = (0..300).filter_map(|_| kind.sample(&mut rng).number()).collect();
            seen.sort_by(f64::total_cmp);
            seen.dedup();
            assert_eq!(seen.len(), 4, "{kind}: {seen:?}");
        }
    }

    proptest! {
        #[test]
        fn every_draw_is_in_the_kind(lo in -1e6..1e6_f64, span in 0.0..1e6_f64, seed in 0_u64..1000) {
            let (from, to) = (lo as i64, (lo + span) as i64);
            let positive = lo.abs() + 1e-9;
            let mut rng = trial_stream(seed, 0);
            for kind in [
                ParameterKind::Float { lo, hi: lo + span },
                ParameterKind::Log { lo: positive, hi: positive + span },
                ParameterKind::Int { lo: from, hi: to },
                ParameterKind::LogInt { lo: from.abs() + 1, hi: from.abs() + 1 + (to - from) },
                ParameterKind::Choice { options: vec![Value::Number(lo), Value::Text("a".into())] },
            ] {
                prop_assert!(kind.validate("x").is_ok());
                let value = kind.sample(&mut rng);
                prop_assert!(kind.contains(&value), "{kind}: {value}");
            }
        }
    }
}
