//! A server on a free port, and a client of a few lines over a plain socket.
#![allow(clippy::disallowed_methods, reason = "a test whose thread dies fails")]
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use foretell_run::{EventLog, OpenedLog};
use foretell_serve::{ServeOptions, Server};
use serde_json::{Value, json};

/// The log of the study in `folder`.
pub(crate) fn log(folder: &Path) -> EventLog<Value> {
    let OpenedLog { log, .. } = EventLog::open(folder.join("events.jsonl")).expect("a log");
    log
}

/// A server of `options`, on a thread of its own.
pub(crate) fn start_server(options: ServeOptions) -> SocketAddr {
    let server = Server::bind(options).expect("it listens");
    let url = server.url();
    std::thread::spawn(move || server.run());
    let place = url.trim_start_matches("http://").split('/').next().expect("an address");
    place.parse().expect("an address")
}

pub(crate) fn serve(folder: &Path, address: SocketAddr, token: Option<&str>) -> SocketAddr {
    start_server(ServeOptions { token: token.map(str::to_owned), ..ServeOptions::new(folder, address) })
}

pub(crate) fn local() -> SocketAddr {
    "127.0.0.1:0".parse().expect("an address")
}

/// Sends a request, and leaves the answer to be read.
pub(crate) fn send(address: SocketAddr, method: &str, path: &str, headers: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("it answers");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    let length = body.len();
    let head =
        format!("{method} {path} HTTP/1.1\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n");
    write!(stream, "{head}{body}").expect("it is sent");
    stream
}

/// The status and the whole answer.
pub(crate) fn get(address: SocketAddr, path: &str, headers: &str) -> (u16, String) {
    read(send(address, "GET", path, headers, ""))
}

fn read(mut stream: TcpStream) -> (u16, String) {
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let status = text.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    (status, text)
}

/// The status and the JSON of an answer, which is as the description of the interface has it.
pub(crate) fn call(address: SocketAddr, method: &str, path: &str, body: &str) -> (u16, Value) {
    let (status, answer) = call_undescribed(address, method, path, body);
    check_described(method, path, status, &answer);
    (status, answer)
}

fn call_undescribed(address: SocketAddr, method: &str, path: &str, body: &str) -> (u16, Value) {
    let (status, text) = read(send(address, method, path, "Host: localhost\r\n", body));
    let (head, body) = text.split_once("\r\n\r\n").expect("a body");
    let body = if head.contains("chunked") { join_chunks(body) } else { body.to_owned() };
    (status, serde_json::from_str(&body).unwrap_or_else(|error| panic!("{method} {path}: {error}: {body}")))
}

/// The description of the interface, in which an object has no fields but those that are described.
static DESCRIPTION: LazyLock<Value> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let address = serve(folder.path(), local(), None);
    let (status, mut document) = call_undescribed(address, "GET", "/openapi.json", "");
    assert_eq!(status, 200);
    close(&mut document["components"]["schemas"]);
    document
});

/// Any request may be answered so, as the description says once for all.
const ANY: [u16; 9] = [400, 401, 403, 405, 408, 410, 413, 500, 503];

fn close(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(close),
        Value::Object(fields) => {
            let is_whole = !["allOf", "anyOf", "oneOf"].iter().any(|key| fields.contains_key(*key));
            if fields.get("properties").is_some_and(Value::is_object) && is_whole {
                fields.entry("additionalProperties").or_insert_with(|| false.into());
            }
            fields.values_mut().for_each(close);
        }
        _ => {}
    }
}

/// Fails unless the description has the address, the status, and a schema that `answer` keeps to.
fn check_described(method: &str, path: &str, status: u16, answer: &Value) {
    let parts: Vec<&str> = path.split('?').next().unwrap_or(path).split('/').collect();
    let is_of = |known: &&String| {
        let known: Vec<&str> = known.split('/').collect();
        known.len() == parts.len() && known.iter().zip(&parts).all(|(a, b)| a == b || a.starts_with('{'))
    };
    let method = method.to_lowercase();
    let known = DESCRIPTION["paths"].as_object().expect("paths").keys();
    // an address without a part in braces comes first
    let known = known.filter(is_of).min_by_key(|known| known.matches('{').count());
    let described = known.map(|known| &DESCRIPTION["paths"][known][&method]).filter(|it| !it.is_null());
    let response = described.map_or(&Value::Null, |operation| &operation["responses"][status.to_string()]);
    let refused = json!({"$ref": "#/components/schemas/foretell.error-1"});
    let schema = match (described, response) {
        (None, _) => {
            assert!(
                [401, 403, 404, 405].contains(&status),
                "{method} {path} is not described: {status} {answer}"
            );
            &refused
        }
        (Some(_), Value::Null) => {
            assert!(ANY.contains(&status), "{method} {path}: {status} is not described: {answer}");
            &refused
        }
        (Some(_), response) => &response["content"]["application/json"]["schema"],
    };
    let mut schema = schema.clone();
    schema["components"] = DESCRIPTION["components"].clone();
    let validator = jsonschema::validator_for(&schema).expect("the description is a schema");
    let wrong: Vec<String> =
        validator.iter_errors(answer).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(wrong.is_empty(), "{method} {path} gave {answer}: {wrong:?}");
}

/// The body that was sent in chunks.
fn join_chunks(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("a size");
        whole.push_str(&rest[..size]);
        body = rest[size..].trim_start_matches("\r\n");
    }
    whole
}

/// The JSON of an answer whose status is 200.
pub(crate) fn answer_of(address: SocketAddr, method: &str, path: &str, body: &str) -> Value {
    let (status, answer) = call(address, method, path, body);
    assert_eq!(status, 200, "{method} {path} {body}: {answer}");
    answer
}

/// The settings of a small study.
pub(crate) const STUDY: &str = r#"{"space": {"lr": "log:1e-4:1"}, "metric": "val_acc", "epochs": 9, "trials": 16, "policy": "srm", "burn_in": 6}"#;

/// A server with the study `s`.
pub(crate) fn serve_new_study(folder: &Path) -> SocketAddr {
    let address = serve(folder, local(), None);
    let (status, study) = call(address, "PUT", "/api/studies/s", STUDY);
    assert_eq!((status, &study["schema"]), (201, &json!("foretell.study/1")), "{study}");
    address
}
