//! Workers of a study that another process owns: on this machine, behind bad lines, and when they are ended.
#![allow(clippy::disallowed_methods, reason = "a test whose thread dies fails")]
#![cfg(feature = "serve")]

mod common;

use common::{foretell, records, text, wait_for};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Six epochs of `{pause}` seconds, from the checkpoint on, which each epoch leaves.
const SCRIPT: &str = r#"c=$FORETELL_CHECKPOINT_DIR/epoch; e=0; [ -e "$c" ] && e=$(cat "$c")
while [ $e -lt 6 ]; do e=$((e+1)); sleep PAUSE; echo "epoch=$e val_acc=$(echo "{lr} $e" | awk '{{print $1 * (1 - 0.5 ^ $2)}}')"; echo $e > "$c"; done"#;

/// A search whose trials run on workers, at a free port.
fn owner(folder: &Path, more: &[&str], pause: &str) -> Child {
    let script = SCRIPT.replace("PAUSE", pause);
    let flags =
        ["search", "--param", "lr=log:0.01:1", "--metric", "val_acc", "--epochs", "6", "--out", "study"];
    let on = ["--on", "workers", "--serve=127.0.0.1:0", "--lease", "3s", "--format", "json"];
    let words = [&flags[..], &on, more, &["--", "sh", "-c", &script]].concat();
    let child = foretell(folder, &words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("the search serves", || folder.join("study/access.json").is_file());
    child
}

fn worker(folder: &Path, address: &str, more: &[&str]) -> Child {
    let words = [&["worker", address, "--idle-exit", "20s"][..], more].concat();
    foretell(folder, &words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn wait_for_output(child: Child) -> (Option<i32>, String, String) {
    let output = child.wait_with_output().unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Each trial's reports and its end, as the log has them.
fn trials(folder: &Path) -> BTreeMap<u64, Vec<String>> {
    let mut trials: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for record in records(folder) {
        let event = record["event"].as_str().unwrap_or_default();
        if ["reported", "completed", "failed", "paused"].contains(&event) {
            trials.entry(record["trial"].as_u64().unwrap()).or_default().push(record.to_string());
        }
    }
    trials
}

fn place(folder: &Path) -> String {
    let access = std::fs::read_to_string(folder.join("study/access.json")).unwrap();
    let access: Value = serde_json::from_str(&access).unwrap();
    access["addresses"][0].as_str().unwrap().to_owned()
}

#[test]
fn two_workers_finish_a_study_and_its_decisions_are_those_of_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let search = owner(folder.path(), &["--trials", "20", "--seed", "3"], "0.02");
    let workers = [worker(folder.path(), "study", &["--slots", "2"]), worker(folder.path(), "study", &[])];
    let (code, result, said) = wait_for_output(search);
    assert_eq!(code, Some(0), "{said}");
    for worker in workers {
        let (code, _, said) = wait_for_output(worker);
        assert_eq!(code, Some(0), "{said}");
    }
    let result: Value = serde_json::from_str(&result).unwrap();
    let count = |name: &str| result["trials"][name].as_u64().unwrap();
    assert_eq!((count("total"), count("failed")), (20, 0), "{said}");
    assert_eq!(count("completed") + count("stopped"), 20);
    assert!(!folder.path().join("study/access.json").exists(), "nobody serves any more");
    let doctor = foretell(folder.path(), &["study", "doctor", "study"]).output().unwrap();
    assert!(doctor.status.success(), "{}", text(&doctor.stdout));
}

#[test]
fn a_worker_that_is_asked_to_end_hands_back_its_trial_which_goes_on_from_its_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let search = owner(folder.path(), &["--trials", "2", "--no-stopping"], "0.4");
    let first = worker(folder.path(), "study", &[]);
    let checkpoint = folder.path().join("study/trials/0000/checkpoints/epoch");
    wait_for("a checkpoint", || std::fs::read_to_string(&checkpoint).is_ok_and(|it| it.trim() == "2"));
    let killed = std::process::Command::new("kill").args(["-TERM", &first.id().to_string()]).status();
    assert!(killed.unwrap().success());
    let (code, _, said) = wait_for_output(first);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("handed back"), "{said}");
    let second = worker(folder.path(), "study", &[]);
    let (code, _, said) = wait_for_output(search);
    assert_eq!(code, Some(0), "{said}");
    let (_, _, worked) = wait_for_output(second);
    assert!(worked.contains("trial 0 starts after epoch 2"), "{worked}");
    let own = &trials(folder.path())[&0];
    assert_eq!(own.len(), 7, "six epochs, each once, and an end: {own:?}");
}

#[test]
fn a_trial_that_starts_again_twice_without_a_new_epoch_ends_with_that_reason() {
    let folder = tempfile::tempdir().unwrap();
    // without checkpoints, and each epoch leaves a line
    let script = "for e in 1 2 3 4 5 6; do sleep 0.4; echo epoch=$e val_acc=0.{lr}; echo $e >> seen-$FORETELL_TRIAL; done";
    let flags = ["search", "--param", "lr=int:1:9", "--metric", "val_acc", "--epochs", "6", "--out", "study"];
    let on = ["--on", "workers", "--serve=127.0.0.1:0", "--lease", "3s", "--trials", "2", "--no-stopping"];
    let words = [&flags[..], &on, &["--", "sh", "-c", script]].concat();
    // a worker that is given a folder before its search waits for it
    let mut early = Some(worker(folder.path(), "./study", &[]));
    let search =
        foretell(folder.path(), &words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let seen = || std::fs::read_to_string(folder.path().join("seen-0")).unwrap_or_default().lines().count();
    // the first reports two epochs, and the others less
    for (so_many, line) in [(2, "a line"), (3, "another"), (4, "and one more")] {
        let first = early.take().unwrap_or_else(|| worker(folder.path(), "study", &[]));
        wait_for(line, || seen() >= so_many);
        let killed = std::process::Command::new("kill").args(["-TERM", &first.id().to_string()]).status();
        assert!(killed.unwrap().success());
        let (code, _, said) = wait_for_output(first);
        assert!(code == Some(0) && said.contains("handed back"), "{said}");
    }
    let last = worker(folder.path(), "study", &[]);
    let (code, _, said) = wait_for_output(search);
    assert_eq!(code, Some(0), "{said}");
    let _ = wait_for_output(last);
    assert!(said.contains("it started 3 times without passing epoch"), "{said}");
    assert!(
        said.contains("a time limit or a lost machine") && said.contains("FORETELL_CHECKPOINT_DIR"),
        "{said}"
    );
    let kinds = |trial: u64| trials(folder.path())[&trial].last().unwrap().clone();
    assert!(kinds(0).contains("failed") && kinds(1).contains("completed"), "the other trial continues");
    assert!(seen() < 12, "{} lines: it does not start a fourth time", seen());
}

#[test]
fn a_signal_to_all_processes_of_a_job_is_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let search = owner(folder.path(), &["--trials", "1", "--no-stopping"], "0.3");
    let first = worker(folder.path(), "study", &[]);
    let trial = folder.path().join("study/trials/0000");
    wait_for("a checkpoint", || trial.join("checkpoints/epoch").is_file());
    let record = std::fs::read_to_string(trial.join("process.json")).unwrap();
    let record: Value = serde_json::from_str(&record).unwrap();
    // the training hears it first
    for whom in [format!("-{}", record["leader"]["pid"]), first.id().to_string()] {
        assert!(std::process::Command::new("kill").args(["-TERM", "--", &whom]).status().unwrap().success());
        std::thread::sleep(Duration::from_millis(50));
    }
    let (code, _, said) = wait_for_output(first);
    assert!(code == Some(0) && said.contains("is handed back"), "{said}");
    let second = worker(folder.path(), "study", &[]);
    let (code, _, said) = wait_for_output(search);
    assert_eq!(code, Some(0), "{said}");
    wait_for_output(second);
    assert!(!trials(folder.path())[&0].iter().any(|record| record.contains("failed")));
}

#[test]
fn a_search_that_is_killed_and_started_again_keeps_its_workers_and_loses_no_report() {
    let folder = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let serve = format!("--serve=127.0.0.1:{port}");
    let script = SCRIPT.replace("PAUSE", "0.3");
    let words = [
        "search",
        "--param",
        "lr=log:0.01:1",
        "--metric",
        "val_acc",
        "--epochs",
        "6",
        "--out",
        "study",
        "--on",
        "workers",
        &serve,
        "--trials",
        "4",
        "--no-stopping",
        "--",
        "sh",
        "-c",
        &script,
    ];
    let start =
        || foretell(folder.path(), &words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut search = start();
    wait_for("the search serves", || folder.path().join("study/access.json").is_file());
    let workers = [worker(folder.path(), "study", &[]), worker(folder.path(), "study", &[])];
    wait_for("reports", || {
        std::fs::read_to_string(folder.path().join("study/events.jsonl"))
            .is_ok_and(|log| log.matches("reported").count() > 2)
    });
    search.kill().unwrap();
    search.wait().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let (code, _, said) = wait_for_output(start());
    assert_eq!(code, Some(0), "{said}");
    for worker in workers {
        let (code, _, said) = wait_for_output(worker);
        assert_eq!(code, Some(0), "{said}");
        assert!(!said.contains("is left"), "a trial was taken away: {said}");
    }
    let trials = trials(folder.path());
    assert!(trials.len() == 4 && trials.values().all(|own| own.len() == 7), "{trials:?}");
}

/// A line to `server` that is severed, delays, and sends some requests again later.
fn bad_line(server: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let count = Arc::new(AtomicU64::new(0));
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let (server, count) = (server.clone(), Arc::clone(&count));
            std::thread::spawn(move || drop(pass_on(client, &server, &count)));
        }
    });
    address
}

