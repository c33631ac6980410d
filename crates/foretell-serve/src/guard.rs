//! Who is let in: browsers on this machine that were not sent here by another page, or who knows the token.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, ORIGIN, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::options::Options;
use crate::problem::Problem;
use crate::served::Served;

/// Nothing from elsewhere; script and style are the page's own.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Refuses whom it does not know.
pub(crate) async fn check(State(served): State<Arc<Served>>, request: Request, next: Next) -> Response {
    if let Err((status, why)) = admit(&served.options, request.headers(), request.uri()) {
        return Problem::new(status, why).into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

type Refused = (StatusCode, &'static str);

fn admit(options: &Options, headers: &HeaderMap, uri: &Uri) -> Result<(), Refused> {
    let host = text(headers, &HOST).ok_or((StatusCode::BAD_REQUEST, "no Host"))?;
    // a page elsewhere may have its name point here
    if options.address.ip().is_loopback() && !is_local(host) {
        return Err((StatusCode::FORBIDDEN, "foreign Host"));
    }
    if let Some(origin) = text(headers, &ORIGIN)
        && origin.split_once("://").map(|(_, place)| place) != Some(host)
    {
        return Err((StatusCode::FORBIDDEN, "foreign Origin"));
    }
    let Some(token) = &options.token else { return Ok(()) };
    let bearer = text(headers, &AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
    let query = uri.query().unwrap_or_default().split('&').find_map(|pair| pair.strip_prefix("token="));
    if bearer.or(query).is_some_and(|given| is_equal(given, token)) {
        return Ok(());
    }
    Err((
        StatusCode::UNAUTHORIZED,
        "the token is missing or wrong: open the address that foretell serve printed",
    ))
}

fn text<'a>(headers: &'a HeaderMap, name: &axum::http::HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    ["localhost", "127.0.0.1", "[::1]"].contains(&name)
}

/// Takes as long for a nearly right token as for a wrong one.
fn is_equal(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |differing, (a, b)| differing | (a ^ b)) == 0
}
