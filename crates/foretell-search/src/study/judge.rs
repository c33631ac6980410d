//! Judging a running trial: the forecast, what it is compared with, and the decision.

use super::{Policy, Stopping, Study};
use crate::random::is_exempt;
use crate::record::{Decision, Reason, RecordedForecast};
use crate::stopper::{ByForecast, Evidence, Look, Stopper, Watch};
use foretell::{
    Action, Columns, FitError, Forecast, Forecaster, HistoryOptions, PredictorOptions, Run, RunScore,
    StopRule, is_share, predictor, statistics,
};

/// Non-finite values in a row that count as divergence.
const DIVERGED_AFTER: u64 = 2;

impl Study {
    /// The decision on `trial` at `step`; `None` if there is nothing to decide.
    pub(super) fn judge(&mut self, trial: u64, step: u64) -> Option<Decision> {
        let judged = &self.trials[trial as usize];
        let until = judged.until;
        if self.spec.stopping == Stopping::Off || judged.trained() >= until {
            return None;
        }
        let shadow = self.spec.stopping == Stopping::Shadow;
        let decision = |action, reason| Decision {
            trial,
            step,
            action,
            reason,
            forecast: None,
            value: None,
            incumbent: None,
            probability: None,
            shadow,
        };
        if judged.shadow.is_some() {
            return Some(decision(Action::Stop, Reason::AlreadyStopped));
        }
        if judged.diverged >= DIVERGED_AFTER {
            let kept = self.spec.run_score == RunScore::Best;
            let best = self.spec.run_score.of(&judged.curve).filter(|_| kept);
            let value = best.map(|score| self.spec.direction.value(score));
            return Some(Decision { value, ..decision(Action::Stop, Reason::Diverged) });
        }
        if self.data.learnt(until).is_none() {
            return Some(decision(Action::Continue, Reason::BurnIn));
        }
        if judged.diverged > 0 {
            return Some(decision(
                Action::Continue,
                Reason::NoForecast("its last value is not finite".to_owned()),
            ));
        }
        let open = decision(Action::Continue, Reason::MayWin);
        let judged = match self.spec.policy {
            Policy::Forecast => match self.forecast(trial as usize, until) {
                Err(why) => decision(Action::Continue, Reason::NoForecast(why)),
                Ok(forecast) => self.weigh(trial, until, forecast, open),
            },
            Policy::Median => self.by_curve(Stopper::Median, Reason::BelowMedian, open),
            Policy::Patience(reports) => {
                self.by_curve(Stopper::Patience(reports), Reason::NoImprovement, open)
            }
        };
        Some(self.spare(judged))
    }

    /// Lets a trial go on that is exempt from stopping.
    fn spare(&self, mut decision: Decision) -> Decision {
        if decision.action == Action::Stop && is_exempt(self.spec.seed, decision.trial, self.spec.exempt) {
            (decision.action, decision.reason) = (Action::Continue, Reason::Exempt);
        }
        decision
    }

    /// Completes a decision by comparing the forecast with what the trial has to beat.
    fn weigh(&self, trial: u64, level: u64, forecast: Forecast, mut decision: Decision) -> Decision {
        let (_, forecaster) = &self.forecasters[&level];
        let history = forecaster.history();
        let direction = self.spec.direction;
        let prefix = history.prefix_of(&self.trials[trial as usize].curve);
        let now = prefix.last().copied().unwrap_or(f64::NEG_INFINITY);
        let value = |score: f64| history.possible_value(score, now);
        let (low, high) = (value(forecast.quantile(0.05)), value(forecast.quantile(0.95)));
        let (lower, upper) =
            (value(forecast.quantile(0.158_655_254)), value(forecast.quantile(0.841_344_746)));
        decision.forecast = Some(RecordedForecast {
            mean: value(forecast.mean),
            sd: (upper - lower).abs() / 2.0,
            interval: (low.min(high), low.max(high)),
        });
        let Some(incumbent) = self.scheduler.reference(trial).filter(|score| score.is_finite()) else {
            decision.reason = Reason::NoIncumbent;
            return decision;
        };
        decision.incumbent = Some(direction.value(incumbent));
        // the offset is in the metric's unit, the forecast on the history's scale
        let threshold = history.scale().apply(incumbent - self.spec.rule.offset, direction);
        let rule = ByForecast {
            stop_probability: self.spec.rule.stop_probability,
            agreeing_looks: 1,
            budget: self.spec.budget,
        };
        let looks = (level - 1) as usize;
        let look = self.trials[trial as usize].trained_at(decision.step);
        let stop_probability = rule.at_a_look(look as usize, looks);
        let verdict =
            StopRule { offset: 0.0, stop_probability, ..self.spec.rule }.decide(&forecast, threshold);
        decision.probability = Some(verdict.probability);
        let agreed = self.trials[trial as usize].votes + 1 >= self.spec.agreeing_checks;
        (decision.action, decision.reason) = match verdict.action {
            Action::Continue => (Action::Continue, Reason::MayWin),
            Action::Stop if agreed => (Action::Stop, Reason::WillNotWin),
            Action::Stop => (Action::Continue, Reason::AwaitingConfirmation),
        };
        decision
    }

