//! Trials that cross-validate: their printed folds are read as folds of one trial.

mod common;

use common::{foretell, json, records, text};
use serde_json::Value;
use std::path::Path;

/// Trains three folds of four epochs; the quality of the trial is its parameter, from 1 to 9.
const TRIAL: &str = r#"
for fold in 1 2 3; do
    HEADING
    for epoch in 1 2 3 4; do echo "LINE"; sleep 0.02; done
done
"#;

/// A heading and a line, as scripts print them.
const STYLES: [(&str, &str); 4] = [
    ("echo \"Fold $fold/3\"", "Epoch $epoch val_acc 0.$1$epoch$fold"),
    (":", "Fold $fold/3 Epoch $epoch val_acc 0.$1$epoch$fold"),
    (":", "[fold $fold] epoch=$epoch val_acc=0.$1$epoch$fold"),
    (":", r#"{\"foretell\": {\"step\": $epoch, \"val_acc\": 0.$1$epoch$fold, \"fold\": $fold}}"#),
];

fn search(folder: &Path, style: (&str, &str), more: &[&str]) -> Value {
    let script = TRIAL.replace("HEADING", style.0).replace("LINE", style.1);
    std::fs::write(folder.join("trial.sh"), script).unwrap();
    let arguments = [
        "search",
        "--out",
        "study",
        "--format",
        "json",
        "--workers",
        "1",
        "--param",
        "q=int:1:9",
        "--metric",
    ];
    let rest = ["val_acc", "--epochs", "4", "--trials", "6"];
    let command = ["--", "sh", "trial.sh", "{q}"];
    let mut search = foretell(folder, &[&arguments[..], &rest, more, &command].concat());
    json(&search.output().unwrap())
}

#[test]
fn printed_folds_are_folds_of_one_trial() {
    for style in STYLES {
        let folder = tempfile::tempdir().unwrap();
        let answer = search(folder.path(), style, &["--folds", "3", "--no-stopping"]);
        assert_eq!(answer["trials"]["completed"], 6, "{style:?}: {answer}");
        assert_eq!(answer["epochs"]["spent"], 6 * 12, "{style:?}");
        let best = &answer["best"];
        let quality = best["configuration"]["q"].as_f64().unwrap();
        // the last values end in 41, 42 and 43
        let mean = quality / 10.0 + 0.042;
        assert!((best["score"].as_f64().unwrap() - mean).abs() < 1e-9, "{style:?}: {best}");
        let shown = text(&foretell(folder.path(), &["study", "best", "study"]).output().unwrap().stdout);
        assert!(shown.contains("mean of 3 folds, from 0."), "{style:?}: {shown}");
    }
}

#[test]
fn a_study_file_has_folds_and_stops_trials_within_them() {
    let folder = tempfile::tempdir().unwrap();
    let script = TRIAL.replace("HEADING", STYLES[0].0).replace("LINE", STYLES[0].1);
    std::fs::write(folder.path().join("trial.sh"), script).unwrap();
    let file = r#"
        metric = "val_acc"
        epochs = 4
        folds = 3
        trials = 20
        workers = 1
        sampler = "random"
        command = ["sh", "trial.sh", "{q}"]
        [param]
        q = "int:1:9:1"
    "#;
    std::fs::write(folder.path().join("study.toml"), file).unwrap();
    let answer = json(
        &foretell(folder.path(), &["search", "study.toml", "--out", "study", "--format", "json"])
            .output()
            .unwrap(),
    );
    let (spent, whole) = (&answer["epochs"]["spent"], &answer["epochs"]["without_stopping"]);
    let stopped = answer["trials"]["stopped"].as_u64().unwrap();
    assert!(stopped > 0 && spent.as_u64() < whole.as_u64(), "{answer}");
    let reports = records(folder.path()).into_iter().filter(|record| record["event"] == "reported");
    assert!(reports.clone().any(|record| record["step"] == 12), "the steps of all folds count on");
}

#[test]
fn without_the_setting_a_search_suggests_it_and_uses_the_mean() {
    let folder = tempfile::tempdir().unwrap();
    let script = TRIAL.replace("HEADING", STYLES[0].0).replace("LINE", STYLES[0].1);
    std::fs::write(folder.path().join("trial.sh"), script).unwrap();
    let arguments =
        ["search", "--out", "study", "--workers", "1", "--param", "q=int:1:9", "--metric", "val_acc"];
    let rest = ["--epochs", "4", "--trials", "2", "--", "sh", "trial.sh", "{q}"];
    let output = foretell(folder.path(), &[&arguments[..], &rest].concat()).output().unwrap();
    let said = text(&output.stderr);
    assert!(output.status.success() && said.contains("--folds 3 also stops trials"), "{said}");
}

#[test]
fn init_recognizes_folds_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let script = TRIAL.replace("HEADING", STYLES[0].0).replace("LINE", STYLES[0].1);
    std::fs::write(folder.path().join("trial.sh"), script).unwrap();
    let output = foretell(folder.path(), &["init", "--", "sh", "trial.sh", "--lr", "0.5"]).output().unwrap();
    let said = text(&output.stderr) + &text(&output.stdout);
    let file = std::fs::read_to_string(folder.path().join("study.toml")).unwrap();
    assert!(said.contains("in each of 3 folds"), "{said}");
    assert!(file.contains("\nfolds = 3\n") && file.contains("\nepochs = 4\n"), "{file}");
}

/// A script that logs each fold by a library, as Keras does once per `fit`.
const LOGGED: &str = r#"
import csv, sys
w = csv.DictWriter(sys.stderr, ["epoch", "val_acc"])
for fold in range(1, 4):
    for epoch in range(1, 5):
        w.writerow(dict(epoch=epoch, val_acc=int(sys.argv[1]) / 10 + epoch / 100 + fold / 1000))
"#;

#[test]
fn folds_that_a_library_logs_are_read_with_their_source() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("train.py"), LOGGED).unwrap();
    let arguments =
        ["search", "--out", "study", "--format", "json", "--workers", "1", "--param", "q=int:1:9"];
    let rest = ["--metric", "val_acc", "--source", "csv", "--epochs", "4", "--trials", "2", "--folds", "3"];
    let command = ["--", "python3", "train.py", "{q}"];
    let answer =
        json(&foretell(folder.path(), &[&arguments[..], &rest, &command].concat()).output().unwrap());
    let best = &answer["best"];
    let mean = best["configuration"]["q"].as_f64().unwrap() / 10.0 + 0.042;
    assert!((best["score"].as_f64().unwrap() - mean).abs() < 1e-9, "{answer}");
    assert_eq!(answer["epochs"]["spent"], 24);
}
