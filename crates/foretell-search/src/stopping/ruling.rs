//! The ruling of a stop rule on a trial, and the data that it rests on.

use crate::stopping::decision::{Reason, RecordedForecast};
use foretell::Forecast;

/// A forecast of a running trial.
pub struct EndForecast {
    /// In the metric's own unit.
    pub recorded: RecordedForecast,
    /// The forecast on the scale of the predictor, for example logarithms of a loss.
    pub forecast: Forecast,
    /// Puts a score on that scale.
    pub on_scale: Box<dyn Fn(f64) -> f64>,
    /// Where other objectives are forecast, too: the scores the trial may have to beat, each as probable as any other, −∞ where nobody
    /// would dominate it. Else empty.
    pub incumbents: Vec<f64>,
}

/// The position of a trial at a rung.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RungPlace {
    /// The trial's score there.
    pub score: f64,
    /// The number of trials that have reached the rung, itself counted.
    pub all: usize,
    /// The number of them that are better.
    pub better: usize,
}

/// The ruling on a trial; by default, it continues.
#[derive(Clone, Debug, PartialEq)]
pub struct Ruling {
    /// Whether the trial stops.
    pub stop: bool,
    /// Why, or why not.
    pub reason: Reason,
    /// The forecast, if it was by one.
    pub forecast: Option<RecordedForecast>,
    /// The score that was to be beaten.
    pub incumbent: Option<f64>,
    /// The probability that the trial does not beat it.
    pub probability: Option<f64>,
    /// The chance that it ends as the best trial.
    pub chance: Option<f64>,
    /// The score that a stopped trial counts with, where that is not its forecast.
    pub counts_with: Option<f64>,
}

impl Default for Ruling {
    fn default() -> Self {
        Self {
            stop: false,
            reason: Reason::MayWin,
            forecast: None,
            incumbent: None,
            probability: None,
            chance: None,
            counts_with: None,
        }
    }
}

impl Ruling {
    /// The trial stops, and counts with `score`.
    pub fn stop(reason: Reason, score: f64) -> Self {
        Self { stop: true, reason, counts_with: Some(score), ..Self::default() }
    }

    /// The trial continues, for a `reason`.
    pub fn go_on(reason: Reason) -> Self {
        Self { reason, ..Self::default() }
    }
}
