//! The four verbs as a training elsewhere meets them: a plain socket and JSON.
#![allow(clippy::disallowed_methods, reason = "a test whose thread dies fails")]

mod common;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use common::{STUDY, answer_of, call, local, serve, serve_new_study, start_server};
use foretell_run::{EventStore, Leases, MetricReading, Orders, StudyHost, TrainingTask};
use foretell_search::{
    Catalogue, ManualOrder, MemoryStore, ParameterSpace, Record, Session, Space, Study, StudyParts,
    StudyRequest, TrainingEnd,
};
use foretell_serve::ServeOptions;
use serde_json::{Value, json};

fn accuracy(lr: f64, step: u64) -> f64 {
    let top = 0.9 - 0.2 * (lr.log10() + 2.0).abs();
    top * (1.0 - (-(step as f64) / 3.0).exp())
}

/// A worker: trains every trial that it gets until the study is done.
fn work(address: SocketAddr, name: &str) {
    loop {
        let asked = answer_of(address, "POST", "/api/studies/s/ask", &json!({"worker": name}).to_string());
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
            let next = answer_of(address, "POST", &path, &report.to_string());
            assert_eq!(next["recorded"], true, "{next}");
            if next["stop"] == true {
                break;
            }
        }
        answer_of(address, "POST", &format!("/api/studies/s/trials/{trial}/tell"), "{}");
    }
}

fn records(folder: &Path) -> Vec<Record> {
    foretell_run::read_log(folder.join("s/events.jsonl")).expect("it is readable").0
}

#[test]
fn the_same_words_make_the_same_study_over_http_and_in_a_request() {
    let choices = [
        json!({}),
        json!({"policy": "srm", "trials": 7, "burn_in": 2, "seed": 5, "score": "best", "nth_best": 2}),
        json!({"sampler": "tpe", "caution": "fast", "exempt": 0.25, "enqueue": ["lr=0.5"]}),
        json!({"scheduler": "asha", "eta": 2, "rank": "upper", "rungs": 1}),
        json!({"budget_epochs": 40, "checkpoints": false}),
        json!({"policy": "patience", "patience": 3, "burn_in": 4}),
    ];
    for words in choices {
        let folder = tempfile::tempdir().expect("a folder");
        let address = serve(folder.path(), local(), None);
        let mut body = words.as_object().expect("fields").clone();
        body.insert("space".to_owned(), json!({"lr": "log:1e-4:1"}));
        body.insert("metric".to_owned(), json!("val_acc"));
        // rungs need them
        body.insert("epochs".to_owned(), json!(20));
        let (status, answer) = call(address, "PUT", "/api/studies/s", &json!(body).to_string());
        assert_eq!(status, 201, "{answer}");
        let study =
            StudyRequest::from_fields(&body).and_then(|request| request.resolve(None)).expect("a study");
        let created = Record::Created { study: Box::new(study) };
        assert_eq!(records(folder.path()).first(), Some(&created), "{words}");
    }
}

/// The rules of the catalogue.
fn rules() -> Vec<&'static str> {
    Catalogue::default().list_policies().map(|(name, _)| name).collect()
}

#[test]
fn one_worker_decides_by_every_rule_as_a_study_in_this_process() {
    let decide: Vec<&str> = rules().into_iter().filter(|policy| decides_as_in_this_process(policy)).collect();
    assert!(!decide.contains(&"none") && decide.len() + 2 > rules().len(), "only {decide:?} decide");
}

