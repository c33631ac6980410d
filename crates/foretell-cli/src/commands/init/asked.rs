//! The options of a script as the hook recorded them from its parser.

use super::option::{KnownOptions, OptionStyle, OptionType, ScriptFlag, plain_name};
use foretell_run::{HookOptions, HookRecord, ScriptOption};
use serde_json::Value;
use std::path::Path;

/// Parsers that are built on argparse, whose own records then only describe them.
const PARSERS_ON_ARGPARSE: [&str; 2] = ["hydra", "fire"];

/// The options that the script in `command` was asked for; `None` where no parser was recorded.
pub(super) fn options(records: &[HookRecord], command: &[String]) -> Option<KnownOptions> {
    let all = records.iter().filter_map(|record| match record {
        HookRecord::Options(options) if !options.options.is_empty() => Some(options),
        _ => None,
    });
    let all: Vec<&HookOptions> = all.collect();
    // a launcher parses options, too, and so do the scripts of other processes
    let named = command.iter().rev().find_map(|word| {
        let path = std::fs::canonicalize(word).ok().filter(|path| path.is_file())?;
        all.iter().any(|options| is_same_file(&options.script, &path)).then_some(path)
    });
    let mut own = all;
    own.retain(|options| match &named {
        Some(path) => is_same_file(&options.script, path),
        None => options.options.iter().any(|option| option.own == Some(true)),
    });
    if own.iter().any(|options| PARSERS_ON_ARGPARSE.contains(&options.source.as_str())) {
        own.retain(|options| options.source != "argparse");
    }
    let last = own.last()?;
    let mut known = KnownOptions { used: last.used.clone(), ..KnownOptions::default() };
    known.refused = own.iter().rev().find_map(|options| options.error.clone());
    // the last record of a parser is the outermost and the most complete one
    for options in own.iter().rev() {
        for option in &options.options {
            known.add(option, &options.source);
        }
    }
    Some(known)
}

fn is_same_file(script: &Path, path: &Path) -> bool {
    std::fs::canonicalize(script).is_ok_and(|script| script == path)
}

impl KnownOptions {
    /// Adds an option, if its sub-commands are in use and it is not known yet.
    fn add(&mut self, option: &ScriptOption, source: &str) {
        if !self.used.starts_with(&option.level) {
            return;
        }
        let Some(flag) = long_flag(option) else {
            self.positional.push(plain_name(&option.dest).to_lowercase());
            return;
        };
        let new = read_recorded_option(option, flag, source);
        match self.options.iter_mut().find(|there| there.name == new.name) {
            Some(there) if there.level.len() < new.level.len() => *there = new,
            Some(_) => {}
            None => self.options.push(new),
        }
    }
}

/// The long form of an option; `None` for a positional argument.
fn long_flag(option: &ScriptOption) -> Option<&str> {
    let long = option.flags.iter().find(|flag| flag.starts_with("--"));
    long.or(option.flags.iter().find(|flag| flag.len() > 2)).or(option.flags.first()).map(String::as_str)
}

