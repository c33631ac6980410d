//! Scripts of strangers, untouched: Foretell's output is compared with the epochs that they count in files of their own.

mod common;

#[path = "../../../tests/needed.rs"]
mod needed;

use common::{foretell, json, records, text};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Epochs of a whole training.
const WHOLE: u64 = 8;

/// The results of a search over a script.
struct Searched {
    result: Value,
    said: String,
    /// The values that each trial has counted itself, and the trial as Foretell shows it.
    trials: Vec<(Vec<f64>, Value)>,
}

/// Searches six rates with `command` in a folder with the scripts: three good ones, then three that cannot win.
fn search(folder: &Path, metric: &str, command: &[&str]) -> Searched {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/strangers");
    for entry in std::fs::read_dir(scripts).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
    }
    let rates = ["0.01", "0.02", "0.005", "0.9", "0.0001", "0.8"];
    let queue: Vec<String> = rates.iter().map(|rate| format!("--enqueue=lr={rate}")).collect();
    // the first three train to their end
    let rule = ["--policy", "srm", "--burn-in", "3"];
    let sizes = ["search", "--param", "lr=log:1e-5:1", "--trials", "6", "--epochs", "8"];
    let how = ["--workers", "2", "--metric", metric, "--out", "study", "--format", "json"];
    let queue: Vec<&str> = queue.iter().map(String::as_str).collect();
    let output =
        foretell(folder, &[&sizes[..], &rule, &how, &queue, &["--"], command].concat()).output().unwrap();
    let said = text(&output.stderr);
    let result = json(&output);
    let trials = (0..rates.len()).map(|trial| {
        let counted = std::fs::read_to_string(folder.join(format!("counted-{trial}"))).unwrap();
        let number = trial.to_string();
        let show = ["study", "show", "study", &number, "--format", "json"];
        (
            counted.lines().map(|line| line.parse().unwrap()).collect(),
            json(&foretell(folder, &show).output().unwrap()),
        )
    });
    let trials = trials.collect();
    Searched { result, said, trials }
}

impl Searched {
    /// Values, epochs and savings are those that the scripts have counted.
    fn is_true(&self, value: impl Fn(f64) -> f64) {
        let (mut spent, mut saved) = (0, 0);
        for (number, (counted, shown)) in self.trials.iter().enumerate() {
            let values: Vec<f64> =
                shown["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
            // the epoch in which a script fails or is stopped is counted by it, and not always reported
            let cut = shown["state"] != "completed" && counted.len() == values.len() + 1;
            let reported = &counted[..counted.len() - usize::from(cut)];
            let expected: Vec<f64> = reported.iter().map(|&counted| value(counted)).collect();
            let close = values.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-9);
            assert!(
                close && values.len() == expected.len(),
                "trial {number}: {values:?}, not {expected:?}\n{}",
                self.said
            );
            spent += reported.len() as u64;
            match shown["state"].as_str().unwrap() {
                "stopped" => saved += WHOLE - reported.len() as u64,
                "completed" => assert_eq!(counted.len() as u64, WHOLE, "trial {number}\n{}", self.said),
                other => assert_eq!(other, "failed", "trial {number}"),
            }
        }
        let epochs = &self.result["epochs"];
        assert_eq!(epochs["spent"], spent, "{}", self.said);
        assert_eq!(epochs["without_stopping"], spent + saved, "{}", self.said);
    }

    fn stopped(&self) -> u64 {
        self.result["trials"]["stopped"].as_u64().unwrap()
    }

    /// The same, and trials that could not win were stopped.
    fn is_true_and_stopped(&self) {
        self.is_true(|counted| counted);
        assert!(self.stopped() >= 1, "{}", self.said);
    }
}

/// The program in C, or a word on why it is left out.
fn compile_program(folder: &Path) -> bool {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/strangers/train.c");
    let built = Command::new("cc").arg("-o").arg(folder.join("train")).arg(source).arg("-lm").status();
    let is_built = built.is_ok_and(|status| status.success());
    if !is_built {
        needed::skipped("there is no cc", true);
    }
    is_built
}

#[test]
fn settings_as_argparse_prints_them_are_no_epoch() {
    let folder = tempfile::tempdir().unwrap();
    search(folder.path(), "val_acc", &["python3", "namespace.py", "--lr", "{lr}"]).is_true_and_stopped();
}

#[test]
fn the_trainer_of_transformers() {
    let folder = tempfile::tempdir().unwrap();
    let searched = search(folder.path(), "eval_loss", &["python3", "trainer.py", "--learning_rate", "{lr}"]);
    searched.is_true(|counted| ((1.0 - counted) * 1e4).round() / 1e4);
    assert!(searched.stopped() >= 1, "{}", searched.said);
}

#[test]
fn a_program_in_c_that_flushes_and_one_that_does_not() {
    let folder = tempfile::tempdir().unwrap();
    if compile_program(folder.path()) {
        search(folder.path(), "val_acc", &["./train", "{lr}", "flush"]).is_true_and_stopped();
        let other = tempfile::tempdir().unwrap();
        std::fs::copy(folder.path().join("train"), other.path().join("train")).unwrap();
        search(other.path(), "val_acc", &["./train", "{lr}"]).is_true_and_stopped();
    }
}

