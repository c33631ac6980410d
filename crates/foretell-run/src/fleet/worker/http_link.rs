//! The way to the server of a study: its verbs over HTTP.

use std::path::Path;
use std::time::Duration;

use foretell_search::{SourcePosition, TrainingStart};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use ureq::Agent;
use ureq::http::Request;

use crate::fleet::trainer::{
    AskAnswer, GivenTraining, StudyAnswer, StudyLink, TrainingFailure, TrainingMessage,
};
use crate::host::access::ServerAccess;
use crate::host::work::Work;
use crate::wire;

/// The time that connecting, and each answer, may take: shorter than a lease, so that reports are on disk before it expires.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest answer.
const MAX_ANSWER_BYTES: u64 = 64 << 20;

/// Why a request was not answered as it should.
#[derive(Debug)]
pub(crate) enum RequestError {
    /// The server is not there, or cannot answer now: send the same again.
    Away(String),
    /// The server refuses, and will again.
    Refused {
        status: u16,
        text: String,
        /// The field of the request that is wrong.
        field: Option<String>,
    },
}

/// A worker's line to a study.
pub(crate) struct HttpLink {
    agent: Agent,
    access: ServerAccess,
    /// The place of the address that answered last: others may take seconds to fail.
    first: usize,
    study: String,
    /// The worker's name.
    name: String,
    turn: u64,
}

impl HttpLink {
    pub(crate) fn new(access: ServerAccess, study: String, name: String) -> Self {
        let config = Agent::config_builder()
            .timeout_global(Some(REQUEST_TIMEOUT))
            .timeout_connect(Some(REQUEST_TIMEOUT / 2))
            .http_status_as_error(false)
            .max_redirects(0)
            .build();
        Self { agent: config.into(), access, first: 0, study, name, turn: 0 }
    }

    /// The names of the studies that are served.
    pub(crate) fn fetch_studies(&mut self) -> Result<Vec<String>, RequestError> {
        Ok(decode_answer::<wire::Studies>(self.send_request("GET", "/api/studies", &Value::Null)?)?.studies)
    }

    /// The description of how the study's trials are run.
    pub(crate) fn fetch_work(&mut self, version: &str) -> Result<Work, RequestError> {
        let answer: wire::StudyWork =
            self.call_study("GET", &format!("work?version={version}"), None::<()>)?;
        Ok(answer.work)
    }

    fn post_for_trial(
        &mut self,
        given: &GivenTraining,
        verb: &str,
        body: impl Serialize,
    ) -> Result<StudyAnswer, RequestError> {
        let path = format!("trials/{}/{verb}", given.trial());
        let answer: wire::Answer = self.call_study("POST", &path, Some(body))?;
        Ok(StudyAnswer::running(answer.stop == Some(true)))
    }

    fn post_end(&mut self, given: &GivenTraining, body: wire::Tell) -> Result<StudyAnswer, RequestError> {
        let body = wire::Tell { lease: Some(given.key.clone()), ..body };
        let told: wire::Told =
            self.call_study("POST", &format!("trials/{}/tell", given.trial()), Some(body))?;
        Ok(StudyAnswer::Ended(told.state))
    }

    fn call_study<T: DeserializeOwned>(
        &mut self,
        method: &str,
        path: &str,
        body: Option<impl Serialize>,
    ) -> Result<T, RequestError> {
        let body = serde_json::to_value(body).map_err(unusable_answer)?;
        decode_answer(self.send_request(method, &format!("/api/studies/{}/{path}", self.study), &body)?)
    }

    /// Sends a request to the first address that answers. Where none does, the server may have moved.
    fn send_request(&mut self, method: &str, path: &str, body: &Value) -> Result<Value, RequestError> {
        let file = self.access.file.as_deref().unwrap_or(Path::new("its address"));
        let missing = format!("{} does not exist. A search with --on or --serve writes it", file.display());
        let mut trouble = RequestError::Away(missing);
        let count = self.access.addresses.len();
        for at in (0..count).map(|place| (self.first + place) % count) {
            let place = &self.access.addresses[at];
            let scheme = if place.contains("://") { "" } else { "http://" };
            trouble = match self.exchange_with_retry(method, &format!("{scheme}{place}{path}"), body) {
                Ok((status, text)) => {
                    self.first = at;
                    match parse_response(status, &text) {
                        Ok(answer) => return Ok(answer),
                        Err(trouble) => trouble,
                    }
                }
                Err(error) => {
                    trouble = RequestError::Away(format!("{place}: {error}"));
                    continue;
                }
            };
            break;
        }
        let may_have_moved =
            matches!(trouble, RequestError::Away(_) | RequestError::Refused { status: 401 | 403, .. });
        if may_have_moved && let Some(now) = self.access.reload() {
            (self.access, self.first) = (now, 0);
            return Err(RequestError::Away("the server has moved".to_owned()));
        }
        Err(trouble)
    }

