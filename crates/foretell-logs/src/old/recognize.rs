//! Recognizes the tool that wrote a file by its content, and the files of a folder that form one run.

use super::{LogFormat, mlflow, study, tables, tensorboard, wandb};
use crate::error::Error;
use crate::history::begins_one;
use crate::locate::{file_name, natural};
use crate::notation::is_heading;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes of a file that are looked at to recognize it.
const SNIFFED_BYTES: u64 = 1 << 14;
/// Deeper folders are not searched.
const MAX_FOLDER_DEPTH: usize = 24;

/// Something that holds runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogSource {
    pub(crate) format: LogFormat,
    /// The name of the runs: the path from the folder that was named.
    pub(crate) name: String,
    /// The files, in the order in which they are read; for MLflow's store the folder of the run.
    pub(crate) files: Vec<PathBuf>,
}

/// The files found below a path.
#[derive(Clone, Debug, Default)]
pub(crate) struct FoundFiles {
    pub(crate) sources: Vec<LogSource>,
    /// Tables and curve files, which the reader of curve files takes one at a time.
    pub(crate) tables: Vec<PathBuf>,
    /// Files whose runs are recorded more fully in others.
    pub(crate) doubled: Vec<PathBuf>,
    /// Runs that the tool marked as deleted.
    pub(crate) deleted: usize,
    /// Files that no reader knows.
    pub(crate) others: usize,
}

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Log(LogFormat),
    Table,
    Other,
}

/// The kind of a file by its first bytes; a database is opened.
pub(crate) fn kind(file: &Path) -> Result<FileKind, Error> {
    let mut start = Vec::new();
    fs::File::open(file)
        .map_err(Error::io_at(file))?
        .take(SNIFFED_BYTES)
        .read_to_end(&mut start)
        .map_err(Error::io_at(file))?;
    if start.starts_with(b"SQLite format 3\0") {
        return Ok(database(file)?.map_or(FileKind::Other, FileKind::Log));
    }
    if tensorboard::is_event_file(&start) {
        return Ok(FileKind::Log(LogFormat::TensorBoard));
    }
    if wandb::is_wandb_file(&start) {
        return Ok(FileKind::Log(LogFormat::Wandb));
    }
    if start.starts_with(b"PAR1") {
        return Ok(FileKind::Table);
    }
    if start.starts_with(&[0x1f, 0x8b]) {
        let mut plain = Vec::new();
        let decoder = flate2::read::MultiGzDecoder::new(&start[..]);
        // the start ends in the middle of the data
        let _ = decoder.take(SNIFFED_BYTES).read_to_end(&mut plain);
        return Ok(match text_kind(&plain) {
            FileKind::Log(format) if format.is_table() => FileKind::Log(format),
            FileKind::Other => FileKind::Other,
            _ => FileKind::Table,
        });
    }
    Ok(text_kind(&start))
}

#[cfg(feature = "sqlite")]
fn database(file: &Path) -> Result<Option<LogFormat>, Error> {
    super::sqlite::format_of(file)
}

#[cfg(not(feature = "sqlite"))]
fn database(file: &Path) -> Result<Option<LogFormat>, Error> {
    Err(Error::Old {
        file: file.to_owned(),
        problem: "this is an SQLite database, and this program was built without its reader. Build it with `--features sqlite`".to_owned(),
    })
}

