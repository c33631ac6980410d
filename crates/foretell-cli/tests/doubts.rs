//! Doubts of `foretell init`: each names its line and what to write, and after writing it the search works.

mod common;

use common::{foretell, json, text};
use std::path::Path;

const OPTIONS: &str = "import argparse, math, sys, time
p = argparse.ArgumentParser(); p.add_argument('--lr', type=float, default=.1); p.add_argument('--epochs', type=int, default=6)
p.add_argument('--hidden-size', type=int, default=32); a = p.parse_args()
gain = 1 - abs(math.log10(a.lr) + 1) / 4
";

/// Lets `init` write a study file for a script with this `body`.
fn begun(folder: &Path, body: &str) -> String {
    std::fs::write(folder.join("train.py"), format!("{OPTIONS}{body}")).unwrap();
    let init = foretell(folder, &["init", "--yes", "--", "python3", "train.py"]).output().unwrap();
    assert_eq!(init.status.code(), Some(0), "{}", text(&init.stderr));
    std::fs::read_to_string(folder.join("study.toml")).unwrap()
}

/// The doubt that the study file names.
fn doubt_of(study: &str) -> String {
    study.lines().find(|line| line.starts_with("in-doubt = ")).unwrap_or_default().to_owned()
}

/// Searches by the study file without its doubt, and with `changes` of its lines; the best score.
fn search(folder: &Path, study: &str, changes: &[(&str, &str)]) -> f64 {
    let mut study: String =
        study.lines().filter(|line| !line.starts_with("in-doubt")).map(|line| format!("{line}\n")).collect();
    for (line, new) in changes {
        assert!(study.contains(line), "{line}: {study}");
        study = study.replacen(line, new, 1);
    }
    std::fs::write(folder.join("study.toml"), &study).unwrap();
    let words =
        ["search", "study.toml", "--trials", "3", "--policy", "none", "--out", "study", "--format", "json"];
    let output = foretell(folder, &words).output().unwrap();
    let result = json(&output);
    assert_eq!(result["trials"]["completed"], 3, "{}\n{study}", text(&output.stderr));
    result["best"]["score"].as_f64().unwrap()
}

/// The study file with a doubt about `line` that contains `words`, and its folder. Without an answer the search refuses, with the doubt.
fn in_doubt(body: &str, line: &str, words: &[&str]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let study = begun(folder.path(), body);
    let doubt = doubt_of(&study);
    assert!(doubt.contains(&format!("(line {line})")), "{doubt}\n{study}");
    assert!(words.iter().all(|word| doubt.contains(word)), "{words:?}: {doubt}");
    let refused = foretell(folder.path(), &["search", "study.toml", "--trials", "3"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("in-doubt"), "{}", text(&refused.stderr));
    (folder, study)
}

#[test]
fn an_unknown_direction_is_asked_with_both_lines() {
    let body = "for e in range(a.epochs): print(f'epoch {e + 1} train/loss {1 / (e + 2):.4f} val/mpjpe {80.5 - gain * e:.3f}', flush=True)\n";
    let (folder, study) =
        in_doubt(body, "minimize or maximize", &["val/mpjpe", "80.5", "minimize = true", "maximize = true"]);
    assert!(study.contains("metric = \"val/mpjpe\""), "{study}");
    let best = search(folder.path(), &study, &[("# minimize = true ", "minimize = true ")]);
    assert!(best < 80.5, "{best}");
}

#[test]
fn rivals_are_named_with_their_values() {
    let body = "for e in range(a.epochs): print(f'epoch {e + 1} val_a/acc {.3 + gain * e / 20:.4f} val_b/acc {.5 + gain * e / 20:.4f}', flush=True)\n";
    let folder = tempfile::tempdir().unwrap();
    let study = begun(folder.path(), body);
    let doubt = doubt_of(&study);
    for word in ["metric = \"val_a/acc\"", "metric = \"val_b/acc\"", "0.3", "0.5", "(line metric)"] {
        assert!(doubt.contains(word), "{word}: {doubt}\n{study}");
    }
    let line = study.lines().find(|line| line.starts_with("metric = ")).unwrap().to_owned();
    let best = search(folder.path(), &study, &[(&line, "metric = \"val_b/acc\"")]);
    assert!(best >= 0.5, "{best}");
}

#[test]
fn training_values_alone_can_be_confirmed() {
    let body =
        "for e in range(a.epochs): print(f'epoch {e + 1} train_loss {1 / (e + 1 + gain):.4f}', flush=True)\n";
    let (folder, study) = in_doubt(body, "metric", &["only values of the training data", "train_loss"]);
    search(folder.path(), &study, &[]);
}

#[test]
fn several_trainings_can_be_confirmed() {
    let body = "for part in range(3):
    print(f'--- part {part + 1} of 3 ---')
    for e in range(a.epochs): print(f'epoch {e + 1}/{a.epochs} val_acc {.3 + gain * e / 20:.4f}', flush=True)
";
    let (folder, study) = in_doubt(body, "metric", &["3 times"]);
    search(folder.path(), &study, &[]);
}

#[test]
fn a_value_that_the_script_cannot_have_is_not_searched() {
    let body = "if a.hidden_size % 4: sys.exit('ValueError: hidden_size must be divisible by 4')
for e in range(a.epochs): print(f'epoch {e + 1} val_acc {.3 + gain * e / 20:.4f}', flush=True)
";
    let folder = tempfile::tempdir().unwrap();
    let study = begun(folder.path(), body);
    assert_eq!(doubt_of(&study), "", "{study}");
    assert!(study.contains("must be divisible by 4") && study.contains("choice:16,32,64"), "{study}");
    search(folder.path(), &study, &[]);
}

#[test]
fn a_run_that_ends_with_an_error_is_in_doubt_although_it_reported() {
    let body =
        "for e in range(a.epochs): print(f'epoch {e + 1} val_acc {.3 + gain * e / 20:.4f}', flush=True)
sys.exit('no space left for the checkpoint')
";
    let folder = tempfile::tempdir().unwrap();
    let study = begun(folder.path(), body);
    assert!(doubt_of(&study).contains("no space left"), "{study}");
    // it is corrected as advised
    let corrected = body.replace("sys.exit('no space left for the checkpoint')", "pass");
    std::fs::write(folder.path().join("train.py"), format!("{OPTIONS}{corrected}")).unwrap();
    search(folder.path(), &study, &[]);
}

#[test]
fn without_a_metric_the_file_says_what_to_write() {
    let body = "for e in range(a.epochs): print(f'{e + 1};{.3 + gain * e / 20:.4f}', flush=True)\n";
    let (folder, study) = in_doubt(body, "metric", &["no metric was found", "maximize = true"]);
    let changes = [("# metric = \"val acc: {value}\"", "metric = '{step};{value}'\nmaximize = true")];
    search(folder.path(), &study, &changes);
}

#[test]
fn a_script_that_waits_for_input_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("train.py"), format!("{OPTIONS}input('start? ')\n")).unwrap();
    let init = foretell(folder.path(), &["init", "--yes", "--", "python3", "train.py"]).output().unwrap();
    assert_eq!(init.status.code(), Some(2));
    assert!(text(&init.stderr).contains("waits for input"), "{}", text(&init.stderr));
}

