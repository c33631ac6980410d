//! Completed recorded runs on one grid of points, where a replay looks results up.

use super::error::ReplayError;
use super::nearest::space_of;
use crate::objective::{Objective, parts};
use crate::samplers::SamplerSpec;
use crate::space::Space;
use crate::study::DIVERGED_AFTER;
use foretell::{Curve, Direction, History, HistoryOptions, Run, RunScore, Value, statistics};
use std::collections::BTreeSet;

/// With fewer different configurations, a sampler that learns has no choice.
const MIN_CONFIGURATIONS: usize = 60;

/// Completed runs on a common grid of points.
#[derive(Clone, Debug)]
pub struct RunTable {
    history: History,
    options: HistoryOptions,
    /// The completed runs: their numbers in the history, and what was recorded.
    indices: Vec<usize>,
    runs: Vec<Run>,
    /// Steps of the points, in the runs' own unit.
    grid: Vec<f64>,
    /// The reports of each run at the points, in the metric's unit; NaN where it had diverged.
    values: Vec<Vec<f64>>,
    /// Objectives besides the metric.
    objectives: Vec<Objective>,
    /// The scores of each run in them, larger being better.
    others: Vec<Vec<f64>>,
    /// Scores of each run at the points, as the history of all runs has them; larger is better.
    scores: Vec<Vec<f64>>,
}

impl RunTable {
    /// The finished ones among `runs`, laid on a grid by `options`, with `finer` − 1 points between each two grid points,
    /// straight-line interpolated (1 leaves the grid as it is).
    ///
    /// # Errors
    /// [`ReplayError::History`] if the runs make no history, [`ReplayError::TooFewRuns`] if fewer than two are finished,
    /// [`ReplayError::OnePoint`] if the grid has a single point.
    pub fn new(runs: &[Run], options: &HistoryOptions, finer: usize) -> Result<Self, ReplayError> {
        let history = History::new(runs, options)?;
        let indices: Vec<usize> = (0..history.len()).filter(|&i| history.final_score(i).is_some()).collect();
        if indices.len() < 2 {
            let unfinished = history.len() - indices.len();
            return Err(ReplayError::TooFewRuns { got: indices.len(), unfinished });
        }
        if history.grid().len() < 2 {
            return Err(ReplayError::OnePoint);
        }
        let finished: Vec<&Run> = indices.iter().map(|&i| &runs[i]).collect();
        let reports =
            finished.iter().map(|run| interpolate_reports(&run.curve, history.grid(), history.direction()));
        Ok(Self {
            grid: interpolate_between(history.grid(), finer),
            values: reports.map(|values| interpolate_between(&values, finer)).collect(),
            scores: indices
                .iter()
                .map(|&i| interpolate_between(&completed_scores(&history, i), finer))
                .collect(),
            objectives: Vec::new(),
            others: vec![Vec::new(); indices.len()],
            options: HistoryOptions { metric: Some(history.metric().clone()), ..options.clone() },
            runs: finished.into_iter().cloned().collect(),
            indices,
            history,
        })
    }

    /// The name of the sampler that a search of the recorded configurations would use; `None` if fewer than 60 differ, because a study of 40
    /// trials would have no choice among them.
    pub fn default_sampler_name(&self) -> Option<String> {
        let configurations = self.runs.iter().map(|run| &run.configuration);
        let different: BTreeSet<String> = configurations.clone().map(|it| format!("{it:?}")).collect();
        if different.len() < MIN_CONFIGURATIONS {
            return None;
        }
        let space = Space::Parameters(space_of(configurations)?);
        Some(SamplerSpec::usual(&space).name().to_owned())
    }

    /// Returns these runs with the objectives that are `written`, such as `weights:min`: values of their configurations, or formulas over
    /// these. The metric may be among them, and stays what is forecast.
    ///
    /// # Errors
    /// [`ReplayError::Objective`] for one that cannot be read or that a configuration does not have.
    pub fn with_objectives<S: AsRef<str>>(self, written: &[S]) -> Result<Self, ReplayError> {
        let metric = self.history.metric().name.trim_end_matches('_');
        let names: BTreeSet<&str> =
            self.runs.iter().flat_map(|run| run.configuration.keys()).map(String::as_str).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let others = written.iter().map(AsRef::as_ref);
        let others = others.filter(|text| parts(text).0.trim_end_matches('_') != metric);
        let objectives =
            others.map(|text| Objective::parse_with_names(text, &names)).collect::<Result<Vec<_>, _>>()?;
        let others = self.runs.iter().map(|run| objective_scores(run, &objectives, &names));
        Ok(Self { others: others.collect::<Result<_, _>>()?, objectives, ..self })
    }

    /// The objectives besides the metric.
    pub fn objectives(&self) -> &[Objective] {
        &self.objectives
    }

    /// The scores of `run` in all objectives after `points` points, larger being better, the metric first.
    pub(super) fn all_scores(&self, run: usize, points: u64) -> Vec<f64> {
        std::iter::once(self.score(run, points)).chain(self.others[run].iter().copied()).collect()
    }

