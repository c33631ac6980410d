//! A study's knowledge of its further objectives: which are curves, their forecasters, and the completed trials.

use super::knowledge::NoForecast;
use crate::objective::{FrontStandings, reported_names};
use crate::study::StudySpec;
use crate::study::Trial;
use foretell::{Direction, Forecaster};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The number of trials that the forecaster of an objective learned from, and the forecaster, or the reason for its absence.
pub(super) type SideLevel = (usize, Result<Arc<Forecaster>, NoForecast>);

/// A study's knowledge of its trials' further objectives.
#[derive(Default)]
pub(in crate::study) struct ObjectiveMeasures {
    /// The values that trials report for them, in addition to the metric.
    names: BTreeSet<String>,
    /// Of those, what has had two values in one trial: it is a curve, and known only at a trial's end.
    curves: BTreeSet<String>,
    /// Of the objectives, those that are reported: which way is better.
    sides: BTreeMap<String, Direction>,
    /// Their forecasters.
    side_levels: BTreeMap<String, SideLevel>,
    /// The trials that were trained to their end and keep the limits.
    standings: FrontStandings,
    /// The trials that finished their training, in that order: the epochs that the study had spent by then, and the trial's index.
    finishes: Vec<(u64, usize)>,
}

impl ObjectiveMeasures {
    pub(crate) fn new(spec: &StudySpec) -> Self {
        let names = reported_names(spec.formulas(), &spec.space.known_names());
        let sides = spec.objectives.iter().filter_map(|objective| {
            let name = objective.of.sole_name().filter(|name| names.contains(*name))?;
            Some((name.to_owned(), objective.direction))
        });
        Self { sides: sides.collect(), names, ..Self::default() }
    }

    /// The number of trials that have joined the front so far.
    pub(crate) fn joined_count(&self) -> u64 {
        self.standings.joined_count()
    }

    /// The trials by which others are dominated.
    pub(super) fn standings(&self) -> &FrontStandings {
        &self.standings
    }

    /// The trials by which others are dominated, to change them.
    pub(super) fn standings_mut(&mut self) -> &mut FrontStandings {
        &mut self.standings
    }

    /// Records that trial `index` finished its training when the study had spent `spent` epochs.
    pub(crate) fn finish(&mut self, spent: u64, index: usize) {
        self.finishes.push((spent, index));
    }

    /// The trials that finished their training, in that order: the epochs that the study had spent by then, and the trial's index.
    pub(super) fn finishes(&self) -> &[(u64, usize)] {
        &self.finishes
    }

    /// Whether `name` has had two values in one trial.
    pub(super) fn is_curve(&self, name: &str) -> bool {
        self.curves.contains(name)
    }

    /// The forecaster of the objective `name`, if one was made.
    pub(super) fn side_level(&self, name: &str) -> Option<&SideLevel> {
        self.side_levels.get(name)
    }

    /// Keeps the forecaster of the objective `name`.
    pub(super) fn keep_side_level(&mut self, name: &str, level: SideLevel) {
        self.side_levels.insert(name.to_owned(), level);
    }

    /// Notes what `trial` reported.
    pub(crate) fn take_in(&mut self, trial: &mut Trial, metrics: &BTreeMap<String, f64>) {
        for (name, &direction) in &self.sides {
            if let Some(&value) = metrics.get(name) {
                // steps are checked to increase before they get here
                let curve = trial.side.entry(name.clone()).or_default();
                let _ = curve.push(trial.step as f64, Some(value), direction);
            }
        }
        for (name, value) in self.names.iter().filter_map(|name| Some((name, *metrics.get(name)?))) {
            let before = trial.measured.insert(name.clone(), value);
            if before.is_some_and(|before| before.total_cmp(&value).is_ne()) {
                self.curves.insert(name.clone());
            }
        }
    }
}
