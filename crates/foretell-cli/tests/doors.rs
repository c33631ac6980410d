//! The same words make the same study, whether they are flags, keys of a study file or fields of a request.

mod common;

use common::{foretell, records, text};
use foretell_search::{Record, StudyRequest, StudySpec};
use serde_json::{Map, Value};
use std::path::Path;

/// A training that prints one report.
const COMMAND: [&str; 4] = ["sh", "-c", "echo val_acc=0.5", "{lr}"];

/// The choices of some studies; the first has none.
const WORDS: [&str; 8] = [
    "{}",
    r#"{"policy": "srm", "trials": 7, "burn_in": 2, "seed": 5, "score": "best", "offset": 0.01, "nth_best": 2}"#,
    r#"{"sampler": "tpe", "policy": "srm", "caution": "fast", "error_budget": "per-run", "exempt": 0.25}"#,
    r#"{"policy": "patience", "patience": 3, "enqueue": ["lr=0.5"]}"#,
    r#"{"scheduler": "asha", "eta": 2, "rank": "upper", "rungs": 1}"#,
    r#"{"budget_epochs": 40, "checkpoints": false}"#,
    r#"{"stopping": false, "sampler": "gp"}"#,
    r#"{"policy": "srm", "shadow": true, "refit": "once", "predictor": "gp", "stop_probability": 0.9, "agreeing_checks": 1}"#,
];

fn fields(words: &str) -> Map<String, Value> {
    let mut fields: Map<String, Value> = serde_json::from_str(words).expect("fields");
    fields.insert("epochs".to_owned(), 8.into());
    fields.insert("metric".to_owned(), "val_acc".into());
    fields
}

/// The study that a request of these fields is.
fn resolve_fields(mut fields: Map<String, Value>) -> StudySpec {
    fields.insert("space".to_owned(), serde_json::json!({"lr": "log:1e-4:1"}));
    StudyRequest::from_fields(&fields).and_then(|request| request.resolve(None)).expect("a study")
}

/// The same as flags.
fn flags(fields: &Map<String, Value>) -> Vec<String> {
    let flag = |(name, value): (&String, &Value)| {
        let name = name.replace('_', "-");
        match value {
            Value::Bool(true) => vec![format!("--{name}")],
            Value::Bool(false) => vec![format!("--no-{name}")],
            Value::Array(all) => all.iter().flat_map(|one| [format!("--{name}"), plain(one)]).collect(),
            one => vec![format!("--{name}"), plain(one)],
        }
    };
    fields.iter().flat_map(flag).collect()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The study that `foretell search` starts with these arguments, without its workload.
fn begun(folder: &Path, arguments: &[&str]) -> StudySpec {
    let always = ["search", "--out", "study", "--workers", "1", "--max-epochs", "1"];
    let output = foretell(folder, &[&always[..], arguments].concat()).output().expect("it runs");
    let first = records(folder).into_iter().next().unwrap_or_else(|| panic!("{}", text(&output.stderr)));
    match serde_json::from_value(first).expect("a record") {
        Record::Created { study } => StudySpec { workload: Default::default(), ..*study },
        other => panic!("a study begins with {other:?}"),
    }
}

#[test]
fn flags_make_the_study_that_a_request_of_the_same_words_makes() {
    for words in WORDS {
        let folder = tempfile::tempdir().expect("a folder");
        let (fields, start) = (fields(words), ["--param", "lr=log:1e-4:1"]);
        let flags = flags(&fields);
        let mut arguments: Vec<&str> = start.into_iter().chain(flags.iter().map(String::as_str)).collect();
        arguments.push("--");
        arguments.extend(COMMAND);
        assert_eq!(begun(folder.path(), &arguments), resolve_fields(fields), "{words}");
    }
}

#[test]
fn a_study_file_makes_the_study_that_a_request_of_the_same_words_makes() {
    for words in WORDS {
        let folder = tempfile::tempdir().expect("a folder");
        let fields = fields(words);
        // numbers, texts and lists are written alike in JSON and TOML
        let keys: String = fields.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
        let file = format!("{keys}command = {}\n[param]\nlr = \"log:1e-4:1\"\n", serde_json::json!(COMMAND));
        std::fs::write(folder.path().join("study.toml"), file).expect("it is written");
        assert_eq!(begun(folder.path(), &["study.toml"]), resolve_fields(fields), "{words}");
    }
}
