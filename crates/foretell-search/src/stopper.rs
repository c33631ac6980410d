//! Stoppers: whether one running job goes on, judged at each of its points.

use foretell::{Action, FitError, Forecast, StopRule};
use serde::{Deserialize, Serialize};

/// What can be known of a running job besides its own scores; asked for only by the stoppers that need it.
pub trait Evidence {
    /// Where the job will end; `None` while nothing can be forecast.
    ///
    /// # Errors
    /// [`FitError`] if the predictor cannot be fitted on the runs there are.
    fn forecast(&mut self) -> Result<Option<Forecast>, FitError>;

    /// The median, over the trials that were trained to the job's level, of the mean of their scores up to this point.
    fn median_of_peers(&mut self) -> Option<f64>;

    /// Where the job would end: known in replays only.
    fn truth(&self) -> Option<f64>;
}

/// One look at a running job.
pub struct Look<'a> {
    /// Its scores so far, larger is better; at least one.
    pub scores: &'a [f64],
    /// The number of this look, from 1, counted over the whole training to the job's level.
    pub number: usize,
    /// How many looks there are in all.
    pub looks: usize,
    /// The score it has to beat, the offset already taken off; `None` while nothing can be said.
    pub reference: Option<f64>,
    /// What else can be known.
    pub evidence: &'a mut dyn Evidence,
}

/// How the error 1 − Δ that is allowed spreads over the many looks at one run.
///
/// A budget for the run is a union bound: the errors α_k allowed at looks k = 1 … K sum to 1 − Δ, so that Δ is a promise
/// for the run, however the looks depend on each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorBudget {
    /// Every look may err with 1 − Δ: the paper's rule. A run may then be stopped wrongly with more than that.
    #[default]
    PerLook,
    /// α_k = (1 − Δ)/(k·H_K), H_K = 1 + ½ + … + 1/K: more for the early looks, where a stop saves most and neighbouring
    /// looks differ most.
    PerRun,
    /// α_k = (1 − Δ)/K (Bonferroni).
    PerRunEvenly,
}

/// Stops by a forecast: the paper's rule, for any predictor.
///
/// Stop at a look ⇔ P(final ≤ reference) ≥ Δ at this and the previous `agreeing_looks` − 1 looks.
///
/// | field | meaning | range | default |
/// |---|---|---|---|
/// | `stop_probability` | Δ | [0.5, 1) | 0.99 |
/// | `agreeing_looks` | so many looks in a row must agree | ≥ 1 | 1 |
/// | `budget` | whether Δ holds for a look or for the run | | look |
///
/// Source: Baker et al. 2017, §4. `last-value` as the predictor gives the last-value criterion; learning-curve
/// extrapolation is this rule with its own predictor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ByForecast {
    /// Δ.
    pub stop_probability: f64,
    /// Looks in a row that must agree.
    pub agreeing_looks: usize,
    /// For what Δ holds.
    pub budget: ErrorBudget,
}

impl Default for ByForecast {
    fn default() -> Self {
        Self { stop_probability: 0.99, agreeing_looks: 1, budget: ErrorBudget::PerLook }
    }
}

impl ByForecast {
    /// The probability that look `number` (from 1) of `looks` at the run has to reach.
    ///
    /// ```
    /// # use foretell_search::{ByForecast, ErrorBudget};
    /// let rule = |budget| ByForecast { stop_probability: 0.9, budget, agreeing_looks: 1 };
    /// assert!((rule(ErrorBudget::PerRunEvenly).at_a_look(3, 10) - 0.99).abs() < 1e-12);
    /// // H₂ = 1.5: the first of two looks may err with 0.1/1.5, the second with half of that
    /// assert!((rule(ErrorBudget::PerRun).at_a_look(1, 2) - (1.0 - 0.1 / 1.5)).abs() < 1e-12);
    /// assert!((rule(ErrorBudget::PerRun).at_a_look(2, 2) - (1.0 - 0.1 / 3.0)).abs() < 1e-12);
    /// ```
    pub fn at_a_look(&self, number: usize, looks: usize) -> f64 {
        let looks = looks.max(number).max(1);
        let share = match self.budget {
            ErrorBudget::PerLook => 1.0,
            ErrorBudget::PerRun => 1.0 / (number.max(1) as f64 * harmonic(looks)),
            ErrorBudget::PerRunEvenly => 1.0 / looks as f64,
        };
        1.0 - (1.0 - self.stop_probability) * share
    }

