//! The values of trials in a study's further objectives and limits, and the scores a running trial has to beat there.

use crate::objective::{Formula, FrontStandings, Limit, LimitSide, Objective};
use crate::study::{Study, Trial, TrialState};
use foretell::Direction;

/// The number of trials after which an objective or a limit can be called wrong.
const MIN_JUDGED_TRIALS: usize = 3;

impl Study {
    /// The value of `name` for `trial`, as far as it is known for good: a parameter, the metric of one that was trained to its end, or
    /// what it reported.
    fn quantity(&self, trial: &Trial, name: &str) -> Option<f64> {
        if let Some(value) = self.spec.space.known_value(&trial.configuration, name) {
            return Some(value);
        }
        match &trial.state {
            TrialState::Completed { value } if *name == self.spec.metric => Some(*value),
            TrialState::Completed { .. } => trial.measured.get(name).copied(),
            // a curve may change until the trial ends; a value that never has changed is known from its report on
            _ if self.measures.is_curve(name) => None,
            _ => trial.measured.get(name).copied(),
        }
    }

    /// The value of `trial` in `of`, in its own unit; `None` where that is not known yet.
    pub(super) fn measured_value(&self, trial: &Trial, of: &Formula) -> Option<f64> {
        of.evaluate(|name| self.quantity(trial, name))
    }

    /// The values of `trial` in each further objective, in its own unit; `None` if still unknown.
    pub fn objective_values(&self, trial: &Trial) -> Vec<Option<f64>> {
        self.spec.objectives.iter().map(|objective| self.measured_value(trial, &objective.of)).collect()
    }

    /// The scores of `trial` in the further objectives, larger being better; `None` while one is not known.
    pub(super) fn others(&self, trial: &Trial) -> Option<Vec<f64>> {
        self.spec.objectives.iter().map(|objective| self.objective_score(trial, objective)).collect()
    }

    fn objective_score(&self, trial: &Trial, objective: &Objective) -> Option<f64> {
        Some(objective.direction.to_score(self.measured_value(trial, &objective.of)?))
    }

    /// The scores of `trial` in the further objectives after `step`, each in its place: for a curve its score there.
    pub(super) fn other_scores_at(&self, trial: &Trial, step: u64) -> Vec<Option<f64>> {
        let scores = self.spec.objectives.iter().map(|objective| {
            let curve = objective.of.sole_name().and_then(|name| trial.side.get(name));
            let point = curve.and_then(|curve| curve.prefix_until(step as f64).last_point());
            point.map(|(_, score)| score).or_else(|| self.objective_score(trial, objective))
        });
        scores.collect()
    }

    /// The first objective in which the value of `trial` is neither known nor forecast.
    pub(super) fn unknown_objective(&self, trial: &Trial) -> Option<&Objective> {
        self.spec.objectives.iter().find(|objective| {
            self.measured_value(trial, &objective.of).is_none() && !self.is_forecast(trial, objective)
        })
    }

    /// The first limit that `trial` breaks, and its value there.
    pub(super) fn broken_limit(&self, trial: &Trial) -> Option<(&Limit, f64)> {
        self.spec.limits.iter().find_map(|limit| {
            let value = self.measured_value(trial, &limit.of)?;
            limit.is_broken_by(value).then_some((limit, value))
        })
    }

    /// Notes whether trial `index` breaks a limit.
    pub(in crate::study) fn check_limits(&mut self, index: usize) {
        if self.spec.limits.is_empty() {
            return;
        }
        let breaks = self.broken_limit(&self.trials[index]).is_some();
        if breaks != self.trials[index].breaks_limit {
            self.change(index, |trial| trial.breaks_limit = breaks);
        }
    }

    /// The score that running trial `index` has to beat: the n-th best of the finished trials that are no worse in all other objectives, or a
    /// limit of the metric.
    pub(super) fn to_beat(&self, index: usize) -> Option<f64> {
        self.incumbent_of(&self.others(&self.trials[index])?)
    }

    /// The score to beat for any trial that reaches `others` in its other objectives, larger being better.
    pub(super) fn incumbent_of(&self, others: &[f64]) -> Option<f64> {
        let incumbent = self.measures.standings().incumbent(others, self.spec.criterion.nth_best);
        let bounds = self.spec.limits.iter().filter(|limit| limit.of.sole_name() == Some(&self.spec.metric));
        let least = bounds.filter_map(|limit| match (limit.bound, self.spec.direction) {
            (LimitSide::AtLeast, Direction::Maximize) | (LimitSide::AtMost, Direction::Minimize) => {
                Some(self.spec.direction.to_score(limit.value))
            }
            _ => None,
        });
        incumbent.into_iter().chain(least).max_by(f64::total_cmp)
    }

    /// Trial `index` was trained to its end.
    pub(in crate::study) fn join_standings(&mut self, index: usize) {
        let trial = &self.trials[index];
        if self.spec.compares_by_metric_alone() || !trial.counts() || trial.shadow.is_some() {
            return;
        }
        let TrialState::Completed { value } = trial.state else { return };
        if let Some(others) = self.others(trial) {
            let (score, nth_best) = (self.spec.direction.to_score(value), self.spec.criterion.nth_best);
            self.measures.standings_mut().push(score, others, nth_best);
        }
    }

    /// The trials that finished their training, in that order: the epochs that the study had spent by then, and the trial's index.
    pub(crate) fn finishes(&self) -> &[(u64, usize)] {
        self.measures.finishes()
    }

    /// The objectives that no finished trial has reported, and the limits that all trials break. Each text begins with the name of what
    /// it is about. Empty for the first two trials. O(trials).
    pub fn objective_problems(&self) -> Vec<String> {
        let finished: Vec<&Trial> =
            self.trials.iter().filter(|trial| matches!(trial.state, TrialState::Completed { .. })).collect();
        let ended = self.trials.iter().filter(|trial| !trial.is_open());
        let ended: Vec<&Trial> = ended.filter(|trial| !trial.is_failed()).collect();
        let mut problems = Vec::new();
        let missing = self
            .spec
            .formulas()
            .filter(|of| finished.iter().all(|trial| self.measured_value(trial, of).is_none()));
        for of in missing.filter(|_| finished.len() >= MIN_JUDGED_TRIALS) {
            problems.push(format!(
                "{of}: {} trials completed without reporting it. Print it in the metric's line or in its own, for example {{\"foretell\":{{\"step\":1,\"{}\":0.5,\"{of}\":1}}}} or `{}=0.5 {of}=1`",
                finished.len(), self.spec.metric, self.spec.metric
            ));
        }
        for limit in self.spec.limits.iter().filter(|_| ended.len() >= MIN_JUDGED_TRIALS) {
            let values: Vec<f64> =
                ended.iter().filter_map(|trial| self.measured_value(trial, &limit.of)).collect();
            let nearest = values
                .iter()
                .copied()
                .min_by(|a, b| (a - limit.value).abs().total_cmp(&(b - limit.value).abs()));
            if let Some(nearest) = nearest.filter(|_| {
                values.len() >= MIN_JUDGED_TRIALS && values.iter().all(|&value| limit.is_broken_by(value))
            }) {
                problems.push(format!(
                    "{limit}: all {} trials so far break it (the nearest value is {nearest}). Change the limit or the search space",
                    values.len()
                ));
            }
        }
        problems
    }

    /// Computes the standings again, from all trials.
    pub(in crate::study) fn begin_standings(&mut self) {
        *self.measures.standings_mut() = FrontStandings::default();
        (0..self.trials.len()).for_each(|index| self.join_standings(index));
    }
}
