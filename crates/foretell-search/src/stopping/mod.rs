//! Stop rules for running trials. A rule sees one trial through [`Watched`] and rules on it; the study handles burn-in, divergence,
//! exemptions, orders of a person and the log.

mod asha;
pub(crate) mod caution;
pub(crate) mod decision;
mod forecast;
mod median;
mod patience;
pub(crate) mod policy;
mod rungs_first;

pub use forecast::ForecastRule;
pub use patience::PatienceRule;
pub use rungs_first::RungsFirstRule;

use crate::stopping::caution::Stopping;
use crate::stopping::decision::{Reason, RecordedForecast};
use foretell::{Forecast, StopCriterion};

/// The data that a study prepares for a stop rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// No trial is judged before as many trials as the burn-in were trained to its level.
    pub burn_in: bool,
    /// Forecasts. If possible, their models are fitted in advance on another thread.
    pub forecasts: bool,
    /// These by the trial's own curve alone: the predictor must extrapolate.
    pub curve_alone: bool,
    /// The running means of those that were trained to a level.
    pub means: bool,
    /// The resources, ascending, at which the scores of all trials are kept.
    pub rungs: Vec<u64>,
}

/// A rule that stops running trials.
///
/// A rule has no state: its rulings depend only on its input, so that a study's log, replayed, restores the study.
///
/// ```
/// use foretell_search::{Needs, Reason, Ruling, StopRule, Watched};
///
/// /// Stops a trial that is below a bar after ten steps.
/// struct Bar(f64);
///
/// impl StopRule for Bar {
///     fn needs(&self, _max_resource: u64) -> Needs {
///         Needs::default()
///     }
///
///     fn rule(&self, trial: &mut dyn Watched) -> Ruling {
///         match trial.scores().last() {
///             Some(&score) if trial.step() >= 10 && score < self.0 => Ruling::stop(Reason::Own("below the bar".into()), score),
///             _ => Ruling::default(),
///         }
///     }
/// }
/// ```
pub trait StopRule: Send + Sync {
    /// The needs of the rule where a whole training takes `max_resource` steps. Asked once.
    fn needs(&self, max_resource: u64) -> Needs;

    /// The ruling on a trial that has just reported.
    fn rule(&self, trial: &mut dyn Watched) -> Ruling;

    /// The default stopping of a study by this rule; `None` as by any other rule.
    fn usual(&self) -> Option<Stopping> {
        None
    }
}

/// The data of a trial that a stop rule can use. Scores are oriented so that larger is better.
pub trait Watched {
    /// The trial's number.
    fn trial(&self) -> u64;

    /// The last step that it reported.
    fn step(&self) -> u64;

    /// The step that it is trained to.
    fn until(&self) -> u64;

    /// The worth of the trial at each finite report so far.
    fn scores(&self) -> Vec<f64>;

    /// The score that it has to beat; `None` while nobody has one.
    fn incumbent(&self) -> Option<f64>;

    /// The criterion by which a forecast shows that a trial will not win.
    fn criterion(&self) -> StopCriterion;

    /// Where it is forecast to be at the end.
    ///
    /// # Errors
    /// Why there is no forecast.
    fn foresee(&mut self) -> Result<Foreseen, String>;

    /// The number of this check, from 1, and how many there are before the end.
    fn check(&self) -> (usize, usize);

    /// The number of checks in a row, up to the last one, that forecast that it will not win.
    fn votes(&self) -> u64;

    /// The median, at its step, of the running means of those that were trained as far as it is to be.
    fn median_of_means(&mut self) -> Option<f64>;

    /// Where it stands at the rung that it has just reached; `None` at no rung.
    fn place_at_rung(&self) -> Option<Place>;

    /// Whether enough trials, as many as the burn-in, have reached its target, so that it can be forecast.
    fn has_teachers(&self) -> bool;

    /// The standing at the last rung that it has passed, among all that have reached it by now.
    fn standing(&self) -> Option<Standing>;
}

/// A forecast of a running trial.
pub struct Foreseen {
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
pub struct Place {
    /// Its score there.
    pub score: f64,
    /// The number of trials that have reached the rung, itself counted.
    pub all: usize,
    /// The number of them that are better.
    pub better: usize,
}

/// The state of a trial at a rung that it has passed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// Its place by the scores there.
    pub place: Place,
    /// The distance to the best score at the rung.
    pub behind: f64,
    /// The standard deviation of the scores at the rung, estimated from their quartiles.
    pub spread: f64,
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
