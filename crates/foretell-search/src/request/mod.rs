//! The one description of a study: flags, study files, HTTP and Python all fill a [`StudyRequest`], and [`StudyRequest::resolve`]
//! has all defaults.

mod names;
mod objectives;
mod refusal;
mod resolve;
#[cfg(feature = "schema")]
mod schema;
mod space;
#[cfg(feature = "schema")]
mod usual;
mod written;

pub use names::{Refit, RungSettings, SchedulerName};
pub use refusal::{Refusal, read_fields};

#[cfg(feature = "schema")]
use crate::defaults::*;
use crate::part::NamedSettings;
use crate::schedulers::f_hyperband::{KappaOf, Reference};
use crate::schedulers::rank::Rank;
use crate::space::Space;
use crate::stopping::caution::Caution;
use foretell::{Configuration, Direction, ErrorBudget, RunScore};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A configuration to try first, in its written form.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "expected a string such as \"lr=0.1,opt=sgd\", or an object of values")]
pub enum Queued {
    /// `lr=0.1,opt=sgd`, or a network such as `[C(64,3,1), SM(10)]`.
    Text(String),
    /// A value for each parameter.
    Values(
        #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, serde_json::Value>"))] Configuration,
    ),
}

impl<'de> Deserialize<'de> for Queued {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Value::deserialize(deserializer)?;
        match &given {
            Value::String(text) => Ok(Self::Text(text.clone())),
            Value::Object(values) => match values.iter().find(|(_, value)| !is_of_parameter(value)) {
                None => serde_json::from_value(given).map(Self::Values).map_err(D::Error::custom),
                Some((name, value)) => Err(D::Error::custom(format!(
                    "{name}: {value} is not a value of a parameter. Use a number or a string, or leave out the parameter"
                ))),
            },
            _ => Err(D::Error::custom(format!(
                "{given} is not a configuration. Use an object such as {{\"lr\": 0.1}}, or a string such as lr=0.1"
            ))),
        }
    }
}

fn is_of_parameter(value: &Value) -> bool {
    matches!(value, Value::Number(_) | Value::String(_) | Value::Null)
}

