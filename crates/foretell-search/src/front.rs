//! The front of a study with several objectives, and how much of it is thought safe.

use crate::objective::{dominates, front_of, hypervolume, is_no_worse, ranges, scale_to_shares};
use crate::record::RecordedForecast;
use crate::study::{Study, Trial, TrialState};
use foretell::{Configuration, Direction, Forecast};
use serde::Serialize;

/// An objective of a front.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FrontObjective {
    /// The metric's name, or the formula.
    pub name: String,
    /// The direction.
    pub direction: Direction,
}

/// A completed trial on the front.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FrontTrial {
    /// The trial's number.
    pub trial: u64,
    /// The value in each objective, in its own unit, the metric first.
    pub values: Vec<f64>,
    /// The trial's configuration.
    pub configuration: Configuration,
}

/// A stopped trial that might have been on the front.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FrontStopped {
    /// The trial's number.
    pub trial: u64,
    /// The forecast final value of the metric.
    pub forecast: RecordedForecast,
    /// The values in the other objectives, in their own units.
    pub others: Vec<f64>,
    /// The probability that no completed trial would have dominated it.
    pub probability: f64,
}

/// A trial that was on the front when it ended, with the progress of the study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FrontStep {
    /// The trial's number.
    pub trial: u64,
    /// Epochs that the study had spent.
    pub epochs: u64,
    /// The [hypervolume](ParetoFront::hypervolume) from then on.
    pub hypervolume: f64,
}

/// The Pareto front of a study: the completed trials that respect the limits and are dominated by no other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ParetoFront {
    /// The objectives, the metric first.
    pub objectives: Vec<FrontObjective>,
    /// The front, the best by the metric first.
    pub trials: Vec<FrontTrial>,
    /// The completed trials that it dominates.
    pub dominated: Vec<FrontTrial>,
    /// The trials that were stopped by forecasts.
    pub stopped: Vec<FrontStopped>,
    /// The expected coverage of the front: its size F over F + Σ p, with the [probability](FrontStopped::probability) p of each
    /// stopped trial; none without a front.
    pub safe: Option<f64>,
    /// The volume that the front dominates, in [0, 1]. Each objective is scaled by the range of all completed trials.
    pub hypervolume: f64,
    /// The growth of this volume, by the current ranges.
    pub growth: Vec<FrontStep>,
    /// The errors in objectives and limits that the trials so far show.
    pub problems: Vec<String>,
}

impl ParetoFront {
    /// The current front of `study`; `None` for one objective. O(trials · front).
    pub fn new(study: &Study) -> Option<Self> {
        let spec = study.spec();
        if !spec.has_front() {
            return None;
        }
        let metric = FrontObjective { name: spec.metric.clone(), direction: spec.direction };
        let others = spec.objectives.iter().map(|objective| FrontObjective {
            name: objective.of.to_string(),
            direction: objective.direction,
        });
        let objectives: Vec<_> = std::iter::once(metric).chain(others).collect();
        let finished: Vec<FrontTrial> = (0..)
            .zip(study.trials())
            .filter_map(|(number, trial)| completed_front_trial(study, number, trial))
            .collect();
        let scores = finished.iter().map(|trial| {
            let values = trial.values.iter().zip(&objectives);
            values.map(|(&value, objective)| objective.direction.to_score(value)).collect()
        });
        let all: Vec<Vec<f64>> = scores.collect();
        let mut on_front = vec![false; all.len()];
        front_of(&all).into_iter().for_each(|index| on_front[index] = true);
        let points: Vec<Vec<f64>> =
            all.iter().zip(&on_front).filter(|(_, on)| **on).map(|(point, _)| point.clone()).collect();
        let (worst, best) = ranges(&all);
        let growth = growth(study, &finished, &scale_to_shares(&all, &worst, &best));
        let stopped: Vec<FrontStopped> = (0..)
            .zip(study.trials())
            .filter_map(|(number, trial)| stopped_front_trial(study, number, trial, &points))
            .collect();
        let lost: f64 = stopped.iter().map(|trial| trial.probability).sum();
        let (mut trials, mut dominated) = (Vec::new(), Vec::new());
        for (trial, on) in finished.into_iter().zip(on_front) {
            if on { trials.push(trial) } else { dominated.push(trial) }
        }
        trials.sort_by(|a, b| {
            spec.direction
                .to_score(b.values[0])
                .total_cmp(&spec.direction.to_score(a.values[0]))
                .then(a.trial.cmp(&b.trial))
        });
        Some(Self {
            safe: (!trials.is_empty()).then(|| trials.len() as f64 / (trials.len() as f64 + lost)),
            hypervolume: growth.last().map_or(0.0, |step| step.hypervolume),
            growth,
            problems: study.objective_problems(),
            objectives,
            trials,
            dominated,
            stopped,
        })
    }
}

/// The growth of the hypervolume of the `finished` trials, at their `points`: a step for each that was on the front when it ended.
/// O(trials · front), and one hypervolume per step.
fn growth(study: &Study, finished: &[FrontTrial], points: &[Vec<f64>]) -> Vec<FrontStep> {
    let mut front: Vec<Vec<f64>> = Vec::new();
    let mut steps: Vec<FrontStep> = Vec::new();
    for &(epochs, index) in study.finishes() {
        let trial = index as u64;
        // a trial that breaks a limit has finished its training, but does not count
        let Ok(at) = finished.binary_search_by_key(&trial, |finished| finished.trial) else { continue };
        let own = &points[at];
        if front.iter().any(|other| dominates(other, own)) {
            continue;
        }
        front.retain(|other| !dominates(own, other));
        front.push(own.clone());
        steps.push(FrontStep { trial, epochs, hypervolume: hypervolume(&front, &vec![0.0; own.len()]) });
    }
    steps
}

/// The scores of `trial` in all objectives, if it was trained to its end and counts.
fn completed_front_trial(study: &Study, number: u64, trial: &Trial) -> Option<FrontTrial> {
    let TrialState::Completed { value } = trial.state else { return None };
    let others = study.objective_values(trial).into_iter();
    let values = std::iter::once(Some(value)).chain(others).collect::<Option<Vec<f64>>>()?;
    trial.counts().then(|| FrontTrial { trial: number, values, configuration: trial.configuration.clone() })
}

/// `trial`, if a forecast stopped it, and how probable it is that none of the `front` would have dominated it.
fn stopped_front_trial(
    study: &Study,
    number: u64,
    trial: &Trial,
    front: &[Vec<f64>],
) -> Option<FrontStopped> {
    let TrialState::Stopped { forecast: Some(forecast), .. } = trial.state else { return None };
    let spec = study.spec();
    let others = study.objective_values(trial).into_iter().collect::<Option<Vec<f64>>>()?;
    let scores: Vec<f64> = others
        .iter()
        .zip(&spec.objectives)
        .map(|(&value, objective)| objective.direction.to_score(value))
        .collect();
    let no_worse = front.iter().filter(|point| is_no_worse(&point[1..], &scores));
    let to_beat = no_worse.map(|point| point[0]).fold(f64::NEG_INFINITY, f64::max);
    let mean = spec.direction.to_score(forecast.mean);
    let probability = if forecast.sd > 0.0 {
        1.0 - Forecast::gaussian(mean, forecast.sd).probability_at_most(to_beat)
    } else {
        f64::from(u8::from(mean > to_beat))
    };
    trial.counts().then_some(FrontStopped { trial: number, forecast, others, probability })
}
