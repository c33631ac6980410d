//! The paper's protocol: fit on some finished runs, forecast the others, compare with what happened; repeat.

use crate::forecast::Forecast;
use crate::history::History;
use crate::predictor::{FitError, Predictor};
use crate::statistics::{mean, mean_absolute_error, r_squared, spearman, standard_error};
use crate::training::Query;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::time::Instant;
use thiserror::Error;

/// The central intervals whose coverage is measured.
pub const INTERVALS: [f64; 4] = [0.5, 0.8, 0.9, 0.95];

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EvaluationOptions {
    /// How many finished runs to fit on.
    pub train: usize,
    /// How many random splits.
    pub repeats: usize,
    /// The seed of the splits.
    pub seed: u64,
}

/// Why an evaluation is impossible.
#[derive(Debug, Error, Clone, PartialEq)]
#[non_exhaustive]
pub enum EvaluationError {
    /// Fewer finished runs than are needed to fit and to test.
    #[error("{train} runs to fit on and at least 2 to test need {needed} finished runs, there are {got}: {}", if *got < 3 { "read more runs, or runs that are finished" } else { "lower --train" }, needed = train + 2)]
    TooFewRuns {
        /// How many runs were to be fitted on.
        train: usize,
        /// How many finished runs there are.
        got: usize,
    },
    /// A fraction of the curve that leaves no point, or all of them.
    #[error(
        "{observed} of {points} points is {tau}: observe at least 1 point and leave at least 1 to forecast"
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
}

/// One tested run: what was forecast and what happened, on the history's scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The split it was tested in.
    pub repeat: usize,
    /// Index of the run in the history.
    pub run: usize,
    /// The forecast.
    pub forecast: Forecast,
    /// The final score.
    pub truth: f64,
}

/// What one predictor reached at one τ.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// Observed grid points.
    pub tau: usize,
    /// R² of each split, on the history's scale.
    pub r2: Vec<f64>,
    /// Spearman's rank correlation of each split.
    pub spearman: Vec<f64>,
    /// Mean absolute error of each split, in the metric's unit.
    pub mae: Vec<f64>,
    /// R² of each split in the metric's own unit.
    pub r2_natural: Vec<f64>,
    /// All tested runs.
    pub outcomes: Vec<Outcome>,
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

    /// The share of tested runs inside the central interval of probability `level`.
    pub fn coverage(&self, level: f64) -> f64 {
        let tail = (1.0 - level) / 2.0;
        let inside = |o: &&Outcome| {
            let p = o.forecast.probability_at_most(o.truth);
            if o.forecast.scale > 0.0 {
                (tail..=1.0 - tail).contains(&p)
            } else {
                o.forecast.mean.total_cmp(&o.truth).is_eq()
            }
        };
        self.outcomes.iter().filter(inside).count() as f64 / self.outcomes.len().max(1) as f64
    }

    /// The share of tested runs at or below their forecast's `level`-quantile, among the truly best `share` of each
    /// split: where a bound that is too low stops a winner.
    pub fn upper_coverage(&self, level: f64, share: f64) -> f64 {
        let repeats = self.outcomes.iter().map(|o| o.repeat + 1).max().unwrap_or(0);
        let (mut covered, mut counted) = (0_usize, 0_usize);
        for repeat in 0..repeats {
            let mut split: Vec<&Outcome> = self.outcomes.iter().filter(|o| o.repeat == repeat).collect();
            split.sort_by(|a, b| b.truth.total_cmp(&a.truth));
            let best = ((split.len() as f64 * share).ceil() as usize).min(split.len());
            counted += best;
            covered += split[..best].iter().filter(|o| o.truth <= o.forecast.quantile(level)).count();
        }
        covered as f64 / counted.max(1) as f64
    }
}

