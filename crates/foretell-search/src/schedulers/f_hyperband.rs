//! f-Hyperband's additions to Hyperband: the score a running trial has to beat in its rung, and the curves kept per level.
//!
//! Both readings of the reference are offered: with the printed one even perfect foresight saves little. The defaults (`level`, κ = 0.25,
//! Δ = 0.9, 20 trials per level) suit one search on one machine, which seldom has the paper's 100 results at an upper rung.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thiserror::Error;

/// The set of configurations that κ is a fraction of. The paper's algorithm and text differ here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum KappaOf {
    /// The promoted ones, n_next, as in algorithm 2 of the paper.
    #[default]
    Next,
    /// All in the rung, n_i, as in the text of the paper.
    Rung,
}

/// The error for a κ out of range.
#[derive(Debug, Error, Clone, Copy, PartialEq)]
#[error(
    "kappa = {0} is outside (0, 1]. Use 1 to let every promotable configuration finish its rung, or 0.25 to stop more"
)]
pub struct KappaError(pub f64);

/// The strictness of f-Hyperband: a running trial must beat the k-th best of its rung, k = max(1, ⌈κ·n⌉).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Kappa {
    /// κ, in (0, 1]; less is bolder. Default 1.
    pub kappa: f64,
    /// n: those that continue (default), or all in the rung.
    pub of: KappaOf,
}

impl Default for Kappa {
    fn default() -> Self {
        Self { kappa: 1.0, of: KappaOf::Next }
    }
}

impl Kappa {
    /// Checks the range.
    ///
    /// # Errors
    /// [`KappaError`] if κ is outside (0, 1].
    pub fn validate(&self) -> Result<(), KappaError> {
        if self.kappa > 0.0 && self.kappa <= 1.0 { Ok(()) } else { Err(KappaError(self.kappa)) }
    }

    /// k, for a rung of `in_rung` configurations if `going_on` continue.
    ///
    /// ```
    /// # use foretell_search::{Kappa, KappaOf};
    /// let kappa = Kappa { kappa: 0.25, of: KappaOf::Next };
    /// assert_eq!(kappa.rank(9, 27), 3); // ⌈2.25⌉
    /// assert_eq!(Kappa { of: KappaOf::Rung, ..kappa }.rank(9, 27), 7);
    /// ```
    pub fn rank(&self, going_on: u64, in_rung: u64) -> usize {
        let n = match self.of {
            KappaOf::Next => going_on,
            KappaOf::Rung => in_rung,
        };
        // 0.07 · 100 is a little more than 7 in floating point, and must not become 8
        ((self.kappa * n as f64 - 1e-9).ceil() as usize).max(1)
    }

    /// The share of a level's results that lie above what has to be beaten: κ·n_next/n_i, or κ of the rung; at most 1.
    pub fn share(&self, going_on: u64, in_rung: u64) -> f64 {
        match self.of {
            KappaOf::Next => (self.kappa * going_on as f64 / in_rung.max(1) as f64).min(1.0),
            KappaOf::Rung => self.kappa,
        }
    }
}

/// The results that a running trial is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reference {
    /// Those of its own rung so far, as in the paper.
    #[default]
    Rung,
    /// All at that level, in this and earlier brackets and runs.
    Level,
}

/// Results needed at a level before it can be compared with, at most.
const MAX_REQUIRED_RESULTS: usize = 20;

/// All results at each level, whatever the bracket: forecasts of stopped trials included, since results of survivors
/// alone would raise the bar with every stop.
#[derive(Clone, Debug)]
pub(crate) struct LevelResults {
    enough: usize,
    sorted: BTreeMap<u64, Vec<f64>>,
}

impl LevelResults {
    /// Nothing seen yet. A level is silent until as many results as the burn-in at a level, or 20, are known.
    pub(crate) fn new(burn_in: usize) -> Self {
        Self { enough: burn_in.clamp(1, MAX_REQUIRED_RESULTS), sorted: BTreeMap::new() }
    }

    /// Notes a result at `level`. O(n).
    pub(crate) fn push(&mut self, level: u64, score: f64) {
        let scores = self.sorted.entry(level).or_default();
        let place = scores.partition_point(|s| s.total_cmp(&score).is_lt());
        scores.insert(place, score);
    }

    /// The (1 − `share`) quantile of the results at `level`: a share of `share` is above it. `None` while too few are known.
    pub(crate) fn quantile(&self, level: u64, share: f64) -> Option<f64> {
        let scores = self.sorted.get(&level).filter(|scores| scores.len() >= self.enough)?;
        Some(foretell::statistics::quantile_of_sorted(scores, (1.0 - share).clamp(0.0, 1.0)))
    }
}

