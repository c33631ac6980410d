//! The data that a worker on any machine needs to run the trials of a study: written by the search, given out by its server.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use foretell_search::Space;
use serde::{Deserialize, Serialize};

use crate::config_file::{ConfigFile, ConfigFileError};
use crate::log::atomic_write::write_atomically;
use crate::process::hook::{HookScope, PRINTED_SOURCE};
use crate::process::trial::WatchSettings;
use crate::regular;
use crate::secrets::{keep_secrets, restore_secrets};
use foretell_logs::printed::{MetricSource, PatternError};

/// The file, in a study's folder.
const WORK_FILE: &str = "work.json";

/// The description of a study's trials: the command, the parsing of its output, and the limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Work {
    /// The version of Foretell that wrote it; workers of another version are refused.
    pub version: String,
    /// A text that no other search has: a machine that reads it in `study` shares that folder.
    pub mark: String,
    /// The study's folder.
    pub study: PathBuf,
    /// The folder in which the command runs.
    pub folder: PathBuf,
    /// Program and arguments, with placeholders.
    pub command: Vec<String>,
    /// Whether the program is Foretell itself.
    pub is_built_in: bool,
    /// The value of `--metric`.
    pub metric: Option<String>,
    /// The value of `--step`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The number of epochs of a full trial; `null` where trials show it, and each start has it.
    #[serde(with = "foretell_search::resource")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub max_resource: u64,
    /// The search space, which defines how values are written.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub space: Option<Space>,
    /// A file that a trial appends its metrics to.
    pub follow: Option<String>,
    /// The value of `--source`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// A trial that runs longer fails; in seconds.
    pub timeout: Option<f64>,
    /// A trial fails if it reports nothing for this many times its usual interval.
    pub stall: Option<f64>,
    /// Names of values that a trial may print once, in a line without the metric.
    #[serde(default)]
    pub once: Vec<String>,
    /// Parameters without a placeholder.
    pub unplaced: Vec<String>,
    /// The command's configuration file: its path, which tells its form, and its text.
    pub config: Option<(PathBuf, String)>,
    /// The number of retries of a training that failed.
    pub retries: u32,
    /// The output that a training without reports should have printed.
    pub expected_report: String,
}

/// The reason why the trials of a study cannot run.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// The pattern of the metric.
    #[error("the study's --metric: {0}")]
    Metric(#[from] PatternError),
    /// The configuration file.
    #[error("the study's --config: {0}")]
    Config(#[from] ConfigFileError),
}

impl Work {
    /// A mark that no other search has.
    pub fn new_mark() -> String {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        format!("{now:x}-{:x}", std::process::id())
    }

    /// Writes it into the folder of a study, the secrets of the command into a file of their own.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, study: &Path) -> io::Result<()> {
        let [command] = keep_secrets(study, [&self.command])?;
        let shown = Self { command, ..self.clone() };
        write_atomically(&study.join(WORK_FILE), serde_json::to_string_pretty(&shown)?.as_bytes())
    }

    /// Reads it from the folder of a study; `None` for a study whose trials others run.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn read(study: &Path) -> io::Result<Option<Self>> {
        match regular::read(&study.join(WORK_FILE)) {
            Ok(text) => {
                let shown: Self = serde_json::from_slice(&text)?;
                // a user without the secrets may still see the rest
                let command =
                    restore_secrets(study, &shown.command).unwrap_or_else(|_| shown.command.clone());
                Ok(Some(Self { command, ..shown }))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether this machine sees the study's own folder: then checkpoints are found on every such machine.
    pub fn is_shared(&self) -> bool {
        Self::read(&self.study).is_ok_and(|there| there.is_some_and(|there| there.mark == self.mark))
    }

    /// The limits of each trial.
    pub fn watch_settings(&self) -> WatchSettings {
        let timeout = self.timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let once = self.once.clone();
        let hook = HookScope::for_source(self.source.as_deref(), self.metric.as_deref().unwrap_or_default());
        let (follow, flushes) = (self.follow.clone(), self.is_built_in);
        WatchSettings { follow, hook, timeout, stall: self.stall, flushes, once }
    }

    /// Where the metric is in the output.
    ///
    /// # Errors
    /// [`WorkError::Metric`].
    pub fn metric_source(&self) -> Result<MetricSource, WorkError> {
        if self.source.as_deref().is_some_and(|source| source != PRINTED_SOURCE) {
            return Ok(MetricSource::default());
        }
        let step = self.step.as_deref();
        let parsed =
            self.metric.as_deref().map(|metric| MetricSource::parse_with(metric, step)).transpose()?;
        Ok(parsed.unwrap_or_default())
    }

    /// The command's configuration file.
    ///
    /// # Errors
    /// [`WorkError::Config`].
    pub fn read_config(&self) -> Result<Option<ConfigFile>, WorkError> {
        let written = self.config.as_ref().map(|(path, text)| ConfigFile::from_text(path, text.clone()));
        Ok(written.transpose()?)
    }
}

#[cfg(test)]
mod tests {
    use super::Work;

    #[test]
    fn a_machine_shares_the_folder_if_it_reads_the_same_mark_there() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(Work::read(folder.path()).expect("no error").is_none());
        let study = folder.path().to_owned();
        let work = Work { mark: Work::new_mark(), study, retries: 2, ..Work::default() };
        assert!(!work.is_shared());
        work.write(folder.path()).expect("it is written");
        assert!(work.is_shared());
        assert_eq!(Work::read(folder.path()).expect("it is read"), Some(work.clone()));
        let another = Work { mark: "another".to_owned(), ..work };
        assert!(!another.is_shared());
    }
}
