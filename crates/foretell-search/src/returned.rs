//! The relation between the values that completed trials return (or print last) and the values that they reported.

use foretell::{Curve, Direction, RunScore};
use std::fmt;

/// Two values are equal up to this fraction: a report may have gone through single precision.
const EQUAL_TOLERANCE: f64 = 1e-6;

/// The tolerance of a factor between them, which takes up both roundings.
const FACTOR_TOLERANCE: f64 = 1e-5;

/// So many trials are needed to tell whether values that are not equal go together.
const MIN_RANKED_TRIALS: usize = 5;

/// A factor is seen from so many trials on; with fewer, any two values differ by one.
const MIN_FACTOR_TRIALS: usize = 3;

/// Returned values and reports go together from this rank correlation on: three of four pairs of trials are in the same order.
const MIN_RANK_CORRELATION: f64 = 0.5;

/// And from so many standard deviations of what chance gives, which are wide for few trials.
const MIN_CHANCE_DEVIATIONS: f64 = 2.0;

/// One score follows the returned values better than the other if its rank correlation is this much higher.
const CLEAR_CORRELATION_GAIN: f64 = 0.1;

/// Ranks are compared among this many of the latest trials.
const MAX_COMPARED_TRIALS: usize = 200;

/// A completed trial: its reports and its returned value, all as scores (larger is better).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReturnedTrial {
    last: f64,
    best: f64,
    value: f64,
}

impl ReturnedTrial {
    /// A trial that reported `curve` and returned `value`, in the metric's unit. `None` if it diverged, reported nothing, or returned
    /// no number.
    pub fn new(curve: &Curve, value: f64, direction: Direction) -> Option<Self> {
        if curve.diverged_at().is_some() || !value.is_finite() {
            return None;
        }
        let last = RunScore::Last.value_of(curve)?;
        Some(Self { last, best: RunScore::Best.value_of(curve)?, value: direction.to_score(value) })
    }

    /// The report that `score` names; a mean of the last ones is compared by the last.
    fn reported_score(&self, score: RunScore) -> f64 {
        match score {
            RunScore::Last | RunScore::Mean(_) => self.last,
            RunScore::Best => self.best,
        }
    }
}

/// The relation of returned values to reports, over all completed trials.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ReturnRelation {
    /// No trial has returned anything.
    #[default]
    Nothing,
    /// The values are not equal to a report, and there are too few trials to tell whether they go together.
    TooFew,
    /// Each trial returned this one of its reports, times one factor.
    Equal {
        /// The report; `None` while the last report of each trial is its best.
        score: Option<RunScore>,
        /// The factor; 1 where the values are equal.
        factor: f64,
    },
    /// The values rise and fall with this one of the reports.
    Together(RunScore),
    /// The values do not go together with the reports.
    Apart {
        /// The rank correlation, from -1 to 1.
        correlation: f64,
    },
}

impl ReturnRelation {
    /// The relation that finished `trials` show.
    ///
    /// ```
    /// use foretell::{Curve, Direction, RunScore};
    /// use foretell_search::{ReturnRelation, ReturnedTrial};
    ///
    /// // the second trial overfits, and returns its best value
    /// let trials = [(vec![0.5, 0.7], 0.7), (vec![0.6, 0.9, 0.8], 0.9)];
    /// let returned = trials.iter().filter_map(|(values, returned)| {
    ///     ReturnedTrial::new(&Curve::from_epoch_values(values, Direction::Maximize), *returned, Direction::Maximize)
    /// });
    /// let relation = ReturnRelation::between(&returned.collect::<Vec<_>>());
    /// assert_eq!(relation.score(), Some(RunScore::Best));
    /// ```
    pub fn between(trials: &[ReturnedTrial]) -> Self {
        if trials.is_empty() {
            return Self::Nothing;
        }
        let [last, best] = [RunScore::Last, RunScore::Best].map(|score| factor(trials, score));
        match (last, best) {
            (Some(factor), Some(_)) => return Self::Equal { score: None, factor },
            (Some(factor), None) => return Self::Equal { score: Some(RunScore::Last), factor },
            (None, Some(factor)) => return Self::Equal { score: Some(RunScore::Best), factor },
            (None, None) if trials.len() < MIN_RANKED_TRIALS => return Self::TooFew,
            (None, None) => {}
        }
        let latest = &trials[trials.len().saturating_sub(MAX_COMPARED_TRIALS)..];
        let [last, best] = [RunScore::Last, RunScore::Best].map(|score| rank_correlation(latest, score));
        if last.max(best) < MIN_RANK_CORRELATION.max(MIN_CHANCE_DEVIATIONS * spread_by_chance(latest.len())) {
            return Self::Apart { correlation: last.max(best) };
        }
        Self::Together(if best > last + CLEAR_CORRELATION_GAIN { RunScore::Best } else { RunScore::Last })
    }