    /// The number of runs.
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// Whether there is no run; never true.
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// T, how many points each run has: the replay's unit of resource.
    pub fn points(&self) -> usize {
        self.grid.len()
    }

    /// The steps of the points.
    pub fn grid(&self) -> &[f64] {
        &self.grid
    }

    /// The scores of `run`.
    pub fn scores(&self, run: usize) -> &[f64] {
        &self.scores[run]
    }

    /// The result of `run` after `points` points.
    pub fn score(&self, run: usize, points: u64) -> f64 {
        self.scores[run][points as usize - 1]
    }

    /// The last score of `run`.
    pub fn final_score(&self, run: usize) -> f64 {
        self.score(run, self.points() as u64)
    }

    /// The history's number of `run`.
    pub fn index(&self, run: usize) -> usize {
        self.indices[run]
    }

    /// The record of `run`.
    pub fn run(&self, run: usize) -> &Run {
        &self.runs[run]
    }

    /// The report of `run` after `points` points, in the metric's unit; NaN where it had diverged.
    pub fn value(&self, run: usize, points: u64) -> f64 {
        self.values[run][points as usize - 1]
    }

    /// The curve of `run` over its first `points` points, numbered from 1: what a study sees of it.
    pub fn curve(&self, run: usize, points: u64) -> Curve {
        Curve::from_epoch_values(&self.values[run][..points as usize], self.history.direction())
    }

    /// Where a training of `run` up to `points` points ends without stopping: there, or where a study sees that it has diverged.
    pub fn trained_to(&self, run: usize, points: u64) -> u64 {
        let mut lost = 0;
        for (point, value) in (1..).zip(&self.values[run][..points as usize]) {
            lost = if value.is_finite() { 0 } else { lost + 1 };
            if lost == DIVERGED_AFTER {
                return point;
            }
        }
        points
    }

    /// The worth of `run` after `points` points, as a score in the metric's unit; −∞ if it is lost by then.
    pub fn truth(&self, run: usize, points: u64) -> f64 {
        let curve = self.curve(run, points);
        // where the best value counts, a run keeps what it reached before it diverged
        let lost = self.options.run_score == RunScore::Last && curve.diverged_at().is_some();
        self.options.run_score.value_of(&curve).filter(|_| !lost).unwrap_or(f64::NEG_INFINITY)
    }

    /// The options by which runs are laid on a grid.
    pub fn options(&self) -> &HistoryOptions {
        &self.options
    }

    /// The history that the runs are from.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The standard deviation of the final scores.
    pub fn spread(&self) -> f64 {
        let finals: Vec<f64> = (0..self.len()).map(|run| self.final_score(run)).collect();
        statistics::standard_deviation(&finals)
    }
}

/// The scores of `run` in `objectives`, whose formulas may use the values that are `known` of configurations.
fn objective_scores(run: &Run, objectives: &[Objective], known: &[&str]) -> Result<Vec<f64>, ReplayError> {
    let scores = objectives.iter().map(|objective| {
        let value = objective.of.evaluate(|name| run.configuration.get(name).and_then(Value::as_number));
        let value = value.ok_or_else(|| ReplayError::Unmeasured {
            of: objective.of.to_string(),
            run: run.id.clone(),
            known: known.join(", "),
        })?;
        Ok(objective.direction.to_score(value))
    });
    scores.collect()
}

/// The reports of the run with this `curve` at the steps of `grid`; before its first point its first value. A gap inside the curve
/// lies on a straight line: runs that do not share their steps have nothing else to report.
fn interpolate_reports(curve: &Curve, grid: &[f64], direction: Direction) -> Vec<f64> {
    let first = curve.steps().first().zip(curve.scores().first());
    let values = grid.iter().map(|&step| {
        let before = first.filter(|(start, _)| step < **start).map(|(_, score)| *score);
        curve.interpolate_at(step).or(before).map_or(f64::NAN, |score| direction.to_value(score))
    });
    values.collect()
}

/// The scores of a completed run, whose last one is its final score.
fn completed_scores(history: &History, run: usize) -> Vec<f64> {
    let mut scores = history.run_prefix(run).to_vec();
    let last = history.final_score(run).unwrap_or_else(|| history.lowest_score());
    scores.resize(history.grid().len(), last);
    if let Some(end) = scores.last_mut() {
        *end = last;
    }
    scores
}

/// `values` with `finer` − 1 points put between each two.
fn interpolate_between(values: &[f64], finer: usize) -> Vec<f64> {
    let finer = finer.max(1);
    let between = values.windows(2).flat_map(|pair| {
        let (a, b) = (pair[0], pair[1]);
        (0..finer).map(move |k| if k == 0 { a } else { a + (b - a) * k as f64 / finer as f64 })
    });
    between.chain(values.last().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finer_points_lie_on_straight_lines() {
        assert_eq!(
            interpolate_between(&[0.0, 1.0, 0.0], 4),
            [0.0, 0.25, 0.5, 0.75, 1.0, 0.75, 0.5, 0.25, 0.0]
        );
        assert_eq!(interpolate_between(&[0.0, 1.0], 1), [0.0, 1.0]);
    }
}