    fn judge(&self, votes: &mut usize, look: &mut Look<'_>) -> Result<Option<f64>, FitError> {
        let Some(reference) = look.reference else { return Ok(None) };
        let Some(forecast) = look.evidence.forecast()? else { return Ok(None) };
        let rule =
            StopRule { stop_probability: self.at_a_look(look.number, look.looks), ..StopRule::default() };
        let stop = rule.decide(&forecast, reference).action == Action::Stop;
        *votes = if stop { *votes + 1 } else { 0 };
        Ok((*votes >= self.agreeing_looks.max(1)).then_some(forecast.mean))
    }
}

/// Judges running jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stopper {
    /// Stops nothing.
    #[default]
    None,
    /// The paper's rule.
    Forecast(ByForecast),
    /// The median rule: stop if the best score so far is below the median of the running means of those that were
    /// trained to the end. Source: Golovin et al., "Google Vizier", KDD 2017, §3.2.2.
    Median,
    /// Stop if the best score so far is older than this many looks. It saves training that has come to rest, of winners
    /// too.
    Patience(usize),
    /// Perfect foresight: stop if the run ends at or below the reference. The most that any forecast could save.
    Oracle,
}

/// What a stopper remembers of one running job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    votes: usize,
}

impl Stopper {
    /// Judges one look. If the job is to be stopped, the score it counts with: its forecast, if the stopper makes one,
    /// else its last score.
    ///
    /// # Errors
    /// [`FitError`] if a forecast is needed and the predictor cannot be fitted.
    pub fn judge(&self, watch: &mut Watch, look: &mut Look<'_>) -> Result<Option<f64>, FitError> {
        let last = look.scores.last().copied().unwrap_or(f64::NEG_INFINITY);
        Ok(match self {
            Self::None => None,
            Self::Forecast(rule) => rule.judge(&mut watch.votes, look)?,
            Self::Median => {
                let best = look.scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                look.evidence.median_of_peers().filter(|&median| best < median).map(|_| last)
            }
            Self::Patience(patience) => (age_of_best(look.scores) >= *patience).then_some(last),
            Self::Oracle => look.evidence.truth().filter(|&truth| look.reference.is_some_and(|r| truth <= r)),
        })
    }
}

/// H_n = 1 + ½ + … + 1/n: summed for small n, else ln n + γ + 1/(2n), whose error is below 1/(12n²).
fn harmonic(n: usize) -> f64 {
    const GAMMA: f64 = 0.577_215_664_901_532_9;
    match n {
        0..64 => (1..=n).map(|k| 1.0 / k as f64).sum(),
        _ => (n as f64).ln() + GAMMA + 0.5 / n as f64,
    }
}

