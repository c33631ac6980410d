//! Why a request is refused, as JSON: `{"schema":"foretell.error/1","error":"…","field":"step"}`.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Why a request is refused.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    /// The field, or the part of the address, that is wrong.
    field: Option<String>,
    text: String,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self { status, field: None, text: text.into() }
    }

    /// The field `name` of the request is wrong.
    pub(crate) fn field(name: &str, text: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::BAD_REQUEST, format!("{name}: {text}")).at(name)
    }

    /// What is asked for contradicts what is recorded.
    pub(crate) fn conflict(text: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, text)
    }

    pub(crate) fn no_study(name: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("no study is called {name:?}; GET /api/studies names them"))
            .at("study")
    }

    pub(crate) fn no_trial(trial: u64) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("trial {trial}: ask has not given out such a trial"))
            .at("trial")
    }

    /// The server cannot do what it should; the same request may be sent again.
    pub(crate) fn midway(error: &dyn std::fmt::Display) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}; send the same again"))
    }

    /// The same problem, of the field `name`.
    pub(crate) fn at(self, name: &str) -> Self {
        Self { field: Some(name.to_owned()), ..self }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut body = json!({"schema": "foretell.error/1", "error": self.text});
        if let Some(field) = self.field {
            body["field"] = field.into();
        }
        (self.status, axum::Json(body)).into_response()
    }
}
