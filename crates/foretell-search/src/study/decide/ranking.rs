//! The forecasts of final values by which trials are compared at rungs, and the rungs that tell nothing about those values.

use crate::objective::places;
use crate::schedulers::rank::{Rank, is_silent};
use crate::study::{Study, Trial, TrialState};
use std::collections::{BTreeMap, BTreeSet};

impl Study {
    /// Trial `latest` reached a rung or its end: forecasts its end, or that of all trials where there is more to learn from, and tells
    /// the scheduler.
    pub(in crate::study) fn rank_rungs(&mut self, latest: usize) {
        let learned = self.knowledge.training_set(self.spec.max_resource).map_or(0, <[usize]>::len);
        if self.spec.rank == Rank::Value || learned == 0 {
            return;
        }
        // a new forecast of one trial changes no other's, unless there is more to learn from
        let whom = if learned == self.ranked_from { latest..latest + 1 } else { 0..self.trials.len() };
        self.ranked_from = learned;
        for index in whom {
            for level in self.rung_levels() {
                if let Some(score) = self.rung_standing(index, level) {
                    self.ranks.scores.entry(level).or_default().insert(index as u64, score);
                }
            }
        }
        if matches!(self.trials[latest].state, TrialState::Completed { .. }) {
            self.ranks.silent = self.silent_levels();
        }
        self.scheduler.rank(&self.ranks);
    }

    /// With several objectives or limits, and a scheduler with rungs: compares the trials that were trained to `level` by the front that
    /// they are on there, and tells the scheduler. What trial `index`, one of them, is compared by. One that breaks a limit goes no
    /// further. O(n²) at worst.
    pub(in crate::study) fn rank_by_front(&mut self, index: usize, level: u64) -> Option<f64> {
        let is_last = level == self.spec.max_resource;
        if is_last || self.spec.schedule.is_full() || self.spec.compares_by_metric_alone() {
            return None;
        }
        let at_level = (0..).zip(&self.trials);
        let at_level = at_level.filter_map(|(number, trial)| Some((number, self.point_at(trial, level)?)));
        let (trials, points): (Vec<u64>, Vec<Vec<f64>>) = at_level.unzip();
        let places = places(&points).into_iter().map(|place| -(place as f64));
        let scores: BTreeMap<u64, f64> = trials.into_iter().zip(places).collect();
        let own = scores.get(&(index as u64)).copied().unwrap_or(f64::NEG_INFINITY);
        self.ranks.scores.insert(level, scores);
        self.scheduler.rank(&self.ranks);
        Some(own)
    }

    /// The scores of `trial` when it had been trained to `level`, larger being better; an unknown one counts as worse than all
    /// known ones. `None` if it did not get there, failed or breaks a limit.
    fn point_at(&self, trial: &Trial, level: u64) -> Option<Vec<f64>> {
        let &step = trial.ends.get(&level)?;
        if !trial.counts() || matches!(trial.state, TrialState::Failed { .. }) {
            return None;
        }
        let score = self
            .spec
            .run_score
            .value_of(&trial.curve.prefix_until(step as f64))
            .filter(|score| score.is_finite())?;
        let others = self.other_scores_at(trial, step).into_iter().map(|value| value.unwrap_or(f64::MIN));
        Some(std::iter::once(score).chain(others).collect())
    }

    /// The score by which trial `index` is compared at `level`: the forecast of its end from its curve up to there, or its score there
    /// if it has diverged or there is no forecast; `None` if it failed or did not reach the level. The forecast leaves the trial out.
    fn rung_standing(&mut self, index: usize, level: u64) -> Option<f64> {
        let trial = &self.trials[index];
        if trial.trained_epochs() < level
            || trial.is_unknown()
            || matches!(trial.state, TrialState::Failed { .. })
        {
            return None;
        }
        let curve = trial.curve.prefix_until(level as f64);
        let score = self.spec.run_score.value_of(&curve).filter(|score| score.is_finite())?;
        if curve.diverged_at().is_some() {
            return Some(score);
        }
        let Ok(outlook) = self.outlook_from(index, &curve, self.spec.max_resource) else {
            return Some(score);
        };
        Some(self.spec.rank.score(self.spec.direction.to_score(outlook.recorded.mean), outlook.recorded.sd))
    }

    /// The levels of the rungs below the end, ascending.
    fn rung_levels(&self) -> Vec<u64> {
        if !self.needs.rungs.is_empty() {
            return self.rungs.keys().copied().collect();
        }
        let mut levels = self.spec.schedule.levels(self.spec.max_resource).unwrap_or_default();
        levels.pop();
        levels
    }

    /// The levels whose ranks say nothing of the end. O(trials · levels).
    fn silent_levels(&self) -> BTreeSet<u64> {
        let silent = self.rung_levels().into_iter().filter(|&level| {
            let (mut scores, mut finished) = (Vec::new(), Vec::new());
            for trial in self.trials.iter().filter(|trial| trial.trained_epochs() >= level) {
                let Some(score) = self.spec.run_score.value_of(&trial.curve.prefix_until(level as f64))
                else {
                    continue;
                };
                if let (TrialState::Completed { .. }, Some(end)) =
                    (&trial.state, self.spec.run_score.value_of(&trial.curve))
                {
                    finished.push((scores.len(), end));
                }
                scores.push(score);
            }
            is_silent(&scores, &finished)
        });
        silent.collect()
    }

    /// Of the trials that reached `level`: how many there are, and how many are ahead of `trial`; `None` while trials are compared by
    /// their scores there.
    pub(super) fn ahead_of(&self, trial: u64, level: u64) -> Option<(usize, usize)> {
        let scores = self.ranks.scores.get(&level)?;
        let own = scores.get(&trial)?;
        Some((scores.len(), scores.values().filter(|score| score.total_cmp(own).is_gt()).count()))
    }
}
