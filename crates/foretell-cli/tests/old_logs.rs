//! The logs of other tools, from a folder to an answer.

mod common;

use common::{foretell, text};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// MLflow's file store with runs that train for ten epochs of a minute each, and end at `0.5 + 0.02 · run`.
fn store(folder: &Path, runs: u32) {
    for run in 0..runs {
        write_run(folder, run, 10, 3);
    }
}

fn write_run(folder: &Path, run: u32, epochs: u32, status: u32) {
    let own = folder.join(format!("mlruns/1/{run:032x}"));
    fs::create_dir_all(own.join("metrics/val")).unwrap();
    fs::create_dir_all(own.join("params")).unwrap();
    let meta =
        format!("lifecycle_stage: active\nrun_id: {run:032x}\nrun_name: net-{run}\nstatus: {status}\n");
    fs::write(own.join("meta.yaml"), meta).unwrap();
    fs::write(own.join("params/lr"), format!("{}", 0.01 * f64::from(run + 1))).unwrap();
    let end = 0.5 + 0.02 * f64::from(run);
    let line = |epoch: u32| {
        let value = end * (1.0 - 0.5_f64.powi(epoch as i32));
        format!("{} {value} {epoch}\n", 60_000 * epoch)
    };
    fs::write(own.join("metrics/val/acc"), (1..=epochs).map(line).collect::<String>()).unwrap();
    fs::write(
        own.join("metrics/train_loss"),
        (1..=epochs).map(|e| format!("0 1.5 {e}\n")).collect::<String>(),
    )
    .unwrap();
}

fn run_command(folder: &Path, words: &[&str]) -> (String, String) {
    let output = foretell(folder, words).output().unwrap();
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    (text(&output.stdout), said)
}

#[test]
fn a_folder_of_logs_gives_the_answer_a_picture_and_a_report() {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), 20);
    let (answer, said) = run_command(
        folder.path(),
        &["replay", "mlruns", "--orderings", "2", "--policy", "srm", "--predictor", "mean-gain"],
    );
    assert!(said.starts_with("mlruns: 20 runs (20 of MLflow); `val/acc` is 1 of 2 metrics"), "{said}");
    assert!(answer.contains("20 completed runs of 10 points"), "{answer}");
    // 20 runs of 10 minutes
    assert!(answer.contains("of 3 h 20 min of training"), "{answer}");
    assert!(fs::read_to_string(folder.path().join("savings.svg")).unwrap().contains("<svg"));
    let report = fs::read_to_string(folder.path().join("savings.html")).unwrap();
    assert_eq!(report.matches("<svg").count(), 2);
    assert!(report.contains("of 3 h 20 min of training") && report.contains("20 of MLflow"), "{report}");
    for outside in ["<script", "src=", "href=\"http", "url(http"] {
        assert!(!report.contains(outside), "the report stands alone: {outside}");
    }
}

#[test]
fn runs_that_failed_are_left_out_of_a_replay_and_counted_first() {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), 12);
    for run in 12..40 {
        write_run(folder.path(), run, 3, 4);
    }
    let words = [
        "replay",
        "mlruns",
        "--orderings",
        "2",
        "--policy",
        "srm",
        "--predictor",
        "mean-gain",
        "--report",
        "r.html",
    ];
    let (answer, said) = run_command(folder.path(), &words);
    assert!(said.lines().next().unwrap().contains("not used as completed runs: 28 failed"), "{said}");
    assert!(
        answer.contains("12 completed runs of 10 points") && answer.contains("28 unfinished runs"),
        "{answer}"
    );
    assert!(folder.path().join("r.html").exists() && !folder.path().join("savings.html").exists());
}

#[test]
fn a_list_tells_what_there_is_as_text_and_as_json() {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), 3);
    write_run(folder.path(), 3, 2, 4);
    let (list, _) = run_command(folder.path(), &["import", "--list", "mlruns"]);
    assert!(list.starts_with("4 runs (4 of MLflow); 1 failed"), "{list}");
    assert!(list.contains("without --metric: val/acc") && list.contains("settings: lr"), "{list}");
    let (list, _) = run_command(folder.path(), &["import", "--list", "--json", "mlruns"]);
    let list: Value = serde_json::from_str(&list).unwrap();
    let metric = &list["metrics"][0];
    assert_eq!(
        (metric["name"].as_str(), metric["runs"].as_u64(), metric["values"].as_u64()),
        (Some("val/acc"), Some(4), Some(32))
    );
    assert_eq!(list["ends"]["failed"], 1);
    assert!(!folder.path().join("curves.jsonl").exists());
}

