//! Successive halving: one bracket, whose rungs train ever fewer configurations ever further.

use crate::schedulers::brackets::{Bracket, Rung};
use crate::schedulers::f_hyperband::Kappa;
use crate::schedulers::rank::TrialRanks;
use crate::schedulers::{JobEnd, NextAction, RankedTrial, Scheduler, TrainingJob};
use std::collections::VecDeque;

/// One bracket: the best of each rung continue to the next. Ties go to the lower trial number, and failed trials never continue.
///
/// A running trial has to beat the κ-th best of its rung so far (forecasts of stopped trials counted, as printed in
/// f-Hyperband's algorithm 2): see [`Kappa`].
///
/// Source: Jamieson & Talwalkar, AISTATS 2016; the reference is Baker et al. 2017, algorithm 2. O(log n) per job, except for
/// moving up to n results of 16 bytes when one is inserted; O(1) per reference.
#[derive(Clone, Debug)]
pub struct SuccessiveHalving {
    bracket: Bracket,
    kappa: Kappa,
    rung: usize,
    waiting: VecDeque<u64>,
    /// The number of jobs the rung has: fewer than planned where trials failed.
    in_rung: usize,
    /// Results of the rung's ended jobs, the best first.
    results: Vec<RankedTrial>,
}

impl SuccessiveHalving {
    /// The bracket, whose trials are numbered from `first_trial`.
    pub fn new(bracket: Bracket, first_trial: u64, kappa: Kappa) -> Self {
        let configurations = bracket.rungs.first().map_or(0, |rung| rung.configurations);
        let waiting: VecDeque<u64> = (first_trial..first_trial + configurations).collect();
        Self { bracket, kappa, rung: 0, in_rung: waiting.len(), waiting, results: Vec::new() }
    }

    /// The rung that is being trained; `None` when the bracket is done.
    pub fn rung(&self) -> Option<Rung> {
        self.bracket.rungs.get(self.rung).copied()
    }

    /// n_next, the number of trials of the current rung that continue; at least 1, as the last rung keeps its best.
    pub fn going_on(&self) -> u64 {
        self.bracket.rungs.get(self.rung + 1).map_or(1, |next| next.configurations.max(1))
    }

    fn promote_best(&mut self) {
        let keep = self.bracket.rungs.get(self.rung + 1).map_or(0, |next| next.configurations as usize);
        let scored = self.results.drain(..).filter(|result| result.score.is_finite());
        let mut chosen: Vec<u64> = scored.take(keep).map(|result| result.trial).collect();
        chosen.sort_unstable();
        self.in_rung = chosen.len();
        self.waiting = chosen.into();
        self.rung = if self.waiting.is_empty() { self.bracket.rungs.len() } else { self.rung + 1 };
    }
}

impl Scheduler for SuccessiveHalving {
    fn next(&mut self) -> NextAction {
        let Some(rung) = self.rung() else { return NextAction::Done };
        match self.waiting.pop_front() {
            Some(trial) => NextAction::Run(TrainingJob { trial, until: rung.resource }),
            None => NextAction::Wait,
        }
    }

    fn end_job(&mut self, trial: u64, end: JobEnd) {
        let result = RankedTrial { trial, score: end.score };
        self.results.insert(self.results.partition_point(|other| *other < result), result);
        if self.rung().is_some() && self.results.len() == self.in_rung {
            self.promote_best();
        }
    }

    fn rank(&mut self, ranks: &TrialRanks) {
        let Some(rung) = self.rung() else { return };
        self.results.iter_mut().for_each(|result| *result = result.by(ranks, rung.resource));
        self.results.sort();
    }

    fn is_done(&self) -> bool {
        self.rung().is_none()
    }

    fn reference(&self, _trial: u64) -> Option<f64> {
        let k = self.kappa.rank(self.going_on(), self.rung()?.configurations);
        Some(self.results.get(k.checked_sub(1)?)?.score)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers::brackets::successive_halving;
    use crate::schedulers::tests::drive;

    fn halving() -> SuccessiveHalving {
        SuccessiveHalving::new(successive_halving(9, 9, 3).unwrap(), 100, Kappa::default())
    }

    #[test]
    fn the_best_of_each_rung_go_on() {
        let jobs = drive(&mut halving(), |trial, _| ((trial * 5) % 9) as f64);
        let rung = |until| jobs.iter().filter(|j| j.until == until).map(|j| j.trial).collect::<Vec<_>>();
        assert_eq!(rung(1), (100..109).collect::<Vec<_>>());
        let mut best: Vec<u64> = (100..109).collect();
        best.sort_by_key(|trial| std::cmp::Reverse((trial * 5) % 9));
        let mut three = best[..3].to_vec();
        three.sort_unstable();
        assert_eq!(rung(3), three);
        assert_eq!(rung(9), best[..1]);
    }

    #[test]
    fn a_rung_waits_for_its_last_job() {
        let mut halving = halving();
        let jobs: Vec<NextAction> = (0..9).map(|_| halving.next()).collect();
        assert!(jobs.iter().all(|next| matches!(next, NextAction::Run(_))));
        for trial in 100..108 {
            assert_eq!(halving.next(), NextAction::Wait);
            halving.end_job(trial, JobEnd { score: 0.0, stopped: false });
        }
        halving.end_job(108, JobEnd { score: 0.0, stopped: true });
        assert_eq!(
            halving.next(),
            NextAction::Run(TrainingJob { trial: 100, until: 3 }),
            "ties go to the lower number"
        );
    }

    #[test]
    fn failed_trials_are_not_promoted_and_a_rung_that_failed_ends_the_bracket() {
        let failed = |trial| if trial < 107 { f64::NEG_INFINITY } else { trial as f64 };
        let jobs = drive(&mut halving(), |trial, _| failed(trial));
        let later: Vec<u64> = jobs.iter().filter(|job| job.until > 1).map(|job| job.trial).collect();
        assert_eq!(later, [107, 108, 108]);
        assert_eq!(drive(&mut halving(), |_, _| f64::NEG_INFINITY).len(), 9);
    }

    #[test]
    fn the_reference_is_the_last_that_would_go_on() {
        let mut halving = halving();
        for (trial, score) in [(100, 0.3), (101, 0.9), (102, 0.5)] {
            assert_eq!(halving.reference(0), None, "fewer than n_next = 3 results");
            halving.end_job(trial, JobEnd { score, stopped: false });
        }
        assert_eq!(halving.reference(0), Some(0.3));
    }
}
