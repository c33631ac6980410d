//! A study takes in other settings.

use super::{Settings, Study};
use crate::schedulers::f_hyperband::LevelData;
use crate::schedulers::schedule::Schedule;
use crate::stopping::policy::Policy;

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
        self.take_rule();
        let reached = self.knowledge.begin_anew(data, self.needs.means);
        for (level, indices) in reached {
            for index in indices {
                self.learn_again(level, index);
            }
        }
        self.begin_rungs();
    }

    /// The stop rule by the policy that is in force.
    fn take_rule(&mut self) {
        let policy = match (self.spec.policy, self.spec.schedule) {
            (Policy::None, Schedule::Asha { eta, .. }) if !self.keeps_checkpoints => Policy::Asha(eta),
            (policy, _) => policy,
        };
        self.rule = self.own_rule.clone().or_else(|| policy.rule(self.spec.criterion));
        let needs = self.rule.as_ref().map(|rule| rule.needs(self.spec.max_resource));
        self.needs = needs.unwrap_or_default();
    }

    /// There are no checkpoints: no trial is paused any more, if the scheduler can do without. The job that is asked for next becomes
    /// what the scheduler would ask for now.
    pub(super) fn pause_no_more(&mut self) {
        let known = !std::mem::take(&mut self.keeps_checkpoints);
        if known || !self.scheduler.pause_no_more() {
            return;
        }
        let trials = self.trials.len() as u64;
        self.pending = self.pending.take().filter(|(job, _)| job.trial >= trials);
        if let Some((job, _)) = &mut self.pending {
            job.until = self.spec.max_resource;
        }
        self.take_rule();
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

    /// The rungs of the stop rule, with the scores of all reports so far.
    fn begin_rungs(&mut self) {
        self.rungs = self.needs.rungs.iter().map(|&rung| (rung, Vec::new())).collect();
        for index in 0..self.trials.len() {
            for point in 0..self.trials[index].curve.steps().len() {
                self.reach_rung_at(index, point);
            }
        }
    }
}
