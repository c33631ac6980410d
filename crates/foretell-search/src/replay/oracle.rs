//! Perfect foresight: the most that any forecast could save.

use crate::stopping::decision::Reason;
use crate::stopping::{Needs, Ruling, StopRule, Watched};
use crate::study::Recording;
use std::sync::Arc;

/// Stops a trial that ends at or below what it has to beat, as the recording shows.
pub(super) struct Oracle {
    pub(super) recording: Arc<dyn Recording>,
    /// Runs of a warm start, which the recording numbers before the trials.
    pub(super) warm_start: usize,
    /// δ: how much worse than the incumbent is good enough.
    pub(super) offset: f64,
}

impl StopRule for Oracle {
    fn needs(&self, _max_resource: u64) -> Needs {
        Needs { burn_in: true, ..Needs::default() }
    }

    fn rule(&self, trial: &mut dyn Watched) -> Ruling {
        let truth = self.recording.truth(self.warm_start + trial.trial() as usize, trial.until());
        let Some(incumbent) = trial.incumbent() else { return Ruling::go_on(Reason::NoIncumbent) };
        let ruling = if truth <= incumbent - self.offset {
            Ruling::stop(Reason::WillNotWin, truth)
        } else {
            Ruling::default()
        };
        Ruling { incumbent: Some(incumbent), ..ruling }
    }
}
