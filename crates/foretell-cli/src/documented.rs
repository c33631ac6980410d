//! The tables of the docs that are made of the code: flags and defaults. A test fails where one is stale, and writes it again with
//! `FORETELL_WRITE_DOCS=1`.

use crate::CommandLine;
use crate::catalogue::catalogue;
use crate::curves::CurveFlags;
use clap::builder::PossibleValue;
use clap::{Arg, ArgAction, Args, Command, CommandFactory};
use foretell_search::StudyRequest;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

/// The command that writes the tables.
const WRITE: &str =
    "FORETELL_WRITE_DOCS=1 cargo test --release -p foretell-cli --no-default-features documented";

/// A file of the repository.
fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path))
        .expect("it is there")
}

/// `text` with the part between the markers of `name` replaced by `made`; `None` without the markers.
fn replace_section(text: &str, name: &str, made: &str) -> Option<String> {
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
        replace_section(&text, name, made).unwrap_or_else(|| panic!("{page} has no markers of {name:?}"))
    });
    if made == there {
        return;
    }
    assert!(std::env::var_os("FORETELL_WRITE_DOCS").is_some(), "docs/{page} is stale: run {WRITE}");
    std::fs::write(path, made).expect("the page is written");
}

/// A flag as a row: its name with its value, its purpose, its default. In a study file it is a key.
fn row(arg: &Arg, long: &str, is_key: bool) -> String {
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
    let default = if takes { escape_cell(&default.replace(['\n', '`'], " ")) } else { String::new() };
    let name = match (is_key, takes) {
        (true, true) => format!("{long} ={}", value.replace(['[', '=', ']'], "")),
        (true, false) => format!("{long} = true"),
        (false, _) => format!("--{long}{value}"),
    };
    format!("| `{}` | {}{choices} | {default} |\n", name.replace('|', "\\|"), escape_cell(meaning))
}

/// `text` for a cell of a table, with `<` as HTML needs it; the insides of code spans keep their `<`.
fn escape_cell(text: &str) -> String {
    let text = text.replace('|', "\\|");
    let parts = text.split('`').enumerate();
    let parts = parts.map(|(i, part)| if i % 2 == 0 { part.replace('<', "&lt;") } else { part.to_owned() });
    parts.collect::<Vec<_>>().join("`")
}

/// `arguments` by their headings in the help, in order; those without one are under `flag`.
fn by_heading<'a>(arguments: impl IntoIterator<Item = &'a Arg>) -> Vec<(&'a str, Vec<(&'a str, &'a Arg)>)> {
    let mut groups: Vec<(&str, Vec<(&str, &Arg)>)> = Vec::new();
    for (arg, long) in arguments.into_iter().filter_map(|arg| Some((arg, arg.get_long()?))) {
        let heading = arg.get_help_heading().unwrap_or("flag");
        match groups.iter_mut().find(|(known, _)| *known == heading) {
            Some((_, group)) => group.push((long, arg)),
            None => groups.push((heading, vec![(long, arg)])),
        }
    }
    groups
}

/// A table for each heading of `arguments`, as flags or as keys of a study file.
fn tables<'a>(arguments: impl IntoIterator<Item = &'a Arg>, is_key: bool) -> String {
    let tables = by_heading(arguments).into_iter().map(|(heading, group)| {
        let rows: String = group.iter().map(|(long, arg)| row(arg, long, is_key)).collect();
        format!("| {heading} | meaning | default |\n|---|---|---|\n{rows}")
    });
    tables.collect::<Vec<_>>().join("\n")
}

/// The flags of every command that reads recorded runs.
fn curve_flags() -> Command {
    CurveFlags::augment_args(Command::new("curves"))
}

