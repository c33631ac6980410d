//! The description of a trial to start: command, parameters, environment and directories.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Map, Value};

use crate::log::atomic_write::write_atomically;
use crate::placeholder::{
    EPOCHS_PLACEHOLDER, PARAMS_FILE, SEED_PLACEHOLDER, TRIAL_DIR, fill_placeholders, substitute_placeholders,
};
use crate::process::abandoned::TOKEN_VARIABLE;
use crate::process::group::ProcessIdentity;
use crate::process::hook::HookScope;
use crate::process::parent;
use crate::process::start_error::StartError;
use crate::process::terminal::TERMINAL_VARIABLES;
use foretell_logs::printed::{MetricSource, ReportReader};
use foretell_search::known_resource;

/// One trial to run as a child process.
///
/// The command is executed directly, without a shell: one element is one argument, whatever characters it holds.
///
/// | environment               | from                                                      |
/// |---------------------------|-----------------------------------------------------------|
/// | `FORETELL_TRIAL`          | `trial`                                                   |
/// | `FORETELL_PARAMS`         | `directory/params.json`, which holds `parameters`         |
/// | `FORETELL_SEED`           | `seed`                                                    |
/// | `FORETELL_CHECKPOINT_DIR` | `checkpoint_dir`                                          |
/// | `FORETELL_MAX_RESOURCE`   | `max_resource`; not set while it is unknown               |
/// | `FORETELL_UNTIL`          | `until`; not set while it is unknown                      |
/// | `FORETELL_RESUME_FROM`    | `resume_from`; not set when there is none                 |
/// | `FORETELL_PARENT`         | who started it, for [`crate::watch_parent`]         |
/// | `FORETELL_START`          | a name of this start, for [`crate::end_abandoned`]        |
/// | `PYTHONUNBUFFERED`        | 1 unless set: Python would hold reports back in a pipe    |
/// | `PYTHONPATH`, …          | with the hook ([`HookScope`]) in front, where one is asked for       |
/// | `TERM`, `PAGER`           | `xterm` and `cat`: it prints to a terminal                |
///
/// All paths in it are absolute. The rest of the environment is Foretell's own, with `environment` added.
#[derive(Clone, Debug)]
pub struct TrialSpec {
    /// The trial's number.
    pub trial: u64,
    /// Program and arguments, with placeholders `{lr}`, `{params_json}` (see [`crate::fill_placeholders`]).
    pub command: Vec<String>,
    /// The configuration: what placeholders stand for.
    pub parameters: Map<String, Value>,
    /// The trial's own seed.
    pub seed: u64,
    /// R, the resource (epochs) of a whole training, counted from its very beginning: what schedules are laid out for. The trial is not told
    /// [`UNKNOWN_RESOURCE`](foretell_search::UNKNOWN_RESOURCE).
    pub max_resource: u64,
    /// The resource after which the trial shall pause, its checkpoint written; R where it is to be trained to its end.
    pub until: u64,
    /// The trial's own folder, made if it is missing: `params.json`, `output.log` and, while it runs, `process.json`.
    pub directory: PathBuf,
    /// Where the trial shall write its checkpoints; made if it is missing.
    pub checkpoint_dir: PathBuf,
    /// The checkpoint folder to continue from.
    pub resume_from: Option<PathBuf>,
    /// The step that this checkpoint stands at: reports that name no step count on from here. 0 for a fresh start.
    pub resumed_at: u64,
    /// The folder to run in; Foretell's own where none is given.
    pub working_dir: Option<PathBuf>,
    /// Environment variables to add, or to replace.
    pub environment: BTreeMap<String, String>,
    /// Where the metric is found in the output.
    pub metric: MetricSource,
    /// The limits, in addition to its output.
    pub watch: WatchSettings,
}

/// The limits of a trial that are checked in addition to its output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WatchSettings {
    /// A file that it appends its metrics to, with placeholders.
    pub follow: Option<String>,
    /// The values of its libraries that are recorded. A series is then the only source of its reports.
    pub hook: HookScope,
    /// A trial that runs longer fails.
    pub timeout: Option<Duration>,
    /// A trial fails if it reports nothing for this many times its usual interval, which is known from its second report on.
    pub stall: Option<f64>,
    /// Whether it is known to write each report at once: several that come together with its end were made just then.
    pub flushes: bool,
    /// Names of values that it may print once, in a line without the metric, for example a latency.
    pub once: Vec<String>,
}

impl TrialSpec {
    /// Makes the trial's folders and its `params.json`.
    pub(crate) fn make_folders(&self) -> Result<(), StartError> {
        for folder in [&self.directory, &self.checkpoint_dir] {
            fs::create_dir_all(folder).map_err(StartError::folder("make the folder", folder))?;
        }
        let hook = self.watch.hook.install_files(&self.directory);
        hook.map_err(StartError::folder("write the hook next to", &self.directory))?;
        let path = self.directory.join("params.json");
        let text = Value::Object(self.parameters.clone()).to_string();
        write_atomically(&path, text.as_bytes()).map_err(StartError::folder("write", &path))
    }

    /// The command to execute, in its own process group. The caller gives it something to print to.
    pub(crate) fn build_command(&self, token: &str) -> Result<Command, StartError> {
        let arguments = self.filled_arguments()?;
        let (program, rest) = arguments.split_first().ok_or(StartError::NoCommand { trial: self.trial })?;
        let mut command = Command::new(program);
        command.args(rest).process_group(0);
        command.stdin(Stdio::null());
        if let Some(folder) = &self.working_dir {
            command.current_dir(folder);
        }
        // a search that another trial starts is not told that one's epochs
        for name in ["FORETELL_RESUME_FROM", "FORETELL_MAX_RESOURCE", "FORETELL_UNTIL"] {
            command.env_remove(name);
        }
        command.envs(self.environment_variables(token)?);
        Ok(command)
    }