/// Compares the records of a study by `policy` over HTTP with those of a session; whether it decided on any trial.
fn decides_as_in_this_process(policy: &str) -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let address = serve(folder.path(), local(), None);
    let fields = json!({
        "space": {"lr": "log:1e-4:1"}, "metric": "val_acc", "epochs": 9, "trials": 16, "burn_in": 3, "policy": policy
    });
    let fields = fields.as_object().expect("fields");
    let (status, answer) = call(address, "PUT", "/api/studies/s", &json!(fields).to_string());
    assert_eq!(status, 201, "{policy}: {answer}");
    work(address, "a");
    let spec = StudyRequest::from_fields(fields).and_then(|request| request.resolve(None)).expect("a study");
    let mut session = Session::open(spec, StudyParts::default(), MemoryStore::default()).expect("a session");
    while let Some(start) = session.ask().expect("it is stored") {
        let lr = start.configuration["lr"].as_number().expect("a number");
        for step in start.from + 1..=start.until {
            let answer = session.report(start.trial, step, accuracy(lr, step), Default::default());
            if answer.expect("it is stored").stop {
                break;
            }
        }
        session.tell(start.trial, TrainingEnd::Finished).expect("it is stored");
    }
    assert_eq!(records(folder.path()), session.store().records(), "{policy}");
    let best = answer_of(address, "GET", "/api/studies/s/best", "");
    let expected = session.best().expect("there is a best");
    assert_eq!((&best["best"]["trial"], &best["done"]), (&json!(expected.trial), &json!(true)));
    // once it is done the log is free for others
    EventStore::open(folder.path().join("s/events.jsonl")).expect("nobody holds it");
    session.store().records().iter().any(|record| matches!(record, Record::Decided(_)))
}

#[test]
fn several_workers_lose_nothing_and_do_nothing_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = serve_new_study(folder.path());
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
    let address = serve_new_study(folder.path());
    let start = answer_of(address, "POST", "/api/studies/s/ask", "")["start"].clone();
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
    assert_eq!(answer_of(address, "GET", "/api/studies/s/trials/0/should_stop", "")["stop"], true);
    let reported =
        records(folder.path()).into_iter().filter(|record| record.type_name() == "reported").count();
    assert_eq!(reported, 3);
}

#[test]
fn a_repeated_tell_of_a_whole_training_agrees_or_is_a_conflict() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = serve_new_study(folder.path());
    answer_of(address, "POST", "/api/studies/s/ask", "");
    for step in 1..=9 {
        let body = json!({"step": step, "value": 0.5 + step as f64 / 100.0}).to_string();
        answer_of(address, "POST", "/api/studies/s/trials/0/report", &body);
    }
    for _ in 0..2 {
        assert_eq!(answer_of(address, "POST", "/api/studies/s/trials/0/tell", "")["state"], "completed");
    }
    let (status, answer) = call(address, "POST", "/api/studies/s/trials/0/tell", r#"{"failure": "no"}"#);
    assert_eq!((status, &answer["field"]), (409, &json!("failure")), "{answer}");
}

