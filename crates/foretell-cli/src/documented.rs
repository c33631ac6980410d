//! The tables of the docs that are made of the code: flags and defaults. A test fails where one is stale, and writes it anew with
//! `FORETELL_WRITE_DOCS=1`.

use crate::Program;
use crate::catalogue::catalogue;
use clap::{Arg, ArgAction, Command, CommandFactory};
use foretell_search::StudyRequest;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

/// What writes the tables anew.
const ANEW: &str =
    "FORETELL_WRITE_DOCS=1 cargo test --release -p foretell-cli --no-default-features documented";

/// A file of the repository.
fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path))
        .expect("it is there")
}

/// `text` with what stands between the markers of `name` replaced by `made`; `None` without the markers.
fn replaced(text: &str, name: &str, made: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- {name}: begin, made of the code -->"), format!("<!-- {name}: end -->"));
    let (before, rest) = text.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}\n\n{made}\n{end}{after}"))
}

/// Checks that `page` of the docs has the `blocks`, each a name and a text, or writes them.
fn check(page: &str, blocks: &[(String, String)]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let there = std::fs::read_to_string(&path).expect("the page is there");
    let made = blocks.iter().fold(there.clone(), |text, (name, made)| {
        replaced(&text, name, made).unwrap_or_else(|| panic!("{page} has no markers of {name:?}"))
    });
    if made == there {
        return;
    }
    assert!(std::env::var_os("FORETELL_WRITE_DOCS").is_some(), "docs/{page} is stale: run {ANEW}");
    std::fs::write(path, made).expect("the page is written");
}

/// A flag as a row: its name with its value, what it is for, its default.
fn row(arg: &Arg, long: &str) -> String {
    let text = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let (meaning, default) = match text.rsplit_once(" (default: ") {
        Some((meaning, default)) if default.ends_with(')') => {
            (meaning, default.trim_end_matches(')').to_owned())
        }
        _ => {
            let defaults = arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned());
            (text.as_str(), defaults.collect::<Vec<_>>().join(","))
        }
    };
    let takes = !matches!(arg.get_action(), ArgAction::SetTrue);
    let value = match arg.get_value_names() {
        Some([name, ..]) if takes && arg.is_require_equals_set() => format!("[={name}]"),
        Some([name, ..]) if takes => format!(" {name}"),
        _ => String::new(),
    };
    let choices = arg.get_possible_values().into_iter().filter(|_| takes);
    let choices: Vec<String> = choices.map(|choice| format!("`{}`", choice.get_name())).collect();
    let choices = if choices.is_empty() { String::new() } else { format!(": {}", choices.join(", ")) };
    let plain = |text: &str| text.replace('|', "\\|").replace('<', "&lt;");
    let default = if takes { plain(&default.replace(['\n', '`'], " ")) } else { String::new() };
    let name = match (arg.is_hide_set(), takes) {
        (true, true) => format!("{long} ={}", value.replace(['[', '=', ']'], "")),
        (true, false) => format!("{long} = true"),
        (false, _) => format!("--{long}{value}"),
    };
    format!("| `{}` | {}{choices} | {default} |\n", name.replace('|', "\\|"), plain(meaning))
}

