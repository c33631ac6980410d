//! Admits browsers on this machine that were not sent here by another page, and clients that know the token. A request's body must be
//! of a decent length and arrive in time.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, HOST, ORIGIN,
    RETRY_AFTER, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::connections::CountedConnection;
use crate::options::{ReaderLimits, ServeOptions};
use crate::problem::RequestProblem;
use crate::served::ServerState;

/// Nothing from elsewhere; script and style are the page's own.
const PAGE_SECURITY_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Refuses unknown clients, before the body is read.
pub(crate) async fn check(State(served): State<Arc<ServerState>>, request: Request, next: Next) -> Response {
    if !is_text_path(request.uri().path()) {
        let why = "the address contains bytes that are not UTF-8";
        return RequestProblem::new(StatusCode::BAD_REQUEST, why).into_response();
    }
    if let Err((status, why)) = admit(&served.options, request.headers(), request.uri()) {
        return RequestProblem::new(status, why).into_response();
    }
    if let Some(connection) = request.extensions().get::<Arc<CountedConnection>>()
        && let Err(why) = connection.admit(is_worker_request(&request))
    {
        return too_many_response(why);
    }
    let request = match read_body(request, served.options.limits).await {
        Ok(request) => request,
        Err(problem) => return problem.into_response(),
    };
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_SECURITY_POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The answer to a client that is one too many: try again later, over another connection.
fn too_many_response(why: String) -> Response {
    let headers = [(CONNECTION, "close"), (RETRY_AFTER, "5")];
    (headers, RequestProblem::new(StatusCode::SERVICE_UNAVAILABLE, why)).into_response()
}

/// Whether an admitted request is one of a worker: it changes a study, or carries the token where browsers do not.
fn is_worker_request(request: &Request) -> bool {
    !request.method().is_safe() || request.headers().contains_key(AUTHORIZATION)
}

/// The request with its body read.
async fn read_body(request: Request, limits: ReaderLimits) -> Result<Request, RequestProblem> {
    let (head, body) = request.into_parts();
    let most = limits.body_bytes;
    let length = text(&head.headers, &CONTENT_LENGTH).and_then(|length| length.parse::<usize>().ok());
    if length.is_some_and(|length| length > most) {
        return Err(body_too_large(most));
    }
    match tokio::time::timeout(limits.body, to_bytes(body, most)).await {
        Ok(Ok(bytes)) => Ok(Request::from_parts(head, Body::from(bytes))),
        Ok(Err(_)) => Err(body_too_large(most)),
        Err(_) => {
            let text = format!("body: it did not arrive within {} seconds", limits.body.as_secs_f64());
            Err(RequestProblem::new(StatusCode::REQUEST_TIMEOUT, text).with_field("body"))
        }
    }
}

fn body_too_large(most: usize) -> RequestProblem {
    let text = format!("body: longer than {most} bytes. The longest report takes a few thousand");
    RequestProblem::new(StatusCode::PAYLOAD_TOO_LARGE, text).with_field("body")
}

type AdmissionRefusal = (StatusCode, &'static str);

fn admit(options: &ServeOptions, headers: &HeaderMap, uri: &Uri) -> Result<(), AdmissionRefusal> {
    let host = text(headers, &HOST).ok_or((StatusCode::BAD_REQUEST, "no Host"))?;
    // a page elsewhere may have its name point here
    if options.address.ip().is_loopback() && !is_local_host(host) {
        return Err((StatusCode::FORBIDDEN, "foreign Host"));
    }
    // a browser names the page that sends a request, so that what another page makes it send can be refused
    if let Some(origin) = text(headers, &ORIGIN)
        && origin.split_once("://").map(|(_, place)| place) != Some(host)
    {
        return Err((StatusCode::FORBIDDEN, "foreign Origin"));
    }
    let Some(token) = &options.token else { return Ok(()) };
    let bearer = text(headers, &AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
    let query = word(uri.query(), "token");
    if bearer.or(query.as_deref()).is_some_and(|given| is_equal_constant_time(given, token)) {
        return Ok(());
    }
    Err((
        StatusCode::UNAUTHORIZED,
        "the token is missing or wrong. Open the address that foretell serve printed",
    ))
}

/// Whether an address is text once its `%XX` are read.
fn is_text_path(path: &str) -> bool {
    let mut parts = path.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend_from_slice(&part.as_bytes()[2..]);
            }
            None => bytes.extend_from_slice(part.as_bytes()),
        }
    }
    std::str::from_utf8(&bytes).is_ok()
}

/// The value of `name` in a query.
pub(crate) fn word(query: Option<&str>, name: &str) -> Option<String> {
    let mut words = form_urlencoded::parse(query?.as_bytes());
    words.find_map(|(known, value)| (known == name).then(|| value.into_owned()))
}

fn text<'a>(headers: &'a HeaderMap, name: &axum::http::HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn is_local_host(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    ["localhost", "127.0.0.1", "[::1]"].contains(&name.to_ascii_lowercase().as_str())
}

/// Takes as long for a nearly right token as for a wrong one.
fn is_equal_constant_time(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |differing, (a, b)| differing | (a ^ b)) == 0
}
