//! One numeric or categorical parameter of a search space, written `lr=log:1e-4:1`.

use crate::condition::{Condition, ConditionError};
use crate::value_text::{quote_option, read_value, split_at_commas, split_unquoted, without_quotes};
use foretell::{Configuration, Value};
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The largest integer that a [`Value::Number`] holds exactly, 2^53.
const MAX_EXACT_INTEGER: i64 = 1 << 53;

/// The reason why a parameter is invalid.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum ParameterError {
    /// The `=` between name and kind is missing.
    #[error("cannot read `{text}` as a parameter. Write NAME=KIND, for example lr=log:1e-4:1")]
    Syntax {
        /// The text.
        text: String,
    },
    /// The name is empty, or contains a character that placeholders do not support.
    #[error("`{name}` is not a parameter name. Use letters, digits, `_`, `-` and `.` only")]
    Name {
        /// The name.
        name: String,
    },
    /// The kind is none of the known ones, or has the wrong number of fields.
    #[error(
        "parameter {name}: unknown kind `{kind}`. Choose float:lo:hi, log:lo:hi, int:lo:hi or logint:lo:hi (each with or without :step), choice:a,b,c or flag"
    )]
    Kind {
        /// The parameter.
        name: String,
        /// The text instead of a kind.
        kind: String,
    },
    /// A bound is not a finite number (for the integer kinds: not an integer of magnitude up to 2^53).
    #[error("parameter {name}: bound `{bound}` is not {expected}")]
    Bound {
        /// The parameter.
        name: String,
        /// The bound as written.
        bound: String,
        /// The expected value.
        expected: &'static str,
    },
    /// The lower bound is above the upper one.
    #[error("parameter {name}: lower bound {} is above upper bound {}. Swap them", short(*lo), short(*hi))]
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
        "parameter {name}: a log scale needs bounds above 0, but the lower bound is {lo}. Raise it, or use {instead}"
    )]
    Logarithm {
        /// The parameter.
        name: String,
        /// The lower bound.
        lo: f64,
        /// The linear kind that allows it.
        instead: &'static str,
    },
    /// A step that no value after the first can be reached by.
    #[error(
        "parameter {name}: the step {step} is not above 0, or is larger than the range. Choose another step"
    )]
    Step {
        /// The parameter.
        name: String,
        /// The step.
        step: f64,
    },
    /// The text after `if` is no condition.
    #[error("parameter {name}: {source}")]
    Condition {
        /// The parameter.
        name: String,
        /// What is wrong with the condition.
        source: ConditionError,
    },
    /// A choice without options, or with an option that cannot be one.
    #[error("parameter {name}: {reason}")]
    Options {
        /// The parameter.
        name: String,
        /// The problem.
        reason: String,
    },
}

/// The values that a parameter can take and how they are sampled.
///
/// | kind     | written                   | sampled                                                       |
/// |----------|---------------------------|---------------------------------------------------------------|
/// | `float`  | `float:lo:hi`             | uniform on \[lo, hi\]                                         |
/// | `log`    | `log:lo:hi`               | exp of uniform on \[ln lo, ln hi\], lo > 0                    |
/// | `int`    | `int:lo:hi`               | uniform on the integers lo ..= hi                             |
/// | `logint` | `logint:lo:hi`            | round(exp of uniform on \[ln(lo − ½), ln(hi + ½)\]), lo ≥ 1   |
/// | `choice` | `choice:a,b,c`            | uniform on the options                                        |
/// | `flag`   | `flag`                    | an option without a value, present or absent                  |
///
/// - The kinds of numbers take a step: `int:16:256:16` and `float:0:1:0.05` have the values lo, lo + step, … up to hi.
/// - Real numbers have six significant digits, as far as the range allows: `0.00316228`.
/// - Commas inside brackets or quotes do not separate options: `choice:[64,64],[128]`, `choice:'a,b',c`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ParameterKind {
    /// A real number on a linear scale.
    Float {
        /// Lower bound, included.
        lo: f64,
        /// Upper bound, included.
        hi: f64,
        /// The distance between values; by default, any value is allowed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<f64>,
    },
    /// A real number on a logarithmic scale.
    Log {
        /// Lower bound, included, above 0.
        lo: f64,
        /// Upper bound, included.
        hi: f64,
        /// The distance between values; by default, any value is allowed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<f64>,
    },
    /// An integer on a linear scale.
    Int {
        /// Lower bound, included.
        lo: i64,
        /// Upper bound, included.
        hi: i64,
        /// The distance between values (default: 1).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<i64>,
    },
    /// An integer on a logarithmic scale.
    LogInt {
        /// Lower bound, included, at least 1.
        lo: i64,
        /// Upper bound, included.
        hi: i64,
        /// The distance between values (default: 1).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<i64>,
    },
    /// One of a list of options without an order. Written options are numbers if every one of them reads as a finite
    /// number, and texts otherwise, so that the parameter is one column of one type.
    Choice {
        /// The options: different numbers or strings.
        options: Vec<Value>,
    },
    /// An option without a value, which is present (`true`) or absent (`false`).
    Flag,
}

