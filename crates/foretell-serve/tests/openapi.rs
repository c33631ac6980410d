//! The description of the interface against the answers of the server.

mod common;

use std::io::{BufRead, BufReader};

use common::{call, done, get, made, send};
use serde_json::Value;

#[test]
fn every_address_of_the_description_answers_as_described() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = made(folder.path());
    foretell_run::Work::default().write(&folder.path().join("s")).expect("it is written");
    let document = done(address, "GET", "/openapi.json", "");
    assert_eq!(document["openapi"], "3.1.0");
    for _ in 0..3 {
        done(address, "POST", "/api/studies/s/ask", "");
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
            let schema = &operation["responses"][status.to_string()]["content"]["application/json"]["schema"];
            let wrong = misfit(&answer, schema, &document["components"]["schemas"]);
            assert_eq!(wrong, None, "{method} {path} gave {answer}");
        }
    }
    assert!(paths.len() >= 20, "{} addresses", paths.len());
}

/// Where `value` breaks the part of JSON Schema that the description uses.
fn misfit(value: &Value, schema: &Value, schemas: &Value) -> Option<String> {
    if let Some(name) = schema["$ref"].as_str() {
        let named = &schemas[name.rsplit('/').next().expect("a name")];
        assert!(named.is_object(), "{name} is no component");
        return misfit(value, named, schemas);
    }
    if let Some(ways) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        let wrong: Option<Vec<String>> = ways.iter().map(|way| misfit(value, way, schemas)).collect();
        return wrong.map(|wrong| wrong.join(", or "));
    }
    let is_wrong = |known: &Value| !known.is_null() && value != known;
    if is_wrong(&schema["const"]) || schema["enum"].as_array().is_some_and(|known| !known.contains(value)) {
        return Some(format!("{value} is not among {schema}"));
    }
    let kinds = match &schema["type"] {
        Value::Array(kinds) => kinds.clone(),
        kind => vec![kind.clone()],
    };
    if !kinds.iter().any(|kind| is_kind(value, kind.as_str())) {
        return Some(format!("{value} is no {kinds:?}"));
    }
    let mut names = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    if let Some(missing) = names.find(|name| value.get(name).is_none()) {
        return Some(format!("there is no {missing}"));
    }
    misfit_inside(value, schema, schemas)
}

fn misfit_inside(value: &Value, schema: &Value, schemas: &Value) -> Option<String> {
    for (name, field) in value.as_object().into_iter().flatten() {
        let Some(properties) = schema["properties"].as_object() else { break };
        let wrong = match properties.get(name) {
            Some(property) => misfit(field, property, schemas),
            None => Some("it is not described".to_owned()),
        };
        if let Some(wrong) = wrong {
            return Some(format!("{name}: {wrong}"));
        }
    }
    let mut items = value.as_array().into_iter().flatten().enumerate();
    items.find_map(|(place, item)| {
        let schema = schema["prefixItems"].get(place).unwrap_or(&schema["items"]);
        misfit(item, schema, schemas).map(|wrong| format!("[{place}] {wrong}"))
    })
}

fn is_kind(value: &Value, kind: Option<&str>) -> bool {
    match kind {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_u64(),
        Some("number") => value.is_number(),
        Some("null") => value.is_null(),
        None => true,
        Some(other) => panic!("unknown type {other}"),
    }
}
