//! Searches under control: restarts with other settings, damaged logs, kills, limits, and the commands about studies.

mod common;

use common::{foretell, json, records, text};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);
/// Six epochs whose last value depends on the parameter.
const SCRIPT: &str = "for e in 1 2 3 4 5 6; do echo \"val_acc=$(echo \"{lr} $e\" | awk '{{print $1 * (1 - 0.5 ^ $2)}}')\"; done";

/// A search of `script` in `folder`, kept in `study`.
fn search(folder: &Path, more: &[&str], script: &str) -> Command {
    let start =
        ["search", "--param", "lr=log:0.01:1", "--metric", "val_acc", "--epochs", "6", "--workers", "1"];
    let rest = ["--out", "study", "--format", "json"];
    foretell(folder, &[&start[..], &rest, more, &["--", "sh", "-c", script]].concat())
}

fn output(command: &mut Command, code: i32) -> (Output, String) {
    let output = command.output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    (output, said)
}

/// A folder with a finished study of `trials` trials, none of them stopped.
fn finished(trials: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    output(&mut search(folder.path(), &["--trials", trials, "--no-stopping"], SCRIPT), 0);
    folder
}

fn lines(folder: &Path) -> Vec<String> {
    let log = std::fs::read_to_string(folder.join("study/events.jsonl")).unwrap();
    log.lines().map(str::to_owned).collect()
}

fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_there() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

fn signal(pid: &str, signal: &str) {
    assert!(Command::new("kill").args([signal, pid]).status().unwrap().success());
}

#[test]
fn every_line_has_its_number_and_time_and_the_result_says_how_long_it_took() {
    let folder = finished("2");
    for (line, number) in lines(folder.path()).iter().zip(1..) {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(
            (line["v"].as_u64(), line["seq"].as_u64(), line["run"].as_u64()),
            (Some(2), Some(number), Some(1))
        );
        assert!(line["time"].as_u64().unwrap() > 1_700_000_000_000);
    }
    let shown =
        json(&foretell(folder.path(), &["study", "show", "study", "--format", "json"]).output().unwrap());
    let time = &shown["time"];
    assert!(time["elapsed_seconds"].as_f64().unwrap() > 0.0, "{time}");
    assert_eq!(time["left_seconds"], 0.0);
    let table = foretell(folder.path(), &["study", "show", "study"]).output().unwrap();
    assert!(text(&table.stdout).contains("time: "), "{}", text(&table.stdout));
}

#[test]
fn doctor_names_what_is_wrong_with_a_log_and_keeps_what_is_sound() {
    let folder = finished("3");
    let log = folder.path().join("study/events.jsonl");
    let whole = lines(folder.path());
    type Harm = fn(&mut Vec<String>);
    let cases: [(&str, Harm, &str, usize); 4] = [
        (
            "a report taken out",
            |lines| drop(lines.remove(2)),
            "line 3: its sequence number is 4, but 3 is due",
            1,
        ),
        ("a line doubled", |lines| lines.insert(3, lines[2].clone()), "it is a copy of line 3", 0),
        ("two lines swapped", |lines| lines.swap(2, 3), "line 3: its sequence number is 4", 0),
        // the plan follows from each start: without the first one nothing else follows
        ("a start taken out", |lines| drop(lines.remove(1)), "which was never started", 24),
    ];
    for (what, damage, expected, lost) in cases {
        let mut damaged = whole.clone();
        damage(&mut damaged);
        let damaged = damaged.join("\n") + "\n";
        std::fs::write(&log, &damaged).unwrap();
        let (_, said) = output(&mut search(folder.path(), &["--trials", "3", "--no-stopping"], SCRIPT), 2);
        assert!(said.contains("--repair") && said.contains("events.jsonl, line"), "{what}: {said}");
        let doctor = |more: &[&str]| foretell(folder.path(), &[&["study", "doctor", "study"], more].concat());
        let (found, _) = output(&mut doctor(&[]), 2);
        assert!(text(&found.stdout).contains(expected), "{what}: {}", text(&found.stdout));
        assert_eq!(std::fs::read_to_string(&log).unwrap(), damaged, "{what}: it was only looked at");
        let repaired = json(&doctor(&["--repair", "--format", "json"]).output().unwrap());
        let aside = repaired["repair"]["damaged"].as_str().unwrap();
        assert_eq!(std::fs::read_to_string(aside).unwrap(), damaged, "{what}: nothing is lost");
        assert_eq!(
            repaired["repair"]["kept"].as_u64(),
            Some((whole.len() - lost) as u64),
            "{what}: {repaired}"
        );
        if lost == 0 {
            assert_eq!(lines(folder.path()), whole, "{what}");
        }
        let (healthy, _) = output(&mut doctor(&["--repair"]), 0);
        assert!(text(&healthy.stdout).contains("the log is sound"), "{what}");
        std::fs::remove_file(aside).unwrap();
    }
}

