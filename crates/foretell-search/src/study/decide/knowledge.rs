//! The knowledge of a study, by level: the trials trained to it, forecasters, and running means for the median rule.

use crate::record::RecordedForecast;
use crate::schedulers::f_hyperband::LevelData;
use foretell::{
    Configuration, Curve, Direction, Forecast, ForecastError, Forecaster, HistoryError, HistoryOptions,
    RunScore, UnknownPredictor, statistics,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use thiserror::Error;

/// Why there is no forecast.
#[derive(Clone, Debug, PartialEq, Error)]
pub(crate) enum NoForecast {
    /// Nothing can be learned from the runs there are.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The predictor cannot be fitted, or has no answer.
    #[error(transparent)]
    Forecast(#[from] ForecastError),
    /// There is no such predictor.
    #[error(transparent)]
    Predictor(#[from] UnknownPredictor),
    /// The forecast cannot be written in the metric's unit.
    #[error(
        "the forecast is not finite in the metric's unit, because values are too large or too far apart. Rescale the metric"
    )]
    NotFinite,
}

/// A forecast on the scale of its history, and as it is recorded.
#[derive(Clone, Debug)]
pub(crate) struct TrialOutlook {
    pub(crate) forecast: Forecast,
    pub(crate) recorded: RecordedForecast,
}

type OutlookResult = Result<Arc<TrialOutlook>, NoForecast>;

/// The forecaster of one level. Studies that replay the same runs share it with the forecasts that it has made.
pub(crate) struct LevelForecaster {
    forecaster: Forecaster,
    /// In a replay, the recorded runs that it learned from, in order.
    runs: Vec<usize>,
    /// In a replay, its forecasts by points seen and recorded run.
    kept: Mutex<BTreeMap<usize, BTreeMap<usize, OutlookResult>>>,
}

impl LevelForecaster {
    pub(crate) fn new(forecaster: Forecaster, runs: Vec<usize>) -> Self {
        Self { forecaster, runs, kept: Mutex::default() }
    }

    pub(crate) fn forecaster(&self) -> &Forecaster {
        &self.forecaster
    }

    /// For how many points seen it has made forecasts, each by a model of its own.
    pub(crate) fn fits(&self) -> usize {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Where the trial with this configuration and curve will be.
    pub(super) fn outlook(&self, configuration: &Configuration, curve: &Curve) -> OutlookResult {
        self.complete_outlook(self.forecaster.forecast(configuration, curve)?, curve)
    }

    /// Where the trial of recorded run `run` will be. A run that was learned from gets its held-out forecast, so that a
    /// configuration that is drawn a second time is not known already.
    pub(super) fn outlook_of(
        &self,
        run: usize,
        configuration: &Configuration,
        curve: &Curve,
    ) -> OutlookResult {
        let points = curve.len();
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.get(&points).and_then(|runs| runs.get(&run)) {
            return known.clone();
        }
        // other threads need not wait for a forecast
        drop(kept);
        let place = self.runs.iter().position(|&learned| learned == run);
        let made = self.outlook_without(place, configuration, curve);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.entry(points).or_default().insert(run, made.clone());
        made
    }

    /// Where the trial will be that was learned from as number `place`, forecast without it; with `None`, one that was not learned from.
    pub(super) fn outlook_without(
        &self,
        place: Option<usize>,
        configuration: &Configuration,
        curve: &Curve,
    ) -> OutlookResult {
        let held_out = match place.map(|place| self.forecaster.held_out_forecast(place, curve)) {
            Some(held_out) => held_out?,
            None => None,
        };
        match held_out {
            Some(forecast) => self.complete_outlook(forecast, curve),
            None => self.outlook(configuration, curve),
        }
    }

    /// `forecast` in the metric's unit, held to what can be.
    fn complete_outlook(&self, forecast: Forecast, curve: &Curve) -> OutlookResult {
        let history = self.forecaster.history();
        let now = history.prefix_of(curve).last().copied().unwrap_or(f64::NEG_INFINITY);
        let [low, high] = [0.05, 0.95].map(|p| history.possible_value(forecast.quantile(p), now));
        let one_sd = [0.158_655_254, 0.841_344_746].map(|p| forecast.quantile(p));
        let [lower, upper] = one_sd.map(|score| history.possible_value(score, now));
        let recorded = RecordedForecast {
            mean: history.possible_value(forecast.mean, now),
            // where both are beyond what can be, the forecast is no surer for it
            sd: Some((upper - lower).abs() / 2.0).filter(|sd| *sd > 0.0).unwrap_or_else(|| {
                let [lower, upper] = one_sd.map(|score| history.unbounded_value(score, now));
                (upper - lower).abs() / 2.0
            }),
            interval: (low.min(high), low.max(high)),
        };
        // what is not finite could be written, but not read back
        let finite = [recorded.mean, recorded.sd, low, high].iter().all(|number| number.is_finite());
        if finite { Ok(Arc::new(TrialOutlook { forecast, recorded })) } else { Err(NoForecast::NotFinite) }
    }
}

/// After how many epochs a running trial is checked: `first`, and then each `every` more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CheckSchedule {
    pub(crate) first: u64,
    pub(crate) every: u64,
}

impl CheckSchedule {
    /// Whether a trial is checked when it has trained `epochs`.
    pub(crate) fn is_due(self, epochs: u64) -> bool {
        epochs >= self.first && (epochs - self.first).is_multiple_of(self.every)
    }

    /// The number, from 1, of the last check up to `epochs`; 0 before the first.
    pub(crate) fn number(self, epochs: u64) -> usize {
        epochs.checked_sub(self.first).map_or(0, |since| (since / self.every) as usize + 1)
    }
}

/// The recorded runs behind the trials of a study that is replayed. Trials and the runs of a warm start are known by their `index`: runs
/// of a warm start first, then trials.
pub(crate) trait RunRecording: Send + Sync {
    /// The recorded run of `index`.
    fn run(&self, index: usize) -> usize;

    /// The score that `index` will have at `level`; −∞ if it is lost by then.
    fn true_score(&self, index: usize, level: u64) -> f64;

    /// The forecaster of `level` that learned from `runs` (as many as `basis` begins with are of a warm start): an
    /// existing one, or the one that `learn` gives.
    ///
    /// # Errors
    /// Those of `learn`.
    fn level(
        &self,
        level: u64,
        runs: &[usize],
        basis: (usize, ForecasterBasis),
        learn: &mut dyn FnMut() -> Result<LevelForecaster, NoForecast>,
    ) -> Result<Arc<LevelForecaster>, NoForecast>;

    /// Hears that there was no forecast, and why.
    fn without_forecast(&self, why: &NoForecast);

    /// When trials are checked.
    fn checks(&self) -> CheckSchedule;

    /// The options by which runs are laid on a grid, except for the target.
    fn history_options(&self) -> HistoryOptions;
}

/// What a forecaster was made from: with another basis it is made again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ForecasterBasis {
    /// The number of runs learned from.
    pub(crate) runs: usize,
    /// Whether a value was seen that has no logarithm.
    pub(crate) is_linear: bool,
}

