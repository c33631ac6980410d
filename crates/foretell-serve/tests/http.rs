//! The server as a browser, and as an attacker, meets it.
#![allow(clippy::disallowed_methods, reason = "a test whose thread dies fails")]

mod common;

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::time::Duration;

use common::{get, local, log, send, serve};
use foretell_serve::{ServeError, ServeOptions, Server, page};
use serde_json::{Value, json};

/// The first `events` events of a study: (id, records).
fn events(address: SocketAddr, headers: &str, events: usize) -> Vec<(u64, Vec<Value>)> {
    let stream = send(address, "GET", "/api/studies/a/events", &format!("Host: localhost\r\n{headers}"), "");
    let (mut found, mut id, mut records) = (Vec::new(), 0, None);
    for line in BufReader::new(stream).lines() {
        let line = line.expect("a line");
        if let Some(text) = line.strip_prefix("id: ") {
            id = text.parse().expect("a number");
        } else if let Some(text) = line.strip_prefix("data: ") {
            records = serde_json::from_str(text).ok();
        }
        if line.is_empty() && records.is_some() {
            found.extend(records.take().map(|records| (id, records)));
            if found.len() == events {
                break;
            }
        }
    }
    found
}

#[test]
fn only_this_machines_own_pages_are_let_in() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("a")).expect("a folder");
    log(&folder.path().join("a")).append(&json!({"event": "created"})).expect("stored");
    std::fs::write(folder.path().join("secret"), "what it says").expect("written");
    let address = serve(folder.path(), local(), None);
    let cases = [
        ("/", "Host: localhost:1\r\n", 200),
        ("/", "", 400),
        ("/", "Host: evil.example\r\n", 403),
        ("/", "Host: localhost.evil.example\r\n", 403),
        ("/api/studies", "Host: localhost\r\nOrigin: http://evil.example\r\n", 403),
        ("/api/studies", "Host: localhost\r\nOrigin: null\r\n", 403),
        ("/api/studies", "Host: localhost\r\nOrigin: http://localhost\r\n", 200),
        ("/api/studies/a/records", "Host: localhost\r\n", 200),
        ("/api/studies/../secret/records", "Host: localhost\r\n", 404),
        ("/api/studies/..%2f..%2fetc/records", "Host: localhost\r\n", 404),
        ("/api/studies/%2e%2e/records", "Host: localhost\r\n", 404),
        ("/api/studies/secret/records", "Host: localhost\r\n", 404),
        ("/openapi.json", "Host: localhost\r\n", 200),
    ];
    for (path, headers, status) in cases {
        let (found, text) = get(address, path, headers);
        assert_eq!(found, status, "{path} {headers}: {text}");
        assert!(!text.contains("what it says"), "{text}");
    }
    let (_, text) = get(address, "/api/studies", "Host: localhost\r\n");
    assert!(text.contains(r#""studies":["a"]"#) && text.contains("default-src 'none'"), "{text}");
}

#[test]
fn other_machines_need_the_token() {
    let folder = tempfile::tempdir().expect("a folder");
    let open: SocketAddr = "0.0.0.0:0".parse().expect("an address");
    let options = |token: Option<&str>| ServeOptions {
        token: token.map(str::to_owned),
        ..ServeOptions::new(folder.path(), open)
    };
    assert!(matches!(Server::bind(options(None)), Err(ServeError::Open { .. })));
    for token in ["", " key", "line\nbreak", "grün"] {
        assert!(matches!(Server::bind(options(Some(token))), Err(ServeError::Token)), "{token}");
    }
    let address = serve(folder.path(), open, Some("key"));
    let address = SocketAddr::from(([127, 0, 0, 1], address.port()));
    let cases = [
        ("/api/studies", "", 401),
        ("/api/studies?token=kez", "", 401),
        ("/api/studies?token=ke", "", 401),
        ("/api/studies?token=key", "", 200),
        ("/api/studies", "Authorization: Bearer key\r\n", 200),
        ("/api/studies", "Authorization: Bearer no\r\n", 401),
    ];
    for (path, headers, status) in cases {
        assert_eq!(get(address, path, &format!("Host: any\r\n{headers}")).0, status, "{path} {headers}");
    }
}

#[test]
fn a_reader_that_comes_back_to_another_server_misses_nothing_and_sees_nothing_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("a")).expect("a folder");
    let mut log = log(&folder.path().join("a"));
    let first = serve(folder.path(), local(), None);
    log.append_all(&[json!(1), json!(2), json!(3)]).expect("stored");
    assert_eq!(events(first, "", 1), [(3, vec![json!(1), json!(2), json!(3)])]);
    log.append(&json!(4)).expect("stored");
    let second = serve(folder.path(), local(), None);
    assert_eq!(events(second, "Last-Event-ID: 3\r\n", 1), [(4, vec![json!(4)])]);
    let later = std::thread::spawn(move || events(second, "Last-Event-ID: 4\r\n", 1));
    std::thread::sleep(Duration::from_millis(300));
    log.append(&json!(5)).expect("stored");
    assert_eq!(later.join().expect("it ends"), [(5, vec![json!(5)])]);
}

