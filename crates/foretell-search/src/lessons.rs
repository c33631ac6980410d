//! Lessons of earlier runs for stopping: which predictor forecasts them best, and how sure it has to be.

use crate::replay::{ReplaySetting, RunTable, replay};
use crate::stopping::ForecastRule;
use crate::stopping::caution::Caution;
use crate::study::StudySpec;
use foretell::statistics::mean;
use foretell::{
    Forecast, History, HistoryOptions, Predictor, PredictorOptions, Run, StopCriterion, make_predictor,
};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The predictors compared. The first is a study's own, which needs few runs; the others need more and know more.
const CANDIDATE_PREDICTORS: [&str; 3] = ["mean-gain", "auto", "gp"];
/// With fewer runs the first predictor is taken: the errors of so few do not say which is best.
const MIN_COMPARED_RUNS: usize = 20;
/// The most runs that are compared: the other predictors take O(n³) to fit.
const MAX_COMPARED_RUNS: usize = 200;
/// Forecasts are made after these shares of a training.
const OBSERVED_SHARES: [f64; 3] = [0.1, 0.25, 0.5];

/// With fewer runs Δ stays as it is: too few studies can be made of them.
const MIN_REPLAYED_RUNS: usize = 40;
/// Δ is chosen among these, the boldest first.
const CANDIDATE_DELTAS: [f64; 7] = [0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999];
/// Random orders that are replayed for each.
const REPLAY_ORDERINGS: usize = 20;
/// Trials are checked so often at most while they are replayed: a fit each.
const MAX_REPLAY_CHECKS: u64 = 25;

/// A predictor that is chosen by its errors on earlier runs, and a Δ that is chosen by the losses of stopping them.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictorChoice {
    /// The predictor's name.
    pub predictor: String,
    /// Δ; `None` where there are fewer than 40 runs, or it was not to be chosen.
    pub sure: Option<DeltaChoice>,
    /// The number of runs by which it was chosen.
    pub runs: usize,
    /// Each candidate's held-out error: its continuous ranked probability score, as a share of what the completed runs' mean and spread have.
    pub errors: BTreeMap<String, f64>,
}

/// A Δ that is chosen by replays of earlier runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeltaChoice {
    /// Δ.
    pub stop_probability: f64,
    /// The fraction of replays that kept the best run.
    pub best_kept: f64,
    /// Epochs without stopping over epochs with it.
    pub speedup: f64,
}

impl fmt::Display for PredictorChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = |(name, error): (&String, &f64)| format!("{name} {error:.3}");
        let errors: Vec<String> = self.errors.iter().map(error).collect();
        write!(
            f,
            "{} forecasts the final values of {} earlier runs best; errors, as fractions of that of their mean: {}",
            self.predictor,
            self.runs,
            errors.join(", ")
        )?;
        let Some(DeltaChoice { stop_probability, best_kept, speedup }) = self.sure else { return Ok(()) };
        write!(
            f,
            "; stopping once it is {} % sure would have kept the best of them in {:.0} % of {REPLAY_ORDERINGS} orders and taken {speedup:.1} times less training",
            100.0 * stop_probability,
            100.0 * best_kept,
        )
    }
}

impl PredictorChoice {
    /// The lessons of the completed `runs` for a study of `spec`: the predictor with the least held-out error, each run forecast as if
    /// it had not been seen, after a tenth, a quarter and half of its training; with a `caution`, also the boldest Δ of those that keep
    /// the best run as often as it promises, in replays of half of the runs that learn from the other half. `options` are those of the
    /// study. `None` for fewer than 20 runs, and where the rule of `spec` learns from curves, for fewer than 40: so few teach it more. O(n³), n ≤ 200
    /// runs.
    pub fn new(
        runs: &[Run],
        spec: &StudySpec,
        options: &HistoryOptions,
        caution: Option<Caution>,
    ) -> Option<Self> {
        let options = HistoryOptions { target: Some(spec.max_resource as f64), ..options.clone() };
        let whole: Vec<&Run> = runs.iter().filter(|run| spec.has_trained_whole(run)).collect();
        let runs = evenly_spaced_runs(&whole);
        let chosen = Self::choose_by_error(&runs, &options)?;
        let sure =
            caution.and_then(|caution| sure(&runs, &options, spec, &chosen.predictor, caution.promise()));
        let is_enough = sure.is_some() || !spec.policy.learns_from_curves();
        is_enough.then_some(Self { sure, ..chosen })
    }

