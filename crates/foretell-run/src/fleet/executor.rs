//! Executors of trainings: local processes, or simulated ones.

use std::error::Error;
use std::time::Duration;

use foretell_logs::printed::Report;
use foretell_search::TrainingStart;

use crate::process::message::TrialMessage;

/// Runs trainings: as local processes ([`LocalTrials`](crate::LocalTrials)), on workers, or simulated.
pub trait Executor {
    /// Reads what an earlier training of the trial wrote to the file that it appends its metrics to, and nobody has read: it was killed, or
    /// this program was. To be called before the trial starts again.
    ///
    /// # Errors
    /// When the file cannot be looked for.
    fn unread_reports(&mut self, _start: &TrainingStart) -> Result<UnreadReports, ExecutorError> {
        Ok(UnreadReports::default())
    }

    /// Starts a training on worker number `worker` (from 0). Its messages follow; the last is `MessageKind::Ended`.
    ///
    /// # Errors
    /// When it cannot be started; no message follows then.
    fn start(&mut self, start: &TrainingStart, worker: usize) -> Result<StartPoint, ExecutorError>;

    /// Stops the training of `trial`, if it runs. Returns at once; its `MessageKind::Ended` follows.
    fn stop(&mut self, trial: u64);

    /// The messages of all trainings since the last call, in each one's order. Waits up to `wait` for the first.
    fn take_messages(&mut self, wait: Duration) -> Vec<TrialMessage>;

    /// `trial` has ended for good, and is not the best: its checkpoints, which it would need to continue, can be removed.
    fn discard_checkpoints(&mut self, trial: u64);

    /// The training of `trial` is to start from the beginning: it must find no checkpoint.
    fn forget_checkpoints(&mut self, trial: u64) {
        self.discard_checkpoints(trial);
    }
}

/// An executor's own error.
pub type ExecutorError = Box<dyn Error + Send + Sync>;

/// The reports of a training that ended before they were read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UnreadReports {
    /// The reports after the last one that is recorded.
    pub reports: Vec<Report>,
    /// A sentence about values that are lost, if some are.
    pub lost: Option<String>,
}

/// From where a training began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartPoint {
    /// From its beginning.
    Anew,
    /// With checkpoints: of the step that [`TrainingStart::from`] names, or of one that was never reported.
    Resumed,
}
