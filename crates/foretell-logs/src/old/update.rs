//! Reads again only if files changed: the record of earlier reads, with their files.

use super::packed::CurveResource;
use super::recognize::LogSource;
use crate::error::Error;
use crate::options::ReadOptions;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// A file as it was when it was read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct FileStamp {
    path: PathBuf,
    bytes: u64,
    /// When it was last changed, in nanoseconds since 1970.
    changed: u64,
}

/// A source as it was when it was read, and the ids of its runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SourceRead {
    files: Vec<FileStamp>,
    pub(crate) runs: Vec<String>,
}

/// The sources of imported curves, and the way they were read. `foretell import` stores it next to the curves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportManifest {
    schema: String,
    /// The options of the read: with other options, all is read again.
    asked: String,
    pub(crate) metric: String,
    pub(crate) resource: String,
    pub(crate) counted_from_0: bool,
    /// Whether a training was left out because another tool logged it, too.
    #[serde(default)]
    pub(crate) doubled: bool,
    pub(crate) sources: Vec<SourceRead>,
}

impl ImportManifest {
    pub(crate) fn new(
        options: &ReadOptions,
        metric: &str,
        (resource, counted_from_0): (CurveResource, bool),
    ) -> Self {
        Self {
            schema: "foretell.import/1".to_owned(),
            asked: options_key(options),
            metric: metric.to_owned(),
            resource: resource.name().to_owned(),
            counted_from_0,
            doubled: false,
            sources: Vec::new(),
        }
    }

    /// Whether the import was made with these options.
    pub(crate) fn matches_options(&self, options: &ReadOptions) -> bool {
        self.schema == "foretell.import/1" && self.asked == options_key(options)
    }

    /// The runs of `files`, if none of them changed.
    pub(crate) fn find_unchanged<'a>(
        &'a self,
        places: &BTreeMap<&Path, &'a SourceRead>,
        source: &LogSource,
    ) -> Option<&'a SourceRead> {
        let first = source.files.first()?;
        let before = places.get(first.as_path())?;
        let now = collect_stamps(source).ok()?;
        (before.files == now).then_some(*before)
    }

    /// Where each source of before is, by its first file.
    pub(crate) fn places(&self) -> BTreeMap<&Path, &SourceRead> {
        // the stamps of a folder begin with the folder itself
        self.sources.iter().filter_map(|read| Some((read.files.first()?.path.as_path(), read))).collect()
    }

    /// The ids of all runs.
    pub(crate) fn ids(&self) -> BTreeSet<&str> {
        self.sources.iter().flat_map(|read| read.runs.iter().map(String::as_str)).collect()
    }
}

impl SourceRead {
    pub(crate) fn from_source(source: &LogSource, runs: Vec<String>) -> Result<Self, Error> {
        Ok(Self { files: collect_stamps(source)?, runs })
    }
}

fn options_key(options: &ReadOptions) -> String {
    let ReadOptions { format, metric, direction, step_column, .. } = options;
    format!("{format:?} {metric:?} {direction:?} {step_column:?}")
}

/// The stamps of the files of a source; of a folder, of all that is in it. A database's write-ahead log counts, too.
fn collect_stamps(source: &LogSource) -> Result<Vec<FileStamp>, Error> {
    let mut found = Vec::new();
    for file in &source.files {
        add_stamps(file, &mut found)?;
        for ending in ["-wal", "-journal"] {
            let mut beside = file.clone().into_os_string();
            beside.push(ending);
            if Path::new(&beside).is_file() {
                add_stamps(Path::new(&beside), &mut found)?;
            }
        }
    }
    Ok(found)
}

fn add_stamps(path: &Path, found: &mut Vec<FileStamp>) -> Result<(), Error> {
    let data = fs::metadata(path).map_err(Error::io_at(path))?;
    let changed = data.modified().map_err(Error::io_at(path))?.duration_since(UNIX_EPOCH).unwrap_or_default();
    let changed = u64::try_from(changed.as_nanos()).unwrap_or(u64::MAX);
    let bytes = if data.is_dir() { 0 } else { data.len() };
    found.push(FileStamp { path: path.to_owned(), bytes, changed });
    if data.is_dir() {
        let mut inner: Vec<PathBuf> = Vec::new();
        for entry in fs::read_dir(path).map_err(Error::io_at(path))? {
            inner.push(entry.map_err(Error::io_at(path))?.path());
        }
        inner.sort();
        inner.iter().try_for_each(|path| add_stamps(path, found))?;
    }
    Ok(())
}