#[test]
fn stop_settings_change_between_restarts_and_the_log_says_from_where() {
    let folder = finished("3");
    let more = ["--trials", "6", "--policy", "median", "--burn-in", "2"];
    let (_, said) = output(&mut search(folder.path(), &more, SCRIPT), 0);
    assert!(
        said.contains("from trial 3 on:") && said.contains("policy is \"none\" there and \"median\" here"),
        "{said}"
    );
    let log = records(folder.path());
    let place = log.iter().position(|record| record["event"] == "changed").unwrap();
    assert_eq!(log[place]["settings"]["policy"], "median");
    assert_eq!(log[place]["settings"]["trials"], 6);
    let decided = |records: &[Value]| records.iter().filter(|record| record["event"] == "decided").count();
    assert_eq!(decided(&log[..place]), 0, "nothing was decided before");
    assert!(decided(&log[place..]) > 0, "the median rule decides");
    let again = lines(folder.path());
    output(&mut search(folder.path(), &more, SCRIPT), 0);
    assert_eq!(lines(folder.path()), again, "the same command changes nothing");
    let listed = json(&foretell(folder.path(), &["study", "ls", ".", "--format", "json"]).output().unwrap());
    assert_eq!(listed["studies"][0]["done"], true, "the last total counts");
}

#[test]
fn what_may_not_change_is_refused_by_its_name_and_with_the_trials_in_conflict() {
    let folder = finished("3");
    let before = lines(folder.path());
    let start =
        ["search", "--param", "lr=log:0.5:1", "--metric", "val_acc", "--epochs", "6", "--trials", "3"];
    let rest = ["--seed", "7", "--no-stopping", "--out", "study", "--", "sh", "-c", SCRIPT];
    let (_, said) = output(&mut foretell(folder.path(), &[&start[..], &rest].concat()), 2);
    for part in ["seed is 0 there and 7 here", "space (--param", "trials 0", "would not be in the space"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(lines(folder.path()), before);
}

#[test]
fn a_log_that_is_deleted_under_a_search_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let script = "echo val_acc={lr}; rm -r study; sleep 0.2; echo val_acc={lr}; sleep 30";
    let begun = Instant::now();
    let (_, said) = output(&mut search(folder.path(), &["--trials", "2"], script), 1);
    assert!(said.contains("events.jsonl was deleted while it was written"), "{said}");
    assert!(begun.elapsed() < Duration::from_secs(25), "it does not wait for the trial");
}

#[test]
fn limits_of_time_count_earlier_runs() {
    let folder = tempfile::tempdir().unwrap();
    let script = "for e in 1 2 3 4 5 6; do echo val_acc={lr}; sleep 0.3; done";
    let limited = ["--trials", "40", "--no-stopping", "--max-time", "1s"];
    let (_, said) = output(&mut search(folder.path(), &limited, script), 0);
    assert!(said.contains("--max-time is reached"), "{said}");
    let begun = Instant::now();
    let started = |records: &[Value]| records.iter().filter(|record| record["event"] == "started").count();
    let before = started(&records(folder.path()));
    output(&mut search(folder.path(), &limited, script), 0);
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert!(started(&records(folder.path())) <= before + 1, "the second was spent already");
}

#[test]
fn children_die_with_a_search_that_is_killed_also_those_in_sessions_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let script = "setsid sleep 600 & echo $! > session; sleep 601 & echo $! > child; echo $$ > leader; \
                  trap '' TERM; while :; do sleep 1; done";
    let mut running = search(folder.path(), &["--trials", "1"], script)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid =
        |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap_or_default().trim().to_owned();
    wait_for("the script writes its processes", || !pid("leader").is_empty());
    let own = ["session", "child", "leader"].map(pid);
    running.kill().unwrap();
    running.wait().unwrap();
    for pid in own {
        wait_for(&format!("process {pid} is gone"), || !runs(&pid));
    }
}

