//! Models of one training set for all τ, fitted when first asked for, and their forecasts, kept.

use super::table::Table;
use foretell::{Encoder, FitError, Forecast, Model, Predictor, Query};
use std::collections::BTreeMap;

/// Models of the score at one level, learnt from one set of runs.
///
/// A run that the models were learnt from gets its held-out forecast, so that a configuration that is drawn a second
/// time is not known already.
pub(super) struct Models {
    /// Distinct runs, ascending.
    learnt: Vec<usize>,
    level: u64,
    encoder: Encoder,
    encoded_learnt: Vec<Vec<f64>>,
    encoded: Vec<Option<Vec<f64>>>,
    /// By τ.
    fitted: BTreeMap<usize, AtTau>,
    /// When a setting last asked for them, in settings.
    used: usize,
}

struct AtTau {
    model: Box<dyn Model>,
    /// By run.
    forecasts: Vec<Option<Forecast>>,
}

impl Models {
    fn new(table: &Table, learnt: Vec<usize>, level: u64) -> Self {
        let encoder = table.encoder(&learnt);
        let encoded_learnt = learnt.iter().map(|&run| table.encoded(run, &encoder)).collect();
        let encoded = vec![None; table.len()];
        Self { learnt, level, encoder, encoded_learnt, encoded, fitted: BTreeMap::new(), used: 0 }
    }

    fn forecast(
        &mut self,
        table: &Table,
        predictor: &dyn Predictor,
        run: usize,
        tau: usize,
    ) -> Result<Forecast, FitError> {
        if !self.fitted.contains_key(&tau) {
            let training =
                table.training_set(&self.learnt, tau, self.level, &self.encoder, &self.encoded_learnt);
            let model = predictor.fit(&training)?;
            self.fitted.insert(tau, AtTau { model, forecasts: vec![None; table.len()] });
        }
        let at = self.fitted.get_mut(&tau).expect("fitted just above");
        if let Some(forecast) = &at.forecasts[run] {
            return Ok(forecast.clone());
        }
        let held_out = self.learnt.binary_search(&run).ok().and_then(|i| at.model.held_out().get(i).cloned());
        let forecast = held_out.unwrap_or_else(|| {
            let encoded = self.encoded[run].get_or_insert_with(|| table.encoded(run, &self.encoder));
            at.model.forecast(&Query { prefix: &table.scores(run)[..tau], configuration: encoded })
        });
        at.forecasts[run] = Some(forecast.clone());
        Ok(forecast)
    }
}

/// Fitted models that a bank keeps from one setting to the next: some hundred megabytes.
const KEPT: usize = 400;

/// All models that one predictor has been asked for, so that settings which learn from the same runs share them; of
/// many, those that were asked for last.
pub(super) struct ModelBank<'a> {
    table: &'a Table,
    predictor: &'a dyn Predictor,
    models: Vec<Models>,
    /// The place in `models` by level and distinct runs learnt from.
    places: BTreeMap<(u64, Vec<usize>), usize>,
    /// Settings so far.
    settings: usize,
}

impl<'a> ModelBank<'a> {
    pub(super) fn new(table: &'a Table, predictor: &'a dyn Predictor) -> Self {
        Self { table, predictor, models: Vec::new(), places: BTreeMap::new(), settings: 0 }
    }

    /// Another setting begins: forgets the fits that were asked for longest ago, beyond so many. Asked for again, they are
    /// made again, and are the same.
    pub(super) fn next_setting(&mut self) {
        self.settings += 1;
        let mut by_use: Vec<&mut Models> = self.models.iter_mut().filter(|m| !m.fitted.is_empty()).collect();
        by_use.sort_by_key(|models| std::cmp::Reverse(models.used));
        let mut kept = 0;
        for models in by_use {
            kept += models.fitted.len();
            if kept > KEPT {
                models.fitted.clear();
            }
        }
    }

    /// The models of the score at `level`, learnt from the runs `learnt`; repeats count once.
    pub(super) fn place(&mut self, level: u64, learnt: &[usize]) -> usize {
        let mut distinct = learnt.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let (table, models) = (self.table, &mut self.models);
        *self.places.entry((level, distinct)).or_insert_with_key(|(level, distinct)| {
            models.push(Models::new(table, distinct.clone(), *level));
            models.len() - 1
        })
    }

    /// The forecast by the models at `place` of `run` after `tau` points.
    pub(super) fn forecast(&mut self, place: usize, run: usize, tau: usize) -> Result<Forecast, FitError> {
        self.models[place].used = self.settings;
        self.models[place].forecast(self.table, self.predictor, run, tau)
    }
}
