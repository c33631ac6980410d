//! The policy ASHA: who is stopped at a rung.

use super::{Study, Trial};
use crate::policy::Policy;
use crate::record::{Decision, Reason};

impl Study {
    /// Whether the policy waits until trials were trained to a level.
    pub(super) fn needs_burn_in(&self) -> bool {
        !matches!(self.spec.policy, Policy::Asha(_))
    }

    /// The rung that `trial` reached by its report number `point`, and its score there.
    fn rung_of(&self, trial: &Trial, point: usize) -> Option<(u64, f64)> {
        let steps = trial.curve.steps();
        let step = *steps.get(point)?;
        let (&level, _) = self.rungs.range(..=trial.trained_at(step as u64)).next_back()?;
        let before = point.checked_sub(1).map_or(0, |before| trial.trained_at(steps[before] as u64));
        if before >= level && point > 0 {
            return None;
        }
        let score = if point + 1 == steps.len() {
            self.spec.run_score.of(&trial.curve)
        } else {
            self.spec.run_score.of(&trial.curve.until(step))
        };
        score.filter(|score| score.is_finite()).map(|score| (level, score))
    }

    /// Trial `index` reported: notes its score if it reached a rung. O(n).
    pub(super) fn reach_rung(&mut self, index: usize) {
        if let Some(last) = self.trials[index].curve.steps().len().checked_sub(1) {
            self.reach_rung_at(index, last);
        }
    }

    /// The same for its report number `point`.
    pub(super) fn reach_rung_at(&mut self, index: usize, point: usize) {
        let Some((level, score)) = self.rung_of(&self.trials[index], point) else { return };
        if let Some(scores) = self.rungs.get_mut(&level) {
            scores.insert(scores.partition_point(|other| other.total_cmp(&score).is_lt()), score);
            self.rank_rungs(index);
        }
    }

    /// Stops a trial that reached a rung and is not among the best 1/η there.
    pub(super) fn by_rung(&self, eta: u64, decision: Decision) -> Decision {
        let trial = &self.trials[decision.trial as usize];
        let last = trial.curve.steps().len().saturating_sub(1);
        let Some((level, score)) = self.rung_of(trial, last) else { return decision };
        if self.ranks.silent.contains(&level) {
            return decision;
        }
        let scores = self.rungs.get(&level).map_or(&[][..], Vec::as_slice);
        let better = scores.len() - scores.partition_point(|other| other.total_cmp(&score).is_le());
        let (all, better) = self.ahead_of(decision.trial, level).unwrap_or((scores.len(), better));
        let stop = better >= (all / eta as usize).max(1);
        self.by_curve(stop.then_some(Reason::BelowRung), &[score], decision)
    }
}
