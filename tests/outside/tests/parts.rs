//! What a crate adds to the catalogue is known to flags, study files, logs and reports as if it were Foretell's own.

use std::path::Path;
use std::process::{Command, Output};

/// Runs the command with `words` in `folder`.
fn run(folder: &Path, words: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_foretell-outside");
    Command::new(program).args(words).current_dir(folder).output().expect("the command")
}

/// What it prints as JSON.
fn json(folder: &Path, words: &[&str]) -> serde_json::Value {
    let ran = run(folder, words);
    assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    serde_json::from_slice(&ran.stdout).expect("JSON")
}

/// A training that comes to its number over ten in three epochs.
const TRAINING: &str = "for i in 1 2 3; do echo \"epoch $i val_acc: 0.$1\"; sleep 0.3; done";

#[test]
fn a_sampler_and_a_stop_rule_of_somebody_else_run_a_study_that_continues() {
    let folder = tempfile::tempdir().expect("a folder");
    let search = |trials: &str| {
        let flags = ["search", "--sampler", "ladder", "--param", "n=int:0:9", "--metric", "val_acc"];
        std::fs::write(folder.path().join("study.toml"), "policy = { bar = 0.5 }\n").expect("a file");
        let more = [
            "study.toml",
            "--epochs",
            "3",
            "--trials",
            trials,
            "--workers",
            "1",
            "--out",
            "study",
            "--format",
            "json",
        ];
        let command = ["--", "sh", "-c", TRAINING, "sh", "{n}"];
        json(folder.path(), &[&flags[..], &more, &command].concat())
    };
    assert_eq!(search("8")["best"]["configuration"]["n"], 7);
    let whole = search("9");
    assert_eq!(whole["best"]["configuration"]["n"], 8);
    assert_eq!((&whole["trials"]["stopped"], &whole["trials"]["completed"]), (&5.into(), &4.into()));
    let told = run(folder.path(), &["study", "show", "study", "2"]);
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.contains("below the bar"), "{told}");
}

#[test]
fn a_study_file_gives_a_stop_rule_its_settings_and_a_wrong_one_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let study = |bar: &str| {
        format!(
            "command = [\"sh\", \"-c\", '{TRAINING}', \"sh\", \"{{n}}\"]\nmetric = \"val_acc\"\nepochs = 3\ntrials = 9\nsampler = \"ladder\"\nout = \"study\"\nworkers = 1\n[param]\nn = \"int:0:9\"\n[policy.bar]\nheight = {bar}\n"
        )
    };
    let write = |bar: &str| std::fs::write(folder.path().join("study.toml"), study(bar)).expect("a file");
    write("\"high\"");
    let refused = run(folder.path(), &["search", "study.toml"]);
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        refused.status.code() == Some(2) && why.contains("height: ") && why.contains("expected f64"),
        "{why}"
    );
    write("0.75");
    let found = json(folder.path(), &["search", "study.toml", "--format", "json"]);
    assert_eq!(found["trials"]["stopped"], 8);
}

#[test]
fn a_space_and_a_predictor_of_somebody_else_are_searched_and_forecast_by() {
    let folder = tempfile::tempdir().expect("a folder");
    let flags =
        ["search", "--space", "words", "--metric", "val_acc", "--predictor", "flat", "--policy", "srm"];
    let more = ["--burn-in", "3", "--epochs", "3", "--trials", "6", "--workers", "1", "--out", "study"];
    let command = ["--format", "json", "--", "sh", "-c", TRAINING, "{word}", "5"];
    let found = json(folder.path(), &[&flags[..], &more, &command].concat());
    assert_eq!(found["best"]["configuration"]["word"].as_str().map(str::len), Some(3));
    assert!(found["trials"]["completed"].as_u64() >= Some(3), "{found}");
    let unknown =
        run(folder.path(), &["search", "--space", "verbs", "--metric", "m", "--epochs", "3", "--", "true"]);
    let why = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(why.contains("Choose one of words"), "{why}");
}

#[test]
fn the_rule_is_the_one_that_the_guide_for_contributors_shows() {
    let guide = include_str!("../../../CONTRIBUTING.md");
    assert!(guide.contains(include_str!("../src/bar.rs")), "CONTRIBUTING.md shows another rule");
}

#[test]
fn the_names_stand_in_help_and_schema() {
    let folder = tempfile::tempdir().expect("a folder");
    let help = String::from_utf8_lossy(&run(folder.path(), &["search", "--help"]).stdout).into_owned();
    assert!(help.contains("Stop trials below a bar") && help.contains("Try 0, 1, 2 and so on"), "{help}");
    let schema = json(folder.path(), &["schema"]).to_string();
    assert!(schema.contains("\"bar\"") && schema.contains("\"ladder\""));
}

#[test]
fn parts_of_the_papers_laboratory_are_named_with_their_crate_where_a_build_lacks_them() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("curves.csv"), "run,epoch,val_acc\na,1,0.5\na,2,0.6\n")
        .expect("a file");
    let search = ["search", "--param", "n=int:0:9", "--metric", "val_acc", "--epochs", "3"];
    let cases: [&[&str]; 7] = [
        &[&search[..], &["--policy", "lce", "--", "true", "{n}"]].concat(),
        &[&search[..], &["--policy", "srm", "--predictor", "bnn", "--", "true", "{n}"]].concat(),
        &[&search[..], &["--sampler", "q-learning", "--", "true", "{n}"]].concat(),
        &["search", "--space", "metaqnn", "--metric", "val_acc", "--epochs", "3", "--", "true", "{net}"],
        &["evaluate", "curves.csv", "--predictor", "lce"],
        &["replay", "curves.csv", "--policy", "lce-optimistic"],
        &["reproduce", "released", "--only", "table-1"],
    ];
    for words in cases {
        let ran = run(folder.path(), words);
        let text = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(2), "{words:?}: {text}");
        assert!(
            text.contains("is part of foretell-paper, and this build was made without it"),
            "{words:?}: {text}"
        );
    }
}
