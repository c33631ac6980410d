//! The command line of a trial, as a person types it, shown for the best trial.

use crate::config_file::CONFIG_PLACEHOLDER;
use crate::placeholder::{EPOCHS_PLACEHOLDER, PARAMS_FILE, SEED_PLACEHOLDER, TRIAL_DIR, fill_placeholders};
use crate::process::checkpoints::trial_directory;
use foretell::Configuration;
use foretell_search::StudySpec;
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

/// The file in a study's folder that describes its search.
pub const COMMAND_FILE: &str = "command.json";

/// The parts of that file that are needed here.
#[derive(Default, Deserialize)]
#[serde(default)]
struct SearchCommand {
    /// The command that trains a configuration, with placeholders.
    command: Vec<String>,
    /// The name of a trial's copy of the configuration file, if it has one.
    config: Option<String>,
}

impl SearchCommand {
    fn read(directory: &Path) -> Option<Self> {
        serde_json::from_slice(&crate::regular::read(&directory.join(COMMAND_FILE)).ok()?).ok()
    }
}

/// The words of the command that trains `configuration` again as trial `trial` of the study in `directory` did, in a folder of its own:
/// that of the trial has its checkpoints. `None` if the command is unknown, as in studies that other programs run.
pub fn retrain_command(
    directory: &Path,
    spec: &StudySpec,
    trial: u64,
    configuration: &Configuration,
) -> Option<Vec<String>> {
    let asked = SearchCommand::read(directory).unwrap_or_default();
    let command = match asked.command.is_empty() {
        false => asked.command,
        // earlier versions kept the words with spaces between them
        true => spec.workload.get("command")?.split(' ').map(str::to_owned).collect(),
    };
    let own = trial_directory(directory, trial);
    let own = std::path::absolute(&own).unwrap_or(own);
    let mut values = spec.space.program_values(configuration);
    // the words of FORETELL_PARAMS_JSON are the parameters alone: places are only added where the command names them
    let paths = [
        (PARAMS_FILE, own.join("params.json")),
        (TRIAL_DIR, format!("trial-{trial}-again").into()),
        (CONFIG_PLACEHOLDER, own.join(asked.config.as_deref().unwrap_or("config"))),
    ];
    let paths = paths.map(|(name, path)| (name, Value::from(path.to_string_lossy())));
    let seed = (SEED_PLACEHOLDER, spec.trial_seed(trial).into());
    let epochs = spec.resource().map(|epochs| (EPOCHS_PLACEHOLDER, epochs.into()));
    for (name, value) in paths.into_iter().chain([seed]).chain(epochs) {
        if command.iter().any(|word| word.contains(&format!("{{{name}}}"))) && !values.contains_key(name) {
            values.insert(name.to_owned(), value);
        }
    }
    let filled = fill_placeholders(&command, &values).ok()?;
    if filled != command {
        return Some(filled);
    }
    // a command without placeholders reads its parameters from the environment
    let variables = [
        format!("FORETELL_PARAMS={}", own.join("params.json").display()),
        spec.resource().map(|epochs| format!("FORETELL_MAX_RESOURCE={epochs}")).unwrap_or_default(),
        format!("FORETELL_SEED={}", spec.trial_seed(trial)),
    ];
    let variables = variables.into_iter().filter(|variable| !variable.is_empty());
    Some(["env".to_owned()].into_iter().chain(variables).chain(filled).collect())
}

/// Quotes `words` for a shell.
pub fn quote_for_shell(words: &[String]) -> String {
    let quoted = words.iter().map(|word| {
        let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "-_=./:,+@%".contains(c));
        match is_plain && !word.is_empty() {
            true => word.clone(),
            false => format!("'{}'", word.replace('\'', r"'\''")),
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{quote_for_shell, retrain_command};
    use foretell_search::{ParameterSpace, Space, StudySpec};

    #[test]
    fn a_command_without_placeholders_finds_its_parameters_in_the_environment() {
        let space = Space::Parameters(ParameterSpace::parse(&["lr=log:0.01:1"]).expect("a space"));
        let spec = StudySpec::new(space, "loss", foretell::Direction::Minimize);
        let configuration = [("lr".to_owned(), foretell::Value::Number(0.5))].into();
        let command = |words: &str| {
            let workload = [("command".to_owned(), words.to_owned())].into();
            let spec = StudySpec { workload, ..spec.clone() };
            retrain_command("/studies/a".as_ref(), &spec, 3, &configuration).expect("a command").join(" ")
        };
        assert_eq!(command("train --lr {lr}"), "train --lr 0.5");
        assert_eq!(
            command("train --ckpt {trial_dir}/ckpt --lr {lr}"),
            "train --ckpt trial-3-again/ckpt --lr 0.5"
        );
        let filled = command("train");
        assert!(filled.starts_with("env FORETELL_PARAMS=/studies/a/trials/0003/params.json "), "{filled}");
        assert!(filled.contains(" FORETELL_SEED=") && filled.ends_with(" train"), "{filled}");
    }

    #[test]
    fn a_shell_reads_each_word_as_it_was() {
        let words = ["python", "--lr=0.1", "two words", "it's", "", "$HOME"].map(str::to_owned);
        assert_eq!(quote_for_shell(&words), r"python --lr=0.1 'two words' 'it'\''s' '' '$HOME'");
    }
}
