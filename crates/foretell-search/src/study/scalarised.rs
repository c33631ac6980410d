//! Proposals with several objectives, and the reward of Q-learning: what a trial is worth to a sampler, in one number.

use super::outlook::Gains;
use super::{Study, Trial, TrialState};
use crate::samplers::Sampler;
use crate::samplers::random::trial_stream;
use crate::samplers::worth::Worth;
use crate::space::Space;
use foretell::Configuration;
use rand::RngExt;
use std::collections::BTreeMap;

/// What the stream of a proposal's weights adds to its trial's number.
const WEIGHTS: u64 = 1 << 61;
/// The weight of the sum beside the largest term.
const SUM: f64 = 0.05;

/// What is known of a trial: its metric, how sure that is, and its other objectives; larger is better.
struct Known {
    worth: Worth,
    others: Vec<f64>,
}

/// One number for all objectives: the augmented Chebyshev distance from the best of each, larger being better.
///
/// s = −(maxⱼ wⱼ·cⱼ + 0.05·Σⱼ wⱼ·cⱼ), where cⱼ is the share of trials that are better in objective j, and the weights w are drawn uniformly
/// from the simplex for each proposal: so proposals look for all parts of the front in turn.
///
/// Source: Knowles 2006, "ParEGO"; shares of ranks in place of shares of the range, since costs often span decades.
struct Scalar {
    weights: Vec<f64>,
    /// By objective: the values there are, ascending.
    sorted: Vec<Vec<f64>>,
}

impl Scalar {
    fn new(all: &[Known], weights: Vec<f64>) -> Self {
        let of = |objective: usize| {
            let value = |known: &Known| {
                objective.checked_sub(1).map_or(known.worth.score, |other| known.others[other])
            };
            let mut values: Vec<f64> = all.iter().map(value).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        Self { sorted: (0..weights.len()).map(of).collect(), weights }
    }

    /// The share of trials that are better than `value`; between two values on a straight line.
    fn cost(&self, objective: usize, value: f64) -> f64 {
        let sorted = &self.sorted[objective];
        let (below, through) =
            (sorted.partition_point(|other| *other < value), sorted.partition_point(|other| *other <= value));
        let place = if through > below {
            (below + through - 1) as f64 / 2.0
        } else if below == 0 {
            0.0
        } else if below == sorted.len() {
            (sorted.len() - 1) as f64
        } else {
            let (low, high) = (sorted[below - 1], sorted[below]);
            (below - 1) as f64 + (value - low) / (high - low)
        };
        1.0 - place / (sorted.len().max(2) - 1) as f64
    }

    fn score(&self, metric: f64, others: &[f64]) -> f64 {
        let values = std::iter::once(metric).chain(others.iter().copied()).enumerate();
        let terms: Vec<f64> = values.map(|(at, value)| self.weights[at] * self.cost(at, value)).collect();
        -(terms.iter().copied().fold(0.0, f64::max) + SUM * terms.iter().sum::<f64>())
    }

    fn worth(&self, Known { worth, others }: &Known) -> Worth {
        let at = |score: f64| self.score(score, others);
        let sd = (at(worth.score + worth.sd) - at(worth.score - worth.sd)).abs() / 2.0;
        Worth { score: at(worth.score), sd, measured: worth.measured }
    }
}

impl Study {
    /// The configuration that the sampler proposes for new trial `trial`. O(n log n) besides the sampler's own with several objectives.
    pub(super) fn sampled(&mut self, trial: u64) -> Option<Configuration> {
        let proposed = match self.scalarised(trial) {
            Some(mut sampler) => sampler.propose(trial),
            None => self.sampler.propose(trial),
        };
        match &self.spec.space {
            // brackets with fewer trials than planned would promote none: a configuration is repeated, with a seed of its own
            Space::Parameters(space) if proposed.is_none() && !self.spec.schedule.is_full() => {
                Some(space.sample(&mut trial_stream(self.spec.seed, trial)))
            }
            _ => proposed,
        }
    }

    /// A sampler that has heard what each trial is worth by weights of this proposal; `None` with one objective, or where the sampler
    /// does not learn from scores. It is made anew from the trials, so that a study which goes on proposes the same.
    fn scalarised(&self, trial: u64) -> Option<Box<dyn Sampler>> {
        let spec = &self.spec;
        if !spec.has_front() || self.brings_sampler || !spec.sampler.learns_from_forecasts() {
            return None;
        }
        let mut random = trial_stream(spec.seed, trial + WEIGHTS);
        // exponentials in their shares are uniform on the simplex
        let drawn: Vec<f64> =
            (0..=spec.objectives.len()).map(|_| -(1.0 - random.random::<f64>()).ln()).collect();
        let sum: f64 = drawn.iter().sum();
        let weights = drawn.into_iter().map(|weight| weight / sum).collect();
        let mut gains = BTreeMap::new();
        let all: Vec<(u64, &Trial, Option<Known>)> = (0..)
            .zip(&self.trials)
            .map(|(number, trial)| (number, trial, self.come_to(number as usize, &mut gains)))
            .collect();
        let mut sampler = spec.sampler.sampler(&spec.space, spec.seed).ok()?;
        let (known, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, _, known)| known.is_some());
        for (number, trial, _) in &rest {
            sampler.started(*number, &trial.configuration);
            if !trial.is_open() {
                sampler.failed(*number, &trial.configuration);
            }
        }
        let (trials, known): (Vec<_>, Vec<Known>) =
            known.into_iter().filter_map(|(number, trial, known)| Some(((number, trial), known?))).unzip();
        let scalar = Scalar::new(&known, weights);
        for ((number, trial), known) in trials.iter().zip(&known) {
            sampler.started(*number, &trial.configuration);
            sampler.told(*number, &trial.configuration, scalar.worth(known));
        }
        Some(sampler)
    }

    /// What is known of trial `index`, if it has ended with a result or is paused, and keeps the limits.
    fn come_to(&self, index: usize, gains: &mut BTreeMap<u64, Gains>) -> Option<Known> {
        let (trial, direction) = (&self.trials[index], self.spec.direction);
        let worth = match &trial.state {
            TrialState::Completed { value } => Worth::measured(direction.score(*value)),
            TrialState::Stopped { forecast, .. } => {
                let sd = forecast.map_or(0.0, |forecast| forecast.sd);
                Worth::forecast(direction.score(trial.result()?), sd)
            }
            TrialState::Paused { .. } => self.outlook_by_gains(index, gains)?,
            _ => return None,
        };
        let others = self.others_at(trial, trial.step).into_iter().collect::<Option<Vec<f64>>>()?;
        trial.counts().then_some(Known { worth, others })
    }

    /// What the sampler hears of a trial's `worth`: with a reward of its own, that in its place.
    pub(super) fn rewarded(&self, trial: &Trial, worth: Worth) -> Worth {
        let Some(reward) = &self.spec.reward else { return worth };
        let direction = self.spec.direction;
        let at = |score: f64| {
            reward.value(|name| match name {
                _ if name == self.spec.metric => Some(direction.value(score)),
                _ => self.spec.space.known_value(&trial.configuration, name),
            })
        };
        // what cannot be rewarded has the worst that a network can: nothing
        Worth { score: at(worth.score).unwrap_or(0.0), ..worth }
    }
}