#[test]
fn notes_are_written_replaced_and_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = serve_new_study(folder.path());
    let path = "/api/studies/s/note";
    assert_eq!(answer_of(address, "GET", path, "")["text"], "");
    assert_eq!(
        answer_of(address, "PUT", path, r#"{"text": " first try #baseline\n"}"#)["text"],
        "first try #baseline"
    );
    assert_eq!(answer_of(address, "GET", path, "")["text"], "first try #baseline");
    assert_eq!(foretell_run::read_notes(&folder.path().join("s")).as_deref(), Some("first try #baseline"));
    let (status, refused) = call(address, "PUT", path, &json!({"text": "x".repeat(70_000)}).to_string());
    assert_eq!((status, &refused["field"]), (400, &json!("text")), "{refused}");
    assert_eq!(answer_of(address, "PUT", path, r#"{"text": ""}"#)["text"], "");
    assert_eq!(call(address, "GET", "/api/studies/other/note", "").0, 404);
}

#[test]
fn what_a_trial_used_is_among_its_details() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = serve_new_study(folder.path());
    answer_of(address, "POST", "/api/studies/s/ask", "{}");
    let details = || answer_of(address, "GET", "/api/studies/s/trials/0", "")["usage"].clone();
    assert!(details().is_null(), "it runs elsewhere");
    let own = foretell_run::trial_directory(&folder.path().join("s"), 0);
    std::fs::create_dir_all(&own).expect("a folder");
    let usage = json!({"peak_memory": 7, "samples": [{"seconds": 0.5, "memory": 5}]});
    std::fs::write(own.join("usage.json"), usage.to_string()).expect("it is written");
    assert_eq!(details(), usage);
}

/// A server whose workers lose a trial after `lease`, with the study `s`.
fn started_with_lease(folder: &Path, lease: Duration) -> SocketAddr {
    let address = start_server(ServeOptions { lease, ..ServeOptions::new(folder, local()) });
    assert_eq!(call(address, "PUT", "/api/studies/s", STUDY).0, 201);
    address
}

#[test]
fn a_silent_workers_trial_runs_elsewhere_until_its_late_reports_continue_the_curve() {
    let folder = tempfile::tempdir().expect("a folder");
    let lease = Duration::from_millis(300);
    let address = started_with_lease(folder.path(), lease);
    let ask = |worker: &str| {
        answer_of(address, "POST", "/api/studies/s/ask", &json!({"worker": worker}).to_string())["start"]
            .clone()
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
    assert_eq!(report(&first, 2).1["recorded"], true, "nobody else has reported it");
    let (status, answer) = report(&again, 2);
    assert_eq!((status, &answer["field"]), (409, &json!("lease")), "{answer}");
    std::thread::sleep(2 * lease);
    let third = ask("d");
    assert_eq!((&third["trial"], &third["from"]), (&json!(0), &json!(2)));
    assert_eq!(report(&third, 3).1["recorded"], true);
    let (status, answer) = report(&first, 3);
    assert_eq!((status, &answer["field"]), (409, &json!("lease")), "{answer}");
    let late = records(folder.path()).into_iter().filter(|record| matches!(record, Record::Late { .. }));
    assert_eq!(late.collect::<Vec<_>>(), [Record::Late { trial: 0, step: 2 }]);
}

#[test]
fn workers_go_on_when_the_server_is_started_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("s/events.jsonl");
    let start;
    {
        // a server that is gone, as its log shows it
        let space = ParameterSpace::parse(&["lr=log:1e-4:1"]).ok().map(Space::Parameters);
        let settings = StudyRequest {
            space,
            metric: Some("val_acc".to_owned()),
            epochs: Some(9),
            trials: Some(16),
            policy: Some("srm".into()),
            burn_in: Some(6),
            ..StudyRequest::default()
        };
        let (store, _) = EventStore::open(&log).expect("a log");
        let mut session =
            Session::open(settings.resolve(None).expect("a study"), StudyParts::default(), store)
                .expect("a session");
        start = session.ask().expect("it is stored").expect("a trial");
        session.report(start.trial, 1, 0.3, Default::default()).expect("it is stored");
    }
    let address = serve(folder.path(), local(), None);
    let body = r#"{"step": 2, "value": 0.4, "lease": "of-the-server-before"}"#;
    assert_eq!(answer_of(address, "POST", "/api/studies/s/trials/0/report", body)["recorded"], true);
    assert_eq!(
        answer_of(address, "POST", "/api/studies/s/ask", "")["start"]["trial"],
        1,
        "trial 0 has its worker still"
    );
    let (status, answer) =
        call(address, "POST", "/api/studies/s/trials/0/report", r#"{"step": 3, "value": 0.4, "lease": "x"}"#);
    assert_eq!((status, &answer["field"]), (409, &json!("lease")), "{answer}");
}

/// The study `s` as a server hosts it that is gone when this is dropped.
fn host_study(folder: &Path) -> StudyHost<EventStore> {
    let settings = StudyRequest {
        space: ParameterSpace::parse(&["lr=log:1e-4:1"]).ok().map(Space::Parameters),
        metric: Some("val_acc".to_owned()),
        epochs: Some(9),
        trials: Some(16),
        policy: Some("srm".into()),
        burn_in: Some(6),
        ..StudyRequest::default()
    };
    let (store, _) = EventStore::open(folder.join("s/events.jsonl")).expect("a log");
    let spec = settings.resolve(None).expect("a study");
    let session = Session::open(spec, StudyParts::default(), store).expect("a session");
    let leases = Leases::new(ServeOptions::DEFAULT_LEASE).with_folder(&folder.join("s"));
    StudyHost::new(session).with_leases(leases).expect("a host")
}

fn key(task: &TrainingTask) -> String {
    task.lease.clone().expect("it has a lease").0
}

#[test]
fn a_named_worker_gets_its_own_trial_back_from_a_server_that_is_started_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut before = host_study(folder.path());
    let [first, second] =
        ["gpu-0", "gpu-1"].map(|worker| before.ask(Some(worker)).expect("stored").expect("a trial"));
    let reading = MetricReading { step: 1, value: Some(0.3), ..MetricReading::default() };
    before.report(second.start.trial, reading, Some(&key(&second))).expect("stored");
    drop(before);
    let address = serve(folder.path(), local(), None);
    let ask = |worker: &str| {
        answer_of(address, "POST", "/api/studies/s/ask", &json!({"worker": worker}).to_string())["start"]
            .clone()
    };
    assert_eq!(ask("gpu-2")["trial"], 2);
    let again = ask("gpu-1");
    assert_eq!(
        (&again["trial"], &again["from"], &again["lease"]),
        (&json!(1), &json!(1), &json!(key(&second)))
    );
    assert_eq!(ask("gpu-0")["lease"], json!(key(&first)));
    let (status, answer) =
        call(address, "POST", "/api/studies/s/trials/0/report", r#"{"step": 1, "value": 0.4, "lease": "x"}"#);
    assert_eq!((status, &answer["field"]), (409, &json!("lease")), "{answer}");
}

#[test]
fn a_trial_whose_worker_is_gone_with_the_server_waits_for_a_lease_and_no_longer() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut before = host_study(folder.path());
    let task = before.ask(None).expect("stored").expect("a trial");
    let reading = MetricReading { step: 1, value: Some(0.3), ..MetricReading::default() };
    before.report(task.start.trial, reading, None).expect("stored");
    drop(before);
    let lease = Duration::from_millis(300);
    let address = start_server(ServeOptions { lease, ..ServeOptions::new(folder.path(), local()) });
    let ask = || answer_of(address, "POST", "/api/studies/s/ask", "")["start"].clone();
    assert_eq!(ask()["trial"], 1);
    std::thread::sleep(2 * lease);
    let again = ask();
    assert_eq!((&again["trial"], &again["from"]), (&json!(0), &json!(1)));
}

#[test]
fn a_worker_that_renews_keeps_its_trial_however_long_its_epochs_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let lease = Duration::from_millis(400);
    let address = started_with_lease(folder.path(), lease);
    let ask = || answer_of(address, "POST", "/api/studies/s/ask", "")["start"].clone();
    let own = ask();
    assert_eq!(own["lease_seconds"], json!(0.4));
    let renew = || {
        let body = json!({"lease": own["lease"]}).to_string();
        call(address, "POST", "/api/studies/s/trials/0/renew", &body)
    };
    for _ in 0..8 {
        std::thread::sleep(lease / 4);
        let (status, answer) = renew();
        assert_eq!((status, &answer["stop"]), (200, &json!(false)), "{answer}");
    }
    assert_eq!(ask()["trial"], 1);
    std::thread::sleep(2 * lease);
    assert_eq!(ask()["trial"], 0, "it is silent now, and has promised not to be");
    assert_eq!(renew().0, 409);
}

