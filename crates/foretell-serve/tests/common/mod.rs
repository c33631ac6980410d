//! A server on a free port, and a client of a few lines over a plain socket.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use foretell_run::{EventLog, Opened};
use foretell_serve::{Options, Server};
use serde_json::{Value, json};

/// The log of the study in `folder`.
pub(crate) fn log(folder: &Path) -> EventLog<Value> {
    let Opened { log, .. } = EventLog::open(folder.join("events.jsonl")).expect("a log");
    log
}

/// A server of `options`, on a thread of its own.
pub(crate) fn started(options: Options) -> SocketAddr {
    let server = Server::bind(options).expect("it listens");
    let url = server.url();
    std::thread::spawn(move || server.run());
    let place = url.trim_start_matches("http://").split('/').next().expect("an address");
    place.parse().expect("an address")
}

pub(crate) fn serve(folder: &Path, address: SocketAddr, token: Option<&str>) -> SocketAddr {
    started(Options { token: token.map(str::to_owned), ..Options::new(folder, address) })
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

/// The status and the JSON of an answer.
pub(crate) fn call(address: SocketAddr, method: &str, path: &str, body: &str) -> (u16, Value) {
    let (status, text) = read(send(address, method, path, "Host: localhost\r\n", body));
    let (head, body) = text.split_once("\r\n\r\n").expect("a body");
    let body = if head.contains("chunked") { unchunked(body) } else { body.to_owned() };
    (status, serde_json::from_str(&body).unwrap_or_else(|error| panic!("{method} {path}: {error}: {body}")))
}

/// The body that was sent in chunks.
fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("a size");
        whole.push_str(&rest[..size]);
        body = rest[size..].trim_start_matches("\r\n");
    }
    whole
}

/// The JSON of an answer whose status is 200.
pub(crate) fn done(address: SocketAddr, method: &str, path: &str, body: &str) -> Value {
    let (status, answer) = call(address, method, path, body);
    assert_eq!(status, 200, "{method} {path} {body}: {answer}");
    answer
}

/// The settings of a small study.
pub(crate) const STUDY: &str =
    r#"{"space": {"lr": "log:1e-4:1"}, "metric": "val_acc", "epochs": 9, "trials": 16, "burn_in": 6}"#;

/// A server with the study `s`.
pub(crate) fn made(folder: &Path) -> SocketAddr {
    let address = serve(folder, local(), None);
    let (status, study) = call(address, "PUT", "/api/studies/s", STUDY);
    assert_eq!((status, &study["schema"]), (201, &json!("foretell.study/1")), "{study}");
    address
}
