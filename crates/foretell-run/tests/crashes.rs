//! The state after the process that writes the log and runs the trials is killed by SIGKILL.
//!
//! The tests that play the victim are this same test program, started again with an environment variable set.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use foretell_run::{
    AbandonedOutcome, EventLog, LocalProcesses, MetricSource, OpenedLog, ProcessIdentity, TrialSpec,
    end_abandoned, read_log, watch_parent,
};

const PATIENCE: Duration = Duration::from_secs(60);
const FOLDER: &str = "FORETELL_TEST_FOLDER";

/// Starts the victim `test` of this program, which finds its folder in the environment; answers it and what it prints.
fn victim(test: &str, folder: &Path) -> (Child, BufReader<ChildStdout>) {
    let program = std::env::current_exe().expect("this program has a path");
    let mut command = Command::new(program);
    command.args([test, "--exact", "--nocapture", "--ignored"]).env(FOLDER, folder).stdout(Stdio::piped());
    let mut child = command.spawn().expect("this program starts again");
    let output = BufReader::new(child.stdout.take().expect("it is piped"));
    (child, output)
}

fn victims_folder() -> Option<std::path::PathBuf> {
    std::env::var_os(FOLDER).map(Into::into)
}

/// The words after `key` in the first line that starts with it.
fn line_after(output: &mut impl BufRead, key: &str) -> String {
    let mut line = String::new();
    while output.read_line(&mut line).expect("the victim prints") > 0 {
        if let Some((_, rest)) = line.split_once(key) {
            return rest.trim().to_owned();
        }
        line.clear();
    }
    panic!("the victim never printed {key:?}");
}

/// Waits less than the minute after which a victim's test harness would print, and end of a broken pipe.
fn is_gone_in_time(process: ProcessIdentity) -> bool {
    let until = Instant::now() + PATIENCE / 2;
    while process.is_alive() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    !process.is_alive()
}

fn spec(folder: &Path, command: &[&str]) -> TrialSpec {
    TrialSpec {
        trial: 1,
        command: command.iter().map(|part| part.replace('{', "{{").replace('}', "}}")).collect(),
        parameters: serde_json::Map::new(),
        seed: 1,
        max_resource: 1,
        until: 1,
        directory: folder.join("trial-1"),
        checkpoint_dir: folder.join("trial-1/checkpoints"),
        resume_from: None,
        resumed_at: 0,
        working_dir: None,
        environment: BTreeMap::new(),
        metric: MetricSource::default(),
        watch: foretell_run::WatchSettings::default(),
    }
}

/// Prints past the test harness's capture, at once.
fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).expect("somebody reads");
}

#[test]
#[ignore = "a victim, started by acknowledged_records_survive_sigkill"]
fn writes_records_until_killed() {
    let Some(folder) = victims_folder() else { return };
    let OpenedLog { mut log, .. } =
        EventLog::<u64>::open(folder.join("events.jsonl")).expect("the log opens");
    for record in log.len().. {
        log.append(&record).expect("there is room");
        say(&format!("acknowledged {record}"));
    }
}

#[test]
fn acknowledged_records_survive_sigkill() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("events.jsonl");
    let mut acknowledged = None;
    for round in 1..=5 {
        let (mut child, mut output) = victim("writes_records_until_killed", folder.path());
        for _ in 0..50 * round {
            acknowledged = line_after(&mut output, "acknowledged ").parse::<u64>().ok();
        }
        let refusal = EventLog::<u64>::open(&path).expect_err("the victim holds the log").to_string();
        assert!(refusal.contains(&format!("process {}", child.id())), "{refusal}");
        child.kill().expect("our child");
        child.wait().expect("our child");
        // What it acknowledged after our last look counts, too.
        let rest = output.lines().map_while(Result::ok);
        let more = rest.filter_map(|line| line.strip_prefix("acknowledged ")?.parse().ok()).last();
        acknowledged = more.or(acknowledged);
        let opened = EventLog::<u64>::open(&path).expect("the lock died with its holder");
        let last = acknowledged.expect("it acknowledged some");
        let count = opened.records.len() as u64;
        assert!(count > last, "round {round}: {last} was acknowledged, {count} records are left");
        assert_eq!(opened.records, (0..count).collect::<Vec<u64>>(), "round {round}");
    }
    let (records, dropped) = read_log::<u64>(&path).expect("readable");
    assert!(records.len() > 700 && dropped.is_none(), "{} records", records.len());
}

