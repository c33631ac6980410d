//! Printed output of many kinds, each read by `import`, a search or `init` as its case defines; and the reference page of formats read.

mod common;

use common::{foretell, text};
use foretell_logs::printed::{MetricSource, ReportReader, guess_metric};
use serde_json::Value;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Prints a log in its own parts, carriage returns included, in a fraction of a second.
const PLAY: &str = r#"import argparse, re, sys, time
p = argparse.ArgumentParser()
p.add_argument("--log", required=True)
p.add_argument("--lr", type=float, default=0.1)
p.add_argument("--seconds", type=float, default=0.2)
a = p.parse_args()
parts = re.findall(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", open(a.log, "rb").read())
for part in parts:
    sys.stdout.buffer.write(part); sys.stdout.buffer.flush(); time.sleep(a.seconds / len(parts))
"#;

type Point = (f64, Option<f64>);

fn cases(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/printed").join(name);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn points(curve: &Value) -> Vec<Point> {
    let point = |point: &Value| (point[0].as_f64().unwrap(), point[1].as_f64());
    curve.as_array().unwrap().iter().map(point).collect()
}

/// Whether `got` equals `wanted`; epochs may count from 0, and a diverged curve may end early.
fn same(got: &[Point], wanted: &[Point]) -> bool {
    let mut wanted = wanted.to_vec();
    while wanted.len() > got.len() && wanted.last().is_some_and(|point| point.1.is_none()) {
        wanted.pop();
    }
    let near = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * b.abs().max(1.0),
        (a, b) => a.is_none() && b.is_none(),
    };
    let equal =
        |shift: f64| got.iter().zip(&wanted).all(|(a, b)| (a.0 + shift - b.0).abs() < 1e-9 && near(a.1, b.1));
    got.len() == wanted.len() && (equal(0.0) || equal(1.0))
}

/// The runs in a file of curves: steps and values, metric, direction.
fn runs(path: &Path) -> Vec<(Vec<Point>, String, String)> {
    let run = |line: &str| {
        let run: Value = serde_json::from_str(line).unwrap();
        let values = run["values"].as_array().unwrap();
        let steps = run["steps"].as_array();
        let step = |at: usize| steps.map_or(at as f64 + 1.0, |steps| steps[at].as_f64().unwrap());
        let curve = values.iter().enumerate().map(|(at, value)| (step(at), value.as_f64())).collect();
        let word = |key: &str| run[key].as_str().unwrap_or_default().to_owned();
        (curve, word("metric"), word("direction"))
    };
    std::fs::read_to_string(path).unwrap_or_default().lines().map(run).collect()
}

/// The points recorded in the log of the study in `folder/o`.
fn recorded_points(folder: &Path) -> Vec<Point> {
    let log = std::fs::read_to_string(folder.join("o/events.jsonl")).unwrap_or_default();
    let records = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["record"].clone());
    records
        .filter(|record| record["event"] == "reported")
        .map(|record| (record["step"].as_f64().unwrap(), record["value"].as_f64()))
        .collect()
}

/// The result of a case.
struct Outcome {
    curves: Vec<Vec<Point>>,
    metric: String,
    direction: String,
    said: String,
    failed: bool,
}

