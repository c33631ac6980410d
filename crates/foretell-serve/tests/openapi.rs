//! The description of the interface against what the server answers.

mod common;

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;

use common::{call, done, get, made, send};
use serde_json::Value;

#[test]
fn every_address_of_the_description_answers_as_described() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = made(folder.path());
    foretell_run::Work::default().write(&folder.path().join("s")).expect("it is written");
    let described = done(address, "GET", "/openapi.json", "");
    assert_eq!(described["openapi"], "3.1.0");
    for _ in 0..3 {
        done(address, "POST", "/api/studies/s/ask", "");
    }
    let paths = described["paths"].as_object().expect("paths");
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
            let schema = &operation["responses"][status.to_string()]["content"]["application/json"]["schema"];
            fits(
                &answer,
                schema,
                &described_schemas(&described_document(address)),
                &format!("{method} {path}"),
            );
        }
    }
    assert!(paths.len() >= 20, "{} addresses", paths.len());
}

fn described_document(address: SocketAddr) -> Value {
    done(address, "GET", "/openapi.json", "")
}

fn described_schemas(document: &Value) -> Value {
    document["components"]["schemas"].clone()
}

/// Checks an answer against the part of JSON Schema that the description uses.
fn fits(value: &Value, schema: &Value, schemas: &Value, place: &str) {
    if let Some(name) = schema["$ref"].as_str() {
        return fits(value, &schemas[name.rsplit('/').next().expect("a name")], schemas, place);
    }
    if let Some(any) = schema["anyOf"].as_array() {
        let other =
            any.iter().find(|schema| (schema["type"] == "null") == value.is_null()).expect("one fits");
        return fits(value, other, schemas, place);
    }
    if !schema["const"].is_null() {
        assert_eq!(value, &schema["const"], "{place}");
    }
    let of = |kind: &str| match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        other => panic!("{place}: unknown type {other}"),
    };
    match &schema["type"] {
        Value::String(kind) => assert!(of(kind), "{place}: {value} is no {kind}"),
        Value::Array(kinds) => {
            assert!(kinds.iter().any(|kind| of(kind.as_str().expect("a type"))), "{place}: {value}")
        }
        _ => {}
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        assert!(value.get(name.as_str().expect("a name")).is_some(), "{place} has no {name}: {value}");
    }
    if let (Some(fields), Some(properties)) = (value.as_object(), schema["properties"].as_object()) {
        for (name, field) in fields {
            let property = properties.get(name).unwrap_or_else(|| panic!("{place}: {name} is not described"));
            fits(field, property, schemas, &format!("{place} {name}"));
        }
    }
    for item in value.as_array().into_iter().flatten() {
        fits(item, &schema["items"], schemas, place);
    }
}
