//! Configurations that people enqueue, and metrics that trials report in addition to the study's.

mod common;

use std::path::Path;

use common::{STUDY, answer_of, call, serve_new_study};
use foretell_run::{EventStore, Orders};
use foretell_search::{Session, StudyParts, StudyRequest};
use serde_json::{Value, json};

/// The configuration of the next trial.
fn next_configuration(address: std::net::SocketAddr) -> Value {
    answer_of(address, "POST", "/api/studies/s/ask", "{}")["start"].clone()
}

#[test]
fn what_a_person_enqueues_is_asked_for_next() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = serve_new_study(folder.path());
    let enqueue = |body: &str| call(address, "POST", "/api/studies/s/enqueue", body);
    let (status, answer) = enqueue(r#"{"configuration": {"lr": 0.25}}"#);
    assert_eq!((status, &answer), (200, &json!({"schema": "foretell.enqueued/1", "recorded": true})));
    for _ in 0..20 {
        assert_eq!(
            enqueue(r#"{"configuration": "lr=0.5"}"#).0,
            200,
            "a request that is sent again changes nothing"
        );
    }
    for _ in 0..2 {
        assert_eq!(enqueue(r#"{"configuration": "lr=0.5", "id": "again"}"#).0, 200);
    }
    for (body, words) in [
        (r#"{"configuration": {"lr": 7}}"#, "lr is `7`, which is outside log:"),
        (r#"{"configuration": {"depth": 7}}"#, "no parameter depth"),
        (r#"{"configuration": "lr"}"#, "lr"),
        (r#"{"configuration": 3}"#, "3 is not a configuration"),
        (r#"{}"#, "missing"),
    ] {
        let (status, answer) = enqueue(body);
        let text = answer["error"].as_str().unwrap_or_default();
        assert!(status == 400 && text.contains(words), "{body}: {status} {answer}");
    }
    assert_eq!(call(address, "POST", "/api/studies/t/enqueue", r#"{"configuration": "lr=0.5"}"#).0, 404);
    assert_eq!(next_configuration(address)["configuration"]["lr"], 0.25);
    assert_eq!(next_configuration(address)["configuration"]["lr"], 0.5);
    assert_eq!(next_configuration(address)["configuration"]["lr"], 0.5, "the request with a name of its own");
    assert_ne!(next_configuration(address)["configuration"]["lr"], 0.5);
}

#[test]
fn what_is_enqueued_into_a_study_of_another_process_is_handed_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = serve_new_study(folder.path());
    // another process takes the study over
    let fields: Value = serde_json::from_str(STUDY).expect("JSON");
    let request = StudyRequest::from_fields(fields.as_object().expect("fields")).expect("a request");
    let other = folder.path().join("t");
    std::fs::create_dir(&other).expect("a folder");
    let (store, _) = EventStore::open(other.join("events.jsonl")).expect("a log");
    let spec = request.resolve(None).expect("a study");
    let _session = Session::open(spec, StudyParts::default(), store).expect("a session");
    let (status, answer) = call(address, "POST", "/api/studies/t/enqueue", r#"{"configuration": "lr=0.5"}"#);
    assert_eq!((status, &answer["recorded"]), (202, &json!(false)), "{answer}");
    let waiting = |folder: &Path| Orders::for_study(folder).waiting_configurations().len();
    assert_eq!(waiting(&other), 1);
    let (status, _) = call(address, "POST", "/api/studies/t/enqueue", r#"{"configuration": "lr=9"}"#);
    assert_eq!((status, waiting(&other)), (400, 1));
}

#[test]
fn every_metric_that_a_trial_reports_is_kept_and_given() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = serve_new_study(folder.path());
    for trial in 0..2 {
        next_configuration(address);
        for step in 1..=3 {
            let mut metrics = json!({"val_acc": 0.1, "loss": 1.0 / f64::from(step)});
            if trial == 1 {
                metrics["f1"] = json!(0.5);
            }
            let report = json!({"step": step, "value": 0.1, "metrics": metrics});
            let path = format!("/api/studies/s/trials/{trial}/report");
            answer_of(address, "POST", &path, &report.to_string());
        }
    }
    let loss = answer_of(address, "GET", "/api/studies/s/metrics/loss", "");
    assert_eq!(loss["trials"][1], json!({"trial": 1, "steps": [1, 2, 3], "values": [1.0, 0.5, 1.0 / 3.0]}));
    assert_eq!(
        answer_of(address, "GET", "/api/studies/s/metrics/f1", "")["trials"].as_array().map(Vec::len),
        Some(1)
    );
    assert_eq!(answer_of(address, "GET", "/api/studies/s/metrics/none", "")["trials"], json!([]));
}
