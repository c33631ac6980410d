//! The command line and study file of a search, kept next to the log so that its trials can be run again.

use crate::output::note;
use foretell_run::{read_regular_file, write_atomically};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub(crate) use foretell_run::{COMMAND_FILE as FILE, command_of, shell_line};

/// The command line and study file of a search.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Asked {
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

impl Asked {
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
        let whole = Self { command: command.to_vec(), config: config.map(str::to_owned), ..self.clone() };
        let path = directory.join(FILE);
        let kept = serde_json::to_string_pretty(&whole).map_err(std::io::Error::from);
        if let Err(error) = kept.and_then(|text| write_atomically(&path, text.as_bytes())) {
            note(&format!(
                "{}: {error}. `foretell study run` will not know this search's command",
                path.display()
            ));
        }
    }

    /// Reads it from the study's `directory`; `None` for studies of earlier versions, or of other interfaces.
    pub(crate) fn read(directory: &Path) -> Option<Self> {
        serde_json::from_str(&read_regular_file(&directory.join(FILE)).ok()?).ok()
    }
}
