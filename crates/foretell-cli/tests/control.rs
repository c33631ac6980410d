//! Searches under control: restarts with other settings, damaged logs, kills, limits, and the commands about studies.

mod common;

#[path = "../../../tests/needed.rs"]
mod needed;

use common::{foretell, json, output, records, text, wait_for};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Six epochs whose last value depends on the parameter.
const SCRIPT: &str = "for e in 1 2 3 4 5 6; do echo \"val_acc=$(echo \"{lr} $e\" | awk '{{print $1 * (1 - 0.5 ^ $2)}}')\"; done";

/// A search of `script` in `folder`, kept in `study`.
fn search(folder: &Path, more: &[&str], script: &str) -> Command {
    let start =
        ["search", "--param", "lr=log:0.01:1", "--metric", "val_acc", "--epochs", "6", "--workers", "1"];
    let rest = ["--out", "study", "--format", "json"];
    foretell(folder, &[&start[..], &rest, more, &["--", "sh", "-c", script]].concat())
}

/// A folder with a finished study of `trials` trials, none of them stopped.
fn finished_study(trials: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    output(&mut search(folder.path(), &["--trials", trials, "--no-stopping"], SCRIPT), 0);
    folder
}

fn lines(folder: &Path) -> Vec<String> {
    let log = std::fs::read_to_string(folder.join("study/events.jsonl")).unwrap();
    log.lines().map(str::to_owned).collect()
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
    let folder = finished_study("2");
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

/// Flips a bit of a line.
fn flip(line: &mut String, byte: usize) {
    let mut bytes = std::mem::take(line).into_bytes();
    bytes[byte] ^= 1;
    *line = String::from_utf8(bytes).unwrap();
}

#[test]
fn removing_the_lock_file_lets_no_second_search_in_and_a_strange_line_ends_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let slow = ": {lr}; for e in 1 2 3 4; do echo val_acc=0.$e; done; while [ ! -e go ]; do sleep 0.05; done; for e in 5 6; do echo val_acc=0.$e; done";
    let mut first = search(folder.path(), &["--trials", "2", "--no-stopping"], slow);
    let first = first.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let log = folder.path().join("study/events.jsonl");
    wait_for("a report", || std::fs::read_to_string(&log).unwrap_or_default().contains("reported"));
    std::fs::remove_file(folder.path().join("study/events.jsonl.lock")).unwrap();
    let before = std::fs::read(&log).unwrap();
    let second = search(folder.path(), &["--trials", "2", "--no-stopping"], SCRIPT).output().unwrap();
    let said = text(&second.stderr);
    assert!(!second.status.success() && said.contains("another foretell is writing this study"), "{said}");
    assert_eq!(std::fs::read(&log).unwrap(), before, "the second has written nothing");
    let mut strange = std::fs::OpenOptions::new().append(true).open(&log).unwrap();
    std::io::Write::write_all(&mut strange, b"a line of somebody else\n").unwrap();
    std::fs::write(folder.path().join("go"), "").unwrap();
    let first = first.wait_with_output().unwrap();
    let said = text(&first.stderr);
    assert_eq!(first.status.code(), Some(1), "{said}");
    assert!(said.contains("was written by another program"), "{said}");
}

#[test]
fn doctor_names_what_is_wrong_with_a_log_and_keeps_what_is_sound() {
    let folder = finished_study("3");
    let log = folder.path().join("study/events.jsonl");
    let whole = lines(folder.path());
    type Harm = fn(&mut Vec<String>);
    let cases: [(&str, Harm, &str, usize); 9] = [
        (
            "a report taken out",
            |lines| drop(lines.remove(2)),
            "line 3: its sequence number is 4 instead of 3",
            1,
        ),
        ("a line doubled", |lines| lines.insert(3, lines[2].clone()), "it is a copy of line 3", 0),
        ("two lines swapped", |lines| lines.swap(2, 3), "line 3: its sequence number is 4", 0),
        ("a start taken out", |lines| drop(lines.remove(1)), "the start of trial 0 is computed", 0),
        ("a start with a flipped bit", |lines| flip(&mut lines[1], 60), "was flipped: repaired", 0),
        (
            "the first line gone",
            |lines| drop(lines.remove(0)),
            "replaced by its copy in events.jsonl.first",
            0,
        ),
        ("a flipped version", |lines| lines[0].replace_range(5..6, "3"), "was flipped: repaired", 0),
        ("an editor's line ends", |lines| lines.iter_mut().for_each(|line| line.push('\r')), "an editor", 0),
        ("a byte-order mark", |lines| lines[0].insert(0, '\u{feff}'), "an editor", 0),
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
        let count = |part: &Value| part.as_u64().unwrap_or_default();
        let computed = repaired["repair"]["computed"].as_array().map_or(0, Vec::len) as u64;
        let there = count(&repaired["repair"]["kept"]) + computed;
        assert_eq!(there, (whole.len() - lost) as u64, "{what}: {repaired}");
        if lost == 0 {
            // computed records have no time of their own
            let records = |lines: &[String]| -> Vec<Value> {
                lines
                    .iter()
                    .map(|line| serde_json::from_str::<Value>(line).unwrap()["record"].clone())
                    .collect()
            };
            assert_eq!(records(&lines(folder.path())), records(&whole), "{what}");
        }
        let (healthy, _) = output(&mut doctor(&["--repair"]), 0);
        assert!(text(&healthy.stdout).contains("the log is intact"), "{what}");
        std::fs::remove_file(aside).unwrap();
    }
}

