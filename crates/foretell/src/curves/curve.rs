//! Learning curves: a metric at increasing steps of a resource, turned so that larger is better.
//!
//! With [`RunScore::Best`] the running best takes the place of the curve wherever curves are laid on a grid, so that features, baselines and
//! results mean the same. The best value as the target of the unchanged curve was no better, and `last-value` would be no lower bound.

use crate::curves::metric::Direction;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use thiserror::Error;

/// An error in the steps or values of a learning curve.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum CurveError {
    /// The lists of steps and of values have different lengths.
    #[error("the numbers of steps ({steps}) and values ({values}) differ. Pass one step per value")]
    Lengths {
        /// The number of steps given.
        steps: usize,
        /// The number of values given.
        values: usize,
    },
    /// A step is not finite or not larger than the one before it.
    #[error(
        "step {step} follows step {before}, but steps must be finite and increase. Sort them and remove repeats"
    )]
    Steps {
        /// The step that does not increase.
        step: f64,
        /// The step before it.
        before: f64,
    },
    /// A value with another direction than the values before it.
    #[error("{} values are better, but in the curve so far {} ones are. Use the same direction for all values", given.better_word(), own.better_word())]
    Direction {
        /// The direction of the curve.
        own: Direction,
        /// The direction of the value.
        given: Direction,
    },
}

/// The rule that scores a run: by its last value, its best value, or the mean of its last values.
///
/// Written `last`, `best` and `last:5`.
///
/// ```
/// use foretell::{Curve, Direction, RunScore};
/// let curve = Curve::from_epoch_values(&[0.2, 0.9, 0.4, 0.8], Direction::Maximize);
/// let worth = |text: &str| text.parse::<RunScore>().unwrap().value_of(&curve);
/// assert_eq!([worth("last"), worth("best")], [Some(0.8), Some(0.9)]);
/// assert!((worth("last:2").unwrap() - 0.6).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum RunScore {
    /// The last value.
    #[default]
    Last,
    /// The best value so far, as where the best checkpoint is kept.
    Best,
    /// The mean of so many last values, for trainings whose values are noisy.
    Mean(NonZeroU32),
}

impl RunScore {
    /// The score of this `curve` after each of its steps: the curve itself, [`Curve::running_best`] or [`Curve::running_mean`].
    pub fn score_curve(self, curve: &Curve) -> Cow<'_, Curve> {
        match self {
            Self::Last => Cow::Borrowed(curve),
            Self::Best => Cow::Owned(curve.running_best()),
            Self::Mean(count) => Cow::Owned(curve.running_mean(count)),
        }
    }

    /// The current score of this `curve`; `None` before its first finite value.
    pub fn value_of(self, curve: &Curve) -> Option<f64> {
        match self {
            Self::Last => curve.last_point().map(|(_, score)| score),
            Self::Best => curve.scores().iter().copied().max_by(f64::total_cmp),
            Self::Mean(count) => mean_of_last(curve.scores(), count),
        }
    }
}

/// The mean of the last `count` of `scores`, or of all if there are fewer.
fn mean_of_last(scores: &[f64], count: NonZeroU32) -> Option<f64> {
    let last = &scores[scores.len().saturating_sub(count.get() as usize)..];
    (!last.is_empty()).then(|| last.iter().sum::<f64>() / last.len() as f64)
}

impl FromStr for RunScore {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let count = text.strip_prefix("last:").and_then(|count| count.parse().ok());
        match (text, count) {
            ("last", _) => Ok(Self::Last),
            ("best", _) => Ok(Self::Best),
            (_, Some(count)) => Ok(Self::Mean(count)),
            _ => Err(format!(
                "unknown score `{text}`. Choose last, best, or last:N for the mean of the last N values"
            )),
        }
    }
}

impl TryFrom<String> for RunScore {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<RunScore> for String {
    fn from(score: RunScore) -> Self {
        score.to_string()
    }
}

impl fmt::Display for RunScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Last => f.write_str("last"),
            Self::Best => f.write_str("best"),
            Self::Mean(count) => write!(f, "last:{count}"),
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for RunScore {
    fn schema_name() -> Cow<'static, str> {
        "RunScore".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string"})
    }
}

/// A learning curve: finite scores (larger is better) at strictly increasing steps.
///
/// Values that are not finite are not scores. Inside a curve they are gaps: the step is simply absent. At the end of a
/// curve they mean that the training diverged: [`Curve::diverged_at`] keeps the first such step. A curve that is cut off inside a gap
/// ends there like one that diverged: [`Curve::gap_starts`] keeps where they begin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    steps: Vec<f64>,
    scores: Vec<f64>,
    diverged_at: Option<f64>,
    gaps: Vec<f64>,
    /// The direction of the values; `None` before the first one.
    direction: Option<Direction>,
}

