//! The secrets of a command stay in one file of the study, which only its owner can read.

mod common;

use common::{foretell, json, output, text};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Prints a metric, and shows by its value whether it got the secret.
const SCRIPT: &str = "test \"${{#API_TOKEN}} $0 ${{#1}}\" = '8 --api-key 8' && v=0.9 || v=0.1; for e in 1 2; do echo \"epoch $e val_acc=$v\"; done; : {lr}";

fn search(folder: &Path, secrets: [&str; 2], more: &[&str]) -> std::process::Command {
    let start =
        ["search", "--out", "study", "--param", "lr=log:0.01:1", "--metric", "val_acc", "--epochs", "2"];
    let rest = ["--workers", "1", "--no-stopping", "--seed", "1"];
    let variable = format!("API_TOKEN={}", secrets[1]);
    let command = ["--", "env", &variable, "sh", "-c", SCRIPT, "--api-key", secrets[0]];
    foretell(folder, &[&start[..], &rest, more, &command].concat())
}

/// The files below `folder` that contain `secret`.
fn files_with(folder: &Path, secret: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_with(&path, secret));
        } else if text(&std::fs::read(&path).unwrap_or_default()).contains(secret) {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found
}

#[test]
fn a_secret_is_in_one_private_file_and_nowhere_else_and_trials_get_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let (ran, said) = output(&mut search(folder, ["sesame-1", "sesame-2"], &["--trials", "2"]), 0);
    let mut shown = said + &text(&ran.stdout);
    let commands: [&[&str]; 6] = [
        &["study", "show", "study"],
        &["study", "show", "study", "0"],
        &["study", "best", "study"],
        &["study", "ls", "."],
        &["study", "export", "study", "--trials"],
        &["report", "study", "--out", "report.html"],
    ];
    for words in commands {
        let (ran, said) = output(&mut foretell(folder, words), 0);
        shown += &(said + &text(&ran.stdout));
    }
    assert!(!shown.contains("sesame"), "{shown}");
    assert!(shown.contains("--api-key '***'") && shown.contains("'API_TOKEN=***'"), "{shown}");
    assert!(shown.contains("study/secrets.json (only its owner can read it)"), "{shown}");
    assert!(shown.contains("replace *** with the secret"), "{shown}");
    for secret in ["sesame-1", "sesame-2"] {
        assert_eq!(files_with(folder, secret), ["secrets.json"]);
    }
    let mode = |name: &str| {
        std::fs::metadata(folder.join("study").join(name)).expect(name).permissions().mode() & 0o777
    };
    assert_eq!(mode("secrets.json"), 0o600);
    assert_eq!(mode("command.json") & 0o044, mode("events.jsonl") & 0o044, "all else keeps the umask");
    // the study continues by the command as it is shown, by another secret, and by `study run`
    output(&mut search(folder, ["***", "***"], &["--trials", "3"]), 0);
    let best = foretell(folder, &["study", "best", "study", "--format", "json"]).output().expect("it runs");
    assert_eq!(json(&best)["score"], 0.9);
    let again = ["study", "run", "study", "--seeds", "2", "--format", "json"];
    let scores = json(&foretell(folder, &again).output().expect("it runs"))["scores"].clone();
    assert_eq!(scores, serde_json::json!([0.9, 0.9]));
    output(&mut search(folder, ["sesame-3", "sesame-2"], &["--trials", "4"]), 0);
    assert_eq!(files_with(folder, "sesame-3"), ["secrets.json"]);
    // another user sees the study, and cannot run its command
    std::fs::remove_file(folder.join("study/secrets.json")).expect("it was there");
    let (_, said) = output(&mut foretell(folder, &again), 2);
    assert!(said.contains("secrets.json: this file has no value for `"), "{said}");
}

#[test]
fn init_keeps_a_secret_to_itself_and_leaves_nothing_when_it_is_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    std::fs::write(
        folder.join("t.sh"),
        "echo \"epoch 1 val_acc=0.1\"; echo \"epoch 2 val_acc=0.2\"; sleep $3",
    )
    .expect("it is written");
    let init = |seconds: &str| {
        let words = ["init", "--yes", "--force", "--", "sh", "t.sh", "--api-key", "sesame-1", seconds];
        let mut command = foretell(folder, &words);
        command.env("TMPDIR", temporary.path());
        command
    };
    let (_, said) = output(&mut init("0"), 0);
    assert!(!said.contains("sesame") && said.contains("contains a secret"), "{said}");
    let file = std::fs::metadata(folder.join("study.toml")).expect("a study file");
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    let left = || std::fs::read_dir(temporary.path()).expect("a folder").count();
    assert_eq!(left(), 0);
    let mut child = init("600").stderr(std::process::Stdio::null()).spawn().expect("it starts");
    common::wait_for("a folder of the run", || left() > 0);
    let run =
        std::fs::read_dir(temporary.path()).expect("a folder").flatten().next().expect("the run").path();
    assert_eq!(run.metadata().expect("a folder").permissions().mode() & 0o777, 0o700);
    common::wait_for("the start of the program", || run.join("trials/0000/output.log").exists());
    child.kill().expect("it is killed");
    child.wait().expect("it ends");
    common::wait_for("the removal of the folder", || left() == 0);
}
