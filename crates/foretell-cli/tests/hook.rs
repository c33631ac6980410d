//! `foretell init` asks a Python script for its options and its logged values, a search reads one source, and a wrong choice is read again.

mod common;

use common::{foretell, json, text};
use std::path::Path;
use std::process::Output;

/// A script with sub-commands, which logs a validation accuracy as a table and prints another number of that name.
const SCRIPT: &str = r#"
import argparse, csv, math, sys, time
p = argparse.ArgumentParser(); p.add_argument("--seed", type=int, default=1); p.add_argument("--api-token", default="sesame")
s = p.add_subparsers(dest="task", required=True); t = s.add_parser("train"); s.add_parser("export").add_argument("file")
t.add_argument("--lr", type=float, default=.01, help="the rate (default: 7)"); t.add_argument("--warmup-epochs", type=int); t.add_argument("--passes", type=int, default=5)
a = p.parse_args(); w = csv.DictWriter(sys.stderr, ["epoch", "val_acc", "train_loss"])
for e in range(a.passes):
    v = (.9 - .1 * abs(math.log10(a.lr) + 2)) * (1 - math.exp(-(e + 1) / 3)) + a.seed * 1e-12
    w.writerow(dict(epoch=e + 1, val_acc=v, train_loss=1.1 - v)); print(f"pass {e + 1}: acc {1 - v:.2f}", flush=True); time.sleep(.02)
"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tool.py"), SCRIPT).unwrap();
    folder
}

fn run(folder: &Path, words: &[&str]) -> Output {
    foretell(folder, words).output().unwrap()
}