#[test]
fn what_is_written_at_the_end_is_trained_and_not_saved() {
    let folder = tempfile::tempdir().unwrap();
    if compile_program(folder.path()) {
        // in a pipe inside the command the C library holds the lines back
        let searched = search(folder.path(), "val_acc", &["sh", "-c", "./train {lr} | cat"]);
        searched.is_true(|counted| counted);
        assert_eq!((searched.stopped(), &searched.result["epochs"]["spent"]), (0, &Value::from(48)));
        assert!(searched.said.contains("wrote all its 8 reports when it ended"), "{}", searched.said);
        let is_judged = |record: &Value| record["event"] == "decided";
        assert!(!records(folder.path()).iter().any(is_judged), "nothing is decided by them");
        assert!(searched.said.contains("fflush(stdout)"), "{}", searched.said);
        assert_eq!(searched.said.matches("wrote all its").count(), 1, "{}", searched.said);
    }
}

#[test]
fn a_program_in_awk() {
    let folder = tempfile::tempdir().unwrap();
    search(folder.path(), "val_acc", &["awk", "-v", "lr={lr}", "-f", "train.awk"]).is_true_and_stopped();
}

#[test]
fn a_script_of_bash() {
    let folder = tempfile::tempdir().unwrap();
    search(folder.path(), "acc", &["bash", "train.bash", "{lr}"]).is_true_and_stopped();
}

#[test]
fn words_of_hydra_and_the_whole_configuration_first() {
    let folder = tempfile::tempdir().unwrap();
    search(folder.path(), "val/acc", &["python3", "hydra_like.py", "optim.lr={lr}"]).is_true_and_stopped();
}

#[test]
fn progress_of_keras() {
    let folder = tempfile::tempdir().unwrap();
    search(folder.path(), "val_accuracy", &["python3", "keras_like.py", "{lr}"]).is_true_and_stopped();
}

#[test]
fn steps_from_zero() {
    let folder = tempfile::tempdir().unwrap();
    search(folder.path(), "val_acc", &["python3", "from_zero.py", "{lr}"]).is_true_and_stopped();
}

#[test]
fn a_configuration_in_yaml_first_and_maps_after_it() {
    let folder = tempfile::tempdir().unwrap();
    search(folder.path(), "mIoU", &["python3", "yaml_first.py", "{lr}"]).is_true_and_stopped();
}

#[test]
fn a_script_that_fails() {
    let folder = tempfile::tempdir().unwrap();
    let searched = search(folder.path(), "val_acc", &["python3", "failing.py", "{lr}"]);
    searched.is_true_and_stopped();
    let failed = &searched.result["trials"]["failed"];
    assert_eq!(searched.stopped() + failed.as_u64().unwrap(), 3, "{}", searched.said);
}

#[test]
fn a_first_report_of_the_last_epoch_is_doubted_aloud() {
    let folder = tempfile::tempdir().unwrap();
    let script = "echo 'setup epoch=4 acc=0.1'; sleep 0.3; for acc in 0.2 0.3 0.4; do echo acc=$acc {lr}; sleep 0.1; done";
    let start = ["search", "--param", "lr=log:1e-4:1", "--epochs", "4", "--metric", "acc", "--trials", "1"];
    let rest = ["--burn-in", "1", "--", "sh", "-c", script];
    let said = text(&foretell(folder.path(), &[&start[..], &rest].concat()).output().unwrap().stderr);
    assert!(said.contains("the first report of trial 0 is for epoch 4, the last one"), "{said}");
}

#[test]
fn init_that_watches_a_script_to_its_end_knows_its_epochs() {
    let folder = tempfile::tempdir().unwrap();
    let begun = |script: &str, seconds: &str| {
        let init = ["init", "--force", "--seconds", seconds, "--", "sh", "-c", script];
        let output = foretell(folder.path(), &init).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        (std::fs::read_to_string(folder.path().join("study.toml")).unwrap(), text(&output.stderr))
    };
    for epochs in [3, 12, 15, 20] {
        let (file, _) = begun(&format!("for e in $(seq {epochs}); do echo epoch $e acc 0.$e; done"), "20");
        assert!(
            file.contains(&format!("\nepochs = {epochs}\n")) && file.contains("which completed"),
            "{file}"
        );
    }
    let (file, said) = begun("echo acc=0.1; echo acc=0.2; exec sleep 60", "0.5");
    assert!(file.contains("\n# epochs = ") && said.contains("the first trial shows it"), "{said}\n{file}");
}

#[test]
fn a_trial_that_hangs_before_its_first_report_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let script = "if [ $FORETELL_TRIAL = 1 ]; then exec sleep 60; fi; sleep 0.1; echo acc={lr}; sleep 0.1; echo acc={lr}";
    let start = ["search", "--param", "lr=log:1e-4:1", "--epochs", "2", "--metric", "acc", "--trials", "2"];
    let rest =
        ["--burn-in", "2", "--workers", "1", "--stall", "3", "--format", "json", "--", "sh", "-c", script];
    let result = json(&foretell(folder.path(), &[&start[..], &rest].concat()).output().unwrap());
    assert_eq!(
        (&result["trials"]["completed"], &result["trials"]["failed"]),
        (&Value::from(1), &Value::from(1))
    );
}
