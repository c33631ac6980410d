//! The stop criterion: stop when, by the forecast, the run will not win, with a given probability.

use crate::predict::forecast::Forecast;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The reason why a stop criterion is invalid.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum StopCriterionError {
    /// Δ lies outside [0.5, 1).
    #[error("stop probability {0} is outside [0.5, 1). Use 0.95 or 0.99, as in the paper")]
    Probability(f64),
    /// δ is negative or not finite.
    #[error("offset {0} is not a number of at least 0. Set it in units of the metric")]
    Offset(f64),
    /// The n-th best cannot be the 0th.
    #[error("nth_best is 0. Use 1 to compare with the best, or 2 with the second best")]
    NthBest,
    /// No check can agree with no other.
    #[error("agreeing checks is 0, but must be at least 1")]
    AgreeingChecks,
}

/// The distribution of the allowed error 1 − Δ over the checks of one run.
///
/// With a budget for the run, the errors α_k allowed at checks k = 1 … K sum to 1 − Δ (a union bound). Δ then holds for the
/// whole run, however the checks depend on each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ErrorBudget {
    /// Each check errs with at most 1 − Δ, as in the paper. Over all checks, a wrong stop is more likely.
    #[default]
    PerCheck,
    /// All checks together err with at most 1 − Δ. Early checks, which save most, get more of it: α_k = (1 − Δ)/(k·H_K), H_K = 1 + ½ + … +
    /// 1/K.
    PerRun,
    /// All checks together err with at most 1 − Δ, divided evenly: α_k = (1 − Δ)/K (Bonferroni).
    PerRunEvenly,
}

impl ErrorBudget {
    /// The share of 1 − Δ that check `number` (from 1) of `checks` may spend.
    fn share(self, number: usize, checks: usize) -> f64 {
        let number = number.max(1);
        let checks = checks.max(number);
        match self {
            Self::PerCheck => 1.0,
            Self::PerRun => 1.0 / (number as f64 * harmonic_number(checks)),
            Self::PerRunEvenly => 1.0 / checks as f64,
        }
    }
}

/// The criterion that stops a run by its forecast.
///
/// A check votes "stop" ⇔ Φ((y_best − δ − ŷ)/σ) ≥ Δ, with the forecast's own distribution in place of Φ. The run is stopped
/// when enough checks in a row do so.
///
/// | symbol | field | meaning | range | default |
/// |---|---|---|---|---|
/// | Δ | `stop_probability` | how sure one must be that the run will not win | [0.5, 1) | 0.99 |
/// | δ | `offset` | runs forecast to come within δ of the incumbent may finish; in the incumbent's unit | ≥ 0 | 0 |
/// | n | `nth_best` | the incumbent is the n-th best finished score | ≥ 1 | 1 |
/// | | `agreeing_checks` | the number of checks in a row that must vote "stop" | ≥ 1 | 1 |
/// | | `error_budget` | whether Δ holds for each check or for the whole run | | each check |
///
/// Source: Baker et al. 2017, §4; the mean of the normal is ŷ, as in their algorithm 2. Agreeing checks and error budgets for
/// a run are ours.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StopCriterion {
    /// Δ, in [0.5, 1).
    pub stop_probability: f64,
    /// δ ≥ 0, in the unit of the compared values.
    pub offset: f64,
    /// The place, from the best, of the completed score that is the incumbent; ≥ 1.
    pub nth_best: usize,
    /// The number of consecutive checks that must agree before stopping; ≥ 1.
    pub agreeing_checks: usize,
    /// Whether Δ holds for each check or for the whole run.
    pub error_budget: ErrorBudget,
}

impl Default for StopCriterion {
    fn default() -> Self {
        Self {
            stop_probability: 0.99,
            offset: 0.0,
            nth_best: 1,
            agreeing_checks: 1,
            error_budget: ErrorBudget::PerCheck,
        }
    }
}

/// The decision about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Continue.
    Continue,
    /// Stop it: it will not win.
    Stop,
}

/// The result of one check, with the facts that it is based on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StopVerdict {
    /// The decision.
    pub action: Action,
    /// The probability that the run ends at or below `incumbent − δ`.
    pub probability: f64,
}

impl StopCriterion {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The [`StopCriterionError`] of the first field out of range.
    pub fn validate(&self) -> Result<(), StopCriterionError> {
        if !(0.5..1.0).contains(&self.stop_probability) {
            return Err(StopCriterionError::Probability(self.stop_probability));
        }
        if !(self.offset >= 0.0 && self.offset.is_finite()) {
            return Err(StopCriterionError::Offset(self.offset));
        }
        if self.nth_best == 0 {
            return Err(StopCriterionError::NthBest);
        }
        if self.agreeing_checks == 0 {
            return Err(StopCriterionError::AgreeingChecks);
        }
        Ok(())
    }

    /// The incumbent: the n-th best of the `finished` scores, of those that are finite; `None` while there are fewer than n.
    pub fn incumbent(&self, finished: impl IntoIterator<Item = f64>) -> Option<f64> {
        let mut scores: Vec<f64> = finished.into_iter().filter(|score| score.is_finite()).collect();
        scores.sort_by(|a, b| b.total_cmp(a));
        scores.get(self.nth_best.checked_sub(1)?).copied()
    }

