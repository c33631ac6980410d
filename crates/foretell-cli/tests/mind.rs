//! Changing one's mind: a study continues with another range, sampler, length or configuration, under its name.

mod common;

use common::{foretell, json, output, text};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Epochs whose last value depends on the parameter, and another metric besides.
const SCRIPT: &str = "for e in $(seq $0); do echo \"epoch $e val_acc=$(echo \"{lr} $e\" | awk '{{print $1 * (1 - 0.5 ^ $2)}}') loss=0.$e\"; done";

/// A search called `mine`, its trainings of `epochs` epochs, `lr` in this range.
fn search(folder: &Path, range: &str, epochs: &str, more: &[&str]) -> Command {
    let range = format!("lr={range}");
    let start = ["search", "--name", "mine", "--param", &range, "--metric", "val_acc", "--epochs", epochs];
    let rest = ["--workers", "1", "--no-stopping", "--format", "json"];
    foretell(folder, &[&start[..], &rest, more, &["--", "sh", "-c", SCRIPT, epochs]].concat())
}

fn records(folder: &Path, event: &str) -> Vec<Value> {
    let log = std::fs::read_to_string(folder.join("foretell-out/mine/events.jsonl")).expect("a log");
    let all = log.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")["record"].clone());
    all.filter(|record| record["event"] == event).collect()
}

#[test]
fn another_range_sampler_and_length_go_on_in_the_same_study_and_the_log_says_from_where() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    output(&mut search(folder, "log:0.01:1", "4", &["--trials", "6", "--enqueue", "lr=0.9"]), 0);
    let narrow = ["--trials", "9", "--enqueue", "lr=0.9"];
    let (_, said) = output(&mut search(folder, "log:0.1:0.5", "4", &narrow), 0);
    let expected = "from trial 6 on: trials 9 (was 6), lr=log:0.1:0.5 (was log:0.01:1) (recorded in the log)";
    assert!(said.contains(expected) && said.contains("of 6 trials, those inside the new space"), "{said}");
    let (_, said) =
        output(&mut search(folder, "log:0.1:0.5", "4", &["--trials", "11", "--sampler", "random"]), 0);
    assert!(said.contains("from trial 9 on: sampler random (was tpe-gp), trials 11 (was 9)"), "{said}");
    let (_, said) = output(&mut search(folder, "log:0.1:0.5", "7", &["--trials", "12"]), 0);
    assert!(said.contains("epochs 7 (was 4)") && said.contains("the command sets other epochs"), "{said}");
    assert!(said.contains("--epochs 7"), "how the best goes on: {said}");
    let (_, said) = output(&mut search(folder, "log:0.1:0.5", "3", &["--trials", "12"]), 2);
    assert!(said.contains("--epochs: the existing study trains for 7 epochs"), "{said}");
    assert_eq!(records(folder, "changed").len(), 3);
    let starts = records(folder, "started");
    let lr = |trial: usize| starts[trial]["configuration"]["lr"].as_f64().expect("a number");
    assert_eq!((starts.len(), lr(0)), (12, 0.9));
    assert!((6..12).all(|trial| (0.1..=0.5).contains(&lr(trial))));
    assert_eq!((starts[10]["until"].as_u64(), starts[11]["until"].as_u64()), (Some(4), Some(7)));
    let shown = foretell(folder, &["study", "show", "foretell-out/mine", "--format", "json"]).output();
    assert_eq!(json(&shown.expect("it runs"))["trials"]["completed"], 12);
    // the best lies outside of the space as it is now, and is trained again all the same
    let again = ["study", "run", "foretell-out/mine", "--trial", "0", "--seeds", "2", "--format", "json"];
    assert_eq!(
        json(&foretell(folder, &again).output().expect("it runs"))["scores"].as_array().map(Vec::len),
        Some(2)
    );
}

