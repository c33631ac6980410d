//! Logs of earlier versions open, and give the study that they were written for.
//!
//! `study-of-2026-11.jsonl` was written before records had versions: 17 trials of a shell command under f-Hyperband, with
//! two runs handed in, 14 pauses at a rung, 2 stops, a trial that diverged and one that failed.

use foretell::Action;
use foretell_run::{EventLog, LogReader, Opened, Position, read_log};
use foretell_search::{Decision, Record, Study, Summary, TrialState};
use std::convert::Infallible;
use std::path::PathBuf;

fn fixture() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/study-of-2026-11.jsonl")
}

fn records() -> Vec<Record> {
    let (records, dropped) = read_log(fixture()).expect("an old log opens");
    assert_eq!(dropped, None);
    records
}

fn resume(records: &[Record]) -> Study {
    let Some(Record::Created { study }) = records.first() else { panic!("{:?}", records.first()) };
    let spec = study.as_ref().clone().covering(Study::trials_started(records));
    let records = records.iter().cloned().map(Ok::<_, Infallible>);
    Study::restore(spec, (&foretell_paper::catalogue()).into(), records)
        .expect("the records are those of a study")
}

/// A trial's state in a word, and its value with four digits.
fn state(state: &TrialState) -> String {
    match state {
        TrialState::Completed { value } => format!("completed {value:.4}"),
        TrialState::Paused { value } => format!("paused {value:.4}"),
        TrialState::Stopped { step, forecast, .. } => {
            format!("stopped {step} {:.4}", forecast.map_or(f64::NAN, |forecast| forecast.mean))
        }
        TrialState::Failed { reason } => format!("failed {}", reason.split(';').next().unwrap_or_default()),
        other => format!("{other:?}"),
    }
}

#[test]
fn a_log_without_versions_gives_the_study_it_was_written_for() {
    let records = records();
    assert_eq!(records.len(), 147);
    let study = resume(&records);
    // What the program that wrote the log printed about its trials.
    let expected = [
        "paused 0.1874",
        "failed diverged: its last values are not finite",
        "failed exit code 3",
        "paused 0.4288",
        "paused 0.1746",
        "completed 0.7018",
        "paused 0.1726",
        "paused 0.1683",
        "paused 0.1785",
        "paused 0.3853",
        "completed 0.7006",
        "paused 0.4657",
        "paused 0.4522",
        "stopped 1 0.4501",
        "completed 0.6426",
        "completed 0.8151",
        "stopped 1 0.6506",
    ];
    let states: Vec<String> = study.trials().iter().map(|trial| state(&trial.state)).collect();
    assert_eq!(states, expected);
    assert!(study.is_done());
    assert_eq!(study.warm_start_runs().len(), 2);
    let stops = |decision: &&Decision| decision.action == Action::Stop;
    let decisions = study.trials().iter().filter_map(|trial| trial.decision.as_ref()).filter(stops);
    let probabilities: Vec<String> = decisions.map(|it| format!("{:.4?}", it.probability)).collect();
    assert_eq!(probabilities, ["Some(0.9341)", "Some(1.0000)"]);
}

#[test]
fn an_old_log_goes_on_with_versions_and_keeps_its_old_lines() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("events.jsonl");
    let old = std::fs::read_to_string(fixture()).expect("readable");
    std::fs::write(&path, &old).expect("a file is written");
    let Opened { mut log, records: before, .. } = EventLog::<Record>::open(&path).expect("it opens");
    let more = [before[3].clone(), Record::Paused { trial: 0 }];
    log.append_all(&more).expect("there is room");
    let text = std::fs::read_to_string(&path).expect("readable");
    let new = text.strip_prefix(&old).expect("nothing that was written is changed");
    assert!(new.lines().all(|line| line.contains(r#""record":{"v":1,"event":""#)), "{new}");
    let reader = LogReader::<Record>::open(&path, Position::START).expect("it opens");
    let records = reader.collect::<Result<Vec<_>, _>>().expect("old and new lines are readable");
    assert_eq!(records, [before, more.to_vec()].concat());
}

#[test]
fn records_written_again_are_the_same_but_for_their_version_and_one_name() {
    let text = std::fs::read_to_string(fixture()).expect("readable");
    for (line, record) in text.lines().zip(records()) {
        let (_, old) = line.split_once(r#""record":"#).expect("a line of a log");
        // a warm start's runs were once said to be handed in
        let old = old.strip_suffix('}').expect("a line of a log").replacen("handed_in", "warm_start", 1);
        let new = serde_json::to_string(&record).expect("a record is JSON").replacen(r#""v":1,"#, "", 1);
        if !matches!(record, Record::Created { .. }) {
            assert_eq!(new, old);
        }
        let again: Record = serde_json::from_str(&new).expect("it is readable");
        assert_eq!(again, record);
    }
}

#[test]
fn a_record_of_a_newer_program_is_refused_with_its_line_type_and_version() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("events.jsonl");
    let newer = serde_json::json!({"v": 3, "event": "paused", "trial": 1, "checkpoint": "a"});
    let mut log = EventLog::<serde_json::Value>::open(&path).expect("it opens").log;
    log.append(&serde_json::json!({"v": 1, "event": "paused", "trial": 0, "unknown": 7}))
        .expect("there is room");
    log.append(&newer).expect("there is room");
    drop(log);
    let bytes = std::fs::read(&path).expect("readable");
    let message = EventLog::<Record>::open(&path).expect_err("it is newer").to_string();
    for part in ["events.jsonl, line 2", "`paused` version 3", "up to version 1", "Use a newer foretell"] {
        assert!(message.contains(part), "{part:?} is missing in {message:?}");
    }
    assert_eq!(std::fs::read(&path).expect("readable"), bytes, "a refused log is left alone");
    assert_eq!(
        LogReader::<Record>::open(&path, Position::START).expect("it opens").next().expect("a record").ok(),
        Some(Record::Paused { trial: 0 }),
        "an unknown field is passed over"
    );
}

/// `studies-of-2026-11-25` has studies of many kinds, and what `foretell search --format json` printed at the end of each.
#[test]
fn recorded_studies_come_to_what_they_came_to() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/studies-of-2026-11-25");
    let mut read = 0;
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|kind| kind != "jsonl") {
            continue;
        }
        let (records, dropped) = read_log::<Record>(&path).expect("an old log opens");
        assert_eq!(dropped, None);
        let study = resume(&records);
        let printed = std::fs::read_to_string(path.with_extension("json")).expect("a document");
        let printed: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
        let now = serde_json::to_value(Summary::new(&study)).expect("JSON");
        for (field, now) in now.as_object().expect("an object") {
            assert_eq!(now, &printed[field], "{field} of {}", path.display());
        }
        let asked = study.spec().request();
        let asked = serde_json::json!([asked.sampler, asked.scheduler, asked.predictor, asked.score]);
        let named = serde_json::json!([
            printed["sampler"],
            printed["scheduler"],
            printed["predictor"],
            printed["score"]
        ]);
        assert_eq!(asked, named, "{}", path.display());
        read += 1;
    }
    assert_eq!(read, 9);
}
