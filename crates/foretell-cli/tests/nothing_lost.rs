//! Nothing is lost and nothing invented: invalid numbers, crash loops, damaged logs, and systems with only the features of every Unix.

mod common;

use common::{foretell, json, records, text, wait_for};
use serde_json::Value;
use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

/// A study of six epochs, which begin after `pause` seconds; its script counts the epochs that it trains in the file `trained`.
fn search(folder: &Path, pause: &str, more: &[&str]) -> std::process::Command {
    // the command stays the same, so that the study continues
    fs::write(folder.join("pause"), pause).unwrap();
    let script = r#"sleep $(cat pause); e=0; while [ $e -lt 6 ]; do e=$((e+1)); echo x >> trained; echo "epoch=$e val_acc=0.$e{x}"; sleep 0.1; done"#;
    let flags = ["search", "--param", "x=int:1:9", "--metric", "val_acc", "--epochs", "6", "--out", "study"];
    let words =
        [&flags[..], &["--no-stopping", "--format", "json"], more, &["--", "sh", "-c", script]].concat();
    let mut command = foretell(folder, &words);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn kill_and_wait(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn show(folder: &Path) -> Value {
    json(&foretell(folder, &["study", "show", "study", "--format", "json"]).output().unwrap())
}

fn doctor(folder: &Path, more: &[&str]) -> Output {
    foretell(folder, &[&["study", "doctor", "study", "--format", "json"], more].concat()).output().unwrap()
}

fn trained_epoch_count(folder: &Path) -> u64 {
    fs::read_to_string(folder.join("trained")).map_or(0, |text| text.lines().count() as u64)
}

#[test]
fn a_number_that_is_not_finite_is_refused_by_its_flag_or_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let curves: Vec<String> = (0..6).map(|run| format!("0.{run},0.1,0.2,0.3\n")).collect();
    fs::write(folder.path().join("c.csv"), format!("lr,acc_1,acc_2,acc_3\n{}", curves.concat())).unwrap();
    let cases = [
        ["--stop-probability", "nan"],
        ["--offset", "inf"],
        ["--exempt", "nan"],
        ["--refit", "nan"],
        ["--refit", "inf"],
    ];
    for [flag, value] in cases {
        let search = [
            "search",
            "--param",
            "x=float:0:1",
            "--epochs",
            "3",
            "--explain",
            flag,
            value,
            "--",
            "true",
            "{x}",
        ];
        for words in [&search[..], &["replay", "c.csv", flag, value]] {
            let output = foretell(folder.path(), words).output().unwrap();
            let said = text(&output.stderr);
            assert!(output.status.code() == Some(2) && said.contains(flag), "{words:?}: {said}");
        }
    }
    fs::write(
        folder.path().join("s.toml"),
        "param.x = \"float:0:1\"\nepochs = 3\nexempt = nan\ncommand = [\"true\", \"{x}\"]\n",
    )
    .unwrap();
    let output = foretell(folder.path(), &["search", "s.toml", "--explain"]).output().unwrap();
    let said = text(&output.stderr);
    assert!(
        output.status.code() == Some(2) && said.contains("s.toml:3") && said.contains("exempt"),
        "{said}"
    );
}

#[test]
fn epochs_that_nobody_trained_do_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let first = search(folder, "0", &["--trials", "1"]).spawn().unwrap();
    let log = || fs::read_to_string(folder.join("study/events.jsonl")).unwrap_or_default();
    wait_for("two reports", || log().matches("\"reported\"").count() >= 2);
    kill_and_wait(first);
    for _ in 0..3 {
        let again = search(folder, "5", &["--trials", "1"]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(700));
        kill_and_wait(again);
    }
    let counted = show(folder)["epochs"]["spent"].as_u64().unwrap();
    assert!(counted <= trained_epoch_count(folder), "{counted} epochs of {}", trained_epoch_count(folder));
    let before = trained_epoch_count(folder);
    let result = json(&search(folder, "0", &["--trials", "1", "--max-epochs", "50"]).output().unwrap());
    let spent = result["epochs"]["spent"].as_u64().unwrap();
    // lines printed just before a kill may not have been read
    assert_eq!(trained_epoch_count(folder), before + 6);
    assert!(
        spent > 6 && spent <= trained_epoch_count(folder),
        "{spent} epochs of {}",
        trained_epoch_count(folder)
    );
}

