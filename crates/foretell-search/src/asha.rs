//! ASHA: successive halving without waiting; a trial goes on as soon as it is among the best of its rung so far.

use crate::brackets::{BracketError, levels};
use crate::scheduler::{End, Job, Next, Scheduler, kth_largest};
use std::collections::BTreeMap;

/// Asynchronous successive halving of `trials` trials.
///
/// An idle worker promotes the best trial, from the highest rung down, that is among the best ⌊n/η⌋ of the n results of
/// its rung and has not been promoted; if there is none it starts a new trial at the lowest rung.
///
/// | symbol | meaning | range |
/// |---|---|---|
/// | R | the most resource a trial gets | ≥ η |
/// | η | of how many trials one goes on | ≥ 2 |
///
/// A running trial has to beat the ⌈n/η⌉-th best of the n results of the rung it is trained to (the best, in the last
/// rung), forecasts counted, once there are η of them.
///
/// Source: Li et al. 2020, "A system for massively parallel hyperparameter tuning", algorithm 2. O(n) a job.
#[derive(Clone, Debug)]
pub struct Asha {
    trials: u64,
    eta: u64,
    levels: Vec<u64>,
    started: u64,
    running: BTreeMap<u64, usize>,
    /// Of each rung, all its results, the best first.
    results: Vec<Vec<RungResult>>,
}

/// What a trial came to at a rung.
#[derive(Clone, Copy, Debug)]
struct RungResult {
    trial: u64,
    score: f64,
    promoted: bool,
}

impl Asha {
    /// `trials` trials up to `max_resource` with reduction factor `eta`.
    ///
    /// # Errors
    /// Those of [`levels`].
    pub fn new(trials: u64, max_resource: u64, eta: u64) -> Result<Self, BracketError> {
        let levels = levels(max_resource, eta)?;
        let rungs = levels.len();
        Ok(Self {
            trials,
            eta,
            levels,
            started: 0,
            running: BTreeMap::new(),
            results: vec![Vec::new(); rungs],
        })
    }

    /// Where in `rung` the best trial stands that may be promoted.
    fn promotable(&self, rung: usize) -> Option<usize> {
        let results = &self.results[rung];
        let best = results.len() / self.eta as usize;
        results[..best].iter().position(|result| !result.promoted && result.score.is_finite())
    }

    fn run(&mut self, trial: u64, rung: usize) -> Next {
        self.running.insert(trial, rung);
        Next::Run(Job { trial, until: self.levels[rung] })
    }
}

impl Scheduler for Asha {
    fn next(&mut self) -> Next {
        for rung in (0..self.levels.len() - 1).rev() {
            if let Some(place) = self.promotable(rung) {
                let result = &mut self.results[rung][place];
                result.promoted = true;
                let trial = result.trial;
                return self.run(trial, rung + 1);
            }
        }
        if self.started < self.trials {
            self.started += 1;
            return self.run(self.started - 1, 0);
        }
        if self.running.is_empty() { Next::Done } else { Next::Wait }
    }

    fn ended(&mut self, trial: u64, end: End) {
        if let Some(rung) = self.running.remove(&trial) {
            let (results, score) = (&mut self.results[rung], end.score);
            let is_before = |other: &RungResult| {
                other.score.total_cmp(&score).reverse().then(other.trial.cmp(&trial)).is_lt()
            };
            results.insert(results.partition_point(is_before), RungResult { trial, score, promoted: false });
        }
    }

    fn is_done(&self) -> bool {
        self.started == self.trials
            && self.running.is_empty()
            && (0..self.levels.len() - 1).all(|rung| self.promotable(rung).is_none())
    }

    fn reference(&self, trial: u64) -> Option<f64> {
        let rung = *self.running.get(&trial)?;
        let results = &self.results[rung];
        let last = rung + 1 == self.levels.len();
        let enough = results.len() as u64 >= self.eta;
        let k = if last { 1 } else { (results.len() as u64).div_ceil(self.eta) as usize };
        kth_largest(results.iter().map(|result| result.score), k).filter(|_| enough || last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::tests::drive;

    #[test]
    fn a_trial_goes_on_as_soon_as_it_is_among_the_best() {
        let mut asha = Asha::new(9, 9, 3).unwrap();
        let jobs = drive(&mut asha, |trial, _| [5, 1, 2, 9, 8, 7, 3, 4, 6][trial as usize] as f64);
        let written: Vec<(u64, u64)> = jobs.iter().map(|job| (job.trial, job.until)).collect();
        let start = [(0, 1), (1, 1), (2, 1), (0, 3), (3, 1), (3, 3), (4, 1), (5, 1), (4, 3)];
        assert_eq!(written[..9], start, "0 leads three; then 3 leads four; then 4 is second of six");
        assert_eq!(written.iter().filter(|job| job.1 == 9).count(), 1);
        assert!(written.contains(&(3, 9)), "the best of all is trained to the end");
    }

    #[test]
    fn there_is_nothing_to_beat_before_eta_results() {
        let mut asha = Asha::new(9, 9, 3).unwrap();
        for _ in 0..4 {
            asha.next();
        }
        for trial in 0..3 {
            assert_eq!(asha.reference(3), None);
            asha.ended(trial, End { score: trial as f64, stopped: false });
        }
        assert_eq!(asha.reference(3), Some(2.0));
    }
}
