//! The paper's protocol: fit on some completed runs, forecast others that are cut off, compare with their final values; repeat.

use crate::curves::configuration::Run;
use crate::curves::curve::{Curve, RunScore};
use crate::curves::history::{History, HistoryError, HistoryOptions};
use crate::curves::standing::RunStanding;
use crate::forecaster::Forecaster;
use crate::predict::forecast::Forecast;
use crate::predict::predictor::{FitError, Predictor};
use crate::statistics::{mean, mean_absolute_error, r_squared, spearman, standard_error};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::ops::AddAssign;
use std::sync::Arc;
use std::time::Instant;
use thiserror::Error;

/// The central intervals whose coverage is measured.
pub const COVERAGE_LEVELS: [f64; 4] = [0.5, 0.8, 0.9, 0.95];

/// The settings of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EvaluationOptions {
    /// The number of completed runs to fit on.
    pub train: usize,
    /// The number of random splits.
    pub repeats: usize,
    /// The seed of the splits.
    pub seed: u64,
}

/// Why an evaluation is impossible.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum EvaluationError {
    /// Fewer completed runs than are needed to fit and to test.
    #[error("fitting on {train} runs and testing on at least 2 needs {needed} completed runs, but there are {got}. {}", if *got < 3 { "Read more runs, or runs that are completed" } else { "Fit on fewer runs" }, needed = train + 2)]
    TooFewRuns {
        /// The number of runs that were to be fitted on.
        train: usize,
        /// The number of completed runs.
        got: usize,
    },
    /// A fraction of the curve that leaves no point, or all of them.
    #[error(
        "the fraction {observed} of {points} points is {tau}. Observe at least 1 point, and leave at least 1 to forecast"
    )]
    Observed {
        /// The fraction asked for.
        observed: f64,
        /// Points of a whole curve.
        points: usize,
        /// Points that would be observed.
        tau: usize,
    },
    /// A predictor could not be fitted.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The runs of a split make no history.
    #[error("split {split} fits on {runs} runs, but {source}. Fit on more runs, or use another seed")]
    Split {
        /// The number of the split, from 1.
        split: usize,
        /// The number of runs it fits on.
        runs: usize,
        /// The problem with them.
        source: HistoryError,
    },
    /// No split has two runs to forecast.
    #[error("no split leaves 2 runs to forecast after step {step} ({apart}). Observe less")]
    NothingLeft {
        /// The step at which runs are cut off.
        step: f64,
        /// The reason.
        apart: SeparateRunCounts,
    },
}

/// One tested run: its forecast and its outcome, on the scale of the split's history.
#[derive(Clone, Debug, PartialEq)]
pub struct TestOutcome {
    /// The split it was tested in.
    pub repeat: usize,
    /// The number of the run, see [`RunSplit`].
    pub run: usize,
    /// The score of the run at the cut.
    pub now: f64,
    /// The forecast.
    pub forecast: Forecast,
    /// The final score as it was recorded, on the scale of the split's history; of a run that diverged later, [`History::lowest_score`].
    pub truth: f64,
    /// The end as it was recorded, in the metric's unit; of a run that diverged later, the worst value of any run of the history.
    pub end: f64,
    /// Whether the run diverged later, so that no final score was recorded.
    pub diverged: bool,
    /// Whether the run ended below the floor of the split's history.
    pub below_floor: bool,
}

/// Tested runs that are counted apart, summed over the splits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeparateRunCounts {
    /// Not forecast: their curves end by τ, before the target, and they did not diverge.
    pub ended_by_tau: usize,
    /// Not scored: their curves end between τ and the target, and they did not diverge.
    pub ended_later: usize,
    /// Not forecast: they had diverged by τ.
    pub diverged_by_tau: usize,
    /// Forecast and scored: they diverged after τ, see [`TestOutcome::truth`].
    pub diverged_later: usize,
    /// Not forecast for another reason: no point by τ, a value outside the bounds of the metric, or a forecast that is not finite.
    pub no_forecast: usize,
}

impl AddAssign for SeparateRunCounts {
    fn add_assign(&mut self, other: Self) {
        self.ended_by_tau += other.ended_by_tau;
        self.ended_later += other.ended_later;
        self.diverged_by_tau += other.diverged_by_tau;
        self.diverged_later += other.diverged_later;
        self.no_forecast += other.no_forecast;
    }
}