    /// The arguments, placeholders filled in.
    pub(crate) fn filled_arguments(&self) -> Result<Vec<String>, StartError> {
        let command = self.command.iter().map(|text| self.with_paths(text)).collect::<Result<Vec<_>, _>>()?;
        Ok(fill_placeholders(&command, &self.placeholder_values(&command))?)
    }

    /// A reader of the trial's reports, which goes on after step `from`.
    pub(crate) fn report_reader(&self, from: u64) -> ReportReader {
        ReportReader::new(self.metric.clone(), from)
            .with_resource(self.max_resource)
            .with_one_time_values(&self.watch.once)
    }

    /// The file that the trial appends its metrics to.
    pub(crate) fn followed_path(&self) -> Result<Option<PathBuf>, StartError> {
        let Some(follow) = &self.watch.follow else {
            return Ok(self.watch.hook.reports_file(&self.directory));
        };
        let follow = self.with_paths(follow)?;
        let path = PathBuf::from(substitute_placeholders(
            &follow,
            &self.placeholder_values(std::slice::from_ref(&follow)),
        )?);
        Ok(Some(self.working_dir.as_ref().map_or_else(|| path.clone(), |folder| folder.join(&path))))
    }

    /// The parameters, and the seed and the epochs where `words` name them and no parameter has these names.
    fn placeholder_values(&self, words: &[String]) -> Map<String, Value> {
        let mut values = self.parameters.clone();
        let epochs = known_resource(self.max_resource).map(|epochs| (EPOCHS_PLACEHOLDER, epochs));
        for (name, number) in std::iter::once((SEED_PLACEHOLDER, self.seed)).chain(epochs) {
            let placeholder = format!("{{{name}}}");
            if words.iter().any(|word| word.contains(&placeholder)) && !values.contains_key(name) {
                values.insert(name.to_owned(), number.into());
            }
        }
        values
    }

    /// `text` with the trial's own paths in the place of their placeholders.
    fn with_paths(&self, text: &str) -> Result<String, StartError> {
        let mut filled = text.to_owned();
        for (name, path) in
            [(PARAMS_FILE, self.directory.join("params.json")), (TRIAL_DIR, self.directory.clone())]
        {
            let placeholder = format!("{{{name}}}");
            if filled.contains(&placeholder) {
                // the other placeholders are filled in later, and braces in the path must not be taken for theirs
                let path = absolute_path(&path)?.to_string_lossy().replace('{', "{{").replace('}', "}}");
                filled = filled.replace(&placeholder, &path);
            }
        }
        Ok(filled)
    }

    fn environment_variables(&self, token: &str) -> Result<Vec<(String, OsString)>, StartError> {
        let mut variables: Vec<(String, OsString)> = Vec::new();
        if std::env::var_os("PYTHONUNBUFFERED").is_none() {
            variables.push(("PYTHONUNBUFFERED".to_owned(), "1".into()));
        }
        variables.extend(TERMINAL_VARIABLES.map(|(name, value)| (name.to_owned(), value.into())));
        variables.extend(self.environment.iter().map(|(name, value)| (name.clone(), value.into())));
        let own_path = self.environment.get("PYTHONPATH").map(OsString::from);
        let python_path = own_path.or_else(|| std::env::var_os("PYTHONPATH"));
        let hook = self.watch.hook.environment_variables(&self.directory, python_path);
        let hook = hook.map_err(StartError::folder("find the full path of", &self.directory))?;
        variables.extend(hook.into_iter().map(|(name, value)| (name.to_owned(), value)));
        let steps = self.resume_from.as_ref().and_then(|_| self.watch.hook.steps_variable(&self.directory));
        variables.extend(steps.map(|(name, value)| (name.to_owned(), value)));
        let mut set = |name: &str, value: OsString| variables.push((name.to_owned(), value));
        set("FORETELL_TRIAL", self.trial.to_string().into());
        set("FORETELL_SEED", self.seed.to_string().into());
        // with folds a trial is planned for the epochs of all of them, and never pauses
        let until = self.until.min(self.max_resource);
        for (name, epochs) in [("FORETELL_MAX_RESOURCE", self.max_resource), ("FORETELL_UNTIL", until)] {
            if let Some(epochs) = known_resource(epochs) {
                set(name, epochs.to_string().into());
            }
        }
        if let Some(folds) = fold_count(self.until, self.max_resource) {
            set("FORETELL_FOLDS", folds.to_string().into());
        }
        set("FORETELL_PARAMS", absolute_path(&self.directory.join("params.json"))?);
        set("FORETELL_CHECKPOINT_DIR", absolute_path(&self.checkpoint_dir)?);
        if let Some(checkpoint) = &self.resume_from {
            set("FORETELL_RESUME_FROM", absolute_path(checkpoint)?);
        }
        set(parent::PARENT_VARIABLE, parent::name(ProcessIdentity::current()).into());
        set(TOKEN_VARIABLE, token.into());
        Ok(variables)
    }
}

/// The number of folds of a trial that is planned for `until` epochs, where each fold has `max_resource`; `None` if there is one.
pub(crate) fn fold_count(until: u64, max_resource: u64) -> Option<u64> {
    let (until, epochs) = (known_resource(until)?, known_resource(max_resource)?);
    (epochs > 0 && until > epochs && until.is_multiple_of(epochs)).then(|| until / epochs)
}

fn absolute_path(path: &Path) -> Result<OsString, StartError> {
    let absolute = std::path::absolute(path).map_err(StartError::folder("find the full path of", path))?;
    Ok(absolute.into_os_string())
}
