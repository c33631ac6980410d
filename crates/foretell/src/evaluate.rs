//! The paper's protocol: fit on some finished runs, forecast the others, compare with what happened; repeat.

use crate::forecast::Forecast;
use crate::history::History;
use crate::predictor::{FitError, Predictor};
use crate::statistics::{mean, mean_absolute_error, r_squared, spearman, standard_error};
use crate::training::Query;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
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
    #[error("{train} runs to fit on and at least 2 to test need {needed} finished runs, there are {got}: lower --train", needed = train + 2)]
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

/// Splits the finished runs `repeats` times at random into `train` runs to fit on and the rest to test. `repeats_of` gives
/// each run's group; runs of one group (repetitions of one configuration) never stand on both sides.
///
/// # Errors
/// [`EvaluationError::TooFewRuns`].
pub fn splits(
    history: &History,
    repeats_of: &[usize],
    options: &EvaluationOptions,
) -> Result<Vec<(Vec<usize>, Vec<usize>)>, EvaluationError> {
    let finished: Vec<usize> = (0..history.len()).filter(|&i| history.final_score(i).is_some()).collect();
    if finished.len() < options.train + 2 {
        return Err(EvaluationError::TooFewRuns { train: options.train, got: finished.len() });
    }
    let split = |repeat: usize| {
        let mut random = ChaCha8Rng::seed_from_u64(options.seed);
        random.set_stream(repeat as u64);
        let mut order = finished.clone();
        for i in (1..order.len()).rev() {
            order.swap(i, random.random_range(0..=i));
        }
        let train: Vec<usize> = order[..options.train].to_vec();
        let seen: std::collections::BTreeSet<usize> = train.iter().map(|&i| repeats_of[i]).collect();
        let test =
            order[options.train..].iter().copied().filter(|&i| !seen.contains(&repeats_of[i])).collect();
        (train, test)
    };
    Ok((0..options.repeats).map(split).collect())
}

/// Measures `predictor` after `tau` grid points over `splits`, in parallel over splits.
///
/// # Errors
/// [`EvaluationError::Fit`] if the predictor cannot be fitted.
pub fn evaluate(
    history: &History,
    predictor: &dyn Predictor,
    tau: usize,
    splits: &[(Vec<usize>, Vec<usize>)],
) -> Result<Evaluation, EvaluationError> {
    let parts: Vec<Part> = splits
        .par_iter()
        .enumerate()
        .map(|(repeat, (train, test))| evaluate_split(history, predictor, tau, repeat, train, test))
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
    train: &[usize],
    test: &[usize],
) -> Result<Part, FitError> {
    let encoder = history.encoder(train);
    let training = history.training_set(train, tau, &encoder);
    let started = Instant::now();
    let model = predictor.fit(&training)?;
    let fit_seconds = started.elapsed().as_secs_f64();
    let rows: Vec<(usize, Vec<f64>)> = test
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