/// A named parameter of a [`ParameterSpace`](crate::ParameterSpace).
///
/// Written `NAME=KIND`, or `NAME=KIND if CONDITION` where it applies only then; otherwise it is [`Value::Missing`].
///
/// ```
/// # use foretell_search::Parameter;
/// let momentum: Parameter = "momentum=float:0:0.99 if optimizer=sgd,rmsprop and layers>=3".parse()?;
/// assert_eq!(momentum.active_if.as_ref().unwrap().clauses()[0].name, "optimizer");
/// assert_eq!(momentum.to_string(), "momentum=float:0:0.99 if optimizer=sgd,rmsprop and layers>=3");
/// # Ok::<(), foretell_search::ParameterError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// The name: letters, digits, `_`, `-` and `.`.
    pub name: String,
    /// The values that it can take.
    #[serde(flatten)]
    pub kind: ParameterKind,
    /// When it applies; always, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_if: Option<Condition>,
}

/// The texts of a flag that is absent, and of one that is present.
const FLAG_TEXTS: [&str; 2] = ["false", "true"];

/// The bounds of a kind of numbers, and the distance between its values if there is one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NumberBounds {
    pub(crate) lo: f64,
    pub(crate) hi: f64,
    pub(crate) step: Option<f64>,
    pub(crate) is_log: bool,
}

impl NumberBounds {
    /// The number of values; `None` for real numbers without a step.
    pub(crate) fn values(self) -> Option<u64> {
        if self.hi <= self.lo {
            return Some(1);
        }
        // a step that divides the range but for rounding reaches its end
        self.step.map(|step| ((self.hi - self.lo) / step + 1e-9).floor() as u64 + 1)
    }

    /// The value number `i`, from 0.
    pub(crate) fn nth(self, i: u64) -> f64 {
        let value = self.lo + i as f64 * self.step.unwrap_or(0.0);
        // 3 · 0.05 is 0.15, not 0.15000000000000002
        let rounded = if value.fract() == 0.0 { value } else { digits(value, 12) };
        rounded.clamp(self.lo, self.hi)
    }

    /// The value nearest to `x`.
    pub(crate) fn nearest(self, x: f64) -> f64 {
        let x = x.clamp(self.lo, self.hi);
        match (self.step, self.values()) {
            (Some(step), Some(values)) => self.nth((((x - self.lo) / step).round() as u64).min(values - 1)),
            _ => {
                let short = digits(x, 6).clamp(self.lo, self.hi);
                // in a narrow range six digits are too few
                if (short - x).abs() > (self.hi - self.lo) * 1e-4 { x } else { short }
            }
        }
    }

    /// The value at the share `u` of the scale, from 0 to 1.
    pub(crate) fn value_at(self, u: f64) -> f64 {
        match (self.step, self.values(), self.is_log) {
            // each value has the same share of the scale
            (Some(_), Some(values), false) => self.nth(((u * values as f64) as u64).min(values - 1)),
            (Some(1.0), _, true) => {
                self.nearest(interpolate((self.lo - 0.5).ln(), (self.hi + 0.5).ln(), u).exp().round())
            }
            (_, _, true) => self.nearest(interpolate(self.lo.ln(), self.hi.ln(), u).exp()),
            (_, _, false) => self.nearest(interpolate(self.lo, self.hi, u)),
        }
    }

