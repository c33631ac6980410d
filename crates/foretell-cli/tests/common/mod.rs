//! Shared by the tests of live searches: the program, its answer, its log.
#![allow(dead_code, reason = "each test file uses a part of it")]

use serde_json::Value;
use std::error::Error;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Longer than any wait takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) type Tested = Result<(), Box<dyn Error>>;

/// The program, to be run in `folder`.
pub(crate) fn foretell(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foretell"));
    command.current_dir(folder).args(arguments).stdin(Stdio::null());
    command
}

/// The output of the program.
pub(crate) fn ran(arguments: &[&str]) -> std::io::Result<Output> {
    foretell(Path::new("."), arguments).output()
}

/// The output of a command that exits with `code`, and its messages.
pub(crate) fn output(command: &mut Command, code: i32) -> (Output, String) {
    let output = command.output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    (output, said)
}

pub(crate) fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_there() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The answer of a search that went well.
pub(crate) fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output.stdout)))
}

/// The records of the log of the study in `folder`.
pub(crate) fn records(folder: &Path) -> Vec<Value> {
    let log = std::fs::read_to_string(folder.join("study/events.jsonl")).unwrap();
    log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["record"].clone()).collect()
}