    /// Sends a request; once more where the connection that was kept has ended meanwhile.
    fn exchange_with_retry(
        &self,
        method: &str,
        address: &str,
        body: &Value,
    ) -> Result<(u16, Vec<u8>), ureq::Error> {
        match self.exchange_once(method, address, body) {
            // safe even if the first one arrived, because asks and attempts are numbered, and a report or an end that comes twice changes nothing
            Err(ureq::Error::Io(_) | ureq::Error::Protocol(_)) => self.exchange_once(method, address, body),
            exchanged => exchanged,
        }
    }

    fn exchange_once(
        &self,
        method: &str,
        address: &str,
        body: &Value,
    ) -> Result<(u16, Vec<u8>), ureq::Error> {
        let mut request = Request::builder().method(method).uri(address);
        if let Some(token) = &self.access.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let mut response = if body.is_null() {
            self.agent.run(request.body(())?)?
        } else {
            let request = request.header("content-type", "application/json");
            self.agent.run(request.body(body.to_string())?)?
        };
        let text = response.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_to_vec()?;
        Ok((response.status().as_u16(), text))
    }
}

impl StudyLink for HttpLink {
    type Error = RequestError;

    /// Asks for a training. One that gets no answer is asked for by the same number again.
    fn ask(&mut self) -> Result<AskAnswer, RequestError> {
        let body = wire::Ask { worker: Some(self.name.clone()), turn: Some(self.turn) };
        let wire::Asked { done, start } = self.call_study("POST", "ask", Some(body))?;
        // counted once it is answered, so that a copy of this question that comes after the next one has a lower number
        self.turn += 1;
        let Some(given) = start else { return Ok(if done { AskAnswer::Done } else { AskAnswer::Nothing }) };
        let lease = Duration::try_from_secs_f64(given.lease_seconds).map_err(unusable_answer)?;
        let wire::Given { trial, configuration, seed, from, until, lease: key, reported, read, .. } = given;
        let read = read.map(SourcePosition::from);
        let start = TrainingStart { trial, configuration, seed, from, until, reported, read };
        Ok(AskAnswer::Task(GivenTraining { start, key, lease }))
    }

    fn pass_on(
        &mut self,
        given: &GivenTraining,
        heard: &TrainingMessage,
    ) -> Result<StudyAnswer, RequestError> {
        let (lease, ended) = (Some(given.key.clone()), wire::Tell::default());
        match heard {
            TrainingMessage::Alive => self.post_for_trial(given, "renew", wire::Renew { lease, read: None }),
            TrainingMessage::Read(position) => {
                let read = Some(wire::ReadTo::from(*position));
                self.post_for_trial(given, "renew", wire::Renew { lease, read })
            }
            TrainingMessage::Began { after, attempt } => self.post_for_trial(
                given,
                "begin",
                wire::Begin { after: *after, attempt: Some(*attempt), lease },
            ),
            TrainingMessage::Report(reading) => {
                self.post_for_trial(given, "report", wire::Report::new(reading, lease.as_deref()))
            }
            TrainingMessage::Finished => self.post_end(given, ended),
            TrainingMessage::Failed(TrainingFailure { why, is_of_the_command: of_the_command }) => {
                let (failure, of_the_command) = (Some(why.clone()), *of_the_command);
                self.post_end(given, wire::Tell { failure, of_the_command, ..ended })
            }
            TrainingMessage::HandedBack => self.post_end(given, wire::Tell { handed_back: true, ..ended }),
        }
    }
}

fn decode_answer<T: DeserializeOwned>(answer: Value) -> Result<T, RequestError> {
    serde_json::from_value(answer).map_err(unusable_answer)
}

/// For example, a server of another version.
fn unusable_answer(problem: impl std::fmt::Display) -> RequestError {
    let text = format!("the server's answer cannot be used: {problem}");
    RequestError::Refused { status: 200, text, field: None }
}

fn parse_response(status: u16, body: &[u8]) -> Result<Value, RequestError> {
    let answer: Option<Value> = serde_json::from_slice(body).ok();
    let text = answer.as_ref().and_then(|answer| answer["error"].as_str()).map(str::to_owned);
    let text = text.unwrap_or_else(|| format!("the server answered {status}"));
    match (status, answer) {
        (200..=299, Some(answer)) => Ok(answer),
        (200..=399, _) => Err(RequestError::Away("the address is not that of a Foretell server".to_owned())),
        (408 | 429 | 500.., _) => Err(RequestError::Away(text)),
        (_, answer) => {
            let answer = answer.unwrap_or_default();
            Err(RequestError::Refused { status, text, field: answer["field"].as_str().map(str::to_owned) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{RequestError, parse_response};

    #[test]
    fn a_server_that_cannot_answer_now_is_away_and_one_that_refuses_is_not() {
        let is_away =
            |status, body: &[u8]| matches!(parse_response(status, body), Err(RequestError::Away(_)));
        assert!(is_away(503, b"{}") && is_away(502, b"<html>") && is_away(200, b"<html>"));
        assert!(!is_away(409, b"{\"error\": \"no\", \"field\": \"lease\"}") && !is_away(401, b""));
        assert!(parse_response(200, b"{}").is_ok());
    }
}