/// The counts in words: `12 diverged by τ, 3 diverged later`; nothing if all counts are 0.
impl std::fmt::Display for SeparateRunCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counts = [
            (self.ended_by_tau, "ended by τ"),
            (self.ended_later, "ended later but before the target"),
            (self.diverged_by_tau, "diverged by τ"),
            (self.diverged_later, "diverged later"),
            (self.no_forecast, "had no forecast for another reason"),
        ];
        let said: Vec<String> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        f.write_str(&said.join(", "))
    }
}

/// The results of one predictor at one τ.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// Observed grid points.
    pub tau: usize,
    /// R² of each split that has two outcomes or more, on the scale of its history.
    pub r2: Vec<f64>,
    /// R² of each such split where scores below the floor of its history count as the floor: the R² that remains when a few runs
    /// that end far beyond all others do not decide it.
    pub r2_floored: Vec<f64>,
    /// Spearman's rank correlation of each split; runs that diverged rank below all others.
    pub spearman: Vec<f64>,
    /// Mean absolute error of each split, in the metric's unit.
    pub mae: Vec<f64>,
    /// R² of each split in the metric's own unit.
    pub r2_natural: Vec<f64>,
    /// All forecasts.
    pub outcomes: Vec<TestOutcome>,
    /// Runs that are counted apart.
    pub apart: SeparateRunCounts,
    /// The history of the first split.
    pub history: History,
    /// Mean wall-clock seconds of one fit.
    pub fit_seconds: f64,
    /// Mean wall-clock seconds of one forecast.
    pub predict_seconds: f64,
}

impl Evaluation {
    /// (mean, standard error) of R² over the splits.
    pub fn r2_summary(&self) -> (f64, f64) {
        (mean(&self.r2), standard_error(&self.r2))
    }

    /// The fraction of forecast runs whose recorded final value is inside the central interval of probability `level`. A run
    /// that diverged later counts as inside if [`History::lowest_score`] is.
    pub fn interval_coverage(&self, level: f64) -> f64 {
        let tail = (1.0 - level) / 2.0;
        let inside = self.outcomes.iter().filter(|o| {
            let p = o.forecast.probability_at_most(o.truth);
            // without a spread the probability jumps from 0 to 1 at the mean, so only the mean itself is inside
            if o.forecast.scale > 0.0 {
                (tail..=1.0 - tail).contains(&p)
            } else {
                o.forecast.mean.total_cmp(&o.truth).is_eq()
            }
        });
        inside.count() as f64 / self.outcomes.len().max(1) as f64
    }

    /// The share of tested runs at or below their forecast's `level`-quantile, among the truly best `share` of each
    /// split: where a bound that is too low stops a winner.
    pub fn upper_coverage(&self, level: f64, share: f64) -> f64 {
        let repeats = self.outcomes.iter().map(|o| o.repeat + 1).max().unwrap_or(0);
        let (mut covered, mut counted) = (0_usize, 0_usize);
        for repeat in 0..repeats {
            let mut split: Vec<&TestOutcome> = self.outcomes.iter().filter(|o| o.repeat == repeat).collect();
            split.sort_by(|a, b| b.truth.total_cmp(&a.truth));
            let best = ((split.len() as f64 * share).ceil() as usize).min(split.len());
            counted += best;
            covered += split[..best].iter().filter(|o| o.truth <= o.forecast.quantile(level)).count();
        }
        covered as f64 / counted.max(1) as f64
    }
}

/// The number of grid points in a fraction `observed` of `points`: rounded down (25 % of 50 is 12).
///
/// # Errors
/// [`EvaluationError::Observed`] if that leaves nothing to see or nothing to forecast.
pub fn observed_points(observed: f64, points: usize) -> Result<usize, EvaluationError> {
    // 0.29 · 100 is 28.999… in floating point, and must not lose a point
    let tau = (observed * points as f64 + 1e-9).floor() as usize;
    if (1..points).contains(&tau) {
        Ok(tau)
    } else {
        Err(EvaluationError::Observed { observed, points, tau })
    }
}

/// Where runs are cut off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CutPoint {
    /// The number of observed points of the grid.
    pub tau: usize,
    /// The last step that is observed.
    pub step: f64,
}

