//! The fraction of the front of its runs that a replay kept.

use super::drive::ReplayTrace;
use super::setting::ReplaySetting;
use super::table::RunTable;
use crate::objective::{front_of, hypervolume, ranges, scale_to_shares};
use crate::samplers::random::trial_stream;
use foretell::statistics::mean;
use rand::RngExt;
use std::collections::BTreeSet;

/// Random choices of runs of equal cost.
const RANDOM_CHOICES: u64 = 20;

/// The fraction of the front that was kept: of the runs that no other dominates, and of the volume that they dominate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrontKept {
    /// The number of runs the front has.
    pub size: f64,
    /// The share of them that were trained to their end, or have an equal that was.
    pub kept: f64,
    /// The share of the front's hypervolume that those dominate which were trained to their end. Objectives are shares of the range of all
    /// runs, the metric on the scale of its forecasts.
    pub hypervolume: f64,
    /// `kept` for runs that are chosen at random and cost the same in all.
    pub kept_at_random: f64,
    /// `hypervolume` of the same.
    pub hypervolume_at_random: f64,
}

impl FrontKept {
    pub(super) fn new(
        setting: &ReplaySetting,
        table: &RunTable,
        trials: &[usize],
        trace: &ReplayTrace,
    ) -> Option<Self> {
        if table.objectives().is_empty() {
            return None;
        }
        let resource = setting.study.max_resource;
        let all: Vec<Vec<f64>> = trials.iter().map(|&run| table.all_scores(run, resource)).collect();
        let (worst, best) = ranges(&all);
        let all = scale_to_shares(&all, &worst, &best);
        let front = front_of(&all);
        let whole = hypervolume(&points_of(&all, &front), &vec![0.0; worst.len()]);
        let share = |kept: &[usize]| {
            let points = points_of(&all, kept);
            let is_kept = |index: &&usize| points.contains(&all[**index]);
            let found = front.iter().filter(is_kept).count() as f64 / front.len() as f64;
            let own = points_of(&points, &front_of(&points));
            let volume = hypervolume(&own, &vec![0.0; worst.len()]);
            (found, if whole > 0.0 { volume / whole } else { found })
        };
        let finished: BTreeSet<usize> =
            trace.trials.iter().filter(|trial| trial.finished).map(|trial| trial.run).collect();
        let finished: Vec<usize> = (0..trials.len()).filter(|&at| finished.contains(&trials[at])).collect();
        let (kept, hypervolume) = share(&finished);
        let affordable = (trace.spent_points(setting.retrain) / resource.max(1)) as usize;
        let at_random: Vec<(f64, f64)> = (0..RANDOM_CHOICES)
            .map(|choice| share(&choose_randomly(trials.len(), affordable, setting.study.seed, choice)))
            .collect();
        Some(Self {
            size: front.len() as f64,
            kept,
            hypervolume,
            kept_at_random: mean(&at_random.iter().map(|both| both.0).collect::<Vec<_>>()),
            hypervolume_at_random: mean(&at_random.iter().map(|both| both.1).collect::<Vec<_>>()),
        })
    }

    /// The means of several; `None` of none.
    pub(super) fn mean(all: &[Self]) -> Option<Self> {
        let each = |value: fn(&Self) -> f64| mean(&all.iter().map(value).collect::<Vec<_>>());
        (!all.is_empty()).then(|| Self {
            size: each(|one| one.size),
            kept: each(|one| one.kept),
            hypervolume: each(|one| one.hypervolume),
            kept_at_random: each(|one| one.kept_at_random),
            hypervolume_at_random: each(|one| one.hypervolume_at_random),
        })
    }
}

fn points_of(all: &[Vec<f64>], indices: &[usize]) -> Vec<Vec<f64>> {
    indices.iter().map(|&index| all[index].clone()).collect()
}

/// `many` of the numbers below `of`, at random.
fn choose_randomly(of: usize, many: usize, seed: u64, choice: u64) -> Vec<usize> {
    let mut random = trial_stream(seed, choice);
    let mut all: Vec<usize> = (0..of).collect();
    for at in 0..many.min(of) {
        all.swap(at, random.random_range(at..of));
    }
    all.truncate(many);
    all
}
