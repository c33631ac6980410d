//! The server as a browser, and as an attacker, meets it.

mod common;

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::time::Duration;

use common::{get, local, log, send, serve};
use foretell_serve::{Options, ServeError, Server, page};
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
    for token in [None, Some(String::new())] {
        let options =
            Options { folder: folder.path().to_owned(), address: open, token, lease: Options::LEASE };
        assert!(matches!(Server::bind(options), Err(ServeError::Open { .. })));
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
fn a_page_in_a_file_needs_nothing_else_and_its_text_ends_no_script() {
    let folder = tempfile::tempdir().expect("a folder");
    log(folder.path()).append(&json!({"event": "failed", "reason": "</script><img src=x>"})).expect("stored");
    let text = page("a study", &folder.path().join("events.jsonl")).expect("a page");
    assert!(!text.contains("</script><img") && text.contains("a study") && !text.contains("http://"));
    assert_eq!(text.matches("</script>").count(), 2);
}
