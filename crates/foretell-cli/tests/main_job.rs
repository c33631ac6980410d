//! The main job on ordinary scripts: a search ends, and reports what the scripts printed.

mod common;

use common::{foretell, json, output, records, text};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// A search with the metric `metric` that trains `trials` trials of `script`, a Python program that knows `lr`, to their ends.
fn search(folder: &Path, metric: &str, (epochs, trials): (u32, u32), script: &str) -> Command {
    let head = "import sys, time\nlr = float(sys.argv[1])\n";
    std::fs::write(folder.join("train.py"), format!("{head}{script}")).unwrap();
    let (epochs, trials) = (epochs.to_string(), trials.to_string());
    let start =
        ["search", "--out", "study", "--param", "lr=log:0.001:1", "--epochs", &epochs, "--trials", &trials];
    let rest = [
        "--metric",
        metric,
        "--maximize",
        "--burn-in",
        "3",
        "--workers",
        "2",
        "--no-stopping",
        "--format",
        "json",
    ];
    foretell(folder, &[&start[..], &rest, &["--", "python3", "train.py", "{lr}"]].concat())
}

/// The reported steps and values of each trial.
fn reported_values(folder: &Path) -> Vec<(u64, u64, f64)> {
    let records = records(folder);
    let reports = records.iter().filter(|record| record["event"] == "reported");
    let number = |value: &Value| value.as_u64().unwrap();
    let mut reports: Vec<_> = reports
        .map(|record| (number(&record["trial"]), number(&record["step"]), record["value"].as_f64().unwrap()))
        .collect();
    reports.sort_by_key(|&(trial, step, _)| (trial, step));
    reports
}

#[test]
fn headings_by_logging_and_values_by_print_stay_in_their_epochs() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
import logging
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
for epoch in range(1, 7):
    logging.info("starting epoch %d of %d", epoch, 6)
    time.sleep(.05)
    print(f"validation accuracy {epoch / 10 + lr / 100:.4f}", flush=True)
    logging.info("learning rate is now %g", lr)
"#;
    let ended = search(folder.path(), "validation accuracy", (6, 6), script).output().unwrap();
    json(&ended);
    let reports = reported_values(folder.path());
    assert_eq!(reports.len(), 36, "{reports:?}");
    assert!(
        reports.iter().all(|&(_, step, value)| (value - step as f64 / 10.0).abs() <= 0.0101),
        "{reports:?}"
    );
    assert!(!text(&ended.stderr).contains("reported again"), "{}", text(&ended.stderr));
}

#[test]
fn a_metric_that_comes_late_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
print("Net(\n" + "".join(f"  ({i}): Conv2d({i + 1}, 64)\n" for i in range(30)) + ")")
for gpu in range(8): print(f"GPU {gpu}: 80 GB")
for epoch in range(1, 21):
    for batch in range(0, 100, 10): print(f"epoch {epoch} batch {batch}/100 loss {2 / epoch:.3f}", flush=True)
    if epoch % 10 == 0: print(f"epoch {epoch}: val_acc {epoch / 40 + lr / 100:.4f}", flush=True)
"#;
    let result = json(&search(folder.path(), "val_acc", (20, 3), script).output().unwrap());
    assert_eq!(result["trials"]["completed"], 3, "{result}");
    let steps: Vec<u64> = reported_values(folder.path()).into_iter().map(|(_, step, _)| step).collect();
    assert_eq!(steps, [10, 20, 10, 20, 10, 20]);
}

#[test]
fn a_first_trial_without_the_metric_ends_the_search_with_the_numbers_that_it_printed() {
    let folder = tempfile::tempdir().unwrap();
    let script = "for epoch in range(1, 31): print(f'epoch {epoch}: loss {2 / epoch:.3f} top1 {epoch / 40:.3f}', flush=True)";
    let (_, said) = output(&mut search(folder.path(), "val_f1", (30, 3), script), 2);
    assert!(said.contains("top1 0.025, 0.05 … 0.75") && said.contains("loss 2, 1 … 0.067"), "{said}");
    assert!(said.contains("--metric"), "{said}");
    assert_eq!(said.matches("error: ").count(), 1, "one message: {said}");
}