    /// The share of the scale at which `x` is.
    pub(crate) fn share(self, x: f64) -> f64 {
        let (x, lo, hi) = match (self.step, self.values(), self.is_log) {
            (Some(step), Some(values), false) => ((x - self.lo) / step, -0.5, values as f64 - 0.5),
            (Some(1.0), _, true) => (x.max(self.lo).ln(), (self.lo - 0.5).ln(), (self.hi + 0.5).ln()),
            (_, _, true) => (x.max(self.lo).ln(), self.lo.ln(), self.hi.ln()),
            (_, _, false) => (x, self.lo, self.hi),
        };
        if hi > lo { ((x - lo) / (hi - lo)).clamp(0.0, 1.0) } else { 0.5 }
    }

    fn contains(self, x: f64) -> bool {
        let tolerance = 1e-9 * x.abs().max(1e-300);
        // values with a step are compared with a tolerance, because lo + i · step is rounded
        self.lo <= x && x <= self.hi && (self.step.is_none() || (x - self.nearest(x)).abs() <= tolerance)
    }
}

/// The number at the share `u` of the way from `lo` to `hi`.
fn interpolate(lo: f64, hi: f64, u: f64) -> f64 {
    lo * (1.0 - u) + hi * u
}

/// `x` with so many significant digits.
fn digits(x: f64, digits: usize) -> f64 {
    format!("{x:.*e}", digits - 1).parse().unwrap_or(x)
}

impl ParameterKind {
    /// The bounds of a kind of numbers.
    pub(crate) fn bounds(&self) -> Option<NumberBounds> {
        let is_log = matches!(self, Self::Log { .. } | Self::LogInt { .. });
        let (lo, hi, step) = match *self {
            Self::Float { lo, hi, step } | Self::Log { lo, hi, step } => (lo, hi, step),
            Self::Int { lo, hi, step } | Self::LogInt { lo, hi, step } => {
                (lo as f64, hi as f64, Some(step.unwrap_or(1) as f64))
            }
            Self::Choice { .. } | Self::Flag => return None,
        };
        Some(NumberBounds { lo, hi, step, is_log })
    }

    /// The options of a kind without an order.
    pub(crate) fn options(&self) -> Option<Vec<Value>> {
        match self {
            Self::Choice { options } => Some(options.clone()),
            Self::Flag => Some(FLAG_TEXTS.map(|text| Value::Text(text.to_owned())).to_vec()),
            Self::Float { .. } | Self::Log { .. } | Self::Int { .. } | Self::LogInt { .. } => None,
        }
    }

    /// The number of values; `None` for real numbers without a step.
    pub fn value_count(&self) -> Option<u64> {
        match self {
            Self::Choice { options } => Some(options.len() as u64),
            Self::Flag => Some(FLAG_TEXTS.len() as u64),
            _ => self.bounds().and_then(NumberBounds::values),
        }
    }

    /// All values, in their order.
    ///
    /// # Panics
    /// If they are without number: ask [`values`](Self::values) first.
    pub(crate) fn all(&self) -> Vec<Value> {
        match (self.options(), self.bounds()) {
            (None, Some(bounds)) => {
                let values = self.value_count().expect("a finite kind");
                (0..values).map(|i| Value::Number(bounds.nth(i))).collect()
            }
            (options, _) => options.unwrap_or_default(),
        }
    }

    /// The largest number that it can be, if it can be one.
    pub fn largest_number(&self) -> Option<f64> {
        match self {
            Self::Choice { options } => options.iter().filter_map(Value::as_number).reduce(f64::max),
            _ => self.bounds().map(|bounds| bounds.hi),
        }
    }

