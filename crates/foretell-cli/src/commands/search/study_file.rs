//! `STUDY.toml`: the flags of `foretell search` in a file.
//!
//! Keys are the fields of a [`StudyRequest`], as in the body of `PUT` over HTTP, and the long names of the other flags of
//! `foretell search`; `command` stands for the words after `--`. Flags of the command line replace the file's.

use super::flags::SearchArguments;
use crate::asked::RecordedCommand;
use crate::failure::{Failure, brief, nearest};
use crate::request_flags::is_field;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use foretell_search::StudyRequest;
use serde_json::{Map, Value};
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// The name that `foretell init` gives such a file.
pub(crate) const STUDY_FILE_NAME: &str = "study.toml";
/// The subcommand that such files are for.
const SEARCH_SUBCOMMAND: &str = "search";
/// The key of the command.
const COMMAND_KEY: &str = "command";
/// A list of tables, each a configuration to try first.
const TRIAL_KEY: &str = "trial";
/// The table of parameters, and its other name.
const PARAMETERS_KEY: &str = "param";
const SPACE_KEY: &str = "space";
/// The tables of the engines, and the key of further lines in them.
const ENGINE_KEYS: [&str; 2] = ["slurm", "ray"];
const LINES_KEY: &str = "lines";

/// The contents of the file.
struct FileContents {
    /// The settings of the study.
    request: StudyRequest,
    /// The other settings.
    flags: Vec<FileFlag>,
}

/// A key that stands for a flag.
struct FileFlag {
    key: String,
    /// Where it is written: `FILE:LINE:COLUMN`.
    place: String,
    /// The flag as words of a command line.
    words: Vec<String>,
}

/// The flags of the file `path` and of the command line `given` (the program's name and `search` first) together, and how that is
/// asked for again without the file. `matches` are the flags of that command line.
pub(super) fn together(
    path: &Path,
    given: &[OsString],
    matches: &ArgMatches,
) -> Result<(SearchArguments, RecordedCommand), Failure> {
    let FileContents { request, flags } = read_study_file(path)?;
    let on_command_line =
        |flag: &FileFlag| matches.value_source(&flag.key.replace('-', "_")) == Some(ValueSource::CommandLine);
    let (mut words, mut command) = (given[..2].to_vec(), Vec::new());
    let typed = matches.get_raw("on").and_then(|mut typed| typed.next()?.to_str().map(str::to_owned));
    let written = || {
        let on = flags.iter().find(|flag| flag.key == "on")?;
        on.words.first()?.strip_prefix("--on=").map(str::to_owned)
    };
    let on = typed.or_else(written);
    // a file may describe several engines
    let is_idle = |flag: &FileFlag| {
        ENGINE_KEYS.contains(&flag.key.as_str()) && on.as_ref().is_some_and(|on| *on != flag.key)
    };
    for flag in flags.iter().filter(|flag| !on_command_line(flag) && !is_idle(flag)) {
        let into = if flag.key == COMMAND_KEY { &mut command } else { &mut words };
        into.extend(flag.words.iter().map(OsString::from));
    }
    words.extend_from_slice(&given[2..]);
    // the command comes last, because everything behind `--` belongs to it
    words.extend(command);
    let mut arguments = parse_arguments(&words).map_err(|error| {
        // which key it is, if it is one alone
        let alone = flags.iter().find_map(|flag| Some((&flag.place, find_flag_error(flag)?)));
        Failure::input(match alone {
            Some((place, error)) => format!("{place}: {}", brief(&error)),
            None => format!("{} and the command line: {}", path.display(), brief(&error)),
        })
    })?;
    arguments.asked.request = request.with_overrides(&arguments.asked.request);
    Ok((arguments, RecordedCommand::with_file(given, &words, request.fields())))
}