    /// The report that a trial counts with, if it is known.
    pub fn score(self) -> Option<RunScore> {
        match self {
            Self::Equal { score, .. } => score,
            Self::Together(score) => Some(score),
            Self::Nothing | Self::TooFew | Self::Apart { .. } => None,
        }
    }

    /// The name of the relation, if a user has to know of it: not where each trial returns its last report, as is usual.
    pub fn unusual_name(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::TooFew => Some("too-few"),
            Self::Equal { score: Some(RunScore::Best), .. } => Some("best"),
            Self::Equal { factor, .. } => Some("factor").filter(|_| !is_near(factor, 1.0, EQUAL_TOLERANCE)),
            Self::Together(_) => Some("together"),
            Self::Apart { .. } => Some("apart"),
        }
    }

    /// The [name](Self::unusual_name) and a sentence for the user, if there is something to say.
    pub fn user_notice(self) -> Option<(&'static str, String)> {
        self.unusual_name().map(|name| (name, self.to_string()))
    }

    /// Whether the returned values are not simply one of the reports.
    pub(crate) fn is_of_another_unit(self) -> bool {
        match self {
            Self::Nothing => false,
            Self::Equal { factor, .. } => !is_near(factor, 1.0, EQUAL_TOLERANCE),
            Self::TooFew | Self::Together(_) | Self::Apart { .. } => true,
        }
    }

    /// Whether trials may be stopped by their reports.
    pub fn allows_stopping(self) -> bool {
        !matches!(self, Self::TooFew | Self::Apart { .. })
    }
}

impl fmt::Display for ReturnRelation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Nothing => write!(f, "no trial has returned a value"),
            Self::TooFew => write!(
                f,
                "trials return values that they did not report, so none is stopped until {MIN_RANKED_TRIALS} trials show whether the two agree"
            ),
            Self::Equal { score, factor } => {
                match score {
                    Some(RunScore::Best) => {
                        write!(
                            f,
                            "each trial returns the best of its reports, so the best report is its score"
                        )
                    }
                    Some(RunScore::Last | RunScore::Mean(_)) => {
                        write!(f, "each trial returns its last report, so the last report is its score")
                    }
                    None => write!(f, "each trial returns its last report, which is also its best"),
                }?;
                if is_near(factor, 1.0, EQUAL_TOLERANCE) {
                    Ok(())
                } else {
                    write!(f, ", times {}", round_factor(factor))
                }
            }
            Self::Together(score) => write!(
                f,
                "trials return other values than they report, but the two rise and fall together, so the {} report is the score",
                match score {
                    RunScore::Last | RunScore::Mean(_) => "last",
                    RunScore::Best => "best",
                }
            ),
            Self::Apart { correlation } => write!(
                f,
                "the values that trials return hardly depend on those that they report (rank correlation {correlation:.2}), so \
                 no trial is stopped. Report the returned value, or choose `score` to stop trials by their reports"
            ),
        }
    }
}

/// A factor to four digits, as it is read: 100, 0.01, 2.54.
fn round_factor(factor: f64) -> f64 {
    format!("{factor:.3e}").parse().unwrap_or(factor)
}

/// The positive number by which the returned values differ from the reports of this `score`, if it is one number: 1 where they are equal.
fn factor(trials: &[ReturnedTrial], score: RunScore) -> Option<f64> {
    if trials.iter().all(|trial| is_near(trial.value, trial.reported_score(score), EQUAL_TOLERANCE)) {
        return Some(1.0);
    }
    // the largest reports tell the factor best
    let largest = trials
        .iter()
        .max_by(|a, b| a.reported_score(score).abs().total_cmp(&b.reported_score(score).abs()))?;
    let factor = largest.value / largest.reported_score(score);
    // trials that all return one value, and all report one, would have a factor whatever the two are
    let differ = trials.iter().any(|trial| !is_near(trial.value, trials[0].value, EQUAL_TOLERANCE));
    let is_one = factor.is_finite() && factor > 0.0 && differ && trials.len() >= MIN_FACTOR_TRIALS;
    let mut pairs = trials.iter().map(|trial| (trial.value, factor * trial.reported_score(score)));
    (is_one && pairs.all(|(value, scaled)| is_near(value, scaled, FACTOR_TOLERANCE))).then_some(factor)
}

fn is_near(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * a.abs().max(b.abs())
}

/// Kendall's τ between the returned values and the reports of this `score`; pairs that are equal in one of them count for nothing.
fn rank_correlation(trials: &[ReturnedTrial], score: RunScore) -> f64 {
    let (mut agree, mut pairs) = (0.0, 0.0);
    for (i, a) in trials.iter().enumerate() {
        for b in &trials[..i] {
            let product = (a.value - b.value) * (a.reported_score(score) - b.reported_score(score));
            if product != 0.0 {
                agree += product.signum();
                pairs += 1.0;
            }
        }
    }
    if pairs == 0.0 { 0.0 } else { agree / pairs }
}