fn words(value: &Value) -> Vec<&str> {
    value.as_array().map(|words| words.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
}

fn import(case: &Value, folder: &Path) -> Outcome {
    let arguments =
        [&["import"], &words(&case["input"])[..], &["--out", "c.jsonl", "--force"], &words(&case["args"])]
            .concat();
    let output = foretell(folder, &arguments).output().unwrap();
    let said = text(&output.stderr) + &text(&output.stdout);
    let runs = runs(&folder.join("c.jsonl"));
    let taken = said.split("using the metric `").nth(1).and_then(|rest| rest.split('`').next());
    let (metric, direction) = runs.first().map(|run| (run.1.clone(), run.2.clone())).unwrap_or_default();
    let metric = taken.map_or(metric, str::to_owned);
    Outcome {
        curves: runs.into_iter().map(|run| run.0).collect(),
        metric,
        direction,
        said,
        failed: !output.status.success(),
    }
}

/// The command of a case that is run.
fn command(case: &Value, folder: &Path) -> Vec<String> {
    if folder.join("script.py").exists() {
        return vec!["python3".into(), "script.py".into()];
    }
    let mut command: Vec<String> =
        ["python3", "play.py", "--log", words(&case["input"])[0]].map(str::to_owned).to_vec();
    if let Some(seconds) = case["seconds"].as_f64() {
        command.extend(["--seconds".to_owned(), seconds.to_string()]);
    }
    command
}

fn live(case: &Value, folder: &Path) -> Outcome {
    let (metric, direction) = (case["metric_arg"].as_str().unwrap(), case["direction"].as_str().unwrap());
    let (epochs, way) = (case["epochs"].to_string(), format!("--{direction}"));
    let mut arguments = vec![
        "search",
        "--trials",
        "1",
        "--no-stopping",
        "--out",
        "o",
        "--metric",
        metric,
        "--epochs",
        &epochs,
        &way,
        "--param",
        "lr=float:0:1",
        "--",
    ];
    let command = command(case, folder);
    arguments.extend(command.iter().map(String::as_str).chain(["--lr", "{lr}"]));
    let output = foretell(folder, &arguments).output().unwrap();
    let curve = recorded_points(folder);
    let failed = curve.is_empty();
    Outcome {
        curves: vec![curve],
        metric: metric.to_owned(),
        direction: direction.to_owned(),
        said: text(&output.stderr),
        failed,
    }
}

fn init(case: &Value, folder: &Path) -> Outcome {
    let command = command(case, folder);
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let written = foretell(folder, &[&["init", "--yes", "--"], &command[..], &["--lr", "0.1"]].concat())
        .output()
        .unwrap();
    let study = std::fs::read_to_string(folder.join("study.toml")).unwrap_or_default();
    let metric = study
        .lines()
        .find_map(|line| line.strip_prefix("metric = "))
        .unwrap_or_default()
        .trim_matches(['"', '\''])
        .to_owned();
    // a person confirms what is in doubt; whether it is right is the case's question
    let confirmed: Vec<&str> = study.lines().filter(|line| !line.starts_with("in-doubt")).collect();
    std::fs::write(folder.join("study.toml"), confirmed.join("\n")).unwrap();
    let direction = if study.contains("\nminimize = true") { "minimize" } else { "maximize" };
    let output = foretell(folder, &["search", "study.toml", "--trials", "1", "--no-stopping", "--out", "o"])
        .output()
        .unwrap();
    let curve = recorded_points(folder);
    let failed = curve.is_empty();
    Outcome {
        curves: vec![curve],
        metric,
        direction: direction.to_owned(),
        said: text(&written.stderr) + &text(&output.stderr),
        failed,
    }
}

/// Whether `pattern` is found, in ASCII: a build of this crate alone has no tables of Unicode.
fn is_found(pattern: &str, text: &str) -> bool {
    let pattern = regex::bytes::RegexBuilder::new(pattern).unicode(false).build().unwrap();
    pattern.is_match(text.as_bytes())
}

/// The problem of a case; `None` for a case without problems.
fn fault(case: &Value) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (name, content) in case["files"].as_object().unwrap() {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content.as_str().unwrap()).unwrap();
    }
    std::fs::write(folder.join("play.py"), PLAY).unwrap();
    let outcome = match case["mode"].as_str().unwrap() {
        "import" => import(case, folder),
        "live" => live(case, folder),
        "init" => init(case, folder),
        _ => return wrong_words(case, folder),
    };
    let matches =
        |pattern: &Value, text: &str| pattern.as_str().is_none_or(|pattern| is_found(pattern, text));
    let refusals = words(&case["or_refused"]);
    if outcome.failed
        && refusals.iter().any(|word| outcome.said.to_lowercase().contains(&word.to_lowercase()))
    {
        return None;
    }
    let wanted: Vec<Vec<Point>> =
        case["curves"].as_array().map(|curves| curves.iter().map(points).collect()).unwrap_or_default();
    let all = wanted.iter().all(|wanted| outcome.curves.iter().any(|got| same(got, wanted)));
    let count = wanted.is_empty() || case["mode"] != "import" || wanted.len() == outcome.curves.len();
    let direction = case["expected_direction"].as_str().is_none_or(|wanted| wanted == outcome.direction);
    let right = all && count && direction && matches(&case["metric"], &outcome.metric) && !outcome.failed;
    let got = outcome.curves.iter().map(|curve| &curve[..curve.len().min(4)]).collect::<Vec<_>>();
    (!right).then(|| format!("{} {}: {got:?}\n{}", outcome.metric, outcome.direction, outcome.said))
}

