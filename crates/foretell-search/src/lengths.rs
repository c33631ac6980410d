//! The lengths that stopped trials would have had if the command ends its trainings by itself, before the last epoch.

use crate::study::{Trial, TrialState};

/// The lengths of the trials that completed.
#[derive(Clone, Debug, Default)]
pub(crate) struct CompletedLengths {
    /// In ascending order.
    all: Vec<u64>,
    /// The number of them that ended before the last epoch.
    early: u64,
}

impl CompletedLengths {
    pub(crate) fn of_trials(trials: &[Trial]) -> Self {
        let completed = || trials.iter().filter(|trial| matches!(trial.state, TrialState::Completed { .. }));
        let mut all: Vec<u64> = completed().map(Trial::trained_epochs).collect();
        all.sort_unstable();
        Self { all, early: completed().filter(|trial| trial.trained_epochs() < trial.until).count() as u64 }
    }

    /// The number of completed trials that ended before the last epoch, for example by the command's own early stopping.
    pub(crate) fn early(&self) -> u64 {
        self.early
    }

    /// The epochs that `trial` would have cost without stopping. If completed trials ended before the last epoch, a stopped one counts with the
    /// mean length of those that trained longer than it did, and with its own length if none did. O(log trials + trials).
    pub(crate) fn cost(&self, trial: &Trial) -> u64 {
        if self.early == 0 {
            return trial.cost_to(trial.until);
        }
        let trained = trial.trained_epochs();
        let longer = &self.all[self.all.partition_point(|&length| length <= trained)..];
        let mean = longer.iter().sum::<u64>().checked_div(longer.len() as u64);
        trial.cost_to(mean.unwrap_or(trained).min(trial.until))
    }
}
