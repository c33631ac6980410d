//! `foretell search` with rungs, Q-learning and runs handed in: real processes that pause and resume from checkpoints.

mod common;

use common::{foretell, json, records, text};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Rises toward a top that depends on the learning rate, or on how many convolutions a network has. Keeps its epoch in a
/// checkpoint and continues from there. With AGAIN it reports the epochs before once more, since the last reports before a kill may not
/// have been heard, and these count again. Writes each epoch that it trains into `trained`, and pauses after FORETELL_UNTIL.
const TRAINER: &str = r#"
report() {
  awk -v top=$top -v t=$epoch 'BEGIN { printf "{\"foretell\":{\"step\":%d,\"val_acc\":%.6f}}\n", t, top * (1 - exp(-t / 3)) }'
}
epoch=0
case "$1" in
  \[*) top=$(echo "$1" | awk '{ n = gsub(/C\(/, ""); f = gsub(/F\(/, ""); print 0.4 + 0.05 * (n - f) }') ;;
  *) top=$(awk -v lr="$1" 'BEGIN { d = log(lr) / log(10) + 2; if (d < 0) d = -d; print 0.9 - 0.2 * d }') ;;
esac
if [ -n "$FORETELL_RESUME_FROM" ]; then
  reached=$(cat "$FORETELL_RESUME_FROM/epoch")
  [ -n "$AGAIN" ] || epoch=$reached
  while [ $epoch -lt $reached ]; do epoch=$((epoch + 1)); report; done
fi
while [ $epoch -lt $FORETELL_UNTIL ]; do
  epoch=$((epoch + 1))
  sleep 0.015
  echo "$FORETELL_TRIAL $epoch" >> trained
  echo $epoch > "$FORETELL_CHECKPOINT_DIR/draft" && mv "$FORETELL_CHECKPOINT_DIR/draft" "$FORETELL_CHECKPOINT_DIR/epoch"
  report
done
"#;

/// A study of [`TRAINER`] kept in `study`, with the flags `more`, one trial at a time.
fn search(folder: &Path, more: &[&str]) -> Command {
    parallel_search(folder, "1", more)
}

fn parallel_search(folder: &Path, workers: &str, more: &[&str]) -> Command {
    search_with(TRAINER, folder, workers, more)
}

fn search_with(trainer: &str, folder: &Path, workers: &str, more: &[&str]) -> Command {
    std::fs::write(folder.join("train.sh"), trainer).unwrap();
    let common = ["search", "--workers", workers, "--seed", "5", "--out", "study"];
    let mut arguments = [common.as_slice(), &["--metric", "val_acc", "--format", "json"]].concat();
    if !more.contains(&"--policy") && (!more.contains(&"--scheduler") || more.contains(&"f-hyperband")) {
        arguments.extend(["--policy", "srm", "--predictor", "ridge"]);
    }
    arguments.extend(more);
    let placeholder = if more.contains(&"--space") { "{net}" } else { "{lr}" };
    arguments.extend(["--", "sh", "train.sh", placeholder]);
    foretell(folder, &arguments)
}

const LEARNING_RATE: [&str; 2] = ["--param", "lr=log:1e-4:1"];
const F_HYPERBAND: [&str; 10] =
    ["--sampler", "random", "--scheduler", "f-hyperband", "--epochs", "9", "--runs", "4", "--burn-in", "10"];
const Q_LEARNING: [&str; 12] = [
    "--space",
    "metaqnn",
    "--width",
    "0.05",
    "--sampler",
    "q-learning",
    "--trials",
    "40",
    "--epochs",
    "8",
    "--burn-in",
    "10",
];

/// The records of the log that are of the given events.
fn records_of(folder: &Path, events: &[&str]) -> Vec<Value> {
    let wanted = |record: &Value| events.contains(&record["event"].as_str().unwrap());
    records(folder).into_iter().filter(wanted).collect()
}

/// How often each (trial, epoch) was trained, by the trials' own account.
fn training_counts(folder: &Path) -> BTreeMap<String, usize> {
    let mut epochs = BTreeMap::new();
    for line in std::fs::read_to_string(folder.join("trained")).unwrap().lines() {
        *epochs.entry(line.to_owned()).or_default() += 1;
    }
    epochs
}