    /// The criterion of check `number` (from 1) of `checks`: Δ becomes the probability that this check must reach by the error budget.
    ///
    /// ```
    /// # use foretell::{ErrorBudget, StopCriterion};
    /// let error_spent = |error_budget, number, checks| {
    ///     let criterion = StopCriterion { stop_probability: 0.9, error_budget, ..StopCriterion::default() };
    ///     criterion.for_check(number, checks).stop_probability
    /// };
    /// assert!((error_spent(ErrorBudget::PerRunEvenly, 3, 10) - 0.99).abs() < 1e-12);
    /// // H₂ = 1.5: the first of two checks may err with 0.1/1.5, the second with half of that
    /// assert!((error_spent(ErrorBudget::PerRun, 1, 2) - (1.0 - 0.1 / 1.5)).abs() < 1e-12);
    /// assert!((error_spent(ErrorBudget::PerRun, 2, 2) - (1.0 - 0.1 / 3.0)).abs() < 1e-12);
    /// ```
    #[must_use]
    pub fn for_check(&self, number: usize, checks: usize) -> Self {
        let error = (1.0 - self.stop_probability) * self.error_budget.share(number, checks);
        Self { stop_probability: 1.0 - error, error_budget: ErrorBudget::PerCheck, ..*self }
    }

    /// One check: compares a run's forecast with the incumbent. Both, and δ, are scores on the forecast's own scale: larger is
    /// better, and a loss may be a logarithm. [`Forecaster::decide`](crate::Forecaster::decide) does the conversion;
    /// [`History::to_score`](crate::History::to_score) turns a value of the metric into a score. The caller counts agreeing checks.
    ///
    /// ```
    /// use foretell::{Action, Forecast, StopCriterion};
    /// let forecast = Forecast::gaussian(0.85, 0.03);
    /// let criterion = StopCriterion { stop_probability: 0.95, ..StopCriterion::default() };
    /// let verdict = criterion.decide(&forecast, 0.90); // Φ(1.6667) = 0.9522
    /// assert_eq!(verdict.action, Action::Stop);
    /// assert!((verdict.probability - 0.9522).abs() < 1e-4);
    /// ```
    pub fn decide(&self, forecast: &Forecast, incumbent: f64) -> StopVerdict {
        let probability = forecast.probability_at_most(incumbent - self.offset);
        let action = if probability >= self.stop_probability { Action::Stop } else { Action::Continue };
        StopVerdict { action, probability }
    }
}

/// H_n = 1 + ½ + … + 1/n: summed for small n, else ln n + γ + 1/(2n), whose error is below 1/(12n²).
fn harmonic_number(n: usize) -> f64 {
    const EULER_GAMMA: f64 = 0.577_215_664_901_532_9;
    match n {
        0..64 => (1..=n).map(|k| 1.0 / k as f64).sum(),
        _ => (n as f64).ln() + EULER_GAMMA + 0.5 / n as f64,
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
            let criterion = StopCriterion { stop_probability, offset, ..StopCriterion::default() };
            let verdict = criterion.decide(&Forecast::gaussian(0.85, 0.03), 0.90);
            assert!((verdict.probability - probability).abs() < 1e-4, "Δ {stop_probability} δ {offset}");
            assert_eq!(verdict.action == Action::Stop, stop, "Δ {stop_probability} δ {offset}");
        }
    }

    #[test]
    fn the_incumbent_is_the_nth_best_and_none_before_n_are_finished() {
        let criterion = StopCriterion { nth_best: 2, ..StopCriterion::default() };
        assert_eq!(criterion.incumbent([0.3]), None);
        assert_eq!(criterion.incumbent([0.3, f64::NAN, 0.9, f64::INFINITY, 0.5]), Some(0.5));
    }

    #[test]
    fn values_out_of_range_are_refused() {
        let ok = StopCriterion::default();
        assert!(ok.validate().is_ok());
        for (criterion, text) in [
            (StopCriterion { stop_probability: 1.0, ..ok }, "stop probability 1"),
            (StopCriterion { stop_probability: f64::NAN, ..ok }, "stop probability NaN"),
            (StopCriterion { offset: -0.1, ..ok }, "offset -0.1"),
            (StopCriterion { nth_best: 0, ..ok }, "nth_best is 0"),
            (StopCriterion { agreeing_checks: 0, ..ok }, "agreeing checks is 0"),
        ] {
            assert!(criterion.validate().unwrap_err().to_string().contains(text));
        }
    }

    #[test]
    fn a_budget_for_the_run_is_spent_whole_over_its_checks() {
        for error_budget in [ErrorBudget::PerRun, ErrorBudget::PerRunEvenly] {
            for checks in [1, 2, 19, 63, 64, 500] {
                let criterion =
                    StopCriterion { stop_probability: 0.9, error_budget, ..StopCriterion::default() };
                let error = |number| 1.0 - criterion.for_check(number, checks).stop_probability;
                let spent: f64 = (1..=checks).map(error).sum();
                assert!((spent - 0.1).abs() < 1e-6, "{error_budget:?}, {checks} checks: {spent}");
            }
        }
    }
}