impl Curve {
    /// Checks `values` (metric units, the user's `direction`) at `steps` and turns them into scores.
    ///
    /// # Errors
    /// [`CurveError::Lengths`] if the slices differ in length, [`CurveError::Steps`] if a step is not finite or does
    /// not increase. Values that are not finite are no error: see [`Curve`].
    ///
    /// ```
    /// use foretell::{Curve, Direction};
    /// let curve = Curve::new(&[1.0, 2.0, 3.0], &[2.3, f64::NAN, 1.7], Direction::Minimize)?;
    /// assert_eq!(curve.steps(), [1.0, 3.0]);
    /// assert_eq!(curve.scores(), [-2.3, -1.7]);
    /// # Ok::<(), foretell::CurveError>(())
    /// ```
    pub fn new(steps: &[f64], values: &[f64], direction: Direction) -> Result<Self, CurveError> {
        if steps.len() != values.len() {
            return Err(CurveError::Lengths { steps: steps.len(), values: values.len() });
        }
        let mut curve = Self { direction: Some(direction), ..Self::default() };
        for (&step, &value) in steps.iter().zip(values) {
            curve.push(step, value, direction)?;
        }
        Ok(curve)
    }

    /// A curve with one value a step, from step 1 on: the usual one, one value an epoch.
    ///
    /// ```
    /// use foretell::{Curve, Direction};
    /// assert_eq!(Curve::from_epoch_values(&[0.3, 0.5], Direction::Maximize).steps(), [1.0, 2.0]);
    /// ```
    pub fn from_epoch_values(values: &[f64], direction: Direction) -> Self {
        let steps: Vec<f64> = (1..=values.len()).map(|epoch| epoch as f64).collect();
        Self::new(&steps, values, direction).expect("epoch numbers increase")
    }

    /// Adds one more value; `None` is as good as one that is not finite.
    ///
    /// # Errors
    /// [`CurveError::Steps`] if `step` is not finite or not larger than every step before it, [`CurveError::Direction`] if
    /// `direction` is not that of the curve.
    pub fn push(
        &mut self,
        step: f64,
        value: impl Into<Option<f64>>,
        direction: Direction,
    ) -> Result<(), CurveError> {
        if let Some(own) = self.direction.filter(|&own| own != direction) {
            return Err(CurveError::Direction { own, given: direction });
        }
        // a step whose value was not finite is taken, too: the curve must not go back behind it
        let before = match (self.steps.last(), self.diverged_at) {
            (Some(&last), Some(diverged)) => last.max(diverged),
            (Some(&last), None) => last,
            (None, Some(diverged)) => diverged,
            (None, None) => f64::NEG_INFINITY,
        };
        if !step.is_finite() || step <= before {
            return Err(CurveError::Steps { step, before });
        }
        self.direction = Some(direction);
        if let Some(value) = value.into().filter(|value| value.is_finite()) {
            self.gaps.extend(self.diverged_at.take());
            self.steps.push(step);
            self.scores.push(direction.to_score(value));
        } else if self.diverged_at.is_none() {
            self.diverged_at = Some(step);
        }
        Ok(())
    }

    /// The direction of the metric's values; `None` for a curve that never had any.
    pub fn direction(&self) -> Option<Direction> {
        self.direction
    }

    /// The steps with a finite score, increasing, in units of the resource (epochs unless named otherwise).
    pub fn steps(&self) -> &[f64] {
        &self.steps
    }

    /// The scores at [`Curve::steps`], larger is better.
    pub fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// The number of finite points the curve has.
    pub fn len(&self) -> usize {
        self.scores.len()
    }

    /// Whether the curve has no finite point.
    pub fn is_empty(&self) -> bool {
        self.scores.is_empty()
    }

    /// The last finite point, `(step, score)`.
    pub fn last_point(&self) -> Option<(f64, f64)> {
        Some((*self.steps.last()?, *self.scores.last()?))
    }

    /// The first step of the non-finite values at the end of the curve: where the training diverged.
    pub fn diverged_at(&self) -> Option<f64> {
        self.diverged_at
    }

    /// The first step of each stretch of non-finite values that finite ones follow, increasing.
    ///
    /// ```
    /// use foretell::{Curve, Direction};
    /// let curve = Curve::from_epoch_values(&[0.1, f64::NAN, f64::NAN, 0.4], Direction::Maximize);
    /// assert_eq!((curve.gap_starts(), curve.diverged_at()), (&[2.0][..], None));
    /// assert_eq!(curve.prefix_until(3.0).diverged_at(), Some(2.0)); // who looks then cannot know that it recovers
    /// ```
    pub fn gap_starts(&self) -> &[f64] {
        &self.gaps
    }

    /// The score at exactly `step`.
    pub fn value_at(&self, step: f64) -> Option<f64> {
        let index = self.steps.partition_point(|&s| s < step);
        (self.steps.get(index)? <= &step).then(|| self.scores[index])
    }

