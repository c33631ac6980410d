//! `foretell search` as a user runs it: the program itself, real trial processes, kills and restarts.

mod common;

use common::{foretell, json, records, text};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// A training that rises toward a top which depends on the learning rate; one line an epoch.
const TRAINER: &str = r#"
epoch=1
while [ $epoch -le $FORETELL_MAX_RESOURCE ]; do
  sleep 0.01
  awk -v lr="$1" -v t=$epoch 'BEGIN {
    distance = log(lr) / log(10) + 2; if (distance < 0) distance = -distance
    printf "epoch %d val_acc=%.6f\n", t, (0.9 - 0.2 * distance) * (1 - exp(-t / 3))
  }'
  epoch=$((epoch + 1))
done
"#;

/// A study of `trials` trials of `epochs` epochs of [`TRAINER`], kept in `study`.
fn sized_search(folder: &Path, trials: &str, epochs: &str, more: &[&str]) -> Command {
    std::fs::write(folder.join("train.sh"), TRAINER).unwrap();
    let mut arguments = vec!["search", "--param", "lr=log:1e-4:1", "--metric", r"val_acc=([\d.]+)"];
    arguments.extend([
        "--epochs",
        epochs,
        "--trials",
        trials,
        "--policy",
        "srm",
        "--burn-in",
        "8",
        "--workers",
        "1",
        "--seed",
        "5",
    ]);
    arguments.extend(["--stop-probability", "0.95", "--format", "json", "--out", "study"]);
    arguments.extend(more);
    arguments.extend(["--", "sh", "train.sh", "{lr}"]);
    foretell(folder, &arguments)
}

fn search(folder: &Path, more: &[&str]) -> Command {
    sized_search(folder, "16", "8", more)
}

/// One trial after another, all of them complete.
const SIX_TRIALS: [&str; 10] =
    ["--policy", "srm", "--trials", "6", "--burn-in", "6", "--workers", "1", "--out", "study"];

#[test]
fn a_search_over_ones_own_command_stops_trials_and_answers_by_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let output = search(folder.path(), &["--plot", "study.svg"]).output().unwrap();
    let result = json(&output);
    assert_eq!(result["schema"], "foretell.search/1");
    assert_eq!(result["direction"], "maximize");
    let trials = &result["trials"];
    assert_eq!(trials["total"], 16);
    assert!(trials["stopped"].as_u64().unwrap() >= 3, "{trials}");
    assert_eq!(trials["completed"].as_u64().unwrap() + trials["stopped"].as_u64().unwrap(), 16);
    let (spent, whole) = (&result["epochs"]["spent"], &result["epochs"]["without_stopping"]);
    assert_eq!(whole.as_u64(), Some(16 * 8));
    assert!(spent.as_u64() < whole.as_u64());
    let speedup = whole.as_f64().unwrap() / spent.as_f64().unwrap();
    assert!((result["speedup"].as_f64().unwrap() - speedup).abs() < 1e-9);
    assert!(result["best"]["score"].as_f64().unwrap() > 0.7);
    assert!(result["best"]["configuration"]["lr"].is_number());
    assert!(text(&output.stderr).contains("learning from 8 trials"));
    let picture = std::fs::read_to_string(folder.path().join("study.svg")).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("best: trial"));
    for decided in
        records(folder.path()).iter().filter(|r| r["event"] == "decided" && r["reason"] != "burn_in")
    {
        assert!(decided["forecast"]["mean"].is_number() && decided["incumbent"].is_number(), "{decided}");
        assert!(decided["probability"].is_number());
    }
}

#[test]
fn the_same_command_again_repeats_nothing_and_more_trials_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let first = json(&search(folder.path(), &[]).output().unwrap());
    let before = records(folder.path());
    let again = json(&search(folder.path(), &[]).output().unwrap());
    assert_eq!(first, again);
    assert_eq!(before, records(folder.path()));
    let more = json(&sized_search(folder.path(), "18", "8", &[]).output().unwrap());
    assert_eq!(more["trials"]["total"], 18);
    assert_eq!(before, records(folder.path())[..before.len()]);
}

#[test]
fn an_interrupted_study_says_how_to_go_on_and_exits_as_a_shell_does() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = search(folder.path(), &[]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let log = folder.path().join("study/events.jsonl");
    while !std::fs::read_to_string(&log).is_ok_and(|text| text.contains("reported")) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let status = child.wait().unwrap();
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
    assert_eq!(status.code(), Some(130), "{said}");
    assert!(said.contains("interrupted") && said.contains("run the same command again"), "{said}");
    assert_eq!(json(&search(folder.path(), &[]).output().unwrap())["trials"]["total"], 16);
}