#[test]
fn a_stopped_training_whose_worker_asks_for_another_is_not_given_out_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = serve_new_study(folder.path());
    let ask =
        || answer_of(address, "POST", "/api/studies/s/ask", r#"{"worker": "a"}"#)["start"]["trial"].clone();
    assert_eq!(ask(), 0);
    answer_of(address, "POST", "/api/studies/s/trials/0/stop", "");
    assert_eq!(ask(), 1);
}

#[test]
fn reading_whether_to_stop_takes_nothing_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut before = host_study(folder.path());
    before.ask(None).expect("stored");
    drop(before);
    let log = folder.path().join("s/events.jsonl");
    let written = std::fs::read(&log).expect("a log");
    let address = serve(folder.path(), local(), None);
    for (trial, status) in [("0", 200), ("7", 404), ("x", 400)] {
        let path = format!("/api/studies/s/trials/{trial}/should_stop");
        assert_eq!(call(address, "GET", &path, "").0, status, "{trial}");
    }
    assert_eq!(std::fs::read(&log).expect("a log"), written);
    let (store, _) = EventStore::open(&log).expect("a search can go on with the study");
    assert_eq!(
        answer_of(address, "GET", "/api/studies/s/trials/0/should_stop", "")["stop"],
        false,
        "also meanwhile"
    );
    drop(store);
}