#[test]
#[ignore = "a victim, started by abandoned_processes_of_a_killed_parent_are_found_and_ended"]
fn starts_a_stubborn_trial_and_waits() {
    let Some(folder) = victims_folder() else { return };
    let ready = folder.join("ready");
    let script =
        format!("trap '' TERM; sh -c 'echo ready > {}; sleep 600' & wait; sleep 600", ready.display());
    let mut executor = LocalProcesses::default();
    let leader = executor.start(&spec(&folder, &["sh", "-c", &script])).expect("the trial starts");
    while fs::read_to_string(&ready).unwrap_or_default().is_empty() {
        std::thread::sleep(Duration::from_millis(20));
    }
    say(&format!("leader {}", leader.pid));
    std::thread::sleep(PATIENCE * 10);
}

/// The leader of a stubborn trial, whose parent was killed.
fn leader_of_killed_parent(folder: &Path) -> ProcessIdentity {
    let (mut child, mut output) = victim("starts_a_stubborn_trial_and_waits", folder);
    let leader = ProcessIdentity::with_pid(line_after(&mut output, "leader ").parse().expect("a process id"));
    child.kill().expect("our child");
    child.wait().expect("our child");
    leader
}

#[test]
fn abandoned_processes_of_a_killed_parent_are_found_and_ended() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let leader = leader_of_killed_parent(folder.path());
    assert!(leader.is_alive(), "it ignores SIGTERM and prints nothing: nothing ended it");
    let directory = folder.path().join("trial-1");
    let outcome = end_abandoned(&directory, Duration::from_millis(500)).expect("nothing is in the way");
    assert!(matches!(outcome, AbandonedOutcome::Killed { processes } if processes >= 2), "{outcome:?}");
    assert!(!leader.is_alive());
    assert_eq!(
        end_abandoned(&directory, Duration::ZERO).expect("nothing is in the way"),
        AbandonedOutcome::None
    );
}

#[test]
fn a_group_that_outlived_its_leader_is_found_and_ended() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let leader = leader_of_killed_parent(folder.path());
    Command::new("kill").args(["-9", &leader.pid.to_string()]).status().expect("kill runs");
    assert!(is_gone_in_time(leader));
    let outcome = end_abandoned(&folder.path().join("trial-1"), Duration::from_millis(500))
        .expect("nothing is in the way");
    assert!(matches!(outcome, AbandonedOutcome::Killed { processes } if processes >= 1), "{outcome:?}");
}

#[test]
#[ignore = "a victim's child, started by a_guarded_child_ends_with_its_parent"]
fn guards_itself_and_waits() {
    if victims_folder().is_none() {
        return;
    }
    let guard = watch_parent().expect("an executor started it");
    say(&format!("{{\"foretell\":{{\"parent\":{}}}}}", guard.parent.pid));
    std::thread::sleep(PATIENCE * 10);
}

#[test]
#[ignore = "a victim, started by a_guarded_child_ends_with_its_parent"]
fn starts_a_guarded_trial_and_waits() {
    let Some(folder) = victims_folder() else { return };
    let program = std::env::current_exe().expect("this program has a path").display().to_string();
    let command = [program.as_str(), "guards_itself_and_waits", "--exact", "--nocapture", "--ignored"];
    let mut executor = LocalProcesses::default();
    let leader = executor.start(&spec(&folder, &command)).expect("the trial starts");
    let message = executor.messages().recv_timeout(PATIENCE).expect("the child reports");
    say(&format!("child {} {message:?}", leader.pid));
    std::thread::sleep(PATIENCE * 10);
}

#[test]
fn a_guarded_child_ends_with_its_parent() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (mut child, mut output) = victim("starts_a_guarded_trial_and_waits", folder.path());
    let said = line_after(&mut output, "child ");
    let (pid, message) = said.split_once(' ').expect("two parts");
    let guarded = ProcessIdentity::with_pid(pid.parse().expect("a process id"));
    assert!(
        message.contains(&format!("value: Some({:?})", f64::from(child.id()))),
        "it watches its parent: {message}"
    );
    assert!(guarded.is_alive());
    child.kill().expect("our child");
    child.wait().expect("our child");
    assert!(is_gone_in_time(guarded));
}

#[test]
fn a_process_that_no_executor_started_is_not_guarded() {
    if std::env::var_os("FORETELL_PARENT").is_none() {
        assert_eq!(watch_parent(), None);
    }
}
