//! The four verbs as a training elsewhere meets them: a plain socket and JSON.

mod common;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use common::{STUDY, call, done, local, made, serve, started};
use foretell_run::{EventStore, Orders};
use foretell_search::{Ending, Memory, Order, Parts, Record, Session, Study, StudyRequest};
use foretell_serve::Options;
use serde_json::{Value, json};

fn accuracy(lr: f64, step: u64) -> f64 {
    let top = 0.9 - 0.2 * (lr.log10() + 2.0).abs();
    top * (1.0 - (-(step as f64) / 3.0).exp())
}

/// What a worker does: trains whatever there is until the study is done.
fn work(address: SocketAddr, name: &str) {
    loop {
        let asked = done(address, "POST", "/api/studies/s/ask", &json!({"worker": name}).to_string());
        let start = &asked["start"];
        if start.is_null() {
            if asked["done"] == true {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
            continue;
        }
        let (trial, lr) = (&start["trial"], start["configuration"]["lr"].as_f64().expect("a number"));
        for step in start["from"].as_u64().expect("a step") + 1..=start["until"].as_u64().expect("a step") {
            let report = json!({"step": step, "value": accuracy(lr, step), "lease": start["lease"]});
            let path = format!("/api/studies/s/trials/{trial}/report");
            let next = done(address, "POST", &path, &report.to_string());
            assert_eq!(next["recorded"], true, "{next}");
            if next["stop"] == true {
                break;
            }
        }
        done(address, "POST", &format!("/api/studies/s/trials/{trial}/tell"), "{}");
    }
}

fn records(folder: &Path) -> Vec<Record> {
    foretell_run::read_log(folder.join("s/events.jsonl")).expect("it is readable").0
}

#[test]
fn one_worker_decides_as_a_study_in_this_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = made(folder.path());
    work(address, "a");
    let space = Some(vec!["lr=log:1e-4:1".to_owned()]);
    let metric = Some("val_acc".to_owned());
    let settings = StudyRequest {
        space,
        metric,
        epochs: Some(9),
        trials: Some(16),
        burn_in: Some(6),
        ..StudyRequest::default()
    };
    let spec = settings.new_study().expect("a study");
    let mut session = Session::open(spec, Parts::default(), Memory::default()).expect("a session");
    while let Some(start) = session.ask().expect("it is stored") {
        let lr = start.configuration["lr"].number().expect("a number");
        for step in start.from + 1..=start.until {
            let answer = session.report(start.trial, step, accuracy(lr, step), Default::default());
            if answer.expect("it is stored").stops() {
                break;
            }
        }
        session.tell(start.trial, Ending::Finished).expect("it is stored");
    }
    assert_eq!(records(folder.path()), session.store().records());
    let stops = records(folder.path()).iter().filter(|record| matches!(record, Record::Decided(_))).count();
    assert!(stops > 0, "nothing was ever decided");
    let best = done(address, "GET", "/api/studies/s/best", "");
    let expected = session.best().expect("there is a best");
    assert_eq!((&best["best"]["trial"], &best["done"]), (&json!(expected.trial), &json!(true)));
    // once it is done the log is free for others
    EventStore::open(folder.path().join("s/events.jsonl")).expect("nobody holds it");
}

#[test]
fn several_workers_lose_nothing_and_do_nothing_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = made(folder.path());
    let workers: Vec<_> =
        (0..4).map(|worker| std::thread::spawn(move || work(address, &format!("worker {worker}")))).collect();
    workers.into_iter().for_each(|worker| worker.join().expect("it ends well"));
    let records = records(folder.path());
    let Some(Record::Created { study }) = records.first() else { panic!("no study") };
    let study = Study::resume(study.as_ref().clone(), &records).expect("a sound log");
    assert!(study.is_done());
    assert_eq!(study.trials().len(), 16);
    let mut seen = BTreeSet::new();
    for record in &records {
        if let Record::Reported { trial, step, .. } = record {
            assert!(seen.insert((*trial, *step)), "trial {trial} step {step} twice");
        }
    }
    for (number, trial) in study.trials().iter().enumerate() {
        let steps: Vec<u64> = (1..=trial.step).collect();
        assert!(
            steps.iter().all(|step| seen.contains(&(number as u64, *step))),
            "trial {number} lost a step"
        );
    }
}

