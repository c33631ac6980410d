//! Possible final values of trials that were not trained to their end, for samplers: by the gains of those that were trained further.

use crate::samplers::worth::Worth;
use crate::study::{Study, TrialState};
use foretell::statistics::{mean, standard_deviation};
use std::collections::BTreeMap;

/// The number of trials of the most similar score a gain is taken from.
const NEIGHBOR_COUNT: usize = 7;
/// The sampler is told again when this many times as many trials have ended.
const RETELL_GROWTH: f64 = 1.05;

/// (score at a step, score gained since) of trials that were trained beyond it, ascending.
pub(super) type ScoreGains = Vec<(f64, f64)>;

impl Study {
    /// Tells the sampler how trial `latest` may end, if it was paused or stopped; and how each other one may, now and then:
    /// rarer the more there are, so that a log of n trials is read in O(n²).
    pub(in crate::study) fn tell_outlooks(&mut self, latest: usize) {
        if !self.spec.sampler.learns_from_forecasts() {
            return;
        }
        let ended = self.trials.len() as u64 - self.progress.trials.running;
        let all = ended as f64 >= RETELL_GROWTH * self.told_at as f64;
        if all {
            self.told_at = ended;
        }
        let mut known: BTreeMap<u64, ScoreGains> = BTreeMap::new();
        for index in if all { 0..self.trials.len() } else { latest..latest + 1 } {
            let Some(worth) = self.outlook_by_gains(index, &mut known) else { continue };
            self.sampler.learn(index as u64, &self.trials[index].configuration, worth);
        }
    }

    /// The score of trial `index` and what the seven of the most similar score at its step gained since; their standard
    /// deviation is its spread. `None` for a trial that runs, was trained to its end or has a forecast of it.
    pub(super) fn outlook_by_gains(
        &self,
        index: usize,
        known: &mut BTreeMap<u64, ScoreGains>,
    ) -> Option<Worth> {
        let trial = &self.trials[index];
        let stopped = match &trial.state {
            TrialState::Paused { .. } => true,
            TrialState::Stopped { forecast, .. } => {
                forecast.is_none() || trial.until < self.spec.max_resource
            }
            TrialState::Running
            | TrialState::Interrupted
            | TrialState::Completed { .. }
            | TrialState::Failed { .. } => false,
        };
        let score = self.spec.run_score.value_of(&trial.curve).filter(|_| stopped)?;
        let gains = known.entry(trial.step).or_insert_with(|| self.gains_since(trial.step));
        if gains.is_empty() {
            return Some(Worth::forecast(score, 0.0));
        }
        let after = gains.partition_point(|(at, _)| *at < score);
        let half = NEIGHBOR_COUNT / 2;
        let start = after.saturating_sub(half).min(gains.len().saturating_sub(NEIGHBOR_COUNT));
        let near: Vec<f64> = gains[start..].iter().take(NEIGHBOR_COUNT).map(|(_, gain)| *gain).collect();
        let gain = mean(&near);
        // one gain has no spread; it could have been nothing
        let sd = if near.len() > 1 { standard_deviation(&near) } else { gain.abs() };
        Some(Worth::forecast(score + gain, sd))
    }

    fn gains_since(&self, step: u64) -> ScoreGains {
        let gains = self.trials.iter().filter_map(|trial| {
            if trial.step <= step || matches!(trial.state, TrialState::Failed { .. }) {
                return None;
            }
            let then = self.spec.run_score.value_of(&trial.curve.prefix_until(step as f64))?;
            Some((then, self.spec.run_score.value_of(&trial.curve)? - then))
        });
        let mut gains: ScoreGains = gains.collect();
        gains.sort_by(|a, b| a.0.total_cmp(&b.0));
        gains
    }
}
