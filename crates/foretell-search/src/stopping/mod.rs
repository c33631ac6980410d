//! Stop rules for running trials. A rule sees one trial through [`Watched`] and rules on it; the study handles burn-in, divergence,
//! exemptions, orders of a person and the log.
//!
//! A new rule of this crate is a file next to this one and its line in [`rules`].

mod asha;
pub(crate) mod caution;
mod chain;
pub(crate) mod decision;
mod earlier;
mod forecast;
mod median;
mod none;
mod oracle;
mod patience;
pub(crate) mod policy;
mod ruling;

pub use asha::AshaRule;
pub use chain::ChainRule;
pub(crate) use earlier::split_lesson;
pub use earlier::{EarlierStudy, LessonStatus, name_lesson};
pub use forecast::ForecastRule;
pub use median::MedianRule;
pub use none::NoStopping;
pub use oracle::OracleRule;
pub use patience::PatienceRule;
pub use ruling::{EndForecast, Ruling, RungPlace};

use crate::part::PartError;
use crate::shelf::PartShelf;
use crate::stopping::caution::{Caution, StoppingDefaults};
use foretell::{Direction, Run, RunScore, StopCriterion};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::any::Any;
use std::sync::Arc;

/// The rules of this crate.
pub(crate) fn rules() -> PartShelf<dyn StopRule> {
    let mut shelf = PartShelf::new("policy");
    add_rule::<NoStopping>(&mut shelf);
    add_rule::<ForecastRule>(&mut shelf);
    add_rule::<ChainRule>(&mut shelf);
    add_rule::<MedianRule>(&mut shelf);
    add_rule::<PatienceRule>(&mut shelf);
    add_rule::<AshaRule>(&mut shelf);
    add_rule::<OracleRule>(&mut shelf);
    shelf
}

/// Adds the rule `R` to the `shelf`.
pub(crate) fn add_rule<R: NamedRule>(shelf: &mut PartShelf<dyn StopRule>) {
    shelf.add((R::NAME, R::ABOUT), R::SETTING_DOCS, make_rule::<R>);
}

/// The rule `R` with the settings that are `given`, and all its settings.
fn make_rule<R: NamedRule>(given: &Value) -> Result<(Arc<dyn StopRule>, Value), String> {
    let is_usual = given.is_null() || given.as_object().is_some_and(Map::is_empty);
    // a rule without settings cannot be read from `{}`, so where nothing is given the default is taken
    let rule = match (is_usual, R::SETTING_DOCS) {
        (true, _) => R::default(),
        (false, []) => return Err(format!("{given}: this policy takes no settings. Leave them out")),
        (false, _) => serde_path_to_error::deserialize(given)
            .map_err(|error| format!("{}: {}", error.path(), error.inner()))?,
    };
    let settings = serde_json::to_value(&rule).map_err(|error| error.to_string())?;
    Ok((Arc::new(rule), settings))
}

/// The data that a study prepares for a stop rule, and the facts about the rule that others go by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleNeeds {
    /// Nothing at all: no trial is judged, and none is stopped.
    pub nothing: bool,
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
    /// To know who is ahead at these rungs, which forecasts may say as well: see [`Rank`](crate::Rank).
    pub ranks: bool,
    /// The score of the best completed trial, or of the n-th best: then `nth_best` and `offset` matter.
    pub incumbent: bool,
    /// The metric as the only objective, because it compares trials by nothing else. With other objectives or limits a rule that needs
    /// forecasts or curves gives way to [`ForecastRule`], and another one is refused.
    pub metric_alone: bool,
    /// The curves of earlier runs as far as they go, completed or not.
    pub curves: bool,
    /// To know how trials end, which only a replay of recorded runs does.
    pub truth: bool,
}

impl RuleNeeds {
    /// Whether the rule gives way to [`ForecastRule`] where there are other objectives or limits.
    pub(crate) fn gives_way(&self) -> bool {
        self.metric_alone && (self.forecasts || self.curves)
    }
}

/// A rule that stops running trials.
///
/// The rulings depend only on the input, so that a study's log, replayed, restores the study. What a rule learns from other trials is kept
/// by the study, as its [`RuleLearner`].
///
/// ```
/// use foretell_search::{RuleNeeds, Reason, Ruling, StopRule, WatchedTrial};
///
/// /// Stops a trial that is below a bar after ten steps.
/// struct Bar(f64);
///
/// impl StopRule for Bar {
///     fn needs(&self, _max_resource: u64) -> RuleNeeds {
///         RuleNeeds::default()
///     }
///
///     fn rule(&self, trial: &mut dyn WatchedTrial) -> Ruling {
///         match trial.scores().last() {
///             Some(&score) if trial.step() >= 10 && score < self.0 => Ruling::stop(Reason::Own("below the bar".into()), score),
///             _ => Ruling::default(),
///         }
///     }
/// }
/// ```
pub trait StopRule: Send + Sync {
    /// The needs of the rule where a whole training takes `max_resource` steps.
    fn needs(&self, max_resource: u64) -> RuleNeeds;

    /// The ruling on a trial that has just reported.
    fn rule(&self, trial: &mut dyn WatchedTrial) -> Ruling;

    /// What it learns from the reports of all trials, for a study that has seen none yet; `None` if it learns nothing.
    fn learner(&self, plan: &StudyPlan) -> Option<Box<dyn RuleLearner>> {
        let _ = plan;
        None
    }

    /// Checks its settings for trainings of `max_resource` steps.
    ///
    /// # Errors
    /// The setting, the problem with it, and what to do.
    fn check(&self, max_resource: u64) -> Result<(), PartError> {
        let _ = max_resource;
        Ok(())
    }

