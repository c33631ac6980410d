//! The rule of the chain: a trial stops once it has hardly a chance to end as the best.

use super::earlier::{EarlierStudy, study_of};
use super::{NamedRule, RuleLearner, RuleNeeds, Ruling, StopRule, StudyPlan, TrialOutcome, WatchedTrial};
use crate::stopping::caution::Caution;
use crate::stopping::decision::{Reason, RecordedForecast};
use foretell::{Direction, LessonVerdict, Run, RunScore, Scale, TrialContest, TrialProspect};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where earlier runs count, chances are of all planned trials, and the bar is higher by this factor.
// with a factor of 1.3, a prototype kept the best in 1 to 2 percentage points fewer orders than without lessons; with 1.6, in up to 4 fewer
const TAUGHT_BAR_FACTOR: f64 = 1.25;
/// Earlier runs stop no trial whose chance among its own, as a fraction of an average trial's, is larger: they may be those of another program.
// without this guard, lessons of a wrong family kept the best in 92 % of the orders, and with it in all; a bound of 0.3 would
// save less: docs/research/chain.md
const MAX_OWN_CHANCE: f64 = 0.5;
/// N of a study whose number of trials is open, and the most that counts.
const USUAL_TRIALS: u64 = 100;
/// Values that are not finite, in a row, by which a trial has diverged.
const DIVERGED_AFTER: u32 = 2;

/// Stops a trial whose chance P to end best of all n trials seen is small: P·n < c, with c = θ√N and N the planned number of trials, at most
/// 100. θ is that of the study's [`Caution`]. Since the chances of all trials sum to at most one, c < 1 always leaves one that is not
/// stopped. Where earlier runs count, n is N and c is 1.25 times as large, and without them P·n has to be below 0.5.
///
/// Two guards: while no trial has completed, the running one that is forecast to end highest continues; and diverged trials are not compared with.
///
/// Chances are those of [`TrialContest`], and a trial is stopped only at its levels. The rule is Foretell's own: `docs/research/chain.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainRule;

impl NamedRule for ChainRule {
    const NAME: &'static str = "chain";
    const ABOUT: &'static str = "Stop trials with hardly a chance to end as the best.";
}

impl StopRule for ChainRule {
    fn needs(&self, _max_resource: u64) -> RuleNeeds {
        RuleNeeds { curves: true, metric_alone: true, ..RuleNeeds::default() }
    }

    fn rule(&self, trial: &mut dyn WatchedTrial) -> Ruling {
        let (number, planned, incumbent) =
            (trial.trial(), trial.planned_trials().min(USUAL_TRIALS), trial.incumbent());
        let learner = trial.learner().and_then(|learner| learner.downcast_mut::<ChainLearner>());
        let known = learner
            .and_then(|learner| Some((learner.prospect(number, planned)?, learner.at_level == Some(number))));
        let Some((prospect, is_at_level)) = known else { return Ruling::go_on(Reason::BurnIn) };
        let factor = if prospect.is_taught { TAUGHT_BAR_FACTOR } else { 1.0 };
        let is_behind = prospect.chance * (prospect.rivals as f64) < factor * trial.caution().bar(planned);
        let loses = is_behind && (!prospect.is_taught || prospect.alone < MAX_OWN_CHANCE);
        let ruling = match (loses && is_at_level, prospect.must_finish) {
            (true, false) => Ruling { stop: true, ..Ruling::go_on(Reason::WillNotWin) },
            (true, true) => Ruling::go_on(Reason::NoIncumbent),
            (false, _) => Ruling::go_on(Reason::MayWin),
        };
        Ruling {
            forecast: Some(to_recorded_forecast(&prospect)),
            incumbent,
            chance: Some(prospect.chance),
            ..ruling
        }
    }

    fn learner(&self, plan: &StudyPlan) -> Option<Box<dyn RuleLearner>> {
        Some(Box::new(ChainLearner::new(plan)))
    }

    fn in_words(&self, caution: Caution) -> Option<String> {
        let percent = (1e4 * caution.bar(USUAL_TRIALS)).round() / 1e4;
        Some(format!(
            "once its chance to end as the best trial is small ({percent} % with {USUAL_TRIALS} trials)"
        ))
    }
}