/// The problem of a case that is a command line of its own.
fn wrong_words(case: &Value, folder: &Path) -> Option<String> {
    let output = std::process::Command::new("bash")
        .args(["-c", case["command"].as_str().unwrap()])
        .current_dir(folder)
        .env("FORETELL", env!("CARGO_BIN_EXE_foretell"))
        .output()
        .unwrap();
    let said = text(&output.stdout) + &text(&output.stderr);
    let has = |key: &str| case[key].as_str().map(|pattern| is_found(&format!("(?s){pattern}"), &said));
    (has("wanted") != Some(true) || has("unwanted") == Some(true)).then_some(said)
}

/// The problems of `cases`, worked through by a few threads.
fn wrongs(cases: &[Value], check: impl Fn(&Value) -> Option<String> + Sync) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            found.extend(check(case).map(|wrong| format!("{}: {wrong}", case["name"])));
        }
        found
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn every_case_is_read_as_it_should_be_or_refused_with_the_reason() {
    let all = cases("cases.json");
    assert_eq!(all.len(), 147);
    let wrong = wrongs(&all, fault);
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), all.len(), wrong.join("\n"));
}

/// The problem with the reading of a format.
fn misread(case: &Value) -> Option<String> {
    let (log, wanted) = (case["log"].as_str().unwrap(), points(&case["curve"]));
    let read = |whole: &foretell_logs::printed::OutputReports| {
        whole.reports.iter().map(|report| (report.step as f64, report.value)).collect::<Vec<Point>>()
    };
    let named =
        ReportReader::new(MetricSource::parse(case["metric"].as_str().unwrap()).unwrap(), 0).read_all(log);
    let (mut got, mut said) = (read(&named), named.notes);
    if same(&got, &wanted) && case["guess"] == true {
        let found = guess_metric(log);
        said.extend(found.as_ref().map(|found| format!("guessed {}", found.source)));
        got = found.map(|found| read(&found.whole)).unwrap_or_default();
    }
    (!same(&got, &wanted)).then(|| {
        format!(
            "{:?}\nwanted {:?}\n{}",
            &got[..got.len().min(7)],
            &wanted[..wanted.len().min(7)],
            said.join("\n")
        )
    })
}

#[test]
fn every_format_is_read_without_a_wrong_digit_with_and_without_its_metric_named() {
    let all = cases("formats.json");
    assert!(all.len() > 60);
    let wrong = wrongs(&all, misread);
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), all.len(), wrong.join("\n"));
}

#[test]
fn every_format_is_read_alike_by_a_search_of_one_trial() {
    let has_one_training =
        |case: &Value| !["resumed", "two-stages", "folds"].contains(&case["name"].as_str().unwrap());
    let live_case = |case: Value| {
        let own = serde_json::json!({
            "name": case["name"], "mode": "live", "input": ["input.log"], "files": {"input.log": case["log"]},
            "metric_arg": case["metric"], "epochs": case["epochs"], "direction": case["direction"], "curves": [case["curve"]],
        });
        own
    };
    let all: Vec<Value> = cases("formats.json").into_iter().filter(has_one_training).map(live_case).collect();
    let wrong = wrongs(&all, fault);
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), all.len(), wrong.join("\n"));
}