    /// `lower` or `upper` if `value` lies within a fiftieth of that end of a range of more than four values. The ends 0 and 1 are those of many
    /// parameters themselves.
    pub fn end_near(&self, value: &Value) -> Option<&'static str> {
        let bounds = self.bounds().filter(|bounds| bounds.values().is_none_or(|values| values > 4))?;
        let value = value.as_number()?;
        match bounds.share(value) {
            _ if bounds.step.is_some() && value > bounds.lo && value < bounds.hi => None,
            share if bounds.lo != 0.0 && (share < 0.02 || value <= bounds.lo) => Some("lower"),
            share if (bounds.hi - 1.0).abs() > f64::EPSILON && (share > 0.98 || value >= bounds.hi) => {
                Some("upper")
            }
            _ => None,
        }
    }

    /// Whether it is on a logarithmic scale.
    pub fn is_log(&self) -> bool {
        self.bounds().is_some_and(|bounds| bounds.is_log)
    }

    /// The value nearest to `value`: the nearest number in the range, or a number for a text that writes one. `None` for an option that is none.
    pub fn nearest_value(&self, value: &Value) -> Option<Value> {
        let number = value
            .as_number()
            .or_else(|| value.as_text()?.trim().parse().ok())
            .filter(|x: &f64| x.is_finite());
        match self.bounds() {
            Some(bounds) => {
                number.map(|x| if bounds.contains(x) { x } else { bounds.nearest(x) }).map(Value::Number)
            }
            None => self.value_of(&value.to_string()),
        }
    }

    /// Samples a value, using exactly one draw of `rng` for each call but for rejected integer draws.
    pub fn sample(&self, rng: &mut impl Rng) -> Value {
        match (self, self.bounds()) {
            (Self::Choice { options }, _) => options[rng.random_range(0..options.len())].clone(),
            (Self::Int { .. }, Some(bounds)) => {
                Value::Number(bounds.nth(rng.random_range(0..bounds.values().unwrap_or(1))))
            }
            (_, Some(bounds)) => Value::Number(bounds.value_at(rng.random())),
            (_, None) => Value::Text(FLAG_TEXTS[rng.random_range(0..FLAG_TEXTS.len())].to_owned()),
        }
    }

    /// Whether `value` is one of this kind's values; never true of [`Value::Missing`].
    pub fn contains(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Choice { options }, value) => *value != Value::Missing && options.contains(value),
            (Self::Flag, value) => value.as_text().is_some_and(|text| FLAG_TEXTS.contains(&text)),
            (_, Value::Number(x)) => self.bounds().is_some_and(|bounds| bounds.contains(*x)),
            _ => false,
        }
    }

    /// `value` as a program is given it: a real number with a point, a flag as `true` or `false`.
    pub(crate) fn program_value(&self, value: &Value) -> serde_json::Value {
        match (self, value) {
            (Self::Float { .. } | Self::Log { .. }, Value::Number(number)) => (*number).into(),
            (Self::Flag, Value::Text(text)) if FLAG_TEXTS.contains(&text.as_str()) => {
                (text == FLAG_TEXTS[1]).into()
            }
            _ => serde_json::to_value(value).unwrap_or_default(),
        }
    }

    /// Checks the bounds or options of the parameter `name`.
    ///
    /// # Errors
    /// [`ParameterError::Bound`], [`ParameterError::Reversed`], [`ParameterError::Logarithm`], [`ParameterError::Step`],
    /// [`ParameterError::Options`].
    pub fn validate(&self, name: &str) -> Result<(), ParameterError> {
        match self {
            Self::Float { lo, hi, .. } | Self::Log { lo, hi, .. } => check_reals(name, *lo, *hi)?,
            Self::Int { lo, hi, .. } | Self::LogInt { lo, hi, .. } => check_integers(name, *lo, *hi)?,
            Self::Choice { options } => check_options(options)
                .map_err(|reason| ParameterError::Options { name: name.to_owned(), reason })?,
            Self::Flag => {}
        }
        let stepped = self.bounds().and_then(|bounds| bounds.step.map(|step| (bounds, step)));
        if let Some((bounds, step)) =
            stepped.filter(|(bounds, step)| !(*step > 0.0 && *step <= (bounds.hi - bounds.lo).max(1.0)))
        {
            let _ = bounds;
            return Err(ParameterError::Step { name: name.to_owned(), step });
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
        if text.trim() == "flag" {
            return Ok(Self::Flag);
        }
        let (kind, rest) = text.split_once(':').ok_or_else(|| kind_error(name, text))?;
        let fields: Vec<&str> = rest.split(':').collect();
        let parsed = match (kind.trim(), &fields[..]) {
            ("choice", _) => Self::Choice { options: read_options(rest) },
            ("float" | "log", &[lo, hi]) => {
                real_kind(kind, (parse_real(name, lo)?, parse_real(name, hi)?), None)
            }
            ("float" | "log", &[lo, hi, step]) => {
                real_kind(kind, (parse_real(name, lo)?, parse_real(name, hi)?), Some(parse_real(name, step)?))
            }
            ("int" | "logint", &[lo, hi]) => {
                integer_kind(kind, (parse_integer(name, lo)?, parse_integer(name, hi)?), None)
            }
            ("int" | "logint", &[lo, hi, step]) => integer_kind(
                kind,
                (parse_integer(name, lo)?, parse_integer(name, hi)?),
                Some(parse_integer(name, step)?),
            ),
            _ => return Err(kind_error(name, text)),
        };
        parsed.validate(name)?;
        Ok(parsed)
    }

    /// The value of this kind that `text` writes, if there is one.
    pub(crate) fn value_of(&self, text: &str) -> Option<Value> {
        let text = text.trim();
        let number = text.parse().ok().map(Value::Number);
        let unquoted = without_quotes(text).map(|text| Value::Text(text.to_owned()));
        let written = [number, Some(Value::Text(text.to_owned())), unquoted];
        written.into_iter().flatten().find(|value| self.contains(value))
    }
}

