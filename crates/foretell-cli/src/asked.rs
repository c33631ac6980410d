//! The command line and study file of a search, kept next to the log so that its trials can be run again.

use crate::failure::Failure;
use crate::output::note;
use foretell_run::{keep_secrets, read_regular_file, restore_secrets, write_atomically};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub(crate) use foretell_run::{COMMAND_FILE as FILE, quote_for_shell, retrain_command};

/// The command line and study file of a search.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RecordedCommand {
    /// The command line as it was typed.
    pub(crate) line: Vec<String>,
    /// The folder in which it was typed; trainings start there.
    pub(crate) folder: PathBuf,
    /// The command line with the flags of the study file, if there was one.
    pub(crate) words: Vec<String>,
    /// The other settings of the study file.
    pub(crate) request: Map<String, Value>,
    /// The command that trains a configuration, with placeholders.
    command: Vec<String>,
    /// The name of a trial's copy of the configuration file, if it has one.
    config: Option<String>,
}

impl RecordedCommand {
    /// A search by the command line `words`, without a study file.
    pub(crate) fn by(words: &[OsString]) -> Self {
        let line: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let folder = std::env::current_dir().unwrap_or_default();
        Self { words: line.clone(), line, folder, ..Self::default() }
    }

    /// A search by the command line `line` and a study file, which together are `words` and `request`.
    pub(crate) fn with_file(line: &[OsString], words: &[OsString], request: Map<String, Value>) -> Self {
        Self { words: Self::by(words).words, request, ..Self::by(line) }
    }

    /// Keeps it in the study's `directory`. A failure to write it ends nothing: it is only needed to run a trial again.
    pub(crate) fn keep(&self, directory: &Path, command: &[String], config: Option<&str>) {
        let path = directory.join(FILE);
        let secrets = keep_secrets(directory, [&self.line, &self.words, command]);
        let written = secrets.and_then(|[line, words, command]| {
            let shown = Self { line, words, command, config: config.map(str::to_owned), ..self.clone() };
            write_atomically(&path, serde_json::to_string_pretty(&shown)?.as_bytes())
        });
        if let Err(error) = written {
            note(&format!(
                "{}: {error}. `foretell study run` will not know this search's command",
                path.display()
            ));
        }
    }

    /// Reads it from the study's `directory`, with `***` for secrets; `None` for studies of other interfaces.
    pub(crate) fn read(directory: &Path) -> Option<Self> {
        serde_json::from_str(&read_regular_file(&directory.join(FILE)).ok()?).ok()
    }

    /// Restores the secrets that the study's `directory` has, to run its command again.
    pub(crate) fn with_secrets(self, directory: &Path) -> Result<Self, Failure> {
        let words = restore_secrets(directory, &self.words).map_err(Failure::input)?;
        let command = restore_secrets(directory, &self.command).map_err(Failure::input)?;
        Ok(Self { words, command, ..self })
    }
}