impl CutPoint {
    /// After the fraction `observed` of `grid`, see [`observed_points`].
    ///
    /// # Errors
    /// [`EvaluationError::Observed`].
    pub fn after_fraction(observed: f64, grid: &[f64]) -> Result<Self, EvaluationError> {
        let tau = observed_points(observed, grid.len())?;
        Ok(Self { tau, step: grid[tau - 1] })
    }
}

/// The runs of one random split, as indices in the history. A run and its repeats are on the same side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunSplit {
    /// The runs to fit on, in random order.
    pub train: Vec<usize>,
    /// The completed runs to forecast, in the history's order.
    pub test: Vec<usize>,
    /// The unfinished runs that may be tested: they are counted, not scored.
    pub unfinished: Vec<usize>,
}

/// Splits the completed runs `repeats` times at random into `train` runs to fit on and the rest to test. `repeats_of` gives
/// each run's group; runs of one group (repetitions of one configuration) never stand on both sides. O(repeats · n log n).
///
/// # Errors
/// [`EvaluationError::TooFewRuns`].
pub fn draw_splits(
    history: &History,
    repeats_of: &[usize],
    options: &EvaluationOptions,
) -> Result<Vec<RunSplit>, EvaluationError> {
    draw_splits_between(history, repeats_of, &|_| true, &|_| true, options)
}

/// As [`draw_splits`], but fits only on runs that `may_train` holds for and tests only runs that `may_test` holds for: the
/// paper's test of generalization trains on shallow networks and forecasts deep ones.
///
/// # Errors
/// [`EvaluationError::TooFewRuns`] if fewer than `options.train` completed runs may be fitted on, or fewer than two may be
/// tested besides.
pub fn draw_splits_between(
    history: &History,
    repeats_of: &[usize],
    may_train: &dyn Fn(usize) -> bool,
    may_test: &dyn Fn(usize) -> bool,
    options: &EvaluationOptions,
) -> Result<Vec<RunSplit>, EvaluationError> {
    let finished: Vec<usize> = (0..history.len()).filter(|&i| history.final_score(i).is_some()).collect();
    let train: Vec<usize> = finished.iter().copied().filter(|&i| may_train(i)).collect();
    let test: Vec<usize> = (0..history.len()).filter(|&i| may_test(i)).collect();
    let too_few = EvaluationError::TooFewRuns { train: options.train, got: finished.len() };
    if train.len() < options.train {
        return Err(too_few);
    }
    let splits: Vec<RunSplit> = (0..options.repeats)
        .map(|repeat| split(history, (&train, &test), repeats_of, repeat, options))
        .collect();
    if splits.iter().any(|split| split.test.len() < 2) { Err(too_few) } else { Ok(splits) }
}

/// The split number `repeat`: its own random stream, so that it does not depend on how many splits there are.
fn split(
    history: &History,
    (may_train, may_test): (&[usize], &[usize]),
    repeats_of: &[usize],
    repeat: usize,
    options: &EvaluationOptions,
) -> RunSplit {
    let mut random = ChaCha8Rng::seed_from_u64(options.seed);
    random.set_stream(repeat as u64);
    let mut order = may_train.to_vec();
    for i in (1..order.len()).rev() {
        order.swap(i, random.random_range(0..=i));
    }
    order.truncate(options.train);
    let seen: BTreeSet<usize> = order.iter().map(|&i| repeats_of[i]).collect();
    let unseen = may_test.iter().copied().filter(|&i| !seen.contains(&repeats_of[i]));
    let (test, unfinished) = unseen.partition(|&i| history.final_score(i).is_some());
    RunSplit { train: order, test, unfinished }
}

/// One split as two piles: a history made of its training runs and of nothing else, and the runs to ask it about.
#[derive(Clone, Debug)]
pub struct EvaluationFold {
    history: History,
    /// (number, whole recorded run).
    tested: Vec<(usize, Run)>,
}

impl EvaluationFold {
    /// A history of the runs `finished`, and the recorded runs to be `tested`, each with a number to know it by.
    ///
    /// # Errors
    /// [`HistoryError`] if `finished` make no history.
    pub fn new(
        finished: &[Run],
        options: &HistoryOptions,
        tested: Vec<(usize, Run)>,
    ) -> Result<Self, HistoryError> {
        Ok(Self { history: History::new(finished, options)?, tested })
    }