fn pass_on(mut client: TcpStream, server: &str, count: &AtomicU64) -> std::io::Result<()> {
    let mut buffer = [0_u8; 1 << 16];
    loop {
        let length = client.read(&mut buffer)?;
        if length == 0 {
            return Ok(());
        }
        let request = buffer[..length].to_vec();
        let turn = count.fetch_add(1, Ordering::SeqCst);
        let answer = || -> std::io::Result<Vec<u8>> {
            let mut line = TcpStream::connect(server)?;
            line.set_read_timeout(Some(Duration::from_secs(5)))?;
            line.write_all(&request)?;
            let mut answer = [0_u8; 1 << 16];
            let length = line.read(&mut answer)?;
            Ok(answer[..length].to_vec())
        };
        match turn % 5 {
            // lost on its way there
            1 => return Ok(()),
            // its answer is lost
            2 => return answer().map(drop),
            3 => {
                // again, long after its answer and after later requests
                let (server, request) = (server.to_owned(), request.clone());
                std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_millis(300));
                    if let Ok(mut line) = TcpStream::connect(server) {
                        let _ = line.write_all(&request).and_then(|()| line.read(&mut [0; 1024]));
                    }
                });
            }
            4 => std::thread::sleep(Duration::from_millis(30)),
            _ => {}
        }
        client.write_all(&answer()?)?;
    }
}

