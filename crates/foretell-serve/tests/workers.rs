//! Promises that `foretell worker` relies on: numbered questions, trials handed back, trainings that start again.

mod common;

use common::{answer_of, call, local, serve, serve_new_study};
use foretell_run::Work;
use serde_json::{Value, json};

fn ask(address: std::net::SocketAddr, worker: &str, turn: u64) -> (u16, Value) {
    call(address, "POST", "/api/studies/s/ask", &json!({"worker": worker, "turn": turn}).to_string())
}

fn post(address: std::net::SocketAddr, verb: &str, body: &Value) -> (u16, Value) {
    call(address, "POST", &format!("/api/studies/s/trials/{verb}"), &body.to_string())
}

#[test]
fn a_question_that_comes_late_hands_out_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = serve_new_study(folder.path());
    let (_, first) = ask(address, "a", 0);
    let lease = &first["start"]["lease"];
    assert_eq!(ask(address, "a", 0).1["start"]["lease"], *lease, "the same question has the same answer");
    assert_eq!(post(address, "0/report", &json!({"step": 9, "value": 0.5, "lease": lease})).0, 200);
    assert_eq!(post(address, "0/tell", &json!({"lease": lease})).1["state"], "completed");
    assert_eq!(ask(address, "a", 1).1["start"]["trial"], 1);
    let (status, late) = ask(address, "a", 0);
    assert_eq!((status, &late["field"]), (409, &json!("turn")), "{late}");
    assert_eq!(ask(address, "b", 0).1["start"]["trial"], 2);
    let workers = answer_of(address, "GET", "/api/studies/s/workers", "");
    let names: Vec<_> =
        workers["workers"].as_array().expect("workers").iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn a_trial_that_is_handed_back_has_not_failed_and_goes_on_elsewhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = serve_new_study(folder.path());
    let (_, first) = ask(address, "a", 0);
    let lease = &first["start"]["lease"];
    for step in 1..=3 {
        let report = json!({"step": step, "value": 0.1 * f64::from(step), "lease": lease});
        assert_eq!(post(address, "0/report", &report).1["recorded"], true);
    }
    let back = json!({"handed_back": true, "lease": lease});
    assert_eq!(post(address, "0/tell", &back).1["state"], "handed_back");
    let (_, second) = ask(address, "b", 0);
    assert_eq!((&second["start"]["trial"], &second["start"]["from"]), (&json!(0), &json!(3)));
    let (status, answer) = post(address, "0/tell", &back);
    assert_eq!((status, &answer["field"]), (409, &json!("lease")), "it runs elsewhere now: {answer}");
    // its checkpoint is one epoch older, and training is not repeatable
    let lease = &second["start"]["lease"];
    assert_eq!(post(address, "0/begin", &json!({"after": 2, "lease": lease})).0, 200);
    for (step, recorded) in [(3, false), (4, true), (9, true)] {
        let report = json!({"step": step, "value": 0.77, "lease": lease});
        let (status, answer) = post(address, "0/report", &report);
        assert_eq!((status, &answer["recorded"]), (200, &json!(recorded)), "{answer}");
    }
    assert_eq!(post(address, "0/tell", &json!({"lease": lease})).1["state"], "completed");
    let log = std::fs::read_to_string(folder.path().join("s/events.jsonl")).expect("a log");
    assert!(!log.contains("failed"), "{log}");
    let (status, answer) = post(address, "0/tell", &json!({"handed_back": true, "failure": "x"}));
    assert_eq!((status, &answer["field"]), (400, &json!("failure")), "{answer}");
}

#[test]
fn workers_of_another_version_and_studies_without_a_command_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = serve(folder.path(), local(), Some("secret"));
    assert_eq!(call(address, "GET", "/api/studies/s/work", "").0, 401);
    let address = serve_new_study(folder.path());
    let (status, answer) = call(address, "GET", "/api/studies/s/work", "");
    assert_eq!((status, &answer["field"]), (409, &json!("study")), "{answer}");
    let work = Work { version: "0.1.0".to_owned(), ..Work::default() };
    work.write(&folder.path().join("s")).expect("it is written");
    assert_eq!(call(address, "GET", "/api/studies/s/work?version=0.1.0", "").0, 200);
    let (status, answer) = call(address, "GET", "/api/studies/s/work?version=0.0.9", "");
    assert_eq!((status, &answer["field"]), (409, &json!("version")), "{answer}");
    assert!(answer["error"].to_string().contains("Install the same version"), "{answer}");
}