    /// The history to learn from.
    pub fn history(&self) -> &History {
        &self.history
    }
}

/// The folds of `splits` of `runs`. `options` name the target, so that all splits forecast the same step.
///
/// # Errors
/// [`EvaluationError::Split`] if the training runs of a split make no history.
pub fn make_folds(
    runs: &[Run],
    options: &HistoryOptions,
    splits: &[RunSplit],
) -> Result<Vec<EvaluationFold>, EvaluationError> {
    let folds = splits.iter().enumerate().map(|(at, split)| {
        let finished: Vec<Run> = split.train.iter().map(|&i| runs[i].clone()).collect();
        let tested = split.test.iter().chain(&split.unfinished).map(|&i| (i, runs[i].clone())).collect();
        EvaluationFold::new(&finished, options, tested).map_err(|source| EvaluationError::Split {
            split: at + 1,
            runs: split.train.len(),
            source,
        })
    });
    folds.collect()
}

/// Measures `predictor` over `folds`, in parallel over them: every tested run is cut off at `cut` and forecast by a
/// [`Forecaster`] that knows the history of its fold, just as a running one is.
///
/// * A run that has ended or diverged by τ is no matter for a forecast: it is counted in [`Evaluation::apart`].
/// * The truth is the recorded final score, on the history's scale. A run that diverges later has none: its truth is
///   [`History::lowest_score`], below all others.
///
/// # Errors
/// [`EvaluationError::Fit`] if the predictor cannot be fitted, [`EvaluationError::NothingLeft`] if no fold has two runs to
/// forecast.
pub fn evaluate_predictor(
    folds: &[EvaluationFold],
    predictor: &Arc<dyn Predictor>,
    cut: CutPoint,
) -> Result<Evaluation, EvaluationError> {
    let parts: Vec<FoldForecasts> = folds
        .par_iter()
        .enumerate()
        .map(|(repeat, fold)| evaluate_fold(fold, predictor, cut.step, repeat))
        .collect::<Result<_, _>>()?;
    let mut apart = SeparateRunCounts::default();
    parts.iter().for_each(|part| apart += part.apart);
    let scored: Vec<FoldScores> =
        parts.iter().zip(folds).filter_map(|(part, fold)| scores(&part.outcomes, &fold.history)).collect();
    if scored.is_empty() {
        return Err(EvaluationError::NothingLeft { step: cut.step, apart });
    }
    Ok(Evaluation {
        tau: cut.tau,
        r2: scored.iter().map(|s| s.r2).collect(),
        r2_floored: scored.iter().map(|s| s.r2_floored).collect(),
        spearman: scored.iter().map(|s| s.spearman).collect(),
        mae: scored.iter().map(|s| s.mae).collect(),
        r2_natural: scored.iter().map(|s| s.r2_natural).collect(),
        fit_seconds: mean(&parts.iter().map(|p| p.fit_seconds).collect::<Vec<f64>>()),
        predict_seconds: mean(&parts.iter().map(|p| p.predict_seconds).collect::<Vec<f64>>()),
        apart,
        outcomes: parts.into_iter().flat_map(|p| p.outcomes).collect(),
        history: folds[0].history.clone(),
    })
}

/// The forecasts of one fold.
struct FoldForecasts {
    outcomes: Vec<TestOutcome>,
    apart: SeparateRunCounts,
    fit_seconds: f64,
    predict_seconds: f64,
}

/// The measures of one fold.
struct FoldScores {
    r2: f64,
    r2_floored: f64,
    spearman: f64,
    mae: f64,
    r2_natural: f64,
}

/// A run that is cut off, and its outcome.
struct CutRun<'a> {
    number: usize,
    run: &'a Run,
    seen: Curve,
    end: RecordedOutcome,
}

/// The outcome of a run, on a history's scale.
enum RecordedOutcome {
    Score(f64),
    Diverged,
}