#[test]
fn hyperband_pauses_trials_at_rungs_and_trains_no_epoch_twice() {
    let folder = tempfile::tempdir().unwrap();
    let plain = ["--sampler", "random", "--scheduler", "hyperband", "--epochs", "9", "--runs", "2"];
    let result = json(&search(folder.path(), &[&LEARNING_RATE[..], &plain].concat()).output().unwrap());
    // R = 9, η = 3: 9@1 3@3 1@9, 5@3 1@9, 3@9 is 78 epochs for 17 trials, with resume 9+6+6 + 15+6 + 27
    assert_eq!((&result["scheduler"], &result["sampler"]), (&"hyperband".into(), &"random".into()));
    assert_eq!(result["trials"]["total"], 34);
    assert_eq!(result["trials"]["completed"], 10);
    assert_eq!(result["trials"]["paused"], 24);
    assert_eq!(result["epochs"]["spent"], 2 * 69);
    assert_eq!(result["epochs"]["from_scratch"], 2 * 78);
    assert_eq!(result["epochs"]["full_training"], 34 * 9);
    let epochs = training_counts(folder.path());
    assert_eq!(epochs.len(), 138);
    assert!(epochs.values().all(|&times| times == 1), "{epochs:?}");
    let checkpoints =
        |trial: u64| folder.path().join(format!("study/trials/{trial:04}/checkpoints")).exists();
    let kept: Vec<u64> = (0..34).filter(|&trial| checkpoints(trial)).collect();
    assert_eq!(kept, [result["best"]["trial"].as_u64().unwrap()], "only the best keeps its checkpoints");
}

#[test]
fn f_hyperband_stops_inside_the_rungs_and_asha_needs_no_waiting() {
    let (plain, stopping, asha) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let hyperband = ["--sampler", "random", "--scheduler", "hyperband", "--epochs", "9", "--runs", "4"];
    let all = json(&search(plain.path(), &[&LEARNING_RATE[..], &hyperband].concat()).output().unwrap());
    let some = json(&search(stopping.path(), &[&LEARNING_RATE[..], &F_HYPERBAND].concat()).output().unwrap());
    assert_eq!(some["epochs"]["without_stopping"], all["epochs"]["spent"]);
    assert!(some["speedup"].as_f64().unwrap() > 1.05, "{}", some["epochs"]);
    let lost = all["best"]["score"].as_f64().unwrap() - some["best"]["score"].as_f64().unwrap();
    assert!(lost < 0.02, "{lost}");
    let flags = ["--scheduler", "asha", "--epochs", "9", "--trials", "18"];
    let flags = [&LEARNING_RATE[..], &flags].concat();
    let result = json(&parallel_search(asha.path(), "3", &flags).output().unwrap());
    assert_eq!(result["trials"]["total"], 18);
    assert!(result["trials"]["completed"].as_u64().unwrap() >= 2, "{}", result["trials"]);
    assert!(training_counts(asha.path()).values().all(|&times| times == 1));
}

#[test]
fn a_trial_that_is_promoted_while_its_stopped_process_still_ends_waits_for_it() {
    let folder = tempfile::tempdir().unwrap();
    // lines printed after the signal are not the promoted trial's
    let late = r#"{"foretell":{"step":9,"val_acc":0.999}}"#;
    let slow_to_end = format!("trap 'sleep 0.4; echo '\\''{late}'\\''; exit 0' TERM\n{TRAINER}");
    let bold = ["--kappa", "0.5"];
    let flags = [&LEARNING_RATE[..], &F_HYPERBAND, &bold].concat();
    let result = json(&search_with(&slow_to_end, folder.path(), "6", &flags).output().unwrap());
    assert_eq!((&result["trials"]["total"], &result["trials"]["failed"]), (&68.into(), &0.into()));
    assert!(result["trials"]["stopped"].as_u64().unwrap() > 5, "{}", result["trials"]);
    assert!(result["best"]["score"].as_f64().unwrap() < 0.9, "{}", result["best"]);
}