#[test]
fn a_report_twice_changes_nothing_and_another_one_is_a_conflict() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = made(folder.path());
    let start = done(address, "POST", "/api/studies/s/ask", "")["start"].clone();
    assert_eq!((&start["trial"], &start["from"], &start["until"]), (&json!(0), &json!(0), &json!(9)));
    let report = |body: &str| call(address, "POST", "/api/studies/s/trials/0/report", body);
    let tell = |body: &str| call(address, "POST", "/api/studies/s/trials/0/tell", body);
    for (body, status, recorded, field) in [
        (
            r#"{"step": 1, "value": 0.5, "metrics": {"loss": 0.7, "odd": null}}"#,
            200,
            json!(true),
            Value::Null,
        ),
        (r#"{"step": 1, "value": 0.5}"#, 200, json!(false), Value::Null),
        (r#"{"step": 1, "value": 0.6}"#, 409, Value::Null, json!("value")),
        (r#"{"step": 3, "value": 0.6}"#, 200, json!(true), Value::Null),
        (r#"{"step": 2, "value": 0.6}"#, 409, Value::Null, json!("step")),
        (r#"{"step": 4, "value": null}"#, 200, json!(true), Value::Null),
        (r#"{"step": 4, "value": null}"#, 200, json!(false), Value::Null),
    ] {
        let (found, answer) = report(body);
        assert_eq!(
            (found, &answer["recorded"], &answer["field"]),
            (status, &recorded, &field),
            "{body}: {answer}"
        );
    }
    assert_eq!(tell(r#"{"failure": "out of memory"}"#).1["state"], "failed");
    assert_eq!(tell(r#"{"failure": "out of memory"}"#).1["state"], "failed");
    let (status, answer) = report(r#"{"step": 9, "value": 0.6}"#);
    assert_eq!(status, 409, "{answer}");
    assert!(answer["error"].as_str().is_some_and(|text| text.contains("has ended: failed")), "{answer}");
    assert_eq!(done(address, "GET", "/api/studies/s/trials/0/should_stop", "")["stop"], true);
    let reported =
        records(folder.path()).into_iter().filter(|record| record.type_name() == "reported").count();
    assert_eq!(reported, 3);
}

#[test]
fn a_repeated_tell_of_a_whole_training_agrees_or_is_a_conflict() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = made(folder.path());
    done(address, "POST", "/api/studies/s/ask", "");
    for step in 1..=9 {
        let body = json!({"step": step, "value": 0.5 + step as f64 / 100.0}).to_string();
        done(address, "POST", "/api/studies/s/trials/0/report", &body);
    }
    for _ in 0..2 {
        assert_eq!(done(address, "POST", "/api/studies/s/trials/0/tell", "")["state"], "completed");
    }
    let (status, answer) = call(address, "POST", "/api/studies/s/trials/0/tell", r#"{"failure": "no"}"#);
    assert_eq!((status, &answer["field"]), (409, &json!("failure")), "{answer}");
}

#[test]
fn a_silent_workers_trial_runs_elsewhere_and_its_late_reports_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let lease = Duration::from_millis(300);
    let address = started(Options { folder: folder.path().to_owned(), address: local(), token: None, lease });
    assert_eq!(call(address, "PUT", "/api/studies/s", STUDY).0, 201);
    let ask = |worker: &str| {
        done(address, "POST", "/api/studies/s/ask", &json!({"worker": worker}).to_string())["start"].clone()
    };
    let report = |start: &Value, step: u64| {
        let body = json!({"step": step, "value": 0.1 * step as f64, "lease": start["lease"]}).to_string();
        call(address, "POST", &format!("/api/studies/s/trials/{}/report", start["trial"]), &body)
    };
    let first = ask("a");
    assert_eq!(report(&first, 1).0, 200);
    assert_eq!(ask("a")["lease"], first["lease"], "an answer that was lost is given again");
    assert_eq!(ask("b")["trial"], 1);
    std::thread::sleep(2 * lease);
    let again = ask("c");
    assert_eq!((&again["trial"], &again["from"]), (&json!(0), &json!(1)));
    let (status, answer) = report(&first, 2);
    assert_eq!((status, &answer["field"]), (409, &json!("lease")), "{answer}");
    assert_eq!(report(&again, 2).1["recorded"], true);
}

#[test]
fn workers_go_on_when_the_server_is_started_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("s/events.jsonl");
    let start;
    {
        // a server that is gone, as its log shows it
        let space = Some(vec!["lr=log:1e-4:1".to_owned()]);
        let settings = StudyRequest {
            space,
            metric: Some("val_acc".to_owned()),
            epochs: Some(9),
            trials: Some(16),
            burn_in: Some(6),
            ..StudyRequest::default()
        };
        let (store, _) = EventStore::open(&log).expect("a log");
        let mut session = Session::open(settings.new_study().expect("a study"), Parts::default(), store)
            .expect("a session");
        start = session.ask().expect("it is stored").expect("a trial");
        session.report(start.trial, 1, 0.3, Default::default()).expect("it is stored");
    }
    let address = serve(folder.path(), local(), None);
    let body = r#"{"step": 2, "value": 0.4, "lease": "of-the-server-before"}"#;
    assert_eq!(done(address, "POST", "/api/studies/s/trials/0/report", body)["recorded"], true);
    assert_eq!(
        done(address, "POST", "/api/studies/s/ask", "")["start"]["trial"],
        1,
        "trial 0 has its worker still"
    );
    let (status, answer) =
        call(address, "POST", "/api/studies/s/trials/0/report", r#"{"step": 3, "value": 0.4, "lease": "x"}"#);
    assert_eq!((status, &answer["field"]), (409, &json!("lease")), "{answer}");
}

#[test]
fn a_person_stops_and_keeps_trials_that_workers_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = made(folder.path());
    for _ in 0..2 {
        done(address, "POST", "/api/studies/s/ask", "");
    }
    done(address, "POST", "/api/studies/s/trials/0/report", r#"{"step": 1, "value": 0.3}"#);
    let stopped = done(address, "POST", "/api/studies/s/trials/0/stop", "");
    assert_eq!(
        (&stopped["decision"]["reason"], &stopped["stop"]),
        (&json!("by_hand"), &json!(true)),
        "{stopped}"
    );
    assert_eq!(done(address, "GET", "/api/studies/s/trials/0/should_stop", "")["stop"], true);
    let next = done(address, "POST", "/api/studies/s/trials/0/report", r#"{"step": 2, "value": 0.3}"#);
    assert_eq!((&next["stop"], &next["recorded"]), (&json!(true), &json!(false)), "{next}");
    assert_eq!(next["decision"]["reason"], "by_hand", "{next}");
    assert_eq!(done(address, "POST", "/api/studies/s/trials/0/tell", "")["state"], "stopped");
    let (status, answer) = call(address, "POST", "/api/studies/s/trials/0/keep", "");
    assert_eq!((status, &answer["field"]), (409, &json!("trial")), "{answer}");
    let kept = done(address, "POST", "/api/studies/s/trials/1/keep", "");
    assert_eq!((&kept["decision"]["reason"], &kept["stop"]), (&json!("kept"), &json!(false)), "{kept}");
}

#[test]
fn an_order_about_another_processs_study_is_handed_on_and_one_about_nobodys_is_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("s/events.jsonl");
    let space = Some(vec!["lr=log:1e-4:1".to_owned()]);
    let settings = StudyRequest { space, metric: Some("val_acc".to_owned()), ..StudyRequest::default() };
    let (store, _) = EventStore::open(&log).expect("a log");
    let mut session =
        Session::open(settings.new_study().expect("a study"), Parts::default(), store).expect("a session");
    session.ask().expect("it is stored");
    session.ask().expect("it is stored");
    let address = serve(folder.path(), local(), None);
    let before = std::fs::read(&log).expect("a log");
    assert_eq!(call(address, "POST", "/api/studies/s/trials/1/stop", "").0, 202);
    assert_eq!(call(address, "POST", "/api/studies/s/trials/7/stop", "").0, 404);
    assert_eq!(std::fs::read(&log).expect("a log"), before, "the log has one writer");
    assert_eq!(Orders::of(&folder.path().join("s")).waiting(), [(1, Order::Stop)]);
    let (status, answer) = call(address, "POST", "/api/studies/s/ask", "");
    assert_eq!(status, 409, "{answer}");
    assert!(answer["error"].as_str().is_some_and(|text| text.contains("held by process")), "{answer}");
    drop(session);
    assert_eq!(done(address, "POST", "/api/studies/s/trials/0/stop", "")["recorded"], true);
    EventStore::open(&log).expect("the log is left to whoever goes on with the study");
    let last = records(folder.path()).pop();
    assert!(matches!(last, Some(Record::Decided(decision)) if decision.trial == 0), "it is recorded");
}