fn real_kind(kind: &str, (lo, hi): (f64, f64), step: Option<f64>) -> ParameterKind {
    if kind.trim() == "log" {
        ParameterKind::Log { lo, hi, step }
    } else {
        ParameterKind::Float { lo, hi, step }
    }
}

fn integer_kind(kind: &str, (lo, hi): (i64, i64), step: Option<i64>) -> ParameterKind {
    if kind.trim() == "logint" {
        ParameterKind::LogInt { lo, hi, step }
    } else {
        ParameterKind::Int { lo, hi, step }
    }
}

fn check_reals(name: &str, lo: f64, hi: f64) -> Result<(), ParameterError> {
    if let Some(bound) = [lo, hi].into_iter().find(|bound| !bound.is_finite()) {
        return Err(bound_error(name, &bound.to_string(), "a finite number"));
    }
    check_order(name, lo, hi)
}

fn check_integers(name: &str, lo: i64, hi: i64) -> Result<(), ParameterError> {
    if let Some(bound) =
        [lo, hi].into_iter().find(|bound| !(-MAX_EXACT_INTEGER..=MAX_EXACT_INTEGER).contains(bound))
    {
        return Err(bound_error(name, &bound.to_string(), "an integer of magnitude up to 2^53"));
    }
    check_order(name, lo as f64, hi as f64)
}

fn check_order(name: &str, lo: f64, hi: f64) -> Result<(), ParameterError> {
    if lo > hi {
        return Err(ParameterError::Reversed { name: name.to_owned(), lo, hi });
    }
    Ok(())
}

/// Returns the reason if a choice cannot have these options.
fn check_options(options: &[Value]) -> Result<(), String> {
    if options.is_empty() {
        return Err("a choice needs at least one option".to_owned());
    }
    for (i, option) in options.iter().enumerate() {
        let text = option.to_string();
        if text.trim().is_empty() {
            return Err("an option is empty. Remove it".to_owned());
        }
        if options[..i].contains(option) {
            return Err(format!("option `{text}` is listed twice. Remove one"));
        }
        if option.as_number().is_some_and(|x| !x.is_finite()) {
            return Err(format!("option `{text}` is not finite"));
        }
    }
    Ok(())
}

fn kind_error(name: &str, kind: &str) -> ParameterError {
    ParameterError::Kind { name: name.to_owned(), kind: kind.to_owned() }
}

fn bound_error(name: &str, bound: &str, expected: &'static str) -> ParameterError {
    ParameterError::Bound { name: name.to_owned(), bound: bound.trim().to_owned(), expected }
}

fn parse_real(name: &str, text: &str) -> Result<f64, ParameterError> {
    text.trim().parse().map_err(|_| bound_error(name, text, "a finite number"))
}

fn parse_integer(name: &str, text: &str) -> Result<i64, ParameterError> {
    text.trim().parse().map_err(|_| bound_error(name, text, "an integer of magnitude up to 2^53"))
}

/// The options in a list; a quoted one is a text, whatever it looks like.
fn read_options(text: &str) -> Vec<Value> {
    let options = split_at_commas(text);
    let values: Vec<Value> = options.iter().map(|text| read_value(text)).collect();
    if values.iter().all(|value| value.as_number().is_some()) {
        return values;
    }
    options.iter().map(|&text| Value::Text(without_quotes(text).unwrap_or(text).to_owned())).collect()
}

impl Parameter {
    /// Checks name, bounds and options.
    ///
    /// # Errors
    /// Any [`ParameterError`] but `Syntax`.
    pub fn validate(&self) -> Result<(), ParameterError> {
        let has_only_allowed = self.name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
        if self.name.is_empty() || !has_only_allowed {
            return Err(ParameterError::Name { name: self.name.clone() });
        }
        self.kind.validate(&self.name)
    }

