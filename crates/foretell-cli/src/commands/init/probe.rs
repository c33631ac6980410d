//! Runs a command for a moment and keeps its output, and the records of the hook.

use crate::failure::Failure;
use crate::output::note;
use foretell_logs::printed::{MetricSource, ReportReader, to_plain_line};
use foretell_run::{
    Guardian, HookRecord, HookScope, LocalProcesses, MessageKind, ProcessStatus, TrialSpec, WatchSettings,
    trial_directory,
};
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File};
use std::io::Read;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// The pause between two looks at the output.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The most lines of the output that are looked at.
const MAX_OUTPUT_LINES: usize = 2_000;
/// The most of the output that is read: a program that prints more prints each batch, and its beginning shows the form of its lines.
const MAX_OUTPUT_BYTES: u64 = 2 << 20;
/// The time that a script may take to import its libraries, which is not part of the limit.
const IMPORT_TIMEOUT: Duration = Duration::from_secs(300);
/// The interval between lines that show the progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);

/// The output of a command.
#[derive(Default)]
pub(super) struct OutputSample {
    pub(super) lines: Vec<String>,
    /// Whether it ended by itself, and not well.
    pub(super) failed: bool,
    /// Whether it ended by itself.
    pub(super) ended: bool,
    /// A table that it appended to, if there is one.
    pub(super) table: Option<PathBuf>,
    /// What it printed, from the beginning.
    pub(super) text: String,
    /// Whether it printed more than is read.
    pub(super) is_cut: bool,
    /// All that the table holds, and whether that is of this run alone.
    pub(super) written: (String, bool),
    /// The records of the hook.
    pub(super) records: Vec<HookRecord>,
    /// Whether it ran until the limit.
    pub(super) timed_out: bool,
    /// How much of the output was read.
    pub(super) bytes: usize,
}

impl OutputSample {
    /// Whether the output shows that the training stops early by itself.
    pub(super) fn shows_early_stopping(&self) -> bool {
        self.lines.iter().any(|line| {
            let line = line.to_lowercase();
            ["early stopping", "early stop", "earlystopping", "stopped early"]
                .iter()
                .any(|words| line.contains(words))
        })
    }

    /// Whether the script has started its work: it printed something, or asked a library for something.
    fn has_begun(&self) -> bool {
        let has_only_starts = self.records.iter().all(|record| matches!(record, HookRecord::Start { .. }));
        !self.lines.is_empty() || !has_only_starts
    }
}

/// How a command is run.
pub(super) struct ProbeRun<'a> {
    pub(super) command: &'a [String],
    /// The longest time, after it has imported its libraries.
    pub(super) limit: Duration,
    pub(super) hook: HookScope,
}

impl ProbeRun<'_> {
    /// Runs the command until its output is enough, it ends, or the time is over.
    pub(super) fn watch(&self, is_enough: &dyn Fn(&OutputSample) -> bool) -> Result<OutputSample, Failure> {
        let folder = RunFolder::new()?;
        let begun = SystemTime::now();
        let before = tables_since(Path::new("."), SystemTime::UNIX_EPOCH);
        let mut sample = self.watch_in_folder(&folder.trial(), is_enough)?;
        drop(folder);
        let opened = sample.records.iter().filter_map(|record| match record {
            HookRecord::File { path } => to_relative_path(path),
            _ => None,
        });
        let opened = opened.filter(|path| is_table(path) && path.is_file());
        let opened: Vec<PathBuf> = opened.collect();
        sample.table =
            opened.into_iter().next().or_else(|| tables_since(Path::new("."), begun).into_iter().next());
        if let Some(text) = sample.table.as_ref().and_then(|path| std::fs::read_to_string(path).ok()) {
            // a table that was there before may hold rows of earlier runs, which would count as values of this one
            let is_new = sample.table.as_ref().is_some_and(|table| !before.contains(table));
            sample.written = (text.clone(), is_new);
            // the first line names the columns, so it is kept even if only the last rows are
            let (head, tail) = (text.lines().take(1), text.lines().skip(1));
            let rows = text.lines().count().saturating_sub(1);
            let last = tail.skip(rows.saturating_sub(MAX_OUTPUT_LINES));
            sample.lines.extend(head.chain(last).map(str::to_owned));
        }
        Ok(sample)
    }

    fn watch_in_folder(
        &self,
        directory: &Path,
        is_enough: &dyn Fn(&OutputSample) -> bool,
    ) -> Result<OutputSample, Failure> {
        let mut processes = LocalProcesses::new(Duration::from_secs(1));
        processes.start(&self.spec(directory)).map_err(Failure::input)?;
        let started = Instant::now();
        let (mut begun, mut told) = (None, started);
        let (mut status, mut stopped, mut timed_out) = (None, false, false);
        let mut sample = OutputSample::default();
        while status.is_none() {
            if let Ok(message) = processes.messages().recv_timeout(POLL_INTERVAL)
                && let MessageKind::Ended { status: how, .. } = message.kind
            {
                status = Some(how);
            }
            let is_new = sample.read(directory);
            if is_new && begun.is_none() && sample.has_begun() {
                begun = Some(Instant::now());
            }
            let deadline = begun.unwrap_or(started + IMPORT_TIMEOUT) + self.limit;
            timed_out |= !stopped && status.is_none() && Instant::now() >= deadline;
            if !stopped && status.is_none() && (timed_out || is_new && is_enough(&sample)) {
                stopped = processes.stop(0);
            }
            if told.elapsed() >= PROGRESS_INTERVAL {
                told = Instant::now();
                note(&format!(
                    "… {:.0} s, {} lines so far",
                    started.elapsed().as_secs_f64(),
                    sample.lines.len()
                ));
            }
        }
        sample.read(directory);
        // a run that was stopped cannot fail: its exit code is that of the signal
        sample.failed = !stopped && status != Some(ProcessStatus::Exited(0));
        (sample.ended, sample.timed_out) = (!stopped, timed_out);
        Ok(sample)
    }

    fn spec(&self, directory: &Path) -> TrialSpec {
        let command = self.command.iter().map(|word| word.replace('{', "{{").replace('}', "}}"));
        TrialSpec {
            watch: WatchSettings { hook: self.hook.clone(), ..WatchSettings::default() },
            ..bare_spec(command.collect(), directory)
        }
    }
}