#[test]
fn opening_a_long_log_holds_up_no_other_study() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = serve_new_study(folder.path());
    answer_of(address, "POST", "/api/studies/s/ask", "");
    let settings = StudyRequest {
        space: ParameterSpace::parse(&["lr=log:1e-4:1"]).ok().map(Space::Parameters),
        metric: Some("val_acc".to_owned()),
        epochs: Some(1_000),
        trials: Some(100),
        stopping: Some(false),
        ..StudyRequest::default()
    };
    let (store, _) = EventStore::open(folder.path().join("long/events.jsonl")).expect("a log");
    let mut session = Session::open(settings.resolve(None).expect("a study"), StudyParts::default(), store)
        .expect("a session");
    for _ in 0..60 {
        let start = session.ask().expect("stored").expect("a trial");
        for step in 1..=1_000 {
            session.report(start.trial, step, 0.5, Default::default()).expect("stored");
        }
        session.tell(start.trial, TrainingEnd::Finished).expect("stored");
    }
    drop(session);
    let opening = std::thread::spawn(move || answer_of(address, "POST", "/api/studies/long/ask", ""));
    let mut answered = 0;
    while !opening.is_finished() {
        answer_of(address, "POST", "/api/studies/s/trials/0/renew", "");
        answered += 1;
    }
    opening.join().expect("it is opened");
    assert!(answered > 10, "{answered} answers while the long log was opened");
}

#[test]
fn a_person_stops_and_keeps_trials_that_workers_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = serve_new_study(folder.path());
    for _ in 0..2 {
        answer_of(address, "POST", "/api/studies/s/ask", "");
    }
    answer_of(address, "POST", "/api/studies/s/trials/0/report", r#"{"step": 1, "value": 0.3}"#);
    let stopped = answer_of(address, "POST", "/api/studies/s/trials/0/stop", "");
    assert_eq!(
        (&stopped["decision"]["reason"], &stopped["stop"]),
        (&json!("by_hand"), &json!(true)),
        "{stopped}"
    );
    assert_eq!(answer_of(address, "GET", "/api/studies/s/trials/0/should_stop", "")["stop"], true);
    let next = answer_of(address, "POST", "/api/studies/s/trials/0/report", r#"{"step": 2, "value": 0.3}"#);
    // epochs trained until it heard of the stop count as trained
    assert_eq!((&next["stop"], &next["recorded"]), (&json!(true), &json!(true)), "{next}");
    assert_eq!(next["decision"]["reason"], "by_hand", "{next}");
    assert_eq!(answer_of(address, "POST", "/api/studies/s/trials/0/tell", "")["state"], "stopped");
    let (status, answer) = call(address, "POST", "/api/studies/s/trials/0/keep", "");
    assert_eq!((status, &answer["field"]), (409, &json!("trial")), "{answer}");
    let kept = answer_of(address, "POST", "/api/studies/s/trials/1/keep", "");
    assert_eq!((&kept["decision"]["reason"], &kept["stop"]), (&json!("kept"), &json!(false)), "{kept}");
}

#[test]
fn an_order_about_another_processs_study_is_handed_on_and_one_about_nobodys_is_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("s/events.jsonl");
    let space = ParameterSpace::parse(&["lr=log:1e-4:1"]).ok().map(Space::Parameters);
    let settings = StudyRequest { space, metric: Some("val_acc".to_owned()), ..StudyRequest::default() };
    let (store, _) = EventStore::open(&log).expect("a log");
    let mut session = Session::open(settings.resolve(None).expect("a study"), StudyParts::default(), store)
        .expect("a session");
    session.ask().expect("it is stored");
    session.ask().expect("it is stored");
    let address = serve(folder.path(), local(), None);
    let before = std::fs::read(&log).expect("a log");
    assert_eq!(call(address, "POST", "/api/studies/s/trials/1/stop", "").0, 202);
    assert_eq!(call(address, "POST", "/api/studies/s/trials/7/stop", "").0, 404);
    assert_eq!(std::fs::read(&log).expect("a log"), before, "the log has one writer");
    assert_eq!(Orders::for_study(&folder.path().join("s")).waiting_orders(), [(1, ManualOrder::Stop)]);
    let (status, answer) = call(address, "POST", "/api/studies/s/ask", "");
    assert_eq!(status, 409, "{answer}");
    assert!(answer["error"].as_str().is_some_and(|text| text.contains("held by process")), "{answer}");
    drop(session);
    assert_eq!(answer_of(address, "POST", "/api/studies/s/trials/0/stop", "")["recorded"], true);
    EventStore::open(&log).expect("the log is left to whoever goes on with the study");
    let last = records(folder.path()).pop();
    assert!(matches!(last, Some(Record::Decided(decision)) if decision.trial == 0), "it is recorded");
}

