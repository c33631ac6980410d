//! ASHA: successive halving without waiting; a trial continues as soon as it is among the best of its rung so far.

use crate::schedulers::brackets::{BracketError, last_levels};
use crate::schedulers::rank::TrialRanks;
use crate::schedulers::{JobEnd, NextAction, RankedTrial, Scheduler, TrainingJob};
use std::collections::{BTreeMap, BTreeSet};

/// Asynchronous successive halving of `trials` trials.
///
/// An idle worker promotes the best trial, from the highest rung down, that is among the best ⌊n/η⌋ of the n results of
/// its rung and has not been promoted; if there is none it starts a new trial at the lowest rung.
///
/// | symbol | meaning | range |
/// |---|---|---|
/// | R | the most resource a trial gets | ≥ η |
/// | η | one in so many trials continues | ≥ 2 |
///
/// A running trial has to beat the ⌈n/η⌉-th best of the n results of the rung it is trained to (the best, in the last
/// rung), forecasts counted, once there are η of them.
///
/// Source: Li et al. 2020, "A system for massively parallel hyperparameter tuning", algorithm 2. O(log n) per job and O(1) per reference,
/// except for moving up to n results when one is inserted: 16 bytes each.
#[derive(Clone, Debug)]
pub struct Asha {
    trials: u64,
    eta: u64,
    levels: Vec<u64>,
    started: u64,
    running: BTreeMap<u64, usize>,
    rungs: Vec<AshaRung>,
    /// Whether trials are paused at rungs.
    pauses: bool,
}

/// The results of one rung.
#[derive(Clone, Debug, Default)]
struct AshaRung {
    /// All of them, the best first.
    results: Vec<RankedTrial>,
    /// Those that may still be promoted.
    waiting: BTreeSet<RankedTrial>,
    /// Whether its ranks tell nothing about final values: every trial that reaches it continues.
    silent: bool,
}

impl AshaRung {
    fn push(&mut self, result: RankedTrial) {
        self.results.insert(self.results.partition_point(|other| *other < result), result);
        // a failed trial counts among the results, so that one in η of all continues, but is never promoted itself
        if result.score.is_finite() {
            self.waiting.insert(result);
        }
    }

    /// The best trial that was not promoted, if it is among the best 1/η of the rung.
    fn promotable(&self, eta: u64) -> Option<RankedTrial> {
        let best = *self.waiting.first()?;
        let rank = self.results.partition_point(|other| *other < best);
        (self.silent || rank < self.results.len() / eta as usize).then_some(best)
    }

    fn rank(&mut self, ranks: &TrialRanks, level: u64) {
        self.silent = ranks.silent.contains(&level);
        self.results.iter_mut().for_each(|result| *result = result.by(ranks, level));
        self.results.sort();
        self.waiting = self.waiting.iter().map(|result| result.by(ranks, level)).collect();
    }
}

impl Asha {
    /// `trials` trials up to `max_resource` with reduction factor `eta`, and at most `most` rungs below the end.
    ///
    /// # Errors
    /// Those of [`levels`](crate::levels).
    pub fn new(trials: u64, max_resource: u64, eta: u64, most: Option<u32>) -> Result<Self, BracketError> {
        let levels = last_levels(max_resource, eta, most)?;
        let rungs = levels.len();
        Ok(Self {
            trials,
            eta,
            levels,
            started: 0,
            running: BTreeMap::new(),
            rungs: vec![AshaRung::default(); rungs],
            pauses: true,
        })
    }

    /// The highest rung that has a trial to promote, and that trial.
    fn promotable(&self) -> Option<(usize, RankedTrial)> {
        let below = (0..self.levels.len() - 1).rev().filter(|_| self.pauses);
        below.filter_map(|rung| Some((rung, self.rungs[rung].promotable(self.eta)?))).next()
    }

    fn run_job(&mut self, trial: u64, rung: usize) -> NextAction {
        self.running.insert(trial, rung);
        NextAction::Run(TrainingJob { trial, until: self.levels[rung] })
    }
}

impl Scheduler for Asha {
    fn next(&mut self) -> NextAction {
        if let Some((rung, best)) = self.promotable() {
            self.rungs[rung].waiting.remove(&best);
            return self.run_job(best.trial, rung + 1);
        }
        if self.started < self.trials {
            self.started += 1;
            return self.run_job(self.started - 1, if self.pauses { 0 } else { self.levels.len() - 1 });
        }
        if self.running.is_empty() { NextAction::Done } else { NextAction::Wait }
    }

    fn end_job(&mut self, trial: u64, end: JobEnd) {
        if let Some(rung) = self.running.remove(&trial) {
            self.rungs[rung].push(RankedTrial { trial, score: end.score });
        }
    }

    fn rank(&mut self, ranks: &TrialRanks) {
        for (rung, level) in self.rungs.iter_mut().zip(&self.levels) {
            rung.rank(ranks, *level);
        }
    }

    fn raise(&mut self, trials: u64) -> bool {
        self.trials = self.trials.max(trials);
        true
    }

    fn pause_no_more(&mut self) -> bool {
        self.pauses = false;
        true
    }

    fn is_done(&self) -> bool {
        self.started == self.trials && self.running.is_empty() && self.promotable().is_none()
    }

    fn reference(&self, trial: u64) -> Option<f64> {
        let rung = *self.running.get(&trial)?;
        let results = &self.rungs[rung].results;
        let last = rung + 1 == self.levels.len();
        let enough = results.len() as u64 >= self.eta;
        let k = if last { 1 } else { (results.len() as u64).div_ceil(self.eta) as usize };
        results.get(k.checked_sub(1)?).map(|result| result.score).filter(|_| enough || last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers::tests::drive;

    #[test]
    fn a_trial_goes_on_as_soon_as_it_is_among_the_best() {
        let mut asha = Asha::new(9, 9, 3, None).unwrap();
        let jobs = drive(&mut asha, |trial, _| [5, 1, 2, 9, 8, 7, 3, 4, 6][trial as usize] as f64);
        let written: Vec<(u64, u64)> = jobs.iter().map(|job| (job.trial, job.until)).collect();
        let start = [(0, 1), (1, 1), (2, 1), (0, 3), (3, 1), (3, 3), (4, 1), (5, 1), (4, 3)];
        assert_eq!(written[..9], start, "0 leads three; then 3 leads four; then 4 is second of six");
        assert_eq!(written.iter().filter(|job| job.1 == 9).count(), 1);
        assert!(written.contains(&(3, 9)), "the best of all is trained to the end");
    }

    #[test]
    fn there_is_nothing_to_beat_before_eta_results() {
        let mut asha = Asha::new(9, 9, 3, None).unwrap();
        for _ in 0..4 {
            asha.next();
        }
        for trial in 0..3 {
            assert_eq!(asha.reference(3), None);
            asha.end_job(trial, JobEnd { score: trial as f64, stopped: false });
        }
        assert_eq!(asha.reference(3), Some(2.0));
    }
}