/// The printed logs of all cases that name their metric, as (name, metric, log).
fn named_logs() -> Vec<(String, String, String)> {
    let formats = cases("formats.json").into_iter().map(|case| {
        let word = |key: &str| case[key].as_str().unwrap().to_owned();
        (word("name"), word("metric"), word("log"))
    });
    let searched = cases("cases.json").into_iter().flat_map(|case| {
        let arguments = words(&case["args"]);
        let named = arguments.windows(2).find(|pair| pair[0] == "--metric").map(|pair| pair[1].to_owned());
        let metric = case["metric_arg"].as_str().map(str::to_owned).or(named);
        let files = case["files"].as_object().unwrap().clone();
        let logs = files.into_iter().filter(|(name, _)| name.ends_with(".log"));
        let log = |(file, log): (String, Value)| {
            let name = format!("{}/{file}", case["name"].as_str().unwrap());
            Some((name, metric.clone()?, log.as_str()?.to_owned()))
        };
        logs.filter_map(log).collect::<Vec<_>>()
    });
    formats.chain(searched).collect()
}

#[test]
fn every_log_is_read_line_by_line_as_it_is_read_whole() {
    let logs = named_logs();
    assert!(logs.len() > 100);
    let points = |reports: &[foretell_logs::printed::Report]| {
        reports.iter().map(|report| (report.step, report.value)).collect::<Vec<_>>()
    };
    let mut wrong = Vec::new();
    // a search has stored the first values of steps that a resumed training repeats, and has counted a value before the first heading, as it
    // can't wait for headings that may never come
    let is_alike = |name: &str| name != "resumed" && !name.starts_with("140-before-step");
    for (name, metric, log) in logs.iter().filter(|(name, ..)| is_alike(name)) {
        let reader = ReportReader::new(MetricSource::parse(metric).unwrap(), 0);
        let whole = reader.clone().read_all(log);
        let live = points(&reader.read_lines(log));
        // of several trainings a search reads the first one
        let first = whole.trainings.first().map(|first| points(first)).unwrap_or_default();
        if live != first {
            wrong.push(format!(
                "{name}: {metric}: live {:?} whole {:?}",
                &live[..live.len().min(4)],
                &first[..first.len().min(4)]
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), logs.len(), wrong.join("\n"));
}

/// The reference page, from the formats and the values read of them.
fn page() -> String {
    let mut page = String::from(include_str!("printed/what-foretell-reads.head"));
    let mut titles = std::collections::BTreeSet::new();
    for case in cases("formats.json") {
        let (title, metric) = (case["format"].as_str().unwrap(), case["metric"].as_str().unwrap());
        if !titles.insert(title.to_owned()) {
            continue;
        }
        let plain = |line: &str| {
            foretell_logs::printed::to_plain_line(line.as_bytes())
                .text
                .trim_end()
                .chars()
                .take(150)
                .collect::<String>()
        };
        let lines = case["log"].as_str().unwrap().split(['\n', '\r']).filter(|line| !line.trim().is_empty());
        // of lines that differ only in their numbers, three show as much as six
        let mut seen = std::collections::BTreeMap::<String, usize>::new();
        let mut is_new = |line: &String| {
            let alike = seen.entry(line.chars().filter(|c| c.is_alphabetic()).collect()).or_default();
            *alike += 1;
            *alike <= 3
        };
        let shown: Vec<String> = lines.take(6).map(plain).filter(|line| is_new(line)).collect();
        let read = points(&case["curve"]).into_iter().take(3);
        let read: Vec<String> = read
            .map(|(step, value)| {
                format!("{step}: {}", value.map_or("null".into(), |value| value.to_string()))
            })
            .collect();
        page.push_str(&format!(
            "\n### {title}\n\n```text\n{}\n```\n\n`--metric '{metric}'` reads {} …\n",
            shown.join("\n"),
            read.join(", ")
        ));
    }
    page
}

#[test]
fn the_reference_page_shows_the_formats_that_are_tested() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/what-foretell-reads.md");
    let (there, page) = (std::fs::read_to_string(&path).unwrap_or_default(), page());
    if there != page && std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(&path, &page).unwrap();
        return;
    }
    assert!(there == page, "{} is not what the formats give: INSTA_UPDATE=always writes it", path.display());
}