#[test]
fn a_field_that_may_be_left_out_may_be_null() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = serve_new_study(folder.path());
    let start = answer_of(address, "POST", "/api/studies/s/ask", r#"{"worker": "a", "turn": null}"#);
    assert_eq!(start["start"]["trial"], 0, "{start}");
    let trial = "/api/studies/s/trials/0";
    for (verb, body) in [
        ("renew", r#"{"lease": null}"#),
        (
            "report",
            r#"{"step": 1, "value": 0.5, "metrics": null, "late": null, "lease": null, "made_under": null}"#,
        ),
        ("begin", r#"{"after": 0, "attempt": null, "lease": null}"#),
        ("tell", r#"{"failure": null, "of_the_command": null, "handed_back": null, "lease": null}"#),
    ] {
        answer_of(address, "POST", &format!("{trial}/{verb}"), body);
    }
}

#[test]
fn reports_name_their_folds_and_the_mean_of_the_folds_counts() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = serve(folder.path(), local(), None);
    let body =
        r#"{"space": {"lr": "log:1e-4:1"}, "metric": "val_acc", "epochs": 2, "folds": 3, "trials": 1}"#;
    call(address, "PUT", "/api/studies/s", body);
    let (_, asked) = call(address, "POST", "/api/studies/s/ask", "");
    assert_eq!(asked["start"]["until"], 6, "{asked}");
    let report = |step: u64, fold: f64| {
        let value = 0.1 * step as f64 + 0.01 * fold;
        let body = json!({"step": step, "value": value, "metrics": {"fold": fold}}).to_string();
        call(address, "POST", "/api/studies/s/trials/0/report", &body)
    };
    let (status, said) = report(1, 4.0);
    let error = said.to_string();
    assert!(status == 400 && error.contains("must be a whole number from 1 to 3"), "{status}: {error}");
    for (fold, step) in [(1.0, 1), (1.0, 2), (2.0, 1), (2.0, 2), (3.0, 1), (3.0, 2)] {
        assert_eq!(report(step, fold).0, 200, "fold {fold}, step {step}");
    }
    call(address, "POST", "/api/studies/s/trials/0/tell", "{}");
    let best = answer_of(address, "GET", "/api/studies/s/best", "");
    let score = best["best"]["score"].as_f64().expect("a score");
    assert!((score - 0.22).abs() < 1e-12, "{best}");
}

#[test]
fn conditions_limits_and_memory_hold_over_http() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = serve(folder.path(), local(), None);
    let body = r#"{"metric": "val_acc", "epochs": 1, "trials": 12, "sampler": "random", "limit": ["layers*batch<=512"], "space": {
        "units3": {"kind": "int", "lo": 8, "hi": 256, "active_if": [{"name": "layers", "at_least": 3}, {"name": "opt", "none_of": ["adam"]}]},
        "layers": "int:1:4", "opt": "choice:sgd,rmsprop,adam", "batch": "choice:32,64,128,256"}}"#;
    let (status, said) = call(address, "PUT", "/api/studies/s", body);
    assert!(status == 200 || status == 201, "{said}");
    let mut lost = 0;
    for trial in 0..12 {
        let (_, asked) = call(address, "POST", "/api/studies/s/ask", "");
        let configuration = &asked["start"]["configuration"];
        let number = |name: &str| configuration[name].as_f64().unwrap_or_else(|| panic!("{name}: {asked}"));
        let applies = number("layers") >= 3.0 && configuration["opt"] != "adam";
        assert_eq!(configuration["units3"].is_null(), !applies, "{configuration}");
        assert!(number("layers") * number("batch") <= 512.0, "{configuration}");
        let own = format!("/api/studies/s/trials/{trial}");
        if number("batch") > 64.0 {
            lost += 1;
            let failure = r#"{"failure": "torch.OutOfMemoryError: CUDA out of memory"}"#;
            call(address, "POST", &format!("{own}/tell"), failure);
        } else {
            call(address, "POST", &format!("{own}/report"), r#"{"step": 1, "value": 0.5}"#);
            call(address, "POST", &format!("{own}/tell"), "{}");
        }
    }
    let stored =
        foretell_run::StoredStudy::read(&folder.path().join("s"), &Catalogue::default()).expect("a study");
    let trials = stored.study.progress().trials;
    assert!(lost > 0 && (trials.out_of_memory, trials.failed) == (lost, lost), "{trials:?}");
}

