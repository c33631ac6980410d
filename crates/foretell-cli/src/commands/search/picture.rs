//! The picture of a study: all curves, stopped ones cut with their forecasts.

use crate::plot;
use foretell::Direction;
use foretell_search::{Stopping, Study, Summary, Trial, TrialState};

/// The picture of `study`, called `name`.
pub(super) fn of(study: &Study, name: &str) -> plot::Search {
    let spec = study.spec();
    let summary = Summary::of(study);
    let spent = summary.shadow.as_ref().map_or(summary.epochs.spent, |shadow| shadow.spent_if_stopped);
    let learnt = study.learning_from().map_or(usize::MAX, |_| spec.burn_in as usize);
    plot::Search {
        title: if spec.stopping == Stopping::Shadow {
            format!("{name}, as stopping would have left them")
        } else {
            name.to_owned()
        },
        metric: spec.metric.clone(),
        resource: "epochs".to_owned(),
        maximize: spec.direction == Direction::Maximize,
        max_resource: spec.max_resource as f64,
        trials: study
            .trials()
            .iter()
            .enumerate()
            .map(|(i, t)| trial(i, t, spec.direction, study.is_burn_in(i) || learnt == usize::MAX))
            .collect(),
        best: summary.best.map(|best| (best.trial as usize, best.score)),
        spent: spent as f64,
        without_stopping: summary.epochs.without_stopping as f64,
    }
}

fn trial(index: usize, trial: &Trial, direction: Direction, burn_in: bool) -> plot::SearchTrial {
    let cut = trial.shadow.as_ref().map(|decision| decision.step as f64);
    let points = trial.curve.steps().iter().zip(trial.curve.scores());
    let points = points.filter(|(step, _)| cut.is_none_or(|cut| **step <= cut));
    let decision = trial.shadow.as_ref().or(trial.decision.as_ref());
    plot::SearchTrial {
        name: format!("trial {index}"),
        points: points.map(|(&step, &score)| (step, direction.value(score))).collect(),
        fate: match &trial.state {
            _ if trial.shadow.is_some() => plot::SearchFate::Stopped,
            TrialState::Completed { .. } if burn_in => plot::SearchFate::BurnIn,
            TrialState::Completed { .. } => plot::SearchFate::Completed,
            TrialState::Stopped { .. } => plot::SearchFate::Stopped,
            TrialState::Failed { .. } => plot::SearchFate::Failed,
            _ => plot::SearchFate::Running,
        },
        forecast: decision
            .and_then(|d| d.forecast)
            .map(|f| plot::SearchForecast { mean: f.mean, deviation: f.sd }),
    }
}
