//! Full training: every trial to the largest resource, one after another.

use crate::schedulers::rank::TrialRanks;
use crate::schedulers::{JobEnd, NextAction, Scheduler, TrainingJob};

/// Trains each trial to the largest resource, in order. A running trial must beat the n-th best completed one; forecasts of
/// stopped trials do not count.
///
/// Source: Baker et al. 2017, §4. O(log n + n-th best) per trial.
#[derive(Clone, Debug)]
pub struct FullTraining {
    trials: u64,
    max_resource: u64,
    nth_best: usize,
    started: u64,
    /// The best scores reached, at most `nth_best` of them, best first.
    leaders: Vec<f64>,
}

impl FullTraining {
    /// `trials` trials up to `max_resource` each, compared with the `nth_best` (from 1) of those that finished.
    pub fn new(trials: u64, max_resource: u64, nth_best: usize) -> Self {
        Self { trials, max_resource, nth_best: nth_best.max(1), started: 0, leaders: Vec::new() }
    }
}

impl Scheduler for FullTraining {
    fn next(&mut self) -> NextAction {
        if self.started == self.trials {
            return NextAction::Done;
        }
        self.started += 1;
        NextAction::Run(TrainingJob { trial: self.started - 1, until: self.max_resource })
    }

    fn end_job(&mut self, _trial: u64, end: JobEnd) {
        if !end.stopped {
            let place = self.leaders.partition_point(|leader| leader.total_cmp(&end.score).is_ge());
            self.leaders.insert(place, end.score);
            self.leaders.truncate(self.nth_best);
        }
    }

    fn rank(&mut self, _ranks: &TrialRanks) {}

    fn raise(&mut self, trials: u64) -> bool {
        self.trials = self.trials.max(trials);
        true
    }

    fn lengthen(&mut self, max_resource: u64) -> bool {
        self.max_resource = max_resource;
        true
    }

    fn is_done(&self) -> bool {
        self.started == self.trials
    }

    fn reference(&self, _trial: u64) -> Option<f64> {
        self.leaders.get(self.nth_best - 1).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_trained_to_its_end_is_to_be_beaten() {
        let mut full = FullTraining::new(9, 5, 2);
        assert_eq!(full.next(), NextAction::Run(TrainingJob { trial: 0, until: 5 }));
        for (score, stopped, reference) in
            [(0.5, false, None), (0.9, true, None), (0.7, false, Some(0.5)), (0.8, false, Some(0.7))]
        {
            full.end_job(0, JobEnd { score, stopped });
            assert_eq!(full.reference(1), reference, "after {score}");
        }
    }

    #[test]
    fn every_trial_is_trained_once_to_its_end() {
        let jobs = crate::schedulers::tests::drive(&mut FullTraining::new(4, 7, 1), |_, _| 0.0);
        assert_eq!(jobs, [0, 1, 2, 3].map(|trial| TrainingJob { trial, until: 7 }));
    }
}
