//! Runs a command for a moment and keeps its output.

use crate::failure::Failure;
use foretell_logs::printed::{MetricSource, ReportReader, Seen, plain};
use foretell_run::{LocalProcesses, MessageKind, Status, TrialSpec, Watch};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// The number of epochs that show the form of a report.
const ENOUGH_EPOCHS: u64 = 3;
/// The pause between two looks at the output.
const LOOK: Duration = Duration::from_millis(100);
/// The most of the output that is looked at.
const MOST_LINES: usize = 2_000;

/// The output of a command.
#[derive(Default)]
pub(super) struct Sample {
    pub(super) lines: Vec<String>,
    /// Whether it ended by itself, and not well.
    pub(super) failed: bool,
    /// Whether it ended by itself.
    pub(super) ended: bool,
    /// A table that it appended to, if there is one.
    pub(super) table: Option<PathBuf>,
    /// All that it printed.
    pub(super) text: String,
    /// All that the table holds, and whether that is of this run alone.
    pub(super) written: (String, bool),
}

impl Sample {
    /// Whether the output shows that the training stops early by itself.
    pub(super) fn stopped_early(&self) -> bool {
        self.lines.iter().any(|line| {
            let line = line.to_lowercase();
            ["early stopping", "early stop", "earlystopping", "stopped early"]
                .iter()
                .any(|words| line.contains(words))
        })
    }
}

/// Runs `command` for at most `limit`, or until its lines are enough.
pub(super) fn run(
    command: &[String],
    limit: Duration,
    is_enough: &dyn Fn(&[String]) -> bool,
) -> Result<Sample, Failure> {
    let directory = std::env::temp_dir().join(format!("foretell-init-{}", std::process::id()));
    let begun = SystemTime::now();
    let before = tables(Path::new("."), SystemTime::UNIX_EPOCH);
    let sample = run_in(command, limit, &directory, is_enough);
    // files that cannot be removed only take room
    let _ = std::fs::remove_dir_all(&directory);
    let mut sample = sample?;
    sample.table = tables(Path::new("."), begun).into_iter().next();
    if let Some(text) = sample.table.as_ref().and_then(|path| std::fs::read_to_string(path).ok()) {
        let is_new = sample.table.as_ref().is_some_and(|table| !before.contains(table));
        sample.written = (text.clone(), is_new);
        let (head, tail) = (text.lines().take(1), text.lines().skip(1));
        let rows = text.lines().count().saturating_sub(1);
        let last = tail.skip(rows.saturating_sub(MOST_LINES));
        sample.lines.extend(head.chain(last).map(str::to_owned));
    }
    Ok(sample)
}

fn run_in(
    command: &[String],
    limit: Duration,
    directory: &Path,
    is_enough: &dyn Fn(&[String]) -> bool,
) -> Result<Sample, Failure> {
    let mut processes = LocalProcesses::new(Duration::from_secs(1));
    processes.start(&spec(command, directory)).map_err(Failure::input)?;
    let deadline = Instant::now() + limit;
    let (mut status, mut stopped) = (None, false);
    let log = directory.join("output.log");
    while status.is_none() {
        if let Ok(message) = processes.messages().recv_timeout(LOOK)
            && let MessageKind::Ended { status: how, .. } = message.kind
        {
            status = Some(how);
        }
        if !stopped && (Instant::now() >= deadline || is_enough(&lines(&log))) {
            stopped = processes.stop(0);
        }
    }
    let failed = !stopped && status != Some(Status::Exited(0));
    let text = String::from_utf8_lossy(&std::fs::read(&log).unwrap_or_default()).into_owned();
    Ok(Sample { lines: lines(&log), failed, ended: !stopped, table: None, text, written: Default::default() })
}

fn spec(command: &[String], directory: &Path) -> TrialSpec {
    TrialSpec {
        trial: 0,
        command: command.iter().map(|word| word.replace('{', "{{").replace('}', "}}")).collect(),
        parameters: serde_json::Map::new(),
        seed: 0,
        max_resource: u64::MAX,
        until: u64::MAX,
        directory: directory.to_owned(),
        checkpoint_dir: directory.join("checkpoints"),
        resume_from: None,
        resumed_at: 0,
        working_dir: None,
        environment: BTreeMap::new(),
        metric: MetricSource::default(),
        watch: Watch::default(),
    }
}

/// The lines of the log so far, without colors.
fn lines(log: &Path) -> Vec<String> {
    let bytes = std::fs::read(log).unwrap_or_default();
    let lines = bytes.split(|byte| b"\n\r".contains(byte)).map(|line| plain(line).text.into_owned());
    let lines: Vec<String> = lines.filter(|line| !line.trim().is_empty()).collect();
    let skipped = lines.len().saturating_sub(MOST_LINES);
    lines.into_iter().skip(skipped).collect()
}

/// Whether `lines` name so many epochs that they show the form of a report.
pub(super) fn names_epochs(lines: &[String]) -> bool {
    seen(lines).epochs > ENOUGH_EPOCHS
}

/// The numbers and epochs that `lines` name.
pub(super) fn seen(lines: &[String]) -> Seen {
    ReportReader::new(MetricSource::default(), 0).read_all(&lines.join("\n")).seen
}

/// The epochs of a whole training, if a line names them.
pub(super) fn announced(lines: &[String]) -> Option<u64> {
    ReportReader::new(MetricSource::default(), 0)
        .read_all(&lines.join("\n"))
        .epochs
        .filter(|&epochs| epochs > 1)
}

/// Tables in `folder` that were written since `begun`.
fn tables(folder: &Path, begun: SystemTime) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_new = |path: &PathBuf| {
        let is_table = path.extension().is_some_and(|extension| extension == "csv" || extension == "tsv");
        let written = path.metadata().and_then(|file| file.modified());
        is_table && written.is_ok_and(|written| written >= begun)
    };
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| PathBuf::from(entry.file_name())).filter(is_new).collect();
    paths.sort();
    paths
}
