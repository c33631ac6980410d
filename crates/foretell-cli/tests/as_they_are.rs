//! Scripts in eight usual styles, each from `foretell init` to a finished search without an edit, compared with the truth that they write themselves.

mod common;

use common::{foretell, json, records, text};
use serde_json::{Map, Value};
use std::path::Path;

/// Trials of a search.
const TRIALS: usize = 8;

/// A script, and the facts to find in it.
struct Style {
    command: &'static [&'static str],
    /// The parameters that are proposed, each with its range.
    parameters: &'static [(&'static str, &'static str)],
    /// A part of the line that names the metric.
    metric: &'static str,
}

/// Copies the scripts into a folder and lets `init` write a study file for `style`.
fn write_study_file(style: &Style) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/styles");
    for entry in std::fs::read_dir(scripts).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
        }
    }
    let init = foretell(folder.path(), &[&["init", "--yes", "--"], style.command].concat()).output().unwrap();
    assert_eq!(init.status.code(), Some(0), "{}", text(&init.stderr));
    let study = std::fs::read_to_string(folder.path().join("study.toml")).unwrap();
    (folder, study)
}

/// The truth that each trial wrote: its settings, its epochs, and those of a whole training.
fn truth(folder: &Path) -> Vec<Value> {
    let read = |trial: usize| {
        let text = std::fs::read_to_string(folder.join("truth").join(format!("{trial}.json")));
        serde_json::from_str(&text.expect("each trial writes its truth")).unwrap()
    };
    (0..TRIALS).map(read).collect()
}

fn whole(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value} is no whole number"))
}

/// From `init` to a completed search: the values proposed, passed, trained and saved are true, within an epoch per trial.
fn is_understood(style: &Style) {
    let (folder, study) = write_study_file(style);
    let path = folder.path();
    for (name, kind) in style.parameters {
        let line = [format!("{name} = \"{kind}\""), format!("\"{name}\" = \"{kind}\"")];
        assert!(study.lines().any(|own| line.iter().any(|line| line == own)), "{name}={kind}\n{study}");
    }
    let proposed = study
        .lines()
        .skip_while(|line| *line != "[param]")
        .skip(1)
        .take_while(|line| !line.starts_with('#') && !line.is_empty());
    assert_eq!(proposed.count(), style.parameters.len(), "{study}");
    assert!(
        study.lines().any(|line| line.starts_with("metric = ") && line.contains(style.metric)),
        "{study}"
    );
    std::fs::create_dir(path.join("truth")).unwrap();
    let trials = TRIALS.to_string();
    let search =
        ["search", "study.toml", "--trials", &trials, "--workers", "2", "--out", "study", "--format", "json"];
    let output = foretell(path, &search).env("TRUTH", path.join("truth")).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}\n{study}");
    let result = json(&output);
    assert_eq!(
        (whole(&result["trials"]["total"]), whole(&result["trials"]["failed"])),
        (TRIALS as i64, 0),
        "{said}\n{study}"
    );
    let truth = truth(path);
    check_configurations(path, &truth);
    let sum = |name: &str| truth.iter().map(|trial| whole(&trial[name])).sum::<i64>();
    for (claimed, name) in [("spent", "epochs"), ("without_stopping", "whole")] {
        let (claimed, own) = (whole(&result["epochs"][claimed]), sum(name));
        assert!(
            (claimed - own).abs() <= TRIALS as i64 * between_reports(path, &truth),
            "{name}: {claimed} claimed, {own} true\n{said}\n{study}"
        );
    }
}

/// The epochs between two reports of the first trial: a trial is stopped when it has reported, and has trained on by then. A trial with one
/// report, such as the mean over folds, counts as one epoch, whatever it trains.
fn between_reports(folder: &Path, truth: &[Value]) -> i64 {
    let first = |record: &&Value| record["event"] == "reported" && record["trial"] == 0;
    let steps: Vec<i64> = records(folder).iter().filter(first).map(|record| whole(&record["step"])).collect();
    match steps[..] {
        [first, second, ..] => second - first,
        _ => whole(&truth[0]["epochs"]),
    }
}

/// Each trial was given the values of its configuration, and those of the first are the script's own.
fn check_configurations(folder: &Path, truth: &[Value]) {
    let started: Vec<Map<String, Value>> = records(folder)
        .iter()
        .filter(|record| record["event"] == "started" && record["from"] == 0)
        .map(|record| record["configuration"].as_object().unwrap().clone())
        .collect();
    let mut seeds = Vec::new();
    for (configuration, trial) in started.iter().zip(truth) {
        for (name, value) in configuration {
            let last = name.rsplit('.').next().unwrap();
            let Some(given) = trial["settings"].get(last) else { continue };
            let same = match (value.as_f64(), given.as_f64()) {
                (Some(value), Some(given)) => (value - given).abs() <= 1e-12 * value.abs(),
                _ => value
                    .as_str()
                    .is_some_and(|text| text.replace(' ', "") == given.to_string().trim_matches('"')),
            };
            assert!(same, "{name}: {value} in the log, {given} in the script");
        }
        seeds.extend(trial["settings"].get("seed").cloned());
    }
    seeds.sort_by_key(Value::to_string);
    seeds.dedup();
    assert!(seeds.is_empty() || seeds.len() == TRIALS, "each trial has a seed of its own: {seeds:?}");
}