    /// `spec` with what was chosen, stopped by forecasts.
    pub fn apply_to(self, spec: StudySpec) -> StudySpec {
        let stop_probability =
            self.sure.map_or(spec.criterion.stop_probability, |sure| sure.stop_probability);
        let criterion = StopCriterion { stop_probability, ..spec.criterion };
        StudySpec { policy: spec.policy.by_forecasts(), predictor: self.predictor, criterion, ..spec }
    }

    fn choose_by_error(runs: &[Run], options: &HistoryOptions) -> Option<Self> {
        let history = History::new(runs, options).ok()?;
        let finished: Vec<usize> = (0..history.len()).filter(|&i| history.final_score(i).is_some()).collect();
        if finished.len() < MIN_COMPARED_RUNS {
            return None;
        }
        let error = |name: &&str| Some(((*name).to_owned(), error(name, &history, &finished)?));
        let errors: BTreeMap<String, f64> = CANDIDATE_PREDICTORS.par_iter().filter_map(error).collect();
        let best = CANDIDATE_PREDICTORS.iter().filter(|name| errors.contains_key(**name));
        let predictor = best.min_by(|a, b| errors[**a].total_cmp(&errors[**b]))?;
        Some(Self { predictor: (*predictor).to_owned(), sure: None, runs: finished.len(), errors })
    }
}

/// The Δ that saves the most of those with which replays keep the best run in the fraction `kept` of orders, or the most careful one. In each order
/// half of the runs are learned from, as from an earlier search, and the others are the trials.
fn sure(
    runs: &[Run],
    options: &HistoryOptions,
    spec: &StudySpec,
    name: &str,
    kept: f64,
) -> Option<DeltaChoice> {
    let table =
        Arc::new(RunTable::new(runs, options, 1).ok().filter(|table| table.len() >= MIN_REPLAYED_RUNS)?);
    let chosen = PredictorOptions { seed: spec.seed, ..PredictorOptions::default() };
    let predictor: Arc<dyn Predictor> = Arc::from(make_predictor(name, &chosen).ok()?);
    let earlier = table.len() / 2;
    let setting = |stop_probability: f64| {
        let study = StudySpec {
            policy: ForecastRule.into(),
            criterion: StopCriterion { stop_probability, ..spec.criterion },
            burn_in: spec.burn_in,
            trials: spec.trials.max(2),
            seed: spec.seed,
            ..table.study()
        };
        ReplaySetting {
            warm_start: earlier,
            check_every: (table.points() as u64).div_ceil(MAX_REPLAY_CHECKS),
            orderings: REPLAY_ORDERINGS,
            ..ReplaySetting::new(study, Some(Arc::clone(&predictor)))
        }
    };
    let outcomes = replay(&table, &CANDIDATE_DELTAS.map(setting)).ok()?;
    let mut all = outcomes.iter().map(|outcome| DeltaChoice {
        stop_probability: outcome.study.criterion.stop_probability,
        best_kept: outcome.best_kept(),
        speedup: outcome.saving_factor().0,
    });
    let enough = all.clone().filter(|sure| sure.best_kept >= kept);
    // of those that save alike, `max_by` gives the last one, which is the most careful
    enough.max_by(|a, b| a.speedup.total_cmp(&b.speedup)).or_else(|| all.next_back())
}

/// At most [`MAX_COMPARED_RUNS`] of the runs, evenly.
fn evenly_spaced_runs(runs: &[&Run]) -> Vec<Run> {
    let kept = runs.len().min(MAX_COMPARED_RUNS);
    (0..kept).map(|k| runs[k * runs.len() / kept].clone()).collect()
}

/// The mean held-out score of the predictor called `name`, as a share of that of the completed runs' own ends; `None` if it cannot be fitted.
fn error(name: &str, history: &History, finished: &[usize]) -> Option<f64> {
    let predictor = make_predictor(name, &PredictorOptions::default()).ok()?;
    let encoder = history.fit_encoder(finished);
    let points = history.grid().len();
    let mut shares = Vec::new();
    for observed in OBSERVED_SHARES {
        let seen = ((observed * points as f64).ceil() as usize).clamp(1, points.checked_sub(1)?);
        let training = history.training_set(finished, seen, &encoder);
        let model = predictor.fit(&training).ok()?;
        let scores = model
            .held_out()
            .iter()
            .zip(&training.targets)
            .map(|(forecast, &end)| ranked_probability_score(forecast, end));
        let ends = Forecast::gaussian(
            mean(&training.targets),
            foretell::statistics::standard_deviation(&training.targets),
        );
        let usual: Vec<f64> =
            training.targets.iter().map(|&end| ranked_probability_score(&ends, end)).collect();
        shares.push(mean(&scores.collect::<Vec<_>>()) / mean(&usual).max(f64::MIN_POSITIVE));
    }
    Some(mean(&shares)).filter(|share| share.is_finite())
}