fn text_kind(start: &[u8]) -> FileKind {
    let text = match std::str::from_utf8(start) {
        Ok(text) => text,
        // the first bytes may end within a letter, which would otherwise look like a binary file
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&start[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return FileKind::Other,
    };
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let line = text.lines().next().unwrap_or_default();
    if line.starts_with('{') {
        return if study::is_log(line) {
            FileKind::Log(LogFormat::Foretell)
        } else if line.contains("\"op_code\"") && line.contains("\"worker_id\"") {
            FileKind::Log(LogFormat::Optuna)
        } else if line.contains("\"training_iteration\"") && line.contains("\"trial_id\"") {
            FileKind::Log(LogFormat::Ray)
        } else if text.contains("\"log_history\"")
            || (text.contains("\"best_model_checkpoint\"") && text.contains("\"global_step\""))
        {
            FileKind::Log(LogFormat::Transformers)
        } else if line.contains("\"values\"") {
            FileKind::Table
        } else if begins_one(text.as_bytes()) {
            // its content is checked when it is read
            history_kind(&crate::json::requote_python_dict(text))
        } else {
            FileKind::Other
        };
    }
    if mlflow::is_run_metadata(text) {
        return FileKind::Log(LogFormat::Mlflow);
    }
    // a header needs two names; only the first, that of an index, may be empty
    let separator = [',', ';', '\t'].into_iter().max_by_key(|&s| line.matches(s).count()).unwrap_or(',');
    let headers: Vec<&str> = line.split(separator).map(|name| name.trim().trim_matches('"')).collect();
    if headers.len() < 2
        || headers.iter().any(|name| name.len() > 200)
        || headers[1..].contains(&"")
        || !is_heading(&headers)
    {
        return FileKind::Other;
    }
    tables::format_of(&headers).map_or(FileKind::Table, FileKind::Log)
}

/// The kind of a file of JSON that starts like a history: one if lists of numbers are named like a metric.
fn history_kind(text: &str) -> FileKind {
    let names = text.split('"').skip(1).step_by(2);
    let followed = text.split('"').skip(2).step_by(2);
    let has_values = names.zip(followed).any(|(name, after)| {
        let after = after.trim_start().trim_start_matches(':').trim_start();
        let first = after.strip_prefix('[').map(|list| list.trim_start().chars().next());
        crate::names::is_metric(name) && matches!(first, Some(Some('0'..='9' | '-' | 'N' | 'n')))
    });
    if has_values { FileKind::Log(LogFormat::Table) } else { FileKind::Other }
}

/// The files below `path`; with `only`, files of other kinds are skipped.
pub(crate) fn below(path: &Path, only: Option<LogFormat>) -> Result<FoundFiles, Error> {
    let mut walk = FolderWalk {
        root: path,
        only,
        found: FoundFiles::default(),
        events: BTreeMap::new(),
        states: BTreeMap::new(),
    };
    if path.is_dir() {
        walk.folder(path, 0)?;
    } else {
        let kind = match only {
            Some(format) => FileKind::Log(format),
            None => kind(path)?,
        };
        walk.file(path, kind);
    }
    walk.group_states();
    walk.skip_redundant_tables();
    walk.skip_artifacts();
    // last, because it takes the event files out of the list by which the others find doubles
    walk.group_events();
    walk.found.sources.sort_by(|a, b| natural(&a.name, &b.name));
    Ok(walk.found)
}

/// Whether a folder is a part of a run: its training or its test.
fn is_run_part(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    super::RUN_PART_FOLDERS.contains(&name.as_str())
}

struct FolderWalk<'a> {
    root: &'a Path,
    only: Option<LogFormat>,
    found: FoundFiles,
    /// The event files of each folder.
    events: BTreeMap<PathBuf, Vec<PathBuf>>,
    /// The `trainer_state.json` of each run: that of the run itself and those of its checkpoints.
    states: BTreeMap<PathBuf, Vec<PathBuf>>,
}