/// Why `flag` is wrong on any command line, if it is.
fn find_flag_error(flag: &FileFlag) -> Option<clap::Error> {
    let words = ["foretell", SEARCH_SUBCOMMAND].into_iter().chain(flag.words.iter().map(String::as_str));
    let error = parse_arguments(&words.map(OsString::from).collect::<Vec<_>>()).err()?;
    // a flag alone may lack another one that it requires, even though the file has both
    Some(error).filter(|error| error.kind() != ErrorKind::MissingRequiredArgument)
}

/// The settings of the study in the file `path`.
pub(crate) fn study_request(path: &Path) -> Result<StudyRequest, Failure> {
    Ok(read_study_file(path)?.request)
}

/// The flags of a search that was `asked` for before, those of its study file included.
pub(super) fn again(asked: &RecordedCommand) -> Result<SearchArguments, Failure> {
    let words: Vec<OsString> = asked.words.iter().map(OsString::from).collect();
    let mut arguments = parse_arguments(&words).map_err(|error| Failure::input(brief(&error)))?;
    arguments.asked.request =
        StudyRequest::from_fields(&asked.request)?.with_overrides(&arguments.asked.request);
    Ok(arguments)
}

fn parse_arguments(words: &[OsString]) -> Result<SearchArguments, clap::Error> {
    let matches = Command::new("foretell")
        .subcommand_required(true)
        .subcommand(SearchArguments::augment_args(Command::new(SEARCH_SUBCOMMAND)))
        .try_get_matches_from(words)?;
    SearchArguments::from_arg_matches(
        matches.subcommand_matches(SEARCH_SUBCOMMAND).expect("the one subcommand"),
    )
}

/// The entries of the file.
fn read_study_file(path: &Path) -> Result<FileContents, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::input(format!(
            "{}: {error}. The first word after `search` is a study file. Write a command after `--`",
            path.display()
        ))
    })?;
    if let Some(line) = command_of_script(path, &text) {
        return Err(Failure::input(format!(
            "{}: this is a script, not a study file. To write a study file for it, run `foretell init -- {line}`",
            path.display()
        )));
    }
    let place = |span: Range<usize>| {
        let before = &text[..span.start];
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        format!("{}:{}:{column}", path.display(), 1 + before.matches('\n').count())
    };
    let failure = |place: &str, what: &dyn std::fmt::Display| Failure::input(format!("{place}: {what}"));
    let table = DeTable::parse(&text).map_err(|error| {
        let span = error.span().unwrap_or_default();
        let line = text[..span.start].matches('\n').count();
        let quoted = suggest_quoted_line(text.lines().nth(line).unwrap_or_default());
        failure(&place(span), &quoted.unwrap_or_else(|| error.message().to_owned()))
    })?;
    let (mut fields, mut places, mut flags) = (Map::new(), Vec::new(), Vec::new());
    for (key, value) in entries_in_order(table.get_ref()) {
        let (name, place) = (key.get_ref().to_string(), place(key.span()));
        let key = flag_for_key(&name).map_err(|what| failure(&place, &what))?;
        if is_request_field(&name, value.get_ref()) {
            fields.insert(name.clone(), to_json_value(value.get_ref()));
            places.push((name, place));
            continue;
        }
        let words = match value.get_ref() {
            DeValue::Boolean(wanted) if key != name => words(&key, &DeValue::Boolean(!wanted)),
            _ if key != name => Err(format!("`{name}` must be true or false")),
            value => words(&name, value),
        };
        let words = words.map_err(|what| failure(&place, &what))?;
        flags.push(FileFlag { key, place, words });
    }
    let request = StudyRequest::from_fields(&fields).map_err(|refusal| {
        let there = places.iter().find(|(key, _)| *key == refusal.field);
        failure(there.map_or(&path.display().to_string(), |(_, place)| place), &refusal)
    })?;
    Ok(FileContents { request, flags })
}

/// Whether `key` with this value is a field of the study's request; `space = "lstm"` names built-in networks, a flag of its own.
fn is_request_field(key: &str, value: &DeValue<'_>) -> bool {
    let written = matches!(value, DeValue::Table(_) | DeValue::Array(_));
    is_field(key) || [PARAMETERS_KEY, TRIAL_KEY].contains(&key) || (key == SPACE_KEY && written)
}

