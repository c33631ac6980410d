//! The hook: a `sitecustomize` in front of `PYTHONPATH` that records which options a Python script defines and which values it passes to
//! its libraries. It only observes, and writes only into the trial's folder.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use foretell_search::{LAST_SECRET_WORDS, SECRET_WORDS};
use serde::{Deserialize, Deserializer};

use crate::log::atomic_write::write_atomically;
use crate::regular;

/// The folder of the hook, next to the folders of trials.
const HOOK_FOLDER: &str = "hook";
/// The file with the records of the hook, in a trial's folder.
const RECORDS_FILE: &str = "values.jsonl";
/// The variable that turns the hook off if it is 0. In a trial, it names the file of records.
const HOOK_VARIABLE: &str = "FORETELL_HOOK";
/// The most steps whose places are passed on: a training repeats at most those since its last checkpoint.
const MAX_STEPS: usize = 2_000;
/// Variables that name the rank of a process in distributed training.
const RANK_VARIABLES: [&str; 6] =
    ["RANK", "LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"];

const HOOK_FILES: [(&str, &str); 9] = [
    ("sitecustomize.py", include_str!("sitecustomize.py")),
    ("_foretell_hook/__init__.py", include_str!("_foretell_hook/__init__.py")),
    ("_foretell_hook/importlib_bootstrap.py", include_str!("_foretell_hook/importlib_bootstrap.py")),
    ("_foretell_hook/options.py", include_str!("_foretell_hook/options.py")),
    ("_foretell_hook/parsers.py", include_str!("_foretell_hook/parsers.py")),
    ("_foretell_hook/series.py", include_str!("_foretell_hook/series.py")),
    ("_foretell_hook/values.py", include_str!("_foretell_hook/values.py")),
    ("_foretell_hook/files.py", include_str!("_foretell_hook/files.py")),
    ("_foretell_hook/lines.py", include_str!("_foretell_hook/lines.py")),
];

/// The values of a trial's libraries that the hook records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HookScope {
    /// None: the hook is not loaded.
    #[default]
    Off,
    /// Everything, for `foretell init`.
    Everything,
    /// The values of one series, which are the reports of the trial: `keras:val_acc`.
    Series(String),
}

impl HookScope {
    /// The series `metric` of `source`; off for printed lines.
    pub fn for_source(source: Option<&str>, metric: &str) -> Self {
        match source {
            None | Some(PRINTED_SOURCE) => Self::Off,
            Some(source) => Self::Series(format!("{source}:{metric}")),
        }
    }