#[test]
fn stop_settings_change_between_restarts_and_the_log_says_from_where() {
    let folder = finished_study("3");
    let more = ["--trials", "6", "--policy", "median", "--burn-in", "2"];
    let (_, said) = output(&mut search(folder.path(), &more, SCRIPT), 0);
    assert!(said.contains("from trial 3 on:") && said.contains("policy median (was none)"), "{said}");
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
fn what_may_not_change_is_refused_by_its_name() {
    let folder = finished_study("3");
    let before = lines(folder.path());
    let start =
        ["search", "--param", "lr=log:0.5:1", "--metric", "val_acc", "--epochs", "6", "--trials", "3"];
    let rest = ["--seed", "7", "--no-stopping", "--out", "study", "--", "sh", "-c", SCRIPT];
    let (_, said) = output(&mut foretell(folder.path(), &[&start[..], &rest].concat()), 2);
    assert!(
        said.contains("contains another study. Yours differs in: seed 7 (was 0). To start a new study")
            && said.contains("\n  foretell search --out study-2 --learn-from study --param lr=log:0.5:1"),
        "{said}"
    );
    assert_eq!(lines(folder.path()), before);
}

#[test]
fn a_log_that_is_deleted_under_a_search_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let script = "for e in 1 2 3; do echo val_acc={lr}$e; done; rm -r study; sleep 0.2; for e in 4 5 6; do echo val_acc={lr}$e; done; sleep 300";
    let begun = Instant::now();
    let (_, said) = output(&mut search(folder.path(), &["--trials", "2"], script), 1);
    assert!(said.contains("events.jsonl was deleted during the search"), "{said}");
    assert!(begun.elapsed() < Duration::from_secs(100), "it does not wait for the trial");
}

#[test]
fn limits_of_time_count_earlier_runs() {
    let folder = tempfile::tempdir().unwrap();
    let script = "for e in 1 2 3 4 5 6; do echo val_acc={lr}; sleep 0.3; done";
    let limited = ["--trials", "40", "--no-stopping", "--max-time", "1s"];
    let (_, said) = output(&mut search(folder.path(), &limited, script), 1);
    assert!(said.contains("the time limit is reached"), "{said}");
    assert!(said.contains("before any trial was completed, so there is no result yet"), "{said}");
    let started = |records: &[Value]| records.iter().filter(|record| record["event"] == "started").count();
    let before = started(&records(folder.path()));
    output(&mut search(folder.path(), &limited, script), 1);
    // each trial that continues starts from the beginning, as it keeps no checkpoint: two records
    assert!(started(&records(folder.path())) <= before + 2, "the second was spent already");
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
        assert!(text(&output.stderr).contains("run the same command again"), "{}", text(&output.stderr));
    }
}

#[test]
fn a_diverged_trial_is_no_saving() {
    let folder = tempfile::tempdir().unwrap();
    let script = "for e in 1 2 3 4 5 6; do echo val_acc=nan {lr}; done";
    let result = search(folder.path(), &["--trials", "2", "--policy", "srm", "--burn-in", "1"], script)
        .output()
        .unwrap();
    let result: Value = serde_json::from_slice(&result.stdout).unwrap();
    assert_eq!(result["epochs"]["spent"], result["epochs"]["without_stopping"], "{result}");
    assert_eq!(result["time"]["saved_seconds"], 0.0, "{result}");
}

/// Trains six epochs, the third of them the best, and prints a last line.
fn rising_and_falling(last: &str) -> String {
    format!(
        "echo {{lr}} | awk '{{{{ for (e = 1; e <= 6; e++) print \"epoch \" e \" val_acc=\" $1 * (9 - (e - 3) ^ 2) / 9; {last} }}}}'"
    )
}

#[test]
fn the_best_report_counts_where_programs_print_it_last_and_that_is_said_once() {
    let folder = tempfile::tempdir().unwrap();
    let script = rising_and_falling("print \"Done. Best val_acc: \" $1 \" at epoch 3\"");
    let (found, said) = output(&mut search(folder.path(), &["--trials", "4", "--no-stopping"], &script), 0);
    assert_eq!(said.matches("so the best report is its score").count(), 1, "{said}");
    let best = json(&found)["best"].clone();
    assert_eq!(best["score"], best["configuration"]["lr"], "{best}");
    let changes = records(folder.path()).iter().filter(|record| record["event"] == "changed").count();
    assert_eq!(changes, 1, "it is recorded");
    // repeating the command continues with the best report as the score
    let (_, said) = output(&mut search(folder.path(), &["--trials", "5", "--no-stopping"], &script), 0);
    assert!(
        !said.contains("so the best report is its score") && said.contains("is the best val_acc"),
        "{said}"
    );

    let folder = tempfile::tempdir().unwrap();
    let asked = ["--trials", "3", "--no-stopping", "--score", "last"];
    let (_, said) = output(&mut search(folder.path(), &asked, &script), 0);
    assert!(!said.contains("the best report is its score"), "who has chosen a score knows: {said}");
    for last in ["print \"trained for 12.5 s\"", "print \"final val_acc \" 0"] {
        let folder = tempfile::tempdir().unwrap();
        let script = rising_and_falling(last);
        let (_, said) = output(&mut search(folder.path(), &["--trials", "3", "--no-stopping"], &script), 0);
        assert!(!said.contains("the best report is its score"), "{last}: {said}");
    }
}

