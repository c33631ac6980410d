//! Rungs of the stop rule: who has reached them, and with which score.

use crate::objective::places;
use crate::stopping::RungPlace;
use crate::study::{Study, Trial};

impl Study {
    /// The rung that `trial` reached by its report number `point`, and its score there.
    fn rung_of(&self, trial: &Trial, point: usize) -> Option<(u64, f64)> {
        if trial.is_unknown() {
            return None;
        }
        let steps = trial.curve.steps();
        let step = *steps.get(point)?;
        let (&level, _) = self.rungs.range(..=trial.trained_at(step as u64)).next_back()?;
        let before = point.checked_sub(1).map_or(0, |before| trial.trained_at(steps[before] as u64));
        // the report before was at this rung or beyond, so the trial is counted there already
        if before >= level && point > 0 {
            return None;
        }
        let score = if point + 1 == steps.len() {
            self.spec.run_score.value_of(&trial.curve)
        } else {
            self.spec.run_score.value_of(&trial.curve.prefix_until(step))
        };
        score.filter(|score| score.is_finite()).map(|score| (level, score))
    }

    /// Trial `index` reported: notes its score if it reached a rung. O(n).
    pub(in crate::study) fn reach_rung(&mut self, index: usize) {
        if let Some(last) = self.trials[index].curve.steps().len().checked_sub(1) {
            self.reach_rung_at(index, last);
        }
    }

    /// Report number `point` of trial `index`: notes its score if it reached a rung. O(n).
    pub(in crate::study) fn reach_rung_at(&mut self, index: usize, point: usize) {
        let Some((level, score)) = self.rung_of(&self.trials[index], point) else { return };
        if let Some(scores) = self.rungs.get_mut(&level) {
            scores.insert(scores.partition_point(|other| other.total_cmp(&score).is_lt()), score);
            self.reach_rung_with_others(index, level, score);
            self.rank_rungs(index);
        }
    }

    /// With several objectives: notes the scores of trial `index` at the rung, if all of them are known there.
    fn reach_rung_with_others(&mut self, index: usize, level: u64, score: f64) {
        let others =
            self.other_scores_at(&self.trials[index], level).into_iter().collect::<Option<Vec<f64>>>();
        if let Some(others) = others.filter(|_| self.spec.has_front()) {
            let (trials, points) = self.rung_points.entry(level).or_default();
            trials.push(index);
            points.push(std::iter::once(score).chain(others).collect());
        }
    }

    /// With several objectives: where trial `index` stands at the rung among the trials whose scores are all known.
    fn place_by_front(&self, index: usize, level: u64, score: f64) -> Option<RungPlace> {
        let (trials, points) = self.rung_points.get(&level)?;
        let own = trials.iter().position(|&trial| trial == index)?;
        Some(RungPlace { score, all: points.len(), better: places(points)[own] })
    }

    /// Where trial `index` stands at the rung that it has just reached; `None` at no rung, or at one that says nothing of the end.
    pub(super) fn place_at_rung(&self, index: usize) -> Option<RungPlace> {
        let trial = &self.trials[index];
        let last = trial.curve.steps().len().saturating_sub(1);
        let (level, score) = self.rung_of(trial, last)?;
        if self.ranks.silent.contains(&level) {
            return None;
        }
        if self.spec.has_front() {
            return self.place_by_front(index, level, score);
        }
        let scores = self.rungs.get(&level).map_or(&[][..], Vec::as_slice);
        let better = scores.len() - scores.partition_point(|other| other.total_cmp(&score).is_le());
        let (all, better) = self.ahead_of(index as u64, level).unwrap_or((scores.len(), better));
        Some(RungPlace { score, all, better })
    }
}
