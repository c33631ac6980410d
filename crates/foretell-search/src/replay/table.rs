//! Finished recorded runs on one grid of points: what a replay looks results up in.

use super::ReplayError;
use foretell::{Encoder, History, TrainingSet};
use foretell::{Matrix, statistics};

/// Finished runs, all with a score at every grid point, larger is better.
#[derive(Clone, Debug)]
pub struct Table {
    history: History,
    /// The runs in the history.
    runs: Vec<usize>,
    /// Steps of the points, in the runs' own unit.
    grid: Vec<f64>,
    /// Scores of each run at the points.
    scores: Vec<Vec<f64>>,
}

impl Table {
    /// The finished runs of `history`, with `finer` points between each two grid points, straight-line interpolated, for
    /// `finer` > 1 (1 leaves the grid as it is).
    ///
    /// # Errors
    /// [`ReplayError::TooFewRuns`] if fewer than two runs are finished, [`ReplayError::OnePoint`] if the grid has a
    /// single point.
    pub fn new(history: History, finer: usize) -> Result<Self, ReplayError> {
        let runs: Vec<usize> = (0..history.len()).filter(|&i| history.final_score(i).is_some()).collect();
        if runs.len() < 2 {
            return Err(ReplayError::TooFewRuns { got: runs.len(), unfinished: history.len() - runs.len() });
        }
        if history.grid().len() < 2 {
            return Err(ReplayError::OnePoint);
        }
        let grid = refined(history.grid(), finer);
        let scores = runs.iter().map(|&i| refined(&whole(&history, i), finer)).collect();
        Ok(Self { history, runs, grid, scores })
    }

    /// How many runs.
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// Whether there is no run; never true.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
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

    /// The result of `run` after `points` points: its score, not below the history's floor.
    pub fn score(&self, run: usize, points: u64) -> f64 {
        self.scores[run][points as usize - 1].max(self.history.floor())
    }

    /// The last score of `run`.
    pub fn final_score(&self, run: usize) -> f64 {
        self.score(run, self.points() as u64)
    }

    /// The history's number of `run`.
    pub fn index(&self, run: usize) -> usize {
        self.runs[run]
    }

    /// The history that the runs are from.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// `score` made worse by `offset` metric units.
    pub fn lowered(&self, score: f64, offset: f64) -> f64 {
        if offset <= 0.0 {
            return score;
        }
        let direction = self.history.direction();
        let natural = direction.score(self.history.value(score)) - offset;
        self.history.scale().apply(natural, direction)
    }

    /// The standard deviation of the final scores.
    pub fn spread(&self) -> f64 {
        let finals: Vec<f64> = (0..self.len()).map(|run| self.final_score(run)).collect();
        statistics::standard_deviation(&finals)
    }

    /// An encoder of configurations, fitted on `runs`.
    pub(super) fn encoder(&self, runs: &[usize]) -> Encoder {
        self.history.encoder(&runs.iter().map(|&run| self.runs[run]).collect::<Vec<_>>())
    }

    /// `run`'s configuration as numbers.
    pub(super) fn encoded(&self, run: usize, encoder: &Encoder) -> Vec<f64> {
        encoder.encode(self.history.configuration(self.runs[run]))
    }

    /// `runs` seen up to `tau` points, with their scores at point `level`, given their `encoded` configurations.
    pub(super) fn training_set(
        &self,
        runs: &[usize],
        tau: usize,
        level: u64,
        encoder: &Encoder,
        encoded: &[Vec<f64>],
    ) -> TrainingSet {
        TrainingSet {
            steps: self.grid[..tau].to_vec(),
            target_step: self.grid[level as usize - 1],
            prefixes: Matrix::from_rows(
                &runs.iter().map(|&run| &self.scores[run][..tau]).collect::<Vec<_>>(),
            ),
            configurations: Matrix::from_rows(encoded),
            groups: encoder.groups(),
            targets: runs.iter().map(|&run| self.score(run, level)).collect(),
            floor: Some(self.history.floor()),
            ceiling: self.history.ceiling(),
            run_score: self.history.run_score(),
        }
    }
}

/// The scores of a finished run, whose last one is its final score.
fn whole(history: &History, run: usize) -> Vec<f64> {
    let mut scores = history.prefix(run).to_vec();
    let last = history.final_score(run).unwrap_or_else(|| history.floor());
    scores.resize(history.grid().len(), last);
    if let Some(end) = scores.last_mut() {
        *end = last;
    }
    scores
}

/// `values` with `finer` − 1 points put between each two.
fn refined(values: &[f64], finer: usize) -> Vec<f64> {
    let finer = finer.max(1);
    let between = |pair: &[f64]| {
        let (a, b) = (pair[0], pair[1]);
        (0..finer).map(move |k| a + (b - a) * k as f64 / finer as f64)
    };
    values.windows(2).flat_map(between).chain(values.last().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finer_points_lie_on_straight_lines() {
        assert_eq!(refined(&[0.0, 1.0, 0.0], 4), [0.0, 0.25, 0.5, 0.75, 1.0, 0.75, 0.5, 0.25, 0.0]);
        assert_eq!(refined(&[0.0, 1.0], 1), [0.0, 1.0]);
    }
}
