//! `STUDY.toml`: the flags of `foretell search` in a file.
//!
//! Keys are the fields of a [`StudyRequest`], as in the body of `PUT` over HTTP, and the long names of the other flags of
//! `foretell search`; `command` stands for the words after `--`. Flags of the command line replace the file's.

use super::flags::SearchArguments;
use crate::asked::Asked;
use crate::failure::{Failure, brief, nearest};
use crate::request_flags::is_field;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use foretell_search::StudyRequest;
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// The subcommand that such files are for.
const SEARCH: &str = "search";
/// The key of the command.
const COMMAND: &str = "command";
/// A list of tables, each a configuration to try first.
const TRIAL: &str = "trial";
/// The table of parameters, and its other name.
const PARAMETERS: &str = "param";
const SPACE: &str = "space";
/// The tables of the engines, and the key of further lines in them.
const ENGINES: [&str; 2] = ["slurm", "ray"];
const LINES: &str = "lines";

/// The contents of the file.
#[derive(Default)]
struct Contents {
    /// The settings of the study.
    request: Map<String, Value>,
    /// The other settings: each key, and its words of a command line.
    words: Vec<(String, Vec<String>)>,
}

/// The flags of the file `path` and of the command line `given` (the program's name and `search` first) together, and how that is
/// asked for again without the file.
pub(super) fn together(path: &Path, given: &[OsString]) -> Result<(SearchArguments, Asked), Failure> {
    let matches = matches(given).map_err(|error| Failure::input(brief(&error)))?;
    let contents = read(path)?;
    let on_command_line =
        |key: &str| matches.value_source(&key.replace('-', "_")) == Some(ValueSource::CommandLine);
    let (mut words, mut command) = (given[..2].to_vec(), Vec::new());
    let typed = matches.get_raw("on").and_then(|mut typed| typed.next()?.to_str().map(str::to_owned));
    let written = || {
        contents
            .words
            .iter()
            .find(|(key, _)| key == "on")?
            .1
            .first()?
            .strip_prefix("--on=")
            .map(str::to_owned)
    };
    let on = typed.or_else(written);
    // a file may describe several engines
    let is_idle = |key: &str| ENGINES.contains(&key) && on.as_deref().is_some_and(|on| on != key);
    for (key, flag) in contents.words.into_iter().filter(|(key, _)| !on_command_line(key) && !is_idle(key)) {
        let into = if key == COMMAND { &mut command } else { &mut words };
        into.extend(flag.into_iter().map(OsString::from));
    }
    words.extend_from_slice(&given[2..]);
    words.extend(command);
    let matches = self::matches(&words).map_err(|error| {
        Failure::input(format!("{} and the command line: {}", path.display(), brief(&error)))
    })?;
    let mut arguments =
        SearchArguments::from_arg_matches(&matches).map_err(|error| Failure::input(brief(&error)))?;
    arguments.asked.request =
        StudyRequest::from_fields(&contents.request)?.overlaid(&arguments.asked.request);
    Ok((arguments, Asked::with_file(given, &words, contents.request)))
}

/// The settings of the study in the file `path`.
pub(crate) fn study_request(path: &Path) -> Result<StudyRequest, Failure> {
    Ok(StudyRequest::from_fields(&read(path)?.request)?)
}

/// The flags of a search that was `asked` for before, those of its study file included.
pub(super) fn again(asked: &Asked) -> Result<SearchArguments, Failure> {
    let words: Vec<OsString> = asked.words.iter().map(OsString::from).collect();
    let matches = matches(&words).map_err(|error| Failure::input(brief(&error)))?;
    let mut arguments =
        SearchArguments::from_arg_matches(&matches).map_err(|error| Failure::input(brief(&error)))?;
    arguments.asked.request = StudyRequest::from_fields(&asked.request)?.overlaid(&arguments.asked.request);
    Ok(arguments)
}

fn matches(words: &[OsString]) -> Result<ArgMatches, clap::Error> {
    let mut matches = Command::new("foretell")
        .subcommand_required(true)
        .subcommand(SearchArguments::augment_args(Command::new(SEARCH)))
        .try_get_matches_from(words)?;
    let (_, search) = matches.remove_subcommand().expect("a subcommand is required");
    Ok(search)
}

/// The entries of the file, each checked as if it were alone on the command line.
fn read(path: &Path) -> Result<Contents, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::input(format!(
            "{}: {error}. The first word after `search` is a study file. Write a command after `--`",
            path.display()
        ))
    })?;
    let place = |span: Range<usize>| {
        let before = &text[..span.start];
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        (1 + before.matches('\n').count(), column)
    };
    let failure = |(line, column): (usize, usize), what: &dyn std::fmt::Display| {
        Failure::input(format!("{}:{line}:{column}: {what}", path.display()))
    };
    let table = DeTable::parse(&text).map_err(|error| {
        let at = error.span().map_or((1, 1), place);
        let line = text.lines().nth(at.0 - 1).unwrap_or_default();
        failure(at, &unquoted(line).unwrap_or_else(|| error.message().to_owned()))
    })?;
    let mut contents = Contents::default();
    for (key, value) in by_place(table.get_ref()) {
        let (name, line) = (key.get_ref().to_string(), place(key.span()));
        let flag = flag_of(&name).map_err(|what| failure(line, &what))?;
        if is_of_the_study(&name, value.get_ref()) {
            let value = json(value.get_ref());
            let one = Map::from_iter([(name, value)]);
            let one = StudyRequest::from_fields(&one).map_err(|refusal| failure(line, &refusal))?;
            contents.request.extend(one.fields());
            continue;
        }
        let words = match value.get_ref() {
            DeValue::Boolean(wanted) if flag != name => words(&flag, &DeValue::Boolean(!wanted)),
            _ if flag != name => Err(format!("`{name}` must be true or false")),
            value => words(&name, value),
        };
        let words = words.map_err(|what| failure(line, &what))?;
        let alone = ["foretell", SEARCH].into_iter().chain(words.iter().map(String::as_str));
        matches(&alone.map(OsString::from).collect::<Vec<_>>())
            .map_err(|error| failure(line, &brief(&error)))?;
        contents.words.push((flag, words));
    }
    Ok(contents)
}