impl FolderWalk<'_> {
    fn folder(&mut self, folder: &Path, depth: usize) -> Result<(), Error> {
        let mut entries: Vec<PathBuf> = Vec::new();
        for entry in fs::read_dir(folder).map_err(Error::io_at(folder))? {
            entries.push(entry.map_err(Error::io_at(folder))?.path());
        }
        entries.sort();
        let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) =
            entries.into_iter().partition(|path| path.is_dir());
        let mut kinds: Vec<(PathBuf, FileKind)> = Vec::new();
        for file in files.into_iter().filter(|file| file.is_file()) {
            // a file that cannot be read is none of the logs
            let kind = kind(&file).unwrap_or(FileKind::Other);
            kinds.push((file, kind));
        }
        if kinds.iter().any(|(_, kind)| *kind == FileKind::Log(LogFormat::Mlflow))
            && kinds.iter().any(|(file, _)| file.ends_with("meta.yaml"))
        {
            self.file(&folder.join("meta.yaml"), FileKind::Log(LogFormat::Mlflow));
            return Ok(());
        }
        // a trial of Ray has all of its results in one file, and the same in two others
        let reads_ray = self.only.is_none_or(|only| only == LogFormat::Ray);
        let result = kinds.iter().position(|(file, kind)| {
            *kind == FileKind::Log(LogFormat::Ray) && file.extension().is_some_and(|ending| ending == "json")
        });
        for (at, (file, kind)) in kinds.into_iter().enumerate() {
            let again = reads_ray
                && result.is_some_and(|result| result != at)
                && matches!(kind, FileKind::Log(LogFormat::Ray | LogFormat::TensorBoard));
            if again {
                self.found.doubled.push(file);
            } else {
                self.file(&file, kind);
            }
        }
        for folder in folders {
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // links to folders may lead back
            let is_link = folder.symlink_metadata().is_ok_and(|data| data.is_symlink());
            if name == ".trash" {
                self.found.deleted += 1;
            } else if !is_link && !name.starts_with('.') && depth < MAX_FOLDER_DEPTH {
                self.folder(&folder, depth + 1)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, file: &Path, kind: FileKind) {
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        match kind {
            FileKind::Log(format) if self.only.is_some_and(|only| !only.takes(format)) => {
                self.found.others += 1
            }
            FileKind::Log(LogFormat::TensorBoard) => {
                self.events.entry(folder).or_default().push(file.to_owned())
            }
            FileKind::Log(LogFormat::Transformers) => {
                let of_checkpoint =
                    folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with("checkpoint-"));
                let run = if of_checkpoint { folder.parent().unwrap_or(&folder).to_owned() } else { folder };
                self.states.entry(run).or_default().push(file.to_owned());
            }
            FileKind::Log(
                format @ (LogFormat::Mlflow | LogFormat::Ray | LogFormat::Lightning | LogFormat::Foretell),
            ) => {
                // the database of MLflow names its runs itself
                let whole = if file.ends_with("meta.yaml") { folder.clone() } else { file.to_owned() };
                let name = self.name(&folder);
                self.found.sources.push(LogSource { format, name, files: vec![whole] });
            }
            FileKind::Log(format) => {
                let name = self.name(&file.with_extension(""));
                self.found.sources.push(LogSource { format, name, files: vec![file.to_owned()] });
            }
            // a text with commas is taken for a table: it is only mentioned if it is named like one
            FileKind::Table if self.only.is_none() && crate::locate::has_table_name(file) => {
                self.found.tables.push(file.to_owned());
            }
            FileKind::Table | FileKind::Other => self.found.others += 1,
        }
    }

    /// The path from the root, or the name of the root's folder.
    fn name(&self, path: &Path) -> String {
        let inner = path.strip_prefix(self.root).unwrap_or(path).to_string_lossy().replace('\\', "/");
        if inner.is_empty() || self.root.is_file() {
            let name = file_name(path);
            return if name.is_empty() {
                path.canonicalize().map(|path| file_name(&path)).unwrap_or_default()
            } else {
                name
            };
        }
        inner
    }

    /// If a training wrote several states, the last one counts: it contains all the others' values.
    fn group_states(&mut self) {
        for (run, mut files) in std::mem::take(&mut self.states) {
            files.sort_by_key(|file| {
                let folder = file.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
                // the run's own, else the checkpoint with the highest number
                folder
                    .strip_prefix("checkpoint-")
                    .map_or(u64::MAX, |number| number.parse::<u64>().unwrap_or(0))
            });
            let Some(last) = files.pop() else { continue };
            self.found.doubled.extend(files);
            let below: Vec<PathBuf> =
                self.events.keys().filter(|folder| folder.starts_with(&run)).cloned().collect();
            for folder in below {
                self.found.doubled.extend(self.events.remove(&folder).unwrap_or_default());
            }
            let name = self.name(&run);
            self.found.sources.push(LogSource { format: LogFormat::Transformers, name, files: vec![last] });
        }
    }

    /// A table of Keras or Lightning next to the event files of the same training holds no more than they do, and no times.
    fn skip_redundant_tables(&mut self) {
        let events = &self.events;
        let doubled = self.found.sources.extract_if(.., |source| {
            let Some(folder) = source.files.first().and_then(|file| file.parent()) else { return false };
            match source.format {
                LogFormat::Keras => {
                    events.keys().any(|of| of == folder || of.parent() == Some(folder) && is_run_part(of))
                }
                LogFormat::Lightning => events.contains_key(folder),
                _ => false,
            }
        });
        self.found.doubled.extend(doubled.flat_map(|source| source.files));
    }

    /// Artifacts that MLflow keeps of a run, `ID/artifacts/…`, are logs of values that its database holds.
    fn skip_artifacts(&mut self) {
        if !self.found.sources.iter().any(|source| source.format == LogFormat::Mlflow) {
            return;
        }
        let artifacts = self.events.extract_if(.., |folder, _| {
            let names: Vec<_> = folder.iter().map(|name| name.to_string_lossy()).collect();
            names.windows(2).any(|pair| {
                pair[0].len() == 32
                    && pair[0].bytes().all(|byte| byte.is_ascii_hexdigit())
                    && pair[1] == "artifacts"
            })
        });
        self.found.doubled.extend(artifacts.flat_map(|(_, files)| files));
    }

    /// A folder of event files is a run, together with its folders for training and validation and those that hold its settings.
    fn group_events(&mut self) {
        let folders: BTreeSet<PathBuf> = self.events.keys().cloned().collect();
        let mut runs: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
        for (folder, files) in std::mem::take(&mut self.events) {
            let parent = folder.parent().filter(|_| folder != self.root);
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            let of_parent = is_run_part(&folder)
                // PyTorch's add_hparams writes into a folder named by the time, inside that of the run
                || (parent.is_some_and(|parent| folders.contains(parent)) && name.parse::<f64>().is_ok());
            let run = parent.filter(|_| of_parent).map_or(folder.clone(), Path::to_owned);
            runs.entry(run).or_default().extend(files);
        }
        for (run, mut files) in runs {
            // the settings of the run's own folder come before those of its parts
            files.sort_by_key(|file| (file.components().count(), file.clone()));
            let name = self.name(&run);
            self.found.sources.push(LogSource { format: LogFormat::TensorBoard, name, files });
        }
    }
}