    /// The libraries whose values it knows, as in its table.
    pub fn sources() -> Vec<&'static str> {
        let rows = HOOK_FILES[1].1.lines().filter_map(|line| line.trim().strip_suffix("\"),"));
        let mut names: Vec<&str> =
            rows.filter_map(|row| Some(row.split_once("(\"values\", \"")?.1)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Whether the user allows it: `FORETELL_HOOK=0` turns it off.
    pub fn is_allowed() -> bool {
        std::env::var_os(HOOK_VARIABLE).is_none_or(|value| value != "0")
    }

    /// The file that the reports of the trial in `directory` are read from, instead of its output.
    pub(crate) fn reports_file(&self, directory: &Path) -> Option<PathBuf> {
        matches!(self, Self::Series(_)).then(|| directory.join(RECORDS_FILE))
    }

    /// Writes its files next to the trial's `directory`, if they are not there.
    pub(crate) fn install_files(&self, directory: &Path) -> io::Result<()> {
        if *self == Self::Off {
            return Ok(());
        }
        let folder = hook_folder(directory);
        DirBuilder::new().recursive(true).mode(0o700).create(folder.join("_foretell_hook"))?;
        for (name, text) in HOOK_FILES {
            let path = folder.join(name);
            if fs::read(&path).ok().as_deref() != Some(text.as_bytes()) {
                write_atomically(&path, text.as_bytes())?;
            }
        }
        Ok(())
    }

    /// The variable by which a training that continues numbers its values: the steps and places of those in `directory`, if the chosen
    /// series is read there.
    pub(crate) fn steps_variable(&self, directory: &Path) -> Option<(&'static str, OsString)> {
        let path = self.reports_file(directory)?;
        let text = read_records_file(&path);
        let lines = text.split(|&byte| byte == b'\n');
        let reports: Vec<PlacedStep> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
        let last = &reports[reports.len().saturating_sub(MAX_STEPS)..];
        let pairs = last.iter().map(|report| {
            format!(
                "{}={}",
                report.foretell.step,
                report.place.map_or_else(String::new, |place| place.to_string())
            )
        });
        Some(("FORETELL_HOOK_STEPS", pairs.collect::<Vec<_>>().join(",").into()))
    }

    /// The variables that load it into the Python processes of the trial in `directory`, in front of the `python_path` that they have.
    pub(crate) fn environment_variables(
        &self,
        directory: &Path,
        python_path: Option<OsString>,
    ) -> io::Result<Vec<(&'static str, OsString)>> {
        let series = match self {
            Self::Off => return Ok(Vec::new()),
            Self::Everything => None,
            Self::Series(series) => Some(series),
        };
        let mut path = std::path::absolute(hook_folder(directory))?.into_os_string();
        if let Some(more) = python_path.filter(|path| !path.is_empty()) {
            path.push(":");
            path.push(more);
        }
        // all trials of a search that is itself a task of a job would have that task's rank
        let inherited = RANK_VARIABLES.into_iter().filter(|name| std::env::var_os(name).is_some());
        let mut variables = vec![
            ("PYTHONPATH", path),
            (HOOK_VARIABLE, std::path::absolute(directory.join(RECORDS_FILE))?.into_os_string()),
            ("FORETELL_HOOK_IGNORE", inherited.collect::<Vec<_>>().join(",").into()),
        ];
        match series {
            Some(series) => variables.push(("FORETELL_HOOK_SERIES", series.into())),
            None => variables.push((
                "FORETELL_HOOK_SECRETS",
                format!("{};{}", SECRET_WORDS.join(","), LAST_SECRET_WORDS.join(",")).into(),
            )),
        }
        Ok(variables)
    }
}

/// The content of the file of records at `path`; nothing if it is no file.
fn read_records_file(path: &Path) -> Vec<u8> {
    let mut content = Vec::new();
    // what was read before an error is of use, too
    let _ = regular::open(path).and_then(|mut file| file.read_to_end(&mut content));
    content
}

/// The step of a report, and where its library had it.
#[derive(Deserialize)]
struct PlacedStep {
    foretell: StepNumber,
    place: Option<f64>,
}

#[derive(Deserialize)]
struct StepNumber {
    step: u64,
}

/// The name of the source that needs no hook.
pub const PRINTED_SOURCE: &str = "printed";

fn hook_folder(directory: &Path) -> PathBuf {
    directory.parent().unwrap_or(directory).join(HOOK_FOLDER)
}

/// One record of the hook.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum HookRecord {
    /// A Python process started with the hook.
    Start {
        /// The version.
        python: String,
    },
    /// The options of a parser that was used.
    Options(HookOptions),
    /// The length of a training, as its library was asked for it.
    Length {
        /// The library.
        source: String,
        /// `epoch` or `step`.
        unit: String,
        /// The number of them.
        of: f64,
    },
    /// The series by which the script itself selects a checkpoint or stops.
    Monitor {
        /// The library.
        source: String,
        /// The series.
        series: String,
        /// `min` or `max`, if the script says so.
        better: Option<String>,
    },
    /// A value that the script passed to a library.
    Value(HookValue),
    /// A table or log that the script opened for writing.
    File {
        /// The full path.
        path: PathBuf,
    },
    /// A printed line.
    Line(HookLine),
    /// A part of the hook that does not fit the version of a library.
    Trouble {
        /// The part.
        r#where: String,
        /// The exception.
        error: String,
    },
}