#[test]
fn a_trial_that_pauses_without_its_report_is_told_to_report_there() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--scheduler", "hyperband", "--epochs", "9"];
    let every_fifth =
        "if [ $FORETELL_UNTIL -ge 5 ]; then echo '{\"foretell\":{\"step\":5,\"val_acc\":0.5}}'; fi";
    let command = search_with(every_fifth, folder.path(), "1", &[&LEARNING_RATE[..], &flags].concat());
    let said = text(&{ command }.output().unwrap().stderr);
    assert!(said.contains("it was to pause after epoch 1, and must have reported until then"), "{said}");
}

#[test]
fn fewer_trials_than_the_burn_in_of_the_study_that_goes_on_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let sizes = |trials| ["--epochs", "9", "--trials", trials];
    let begin = [&LEARNING_RATE[..], &sizes("30"), &["--burn-in", "10"]].concat();
    let mut begun = search(folder.path(), &begin).stderr(Stdio::null()).spawn().unwrap();
    let log = folder.path().join("study/events.jsonl");
    while !std::fs::read_to_string(&log).is_ok_and(|log| log.contains("reported")) {
        std::thread::sleep(Duration::from_millis(5));
    }
    begun.kill().unwrap();
    begun.wait().unwrap();
    let output = search(folder.path(), &[&LEARNING_RATE[..], &sizes("8")].concat()).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("burn-in of 10 is larger than the study's 8 trials"), "{said}");
}

