//! Kinds of training scripts, each from `foretell init` to a finished search without an edit of the script.

mod common;

use common::{foretell, json, records, text};
use std::path::Path;

/// Lets `init` write a study file for `command` in a folder with a copy of the scripts, then runs a small study of it.
fn from_init_to_a_result(command: &[&str], metric: &str, curve: usize) {
    let folder = tempfile::tempdir().unwrap();
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    for entry in std::fs::read_dir(scripts).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    let init = foretell(folder.path(), &[&["init", "--"], command].concat()).output().unwrap();
    assert_eq!(init.status.code(), Some(0), "{}", text(&init.stderr));
    let study = std::fs::read_to_string(folder.path().join("study.toml")).unwrap();
    assert!(study.contains(metric) && study.contains("# a second run with "), "{study}");
    let sizes =
        ["search", "study.toml", "--trials", "4", "--no-stopping", "--out", "study", "--format", "json"];
    let output = foretell(folder.path(), &sizes).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}\n{study}");
    let result = json(&output);
    assert_eq!(result["trials"]["completed"], 4, "{said}\n{study}");
    let shown = json(
        &foretell(folder.path(), &["study", "show", "study", "0", "--format", "json"]).output().unwrap(),
    );
    let values = shown["values"].as_array().unwrap();
    assert_eq!(values.len(), curve, "{values:?}\n{study}");
    let log = records(folder.path());
    let score = |trial: u64| {
        let own = log.iter().rfind(|record| record["event"] == "reported" && record["trial"] == trial);
        own.and_then(|record| record["value"].as_f64()).unwrap()
    };
    let scores: Vec<f64> = (0..4).map(score).collect();
    assert!(
        scores.iter().any(|score| (score - scores[0]).abs() > 1e-9),
        "the parameters reach the script: {scores:?}"
    );
}

#[test]
fn argparse() {
    from_init_to_a_result(&["python3", "argparse_script.py"], "metric = \"val_acc\"", 6);
}

#[test]
fn words_with_values_as_hydra_takes_them() {
    from_init_to_a_result(&["python3", "hydra.py", "optim.lr=0.01", "epochs=6"], "metric = \"val/acc\"", 6);
}

#[test]
fn a_configuration_file() {
    from_init_to_a_result(&["python3", "config_file.py", "--config", "config.json"], "metric = \"loss\"", 6);
}

#[test]
fn a_nested_configuration_file_in_yaml_or_toml() {
    let yaml = ["python3", "nested_config.py", "--config", "nested.yaml"];
    from_init_to_a_result(&yaml, "\"optim.lr\" = \"log:", 6);
    let toml = ["python3", "nested_config.py", "--config", "nested.toml"];
    from_init_to_a_result(&toml, "config = \"nested.toml\"", 6);
}

#[test]
fn rows_appended_to_a_file() {
    from_init_to_a_result(&["python3", "csv_appended.py"], "follow = \"history.csv\"", 6);
}

#[test]
fn silent_until_the_end() {
    from_init_to_a_result(&["python3", "silent.py"], "epochs = 1", 1);
}

#[test]
fn what_cannot_work_is_refused_with_what_to_write_instead() {
    let folder = tempfile::tempdir().unwrap();
    let said = |more: &[&str], script: &str| {
        let start =
            ["search", "--param", "lr=log:1e-4:1", "--trials", "3", "--burn-in", "3", "--workers", "1"];
        let command = ["--", "sh", "-c", script];
        let output = foretell(folder.path(), &[&start[..], more, &command].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    let epochs = "for e in 1 2 3 4 5 6; do echo \"epoch $e: loss 0.$e acc 0.7\"; sleep 0.01; done";
    let unplaced = said(&["--epochs", "6", "--metric", "acc"], epochs);
    assert!(unplaced.contains("lr had no effect") && unplaced.contains("--lr {lr}"), "{unplaced}");
    let read = format!("cat $FORETELL_PARAMS >/dev/null; {epochs}");
    let missed = said(&["--epochs", "6", "--metric", "accuracy"], &read);
    assert!(
        missed.contains("ended without a report")
            && missed.contains("acc 0.7, 0.7 … 0.7; loss 0.1, 0.2 … 0.6"),
        "{missed}"
    );
    std::fs::write(folder.path().join("a.yaml"), "optim:\n  rate: 0.1\n").unwrap();
    let config = said(&["--epochs", "6", "--metric", "acc", "--config", "a.yaml"], "cat {config}");
    assert!(config.contains("no single value `lr`") && config.contains("optim.rate"), "{config}");
    let unused = said(&["--epochs", "6", "--metric", "acc", "--config", "a.yaml"], "echo {lr}");
    assert!(unused.contains("use {config} as the file name in the command"), "{unused}");
    let number = said(&["--epochs", "6", "--maximize", "--metric", r"epoch (\d+)"], &read);
    assert!(
        number.contains("`epoch 1`, the number of the epoch") && number.contains("(?P<step>"),
        "{number}"
    );
}

#[test]
fn a_trial_that_hangs_is_ended_and_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let script = "echo acc {lr}; sleep 0.05; echo acc {lr}; if mkdir $FORETELL_CHECKPOINT_DIR/once; then sleep 60; fi; echo acc {lr}";
    let search = |more: &[&str]| {
        let start =
            ["search", "--param", "lr=log:1e-4:1", "--epochs", "3", "--metric", "acc", "--trials", "1"];
        let rest = ["--burn-in", "1", "--workers", "1", "--format", "json", "--", "sh", "-c", script];
        foretell(folder.path(), &[&start[..], more, &rest].concat()).output().unwrap()
    };
    let output = search(&["--out", "a", "--stall", "3", "--retries", "1"]);
    assert!(text(&output.stderr).contains("reported nothing for"), "{}", text(&output.stderr));
    assert_eq!(json(&output)["trials"]["completed"], 1);
    let output = search(&["--out", "b", "--trial-timeout", "1s"]);
    assert_eq!(output.status.code(), Some(1), "no trial succeeded: {}", text(&output.stderr));
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["trials"]["failed"], 1);
}

#[test]
fn the_schema_names_every_key_with_its_type() {
    let folder = tempfile::tempdir().unwrap();
    let schema = json(&foretell(folder.path(), &["schema"]).output().unwrap());
    let kind = |key: &str| schema["properties"][key]["type"].clone();
    assert_eq!(
        [kind("trials"), kind("offset"), kind("shadow"), kind("metric")],
        ["integer", "number", "boolean", "string"]
    );
    assert_eq!((kind("no-hook"), kind("hook")), ("boolean".into(), "boolean".into()));
    assert_eq!(schema["properties"]["param"]["type"], "object");
    assert_eq!(schema["additionalProperties"], false);
}