/// The flags that only `command` has: the page of all commands has `--format table|json` and `--json`, that of curve files its own, and that of study
/// files the keys that no help lists.
fn own_flags(command: &Command) -> impl Iterator<Item = &Arg> {
    let shared: Vec<String> =
        curve_flags().get_arguments().filter_map(Arg::get_long).map(str::to_owned).collect();
    let reads_curves =
        shared.iter().all(|long| command.get_arguments().any(|arg| arg.get_long() == Some(long)));

    let has_format = command.get_arguments().any(is_table_or_json);
    command.get_arguments().filter(move |arg| {
        let is_format = is_table_or_json(arg) || arg.get_long() == Some("json") && has_format;
        let is_shared =
            reads_curves && arg.get_long().is_some_and(|long| shared.iter().any(|known| known == long));
        !is_format && !is_shared && !arg.is_hide_set()
    })
}

fn is_table_or_json(arg: &Arg) -> bool {
    let choices = arg.get_possible_values();
    arg.get_long() == Some("format") && choices.iter().map(PossibleValue::get_name).eq(["table", "json"])
}

#[test]
fn every_command_has_a_page_with_its_flags_and_defaults() {
    let program = CommandLine::command();
    let without_flags = ["schema", "completions", "manual-pages", "guard"];
    for command in program.get_subcommands() {
        let name = command.get_name();
        if without_flags.contains(&name) {
            continue;
        }
        let own = (name.to_owned(), command);
        let below = command.get_subcommands().map(|sub| (format!("{name} {}", sub.get_name()), sub));
        let all = std::iter::once(own).chain(below);
        let blocks =
            all.map(|(name, command)| (format!("flags of {name}"), tables(own_flags(command), false)));
        let blocks: Vec<_> = blocks.filter(|(_, text)| !text.is_empty()).collect();
        check(&format!("reference/commands/{name}.md"), &blocks);
        let page = read(&format!("docs/reference/commands/{name}.md"));
        for sub in command.get_subcommands() {
            let heading = format!("\n## `foretell {name} {}", sub.get_name());
            assert!(page.contains(&heading), "{name}.md has no part {heading:?}");
        }
    }
    check(
        "reference/curve-files.md",
        &[("flags for curve files".to_owned(), tables(curve_flags().get_arguments(), false))],
    );
}

#[test]
fn every_key_of_a_study_file_is_documented() {
    let program = CommandLine::command();
    let search = program.find_subcommand("search").expect("it is there");
    let (hidden, shown): (Vec<&Arg>, Vec<&Arg>) = search.get_arguments().partition(|arg| arg.is_hide_set());
    let lines = by_heading(shown).into_iter().map(|(heading, group)| {
        let keys: Vec<String> = group.iter().map(|(long, _)| format!("`{long}`")).collect();
        format!("- {heading}: {}\n", keys.join(", "))
    });
    let blocks = [
        ("keys that are flags".to_owned(), lines.collect()),
        ("keys of study files".to_owned(), tables(hidden, true)),
    ];
    check("reference/study-file.md", &blocks);
}

#[test]
fn the_settings_over_http_are_listed() {
    let names: Vec<String> =
        StudyRequest::schema(catalogue()).keys().map(|name| format!("`{name}`")).collect();
    check("reference/http.md", &[("settings".to_owned(), names.join(", ") + "\n")]);
}

/// The lines of a source from `begin` to the end of that item, without comments.
fn item(source: &str, begin: &str) -> Vec<String> {
    let text = read(source);
    let (_, rest) = text.split_once(begin).unwrap_or_else(|| panic!("{source} has no {begin:?}"));
    let lines = rest.lines().skip(1).take_while(|line| !line.starts_with(['}', ']']));
    lines.map(str::trim).filter(|line| !line.starts_with("//")).map(str::to_owned).collect()
}

/// The names of the variants of an enum that serde writes in snake case.
fn variants(source: &str, name: &str) -> Vec<String> {
    let text = read(source);
    let (_, rest) = text.split_once(&format!("pub enum {name} {{")).expect("it is there");
    let own = rest.lines().take_while(|line| !line.starts_with('}'));
    let own =
        own.filter_map(|line| line.strip_prefix("    ")).filter(|line| line.starts_with(char::is_uppercase));
    own.map(snake_case_name).collect()
}

