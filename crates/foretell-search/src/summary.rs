//! The summary of a study: the best trial, the epochs spent and saved by stopping, and the cost of stopping.

use crate::lengths::CompletedLengths;
use crate::record::{Reason, RecordedForecast, better};
use crate::saving::Saving;
use crate::stopping::EarlierStudy;
use crate::study::{Best, Study, Tally, Trial, TrialState};
use foretell::Direction;
use serde::Serialize;

/// The epochs spent, and the epochs without stopping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spent {
    /// Epochs trained and recorded, failed attempts included.
    pub spent: u64,
    /// Epochs that the same trials would have taken without stopping.
    pub without_stopping: u64,
    /// Epochs spent if a promoted trial were trained from its beginning at each rung, instead of going on.
    pub from_scratch: u64,
    /// Epochs that training every one of these trials to its end would have taken.
    pub full_training: u64,
    /// Completed trials that ended before the last epoch by themselves. If there are any, a stopped trial counts in `without_stopping` with the
    /// mean length of the completed trials that trained longer than it did.
    #[serde(skip_serializing_if = "is_none")]
    pub ended_early: u64,
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

impl Spent {
    /// The saving by stopping.
    pub fn saving(&self) -> Saving {
        Saving { spent: self.spent, without_stopping: self.without_stopping }
    }
}

/// The results of the trials that are never stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StoppingAudit {
    /// Exempt trials that would have been stopped, and have ended.
    pub spared: u64,
    /// Those of them that ended better than the score they were compared with: wrong stops, had they been stopped.
    pub wrongly: u64,
}

/// A trial that was stopped, or would have been stopped.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StoppedTrial {
    /// The trial's number.
    pub trial: u64,
    /// The step.
    pub step: u64,
    /// The reason.
    pub reason: Reason,
    /// Where it was forecast to end.
    pub forecast: Option<RecordedForecast>,
    /// The score it was compared with.
    pub incumbent: Option<f64>,
    /// The probability that it ends no better than that.
    pub probability: Option<f64>,
    /// The chance that it ends as the best trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chance: Option<f64>,
    /// Where it really ended, in a study that only watches.
    pub truth: Option<f64>,
}

/// The results of watching without stopping.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShadowSummary {
    /// Epochs that stopping would have spent.
    pub spent_if_stopped: u64,
    /// `without_stopping` over that; a trial that diverged counts on both sides up to there.
    pub speedup_if_stopped: f64,
    /// Whether the best trial would have been trained to its end.
    pub best_survived: bool,
    /// Trials that would have been stopped although they ended better than the incumbent they were compared with, or best of all.
    pub stopped_wrongly: Vec<u64>,
    /// The amount by which the best result would have been worse, in the metric's unit; ≥ 0.
    pub regret: f64,
}

/// The results of a study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StudySummary {
    /// The better direction.
    pub direction: Direction,
    /// The best trial that was trained to its end; where the best value counts, of all that run no more.
    pub best: Option<Best>,
    /// The numbers of trials by state.
    pub trials: Tally,
    /// The epochs spent.
    pub epochs: Spent,
    /// `without_stopping` over `spent`; where only rungs save, `full_training` over `spent`.
    pub speedup: f64,
    /// The trials that were stopped, or would have been.
    pub stopped: Vec<StoppedTrial>,
    /// Decisions made on running trials, and how many of them were to stop.
    pub decisions_to_stop: u64,
    /// The findings of the trials that are never stopped, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<StoppingAudit>,
    /// The findings of watching, in a study that only watches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow: Option<ShadowSummary>,
    /// The earlier studies that its stop rule learns from, with whether each counts by now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lessons: Vec<EarlierStudy>,
}