#[cfg(feature = "nn")]
#[test]
fn every_built_in_space_is_searched_to_its_end() {
    for (space, sizes) in [
        ("cuda-convnet", ["--train-size", "40", "--validation-size", "20"]),
        ("resnet-tiny", ["--train-size", "40", "--validation-size", "20"]),
        ("resnet-tiny-3", ["--train-size", "40", "--validation-size", "20"]),
        ("resnet-39", ["--train-size", "20", "--validation-size", "20"]),
        ("alexnet", ["--train-size", "20", "--validation-size", "20"]),
        ("lstm", ["--train-size", "800", "--validation-size", "200"]),
        ("lstm-400", ["--train-size", "800", "--validation-size", "200"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut arguments =
            vec!["search", "--space", space, "--trials", "3", "--epochs", "2", "--no-stopping"];
        arguments.extend(["--format", "json"]);
        arguments.extend(sizes);
        let output = foretell(folder.path(), &arguments).output().unwrap();
        assert!(output.status.success(), "{space}: {}", text(&output.stderr));
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result["trials"]["completed"], 3, "{space}: {result}");
        let (metric, best) = (&result["metric"], result["best"]["score"].as_f64().unwrap());
        let wanted = if space.starts_with("lstm") { ("val_ppl", 1.0..1000.0) } else { ("val_acc", 0.0..1.0) };
        assert!(metric == wanted.0 && wanted.1.contains(&best), "{space}: {metric} {best}");
    }
}

#[cfg(feature = "nn")]
#[test]
fn bad_input_is_one_clear_error_and_exit_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::create_dir(here.join("empty")).unwrap();
    std::fs::create_dir(here.join("cut")).unwrap();
    std::fs::write(here.join("cut/data_batch_1.bin"), vec![0; 3073 * 2 + 5]).unwrap();
    std::fs::write(here.join("file"), "x").unwrap();
    let cases: &[(&[&str], &[&str])] = &[
        (&["search", "--space", "vgg"], &["unknown space `vgg`", "metaqnn"]),
        (&["search", "--space", "alexnet", "--data", "shapes:32"], &["alexnet", "64×64", "32×32"]),
        (&["search", "--data", "folder:empty"], &["empty", "one folder per class"]),
        (&["search", "--space", "lstm", "--data", "shapes"], &["lstm learns from text", "shapes"]),
        (&["search", "--space", "lstm", "--metric", "val_acc"], &["unknown metric `val_acc`", "val_ppl"]),
        (&["search", "--space", "cuda-convnet", "--width", "0"], &["--width 0"]),
        (
            &["search", "--schedule", "linear"],
            &["unknown schedule `linear`", "step, exponential, cosine, constant"],
        ),
        (&["search", "--batch-size", "0"], &["--batch-size 0"]),
        (&["search", "--data", "svhn:empty"], &["empty", "train_32x32.mat"]),
        (&["search", "--data", "imagenet"], &["imagenet", "shapes"]),
        (&["search", "--data", "cifar10:nowhere"], &["nowhere"]),
        (&["search", "--data", "cifar10:empty"], &["empty", "data_batch"]),
        (&["search", "--data", "cifar10:cut"], &["data_batch_1.bin", "3073"]),
        (&["search", "--data", "mnist:empty"], &["empty"]),
        (&["search", "--metric", "val_f1"], &["unknown metric `val_f1`", "val_acc"]),
        (&["search", "--policy", "srm", "--trials", "5", "--burn-in", "6"], &["burn-in of 6", "5 trials"]),
        (&["search", "--policy", "srm", "--stop-probability", "1.5"], &["1.5", "[0.5, 1)"]),
        (&["search", "--policy", "srm", "--offset=-1"], &["offset -1"]),
        (&["search", "--policy", "srm", "--nth-best", "0"], &["nth_best is 0"]),
        (
            &["search", "--nth-best", "2"],
            &["--nth-best: a setting of the policy srm", "is chain. Set --policy or --paper"],
        ),
        (&["search", "--width", "0"], &["--width 0"]),
        (&["search", "--train-size", "10000000"], &["10000000"]),
        (&["search", "--policy", "srm", "--predictor", "oracle"], &["unknown predictor `oracle`", "svr-rbf"]),
        (&["search", "--plot", "picture.gif"], &["picture.gif", ".svg"]),
        (&["search", "--param", "lr=log:1:2"], &["--param needs a command"]),
        (&["search", "--out", "file"], &["file"]),
        (&["search", "--no-stopping", "--shadow"], &["--shadow"]),
        (&["search", "--policy", "none", "--shadow"], &["--shadow", "the policy none"]),
        (&["search", "--workers", "0"], &["workers"]),
        (
            &["train", "--space", "cuda-convnet", "--set", "a=1"],
            &["learning_rate", "must be a number above 0"],
        ),
    ];
    for (arguments, expected) in cases {
        let output = foretell(here, arguments).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        for part in *expected {
            assert!(said.contains(part), "{arguments:?}: `{part}` is not in: {said}");
        }
        assert!(output.stdout.is_empty() && !said.contains("0000000000"), "{arguments:?}: {said}");
    }
}