/// The name at the beginning of `line` in snake case.
fn snake_case_name(line: &str) -> String {
    let name = line.chars().take_while(|c| c.is_alphanumeric()).enumerate();
    let parts = name.map(|(index, c)| match c.is_uppercase() && index > 0 {
        true => format!("_{}", c.to_lowercase()),
        false => c.to_lowercase().to_string(),
    });
    parts.collect()
}

#[test]
fn record_types_reasons_and_files_of_a_study_are_documented() {
    let page = read("docs/reference/trial-protocol.md");
    let records = variants("crates/foretell-search/src/record.rs", "Record");
    let reasons = variants("crates/foretell-search/src/stopping/decision.rs", "Reason");
    assert!(records.len() > 10 && reasons.len() > 15, "{records:?} {reasons:?}");
    for name in records.iter().chain(&reasons) {
        assert!(page.contains(&format!("| `{name}`")), "{name} has no row in trial-protocol.md");
    }
    let files = item("crates/foretell-run/src/own_files.rs", "const OWN_FILES:");
    let files: Vec<&str> =
        files.iter().filter_map(|line| line.strip_prefix('"')?.split('"').next()).collect();
    assert!(files.len() > 10, "{files:?}");
    for name in files {
        assert!(page.contains(&format!("\n  {name}")), "{name} is not in the folder of trial-protocol.md");
    }
}

/// The fields of a struct that serde writes.
fn fields(source: &str, name: &str) -> Vec<String> {
    let source = format!("crates/{source}.rs");
    let is_generic = read(&source).contains(&format!("struct {name}<"));
    let lines = item(&source, &format!("struct {name}{}", if is_generic { "<" } else { " {" }));
    let mut fields = Vec::new();
    let mut is_skipped = false;
    for line in &lines {
        if line.starts_with("#[") {
            is_skipped |= line == "#[serde(skip)]" || line == "#[serde(flatten)]";
            continue;
        }
        let field = line
            .rsplit_once("pub(super) ")
            .or(line.rsplit_once("pub(crate) "))
            .map_or(line.as_str(), |(_, rest)| rest);
        let field = field.trim_start_matches("pub ");
        if let Some((name, _)) = field.split_once(": ").filter(|_| !is_skipped) {
            fields.push(name.to_owned());
        }
        is_skipped = false;
    }
    fields
}

#[test]
fn every_field_of_a_json_document_is_documented() {
    let study = "foretell-cli/src/commands/study";
    let (search, summary) = ("foretell-cli/src/commands/search", "foretell-search/src/summary");
    let (reproduce, replay) = ("foretell-paper/src/reproduce", "foretell-cli/src/commands/replay");
    let front = "foretell-search/src/front";
    let documents: [(&str, String, &[&str]); 25] = [
        ("search", "foretell-cli/src/view/report".to_owned(), &["StudyDocument"]),
        ("search", format!("{search}/explain"), &["PlanDocument", "SearchPlan"]),
        (
            "search",
            summary.to_owned(),
            &["StudySummary", "Spent", "StoppedTrial", "StoppingAudit", "ShadowSummary"],
        ),
        ("study", "foretell-cli/src/view/report".to_owned(), &["LeadingTrial"]),
        ("study", format!("{search}/again"), &["AgainDocument"]),
        ("study", format!("{study}/list"), &["StudyListing", "ListedStudy"]),
        ("study", study.to_owned(), &["TrialDocument"]),
        ("study", "foretell-search/src/stopping/decision".to_owned(), &["Decision", "RecordedForecast"]),
        ("study", format!("{study}/compare"), &["CompareDocument", "StudySide"]),
        ("study", format!("{study}/best"), &["BestDocument"]),
        ("study", format!("{study}/doctor"), &["Diagnosis", "LogDamage", "LogProblem", "ComputedRecord"]),
        ("study", front.to_owned(), &["ParetoFront", "FrontTrial", "FrontStopped", "FrontStep"]),
        ("evaluate", "foretell-cli/src/commands/evaluate".to_owned(), &["EvaluateDocument", "EvaluationRow"]),
        ("forecast", "foretell-cli/src/commands/forecast".to_owned(), &["ForecastDocument", "ForecastRow"]),
        ("replay", format!("{replay}/document"), &["ReplayDocument"]),
        ("replay", format!("{replay}/report"), &["SettingRow", "BestValue", "SettingTotals", "FrontRow"]),
        ("replay", format!("{replay}/families"), &["FamilyComparison", "FamilyRow"]),
        ("replay", format!("{replay}/orders"), &["RecordedOrder"]),
        (
            "reproduce",
            format!("{reproduce}/report"),
            &["ReproductionReport", "FileSummary", "ReachedSummary", "ReachedCounts"],
        ),
        ("reproduce", format!("{reproduce}/replayed"), &["ReplayRow", "ReplayNumbers"]),
        ("reproduce", format!("{reproduce}/measure"), &["ResultRow", "SeedResult"]),
        ("reproduce", format!("{reproduce}/claims"), &["JudgedClaim"]),
        ("reproduce", format!("{reproduce}/judgment"), &["ClaimComparison", "ReportedValue", "SampleSize"]),
        ("reproduce", format!("{reproduce}/evidence"), &["MeasuredFigure"]),
        ("study", front.to_owned(), &["FrontObjective"]),
    ];
    for (page, source, structs) in documents {
        let text = read(&format!("docs/reference/commands/{page}.md"));
        for name in structs {
            let fields = fields(&source, name);
            assert!(!fields.is_empty(), "{source} {name} has no fields");
            for field in fields {
                let named = [format!("`{field}`"), format!("\"{field}\"")];
                assert!(named.iter().any(|name| text.contains(name)), "{page}.md: no {field} of {name}");
            }
        }
    }
}

