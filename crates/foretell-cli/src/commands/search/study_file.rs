//! `STUDY.toml`: the flags of `foretell search` in a file.
//!
//! A key is the long name of a flag and means what the flag means; `[param]` and `command` stand for `--param` and for what
//! comes after `--`. Flags of the command line take the place of the file's.

use super::flags::Arguments;
use crate::failure::{Failure, brief, nearest};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use std::ffi::OsString;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// The subcommand that such files are for.
const SEARCH: &str = "search";
/// The key of the command.
const COMMAND: &str = "command";
/// A list of tables, each a configuration to try first, and its flag.
const TRIAL: &str = "trial";
const ENQUEUE: &str = "enqueue";
/// The table of parameters, and their flag.
const PARAMETERS: &str = "param";

/// One key of the file, as words of a command line.
struct Entry {
    key: String,
    words: Vec<String>,
}

/// The flags of the file `path` and of the command line `given` (the program's name and `search` first) together.
pub(super) fn together(path: &Path, given: &[OsString]) -> Result<Arguments, Failure> {
    let matches = matches(given).map_err(|error| Failure::input(brief(&error)))?;
    let entries = read(path)?;
    let on_command_line =
        |key: &str| matches.value_source(&key.replace('-', "_")) == Some(ValueSource::CommandLine);
    let (mut words, mut command) = (given[..2].to_vec(), Vec::new());
    for entry in entries.into_iter().filter(|entry| !on_command_line(id(&entry.key))) {
        let into = if entry.key == COMMAND { &mut command } else { &mut words };
        into.extend(entry.words.into_iter().map(OsString::from));
    }
    words.extend_from_slice(&given[2..]);
    words.extend(command);
    let matches = self::matches(&words).map_err(|error| {
        Failure::input(format!("{} and the command line: {}", path.display(), brief(&error)))
    })?;
    Arguments::from_arg_matches(&matches).map_err(|error| Failure::input(brief(&error)))
}

/// What clap calls the flag `key`.
fn id(key: &str) -> &str {
    if key == PARAMETERS { "parameters" } else { key }
}

fn matches(words: &[OsString]) -> Result<ArgMatches, clap::Error> {
    let mut matches = Command::new("foretell")
        .subcommand_required(true)
        .subcommand(Arguments::augment_args(Command::new(SEARCH)))
        .try_get_matches_from(words)?;
    let (_, search) = matches.remove_subcommand().expect("a subcommand is required");
    Ok(search)
}

/// The entries of the file, each checked as if it were alone on the command line.
fn read(path: &Path) -> Result<Vec<Entry>, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::input(format!(
            "{}: {error}; the first word after `search` names a file with the study's flags, a command goes after `--`",
            path.display()
        ))
    })?;
    let place = |span: Range<usize>| {
        let before = &text[..span.start];
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        (1 + before.matches('\n').count(), column)
    };
    let wrong = |(line, column): (usize, usize), what: &dyn std::fmt::Display| {
        Failure::input(format!("{}:{line}:{column}: {what}", path.display()))
    };
    let table = DeTable::parse(&text).map_err(|error| {
        let place = error.span().map_or((1, 1), place);
        wrong(place, &error.message())
    })?;
    let check = |(key, span, words): Line| {
        let line = place(span);
        check_key(&key).map_err(|what| wrong(line, &what))?;
        let words = words.map_err(|what| wrong(line, &what))?;
        let alone = ["foretell", SEARCH].into_iter().chain(words.iter().map(String::as_str));
        matches(&alone.map(OsString::from).collect::<Vec<_>>())
            .map_err(|error| wrong(line, &brief(&error)))?;
        Ok(Entry { key, words })
    };
    lines(table.get_ref()).into_iter().map(check).collect()
}

/// Refuses a key that is no flag's name, and names the nearest one.
fn check_key(key: &str) -> Result<(), String> {
    let search = Arguments::augment_args(Command::new(SEARCH));
    let mut names: Vec<&str> = search.get_arguments().filter_map(clap::Arg::get_long).collect();
    names.extend([COMMAND, PARAMETERS, "help", "version"]); // the last two are refused in their own words
    if names.contains(&key) {
        return Ok(());
    }
    let nearest = nearest(key, names.iter().copied());
    Err(format!("unknown key `{key}`{nearest} (`foretell schema` lists all)"))
}

/// A key, where it is, and its words of a command line or what is wrong with it.
type Line = (String, Range<usize>, Result<Vec<String>, String>);

/// What the file says, parameters as flags of their own.
fn lines(table: &DeTable<'_>) -> Vec<Line> {
    let mut lines = Vec::new();
    for (key, value) in by_place(table) {
        let name = key.get_ref().to_string();
        match value.get_ref() {
            DeValue::Table(parameters) if name == PARAMETERS => {
                lines.extend(by_place(parameters).into_iter().map(|(name, kind)| {
                    let kind = scalar(name.get_ref(), kind.get_ref());
                    let words = kind.map(|kind| vec![format!("--{PARAMETERS}={}={kind}", name.get_ref())]);
                    (PARAMETERS.to_owned(), name.span(), words)
                }));
            }
            DeValue::Array(trials) if name == TRIAL => {
                lines.extend(
                    trials.iter().map(|trial| (ENQUEUE.to_owned(), trial.span(), queued(trial.get_ref()))),
                );
            }
            value => {
                let words = words(&name, value);
                lines.push((name, key.span(), words));
            }
        }
    }
    lines
}

/// `[[trial]]` as words of a command line.
fn queued(trial: &DeValue<'_>) -> Result<Vec<String>, String> {
    let DeValue::Table(values) = trial else {
        return Err("`trial` must be tables of values, such as [[trial]] and lr = 0.1 below it".to_owned());
    };
    let pair = |(name, value): (&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>)| {
        Ok(format!("{}={}", name.get_ref(), scalar(name.get_ref(), value.get_ref())?))
    };
    let pairs: Vec<String> = by_place(values).into_iter().map(pair).collect::<Result<_, String>>()?;
    Ok(vec![format!("--{ENQUEUE}={}", pairs.join(","))])
}

/// The entries of a table in the order in which they are written.
fn by_place<'a, 'i>(table: &'a DeTable<'i>) -> Vec<(&'a Spanned<DeString<'i>>, &'a Spanned<DeValue<'i>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// `key = value` as words of a command line.
fn words(key: &str, value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let flag = |value: &DeValue<'_>| Ok(format!("--{key}={}", scalar(key, value)?));
    match value {
        DeValue::Array(values) if key == COMMAND => {
            let words = values.iter().map(|word| scalar(key, word.get_ref()));
            std::iter::once(Ok("--".to_owned())).chain(words).collect()
        }
        _ if key == COMMAND => {
            Err("`command` must be a list of words, such as [\"python\", \"train.py\", \"{lr}\"]".to_owned())
        }
        DeValue::Boolean(wanted) => Ok(if *wanted { vec![format!("--{key}")] } else { Vec::new() }),
        DeValue::Array(values) => values.iter().map(|value| flag(value.get_ref())).collect(),
        DeValue::Table(_) => Err(format!("`{key}` is a table; the only one is [{PARAMETERS}]")),
        other => Ok(vec![flag(other)?]),
    }
}

/// A text or a number, as it is written.
fn scalar(key: &str, value: &DeValue<'_>) -> Result<String, String> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(number) => Ok(number.to_string()),
        DeValue::Float(number) => Ok(number.to_string()),
        other => Err(format!("`{key}` must be a text or a number, not of kind {}", other.type_str())),
    }
}