/// The flags of `command`: a table for each heading, those that only study files need last.
fn flags(command: &Command) -> String {
    let arguments = command.get_arguments();
    let (hidden, shown): (Vec<&Arg>, Vec<&Arg>) = arguments.partition(|arg| arg.is_hide_set());
    let heading = |arg: &Arg| match arg.is_hide_set() {
        true => format!("{}: keys of a study file", arg.get_help_heading().unwrap_or_default()),
        false => arg.get_help_heading().unwrap_or("flag").to_owned(),
    };
    let rows: Vec<(String, String)> = shown
        .into_iter()
        .chain(hidden)
        .filter_map(|arg| Some((heading(arg), row(arg, arg.get_long()?))))
        .collect();
    let mut headings: Vec<&String> = Vec::new();
    for (heading, _) in &rows {
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    let table = |title: &&String| {
        let own: String =
            rows.iter().filter(|(heading, _)| heading == *title).map(|(_, row)| row.as_str()).collect();
        format!("| {title} | meaning | default |\n|---|---|---|\n{own}")
    };
    headings.iter().map(table).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_flag_and_default_is_documented_as_it_is() {
    let program = Program::command();
    let named = ["search", "evaluate", "forecast", "replay", "reproduce", "draw", "import", "init", "worker"];
    let commands = named.iter().filter_map(|name| program.find_subcommand(name));
    let blocks: Vec<(String, String)> =
        commands.map(|command| (format!("flags of {}", command.get_name()), flags(command))).collect();
    assert!(blocks.len() >= 7, "commands are missing: {}", blocks.len());
    check("reference/commands.md", &blocks);
    let page = read("docs/reference/commands.md");
    let study = program.find_subcommand("study").expect("it is there");
    for command in study.get_subcommands() {
        for flag in command.get_arguments().filter_map(Arg::get_long) {
            let name = command.get_name();
            assert!(page.contains(&format!("--{flag}")), "study {name}: --{flag} is not documented");
        }
    }
}

#[test]
fn the_defaults_of_a_study_are_documented_as_they_are() {
    let usual = StudyRequest::usual();
    let cases: Vec<&str> = usual[0].1.iter().map(|(case, _)| *case).collect();
    let heads = cases.iter().map(|case| if case.is_empty() { "usually" } else { *case });
    let mut made = format!(
        "| choice | {} |\n|---{}|\n",
        heads.collect::<Vec<_>>().join(" | "),
        "|---".repeat(cases.len())
    );
    for (name, values) in &usual {
        let values: Vec<&str> = values.iter().map(|(_, value)| value.as_str()).collect();
        let _ = writeln!(made, "| `{name}` | {} |", values.join(" | "));
    }
    let dependent: BTreeSet<&str> = usual.iter().map(|(name, _)| *name).collect();
    made += "\n| choice | always |\n|---|---|\n";
    for (name, schema) in StudyRequest::schema(catalogue()) {
        let default = &schema["default"];
        if !default.is_null() && !dependent.contains(name.as_str()) {
            let default = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
            let _ = writeln!(made, "| `{name}` | {} |", default.trim_end_matches(".0"));
        }
    }
    check("reference/defaults.md", &[("defaults of a study".to_owned(), made)]);
}

/// The lines of a help text that begin with a flag.
fn listed(help: &str) -> usize {
    let is_flag = |line: &str| line.starts_with("--") || (line.starts_with('-') && line.contains(", --"));
    help.lines().filter(|line| is_flag(line.trim_start())).count()
}

#[test]
fn the_short_help_of_search_lists_what_most_people_need_and_the_long_help_all() {
    let mut program = Program::command();
    let search = program.find_subcommand_mut("search").expect("it is there");
    let (short, long) = (search.render_help().to_string(), search.render_long_help().to_string());
    assert!((15..30).contains(&listed(&short)), "{} flags in -h:\n{short}", listed(&short));
    assert!((40..=55).contains(&listed(&long)), "{} flags in --help", listed(&long));
    for help in [&short, &long] {
        let at = |heading: &str| help.find(heading).unwrap_or_else(|| panic!("{heading} is missing"));
        assert!(at("Your own command:") < at("Built-in networks:"));
        assert!(
            !help.lines().any(|line| line.matches("(default:").count() > 1),
            "a default is said twice:\n{help}"
        );
    }
}

#[test]
fn the_page_on_embedding_shows_the_example_that_is_compiled() {
    let example = read("crates/foretell-search/examples/embed.rs");
    let page = read("docs/how-to/embed.md");
    assert!(
        page.contains(&format!("```rust\n{example}```")),
        "docs/how-to/embed.md differs from the example embed.rs"
    );
}

/// The text of all sources under `folder`.
fn sources(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            sources(&entry, text);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&std::fs::read_to_string(entry).expect("a source"));
        }
    }
}

#[test]
fn every_message_that_has_a_remedy_in_the_docs_is_one_that_foretell_says() {
    let mut text = String::new();
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).expect("crates") {
        sources(&entry.expect("a crate").path().join("src"), &mut text);
    }
    let page = read("docs/how-to/troubleshoot.md");
    let quoted = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let parts: Vec<&str> = quoted.flat_map(|message| message.split('…')).map(str::trim).collect();
    assert!(parts.len() > 15, "the table has another form: {parts:?}");
    for part in parts {
        assert!(text.contains(part), "nothing says {part:?}");
    }
}

/// The help of the flag `--name` of the command `command`.
#[cfg(feature = "nn")]
fn help_of(command: &str, name: &str) -> String {
    let program = Program::command();
    let command = program.find_subcommand(command).expect("it is there");
    let arg = command.get_arguments().find(|arg| arg.get_long() == Some(name)).expect("it is there");
    arg.get_long_help().or(arg.get_help()).expect("it has a help").to_string()
}

#[cfg(feature = "nn")]
#[test]
fn flags_of_the_networks_list_every_space_data_set_and_schedule() {
    let spaces: Vec<&str> = foretell_nn::SPACES.iter().map(|space| space.name()).collect();
    let data: Vec<&str> =
        foretell_nn::DataSpec::KNOWN.split([',', ' ']).filter(|name| name.contains(':')).collect();
    let unknown = "".parse::<foretell_nn::RateSchedule>().expect_err("it has no name").to_string();
    for command in ["search", "train"] {
        for (flag, names) in [("space", &spaces), ("data", &data)] {
            let help = help_of(command, flag);
            let missing: Vec<_> = names.iter().filter(|name| !help.contains(**name)).collect();
            assert!(missing.is_empty(), "{command} --{flag} does not list {missing:?}");
        }
        let help = help_of(command, "schedule");
        let (_, listed) = help.split_once(": ").expect("it lists names");
        let listed = listed.split(" (").next().expect("it begins with them");
        assert!(unknown.contains(listed), "{command} --schedule lists {listed:?}, and known are: {unknown}");
    }
}