#[test]
fn trainings_that_end_before_epochs_are_noticed_with_what_to_write() {
    let folder = tempfile::tempdir().unwrap();
    let script = "for e in 1 2 3; do echo val_acc={lr}; done";
    let (_, said) = output(&mut search(folder.path(), &["--trials", "3", "--no-stopping"], script), 0);
    assert_eq!(
        said.matches("the first trial ended by itself after step 3, but `epochs` is 6").count(),
        1,
        "{said}"
    );
    let folder = tempfile::tempdir().unwrap();
    let (_, said) = output(&mut search(folder.path(), &["--trials", "3", "--no-stopping"], SCRIPT), 0);
    assert!(!said.contains("ended by itself after step"), "{said}");
}

#[test]
fn without_a_terminal_a_line_says_now_and_then_how_far_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let script = "echo val_acc={lr}; sleep 1; echo val_acc={lr}";
    let more = ["--trials", "1", "--no-stopping", "--heartbeat", "0.3s"];
    let (_, said) = output(&mut search(folder.path(), &more, script), 0);
    assert!(said.contains("searching: 0 of 1 trials ended, 1 running; best –"), "{said}");
    assert!(!said.contains('\u{1b}'), "no colors without a terminal: {said}");
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
    let row = listed.lines().nth(1).unwrap();
    assert!(row.contains("done  8 (0 stopped, 1 failed)"), "{listed}");
}

#[test]
fn a_study_is_drawn_and_removed() {
    let folder = finished_study("3");
    let drawn = foretell(folder.path(), &["study", "plot", "study"]).output().unwrap();
    assert!(drawn.status.success(), "{}", text(&drawn.stderr));
    let svg = std::fs::read_to_string(folder.path().join("study/curves.svg")).unwrap();
    assert!(svg.contains(">study<"), "the study's name is the title");
    let (_, said) = output(&mut foretell(folder.path(), &["study", "rm", "study"]), 2);
    assert!(said.contains("3 trials, 18 epochs") && said.contains("--yes"), "{said}");
    assert!(folder.path().join("study/events.jsonl").exists());
    std::fs::write(folder.path().join("study/mine.txt"), "mine").unwrap();
    let (_, said) = output(&mut foretell(folder.path(), &["study", "rm", "study", "--yes"]), 0);
    assert!(said.contains("other files"), "{said}");
    let left: Vec<_> = std::fs::read_dir(folder.path().join("study")).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    let (_, said) = output(&mut foretell(folder.path(), &["study", "rm", "study", "--yes"]), 2);
    assert!(said.contains("there is no study"), "{said}");
}

#[test]
fn a_study_is_removed_with_all_that_foretell_wrote_beside_it() {
    let folder = finished_study("2");
    let study = folder.path().join("study");
    for file in ["work.json", "report.html"] {
        std::fs::write(study.join(file), "").unwrap();
    }
    for inner in ["slurm", "ray"] {
        std::fs::create_dir(study.join(inner)).unwrap();
    }
    output(&mut foretell(folder.path(), &["study", "rm", "study", "--yes"]), 0);
    assert!(!study.exists());
}

#[test]
fn a_picture_for_a_paper_has_the_size_that_is_given_and_no_title() {
    let folder = finished_study("3");
    let draw = |size: &str, file: &str, code: i32| {
        let arguments = ["study", "plot", "study", "--plot-size", size, "--out", file];
        output(&mut foretell(folder.path(), &arguments), code).1
    };
    draw("3.3x2.5in", "paper.svg", 0);
    let svg = std::fs::read_to_string(folder.path().join("paper.svg")).unwrap();
    assert!(svg.contains("width=\"3.3in\" height=\"2.5in\" viewBox=\"0 0 386.1 292.5\""), "{}", &svg[..300]);
    // labels of 13 pixels, of 386 on 3.3 inches, are 8 points high
    assert!(svg.contains("font-size=\"13\"") && !svg.contains("font-size=\"20\""), "a paper has captions");
    draw("8.4 x 6cm", "paper.png", 0);
    draw("640x480px", "page.png", 0);
    let size = |file: &str| {
        let bytes = std::fs::read(folder.path().join(file)).unwrap();
        [16, 20].map(|at| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()))
    };
    assert_eq!(
        (size("paper.png"), size("page.png")),
        ([992, 709], [640, 480]),
        "300 dots per inch; pixels as given"
    );
    let said = draw("3.3", "paper.svg", 2);
    assert!(said.contains("3.3x2.5in"), "{said}");
}

#[test]
fn memory_and_gpus_of_a_trial_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let smi = folder.path().join("nvidia-smi");
    let answers = "case $1 in *apps*) echo $(cat pid), GPU-a, 512; echo 1, GPU-b, 9;; *) echo GPU-a, 40; echo GPU-b, 99;; esac";
    std::fs::write(&smi, format!("#!/bin/sh\n{answers}\n")).unwrap();
    std::fs::set_permissions(&smi, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let script = "echo $$ > pid; echo val_acc={lr}; sleep 2; echo val_acc={lr}";
    let mut search = search(folder.path(), &["--trials", "1", "--no-stopping"], script);
    output(search.env("PATH", path), 0);
    let show = |more: &[&str]| {
        let shown =
            foretell(folder.path(), &[&["study", "show", "study", "0"], more].concat()).output().unwrap();
        text(&shown.stdout)
    };
    let shown = show(&[]);
    assert!(
        shown.contains("used: memory up to ")
            && shown.contains("GPU memory up to 512 MiB, GPU busy for 40 %"),
        "{shown}"
    );
    let usage: Value = serde_json::from_str::<Value>(&show(&["--format", "json"])).unwrap()["usage"].clone();
    assert!(usage["peak_memory"].as_u64().unwrap() > 100_000, "{usage}");
    assert_eq!(usage["samples"].as_array().unwrap().len(), 1, "one sample per minute: {usage}");
}

