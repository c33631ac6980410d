//! Courses of replays: the best so far by the resource spent, and the speed-up by the runs of Hyperband.

use super::outcome::ReplayOutcome;
use super::table::RunTable;
use foretell::statistics::{mean, quantile_of_sorted, standard_error};
use serde::{Deserialize, Serialize};

/// The best so far at one moment, over several orderings of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BestSoFarPoint {
    /// Resource spent until then by all trials.
    pub resource: f64,
    /// Best score so far, in the user's direction: mean or median over orderings.
    pub middle: f64,
    /// Lower edge of the band, such as the 10 % quantile; not finite for a single ordering.
    pub low: f64,
    /// Upper edge of the band.
    pub high: f64,
}

/// Moments at which the best so far is shown.
const MOMENT_COUNT: usize = 120;

/// Points spent at which the best so far of `outcomes` is shown: equal factors apart, up to the most that any ordering spent.
pub fn best_so_far_moments(outcomes: &[ReplayOutcome]) -> Vec<u64> {
    let longest = outcomes.iter().flat_map(|o| &o.orderings).map(|o| o.spent).max().unwrap_or(1).max(2);
    let ratio = (longest as f64).ln() / MOMENT_COUNT as f64;
    (0..=MOMENT_COUNT).map(|i| (ratio * i as f64).exp().round() as u64).collect()
}

impl ReplayOutcome {
    /// Quantiles over orderings of the best so far in `table`, at the `moments` when every ordering has one, and at the end; `finer` points
    /// are one of the recorded ones.
    pub fn best_so_far(&self, table: &RunTable, moments: &[u64], finer: f64) -> Vec<BestSoFarPoint> {
        let end = self.orderings.iter().map(|o| o.spent).max().unwrap_or(0);
        // a best found after the last of the moments would be missing without the end
        let moments = moments.iter().copied().filter(|&moment| moment < end).chain([end]);
        let points = moments.filter_map(|moment| {
            let best = self.orderings.iter().map(|ordering| {
                let until_then = ordering.trace.best_so_far.iter().take_while(|step| step.0 <= moment);
                until_then.last().map(|step| step.1)
            });
            let mut scores: Vec<f64> = best.collect::<Option<_>>()?;
            scores.sort_by(f64::total_cmp);
            let [a, middle, b] =
                [0.1, 0.5, 0.9].map(|p| table.history().to_value(quantile_of_sorted(&scores, p)));
            Some(BestSoFarPoint { resource: moment as f64 / finer, middle, low: a.min(b), high: a.max(b) })
        });
        points.collect()
    }

    /// (iteration, mean, standard error) of the speed-up of all Hyperband runs so far against plain Hyperband, which spends the same
    /// on each; nothing for other schedules.
    pub fn speedup_by_iteration(&self) -> Vec<(f64, f64, f64)> {
        let runs = self.orderings.first().map_or(0, |o| o.trace.by_run.len());
        let points = (0..runs).map(|run| {
            let speedups = self.orderings.iter().map(|o| {
                let spent: u64 = o.trace.by_run[..=run].iter().map(|r| r.0).sum();
                o.full as f64 * (run + 1) as f64 / runs as f64 / spent.max(1) as f64
            });
            let speedups: Vec<f64> = speedups.collect();
            ((run + 1) as f64, mean(&speedups), standard_error(&speedups))
        });
        points.collect()
    }
}
