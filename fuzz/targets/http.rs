//! Bodies of HTTP requests to a server with one study. The first byte names the route; no answer is an error of the server's own.
#![no_main]
#![allow(clippy::disallowed_methods, reason = "a test whose thread dies fails")]

use foretell_serve::{ServeOptions, Server};
use libfuzzer_sys::fuzz_target;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::OnceLock;

const ROUTES: [(&str, &str); 8] = [
    ("PUT", "/api/studies/new"),
    ("PUT", "/api/studies/study"),
    ("POST", "/api/studies/study/ask"),
    ("POST", "/api/studies/study/trials/0/report"),
    ("POST", "/api/studies/study/trials/0/tell"),
    ("POST", "/api/studies/study/trials/0/renew"),
    ("POST", "/api/studies/study/trials/0/stop"),
    ("POST", "/api/studies/study/enqueue"),
];
const STUDY: &str = r#"{"metric": "val_acc", "epochs": 5, "trials": 5, "space": {"lr": "log:1e-4:1"}}"#;

fuzz_target!(|input: &[u8]| {
    let Some((&route, body)) = input.split_first() else { return };
    let (method, path) = ROUTES[usize::from(route) % ROUTES.len()];
    let status = request(address(), method, path, body);
    assert!((200..500).contains(&status) || status == 503, "{method} {path}: {status}");
});

/// A server in a folder that is left for the system to clear, with a study and a trial.
fn address() -> SocketAddr {
    static ADDRESS: OnceLock<SocketAddr> = OnceLock::new();
    *ADDRESS.get_or_init(|| {
        let folder = tempfile::tempdir().expect("there is room").keep();
        let options = ServeOptions::new(folder, "127.0.0.1:0".parse().expect("it is an address"));
        let server = Server::bind(options).expect("there is a port");
        let address = server.address();
        std::thread::spawn(move || server.run());
        assert_eq!(request(address, "PUT", "/api/studies/study", STUDY.as_bytes()), 201);
        assert_eq!(request(address, "POST", "/api/studies/study/ask", b"{}"), 200);
        address
    })
}

fn request(address: SocketAddr, method: &str, path: &str, body: &[u8]) -> u16 {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let sent = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
    let mut answer = String::new();
    stream.read_to_string(&mut answer).and(sent).expect("it answers");
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    status.unwrap_or_else(|| panic!("{method} {path}: no answer, but {answer:?}"))
}