#[test]
fn each_configuration_is_trained_with_several_seeds_and_judged_by_their_mean() {
    let folder = tempfile::tempdir().unwrap();
    let script = "echo {lr} {seed} | awk '{{ for (e = 1; e <= 6; e++) print \"val_acc=\" $1 * e / 6 + ($2 % 100) / 1000 }}'";
    let more = ["--trials", "12", "--repeats", "3", "--no-stopping", "--score", "last"];
    output(&mut search(folder.path(), &more, script), 0);
    let shown = text(&foretell(folder.path(), &["study", "show", "study"]).output().unwrap().stdout);
    assert!(shown.contains("mean of 3 seeds, from "), "{shown}");
    let table = study(folder.path(), "export", &["--trials", "--format", "csv"]);
    assert_eq!(table.lines().count(), 13, "each training is a trial: {table}");
    // the same command again changes nothing, another number is another study
    output(&mut search(folder.path(), &more, script), 0);
    let (_, said) = output(&mut search(folder.path(), &["--trials", "12", "--repeats", "2"], script), 2);
    assert!(said.contains("repeats"), "{said}");
}

#[test]
fn the_luckiest_seed_is_not_called_the_best() {
    let folder = tempfile::tempdir().unwrap();
    let script = "echo {lr} {seed} | awk '{{ for (e = 1; e <= 6; e++) print \"val_acc=\" $1 / 100 + ($2 % 100) / 100 }}'";
    let more =
        ["--trials", "12", "--repeats", "3", "--no-stopping", "--enqueue", "lr=0.1", "--score", "last"];
    let found = json(&search(folder.path(), &more, script).output().unwrap());
    let exported = study(folder.path(), "export", &["--trials"]);
    let trials: Vec<Value> = exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut scores: std::collections::BTreeMap<String, Vec<f64>> = Default::default();
    for trial in &trials {
        scores.entry(trial["param.lr"].to_string()).or_default().push(trial["score"].as_f64().unwrap());
    }
    let means =
        scores.values().filter(|scores| scores.len() == 3).map(|scores| scores.iter().sum::<f64>() / 3.0);
    let best = means.fold(0.0, f64::max);
    let luckiest = scores.values().flatten().copied().fold(0.0, f64::max);
    assert!(luckiest > best + 0.01, "{scores:?}");
    let shown: Value = serde_json::from_str(&study(folder.path(), "best", &["--format", "json"])).unwrap();
    let listed = json(&foretell(folder.path(), &["study", "ls", ".", "--format", "json"]).output().unwrap());
    for score in [&found["best"]["score"], &shown["score"], &listed["studies"][0]["best"]["score"]] {
        assert!(
            (score.as_f64().unwrap() - best).abs() < 1e-9,
            "{score}, but the best mean is {best}: {scores:?}"
        );
    }
    assert_eq!(shown["seeds"].as_array().map(Vec::len), Some(3), "{shown}");
    let text = text(&foretell(folder.path(), &["study", "show", "study"]).output().unwrap().stdout);
    assert!(text.contains("mean of 3 seeds, from ") && text.contains(" (± 0."), "{text}");
}

#[test]
fn the_best_of_a_study_without_completed_trials_is_named_with_the_command_that_completes_it() {
    let folder = tempfile::tempdir().unwrap();
    // three trials end at a rung, and the budget does not pay for a promotion
    let more = ["--trials", "3", "--scheduler", "asha", "--budget-epochs", "6"];
    let ran = search(folder.path(), &more, SCRIPT).output().unwrap();
    assert!(ran.status.code().is_some(), "{}", text(&ran.stderr));
    let (_, said) = output(&mut foretell(folder.path(), &["study", "best", "study"]), 1);
    assert!(said.contains("No trial was completed") || said.contains("no trial was completed"), "{said}");
    assert!(said.contains("complete it: foretell study run study --trial "), "{said}");
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
    assert!(said.contains("using the metric `val_acc`"), "{said}");
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
    assert!(said.contains("no line matches --metric 'acc'"), "{said}");
    let (_, said) = output(&mut foretell(folder.path(), &["import", "missing.csv", "--out", "x.jsonl"]), 2);
    assert!(said.contains("no such file"), "{said}");
    assert!(!folder.path().join("x.jsonl").exists());
}