    /// Whether it applies, given the values of the parameters that its condition names. Everything that asks which parameters of a
    /// configuration are active asks here.
    pub(crate) fn applies_in(&self, configuration: &Configuration) -> bool {
        self.active_if.as_ref().is_none_or(|condition| condition.holds_in(configuration))
    }
}

impl FromStr for Parameter {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let pair = text.split_once('=');
        let (name, rest) = pair.ok_or_else(|| ParameterError::Syntax { text: text.to_owned() })?;
        let name = name.trim();
        let parts = split_unquoted(rest, " if ");
        let condition = parts.last().filter(|_| parts.len() > 1).copied();
        let kind = condition.map_or(rest, |condition| &rest[..rest.len() - condition.len() - " if ".len()]);
        let active_if = condition.map(str::parse).transpose();
        let active_if =
            active_if.map_err(|source| ParameterError::Condition { name: name.to_owned(), source })?;
        let kind = ParameterKind::parse(name, kind.trim())?;
        let parameter = Self { name: name.to_owned(), kind, active_if };
        parameter.validate()?;
        Ok(parameter)
    }
}

impl fmt::Display for ParameterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, step) = match self {
            Self::Float { step, .. } => ("float", step.map(|step| step.to_string())),
            Self::Log { step, .. } => ("log", step.map(|step| step.to_string())),
            Self::Int { step, .. } => ("int", step.map(|step| step.to_string())),
            Self::LogInt { step, .. } => ("logint", step.map(|step| step.to_string())),
            Self::Flag => return f.write_str("flag"),
            Self::Choice { options } => {
                // where all options look like numbers, quotes make them texts
                let are_texts = options
                    .iter()
                    .all(|option| option.as_text().is_some_and(|text| text.parse::<f64>().is_ok()));
                let options: Vec<String> =
                    options.iter().map(|option| quote_option(option, are_texts)).collect();
                return write!(f, "choice:{}", options.join(","));
            }
        };
        let Some(bounds) = self.bounds() else { return Ok(()) };
        write!(f, "{kind}:{}:{}", short(bounds.lo), short(bounds.hi))?;
        step.map_or(Ok(()), |step| write!(f, ":{step}"))
    }
}

