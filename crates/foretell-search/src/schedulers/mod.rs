//! Schedulers: who is trained next, and how far.
//!
//! A paused trial knows R and also where to pause, because schedules of the learning rate depend on R. It pauses by itself: ended at the
//! report of a rung's last epoch, it may not have written its checkpoint yet.

pub(crate) mod asha;
pub(crate) mod brackets;
pub(crate) mod f_hyperband;
pub(crate) mod full;
pub(crate) mod hyperband;
pub(crate) mod rank;
pub(crate) mod schedule;
pub(crate) mod successive_halving;

use crate::schedulers::rank::TrialRanks;
use std::cmp::Ordering;

/// Train one trial up to a resource level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrainingJob {
    /// The trial's number; a number not seen before is a new trial.
    pub trial: u64,
    /// The resource that it is to have had at the end, in whole units.
    pub until: u64,
}

/// The next action of an idle worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextAction {
    /// This.
    Run(TrainingJob),
    /// Nothing until another job has ended.
    Wait,
    /// Nothing any more.
    Done,
}

/// The end of a job. A trial that failed or diverged has the score −∞, and is never promoted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobEnd {
    /// The score reached (larger is better), or the forecast of a job that was stopped.
    pub score: f64,
    /// Whether a stopper stopped it.
    pub stopped: bool,
}

/// Assigns resources to trials. A scheduler knows nothing about curves, clocks and workers, and returns the same jobs for the same results.
pub trait Scheduler: Send + Sync {
    /// The next action of an idle worker.
    fn next(&mut self) -> NextAction;

    /// The running job of `trial` ended.
    fn end_job(&mut self, trial: u64, end: JobEnd);

    /// The scores by which trials that were trained to a rung are compared from now on.
    fn rank(&mut self, ranks: &TrialRanks);

    /// A paused trial has no checkpoint to continue from: from now on no trial is to be paused, or promoted. Whether it can do so; then
    /// each new trial is trained to its end in one go.
    fn pause_no_more(&mut self) -> bool {
        false
    }

    /// From now on there are at least `trials` trials. Whether it can do so: a plan for a number of trials cannot.
    fn raise(&mut self, _trials: u64) -> bool {
        false
    }

    /// From now on a new trial is trained to `max_resource`. Whether it can do so: one with rungs cannot.
    fn lengthen(&mut self, _max_resource: u64) -> bool {
        false
    }

    /// Whether there is nothing left to hand out, once the running jobs have ended.
    fn is_done(&self) -> bool;

    /// The score that the running `trial` has to beat at the level it is trained to; `None` while nothing can be said.
    fn reference(&self, trial: u64) -> Option<f64>;
}

/// A trial's score; ordered from the best to the worst, equal scores by the trial's number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RankedTrial {
    pub(crate) trial: u64,
    pub(crate) score: f64,
}

impl RankedTrial {
    /// As `ranks` have it at `level`; a trial that failed stays one.
    pub(crate) fn by(self, ranks: &TrialRanks, level: u64) -> Self {
        let new = ranks.score(self.trial, level).filter(|_| self.score.is_finite());
        Self { score: new.unwrap_or(self.score), ..self }
    }
}

impl Ord for RankedTrial {
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then(self.trial.cmp(&other.trial))
    }
}

impl PartialOrd for RankedTrial {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for RankedTrial {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for RankedTrial {}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Runs `scheduler` with one worker, every job to its end; the score of a trial is `score(trial, until)`.
    pub(crate) fn drive(scheduler: &mut dyn Scheduler, score: impl Fn(u64, u64) -> f64) -> Vec<TrainingJob> {
        let mut jobs = Vec::new();
        while let NextAction::Run(job) = scheduler.next() {
            jobs.push(job);
            scheduler.end_job(job.trial, JobEnd { score: score(job.trial, job.until), stopped: false });
        }
        jobs
    }

    #[test]
    fn ranks_go_from_the_best_to_the_worst_and_equal_scores_by_number() {
        let scores = [(0, 0.2), (3, 0.9), (2, 0.5), (1, 0.9), (4, f64::NEG_INFINITY)];
        let mut ranked = scores.map(|(trial, score)| RankedTrial { trial, score });
        ranked.sort();
        assert_eq!(ranked.map(|ranked| ranked.trial), [1, 3, 2, 0, 4]);
    }
}