#[test]
fn a_line_that_drops_delays_doubles_and_reorders_leaves_the_same_log() {
    let logs = [false, true].map(|is_bad| {
        let folder = tempfile::tempdir().unwrap();
        let search = owner(folder.path(), &["--trials", "8", "--no-stopping", "--sampler", "random"], "0.03");
        let server = place(folder.path());
        let address = if is_bad { bad_line(server) } else { server };
        let workers = [worker(folder.path(), &address, &[]), worker(folder.path(), &address, &[])];
        let (code, _, said) = wait_for_output(search);
        assert_eq!(code, Some(0), "{said}");
        for mut worker in workers {
            let _ = worker.kill();
            let _ = worker.wait();
        }
        trials(folder.path())
    });
    let [good, bad] = logs;
    assert_eq!(good.len(), 8);
    assert_eq!(good, bad);
}

/// A line to `server` that hangs while `is_cut`.
fn line_that_hangs(server: String, is_cut: Arc<AtomicBool>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(there) = TcpStream::connect(&server) else { continue };
            let ways = [(client.try_clone(), there.try_clone()), (Ok(there), Ok(client))];
            for (mut from, mut to) in ways.into_iter().filter_map(|(from, to)| Some((from.ok()?, to.ok()?))) {
                let is_cut = Arc::clone(&is_cut);
                std::thread::spawn(move || {
                    let mut buffer = [0_u8; 1 << 16];
                    while let Ok(length @ 1..) = from.read(&mut buffer) {
                        while is_cut.load(Ordering::SeqCst) {
                            std::thread::sleep(Duration::from_millis(20));
                        }
                        if to.write_all(&buffer[..length]).is_err() {
                            return;
                        }
                    }
                    let _ = to.shutdown(std::net::Shutdown::Both);
                });
            }
        }
    });
    address
}

