//! The flags of a study: one for each field of a [`StudyRequest`], made of its schema, so that a flag, a key of a study file and a field
//! over HTTP are one thing.

use crate::catalogue::catalogue;
use crate::failure::Failure;
use clap::builder::{PossibleValue, PossibleValuesParser, ValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use foretell::ErrorBudget;
use foretell_search::{Refusal, SchedulerName, StudyRequest};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// Fields that have flags of other forms: `--param`, `--space`; a pattern for `--metric`; `--minimize`, `--maximize`.
const OTHER_FORM_FIELDS: [&str; 3] = ["space", "metric", "direction"];

/// Headings, and further fields, for the few who tune them: keys of a study file. Their flags still work, and no help lists them.
const FILE_ONLY: [&str; 8] =
    ["Rungs", "Q-learning", "checkpoints", "agreeing_checks", "error_budget", "refit", "exempt", "patience"];

/// Fields whose flags stand first under their heading, because most searches set them.
const LEADING_FIELDS: [&str; 2] = ["epochs", "trials"];

/// The values of the flags of a study.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestFlags {
    /// As a request.
    pub(crate) request: StudyRequest,
}

/// The flag of the field `name`: `burn-in`, or `no-stopping` where the field is on unless turned off.
fn flag_name(name: &str, schema: &Value) -> String {
    let flag = name.replace('_', "-");
    if schema["default"] == true { format!("no-{flag}") } else { flag }
}

/// The fields that have a flag of their name, with their schemas.
static FLAG_FIELDS: LazyLock<Vec<(String, Value)>> = LazyLock::new(|| {
    StudyRequest::schema(catalogue())
        .into_iter()
        .filter(|(name, _)| !OTHER_FORM_FIELDS.contains(&name.as_str()))
        .collect()
});

/// Whether the study's request has the field `key`, written with `-` or `_`, and its flag (if any) means the same.
pub(crate) fn is_field(key: &str) -> bool {
    let key = key.replace('-', "_");
    let key = key.strip_prefix("no_").unwrap_or(&key);
    ["direction", "objectives", "limits"].contains(&key) || FLAG_FIELDS.iter().any(|(name, _)| name == key)
}

/// `text`, where fields in backticks stand as flags.
fn with_flags(text: &str) -> String {
    let words = text.split('`').enumerate().map(|(i, part)| match i % 2 {
        1 if is_field(part) => format!("--{}", part.replace('_', "-")),
        1 => format!("`{part}`"),
        _ => part.to_owned(),
    });
    words.collect()
}

/// The first of `keys` that the field of a flag has, as a text.
fn first_text_of(schema: &Value, keys: &[&str]) -> String {
    let text = keys.iter().find_map(|key| schema.get(key)).and_then(Value::as_str);
    with_flags(text.unwrap_or_default())
}

/// The meaning of the field of a flag, without the defaults of a search.
fn field_meaning(schema: &Value) -> String {
    first_text_of(schema, &["x-flag-help", "x-meaning", "description"])
}

/// The help text of a flag.
fn help(schema: &Value) -> String {
    let text = first_text_of(schema, &["x-flag-help", "description"]);
    match &schema["default"] {
        // a text that explains its default would otherwise have two
        _ if text.contains("(default: ") => text,
        // a flag that takes no value shows its default by its name: `no-stopping` is off
        Value::Null | Value::Bool(_) => text.trim_end_matches('.').to_owned(),
        default => {
            let default = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
            let default = default.strip_suffix(".0").unwrap_or(&default);
            format!("{} (default: {default})", text.trim_end_matches('.'))
        }
    }
}

fn arg(name: &str, schema: &Value) -> Arg {
    let text = |key: &str| schema.get(key).and_then(Value::as_str).map(str::to_owned);
    let rare = schema["x-rare"] == true;
    let arg =
        Arg::new(name.to_owned()).long(flag_name(name, schema)).help(help(schema)).hide_short_help(rare);
    let arg = match text("x-heading") {
        Some(heading) => arg.help_heading(heading),
        None => arg,
    };
    let arg = match LEADING_FIELDS.iter().position(|first| *first == name) {
        Some(place) => arg.display_order(place),
        None => arg,
    };
    if schema["type"] == "boolean" {
        return arg.action(ArgAction::SetTrue);
    }
    let value_name = text("x-value").unwrap_or_else(|| name.to_uppercase());
    let arg = arg.value_name(value_name).allow_negative_numbers(true).value_parser(parser(name, schema));
    if schema["type"] == "array" { arg.action(ArgAction::Append) } else { arg.action(ArgAction::Set) }
}

