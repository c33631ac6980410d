//! Whether earlier studies teach a contest anything: they count only while they foresee it better than its own trials do.

use super::end::PendingForecast;
use crate::statistics::quantile_of_sorted;

/// Earlier runs count only while the new points are likelier with them than without by this much.
const MIN_LOG_GAIN: f64 = 2.0;
/// L is held to at most this. A few points of a search, forecast from a single trial, are likelier with any earlier runs: without a limit, earlier runs of
/// another program would count long after they have stopped to fit.
const MAX_LOG_GAIN: f64 = 6.0;
/// A single point or forecast counts for at most this.
const MAX_POINT_LOG_GAIN: f64 = 3.0;
/// Forecasts at levels between these fractions of a training are held against the end that comes: earlier ones say little, later ones are easy.
const FORECAST_FROM_FRACTION: f64 = 1.0 / 3.0;
const FORECAST_TO_FRACTION: f64 = 0.75;
/// A study moves if its ends differ, and its trials change, by at least this fraction of what those of the search do.
const MIN_RELATIVE_MOTION: f64 = 0.1;

/// Whether an earlier study counts by now, and why it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LessonVerdict {
    /// The study counts: with it, the next levels and the ends of trials were forecast better than without.
    Counts,
    /// No trial from the second on has completed yet, so that nothing is known.
    Untested,
    /// The next levels of trials are forecast no better with it.
    NextNoBetter,
    /// The ends of trials are forecast no better with it.
    EndsNoBetter,
    /// The study is left out, because its trials hardly change between their first and last scores.
    Flat,
    /// The study is left out, because its trials end alike.
    Alike,
}

impl LessonVerdict {
    /// Whether the study is left out altogether.
    pub fn is_left_out(self) -> bool {
        matches!(self, Self::Flat | Self::Alike)
    }
}

/// How much the scores of a study's trials differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ScoreMotion {
    /// The 10 to 90 % range of their last scores.
    ends: f64,
    /// The median distance of a trial's first and last score.
    change: f64,
}

impl ScoreMotion {
    /// The motion of trials with these first and last scores; `None` without trials.
    pub(super) fn new(trials: impl Iterator<Item = (f64, f64)>) -> Option<Self> {
        let (mut lasts, mut changes): (Vec<f64>, Vec<f64>) =
            trials.map(|(first, last)| (last, (last - first).abs())).unzip();
        lasts.sort_unstable_by(f64::total_cmp);
        changes.sort_unstable_by(f64::total_cmp);
        (!lasts.is_empty()).then(|| Self {
            ends: quantile_of_sorted(&lasts, 0.9) - quantile_of_sorted(&lasts, 0.1),
            change: quantile_of_sorted(&changes, 0.5),
        })
    }

    /// Why a study that moves like this is left out of a search whose trials move like `search`.
    pub(super) fn fault(self, search: Self) -> Option<LessonVerdict> {
        if self.change < MIN_RELATIVE_MOTION * search.change {
            Some(LessonVerdict::Flat)
        } else if self.ends < MIN_RELATIVE_MOTION * search.ends {
            Some(LessonVerdict::Alike)
        } else {
            None
        }
    }
}

/// The evidence for earlier studies, from the second trial on.
#[derive(Clone, Debug, Default)]
pub(super) struct LessonGuard {
    /// L, by the next levels.
    next: f64,
    /// F, by the ends.
    ends: f64,
    /// The trials that F is of.
    completed: usize,
    /// Per trial its forecasts with and without earlier studies, to be held against its end.
    forecasts: Vec<Vec<(PendingForecast, PendingForecast)>>,
}

impl LessonGuard {
    /// A point whose density with earlier studies is e^`gained` times that without.
    pub(super) fn weigh_point(&mut self, gained: f64) {
        self.next = (self.next + gained.clamp(-MAX_POINT_LOG_GAIN, MAX_POINT_LOG_GAIN)).min(MAX_LOG_GAIN);
    }

    /// `trial` has reached `level` of a training of `epochs`, with these forecasts `with` and `without` earlier studies.
    pub(super) fn store_forecasts(
        &mut self,
        trial: usize,
        (level, epochs): (u64, u64),
        with: Option<PendingForecast>,
        without: Option<PendingForecast>,
    ) {
        let (level, epochs) = (level as f64, epochs as f64);
        if trial == 0 || level < FORECAST_FROM_FRACTION * epochs || level > FORECAST_TO_FRACTION * epochs {
            return;
        }
        if self.forecasts.len() <= trial {
            self.forecasts.resize_with(trial + 1, Vec::new);
        }
        self.forecasts[trial].extend(with.zip(without));
    }

    /// `trial` has ended with this score: its forecasts are held against it.
    pub(super) fn weigh_end(&mut self, trial: usize, score: f64) {
        let forecasts = self.forecasts.get_mut(trial).map(std::mem::take).unwrap_or_default();
        let gained = forecasts.iter().map(|(with, without)| {
            let gained = with.log_density(score) - without.log_density(score);
            if gained.is_finite() { gained.clamp(-MAX_POINT_LOG_GAIN, MAX_POINT_LOG_GAIN) } else { 0.0 }
        });
        if !forecasts.is_empty() {
            self.ends += gained.sum::<f64>() / forecasts.len() as f64;
            self.completed += 1;
        }
    }

    pub(super) fn verdict(&self) -> LessonVerdict {
        if self.completed == 0 {
            LessonVerdict::Untested
        } else if self.next <= MIN_LOG_GAIN {
            LessonVerdict::NextNoBetter
        } else if self.ends <= 0.0 {
            LessonVerdict::EndsNoBetter
        } else {
            LessonVerdict::Counts
        }
    }
}