#[test]
fn events_say_that_the_log_is_damaged_and_go_on_once_it_is_mended() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = common::serve_new_study(folder.path());
    for _ in 0..3 {
        common::answer_of(address, "POST", "/api/studies/s/ask", "");
    }
    let log = folder.path().join("s/events.jsonl");
    let sound = std::fs::read(&log).expect("a log");
    let damaged = String::from_utf8_lossy(&sound).replacen("\"trial\":1", "\"trial\":7", 1).into_bytes();
    // in one step: who reads meanwhile sees no log that is cut off
    let replace = |content: &[u8]| {
        let draft = folder.path().join("draft");
        std::fs::write(&draft, content).expect("written");
        std::fs::rename(&draft, &log).expect("renamed");
    };
    for kind in ["events", "state"] {
        replace(&damaged);
        let stream = send(address, "GET", &format!("/api/studies/s/{kind}"), "Host: localhost\r\n", "");
        let mut lines = BufReader::new(stream).lines().map(|line| line.expect("a line"));
        let until = |lines: &mut dyn Iterator<Item = String>, words: &str| {
            let mut before = Vec::new();
            for line in lines {
                if line.contains(words) {
                    return before;
                }
                before.push(line);
            }
            panic!("{kind}: no {words} after {before:?}");
        };
        let before = until(&mut lines, "event: trouble");
        assert!(before.iter().any(|line| line == "id: 2"), "what is sound comes first: {before:?}");
        assert!(
            lines.next().is_some_and(|line| line.contains("line 3") && line.contains("foretell.error/1"))
        );
        replace(&sound);
        until(&mut lines, "id: 4");
        until(&mut lines, "event: mended");
    }
}

#[test]
fn a_study_that_was_raised_shows_its_new_total() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = serve(folder.path(), local(), None);
    let body = |trials: u64, update: bool| {
        json!({"space": {"lr": "log:1e-4:1"}, "metric": "val_acc", "epochs": 2, "trials": trials, "burn_in": 3, "update": update}).to_string()
    };
    common::call(address, "PUT", "/api/studies/s", &body(3, false));
    let train = || {
        let task = common::answer_of(address, "POST", "/api/studies/s/ask", "")["start"].clone();
        let trial = format!("/api/studies/s/trials/{}", task["trial"]);
        for step in 1..=2 {
            let report = json!({"step": step, "value": 0.5}).to_string();
            common::answer_of(address, "POST", &format!("{trial}/report"), &report);
        }
        common::answer_of(address, "POST", &format!("{trial}/tell"), "");
    };
    (0..3).for_each(|_| train());
    let planned = || common::answer_of(address, "GET", "/api/studies/s/progress", "")["planned"].clone();
    assert_eq!(planned(), 3);
    let (status, refused) = common::call(address, "PUT", "/api/studies/s", &body(6, false));
    let text = refused["error"].as_str().unwrap_or_default();
    assert_eq!((status, text.contains("the study has 3, but this request has 6")), (409, true), "{refused}");
    assert_eq!(planned(), 3);
    assert_eq!(common::call(address, "PUT", "/api/studies/s", &body(6, true)).0, 200);
    assert_eq!(planned(), 6);
    let page = page("s", &folder.path().join("s/events.jsonl"), &foretell_search::Catalogue::default())
        .expect("a page");
    assert!(page.contains(r#""planned":6"#), "the page in a file, too");
    train();
    let found = common::answer_of(address, "GET", "/api/studies/s/progress", "");
    assert_eq!((&found["planned"], &found["trials"]["completed"]), (&json!(6), &json!(4)), "{found}");
    let view = common::answer_of(address, "GET", "/api/studies/s/view", "")["view"].clone();
    assert_eq!(view["settings"]["trials"], 6);
    assert_eq!(view["trials"][3]["values"], json!([0.5, 0.5]));
    assert_eq!(view["reports"]["trial"], json!([0, 0, 1, 1, 2, 2, 3, 3]));
    assert!(view["rows"][3]["seconds"].as_f64().is_some_and(|seconds| seconds >= 0.0), "{}", view["rows"]);
}

#[test]
fn a_page_in_a_file_needs_nothing_else_and_its_text_ends_no_script() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = common::serve_new_study(folder.path());
    common::answer_of(address, "POST", "/api/studies/s/ask", "");
    let failure = json!({"failure": "</script><img src=x>"}).to_string();
    common::answer_of(address, "POST", "/api/studies/s/trials/0/tell", &failure);
    let text = page("a study", &folder.path().join("s/events.jsonl"), &foretell_search::Catalogue::default())
        .expect("a page");
    assert!(text.contains("a study") && text.contains("img src=x") && !text.contains("http://"));
    assert!(!text.contains("</script><img"));
    assert_eq!(text.matches("</script>").count(), 2);
    std::fs::write(folder.path().join("empty"), "").expect("written");
    let error = page("none", &folder.path().join("empty"), &foretell_search::Catalogue::default())
        .expect_err("there is no study")
        .to_string();
    assert_eq!(error, "none: nothing is recorded yet");
}