/// The parser of the values of the field `name`.
fn parser(name: &str, schema: &Value) -> ValueParser {
    if let Some(choices) = schema["oneOf"].as_array() {
        let choice = |choice: &Value| {
            let help = choice["description"].as_str().unwrap_or_default().trim_end_matches('.').to_owned();
            Some(PossibleValue::new(choice["const"].as_str()?.to_owned()).help(help))
        };
        // accepted here and refused by the catalogue, which tells where they are
        let lacking =
            catalogue().missing_paper_parts(name).into_iter().map(|name| PossibleValue::new(name).hide(true));
        return PossibleValuesParser::new(choices.iter().filter_map(choice).chain(lacking)).into();
    }
    match schema["type"].as_str() {
        Some("integer") => {
            let least = schema["minimum"].as_u64().unwrap_or(0);
            let example = schema["default"].as_u64().unwrap_or(30);
            ValueParser::from(move |text: &str| parse_whole(text, least, example))
        }
        Some("number") => ValueParser::from(finite),
        _ => ValueParser::string(),
    }
}

/// A whole number that is at least `least`. A refusal shows `example`.
fn parse_whole(text: &str, least: u64, example: u64) -> Result<u64, String> {
    match text.trim().parse::<u64>() {
        Ok(number) if number >= least => Ok(number),
        Ok(_) => Err(format!("it must be at least {least}")),
        Err(_) => Err(format!("write a whole number, for example {example}")),
    }
}

/// A number that is finite: JSON writes any other as `null`, which leaves a field open.
fn finite(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        Ok(_) => Err("it must be a finite number".to_owned()),
        Err(_) => Err("write a number, for example 0.9".to_owned()),
    }
}

/// `text`, which the parser of this field has read, as JSON.
fn json(schema: &Value, text: &str) -> Value {
    match schema["type"].as_str() {
        Some("integer") => text.parse::<u64>().map_or(Value::Null, Value::from),
        Some("number") => finite(text).map_or(Value::Null, Value::from),
        _ => text.into(),
    }
}

impl Args for RequestFlags {
    fn augment_args(command: Command) -> Command {
        FLAG_FIELDS.iter().fold(command, |command, (name, schema)| {
            let heading = schema["x-heading"].as_str().unwrap_or_default();
            command.arg(
                arg(name, schema).hide(FILE_ONLY.contains(&heading) || FILE_ONLY.contains(&name.as_str())),
            )
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for RequestFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = Map::new();
        for (name, schema) in FLAG_FIELDS.iter().filter(|(name, _)| is_given(matches, name)) {
            let mut texts = values(matches, name, schema);
            let value = match schema["type"].as_str() {
                Some("boolean") => (schema["default"] != true).into(),
                Some("array") => texts.collect(),
                _ => texts.next_back().unwrap_or_default(),
            };
            given.insert(name.clone(), value);
        }
        let request = StudyRequest::from_fields(&given);
        request.map(|request| Self { request }).map_err(|refusal| invalid_value(&refusal))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Whether the command line has the flag of the field `name`.
fn is_given(matches: &ArgMatches, name: &str) -> bool {
    matches.value_source(name) == Some(ValueSource::CommandLine)
}

/// The values of the flag of the field `name`.
fn values<'a>(
    matches: &'a ArgMatches,
    name: &str,
    schema: &'a Value,
) -> impl DoubleEndedIterator<Item = Value> + use<'a> {
    let texts: Vec<_> = matches.get_raw(name).into_iter().flatten().collect();
    texts.into_iter().map(|text| json(schema, &text.to_string_lossy()))
}

fn invalid_value(refusal: &Refusal) -> clap::Error {
    clap::Error::raw(clap::error::ErrorKind::InvalidValue, format!("{}\n", format_refusal_for_cli(refusal)))
}

/// A refusal in the words of the command line: by the flag.
fn format_refusal_for_cli(refusal: &Refusal) -> String {
    let reason = with_flags(&refusal.reason);
    let flag = match refusal.field.as_str() {
        "space" => return reason,
        "direction" => return reason.replace("Set maximize or minimize", "Add --maximize or --minimize"),
        "metric" => "metric".to_owned(),
        field => match FLAG_FIELDS.iter().find(|(name, _)| name == field) {
            Some((name, schema)) => flag_name(name, schema),
            None => return reason,
        },
    };
    format!("--{flag}: {reason}")
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::input(format_refusal_for_cli(&refusal))
    }
}

/// The values of the field `name` that a replay compares, with a scheduler with rungs or without; `None` if it is the default of a study.
fn compared_values(name: &str, with_rungs: bool) -> Option<Value> {
    Some(match (name, with_rungs) {
        ("predictor", _) => json!([crate::curves::DEFAULT_PREDICTOR]),
        ("stop_probability", false) => json!([0.9, 0.95, 0.99]),
        ("stop_probability", true) => json!([0.9]),
        ("agreeing_checks", false) => json!([1, 2]),
        ("agreeing_checks", true) => json!([1]),
        ("error_budget", false) => json!([ErrorBudget::PerCheck, ErrorBudget::PerRun]),
        ("error_budget", true) => json!([ErrorBudget::PerCheck]),
        ("scheduler", _) => json!([SchedulerName::Full]),
        _ => return None,
    })
}

/// The default of the field `name` in a replay, in words; `None` if it is that of a study.
fn compared_default(name: &str) -> Option<String> {
    let listed = |values: Value| {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        values.as_array().into_iter().flatten().map(text).collect::<Vec<_>>().join(",")
    };
    let values = |with_rungs| compared_values(name, with_rungs).map(listed);
    match (name, values(false), values(true)) {
        // the other defaults of these depend on the curves
        ("burn_in", ..) => Some("a third of the runs, at most 100; for lce 1; with Hyperband 100".to_owned()),
        ("refit", ..) => Some("once; with rungs ranked by forecasts 1.05".to_owned()),
        ("caution", ..) => Some("all".to_owned()),
        (_, Some(without), Some(with)) if without != with => Some(format!("{without}; with rungs {with}")),
        (_, without, _) => without,
    }
}

/// Flags of a study where several values of each may be given, with commas between them, to be compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct ComparedFlags {
    given: Map<String, Value>,
}