#[test]
fn a_wrong_parameter_is_one_clear_error() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    for (parameter, expected) in [("lr=log:0:1", "lr"), ("lr", "lr"), ("lr=cubic:1:2", "cubic")] {
        let arguments = ["search", "--param", parameter, "--epochs", "3", "--", "true"];
        let output = foretell(here, &arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{parameter}");
        assert!(text(&output.stderr).contains(expected), "{parameter}: {}", text(&output.stderr));
    }
}

#[test]
fn trials_count_with_the_best_they_reached_if_that_is_asked_for() {
    const OVERFITS: &str = r#"for value in 0.2 0.$1 0.1; do echo "val_acc=$value"; done"#;
    let folder = tempfile::tempdir().unwrap();
    let search = |more: &[&str]| {
        let arguments =
            ["search", "--param", "peak=int:3:9", "--metric", r"val_acc=([\d.]+)", "--epochs", "3"];
        let command = ["--format", "json", "--", "sh", "-c", OVERFITS, "sh", "{peak}"];
        foretell(folder.path(), &[&arguments[..], &SIX_TRIALS, more, &command].concat()).output().unwrap()
    };
    let output = search(&["--score", "best"]);
    assert!(text(&output.stderr).contains("the score of a trial is the best val_acc it reaches"));
    let document = json(&output);
    assert_eq!(document["score"], "best");
    let best = &document["best"];
    let peak = best["configuration"]["peak"].as_f64().unwrap();
    assert!((best["score"].as_f64().unwrap() - peak / 10.0).abs() < 1e-12 && peak > 3.0, "{best}");
    let another = search(&["--score", "last"]);
    assert_eq!(another.status.code(), Some(2));
    let said = text(&another.stderr);
    assert!(said.contains("score the default (was best)"), "{said}");
}

#[test]
fn the_folder_of_another_study_is_refused_and_left_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    json(&search(folder.path(), &[]).output().unwrap());
    let before = records(folder.path());
    let output = search(folder.path(), &["--score", "best"]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("study: contains another study") && said.contains("score best (was the default)"),
        "{said}"
    );
    assert_eq!(before, records(folder.path()));
}

#[test]
fn another_study_that_has_not_reported_yet_is_refused_and_left_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    json(&search(folder.path(), &[]).output().unwrap());
    let log = folder.path().join("study/events.jsonl");
    let begun: Vec<String> =
        std::fs::read_to_string(&log).unwrap().lines().take(2).map(|line| format!("{line}\n")).collect();
    std::fs::write(&log, begun.concat()).unwrap();
    let before = records(folder.path());
    assert_eq!(before[1]["event"], "started", "it was ended before the first report");
    let output = search(folder.path(), &["--score", "best"]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("study: contains another study"), "{said}");
    assert_eq!(before, records(folder.path()));
    let own = search(folder.path(), &[]).output().unwrap();
    assert!(own.status.success(), "{}", text(&own.stderr));
    assert_eq!(records(folder.path())[..2], before[..], "the same study continues");
}

#[test]
fn a_command_that_never_reports_ends_the_study_with_its_own_words() {
    let folder = tempfile::tempdir().unwrap();
    let mut arguments = vec!["search", "--param", "lr=log:1e-4:1", "--epochs", "3", "--metric", "val_acc"];
    arguments.extend(["--", "sh", "-c", "echo no such module: torch; exit 3", "{lr}"]);
    let output = foretell(folder.path(), &arguments).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("exit code 3") && said.contains("no such module: torch"), "{said}");
    let folder = tempfile::tempdir().unwrap();
    let script = arguments.len() - 2;
    arguments[script] = r#"echo '{{"foretell":{{"step":500,"val_acc":0.5}}}}'"#;
    arguments.splice(1..1, ["--trials", "2", "--burn-in", "2"]);
    let output = foretell(folder.path(), &arguments).output().unwrap();
    let said = text(&output.stderr);
    // another unit is no failure
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("the first report of trial 0 is for step 500, but `epochs` is 3"), "{said}");
    let arguments = ["search", "--param", "lr=log:1e-4:1", "--epochs", "3", "--", "no-such-program"];
    let said = text(&foretell(folder.path(), &arguments).output().unwrap().stderr);
    assert!(said.contains("cannot find the command `no-such-program`"), "{said}");
}

/// A search of two parameters by `command`; one parameter applies only to one value of the other.
fn conditional_search(folder: &Path, metric: &str, command: &[&str]) -> Output {
    let parameters = ["search", "--param", "opt=choice:sgd,adam", "--param", "m=float:0:0.9 if opt=sgd"];
    let measured = ["--epochs", "2", "--metric", metric, "--"];
    let arguments = [&parameters[..], &SIX_TRIALS, &measured, command].concat();
    foretell(folder, &arguments).output().unwrap()
}