#[test]
fn a_digit_classifier_with_argparse() {
    is_understood(&Style {
        command: &["python3", "mnist.py"],
        parameters: &[
            ("lr", "log:0.033:3"),
            ("batch_size", "choice:16,32,64,128"),
            ("gamma", "float:0.23:0.99"),
        ],
        metric: "",
    });
}

#[test]
fn an_example_of_transformers_with_132_options() {
    is_understood(&Style {
        command: &["python3", "hugging_face.py", "--output_dir", "out", "--num_train_epochs", "6"],
        parameters: &[
            ("learning_rate", "log:0.0000017:0.0015"),
            ("weight_decay", "log:0.000001:0.1"),
            ("per_device_train_batch_size", "choice:2,4,8,16"),
            ("optim", "choice:adamw_torch,sgd,rmsprop,adafactor"),
            ("lr_scheduler_type", "choice:linear,cosine,constant,constant_with_warmup"),
            ("label_smoothing_factor", "float:0:0.2"),
            ("max_grad_norm", "log:0.1:10"),
            ("adam_beta1", "float:0.8:0.99"),
        ],
        metric: "eval_",
    });
}

#[test]
fn a_command_line_of_lightning() {
    is_understood(&Style {
        command: &["python3", "lightning_cli.py", "fit", "--trainer.max_epochs", "6"],
        parameters: &[
            ("model.lr", "log:0.00067:0.6"),
            ("model.weight_decay", "log:0.000001:0.1"),
            ("data.batch_size", "choice:8,16,32,64"),
            ("model.dropout", "float:0:0.5"),
            ("model.optimizer", "choice:adam,sgd"),
            ("model.hidden", "choice:[32,32],[64,64],[128,128]"),
            ("model.momentum", "float:0.5:0.99"),
        ],
        metric: "val_acc",
    });
}

#[test]
fn image_models_with_many_options() {
    is_understood(&Style {
        command: &["python3", "image_models.py"],
        parameters: &[
            ("lr", "log:0.0017:1"),
            ("weight_decay", "log:0.0000002:0.002"),
            ("batch_size", "choice:32,64,128,256"),
            ("drop", "float:0:0.5"),
            ("momentum", "float:0.5:0.99"),
            ("warmup_epochs", "int:0:4"),
            ("smoothing", "float:0:0.2"),
            ("mixup", "float:0:1"),
        ],
        metric: "Acc@1",
    });
}

#[test]
fn a_language_model_with_global_variables() {
    is_understood(&Style {
        command: &["python3", "language_model.py"],
        parameters: &[
            ("learning_rate", "log:0.000033:0.03"),
            ("weight_decay", "log:0.001:1"),
            ("batch_size", "choice:3,6,12,24"),
            ("dropout", "float:0:0.5"),
            ("n_layer", "int:2:8"),
            ("n_embd", "choice:64,128,256"),
            ("n_head", "choice:2,4,8"),
            ("grad_clip", "log:0.1:10"),
        ],
        metric: "val loss",
    });
}

#[test]
fn a_configuration_composed_by_hydra() {
    is_understood(&Style {
        command: &["python3", "composed.py", "epochs=6"],
        parameters: &[
            ("optim.lr", "log:0.000033:0.03"),
            ("optim.weight_decay", "log:0.000001:0.1"),
            ("data.batch_size", "choice:8,16,32,64"),
            ("model.dropout", "float:0:0.5"),
            ("model.num_layers", "int:1:4"),
            ("model.hidden_size", "logint:32:512"),
        ],
        metric: "",
    });
}

#[test]
fn boosting_that_stops_early_by_itself() {
    is_understood(&Style {
        command: &["python3", "boosting.py"],
        parameters: &[
            ("learning_rate", "log:0.0033:1"),
            ("num_leaves", "logint:8:124"),
            ("feature_fraction", "float:0.5:1"),
            ("min_child_samples", "logint:5:80"),
            ("lambda_l2", "log:0.001:10"),
        ],
        metric: "valid_1",
    });
}

#[test]
fn cross_validation_with_a_line_per_fold() {
    is_understood(&Style {
        command: &["python3", "cross_validation.py"],
        parameters: &[("lr", "log:0.0033:1"), ("hidden", "choice:[16,16],[32,32],[64,64]")],
        metric: "accuracy",
    });
}
