//! A study takes in other settings.

use super::{Settings, Study};
use crate::f_hyperband::LevelData;
use crate::policy::Policy;

impl Study {
    /// Its settings by its records: those that it began with, or was last changed to.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// From here on trials are stopped by `settings`. Totals and budgets are the caller's: a study that is restored is
    /// given the last ones at once. O(trials · points) where something changes.
    pub(super) fn take_settings(&mut self, settings: &Settings) {
        self.settings = settings.clone();
        let changed = self.spec.clone().stopping_by(settings);
        if changed == self.spec {
            return;
        }
        self.spec = changed;
        let data = LevelData::new(self.spec.burn_in as usize, self.spec.refit);
        let reached = self.knowledge.begin_anew(data, self.spec.policy);
        for (level, indices) in reached {
            for index in indices {
                self.learn_again(level, index);
            }
        }
        self.begin_rungs();
    }

    /// Notes once more that `index`, a run of the warm start or a trial, was trained to `level`.
    fn learn_again(&mut self, level: u64, index: usize) {
        let run_score = self.spec.run_score;
        match index.checked_sub(self.warm_start.len()) {
            None => self.knowledge.warm_start(level, index, &self.warm_start[index].curve, run_score),
            Some(trial) => {
                let curve = self.trials[trial].curve_to(level, self.spec.direction);
                self.knowledge.trained(level, index, &curve, run_score);
            }
        }
    }

    /// The rungs of the policy, with the scores of all reports so far.
    fn begin_rungs(&mut self) {
        let rungs = match self.spec.policy {
            Policy::Asha(_) => self.spec.policy.rungs(self.spec.max_resource),
            _ => Vec::new(),
        };
        self.rungs = rungs.into_iter().map(|rung| (rung, Vec::new())).collect();
        for index in 0..self.trials.len() {
            for point in 0..self.trials[index].curve.steps().len() {
                self.reach_rung_at(index, point);
            }
        }
    }
}