/// How many of `points` grid points a fraction `observed` is: rounded down (25 % of 50 is 12).
///
/// # Errors
/// [`EvaluationError::Observed`] if that leaves nothing to see or nothing to forecast.
pub fn observed_points(observed: f64, points: usize) -> Result<usize, EvaluationError> {
    let tau = (observed * points as f64 + 1e-9).floor() as usize;
    if (1..points).contains(&tau) {
        Ok(tau)
    } else {
        Err(EvaluationError::Observed { observed, points, tau })
    }
}

/// The runs of one random split, as indices in the history: no run, nor one that repeats it, stands on both sides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// The runs to fit on, in random order.
    pub train: Vec<usize>,
    /// The runs to forecast, in the history's order.
    pub test: Vec<usize>,
}

/// Splits the finished runs `repeats` times at random into `train` runs to fit on and the rest to test. `repeats_of` gives
/// each run's group; runs of one group (repetitions of one configuration) never stand on both sides. O(repeats · n log n).
///
/// # Errors
/// [`EvaluationError::TooFewRuns`].
pub fn splits(
    history: &History,
    repeats_of: &[usize],
    options: &EvaluationOptions,
) -> Result<Vec<Split>, EvaluationError> {
    splits_between(history, repeats_of, &|_| true, &|_| true, options)
}

/// As [`splits`], but fits only on runs that `may_train` holds for and tests only runs that `may_test` holds for: the
/// paper's test of generalisation trains on shallow networks and forecasts deep ones.
///
/// # Errors
/// [`EvaluationError::TooFewRuns`] if fewer than `options.train` finished runs may be fitted on, or fewer than two may be
/// tested besides.
pub fn splits_between(
    history: &History,
    repeats_of: &[usize],
    may_train: &dyn Fn(usize) -> bool,
    may_test: &dyn Fn(usize) -> bool,
    options: &EvaluationOptions,
) -> Result<Vec<Split>, EvaluationError> {
    let finished: Vec<usize> = (0..history.len()).filter(|&i| history.final_score(i).is_some()).collect();
    let train: Vec<usize> = finished.iter().copied().filter(|&i| may_train(i)).collect();
    let test: Vec<usize> = finished.iter().copied().filter(|&i| may_test(i)).collect();
    let too_few = EvaluationError::TooFewRuns { train: options.train, got: finished.len() };
    if train.len() < options.train {
        return Err(too_few);
    }
    let splits: Vec<Split> =
        (0..options.repeats).map(|repeat| split(&train, &test, repeats_of, repeat, options)).collect();
    if splits.iter().any(|split| split.test.len() < 2) { Err(too_few) } else { Ok(splits) }
}

/// The split number `repeat`: its own random stream, so that it does not depend on how many splits there are.
fn split(
    may_train: &[usize],
    may_test: &[usize],
    repeats_of: &[usize],
    repeat: usize,
    options: &EvaluationOptions,
) -> Split {
    let mut random = ChaCha8Rng::seed_from_u64(options.seed);
    random.set_stream(repeat as u64);
    let mut order = may_train.to_vec();
    for i in (1..order.len()).rev() {
        order.swap(i, random.random_range(0..=i));
    }
    order.truncate(options.train);
    let seen: BTreeSet<usize> = order.iter().map(|&i| repeats_of[i]).collect();
    let test = may_test.iter().copied().filter(|&i| !seen.contains(&repeats_of[i])).collect();
    Split { train: order, test }
}

/// Measures `predictor` after `tau` grid points over `splits`, in parallel over splits.
///
/// # Errors
/// [`EvaluationError::Fit`] if the predictor cannot be fitted.
pub fn evaluate(
    history: &History,
    predictor: &dyn Predictor,
    tau: usize,
    splits: &[Split],
) -> Result<Evaluation, EvaluationError> {
    let parts: Vec<Part> = splits
        .par_iter()
        .enumerate()
        .map(|(repeat, split)| evaluate_split(history, predictor, tau, repeat, split))
        .collect::<Result<_, _>>()?;
    let of = |measure: fn(&Part) -> f64| parts.iter().map(measure).collect::<Vec<f64>>();
    Ok(Evaluation {
        tau,
        r2: of(|p| p.r2),
        spearman: of(|p| p.spearman),
        mae: of(|p| p.mae),
        r2_natural: of(|p| p.r2_natural),
        fit_seconds: mean(&of(|p| p.fit_seconds)),
        predict_seconds: mean(&of(|p| p.predict_seconds)),
        outcomes: parts.into_iter().flat_map(|p| p.outcomes).collect(),
    })
}