/// A trial of `command` in a folder of its own, with nothing else set.
pub(super) fn bare_spec(command: Vec<String>, directory: &Path) -> TrialSpec {
    TrialSpec {
        trial: 0,
        command,
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
        watch: WatchSettings::default(),
    }
}

/// A folder for one run, which only its owner can read, because options and output may contain secrets. Dropping it removes it. If
/// `init` is killed, a process next to it does so.
pub(super) struct RunFolder {
    folder: PathBuf,
    _guardian: Option<Guardian>,
}

impl RunFolder {
    pub(super) fn new() -> Result<Self, Failure> {
        static FOLDER_COUNTER: AtomicU64 = AtomicU64::new(0);
        let number = FOLDER_COUNTER.fetch_add(1, Ordering::Relaxed);
        let name = format!("foretell-init-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        // fails if somebody else has made it
        DirBuilder::new().mode(0o700).create(&folder).map_err(Failure::midway)?;
        let guardian = std::env::current_exe().ok().and_then(|program| {
            let words = [program.into(), "guard".into(), "--remove".into()];
            Guardian::start(&words, &folder, note).ok()
        });
        Ok(Self { folder, _guardian: guardian })
    }

    /// The folder of a trial in it, as in a study: there the process that removes it finds the trial, and ends it.
    pub(super) fn trial(&self) -> PathBuf {
        trial_directory(&self.folder, 0)
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // files that cannot be removed only take room
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl OutputSample {
    /// Reads the output and the records so far; whether there is anything new.
    fn read(&mut self, directory: &Path) -> bool {
        let mut bytes = Vec::new();
        // a program that has printed nothing has no file yet
        let _ = File::open(directory.join("output.log"))
            .and_then(|file| file.take(MAX_OUTPUT_BYTES + 1).read_to_end(&mut bytes));
        let is_cut = bytes.len() as u64 > MAX_OUTPUT_BYTES;
        bytes.truncate(bytes.len().min(MAX_OUTPUT_BYTES as usize));
        let records = HookRecord::read_all(directory);
        if bytes.len() == self.bytes && records.len() == self.records.len() {
            return false;
        }
        (self.records, self.bytes, self.is_cut) = (records, bytes.len(), is_cut);
        self.text = String::from_utf8_lossy(&bytes).into_owned();
        let lines =
            bytes.split(|byte| b"\n\r".contains(byte)).map(|line| to_plain_line(line).text.into_owned());
        let lines: Vec<String> = lines.filter(|line| !line.trim().is_empty()).collect();
        let skipped = lines.len().saturating_sub(MAX_OUTPUT_LINES);
        self.lines = lines.into_iter().skip(skipped).collect();
        true
    }
}

/// The epochs of a whole training, if a line names them.
pub(super) fn epochs_in_output(lines: &[String]) -> Option<u64> {
    ReportReader::new(MetricSource::default(), 0)
        .read_all(&lines.join("\n"))
        .epochs
        .filter(|&epochs| epochs > 1)
}

/// A path in the working folder as it is written from there.
fn to_relative_path(path: &Path) -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    Some(path.strip_prefix(&here).unwrap_or(path).to_owned())
}

fn is_table(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "csv" || extension == "tsv")
}

/// Tables in `folder` that were written since `begun`.
fn tables_since(folder: &Path, begun: SystemTime) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| PathBuf::from(entry.file_name())).filter(|path| {
        let written = path.metadata().and_then(|file| file.modified());
        is_table(path) && written.is_ok_and(|written| written >= begun)
    });
    let mut paths: Vec<PathBuf> = paths.collect();
    paths.sort();
    paths
}
