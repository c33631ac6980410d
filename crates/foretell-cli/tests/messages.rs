//! Error messages and reports, kept as snapshots so that a change of words is seen.

mod common;

use common::{foretell, text};
use std::path::Path;
use std::process::Output;

/// A training whose accuracy rises toward a top that depends on the learning rate; it prints one line per epoch, slowly enough
/// that it trains no further once it is stopped.
const TRAINER: &str = r#"
epoch=1
while [ $epoch -le $FORETELL_MAX_RESOURCE ]; do
  awk -v lr="$1" -v t=$epoch 'BEGIN {
    distance = log(lr) / log(10) + 2; if (distance < 0) distance = -distance
    printf "val_acc=%.6f\n", (0.9 - 0.2 * distance) * (1 - exp(-t / 3))
  }'
  sleep 0.08
  epoch=$((epoch + 1))
done
"#;

/// The flags of a small study of [`TRAINER`], kept in `study`.
const STUDY: [&str; 21] = [
    "search",
    "--param",
    "lr=log:1e-4:1",
    "--metric",
    r"val_acc=([\d.]+)",
    "--epochs",
    "6",
    "--trials",
    "16",
    "--policy",
    "srm",
    "--burn-in",
    "6",
    "--workers",
    "1",
    "--out",
    "study",
    "--",
    "sh",
    "train.sh",
    "{lr}",
];

/// `runs` runs of ten epochs, in the wide format; with `width` each run only has its first `width` epochs.
fn curves(runs: usize, width: usize) -> String {
    let epochs = 1..=10;
    let header: Vec<String> = epochs.clone().map(|t| format!("acc_{t}")).collect();
    let mut table = format!("lr,{}\n", header.join(","));
    for run in 0..runs {
        let top = 0.5 + 0.03 * (run * 7 % runs) as f64;
        let cell = |t: usize| {
            if t <= width { format!("{:.4}", top * (1.0 - (-(t as f64) / 3.0).exp())) } else { String::new() }
        };
        let cells: Vec<String> = epochs.clone().map(cell).collect();
        table += &format!("{},{}\n", 0.01 * (run + 1) as f64, cells.join(","));
    }
    table
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    foretell(folder, arguments).env_remove("COLUMNS").output().expect("the command starts")
}

/// The output of the command, with its exit code.
fn output_without_times(output: &Output) -> String {
    let code = output.status.code().expect("the command ends by itself");
    let printed = format!("{}{}exit code {code}\n", text(&output.stderr), text(&output.stdout));
    // how long it took is another time each time
    let is_time = |line: &&str| line.starts_with("time: ");
    let timeless = |line| if is_time(&line) { "time: …" } else { line };
    printed.lines().map(timeless).collect::<Vec<_>>().join("\n") + "\n"
}

#[test]
fn messages_on_bad_input() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("runs.csv"), curves(12, 10)).unwrap();
    std::fs::write(folder.path().join("text.csv"), "lr,acc_1,acc_2\n0.1,0.2,high\n").unwrap();
    std::fs::write(folder.path().join("empty.csv"), "").unwrap();
    std::fs::write(folder.path().join("key.toml"), "trails = 4\n").unwrap();
    let cases: [(&str, &[&str]); 14] = [
        ("no-such-file", &["evaluate", "gone.csv"]),
        ("empty-file", &["evaluate", "empty.csv"]),
        ("text-in-curve", &["evaluate", "text.csv"]),
        ("too-few-runs", &["evaluate", "runs.csv", "--train", "100"]),
        ("unknown-predictor", &["evaluate", "runs.csv", "--predictor", "oracle"]),
        ("target-too-early", &["forecast", "--history", "runs.csv", "runs.csv", "--target", "0"]),
        ("bad-stop-probability", &["replay", "runs.csv", "--stop-probability", "0.2"]),
        ("no-study", &["study", "show", "gone"]),
        ("no-folder", &["study", "ls", "gone"]),
        ("no-epochs", &["search", "--param", "lr=log:1e-4:1", "--", "true", "{lr}", "{epochs}"]),
        ("no-parameters", &["search", "--epochs", "3", "--", "true"]),
        ("bad-parameter", &["search", "--param", "lr=log:-1:1", "--epochs", "3", "--", "true", "{lr}"]),
        ("unknown-key", &["search", "key.toml"]),
        (
            "shadow-of-nothing",
            &[
                "search",
                "--shadow",
                "--policy",
                "none",
                "--param",
                "x=int:1:3",
                "--epochs",
                "3",
                "--",
                "true",
                "{x}",
            ],
        ),
    ];
    for (name, arguments) in cases {
        let output = run(folder.path(), arguments);
        assert_ne!(output.status.code(), Some(0), "{name}");
        insta::assert_snapshot!(format!("error-{name}"), output_without_times(&output));
    }
}

#[test]
fn reports_of_a_study() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("train.sh"), TRAINER).unwrap();
    let report = |name: &str, arguments: &[&str]| {
        let output = run(folder.path(), arguments);
        insta::assert_snapshot!(format!("report-{name}"), output_without_times(&output));
    };
    report("search", &STUDY);
    report("search-again", &STUDY);
    report("study-show", &["study", "show", "study"]);
    // how much memory it took, and whether it lasted long enough for that to be measured, differs
    let shown = output_without_times(&run(folder.path(), &["study", "show", "study", "6"]));
    let used = regex::Regex::new("used: memory .*\n").unwrap();
    insta::assert_snapshot!("report-study-trial", used.replace_all(&shown, ""));
    report("study-no-trial", &["study", "show", "study", "16"]);
    report("study-doctor", &["study", "doctor", "study"]);
    let listed = output_without_times(&run(folder.path(), &["study", "ls", "."]));
    let day = regex::Regex::new(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}").unwrap();
    insta::assert_snapshot!("report-study-ls", day.replace_all(&listed, "YYYY-MM-DD HH:MM"));
}

#[test]
fn reports_on_recorded_runs() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("runs.csv"), curves(24, 10)).unwrap();
    std::fs::write(folder.path().join("running.csv"), curves(3, 4)).unwrap();
    let report = |name: &str, arguments: &[&str]| {
        let output = run(folder.path(), arguments);
        insta::assert_snapshot!(format!("report-{name}"), output_without_times(&output));
    };
    report("forecast", &["forecast", "--history", "runs.csv", "running.csv", "--predictor", "ridge"]);
    report(
        "replay",
        &["replay", "runs.csv", "--predictor", "ridge", "--orderings", "2", "--policy", "srm,oracle"],
    );
}