/// Cuts a worker off once `is_time`, for longer than its lease and until its training has ended. Another worker continues the trial.
fn cut_off(is_time: impl Fn(&Path) -> bool) {
    let folder = tempfile::tempdir().unwrap();
    let search = owner(folder.path(), &["--trials", "3", "--no-stopping", "--sampler", "random"], "0.5");
    let is_cut = Arc::new(AtomicBool::new(false));
    let line = line_that_hangs(place(folder.path()), Arc::clone(&is_cut));
    let mut cut = worker(folder.path(), &line, &["--folder", "study"]);
    wait_for("time", || is_time(folder.path()));
    is_cut.store(true, Ordering::SeqCst);
    // its lease of three seconds expires, and its training ends meanwhile
    std::thread::sleep(Duration::from_secs(5));
    let mut other = worker(folder.path(), "study", &[]);
    std::thread::sleep(Duration::from_secs(6));
    is_cut.store(false, Ordering::SeqCst);
    let (code, result, said) = wait_for_output(search);
    assert_eq!(code, Some(0), "{said}");
    for worker in [&mut cut, &mut other] {
        let _ = worker.kill();
        let _ = worker.wait();
    }
    let result: Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["trials"]["completed"], 3, "{result}");
    let trials = trials(folder.path());
    for (trial, own) in &trials {
        assert_eq!(own.len(), 7, "trial {trial}: six epochs, each once, and an end: {own:?}");
    }
}

#[test]
fn a_worker_that_is_cut_off_for_longer_than_its_lease_loses_no_end_of_a_trial() {
    cut_off(|folder| {
        let log = std::fs::read_to_string(folder.join("study/events.jsonl")).unwrap_or_default();
        log.matches("\"reported\"").count() >= 2
    });
}

#[test]
fn a_trial_whose_only_checkpoint_is_of_epochs_that_were_never_reported_is_trained_again() {
    cut_off(|folder| folder.join("study/trials/0000/process.json").is_file());
}

#[test]
fn a_metric_that_no_trial_prints_is_refused_at_the_first_trial_as_in_a_local_search() {
    let folder = tempfile::tempdir().unwrap();
    let script = SCRIPT.replace("PAUSE", "0.05");
    let words = |on: &[&'static str]| {
        let flags = [
            "search",
            "--param",
            "lr=log:0.01:1",
            "--metric",
            "nowhere",
            "--maximize",
            "--epochs",
            "6",
            "--trials",
            "9",
        ];
        [&flags[..], on, &["--", "sh", "-c"]].concat()
    };
    let local =
        foretell(folder.path(), &[&words(&["--out", "local"])[..], &[&script]].concat()).output().unwrap();
    let on = words(&["--out", "study", "--on", "workers", "--serve=127.0.0.1:0"]);
    let search = foretell(folder.path(), &[&on[..], &[&script]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for("the search serves", || folder.path().join("study/access.json").is_file());
    let mut worker = worker(folder.path(), "study", &[]);
    let (code, _, said) = wait_for_output(search);
    let _ = worker.kill();
    let _ = worker.wait();
    let said_locally = text(&local.stderr);
    for (code, said) in [(local.status.code(), &said_locally), (code, &said)] {
        assert!(
            code == Some(2)
                && said.contains("ended without a report: no line was like")
                && said.contains("it printed val_acc"),
            "{said}"
        );
    }
    let failed = records(folder.path()).iter().filter(|record| record["event"] == "failed").count();
    assert_eq!(failed, 1, "no further trial was burned");
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let mut search = owner(folder.path(), &["--trials", "2"], "0.1");
    let place = place(folder.path());
    let cases: [(&[&str], &str); 5] = [
        (&["worker", &place, "nowhere"], "no study is called"),
        (&["worker", "https://node1:1"], "does not support TLS"),
        (&["worker", "http://node1:1/?token=x"], "FORETELL_TOKEN"),
        (&["worker", &place, "--workdir", "/nowhere"], "Choose another one with --workdir"),
        (&["worker", "node1"], "neither an address"),
    ];
    for (words, expected) in cases {
        let output = foretell(folder.path(), words).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        let errors: BTreeSet<&str> = said.lines().filter(|line| line.contains("error: ")).collect();
        assert!(errors.len() == 1 && said.contains(expected), "{words:?}: {said}");
    }
    search.kill().unwrap();
    search.wait().unwrap();
    let output = foretell(folder.path(), &["worker", &place, "--idle-exit", "1s"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("no server answers"), "{}", text(&output.stderr));
}