struct Part {
    r2: f64,
    spearman: f64,
    mae: f64,
    r2_natural: f64,
    fit_seconds: f64,
    predict_seconds: f64,
    outcomes: Vec<Outcome>,
}

fn evaluate_split(
    history: &History,
    predictor: &dyn Predictor,
    tau: usize,
    repeat: usize,
    split: &Split,
) -> Result<Part, FitError> {
    let encoder = history.encoder(&split.train);
    let training = history.training_set(&split.train, tau, &encoder);
    let started = Instant::now();
    let model = predictor.fit(&training)?;
    let fit_seconds = started.elapsed().as_secs_f64();
    let rows: Vec<(usize, Vec<f64>)> = split
        .test
        .iter()
        .filter(|&&i| history.prefix(i).len() >= tau)
        .map(|&i| (i, encoder.encode(history.configuration(i))))
        .collect();
    let started = Instant::now();
    let outcomes: Vec<Outcome> = rows
        .iter()
        .map(|(run, configuration)| {
            let query = Query { prefix: &history.prefix(*run)[..tau], configuration };
            let truth = history.final_score(*run).expect("only finished runs are tested");
            Outcome { repeat, run: *run, forecast: model.forecast(&query), truth }
        })
        .collect();
    let predict_seconds = started.elapsed().as_secs_f64() / outcomes.len().max(1) as f64;
    let forecasts: Vec<f64> = outcomes.iter().map(|o| o.forecast.mean).collect();
    let truths: Vec<f64> = outcomes.iter().map(|o| o.truth).collect();
    let natural = |scores: &[f64]| scores.iter().map(|&s| history.value(s)).collect::<Vec<f64>>();
    let (natural_forecasts, natural_truths) = (natural(&forecasts), natural(&truths));
    Ok(Part {
        r2: r_squared(&forecasts, &truths),
        spearman: spearman(&forecasts, &truths),
        mae: mean_absolute_error(&natural_forecasts, &natural_truths),
        r2_natural: r_squared(&natural_forecasts, &natural_truths),
        fit_seconds,
        predict_seconds,
        outcomes,
    })
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "counts over counts and sure forecasts are exact")]
mod tests {
    use super::*;
    use crate::{Configuration, Curve, Direction, HistoryOptions, LastValue, Run};

    fn history(runs: usize) -> History {
        let run = |i: usize| {
            let end = 0.3 + 0.5 * (i as f64 / runs as f64);
            let curve = Curve::of_epochs(&[end - 0.2, end - 0.1, end], Direction::Maximize);
            Run { id: i.to_string(), configuration: Configuration::new(), curve }
        };
        History::new(&(0..runs).map(run).collect::<Vec<_>>(), &HistoryOptions::default()).unwrap()
    }

    fn options(train: usize) -> EvaluationOptions {
        EvaluationOptions { train, repeats: 5, seed: 3 }
    }

    #[test]
    fn repeats_of_one_run_are_never_on_both_sides() {
        let repeats_of: Vec<usize> = (0..40).map(|i| i - i % 3).collect();
        for split in splits(&history(40), &repeats_of, &options(12)).unwrap() {
            assert_eq!(split.train.len(), 12);
            assert!(split.test.len() >= 40 - 3 * 12, "only runs that repeat a training run are left out");
            let train: BTreeSet<usize> = split.train.iter().map(|&i| repeats_of[i]).collect();
            assert!(split.test.iter().all(|&i| !train.contains(&repeats_of[i])));
        }
    }