/// `D[r]`: the trials that were trained to each level r, for forecasts of the score at r.
///
/// | symbol | field | meaning | default |
/// |---|---|---|---|
/// | d | `enough` | curves at a level before anything is forecast or stopped there | 100 |
/// | | `refit` | learn again when there are this many times as many; `None`: keep the first d | `None` |
///
/// Source: Baker et al. 2017, algorithm 2 (`|D[r]| = d`, then frozen); learning again is ours.
#[derive(Clone, Debug)]
pub(crate) struct LevelData {
    enough: usize,
    refit: Option<f64>,
    levels: BTreeMap<u64, LevelTrials>,
}

#[derive(Clone, Debug, Default)]
struct LevelTrials {
    reached: Vec<usize>,
    learned: usize,
}

impl LevelData {
    /// Nothing collected yet; `enough` is d, ≥ 1; `refit` is a factor > 1.
    pub(crate) fn new(enough: usize, refit: Option<f64>) -> Self {
        Self { enough: enough.max(1), refit, levels: BTreeMap::new() }
    }

    /// Adds trials that an earlier search trained to `level`: a warm start. If there are enough, all of them are learned from.
    pub(crate) fn warm_start(&mut self, level: u64, trials: impl IntoIterator<Item = usize>) {
        let level = self.levels.entry(level).or_default();
        level.reached.extend(trials);
        if level.reached.len() >= self.enough {
            // all runs that were handed in, not only as many as the burn-in would have needed
            level.learned = level.reached.len();
        }
    }

    /// `trial` was trained to `level` without being stopped.
    pub(crate) fn push(&mut self, level: u64, trial: usize) {
        let (enough, refit) = (self.enough, self.refit);
        let level = self.levels.entry(level).or_default();
        level.reached.push(trial);
        let (reached, learned) = (level.reached.len() as f64, level.learned as f64);
        let again = level.learned > 0 && refit.is_some_and(|factor| reached >= factor * learned);
        if again || (level.learned == 0 && level.reached.len() >= enough) {
            level.learned = level.reached.len();
        }
    }

    /// The trials to learn from at `level`, in the order they reached it; `None` while there are fewer than d.
    pub(crate) fn training_set(&self, level: u64) -> Option<&[usize]> {
        self.levels.get(&level).filter(|level| level.learned > 0).map(|level| &level.reached[..level.learned])
    }

    /// All trials that reached each level, in the order they reached it.
    pub(crate) fn into_reached(self) -> Vec<(u64, Vec<usize>)> {
        self.levels.into_iter().map(|(level, data)| (level, data.reached)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_at_least_one_and_at_most_all() {
        for (kappa, rank) in [(1.0, 9), (0.5, 5), (1.0 / 9.0, 1), (0.01, 1)] {
            assert_eq!(Kappa { kappa, of: KappaOf::Next }.rank(9, 27), rank, "κ = {kappa}");
        }
        for kappa in [0.0, -1.0, 1.1, f64::NAN] {
            assert!(Kappa { kappa, of: KappaOf::Next }.validate().is_err(), "κ = {kappa}");
        }
    }

    #[test]
    fn a_level_is_silent_until_twenty_results() {
        let mut results = LevelResults::new(100);
        for i in 0..19 {
            results.push(3, f64::from(i));
        }
        assert_eq!(results.quantile(3, 0.5), None);
        results.push(3, 19.0);
        assert_eq!(results.quantile(3, 1.0), Some(0.0));
        assert!((results.quantile(3, 0.5).unwrap() - 9.5).abs() < 1e-12);
        assert_eq!(results.quantile(9, 0.5), None, "levels are apart");
        let mut soon = LevelResults::new(1);
        soon.push(3, 0.5);
        assert_eq!(soon.quantile(3, 0.5), Some(0.5));
    }

    #[test]
    fn the_first_d_are_kept_unless_refitting_is_asked_for() {
        let mut frozen = LevelData::new(3, None);
        let mut growing = LevelData::new(3, Some(2.0));
        for trial in 0..7 {
            frozen.push(9, trial);
            growing.push(9, trial);
            let expected = if trial < 2 { None } else { Some(3) };
            assert_eq!(frozen.training_set(9).map(<[usize]>::len), expected, "trial {trial}");
        }
        assert_eq!(growing.training_set(9), Some(&[0, 1, 2, 3, 4, 5][..]));
        assert_eq!(frozen.into_reached()[0].1.len(), 7);
    }
}
