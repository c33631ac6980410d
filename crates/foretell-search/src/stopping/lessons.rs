//! Which predictor learns best from earlier runs: judged by held-out error on them.

use foretell::statistics::mean;
use foretell::{Forecast, History, HistoryOptions, PredictorOptions, Run, predictor};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fmt;

/// What is compared. The first is a study's own, which needs few runs; the others need more and know more.
const CANDIDATES: [&str; 3] = ["mean-gain", "auto", "gp"];
/// With fewer runs the first predictor is taken: the errors of so few do not say which is best.
const ENOUGH: usize = 20;
/// The most runs that are compared: the other predictors take O(n³) to fit.
const MOST: usize = 200;
/// Forecasts are made after these shares of a training.
const OBSERVED: [f64; 3] = [0.1, 0.25, 0.5];

/// A predictor that was chosen by its errors on earlier runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Lessons {
    /// The predictor's name.
    pub predictor: String,
    /// The number of runs by which it was chosen.
    pub runs: usize,
    /// Each candidate's held-out error: its continuous ranked probability score, as a share of what the finished runs' mean and spread have.
    pub errors: BTreeMap<String, f64>,
}

impl fmt::Display for Lessons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = |(name, error): (&String, &f64)| format!("{name} {error:.3}");
        let errors: Vec<String> = self.errors.iter().map(error).collect();
        write!(
            f,
            "{} forecasts what {} earlier runs came to best; errors, as shares of that of their mean: {}",
            self.predictor,
            self.runs,
            errors.join(", ")
        )
    }
}

impl Lessons {
    /// The predictor with the least held-out error on the finished `runs`, each forecast as if it had not been seen, after a tenth, a
    /// quarter and half of its training; `None` where there are fewer than 20. O(n³), n ≤ 200 runs.
    pub(crate) fn of(runs: &[Run], options: &HistoryOptions) -> Option<Self> {
        let history = History::new(&evenly(runs), options).ok()?;
        let finished: Vec<usize> = (0..history.len()).filter(|&i| history.final_score(i).is_some()).collect();
        if finished.len() < ENOUGH {
            return None;
        }
        let error = |name: &&str| Some(((*name).to_owned(), error(name, &history, &finished)?));
        let errors: BTreeMap<String, f64> = CANDIDATES.par_iter().filter_map(error).collect();
        let best = CANDIDATES.iter().filter(|name| errors.contains_key(**name));
        let predictor = best.min_by(|a, b| errors[**a].total_cmp(&errors[**b]))?;
        Some(Self { predictor: (*predictor).to_owned(), runs: finished.len(), errors })
    }
}

/// At most [`MOST`] of the runs, evenly.
fn evenly(runs: &[Run]) -> Vec<Run> {
    let kept = runs.len().min(MOST);
    (0..kept).map(|k| runs[k * runs.len() / kept].clone()).collect()
}

/// The mean held-out score of the predictor called `name`, as a share of that of the finished runs' own ends; `None` if it cannot be fitted.
fn error(name: &str, history: &History, finished: &[usize]) -> Option<f64> {
    let predictor = predictor(name, &PredictorOptions::default()).ok()?;
    let encoder = history.encoder(finished);
    let points = history.grid().len();
    let mut shares = Vec::new();
    for observed in OBSERVED {
        let seen = ((observed * points as f64).ceil() as usize).clamp(1, points.checked_sub(1)?);
        let training = history.training_set(finished, seen, &encoder);
        let model = predictor.fit(&training).ok()?;
        let scores =
            model.held_out().iter().zip(&training.targets).map(|(forecast, &end)| ranked(forecast, end));
        let ends = Forecast::gaussian(
            mean(&training.targets),
            foretell::statistics::standard_deviation(&training.targets),
        );
        let usual: Vec<f64> = training.targets.iter().map(|&end| ranked(&ends, end)).collect();
        shares.push(mean(&scores.collect::<Vec<_>>()) / mean(&usual).max(f64::MIN_POSITIVE));
    }
    Some(mean(&shares)).filter(|share| share.is_finite())
}

/// The continuous ranked probability score of a forecast of `end`: the mean of 19 quantiles' losses.
fn ranked(forecast: &Forecast, end: f64) -> f64 {
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
    use foretell::{Configuration, Curve, Direction, Value};

    /// Runs that rise from chance to an end; `x` tells the end, the beginning tells nothing.
    fn runs(count: usize) -> Vec<Run> {
        let run = |i: usize| {
            let x = (i * 37 % 101) as f64 / 101.0;
            let values: Vec<f64> =
                (1..=20).map(|epoch| 0.1 + 0.8 * x * (f64::from(epoch) / 20.0).powi(4)).collect();
            let configuration = Configuration::from([("x".to_owned(), Value::Number(x))]);
            Run { id: i.to_string(), configuration, curve: Curve::of_epochs(&values, Direction::Maximize) }
        };
        (0..count).map(run).collect()
    }

    #[test]
    fn the_predictor_that_sees_what_decides_is_chosen() {
        let lessons = Lessons::of(&runs(60), &HistoryOptions::default()).unwrap();
        assert_ne!(lessons.predictor, "mean-gain", "{lessons}");
        assert_eq!((lessons.runs, lessons.errors.len()), (60, 3));
        assert!(lessons.errors[&lessons.predictor] < lessons.errors["mean-gain"]);
        assert!(
            lessons.to_string().starts_with(&format!("{} forecasts what 60 earlier runs", lessons.predictor))
        );
    }

    #[test]
    fn too_few_runs_choose_nothing() {
        assert_eq!(Lessons::of(&runs(ENOUGH - 1), &HistoryOptions::default()), None);
    }
}