#[test]
fn an_import_is_read_alike_and_updated_only_where_files_changed() {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), 6);
    let (first, _) = run_command(folder.path(), &["import", "mlruns"]);
    assert!(
        first.starts_with("6 runs (6 of MLflow); `val/acc` is 1 of 2 metrics\n6 runs with 60 values"),
        "{first}"
    );
    let curves = || fs::read_to_string(folder.path().join("curves.jsonl")).unwrap();
    let before = curves();
    assert!(before.contains("\"ended\":\"finished\"") && before.contains("\"seconds\":60.0"), "{before}");
    write_run(folder.path(), 6, 10, 3);
    fs::remove_dir_all(folder.path().join(format!("mlruns/1/{:032x}", 0))).unwrap();
    let (second, _) = run_command(folder.path(), &["import", "mlruns", "--update"]);
    assert!(second.starts_with("5 runs kept, 1 run new or read again (6 before)"), "{second}");
    let updated = curves();
    let (whole, _) = run_command(folder.path(), &["import", "mlruns", "--force", "--out", "whole.jsonl"]);
    assert!(whole.starts_with("6 runs"), "{whole}");
    let mut expected: Vec<String> =
        fs::read_to_string(folder.path().join("whole.jsonl")).unwrap().lines().map(str::to_owned).collect();
    let mut found: Vec<String> = updated.lines().map(str::to_owned).collect();
    expected.sort();
    found.sort();
    assert_eq!(found, expected, "an update gives what a whole import gives");
    let words = [
        "evaluate",
        "--train",
        "3",
        "--repeats",
        "2",
        "--observed",
        "0.3",
        "--predictor",
        "mean-gain",
        "--format",
        "json",
    ];
    let (by_logs, _) = run_command(folder.path(), &[&words[..], &["mlruns"]].concat());
    let (by_file, _) = run_command(folder.path(), &[&words[..], &["whole.jsonl"]].concat());
    let scores = |text: &str| serde_json::from_str::<Value>(text).unwrap()["rows"][0]["mae"].clone();
    assert_eq!(scores(&by_logs), scores(&by_file));
}

#[test]
fn the_export_of_wandb_gives_all_of_its_runs() {
    let folder = tempfile::tempdir().unwrap();
    let header = "\"Step\",\"net-a - val_loss\",\"net-a - val_loss__MIN\",\"net-a - val_loss__MAX\",\"net-b - val_loss\",\"net-b - val_loss__MIN\",\"net-b - val_loss__MAX\"\n";
    let rows = "\"1\",\"0.9\",\"0.9\",\"0.9\",\"0.8\",\"0.8\",\"0.8\"\n\"2\",\"0.7\",\"0.7\",\"0.7\",\"\",\"\",\"\"\n\"3\",\"0.6\",\"0.6\",\"0.6\",\"0.5\",\"0.5\",\"0.5\"\n";
    fs::write(folder.path().join("wandb.csv"), [header, rows].concat()).unwrap();
    let (said, _) = run_command(folder.path(), &["import", "wandb.csv"]);
    assert!(said.starts_with("2 runs (2 of W&B's export)\n2 runs with 5 values of val_loss"), "{said}");
}

#[test]
fn a_tool_can_be_named_and_a_metric_that_is_none_lists_them() {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), 2);
    let output = foretell(folder.path(), &["import", "mlruns", "--metric", "nothing"]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("there is no metric `nothing`") && said.contains("`val/acc` (2 runs, "), "{said}");
    let output = foretell(folder.path(), &["import", "mlruns", "--log-format", "optuna"]).output().unwrap();
    let said = text(&output.stderr);
    assert!(said.contains("no log of a known tool was found"), "{said}");
    let output = foretell(folder.path(), &["import", "mlruns", "--format", "excel"]).output().unwrap();
    assert!(
        text(&output.stderr).contains("Use one of tensorboard, wandb, mlflow"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_table_says_first_how_many_metrics_it_leaves_out() {
    let folder = tempfile::tempdir().unwrap();
    let rows = "run_id,epoch,lr,val_acc,val_loss,train_loss\na,1,0.1,0.5,1.0,1.1\na,2,0.1,0.6,0.9,1.0\nb,1,0.2,0.4,1.0,1.1\nb,2,0.2,0.7,0.8,0.9\n";
    fs::write(folder.path().join("runs.csv"), rows).unwrap();
    let (said, _) = run_command(folder.path(), &["import", "runs.csv"]);
    assert!(
        said.starts_with("`val_acc` is 1 of 3 metrics in the file\n2 runs with 4 values of val_acc"),
        "{said}"
    );
    let (said, _) = run_command(folder.path(), &["import", "--list", "runs.csv"]);
    assert!(said.starts_with("`val_acc` is 1 of 3 metrics in the file\n2 runs"), "{said}");
}

#[test]
fn a_state_of_transformers_says_first_that_it_has_more_metrics() {
    let folder = tempfile::tempdir().unwrap();
    let state = r#"{"global_step": 4, "max_steps": 8, "num_train_epochs": 2, "log_history": [
        {"epoch": 0.5, "loss": 1.0, "step": 2}, {"epoch": 1.0, "eval_loss": NaN, "step": 4}, {"epoch": 1.0, "loss": 0.5, "step": 4}]}"#;
    fs::write(folder.path().join("trainer_state.json"), state).unwrap();
    let (said, _) = run_command(folder.path(), &["import", "trainer_state.json", "--metric", "loss"]);
    let first = said.lines().next().unwrap();
    assert!(
        first.contains("not used as completed runs: 1 stopped early; `loss` is 1 of 2 metrics"),
        "{first}"
    );
}

#[test]
fn too_few_runs_at_the_target_say_which_step_enough_of_them_reach() {
    let folder = tempfile::tempdir().unwrap();
    for (run, epochs) in [10, 10, 7, 6, 6, 4].into_iter().enumerate() {
        write_run(folder.path(), run as u32, epochs, 3);
    }
    let output = foretell(folder.path(), &["replay", "mlruns", "--target", "10"]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("2 of 6 runs reach step 10, but a replay needs at least 4"), "{said}");
    assert!(said.contains("Use --target 6, which 5 runs reach"), "{said}");
    // without --target a step is chosen that enough of them reach
    let (answer, _) = run_command(folder.path(), &["replay", "mlruns", "--orderings", "2"]);
    assert!(answer.contains("5 completed runs of 6 points"), "{answer}");
}