/// How many points ago the best score was first reached.
fn age_of_best(scores: &[f64]) -> usize {
    let mut best = (0, f64::NEG_INFINITY);
    for (i, &score) in scores.iter().enumerate() {
        if score > best.1 {
            best = (i, score);
        }
    }
    scores.len().saturating_sub(best.0 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Told {
        mean: f64,
        sd: f64,
    }

    impl Evidence for Told {
        fn forecast(&mut self) -> Result<Option<Forecast>, FitError> {
            Ok(Some(Forecast::gaussian(self.mean, self.sd)))
        }
        fn median_of_peers(&mut self) -> Option<f64> {
            Some(0.5)
        }
        fn truth(&self) -> Option<f64> {
            Some(self.mean)
        }
    }

    fn judge(stopper: Stopper, scores: &[f64], mean: f64, reference: Option<f64>) -> Option<f64> {
        let mut evidence = Told { mean, sd: 0.03 };
        let mut look = Look { scores, number: 3, looks: 10, reference, evidence: &mut evidence };
        stopper.judge(&mut Watch::default(), &mut look).unwrap()
    }

    #[test]
    fn forecasts_stop_at_the_probability_and_not_without_a_reference() {
        let at =
            |stop_probability| Stopper::Forecast(ByForecast { stop_probability, ..ByForecast::default() });
        // Φ((0.90 − 0.85)/0.03) = 0.9522
        assert_eq!(judge(at(0.95), &[0.1], 0.85, Some(0.90)), Some(0.85));
        assert_eq!(judge(at(0.99), &[0.1], 0.85, Some(0.90)), None);
        assert_eq!(judge(at(0.95), &[0.1], 0.85, None), None);
    }

    #[test]
    fn a_budget_for_the_run_is_stricter_at_each_look() {
        for budget in [ErrorBudget::PerRun, ErrorBudget::PerRunEvenly] {
            let per_run = ByForecast { stop_probability: 0.95, budget, agreeing_looks: 1 };
            assert_eq!(judge(Stopper::Forecast(per_run), &[0.1], 0.85, Some(0.90)), None, "{budget:?}");
            assert_eq!(judge(Stopper::Forecast(per_run), &[0.1], 0.80, Some(0.90)), Some(0.80), "{budget:?}");
        }
    }

    #[test]
    fn a_budget_for_the_run_is_spent_whole_over_its_looks() {
        for budget in [ErrorBudget::PerRun, ErrorBudget::PerRunEvenly] {
            for looks in [1, 2, 19, 63, 64, 500] {
                let rule = ByForecast { stop_probability: 0.9, budget, agreeing_looks: 1 };
                let spent: f64 = (1..=looks).map(|number| 1.0 - rule.at_a_look(number, looks)).sum();
                assert!((spent - 0.1).abs() < 1e-6, "{budget:?}, {looks} looks: {spent}");
            }
        }
    }

    #[test]
    fn agreeing_looks_must_follow_one_another() {
        let stopper = Stopper::Forecast(ByForecast { agreeing_looks: 2, ..ByForecast::default() });
        let mut watch = Watch::default();
        let answers = [0.1, 0.9, 0.1, 0.1].map(|mean| {
            let mut evidence = Told { mean, sd: 0.03 };
            let mut look =
                Look { scores: &[0.1], number: 3, looks: 10, reference: Some(0.8), evidence: &mut evidence };
            stopper.judge(&mut watch, &mut look).unwrap().is_some()
        });
        assert_eq!(answers, [false, false, false, true]);
    }

    #[test]
    fn rules_without_a_forecast_stop_as_they_say() {
        assert_eq!(judge(Stopper::Median, &[0.4, 0.45, 0.44], 0.0, None), Some(0.44));
        assert_eq!(
            judge(Stopper::Median, &[0.4, 0.6, 0.44], 0.0, None),
            None,
            "its best is above the median"
        );
        assert_eq!(judge(Stopper::Patience(2), &[0.4, 0.6, 0.5, 0.6], 0.0, None), Some(0.6));
        assert_eq!(judge(Stopper::Patience(3), &[0.4, 0.6, 0.5, 0.6], 0.0, None), None);
        assert_eq!(judge(Stopper::Oracle, &[0.4], 0.7, Some(0.7)), Some(0.7), "a tie does not win");
        assert_eq!(judge(Stopper::Oracle, &[0.4], 0.71, Some(0.7)), None);
        assert_eq!(judge(Stopper::None, &[0.4], 0.0, Some(0.7)), None);
    }
}