/// The requested settings of a study, all of them optional.
///
/// A study file and the body of `PUT` are this; flags fill it, and so do Python's arguments. [`resolve`](Self::resolve) adds
/// what is left open. Each field's documentation is also the help of its flag and its description in the schema.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct StudyRequest {
    /// Search space: a kind for each parameter, such as {"lr": "log:1e-4:1"} or {"lr": {"kind": "log", "lo": 1e-4, "hi": 1}}, or the name
    /// metaqnn.
    #[serde(alias = "param", deserialize_with = "space::read")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub space: Option<Space>,
    /// Name of the metric.
    #[cfg_attr(feature = "schema", schemars(extend("default" = DEFAULT_METRIC)))]
    pub metric: Option<String>,
    /// Direction of the metric: maximize or minimize (default: inferred from its name).
    pub direction: Option<Direction>,
    /// Add an objective: a metric, a parameter, or a formula of parameters, for example `val_acc`, `weights:min` or `width^2*depth:min`.
    /// The first objective is the metric to forecast, and with several, the search looks for the Pareto front. Can be repeated (in a file:
    /// a table `[objectives]` with lines such as weights = "min").
    #[serde(alias = "objectives", deserialize_with = "objectives::read")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<String>>", extend("x-heading" = "Objectives", "x-rare" = true, "x-value" = "NAME[:min|:max]")))]
    pub objective: Option<Vec<String>>,
    /// Set a limit that every trial must keep, such as `latency<=20` or `width*depth<=512`. Configurations whose parameters break it are not
    /// tried. A trial that certainly exceeds it is stopped and never becomes the best one. Can be repeated.
    #[serde(alias = "limits", deserialize_with = "objectives::read_limits")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<String>>", extend("x-heading" = "Objectives", "x-rare" = true, "x-value" = "NAME<=NUMBER")))]
    pub limit: Option<Vec<String>>,

    /// How many trials to train in total, earlier runs of the search included. With Hyperband, set `runs` instead.
    #[cfg_attr(feature = "schema", schemars(extend("default" = DEFAULT_TRIALS, "x-heading" = "Search")))]
    pub trials: Option<u64>,
    /// Spend at most this many epochs on all trials together, instead of training a fixed number of trials.
    #[cfg_attr(feature = "schema", schemars(extend("x-heading" = "Search", "x-rare" = true, "x-value" = "EPOCHS", "minimum" = 1)))]
    pub budget_epochs: Option<u64>,
    /// In Python: whether the objective continues a paused trial after the epochs that it has trained.
    #[cfg_attr(
        feature = "schema",
        schemars(extend("default" = true, "x-heading" = "Search", "x-rare" = true, "x-flag-help" = "In Python: the objective trains a paused trial again from its first epoch"))
    )]
    pub checkpoints: Option<bool>,
    /// Try this configuration first, for example `lr=0.1,opt=sgd` or a network such as `[C(64,3,1), SM(10)]`. The sampler chooses the
    /// values that you leave out. Can be repeated (in a file: `[[trial]]`).
    #[serde(alias = "trial", alias = "queue")]
    #[cfg_attr(feature = "schema", schemars(extend("x-heading" = "Search", "x-rare" = true, "x-value" = "NAME=VALUE,…")))]
    pub enqueue: Option<Vec<Queued>>,
    /// End the search once this many trials in a row bring no improvement.
    #[cfg_attr(feature = "schema", schemars(extend("x-heading" = "Search", "x-rare" = true, "x-value" = "N", "minimum" = 1)))]
    pub until_no_improvement: Option<u64>,
    /// End the search once a completed trial reaches this score. Running trials complete.
    #[cfg_attr(feature = "schema", schemars(extend("x-heading" = "Search", "x-rare" = true, "x-value" = "SCORE")))]
    pub target: Option<f64>,
    /// Train each configuration with this many seeds and compare configurations by their means. Each seed is a trial, and the remaining
    /// ones are skipped once the mean so far cannot win.
    #[cfg_attr(feature = "schema", schemars(extend("default" = 1, "x-heading" = "Search", "x-rare" = true, "x-value" = "SEEDS", "minimum" = 1)))]
    pub repeats: Option<u64>,
    /// Into how many folds the script divides its data, to train once per fold. A trial then counts with the mean of its folds, and may
    /// be stopped between or within them. `epochs` is the length of one fold.
    #[cfg_attr(feature = "schema", schemars(extend("default" = 1, "x-heading" = "Search", "x-rare" = true, "x-value" = "FOLDS", "minimum" = 1)))]
    pub folds: Option<u64>,
    /// How many epochs (or steps) a full trial takes: R in formulas. If you leave it out, trials show it: nothing is stopped until the first
    /// one is complete, and a longer trial is not cut. Schedulers with rungs need it.
    #[cfg_attr(feature = "schema", schemars(extend(
            "x-heading" = "Search",
            "x-flag-help" = "How many epochs (or steps) a full trial takes. Without it, no trial is stopped before the first one is complete. Schedulers with rungs need it (default: as many as the first complete trial; built-in networks: that of the space; quickstart: 10)"
        )))]
    pub epochs: Option<u64>,
    /// Score each trial by its `last` or its `best` report, or, with `last:5`, by the mean of the last five. Foretell forecasts this score
    /// and compares trials by it.
    #[cfg_attr(feature = "schema", schemars(extend("default" = RunScore::default(), "x-heading" = "Search", "x-judged" = true, "x-rare" = true)))]
    pub score: Option<RunScore>,
    /// Seed for all random choices. The same seed repeats a search with one worker.
    #[cfg_attr(feature = "schema", schemars(extend("default" = 0, "x-heading" = "Search", "x-judged" = true, "x-rare" = true)))]
    pub seed: Option<u64>,
    /// How to choose the next configuration.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>", extend("x-heading" = "Search", "x-rare" = true)))]
    pub sampler: Option<NamedSettings>,
    /// How to decide which trial to train next, and for how long.
    #[cfg_attr(feature = "schema", schemars(extend("x-heading" = "Search", "x-compared" = true, "x-rare" = true)))]
    pub scheduler: Option<SchedulerName>,

    /// Promote one in ETA trials at each rung (η, the reduction factor).
    #[cfg_attr(feature = "schema", schemars(extend("default" = DEFAULT_ETA, "x-heading" = "Rungs", "x-compared" = true, "x-rare" = true)))]
    pub eta: Option<u64>,
    /// Use at most this many rungs of asha below the last epoch, leaving out the lowest ones.
    #[cfg_attr(feature = "schema", schemars(extend("x-heading" = "Rungs", "x-compared" = true, "x-rare" = true, "x-value" = "N", "minimum" = 1)))]
    pub rungs: Option<u32>,
    /// How to rank trials at a rung, with the policy none or asha. Ranking by forecasts uses `predictor` and starts after `burn_in`
    /// completed trials; asha then ignores rungs that do not predict the final value.
    #[cfg_attr(feature = "schema", schemars(extend("default" = Rank::default(), "x-heading" = "Rungs", "x-compared" = true, "x-rare" = true)))]
    pub rank: Option<Rank>,
    /// Run all brackets of Hyperband this many times.
    #[cfg_attr(feature = "schema", schemars(extend("default" = 1, "x-heading" = "Rungs", "x-rare" = true)))]
    pub runs: Option<u64>,
    /// κ of f-Hyperband, in (0, 1]. Smaller values stop more trials.
    #[cfg_attr(feature = "schema", schemars(extend("default" = DEFAULT_KAPPA, "x-heading" = "Rungs", "x-compared" = true, "x-rare" = true)))]
    pub kappa: Option<f64>,
    /// Whether κ is a fraction of the promoted trials (next) or of all trials in the rung (rung).
    #[cfg_attr(feature = "schema", schemars(extend("default" = KappaOf::default(), "x-heading" = "Rungs", "x-compared" = true, "x-rare" = true, "x-value" = "WHICH")))]
    pub kappa_of: Option<KappaOf>,
    /// Which results f-Hyperband compares a trial with: the earlier ones of its rung, as in the paper (rung), or all results at its level
    /// (level).
    #[cfg_attr(feature = "schema", schemars(extend("default" = Reference::Level, "x-heading" = "Rungs", "x-compared" = true, "x-rare" = true)))]
    pub reference: Option<Reference>,

    /// Length of Q-learning's ε schedule, in networks (paper: 2700; default: the number of trials).
    #[cfg_attr(feature = "schema", schemars(extend("x-heading" = "Q-learning", "x-rare" = true, "x-value" = "NETWORKS")))]
    pub epsilon_trials: Option<u64>,
    /// α, the learning rate of Q-learning.
    #[cfg_attr(feature = "schema", schemars(extend("default" = 0.01, "x-heading" = "Q-learning", "x-rare" = true)))]
    pub alpha: Option<f64>,
    /// γ, the discount: weight of the next state's value.
    #[cfg_attr(feature = "schema", schemars(extend("default" = 1.0, "x-heading" = "Q-learning", "x-rare" = true)))]
    pub gamma: Option<f64>,
    /// Q₀: value of actions that were never updated.
    #[cfg_attr(feature = "schema", schemars(extend("default" = 0.5, "x-heading" = "Q-learning", "x-rare" = true)))]
    pub initial_value: Option<f64>,
    /// How many earlier networks to replay after each result (paper: 100; its code: 128).
    #[cfg_attr(feature = "schema", schemars(extend("default" = 128, "x-heading" = "Q-learning", "x-rare" = true)))]
    pub replay: Option<usize>,
    /// Reward of Q-learning, such as `val_acc - 1e-8*weights`: a formula of the metric and of a network's weights, layers and flops
    /// (default: the metric)
    #[cfg_attr(feature = "schema", schemars(extend("x-heading" = "Q-learning", "x-rare" = true, "x-value" = "FORMULA")))]
    pub reward: Option<String>,

    /// How to decide which trials to stop early.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>", extend("x-heading" = "Stopping", "x-judged" = true, "x-rare" = true)))]
    pub policy: Option<NamedSettings>,
    /// How much risk to take for saving training. safe rarely loses the best trial, while fast often ends with the second or third best.
    #[cfg_attr(feature = "schema", schemars(extend("default" = Caution::default(), "x-heading" = "Stopping", "x-compared" = true)))]
    pub caution: Option<Caution>,
    /// Stop as in the paper: fit svr-rbf once, on 100 trials, and stop at the first check that is 95 % sure.
    #[cfg_attr(feature = "schema", schemars(extend("default" = false, "x-heading" = "Stopping", "x-judged" = true, "x-rare" = true)))]
    pub paper: Option<bool>,
    /// How many trials must complete before the first one is stopped. With rungs, this applies to each level.
    #[cfg_attr(feature = "schema", schemars(extend("x-heading" = "Stopping", "x-compared" = true, "x-rare" = true)))]
    pub burn_in: Option<u64>,
    /// Learn from earlier runs, so that forecasts start sooner: recorded curves, or the folder of a study.
    #[cfg_attr(feature = "schema", schemars(extend("x-heading" = "Stopping", "x-rare" = true, "x-value" = "CURVES")))]
    pub learn_from: Option<Vec<String>>,
    /// Stop a trial once the probability that it will lose is this high (Δ, in [0.5, 1)).
    #[cfg_attr(feature = "schema", schemars(extend("x-heading" = "Stopping", "x-compared" = true, "x-rare" = true)))]
    pub stop_probability: Option<f64>,
    /// Don't stop trials that are forecast to come this close to the best one, in units of the metric (δ).
    #[cfg_attr(feature = "schema", schemars(extend("default" = 0.0, "x-heading" = "Stopping", "x-compared" = true, "x-rare" = true)))]
    pub offset: Option<f64>,
    /// Compare each trial with the n-th best completed one instead of the best.
    #[cfg_attr(feature = "schema", schemars(extend("default" = 1, "x-heading" = "Stopping", "x-compared" = true, "x-rare" = true)))]
    pub nth_best: Option<usize>,
    /// How many checks in a row must agree before a trial is stopped.
    #[cfg_attr(feature = "schema", schemars(extend("x-heading" = "Stopping", "x-compared" = true, "x-rare" = true)))]
    pub agreeing_checks: Option<usize>,
    /// Whether Δ applies to each check, or to all checks of a trial together.
    #[cfg_attr(feature = "schema", schemars(extend("default" = ErrorBudget::default(), "x-heading" = "Stopping", "x-compared" = true, "x-rare" = true)))]
    pub error_budget: Option<ErrorBudget>,
    /// Fit the forecasts again once the completed trials have grown by this factor, for example 1.25, or only `once`.
    #[cfg_attr(feature = "schema", schemars(extend("x-heading" = "Stopping", "x-compared" = true, "x-rare" = true, "x-value" = "FACTOR")))]
    pub refit: Option<Refit>,
    /// Never stop this fraction of the trials, as an audit of the stop rule.
    #[cfg_attr(feature = "schema", schemars(extend("default" = 0.0, "x-heading" = "Stopping", "x-compared" = true, "x-judged" = true, "x-rare" = true, "x-value" = "SHARE")))]
    pub exempt: Option<f64>,
    /// Stop a trial after this many reports without an improvement.
    #[cfg_attr(feature = "schema", schemars(extend("default" = DEFAULT_PATIENCE, "x-heading" = "Stopping", "x-compared" = true, "x-rare" = true)))]
    pub patience: Option<usize>,
    /// How to forecast the final value of a trial.
    #[cfg_attr(feature = "schema", schemars(extend("x-heading" = "Stopping", "x-compared" = true, "x-rare" = true)))]
    pub predictor: Option<String>,
    /// Whether trials are stopped. If not, every trial is completed and no forecasts are made.
    #[cfg_attr(
        feature = "schema",
        schemars(extend("default" = true, "x-heading" = "Stopping", "x-flag-help" = "Train every trial to the end, without making forecasts"))
    )]
    pub stopping: Option<bool>,
    /// Train every trial to the end, but record which ones would have been stopped. The report shows how much training that would have
    /// saved, and which good trials it would have lost.
    #[cfg_attr(feature = "schema", schemars(extend("default" = false, "x-heading" = "Stopping", "x-rare" = true)))]
    pub shadow: Option<bool>,

    /// Whether the search ends by the clock: the number of trials then does not end it.
    #[serde(skip)]
    pub ends_by_time: bool,
    /// What runs a trial, for display and to tell studies apart.
    #[serde(skip)]
    pub workload: BTreeMap<String, String>,
}