#[test]
fn a_search_goes_on_when_nobody_reads_what_it_says_and_keeps_what_it_had_to_say() {
    let reader_quits = Stdio::from({
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        writer
    });
    let full = Stdio::from(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    for (what, stderr) in [("a pipe whose reader has quit", reader_quits), ("a full device", full)] {
        let folder = tempfile::tempdir().unwrap();
        let mut search = search(folder.path(), &["--trials", "3", "--no-stopping"], SCRIPT);
        let output =
            search.stderr(stderr).stdout(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{what}");
        assert_eq!(json(&output)["trials"]["completed"], 3, "{what}");
        let kept = std::fs::read_to_string(folder.path().join("study/notices.log")).unwrap();
        assert_eq!(kept.matches("standard error cannot be written").count(), 1, "{what}: {kept}");
        assert!(kept.contains("trial   2") && kept.contains("6/6"), "{what}: {kept}");
    }
}

#[test]
fn output_that_nobody_reads_ends_no_command_in_a_panic() {
    let folder = finished_study("3");
    for words in [&["study", "show", "study"][..], &["study", "show", "nowhere"], &["schema"], &["--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let both = [writer.try_clone().unwrap(), writer].map(Stdio::from);
        let [stdout, stderr] = both;
        let status = foretell(folder.path(), words).stdout(stdout).stderr(stderr).status().unwrap();
        assert!(matches!(status.code(), Some(0 | 2)), "{words:?}: {status}");
    }
}

/// A small disk; `None`, with a message by name, if this user may not mount one.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    fn mount(place: &Path, size: &str) -> Option<Self> {
        let size = format!("size={size}");
        let words = ["-t", "tmpfs", "-o", &size, "tmpfs"];
        let mounted = Command::new("mount").args(words).arg(place).stderr(Stdio::null()).status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(Self(place.to_owned()));
        }
        needed::skipped("mounting a small disk needs more rights", false);
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_pauses_the_search_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("disk");
    std::fs::create_dir(&place).unwrap();
    let Some(_disk) = SmallDisk::mount(&place, "512k") else { return };
    // half of it is taken at once, and the rest while the search runs
    let script = ": {lr}; for e in 1 2 3 4 5 6; do echo val_acc=0.$e; if [ $e = 2 ]; then touch ../two; \
                  while [ ! -e ../on ]; do sleep 0.05; done; fi; done";
    let more = ["--trials", "30", "--no-stopping"];
    let running =
        search(&place, &more, script).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("the first trial has reported twice", || folder.path().join("two").exists());
    let ballast = place.join("ballast");
    let _ = std::fs::write(&ballast, vec![b'x'; 1024 * 1024]);
    assert!(std::fs::write(place.join("no-room"), "x".repeat(8192)).is_err(), "the disk is full");
    std::fs::write(folder.path().join("on"), "").unwrap();
    let pid = running.id().to_string();
    // the log fills its last page first, and then waits
    std::thread::sleep(Duration::from_secs(1));
    assert!(runs(&pid), "it waits");
    std::fs::remove_file(ballast).unwrap();
    let output = running.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(said.matches("wait until disk space is free").count(), 1, "{said}");
    assert_eq!(said.matches("disk space is free again").count(), 1, "{said}");
    let result = json(&output);
    assert_eq!(
        (&result["trials"]["completed"], &result["epochs"]["spent"]),
        (&30.into(), &180.into()),
        "{result}"
    );
    let log = std::fs::read_to_string(place.join("study/trials/0000/output.log")).unwrap();
    assert_eq!(log.lines().count(), 6, "{log}");
}

#[test]
fn a_search_that_waits_for_room_can_be_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("disk");
    std::fs::create_dir(&place).unwrap();
    let Some(_disk) = SmallDisk::mount(&place, "512k") else { return };
    let script = ": {lr}; touch ../two; while [ ! -e ../on ]; do sleep 0.05; done; \
                  for e in 1 2 3 4 5 6; do echo val_acc=0.$e; done";
    let more = ["--trials", "30", "--no-stopping"];
    let running =
        search(&place, &more, script).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("the trial runs", || folder.path().join("two").exists());
    let _ = std::fs::write(place.join("ballast"), vec![b'x'; 1024 * 1024]);
    std::fs::write(folder.path().join("on"), "").unwrap();
    std::thread::sleep(Duration::from_secs(1));
    signal(&running.id().to_string(), "-INT");
    let output = running.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
}

#[test]
fn a_report_fits_on_a_screen_and_the_best_comes_last() {
    let folder = tempfile::tempdir().unwrap();
    // every second one fails, all others but the first are below the median of those before
    let script = "if [ $((FORETELL_TRIAL % 4)) = 3 ]; then echo Traceback; printf 'Error: \\033[31mlr {lr}\\033[0m\\n'; exit 1; fi; \
                  for e in 1 2 3 4 5 6; do echo val_acc=$(awk \"BEGIN {{ print 0.9 - $FORETELL_TRIAL / 1000 }}\"); done";
    let more = ["--trials", "60", "--policy", "median", "--burn-in", "3"];
    let (done, _) = output(&mut search(folder.path(), &more, script), 0);
    let result = json(&done);
    let (stopped, failed) = (&result["trials"]["stopped"], &result["trials"]["failed"]);
    assert!(stopped.as_u64().unwrap() > 20 && *failed == 15, "{result}");
    let show = |more: &[&str]| {
        let shown = foretell(folder.path(), &[&["study", "show", "study"], more].concat()).output().unwrap();
        text(&shown.stdout)
    };
    let screen = show(&[]);
    assert!(screen.lines().count() <= 40, "{} lines: {screen}", screen.lines().count());
    assert!(screen.contains("15 failed trials, the last 5 shown"), "{screen}");
    assert!(screen.contains("exit code 1; last output: Error: lr 0."), "{screen}");
    assert!(!screen.contains('\u{1b}'), "{screen:?}");
    let end = screen.trim_end().rsplit("\n\n").next().unwrap();
    assert!(end.starts_with("best: trial 0, val_acc 0.9000\n  lr "), "{screen}");
    assert!(end.contains("\n  run it: sh -c ") && end.ends_with("study run study --seeds 3"), "{screen}");
    let all = show(&["--all"]);
    assert!(all.lines().count() > 60 && !all.contains(" shown (all:"), "{all}");
    let one = show(&["59"]);
    assert!(one.contains("Error: lr") && !one.contains('\u{1b}'), "{one:?}");
}

