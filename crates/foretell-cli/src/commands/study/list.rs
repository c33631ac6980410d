//! `foretell study ls`: the studies of a folder.

use crate::asked::{RecordedCommand, quote_for_shell};
use crate::catalogue::catalogue;
use crate::failure::{CommandResult, Failure};
use crate::output::{OutputFormat, metric_value, note, print, print_json, table_without};
use crate::terminal::visible;
use clap::ValueEnum;
use foretell_run::{LogPosition, LogReader, StoredStudy, list_studies, log_path};
use foretell_search::{Best, Record, Spent, StudySummary, Tally, date};
use serde::Serialize;
use std::cmp::Ordering;
use std::path::Path;

const STUDY_SCHEMA: &str = "foretell.study/1";

/// The longest command or note in a table, in columns.
const MAX_CELL_WIDTH: usize = 48;

/// The sort order of studies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SortOrder {
    /// By start date, newest last.
    #[default]
    Date,
    /// By name of the folder.
    Name,
    /// By metric, then by best score, best last.
    Best,
    /// By epochs spent, most last.
    Epochs,
}

/// One study of a listing.
#[derive(Serialize)]
struct ListedStudy {
    study: String,
    /// When it was begun, in UTC; absent in logs of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    begun: Option<String>,
    metric: String,
    done: bool,
    trials: Tally,
    epochs: Spent,
    #[serde(skip_serializing_if = "Option::is_none")]
    best: Option<Best>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// When it was begun, in milliseconds; for sorting.
    #[serde(skip)]
    time: u64,
    /// The best score, larger is better; for sorting.
    #[serde(skip)]
    score: Option<f64>,
}

#[derive(Serialize)]
struct StudyListing {
    schema: &'static str,
    studies: Vec<ListedStudy>,
}

/// Lists the studies in `folder`.
pub(super) fn run(folder: &Path, order: SortOrder, format: OutputFormat) -> CommandResult {
    let directories = list_studies(folder).map_err(|error| {
        Failure::input(format!("{}: {error}. Pass the folder that contains the studies", folder.display()))
    })?;
    let mut studies = Vec::new();
    for directory in &directories {
        match StoredStudy::read(directory, catalogue()) {
            Ok(stored) => studies.push(list_study(&stored)),
            // one damaged study must not hide the others
            Err(failure) => note(&format!("not listed: {failure}")),
        }
    }
    // equal ones stay by name
    studies.sort_by(|a, b| compare_by_order(a, b, order));
    let listing = StudyListing { schema: STUDY_SCHEMA, studies };
    match format {
        OutputFormat::Json => print_json(&listing),
        OutputFormat::Table => print(&text(&listing)),
    }
}

fn compare_by_order(a: &ListedStudy, b: &ListedStudy, order: SortOrder) -> Ordering {
    match order {
        SortOrder::Name => Ordering::Equal,
        SortOrder::Date => a.time.cmp(&b.time),
        SortOrder::Epochs => a.epochs.spent.cmp(&b.epochs.spent),
        SortOrder::Best => {
            let [first, second] = [a, b].map(|listed| listed.score.unwrap_or(f64::NEG_INFINITY));
            a.metric.cmp(&b.metric).then(first.total_cmp(&second))
        }
    }
}

fn list_study(stored: &StoredStudy) -> ListedStudy {
    let StudySummary { trials, epochs, best, direction, .. } = StudySummary::new(&stored.study);
    let spec = stored.study.spec();
    let asked = RecordedCommand::read(&stored.directory).map(|asked| shorten_program(&asked.line));
    let time = begun(&stored.directory);
    ListedStudy {
        study: stored.directory.display().to_string(),
        begun: time.map(date),
        metric: spec.metric.clone(),
        done: stored.study.is_done(),
        score: best.as_ref().map(|best| direction.to_score(best.score)),
        trials,
        epochs,
        best,
        command: asked.or_else(|| spec.workload.get("command").cloned()),
        note: foretell_run::read_notes(&stored.directory),
        time: time.unwrap_or(0),
    }
}

/// The command line as it was typed, the program by its name alone.
fn shorten_program(line: &[String]) -> String {
    let mut words = line.to_vec();
    if let Some(program) = words.first_mut()
        && let Some(name) = Path::new(&*program).file_name()
    {
        *program = name.to_string_lossy().into_owned();
    }
    quote_for_shell(&words)
}

/// When the first record of the log was written, in milliseconds.
fn begun(directory: &Path) -> Option<u64> {
    let mut reader = LogReader::<Record>::open(log_path(directory), LogPosition::START).ok()?;
    reader.next()?.ok()?;
    Some(reader.last_stamp()?.time)
}

fn text(listing: &StudyListing) -> String {
    if listing.studies.is_empty() {
        return "no studies here".to_owned();
    }
    let rows = listing.studies.iter().map(|listed| {
        let best = listed.best.as_ref();
        // a person's note tells more than the command
        let about = listed.note.as_ref().or(listed.command.as_ref()).map_or("", String::as_str);
        vec![
            listed.study.clone(),
            listed.begun.clone().unwrap_or_else(|| "–".to_owned()),
            if listed.done { "done" } else { "unfinished" }.to_owned(),
            format!(
                "{} ({} stopped, {} failed)",
                listed.trials.total, listed.trials.stopped, listed.trials.failed
            ),
            format!("{} of {}", listed.epochs.spent, listed.epochs.without_stopping),
            best.map_or("–".to_owned(), |best| {
                format!("{} {} (trial {})", listed.metric, metric_value(best.score), best.trial)
            }),
            console::truncate_str(&visible(about), MAX_CELL_WIDTH, "…").into_owned(),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let headings = ["study", "begun (UTC)", "", "trials", "epochs", "best", "note or command"];
    table_without(&headings, &rows, &["note or command", "begun (UTC)", "epochs", ""])
}
