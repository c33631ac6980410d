//! Where a run stands against a history: on its way, at the target, diverged, or not comparable.

use crate::curves::curve::Curve;
use crate::curves::history::History;
use crate::curves::scale::Scale;

/// The state of a run relative to a [`History`]. Only runs that are [`RunStanding::Running`] are forecast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RunStanding {
    /// The curve is on its way to the target, or has no point yet.
    Running,
    /// The curve is at the target or beyond.
    Arrived,
    /// The curve diverged before the target.
    Diverged {
        /// The first step without a finite value.
        at: f64,
    },
    /// The curve begins after the target.
    Late {
        /// The first step of the curve.
        first: f64,
    },
    /// The history's scores are logarithms and one of its values has none.
    NoLogarithm {
        /// The step of that value.
        step: f64,
        /// The value, in the metric's own unit.
        value: f64,
    },
    /// One of its values lies outside the bounds of the history's metric: see [`History::metric_bounds`].
    OutOfBounds {
        /// The step of that value.
        step: f64,
        /// The value, in the metric's own unit.
        value: f64,
    },
}

impl History {
    /// The state of this `curve`. O(points).
    ///
    /// ```
    /// use foretell::{Configuration, Curve, Direction, History, HistoryOptions, Run, RunStanding};
    /// let loss = |values: &[f64]| Curve::from_epoch_values(values, Direction::Minimize);
    /// let run = Run { id: "a".into(), configuration: Configuration::new(), curve: loss(&[2.0, 1.5, 1.0]) };
    /// let history = History::new(&[run], &HistoryOptions::default())?;
    /// assert_eq!(history.run_standing(&loss(&[2.0, 1.9])), RunStanding::Running);
    /// assert_eq!(history.run_standing(&loss(&[2.0, f64::NAN])), RunStanding::Diverged { at: 2.0 });
    /// assert_eq!(history.run_standing(&loss(&[2.0, 0.0])), RunStanding::NoLogarithm { step: 2.0, value: 0.0 });
    /// # Ok::<(), foretell::HistoryError>(())
    /// ```
    pub fn run_standing(&self, curve: &Curve) -> RunStanding {
        let target = self.grid().last().copied().unwrap_or(0.0);
        let values = curve.scores().iter().map(|&score| self.direction().to_value(score));
        let mut points = curve.steps().iter().copied().zip(values);
        let (low, high) = self.metric_bounds();
        let logarithmic = self.scale() == Scale::Log;
        if let Some((step, value)) = points.clone().find(|(_, value)| logarithmic && *value <= 0.0) {
            return RunStanding::NoLogarithm { step, value };
        }
        if let Some((step, value)) = points.find(|(_, value)| !(low..=high).contains(value)) {
            return RunStanding::OutOfBounds { step, value };
        }
        let first = curve.steps().first().copied().filter(|&first| first > target);
        match (self.end_of(curve), curve.diverged_at(), first) {
            (Some(_), ..) => RunStanding::Arrived,
            (_, _, Some(first)) => RunStanding::Late { first },
            (_, Some(at), _) => RunStanding::Diverged { at },
            _ => RunStanding::Running,
        }
    }
}