impl ComparedFlags {
    /// The values that the flag of the field `name` was given; `None` without the flag.
    pub(crate) fn all<T: DeserializeOwned>(&self, name: &str) -> Option<Vec<T>> {
        debug_assert!(replay_fields().any(|(known, _)| known == name), "{name} is no flag of replay");
        serde_json::from_value(self.given.get(name)?.clone()).ok()
    }

    /// The values of the field `name`: those that its flag was given, or its default in a replay, `with_rungs` or without.
    pub(crate) fn values<T: DeserializeOwned>(&self, name: &str, with_rungs: bool) -> Vec<T> {
        self.all(name).unwrap_or_else(|| {
            let usual = || {
                let (_, schema) = replay_fields().find(|(known, _)| known == name).expect("a flag of replay");
                json!([schema["default"]])
            };
            let values = compared_values(name, with_rungs).unwrap_or_else(usual);
            serde_json::from_value(values).expect("a default is a value of its field")
        })
    }

    /// Whether no other flags were given than those of the fields `names`.
    pub(crate) fn has_only(&self, names: &[&str]) -> bool {
        self.given.keys().all(|name| names.contains(&name.as_str()))
    }

    /// The last value of each given field.
    pub(crate) fn fields(&self) -> Map<String, Value> {
        let last = |(name, values): (&String, &Value)| {
            Some((name.clone(), values.as_array().and_then(|values| values.last())?.clone()))
        };
        self.given.iter().filter_map(last).collect()
    }

    /// The last value of each given field, as a request.
    pub(crate) fn request(&self) -> StudyRequest {
        // each value was read on its own
        StudyRequest::from_fields(&self.fields()).unwrap_or_default()
    }

    /// The last of them.
    pub(crate) fn last<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        self.all(name).and_then(|mut values| values.pop())
    }
}

/// The fields of a study whose values a replay compares, with their schemas.
fn replay_fields() -> impl Iterator<Item = &'static (String, Value)> {
    FLAG_FIELDS.iter().filter(|(_, schema)| schema["x-compared"] == true)
}

impl Args for ComparedFlags {
    fn augment_args(command: Command) -> Command {
        let several = |(name, schema): &(String, Value)| {
            let arg = arg(name, schema).action(ArgAction::Append).value_delimiter(',');
            let Some(default) = compared_default(name) else { return arg };
            arg.help(format!("{} (default: {default})", field_meaning(schema).trim_end_matches('.')))
        };
        replay_fields().fold(command, |command, field| command.arg(several(field)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ComparedFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = Map::new();
        for (name, schema) in replay_fields().filter(|(name, _)| is_given(matches, name)) {
            let values: Vec<Value> = values(matches, name, schema).collect();
            for value in &values {
                let one = Map::from_iter([(name.clone(), value.clone())]);
                // read alone, because a field of a request holds one value and a refusal must name the one that is wrong
                StudyRequest::from_fields(&one).map_err(|refusal| invalid_value(&refusal))?;
            }
            given.insert(name.clone(), values.into());
        }
        Ok(Self { given })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