impl StudyRequest {
    /// The request that `fields` make, with `-` for `_` if you like; a choice that is on by default is also turned off by its name with
    /// `no_` before it. `null` leaves a field open.
    ///
    /// # Errors
    /// The [`Refusal`] of the first field that is unknown or of another type.
    pub fn from_fields(fields: &Map<String, Value>) -> Result<Self, Refusal> {
        let given = || fields.iter().filter(|(_, value)| !value.is_null());
        let request: Map<_, _> = given().map(|(key, value)| normalize_field(key, value)).collect();
        read_fields(&request).map_err(|refusal| {
            // the user must find the field in what was written, so it is named as it stands there
            let as_written = given().find(|(key, value)| normalize_field(key, value).0 == refusal.field);
            Refusal { field: as_written.map_or(refusal.field, |(key, _)| key.clone()), ..refusal }
        })
    }

    /// The given settings by field, without those that are left open.
    pub fn fields(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields.into_iter().filter(|(_, value)| !value.is_null()).collect(),
            _ => Map::new(),
        }
    }

    /// Returns this request with the settings of `over` taking precedence.
    ///
    /// # Panics
    /// Never: both are read already.
    #[must_use]
    pub fn with_overrides(&self, over: &Self) -> Self {
        let mut fields = self.fields();
        fields.extend(over.fields());
        let read =
            serde_json::from_value(Value::Object(fields)).expect("the fields of requests are those of one");
        Self {
            ends_by_time: self.ends_by_time || over.ends_by_time,
            workload: if over.workload.is_empty() { self.workload.clone() } else { over.workload.clone() },
            ..read
        }
    }
}

/// The field that `key` names, and its value: `no_stopping = true` is `stopping = false`.
fn normalize_field(key: &str, value: &Value) -> (String, Value) {
    let name = key.replace('-', "_");
    match (name.strip_prefix("no_"), value) {
        (Some(positive @ ("stopping" | "checkpoints")), Value::Bool(no)) => {
            (positive.to_owned(), Value::Bool(!no))
        }
        _ => (name, value.clone()),
    }
}

#[cfg(test)]
mod tests;