/// The data that a study has learned from.
pub(in crate::study) struct StudyKnowledge {
    /// The trials trained to each level; runs of a warm start are numbered before the trials.
    data: LevelData,
    /// Running means of these trials, for a rule that compares means; empty under any other.
    peers: BTreeMap<u64, LevelPeers>,
    keeps_peers: bool,
    /// By level: the basis of the forecaster, and the forecaster, or the reason for its absence.
    levels: BTreeMap<u64, (ForecasterBasis, Result<Arc<LevelForecaster>, NoForecast>)>,
    /// Whether a value was seen that has no logarithm.
    is_linear: bool,
    pub(super) checks: CheckSchedule,
    pub(super) recording: Option<Arc<dyn RunRecording>>,
}

impl StudyKnowledge {
    /// Whether recorded trials are replayed.
    pub(crate) fn is_replayed(&self) -> bool {
        self.recording.is_some()
    }

    pub(crate) fn new(data: LevelData, keeps_peers: bool, recording: Option<Arc<dyn RunRecording>>) -> Self {
        let checks =
            recording.as_ref().map_or(CheckSchedule { first: 1, every: 1 }, |recording| recording.checks());
        let (peers, levels) = (BTreeMap::new(), BTreeMap::new());
        Self { data, peers, keeps_peers, levels, is_linear: false, checks, recording }
    }

    /// Forgets everything but who reached each level, which is the answer; `data` and `keeps_peers` hold from here on.
    pub(crate) fn begin_anew(&mut self, data: LevelData, keeps_peers: bool) -> Vec<(u64, Vec<usize>)> {
        let reached = std::mem::replace(&mut self.data, data).into_reached();
        (self.peers, self.levels) = (BTreeMap::new(), BTreeMap::new());
        self.keeps_peers = keeps_peers;
        reached
    }

    /// `index` was trained to `level`, where it had this curve.
    pub(crate) fn add_trained(&mut self, level: u64, index: usize, curve: &Curve, run_score: RunScore) {
        self.data.push(level, index);
        self.add_peer(level, curve, run_score);
    }

    /// The run `index` of an earlier search reached `level`.
    pub(crate) fn warm_start(&mut self, level: u64, index: usize, curve: &Curve, run_score: RunScore) {
        self.data.warm_start(level, [index]);
        self.add_peer(level, curve, run_score);
    }