#[test]
fn q_learning_over_ones_own_command_learns_draws_its_figure_and_keeps_its_table() {
    let folder = tempfile::tempdir().unwrap();
    let flags = [&Q_LEARNING[..], &["--plot", "q.svg"]].concat();
    let result = json(&search(folder.path(), &flags).output().unwrap());
    assert_eq!(result["trials"]["total"], 40);
    assert!(result["trials"]["stopped"].as_u64().unwrap() > 5, "{}", result["trials"]);
    let nets: BTreeSet<String> = records_of(folder.path(), &["started"])
        .iter()
        .map(|r| r["configuration"]["net"].to_string())
        .collect();
    assert_eq!(nets.len(), 40, "a network is trained twice");
    let figure = std::fs::read_to_string(folder.path().join("q.svg")).unwrap();
    assert!(figure.contains("Q-learning: study") && figure.contains("ε = 1"), "{figure}");
    let table = std::fs::read_to_string(folder.path().join("study/q_table.json")).unwrap();
    let table: Value = serde_json::from_str(&table).unwrap();
    let kinds: Vec<&str> =
        table["replay"].as_array().unwrap().iter().map(|r| r["reward"]["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"measured") && kinds.contains(&"forecast"), "{kinds:?}");
}

#[test]
fn a_q_learning_study_can_be_prolonged_without_a_change_of_its_schedule() {
    let folder = tempfile::tempdir().unwrap();
    json(&search(folder.path(), &Q_LEARNING).output().unwrap());
    let before = records_of(folder.path(), &["started", "reported", "decided", "completed"]);
    let longer: Vec<&str> = Q_LEARNING.iter().map(|&flag| if flag == "40" { "44" } else { flag }).collect();
    let result = json(&search(folder.path(), &longer).output().unwrap());
    assert_eq!(result["trials"]["total"], 44);
    let after = records_of(folder.path(), &["started", "reported", "decided", "completed"]);
    assert_eq!(before, after[..before.len()]);
}

#[test]
fn runs_of_another_study_or_of_a_file_replace_the_burn_in() {
    let folder = tempfile::tempdir().unwrap();
    let old = ["--no-stopping", "--trials", "20", "--epochs", "9"];
    json(&search(folder.path(), &[&LEARNING_RATE[..], &old].concat()).output().unwrap());
    std::fs::rename(folder.path().join("study"), folder.path().join("old")).unwrap();
    let mut lines = String::from("lr,val_acc_1,val_acc_2,val_acc_3\n");
    for i in 0..20 {
        let top = 0.9 - 0.2 * (f64::from(i) / 5.0 - 2.03).abs();
        let lr = 10_f64.powf(-4.0 + f64::from(i) / 5.0);
        lines += &format!("{lr},{},{},{}\n", top * 0.28, top * 0.49, top * 0.63);
    }
    std::fs::write(folder.path().join("old.csv"), lines).unwrap();
    // a burn-in that the runs handed in make up for alone
    for (source, epochs) in [("old", "9"), ("old.csv", "3")] {
        let new = ["--trials", "12", "--burn-in", "20", "--epochs", epochs, "--learn-from", source];
        let output = search(folder.path(), &[&LEARNING_RATE[..], &new].concat()).output().unwrap();
        assert!(json(&output)["trials"]["stopped"].as_u64().unwrap() >= 2, "{}", text(&output.stdout));
        let said = text(&output.stderr);
        assert!(said.contains(&format!("learning from 20 runs of {source}")), "{said}");
        assert!(said.contains("stopping: after the 20 runs of --learn-from, stop a trial when"), "{said}");
        let decided = records_of(folder.path(), &["decided"]);
        assert!(decided.iter().all(|decision| decision["reason"] != "burn_in"));
        assert_eq!(records_of(folder.path(), &["warm_start"]).len(), 20);
        std::fs::remove_dir_all(folder.path().join("study")).unwrap();
    }
}

#[test]
fn runs_in_another_unit_teach_nothing() {
    let learned = |name: &str, unit: f64| {
        let mut lines = String::from("lr,val_acc_1,val_acc_2\n");
        for i in 1..=12 {
            lines += &format!("0.{i:02},{},{}\n", unit * 0.3, unit * (0.4 + 0.02 * f64::from(i)));
        }
        (name.to_owned(), lines)
    };
    for (unit, trainer, code, said) in [
        (
            1.0,
            "echo '{\"foretell\":{\"step\":1,\"val_acc\":43.5}}'",
            2,
            "val_acc 43.5, but the runs of --learn-from are between 0.3 and 0.64",
        ),
        (100.0, "echo '{\"foretell\":{\"step\":1,\"val_acc\":0.435}}'", 0, "forecasts will be wrong"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (name, lines) = learned("old.csv", unit);
        std::fs::write(folder.path().join(&name), lines).unwrap();
        let flags = ["--trials", "3", "--burn-in", "3", "--epochs", "2", "--learn-from", &name];
        let flags = [&LEARNING_RATE[..], &flags].concat();
        let output = search_with(trainer, folder.path(), "1", &flags).output().unwrap();
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{errors}");
        assert_eq!(errors.matches(said).count(), 1, "{errors}");
    }
}

#[test]
fn explain_prints_the_plan_and_runs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let flags = [&LEARNING_RATE[..], &F_HYPERBAND, &["--explain"]].concat();
    let plan = &json(&search(folder.path(), &flags).output().unwrap())["plan"];
    assert_eq!((&plan["trials"], &plan["runs"]), (&Value::from(68), &Value::from(4)));
    assert_eq!(plan["levels"], serde_json::json!([1, 3, 9]));
    assert_eq!(plan["epochs"], 4 * 69);
    assert_eq!(plan["brackets"]["brackets"][0]["rungs"][0]["configurations"], 9);
    let halving = ["--scheduler", "successive-halving", "--epochs", "9", "--trials", "12", "--explain"];
    let halving = [&LEARNING_RATE[..], &halving].concat();
    let rungs = &json(&search(folder.path(), &halving).output().unwrap())["plan"]["brackets"]["brackets"];
    assert_eq!(rungs[0]["rungs"][0]["configurations"], 12);
    let asha = ["--scheduler", "asha", "--epochs", "9", "--trials", "24", "--explain"];
    let plan = &json(&search(folder.path(), &[&LEARNING_RATE[..], &asha].concat()).output().unwrap())["plan"];
    assert_eq!((&plan["epochs"], &plan["epochs_from_scratch"]), (&216.into(), &(24 * (1 + 3 + 9)).into()));
    let q_learning = search(folder.path(), &[&Q_LEARNING[..], &["--explain"]].concat()).output().unwrap();
    assert_eq!(json(&q_learning)["plan"]["epochs"], 320);
    assert!(!folder.path().join("study").exists() && !folder.path().join("trained").exists());
}

#[test]
fn bad_plans_are_one_clear_error_and_exit_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let cases: &[(&[&str], &[&str])] = &[
        (&["--scheduler", "hyperband", "--epochs", "9", "--eta", "1"], &["eta", "1"]),
        (&["--scheduler", "asha", "--epochs", "2"], &["2", "eta"]),
        (&["--scheduler", "f-hyperband", "--epochs", "9", "--kappa", "0"], &["kappa = 0", "(0, 1]"]),
        (&["--scheduler", "f-hyperband", "--epochs", "9", "--kappa", "1.5"], &["kappa = 1.5"]),
        (&["--scheduler", "hyperband", "--epochs", "9", "--runs", "0"], &["runs is 0"]),
        (&["--scheduler", "hyperband", "--epochs", "9", "--trials", "20"], &["17 per run", "--runs"]),
        (&["--scheduler", "f-hyperband", "--epochs", "9", "--burn-in", "18"], &["burn-in of 18", "17"]),
        (&["--sampler", "q-learning", "--epochs", "9"], &["q-learning", "metaqnn"]),
        (&["--epochs", "9", "--exempt", "1"], &["exempt fraction 1"]),
        (&["--epochs", "9", "--refit", "0.5"], &["refit factor 0.5"]),
        (&["--epochs", "9", "--policy", "patience", "--patience", "0"], &["patience is 0"]),
        (&["--epochs", "9", "--learn-from", "nowhere.csv"], &["nowhere.csv"]),
        (&["--epochs", "9", "--plot", "nowhere/a.svg"], &["there is no folder nowhere"]),
        (&["--epochs", "9", "--learn-from", "short.csv"], &["short.csv", "epoch 9"]),
        (&["--epochs", "3", "--learn-from", "other.csv"], &["other.csv", "`lr`"]),
        (
            &["--epochs", "2", "--learn-from", "text.csv"],
            &["text.csv", "`lr` of run", "`oops`, but this study searches numbers"],
        ),
    ];
    std::fs::write(folder.path().join("short.csv"), "lr,acc_1,acc_2\n0.1,0.2,0.3\n0.2,0.3,0.4\n").unwrap();
    std::fs::write(folder.path().join("text.csv"), "lr,acc_1,acc_2\n0.1,0.2,0.3\noops,0.3,0.4\n").unwrap();
    let other = "momentum,acc_1,acc_2,acc_3\n0.1,0.2,0.3,0.4\n0.2,0.3,0.4,0.5\n";
    std::fs::write(folder.path().join("other.csv"), other).unwrap();
    for (flags, expected) in cases {
        let output = search(folder.path(), &[&LEARNING_RATE[..], flags].concat()).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {said}");
        for part in *expected {
            assert!(said.contains(part), "{flags:?}: `{part}` is not in: {said}");
        }
        assert!(output.stdout.is_empty() && !folder.path().join("trained").exists(), "{flags:?}");
    }
    let both =
        search(folder.path(), &[&LEARNING_RATE[..], &["--space", "metaqnn", "--epochs", "3"]].concat());
    let said = text(&{ both }.output().unwrap().stderr);
    assert!(said.contains("networks or parameters, not both"), "{said}");
}

/// The records of a kind, by trial, without those that depend on how far a process trains while it is being stopped: reports after
/// the last stop, and decisions to continue at epochs of a rung in which the trial was stopped.
///
/// Only the first report of each epoch counts: a trial that resumes with AGAIN repeats earlier ones.
fn counted_records(folder: &Path, kind: &str) -> Vec<Value> {
    let all = records_of(folder, &["started", "decided", "reported", "paused", "completed", "failed"]);
    let trial_of = |record: &Value| record["trial"].as_u64().unwrap();
    let started = |(_, record): &(usize, &Value)| record["event"] == "started";
    let last_start: BTreeMap<u64, usize> =
        all.iter().enumerate().filter(started).map(|(at, record)| (trial_of(record), at)).collect();
    let (mut until, mut stopped_in, mut heard) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
    let mut kept = Vec::new();
    for (at, record) in all.iter().enumerate() {
        let (trial, step) = (trial_of(record), record["step"].as_u64());
        let counts = match record["event"].as_str().unwrap() {
            "started" => {
                until.insert(trial, record["until"].as_u64());
                true
            }
            "decided" if record["action"] == "stop" => {
                stopped_in.insert(trial, (until[&trial], at));
                true
            }
            "decided" => stopped_in.get(&trial).is_none_or(|&(rung, _)| step > rung),
            "reported" => {
                let is_being_stopped = |&(_, stop): &(_, usize)| stop > last_start[&trial];
                !stopped_in.get(&trial).is_some_and(is_being_stopped) && heard.insert((trial, step))
            }
            _ => true,
        };
        if counts && record["event"] == kind {
            kept.push(record.clone());
        }
    }
    kept.sort_by_key(trial_of);
    kept
}

/// Kills the search `kills` times, each time a few records further on, at an irregular moment; then lets it finish.
/// Everything it decided must be as if nothing had happened.
fn kill_often(flags: &[&str], kills: u64) {
    let (calm, wild) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let undisturbed = json(&search(calm.path(), flags).env("AGAIN", "1").output().unwrap());
    let log = wild.path().join("study/events.jsonl");
    let written = || std::fs::read_to_string(&log).map_or(0, |text| text.lines().count() as u64);
    for kill in 0..kills {
        let said = std::fs::File::create(wild.path().join("said")).unwrap();
        let mut child =
            search(wild.path(), flags).env("AGAIN", "1").stdout(Stdio::null()).stderr(said).spawn().unwrap();
        let enough = written() + 1 + kill * 7919 % 3;
        while written() < enough && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(kill * 104_729 % 4));
        if let Some(status) = child.try_wait().unwrap() {
            let said = std::fs::read_to_string(wild.path().join("said")).unwrap();
            panic!("the search was over before kill {kill}, {status}: {said}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let survived = json(&search(wild.path(), flags).env("AGAIN", "1").output().unwrap());
    for event in ["reported", "decided", "paused", "completed", "failed"] {
        // not assert_eq, which would print hundreds of records
        let (mut expected, found) =
            (counted_records(calm.path(), event), counted_records(wild.path(), event));
        // a kill between a report and the decision to continue loses that decision, and nothing depends on it
        let decided: BTreeSet<String> =
            found.iter().map(|r| format!("{} {}", r["trial"], r["step"])).collect();
        expected.retain(|r| {
            r["action"] != "continue" || decided.contains(&format!("{} {}", r["trial"], r["step"]))
        });
        if let Some(at) = (0..expected.len().max(found.len())).find(|&at| expected.get(at) != found.get(at)) {
            let (expected, found) = (expected.get(at), found.get(at));
            panic!("other `{event}` records; the first is {found:?}, expected {expected:?}");
        }
    }
    let jobs = |folder: &Path| -> BTreeSet<(u64, u64, String)> {
        let started = records_of(folder, &["started"]);
        let job = |r: &Value| {
            (r["trial"].as_u64().unwrap(), r["until"].as_u64().unwrap(), r["configuration"].to_string())
        };
        started.iter().map(job).collect()
    };
    assert_eq!(jobs(calm.path()), jobs(wild.path()), "rungs");
    let table = |folder: &Path| std::fs::read_to_string(folder.join("study/q_table.json")).ok();
    assert!(table(calm.path()) == table(wild.path()), "another Q-table");
    // how far a process trains while it is being stopped differs from time to time
    let timeless = |mut result: Value| {
        result
            .as_object_mut()
            .unwrap()
            .retain(|key, _| !["time", "epochs", "speedup"].contains(&key.as_str()));
        result
    };
    assert_eq!(timeless(survived), timeless(undisturbed));
}

#[test]
fn epochs_trained_again_for_want_of_a_checkpoint_count_and_no_trial_is_paused_any_more() {
    let forgetful: String =
        TRAINER.lines().filter(|line| !line.contains("draft")).flat_map(|line| [line, "\n"]).collect();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("train.sh"), forgetful).unwrap();
    let search = ["search", "--workers", "1", "--seed", "5", "--out", "study", "--metric", "val_acc"];
    let budget =
        ["--scheduler", "asha", "--rungs", "2", "--budget-epochs", "90", "--epochs", "9", "--format", "json"];
    let command = ["--", "sh", "train.sh", "{lr}"];
    let output =
        foretell(folder.path(), &[&search[..], &LEARNING_RATE, &budget, &command].concat()).output().unwrap();
    let (result, said) = (json(&output), text(&output.stderr));
    assert_eq!(said.matches("found no checkpoint").count(), 1, "{said}");
    let spent = result["epochs"]["spent"].as_u64().unwrap();
    let trained = std::fs::read_to_string(folder.path().join("trained")).unwrap().lines().count() as u64;
    // a trial that is stopped may begin one more epoch
    let stopped = result["trials"]["stopped"].as_u64().unwrap();
    assert!((spent..=spent + stopped).contains(&trained) && spent <= 90, "{trained} trained, {result}");
    let started = records_of(folder.path(), &["started"]);
    let again = started.iter().filter(|start| start["from"] == 0).count();
    let trials: BTreeSet<u64> = started.iter().map(|start| start["trial"].as_u64().unwrap()).collect();
    assert_eq!(again, trials.len() + 1, "one trial began twice: {started:?}");
}

#[test]
fn a_trial_that_the_budget_left_paused_is_described_so() {
    let folder = tempfile::tempdir().unwrap();
    let asha = ["--scheduler", "asha", "--rungs", "2", "--budget-epochs", "40", "--epochs", "9"];
    search(folder.path(), &[&LEARNING_RATE[..], &asha].concat()).output().unwrap();
    let paused = records_of(folder.path(), &["paused"]);
    let trial = paused.last().expect("one is paused")["trial"].to_string();
    let shown = foretell(folder.path(), &["study", "show", "study", &trial]).output().unwrap();
    assert!(text(&shown.stdout).contains(": paused, budget spent, after"), "{}", text(&shown.stdout));
}

#[test]
fn a_promoted_trial_keeps_the_epochs_that_it_trained_after_it_was_stopped() {
    let folder = tempfile::tempdir().unwrap();
    // reports an epoch before writing its checkpoint: a signal between the two leaves no gap
    let keep = TRAINER.lines().find(|line| line.contains("draft")).unwrap();
    let trainer = TRAINER.replace(&format!("{keep}\n  report\n"), &format!("  report\n{keep}\n"));
    assert_ne!(trainer, TRAINER);
    let flags = [&LEARNING_RATE[..], &F_HYPERBAND].concat();
    search_with(&trainer, folder.path(), "1", &flags).output().unwrap();
    let starts = records_of(folder.path(), &["started"]);
    let promoted: BTreeSet<u64> =
        starts.iter().filter(|r| r["from"] != 0).map(|r| r["trial"].as_u64().unwrap()).collect();
    assert!(!promoted.is_empty());
    for trial in promoted {
        let shown =
            foretell(folder.path(), &["study", "show", "study", &trial.to_string(), "--format", "json"]);
        let steps = json(&{ shown }.output().unwrap())["steps"].as_array().unwrap().clone();
        let whole: Vec<Value> = (1..=steps.len()).map(Value::from).collect();
        assert_eq!(steps, whole, "trial {trial} has a gap");
    }
}

#[test]
fn killed_a_hundred_times_the_rungs_are_those_of_an_undisturbed_search() {
    kill_often(&[&LEARNING_RATE[..], &F_HYPERBAND].concat(), 100);
}

#[test]
fn killed_a_hundred_times_the_q_table_is_that_of_an_undisturbed_search() {
    kill_often(&Q_LEARNING, 100);
}
