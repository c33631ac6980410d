//! Workers and jobs that cannot be had: one clear error each, and nothing is left behind.
#![cfg(feature = "serve")]

mod common;

use common::{foretell, text};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Puts `script` in place of Slurm's program `name`.
fn program(folder: &Path, name: &str, script: &str) {
    let path = folder.join("bin").join(name);
    std::fs::create_dir_all(folder.join("bin")).expect("a folder");
    std::fs::write(
        &path,
        format!("#!/bin/sh\necho \"{name} $*\" >> {}/called\n{script}\n", folder.display()),
    )
    .expect("a script");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a program");
}

/// A search by jobs of Slurm, whose programs are those in `bin`.
fn search(folder: &Path) -> Command {
    let words =
        ["search", "--param", "lr=log:0.01:1", "--metric", "val_acc", "--epochs", "3", "--trials", "4"];
    let on = ["--workers", "2", "--out", "study", "--on", "slurm", "--", "sh", "-c", "echo val_acc={lr}"];
    let mut command = foretell(folder, &[&words[..], &on].concat());
    command.env("PATH", format!("{}/bin:/usr/bin:/bin", folder.display())).env_remove("SLURM_CONF");
    command
}

/// The one error of a command that is refused.
fn expect_refusal(command: &mut Command, expected: &str) -> String {
    let output = command.output().expect("it runs");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    let errors: Vec<&str> = said.lines().filter(|line| line.starts_with("error: ")).collect();
    assert!(errors.len() == 1 && errors[0].contains(expected), "{expected}: {said}");
    said
}

fn recorded_calls(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("called")).unwrap_or_default()
}

#[test]
fn without_sbatch_nothing_begins() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = search(folder.path());
    expect_refusal(command.env("PATH", "/nowhere"), "--on slurm needs the programs of Slurm");
    assert!(!folder.path().join("study/access.json").exists());
}

#[test]
fn what_sbatch_refuses_is_said_in_its_own_words_and_nothing_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    program(folder.path(), "squeue", "");
    program(folder.path(), "scancel", "");
    program(
        folder.path(),
        "sbatch",
        "echo 'sbatch: error: invalid partition specified: nowhere' >&2; exit 1",
    );
    expect_refusal(
        &mut search(folder.path()),
        "sbatch refuses: sbatch: error: invalid partition specified: nowhere",
    );
    assert!(
        recorded_calls(folder.path()).contains("scancel -n foretell-"),
        "{}",
        recorded_calls(folder.path())
    );
    assert!(!folder.path().join("study/access.json").exists());
}

#[test]
fn jobs_that_do_not_see_the_folder_end_the_search() {
    let folder = tempfile::tempdir().expect("a folder");
    // each job ends at once, since it cannot write its output where the search looks for it
    program(folder.path(), "squeue", "");
    program(folder.path(), "scancel", "");
    program(folder.path(), "sbatch", "echo 7");
    let said =
        expect_refusal(&mut search(folder.path()), "ended 3 times before any worker reached the search");
    assert!(said.contains("study/slurm. Choose a folder that the nodes share with --out"), "{said}");
    assert_eq!(recorded_calls(folder.path()).matches("sbatch ").count(), 3);
}

/// A program that ends with the test, also with one that fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server of the folder `runs`, and its address.
fn server(folder: &Path, token: &str) -> (Running, String) {
    std::fs::create_dir_all(folder.join("runs")).expect("a folder");
    let mut command = foretell(folder, &["serve", "runs", "--address", "127.0.0.1:0"]);
    command.env("FORETELL_TOKEN", token).stderr(Stdio::piped()).stdout(Stdio::null());
    let mut child = Running(command.spawn().expect("it runs"));
    let mut line = String::new();
    BufReader::new(child.0.stderr.take().expect("its words")).read_line(&mut line).expect("a line");
    let address = line.split("http://").nth(1).and_then(|rest| rest.split(['/', ' ']).next());
    (child, address.unwrap_or_else(|| panic!("an address: {line}")).to_owned())
}

fn worker(folder: &Path, words: &[&str], token: &str) -> Command {
    let mut command = foretell(folder, &[&["worker"], words, &["--idle-exit", "1s"]].concat());
    command.env("FORETELL_TOKEN", token);
    command
}

#[test]
fn a_worker_needs_the_token_and_a_study_with_a_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_server, address) = server(folder.path(), "secret");
    let study = r#"{"space": {"lr": "log:1e-4:1"}, "metric": "val_acc", "epochs": 9}"#;
    let mut line = TcpStream::connect(&address).expect("it answers");
    write!(
        line,
        "PUT /api/studies/s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{study}",
        study.len()
    )
    .expect("it is sent");
    let mut answer = String::new();
    line.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    for token in ["guessed", ""] {
        let said = expect_refusal(&mut worker(folder.path(), &[&address], token), "token");
        assert!(!said.contains("secret") && !said.contains("guessed"), "{said}");
    }
    expect_refusal(&mut worker(folder.path(), &[&address, "t"], "secret"), "no study is called");
    expect_refusal(&mut worker(folder.path(), &[&address, "s"], "secret"), "command");
    assert!(!folder.path().join("foretell-work").exists());
}

#[test]
fn the_table_of_an_engine_counts_for_that_engine_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let study = "command = [\"true\", \"{lr}\"]\nmetric = \"acc\"\nepochs = 3\n[param]\nlr = \"log:0.1:1\"\n[slurm]\ntime = \"1:00:00\"\n";
    std::fs::write(folder.path().join("study.toml"), study).expect("a file");
    let explain =
        |more: &[&str]| foretell(folder.path(), &[&["search", "study.toml", "--explain"], more].concat());
    let output = explain(&["--on", "workers"]).output().expect("it runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    expect_refusal(&mut explain(&[]), "[slurm] in the study file, needs --on slurm");
}
