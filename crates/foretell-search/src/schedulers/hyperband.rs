//! Hyperband: brackets of successive halving from eager to patient, run after run.

use crate::schedulers::brackets::HyperbandPlan;
use crate::schedulers::f_hyperband::{Kappa, LevelResults, Reference};
use crate::schedulers::rank::TrialRanks;
use crate::schedulers::successive_halving::SuccessiveHalving;
use crate::schedulers::{JobEnd, NextAction, Scheduler};
use std::collections::BTreeMap;

/// Hyperband, run `runs` times. Trials are numbered consecutively through brackets and runs.
///
/// A worker that would have to wait for a rung takes a job of the next bracket instead, so only the very end idles.
/// With a stopper on it this is f-Hyperband: [`Reference`] and [`Kappa`] say what a running trial has to beat.
///
/// | reference | a running trial at level r has to beat |
/// |---|---|
/// | `rung` | the k-th best of its rung so far, k = max(1, ⌈κ·n_next⌉) |
/// | `level` | the (1 − κ·n_next/n_i) quantile of all results seen at r (1 − κ with [`KappaOf::Rung`](crate::KappaOf)), once 20 (or as many as the burn-in) are known |
///
/// Source: Li et al. 2018, algorithm 1; Baker et al. 2017, algorithm 2, for `rung`; `level` is ours.
#[derive(Clone, Debug)]
pub struct Hyperband {
    plan: HyperbandPlan,
    runs: u64,
    kappa: Kappa,
    reference: Reference,
    /// Brackets started so far, over all runs.
    opened: u64,
    next_trial: u64,
    open: Vec<SuccessiveHalving>,
    /// The open bracket of each running trial, by its place in `open`'s numbering from the first ever.
    places: BTreeMap<u64, u64>,
    /// Number of the first bracket that is still in `open`.
    first_open: u64,
    results: LevelResults,
}

impl Hyperband {
    /// `runs` Hyperband runs of `plan`; the reference `level` waits for `burn_in` results at a level, 20 at most.
    pub fn new(plan: HyperbandPlan, runs: u64, kappa: Kappa, reference: Reference, burn_in: usize) -> Self {
        Self {
            plan,
            runs,
            kappa,
            reference,
            opened: 0,
            next_trial: 0,
            open: Vec::new(),
            places: BTreeMap::new(),
            first_open: 0,
            results: LevelResults::new(burn_in),
        }
    }

    /// The bracket, counted over all runs, that a trial in training belongs to.
    fn bracket_of(&self, trial: u64) -> Option<&SuccessiveHalving> {
        let place = self.places.get(&trial)?.checked_sub(self.first_open)?;
        self.open.get(place as usize)
    }

    fn open_next(&mut self) -> bool {
        let brackets = self.plan.brackets.len() as u64;
        if self.opened == brackets * self.runs {
            return false;
        }
        let bracket = self.plan.brackets[(self.opened % brackets) as usize].clone();
        let configurations = bracket.totals().configurations;
        self.open.push(SuccessiveHalving::new(bracket, self.next_trial, self.kappa));
        self.next_trial += configurations;
        self.opened += 1;
        true
    }

    fn close_done(&mut self) {
        // only from the front, because places are counted from the first bracket that is still here
        let done = self.open.iter().take_while(|bracket| bracket.rung().is_none()).count();
        self.open.drain(..done);
        self.first_open += done as u64;
    }
}

impl Scheduler for Hyperband {
    fn next(&mut self) -> NextAction {
        self.close_done();
        loop {
            for (place, bracket) in self.open.iter_mut().enumerate() {
                if let NextAction::Run(job) = bracket.next() {
                    self.places.insert(job.trial, self.first_open + place as u64);
                    return NextAction::Run(job);
                }
            }
            if !self.open_next() {
                return if self.open.is_empty() { NextAction::Done } else { NextAction::Wait };
            }
        }
    }

    fn end_job(&mut self, trial: u64, end: JobEnd) {
        let Some(place) = self.places.remove(&trial) else { return };
        let bracket = &mut self.open[(place - self.first_open) as usize];
        if let Some(rung) = bracket.rung().filter(|_| end.score.is_finite()) {
            self.results.push(rung.resource, end.score);
        }
        bracket.end_job(trial, end);
        self.close_done();
    }

    fn rank(&mut self, ranks: &TrialRanks) {
        self.open.iter_mut().for_each(|bracket| bracket.rank(ranks));
    }

    fn is_done(&self) -> bool {
        self.open.iter().all(Scheduler::is_done) && self.opened == self.plan.brackets.len() as u64 * self.runs
    }

    fn reference(&self, trial: u64) -> Option<f64> {
        let bracket = self.bracket_of(trial)?;
        match self.reference {
            Reference::Rung => bracket.reference(trial),
            Reference::Level => {
                let rung = bracket.rung()?;
                let share = self.kappa.share(bracket.going_on(), rung.configurations);
                self.results.quantile(rung.resource, share)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers::brackets::plan;
    use crate::schedulers::tests::drive;

    fn score(trial: u64, until: u64) -> f64 {
        ((trial * 37) % 101) as f64 + until as f64
    }

    #[test]
    fn every_run_has_the_jobs_of_its_plan() {
        let plan = plan(27, 3).unwrap();
        let totals = plan.totals();
        let jobs = drive(&mut Hyperband::new(plan, 2, Kappa::default(), Reference::Rung, 20), score);
        assert_eq!(jobs.iter().map(|job| job.until).sum::<u64>(), 2 * totals.scratch);
        assert_eq!(jobs.iter().filter(|job| job.until == 27).count() as u64, 2 * totals.full);
        assert_eq!(jobs.iter().map(|job| job.trial).max(), Some(2 * totals.configurations - 1));
    }

    #[test]
    fn idle_workers_take_the_next_bracket_and_all_jobs_are_done() {
        let plan = plan(9, 3).unwrap();
        let mut hyperband = Hyperband::new(plan.clone(), 1, Kappa::default(), Reference::Level, 20);
        let mut running = Vec::new();
        let mut jobs = 0;
        loop {
            match hyperband.next() {
                NextAction::Run(job) => running.push(job),
                NextAction::Wait => {
                    let job = running.remove(0);
                    hyperband
                        .end_job(job.trial, JobEnd { score: score(job.trial, job.until), stopped: false });
                    jobs += 1;
                }
                NextAction::Done => break,
            }
        }
        let wanted: u64 = plan.brackets.iter().flat_map(|b| &b.rungs).map(|r| r.configurations).sum();
        assert_eq!((jobs, running.len()), (wanted, 0));
    }

    #[test]
    fn a_level_remembers_earlier_brackets() {
        let plan = plan(9, 3).unwrap();
        let mut hyperband = Hyperband::new(plan, 9, Kappa::default(), Reference::Level, 20);
        let mut seen = false;
        while let NextAction::Run(job) = hyperband.next() {
            seen |= hyperband.reference(job.trial).is_some();
            hyperband.end_job(job.trial, JobEnd { score: score(job.trial, job.until), stopped: false });
        }
        assert!(seen);
    }
}