#[test]
fn a_trial_is_shown_with_its_metrics_its_decisions_and_what_it_prints() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = common::serve_new_study(folder.path());
    common::answer_of(address, "POST", "/api/studies/s/ask", "");
    let report = json!({"step": 1, "value": 0.5, "metrics": {"loss": 0.25}}).to_string();
    common::answer_of(address, "POST", "/api/studies/s/trials/0/report", &report);
    let found = common::answer_of(address, "GET", "/api/studies/s/trials/0", "");
    assert_eq!(found["metrics"]["loss"], json!({"steps": [1], "values": [0.25]}));
    assert_eq!((&found["decisions"][0]["step"], &found["command"]), (&json!(1), &Value::Null), "{found}");
    let output = "/api/studies/s/trials/0/output";
    assert_eq!(common::answer_of(address, "GET", output, "")["is_here"], false);
    let own = folder.path().join("s/trials/0000");
    std::fs::create_dir_all(&own).expect("a folder");
    std::fs::write(own.join("output.log"), "epoch 1\n").expect("written");
    let found = common::answer_of(address, "GET", output, "");
    assert_eq!((&found["text"], &found["to"]), (&json!("epoch 1\n"), &json!(8)));
    assert_eq!(common::answer_of(address, "GET", &format!("{output}?from=6"), "")["text"], "1\n");
    let refused = [
        (format!("{output}?from=x"), 400, "from"),
        ("/api/studies/s/trials/9".to_owned(), 404, "trial"),
        ("/api/studies/s/state?decisions=some".to_owned(), 400, "decisions"),
        ("/api/studies/s/surface?x=lr".to_owned(), 400, "y"),
        ("/api/studies/s/surface?x=lr&y=rate".to_owned(), 400, "y"),
    ];
    for (path, status, field) in refused {
        let (found, answer) = common::call(address, "GET", &path, "");
        assert_eq!((found, &answer["field"]), (status, &json!(field)), "{path}: {answer}");
    }
}

#[test]
fn a_reader_may_leave_the_decisions_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = common::serve_new_study(folder.path());
    common::answer_of(address, "POST", "/api/studies/s/ask", "");
    common::answer_of(address, "POST", "/api/studies/s/trials/0/report", r#"{"step": 1, "value": 0.5}"#);
    for (query, decisions) in [("", Some(1)), ("?decisions=none", None)] {
        let path = format!("/api/studies/s/state{query}");
        let stream = send(address, "GET", &path, "Host: localhost\r\n", "");
        let mut lines = BufReader::new(stream).lines().map(|line| line.expect("a line"));
        let data = lines.find_map(|line| line.strip_prefix("data: ").map(str::to_owned)).expect("an event");
        let event: Value = serde_json::from_str(&data).expect("it is JSON");
        assert_eq!(event["trials"][0]["decisions"].as_array().map(Vec::len), decisions, "{event}");
        assert_eq!(event["settings"]["max_resource"], 9);
    }
}
