//! What tests need and the repository does not hold: recorded data and programs. Tests of several crates include this file by its path.
//!
//! Without it a test is skipped, and says so. `FORETELL_REQUIRE=1`, as in `.ci/run`, makes a skipped test fail, except where a machine
//! has no recorded data at all.
#![allow(dead_code, clippy::print_stderr, reason = "no test needs all of this; a skipped test says so")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folder of the recorded data: `FORETELL_DATA`, or the one beside the checkout.
pub(crate) fn data() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    std::env::var_os("FORETELL_DATA").map_or_else(beside, PathBuf::from)
}

/// The file or folder `part` of the recorded data; `None` skips the test.
pub(crate) fn recorded(part: &str) -> Option<PathBuf> {
    let path = data().join(part);
    if !path.exists() {
        // a machine that has some of them must have all
        skipped(&format!("set FORETELL_DATA to the folder that holds {part}"), data().exists());
        return None;
    }
    Some(path)
}

/// Whether `program` runs with `words`; `false` skips the test.
pub(crate) fn has_program(program: &str, words: &[&str]) -> bool {
    let status = Command::new(program).args(words).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let is_there = status.is_ok_and(|status| status.success());
    if !is_there {
        skipped(&format!("there is no {program}"), true);
    }
    is_there
}

/// Says that the test is skipped, or fails it where `must` and `FORETELL_REQUIRE` say that it has to run.
pub(crate) fn skipped(why: &str, must: bool) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let required = must && std::env::var_os("FORETELL_REQUIRE").is_some();
    assert!(!required, "{test}: {why}, and FORETELL_REQUIRE is set");
    eprintln!("skipped {test}: {why}");
}