/// A finished study of four trials.
fn finish_study(folder: &Path) {
    let output = search(folder, "0", &["--trials", "4", "--sampler", "random"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// Fills the line of trial `trial`'s start with zeros.
fn lose_start(folder: &Path, trial: u64) {
    let path = folder.join("study/events.jsonl");
    let log = fs::read(&path).unwrap();
    let lines: Vec<&[u8]> = log.split_inclusive(|&byte| byte == b'\n').collect();
    let is_start = |line: &&&[u8]| {
        let record: Value = serde_json::from_slice(line).unwrap();
        record["record"]["event"] == "started" && record["record"]["trial"] == trial
    };
    let lost = lines.iter().position(|line| is_start(&line)).unwrap();
    let damaged: Vec<u8> = lines
        .iter()
        .enumerate()
        .flat_map(|(place, line)| if place == lost { vec![0; line.len()] } else { line.to_vec() })
        .collect();
    fs::write(&path, damaged).unwrap();
}

fn starts(folder: &Path, trial: u64) -> Vec<Value> {
    let is_own = |record: &Value| record["event"] == "started" && record["trial"] == trial;
    records(folder).into_iter().filter(is_own).map(|record| record["configuration"].clone()).collect()
}

#[test]
fn a_lost_start_gets_the_configuration_of_its_folder_or_none_and_never_another() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    finish_study(folder);
    let params = folder.join("study/trials/0002/params.json");
    let true_one: Value = serde_json::from_str(&fs::read_to_string(&params).unwrap()).unwrap();
    lose_start(folder, 2);
    let repaired = doctor(folder, &["--repair"]);
    assert!(repaired.status.success(), "{}", text(&repaired.stderr));
    assert_eq!(starts(folder, 2), [true_one]);
    lose_start(folder, 2);
    fs::remove_file(&params).unwrap();
    let repaired = json(&doctor(folder, &["--repair"]));
    assert_eq!(repaired["repair"]["computed"][0]["unknown_configuration"], true, "{repaired}");
    assert_eq!(starts(folder, 2), [serde_json::json!({})]);
    let shown = show(folder);
    assert_ne!(shown["best"]["trial"], 2, "{shown}");
    assert_eq!(shown["trials"]["total"], 4, "{shown}");
}

/// Lost records may have changed the promoted trials: records that no longer follow are left out, and named.
#[test]
fn a_log_of_rungs_can_be_read_after_its_repair_whichever_part_of_it_was_lost() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let more = ["--trials", "8", "--sampler", "random", "--scheduler", "asha", "--workers", "4"];
    let output = search(folder, "0", &more).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let configurations: Vec<Value> = (0..8).flat_map(|trial| starts(folder, trial).pop()).collect();
    let path = folder.join("study/events.jsonl");
    let whole = fs::read(&path).unwrap();
    for page in 0..whole.len() / 1024 {
        let mut damaged = whole.clone();
        damaged[page * 1024..][..1024].fill(0);
        fs::write(&path, damaged).unwrap();
        let repaired = doctor(folder, &["--repair"]);
        assert!(repaired.status.success(), "page {page}: {}", text(&repaired.stderr));
        assert!(doctor(folder, &[]).status.success(), "page {page}");
        let log = fs::read_to_string(&path).unwrap();
        assert!(!log.contains('\0'), "page {page}");
        for line in log.lines().filter(|line| line.ends_with('}')) {
            let record = serde_json::from_str::<Value>(line).unwrap()["record"].clone();
            if record["event"] == "started" {
                let trial = record["trial"].as_u64().unwrap() as usize;
                assert_eq!(record["configuration"], configurations[trial], "page {page}");
            }
        }
    }
}

#[test]
fn damaged_and_blank_lines_at_the_end_are_repaired_and_every_sound_record_is_kept() {
    for rubbish in ["x\ny\n", "\n\n\n", "{\"v\":2,\"crc\":\"00000000\",\"seq\":1\n{\"v\":2,\"cr"] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        finish_study(folder);
        let whole = records(folder);
        let path = folder.join("study/events.jsonl");
        OpenOptions::new().append(true).open(&path).unwrap().write_all(rubbish.as_bytes()).unwrap();
        let repaired = doctor(folder, &["--repair"]);
        assert!(repaired.status.success(), "{rubbish:?}: {}", text(&repaired.stderr));
        let log = fs::read_to_string(&path).unwrap();
        let kept = log.lines().filter(|line| line.ends_with('}')).count();
        assert_eq!(kept, whole.len(), "{rubbish:?}");
        assert!(doctor(folder, &[]).status.success(), "{rubbish:?}");
    }
}

