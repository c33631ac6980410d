//! The description of the interface against the answers of the server.

mod common;

use std::io::{BufRead, BufReader};

use common::{answer_of, call, get, send, serve_new_study};
#[test]
fn every_address_of_the_description_answers_as_described() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = serve_new_study(folder.path());
    foretell_run::Work::default().write(&folder.path().join("s")).expect("it is written");
    let document = answer_of(address, "GET", "/openapi.json", "");
    assert_eq!(document["openapi"], "3.1.0");
    for _ in 0..3 {
        answer_of(address, "POST", "/api/studies/s/ask", "");
    }
    let paths = document["paths"].as_object().expect("paths");
    for (path, operations) in paths {
        for (method, operation) in operations.as_object().expect("operations") {
            let example = &operation["requestBody"]["content"]["application/json"]["example"];
            let body = if example.is_null() { String::new() } else { example.to_string() };
            let study = if operation["operationId"] == "create" { "new" } else { "s" };
            let trial = match operation["operationId"].as_str() {
                Some("keep") => "1",
                Some("stop") => "2",
                _ => "0",
            };
            let path = path.replace("{study}", study).replace("{trial}", trial);
            let described = |status: u16| !operation["responses"][status.to_string()].is_null();
            if ["events", "state"].iter().any(|id| operation["operationId"] == *id) {
                let stream = send(address, "GET", &path, "Host: localhost\r\n", "");
                let line = BufReader::new(stream).lines().next().expect("a line").expect("a line");
                assert!(line.contains("200"), "{line}");
                continue;
            }
            if operation["operationId"] == "page" {
                assert_eq!(get(address, &path, "Host: localhost\r\n").0, 200);
                continue;
            }
            let (status, answer) = call(address, &method.to_uppercase(), &path, &body);
            assert!(status < 300 && described(status), "{method} {path} gave {status}: {answer}");
        }
    }
    assert!(paths.len() >= 20, "{} addresses", paths.len());
}