    #[test]
    fn a_split_does_not_depend_on_how_many_there_are() {
        let (history, repeats_of) = (history(30), (0..30).collect::<Vec<_>>());
        let few = splits(&history, &repeats_of, &EvaluationOptions { repeats: 2, ..options(10) }).unwrap();
        let many = splits(&history, &repeats_of, &options(10)).unwrap();
        assert_eq!(few, many[..2]);
        assert_ne!(many[0], many[1]);
        let other = splits(&history, &repeats_of, &EvaluationOptions { seed: 4, ..options(10) }).unwrap();
        assert_ne!(many[0], other[0]);
    }

    #[test]
    fn splits_between_pools_train_on_one_and_test_on_the_other() {
        let repeats_of: Vec<usize> = (0..30).collect();
        let splits =
            splits_between(&history(30), &repeats_of, &|i| i < 15, &|i| i >= 20, &options(10)).unwrap();
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
            let refused = splits(&history(runs), &repeats_of, &options(train)).unwrap_err();
            assert_eq!(refused, EvaluationError::TooFewRuns { train, got: runs });
        }
        assert!(splits(&history(12), &repeats_of, &options(10)).is_ok());
        // ten and two runs, but all repeat one of two configurations: nothing unseen is left to test
        let pairs: Vec<usize> = (0..12).map(|i| i % 2).collect();
        assert!(splits(&history(12), &pairs, &options(10)).is_err());
        assert!(splits_between(&history(12), &repeats_of, &|i| i < 9, &all, &options(10)).is_err());
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

    fn evaluation(outcomes: Vec<Outcome>) -> Evaluation {
        Evaluation {
            tau: 1,
            r2: Vec::new(),
            spearman: Vec::new(),
            mae: Vec::new(),
            r2_natural: Vec::new(),
            outcomes,
            fit_seconds: 0.0,
            predict_seconds: 0.0,
        }
    }

    /// Runs that end at the given numbers of standard deviations above their forecasts, which are all 0.5 ± 0.1.
    fn off_by(repeat: usize, deviations: &[f64]) -> Vec<Outcome> {
        let outcome = |(run, z): (usize, &f64)| Outcome {
            repeat,
            run,
            forecast: Forecast::gaussian(0.5, 0.1),
            truth: 0.5 + 0.1 * z,
        };
        deviations.iter().enumerate().map(outcome).collect()
    }

    #[test]
    fn coverage_is_the_share_inside_the_central_interval() {
        // central Gaussian intervals reach to 0.674, 1.282, 1.645 and 1.960 standard deviations
        let measured = evaluation(off_by(0, &[0.0, -0.6, 0.7, -1.2, 1.3, 1.6, -1.7, 1.9, -2.0, 3.0]));
        let covered = INTERVALS.map(|level| measured.coverage(level));
        assert_eq!(covered, [0.2, 0.4, 0.6, 0.8]);
    }

    #[test]
    fn a_forecast_without_spread_covers_only_the_truth_itself() {
        let certain = |truth| Outcome { repeat: 0, run: 0, forecast: Forecast::gaussian(0.5, 0.0), truth };
        assert_eq!(evaluation(vec![certain(0.5), certain(0.6)]).coverage(0.9), 0.5);
        assert_eq!(evaluation(Vec::new()).coverage(0.9), 0.0);
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

    #[test]
    fn the_last_value_is_measured_as_by_hand() {
        // every curve ends 0.1 above its second point: MAE 0.1, perfect ranks, R² = 1 − 0.01 / variance of the truths
        let history = history(24);
        let splits = splits(&history, &(0..24).collect::<Vec<_>>(), &options(10)).unwrap();
        let measured = evaluate(&history, &LastValue, 2, &splits).unwrap();
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
