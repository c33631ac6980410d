//! Objectives that are curves themselves: their forecasts, and the score a running trial may then have to beat.

use super::knowledge::NoForecast;
use crate::objective::Objective;
use crate::study::{Study, Trial};
use foretell::{Direction, Forecaster, History, HistoryOptions, Metric, Run, RunScore};
use std::sync::Arc;

/// Points of the quasi-random sequence over which what is to be beaten is averaged.
const SEQUENCE_POINTS: u32 = 256;

/// Where an objective of a running trial ends: a score that is known, or the quantiles of a forecast.
enum ObjectiveEnd {
    Known(f64),
    Forecast(Arc<Forecaster>, foretell::Forecast, Direction),
}

impl ObjectiveEnd {
    /// The score at the share `u` of its distribution.
    fn value_at(&self, u: f64) -> f64 {
        match self {
            Self::Known(score) => *score,
            Self::Forecast(forecaster, forecast, direction) => {
                direction.to_score(forecaster.history().to_value(forecast.quantile(u)))
            }
        }
    }
}

impl Study {
    /// Whether `objective` of running `trial` can be forecast: it is a curve, and the trial has reported of it.
    pub(super) fn is_forecast(&self, trial: &Trial, objective: &Objective) -> bool {
        objective
            .of
            .sole_name()
            .is_some_and(|name| self.measures.is_curve(name) && trial.side.contains_key(name))
    }

    /// The scores that running trial `index` may have to beat, each as probable as any other; empty where all its other objectives are
    /// known, and so is the score it [has to beat](Self::to_beat).
    ///
    /// The objectives that are not known are sampled from their forecasts, independently, at the first 256 points of a Sobol sequence.
    /// O(256 · front).
    ///
    /// # Errors
    /// The reason why an objective cannot be forecast.
    pub(super) fn possible_incumbents(&mut self, index: usize) -> Result<Vec<f64>, NoForecast> {
        if self.others(&self.trials[index]).is_some() {
            return Ok(Vec::new());
        }
        let objectives = self.spec.objectives.clone();
        let ends = objectives.iter().map(|objective| self.end_of(index, objective));
        let ends: Vec<ObjectiveEnd> = ends.collect::<Result<_, _>>()?;
        let seed = self.spec.seed as u32;
        let incumbents = (0..SEQUENCE_POINTS).map(|point| {
            let others = (0..).zip(&ends).map(|(dimension, end)| {
                let u = f64::from(sobol_burley::sample(point, dimension, seed));
                // the quantiles of 0 and 1 would be infinite
                end.value_at(u.clamp(1e-6, 1.0 - 1e-6))
            });
            self.incumbent_of(&others.collect::<Vec<f64>>()).unwrap_or(f64::NEG_INFINITY)
        });
        Ok(incumbents.collect())
    }

    fn end_of(&mut self, index: usize, objective: &Objective) -> Result<ObjectiveEnd, NoForecast> {
        let direction = objective.direction;
        let trial = &self.trials[index];
        let known = self.measured_value(trial, &objective.of);
        let name = objective.of.sole_name().filter(|name| trial.side.contains_key(*name));
        match (known, name) {
            (Some(value), _) => Ok(ObjectiveEnd::Known(direction.to_score(value))),
            (None, None) => Err(NoForecast::NotFinite),
            (None, Some(name)) => {
                let forecaster = self.side_level(name, direction)?;
                let trial = &self.trials[index];
                let forecast = forecaster.forecast(&trial.configuration, &trial.side[name])?;
                Ok(ObjectiveEnd::Forecast(forecaster, forecast, direction))
            }
        }
    }

    /// The forecaster of the objective `name`: the one there is, or a new one where there is more to learn from.
    fn side_level(&mut self, name: &str, direction: Direction) -> Result<Arc<Forecaster>, NoForecast> {
        let warm = self.warm_start.len();
        let learned = self.knowledge.training_set(self.spec.max_resource).unwrap_or_default();
        let mut learned: Vec<usize> = learned.iter().filter_map(|index| index.checked_sub(warm)).collect();
        if let Some((count, known)) = self.measures.side_level(name)
            && *count == learned.len()
        {
            return known.clone();
        }
        learned.sort_unstable();
        let forecaster = self.learn_side_level(name, direction, &learned);
        self.measures.keep_side_level(name, (learned.len(), forecaster.clone()));
        forecaster
    }

    /// Learns the objective `name` from the trials `learned`.
    fn learn_side_level(
        &self,
        name: &str,
        direction: Direction,
        learned: &[usize],
    ) -> Result<Arc<Forecaster>, NoForecast> {
        let runs = learned.iter().filter_map(|&index| {
            let (id, trial) = (index.to_string(), &self.trials[index]);
            let curve = trial.side.get(name)?.clone();
            Some(Run { id, configuration: trial.configuration.clone(), curve })
        });
        let runs: Vec<Run> = runs.collect();
        let ends = runs.iter().filter_map(|run| run.curve.last_point().map(|(step, _)| step));
        let options = HistoryOptions {
            metric: Some(Metric::new(name, direction)),
            target: Some(ends.fold(self.spec.max_resource as f64, f64::min)),
            run_score: RunScore::Last,
            ..self.history_options()
        };
        Ok(Arc::new(Forecaster::with_history(History::new(&runs, &options)?, self.predictor()?)))
    }
}
