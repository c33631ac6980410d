//! Requests that are refused, and why.

mod common;

use std::io::Read;

use common::{STUDY, answer_of, call, local, send, serve, serve_new_study};
use serde_json::json;

/// A report, and another study than the one that is there.
const REPORT: &str = "/api/studies/s/trials/0/report";
const OTHER: &str = "/api/studies/t";

/// Method, address, body; the status, the field that is named, and words of the error.
type Wrong = (&'static str, &'static str, &'static str, u16, &'static str, &'static str);

const WRONG: &[Wrong] = &[
    ("POST", REPORT, "{", 400, "body", "not JSON"),
    ("POST", REPORT, "[1]", 400, "body", "expected a JSON object"),
    ("POST", REPORT, r#"{"step": 1, "value": NaN}"#, 400, "body", "Write null"),
    ("POST", REPORT, r#"{"step": 1}"#, 400, "value", "missing"),
    ("POST", REPORT, r#"{"value": 1}"#, 400, "step", "missing"),
    ("POST", REPORT, r#"{"step": 1.5, "value": 1}"#, 400, "step", "found 1.5"),
    ("POST", REPORT, r#"{"step": -1, "value": 1}"#, 400, "step", "found -1"),
    ("POST", REPORT, r#"{"step": 1, "value": "0.5"}"#, 400, "value", "expected a number"),
    (
        "POST",
        REPORT,
        r#"{"step": 1, "value": 1, "metrics": {"a": "b"}}"#,
        400,
        "metrics",
        "expected a number",
    ),
    ("POST", REPORT, r#"{"step": 1, "val": 1}"#, 400, "val", "Choose one of step, value"),
    ("POST", REPORT, r#"{"step": 1, "value": 1, "lease": "other"}"#, 409, "lease", "runs elsewhere"),
    (
        "POST",
        "/api/studies/s/trials/7/report",
        r#"{"step": 1, "value": 1}"#,
        404,
        "trial",
        "no ask has returned it",
    ),
    (
        "POST",
        "/api/studies/s/trials/x/report",
        r#"{"step": 1, "value": 1}"#,
        400,
        "trial",
        "a trial's number",
    ),
    ("POST", "/api/studies/no/ask", "", 404, "study", "no study is called"),
    ("POST", "/api/studies/s/ask", r#"{"worker": 1}"#, 400, "worker", "expected a string"),
    ("POST", "/api/studies/s/trials/9/stop", "", 404, "trial", "no ask has returned it"),
    ("PUT", OTHER, "{}", 400, "space", "a new study needs a search space"),
    ("PUT", OTHER, r#"{"space": {"lr": "cubic:1:2"}}"#, 400, "space", "cubic"),
    ("PUT", OTHER, r#"{"space": {"lr": 1}}"#, 400, "space", "expected a string"),
    ("PUT", OTHER, r#"{"space": {"m": "int:0:1 if o=a"}}"#, 400, "space", "no parameter o"),
    ("PUT", OTHER, r#"{"space": {"a": "int:0:1 if b=1", "b": "int:0:1 if a=1"}}"#, 400, "space", "circle"),
    (
        "PUT",
        OTHER,
        r#"{"space": {"n": "int:1:4", "m": {"kind": "int", "lo": 0, "hi": 1, "active_if": {"name": "n", "at_least": 9}}}}"#,
        400,
        "space",
        "never applies",
    ),
    (
        "PUT",
        OTHER,
        r#"{"space": {"n": "int:1:1000", "m": "int:1:1000"}, "metric": "val_acc", "limit": ["n*m<=5"]}"#,
        400,
        "limit",
        "fewer than 1 in 1000",
    ),
    (
        "PUT",
        OTHER,
        r#"{"space": {"lr": "float:1:2"}, "metric": "thing"}"#,
        400,
        "direction",
        "which way is better",
    ),
    ("PUT", OTHER, r#"{"space": {"lr": "float:1:2"}, "direction": "up"}"#, 400, "direction", "maximize"),
    ("PUT", OTHER, r#"{"spaces": {}}"#, 400, "spaces", "unknown"),
    ("PUT", "/api/studies/..%2fx", STUDY, 400, "study", "letters"),
    ("PUT", "/api/studies/.hidden", STUDY, 400, "study", "letters"),
    ("PUT", "/api/studies/-rf", STUDY, 400, "study", "starts with neither"),
    ("PUT", "/api/studies/access.json", STUDY, 400, "study", "Foretell keeps a file with this name"),
    ("PUT", "/api/studies/Access.JSON", STUDY, 400, "study", "Foretell keeps a file with this name"),
    ("PUT", "/api/studies/events.jsonl.lock", STUDY, 400, "study", "Foretell keeps a file with this name"),
    ("PUT", "/api/studies/a-file", STUDY, 400, "study", "a file has this name"),
    (
        "PUT",
        OTHER,
        r#"{"space": {"lr": "log:1e-4:1"}, "metric": "acc", "scheduler": "hyperband", "epochs": 100000000000}"#,
        400,
        "scheduler",
        "the maximum is 1000000",
    ),
    (
        "PUT",
        "/api/studies/s",
        r#"{"space": {"other": "float:1:2"}, "metric": "val_acc"}"#,
        409,
        "space",
        "a different study exists",
    ),
    ("GET", "/api/studies/s/events?after=x", "", 400, "after", "number of a record"),
    ("DELETE", "/api/studies/s", "", 405, "", "openapi.json"),
    ("GET", "/api/nothing", "", 404, "", "openapi.json"),
];

#[test]
fn what_is_wrong_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = serve_new_study(folder.path());
    answer_of(address, "POST", "/api/studies/s/ask", "");
    std::fs::write(folder.path().join("a-file"), "").expect("a file is written");
    for &(method, path, body, status, field, words) in WRONG {
        let (found, answer) = call(address, method, path, body);
        let text = answer["error"].as_str().unwrap_or_default();
        assert_eq!(
            (found, answer["field"].as_str().unwrap_or_default()),
            (status, field),
            "{method} {path} {body}: {answer}"
        );
        assert!(
            text.contains(words) && answer["schema"] == "foretell.error/1",
            "{method} {path} {body}: {answer}"
        );
    }
    assert_eq!(
        answer_of(address, "GET", "/api/studies", "")["studies"],
        json!(["s"]),
        "nothing is left of what was refused"
    );
}

#[test]
fn writes_need_the_token_or_this_machine_without_a_foreign_origin() {
    let folder = tempfile::tempdir().expect("a folder");
    let free = serve_new_study(folder.path());
    let guarded = tempfile::tempdir().expect("a folder");
    let guarded = serve(guarded.path(), local(), Some("key"));
    let status = |address, path, headers: &str| {
        let mut text = String::new();
        let mut stream = send(address, "PUT", path, headers, STUDY);
        stream.read_to_string(&mut text).expect("an answer");
        text.split(' ').nth(1).and_then(|code| code.parse::<u16>().ok()).expect("a status")
    };
    for (address, path, headers, expected) in [
        (free, "/api/studies/s", "Host: localhost\r\n", 200),
        (free, "/api/studies/s", "Host: evil.example\r\n", 403),
        (free, "/api/studies/s", "Host: localhost\r\nOrigin: http://evil.example\r\n", 403),
        (free, "/api/studies/s", "Host: localhost\r\nOrigin: null\r\n", 403),
        (guarded, "/api/studies/s", "Host: localhost\r\n", 401),
        (guarded, "/api/studies/s", "Host: localhost\r\nAuthorization: Bearer no\r\n", 401),
        (guarded, "/api/studies/s", "Host: localhost\r\nAuthorization: Bearer key\r\n", 201),
        (guarded, "/api/studies/s?token=key", "Host: localhost\r\n", 200),
        (
            guarded,
            "/api/studies/s",
            "Host: localhost\r\nOrigin: http://evil.example\r\nAuthorization: Bearer key\r\n",
            403,
        ),
    ] {
        assert_eq!(status(address, path, headers), expected, "{path} {headers}");
    }
}
