//! Learning-curve extrapolation as a predictor: each curve on its own, whatever the finished runs.

use super::beginning::LeadingCut;
use super::extrapolate::{Extrapolation, NoExtrapolation, PartialCurve, extrapolate};
use super::options::LceOptions;
use foretell::Forecast;
use foretell::{FitError, Model, Predictor, check_training, leave_one_out_sigma};
use foretell::{PredictorOptions, PredictorPurpose};
use foretell::{RunQuery, TrainingSet};
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Learning-curve extrapolation (LCE): a Bayesian combination of parametric curve families, fitted to the running curve
/// alone. See [`extrapolate`](super::extrapolate()).
///
/// From finished runs it takes only the metric's range, where that is not known, and what it says of a curve that cannot be
/// extrapolated ([`NoExtrapolation`]): its last value, with the root mean square distance of finished runs' last values from
/// their ends. Held-out forecasts are its ordinary ones, which do not use a run's result; they are made when first asked
/// for. O(1) to fit; a forecast takes milliseconds.
///
/// Source: Domhan, Springenberg & Hutter 2015.
#[derive(Clone, Debug, Default)]
pub struct Lce {
    /// The options by which it fits and samples.
    pub options: LceOptions,
    /// The seed of its chains.
    pub seed: u64,
    /// Earlier forecasts, if they are kept: see [`Lce::remembering`].
    memory: Option<ForecastMemory>,
}

/// Forecasts by all that they depend on: the bits of steps, scores, target and range.
type ForecastMemory = Arc<Mutex<HashMap<Vec<u64>, Option<Forecast>>>>;

/// Forecasts that are kept at most.
const MAX_REMEMBERED_FORECASTS: usize = 1 << 18;

impl Lce {
    /// LCE by `options`, with the chains of `seed`.
    pub fn new(options: LceOptions, seed: u64) -> Self {
        Self { options, seed, memory: None }
    }

    /// LCE by `options` for the purpose of `chosen`, with at most 25 steps of its chains for each draw from the posterior, if they are limited.
    ///
    /// For the termination criterion the points before learning begins are cut off, and forecasts are remembered: a study asks for each once
    /// to have it made on another thread, and once to judge by it.
    pub fn with_predictor_options(mut options: LceOptions, chosen: &PredictorOptions) -> Self {
        if let Some(draws) = chosen.draws {
            options.ensemble.steps = options.ensemble.steps.min(draws.max(1).saturating_mul(25));
        }
        if chosen.purpose == PredictorPurpose::Termination {
            options.beginning = Some(LeadingCut::default());
        }
        let lce = Self::new(options, chosen.seed);
        if chosen.purpose == PredictorPurpose::Forecasts { lce } else { lce.with_memory() }
    }

    /// Makes each forecast once however often it is asked for: all models of the predictor share their forecasts.
    /// For replays of one set of curves in many orders.
    #[must_use]
    pub fn with_memory(self) -> Self {
        Self { memory: Some(ForecastMemory::default()), ..self }
    }
}

struct LceModel {
    lce: Lce,
    training: TrainingSet,
    range: (f64, f64),
    fallback_sigma: f64,
    held_out: OnceLock<Vec<Forecast>>,
}

impl Predictor for Lce {
    fn name(&self) -> &'static str {
        if self.options.proper_prior { "lce" } else { "lce-domhan2015" }
    }

    fn extrapolates(&self) -> bool {
        true
    }

    fn fit(&self, training: &TrainingSet) -> Result<Box<dyn Model>, FitError> {
        check_training(self.name(), 1, training)?;
        let fallback_sigma = leave_one_out_sigma(&training.last_scores(), &training.targets);
        Ok(Box::new(LceModel {
            lce: self.clone(),
            training: training.clone(),
            range: range_of_metric(training),
            fallback_sigma,
            held_out: OnceLock::new(),
        }))
    }
}

/// The range that is scaled to [0, 1]: [`TrainingSet::metric_range`], with half of it above the best where no ceiling is known.
fn range_of_metric(training: &TrainingSet) -> (f64, f64) {
    let (least, largest) = training.metric_range();
    let above = if training.ceiling.is_some() { 0.0 } else { (largest - least) / 2.0 };
    (least, largest + above)
}

impl LceModel {
    /// The forecast, or `None` where the curve cannot be extrapolated.
    fn forecast_with_memory(&self, prefix: &[f64]) -> Option<Forecast> {
        let Some(memory) = &self.lce.memory else { return self.finite_forecast(prefix) };
        let (low, high) = self.range;
        let facts = self.training.steps.iter().chain(prefix).chain([&self.training.target_step, &low, &high]);
        let key: Vec<u64> = facts.map(|fact| fact.to_bits()).collect();
        if let Some(known) = memory.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return known.clone();
        }
        // made without the lock, so that threads with other curves do not wait for it
        let forecast = self.finite_forecast(prefix);
        let mut known = memory.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_REMEMBERED_FORECASTS {
            // all are dropped at once, so that no order of use need be kept
            known.clear();
        }
        known.insert(key, forecast.clone());
        forecast
    }

    fn finite_forecast(&self, prefix: &[f64]) -> Option<Forecast> {
        let forecast = self.extrapolate_prefix(prefix).ok()?.forecast();
        Some(forecast).filter(|f| f.mean.is_finite() && f.scale.is_finite())
    }

    fn extrapolate_prefix(&self, prefix: &[f64]) -> Result<Extrapolation, NoExtrapolation> {
        // a run that is outside what is known of the metric widens it
        let (low, high) = foretell::statistics::min_and_max(prefix.iter().copied());
        let range = (self.range.0.min(low), self.range.1.max(high));
        let curve = PartialCurve {
            steps: &self.training.steps,
            scores: prefix,
            target: self.training.target_step,
            range,
        };
        extrapolate(&curve, &self.lce.options, self.lce.seed)
    }
}

impl Model for LceModel {
    fn forecast(&self, query: &RunQuery<'_>) -> Forecast {
        self.forecast_with_memory(query.prefix)
            .unwrap_or_else(|| Forecast::gaussian(query.last_score(), self.fallback_sigma))
    }

    fn held_out(&self) -> &[Forecast] {
        self.held_out.get_or_init(|| {
            let runs = 0..self.training.len();
            runs.into_par_iter().map(|i| self.forecast(&self.training.query(i))).collect()
        })
    }
}
