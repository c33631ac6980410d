//! The termination criterion of Domhan et al.: stop a run that will hardly beat the best, or whose end is known.

use super::beginning::LeadingCut;
use super::extrapolate::{Extrapolation, NoExtrapolation, PartialCurve, extrapolate};
use super::options::LceOptions;
use foretell::CurveEnd;

/// The question that the criterion asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TerminationMode {
    /// Whether the run will beat the best: the published default.
    #[default]
    Conservative,
    /// Whether the end is known, whatever its rank; then, whether the run will beat the best.
    Optimistic,
}

/// The predictive termination criterion.
///
/// * Conservative: while there is no best, or the run has beaten it already, the run continues. It stops where
///   P(y_T > y_best) < `improvement`, if the mean of y_T is inside the range (and the standard deviation below `spread`, if given).
/// * Optimistic: it stops where the standard deviation of f(T) is below `spread` (default: 0.005 of the range), or where
///   P(y_T > y_best) < `improvement`.
///
/// A run continues if its curve cannot be extrapolated. Points before the start of learning are cut off first: see [`LeadingCut`].
///
/// Source: Domhan et al. 2015, §3.3, and `terminationcriterion.py` of their code. It is checked whenever its caller does; the
/// published interval is not known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TerminationCriterion {
    /// The mode.
    pub mode: TerminationMode,
    /// The least probability of beating the best that keeps a run, 0–1.
    pub improvement: f64,
    /// The spread of f(T) in units of the range: see the modes.
    pub spread: Option<f64>,
    /// The leading points that are cut off.
    pub beginning: LeadingCut,
}

impl Default for TerminationCriterion {
    /// The published constants: P < 0.05, and 0.005 for the optimistic mode.
    fn default() -> Self {
        Self {
            mode: TerminationMode::Conservative,
            improvement: 0.05,
            spread: None,
            beginning: LeadingCut::default(),
        }
    }
}

/// Why a run continues or stops.
#[derive(Clone, Debug, PartialEq)]
pub enum TerminationReason {
    /// Nothing to beat yet.
    NoBest,
    /// Better than the best already.
    Ahead,
    /// No extrapolation of the curve.
    NotExtrapolated(NoExtrapolation),
    /// An extrapolation that leaves the metric's range.
    OutOfRange,
    /// May still beat the best.
    MayImprove,
    /// Will hardly beat the best, but the curve's end is not known well enough.
    Unsure,
    /// Will hardly beat the best.
    Hopeless,
    /// The curve's end is known.
    Known,
}

/// The judgment of the criterion on a run.
#[derive(Clone, Debug, PartialEq)]
pub struct TerminationJudgment {
    /// The score that takes the place of the final one, if the run is to be stopped.
    pub stop: Option<f64>,
    /// P(y_T > y_best), where both are known.
    pub improvement: Option<f64>,
    /// Why.
    pub reason: TerminationReason,
}

impl TerminationCriterion {
    /// Judges a running `curve` against the best final score so far. See [`TerminationCriterion`].
    ///
    /// ```
    /// use foretell_paper::lce::{LceOptions, PartialCurve, TerminationCriterion};
    /// let steps: Vec<f64> = (1..=10).map(f64::from).collect();
    /// let scores: Vec<f64> = steps.iter().map(|x| 0.6 - 0.3 / x).collect();
    /// let curve = PartialCurve { steps: &steps, scores: &scores, target: 20.0, range: (0.0, 1.0) };
    /// let judge = |best| TerminationCriterion::default().judge(&curve, best, &LceOptions::default(), 0);
    /// assert!(judge(Some(0.95)).stop.is_some_and(|end| (end - 0.6).abs() < 0.05));
    /// assert!(judge(Some(0.5)).stop.is_none() && judge(None).stop.is_none());
    /// ```
    pub fn judge(
        &self,
        curve: &PartialCurve<'_>,
        best: Option<f64>,
        options: &LceOptions,
        seed: u64,
    ) -> TerminationJudgment {
        if self.mode == TerminationMode::Conservative {
            let Some(best) = best else { return continue_because(TerminationReason::NoBest) };
            if curve.scores.iter().any(|&score| score > best) {
                return continue_because(TerminationReason::Ahead);
            }
        }
        let options = LceOptions { beginning: Some(self.beginning), ..options.clone() };
        match extrapolate(curve, &options, seed) {
            Err(reason) => continue_because(TerminationReason::NotExtrapolated(reason)),
            Ok(end) => self.decide(&end, best, curve.range),
        }
    }