impl StudySummary {
    /// The summary of `study` as it stands.
    pub fn new(study: &Study) -> Self {
        let spec = study.spec();
        let trials = study.trials();
        let lengths = CompletedLengths::of_trials(trials);
        let epochs = Spent {
            ended_early: lengths.early(),
            spent: trials.iter().map(Trial::cost).sum(),
            without_stopping: trials.iter().map(|t| lengths.cost(t)).sum(),
            from_scratch: trials.iter().map(Trial::cost_from_scratch).sum(),
            full_training: trials.iter().map(|t| t.cost_to(spec.whole_resource()) - t.again).sum(),
        };
        // without a stopper what saves is the schedule itself
        let by_rungs = !spec.policy.stops() && !spec.schedule.is_full();
        let compared = if by_rungs { epochs.full_training } else { epochs.without_stopping };
        let stopped: Vec<StoppedTrial> =
            trials.iter().enumerate().filter_map(|(index, trial)| stopped_trial(index, trial)).collect();
        Self {
            direction: spec.direction,
            best: study.best(),
            trials: study.progress().trials,
            speedup: Saving { spent: epochs.spent, without_stopping: compared }.times(),
            decisions_to_stop: stopped.len() as u64,
            audit: (spec.exempt > 0.0).then(|| audit(trials, spec.direction)),
            shadow: spec.shadow.then(|| shadow(study, &stopped)),
            lessons: study.lessons(),
            epochs,
            stopped,
        }
    }
}

fn audit(trials: &[Trial], direction: Direction) -> StoppingAudit {
    let mut audit = StoppingAudit::default();
    let ended = trials.iter().filter_map(|t| t.spared.as_ref().zip(t.result()).filter(|_| !t.is_open()));
    for (decision, result) in ended {
        audit.spared += 1;
        audit.wrongly += u64::from(decision.incumbent.is_some_and(|i| better(direction, result, i)));
    }
    audit
}

/// The best of the single trials that `counts`, whatever other trials of its configuration came to.
fn best(study: &Study, counts: impl Fn(&Trial) -> bool) -> Option<Best> {
    let (trials, spec) = (study.trials(), study.spec());
    let mut best: Option<(usize, f64)> = None;
    for (index, trial) in trials.iter().enumerate().filter(|(_, t)| counts(t)) {
        if let Some(value) = trial.achieved_result(spec)
            && best.is_none_or(|(_, leader)| better(spec.direction, value, leader))
        {
            best = Some((index, value));
        }
    }
    best.map(|(index, score)| Best {
        trial: index as u64,
        score,
        configuration: trials[index].configuration.clone(),
    })
}

fn stopped_trial(index: usize, trial: &Trial) -> Option<StoppedTrial> {
    let live = matches!(trial.state, TrialState::Stopped { .. });
    let decision = if live { trial.decision.as_ref() } else { trial.shadow.as_ref() }?;
    let truth = match trial.state {
        TrialState::Completed { value } | TrialState::Paused { value } => Some(value),
        _ => None,
    };
    Some(StoppedTrial {
        trial: index as u64,
        step: decision.step,
        reason: decision.reason.clone(),
        forecast: decision.forecast,
        incumbent: decision.incumbent,
        probability: decision.probability,
        chance: decision.chance,
        truth,
    })
}

fn shadow(study: &Study, stopped: &[StoppedTrial]) -> ShadowSummary {
    let (trials, direction) = (study.trials(), study.spec().direction);
    let cost =
        |trial: &Trial| trial.cost_at(trial.shadow.as_ref().map_or(trial.step, |decision| decision.step));
    // one that diverged counts up to there on both sides, as in a study that stops
    let diverged = |trial: &Trial| trial.shadow.as_ref().is_some_and(|d| d.reason == Reason::Diverged);
    let whole = |trial: &Trial| if diverged(trial) { cost(trial) } else { trial.cost_to(trial.until) };
    let saving =
        Saving { spent: trials.iter().map(cost).sum(), without_stopping: trials.iter().map(whole).sum() };
    let all = best(study, |_| true);
    let survivors = best(study, |t| t.shadow.is_none());
    let regret = match (&all, &survivors) {
        (Some(all), Some(left)) => direction.to_score(all.score) - direction.to_score(left.score),
        _ => 0.0,
    };
    // a rule that compares with a median knows no incumbent to beat; losing the best is wrong all the same
    let is_best = |s: &StoppedTrial| all.as_ref().is_some_and(|best| best.trial == s.trial);
    let beats = |s: &StoppedTrial| s.truth.zip(s.incumbent).is_some_and(|(t, i)| better(direction, t, i));
    let is_wrong = |s: &&StoppedTrial| is_best(s) || beats(s);
    ShadowSummary {
        spent_if_stopped: saving.spent,
        speedup_if_stopped: saving.times(),
        best_survived: all.as_ref().map(|b| b.trial) == survivors.as_ref().map(|b| b.trial),
        stopped_wrongly: stopped.iter().filter(is_wrong).map(|s| s.trial).collect(),
        regret,
    }
}