#[test]
fn three_trials_in_a_row_without_a_value_end_the_search() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
import os
name = "val_acc" if int(os.environ["FORETELL_TRIAL"]) < 2 else "val_loss"
for epoch in range(1, 7): print(f"epoch {epoch}: {name} {epoch / 10 + lr / 100:.4f}", flush=True); time.sleep(.05)
"#;
    let (_, said) = output(&mut search(folder.path(), "val_acc", (6, 20), script), 2);
    assert!(said.contains("3 trials in a row ended without a value of the metric"), "{said}");
    assert!(said.contains("it printed") && said.contains("val_loss"), "{said}");
    let completed = records(folder.path()).iter().filter(|record| record["event"] == "completed").count();
    assert_eq!(completed, 2, "{said}");
}

#[test]
fn folds_are_all_counted_and_their_summary_is_the_score() {
    for (summary, word) in
        [("mean val_acc over the folds: {sum(ends) / 3:.4f}", "the summary"), ("done", "the mean")]
    {
        let folder = tempfile::tempdir().unwrap();
        let script = format!(
            r#"
ends = []
for fold in range(3):
    print(f"--- fold {{fold + 1}} of 3 ---", flush=True)
    for epoch in range(1, 6):
        time.sleep(.02)
        value = epoch / 10 + fold / 100 + lr / 100
        print(f"epoch {{epoch}}/5 val_acc {{value:.4f}}", flush=True)
    ends.append(value)
print(f"{summary}", flush=True)
"#
        );
        let ended = search(folder.path(), "val_acc", (5, 3), &script).output().unwrap();
        let said = text(&ended.stderr);
        let result = json(&ended);
        assert_eq!(said.matches("each trial trains 3 times").count(), 1, "{said}");
        assert!(said.contains(word), "{said}");
        assert_eq!(result["epochs"]["spent"], 45, "{result}");
        let reports = reported_values(folder.path());
        let ends: Vec<f64> = reports.iter().filter(|report| report.1 == 5).map(|report| report.2).collect();
        assert!(ends.len() == 3 && ends.iter().all(|end| (end - 0.51).abs() <= 0.0101), "{reports:?}");
        let firsts = reports.iter().filter(|report| report.1 < 5);
        assert!(
            firsts.clone().count() == 12
                && firsts.clone().all(|it| (it.2 - it.1 as f64 / 10.0).abs() <= 0.0101)
        );
    }
}

#[test]
fn trials_that_all_report_the_same_are_doubted() {
    let folder = tempfile::tempdir().unwrap();
    let script = "for epoch in range(1, 5): print(f'epoch {epoch}: val_acc {epoch / 10}', flush=True)";
    let ended = search(folder.path(), "val_acc", (4, 5), script).output().unwrap();
    let said = text(&ended.stderr);
    assert_eq!(said.matches("report exactly the same values").count(), 1, "{said}");
    let script =
        "for epoch in range(1, 5): print(f'epoch {epoch}: val_acc {epoch / 10 + lr / 100}', flush=True)";
    let folder = tempfile::tempdir().unwrap();
    let said = text(&search(folder.path(), "val_acc", (4, 5), script).output().unwrap().stderr);
    assert!(!said.contains("the same values"), "{said}");
}

#[test]
fn the_reason_of_a_failed_trial_is_its_error_and_not_its_last_report() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
for epoch in range(1, 5):
    print(f"epoch {epoch}: val_acc {epoch / 10 + lr / 100}", flush=True)
    if lr > 0: time.sleep(.02)
raise ValueError("no such optimizer")
"#;
    let (_, said) = output(&mut search(folder.path(), "val_acc", (8, 2), script), 1);
    assert!(said.contains("ValueError: no such optimizer"), "{said}");
    let shown = foretell(folder.path(), &["study", "show", "study"]).output().unwrap();
    assert!(text(&shown.stdout).contains("no such optimizer"), "{}", text(&shown.stdout));
}
