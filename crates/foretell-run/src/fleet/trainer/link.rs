//! The connection of a trainer with a study: the study's host in this process, or its server.

use std::time::Duration;

use foretell_search::{SourcePosition, Start, Store};

use crate::host::hosted::{HostError, MetricReading, StudyHost, TrainingTask};

/// A study as a trainer reaches it. Everything may be sent again: a copy changes nothing.
pub(crate) trait Link {
    /// The reason why something was not carried out.
    type Error;

    /// Asks for a training.
    fn ask(&mut self) -> Result<Asked, Self::Error>;

    /// Passes on what was `heard` of a training.
    fn pass_on(&mut self, given: &Given, heard: &Heard) -> Result<Sent, Self::Error>;
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
    /// The training is alive.
    Alive,
    /// An attempt continues after so many epochs.
    Began { after: u64, attempt: u64 },
    /// The training reports.
    Report(MetricReading),
    /// The file that it appends its metrics to was read up to here, and what was reported until there was passed on.
    Read(SourcePosition),
    /// The training has ended well, or was stopped.
    Finished,
    /// The training has failed.
    Failed(Failure),
    /// The training was interrupted, since this trainer ends.
    HandedBack,
}

impl Heard {
    /// Whether it is the last of its training.
    pub(crate) fn is_end(&self) -> bool {
        matches!(self, Self::Finished | Self::Failed(_) | Self::HandedBack)
    }
}

/// The answer of the study.
#[derive(Debug, PartialEq)]
pub(crate) enum Sent {
    /// The training continues.
    GoesOn,
    /// The training is to stop.
    Stops,
    /// The training has ended, and its trial is in this state.
    Ended(String),
}

impl Sent {
    /// The answer to a training that runs.
    pub(crate) fn running(stop: bool) -> Self {
        if stop { Self::Stops } else { Self::GoesOn }
    }
}

impl<S: Store> Link for StudyHost<S> {
    type Error = HostError;

    fn ask(&mut self) -> Result<Asked, HostError> {
        let asked = self.ask_locally()?;
        let done = self.session.is_done();
        let Some(TrainingTask { start, lease }) = asked else {
            return Ok(if done { Asked::Done } else { Asked::Nothing });
        };
        // a training of a host without leases may be silent for ever
        let (key, lease) = lease.unwrap_or((String::new(), Duration::MAX));
        Ok(Asked::Task(Given { start, key, lease }))
    }

    fn pass_on(&mut self, given: &Given, heard: &Heard) -> Result<Sent, HostError> {
        let (trial, key) = (given.trial(), given.key());
        let answer = match heard {
            Heard::Alive => self.renew_lease(trial, key),
            Heard::Began { after, attempt } => self.begin_attempt(trial, *after, Some(*attempt), key),
            Heard::Report(reading) => self.report(trial, reading.clone(), key),
            Heard::Read(position) => self.record_source_position(trial, *position, key),
            Heard::Finished | Heard::Failed(_) | Heard::HandedBack => {
                let state = match heard {
                    Heard::HandedBack => self.hand_back(trial, key),
                    Heard::Failed(Failure { why, is_of_the_command: true }) => {
                        self.tell_command_failure(trial, why.clone(), key)
                    }
                    Heard::Failed(Failure { why, .. }) => self.tell(trial, Some(why.clone()), key),
                    _ => self.tell(trial, None, key),
                }?;
                return Ok(Sent::Ended(state.to_owned()));
            }
        }?;
        Ok(Sent::running(answer.stop))
    }
}