fn to_recorded_forecast(prospect: &TrialProspect) -> RecordedForecast {
    RecordedForecast { mean: prospect.median, sd: prospect.sd, interval: prospect.interval_90 }
}

/// A trial or an earlier run as it was reported.
#[derive(Clone, Debug, Default)]
struct ReportedRun {
    /// The scores at the levels that it reached.
    scores: Vec<f64>,
    /// The last finite report: epochs and score.
    last: Option<(u64, f64)>,
    /// Values in a row, up to the last one, that were not finite.
    lost: u32,
    fate: Option<TrialOutcome>,
}

impl ReportedRun {
    /// A report after `epochs`; whether it reached a level. Between reports the curve is a straight line, and before the first one it is level.
    fn take(&mut self, levels: &[u64], epochs: u64, score: f64) -> bool {
        let known = self.scores.len();
        let before = self.last.unwrap_or((0, score));
        for &level in levels[known..].iter().take_while(|&&level| level <= epochs) {
            let part = (level - before.0.min(level)) as f64 / (epochs - before.0).max(1) as f64;
            self.scores.push(if self.last.is_none() { score } else { before.1 + part * (score - before.1) });
        }
        self.last = Some((epochs, score));
        self.scores.len() > known
    }
}

/// The contest of a study, told as its log tells it.
struct ChainLearner {
    contest: TrialContest,
    /// The scale of the contest: logarithms of a positive loss, until one is not positive.
    scale: Scale,
    direction: Direction,
    run_score: RunScore,
    max_resource: u64,
    /// Whether the contest knows the earlier studies.
    has_begun: bool,
    /// The runs of each earlier study, by its name.
    studies: Vec<(String, Vec<ReportedRun>)>,
    /// The studies that the contest knows; others have values that have no place on its scale.
    known: Vec<usize>,
    trials: Vec<ReportedRun>,
    /// The trial that reached a level by the last report.
    at_level: Option<u64>,
}

impl ChainLearner {
    fn new(plan: &StudyPlan) -> Self {
        let scale = if plan.direction == Direction::Minimize { Scale::Log } else { Scale::Linear };
        Self {
            contest: TrialContest::new(plan.max_resource, &[]),
            scale,
            direction: plan.direction,
            run_score: plan.run_score,
            max_resource: plan.max_resource,
            has_begun: false,
            studies: Vec::new(),
            known: Vec::new(),
            trials: Vec::new(),
            at_level: None,
        }
    }

    /// Whether `score` has no place on the scale.
    fn is_off_scale(&self, score: f64) -> bool {
        self.scale == Scale::Log && self.direction.to_value(score) <= 0.0
    }

    fn scale_scores(&self, scores: &[f64]) -> Vec<f64> {
        scores.iter().map(|&score| self.scale.apply(score, self.direction)).collect()
    }

    /// The contest with everything reported so far.
    fn begin_contest(&mut self) {
        self.has_begun = true;
        let fits = |study: &usize| {
            let scores = self.studies[*study].1.iter().flat_map(|run| &run.scores);
            !scores.into_iter().any(|&score| self.is_off_scale(score))
        };
        // a study cannot choose the scale: this search's own values do
        self.known = (0..self.studies.len()).filter(fits).collect();
        let runs = |&study: &usize| -> Vec<Vec<f64>> {
            self.studies[study].1.iter().map(|run| self.scale_scores(&run.scores)).collect()
        };
        self.contest = TrialContest::new(self.max_resource, &self.known.iter().map(runs).collect::<Vec<_>>());
        for trial in 0..self.trials.len() {
            let reported = &self.trials[trial];
            let (scores, fate, is_lost) =
                (self.scale_scores(&reported.scores), reported.fate, reported.lost >= DIVERGED_AFTER);
            scores.into_iter().for_each(|score| self.contest.record_level_score(trial, score));
            if is_lost {
                self.contest.fail_trial(trial);
            }
            self.end_trial(trial, fate);
        }
    }