/// The options of a parser.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct HookOptions {
    /// The library that parses.
    pub source: String,
    /// The full path of the script.
    pub script: PathBuf,
    /// The sub-commands in use, outermost first.
    pub used: Vec<String>,
    /// The message with which the parser refused the command.
    pub error: Option<String>,
    /// The options, without those that are named like secrets.
    #[serde(deserialize_with = "options_from_columns")]
    pub options: Vec<ScriptOption>,
}

/// The options, which the hook writes as one list per field. Without values in use, they are the defaults.
fn options_from_columns<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ScriptOption>, D::Error> {
    let mut columns = BTreeMap::<String, Vec<serde_json::Value>>::deserialize(deserializer)?;
    if let (Some(defaults), false) = (columns.get("default").cloned(), columns.contains_key("value")) {
        columns.insert("value".to_owned(), defaults);
    }
    let count = columns.values().map(Vec::len).max().unwrap_or(0);
    let rows = (0..count).map(|index| {
        let fields = columns.iter().filter_map(|(name, column)| {
            let value = column.get(index).filter(|value| !value.is_null())?;
            Some((name.clone(), value.clone()))
        });
        serde_json::from_value(serde_json::Value::Object(fields.collect()))
    });
    rows.collect::<Result<_, _>>().map_err(serde::de::Error::custom)
}

/// An option of a script.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ScriptOption {
    /// How it is written; empty for a positional argument.
    pub flags: Vec<String>,
    /// How it is turned off, if it is a pair such as `--amp/--no-amp`.
    pub off: Vec<String>,
    /// The name of its value.
    pub dest: String,
    /// The name of its type.
    pub r#type: Option<String>,
    /// The default.
    pub default: serde_json::Value,
    /// The value in use.
    pub value: serde_json::Value,
    /// The choices.
    pub choices: Option<Vec<serde_json::Value>>,
    /// The smallest and the largest value.
    pub range: Option<(Option<f64>, Option<f64>)>,
    /// The number of values, as argparse writes it.
    pub nargs: serde_json::Value,
    /// `store`, `storetrue`, `flag`, `assign`, …
    pub action: String,
    /// Whether it must be given.
    pub required: bool,
    /// The sub-commands that it belongs to, outermost first.
    pub level: Vec<String>,
    /// Whether the script defines it, and not a library for all scripts.
    pub own: Option<bool>,
}

/// A value that a script passed to a library.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct HookValue {
    /// The process.
    pub pid: u64,
    /// The library.
    pub source: String,
    /// The series.
    pub series: String,
    /// The value; `None` if it is not finite.
    pub value: Option<f64>,
    /// The step.
    pub step: Option<f64>,
    /// The epoch, from 1.
    pub epoch: Option<f64>,
    /// `train`, `val` or `test`.
    pub stage: Option<String>,
    /// `min` or `max`, if the library knows.
    pub better: Option<String>,
    /// The length of the bar that shows it.
    pub of: Option<f64>,
    /// The number of the training in its process, from 1.
    pub training: u64,
    /// Whether it was evaluated after the training.
    pub after: bool,
    /// Whether it is only known at the end.
    pub late: bool,
}

/// A printed line, and the loops around the statement that printed it, outermost first.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct HookLine {
    /// The text.
    pub text: String,
    /// The file and line of the statement.
    pub site: Option<String>,
    /// Whether the line may hold more than the text, such as the time in front of a logged message.
    #[serde(default)]
    pub part: bool,
    /// The loops.
    pub loops: Vec<HookLoop>,
}

/// A loop around a statement.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct HookLoop {
    /// The name of its counter.
    pub text: String,
    /// The counter.
    pub now: Option<i64>,
    /// How often it will run.
    pub of: Option<u64>,
}

