//! The range that completed runs covered from here; no forecast goes beyond it.

use crate::curves::curve::RunScore;
use crate::curves::training::TrainingSet;
use crate::statistics::quantile_of_sorted;

/// The range that completed runs covered from here: a forecast outside of it is moved to its edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForecastRange {
    /// Least and largest final score.
    finals: (f64, f64),
    /// The 10 % and 90 % quantiles of y_T − y_τ.
    gains: (f64, f64),
    /// The best score that there can be.
    ceiling: f64,
    run_score: RunScore,
}

impl ForecastRange {
    /// The reach of the final scores of `training` and its gains y_T − y_τ, of at least one run.
    pub(crate) fn new(training: &TrainingSet, gains: &[f64]) -> Self {
        let [targets, gains] = [&training.targets[..], gains].map(|values| {
            let mut sorted = values.to_vec();
            sorted.sort_by(f64::total_cmp);
            sorted
        });
        Self {
            finals: (targets[0], targets[targets.len() - 1]),
            gains: (quantile_of_sorted(&gains, 0.1), quantile_of_sorted(&gains, 0.9)),
            ceiling: training.ceiling.unwrap_or(f64::INFINITY),
            run_score: training.run_score,
        }
    }

    /// `forecast` within [min(y_min, y_τ + q10), max(y_max, y_τ + q90)], widened by 5 % of the range of final scores, and
    /// not above the ceiling, unless y_τ disproves it; not below y_τ where the best value counts.
    pub(crate) fn clip(&self, forecast: f64, last: f64) -> f64 {
        let room = 0.05 * (self.finals.1 - self.finals.0);
        let low = self.finals.0.min(last + self.gains.0) - room;
        let high = self.finals.1.max(last + self.gains.1) + room;
        let high = if last > self.ceiling { high } else { high.min(self.ceiling) };
        let low = match self.run_score {
            RunScore::Last | RunScore::Mean(_) => low,
            RunScore::Best => low.max(last),
        };
        forecast.min(high).max(low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clipping_keeps_a_forecast_where_finished_runs_have_been() {
        let runs = TrainingSet { targets: vec![0.2, 0.9, 0.6], ..TrainingSet::default() };
        let reach_of = |runs: &TrainingSet| ForecastRange::new(runs, &[0.1, 0.1, 0.1]);
        let reach = reach_of(&runs);
        let cases = [(0.5, 0.4, 0.5), (5.0, 0.4, 0.935), (-5.0, 0.4, 0.165), (5.0, 0.95, 1.085)];
        for (forecast, last, expected) in cases {
            let clipped = reach.clip(forecast, last);
            assert!((clipped - expected).abs() < 1e-12, "{forecast} from {last}: {clipped}");
        }
        let below_1 = reach_of(&TrainingSet { ceiling: Some(1.0), ..runs.clone() });
        for (forecast, last, expected) in
            [(5.0, 0.95, 1.0), (5.0, 0.4, 0.935), (-5.0, 0.95, 0.165), (5.0, 1.2, 1.335)]
        {
            let clipped = below_1.clip(forecast, last);
            assert!((clipped - expected).abs() < 1e-12, "{forecast} from {last} below 1: {clipped}");
        }
        let of_the_best = reach_of(&TrainingSet { run_score: RunScore::Best, ..runs });
        for (forecast, last, expected) in [(5.0, 0.4, 0.935), (0.5, 0.4, 0.5), (-5.0, 0.4, 0.4)] {
            let clipped = of_the_best.clip(forecast, last);
            assert!(
                (clipped - expected).abs() < 1e-12,
                "{forecast} from {last} where the best counts: {clipped}"
            );
        }
    }
}