#[test]
fn what_left_the_trials_group_is_ended_with_the_trial() {
    let folder = tempfile::tempdir().unwrap();
    let script = "setsid sh -c 'echo $$ > daemon; exec sleep 600' & while [ ! -s daemon ]; do sleep 0.05; done; \
                  echo val_acc={lr}";
    output(&mut search(folder.path(), &["--trials", "1", "--no-stopping"], script), 0);
    let daemon = std::fs::read_to_string(folder.path().join("daemon")).unwrap();
    assert!(!runs(daemon.trim()), "the daemon was ended before the trial counted as ended");
}

#[test]
fn an_interrupted_search_exits_with_130_and_a_terminated_one_with_143() {
    for (name, code) in [("-INT", 130), ("-TERM", 143)] {
        let folder = tempfile::tempdir().unwrap();
        let running = search(folder.path(), &["--trials", "1"], "echo val_acc={lr}; touch ready; sleep 600")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_for("the trial runs", || folder.path().join("ready").exists());
        signal(&running.id().to_string(), name);
        let output = running.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("the same command goes on"), "{}", text(&output.stderr));
    }
}

#[test]
fn a_diverged_trial_is_no_saving() {
    let folder = tempfile::tempdir().unwrap();
    let script = "for e in 1 2 3 4 5 6; do echo val_acc=nan {lr}; done";
    let result = search(folder.path(), &["--trials", "2", "--burn-in", "1"], script).output().unwrap();
    let result: Value = serde_json::from_slice(&result.stdout).unwrap();
    assert_eq!(result["epochs"]["spent"], result["epochs"]["without_stopping"], "{result}");
    assert_eq!(result["time"]["saved_seconds"], 0.0, "{result}");
}

#[test]
fn trainings_that_end_before_epochs_are_noticed_with_what_to_write() {
    let folder = tempfile::tempdir().unwrap();
    let script = "for e in 1 2 3; do echo val_acc={lr}; done";
    let (_, said) = output(&mut search(folder.path(), &["--trials", "3", "--no-stopping"], script), 0);
    assert_eq!(
        said.matches("ended by themselves after epoch 3, before --epochs 6: write --epochs 3").count(),
        1,
        "{said}"
    );
    let folder = tempfile::tempdir().unwrap();
    let (_, said) = output(&mut search(folder.path(), &["--trials", "3", "--no-stopping"], SCRIPT), 0);
    assert!(!said.contains("ended by themselves"), "{said}");
}

#[test]
fn without_a_terminal_a_line_says_now_and_then_how_far_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let script = "echo val_acc={lr}; sleep 1; echo val_acc={lr}";
    let more = ["--trials", "1", "--no-stopping", "--heartbeat", "0.3s"];
    let (_, said) = output(&mut search(folder.path(), &more, script), 0);
    assert!(said.contains("searching: 0 of 1 trials ended, 1 running; best –"), "{said}");
    assert!(!said.contains('\u{1b}'), "no colours without a terminal: {said}");
}

#[test]
fn the_best_are_named_with_their_parameters_and_failures_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let script = &format!("if [ $FORETELL_TRIAL = 2 ]; then exit 3; fi; {SCRIPT}");
    output(&mut search(folder.path(), &["--trials", "8", "--no-stopping"], script), 0);
    let show = |more: &[&str]| {
        let shown = foretell(folder.path(), &[&["study", "show", "study"], more].concat()).output().unwrap();
        text(&shown.stdout)
    };
    assert!(show(&[]).contains("the 5 best\n trial  val_acc  lr"), "{}", show(&[]));
    let top = show(&["--top", "3"]);
    assert_eq!(top.lines().count(), 5, "{top}");
    let leaders: Value = serde_json::from_str(&show(&["--top", "3", "--format", "json"])).unwrap();
    let scores: Vec<f64> =
        leaders["top"].as_array().unwrap().iter().map(|it| it["score"].as_f64().unwrap()).collect();
    assert!(scores.len() == 3 && scores[0] >= scores[1] && scores[1] >= scores[2], "{scores:?}");
    assert_eq!(leaders["best"]["trial"], leaders["top"][0]["trial"]);
    let listed = text(&foretell(folder.path(), &["study", "ls", "."]).output().unwrap().stdout);
    assert!(listed.contains("failed"), "{listed}");
    let row: Vec<&str> = listed.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row[1..5], ["done", "8", "0", "1"], "{listed}");
}

