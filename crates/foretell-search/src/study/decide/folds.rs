//! Decisions on cross-validated trials: whether even good remaining folds leave a trial behind.

use crate::record::{Decision, Reason, RecordedForecast};
use crate::study::describe::repeats::{pooled_deviation, spread_of_mean};
use crate::study::{Study, Trial, TrialState};
use foretell::Action;
use foretell::statistics::{mean, normal_cdf, normal_quantile};

/// The 95 % quantile of the standard normal distribution: the ends of the central 90 %.
const NINETY_PERCENT: f64 = 1.644_853_627;

/// The mean of all folds of a trial as far as it is known, larger being better.
struct FoldOutlook {
    mean: f64,
    sd: f64,
}

impl Study {
    /// Whether trial `index` has finished its first fold.
    pub(super) fn is_past_first_fold(&self, index: usize) -> bool {
        self.spec.folds() > 1 && self.trials[index].trained_epochs() >= self.spec.max_resource
    }

    /// The standard deviation of folds of one configuration, pooled over all trials; `None` as long as no trial has finished two.
    fn deviation_of_folds(&self) -> Option<f64> {
        pooled_deviation(self.trials.iter().map(|trial| self.finished_folds(trial)))
    }

    /// The scores of the folds that `trial` has finished.
    fn finished_folds(&self, trial: &Trial) -> Vec<f64> {
        let mut scores = trial.fold_scores(self.spec.run_score);
        let is_whole = matches!(trial.state, TrialState::Completed { .. }) || self.is_between_folds(trial);
        if !is_whole {
            scores.pop();
        }
        scores
    }

    /// Whether the last report of `trial` is the last one of a fold.
    fn is_between_folds(&self, trial: &Trial) -> bool {
        trial.trained_epochs() > 0 && trial.trained_epochs().is_multiple_of(self.spec.max_resource)
    }

    /// The mean of all folds, given the finished ones and where the `present` one will end with which standard deviation. The mean of the n
    /// folds so far differs from that of all K by σ · √(1/n − 1/K), as for repeats.
    fn fold_outlook(&self, finished: &[f64], present: Option<(f64, f64)>) -> Option<FoldOutlook> {
        let deviation = self.deviation_of_folds()?;
        let scores: Vec<f64> = finished.iter().copied().chain(present.map(|(end, _)| end)).collect();
        if scores.is_empty() {
            return None;
        }
        let of_present = present.map_or(0.0, |(_, sd)| sd / scores.len() as f64);
        let of_others = spread_of_mean(deviation, scores.len(), self.spec.folds());
        Some(FoldOutlook { mean: mean(&scores), sd: of_present.hypot(of_others) })
    }

    /// Where the present, later fold of `trial` will end, and its standard deviation: its last score, and what the finished folds gained
    /// from there on. The fold's own deviation shrinks as its training nears the end.
    fn present_fold(&self, trial: &Trial) -> Option<(f64, f64)> {
        let run_score = self.spec.run_score;
        let present = trial.folds.last().filter(|_| !self.is_between_folds(trial))?;
        let (step, _) = present.last_point()?;
        let earlier = std::iter::once(&trial.curve).chain(&trial.folds[..trial.folds.len() - 1]);
        let gains = earlier.filter_map(|curve| {
            Some(run_score.value_of(curve)? - run_score.value_of(&curve.prefix_until(step))?)
        });
        let gains: Vec<f64> = gains.collect();
        let now = run_score.value_of(present)?;
        let left = (1.0 - step / self.spec.max_resource as f64).max(0.0);
        let gained = if gains.is_empty() { 0.0 } else { mean(&gains) };
        Some((now + gained, self.deviation_of_folds()? * left.sqrt()))
    }

    /// Whether the outlook stays below the `rival` also if the rest goes well, by the probability with which the study stops trials.
    fn is_left_behind(&self, outlook: &FoldOutlook, rival: f64) -> bool {
        outlook.mean + normal_quantile(self.spec.criterion.stop_probability) * outlook.sd < rival
    }

    /// The decision on trial `index`, which has finished its first fold, between or within its later folds.
    pub(super) fn judge_later_fold(&self, index: usize, open: Decision) -> Decision {
        let trial = &self.trials[index];
        let outlook = self.fold_outlook(&self.finished_folds(trial), self.present_fold(trial));
        let Some((outlook, rival)) = outlook.zip(self.reference(index as u64)) else {
            return Decision { reason: Reason::NoIncumbent, ..open };
        };
        let direction = self.spec.direction;
        let ends =
            [-1.0, 1.0].map(|side| direction.to_value(outlook.mean + side * NINETY_PERCENT * outlook.sd));
        let forecast = RecordedForecast {
            mean: direction.to_value(outlook.mean),
            sd: outlook.sd,
            interval: (ends[0].min(ends[1]), ends[0].max(ends[1])),
        };
        let is_behind = self.is_left_behind(&outlook, rival);
        let is_agreed = trial.votes + 1 >= self.spec.criterion.agreeing_checks as u64;
        let (action, reason) = match (is_behind, is_agreed) {
            (false, _) => (Action::Continue, Reason::MayWin),
            (true, false) => (Action::Continue, Reason::AwaitingConfirmation),
            (true, true) => (Action::Stop, Reason::WillNotWin),
        };
        let probability = match outlook.sd > 0.0 {
            true => normal_cdf((rival - outlook.mean) / outlook.sd),
            false => f64::from(u8::from(outlook.mean < rival)),
        };
        let (forecast, incumbent) = (Some(forecast), Some(direction.to_value(rival)));
        Decision { action, reason, forecast, incumbent, probability: Some(probability), ..open }
    }

    /// Lets a trial continue that its stop rule would stop in the first fold, if good remaining folds may still make it the best.
    pub(super) fn await_folds(&self, decision: Decision) -> Decision {
        if self.spec.folds() == 1 || decision.action != Action::Stop {
            return decision;
        }
        let direction = self.spec.direction;
        let now = self.spec.run_score.value_of(&self.trials[decision.trial as usize].curve);
        let present = match decision.forecast {
            Some(forecast) => Some((direction.to_score(forecast.mean), forecast.sd)),
            None => now.map(|now| (now, 0.0)),
        };
        let outlook = self.fold_outlook(&[], present);
        match outlook.zip(self.reference(decision.trial)) {
            Some((outlook, rival)) if self.is_left_behind(&outlook, rival) => decision,
            _ => Decision { action: Action::Continue, reason: Reason::FoldsLeft, ..decision },
        }
    }
}