/// The continuous ranked probability score of a forecast of `end`: the mean of 19 quantiles' losses.
fn ranked_probability_score(forecast: &Forecast, end: f64) -> f64 {
    let loss = |k: i32| {
        let p = f64::from(k) / 20.0;
        let above = end - forecast.quantile(p);
        2.0 * (p * above).max((p - 1.0) * above)
    };
    (1..20).map(loss).sum::<f64>() / 19.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChainRule, ParameterSpace, Space};
    use foretell::{Configuration, Curve, Direction, Value};

    fn spec() -> StudySpec {
        let space = ParameterSpace::parse(&["x=float:0:1"]).expect("a space");
        StudySpec {
            max_resource: 20,
            policy: ForecastRule.into(),
            ..StudySpec::new(Space::Parameters(space), "score", Direction::Maximize)
        }
    }

    fn new(runs: &[Run], caution: Option<Caution>) -> Option<PredictorChoice> {
        PredictorChoice::new(runs, &spec(), &spec().history_options(), caution)
    }

    /// Runs that rise from chance to an end; `x` tells the end, the beginning tells nothing.
    fn runs(count: usize) -> Vec<Run> {
        let run = |i: usize| {
            let x = (i * 37 % 101) as f64 / 101.0;
            let values: Vec<f64> =
                (1..=20).map(|epoch| 0.1 + 0.8 * x * (f64::from(epoch) / 20.0).powi(4)).collect();
            let configuration = Configuration::from([("x".to_owned(), Value::Number(x))]);
            Run {
                id: i.to_string(),
                configuration,
                curve: Curve::from_epoch_values(&values, Direction::Maximize),
            }
        };
        (0..count).map(run).collect()
    }

    #[test]
    fn the_predictor_that_sees_what_decides_is_chosen() {
        let lessons = new(&runs(60), None).expect("enough runs");
        assert_ne!(lessons.predictor, "mean-gain", "{lessons}");
        assert_eq!((lessons.runs, lessons.errors.len(), lessons.sure), (60, 3, None));
        assert!(lessons.errors[&lessons.predictor] < lessons.errors["mean-gain"]);
        assert!(
            lessons
                .to_string()
                .starts_with(&format!("{} forecasts the final values of 60 earlier runs", lessons.predictor))
        );
    }

    #[test]
    fn too_few_runs_choose_nothing() {
        assert_eq!(new(&runs(MIN_COMPARED_RUNS - 1), Some(Caution::Balanced)), None);
        let some = new(&runs(MIN_REPLAYED_RUNS - 1), Some(Caution::Balanced));
        assert_eq!(some.expect("a predictor").sure, None);
    }

    #[test]
    fn a_study_that_learns_from_curves_is_taught_by_many_runs_alone() {
        let by_curves = StudySpec { policy: ChainRule.into(), ..spec() };
        let lessons = |count| {
            PredictorChoice::new(&runs(count), &by_curves, &spec().history_options(), Some(Caution::Balanced))
        };
        assert_eq!(lessons(MIN_REPLAYED_RUNS - 1), None);
        let taught = lessons(80).expect("enough to replay").apply_to(by_curves.clone());
        assert_eq!(taught.policy, ForecastRule.into());
    }

    /// The end is a function of `x`. Of probabilities that save as much, the most careful one is chosen.
    #[test]
    fn a_probability_is_chosen_that_keeps_what_the_caution_promises() {
        let lessons = new(&runs(80), Some(Caution::Balanced)).expect("enough runs");
        let sure = lessons.sure.expect("enough to replay");
        assert!(sure.best_kept >= Caution::Balanced.promise() && sure.speedup > 2.0, "{sure:?}");
        let taught = lessons.clone().apply_to(spec());
        assert_eq!(taught.predictor, lessons.predictor);
        assert!((taught.criterion.stop_probability - sure.stop_probability).abs() < 1e-12);
        assert!(lessons.to_string().contains("times less training"), "{lessons}");
    }
}