#[test]
fn a_running_study_tries_what_is_enqueued_next() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let script = ": {lr} {depth}; for e in 1 2 3; do sleep 0.2; echo val_acc=0.$e; done";
    let start = ["search", "--name", "mine", "--param", "lr=log:0.01:1", "--param", "depth=int:1:4"];
    let rest =
        ["--metric", "val_acc", "--epochs", "3", "--workers", "1", "--trials", "4", "--", "sh", "-c", script];
    let mut running = foretell(folder, &[&start[..], &rest].concat());
    let running = running.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    let until = Instant::now() + Duration::from_secs(60);
    while !std::fs::read_to_string(folder.join("foretell-out/mine/events.jsonl"))
        .unwrap_or_default()
        .contains("reported")
    {
        assert!(Instant::now() < until, "a report");
        std::thread::sleep(Duration::from_millis(20));
    }
    let enqueue =
        |more: &[&str]| foretell(folder, &[&["study", "enqueue", "foretell-out/mine"], more].concat());
    let (_, said) = output(&mut enqueue(&["lr=7"]), 2);
    assert!(said.contains("lr=7: a queued trial: lr is `7`, which is outside log:0.01:1"), "{said}");
    std::fs::write(folder.join("wanted.jsonl"), "{\"lr\": 0.25}\ndepth=3,lr=0.75\n").expect("written");
    std::fs::write(folder.join("wrong.txt"), "lr=0.5\n{\"lr\": \n").expect("written");
    let (_, said) = output(&mut enqueue(&["--file", "wrong.txt"]), 2);
    assert!(said.contains("wrong.txt:2: not a JSON object"), "{said}");
    output(&mut enqueue(&["depth=2", "--file", "wanted.jsonl"]), 0);
    let finished = running.wait_with_output().expect("it ends");
    assert!(finished.status.success(), "{}", text(&finished.stderr));
    assert_eq!(records(folder, "enqueued").len(), 3);
    let starts = records(folder, "started");
    let wanted: Vec<(Option<f64>, Option<f64>)> = starts
        .iter()
        .map(|start| (start["configuration"]["lr"].as_f64(), start["configuration"]["depth"].as_f64()))
        .collect();
    assert_eq!(wanted.len(), 4);
    assert_eq!((wanted[1].1, wanted[2].0, wanted[3]), (Some(2.0), Some(0.25), (Some(0.75), Some(3.0))));
    assert!(wanted[1].0.is_some() && wanted[2].1.is_some(), "the sampler chose the rest");
    // a study that is done gets one more
    output(&mut enqueue(&["lr=0.5"]), 0);
    output(&mut foretell(folder, &[&start[..], &rest].concat()), 0);
    assert_eq!(records(folder, "started").len(), 5);
}

#[test]
fn a_search_ends_when_nothing_improves_any_more_and_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, said) = output(
        &mut search(
            folder.path(),
            "log:0.01:1",
            "3",
            &["--trials", "40", "--enqueue", "lr=1", "--until-no-improvement", "3"],
        ),
        0,
    );
    assert_eq!(records(folder.path(), "started").len(), 4, "{said}");
    let shown = foretell(folder.path(), &["study", "show", "foretell-out/mine"]).output().expect("it runs");
    let shown = text(&shown.stdout);
    assert!(shown.contains("3 trials in a row without improvement (--until-no-improvement 3)"), "{shown}");
}

#[test]
fn studies_are_named_noted_listed_and_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let named = |name: &str, range: &str, more: &[&str]| {
        let mut words =
            vec!["search", "--name", name, "--param", range, "--metric", "val_acc", "--epochs", "4"];
        words.extend(["--workers", "1", "--no-stopping", "--trials", "3"]);
        words.extend(more);
        words.extend(["--", "sh", "-c", SCRIPT, "4"]);
        output(&mut foretell(folder, &words), 0);
    };
    named("small", "lr=log:0.01:0.1", &["--note", "a first try"]);
    named("large", "lr=log:0.5:1", &[]);
    let (_, said) = output(&mut foretell(folder, &["search", "--name", "../x", "--", "true"]), 2);
    assert!(said.contains("a name consists of letters"), "{said}");
    let ls = |more: &[&str]| {
        text(&foretell(folder, &[&["study", "ls"], more].concat()).output().expect("it runs").stdout)
    };
    let place = |listing: &str, name: &str| listing.find(name).unwrap_or_else(|| panic!("{name}: {listing}"));
    let listing = ls(&[]);
    assert!(place(&listing, "/small") < place(&listing, "/large"), "by date: {listing}");
    assert!(listing.contains("a first try") && listing.contains("search --name large"), "{listing}");
    let listing = ls(&["--sort", "name"]);
    assert!(place(&listing, "/large") < place(&listing, "/small"), "{listing}");
    output(&mut foretell(folder, &["study", "note", "foretell-out/small", "too", "narrow"]), 0);
    let notes = foretell(folder, &["study", "note", "foretell-out/small"]).output().expect("it runs");
    assert_eq!(text(&notes.stdout).trim(), "a first try\ntoo narrow");
    assert!(ls(&[]).lines().any(|row| row.contains(r"a first try\ntoo narrow")), "one row: {}", ls(&[]));
    let compare = ["study", "compare", "foretell-out/small", "foretell-out/large"];
    let (compared, _) = output(&mut foretell(folder, &compare), 0);
    let said = text(&compared.stdout);
    assert!(
        said.contains("Whether B is better is unknown")
            && said.contains("study run foretell-out/small --seeds 3"),
        "{said}"
    );
    for study in ["foretell-out/small", "foretell-out/large"] {
        output(&mut foretell(folder, &["study", "run", study, "--seeds", "3"]), 0);
    }
    let answer =
        json(&foretell(folder, &[&compare[..], &["--format", "json"]].concat()).output().expect("it runs"));
    assert_eq!((answer["by"].as_str(), answer["better"].as_str()), (Some("pairs"), Some("b")), "{answer}");
}