#[test]
fn every_address_of_the_server_is_documented() {
    let page = read("docs/reference/http.md");
    let routes = read("crates/foretell-serve/src/routes.rs");
    let quoted = routes.split('"').skip(1).step_by(2).filter(|text| text.starts_with('/'));
    let addresses: BTreeSet<String> = quoted
        .map(|path| path.replace("{study}", "NAME").replace("{trial}", "N").replace("{metric}", "METRIC"))
        .collect();
    assert!(addresses.len() > 20, "{addresses:?}");
    for address in addresses {
        assert!(page.contains(&format!("`{address}`")), "http.md has no {address}");
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

/// The number of flags that a help lists: those that it does not hide.
fn listed_flag_count(search: &clap::Command, is_hidden: fn(&clap::Arg) -> bool) -> usize {
    search
        .get_arguments()
        .filter(|flag| flag.get_long().is_some() && !flag.is_hide_set() && !is_hidden(flag))
        .count()
}

#[test]
fn the_short_help_of_search_lists_what_most_people_need_and_the_long_help_all() {
    let mut program = CommandLine::command().term_width(0);
    let search = program.find_subcommand_mut("search").expect("it is there");
    let most = listed_flag_count(search, clap::Arg::is_hide_short_help_set);
    let all = listed_flag_count(search, clap::Arg::is_hide_long_help_set);
    let (short, long) = (search.render_help().to_string(), search.render_long_help().to_string());
    assert!((12..=16).contains(&most), "{most} flags in -h:\n{short}");
    assert!((40..=58).contains(&all), "{all} flags in --help");
    let positions = ["Your own command:", "Built-in networks:"].map(|heading| long.find(heading));
    assert!(positions[0].is_some() && positions[0] < positions[1], "{positions:?}");
    for help in [&short, &long] {
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
    let program = CommandLine::command();
    let command = program.find_subcommand(command).expect("it is there");
    let arg = command.get_arguments().find(|arg| arg.get_long() == Some(name)).expect("it is there");
    arg.get_long_help().or(arg.get_help()).expect("it has a help").to_string()
}

#[cfg(feature = "nn")]
#[test]
fn flags_of_the_networks_list_every_space_data_set_and_schedule() {
    let spaces: Vec<&str> = foretell_nn::BUILT_IN_SPACES.iter().map(|space| space.name()).collect();
    let data: Vec<&str> =
        foretell_nn::DataSpec::KNOWN_NAMES.split([',', ' ']).filter(|name| name.contains(':')).collect();
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