/// Whether `key` with this value is a field of the study's request; `space = "lstm"` names built-in networks, a flag of its own.
fn is_of_the_study(key: &str, value: &DeValue<'_>) -> bool {
    let written = matches!(value, DeValue::Table(_) | DeValue::Array(_));
    is_field(key) || [PARAMETERS, TRIAL].contains(&key) || (key == SPACE && written)
}

/// A value of the file as JSON.
fn json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => text.to_string().into(),
        DeValue::Integer(number) => {
            number.to_string().parse::<i64>().map_or_else(|_| number.to_string().into(), Value::from)
        }
        DeValue::Float(number) => {
            // a number that is not finite has no JSON: as a text it is refused where a number is expected
            let finite = number.to_string().parse().ok().filter(|number: &f64| number.is_finite());
            finite.map_or_else(|| number.to_string().into(), Value::from)
        }
        DeValue::Boolean(truth) => (*truth).into(),
        DeValue::Datetime(time) => time.to_string().into(),
        DeValue::Array(values) => values.iter().map(|value| json(value.get_ref())).collect(),
        DeValue::Table(table) => {
            let entries = by_place(table).into_iter();
            entries.map(|(name, value)| (name.get_ref().to_string(), json(value.get_ref()))).collect()
        }
    }
}

/// The correct form of a `line` whose value is a string without quotes.
fn unquoted(line: &str) -> Option<String> {
    let (key, value) = line.split_once('=')?;
    let (key, value) = (key.trim(), value.split('#').next().unwrap_or_default().trim());
    let in_name = |c: char| c.is_alphanumeric() || "_-./:,()[]{}\\+*?| ".contains(c);
    let is_text = value.chars().all(in_name)
        && value.contains(char::is_alphabetic)
        && !value.starts_with('[')
        && !["true", "false", "inf", "nan"].contains(&value);
    let quote = if value.contains('\\') { '\'' } else { '"' };
    is_text.then(|| format!("`{value}` is a string. Write it in quotes: {key} = {quote}{value}{quote}"))
}

/// The name of the flag that a `key` stands for: `hook = false` is `no-hook = true`. A key that is no flag's name is refused with the
/// nearest one.
fn flag_of(key: &str) -> Result<String, String> {
    let search = SearchArguments::augment_args(Command::new(SEARCH));
    let mut names: Vec<&str> = search.get_arguments().filter_map(clap::Arg::get_long).collect();
    names.extend([COMMAND, PARAMETERS, TRIAL, "help", "version"]); // the last two are refused in their own words
    let off = format!("no-{key}");
    if names.contains(&key) || is_field(key) {
        return Ok(key.to_owned());
    }
    if names.contains(&off.as_str()) {
        return Ok(off);
    }
    let nearest = nearest(key, names.iter().copied());
    Err(format!("unknown key `{key}`{nearest} (`foretell schema` lists all)"))
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
            Err("`command` must be a list of words, for example [\"python\", \"train.py\", \"{lr}\"]"
                .to_owned())
        }
        DeValue::Boolean(wanted) => Ok(if *wanted { vec![format!("--{key}")] } else { Vec::new() }),
        DeValue::Array(values) => values.iter().map(|value| flag(value.get_ref())).collect(),
        DeValue::Table(table) if ENGINES.contains(&key) => engine_words(key, table),
        DeValue::Table(_) => {
            Err(format!("`{key}` is a table, but must be a string, a number, true or false"))
        }
        other => Ok(vec![flag(other)?]),
    }
}

/// The options of an engine as words of a command line: `--slurm=time=4:00:00`, and the lines as they are.
fn engine_words(key: &str, table: &DeTable<'_>) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    for (name, value) in by_place(table) {
        let name = name.get_ref().to_string();
        match value.get_ref() {
            DeValue::Array(lines) if name == LINES => {
                for line in lines {
                    words.push(format!("--{key}={}", scalar(LINES, line.get_ref())?));
                }
            }
            value => words.push(format!("--{key}={name}={}", scalar(&name, value)?)),
        }
    }
    Ok(words)
}

/// A text or a number, as it is written.
fn scalar(key: &str, value: &DeValue<'_>) -> Result<String, String> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(number) => Ok(number.to_string()),
        DeValue::Float(number) => Ok(number.to_string()),
        other => Err(format!("`{key}` must be a string or a number, not of kind {}", other.type_str())),
    }
}