#[test]
fn a_parameter_that_does_not_apply_is_not_given() {
    const SCRIPT: &str = r#"echo "given: $*"; echo acc=0.1; echo acc=0.2"#;
    let folder = tempfile::tempdir().unwrap();
    let command = ["sh", "-c", SCRIPT, "sh", "--opt", "{opt}", "--m", "{m}", "--m={m}"];
    let output = conditional_search(folder.path(), r"acc=([\d.]+)", &command);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let mut seen = [0, 0];
    for trial in 0..6 {
        let path = folder.path().join(format!("study/trials/{trial:04}/output.log"));
        let log = std::fs::read_to_string(path).unwrap();
        let given = log.lines().next().unwrap();
        let adam = given == "given: --opt adam";
        assert!(adam || given.starts_with("given: --opt sgd --m 0.") && given.contains(" --m=0."), "{given}");
        seen[usize::from(adam)] += 1;
    }
    assert!(seen.iter().all(|&count| count > 0), "{seen:?}");
}

#[test]
fn a_command_is_given_a_network_with_its_layers_and_weights() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["search", "--space", "metaqnn", "--epochs", "1", "--trials", "1", "--out", "study"];
    let command = ["--metric", r"acc=([\d.]+)", "--", "echo", "acc=0.5 {layers} {weights} {net}"];
    let output = foretell(folder.path(), &[&arguments[..], &command].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let log = std::fs::read_to_string(folder.path().join("study/trials/0000/output.log")).unwrap();
    let given: Vec<&str> = log.split_whitespace().collect();
    assert!(given[1].parse::<u32>().is_ok() && given[2].parse::<u64>().is_ok(), "{log}");
    assert!(given[3].starts_with('['), "{log}");
}

#[test]
fn each_worker_has_a_number_of_its_own() {
    const SCRIPT: &str = r#"echo "worker $FORETELL_WORKER"; mkdir busy-$FORETELL_WORKER || exit 1; sleep 0.1; rmdir busy-$FORETELL_WORKER; echo acc=0.5"#;
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["search", "--param", "x=float:0:1", "--epochs", "1", "--trials", "9", "--workers", "3"];
    let rest =
        ["--metric", r"acc=([\d.]+)", "--format", "json", "--out", "study", "--", "sh", "-c", SCRIPT, "{x}"];
    let result = json(&foretell(folder.path(), &[&arguments[..], &rest].concat()).output().unwrap());
    assert_eq!(result["trials"]["completed"], 9, "no two trials at a time had the same: {result}");
    let logs = (0..9).map(|trial| folder.path().join(format!("study/trials/{trial:04}/output.log")));
    let workers: BTreeSet<String> =
        logs.map(|log| std::fs::read_to_string(log).unwrap().lines().next().unwrap().to_owned()).collect();
    assert_eq!(workers.into_iter().collect::<Vec<_>>(), ["worker 0", "worker 1", "worker 2"]);
}

#[test]
fn a_lone_worker_has_all_the_cores_and_no_trial_more_than_its_epochs() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["search", "--param", "x=float:0:1", "--epochs", "2", "--trials", "1", "--workers", "1"];
    let script = r#"echo "threads $OMP_NUM_THREADS"; for value in 1 2 3 4; do echo acc=0.$value; done"#;
    let rest =
        ["--metric", r"acc=([\d.]+)", "--format", "json", "--out", "study", "--", "sh", "-c", script, "{x}"];
    let mut search = foretell(folder.path(), &[&arguments[..], &rest].concat());
    let output = search.env_remove("OMP_NUM_THREADS").output().unwrap();
    assert!(
        text(&output.stderr).contains("trial 0 reports step 3, but `epochs` is 2"),
        "{}",
        text(&output.stderr)
    );
    assert!((json(&output)["best"]["score"].as_f64().unwrap() - 0.2).abs() < 1e-12);
    let cores = std::thread::available_parallelism().unwrap();
    let log = std::fs::read_to_string(folder.path().join("study/trials/0000/output.log")).unwrap();
    assert_eq!(log.lines().next().unwrap(), format!("threads {cores}"));
}

#[test]
fn a_trial_that_overruns_between_its_reports_counts_with_what_it_reported() {
    const EVERY_FOURTH: &str = r#"for step in 4 8 12 16; do echo "step $step acc=0.$step$1"; done; sleep 60"#;
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["search", "--param", "x=int:1:9", "--metric", r"step (?P<step>\d+) acc=([\d.]+)"];
    let sizes = ["--epochs", "10", "--trials", "3", "--workers", "2", "--format", "json", "--out", "study"];
    let command = ["--", "sh", "-c", EVERY_FOURTH, "sh", "{x}"];
    let output = foretell(folder.path(), &[&arguments[..], &sizes, &command].concat()).output().unwrap();
    let result = json(&output);
    assert_eq!((&result["trials"]["completed"], &result["trials"]["failed"]), (&3.into(), &0.into()));
    assert!(result["best"]["score"].as_f64().unwrap() > 0.8, "{}", result["best"]);
    assert!(text(&output.stderr).contains("reports step 12, but `epochs` is 10"), "{}", text(&output.stderr));
}

