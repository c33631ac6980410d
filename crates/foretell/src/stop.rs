//! The stop rule: stop when the forecast says that the run will not win, with a given probability.

use crate::forecast::Forecast;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why a stop rule is none.
#[derive(Debug, Error, Clone, PartialEq)]
#[non_exhaustive]
pub enum StopRuleError {
    /// Δ lies outside [0.5, 1).
    #[error("stop probability {0} is outside [0.5, 1); the paper uses 0.95 or 0.99")]
    Probability(f64),
    /// δ is negative or not finite.
    #[error("offset {0} must be a number ≥ 0, in units of the metric")]
    Offset(f64),
    /// The n-th best cannot be the 0th.
    #[error("nth_best is 0; 1 compares with the best, 2 with the second best")]
    NthBest,
}

/// The paper's stop rule.
///
/// Stop at τ ⇔ Φ((y_best − δ − ŷ)/σ) ≥ Δ, with the forecast's own distribution in place of Φ.
///
/// | symbol | field | meaning | range | default |
/// |---|---|---|---|---|
/// | Δ | `stop_probability` | how sure one must be that the run will not win | [0.5, 1) | 0.99 |
/// | δ | `offset` | runs forecast to come within δ of the incumbent may finish; in the incumbent's unit | ≥ 0 | 0 |
/// | n | `nth_best` | the incumbent is the n-th best finished score | ≥ 1 | 1 |
///
/// Source: Baker et al. 2017, §4; the mean of the normal is ŷ, as in their algorithm 2.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StopRule {
    /// Δ, in [0.5, 1).
    pub stop_probability: f64,
    /// δ ≥ 0, in the unit of what is compared.
    pub offset: f64,
    /// Which of the finished scores, from the best, is the incumbent; ≥ 1.
    pub nth_best: usize,
}

impl Default for StopRule {
    fn default() -> Self {
        Self { stop_probability: 0.99, offset: 0.0, nth_best: 1 }
    }
}

/// What to do with a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Go on.
    Continue,
    /// Stop it: it will not win.
    Stop,
}

/// A judgement, with the facts it rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// What to do.
    pub action: Action,
    /// The probability that the run ends at or below `incumbent − δ`.
    pub probability: f64,
}

impl StopRule {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The [`StopRuleError`] of the first field out of range.
    pub fn validate(&self) -> Result<(), StopRuleError> {
        if !(0.5..1.0).contains(&self.stop_probability) {
            return Err(StopRuleError::Probability(self.stop_probability));
        }
        if !(self.offset >= 0.0 && self.offset.is_finite()) {
            return Err(StopRuleError::Offset(self.offset));
        }
        if self.nth_best == 0 {
            return Err(StopRuleError::NthBest);
        }
        Ok(())
    }

    /// The incumbent: the n-th best of the `finished` scores, of those that are finite; `None` while there are fewer
    /// than n.
    pub fn incumbent(&self, finished: impl IntoIterator<Item = f64>) -> Option<f64> {
        let mut scores: Vec<f64> = finished.into_iter().filter(|score| score.is_finite()).collect();
        scores.sort_by(|a, b| b.total_cmp(a));
        scores.get(self.nth_best.checked_sub(1)?).copied()
    }

    /// Judges a run by its forecast against the incumbent. Both, and δ, are scores on the forecast's own scale: larger is
    /// better, and a loss may be a logarithm. [`Forecaster::decide`](crate::Forecaster::decide) sees to that;
    /// [`History::score`](crate::History::score) turns a value of the metric into one.
    ///
    /// ```
    /// use foretell::{Action, Forecast, StopRule};
    /// let forecast = Forecast::gaussian(0.85, 0.03);
    /// let rule = StopRule { stop_probability: 0.95, ..StopRule::default() };
    /// let verdict = rule.decide(&forecast, 0.90); // Φ(1.6667) = 0.9522
    /// assert_eq!(verdict.action, Action::Stop);
    /// assert!((verdict.probability - 0.9522).abs() < 1e-4);
    /// ```
    pub fn decide(&self, forecast: &Forecast, incumbent: f64) -> Verdict {
        let probability = forecast.probability_at_most(incumbent - self.offset);
        let action = if probability >= self.stop_probability { Action::Stop } else { Action::Continue };
        Verdict { action, probability }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_test_vectors_of_the_fact_sheet() {
        // Δ, δ, probability, stop?
        let cases = [(0.95, 0.0, 0.9522, true), (0.99, 0.0, 0.9522, false), (0.95, 0.01, 0.9088, false)];
        for (stop_probability, offset, probability, stop) in cases {
            let rule = StopRule { stop_probability, offset, nth_best: 1 };
            let verdict = rule.decide(&Forecast::gaussian(0.85, 0.03), 0.90);
            assert!((verdict.probability - probability).abs() < 1e-4, "Δ {stop_probability} δ {offset}");
            assert_eq!(verdict.action == Action::Stop, stop, "Δ {stop_probability} δ {offset}");
        }
    }

    #[test]
    fn the_incumbent_is_the_nth_best_and_none_before_n_are_finished() {
        let rule = StopRule { nth_best: 2, ..StopRule::default() };
        assert_eq!(rule.incumbent([0.3]), None);
        assert_eq!(rule.incumbent([0.3, f64::NAN, 0.9, f64::INFINITY, 0.5]), Some(0.5));
    }

    #[test]
    fn values_out_of_range_are_refused() {
        let ok = StopRule::default();
        assert!(ok.validate().is_ok());
        for (rule, text) in [
            (StopRule { stop_probability: 1.0, ..ok }, "stop probability 1"),
            (StopRule { stop_probability: f64::NAN, ..ok }, "stop probability NaN"),
            (StopRule { offset: -0.1, ..ok }, "offset -0.1"),
            (StopRule { nth_best: 0, ..ok }, "nth_best is 0"),
        ] {
            assert!(rule.validate().unwrap_err().to_string().contains(text));
        }
    }
}