    fn end_trial(&mut self, trial: usize, fate: Option<TrialOutcome>) {
        let last = self.trials[trial].last.map(|(_, score)| self.scale.apply(score, self.direction));
        match (fate, last) {
            (None, _) => {}
            (Some(TrialOutcome::Completed), Some(last)) => self.contest.complete_trial(trial, last),
            (Some(TrialOutcome::Stopped | TrialOutcome::Paused), _) => self.contest.stop_trial(trial),
            (Some(TrialOutcome::Failed | TrialOutcome::Completed), _) => self.contest.fail_trial(trial),
        }
    }

    fn trial(&mut self, trial: u64) -> usize {
        let trial = trial as usize;
        if self.trials.len() <= trial {
            self.trials.resize_with(trial + 1, ReportedRun::default);
        }
        trial
    }

    /// What is to be expected of `trial`, in the unit of the metric.
    fn prospect(&mut self, trial: u64, planned: u64) -> Option<TrialProspect> {
        let (scale, direction) = (self.scale, self.direction);
        let value = |score: f64| direction.to_value(scale.invert(score, direction));
        Some(self.contest.trial_prospect(trial as usize, planned)?.map_scores(value))
    }
}

impl RuleLearner for ChainLearner {
    fn earlier(&mut self, run: &Run) {
        let curve = self.run_score.score_curve(&run.curve);
        // steps that count from 0 are one behind the epochs
        let shift = u64::from(curve.steps().first() == Some(&0.0));
        let mut lesson = ReportedRun::default();
        for (&step, &score) in curve.steps().iter().zip(curve.scores()) {
            lesson.take(self.contest.level_epochs(), step as u64 + shift, score);
        }
        if curve.diverged_at().is_some() || lesson.scores.is_empty() {
            return;
        }
        // each study is judged as a whole: some may teach this search, and others not
        let name = study_of(&run.id);
        match self.studies.iter_mut().find(|(study, _)| study == name) {
            Some((_, runs)) => runs.push(lesson),
            None => self.studies.push((name.to_owned(), vec![lesson])),
        }
    }

    fn learn_report(&mut self, trial: u64, epochs: u64, score: Option<f64>) {
        let index = self.trial(trial);
        self.at_level = None;
        let Some(score) = score else {
            self.trials[index].lost += 1;
            // a single value that is not finite may be followed by others that are
            if self.trials[index].lost == DIVERGED_AFTER {
                self.contest.fail_trial(index);
            }
            return;
        };
        let known = self.trials[index].scores.len();
        self.trials[index].lost = 0;
        if self.trials[index].take(self.contest.level_epochs(), epochs, score) {
            self.at_level = Some(trial);
        }
        // a loss of 0 or less has no logarithm, so the contest begins again on the linear scale, with all reports so far
        if self.is_off_scale(score) {
            self.scale = Scale::Linear;
            self.begin_contest();
        } else if !self.has_begun {
            // lessons are complete with the first report
            self.begin_contest();
        } else {
            let new = self.scale_scores(&self.trials[index].scores[known..]);
            new.into_iter().for_each(|score| self.contest.record_level_score(index, score));
        }
    }

    fn learn_end(&mut self, trial: u64, fate: TrialOutcome) {
        let index = self.trial(trial);
        self.trials[index].fate = Some(fate);
        self.end_trial(index, Some(fate));
    }

    fn lessons(&self) -> Vec<EarlierStudy> {
        let verdicts: BTreeMap<usize, (usize, LessonVerdict)> =
            self.known.iter().copied().zip(self.contest.study_verdicts()).collect();
        let study = |(place, (name, runs)): (usize, &(String, Vec<ReportedRun>))| match verdicts.get(&place) {
            Some(&(trials, verdict)) => EarlierStudy::new(name, trials, Some(verdict)),
            None if !self.has_begun => EarlierStudy::new(name, runs.len(), Some(LessonVerdict::Untested)),
            None => EarlierStudy::new(name, runs.len(), None),
        };
        self.studies.iter().enumerate().map(study).filter(|study| study.trials > 0).collect()
    }
}
