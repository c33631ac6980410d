//! Conditions, limits on parameters and trials that don't fit into memory, by flags and by study file.

mod common;

use common::{foretell, json, output, records, text};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Prints the arguments, and one value; more than 64 units do not fit into memory.
const TRIAL: &str = r#"
echo "$@" >> commands.txt
case "$*" in *"--batch 128"*|*"--batch 256"*) exit 137;; esac
echo "val_acc=0.5"
"#;

const SPACE: [&str; 4] = [
    "momentum=float:0:1 if optimizer=sgd,rmsprop and layers>=2",
    "layers=int:1:4",
    "optimizer=choice:sgd,rmsprop,adam",
    "units=int:1:512",
];

fn search(folder: &Path, arguments: &[&str]) -> Command {
    std::fs::write(folder.join("trial.sh"), TRIAL).unwrap();
    let mut command = foretell(folder, &["search", "--out", "study", "--format", "json", "--workers", "1"]);
    command.args(arguments);
    command
}

fn flags<'a>(parameters: &[&'a str]) -> Vec<&'a str> {
    let named = parameters.iter().flat_map(|parameter| ["--param", parameter]);
    named.chain(["--metric", "val_acc", "--epochs", "1", "--trials", "12"]).collect()
}

/// The configurations of the study in `folder`.
fn configurations(folder: &Path) -> Vec<Value> {
    let started = records(folder).into_iter().filter(|record| record["event"] == "started");
    started.map(|record| record["configuration"].clone()).collect()
}

fn check_conditions(folder: &Path) {
    let commands = std::fs::read_to_string(folder.join("commands.txt")).unwrap();
    let all = configurations(folder);
    assert_eq!((all.len(), commands.lines().count()), (12, 12));
    for (configuration, command) in all.iter().zip(commands.lines()) {
        let layers = configuration["layers"].as_f64().unwrap();
        let applies = configuration["optimizer"] != "adam" && layers >= 2.0;
        assert_eq!(configuration["momentum"].is_null(), !applies, "{configuration}");
        assert_eq!(command.contains("--momentum"), applies, "{command}");
        assert!(layers * configuration["units"].as_f64().unwrap() <= 200.0, "{configuration}");
    }
}

#[test]
fn conditions_and_limits_by_flags_and_by_study_file() {
    let command =
        ["--", "sh", "trial.sh", "--opt", "{optimizer}", "--momentum", "{momentum}", "{layers}", "{units}"];
    let by_flags = tempfile::tempdir().unwrap();
    let limit = ["--limit", "layers*units<=200"];
    let answer = search(by_flags.path(), &[&flags(&SPACE)[..], &limit, &command].concat()).output().unwrap();
    assert_eq!(json(&answer)["trials"]["completed"], 12);
    check_conditions(by_flags.path());

    let by_file = tempfile::tempdir().unwrap();
    let file = r#"
        metric = "val_acc"
        epochs = 1
        trials = 12
        limits = ["layers*units<=200"]
        command = ["sh", "trial.sh", "--opt", "{optimizer}", "--momentum={momentum}", "{layers}", "{units}"]
        [param]
        momentum = { kind = "float", lo = 0, hi = 1, active_if = [{ name = "optimizer", none_of = ["adam"] }, { name = "layers", at_least = 2 }] }
        layers = "int:1:4"
        optimizer = "choice:sgd,rmsprop,adam"
        units = "int:1:512"
    "#;
    std::fs::write(by_file.path().join("study.toml"), file).unwrap();
    json(&search(by_file.path(), &["study.toml"]).output().unwrap());
    check_conditions(by_file.path());
}

#[test]
fn mistakes_are_named_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let rows: [(&[&str], &[&str], &str); 6] = [
        (&["m=float:0:1 if o=a", "lr=float:0:1"], &[], "there is no parameter o. The others are lr"),
        (
            &["a=int:0:1 if b=1", "b=int:0:1 if a=1"],
            &[],
            "circle: a applies only if b=1, b applies only if a=1",
        ),
        (&["n=int:1:4", "m=float:0:1 if n>=9"], &[], "no value of n=int:1:4 fits its condition n>=9"),
        (&["n=int:1:4", "m=float:0:1 if n>=many"], &[], "compares with `many`, which is not a number"),
        (&["n=int:1:1000", "m=int:1:1000"], &["--limit", "n*m<=5"], "fewer than 1 in 1000 configurations"),
        (
            &["n=int:1:100"],
            &["--limit", "n<=50", "--enqueue", "n=70"],
            "breaks the limit n<=50, because it has 70",
        ),
    ];
    for (parameters, more, expected) in rows {
        let command = ["--", "sh", "trial.sh"];
        let (_, said) =
            output(&mut search(folder.path(), &[&flags(parameters)[..], more, &command].concat()), 2);
        assert!(said.contains(expected), "{said}");
        // a queue is checked once the study is there, because that may have trials outside of the space
        let is_of_queue = more.contains(&"--enqueue");
        assert!(is_of_queue || !folder.path().join("study/events.jsonl").exists(), "{said}");
    }
    let file = "metric = \"val_acc\"\nepochs = 1\ncommand = [\"sh\", \"trial.sh\"]\n[param]\nm = \"int:0:1 if q=1\"\n";
    std::fs::write(folder.path().join("study.toml"), file).unwrap();
    let (_, said) = output(&mut search(folder.path(), &["study.toml"]), 2);
    assert!(said.contains("study.toml") && said.contains("no parameter q"), "{said}");
}

#[test]
fn trials_that_do_not_fit_into_memory_are_counted_apart_and_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let space = ["batch=choice:32,64,128,256", "lr=float:0:1:0.25"];
    let command = ["--", "sh", "trial.sh", "--batch", "{batch}", "{lr}"];
    let answer = json(&search(folder.path(), &[&flags(&space)[..], &command].concat()).output().unwrap());
    let (failed, lost) = (&answer["trials"]["failed"], &answer["trials"]["out_of_memory"]);
    assert!(failed == lost && lost.as_u64().unwrap() > 0, "{answer}");
    let shown = text(&foretell(folder.path(), &["study", "show", "study"]).output().unwrap().stdout);
    assert!(shown.contains(&format!("{failed} failed ({lost} of them out of memory)")), "{shown}");
    assert!(shown.contains("neither are similar ones with a larger batch"), "{shown}");
    let all: Vec<String> = configurations(folder.path()).iter().map(Value::to_string).collect();
    let mut different = all.clone();
    different.sort();
    different.dedup();
    assert_eq!(different.len(), all.len());
}
