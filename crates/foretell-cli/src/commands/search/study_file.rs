//! `STUDY.toml`: the flags of `foretell search` in a file.
//!
//! Keys are the fields of a [`StudyRequest`], as in the body of `PUT` over HTTP, and the long names of the other flags of
//! `foretell search`; `command` stands for the words after `--`. Flags of the command line replace the file's.

use super::flags::SearchArguments;
use crate::asked::Asked;
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
struct Contents {
    /// The settings of the study.
    request: StudyRequest,
    /// The other settings.
    flags: Vec<Flag>,
}

/// A key that stands for a flag.
struct Flag {
    key: String,
    /// Where it is written: `FILE:LINE:COLUMN`.
    place: String,
    /// The same as words of a command line.
    words: Vec<String>,
}

/// The flags of the file `path` and of the command line `given` (the program's name and `search` first) together, and how that is
/// asked for again without the file. `matches` are the flags of that command line.
pub(super) fn together(
    path: &Path,
    given: &[OsString],
    matches: &ArgMatches,
) -> Result<(SearchArguments, Asked), Failure> {
    let Contents { request, flags } = read(path)?;
    let on_command_line =
        |flag: &Flag| matches.value_source(&flag.key.replace('-', "_")) == Some(ValueSource::CommandLine);
    let (mut words, mut command) = (given[..2].to_vec(), Vec::new());
    let typed = matches.get_raw("on").and_then(|mut typed| typed.next()?.to_str().map(str::to_owned));
    let written = || {
        let on = flags.iter().find(|flag| flag.key == "on")?;
        on.words.first()?.strip_prefix("--on=").map(str::to_owned)
    };
    let on = typed.or_else(written);
    // a file may describe several engines
    let is_idle =
        |flag: &Flag| ENGINES.contains(&flag.key.as_str()) && on.as_ref().is_some_and(|on| *on != flag.key);
    for flag in flags.iter().filter(|flag| !on_command_line(flag) && !is_idle(flag)) {
        let into = if flag.key == COMMAND { &mut command } else { &mut words };
        into.extend(flag.words.iter().map(OsString::from));
    }
    words.extend_from_slice(&given[2..]);
    words.extend(command);
    let mut arguments = parsed(&words).map_err(|error| {
        // which key it is, if it is one alone
        let alone = flags.iter().find_map(|flag| Some((&flag.place, wrong_alone(flag)?)));
        Failure::input(match alone {
            Some((place, error)) => format!("{place}: {}", brief(&error)),
            None => format!("{} and the command line: {}", path.display(), brief(&error)),
        })
    })?;
    arguments.asked.request = request.overlaid(&arguments.asked.request);
    Ok((arguments, Asked::with_file(given, &words, request.fields())))
}

/// Why `flag` is wrong on any command line, if it is.
fn wrong_alone(flag: &Flag) -> Option<clap::Error> {
    let words = ["foretell", SEARCH].into_iter().chain(flag.words.iter().map(String::as_str));
    let error = parsed(&words.map(OsString::from).collect::<Vec<_>>()).err()?;
    Some(error).filter(|error| error.kind() != ErrorKind::MissingRequiredArgument)
}

/// The settings of the study in the file `path`.
pub(crate) fn study_request(path: &Path) -> Result<StudyRequest, Failure> {
    Ok(read(path)?.request)
}

/// The flags of a search that was `asked` for before, those of its study file included.
pub(super) fn again(asked: &Asked) -> Result<SearchArguments, Failure> {
    let words: Vec<OsString> = asked.words.iter().map(OsString::from).collect();
    let mut arguments = parsed(&words).map_err(|error| Failure::input(brief(&error)))?;
    arguments.asked.request = StudyRequest::from_fields(&asked.request)?.overlaid(&arguments.asked.request);
    Ok(arguments)
}

fn parsed(words: &[OsString]) -> Result<SearchArguments, clap::Error> {
    let matches = Command::new("foretell")
        .subcommand_required(true)
        .subcommand(SearchArguments::augment_args(Command::new(SEARCH)))
        .try_get_matches_from(words)?;
    SearchArguments::from_arg_matches(matches.subcommand_matches(SEARCH).expect("the one subcommand"))
}

/// The entries of the file.
fn read(path: &Path) -> Result<Contents, Failure> {
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
        let quoted = unquoted(text.lines().nth(line).unwrap_or_default());
        failure(&place(span), &quoted.unwrap_or_else(|| error.message().to_owned()))
    })?;
    let (mut fields, mut places, mut flags) = (Map::new(), Vec::new(), Vec::new());
    for (key, value) in by_place(table.get_ref()) {
        let (name, place) = (key.get_ref().to_string(), place(key.span()));
        let key = flag_of(&name).map_err(|what| failure(&place, &what))?;
        if is_of_the_study(&name, value.get_ref()) {
            fields.insert(name.clone(), json(value.get_ref()));
            places.push((name, place));
            continue;
        }
        let words = match value.get_ref() {
            DeValue::Boolean(wanted) if key != name => words(&key, &DeValue::Boolean(!wanted)),
            _ if key != name => Err(format!("`{name}` must be true or false")),
            value => words(&name, value),
        };
        let words = words.map_err(|what| failure(&place, &what))?;
        flags.push(Flag { key, place, words });
    }
    let request = StudyRequest::from_fields(&fields).map_err(|refusal| {
        let there = places.iter().find(|(key, _)| *key == refusal.field);
        failure(there.map_or(&path.display().to_string(), |(_, place)| place), &refusal)
    })?;
    Ok(Contents { request, flags })
}

/// Whether `key` with this value is a field of the study's request; `space = "lstm"` names built-in networks, a flag of its own.
fn is_of_the_study(key: &str, value: &DeValue<'_>) -> bool {
    let written = matches!(value, DeValue::Table(_) | DeValue::Array(_));
    is_field(key) || [PARAMETERS, TRIAL].contains(&key) || (key == SPACE && written)
}

/// The command that starts the file `path` with the contents `text`, if that is a script.
fn command_of_script(path: &Path, text: &str) -> Option<String> {
    const INTERPRETERS: [(&str, &str); 6] =
        [("py", "python"), ("sh", "sh"), ("R", "Rscript"), ("jl", "julia"), ("lua", "lua"), ("js", "node")];
    let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    let known = INTERPRETERS.iter().find(|(known, _)| *known == ending);
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