fn read_recorded_option(option: &ScriptOption, flag: &str, source: &str) -> ScriptFlag {
    let style = match source {
        "hydra" | "omegaconf" => OptionStyle::Word,
        "absl" | "fire" => OptionStyle::Joined,
        // a list of jsonargparse is one word
        _ if option.nargs == "[ITEM,...]" => OptionStyle::Joined,
        _ => OptionStyle::Separate,
    };
    let action = option.action.as_str();
    let is_flag = ["storetrue", "storefalse", "storeconst", "booleanoptional", "flag"].contains(&action);
    let held = if option.value.is_null() { &option.default } else { &option.value };
    let separator = if source == "absl" { "," } else { ", " };
    let text = text(held, separator, source == "absl").filter(|text| text != "==SUPPRESS==");
    let takes_many = match &option.nargs {
        Value::String(count) => count != "?",
        Value::Number(count) => count.as_i64() != Some(1),
        _ => false,
    };
    let is_list = match style {
        OptionStyle::Word | OptionStyle::File => false,
        OptionStyle::Joined => held.is_array() || option.nargs == "[ITEM,...]",
        OptionStyle::Separate => takes_many,
    };
    let choices = option.choices.iter().flatten().filter_map(|choice| self::text(choice, ",", false));
    ScriptFlag {
        default: text,
        choices: choices.collect(),
        values: values(option.r#type.as_deref().unwrap_or_default(), held),
        is_list,
        is_flag,
        style,
        range: option
            .range
            .filter(|range| *range != (None, None))
            .map(|(low, high)| (low.unwrap_or(f64::NEG_INFINITY), high.unwrap_or(f64::INFINITY))),
        level: option.level.clone(),
        is_foreign: option.own != Some(true),
        ..ScriptFlag::new(flag)
    }
}

/// A value as the command line takes it. Python's None is the text `None`: the script decides by itself.
fn text(value: &Value, separator: &str, is_bare: bool) -> Option<String> {
    match value {
        Value::Null => Some("None".to_owned()),
        Value::Bool(true) => Some("True".to_owned()),
        Value::Bool(false) => Some("False".to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => {
            let items: Option<Vec<String>> = items.iter().map(|item| text(item, separator, false)).collect();
            let list = items?.join(separator);
            Some(if is_bare { list } else { format!("[{list}]") })
        }
        Value::Object(_) => None,
    }
}

fn values(kind: &str, held: &Value) -> OptionType {
    let kind = kind.to_lowercase();
    let is_float = kind.contains("float");
    match held {
        Value::Bool(_) => OptionType::Truth,
        _ if is_float => OptionType::Real,
        _ if kind.contains("int") && !kind.contains("point") => OptionType::Whole,
        _ if kind.contains("bool") => OptionType::Truth,
        _ if ["str", "text", "path", "string", "enum", "choice"].iter().any(|word| kind.contains(word)) => {
            OptionType::Text
        }
        Value::Number(number) if number.is_f64() => OptionType::Real,
        _ => OptionType::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::options;
    use crate::commands::init::option::{OptionStyle, OptionType};
    use foretell_run::{HookOptions, HookRecord, ScriptOption};
    use serde_json::{Value, json};

    fn option(flags: &[&str], kind: &str, default: Value) -> ScriptOption {
        ScriptOption {
            flags: flags.iter().map(|&flag| flag.to_owned()).collect(),
            dest: flags.last().unwrap_or(&"data").trim_start_matches('-').to_owned(),
            r#type: Some(kind.to_owned()),
            default,
            action: "store".to_owned(),
            own: Some(true),
            ..ScriptOption::default()
        }
    }

    fn record(source: &str, used: &[&str], options: Vec<ScriptOption>) -> HookRecord {
        let used = used.iter().map(|&word| word.to_owned()).collect();
        HookRecord::Options(HookOptions {
            source: source.to_owned(),
            used,
            options,
            ..HookOptions::default()
        })
    }

    #[test]
    fn options_of_the_sub_command_in_use_have_types_and_values() {
        let levelled =
            |level: &str, option: ScriptOption| ScriptOption { level: vec![level.to_owned()], ..option };
        let lr = ScriptOption { value: json!(0.2), ..option(&["-l", "--lr"], "float", json!(0.1)) };
        let all = vec![
            option(&["--seed"], "int", json!(1)),
            levelled("train", lr),
            levelled("train", option(&["--warmup"], "int", Value::Null)),
            levelled("export", option(&["--file"], "str", Value::Null)),
            option(&[], "str", Value::Null),
        ];
        let known = options(&[record("argparse", &["train"], all)], &["t.py".to_owned()]).expect("options");
        let shown: Vec<_> =
            known.options.iter().map(|one| (one.name.as_str(), one.default.as_deref(), one.values)).collect();
        assert_eq!(
            shown,
            [
                ("seed", Some("1"), OptionType::Whole),
                ("lr", Some("0.2"), OptionType::Real),
                ("warmup", Some("None"), OptionType::Whole)
            ]
        );
        assert_eq!((known.options[1].level.len(), &known.positional[..]), (1, &["data".to_owned()][..]));
    }

    #[test]
    fn hydra_hides_its_own_parser_and_a_list_of_absl_is_bare() {
        let hidden = record("argparse", &[], vec![option(&["--run"], "str", Value::Null)]);
        let words = record("hydra", &[], vec![option(&["optim.lr"], "float", json!(0.1))]);
        let known = options(&[hidden, words], &[]).expect("options");
        assert_eq!((known.options.len(), known.options[0].style), (1, OptionStyle::Word));
        let widths = record("absl", &[], vec![option(&["--widths"], "list", json!(["64", "32"]))]);
        let known = options(&[widths], &[]).expect("options");
        assert_eq!((known.options[0].default.as_deref(), known.options[0].is_list), (Some("64,32"), true));
        assert!(options(&[], &[]).is_none());
    }
}