/// A bound without hundreds of zeros.
fn short(bound: f64) -> String {
    match bound.abs() {
        1e-9..1e16 | 0.0 => bound.to_string(),
        _ => format!("{bound:e}"),
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.kind)?;
        match &self.active_if {
            Some(condition) => write!(f, " if {condition}"),
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
            "amp=flag",
            "width=int:16:256:16",
            "share=float:0:1:0.05",
            "layers=choice:[64,64],[128]",
            "names=choice:'a,b',c d,it's",
            "odd=choice:'1','2'",
            "units=int:8:256 if layers>=3 and optimizer!=adam",
            "odd=choice:'a if b','c and d' if other='x if y'",
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
            ("lr", "Write NAME=KIND"),
            ("=float:0:1", "`` is not a parameter name"),
            ("a b=float:0:1", "`a b` is not a parameter name"),
            ("lr=gauss:0:1", "unknown kind `gauss:0:1`. Choose float:lo:hi, log:lo:hi"),
            ("lr=float:0", "unknown kind `float:0`"),
            ("lr=3", "parameter lr: unknown kind `3`"),
            ("lr=float:1:0", "lower bound 1 is above upper bound 0. Swap them"),
            ("n=int:5:2", "lower bound 5 is above upper bound 2"),
            ("lr=float:NaN:1", "bound `NaN` is not a finite number"),
            ("lr=float:0:inf", "bound `inf` is not a finite number"),
            ("lr=float:0:x", "bound `x` is not a finite number"),
            ("n=int:0:1.5", "bound `1.5` is not an integer"),
            ("n=int:0:9007199254740993", "not an integer of magnitude up to 2^53"),
            ("lr=log:0:1", "lower bound is 0. Raise it, or use float"),
            ("n=logint:0:9", "lower bound is 0. Raise it, or use int"),
            ("o=choice:", "an option is empty"),
            ("n=int:0:9:0", "the step 0 is not above 0"),
            ("n=float:0:1:-0.1", "the step -0.1 is not above 0"),
            ("n=int:0:9:1:2", "unknown kind"),
            ("o=choice:a,a", "option `a` is listed twice"),
            ("m=float:0:1 if sgd", "parameter m: \"sgd\" is not a condition"),
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
            let x = kind.sample(&mut rng).as_number().unwrap();
            decades[((x.log10() + 4.0) as usize).min(3)] += 1;
        }
        // binomial(4000, 1/4): standard deviation 27, five of them either side
        assert!(decades.iter().all(|count| (863..=1137).contains(count)), "{decades:?}");
    }

    #[test]
    fn integers_reach_both_ends() {
        for kind in [parameter("n=int:-1:2").kind, parameter("n=logint:1:4").kind] {
            let mut rng = trial_stream(2, 0);
            let mut seen: Vec<f64> = (0..300).filter_map(|_| kind.sample(&mut rng).as_number()).collect();
            seen.sort_by(f64::total_cmp);
            seen.dedup();
            assert_eq!(seen.len(), 4, "{kind}: {seen:?}");
        }
    }

    #[test]
    fn a_step_leaves_only_its_multiples_and_reaches_both_ends() {
        for (text, count) in [
            ("a=float:0:1:0.05", 21),
            ("a=int:16:256:16", 16),
            ("a=log:0.1:0.5:0.1", 5),
            ("a=logint:1:9:4", 3),
        ] {
            let kind = parameter(text).kind;
            let mut rng = trial_stream(2, 0);
            let mut seen: Vec<f64> = (0..2000).filter_map(|_| kind.sample(&mut rng).as_number()).collect();
            seen.sort_by(f64::total_cmp);
            seen.dedup();
            assert_eq!((seen.len(), kind.value_count()), (count, Some(count as u64)), "{text}: {seen:?}");
        }
        let kind = parameter("a=float:0:1:0.05").kind;
        assert!(kind.contains(&Value::Number(0.15)) && !kind.contains(&Value::Number(0.16)));
        assert_eq!(kind.nearest_value(&Value::Number(0.16)), Some(Value::Number(0.15)));
    }

    #[test]
    fn real_numbers_are_short_and_written_with_a_point() {
        let kind = parameter("lr=log:1e-6:1e-2").kind;
        let bounds = kind.bounds().unwrap();
        assert_eq!((bounds.value_at(0.0).to_string().as_str(), bounds.value_at(1.0)), ("0.000001", 0.01));
        assert_eq!(kind.program_value(&Value::Number(1.0)).to_string(), "1.0");
        assert_eq!(parameter("n=int:0:1").kind.program_value(&Value::Number(1.0)).to_string(), "1");
        assert_eq!(
            parameter("a=flag").kind.program_value(&Value::Text("true".into())),
            serde_json::json!(true)
        );
        let narrow = parameter("x=float:1:1.0000001").kind.bounds().unwrap();
        assert!(
            narrow.value_at(0.3) > 1.0 && narrow.value_at(0.3) < 1.0000001,
            "six digits would be too few"
        );
    }

    #[test]
    fn the_nearest_value_is_one_that_is_allowed() {
        let nearest = |text: &str, value: Value| parameter(text).kind.nearest_value(&value);
        assert_eq!(nearest("wd=log:1e-6:0.1", Value::Number(0.0)), Some(Value::Number(1e-6)));
        assert_eq!(nearest("n=int:1:8", Value::Text("12".into())), Some(Value::Number(8.0)));
        assert_eq!(nearest("o=choice:a,b", Value::Text("c".into())), None);
        assert_eq!(nearest("lr=log:1e-6:1", Value::Number(0.123456789)), Some(Value::Number(0.123456789)));
    }

    proptest! {
        #[test]
        fn every_draw_is_in_the_kind(lo in -1e6..1e6_f64, span in 0.0..1e6_f64, seed in 0_u64..1000) {
            let (from, to) = (lo as i64, (lo + span) as i64);
            let positive = lo.abs() + 1e-9;
            let mut rng = trial_stream(seed, 0);
            for kind in [
                ParameterKind::Float { lo, hi: lo + span, step: None },
                ParameterKind::Log { lo: positive, hi: positive + span, step: None },
                ParameterKind::Int { lo: from, hi: to, step: None },
                ParameterKind::LogInt { lo: from.abs() + 1, hi: from.abs() + 1 + (to - from), step: None },
                ParameterKind::Choice { options: vec![Value::Number(lo), Value::Text("a".into())] },
            ] {
                prop_assert!(kind.validate("x").is_ok());
                let value = kind.sample(&mut rng);
                prop_assert!(kind.contains(&value), "{kind}: {value}");
            }
        }
    }
}
