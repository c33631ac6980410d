//! What a script, or somebody in its folder, puts where Foretell reads a file: pipes, devices, sockets. And systems without a thread to give.

mod common;

use common::{foretell, output, text, wait_for};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn search(folder: &Path, more: &[&str], script: &str) -> Command {
    let start = ["search", "--out", "study", "--param", "lr=log:0.001:1", "--epochs", "4", "--trials", "1"];
    let rest = ["--metric", "acc", "--workers", "1", "--policy", "none"];
    foretell(folder, &[&start[..], &rest, more, &["--", "sh", "-c", script]].concat())
}

/// Longer than an ordinary end of a search takes on a busy machine, and far shorter than for ever.
const SOON: Duration = Duration::from_secs(60);

const EPOCHS: &str = "for e in 1 2 3 4; do echo epoch $e acc 0.$e; sleep 0.3; done; : {lr}";

#[test]
fn a_pipe_a_device_or_a_socket_is_not_followed_and_the_reason_says_so() {
    let make = [
        "mkfifo $1",
        "ln -s /dev/zero $1",
        "python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' $1",
    ];
    for make in make {
        let folder = tempfile::tempdir().unwrap();
        let made = Command::new("sh").args(["-c", make, "sh", "metrics"]).current_dir(folder.path()).status();
        assert!(made.unwrap().success(), "{make}");
        let begun = Instant::now();
        let (_, said) = output(&mut search(folder.path(), &["--follow", "metrics"], EPOCHS), 1);
        assert!(said.contains("cannot be followed: it is not a regular file"), "{make}: {said}");
        assert!(begun.elapsed() < SOON, "{make}");
    }
}

#[test]
fn a_trial_that_puts_pipes_into_its_own_folder_holds_nobody_up() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "d=$(dirname $FORETELL_PARAMS); for f in process.json usage.json; do rm -f $d/$f; mkfifo $d/$f; done; {EPOCHS}"
    );
    let begun = Instant::now();
    output(&mut search(folder.path(), &[], &script), 0);
    assert!(begun.elapsed() < SOON);
}

#[test]
fn what_a_killed_search_left_as_pipes_holds_up_neither_the_next_one_nor_a_signal() {
    let folder = tempfile::tempdir().unwrap();
    let script = "echo epoch 1 acc 0.5; touch ready; sleep 600; : {lr}";
    let mut first =
        search(folder.path(), &[], script).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    wait_for("the trial runs", || folder.path().join("ready").exists());
    first.kill().unwrap();
    first.wait().unwrap();
    let trial = folder.path().join("study/trials/0000");
    assert!(trial.is_dir(), "the trial's folder");
    for name in ["process.json", "usage.json"] {
        let _ = std::fs::remove_file(trial.join(name));
        assert!(Command::new("mkfifo").arg(trial.join(name)).status().unwrap().success());
    }
    std::fs::remove_file(folder.path().join("ready")).unwrap();
    let next =
        search(folder.path(), &[], script).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let pid = next.id().to_string();
    std::thread::sleep(Duration::from_secs(2));
    let asked = Instant::now();
    // it may have refused the folder already
    let _ = Command::new("kill").args(["-INT", &pid]).stderr(Stdio::null()).status();
    let ended = next.wait_with_output().unwrap();
    assert!(asked.elapsed() < Duration::from_secs(15), "{}", text(&ended.stderr));
}

#[test]
fn a_signal_ends_a_search_whose_trial_ignores_it() {
    let folder = tempfile::tempdir().unwrap();
    let script = "trap '' TERM INT; echo epoch 1 acc 0.5; touch ready; while :; do sleep 1; done; : {lr}";
    let running =
        search(folder.path(), &[], script).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    wait_for("the trial runs", || folder.path().join("ready").exists());
    let asked = Instant::now();
    assert!(Command::new("kill").args(["-INT", &running.id().to_string()]).status().unwrap().success());
    let ended = running.wait_with_output().unwrap();
    // five seconds, and what a busy machine adds
    assert!(asked.elapsed() < Duration::from_secs(12), "{}", text(&ended.stderr));
    assert_eq!(ended.status.code(), Some(130), "{}", text(&ended.stderr));
}

#[test]
fn without_a_thread_to_give_the_search_ends_with_an_error_and_not_with_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    // stacks of threads do not fit any more, everything else does
    let program = env!("CARGO_BIN_EXE_foretell");
    let words = ["search", "--out", "study", "--param", "lr=log:0.001:1", "--epochs", "4", "--trials", "1"];
    let rest = ["--metric", "acc", "--workers", "1", "--", "sh", "-c", EPOCHS];
    let mut refused = 0;
    for kilobytes in ["60000", "80000", "100000", "150000"] {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -v $1; shift; exec \"$@\"", "sh", kilobytes, program]);
        let ended = command
            .args(words)
            .args(rest)
            .current_dir(folder.path())
            .env("RUST_MIN_STACK", "67108864")
            .output();
        let ended = ended.unwrap();
        let said = text(&ended.stderr);
        assert!(!said.contains("panicked"), "{kilobytes}: {said}");
        refused += i32::from(said.contains("cannot start a thread"));
    }
    assert!(refused > 0, "at least one limit leaves no room for a thread");
}