    fn decide(&self, end: &Extrapolation, best: Option<f64>, range: (f64, f64)) -> TerminationJudgment {
        let improvement = best.map(|best| end.probability_above(best));
        let hopeless = improvement.is_some_and(|p| p < self.improvement);
        let width = range.1 - range.0;
        let known = self.mode == TerminationMode::Optimistic
            && end.standard_deviation < self.spread.unwrap_or(CurveEnd::KNOWN_END_SD) * width;
        let unsure = self.mode == TerminationMode::Conservative
            && !self.spread.is_none_or(|spread| end.standard_deviation < spread * width);
        let reason = if known {
            TerminationReason::Known
        } else if !hopeless {
            TerminationReason::MayImprove
        } else if unsure {
            TerminationReason::Unsure
        } else if self.mode == TerminationMode::Conservative && end.outlier {
            TerminationReason::OutOfRange
        } else {
            TerminationReason::Hopeless
        };
        let stops = matches!(reason, TerminationReason::Known | TerminationReason::Hopeless);
        TerminationJudgment { stop: stops.then_some(end.mean), improvement, reason }
    }
}

fn continue_because(reason: TerminationReason) -> TerminationJudgment {
    TerminationJudgment { stop: None, improvement: None, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge_scores(
        termination: TerminationCriterion,
        scores: &[f64],
        best: Option<f64>,
    ) -> TerminationJudgment {
        let steps: Vec<f64> = (1..=scores.len()).map(|x| x as f64).collect();
        let curve = PartialCurve { steps: &steps, scores, target: 30.0, range: (0.0, 1.0) };
        termination.judge(&curve, best, &LceOptions::default(), 0)
    }

    fn saturating(end: f64) -> Vec<f64> {
        (1..=15).map(|x| end - 0.4 * (-f64::from(x) / 2.0).exp()).collect()
    }

    #[test]
    fn the_conservative_mode_stops_only_what_will_hardly_win() {
        let conservative = TerminationCriterion::default();
        let cases = [
            (Some(0.9), TerminationReason::Hopeless),
            (Some(0.3), TerminationReason::Ahead),
            (Some(0.601), TerminationReason::MayImprove),
            (None, TerminationReason::NoBest),
        ];
        for (best, reason) in cases {
            let judgment = judge_scores(conservative, &saturating(0.6), best);
            assert_eq!(judgment.reason, reason, "{judgment:?}");
            assert_eq!(judgment.stop.is_some(), reason == TerminationReason::Hopeless);
        }
        let sure = TerminationCriterion { spread: Some(1e-9), ..conservative };
        assert_eq!(judge_scores(sure, &saturating(0.6), Some(0.9)).reason, TerminationReason::Unsure);
        let falling: Vec<f64> = saturating(0.6).into_iter().rev().collect();
        let judgment = judge_scores(conservative, &falling, Some(0.9));
        assert!(matches!(judgment.reason, TerminationReason::NotExtrapolated(_)), "{judgment:?}");
    }

    #[test]
    fn the_optimistic_mode_also_stops_what_it_knows() {
        let optimistic = TerminationCriterion {
            mode: TerminationMode::Optimistic,
            spread: Some(0.1),
            ..TerminationCriterion::default()
        };
        for best in [None, Some(0.3)] {
            let judgment = judge_scores(optimistic, &saturating(0.6), best);
            assert_eq!(judgment.reason, TerminationReason::Known);
            assert!(judgment.stop.is_some_and(|end| (end - 0.6).abs() < 0.03), "{judgment:?}");
        }
        let strict = TerminationCriterion { spread: Some(1e-9), ..optimistic };
        assert_eq!(judge_scores(strict, &saturating(0.6), None).reason, TerminationReason::MayImprove);
        assert_eq!(judge_scores(strict, &saturating(0.6), Some(0.9)).reason, TerminationReason::Hopeless);
    }
}