fn evaluate_fold(
    fold: &EvaluationFold,
    predictor: &Arc<dyn Predictor>,
    step: f64,
    repeat: usize,
) -> Result<FoldForecasts, FitError> {
    let history = &fold.history;
    let mut apart = SeparateRunCounts::default();
    let asked: Vec<CutRun<'_>> = fold
        .tested
        .iter()
        .filter_map(|(number, run)| cut_run(history, *number, run, step, &mut apart))
        .collect();
    let running = asked.iter().map(|one| (&one.run.configuration, &one.seen));
    let forecaster = Forecaster::with_history(history.clone(), Arc::clone(predictor)).with_running(running);
    let started = Instant::now();
    // models are fitted here instead of by the first forecast, so that both are timed apart
    let taus: BTreeSet<usize> = asked.iter().map(|one| history.prefix_of(&one.seen).len()).collect();
    let fits: Vec<Result<(), FitError>> =
        taus.into_iter().filter(|&tau| tau > 0).map(|tau| forecaster.fit_model(tau)).collect();
    let fit_seconds = started.elapsed().as_secs_f64();
    let started = Instant::now();
    let mut outcomes = Vec::with_capacity(asked.len());
    for one in asked {
        match forecaster.forecast(&one.run.configuration, &one.seen) {
            Ok(forecast) => {
                let (truth, diverged) = match one.end {
                    RecordedOutcome::Score(score) => (score, false),
                    RecordedOutcome::Diverged => (history.lowest_score(), true),
                };
                apart.diverged_later += usize::from(diverged);
                let now = history.prefix_of(&one.seen).last().copied().unwrap_or(f64::NEG_INFINITY);
                let below_floor = !diverged && truth < history.score_floor();
                let run = one.number;
                let recorded = history.recorded_end(&one.run.curve);
                let end = recorded.unwrap_or_else(|| history.to_value(truth));
                outcomes.push(TestOutcome { repeat, run, now, forecast, truth, end, diverged, below_floor });
            }
            Err(_) => apart.no_forecast += 1,
        }
    }
    let predict_seconds = started.elapsed().as_secs_f64() / outcomes.len().max(1) as f64;
    match fits.into_iter().find_map(Result::err) {
        // runs that are cut off at other points of the grid may have been forecast all the same
        Some(error) if outcomes.is_empty() => Err(error),
        _ => Ok(FoldForecasts { outcomes, apart, fit_seconds, predict_seconds }),
    }
}

/// `run` cut off at `step`, if it is a matter for a forecast and its outcome was recorded; else it is counted in `apart`.
fn cut_run<'a>(
    history: &History,
    number: usize,
    run: &'a Run,
    step: f64,
    apart: &mut SeparateRunCounts,
) -> Option<CutRun<'a>> {
    let Some(end) = end(history, &run.curve) else {
        let by_tau = run.curve.last_point().is_none_or(|(last, _)| last <= step);
        let count = if by_tau { &mut apart.ended_by_tau } else { &mut apart.ended_later };
        *count += 1;
        return None;
    };
    let seen = run.curve.prefix_until(step);
    let count = match history.run_standing(&seen) {
        RunStanding::Running => return Some(CutRun { number, run, seen, end }),
        RunStanding::Arrived => &mut apart.ended_by_tau,
        RunStanding::Diverged { .. } => &mut apart.diverged_by_tau,
        RunStanding::Late { .. } | RunStanding::NoLogarithm { .. } | RunStanding::OutOfBounds { .. } => {
            &mut apart.no_forecast
        }
    };
    *count += 1;
    None
}

/// The outcome of the run with this `curve`; `None` if it was not recorded.
fn end(history: &History, curve: &Curve) -> Option<RecordedOutcome> {
    if let Some(score) = history.end_of(curve) {
        return Some(RecordedOutcome::Score(score));
    }
    let target = history.grid().last().copied()?;
    curve.diverged_at().filter(|&at| at <= target)?;
    let reached = history.run_score().value_of(curve).filter(|_| history.run_score() == RunScore::Best);
    Some(reached.map_or(RecordedOutcome::Diverged, |score| {
        RecordedOutcome::Score(history.to_score(history.direction().to_value(score)))
    }))
}

