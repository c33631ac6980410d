//! Repeats: the trials of one configuration, each with a seed of its own, which is judged by their mean.

use crate::study::{StudySpec, Trial, TrialState};
use foretell::Configuration;
use foretell::statistics::{mean, normal_quantile};
use std::collections::{BTreeMap, BTreeSet};

/// The trials of a study by their configurations; empty where each configuration is trained once.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::study) struct RepeatGroups {
    groups: BTreeMap<String, RepeatGroup>,
}

/// The trials of one configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RepeatGroup {
    started: BTreeSet<usize>,
    open: BTreeSet<usize>,
    /// The scores of those that were trained to their end (larger is better).
    scores: BTreeMap<usize, f64>,
}

impl RepeatGroup {
    /// The first trial that has a result, and the mean of all.
    pub(super) fn result(&self) -> Option<(usize, f64)> {
        let (&first, _) = self.scores.first_key_value()?;
        Some((first, mean(&self.values())))
    }

    /// Whether all `repeats` have a result.
    pub(super) fn is_whole(&self, repeats: u64) -> bool {
        self.scores.len() as u64 >= repeats
    }

    pub(super) fn has(&self, trial: usize) -> bool {
        self.started.contains(&trial)
    }

    fn values(&self) -> Vec<f64> {
        self.scores.values().copied().collect()
    }

    fn missing(&self, repeats: u64) -> u64 {
        repeats.saturating_sub(self.started.len() as u64)
    }

    /// Adds trial `index` as it is now.
    pub(super) fn add(&mut self, index: usize, trial: &Trial, spec: &StudySpec) {
        self.started.insert(index);
        if trial.is_open() {
            self.open.insert(index);
        }
        let achieved = trial.achieved_result(spec);
        if let (TrialState::Completed { .. }, Some(value)) = (&trial.state, achieved) {
            self.scores.insert(index, spec.direction.to_score(value) + 0.0); // −0 and 0 are equal scores
        }
    }

    /// Removes what [`add`](Self::add) added.
    pub(super) fn remove(&mut self, index: usize) {
        self.started.remove(&index);
        self.open.remove(&index);
        self.scores.remove(&index);
    }
}

impl RepeatGroups {
    /// The trials of `configuration`.
    pub(super) fn group_mut(&mut self, configuration: &Configuration) -> &mut RepeatGroup {
        self.groups.entry(configuration_key(configuration)).or_default()
    }

    /// The trials of `configuration`, if there are any.
    pub(super) fn group(&self, configuration: &Configuration) -> Option<&RepeatGroup> {
        self.groups.get(&configuration_key(configuration))
    }

    /// Whether trial `index` repeats an earlier one of its `configuration`.
    pub(crate) fn is_repeat(&self, index: usize, configuration: &Configuration) -> bool {
        self.group(configuration)
            .is_some_and(|group| group.started.first().is_some_and(|first| *first < index))
    }

    /// The scores of the trials of `configuration`.
    pub(crate) fn scores(&self, configuration: &Configuration) -> Vec<f64> {
        self.group(configuration).map(RepeatGroup::values).unwrap_or_default()
    }

    /// The trial whose configuration is to be trained with a further seed: that of the best mean that can still win. `rival` names the
    /// best mean of other configurations.
    pub(super) fn due(&self, spec: &StudySpec, rival: impl Fn(&RepeatGroup) -> Option<f64>) -> Option<usize> {
        let deviation = self.deviation();
        let open = self.groups.values().filter(|group| group.missing(spec.repeats()) > 0);
        let able = open.filter(|group| can_win(group, spec, deviation, rival(group)));
        able.filter_map(RepeatGroup::result)
            .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
            .map(|best| best.0)
    }

    /// The number of further trials that running ones may need, if they turn out well.
    pub(crate) fn owed_trials(&self, repeats: u64) -> u64 {
        let first = |group: &&RepeatGroup| group.scores.is_empty() && !group.open.is_empty();
        self.groups.values().filter(first).map(|group| group.missing(repeats)).sum()
    }

    /// The standard deviation of trials of one configuration, pooled over all; 0 as long as none is known.
    fn deviation(&self) -> f64 {
        pooled_deviation(self.groups.values().map(RepeatGroup::values)).unwrap_or(0.0)
    }
}

/// The standard deviation within `groups` of scores, pooled over all; `None` if none has two.
pub(in crate::study) fn pooled_deviation(groups: impl Iterator<Item = Vec<f64>>) -> Option<f64> {
    let (mut squares, mut freedom) = (0.0, 0);
    for scores in groups.filter(|scores| scores.len() > 1) {
        let middle = mean(&scores);
        squares += scores.iter().map(|score| (score - middle).powi(2)).sum::<f64>();
        freedom += scores.len() - 1;
    }
    (freedom > 0).then(|| (squares / freedom as f64).sqrt())
}

/// By how much the mean of the first `known` of `all` scores differs from that of all: σ · √(1/n − 1/K).
pub(in crate::study) fn spread_of_mean(deviation: f64, known: usize, all: u64) -> f64 {
    deviation * (1.0 / known as f64 - 1.0 / all as f64).max(0.0).sqrt()
}

/// Whether the mean of all repeats may reach the `rival`, by the probability with which the study stops trials.
fn can_win(group: &RepeatGroup, spec: &StudySpec, deviation: f64, rival: Option<f64>) -> bool {
    let (Some((_, so_far)), Some(rival)) = (group.result(), rival) else { return true };
    let spread = spread_of_mean(deviation, group.scores.len(), spec.repeats());
    so_far + normal_quantile(spec.criterion.stop_probability) * spread >= rival
}

/// A configuration as a key; equal configurations are written alike.
fn configuration_key(configuration: &Configuration) -> String {
    serde_json::to_string(configuration).unwrap_or_default()
}
