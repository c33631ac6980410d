//! A study takes in other settings.

use crate::samplers::worth::Worth;
use crate::schedulers::f_hyperband::LevelData;
use crate::schedulers::schedule::Schedule;
use crate::stopping::AshaRule;
use crate::stopping::RuleNeeds;
use crate::study::{JobProposal, Study, StudySettings, StudySpec, TrialState};

impl Study {
    /// The settings by the study's records: those that it began with, or was last changed to.
    pub fn settings(&self) -> &StudySettings {
        &self.settings
    }

    /// From here on `settings` hold. Totals and budgets are the caller's: a study that is restored is given the last ones at once.
    /// O(trials · points) where something changes.
    ///
    /// Samplers learn from the trials that are in the space as it is now, forecasts from all.
    pub(super) fn take_settings(&mut self, settings: &StudySettings) {
        let changed = self.spec.clone().going_by(settings);
        // parts that no catalogue knows stay as they are read: they were refused before they were recorded
        let changed = changed.clone().made(&self.catalogue).unwrap_or(changed);
        let StudySettings { trials, budget_epochs, .. } = *settings;
        self.settings = StudySettings { trials, budget_epochs, ..changed.settings() };
        let changed = self.by_returns(changed);
        if changed == self.spec {
            return;
        }
        let before = std::mem::replace(&mut self.spec, changed);
        let has_another_score = before.run_score != self.spec.run_score;
        if has_another_score || before.returns_own_scores != self.spec.returns_own_scores {
            self.count_otherwise(&before);
        }
        let has_another_sampler = before.space != self.spec.space || before.sampler != self.spec.sampler;
        if has_another_score || has_another_sampler {
            self.take_sampler();
        }
        let is_prolonged = before.max_resource != self.spec.max_resource
            && (self.spec.is_open_ended || before.resource().is_none());
        if is_prolonged {
            self.lengthen_open_ended(before.max_resource);
        } else if before.max_resource != self.spec.max_resource {
            self.lengthen(before.whole_resource());
        }
        let data = LevelData::new(self.spec.burn_in as usize, self.spec.refit);
        self.take_rule();
        let reached = self.knowledge.begin_anew(data, self.needs.means);
        let whole = self.spec.max_resource;
        let earlier = self.warm_start.len();
        if is_prolonged {
            self.relearn_earlier();
        }
        for (level, indices) in reached {
            // trials that nobody cut are as whole as the longest one; those of earlier searches were just looked at
            let is_moved = is_prolonged && level == before.max_resource;
            for index in indices.into_iter().filter(|&index| !is_moved || index >= earlier) {
                self.learn_again(if is_moved { whole } else { level }, index);
            }
        }
        if !is_prolonged && before.max_resource < whole {
            self.relearn_earlier();
        }
        self.begin_rungs();
        self.begin_standings();
    }

    /// Learns again from the runs of earlier searches that are whole.
    fn relearn_earlier(&mut self) {
        let mut runs: Vec<usize> = (0..self.warm_start.len()).collect();
        runs.retain(|&index| self.spec.has_trained_whole(&self.warm_start[index]));
        runs.into_iter().for_each(|index| self.learn_again(self.spec.max_resource, index));
    }

    /// Another value of each trial counts than `before`.
    fn count_otherwise(&mut self, before: &StudySpec) {
        for (index, trial) in self.trials.iter_mut().enumerate() {
            // by the description that it was added by: with another score another entry would be looked for
            self.progress.remove(index, trial, before);
            let reported = trial.reported_score(self.spec.run_score);
            let score = trial.returned.or(reported.map(|score| self.spec.direction.to_value(score)));
            if let (TrialState::Completed { value }, Some(score)) = (&mut trial.state, score) {
                *value = score;
            }
            self.progress.add(index, trial, &self.spec);
        }
    }

    /// The sampler that is asked for, which hears of all trials that are in the space.
    pub(super) fn take_sampler(&mut self) {
        if self.brings_sampler {
            return;
        }
        // settings out of range were refused before they were recorded
        let Ok(mut sampler) = self.spec.sampler.sampler(&self.spec.space, self.spec.seed) else { return };
        for (number, trial) in (0..).zip(&self.trials) {
            if !self.spec.space.contains(&trial.configuration) {
                continue;
            }
            sampler.observe_start(number, &trial.configuration);
            match (&trial.state, trial.result()) {
                (TrialState::Completed { value }, _) => {
                    let score = self.spec.direction.to_score(*value);
                    let reported = trial.reported_score(self.spec.run_score).unwrap_or(score);
                    let worth = Worth::from_measurement(self.worth_of(number as usize, reported));
                    sampler.learn(number, &trial.configuration, self.sampler_worth(trial, worth));
                }
                (TrialState::Stopped { .. }, Some(result)) => {
                    let sd = trial.forecast().map_or(0.0, |forecast| forecast.sd);
                    let worth = Worth::forecast(self.spec.direction.to_score(result), sd);
                    sampler.learn(number, &trial.configuration, self.sampler_worth(trial, worth));
                }
                (TrialState::Failed { .. } | TrialState::Stopped { .. }, _) => {
                    sampler.observe_failure(number, &trial.configuration);
                }
                _ => {}
            }
        }
        self.sampler = sampler;
        // the new sampler has not heard how the other trials may end
        self.told_at = 0;
        self.reopen_proposal();
    }

    /// The proposal for the next new trial, if that is not started, is asked for again.
    pub(super) fn reopen_proposal(&mut self) {
        let trials = self.trials.len() as u64;
        if let Some((_, proposal)) = self.pending.as_mut().filter(|(job, _)| job.trial >= trials) {
            *proposal = JobProposal::Open;
        }
    }

    /// Trainings that were to end at `before` epochs, and have not ended, continue to the new end.
    fn lengthen(&mut self, before: u64) {
        let whole = self.spec.whole_resource();
        if !self.scheduler.lengthen(whole) {
            return;
        }
        let running = self.running.iter().copied();
        for index in running.filter(|&index| self.trials[index].until == before).collect::<Vec<_>>() {
            self.change(index, |trial| trial.until = whole);
        }
        if let Some((job, _)) = &mut self.pending {
            job.until = whole;
        }
    }

    /// The stop rule by the policy that is in force.
    fn take_rule(&mut self) {
        let policy = self.spec.policy_in_force();
        let policy = match self.spec.schedule {
            Schedule::Asha { eta, .. } if !policy.stops() && !self.keeps_checkpoints => {
                AshaRule { eta }.into()
            }
            _ => policy,
        };
        let rule = self.own_rule.clone().or_else(|| policy.rule().cloned());
        // without R nobody knows how a trial would end
        let rule = rule.filter(|_| self.spec.resource().is_some());
        self.needs = rule.as_ref().map_or_else(RuleNeeds::default, |rule| rule.needs(self.spec.max_resource));
        self.rule = rule.filter(|_| !self.needs.nothing);
        self.begin_learner();
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
            job.until = self.spec.whole_resource();
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
                self.knowledge.add_trained(level, index, &curve, run_score);
            }
        }
    }

    /// The rungs of the stop rule, with the scores of all reports so far.
    fn begin_rungs(&mut self) {
        self.rung_points.clear();
        self.rungs = self.needs.rungs.iter().map(|&rung| (rung, Vec::new())).collect();
        for index in 0..self.trials.len() {
            for point in 0..self.trials[index].curve.steps().len() {
                self.reach_rung_at(index, point);
            }
        }
    }
}