/// The command that starts the file `path` with the contents `text`, if that is a script.
fn command_of_script(path: &Path, text: &str) -> Option<String> {
    const SCRIPT_INTERPRETERS: [(&str, &str); 6] =
        [("py", "python"), ("sh", "sh"), ("R", "Rscript"), ("jl", "julia"), ("lua", "lua"), ("js", "node")];
    let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    let known = SCRIPT_INTERPRETERS.iter().find(|(known, _)| *known == ending);
    let name = path.display();
    match known {
        Some((_, interpreter)) => Some(format!("{interpreter} {name}")),
        None if text.starts_with("#!") => {
            Some(if path.is_absolute() { name.to_string() } else { format!("./{name}") })
        }
        None => None,
    }
}

/// A value of the file as JSON.
fn to_json_value(value: &DeValue<'_>) -> Value {
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
        DeValue::Array(values) => values.iter().map(|value| to_json_value(value.get_ref())).collect(),
        DeValue::Table(table) => {
            let entries = entries_in_order(table).into_iter();
            entries
                .map(|(name, value)| (name.get_ref().to_string(), to_json_value(value.get_ref())))
                .collect()
        }
    }
}

/// The correct form of a `line` whose value is a string without quotes.
fn suggest_quoted_line(line: &str) -> Option<String> {
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
fn flag_for_key(key: &str) -> Result<String, String> {
    let search = SearchArguments::augment_args(Command::new(SEARCH_SUBCOMMAND));
    let mut names: Vec<&str> = search.get_arguments().filter_map(clap::Arg::get_long).collect();
    names.extend([COMMAND_KEY, PARAMETERS_KEY, TRIAL_KEY, "help", "version"]); // the last two are refused in their own words
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
fn entries_in_order<'a, 'i>(
    table: &'a DeTable<'i>,
) -> Vec<(&'a Spanned<DeString<'i>>, &'a Spanned<DeValue<'i>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// `key = value` as words of a command line.
fn words(key: &str, value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let flag = |value: &DeValue<'_>| Ok(format!("--{key}={}", scalar_text(key, value)?));
    match value {
        DeValue::Array(values) if key == COMMAND_KEY => {
            let words = values.iter().map(|word| scalar_text(key, word.get_ref()));
            std::iter::once(Ok("--".to_owned())).chain(words).collect()
        }
        _ if key == COMMAND_KEY => {
            Err("`command` must be a list of words, for example [\"python\", \"train.py\", \"{lr}\"]"
                .to_owned())
        }
        DeValue::Boolean(wanted) => Ok(if *wanted { vec![format!("--{key}")] } else { Vec::new() }),
        DeValue::Array(values) => values.iter().map(|value| flag(value.get_ref())).collect(),
        DeValue::Table(table) if ENGINE_KEYS.contains(&key) => engine_words(key, table),
        DeValue::Table(_) => {
            Err(format!("`{key}` is a table, but must be a string, a number, true or false"))
        }
        other => Ok(vec![flag(other)?]),
    }
}

/// The options of an engine as words of a command line: `--slurm=time=4:00:00`, and the lines as they are.
fn engine_words(key: &str, table: &DeTable<'_>) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    for (name, value) in entries_in_order(table) {
        let name = name.get_ref().to_string();
        match value.get_ref() {
            DeValue::Array(lines) if name == LINES_KEY => {
                for line in lines {
                    words.push(format!("--{key}={}", scalar_text(LINES_KEY, line.get_ref())?));
                }
            }
            value => words.push(format!("--{key}={name}={}", scalar_text(&name, value)?)),
        }
    }
    Ok(words)
}

/// A text or a number, as it is written.
fn scalar_text(key: &str, value: &DeValue<'_>) -> Result<String, String> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(number) => Ok(number.to_string()),
        DeValue::Float(number) => Ok(number.to_string()),
        other => Err(format!("`{key}` must be a string or a number, not of kind {}", other.type_str())),
    }
}