/// The standard deviation of Kendall's τ between independent rankings of `n`. Source: Kendall, "Rank Correlation Methods", 1948, §5.
fn spread_by_chance(n: usize) -> f64 {
    let n = n as f64;
    (2.0 * (2.0 * n + 5.0) / (9.0 * n * (n - 1.0))).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell::Direction::{Maximize, Minimize};

    /// Curves that rise and then fall, of networks that differ in both.
    fn curves(trials: usize) -> Vec<Vec<f64>> {
        let value = |trial: usize, epoch: usize| {
            let (quality, peak) = ((trial * 7 % 11) as f64 / 11.0, 3 + trial * 5 % 7);
            (0.5 + 0.3 * quality) * (1.0 - 0.5_f64.powi(epoch as i32))
                - 0.02 * epoch.saturating_sub(peak) as f64
        };
        (0..trials).map(|trial| (1..=10).map(|epoch| value(trial, epoch)).collect()).collect()
    }

    fn relation(trials: usize, direction: Direction, returned: impl Fn(&[f64]) -> f64) -> ReturnRelation {
        let returned = curves(trials).into_iter().filter_map(|values| {
            ReturnedTrial::new(&Curve::from_epoch_values(&values, direction), returned(&values), direction)
        });
        ReturnRelation::between(&returned.collect::<Vec<_>>())
    }

    fn best(values: &[f64]) -> f64 {
        values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    fn last(values: &[f64]) -> f64 {
        values[values.len() - 1]
    }

    #[test]
    fn the_best_or_the_last_report_is_recognized_from_the_first_trial_in_which_they_differ() {
        let equal_to = |score| ReturnRelation::Equal { score: Some(score), factor: 1.0 };
        assert_eq!(relation(1, Maximize, best), equal_to(RunScore::Best));
        assert_eq!(relation(12, Maximize, |values| f64::from(best(values) as f32)), equal_to(RunScore::Best));
        assert_eq!(relation(12, Maximize, last), equal_to(RunScore::Last));
        // of a loss, the best is the smallest
        assert_eq!(relation(12, Minimize, |values| values[0]), equal_to(RunScore::Best));
        assert_eq!(relation(0, Maximize, best), ReturnRelation::Nothing);
    }

    #[test]
    fn curves_whose_last_report_is_their_best_leave_it_open() {
        let rising = ReturnedTrial::new(&Curve::from_epoch_values(&[0.1, 0.2, 0.3], Maximize), 0.3, Maximize);
        let relation = ReturnRelation::between(&[rising.expect("a finished trial")]);
        assert_eq!((relation.score(), relation.allows_stopping()), (None, true));
    }

    #[test]
    fn a_factor_is_named_from_three_trials_on() {
        assert_eq!(relation(2, Maximize, |values| 100.0 * best(values)), ReturnRelation::TooFew);
        let relation = relation(3, Maximize, |values| 100.0 * best(values));
        assert_eq!(relation.score(), Some(RunScore::Best));
        assert!(relation.to_string().ends_with("the best report is its score, times 100"), "{relation}");
    }

    #[test]
    fn values_that_are_no_report_but_follow_them_allow_stopping() {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        assert_eq!(relation(4, Maximize, mean), ReturnRelation::TooFew);
        assert!(!relation(4, Maximize, mean).allows_stopping());
        assert!(matches!(relation(5, Maximize, mean), ReturnRelation::Together(_)));
        // the test accuracy of the best epoch, with noise
        let noisy = |values: &[f64]| best(values) - 0.05 + 0.01 * (values[0] * 1e4).sin();
        assert_eq!(relation(40, Maximize, noisy), ReturnRelation::Together(RunScore::Best));
    }

    #[test]
    fn an_accuracy_returned_and_a_loss_reported_stop_nothing() {
        for returned in [
            |values: &[f64]| 1.0 - last(values),
            |values: &[f64]| -last(values),
            |values: &[f64]| (values[0] * 12345.0).sin(),
        ] {
            let relation = relation(12, Maximize, returned);
            assert!(
                matches!(relation, ReturnRelation::Apart { .. }) && !relation.allows_stopping(),
                "{relation}"
            );
        }
        // one value for all tells nothing
        assert!(!relation(12, Maximize, |_| 0.5).allows_stopping());
    }

    #[test]
    fn a_trial_that_diverged_tells_nothing() {
        let lost = Curve::from_epoch_values(&[0.1, f64::NAN], Maximize);
        assert_eq!(ReturnedTrial::new(&lost, 0.1, Maximize), None);
        assert_eq!(ReturnedTrial::new(&Curve::from_epoch_values(&[0.1], Maximize), f64::NAN, Maximize), None);
    }
}
