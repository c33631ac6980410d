//! Limits for a stranger, a slow client and a greedy one.
#![allow(clippy::disallowed_methods, reason = "a test whose thread dies fails")]

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use common::{answer_of, get, local, serve_new_study, start_server};
use foretell_serve::{ReaderLimits, ServeOptions, Server};
use serde_json::Value;

fn start_limited_server(folder: &tempfile::TempDir, token: Option<&str>, limits: ReaderLimits) -> SocketAddr {
    let usual = ServeOptions::new(folder.path(), local());
    start_server(ServeOptions { token: token.map(str::to_owned), limits, ..usual })
}

fn connect_to_server(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("it answers");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    stream
}

/// The answer to `text`, until the server closes the connection.
fn sent(address: SocketAddr, text: &str) -> String {
    let mut stream = connect_to_server(address);
    stream.write_all(text.as_bytes()).expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the server closes it");
    answer
}

/// The status and the error of an answer, which is JSON whatever is wrong.
fn refusal(answer: &str) -> (u16, String) {
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    let body: Value = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"));
    assert_eq!(body["schema"], "foretell.error/1", "{answer}");
    (status, body["error"].as_str().expect("a text").to_owned())
}

#[test]
fn half_a_request_is_waited_for_so_long_and_no_longer() {
    let folder = tempfile::tempdir().expect("a folder");
    let (head, body) = (Duration::from_millis(200), Duration::from_millis(200));
    let address = start_limited_server(&folder, None, ReaderLimits { head, body, ..ReaderLimits::default() });
    // the first would be held for ever; a second one on the same connection, too
    sent(address, "GET /api/studies HTTP/1.1\r\nHost: loc");
    let one_and_a_half = sent(address, "GET /api/studies HTTP/1.1\r\nHost: localhost\r\n\r\nGET /api");
    assert!(one_and_a_half.contains("foretell.studies/1"), "{one_and_a_half}");
    let half =
        "PUT /api/studies/s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 90\r\n\r\n{";
    let (status, error) = refusal(&sent(address, half));
    assert_eq!(status, 408, "{error}");
    assert!(error.contains("did not arrive within 0.2 seconds"), "{error}");
}

#[test]
fn a_body_that_is_too_long_is_refused_in_json_and_a_strangers_is_not_read_at_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let limits = ReaderLimits { body_bytes: 1000, ..ReaderLimits::default() };
    let address = start_limited_server(&folder, Some("key"), limits);
    let request = |headers: &str| {
        format!("PUT /api/studies/s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n")
    };
    // nothing of the body is sent
    let (status, error) = refusal(&sent(address, &request("Content-Length: 100000000\r\n")));
    assert_eq!(status, 401, "{error}");
    let known = "Authorization: Bearer key\r\n";
    let (status, error) = refusal(&sent(address, &request(&format!("{known}Content-Length: 100000000\r\n"))));
    assert_eq!(status, 413, "{error}");
    assert!(error.contains("longer than 1000 bytes"), "{error}");
    let chunk = format!("{:x}\r\n{}\r\n0\r\n\r\n", 2000, " ".repeat(2000));
    let chunked = request(&format!("{known}Transfer-Encoding: chunked\r\n")) + &chunk;
    let (status, error) = refusal(&sent(address, &chunked));
    assert_eq!(status, 413, "{error}");
}