/// The measures of `outcomes`; `None` for fewer than two.
fn scores(outcomes: &[TestOutcome], history: &History) -> Option<FoldScores> {
    if outcomes.len() < 2 {
        return None;
    }
    let forecasts: Vec<f64> = outcomes.iter().map(|o| o.forecast.mean).collect();
    let truths: Vec<f64> = outcomes.iter().map(|o| o.truth).collect();
    let [floored_forecasts, floored_truths] = [&forecasts, &truths]
        .map(|scores| scores.iter().map(|s| s.max(history.score_floor())).collect::<Vec<f64>>());
    let ranked = outcomes.iter().map(|o| if o.diverged { f64::NEG_INFINITY } else { o.truth });
    let natural_truths: Vec<f64> = outcomes.iter().map(|o| o.end).collect();
    let natural_forecasts: Vec<f64> =
        outcomes.iter().map(|o| history.possible_value(o.forecast.mean, o.now)).collect();
    Some(FoldScores {
        r2: r_squared(&forecasts, &truths),
        r2_floored: r_squared(&floored_forecasts, &floored_truths),
        spearman: spearman(&forecasts, &ranked.collect::<Vec<f64>>()),
        mae: mean_absolute_error(&natural_forecasts, &natural_truths),
        r2_natural: r_squared(&natural_forecasts, &natural_truths),
    })
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "counts over counts and sure forecasts are exact")]
mod tests {
    use super::*;
    use crate::{Configuration, Curve, Direction, HistoryOptions, LastValue, Metric, Run};

    fn runs(count: usize) -> Vec<Run> {
        let run = |i: usize| {
            let end = 0.3 + 0.5 * (i as f64 / count as f64);
            let curve = Curve::from_epoch_values(&[end - 0.2, end - 0.1, end], Direction::Maximize);
            Run { id: i.to_string(), configuration: Configuration::new(), curve }
        };
        (0..count).map(run).collect()
    }

    fn history(count: usize) -> History {
        History::new(&runs(count), &HistoryOptions::default()).unwrap()
    }

    fn options(train: usize) -> EvaluationOptions {
        EvaluationOptions { train, repeats: 5, seed: 3 }
    }

    #[test]
    fn repeats_of_one_run_are_never_on_both_sides() {
        let repeats_of: Vec<usize> = (0..40).map(|i| i - i % 3).collect();
        for split in draw_splits(&history(40), &repeats_of, &options(12)).unwrap() {
            assert_eq!(split.train.len(), 12);
            assert!(split.test.len() >= 40 - 3 * 12, "only runs that repeat a training run are left out");
            let train: BTreeSet<usize> = split.train.iter().map(|&i| repeats_of[i]).collect();
            assert!(split.test.iter().all(|&i| !train.contains(&repeats_of[i])));
        }
    }

    #[test]
    fn a_split_does_not_depend_on_how_many_there_are() {
        let (history, repeats_of) = (history(30), (0..30).collect::<Vec<_>>());
        let few =
            draw_splits(&history, &repeats_of, &EvaluationOptions { repeats: 2, ..options(10) }).unwrap();
        let many = draw_splits(&history, &repeats_of, &options(10)).unwrap();
        assert_eq!(few, many[..2]);
        assert_ne!(many[0], many[1]);
        let other =
            draw_splits(&history, &repeats_of, &EvaluationOptions { seed: 4, ..options(10) }).unwrap();
        assert_ne!(many[0], other[0]);
    }

    #[test]
    fn splits_between_pools_train_on_one_and_test_on_the_other() {
        let repeats_of: Vec<usize> = (0..30).collect();
        let splits =
            draw_splits_between(&history(30), &repeats_of, &|i| i < 15, &|i| i >= 20, &options(10)).unwrap();
        for split in splits {
            assert!(split.train.iter().all(|&i| i < 15));
            assert_eq!(split.test, (20..30).collect::<Vec<_>>());
        }
    }

    #[test]
    fn too_few_runs_are_refused_before_any_fit() {
        let repeats_of: Vec<usize> = (0..12).collect();
        let all = |_| true;
        for (train, runs) in [(11, 12), (13, 12)] {
            let refused = draw_splits(&history(runs), &repeats_of, &options(train)).unwrap_err();
            assert_eq!(refused, EvaluationError::TooFewRuns { train, got: runs });
        }
        assert!(draw_splits(&history(12), &repeats_of, &options(10)).is_ok());
        // ten and two runs, but all repeat one of two configurations: nothing unseen is left to test
        let pairs: Vec<usize> = (0..12).map(|i| i % 2).collect();
        assert!(draw_splits(&history(12), &pairs, &options(10)).is_err());
        assert!(draw_splits_between(&history(12), &repeats_of, &|i| i < 9, &all, &options(10)).is_err());
    }

