//! How a search was asked for: kept beside the log, so that its trainings can be run again.

use super::workload::Workload;
use crate::output::note;
use foretell::Configuration;
use foretell_run::{CONFIG, PARAMS_FILE, TRIAL_DIR, fill_in, trial_directory, write_atomically};
use foretell_search::StudySpec;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The file, in a study's folder.
pub(crate) const FILE: &str = "command.json";

/// How a search was asked for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Asked {
    /// The command line as it was typed.
    pub(crate) line: Vec<String>,
    /// The folder in which it was typed; trainings start there.
    pub(crate) folder: PathBuf,
    /// The command line with the flags of the study file, if there was one.
    pub(super) words: Vec<String>,
    /// What else the study file said.
    pub(super) request: Map<String, Value>,
    /// What trains a configuration, with placeholders.
    command: Vec<String>,
    /// The name of a trial's copy of the configuration file, if it has one.
    config: Option<String>,
}

impl Asked {
    /// A search by the command line `words`, without a study file.
    pub(super) fn by(words: &[OsString]) -> Self {
        let line: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let folder = std::env::current_dir().unwrap_or_default();
        Self { words: line.clone(), line, folder, ..Self::default() }
    }

    /// A search by the command line `line` and a study file, which together are `words` and `request`.
    pub(super) fn with_file(line: &[OsString], words: &[OsString], request: Map<String, Value>) -> Self {
        Self { words: Self::by(words).words, request, ..Self::by(line) }
    }

    /// Keeps it in the study's `directory`. That it cannot be kept ends nothing: it is only needed to run a training again.
    pub(super) fn keep(&self, directory: &Path, workload: &Workload) {
        let config = workload.config.as_ref().map(|config| config.file_name().to_owned());
        let whole = Self { command: workload.command.clone(), config, ..self.clone() };
        let path = directory.join(FILE);
        let kept = serde_json::to_string_pretty(&whole).map_err(std::io::Error::from);
        if let Err(error) = kept.and_then(|text| write_atomically(&path, text.as_bytes())) {
            note(&format!(
                "{}: {error}; `foretell study run` will not know this search's command",
                path.display()
            ));
        }
    }

    /// How the study in `directory` was asked for; `None` for studies of earlier versions, or of other doors.
    pub(crate) fn of(directory: &Path) -> Option<Self> {
        serde_json::from_str(&std::fs::read_to_string(directory.join(FILE)).ok()?).ok()
    }
}

/// The words of the command that trains `configuration`, which trial `trial` of the study in `directory` has; `None` where no command
/// is known, as in studies that others run.
pub(crate) fn command_of(
    directory: &Path,
    spec: &StudySpec,
    trial: u64,
    configuration: &Configuration,
) -> Option<Vec<String>> {
    let asked = Asked::of(directory);
    let (command, config) = match &asked {
        Some(asked) if !asked.command.is_empty() => (asked.command.clone(), asked.config.as_deref()),
        // earlier versions kept the words with spaces between them
        _ => (spec.workload.get("command")?.split(' ').map(str::to_owned).collect(), None),
    };
    let own = trial_directory(directory, trial);
    let own = std::path::absolute(&own).unwrap_or(own);
    let value = |(name, value): (&String, &foretell::Value)| {
        (name.clone(), serde_json::to_value(value).unwrap_or_default())
    };
    let place = |name: &str, path: PathBuf| (name.to_owned(), Value::from(path.to_string_lossy()));
    let mut values: Map<String, Value> = configuration.iter().map(value).collect();
    // the words of FORETELL_PARAMS_JSON are the parameters alone: places are only added where the command names them
    let places = [
        place(PARAMS_FILE, own.join("params.json")),
        place(TRIAL_DIR, own.clone()),
        place(CONFIG, own.join(config.unwrap_or("config"))),
    ];
    let is_named = |name: &str| command.iter().any(|word| word.contains(&format!("{{{name}}}")));
    values.extend(places.into_iter().filter(|(name, _)| is_named(name)));
    fill_in(&command, &values).ok()
}

/// `words` as a shell reads them.
pub(crate) fn shell_line(words: &[String]) -> String {
    let is_plain = |word: &String| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_=./:,+@%".contains(c))
    };
    let quoted = |word: &String| match is_plain(word) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::shell_line;

    #[test]
    fn a_shell_reads_each_word_as_it_was() {
        let words = ["python", "--lr=0.1", "two words", "it's", "", "$HOME"].map(str::to_owned);
        assert_eq!(shell_line(&words), r"python --lr=0.1 'two words' 'it'\''s' '' '$HOME'");
    }
}