#[test]
fn what_a_diverged_trial_reported_is_shown_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["search", "--param", "x=int:1:9", "--metric", r"acc=([\d.]+)", "--epochs", "5"];
    let sizes = ["--trials", "1", "--burn-in", "1", "--out", "study"];
    let command =
        ["--", "sh", "-c", "for value in 0.1 0.2 nan nan; do echo acc=$value; done; sleep 60", "{x}"];
    let output = foretell(folder.path(), &[&arguments[..], &sizes, &command].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "no trial succeeded: {}", text(&output.stderr));
    let shown = foretell(folder.path(), &["study", "show", "study", "0", "--format", "json"]);
    let shown = json(&{ shown }.output().unwrap());
    assert_eq!(shown["steps"], serde_json::json!([1, 2, 3, 4]));
    assert_eq!(shown["values"], serde_json::json!([0.1, 0.2, null, null]));
    assert_eq!(shown["decisions"].as_array().unwrap().len(), 4);
    let table = text(&foretell(folder.path(), &["study", "show", "study", "0"]).output().unwrap().stdout);
    assert!(table.contains("stopped: diverged, after 4 of 5 epochs"), "{table}");
    assert!(table.lines().last().is_some_and(|line| line.contains("stop") && line.contains('–')), "{table}");
}

#[test]
fn no_default_burn_in_is_too_short_to_learn_from() {
    let folder = tempfile::tempdir().unwrap();
    for (trials, burn_in) in [("2", 2), ("6", 3), ("30", 3), ("600", 3)] {
        let arguments = [
            "search",
            "--policy",
            "srm",
            "--param",
            "x=float:0:1",
            "--epochs",
            "9",
            "--trials",
            trials,
            "--explain",
        ];
        let output = foretell(folder.path(), &[&arguments[..], &["--", "true"]].concat()).output().unwrap();
        let said = text(&output.stdout);
        assert!(said.contains(&format!("after a burn-in of {burn_in} completed trials")), "{trials}: {said}");
    }
}