    fn add_peer(&mut self, level: u64, curve: &Curve, run_score: RunScore) {
        if self.keeps_peers {
            self.peers.entry(level).or_default().push(&run_score.score_curve(curve));
        }
    }

    /// The indices to learn from at `level`; `None` while there are too few.
    pub(crate) fn training_set(&self, level: u64) -> Option<&[usize]> {
        self.data.training_set(level)
    }

    /// A trial, or a run of an earlier search, has this `value`. A loss of 0 or less has no logarithm, so forecasts are linear from then on.
    pub(crate) fn meet_value(&mut self, value: f64, direction: Direction) {
        self.is_linear |= direction == Direction::Minimize && value <= 0.0;
    }

    /// Whether forecasts are linear because a value was seen that has no logarithm.
    pub(super) fn is_linear(&self) -> bool {
        self.is_linear
    }

    /// The basis of a forecaster of `level` that is made now; `None` while there are too few runs to learn from.
    pub(super) fn basis(&self, level: u64) -> Option<ForecasterBasis> {
        Some(ForecasterBasis { runs: self.data.training_set(level)?.len(), is_linear: self.is_linear })
    }

    /// The forecaster of `level`, unless its basis has changed since it was made.
    pub(super) fn level(&self, level: u64) -> Option<&Result<Arc<LevelForecaster>, NoForecast>> {
        let (basis, known) = self.levels.get(&level)?;
        (self.basis(level) == Some(*basis)).then_some(known)
    }

    /// Keeps the forecaster of `level` made on this `basis`, or the reason for its absence.
    pub(super) fn keep(
        &mut self,
        level: u64,
        basis: ForecasterBasis,
        known: Result<Arc<LevelForecaster>, NoForecast>,
    ) {
        self.levels.insert(level, (basis, known));
    }

    /// The median of the running means at `step` of those that were trained to `level`.
    pub(super) fn median_of_peers(&mut self, level: u64, step: u64) -> Option<f64> {
        self.peers.get_mut(&level)?.median(step)
    }
}

/// Running means of those trained to one level.
#[derive(Default)]
struct LevelPeers {
    /// Of each: steps, and the mean of its scores up to each.
    means: Vec<(Vec<f64>, Vec<f64>)>,
    /// By step that was asked for: the means there, ascending.
    sorted: BTreeMap<u64, Vec<f64>>,
}

impl LevelPeers {
    /// One more was trained to the level. O(points + steps asked for · n).
    fn push(&mut self, curve: &Curve) {
        let mut sum = 0.0;
        let means = curve.scores().iter().enumerate().map(|(count, score)| {
            sum += score;
            sum / (count + 1) as f64
        });
        let peer = (curve.steps().to_vec(), means.collect());
        for (&step, sorted) in &mut self.sorted {
            if let Some(mean) = mean_at(&peer, step) {
                let place = sorted.partition_point(|known| known.total_cmp(&mean).is_lt());
                sorted.insert(place, mean);
            }
        }
        self.means.push(peer);
    }

    /// O(1), or O(n log n) for a step that is asked for the first time.
    fn median(&mut self, step: u64) -> Option<f64> {
        let means = &self.means;
        let sorted = self.sorted.entry(step).or_insert_with(|| {
            let mut there: Vec<f64> = means.iter().filter_map(|peer| mean_at(peer, step)).collect();
            there.sort_by(f64::total_cmp);
            there
        });
        (!sorted.is_empty()).then(|| statistics::quantile_of_sorted(sorted, 0.5))
    }
}

/// The mean of a peer's scores up to `step`.
fn mean_at((steps, means): &(Vec<f64>, Vec<f64>), step: u64) -> Option<f64> {
    let points = steps.partition_point(|&point| point <= step as f64);
    means.get(points.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_the_same_whenever_they_are_asked_for() {
        let curve = |end: f64| Curve::from_epoch_values(&[0.0, end, end], Direction::Maximize);
        let mut asked_early = LevelPeers::default();
        assert_eq!(asked_early.median(2), None);
        let mut asked_late = LevelPeers::default();
        for end in [0.8, 0.2, 0.4] {
            asked_early.push(&curve(end));
            asked_late.push(&curve(end));
        }
        assert_eq!(asked_late.median(2), Some(0.2), "the mean of 0 and 0.4");
        assert_eq!(asked_early.median(2), asked_late.median(2));
        assert_eq!(asked_late.median(0), None, "nobody had reported yet");
    }

    #[test]
    fn checks_begin_late_and_leave_steps_out() {
        let checks = CheckSchedule { first: 3, every: 2 };
        let due: Vec<u64> = (1..9).filter(|&epochs| checks.is_due(epochs)).collect();
        assert_eq!(due, [3, 5, 7]);
        assert_eq!([2, 3, 4, 7].map(|epochs| checks.number(epochs)), [0, 1, 1, 3]);
    }
}
