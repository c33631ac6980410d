//! Why a request is refused, as JSON: `{"schema":"foretell.error/1","error":"…","field":"step"}`.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use foretell_run::HostError;
use foretell_run::wire::Refused;
use foretell_search::Refusal;

/// Why a request is refused.
#[derive(Debug)]
pub(crate) struct RequestProblem {
    status: StatusCode,
    /// The field, or the part of the address, that is wrong.
    field: Option<String>,
    text: String,
}

impl RequestProblem {
    pub(crate) fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self { status, field: None, text: text.into() }
    }

    /// The field `name` of the request is wrong.
    pub(crate) fn field(name: &str, text: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::BAD_REQUEST, format!("{name}: {text}")).with_field(name)
    }

    /// The request contradicts the record.
    pub(crate) fn conflict(text: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, text)
    }

    pub(crate) fn no_study(name: &str) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            format!("no study is called {name:?}. GET /api/studies lists the studies"),
        )
        .with_field("study")
    }

    /// The log of a study that this server had is not where it was.
    pub(crate) fn gone(name: &str, what: &dyn std::fmt::Display) -> Self {
        let text = format!("{name}: {what}. Put it back, and send the request again");
        Self::new(StatusCode::GONE, text).with_field("study")
    }

    /// Others have asked for more than they take.
    pub(crate) fn busy() -> Self {
        let text = "too many large answers wait for slow readers. Send the request again in a minute";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, text)
    }

    /// The search that ran the study has ended, and this server will.
    pub(crate) fn search_ended(name: &str) -> Self {
        let text = format!(
            "{name}: the search that runs this study is ending. Send the request again once it continues"
        );
        Self::new(StatusCode::SERVICE_UNAVAILABLE, text)
    }

    /// The server failed; the same request may be sent again.
    pub(crate) fn midway(error: &dyn std::fmt::Display) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}. Send the request again"))
    }

    /// Names the field that is wrong.
    pub(crate) fn with_field(self, name: &str) -> Self {
        Self { field: Some(name.to_owned()), ..self }
    }

    /// The problem as a document.
    fn into_document(self) -> Refused {
        Refused { error: self.text, field: self.field }
    }
}

impl From<HostError> for RequestProblem {
    fn from(error: HostError) -> Self {
        let status = match &error {
            HostError::NoTrial { .. } => StatusCode::NOT_FOUND,
            HostError::NotEnqueued(_) | HostError::InvalidFold { .. } => StatusCode::BAD_REQUEST,
            HostError::Store(error) => return Self::midway(error),
            _ => StatusCode::CONFLICT,
        };
        let problem = Self::new(status, error.to_string());
        match error.invalid_field() {
            Some(field) => problem.with_field(field),
            None => problem,
        }
    }
}

impl From<Refusal> for RequestProblem {
    fn from(refusal: Refusal) -> Self {
        let Refusal { field, reason, differs } = refusal;
        let status = if differs { StatusCode::CONFLICT } else { StatusCode::BAD_REQUEST };
        Self::new(status, format!("{field}: {reason}")).with_field(&field)
    }
}

impl IntoResponse for RequestProblem {
    fn into_response(self) -> Response {
        (self.status, axum::Json(self.into_document())).into_response()
    }
}
