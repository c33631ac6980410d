//! The scripts in examples/, as their own comments say to run them.

mod common;

use common::{foretell, json, records, text};
use std::path::Path;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scripts");
    for name in ["train.py", "fit.sh"] {
        std::fs::copy(scripts.join(name), folder.path().join(name)).unwrap();
    }
    folder
}

#[test]
fn an_untouched_script_from_init_to_its_first_stopped_trial() {
    let folder = folder();
    let init = foretell(folder.path(), &["init", "--", "python3", "train.py"]).output().unwrap();
    assert!(init.status.success(), "{}", text(&init.stderr));
    let file = std::fs::read_to_string(folder.path().join("study.toml")).unwrap();
    assert!(file.contains("[[trial]]\nlr = 0.3\nhidden = 8\n"), "the script's own values come first: {file}");
    let flags =
        ["search", "study.toml", "--policy", "srm", "--burn-in", "8", "--out", "study", "--format", "json"];
    let result = json(&foretell(folder.path(), &flags).output().unwrap());
    assert!(result["best"]["score"].as_f64().unwrap() > 0.7, "{result}");
    assert!(result["trials"]["stopped"].as_u64().unwrap() > 0, "{result}");
    assert!(records(folder.path()).iter().any(|record| record["metrics"]["train_acc"].is_number()));
    let shown = foretell(folder.path(), &["study", "show", "study"]).output().unwrap();
    let shown = text(&shown.stdout);
    assert!(shown.contains("yours") && shown.contains("(trial 0)"), "{shown}");
    let again = ["study", "run", "study", "--seeds", "3", "--format", "json"];
    let again = json(&foretell(folder.path(), &again).output().unwrap());
    assert_eq!(again["scores"].as_array().map(Vec::len), Some(3), "{again}");
}

#[test]
fn a_script_with_checkpoints_trains_no_epoch_twice() {
    let folder = folder();
    let flags =
        ["search", "--param", "lr=log:0.01:3", "--metric", "val_acc", "--epochs", "9", "--trials", "9"];
    let rest = ["--scheduler", "asha", "--out", "study", "--format", "json", "--"];
    let command = ["python3", "train.py", "--checkpoints", "--lr", "{lr}"];
    let result = json(&foretell(folder.path(), &[&flags[..], &rest, &command].concat()).output().unwrap());
    assert!(result["trials"]["completed"].as_u64().unwrap() > 0, "{result}");
    let log = records(folder.path());
    let reports = log.iter().filter(|record| record["event"] == "reported").count() as u64;
    assert_eq!(result["epochs"]["spent"].as_u64(), Some(reports));
    for trial in 0..9 {
        let path = folder.path().join(format!("study/trials/{trial:04}/output.log"));
        let printed = std::fs::read_to_string(path).unwrap();
        assert_eq!(printed.matches("epoch 1:").count(), 1, "{printed}");
    }
}

#[test]
fn a_shell_script_minimizes_its_error() {
    let folder = folder();
    let flags =
        ["search", "--param", "lr=log:0.001:1", "--metric", "error", "--epochs", "30", "--trials", "12"];
    let rest = [
        "--policy",
        "srm",
        "--burn-in",
        "12",
        "--out",
        "study",
        "--format",
        "json",
        "--",
        "sh",
        "fit.sh",
        "{lr}",
    ];
    let result = json(&foretell(folder.path(), &[&flags[..], &rest].concat()).output().unwrap());
    assert_eq!(result["direction"], "minimize");
    assert!(result["best"]["score"].as_f64().unwrap() < 0.5, "{result}");
}