fn init(folder: &Path, more: &[&str]) -> (String, String) {
    let command = ["--", "python3", "tool.py", "train"];
    let output = run(folder, &[&["init", "--yes", "--force"], more, &command].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    (std::fs::read_to_string(folder.join("study.toml")).unwrap(), text(&output.stderr))
}

#[test]
fn init_asks_the_parser_and_the_logger_and_proves_the_command() {
    let folder = folder();
    let (study, said) = init(folder.path(), &[]);
    assert!(
        study.contains("\"tool.py\", \"--seed\", \"{seed}\", \"train\""),
        "the option of the parent is before the sub-command: {study}"
    );
    assert!(study.contains("metric = \"val_acc\"\nsource = \"csv\""), "{study}");
    assert!(
        study.contains("lr = \"log:0.00033:0.3\"") && !study.contains("sesame"),
        "the default is 0.01: {study}"
    );
    assert!(study.contains("a second run with lr = ") && said.contains("val_acc (csv)"), "{said}");
    let sizes =
        ["search", "study.toml", "--trials", "3", "--burn-in", "3", "--out", "study", "--format", "json"];
    let output = run(folder.path(), &sizes);
    let result = json(&output);
    assert_eq!(result["trials"]["completed"], 3, "{}\n{study}", text(&output.stderr));
    let shown = json(&run(folder.path(), &["study", "show", "study", "0", "--format", "json"]));
    let values: Vec<f64> =
        shown["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
    let lr = shown["configuration"]["lr"].as_f64().unwrap();
    let top = 0.9 - 0.1 * (lr.log10() + 2.0).abs();
    let is_exact =
        |(at, value): (usize, &f64)| (value - top * (1.0 - (-(at as f64 + 1.0) / 3.0).exp())).abs() < 1e-2;
    assert!(values.len() == 5 && values.iter().enumerate().all(is_exact), "{values:?}, not the printed ones");
}

#[test]
fn without_the_hook_printed_lines_are_read() {
    let folder = folder();
    let (study, said) = init(folder.path(), &["--no-hook"]);
    assert!(said.contains("the hook is turned off") && !study.contains("source ="), "{said}\n{study}");
    let write =
        |more: &str| std::fs::write(folder.path().join("off.toml"), format!("{more}{study}")).unwrap();
    let search = ["search", "off.toml", "--trials", "2", "--burn-in", "2", "--out", "o"];
    write("hook = false\nsource = \"printed\"\n");
    let output = run(folder.path(), &search);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    write("hook = false\nsource = \"keras\"\n");
    let refused = run(folder.path(), &search);
    let said = text(&refused.stderr);
    assert!(refused.status.code() == Some(2) && said.contains("--no-hook turns it off"), "{said}");
}

#[test]
fn a_source_that_stays_silent_fails_the_first_trial_and_says_why() {
    let folder = folder();
    let start = [
        "search",
        "--param",
        "lr=log:1e-4:1",
        "--epochs",
        "5",
        "--trials",
        "4",
        "--workers",
        "1",
        "--maximize",
    ];
    let how = ["--metric", "acc", "--source", "keras", "--", "python3", "tool.py", "train", "--lr", "{lr}"];
    let output = run(folder.path(), &[&start[..], &how].concat());
    let said = text(&output.stderr);
    assert_ne!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("trial 0") && said.contains("keras was not asked to log acc"), "{said}");
}

#[test]
fn a_choice_in_doubt_is_refused_without_a_terminal_until_it_is_confirmed() {
    let folder = tempfile::tempdir().unwrap();
    let script = "import argparse\np = argparse.ArgumentParser(); p.add_argument('--lr', type=float, default=.1); p.add_argument('--folds', type=int, default=2); a = p.parse_args()\nfor fold in range(a.folds):\n    for epoch in range(3): print(f'part {fold} epoch {epoch + 1} val_acc {a.lr * (epoch + 1) / 10 + fold / 100:.4f}', flush=True)\n";
    std::fs::write(folder.path().join("tool.py"), script).unwrap();
    let output = run(folder.path(), &["init", "--yes", "--", "python3", "tool.py"]);
    let study = std::fs::read_to_string(folder.path().join("study.toml")).unwrap();
    assert!(text(&output.stderr).contains("IN DOUBT") && study.contains("in-doubt = "), "{study}");
    let search = ["search", "study.toml", "--trials", "2", "--burn-in", "2", "--out", "o"];
    let refused = run(folder.path(), &search);
    assert!(
        refused.status.code() == Some(2) && text(&refused.stderr).contains("remove the line in-doubt"),
        "{}",
        text(&refused.stderr)
    );
    let confirmed: Vec<&str> = study.lines().filter(|line| !line.starts_with("in-doubt")).collect();
    std::fs::write(folder.path().join("study.toml"), confirmed.join("\n")).unwrap();
    let output = run(folder.path(), &search);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn a_wrong_metric_is_read_again_without_training() {
    let folder = tempfile::tempdir().unwrap();
    let script = "for e in 1 2 3; do echo \"epoch $e train_loss 0.{x}$e val_acc 0.\"$e\"{x}\"; done";
    let start = [
        "search",
        "--param",
        "x=int:1:9",
        "--epochs",
        "3",
        "--trials",
        "3",
        "--burn-in",
        "3",
        "--metric",
        "train_loss",
        "--out",
        "wrong",
    ];
    let output = run(folder.path(), &[&start[..], &["--", "sh", "-c", script]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let output = run(folder.path(), &["study", "reread", "wrong", "--metric", "val_acc"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let curves = text(&run(folder.path(), &["study", "export", "wrong-reread"]).stdout);
    let rows: Vec<serde_json::Value> =
        curves.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 3);
    for row in &rows {
        let x = row["configuration"]["x"].as_f64().unwrap();
        let values: Vec<f64> =
            row["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
        let expected: Vec<f64> = (1..=3).map(|epoch| f64::from(epoch) / 10.0 + x / 100.0).collect();
        assert!(
            values.iter().zip(&expected).all(|(one, other)| (one - other).abs() < 1e-9) && values.len() == 3,
            "{row}"
        );
        assert_eq!(row["direction"], "maximize");
    }
    let none = run(folder.path(), &["study", "reread", "wrong", "--metric", "val_f1", "--out", "none"]);
    assert!(none.status.code() == Some(2) && !folder.path().join("none").exists(), "{}", text(&none.stderr));
}
