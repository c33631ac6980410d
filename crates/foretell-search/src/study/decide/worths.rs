//! The worth of trials to a sampler with several objectives, and the reward of Q-learning.

use super::outlook::ScoreGains;
use crate::objective::places;
use crate::samplers::random::{draw_allowed, trial_stream};
use crate::samplers::surrogate::KnownCosts;
use crate::samplers::worth::Worth;
use crate::samplers::{Sampler, front_sampler, parzen_sampler};
use crate::space::Space;
use crate::study::{Study, StudySpec, Trial, TrialState};
use foretell::Configuration;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The known facts of a trial: its metric, how sure that is, and its other objectives; larger is better.
struct KnownResult {
    worth: Worth,
    others: Vec<f64>,
}

impl Study {
    /// The configuration that the sampler proposes for new trial `trial`. O(n²) besides the sampler's own with several objectives.
    pub(in crate::study) fn propose_configuration(&mut self, trial: u64) -> Option<Configuration> {
        let proposed = self.allowed_proposal(trial);
        match &self.spec.space {
            // brackets with fewer trials than planned would promote none: a configuration is repeated, with a seed of its own
            Space::Parameters(space) if proposed.is_none() && !self.spec.schedule.is_full() => {
                let mut rng = trial_stream(self.spec.seed, trial);
                let misfits = self.misfits();
                draw_allowed(
                    || space.sample(&mut rng),
                    |drawn| self.spec.allows(drawn) && !misfits.rules_out(drawn),
                    |_| true,
                )
            }
            _ => proposed,
        }
    }

    /// The sampler's proposal for new trial `trial`, from the region that the limits and the memory allow. A replay has only the runs that
    /// were recorded, so there the proposal may break a limit.
    pub(in crate::study) fn allowed_proposal(&mut self, trial: u64) -> Option<Configuration> {
        let misfits = self.misfits();
        let is_restricted = !self.spec.limits.is_empty() || !misfits.is_empty();
        let mut for_front = self.for_front(trial);
        let sampler = for_front.as_mut().unwrap_or(&mut self.sampler);
        if !is_restricted || self.knowledge.recording.is_some() {
            return sampler.propose(trial);
        }
        let spec = &self.spec;
        sampler.propose_allowed(trial, &|drawn| spec.allows(drawn) && !misfits.rules_out(drawn))
    }

    /// A sampler that has heard what each trial came to in all objectives; `None` with one objective, or where the sampler
    /// does not learn from scores. It is made again from the trials, so that a study that continues proposes the same.
    ///
    /// Parzen estimators are told places: fronts one after another, each spread out. The Gaussian process has one process for each objective.
    fn for_front(&self, trial: u64) -> Option<Box<dyn Sampler>> {
        let spec = &self.spec;
        let Space::Parameters(space) = &spec.space else { return None };
        if !spec.has_front() || self.brings_sampler || !spec.sampler.learns_from_forecasts() {
            return None;
        }
        let mut gains = BTreeMap::new();
        let all: Vec<(u64, &Trial, Option<KnownResult>)> = (0..)
            .zip(&self.trials)
            .map(|(number, trial)| (number, trial, self.known_result(number as usize, &mut gains)))
            .collect();
        let (known, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, _, known)| known.is_some());
        let known: Vec<(u64, &Trial, KnownResult)> =
            known.into_iter().filter_map(|(number, trial, known)| Some((number, trial, known?))).collect();
        let by_process = spec.sampler.is_by_process(trial);
        let mut sampler = if by_process {
            let others = known.iter().map(|(number, _, known)| (*number, known.others.clone())).collect();
            front_sampler(space, spec.seed, others, spec.known_costs())
        } else {
            parzen_sampler(space, spec.seed)
        };
        for (number, trial, _) in &rest {
            sampler.observe_start(*number, &trial.configuration);
            if !trial.is_open() {
                sampler.observe_failure(*number, &trial.configuration);
            }
        }
        let points = known.iter().map(|(_, _, known)| {
            std::iter::once(known.worth.score).chain(known.others.iter().copied()).collect()
        });
        let places = places(&points.collect::<Vec<Vec<f64>>>());
        for ((number, trial, known), place) in known.iter().zip(places) {
            let worth = if by_process { known.worth } else { Worth::from_measurement(-(place as f64)) };
            sampler.observe_start(*number, &trial.configuration);
            sampler.learn(*number, &trial.configuration, worth);
        }
        Some(sampler)
    }

    /// The known facts of trial `index`, if it has ended with a result or is paused, and keeps the limits.
    fn known_result(&self, index: usize, gains: &mut BTreeMap<u64, ScoreGains>) -> Option<KnownResult> {
        let (trial, direction) = (&self.trials[index], self.spec.direction);
        let worth = match &trial.state {
            TrialState::Completed { value } => Worth::from_measurement(direction.to_score(*value)),
            TrialState::Stopped { forecast, .. } => {
                let sd = forecast.map_or(0.0, |forecast| forecast.sd);
                Worth::forecast(direction.to_score(trial.result()?), sd)
            }
            TrialState::Paused { .. } => self.outlook_by_gains(index, gains)?,
            TrialState::Running | TrialState::Interrupted | TrialState::Failed { .. } => return None,
        };
        let others = self.other_scores_at(trial, trial.step).into_iter().collect::<Option<Vec<f64>>>()?;
        trial.counts().then_some(KnownResult { worth, others })
    }

    /// The sampler's version of a trial's `worth`: with a reward of its own, that in its place.
    pub(in crate::study) fn sampler_worth(&self, trial: &Trial, worth: Worth) -> Worth {
        let Some(reward) = &self.spec.reward else { return worth };
        let reward = reward.evaluate(|name| match name {
            _ if name == self.spec.metric => Some(self.spec.direction.to_value(worth.score)),
            _ => self.spec.space.known_value(&trial.configuration, name),
        });
        // what cannot be rewarded has the worst that a network can: nothing
        Worth { score: reward.unwrap_or(0.0), ..worth }
    }
}

impl StudySpec {
    /// The objectives of a configuration, as far as its parameters give them.
    fn known_costs(&self) -> KnownCosts {
        let (space, objectives) = (self.space.clone(), self.objectives.clone());
        Arc::new(move |configuration: &Configuration| {
            let scores = objectives.iter().map(|objective| {
                let value = objective.of.evaluate(|name| space.known_value(configuration, name))?;
                Some(objective.direction.to_score(value))
            });
            scores.collect()
        })
    }
}
