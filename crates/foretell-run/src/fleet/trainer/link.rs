//! The connection of a trainer with a study: the study's host in this process, or its server.

use std::time::Duration;

use foretell_search::{Start, Store};

use crate::host::hosted::{HostError, Hosted, Next, Reading, Task};

/// The verbs of a study as a trainer uses them. Each may be sent again: a copy changes nothing.
pub(crate) trait Link {
    /// The reason why something was not carried out.
    type Error;

    /// Asks for a training.
    fn ask(&mut self) -> Result<Asked, Self::Error>;

    /// Attempt number `attempt` continues after so many epochs; answers whether to stop.
    fn begin(&mut self, given: &Given, after: u64, attempt: u64) -> Result<bool, Self::Error>;

    /// Reports; answers whether to stop.
    fn report(&mut self, given: &Given, reading: &Reading) -> Result<bool, Self::Error>;

    /// Shows that the training is alive; answers whether to stop.
    fn renew(&mut self, given: &Given) -> Result<bool, Self::Error>;

    /// Reports how the training ended; answers with the trial's state.
    fn tell(&mut self, given: &Given, failure: Option<&Failure>) -> Result<String, Self::Error>;

    /// Hands the training back, to continue elsewhere; answers with the trial's state.
    fn hand_back(&mut self, given: &Given) -> Result<String, Self::Error>;
}

/// The answer to a request for a training.
#[derive(Debug)]
pub(crate) enum Asked {
    /// A training.
    Task(Given),
    /// Nothing now.
    Nothing,
    /// Nothing any more.
    Done,
}

/// A training that was given to this trainer.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub(crate) start: Start,
    pub(crate) key: String,
    /// The time that it may be silent.
    pub(crate) lease: Duration,
}

impl Given {
    pub(crate) fn trial(&self) -> u64 {
        self.start.trial
    }

    fn key(&self) -> Option<&str> {
        Some(self.key.as_str()).filter(|key| !key.is_empty())
    }
}

/// The failure of a training.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) why: String,
    /// Whether every trial of the command would fail so: a study in which nothing was reported yet does not work.
    pub(crate) is_of_the_command: bool,
}

/// The message that the study is to get about a training.
#[derive(Debug)]
pub(crate) enum Heard {
    /// An attempt continues after so many epochs.
    Began { after: u64, attempt: u64 },
    /// It reports.
    Report(Reading),
    /// It has ended well, or was stopped.
    Finished,
    /// It has failed.
    Failed(Failure),
    /// It was interrupted, since this trainer ends.
    HandedBack,
}

impl Heard {
    /// Whether it is the last of its training.
    pub(crate) fn is_end(&self) -> bool {
        matches!(self, Self::Finished | Self::Failed(_) | Self::HandedBack)
    }
}

/// The answer of the study.
pub(crate) enum Sent {
    /// Whether to stop.
    Answer(bool),
    /// The trial's state, once its training has ended.
    End(String),
}

/// Passes on what was `heard` of a training.
pub(crate) fn pass_on<L: Link>(link: &mut L, given: &Given, heard: &Heard) -> Result<Sent, L::Error> {
    match heard {
        Heard::Began { after, attempt } => link.begin(given, *after, *attempt).map(Sent::Answer),
        Heard::Report(reading) => link.report(given, reading).map(Sent::Answer),
        Heard::Finished => link.tell(given, None).map(Sent::End),
        Heard::Failed(failure) => link.tell(given, Some(failure)).map(Sent::End),
        Heard::HandedBack => link.hand_back(given).map(Sent::End),
    }
}

impl<S: Store> Link for Hosted<S> {
    type Error = HostError;

    fn ask(&mut self) -> Result<Asked, HostError> {
        let asked = self.ask_here()?;
        let done = self.session.is_done();
        let Some(Task { start, lease }) = asked else {
            return Ok(if done { Asked::Done } else { Asked::Nothing });
        };
        // a training of a host without leases may be silent for ever
        let (key, lease) = lease.unwrap_or((String::new(), Duration::MAX));
        Ok(Asked::Task(Given { start, key, lease }))
    }

    fn begin(&mut self, given: &Given, after: u64, attempt: u64) -> Result<bool, HostError> {
        Self::begin(self, given.trial(), after, Some(attempt), given.key()).map(stops)
    }

    fn report(&mut self, given: &Given, reading: &Reading) -> Result<bool, HostError> {
        Self::report(self, given.trial(), reading.clone(), given.key()).map(stops)
    }

    fn renew(&mut self, given: &Given) -> Result<bool, HostError> {
        Self::renew(self, given.trial(), given.key()).map(stops)
    }

    fn tell(&mut self, given: &Given, failure: Option<&Failure>) -> Result<String, HostError> {
        let failed = match failure {
            Some(Failure { why, is_of_the_command: true }) => {
                self.fail_for_all(given.trial(), why.clone(), given.key())?
            }
            Some(Failure { why, .. }) => Self::tell(self, given.trial(), Some(why.clone()), given.key())?,
            None => Self::tell(self, given.trial(), None, given.key())?,
        };
        Ok(failed.to_owned())
    }

    fn hand_back(&mut self, given: &Given) -> Result<String, HostError> {
        Self::hand_back(self, given.trial(), given.key()).map(str::to_owned)
    }
}

fn stops(next: Next) -> bool {
    next.stop
}
