//! The worked examples of `docs/how-to/http.md`, run as they are written.

mod common;
#[path = "../../../tests/needed.rs"]
mod needed;

use std::path::Path;
use std::process::Command;

use common::{answer_of, local, serve};

/// Runs the first code block of `language` with `program`, if there is such a program; returns its output.
fn run(language: &str, program: &str, address: &str) -> Option<String> {
    if !needed::has_program(program, &["--version"]) {
        return None;
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/how-to/http.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let blocks = page.split("```").skip(1).step_by(2);
    let code = blocks.filter_map(|block| block.strip_prefix(language)).find(|code| code.contains("8675/api"));
    let code = code.expect("the page has such an example").replace("127.0.0.1:8675", address);
    let shell = if program == "curl" { "sh" } else { program };
    let output = Command::new(shell).arg("-c").arg(code).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    Some(text)
}

#[test]
fn the_examples_do_what_they_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = serve(folder.path(), local(), None);
    if let Some(printed) = run("sh", "curl", &address.to_string()) {
        for words in
            [r#""start":{"trial":0"#, r#""until":20"#, r#""recorded":true"#, r#""state":"completed""#]
        {
            assert!(printed.contains(words), "{words} is not in {printed}");
        }
        assert!(!printed.contains("foretell.error"), "{printed}");
    }
    if run("python", "python3", &address.to_string()).is_some() {
        let progress = answer_of(address, "GET", "/api/studies/python-rates/progress", "");
        assert_eq!(progress["done"], true, "{progress}");
        assert_eq!(progress["trials"]["total"], 24, "{progress}");
        assert!(progress["trials"]["stopped"].as_u64().is_some_and(|stopped| stopped > 0), "{progress}");
    }
}
