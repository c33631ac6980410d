//! The recorded runs behind a replayed study: its sampler, how its runs end, and forecasters shared between studies.

use super::nearest::TakenRuns;
use super::setting::ReplaySetting;
use super::table::RunTable;
use crate::samplers::Sampler;
use crate::samplers::worth::Worth;
use crate::study::{CheckSchedule, ForecasterBasis, LevelForecaster, NoForecast, RunRecording};
use foretell::{Configuration, FitError, ForecastError, HistoryOptions, Predictor};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// Fitted models that a bank keeps from one setting to the next: some hundred megabytes.
const MAX_KEPT_MODELS: usize = 400;

/// A level, how many of its runs are of a warm start, the basis of its forecaster, and the runs it learned from, in order.
type ForecasterKey = (u64, (usize, ForecasterBasis), Vec<usize>);

/// All forecasters that one predictor was asked for in one order of the runs. Settings which learn from the same runs share them.
pub(super) struct ForecasterBank {
    predictor: Arc<dyn Predictor>,
    known: Mutex<BankContents>,
}

#[derive(Default)]
struct BankContents {
    /// Forecasters, each with the setting that last asked for it.
    levels: BTreeMap<ForecasterKey, (Arc<LevelForecaster>, usize)>,
    /// Settings so far.
    settings: usize,
}

impl ForecasterBank {
    pub(super) fn new(predictor: Arc<dyn Predictor>) -> Self {
        Self { predictor, known: Mutex::default() }
    }

    /// The predictor of its forecasters.
    pub(super) fn predictor(&self) -> Arc<dyn Predictor> {
        Arc::clone(&self.predictor)
    }

    /// Whether its forecasters are from this very predictor: two of a name may differ in features, seed or draws.
    pub(super) fn is_of(&self, predictor: &Arc<dyn Predictor>) -> bool {
        Arc::ptr_eq(&self.predictor, predictor)
    }

    /// Another setting begins: forgets the forecasters that were asked for longest ago, beyond `MAX_KEPT_MODELS` models. Asked for
    /// again, they are made again, and are the same.
    pub(super) fn next_setting(&self) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.settings += 1;
        let mut by_use: Vec<(usize, ForecasterKey)> =
            known.levels.iter().map(|(key, (_, used))| (*used, key.clone())).collect();
        by_use.sort_by_key(|(used, _)| std::cmp::Reverse(*used));
        let mut kept = 0;
        for (_, key) in by_use {
            kept += known.levels[&key].0.fits();
            if kept > MAX_KEPT_MODELS {
                known.levels.remove(&key);
            }
        }
    }
}

/// The recorded runs behind one replayed study.
pub(super) struct RecordedRuns {
    pub(super) table: Arc<RunTable>,
    /// The run behind each index: runs of a warm start first, then trials.
    warm_start: Vec<usize>,
    taken: TakenRuns,
    pub(super) checks: CheckSchedule,
    pub(super) bank: Option<Arc<ForecasterBank>>,
    failure: Mutex<Option<FitError>>,
}

impl RecordedRuns {
    pub(super) fn new(
        setting: &ReplaySetting,
        table: Arc<RunTable>,
        (warm_start, taken): (Vec<usize>, TakenRuns),
        bank: Option<Arc<ForecasterBank>>,
    ) -> Self {
        let checks = CheckSchedule { first: setting.first_check, every: setting.check_every };
        Self { table, warm_start, taken, checks, bank, failure: Mutex::default() }
    }

    /// Why the predictor could not be fitted, if it could not be.
    pub(super) fn failure(&self) -> Option<FitError> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl RunRecording for RecordedRuns {
    fn run(&self, index: usize) -> usize {
        match index.checked_sub(self.warm_start.len()) {
            None => self.warm_start[index],
            Some(trial) => self.taken.lock().unwrap_or_else(PoisonError::into_inner)[trial],
        }
    }

    fn true_score(&self, index: usize, level: u64) -> f64 {
        self.table.truth(self.run(index), level)
    }

    fn level(
        &self,
        level: u64,
        runs: &[usize],
        basis: (usize, ForecasterBasis),
        learn: &mut dyn FnMut() -> Result<LevelForecaster, NoForecast>,
    ) -> Result<Arc<LevelForecaster>, NoForecast> {
        let Some(bank) = &self.bank else { return learn().map(Arc::new) };
        // held while the forecaster is made, which blocks nobody: one thread replays an order, with banks of its own
        let mut known = bank.known.lock().unwrap_or_else(PoisonError::into_inner);
        let now = known.settings;
        let key = (level, basis, runs.to_vec());
        if let Some((known, used)) = known.levels.get_mut(&key) {
            *used = now;
            return Ok(Arc::clone(known));
        }
        let learned = Arc::new(learn()?);
        known.levels.insert(key, (Arc::clone(&learned), now));
        Ok(learned)
    }

    fn without_forecast(&self, why: &NoForecast) {
        if let NoForecast::Forecast(ForecastError::Fit(error)) = why {
            let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            failure.get_or_insert_with(|| error.clone());
        }
    }

    fn checks(&self) -> CheckSchedule {
        self.checks
    }

    fn history_options(&self) -> HistoryOptions {
        self.table.options().clone()
    }
}

/// Proposes the configurations of recorded runs, in order.
pub(super) struct ReplaySampler {
    left: VecDeque<(usize, Configuration)>,
    taken: TakenRuns,
}

impl ReplaySampler {
    pub(super) fn new(runs: Vec<(usize, Configuration)>, taken: TakenRuns) -> Self {
        Self { left: runs.into(), taken }
    }
}

impl Sampler for ReplaySampler {
    fn propose(&mut self, _trial: u64) -> Option<Configuration> {
        let (run, configuration) = self.left.pop_front()?;
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).push(run);
        Some(configuration)
    }

    fn observe_start(&mut self, _: u64, _: &Configuration) {}

    fn learn(&mut self, _: u64, _: &Configuration, _: Worth) {}

    fn observe_failure(&mut self, _: u64, _: &Configuration) {}
}