    /// The default stopping of a study by this rule; `None` as by any other rule.
    fn usual(&self) -> Option<StoppingDefaults> {
        None
    }

    /// When it stops a trial with this `caution`, in words that follow "a trial is stopped"; `None` for a rule that goes by forecasts,
    /// whose words need the criterion.
    fn in_words(&self, caution: Caution) -> Option<String> {
        let _ = caution;
        None
    }
}

/// A stop rule that a catalogue knows by name. Its settings are its fields.
///
/// ```
/// use foretell_search::{Catalogue, NamedRule, RuleNeeds, Ruling, StopRule, WatchedTrial};
/// use serde::{Deserialize, Serialize};
///
/// /// Stops nothing before a step, and everything there.
/// #[derive(Serialize, Deserialize)]
/// #[serde(default, deny_unknown_fields)]
/// struct Curfew {
///     step: u64,
/// }
///
/// impl Default for Curfew {
///     fn default() -> Self {
///         Self { step: 10 }
///     }
/// }
///
/// impl NamedRule for Curfew {
///     const NAME: &'static str = "curfew";
///     const ABOUT: &'static str = "Stop trials at a step.";
///     const SETTING_DOCS: &'static [(&'static str, &'static str)] = &[("step", "The step.")];
/// }
///
/// impl StopRule for Curfew {
///     fn needs(&self, _max_resource: u64) -> RuleNeeds {
///         RuleNeeds::default()
///     }
///
///     fn rule(&self, trial: &mut dyn WatchedTrial) -> Ruling {
///         Ruling { stop: trial.step() >= self.step, ..Ruling::default() }
///     }
/// }
///
/// let catalogue = Catalogue::default().with_rule::<Curfew>();
/// let named = serde_json::from_str(r#"{"curfew": {"step": 3}}"#).unwrap();
/// assert_eq!(catalogue.resolve_policy(&named, &Default::default()).unwrap().setting("step"), Some(&3.into()));
/// ```
pub trait NamedRule: StopRule + Serialize + DeserializeOwned + Default + 'static {
    /// The rule's name in requests and logs.
    const NAME: &'static str;
    /// What it does, in a sentence for help texts.
    const ABOUT: &'static str;
    /// The names of its settings, each with its documentation. One that has the name of a field of a request is also set by that field.
    const SETTING_DOCS: &'static [(&'static str, &'static str)] = &[];
}

/// The facts of a study that a [`RuleLearner`] starts from.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyPlan {
    /// The steps of a whole training.
    pub max_resource: u64,
    /// The number of planned trials.
    pub trials: u64,
    /// The better direction of the metric.
    pub direction: Direction,
    /// Which of its reports a trial counts with.
    pub run_score: RunScore,
}

/// What a stop rule learns from all trials of a study. The study keeps it between decisions and tells it everything in the order of the
/// log, also when it is restored from it; after a change of settings, from the beginning, one trial after another.
pub trait RuleLearner: Any + Send + Sync {
    /// A run of an earlier search, before any trial.
    fn earlier(&mut self, run: &Run);

    /// Trial `trial` has trained `epochs` and then had this score, as the study counts it (larger is better); `None` for a value that is
    /// not finite.
    fn learn_report(&mut self, trial: u64, epochs: u64, score: Option<f64>);

    /// Trial `trial` trains no more for now.
    fn learn_end(&mut self, trial: u64, fate: TrialOutcome);

    /// The earlier studies that it learns from, with whether each counts by now; none if they always count.
    fn lessons(&self) -> Vec<EarlierStudy> {
        Vec::new()
    }
}

/// How a trial ended, for a [`RuleLearner`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialOutcome {
    /// Trained to its end.
    Completed,
    /// Trained to a rung, from which it may continue.
    Paused,
    /// Stopped.
    Stopped,
    /// Failed, or its configuration is lost: its reports count for nothing.
    Failed,
}

/// The data of a trial that a stop rule can use. Scores are oriented so that larger is better.
pub trait WatchedTrial {
    /// The trial's number.
    fn trial(&self) -> u64;

    /// The last step that it reported.
    fn step(&self) -> u64;

    /// The step that it is trained to.
    fn target_step(&self) -> u64;

    /// The worth of the trial at each finite report so far.
    fn scores(&self) -> Vec<f64>;

    /// The score that it has to beat; `None` while nobody has one.
    fn incumbent(&self) -> Option<f64>;

    /// The criterion by which a forecast shows that a trial will not win.
    fn criterion(&self) -> StopCriterion;

    /// The risk that the study takes.
    fn caution(&self) -> Caution;

    /// The number of planned trials.
    fn planned_trials(&self) -> u64;

    /// What the rule has learned from the reports of all trials, that of this trial included: its [`StopRule::learner`], to be downcast.
    fn learner(&mut self) -> Option<&mut dyn Any>;

    /// Where it is forecast to be at the end.
    ///
    /// # Errors
    /// Why there is no forecast.
    fn foresee(&mut self) -> Result<EndForecast, String>;

    /// The number of this check, from 1, and how many there are before the end.
    fn check(&self) -> (usize, usize);

    /// The number of checks in a row, up to the last one, that forecast that it will not win.
    fn votes(&self) -> u64;

    /// The median, at its step, of the running means of those that were trained as far as it is to be.
    fn median_of_means(&mut self) -> Option<f64>;

    /// Where it stands at the rung that it has just reached; `None` at no rung.
    fn place_at_rung(&self) -> Option<RungPlace>;

    /// The score that it will have at the end, which only a replay of recorded runs knows.
    fn truth(&self) -> Option<f64>;
}