#[test]
fn a_study_is_drawn_and_removed() {
    let folder = finished("3");
    let drawn = foretell(folder.path(), &["study", "plot", "study"]).output().unwrap();
    assert!(drawn.status.success(), "{}", text(&drawn.stderr));
    let svg = std::fs::read_to_string(folder.path().join("study/curves.svg")).unwrap();
    assert!(svg.contains(">study<"), "the study's name is the title");
    let (_, said) = output(&mut foretell(folder.path(), &["study", "rm", "study"]), 2);
    assert!(said.contains("3 trials, 18 epochs") && said.contains("--yes"), "{said}");
    assert!(folder.path().join("study/events.jsonl").exists());
    std::fs::write(folder.path().join("study/notes.txt"), "mine").unwrap();
    let (_, said) = output(&mut foretell(folder.path(), &["study", "rm", "study", "--yes"]), 0);
    assert!(said.contains("other files"), "{said}");
    let left: Vec<_> = std::fs::read_dir(folder.path().join("study")).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    let (_, said) = output(&mut foretell(folder.path(), &["study", "rm", "study", "--yes"]), 2);
    assert!(said.contains("there is no study"), "{said}");
}

#[test]
fn a_study_that_runs_is_not_removed() {
    let folder = tempfile::tempdir().unwrap();
    let mut running = search(folder.path(), &["--trials", "1"], "echo val_acc={lr}; touch ready; sleep 600")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for("the trial runs", || folder.path().join("ready").exists());
    let (_, said) = output(&mut foretell(folder.path(), &["study", "rm", "study", "--yes"]), 2);
    assert!(said.contains(&format!("process {}", running.id())), "{said}");
    signal(&running.id().to_string(), "-TERM");
    running.wait().unwrap();
}

#[test]
fn old_logs_become_curves_that_a_search_learns_from() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("logs");
    std::fs::create_dir(&logs).unwrap();
    for (number, lr) in [0.1, 0.2, 0.3, 0.4].into_iter().enumerate() {
        let epochs = (1..=6)
            .map(|epoch| format!("Epoch {epoch}/6 loss: 1.0 val_acc: {:.4}\n", lr * epoch as f64 / 6.0));
        std::fs::write(logs.join(format!("run{number}_lr={lr}.log")), epochs.collect::<String>()).unwrap();
    }
    let files: Vec<String> =
        (0..4).map(|n| format!("logs/run{n}_lr={}.log", [0.1, 0.2, 0.3, 0.4][n])).collect();
    let words: Vec<&str> = ["import"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let (done, said) = output(&mut foretell(folder.path(), &words), 0);
    assert!(said.contains("taken to be `val_acc`"), "{said}");
    assert!(
        text(&done.stdout).contains("4 runs with 24 values of val_acc (larger is better) and settings lr"),
        "{}",
        text(&done.stdout)
    );
    let curves = std::fs::read_to_string(folder.path().join("curves.jsonl")).unwrap();
    let first: Value = serde_json::from_str(curves.lines().next().unwrap()).unwrap();
    assert_eq!((first["configuration"]["lr"].as_f64(), first["values"][5].as_f64()), (Some(0.1), Some(0.1)));
    let (_, said) = output(&mut foretell(folder.path(), &words), 2);
    assert!(said.contains("--force"), "{said}");
    let result = search(folder.path(), &["--trials", "3", "--learn-from", "curves.jsonl"], SCRIPT);
    let result = json(&{ result }.output().unwrap());
    assert!(result["decisions_to_stop"].is_number(), "{result}");
    let table = folder.path().join("table.csv");
    std::fs::write(&table, "lr,acc_1,acc_2\n0.1,0.5,0.6\n0.2,0.4,0.7\n").unwrap();
    let (done, _) = output(&mut foretell(folder.path(), &["import", "table.csv", "--out", "table.jsonl"]), 0);
    assert!(text(&done.stdout).starts_with("2 runs with 4 values"), "{}", text(&done.stdout));
    std::fs::write(folder.path().join("nothing.log"), "hello\n").unwrap();
    let (_, said) = output(
        &mut foretell(folder.path(), &["import", "nothing.log", "--metric", "acc", "--out", "x.jsonl"]),
        2,
    );
    assert!(said.contains("no line gives a value by --metric 'acc'"), "{said}");
    let (_, said) = output(&mut foretell(folder.path(), &["import", "missing.csv", "--out", "x.jsonl"]), 2);
    assert!(said.contains("no such file"), "{said}");
    assert!(!folder.path().join("x.jsonl").exists());
}
