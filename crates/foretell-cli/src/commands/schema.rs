//! `foretell study_schema`: the JSON Schema of study files, made of the flags that they stand for.

use crate::commands::search;
use crate::failure::CommandResult;
use crate::output::print_json;
use clap::builder::ValueParser;
use clap::{Arg, ArgAction, Args, Command};
use serde_json::{Map, Value, json};
use std::any::TypeId;

/// Prints the schema.
pub(crate) fn run() -> CommandResult {
    print_json(&study_schema())
}

fn study_schema() -> Value {
    let command = search::SearchArguments::augment_args(Command::new("search"));
    let flags = command.get_arguments().filter(|flag| flag.get_long().is_some_and(|name| name != "param"));
    let mut properties: Map<String, Value> =
        flags.filter_map(|flag| Some((flag.get_long()?.to_owned(), property(flag)))).collect();
    let off: Vec<String> =
        properties.keys().filter_map(|name| name.strip_prefix("no-").map(str::to_owned)).collect();
    for name in off {
        let description = format!("`{name} = false` is the same as `no-{name} = true`.");
        properties.insert(name, json!({"description": description, "type": "boolean"}));
    }
    let command = json!({
        "description": "Program and arguments of a trial. `{lr}` stands for the parameter lr.",
        "type": "array", "items": {"type": "string"}, "minItems": 1
    });
    let parameters = json!({
        "description": "Search space: float:lo:hi, log:lo:hi, int:lo:hi, logint:lo:hi, choice:a,b,c; `… if other=value` makes it conditional.",
        "type": "object",
        "additionalProperties": {"type": "string", "pattern": "^(float|log|int|logint|choice):"}
    });
    for engine in ["slurm", "ray"] {
        let options = json!({
            "description": properties[engine]["description"],
            "type": "object",
            "properties": {"lines": {"type": "array", "items": {"type": "string"}}},
            "additionalProperties": {"type": ["string", "number"]}
        });
        properties.insert(engine.to_owned(), options);
    }
    properties.insert("command".to_owned(), command);
    properties.insert("param".to_owned(), parameters);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A study file of foretell search",
        "type": "object",
        "additionalProperties": false,
        "properties": properties
    })
}

fn property(flag: &Arg) -> Value {
    let description = flag.get_help().map(ToString::to_string).unwrap_or_default();
    let choices: Vec<String> = flag
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| value.get_name().to_owned())
        .collect();
    let one = match flag.get_action() {
        ArgAction::SetTrue => json!({"type": "boolean"}),
        _ if !choices.is_empty() => json!({"enum": choices}),
        _ => json!({"type": json_type(flag.get_value_parser())}),
    };
    let mut property = match flag.get_action() {
        ArgAction::Append => json!({"anyOf": [one.clone(), {"type": "array", "items": one}]}),
        _ => one,
    };
    property["description"] = description.into();
    property
}

fn json_type(parser: &ValueParser) -> &'static str {
    let integers = [TypeId::of::<u64>(), TypeId::of::<u32>(), TypeId::of::<u16>(), TypeId::of::<usize>()];
    if parser.type_id() == TypeId::of::<f64>() {
        "number"
    } else if integers.iter().any(|known| parser.type_id() == *known) {
        "integer"
    } else {
        "string"
    }
}