#[test]
fn without_epochs_the_first_trial_shows_them_and_epochs_that_do_not_fit_are_named_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = serve(folder.path(), local(), None);
    let make = |name: &str, epochs: serde_json::Value| {
        let study =
            json!({"space": {"lr": "log:1e-4:1"}, "metric": "val_acc", "trials": 4, "epochs": epochs});
        let (status, made) = call(address, "PUT", &format!("/api/studies/{name}"), &study.to_string());
        assert_eq!(status, 201, "{made}");
        made
    };
    let train = |name: &str, step: u64| {
        let asked = answer_of(address, "POST", &format!("/api/studies/{name}/ask"), "{}");
        let place = format!("/api/studies/{name}/trials/{}", asked["start"]["trial"]);
        let mut notices = Vec::new();
        for epoch in 1..=5 {
            let report = json!({"step": step * epoch, "value": 0.1 * epoch as f64}).to_string();
            let answer = answer_of(address, "POST", &format!("{place}/report"), &report);
            notices.extend(answer["notices"].as_array().cloned().unwrap_or_default());
        }
        let told = answer_of(address, "POST", &format!("{place}/tell"), "{}");
        notices.extend(told["notices"].as_array().cloned().unwrap_or_default());
        let texts = notices.iter().map(|notice| notice["text"].as_str().expect("a text").to_owned());
        (asked["start"]["until"].clone(), texts.collect::<Vec<String>>())
    };
    assert_eq!(make("open", json!(null))["epochs"], json!(null));
    let (until, said) = train("open", 1);
    assert!(
        until.is_null() && said.len() == 1 && said[0].contains("a complete trial has 5 epochs"),
        "{said:?}"
    );
    assert_eq!(train("open", 1), (json!(5), Vec::new()));
    make("units", json!(3));
    let (_, said) = train("units", 100);
    assert!(said.len() == 1 && said[0].contains("step 100, but `epochs` is 3"), "{said:?}");
    assert_eq!(train("units", 100).1, Vec::<String>::new(), "each difference is named once");
}