#[test]
fn a_loss_is_minimized_unless_told_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let best = |out: &str, more: &[&str]| {
        let arguments =
            ["search", "--param", "x=int:1:9", "--epochs", "1", "--trials", "6", "--format", "json"];
        let rest = ["--metric", r"val_loss: ([\d.]+)", "--out", out, "--", "echo", "val_loss: 0.{x}"];
        let output = foretell(folder.path(), &[&arguments[..], more, &rest].concat()).output().unwrap();
        let said = text(&output.stderr);
        let document = json(&output);
        (said, document["direction"].clone(), document["best"]["score"].as_f64().unwrap())
    };
    let (said, direction, smallest) = best("a", &[]);
    assert!(said.contains("metric: val_loss, smaller is better") && direction == "minimize", "{said}");
    let (said, direction, largest) = best("b", &["--maximize"]);
    assert!(said.contains("metric: val_loss, larger is better") && direction == "maximize", "{said}");
    assert!(smallest < largest, "{smallest}, {largest}");
    let unnamed = |more: &[&str]| {
        let arguments = ["search", "--param", "x=int:1:9", "--epochs", "1", "--trials", "2", "--out", "c"];
        let command = ["--", "echo", r#"{{"foretell":{{"step":1,"val_loss":0.{x}}}}}"#];
        foretell(folder.path(), &[&arguments[..], more, &command].concat()).output().unwrap()
    };
    let output = unnamed(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--metric val_loss"), "{}", text(&output.stderr));
    assert_eq!(unnamed(&["--metric", "val_loss"]).status.code(), Some(0), "nothing was recorded before");
}

#[test]
fn a_study_in_which_nothing_was_reported_is_no_hindrance() {
    let folder = tempfile::tempdir().unwrap();
    let search = |command: &[&str]| conditional_search(folder.path(), r"acc=([\d.]+)", command);
    let wrong = search(&["sh", "-c", "echo acc=0.1", "{rate}"]);
    let said = text(&wrong.stderr);
    assert_eq!(wrong.status.code(), Some(2), "{said}");
    assert!(said.contains("unknown placeholder {rate}") && !folder.path().join("study").exists(), "{said}");
    let silent = search(&["sh", "-c", "echo accuracy 0.1", "{opt}", "{m}"]);
    let said = text(&silent.stderr);
    assert_eq!(silent.status.code(), Some(2), "{said}");
    assert!(
        said.contains(r"no line matched --metric 'acc=([\d.]+)'") && said.contains("accuracy 0.1"),
        "{said}"
    );
    let mended = search(&["sh", "-c", "echo acc=0.1; echo acc=0.2", "{opt}", "{m}"]);
    let said = text(&mended.stderr);
    assert_eq!(mended.status.code(), Some(0), "{said}");
    assert!(said.contains("study: nothing was reported yet, so the study starts from scratch"), "{said}");
    let another = search(&["sh", "-c", "echo acc=0.3", "{opt}", "{m}"]);
    assert_eq!(another.status.code(), Some(2), "what was reported is kept: {}", text(&another.stderr));
}

const STUDY: &str = r#"
# a study in a file
trials = 6
epochs = 3
burn-in = 6
metric = 'val_acc=([\d.]+)'
workers = 1
format = "json"
out = "study"
no-stopping = true
command = ["sh", "train.sh", "{lr}", "{optimizer}", "{momentum}"]

[param]
optimizer = "choice:sgd,adam"
momentum = "float:0:1 if optimizer=sgd"
lr = "log:1e-4:1"
"#;

#[test]
fn a_study_in_a_file_is_the_study_of_its_flags_and_the_command_line_comes_first() {
    let (by_file, by_flags) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for folder in [&by_file, &by_flags] {
        std::fs::write(folder.path().join("train.sh"), TRAINER).unwrap();
    }
    std::fs::write(by_file.path().join("study.toml"), STUDY).unwrap();
    let told = ["search", "study.toml", "--trials", "4", "--burn-in", "2"];
    let result = json(&foretell(by_file.path(), &told).output().unwrap());
    assert_eq!(result["trials"]["completed"], 4);
    let flags =
        ["search", "--trials", "4", "--epochs", "3", "--burn-in", "2", "--workers", "1", "--out", "study"];
    let more = ["--metric", r"val_acc=([\d.]+)", "--format", "json", "--no-stopping"];
    let parameters =
        ["--param", "optimizer=choice:sgd,adam", "--param", "momentum=float:0:1 if optimizer=sgd"];
    let rest = ["--param", "lr=log:1e-4:1", "--", "sh", "train.sh", "{lr}", "{optimizer}", "{momentum}"];
    let flags = [&flags[..], &more, &parameters, &rest].concat();
    json(&foretell(by_flags.path(), &flags).output().unwrap());
    assert_eq!(records(by_file.path()), records(by_flags.path()));
    // a key that needs another one
    let file = "metric = \"acc {value}\"\nstep = \"epoch {step}\"\nepochs = 3\ncommand = [\"true\", \"{lr}\"]\n[param]\nlr = \"log:1e-4:1\"\n";
    std::fs::write(by_file.path().join("step.toml"), file).unwrap();
    let output = foretell(by_file.path(), &["search", "step.toml", "--explain"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn a_wrong_study_file_is_told_by_file_line_and_key() {
    let folder = tempfile::tempdir().unwrap();
    let said = |file: &str, more: &[&str]| {
        std::fs::write(folder.path().join("study.toml"), file).unwrap();
        let output = foretell(folder.path(), &[&["search", "study.toml"], more].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        assert!(output.stdout.is_empty());
        text(&output.stderr)
    };
    for (file, wanted) in [
        ("epochs = 3\ntrails = 4\n", ["study.toml:2:1: ", "`trails`", "did you mean `trials`?"].as_slice()),
        ("\n\ntrials = \"four\"\n", &["study.toml:3:1: ", "trials: ", "\"four\"", "a whole number"]),
        ("trials = 4\ntrials = 5\n", &["study.toml:2:1: ", "duplicate key"]),
        ("command = \"python train.py\"\n", &["study.toml:1:1: ", "must be a list of words"]),
        ("[param]\nlr = \"log:1e-4:1\"\nopt = [1]\n", &["study.toml:1:2: ", "parameter opt", "found [1]"]),
        ("trials = { a = 1 }\n", &["study.toml:1:1: ", "trials: ", "a whole number"]),
        ("help = true\n", &["study.toml:1:1: ", "command line only"]),
        (
            "command = [\"sh\", \"{lr}\"]\nmetric = \"acc\"\nepochs = 3\ntrials = 4\nruns = 2\n[param]\nlr = \"log:1e-4:1\"\n",
            &["--runs: ", "hyperband"],
        ),
    ] {
        let said = said(file, &[]);
        assert!(wanted.iter().all(|wanted| said.contains(wanted)), "{file}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let output = foretell(folder.path(), &["search", "nowhere.toml"]).output().unwrap();
    let said = text(&output.stderr);
    assert!(said.contains("nowhere.toml: ") && said.contains("a command after `--`"), "{said}");
}

#[test]
fn a_stored_study_is_listed_shown_exported_and_examined() {
    let folder = tempfile::tempdir().unwrap();
    let result = json(&search(folder.path(), &[]).output().unwrap());
    let study = |arguments: &[&str]| {
        let arguments = [&["study"], arguments, &["--format", "json"]].concat();
        json(&foretell(folder.path(), &arguments).output().unwrap())
    };
    let listed = study(&["ls", "."]);
    assert_eq!(listed["studies"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&listed["studies"][0]["best"], &listed["studies"][0]["done"]),
        (&result["best"], &true.into())
    );
    let shown = study(&["show", "study"]);
    assert_eq!((&shown["stopped"], &shown["epochs"]), (&result["stopped"], &result["epochs"]));
    let stopped = &result["stopped"][0];
    let trial = study(&["show", "study", &stopped["trial"].to_string()]);
    let last = trial["decisions"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["action"], &last["probability"]), (&"stop".into(), &stopped["probability"]));
    // values reported while it was being stopped are kept, too
    assert!(trial["values"].as_array().unwrap().len() as u64 >= stopped["step"].as_u64().unwrap());
    let table =
        foretell(folder.path(), &["study", "show", "study", &stopped["trial"].to_string()]).output().unwrap();
    assert!(text(&table.stdout).contains("stopped: will not win"), "{}", text(&table.stdout));

    assert!(
        foretell(folder.path(), &["study", "export", "study", "--out", "curves.jsonl"])
            .status()
            .unwrap()
            .success()
    );
    for path in ["study", "study/events.jsonl"] {
        let output = foretell(folder.path(), &["replay", path, "--policy", "none"]).output().unwrap();
        let said = text(&output.stderr);
        assert!(output.status.success() && said.contains("not used as completed runs"), "{said}");
    }
    let replay = ["replay", "curves.jsonl", "--policy", "none", "--format", "json", "--metric", "val_acc"];
    let replayed = json(&foretell(folder.path(), &replay).output().unwrap());
    assert_eq!(replayed["rows"][0]["epochs_full"], result["trials"]["completed"].as_f64().unwrap() * 8.0);

    let log = folder.path().join("study/events.jsonl");
    let whole = std::fs::read(&log).unwrap();
    std::fs::write(&log, &whole[..whole.len() - 5]).unwrap();
    let torn = study(&["doctor", "study"]);
    assert!(torn["torn_bytes"].as_u64().unwrap() > 5, "{torn}");
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    std::fs::write(&log, &flipped).unwrap();
    let output = foretell(folder.path(), &["study", "doctor", "study"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("study/events.jsonl, line "), "{}", text(&output.stderr));
    let output = foretell(folder.path(), &["study", "show", "nowhere"]).output().unwrap();
    assert!(output.status.code() == Some(2) && text(&output.stderr).contains("no study in this folder"));
}

/// A full disk, as far as one can be had without one: files may not grow beyond 8 KiB.
#[test]
fn a_full_disk_ends_the_study_with_one_clear_error_and_nothing_acknowledged_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let search = search(folder.path(), &[]);
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 16; exec \"$@\"", "sh"]);
    limited.arg(search.get_program()).args(search.get_args()).current_dir(folder.path()).stdin(Stdio::null());
    let output = limited.output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.lines().filter(|line| line.starts_with("error:")).count(), 1, "{said}");
    assert!(said.contains("events.jsonl"), "{said}");
    let kept = records(folder.path());
    assert!(kept.iter().any(|r| r["event"] == "reported"));
    json(&self::search(folder.path(), &[]).output().unwrap());
    assert_eq!(records(folder.path())[..kept.len()], kept);
}

#[cfg(feature = "nn")]
mod built_in {
    use super::*;
    use std::collections::BTreeMap;

    fn tiny(folder: &Path, more: &[&str]) -> Command {
        let mut arguments = vec!["search", "--data", "shapes:8", "--width", "0.05", "--train-size", "200"];
        arguments.extend([
            "--validation-size",
            "100",
            "--epochs",
            "4",
            "--policy",
            "srm",
            "--trials",
            "8",
            "--burn-in",
            "6",
        ]);
        arguments.extend(["--max-layers", "3", "--format", "json", "--out", "study", "--workers", "1"]);
        arguments.extend(more);
        foretell(folder, &arguments)
    }

    #[test]
    fn real_networks_are_trained_and_two_runs_with_one_seed_give_the_same_curves() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let result = json(&tiny(first.path(), &["--shadow"]).output().unwrap());
        json(&tiny(second.path(), &["--shadow"]).output().unwrap());
        assert_eq!(records(first.path()), records(second.path()));
        assert_eq!(result["trials"]["completed"], 8);
        assert!(result["shadow"]["best_survived"].is_boolean());
        let net = result["best"]["configuration"]["net"].as_str().unwrap();
        assert!(net.starts_with('[') && net.ends_with("SM(10)]"), "{net}");
        let sequence: foretell::LayerSequence = net.parse().unwrap();
        let counts =
            sequence.network_counts(foretell::ImageShape { channels: 3, height: 8, width: 8 }).unwrap();
        assert_eq!(result["best"]["configuration"]["weights"].as_f64(), Some(counts.weights as f64));
        assert_eq!(result["best"]["configuration"]["layers"].as_f64(), Some(counts.layers as f64));
    }

    #[test]
    fn networks_paused_at_rungs_go_on_as_if_they_had_never_paused() {
        let small =
            ["--data", "shapes:8", "--width", "0.05", "--train-size", "200", "--validation-size", "100"];
        let common = ["--max-layers", "3", "--epochs", "4", "--format", "json", "--out", "study"];
        let run = |more: &[&str]| {
            let folder = tempfile::tempdir().unwrap();
            let arguments = [&["search", "--workers", "2"], &small[..], &common, more].concat();
            json(&foretell(folder.path(), &arguments).output().unwrap());
            let reports = records(folder.path()).into_iter().filter(|r| r["event"] == "reported");
            reports.map(|r| ((r["trial"].as_u64(), r["step"].as_u64()), r["metrics"].clone())).collect()
        };
        type Reports = BTreeMap<(Option<u64>, Option<u64>), Value>;
        // η = 2, R = 4: 4@1 2@2 1@4, 3@2 1@4, 3@4
        let paused: Reports = run(&["--scheduler", "hyperband", "--eta", "2"]);
        let unbroken: Reports = run(&["--trials", "10", "--no-stopping"]);
        assert_eq!((paused.len(), unbroken.len()), (4 + 2 + 2 + 6 + 2 + 12, 40));
        for (report, metrics) in paused {
            assert_eq!(metrics, unbroken[&report], "{report:?}");
        }
    }

    #[test]
    fn a_killed_search_of_networks_goes_on_from_its_checkpoints() {
        let (calm, wild) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        json(&tiny(calm.path(), &[]).output().unwrap());
        let mut child = tiny(wild.path(), &[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let log = wild.path().join("study/events.jsonl");
        let reports =
            |path: &Path| std::fs::read_to_string(path).map_or(0, |t| t.matches("reported").count());
        while reports(&log) < 6 && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        json(&tiny(wild.path(), &[]).output().unwrap());
        let without_starts = |folder: &Path| -> Vec<Value> {
            let is_own = |record: &Value| record["event"] != "started" && record["event"] != "repeated";
            records(folder).into_iter().filter(is_own).collect()
        };
        assert_eq!(without_starts(calm.path()), without_starts(wild.path()));
    }
}

/// Trainings whose loss at epoch t is what the awk expression says of the learning rate `lr` and of `d`, its distance from 0.01.
fn losses(folder: &Path, expression: &str) -> (Output, Vec<Value>) {
    let script = format!(
        "echo {{lr}} | awk '{{{{ lr = $1; d = log(lr) / log(10) + 2; if (d < 0) d = -d;
          for (t = 1; t <= 10; t++) {{{{ y = {expression}; printf \"epoch %d val_loss %.4f\\n\", t, y; system(\"sleep 0.01\") }}}} }}}}'"
    );
    let rates = "lr=choice:10,5,3,2,1,0.9,0.8,0.7,0.01,0.02,0.6,0.5,0.012,0.4,0.015,0.3";
    let space = ["search", "--param", rates, "--sampler", "grid", "--metric", "val_loss", "--minimize"];
    let sizes = ["--epochs", "10", "--workers", "1", "--out", "study", "--", "sh", "-c", &script];
    let output = foretell(folder, &[&space[..], &sizes].concat()).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    (output, records(folder))
}

#[test]
fn a_loss_that_comes_to_0_or_falls_below_it_ends_no_search() {
    for (expression, has_zero) in [
        ("0.3 * d - 0.04 * t + exp(-t / 2) * (0.5 + d); if (y < 0) y = 0", true),
        ("1.1 * d - 1.2 + 2 * exp(-t / 3)", false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (_, records) = losses(folder.path(), expression);
        let values = |record: &Value| record["value"].as_f64().filter(|_| record["event"] == "reported");
        let lowest = records.iter().filter_map(values).fold(f64::INFINITY, f64::min);
        assert!(if has_zero { lowest == 0.0 } else { lowest < 0.0 }, "{lowest}");
        let ends = |record: &&Value| match record["event"].as_str() {
            Some("decided") => record["action"] == "stop",
            event => event == Some("completed") || event == Some("failed"),
        };
        assert_eq!(records.iter().filter(ends).count(), 16, "{expression}");
    }
}

#[test]
fn a_loss_that_rises_beyond_all_completed_ones_is_not_forecast_for_certain() {
    let folder = tempfile::tempdir().unwrap();
    let (output, records) = losses(folder.path(), "0.7 + d * t ^ 0.8 * 0.3 + 0.02 * sin(7 * t + lr)");
    let forecasts = records.iter().map(|record| &record["forecast"]);
    let forecasts: Vec<&Value> = forecasts.filter(|forecast| forecast.is_object()).collect();
    assert!(forecasts.len() > 5, "{} forecasts", forecasts.len());
    assert!(forecasts.iter().all(|forecast| forecast["sd"].as_f64() > Some(0.0)), "{forecasts:?}");
    assert!(!text(&output.stderr).contains("100.0 % sure"), "{}", text(&output.stderr));
}
