//! The policy ASHA: who is stopped at a rung.

use super::{Study, Trial};
use crate::policy::Policy;
use crate::record::{Decision, Reason};

impl Study {
    /// Whether the policy waits until trials were trained to a level.
    pub(super) fn needs_burn_in(&self) -> bool {
        !matches!(self.spec.policy, Policy::Asha(_))
    }

    /// The rung that `trial` reached by its last report, and its score there.
    fn rung_of(&self, trial: &Trial) -> Option<(u64, f64)> {
        let (&level, _) = self.rungs.range(..=trial.trained()).next_back()?;
        let steps = trial.curve.steps();
        let before = steps.len().checked_sub(2).map_or(0, |second| trial.trained_at(steps[second] as u64));
        let score = self.spec.run_score.of(&trial.curve).filter(|score| score.is_finite())?;
        (before < level || steps.len() == 1).then_some((level, score))
    }

    /// Trial `index` reported: notes its score if it reached a rung. O(n).
    pub(super) fn reach_rung(&mut self, index: usize) {
        let Some((level, score)) = self.rung_of(&self.trials[index]) else { return };
        if let Some(scores) = self.rungs.get_mut(&level) {
            scores.insert(scores.partition_point(|other| other.total_cmp(&score).is_lt()), score);
            self.rank_rungs(index);
        }
    }

    /// Stops a trial that reached a rung and is not among the best 1/η there.
    pub(super) fn by_rung(&self, eta: u64, decision: Decision) -> Decision {
        let trial = &self.trials[decision.trial as usize];
        let Some((level, score)) = self.rung_of(trial) else { return decision };
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