impl HookRecord {
    /// The records that the hook wrote for the trial in `directory`. Lines that are cut short are skipped.
    pub fn read_all(directory: &Path) -> Vec<Self> {
        let bytes = read_records_file(&directory.join(RECORDS_FILE));
        bytes.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{HookRecord, HookScope, hook_folder};

    #[test]
    fn its_files_are_written_for_all_trials_and_restored_if_they_were_changed() {
        let study = tempfile::tempdir().expect("a folder");
        let trial = study.path().join("trials/0000");
        HookScope::Off.install_files(&trial).expect("nothing to write");
        assert!(!hook_folder(&trial).exists());
        let hook = HookScope::for_source(Some("keras"), "val_acc");
        hook.install_files(&trial).expect("it is written");
        let path = hook_folder(&trial).join("sitecustomize.py");
        std::fs::write(&path, "changed").expect("it is written");
        hook.install_files(&trial).expect("it is written again");
        assert!(std::fs::read_to_string(path).expect("it is there").contains("FORETELL_HOOK"));
        let variables = hook.environment_variables(&trial, Some("mine".into())).expect("variables");
        let value = |name: &str| {
            let found = variables.iter().find(|(own, _)| *own == name);
            found.map(|(_, value)| value.to_string_lossy().into_owned()).unwrap_or_default()
        };
        assert!(value("PYTHONPATH").ends_with("trials/hook:mine"), "{variables:?}");
        assert_eq!(value("FORETELL_HOOK_SERIES"), "keras:val_acc");
        let everything = HookScope::Everything.environment_variables(&trial, None).expect("variables");
        assert!(everything.iter().any(
            |(name, words)| *name == "FORETELL_HOOK_SECRETS" && words.to_string_lossy().contains("token")
        ));
        assert_eq!(HookScope::for_source(Some("printed"), "val_acc"), HookScope::Off);
        assert!(HookScope::sources().contains(&"keras") && !HookScope::sources().contains(&"argparse"));
    }

    #[test]
    fn options_come_as_one_list_per_field_and_without_values_they_are_the_defaults() {
        let read = |columns: &str| {
            let line = format!(
                "{{\"kind\": \"options\", \"source\": \"argparse\", \"script\": \"/t.py\", \"used\": [], \"error\": null, \"options\": {columns}}}"
            );
            match serde_json::from_str(&line).expect("a record") {
                HookRecord::Options(options) => options.options,
                other => panic!("{other:?}"),
            }
        };
        let both =
            "\"flags\": [[\"--lr\"], [\"--data\"]], \"dest\": [\"lr\", \"data\"], \"default\": [0.1, null]";
        let options = read(&format!("{{{both}}}"));
        assert_eq!(
            (options.len(), &options[0].value, &options[0].flags[..]),
            (2, &0.1.into(), &["--lr".to_owned()][..])
        );
        assert!(options[1].default.is_null() && options[1].value.is_null() && options[1].own.is_none());
        let options = read(&format!("{{{both}, \"value\": [null, \"d\"], \"own\": [true, false]}}"));
        assert!(options[0].value.is_null() && options[1].value == "d" && options[0].own == Some(true));
        assert!(read("{}").is_empty());
    }

    #[test]
    fn records_are_read_and_cut_ones_skipped() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = "{\"kind\": \"start\", \"pid\": 1, \"python\": \"3.11.7\"}\n{\"kind\": \"value\", \"pid\": 1, \"source\": \"keras\", \"series\": \"loss\", \"value\": null, \"training\": 1, \"epoch\": 1.0}\n{\"kind\": \"val";
        std::fs::write(folder.path().join(super::RECORDS_FILE), text).expect("it is written");
        let records = HookRecord::read_all(folder.path());
        assert!(
            matches!(&records[..], [HookRecord::Start { .. }, HookRecord::Value(value)] if value.value.is_none() && value.epoch == Some(1.0)),
            "{records:?}"
        );
    }
}