    #[test]
    fn fractions_of_a_curve_are_rounded_down() {
        for (observed, points, tau) in [(0.25, 50, 12), (0.25, 20, 5), (0.1, 60, 6), (0.3, 10, 3)] {
            assert_eq!(observed_points(observed, points), Ok(tau), "{observed} of {points}");
        }
        for observed in [0.0, 0.01, 1.0, 1.5, -0.3, f64::NAN] {
            assert!(observed_points(observed, 20).is_err(), "{observed}");
        }
    }

    fn evaluation(outcomes: Vec<TestOutcome>) -> Evaluation {
        Evaluation {
            tau: 1,
            r2: Vec::new(),
            r2_floored: Vec::new(),
            spearman: Vec::new(),
            mae: Vec::new(),
            r2_natural: Vec::new(),
            outcomes,
            apart: SeparateRunCounts::default(),
            history: history(3),
            fit_seconds: 0.0,
            predict_seconds: 0.0,
        }
    }

    /// Runs that end at the given numbers of standard deviations above their forecasts, which are all 0.5 ± 0.1.
    fn off_by(repeat: usize, deviations: &[f64]) -> Vec<TestOutcome> {
        let outcome = |(run, z): (usize, &f64)| TestOutcome {
            repeat,
            run,
            now: 0.4,
            forecast: Forecast::gaussian(0.5, 0.1),
            truth: 0.5 + 0.1 * z,
            end: 0.5 + 0.1 * z,
            diverged: false,
            below_floor: false,
        };
        deviations.iter().enumerate().map(outcome).collect()
    }

    #[test]
    fn coverage_is_the_share_inside_the_central_interval() {
        // central Gaussian intervals reach to 0.674, 1.282, 1.645 and 1.960 standard deviations
        let measured = evaluation(off_by(0, &[0.0, -0.6, 0.7, -1.2, 1.3, 1.6, -1.7, 1.9, -2.0, 3.0]));
        let covered = COVERAGE_LEVELS.map(|level| measured.interval_coverage(level));
        assert_eq!(covered, [0.2, 0.4, 0.6, 0.8]);
    }

    #[test]
    fn a_forecast_without_spread_covers_only_the_truth_itself() {
        let certain = |truth| TestOutcome {
            forecast: Forecast::gaussian(0.5, 0.0),
            truth,
            ..off_by(0, &[0.0])[0].clone()
        };
        assert_eq!(evaluation(vec![certain(0.5), certain(0.6)]).interval_coverage(0.9), 0.5);
        assert_eq!(evaluation(Vec::new()).interval_coverage(0.9), 0.0);
    }

    #[test]
    fn upper_coverage_looks_at_the_best_of_each_split() {
        // the best fifth of the splits: 3 and 1.7 are above the 95 % bound at 1.645; 1.6 and 1.0 are not
        let splits = [
            off_by(0, &[-1.0, 3.0, 0.0, 1.6, -9.0, -9.0, 0.0, 0.0, 0.0, 0.0]),
            off_by(1, &[1.7, 1.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, -0.1]),
        ];
        let measured = evaluation(splits.concat());
        assert_eq!(measured.upper_coverage(0.95, 0.2), 0.5);
        assert_eq!(measured.upper_coverage(0.95, 1.0), 0.9);
        assert_eq!(measured.upper_coverage(0.99, 0.2), 0.75);
    }

    fn last_value() -> Arc<dyn Predictor> {
        Arc::new(LastValue)
    }

