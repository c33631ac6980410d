//! The `--help` texts, kept as snapshots so that a change of words is seen.

use std::process::Command;

/// The output of `foretell ARGUMENTS --help`.
fn help(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_foretell"))
        .args(arguments)
        .arg("--help")
        .env_remove("COLUMNS")
        .output()
        .expect("the command starts");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("help is UTF-8")
}

/// Without the lines of commands that not every build has: `data` and `train` are of the feature `nn`, `serve` and `report` of
/// `serve`, `reproduce` of `paper`.
fn without_optional(help: &str) -> String {
    let mut is_optional = false;
    help.lines()
        .filter(|line| {
            // a line that is indented further continues the one before
            if !line.starts_with("    ") {
                is_optional = ["data ", "train ", "serve ", "report ", "reproduce "]
                    .iter()
                    .any(|name| line.trim_start().starts_with(name));
            }
            !is_optional
        })
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn the_help_of_the_command() {
    insta::assert_snapshot!("foretell", without_optional(&help(&[])));
}

#[test]
fn the_help_of_every_subcommand() {
    for name in [
        "search",
        "evaluate",
        "forecast",
        "replay",
        "draw",
        "study",
        "init",
        "import",
        "completions",
        "worker",
    ] {
        insta::assert_snapshot!(name, help(&[name]));
    }
}

#[test]
fn the_short_help_fits_a_screen() {
    for name in ["search", "replay"] {
        let output = Command::new(env!("CARGO_BIN_EXE_foretell"))
            .args([name, "-h"])
            .env_remove("COLUMNS")
            .output()
            .expect("the command starts");
        let lines = String::from_utf8_lossy(&output.stdout).lines().count();
        assert!((30..=66).contains(&lines), "{name} -h has {lines} lines");
    }
}

#[cfg(feature = "paper")]
#[test]
fn the_help_of_reproduce() {
    insta::assert_snapshot!("reproduce", help(&["reproduce"]));
}

#[test]
fn the_help_of_every_subcommand_of_study() {
    for name in ["ls", "show", "best", "run", "plot", "export", "doctor", "rm"] {
        insta::assert_snapshot!(format!("study-{name}"), help(&["study", name]));
    }
}

#[cfg(feature = "nn")]
#[test]
fn the_help_of_train() {
    insta::assert_snapshot!("train", help(&["train"]));
}
