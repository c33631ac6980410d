//! Schedulers: who is trained next, and how far.

/// Train one trial up to a resource level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The trial's number; a number not seen before is a new trial.
    pub trial: u64,
    /// The resource that it is to have had at the end, in whole units.
    pub until: u64,
}

/// What an idle worker is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// This.
    Run(Job),
    /// Nothing until another job has ended.
    Wait,
    /// Nothing any more.
    Done,
}

/// How a job ended. A trial that failed or diverged has no score: −∞, and is never promoted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct End {
    /// The score reached (larger is better), or the forecast of a job that was stopped.
    pub score: f64,
    /// Whether a stopper stopped it.
    pub stopped: bool,
}

/// Hands out resource. A scheduler knows nothing of curves, clocks and workers, and asks for jobs in the same order
/// whenever the ends that it is told are the same.
pub trait Scheduler: Send {
    /// What an idle worker is to do.
    fn next(&mut self) -> Next;

    /// The running job of `trial` ended.
    fn ended(&mut self, trial: u64, end: End);

    /// Whether there is nothing left to hand out, once the running jobs have ended.
    fn is_done(&self) -> bool;

    /// The score that the running `trial` has to beat at the level it is trained to; `None` while nothing can be said.
    fn reference(&self, trial: u64) -> Option<f64>;
}

/// The k-th largest of `scores`; `None` if there are fewer, or k is 0. O(n log n).
pub(crate) fn kth_largest(scores: impl IntoIterator<Item = f64>, k: usize) -> Option<f64> {
    let mut sorted: Vec<f64> = scores.into_iter().collect();
    sorted.sort_by(|a, b| b.total_cmp(a));
    sorted.get(k.checked_sub(1)?).copied()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Runs `scheduler` with one worker, every job to its end; the score of a trial is `score(trial, until)`.
    pub(crate) fn drive(scheduler: &mut dyn Scheduler, score: impl Fn(u64, u64) -> f64) -> Vec<Job> {
        let mut jobs = Vec::new();
        while let Next::Run(job) = scheduler.next() {
            jobs.push(job);
            scheduler.ended(job.trial, End { score: score(job.trial, job.until), stopped: false });
        }
        jobs
    }

    #[test]
    fn the_kth_largest_needs_k_scores() {
        let scores = [0.2, 0.9, 0.5];
        assert_eq!(
            [0, 1, 2, 3, 4].map(|k| kth_largest(scores, k)),
            [None, Some(0.9), Some(0.5), Some(0.2), None]
        );
    }
}