#[test]
fn settings_that_cannot_be_meant_are_refused_with_what_to_write() {
    let folder = tempfile::tempdir().unwrap();
    let (_, said) = output(&mut search(folder.path(), &["--max-time", "100"], SCRIPT), 2);
    assert!(said.contains("100s (seconds), 100m (minutes)"), "{said}");
    let words = ["search", "--param", "lr=log:0.01:1", "--epochs", "18446744073709551615", "--", "true"];
    let (_, said) = output(&mut foretell(folder.path(), &words), 2);
    assert!(said.contains("epochs 18446744073709551615 is too large"), "{said}");
    for (line, expected) in [
        ("metric = f1", "Write it in quotes: metric = \"f1\""),
        ("metric = val_acc # the best", "Write it in quotes: metric = \"val_acc\""),
        ("scheduler = full", "Write it in quotes: scheduler = \"full\""),
        ("max-time = 8h", "Write it in quotes: max-time = \"8h\""),
        ("metric = acc: ([\\d.]+)", "Write it in quotes: metric = 'acc: ([\\d.]+)'"),
    ] {
        std::fs::write(folder.path().join("study.toml"), format!("trials = 3\n{line}\n")).unwrap();
        let (_, said) = output(&mut foretell(folder.path(), &["search", "study.toml"]), 2);
        assert!(said.contains("study.toml:2:") && said.contains(expected), "{line}: {said}");
    }
    std::fs::write(folder.path().join("study.toml"), "trials = 3 4\n").unwrap();
    let (_, said) = output(&mut foretell(folder.path(), &["search", "study.toml"]), 2);
    assert!(!said.contains("quotes,"), "{said}");
}

#[test]
fn epochs_that_count_from_0_are_shown_as_so_many_as_were_trained() {
    let folder = tempfile::tempdir().unwrap();
    let script = ": {lr}; for e in 0 1 2 3 4 5; do echo epoch $e val_acc=0.$e; done";
    let (_, said) = output(&mut search(folder.path(), &["--trials", "1", "--no-stopping"], script), 0);
    assert!(said.contains(" 6/6 ") && !said.contains("5/6"), "{said}");
    let shown = foretell(folder.path(), &["study", "show", "study", "0"]).output().unwrap();
    assert!(text(&shown.stdout).contains("after 6 of 6 epochs"), "{}", text(&shown.stdout));
}

/// `search` without control groups; `None`, with a message by name, if this user cannot hide them.
fn without_control_groups(folder: &Path, search: &Command) -> Option<Command> {
    let probe = Command::new("unshare").args(["-m", "true"]).stderr(Stdio::null()).status();
    if !probe.is_ok_and(|status| status.success()) {
        needed::skipped("hiding control groups needs more rights", false);
        return None;
    }
    let mut hidden = Command::new("unshare");
    hidden.args(["-m", "sh", "-c", "umount -a -t cgroup2; exec \"$@\"", "sh"]);
    hidden.arg(search.get_program()).args(search.get_args()).current_dir(folder);
    Some(hidden)
}

/// Leaves a process in a session of its own, without a parent, and with an empty environment.
const LEAVE: &str = "(env -i /usr/bin/setsid /bin/sh -c 'echo $$ > daemon; exec sleep 600' &) ; \
                     while [ ! -s daemon ]; do sleep 0.05; done; ";

#[test]
fn what_left_its_trial_without_a_name_is_ended_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("{LEAVE} {SCRIPT}");
    let more = ["--trials", "2", "--no-stopping"];
    let usual = search(folder.path(), &more, &script);
    let hidden = without_control_groups(folder.path(), &usual);
    for mut search in [usual].into_iter().chain(hidden) {
        let _ = std::fs::remove_dir_all(folder.path().join("study"));
        let _ = std::fs::remove_file(folder.path().join("daemon"));
        output(&mut search, 0);
        let daemon = std::fs::read_to_string(folder.path().join("daemon")).unwrap();
        assert!(!runs(daemon.trim()), "{search:?}");
    }
}

#[test]
fn what_left_its_trial_without_a_name_dies_with_a_search_that_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("{LEAVE} sleep 1; touch ready; sleep 600");
    let more = ["--trials", "1", "--no-stopping"];
    let usual = search(folder.path(), &more, &script);
    let hidden = without_control_groups(folder.path(), &usual);
    for mut search in [usual].into_iter().chain(hidden) {
        for file in ["daemon", "ready"] {
            let _ = std::fs::remove_file(folder.path().join(file));
        }
        let mut running = search.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_for("the trial runs", || folder.path().join("ready").exists());
        running.kill().unwrap();
        running.wait().unwrap();
        let daemon = std::fs::read_to_string(folder.path().join("daemon")).unwrap();
        wait_for(&format!("{search:?} leaves nothing"), || !runs(daemon.trim()));
    }
}

#[test]
fn a_restart_ends_what_a_search_left_whose_guardian_was_killed_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("[ -e daemon ] || {{{{ {LEAVE} sleep 1; touch ready; sleep 600; }}}}; {SCRIPT}");
    let more = ["--trials", "1", "--no-stopping"];
    let mut start = search(folder.path(), &more, &script);
    let mut running = start.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for("the trial runs", || folder.path().join("ready").exists());
    let children = format!("/proc/{0}/task/{0}/children", running.id());
    let children = std::fs::read_to_string(children).unwrap();
    let is_guardian = |pid: &&str| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.split(|&byte| byte == 0).any(|word| word == b"guard")
    };
    signal(children.split_whitespace().find(is_guardian).unwrap(), "-KILL");
    running.kill().unwrap();
    running.wait().unwrap();
    let daemon = std::fs::read_to_string(folder.path().join("daemon")).unwrap();
    assert!(runs(daemon.trim()), "nobody was there to end it");
    output(&mut search(folder.path(), &more, &script), 0);
    assert!(!runs(daemon.trim()));
}