#[test]
fn one_address_has_so_many_connections_and_the_next_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let limits = ReaderLimits { connections_per_address: 3, ..ReaderLimits::default() };
    let address = start_limited_server(&folder, None, limits);
    let mut idle: Vec<TcpStream> = (0..3).map(|_| connect_to_server(address)).collect();
    for stream in &mut idle {
        // an answer shows that the connection counts
        stream.write_all(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("it is sent");
        stream.read_exact(&mut [0; 12]).expect("an answer");
    }
    let asked = "GET /api/studies HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let (status, error) = refusal(&sent(address, asked));
    assert_eq!(status, 503, "{error}");
    assert!(error.contains("3 connections"), "{error}");
    let study = r#"{"space": {"lr": "log:1e-4:1"}, "metric": "acc", "epochs": 2, "trials": 9}"#;
    assert_eq!(common::call(address, "PUT", "/api/studies/s", study).0, 201, "a worker is not refused");
    drop(idle);
    for _ in 0..100 {
        let mut stream = connect_to_server(address);
        let asked = "GET /api/studies HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        let mut answer = String::new();
        if stream.write_all(asked.as_bytes()).and_then(|()| stream.read_to_string(&mut answer)).is_ok()
            && answer.contains("200 OK")
        {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("connections that were closed still count");
}

#[test]
fn a_token_of_any_characters_makes_an_address_that_works() {
    let folder = tempfile::tempdir().expect("a folder");
    for token in ["a b", "a&b=c", "a+b%20c", "#?/"] {
        let usual = ServeOptions::new(folder.path(), local());
        let server =
            Server::bind(ServeOptions { token: Some(token.to_owned()), ..usual }).expect("it listens");
        let url = server.url();
        std::thread::spawn(move || server.run());
        let (place, query) = url.trim_start_matches("http://").split_once('/').expect("an address");
        let address = place.parse().expect("an address");
        assert_eq!(get(address, &format!("/{query}"), "Host: localhost\r\n").0, 200, "{url}");
        let bearer = format!("Host: localhost\r\nAuthorization: Bearer {token}\r\n");
        assert_eq!(get(address, "/api/studies", &bearer).0, 200, "{token}");
        assert_eq!(get(address, "/api/studies?token=a", "Host: localhost\r\n").0, 401, "{token}");
    }
}

#[test]
fn a_folder_that_is_gone_is_said_to_be_and_found_again() {
    let home = tempfile::tempdir().expect("a folder");
    let (folder, away) = (home.path().join("runs"), home.path().join("away"));
    std::fs::create_dir(&folder).expect("a folder");
    let address = serve_new_study(&folder);
    assert_eq!(answer_of(address, "POST", "/api/studies/s/ask", r#"{"worker": "a"}"#)["start"]["trial"], 0);
    let ask = || common::call(address, "POST", "/api/studies/s/ask", r#"{"worker": "a"}"#);
    std::fs::rename(folder.join("s"), &away).expect("it is moved");
    let (status, answer) = ask();
    assert_eq!((status, &answer["field"]), (410, &"study".into()), "{answer}");
    assert_eq!(ask().0, 404);
    assert_eq!(common::call(address, "GET", "/api/studies/s/progress", "").0, 404);
    std::fs::rename(&away, folder.join("s")).expect("it is moved");
    assert_eq!(ask().1["start"]["trial"], 0, "its worker has its trial still");
    // a copy in the place of the log that is held open
    let (log, copy) = (folder.join("s/events.jsonl"), folder.join("s/copy"));
    std::fs::copy(&log, &copy).and_then(|_| std::fs::rename(&copy, &log)).expect("it is replaced");
    let other = || common::call(address, "POST", "/api/studies/s/ask", r#"{"worker": "c"}"#);
    let (status, answer) = other();
    assert_eq!(status, 410, "{answer}");
    assert!(answer["error"].as_str().is_some_and(|text| text.contains("replaced")), "{answer}");
    assert_eq!(other().1["start"]["trial"], 1);
    std::fs::rename(&folder, &away).expect("it is moved");
    for (method, path) in
        [("GET", "/api/studies"), ("GET", "/api/studies/s/best"), ("POST", "/api/studies/s/ask")]
    {
        let (status, answer) = common::call(address, method, path, "");
        assert_eq!(status, 410, "{method} {path}: {answer}");
        assert!(answer["error"].as_str().is_some_and(|text| text.contains("Put it back")), "{answer}");
    }
    std::fs::rename(&away, &folder).expect("it is moved");
    assert_eq!(answer_of(address, "POST", "/api/studies/s/ask", r#"{"worker": "b"}"#)["start"]["trial"], 2);
}

#[test]
fn the_limits_that_are_documented_are_those_that_hold() {
    let pages = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let has = |page: &str, words: &str| {
        let text = std::fs::read_to_string(pages.join(page)).expect("the page is there");
        assert!(text.contains(words), "{page} does not say {words:?}");
    };
    let ReaderLimits { head, body, unread, body_bytes, connections, connections_per_address } =
        ReaderLimits::default();
    let (head, body, megabytes) = (head.as_secs(), body.as_secs(), body_bytes >> 20);
    has("reference/http.md", &format!("within {body} seconds; it is longer than {megabytes} MiB"));
    has(
        "reference/http.md",
        &format!("{connections} connections, or your address has {connections_per_address}"),
    );
    let page = "explanation/security.md";
    has(page, &format!("{head} seconds per request head, {body} per body, {megabytes} MiB per body"));
    has(page, &format!("{connections} connections, {connections_per_address} per address"));
    has(
        page,
        &format!("A reader that does not accept data for {} seconds is disconnected", unread.as_secs()),
    );
    assert_eq!(ServeOptions::DEFAULT_LEASE, Duration::from_secs(60));
    has("reference/commands/serve.md", "| 1m |");
}

#[test]
fn a_reader_that_takes_nothing_is_cut_off_and_the_records_are_not_held_in_memory_for_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut log = common::log(&folder.path().join("s"));
    let long = "x".repeat(100_000);
    for _ in 0..200 {
        log.append(&serde_json::json!({"event": "noted", "text": long})).expect("there is room");
    }
    drop(log);
    let limits = ReaderLimits { unread: Duration::from_millis(300), ..ReaderLimits::default() };
    let address = start_limited_server(&folder, None, limits);
    let mut stream = connect_to_server(address);
    stream.write_all(b"GET /api/studies/s/records HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("it is sent");
    std::thread::sleep(Duration::from_millis(1500));
    let mut got = 0;
    let mut buffer = vec![0; 1 << 20];
    // bytes already on their way are read; then the connection ends, long before the 20 MB
    while let Ok(length @ 1..) = stream.read(&mut buffer) {
        got += length;
    }
    assert!(got < 15_000_000, "{got} bytes came though nothing was read for long");
    let records = answer_of(address, "GET", "/api/studies/s/records", "");
    assert_eq!(records["records"].as_array().expect("records").len(), 200);
}

/// The memory of this process, in bytes.
#[cfg(target_os = "linux")]
fn memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = status.lines().find(|line| line.starts_with("VmRSS")).expect("it is there");
    line.split_whitespace().nth(1).and_then(|kilobytes| kilobytes.parse::<usize>().ok()).expect("a number")
        << 10
}

/// A study of 40 trials with 4,000 reports each, in `folder`.
#[cfg(target_os = "linux")]
fn large(folder: &std::path::Path) {
    let first = tempfile::tempdir().expect("a folder");
    let address = serve_new_study(first.path());
    let study = r#"{"space": {"lr": "log:1e-4:1"}, "metric": "val_acc", "epochs": 4000, "trials": 40, "stopping": false}"#;
    assert_eq!(common::call(address, "PUT", "/api/studies/large", study).0, 201);
    std::fs::create_dir(folder.join("large")).expect("a folder");
    let log = "large/events.jsonl";
    std::fs::copy(first.path().join(log), folder.join(log)).expect("it is copied");
    let mut log = common::log(&folder.join("large"));
    for trial in 0..40 {
        let mut records = vec![serde_json::json!({
            "v": 1, "event": "started", "trial": trial, "configuration": {"lr": 0.1}, "seed": 1, "from": 0, "until": 4000
        })];
        records.extend((1..=4000).map(|step| {
            let value = 0.1 + f64::from(step) / 7e3 + f64::from(trial) / 1e3;
            serde_json::json!({"v": 1, "event": "reported", "trial": trial, "step": step, "value": value})
        }));
        log.append_all(&records).expect("there is room");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn readers_that_take_nothing_share_one_copy_of_a_large_study() {
    let folder = tempfile::tempdir().expect("a folder");
    large(folder.path());
    let address = start_limited_server(&folder, None, ReaderLimits::default());
    for path in ["state", "state?after=1", "view"] {
        let whole = |stream: &mut TcpStream| {
            let asked = format!("GET /api/studies/large/{path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
            stream.write_all(asked.as_bytes()).expect("it is sent");
            let mut begin = [0; 12];
            stream.read_exact(&mut begin).expect("an answer");
            assert_eq!(&begin, b"HTTP/1.1 200", "{path}");
        };
        let mut one = connect_to_server(address);
        whole(&mut one);
        let before = memory();
        let mut others: Vec<TcpStream> = (0..60).map(|_| connect_to_server(address)).collect();
        others.iter_mut().for_each(whole);
        std::thread::sleep(Duration::from_millis(500));
        let more = memory().saturating_sub(before) >> 20;
        // one copy takes some 5 MB, and building it a few times as much
        assert!(more < 100, "{path}: {more} MB more for 60 readers");
        let mut part = vec![0; 1 << 16];
        others[0].read_exact(&mut part).expect("a reader that does read gets it");
    }
}

#[test]
fn a_host_in_capitals_is_this_machine_and_an_address_that_is_no_text_is_said_to_be_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = start_limited_server(&folder, None, ReaderLimits::default());
    assert_eq!(get(address, "/api/studies", "Host: LOCALHOST\r\n").0, 200);
    let answer =
        sent(address, "GET /api/studies/%ff/best HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let (status, error) = refusal(&answer);
    assert!(status == 400 && error.contains("not UTF-8"), "{answer}");
}
