//! A worker's questions and reports to the server of a study, as its verbs.

use std::time::Duration;

use foretell::Configuration;
use foretell_search::Start;
use serde_json::{Value, json};

use super::client::{Client, Trouble};
use crate::access::Access;
use crate::hosted::Reading;
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
        serde_json::from_value(answer["studies"].clone()).map_err(unusable)
    }

    /// How the study's trials are run.
    pub(crate) fn work(&mut self, version: &str) -> Result<Work, Trouble> {
        let answer = self.call("GET", &format!("work?version={version}"), &Value::Null)?;
        serde_json::from_value(answer["work"].clone()).map_err(unusable)
    }

    /// Asks for a training. One that gets no answer is asked for by the same number again.
    pub(crate) fn ask(&mut self) -> Result<Asked, Trouble> {
        let answer = self.call("POST", "ask", &json!({"worker": self.name, "turn": self.turn}))?;
        self.turn += 1;
        let start = &answer["start"];
        if start.is_null() {
            return Ok(if answer["done"] == true { Asked::Done } else { Asked::Nothing });
        }
        let configuration: Configuration =
            serde_json::from_value(start["configuration"].clone()).map_err(unusable)?;
        let whole = |name: &str| start[name].as_u64().ok_or_else(|| unusable(name));
        let seed = u32::try_from(whole("seed")?).map_err(unusable)?;
        let lease = Duration::try_from_secs_f64(start["lease_seconds"].as_f64().unwrap_or(60.0));
        Ok(Asked::Task(Given {
            start: Start {
                trial: whole("trial")?,
                configuration,
                seed,
                from: whole("from")?,
                until: whole("until")?,
            },
            key: start["lease"].as_str().unwrap_or_default().to_owned(),
            lease: lease.map_err(unusable)?,
        }))
    }

    /// Reports; answers whether to stop.
    pub(crate) fn report(&mut self, given: &Given, reading: &Reading) -> Result<bool, Trouble> {
        let Reading { step, value, metrics, late } = reading;
        let mut body = json!({"step": step, "value": value, "metrics": metrics, "lease": given.key});
        if *late {
            body["late"] = true.into();
        }
        self.of_trial(given, "report", &body)
    }

    /// Shows that it is alive; answers whether to stop.
    pub(crate) fn renew(&mut self, given: &Given) -> Result<bool, Trouble> {
        self.of_trial(given, "renew", &json!({"lease": given.key}))
    }

    /// Says after how many epochs the training goes on; answers whether to stop.
    pub(crate) fn begin(&mut self, given: &Given, after: u64) -> Result<bool, Trouble> {
        self.of_trial(given, "begin", &json!({"after": after, "lease": given.key}))
    }

    fn of_trial(&mut self, given: &Given, verb: &str, body: &Value) -> Result<bool, Trouble> {
        let answer = self.call("POST", &format!("trials/{}/{verb}", given.start.trial), body)?;
        Ok(answer["stop"] == true)
    }

    /// Says how the training ended; answers how the trial is then.
    pub(crate) fn tell(&mut self, given: &Given, failure: Option<&str>) -> Result<String, Trouble> {
        let body = json!({"failure": failure, "lease": given.key});
        self.end(given, &body)
    }

    /// Hands the training back.
    pub(crate) fn hand_back(&mut self, given: &Given) -> Result<String, Trouble> {
        self.end(given, &json!({"handed_back": true, "lease": given.key}))
    }

    fn end(&mut self, given: &Given, body: &Value) -> Result<String, Trouble> {
        let answer = self.call("POST", &format!("trials/{}/tell", given.start.trial), body)?;
        Ok(answer["state"].as_str().unwrap_or_default().to_owned())
    }

    fn call(&mut self, method: &str, path: &str, body: &Value) -> Result<Value, Trouble> {
        self.client.call(method, &format!("/api/studies/{}/{path}", self.study), body)
    }
}

/// A server of another version, say.
fn unusable(problem: impl std::fmt::Display) -> Trouble {
    let text = format!("the server's answer cannot be used: {problem}");
    Trouble::Refused { status: 200, text, field: None }
}
