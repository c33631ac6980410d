//! Models of a study: which are needed, and fitting them, which may happen on another thread.

use super::decision::NextCheck;
use super::knowledge::{ForecasterBasis, LevelForecaster, NoForecast, TrialOutlook};
use crate::study::{Study, Trial};
use foretell::{
    Configuration, Curve, Forecaster, History, HistoryOptions, Predictor, PredictorOptions, Run, Scale,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A model to fit before a decision can be made: pure work that needs no study and can run in any thread.
pub struct ModelFit {
    level: u64,
    basis: ForecasterBasis,
    source: ForecasterSource,
    configuration: Configuration,
    curve: Curve,
}

/// Where the forecaster comes from.
enum ForecasterSource {
    Known(Arc<LevelForecaster>),
    New(ForecasterLesson),
}

/// The lesson of a new forecaster.
struct ForecasterLesson {
    runs: Vec<Run>,
    options: HistoryOptions,
    predictor: Arc<dyn Predictor>,
}

/// A fitted model, to return to the study with [`Study::accept_fit`].
pub struct FittedModel {
    level: u64,
    basis: ForecasterBasis,
    known: Result<Arc<LevelForecaster>, NoForecast>,
}

impl ModelFit {
    /// Fits the model.
    pub fn run(self) -> FittedModel {
        let known = match self.source {
            ForecasterSource::Known(known) => Ok(known),
            ForecasterSource::New(lesson) => {
                lesson.learn().map(|forecaster| Arc::new(LevelForecaster::new(forecaster, Vec::new())))
            }
        };
        if let Ok(known) = &known {
            // the forecaster keeps the model; an error comes again when the study asks
            let _ = known.outlook(&self.configuration, &self.curve);
        }
        FittedModel { level: self.level, basis: self.basis, known }
    }
}

impl ForecasterLesson {
    fn learn(self) -> Result<Forecaster, NoForecast> {
        Ok(Forecaster::with_history(History::new(&self.runs, &self.options)?, self.predictor))
    }
}

impl Study {
    /// The model that must be fitted before [`decide`](Self::decide) can judge `trial` at once; `None` if there is
    /// nothing to decide, or everything is there. Without this, `decide` fits the model itself.
    pub fn fit_for(&self, trial: u64) -> Option<ModelFit> {
        if !self.needs_fit(trial) {
            return None;
        }
        let Trial { until: level, configuration, curve, .. } = self.trial(trial)?;
        let basis = self.knowledge.basis(*level)?;
        let source = match self.knowledge.level(*level) {
            Some(known) => ForecasterSource::Known(known.clone().ok()?),
            // without a predictor there is nothing to fit: the judge says so
            None => ForecasterSource::New(self.lesson(*level, self.learned_runs(*level)).ok()?),
        };
        let (configuration, curve) = (configuration.clone(), curve.clone());
        Some(ModelFit { level: *level, basis, source, configuration, curve })
    }

    /// Whether [`fit_for`](Self::fit_for) has a model to fit. O(steps of the trial).
    pub fn needs_fit(&self, trial: u64) -> bool {
        let Some(judged) = self.trial(trial).filter(|_| self.is_undecided(trial)) else { return false };
        if !self.needs.forecasts || !matches!(self.check(judged), NextCheck::Open) {
            return false;
        }
        match self.knowledge.level(judged.until) {
            Some(Ok(known)) => !known.forecaster().is_fitted_for(&judged.curve),
            Some(Err(_)) => false,
            None => self.knowledge.training_set(judged.until).is_some(),
        }
    }

    /// Takes back a fitted model, unless there is more to learn from by now.
    pub fn accept_fit(&mut self, fitted: FittedModel) {
        self.knowledge.keep(fitted.level, fitted.basis, fitted.known);
    }

    /// Where trial `index` will be at `level`, and the forecaster that says so.
    pub(super) fn outlook(
        &mut self,
        index: usize,
        level: u64,
    ) -> Result<(Arc<LevelForecaster>, Arc<TrialOutlook>), NoForecast> {
        let known = self.known_level(level)?;
        let trial = &self.trials[index];
        let outlook = match &self.knowledge.recording {
            None => known.outlook(&trial.configuration, &trial.curve),
            Some(recording) => {
                let run = recording.run(self.warm_start.len() + index);
                known.outlook_of(run, &trial.configuration, &trial.curve)
            }
        };
        Ok((known, outlook?))
    }

    /// Where trial `index` was to be at `level`, from its `curve` up to some rung: if the forecaster learned from the trial, as it would
    /// be forecast without it.
    pub(super) fn outlook_from(
        &mut self,
        index: usize,
        curve: &Curve,
        level: u64,
    ) -> Result<Arc<TrialOutlook>, NoForecast> {
        let known = self.known_level(level)?;
        let of_all = self.warm_start.len() + index;
        let configuration = &self.trials[index].configuration;
        match &self.knowledge.recording {
            None => {
                let place = self.learned_runs(level).binary_search(&of_all).ok();
                known.outlook_without(place, configuration, curve)
            }
            Some(recording) => known.outlook_of(recording.run(of_all), configuration, curve),
        }
    }

    /// The forecaster of `level`: the one there is, or a new one where there is more to learn from.
    fn known_level(&mut self, level: u64) -> Result<Arc<LevelForecaster>, NoForecast> {
        match self.knowledge.level(level) {
            Some(known) => known.clone(),
            None => {
                let basis = self.knowledge.basis(level).unwrap_or_default();
                let learned = self.learn(level, basis);
                self.knowledge.keep(level, basis, learned.clone());
                learned
            }
        }
    }

    /// Learns from all that was trained to `level`.
    fn learn(&self, level: u64, basis: ForecasterBasis) -> Result<Arc<LevelForecaster>, NoForecast> {
        let mut learned = self.learned_runs(level);
        let Some(recording) = &self.knowledge.recording else {
            let forecaster = self.lesson(level, learned)?.learn()?;
            return Ok(Arc::new(LevelForecaster::new(forecaster, Vec::new())));
        };
        // a run that was drawn twice counts once
        let mut seen = BTreeSet::new();
        learned.retain(|&index| seen.insert(recording.run(index)));
        let runs: Vec<usize> = learned.iter().map(|&index| recording.run(index)).collect();
        let warm = learned.iter().filter(|&&index| index < self.warm_start.len()).count();
        recording.level(level, &runs, (warm, basis), &mut || {
            let forecaster = self.lesson(level, learned.clone())?.learn()?;
            Ok(LevelForecaster::new(forecaster, runs.clone()))
        })
    }

    /// The indices that a forecaster of `level` learns from, in order.
    fn learned_runs(&self, level: u64) -> Vec<usize> {
        let mut learned = self.knowledge.training_set(level).unwrap_or_default().to_vec();
        learned.sort_unstable();
        learned
    }

    /// The lesson of a forecaster of `level`: the runs `learned`. O(runs · points).
    fn lesson(&self, level: u64, learned: Vec<usize>) -> Result<ForecasterLesson, NoForecast> {
        let runs = learned.into_iter().map(|index| match index.checked_sub(self.warm_start.len()) {
            None => self.warm_start[index].clone(),
            Some(trial) => Run {
                id: trial.to_string(),
                configuration: self.trials[trial].configuration.clone(),
                curve: self.trials[trial].curve_to(level, self.spec.direction),
            },
        });
        let runs: Vec<Run> = runs.collect();
        // a trial is worth what it reports at its level or first beyond it
        let reached = runs.iter().filter_map(|run| {
            let steps = run.curve.steps();
            steps.get(steps.partition_point(|&step| step < level as f64)).copied()
        });
        let target = reached.fold(f64::INFINITY, f64::min);
        let options = self.history_options();
        let options = HistoryOptions {
            target: Some(if target.is_finite() { target } else { level as f64 }),
            scale: options.scale.or(self.knowledge.is_linear().then_some(Scale::Linear)),
            ..options
        };
        Ok(ForecasterLesson { runs, options, predictor: self.predictor()? })
    }

    pub(super) fn history_options(&self) -> HistoryOptions {
        if let Some(recording) = &self.knowledge.recording {
            return recording.history_options();
        }
        self.spec.history_options()
    }

    pub(super) fn predictor(&self) -> Result<Arc<dyn Predictor>, NoForecast> {
        if let Some(predictor) = &self.predictor {
            return Ok(Arc::clone(predictor));
        }
        let options = PredictorOptions { seed: self.spec.seed, ..PredictorOptions::default() };
        Ok(self.catalogue.make_predictor(&self.spec.policy, &self.spec.predictor, &options)?)
    }
}
