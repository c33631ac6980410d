//! Trainings that run elsewhere: their workers call through a [`HostDoor`](crate::HostDoor).

use std::time::{Duration, Instant};

use foretell_search::Store;

use super::{Driver, DriverError, EventObserver, to_driver_error};
use crate::fleet::executor::Executor;
use crate::host::door::HostCalls;
use crate::host::leases::Leases;

/// The time that the driver waits for its own trials while others may call.
const CALL_WAIT: Duration = Duration::from_millis(5);
/// A worker that was not heard for so long is not waited for.
const WORKER_GONE_TIME: Duration = Duration::from_secs(10);

/// The settings of a study for trainings elsewhere.
pub struct RemoteTrainings<S: Store> {
    /// Their requests and reports.
    pub calls: HostCalls<S>,
    /// The trials and their workers.
    pub leases: Leases,
    /// The number of trainings the driver runs itself, in addition to them.
    pub own_workers: usize,
    /// The time for them to be handed back when the study is left.
    pub patience: Box<dyn Fn() -> Duration>,
}

impl<E: Executor, S: Store> Driver<E, S> {
    /// Answers calls between the driver's own steps. The study then ends once all trials have ended, and not when
    /// the driver's own workers have nothing to do.
    ///
    /// # Errors
    /// [`DriverError::Store`] if a training that runs elsewhere still could not be taken up.
    pub fn with_remote_trainings(self, elsewhere: RemoteTrainings<S>) -> Result<Self, DriverError> {
        let RemoteTrainings { calls, leases, own_workers: workers, patience } = elsewhere;
        let host = self.host.with_partial_leases(leases).map_err(to_driver_error)?;
        Ok(Self { calls: Some(calls), host, workers, patience, ..self })
    }

    /// Waits up to `wait` for messages of its own trials, and for calls.
    pub(super) fn wait(
        &mut self,
        wait: Duration,
        observe: &mut EventObserver<'_>,
    ) -> Result<(), DriverError> {
        let is_open = self.calls.is_some();
        let has_own = self.trainer.running_trials().next().is_some();
        let own = match (is_open, has_own) {
            (false, _) => wait,
            (true, true) => wait.min(CALL_WAIT),
            // without trials of its own the driver waits for calls, below: otherwise they would wait for messages that cannot
            // come
            (true, false) => Duration::ZERO,
        };
        for (given, happening) in self.trainer.receive_events(own, None) {
            self.pass_on_event(&given, &happening, observe)?;
            self.fill_workers(observe)?;
        }
        self.answer_calls(if has_own { Duration::ZERO } else { wait }, observe)
    }

    /// Answers the calls that wait.
    fn answer_calls(&mut self, wait: Duration, observe: &mut EventObserver<'_>) -> Result<(), DriverError> {
        let waiting = self.calls.as_ref().map(|calls| calls.waiting(wait)).unwrap_or_default();
        for call in waiting {
            call(&mut self.host);
            if let Some(why) = self.host.refusal_reason() {
                return Err(DriverError::ObserverRefused(why.to_owned()));
            }
            self.publish_news(observe)?;
        }
        self.check_command_works()
    }

    /// Whether nothing is left to wait for, where the driver's own workers have nothing to do.
    pub(super) fn is_over(&self) -> bool {
        self.calls.is_none() || self.workers > 0 || self.host.session.is_done()
    }

    /// Tells workers elsewhere that the study is done, or waits for them to hand back what they train.
    pub(super) fn dismiss(&mut self, observe: &mut EventObserver<'_>) -> Result<(), DriverError> {
        let begun = Instant::now();
        let done = self.host.session.is_done();
        let patience = if done { WORKER_GONE_TIME / 2 } else { (self.patience)() };
        while self.calls.is_some() && begun.elapsed() < patience {
            let is_over = match done {
                true => self.host.recent_workers(WORKER_GONE_TIME).is_empty(),
                false => self.host.has_no_remote_trials(),
            };
            if is_over {
                break;
            }
            self.answer_calls(CALL_WAIT, observe)?;
        }
        Ok(())
    }
}