    /// Completes a decision by a stopper that looks at the curves alone.
    fn by_curve(&self, stopper: Stopper, reason: Reason, mut decision: Decision) -> Decision {
        let curve = self.spec.run_score.curve(&self.trials[decision.trial as usize].curve);
        let scores: Vec<f64> = curve.scores().iter().copied().filter(|score| score.is_finite()).collect();
        if scores.is_empty() {
            return decision;
        }
        let mut peers = Peers { study: self, of: decision.trial as usize, step: decision.step as f64 };
        let mut look = Look {
            scores: &scores,
            number: decision.step as usize,
            looks: (self.trials[decision.trial as usize].until - 1) as usize,
            reference: None,
            evidence: &mut peers,
        };
        // no forecast is made, so that none can fail
        if let Ok(Some(score)) = stopper.judge(&mut Watch::default(), &mut look) {
            (decision.action, decision.reason) = (Action::Stop, reason);
            decision.value = Some(self.spec.direction.value(score));
        }
        decision
    }

    /// Where `trial` will be at `level`.
    fn forecast(&mut self, trial: usize, level: u64) -> Result<Forecast, String> {
        let learnt = self.data.learnt(level).map_or(0, <[usize]>::len);
        if self.forecasters.get(&level).is_none_or(|(runs, _)| *runs != learnt) {
            let forecaster = self.make_forecaster(level)?;
            self.forecasters.insert(level, (learnt, forecaster));
        }
        let trial = &self.trials[trial];
        let (_, forecaster) = &self.forecasters[&level];
        forecaster.forecast(&trial.configuration, &trial.curve).map_err(|error| error.to_string())
    }

    fn make_forecaster(&self, level: u64) -> Result<Forecaster, String> {
        let mut learnt = self.data.learnt(level).unwrap_or_default().to_vec();
        learnt.sort_unstable();
        let run = |index: usize| match index.checked_sub(self.handed_in.len()) {
            None => self.handed_in[index].clone(),
            Some(trial) => Run {
                id: trial.to_string(),
                configuration: self.trials[trial].configuration.clone(),
                curve: self.trials[trial].curve_to(level, self.spec.direction),
            },
        };
        let runs: Vec<Run> = learnt.into_iter().map(run).collect();
        // a trial is worth what it reports at its level or first beyond it
        let reached = runs.iter().filter_map(|run| {
            let steps = run.curve.steps();
            steps.get(steps.partition_point(|&step| step < level as f64)).copied()
        });
        let target = reached.fold(f64::INFINITY, f64::min);
        let options = HistoryOptions {
            direction: self.spec.direction,
            target: Some(if target.is_finite() { target } else { level as f64 }),
            columns: Columns { scales: self.spec.space.scales(), ..Columns::default() },
            share: is_share(&self.spec.metric),
            run_score: self.spec.run_score,
            ..HistoryOptions::default()
        };
        let chosen = PredictorOptions { seed: self.spec.seed, ..PredictorOptions::default() };
        let chosen = predictor(&self.spec.predictor, &chosen).map_err(|error| error.to_string())?;
        Forecaster::new(&runs, &options, chosen).map_err(|error| error.to_string())
    }
}

/// What the other trials of a study can tell of one of them.
struct Peers<'a> {
    study: &'a Study,
    of: usize,
    step: f64,
}

impl Evidence for Peers<'_> {
    fn forecast(&mut self) -> Result<Option<Forecast>, FitError> {
        Ok(None)
    }

    /// O(trials · steps).
    fn median_of_peers(&mut self) -> Option<f64> {
        let level = self.study.trials[self.of].until;
        let offset = self.study.handed_in.len();
        let curve = |&index: &usize| match index.checked_sub(offset) {
            None => &self.study.handed_in[index].curve,
            Some(trial) => &self.study.trials[trial].curve,
        };
        let running_mean = |index: &usize| {
            let curve = self.study.spec.run_score.curve(curve(index));
            let points = curve.steps().iter().zip(curve.scores());
            let so_far = points.filter(|(step, score)| **step <= self.step && score.is_finite());
            let (sum, count) = so_far.fold((0.0, 0.0), |(sum, count), (_, score)| (sum + score, count + 1.0));
            (count > 0.0).then_some(sum / count)
        };
        let mut means: Vec<f64> = self.study.data.reached(level).iter().filter_map(running_mean).collect();
        means.sort_by(f64::total_cmp);
        (!means.is_empty()).then(|| statistics::quantile_of_sorted(&means, 0.5))
    }

    fn truth(&self) -> Option<f64> {
        None
    }
}
