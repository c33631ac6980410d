//! The picture of a study: all curves, stopped ones cut with their forecasts.

use crate::catalogue::{catalogue, epsilon_stages};
use crate::failure::Failure;
use crate::plot;
use clap::ValueEnum;
use foretell::Direction;
use foretell_logs::direction_of;
use foretell_run::StoredStudy;
use foretell_search::{FrontTrial, ParetoFront, Record, Study, StudySummary, Trial, TrialState};
use std::collections::BTreeMap;
use std::path::Path;

/// The figures of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FigureKind {
    /// All learning curves, with the forecasts of stopped trials.
    Curves,
    /// Mean score at each ε, and best so far.
    QLearning,
}

/// The name of a study in `directory`: that of its folder.
pub(crate) fn name(directory: &Path) -> String {
    let name = directory.file_name().or(directory.parent().and_then(Path::file_name));
    name.map_or_else(|| directory.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// The picture of `study`, called `name`, with the other metrics that are `watched` below.
pub(crate) fn draw(
    study: &Study,
    name: &str,
    kind: FigureKind,
    watched: Vec<plot::WatchedMetric>,
) -> plot::Figure {
    let stages = epsilon_stages(&study.spec().sampler);
    match kind {
        FigureKind::QLearning if !stages.is_empty() => q_learning(study, &stages, name).draw(),
        FigureKind::QLearning | FigureKind::Curves => {
            plot::SearchFigure { watched, ..curves(study, name) }.draw()
        }
    }
}

/// The curves of other metrics, by their `names`, of the study in `directory`.
pub(crate) fn read_watched_curves(
    directory: &Path,
    names: &[String],
) -> Result<Vec<plot::WatchedMetric>, Failure> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let stored = StoredStudy::read(directory, catalogue())?;
    let trials = stored.study.trials().len();
    let mut curves: BTreeMap<String, Vec<Vec<(f64, f64)>>> = BTreeMap::new();
    stored.for_each_record(|record| {
        let Record::Reported { trial, step, metrics, .. } = record else { return };
        for (name, value) in metrics {
            let of_metric = curves.entry(name).or_insert_with(|| vec![Vec::new(); trials]);
            if let Some(curve) = of_metric.get_mut(trial as usize) {
                curve.push((step as f64, value));
            }
        }
    })?;
    let watched = names.iter().map(|name| {
        let Some(curves) = curves.get(name) else {
            let known = curves.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            return Err(Failure::input(match curves.is_empty() {
                true => format!("--watch {name}: no trial has reported metrics by name"),
                false => format!("--watch {name}: no trial has reported it. Choose one of {known}"),
            }));
        };
        let maximize = direction_of(name).unwrap_or(Direction::Maximize) == Direction::Maximize;
        Ok(plot::WatchedMetric { metric: name.clone(), maximize, curves: curves.clone() })
    });
    watched.collect()
}

/// The front by the metric and the first of the other objectives.
pub(crate) fn front(front: &ParetoFront, name: &str) -> plot::FrontFigure {
    let stopped = front.stopped.iter().map(|stopped| plot::FrontPoint {
        name: format!("trial {}", stopped.trial),
        x: stopped.others[0],
        y: stopped.forecast.mean,
        deviation: stopped.forecast.sd,
    });
    let safe = front.safe.map_or(String::new(), |safe| format!(" · {:.1} % thought safe", 100.0 * safe));
    plot::FrontFigure {
        title: format!("The front of {name}"),
        subtitle: format!(
            "{} trials on it, {} dominated, {} stopped{safe}",
            front.trials.len(),
            front.dominated.len(),
            front.stopped.len()
        ),
        metric: front.objectives[0].name.clone(),
        other: front.objectives[1].name.clone(),
        other_is_better_large: front.objectives[1].direction == Direction::Maximize,
        front: front.trials.iter().map(completed_point).collect(),
        dominated: front.dominated.iter().map(completed_point).collect(),
        stopped: stopped.collect(),
    }
}

fn completed_point(trial: &FrontTrial) -> plot::FrontPoint {
    let name = format!("trial {}", trial.trial);
    plot::FrontPoint { name, x: trial.values[1], y: trial.values[0], deviation: 0.0 }
}

/// The result of each network, a stopped one's forecast, by the ε it was drawn with.
fn q_learning(study: &Study, stages: &[(f64, u64)], name: &str) -> plot::QLearningFigure {
    let spec = study.spec();
    let StudySummary { epochs, trials, .. } = StudySummary::new(study);
    let stages = stages.iter().map(|&(epsilon, models)| plot::EpsilonStage {
        epsilon,
        models: usize::try_from(models).unwrap_or(usize::MAX),
    });
    plot::QLearningFigure {
        title: format!("Q-learning: {name}"),
        subtitle: format!(
            "{} networks, {} stopped early and scored by their forecasts · {} of {} epochs",
            trials.total, trials.stopped, epochs.spent, epochs.without_stopping
        ),
        metric: spec.metric.clone(),
        maximize: spec.direction == Direction::Maximize,
        stages: stages.collect(),
        scores: study.trials().iter().map(|trial| trial.result().unwrap_or(f64::NAN)).collect(),
    }
}

/// The epochs of the longest trial, for a study that does not know those of a complete one.
fn longest_trial(study: &Study) -> u64 {
    study.trials().iter().map(Trial::trained_epochs).max().unwrap_or(1).max(1)
}

/// All learning curves.
fn curves(study: &Study, name: &str) -> plot::SearchFigure {
    let spec = study.spec();
    let summary = StudySummary::new(study);
    let spent = summary.shadow.as_ref().map_or(summary.epochs.spent, |shadow| shadow.spent_if_stopped);
    let needs = spec.policy.needs(spec.max_resource);
    let has_burn_in = spec.schedule.is_full() && (needs.burn_in || needs.forecasts);
    let trials = study.trials().iter().enumerate().map(|(i, t)| {
        let is_burn_in = has_burn_in && (study.is_burn_in(i) || study.learning_from().is_empty());
        trial(i, t, spec.direction, is_burn_in)
    });
    plot::SearchFigure {
        title: if spec.shadow {
            format!("{name}, as stopping would have left them")
        } else {
            name.to_owned()
        },
        metric: spec.metric.clone(),
        resource: "epochs".to_owned(),
        maximize: spec.direction == Direction::Maximize,
        max_resource: spec.resource().unwrap_or_else(|| longest_trial(study)) as f64,
        rungs: !spec.schedule.is_full(),
        trials: trials.collect(),
        best: summary.best.map(|best| (best.trial as usize, best.score)),
        spent: spent as f64,
        without_stopping: summary.epochs.without_stopping as f64,
        watched: Vec::new(),
    }
}

fn trial(index: usize, trial: &Trial, direction: Direction, burn_in: bool) -> plot::SearchTrial {
    // a study that only watches is shown as stopping would have left it, so curves end at their decision
    let cut = trial.shadow.as_ref().map(|decision| decision.step as f64);
    let points = trial.curve.steps().iter().zip(trial.curve.scores());
    let points = points.filter(|(step, _)| cut.is_none_or(|cut| **step <= cut));
    let decision = trial.shadow.as_ref().or(trial.decision.as_ref());
    plot::SearchTrial {
        name: format!("trial {index}"),
        points: points.map(|(&step, &score)| (step, direction.to_value(score))).collect(),
        fate: match &trial.state {
            _ if trial.shadow.is_some() => plot::SearchFate::Stopped,
            TrialState::Paused { .. } => plot::SearchFate::Paused,
            TrialState::Completed { .. } if burn_in => plot::SearchFate::BurnIn,
            TrialState::Completed { .. } => plot::SearchFate::Completed,
            TrialState::Stopped { .. } => plot::SearchFate::Stopped,
            TrialState::Failed { .. } => plot::SearchFate::Failed,
            TrialState::Running | TrialState::Interrupted => plot::SearchFate::Running,
        },
        forecast: decision
            .and_then(|d| d.forecast)
            .map(|f| plot::SearchForecast { mean: f.mean, deviation: f.sd }),
    }
}