    #[test]
    fn runs_that_ended_or_diverged_are_counted_apart_and_truths_are_as_recorded() {
        let up = Direction::Maximize;
        let nan = f64::NAN;
        let tested = [
            &[0.3, nan, nan, nan][..], // diverged by τ
            &[0.3, nan, 0.5, 0.6],     // not finite at τ: who looks then cannot know that it recovers
            &[0.3, 0.4, nan, nan],     // diverges later
            &[0.3, 0.4],               // ends by τ
            &[0.3, 0.4, 0.5],          // ends later
            &[0.3, 0.2, -5.0, -90.0],  // ends far below the floor
            &[0.3, 0.4, 0.5, 0.7],
        ];
        let tested = tested.iter().enumerate().map(|(i, values)| {
            let curve = Curve::from_epoch_values(values, up);
            (i, Run { id: i.to_string(), configuration: Configuration::new(), curve })
        });
        let finished: Vec<Run> = (0..8)
            .map(|i| {
                let end = 0.5 + 0.02 * f64::from(i);
                let curve = Curve::from_epoch_values(&[0.3, end - 0.2, end - 0.1, end], up);
                Run { id: i.to_string(), configuration: Configuration::new(), curve }
            })
            .collect();
        let fold = EvaluationFold::new(&finished, &HistoryOptions::default(), tested.collect()).unwrap();
        let cut = CutPoint { tau: 2, step: 2.0 };
        let measured = evaluate_predictor(std::slice::from_ref(&fold), &last_value(), cut).unwrap();
        let expected = SeparateRunCounts {
            ended_by_tau: 1,
            ended_later: 1,
            diverged_by_tau: 2,
            diverged_later: 1,
            no_forecast: 0,
        };
        assert_eq!(measured.apart, expected);
        let truths: Vec<(usize, f64, bool)> =
            measured.outcomes.iter().map(|o| (o.run, o.truth, o.diverged)).collect();
        let history = fold.history();
        assert_eq!(
            truths,
            [(2, history.lowest_score(), true), (5, history.to_score(-90.0), false), (6, 0.7, false)]
        );
        let ends: Vec<f64> = measured.outcomes.iter().map(|o| o.end).collect();
        assert_eq!(ends[1..], [-90.0, 0.7], "as recorded, also beyond the worst run that was learned from");
        assert_eq!(measured.outcomes.iter().map(|o| o.below_floor).collect::<Vec<_>>(), [false, true, false]);
        // the floor is -0.04: truths -0.04, -0.04 and 0.7 for forecasts 0.4, 0.2 and 0.4
        assert!((measured.r2_floored[0] - (1.0 - 0.3412 / 0.365_066_67)).abs() < 1e-6);
        let none = EvaluationFold { tested: fold.tested[..2].to_vec(), ..fold };
        let error = evaluate_predictor(&[none], &last_value(), cut).unwrap_err().to_string();
        assert!(error.contains("after step 2 (2 diverged by τ"), "{error}");
    }

    #[test]
    fn a_fold_knows_nothing_of_the_runs_that_it_is_tested_on() {
        // one tested run is a thousand times better than any other: floor, bounds and scale would all move with it
        let mut runs = runs(12);
        runs[11].curve = Curve::from_epoch_values(&[0.3, 100.0, 600.0], Direction::Maximize);
        let split = RunSplit { train: (0..10).collect(), test: vec![10, 11], unfinished: Vec::new() };
        let metric = Some(Metric::new("accuracy", Direction::Maximize));
        let options = HistoryOptions { metric, ..HistoryOptions::default() };
        let folds = make_folds(&runs, &options, &[split]).unwrap();
        let alone = History::new(&runs[..10], &options).unwrap();
        assert_eq!(folds[0].history().score_floor(), alone.score_floor());
        assert_eq!(folds[0].history().metric_bounds(), (0.0, 1.0));
        let with = History::new(&runs, &options).unwrap();
        assert!(with.score_floor() < alone.score_floor() - 100.0 && with.metric_bounds().1.is_infinite());
    }

    #[test]
    fn the_last_value_is_measured_as_by_hand() {
        // every curve ends 0.1 above its second point: MAE 0.1, perfect ranks, R² = 1 − 0.01 / variance of the truths
        let splits = draw_splits(&history(24), &(0..24).collect::<Vec<_>>(), &options(10)).unwrap();
        let folds = make_folds(&runs(24), &HistoryOptions::default(), &splits).unwrap();
        let measured = evaluate_predictor(&folds, &last_value(), CutPoint { tau: 2, step: 2.0 }).unwrap();
        assert_eq!((measured.tau, measured.outcomes.len()), (2, 5 * 14));
        assert!(measured.mae.iter().all(|mae| (mae - 0.1).abs() < 1e-12));
        assert!(measured.spearman.iter().all(|rho| (rho - 1.0).abs() < 1e-12));
        for (repeat, r2) in measured.r2.iter().enumerate() {
            let of_split = measured.outcomes.iter().filter(|o| o.repeat == repeat);
            let truths: Vec<f64> = of_split.map(|o| o.truth).collect();
            let variance = crate::statistics::standard_deviation(&truths).powi(2);
            assert!((r2 - (1.0 - 0.01 / variance)).abs() < 1e-9);
        }
    }
}