#[test]
fn trainings_with_early_stopping_of_their_own_or_searched_epochs_are_told_what_to_write() {
    let folder = tempfile::tempdir().unwrap();
    let script = ": {lr}; for e in $(seq $((4 + FORETELL_TRIAL % 2))); do echo val_acc=0.$e; done";
    let (_, said) = output(&mut search(folder.path(), &["--trials", "5", "--no-stopping"], script), 0);
    assert_eq!(
        said.matches("the longest ended by itself after step 5, but `epochs` is 6").count(),
        1,
        "{said}"
    );
    let folder = tempfile::tempdir().unwrap();
    let script = ": {lr}; for e in $(seq {epochs}); do echo val_acc=0.$e; done";
    let more = ["--param", "epochs=int:2:9", "--trials", "2", "--no-stopping"];
    let (_, said) = output(&mut search(folder.path(), &more, script), 0);
    assert!(said.contains("parameter epochs goes up to 9, but --epochs 6 ends every trial there"), "{said}");
}

/// The output of a `study` command on the study of `folder`.
fn study(folder: &Path, action: &str, more: &[&str]) -> String {
    let (output, _) = output(&mut foretell(folder, &[&["study", action, "study"], more].concat()), 0);
    text(&output.stdout)
}

#[test]
fn the_best_is_taken_away_as_a_command_line_and_as_a_file() {
    let folder = finished_study("6");
    let lines = study(folder.path(), "best", &["--format", "args"]);
    let ran = Command::new("sh").args(["-c", lines.trim()]).output().unwrap();
    let last = text(&ran.stdout).lines().last().unwrap().to_owned();
    let best: Value = serde_json::from_str(&study(folder.path(), "best", &["--format", "json"])).unwrap();
    let score: f64 = last.strip_prefix("val_acc=").unwrap().parse().unwrap();
    assert!((score - best["score"].as_f64().unwrap()).abs() < 1e-6, "{last} is not that of {best}");
    let lr = &best["configuration"]["lr"];
    assert_eq!(study(folder.path(), "best", &["--format", "toml"]), format!("lr = {lr}\n"));
    assert_eq!(study(folder.path(), "best", &["--format", "yaml"]), format!("lr: {lr}\n"));
    let second: Value =
        serde_json::from_str(&study(folder.path(), "best", &["2", "--format", "json"])).unwrap();
    assert!(second["score"].as_f64() < best["score"].as_f64() && second["rank"] == 2, "{second}");
    let shown = study(folder.path(), "show", &[]);
    assert!(shown.contains(&format!("run it: {}", lines.trim())), "{shown}");
    let (_, said) = output(&mut foretell(folder.path(), &["study", "best", "study", "9"]), 1);
    assert!(said.contains("only 6 trials"), "{said}");
}

#[test]
fn the_best_is_trained_anew_with_other_seeds_and_said_to_have_won_by_luck_or_not() {
    let folder = tempfile::tempdir().unwrap();
    // the seed decides the last digits
    let script = "for e in 1 2 3 4 5 6; do echo \"val_acc=$(echo \"{lr} $FORETELL_SEED\" | awk '{{printf \"%.8f\", $1 + ($2 % 97) / 1e5}}')\"; done";
    output(
        &mut search(folder.path(), &["--trials", "5", "--no-stopping", "--enqueue", "lr=0.02"], script),
        0,
    );
    let shown = study(folder.path(), "show", &[]);
    assert!(shown.contains("yours (trial 0) reached 0.02"), "{shown}");
    let again: Value =
        serde_json::from_str(&study(folder.path(), "run", &["--seeds", "3", "--format", "json"])).unwrap();
    let scores: Vec<f64> =
        again["scores"].as_array().unwrap().iter().map(|it| it.as_f64().unwrap()).collect();
    assert!(scores.len() == 3 && (scores[0] - scores[1]).abs() > 1e-9, "{again}");
    assert!((again["mean"].as_f64().unwrap() - scores.iter().sum::<f64>() / 3.0).abs() < 1e-12, "{again}");
    assert!(again["sd"].as_f64().unwrap() > 0.0 && again["was"].is_number(), "{again}");
    let longer = study(folder.path(), "run", &["--trial", "0", "--epochs", "4"]);
    assert!(longer.contains("trial 0 for 4 epochs, with a new seed: val_acc 0.02"), "{longer}");
    let (_, said) = output(&mut foretell(folder.path(), &["study", "run", "study", "--trial", "99"]), 2);
    assert!(said.contains("contains no trial 99"), "{said}");
}

#[test]
fn a_study_of_a_file_is_trained_anew_by_what_the_file_said_then() {
    let folder = tempfile::tempdir().unwrap();
    let file = "command = [\"sh\", \"-c\", \"for e in 1 2 3; do echo val_acc={lr}; done\"]\nmetric = \"val_acc\"\nepochs = 3\ntrials = 3\nno-stopping = true\nout = \"study\"\n[param]\nlr = \"log:0.01:1\"\n";
    std::fs::write(folder.path().join("study.toml"), file).unwrap();
    output(&mut foretell(folder.path(), &["search", "study.toml"]), 0);
    std::fs::remove_file(folder.path().join("study.toml")).unwrap();
    let again = study(folder.path(), "run", &["--seeds", "2"]);
    assert!(again.contains("all are equal") && again.contains("FORETELL_SEED"), "{again}");
}