#[test]
fn a_tail_of_zeros_or_of_rubbish_takes_neither_memory_nor_time() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    finish_study(folder);
    let path = folder.join("study/events.jsonl");
    let sound = fs::read(&path).unwrap();
    let mut file = OpenOptions::new().write(true).open(&path).unwrap();
    file.seek(SeekFrom::Start(64 << 20)).unwrap();
    file.write_all(b"\0").unwrap();
    drop(file);
    let begun = Instant::now();
    // acknowledged records may have stood there: it is damage, which is named and kept in a copy
    let listed = foretell(folder, &["study", "ls", ".", "--format", "json"]).output().unwrap();
    assert!(text(&listed.stderr).contains("study doctor"), "{}", text(&listed.stderr));
    let repaired = doctor(folder, &["--repair"]);
    assert!(repaired.status.success(), "{}", text(&repaired.stderr));
    assert_eq!(fs::read(&path).unwrap(), sound);
    assert_eq!(show(folder)["trials"]["total"], 4);
    fs::remove_file(folder.join("study/events.jsonl.damaged")).unwrap();
    // lines of rubbish, some starting like records
    let mut rubbish = sound.clone();
    for number in 0_u32..100_000 {
        let line = if number % 7 == 0 { "{\"v\":2,\"crc\":\"0badc0de\",\"se" } else { "q9#" };
        rubbish.extend(format!("{line}{number:x}\n").into_bytes());
    }
    fs::write(&path, rubbish).unwrap();
    assert!(doctor(folder, &["--repair"]).status.success());
    assert_eq!(fs::read(&path).unwrap(), sound);
    assert!(begun.elapsed() < Duration::from_secs(50), "{:?}", begun.elapsed());
}

#[test]
fn what_is_no_log_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::create_dir(folder.join("study")).unwrap();
    fs::write(folder.join("study/events.jsonl"), "").unwrap();
    let empty = doctor(folder, &[]);
    assert!(text(&empty.stderr).contains("the log is empty"), "{}", text(&empty.stderr));
    std::os::unix::fs::symlink("nowhere", folder.join("gone")).unwrap();
    let words = |out: &str| {
        let search = ["search", "--param", "x=int:1:9", "--epochs", "2", "--out", out, "--", "true", "{x}"];
        text(&foretell(folder, &search).output().unwrap().stderr)
    };
    assert!(words("gone").contains("symbolic link to a folder that does not exist"), "{}", words("gone"));
    fs::create_dir(folder.join("pipe")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(folder.join("pipe/events.jsonl")).status().unwrap();
    assert!(made.success());
    assert!(words("pipe").contains("it is not a file"), "{}", words("pipe"));
    let double = ["search", "--param", "x=int:1:9", "--epochs", "2", "--gpus", "0,0", "--", "true", "{x}"];
    let said = text(&foretell(folder, &double).output().unwrap().stderr);
    assert!(said.contains("0 is named twice"), "{said}");
}

/// Whether process `pid` runs.
fn runs(pid: u64) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn with_what_every_unix_system_has_trials_run_are_killed_with_their_search_and_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let portable = |pause: &str| {
        let mut command = search(folder, pause, &["--trials", "2", "--workers", "2"]);
        command.env("FORETELL_PORTABLE", "1");
        command
    };
    let first = portable("30").spawn().unwrap();
    let record = |trial: u64| folder.join(format!("study/trials/{trial:04}/process.json"));
    let leader = |trial: u64| {
        let record: Value = serde_json::from_str(&fs::read_to_string(record(trial)).ok()?).ok()?;
        record["leader"]["pid"].as_u64()
    };
    wait_for("two trials", || (0..2).all(|trial| leader(trial).is_some()));
    let pids: Vec<u64> = (0..2).filter_map(leader).collect();
    assert!(pids.iter().all(|&pid| runs(pid)));
    kill_and_wait(first);
    wait_for("the trials end with their search", || !pids.iter().any(|&pid| runs(pid)));
    let result = json(&portable("0").output().unwrap());
    assert_eq!(
        (&result["trials"]["completed"], &result["epochs"]["spent"]),
        (&2.into(), &12.into()),
        "{result}"
    );
}
