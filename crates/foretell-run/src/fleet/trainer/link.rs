//! The connection of a trainer with a study: the study's host in this process, or its server.

use std::time::Duration;

use foretell_search::{SourcePosition, Store, TrainingStart};

use crate::host::hosted::{HostError, MetricReading, StudyHost, TrainingTask};

/// A study as a trainer reaches it. Everything may be sent again: a copy changes nothing.
pub(crate) trait StudyLink {
    /// The reason why something was not carried out.
    type Error;

    /// Asks for a training.
    fn ask(&mut self) -> Result<AskAnswer, Self::Error>;

    /// Passes on what was `heard` of a training.
    fn pass_on(&mut self, given: &GivenTraining, heard: &TrainingMessage)
    -> Result<StudyAnswer, Self::Error>;
}

/// The answer to a request for a training.
#[derive(Debug)]
pub(crate) enum AskAnswer {
    /// A training.
    Task(GivenTraining),
    /// Nothing now.
    Nothing,
    /// Nothing any more.
    Done,
}

/// A training that was given to this trainer.
#[derive(Clone, Debug)]
pub(crate) struct GivenTraining {
    pub(crate) start: TrainingStart,
    pub(crate) key: String,
    /// The time that it may be silent.
    pub(crate) lease: Duration,
}

impl GivenTraining {
    pub(crate) fn trial(&self) -> u64 {
        self.start.trial
    }

    fn key(&self) -> Option<&str> {
        Some(self.key.as_str()).filter(|key| !key.is_empty())
    }
}

/// The failure of a training.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TrainingFailure {
    pub(crate) why: String,
    /// Whether every trial of the command would fail so: a study in which nothing was reported yet does not work.
    pub(crate) is_of_the_command: bool,
}

/// The message that the study is to get about a training.
#[derive(Debug)]
pub(crate) enum TrainingMessage {
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
    Failed(TrainingFailure),
    /// The training was interrupted, since this trainer ends.
    HandedBack,
}

impl TrainingMessage {
    /// Whether it is the last of its training.
    pub(crate) fn is_end(&self) -> bool {
        matches!(self, Self::Finished | Self::Failed(_) | Self::HandedBack)
    }
}

/// The answer of the study.
#[derive(Debug, PartialEq)]
pub(crate) enum StudyAnswer {
    /// The training continues.
    GoesOn,
    /// The training is to stop.
    Stops,
    /// The training has ended, and its trial is in this state.
    Ended(String),
}

impl StudyAnswer {
    /// The answer to a training that runs.
    pub(crate) fn running(stop: bool) -> Self {
        if stop { Self::Stops } else { Self::GoesOn }
    }
}

impl<S: Store> StudyLink for StudyHost<S> {
    type Error = HostError;

    fn ask(&mut self) -> Result<AskAnswer, HostError> {
        let asked = self.ask_locally()?;
        let done = self.session.is_done();
        let Some(TrainingTask { start, lease }) = asked else {
            return Ok(if done { AskAnswer::Done } else { AskAnswer::Nothing });
        };
        // a training of a host without leases may be silent for ever
        let (key, lease) = lease.unwrap_or((String::new(), Duration::MAX));
        Ok(AskAnswer::Task(GivenTraining { start, key, lease }))
    }

    fn pass_on(&mut self, given: &GivenTraining, heard: &TrainingMessage) -> Result<StudyAnswer, HostError> {
        let (trial, key) = (given.trial(), given.key());
        let answer = match heard {
            TrainingMessage::Alive => self.renew_lease(trial, key),
            TrainingMessage::Began { after, attempt } => {
                self.begin_attempt(trial, *after, Some(*attempt), key)
            }
            TrainingMessage::Report(reading) => self.report(trial, reading.clone(), key),
            TrainingMessage::Read(position) => self.record_source_position(trial, *position, key),
            TrainingMessage::Finished | TrainingMessage::Failed(_) | TrainingMessage::HandedBack => {
                let state = match heard {
                    TrainingMessage::HandedBack => self.hand_back(trial, key),
                    TrainingMessage::Failed(TrainingFailure { why, is_of_the_command: true }) => {
                        self.tell_command_failure(trial, why.clone(), key)
                    }
                    TrainingMessage::Failed(TrainingFailure { why, .. }) => {
                        self.tell(trial, Some(why.clone()), key)
                    }
                    _ => self.tell(trial, None, key),
                }?;
                return Ok(StudyAnswer::Ended(state.to_owned()));
            }
        }?;
        Ok(StudyAnswer::running(answer.stop))
    }
}