#[test]
fn trials_are_written_as_a_table_with_their_parameters_and_metrics() {
    let folder = tempfile::tempdir().unwrap();
    let script = "if [ $FORETELL_TRIAL = 1 ]; then echo 'no, not \"so\"'; exit 3; fi; for e in 1 2 3 4 5 6; do echo \"{{\\\"foretell\\\":{{\\\"step\\\":$e,\\\"val_acc\\\":{lr},\\\"loss\\\":0.$e}}}}\"; done";
    output(&mut search(folder.path(), &["--trials", "3", "--no-stopping"], script), 0);
    let lines = study(folder.path(), "export", &["--trials"]);
    let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 3, "{lines}");
    assert_eq!((&rows[0]["state"], &rows[0]["metric.loss"]), (&"completed".into(), &0.6.into()), "{lines}");
    assert_eq!(rows[0]["score"], rows[0]["param.lr"], "{lines}");
    assert!(rows[1]["state"] == "failed" && rows[1]["score"].is_null(), "{lines}");
    let (_, said) = output(
        &mut foretell(folder.path(), &["study", "export", "study", "--trials", "--out", "trials.csv"]),
        0,
    );
    assert!(said.contains("3 trials written to trials.csv"), "{said}");
    let csv = std::fs::read_to_string(folder.path().join("trials.csv")).unwrap();
    let headings = csv.lines().next().unwrap();
    assert!(headings.starts_with("trial,state,score,epochs,last,began,seconds,forecast,"), "{csv}");
    assert!(headings.ends_with("error,param.lr,metric.loss,metric.val_acc"), "{csv}");
    assert!(csv.contains("no, not \"\"so\"\""), "{csv}");
    // the form follows the file's ending; without --trials a row is a report
    for (words, said_so, columns) in [
        (
            &["--trials", "--out", "trials.parquet"][..],
            "3 trials",
            "trial,state,score,epochs,last,began,seconds",
        ),
        (&["--out", "curves.parquet"], "12 reports", "trial,step,value,metric.loss,metric.val_acc"),
        (&["--out", "curves.csv"], "12 reports", "trial,step,value,metric.loss,metric.val_acc"),
    ] {
        let export = [&["study", "export", "study"], words].concat();
        let is_parquet = words[words.len() - 1].ends_with("parquet");
        if is_parquet && !cfg!(feature = "parquet") {
            let (_, said) = output(&mut foretell(folder.path(), &export), 1);
            assert!(said.contains("--features parquet"), "{said}");
            continue;
        }
        let (_, said) = output(&mut foretell(folder.path(), &export), 0);
        assert!(said.contains(said_so), "{said}");
        let bytes = std::fs::read(folder.path().join(words[words.len() - 1])).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let names = columns.split(',');
        assert!(names.clone().all(|name| text.contains(name)), "{text}");
        assert_eq!(text.starts_with("PAR1"), is_parquet);
    }
    let curves = study(folder.path(), "export", &["--format", "csv"]);
    let rows: Vec<&str> = curves.lines().collect();
    assert_eq!((rows.len(), rows[0]), (13, "trial,step,value,metric.loss,metric.val_acc"), "{curves}");
    assert!(rows[1].starts_with("0,1,") && rows[1].contains(",0.1,"), "{curves}");
}

#[test]
fn second_metrics_are_shown_with_the_trials_that_printed_them() {
    let folder = tempfile::tempdir().unwrap();
    let script = "for e in 1 2 3 4 5 6; do echo \"{{\\\"foretell\\\":{{\\\"step\\\":$e,\\\"val_acc\\\":{lr},\\\"loss\\\":0.$e,\\\"f1\\\":0.75}}}}\"; done";
    output(&mut search(folder.path(), &["--trials", "3", "--no-stopping"], script), 0);
    for words in [&[][..], &["--top", "2"]] {
        let shown = study(folder.path(), "show", words);
        let leaders = shown.lines().skip_while(|line| !line.ends_with(" best")).nth(1).unwrap_or_default();
        let headings: Vec<&str> = leaders.split_whitespace().collect();
        assert_eq!(headings, ["trial", "val_acc", "f1", "loss", "lr"], "{shown}");
        assert!(shown.contains("0.7500  0.6000"), "{shown}");
    }
    let top: Value =
        serde_json::from_str(&study(folder.path(), "show", &["--top", "1", "--format", "json"])).unwrap();
    assert_eq!(top["top"][0]["metrics"], serde_json::json!({"f1": 0.75, "loss": 0.6}), "{top}");
    let trial = study(folder.path(), "show", &["1"]);
    assert!(trial.contains("0.7500  0.3000"), "{trial}");
    let trial: Value =
        serde_json::from_str(&study(folder.path(), "show", &["1", "--format", "json"])).unwrap();
    assert_eq!(trial["metrics"]["loss"], serde_json::json!([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]), "{trial}");
    study(folder.path(), "plot", &["--watch", "loss", "--watch", "f1", "--out", "curves.svg"]);
    let picture = std::fs::read_to_string(folder.path().join("curves.svg")).unwrap();
    assert!(picture.contains(">loss<") && picture.contains(">f1<"), "both are drawn");
    let (_, said) = output(&mut foretell(folder.path(), &["study", "plot", "study", "--watch", "los"]), 2);
    assert!(
        said.contains("--watch los: no trial has reported it. Choose one of f1, loss, val_acc"),
        "{said}"
    );
    let (_, said) =
        output(&mut search(folder.path(), &["--trials", "4", "--no-stopping", "--watch", "loss"], script), 0);
    assert!(said.contains("done  loss 0.6000  lr 0."), "{said}");
}