    /// The score at `step`, straight-line interpolated between the neighboring points; `None` outside the curve.
    pub fn interpolate_at(&self, step: f64) -> Option<f64> {
        let index = self.steps.partition_point(|&s| s < step);
        let right = *self.steps.get(index)?;
        if right <= step {
            return Some(self.scores[index]);
        }
        let left = *self.steps.get(index.checked_sub(1)?)?;
        let share = (step - left) / (right - left);
        Some(self.scores[index - 1] + share * (self.scores[index] - self.scores[index - 1]))
    }

    /// The best score so far at each step. A divergence at the end stays one. O(points).
    ///
    /// ```
    /// use foretell::{Curve, Direction};
    /// let loss = Curve::from_epoch_values(&[0.9, 0.5, 0.7, 0.4], Direction::Minimize);
    /// assert_eq!(loss.running_best().scores(), [-0.9, -0.5, -0.5, -0.4]);
    /// ```
    #[must_use]
    pub fn running_best(&self) -> Self {
        let mut best = f64::NEG_INFINITY;
        let scores = self.scores.iter().map(|&score| {
            best = best.max(score);
            best
        });
        Self {
            steps: self.steps.clone(),
            scores: scores.collect(),
            diverged_at: self.diverged_at,
            direction: self.direction,
            gaps: self.gaps.clone(),
        }
    }

    /// The mean of the last `count` scores up to each step, or of all there are.
    #[must_use]
    pub fn running_mean(&self, count: NonZeroU32) -> Self {
        let scores = (0..self.scores.len())
            .map(|at| mean_of_last(&self.scores[..=at], count).unwrap_or(f64::NEG_INFINITY));
        Self { scores: scores.collect(), ..self.clone() }
    }

    /// The part of the curve up to and including `step`.
    #[must_use]
    pub fn prefix_until(&self, step: f64) -> Self {
        let count = self.steps.partition_point(|&s| s <= step);
        let mut gaps = self.gaps[..self.gaps.partition_point(|&s| s <= step)].to_vec();
        let last = self.steps[..count].last().copied().unwrap_or(f64::NEG_INFINITY);
        let open = gaps.pop_if(|gap| *gap > last);
        Self {
            steps: self.steps[..count].to_vec(),
            scores: self.scores[..count].to_vec(),
            diverged_at: open.or(self.diverged_at.filter(|&at| at <= step)),
            gaps,
            direction: self.direction,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_non_finite_value_inside_is_a_gap_and_at_the_end_a_divergence() {
        let steps = [1.0, 2.0, 3.0, 4.0, 5.0];
        let nan = f64::NAN;
        let gap = Curve::new(&steps, &[0.1, nan, 0.3, 0.4, 0.5], Direction::Maximize).unwrap();
        assert_eq!((gap.len(), gap.diverged_at(), gap.value_at(2.0)), (4, None, None));
        assert!((gap.interpolate_at(2.0).unwrap() - 0.2).abs() < 1e-12);
        let diverged = Curve::new(&steps, &[0.1, 0.2, 0.3, nan, f64::INFINITY], Direction::Maximize).unwrap();
        assert_eq!((diverged.len(), diverged.diverged_at()), (3, Some(4.0)));
        assert_eq!(diverged.interpolate_at(4.0), None);
        assert_eq!(diverged.prefix_until(3.0).diverged_at(), None);
    }

    #[test]
    fn a_run_is_worth_its_last_value_or_the_best_it_has_reached() {
        let curve = Curve::from_epoch_values(&[0.5, 0.9, 0.7, f64::NAN], Direction::Maximize);
        assert_eq!(RunScore::Last.score_curve(&curve).as_ref(), &curve);
        let best = RunScore::Best.score_curve(&curve).into_owned();
        assert_eq!((best.steps(), best.scores()), (curve.steps(), &[0.5, 0.9, 0.9][..]));
        assert_eq!(best.diverged_at(), Some(4.0), "what was reached does not undo a divergence");
        assert_eq!(
            [RunScore::Last, RunScore::Best].map(|score| score.value_of(&curve)),
            [Some(0.7), Some(0.9)]
        );
        assert_eq!(RunScore::Best.value_of(&Curve::default()), None);
    }

    #[test]
    fn steps_must_increase_past_non_finite_values_too() {
        let mut curve = Curve::from_epoch_values(&[0.1, f64::NAN], Direction::Maximize);
        assert_eq!(
            curve.push(2.0, 0.3, Direction::Maximize),
            Err(CurveError::Steps { step: 2.0, before: 2.0 })
        );
        assert!(curve.push(3.0, 0.3, Direction::Maximize).is_ok());
        assert!(Curve::new(&[1.0], &[], Direction::Maximize).is_err());
    }

    #[test]
    fn a_value_with_another_direction_is_refused() {
        let mut curve = Curve::default();
        assert_eq!(curve.direction(), None);
        curve.push(1.0, 0.3, Direction::Minimize).unwrap();
        let error = curve.push(2.0, 0.2, Direction::Maximize).unwrap_err();
        assert_eq!(error, CurveError::Direction { own: Direction::Minimize, given: Direction::Maximize });
        assert_eq!(curve.prefix_until(1.0).direction(), Some(Direction::Minimize));
    }
}