#[test]
fn a_file_that_both_runs_write_is_named_with_the_option_for_it() {
    let body = "for e in range(a.epochs):
    print(f'epoch {e + 1} val_acc {.3 + gain * e / 20:.4f}', flush=True)
    open('best.pt', 'w').write(str(e)); time.sleep(.02)
";
    let folder = tempfile::tempdir().unwrap();
    let body = body.replace("'best.pt'", "a.weights");
    let options = OPTIONS
        .replace("a = p.parse_args()", "p.add_argument('--weights', default='best.pt'); a = p.parse_args()");
    std::fs::write(folder.path().join("train.py"), format!("{options}{body}")).unwrap();
    let init = foretell(folder.path(), &["init", "--yes", "--", "python3", "train.py"]).output().unwrap();
    let said = text(&init.stderr);
    assert_eq!(init.status.code(), Some(0), "{said}");
    assert!(said.contains("best.pt") && said.contains("--weights {trial_dir}/best.pt"), "{said}");
}

#[test]
fn steps_and_epochs_are_told_apart_by_a_run_of_two_epochs() {
    let body = "for e in range(a.epochs):
    time.sleep(.4); print(f'step {(e + 1) * 300} val_acc {.3 + gain * e / 20:.4f}', flush=True)
";
    let folder = tempfile::tempdir().unwrap();
    let study = begun(folder.path(), body);
    assert!(study.contains("\nepochs = 1800\n") && study.contains("300 per epoch"), "{study}");
    assert!(!study.contains("{epochs}"), "the script's own number stays: {study}");
    search(folder.path(), &study, &[]);
}

#[test]
fn an_option_without_effect_does_not_multiply_the_epochs() {
    let body = "for e in range(12):
    time.sleep(.1); print(f'step {(e + 1) * 300} val_acc {.3 + gain * e / 20:.4f}', flush=True)
";
    let folder = tempfile::tempdir().unwrap();
    let study = begun(folder.path(), body);
    assert!(study.contains("\nepochs = 3600\n") && !study.contains("{epochs}"), "{study}");
    search(folder.path(), &study, &[]);
}

#[test]
fn without_a_proof_the_number_of_epochs_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let body = "for e in range(2000): time.sleep(.2); print(f'step {(e + 1) * 300} val_acc {.3 + e / 9000:.4f}', flush=True)\n";
    let options = OPTIONS.replace("p.add_argument('--epochs', type=int, default=6)", "");
    std::fs::write(folder.path().join("train.py"), format!("{options}{body}")).unwrap();
    let words = ["init", "--yes", "--seconds", "3", "--", "python3", "train.py"];
    let init = foretell(folder.path(), &words).output().unwrap();
    assert_eq!(init.status.code(), Some(0), "{}", text(&init.stderr));
    let study = std::fs::read_to_string(folder.path().join("study.toml")).unwrap();
    assert!(!study.contains("\nepochs = ") && study.contains("\n# epochs = "), "{study}");
    assert!(study.contains("the first trial shows it"), "{study}");
}
