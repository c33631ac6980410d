//! Trainings that run elsewhere: their workers call through a [`Door`](crate::Door).

use std::time::{Duration, Instant};

use foretell_search::Store;

use super::{Driver, DriverError, Observer, stored};
use crate::fleet::executor::Executor;
use crate::host::door::Calls;
use crate::host::leases::Leases;

/// The time that the driver waits for its own trials while others may call.
const PAUSE: Duration = Duration::from_millis(5);
/// A worker that was not heard for so long is not waited for.
const GONE: Duration = Duration::from_secs(10);

/// The settings of a study for trainings elsewhere.
pub struct Elsewhere<S: Store> {
    /// Their requests and reports.
    pub calls: Calls<S>,
    /// The trials and their workers.
    pub leases: Leases,
    /// The number of trainings the driver runs itself, in addition to them.
    pub own_workers: usize,
    /// The time for them to be handed back when the study is left.
    pub patience: Box<dyn Fn() -> Duration>,
}

impl<E: Executor, S: Store> Driver<E, S> {
    /// The same driver, which answers calls between its own steps. Its study then ends once all trials have ended, and not when
    /// its own workers have nothing to do.
    ///
    /// # Errors
    /// [`DriverError::Store`] if a training that runs elsewhere still could not be taken up.
    pub fn open_to(self, elsewhere: Elsewhere<S>) -> Result<Self, DriverError> {
        let Elsewhere { calls, leases, own_workers: workers, patience } = elsewhere;
        let host = self.host.leasing_some(leases).map_err(stored)?;
        Ok(Self { calls: Some(calls), host, workers, patience, ..self })
    }

    /// Waits up to `wait` for messages of its own trials, and for calls.
    pub(super) fn wait(&mut self, wait: Duration, observe: &mut Observer<'_>) -> Result<(), DriverError> {
        let is_open = self.calls.is_some();
        let has_own = self.trainer.running().next().is_some();
        let own = match (is_open, has_own) {
            (false, _) => wait,
            (true, true) => wait.min(PAUSE),
            (true, false) => Duration::ZERO,
        };
        for (given, happening) in self.trainer.hear(own, None) {
            self.take(&given, &happening, observe)?;
            self.fill(observe)?;
        }
        self.answer(if has_own { Duration::ZERO } else { wait }, observe)
    }

    /// Answers the calls that wait.
    fn answer(&mut self, wait: Duration, observe: &mut Observer<'_>) -> Result<(), DriverError> {
        let waiting = self.calls.as_ref().map(|calls| calls.waiting(wait)).unwrap_or_default();
        for call in waiting {
            call(&mut self.host);
            if let Some(why) = self.host.refused() {
                return Err(DriverError::Refused(why.to_owned()));
            }
            self.publish(observe)?;
        }
        self.check_hope()
    }

    /// Whether nothing is left to wait for, where the driver's own workers have nothing to do.
    pub(super) fn is_over(&self) -> bool {
        self.calls.is_none() || self.workers > 0 || self.host.session.is_done()
    }

    /// Tells workers elsewhere that the study is done, or waits for them to hand back what they train.
    pub(super) fn dismiss(&mut self, observe: &mut Observer<'_>) -> Result<(), DriverError> {
        let begun = Instant::now();
        let done = self.host.session.is_done();
        let patience = if done { GONE / 2 } else { (self.patience)() };
        let waits =
            |this: &Self| if done { !this.host.workers(GONE).is_empty() } else { !this.host.is_free() };
        while self.calls.is_some() && begun.elapsed() < patience && waits(self) {
            self.answer(PAUSE, observe)?;
        }
        Ok(())
    }
}
