//! A worker's questions and reports to the server of a study, as its verbs.

use std::time::Duration;

use foretell_search::Start;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::client::{Client, Trouble};
use crate::access::Access;
use crate::hosted::Reading;
use crate::wire;
use crate::work::Work;

/// A worker's line to a study.
pub(crate) struct Link {
    client: Client,
    study: String,
    /// The worker's name.
    name: String,
    turn: u64,
}

/// What there is to do.
#[derive(Debug)]
pub(crate) enum Asked {
    /// A training.
    Task(Given),
    /// Nothing now.
    Nothing,
    /// Nothing any more.
    Done,
}

/// A training that was given to this worker.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub(crate) start: Start,
    pub(crate) key: String,
    /// How long it may be silent.
    pub(crate) lease: Duration,
}

impl Link {
    pub(crate) fn new(access: Access, study: String, name: String) -> Self {
        Self { client: Client::new(access), study, name, turn: 0 }
    }

    /// The names of the studies that are served.
    pub(crate) fn studies(access: Access) -> Result<Vec<String>, Trouble> {
        let answer = Client::new(access).call("GET", "/api/studies", &Value::Null)?;
        Ok(read::<wire::Studies>(answer)?.studies)
    }

    /// How the study's trials are run.
    pub(crate) fn work(&mut self, version: &str) -> Result<Work, Trouble> {
        let answer: wire::StudyWork = self.call("GET", &format!("work?version={version}"), None::<()>)?;
        Ok(answer.work)
    }

    /// Asks for a training. One that gets no answer is asked for by the same number again.
    pub(crate) fn ask(&mut self) -> Result<Asked, Trouble> {
        let body = wire::Ask { worker: Some(self.name.clone()), turn: Some(self.turn) };
        let wire::Asked { done, start } = self.call("POST", "ask", Some(body))?;
        self.turn += 1;
        match start {
            Some(given) => Ok(Asked::Task(Given::from_wire(given)?)),
            None => Ok(if done { Asked::Done } else { Asked::Nothing }),
        }
    }

    /// Reports; answers whether to stop.
    pub(crate) fn report(&mut self, given: &Given, reading: &Reading) -> Result<bool, Trouble> {
        self.verb(given, "report", wire::Report::new(reading, Some(&given.key)))
    }

    /// Shows that it is alive; answers whether to stop.
    pub(crate) fn renew(&mut self, given: &Given) -> Result<bool, Trouble> {
        self.verb(given, "renew", wire::Renew { lease: Some(given.key.clone()) })
    }

    /// Says after how many epochs the training goes on; answers whether to stop.
    pub(crate) fn begin(&mut self, given: &Given, after: u64) -> Result<bool, Trouble> {
        self.verb(given, "begin", wire::Begin { after, lease: Some(given.key.clone()) })
    }

    fn verb(&mut self, given: &Given, verb: &str, body: impl Serialize) -> Result<bool, Trouble> {
        let path = format!("trials/{}/{verb}", given.start.trial);
        let answer: wire::Answer = self.call("POST", &path, Some(body))?;
        Ok(answer.stop == Some(true))
    }

    /// Says how the training ended; answers how the trial is then.
    pub(crate) fn tell(&mut self, given: &Given, failure: Option<&str>) -> Result<String, Trouble> {
        self.end(given, wire::Tell { failure: failure.map(str::to_owned), ..wire::Tell::default() })
    }

    /// Hands the training back.
    pub(crate) fn hand_back(&mut self, given: &Given) -> Result<String, Trouble> {
        self.end(given, wire::Tell { handed_back: true, ..wire::Tell::default() })
    }

    fn end(&mut self, given: &Given, body: wire::Tell) -> Result<String, Trouble> {
        let body = wire::Tell { lease: Some(given.key.clone()), ..body };
        let told: wire::Told =
            self.call("POST", &format!("trials/{}/tell", given.start.trial), Some(body))?;
        Ok(told.state)
    }

    fn call<T: DeserializeOwned>(
        &mut self,
        method: &str,
        path: &str,
        body: Option<impl Serialize>,
    ) -> Result<T, Trouble> {
        let body = serde_json::to_value(body).map_err(unusable)?;
        read(self.client.call(method, &format!("/api/studies/{}/{path}", self.study), &body)?)
    }
}

impl Given {
    fn from_wire(given: wire::Given) -> Result<Self, Trouble> {
        let lease = Duration::try_from_secs_f64(given.lease_seconds).map_err(unusable)?;
        let wire::Given { trial, configuration, seed, from, until, lease: key, .. } = given;
        Ok(Self { start: Start { trial, configuration, seed, from, until }, key, lease })
    }
}

fn read<T: DeserializeOwned>(answer: Value) -> Result<T, Trouble> {
    serde_json::from_value(answer).map_err(unusable)
}

/// A server of another version, say.
fn unusable(problem: impl std::fmt::Display) -> Trouble {
    let text = format!("the server's answer cannot be used: {problem}");
    Trouble::Refused { status: 200, text, field: None }
}
