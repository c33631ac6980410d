//! The evidence of a sampler: the trials that were proposed, and their outcomes.

use super::cube::{CubePoint, UnitCube};
use crate::samplers::worth::Worth;
use foretell::Configuration;
use std::collections::{BTreeMap, BTreeSet};

/// A trial with a result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SeenTrial {
    pub(crate) point: CubePoint,
    pub(crate) worth: Worth,
}

/// The outcomes of the trials.
#[derive(Clone, Debug)]
pub(crate) struct TrialEvidence {
    pub(crate) cube: UnitCube,
    /// The configurations tried or being tried, as JSON.
    tried: BTreeSet<String>,
    running: BTreeMap<u64, CubePoint>,
    seen: BTreeMap<u64, SeenTrial>,
    failed: Vec<CubePoint>,
}

impl TrialEvidence {
    pub(crate) fn new(cube: UnitCube) -> Self {
        Self {
            cube,
            tried: BTreeSet::new(),
            running: BTreeMap::new(),
            seen: BTreeMap::new(),
            failed: Vec::new(),
        }
    }

    /// `trial` was started with `configuration`.
    pub(crate) fn observe_start(&mut self, trial: u64, configuration: &Configuration) {
        self.tried.extend(text(configuration));
        self.running.insert(trial, self.cube.point(configuration));
    }

    /// Learns the present worth of `trial`.
    pub(crate) fn learn(&mut self, trial: u64, configuration: &Configuration, worth: Worth) {
        self.running.remove(&trial);
        let worth = Worth { sd: if worth.sd.is_finite() { worth.sd.max(0.0) } else { 0.0 }, ..worth };
        if worth.score.is_finite() {
            self.seen.insert(trial, SeenTrial { point: self.cube.point(configuration), worth });
        }
    }

    /// `trial` has no result: it counts as the worst.
    pub(crate) fn observe_failure(&mut self, trial: u64, configuration: &Configuration) {
        self.running.remove(&trial);
        // a trial that was paused has counted with its outlook before, which must not stay beside the failure
        self.seen.remove(&trial);
        self.failed.push(self.cube.point(configuration));
    }

    /// Whether `configuration` was not tried yet.
    pub(crate) fn is_new(&self, configuration: &Configuration) -> bool {
        text(configuration).is_none_or(|text| !self.tried.contains(&text))
    }

    /// The number of trials to learn from: those with a result, and those that failed, once one has a result.
    pub(crate) fn len(&self) -> usize {
        if self.seen.is_empty() { 0 } else { self.seen.len() + self.failed.len() }
    }

    /// The trials with a result; those that failed have the worst score of all. Empty while none has one.
    pub(crate) fn seen(&self) -> Vec<SeenTrial> {
        let worst = self.seen.values().map(|seen| seen.worth.score).fold(f64::INFINITY, f64::min);
        let failed = self.failed.iter().filter(|_| worst.is_finite()).cloned();
        let failed = failed.map(|point| SeenTrial { point, worth: Worth::from_measurement(worst) });
        self.seen.values().cloned().chain(failed).collect()
    }

    /// The points of the trials that run.
    pub(crate) fn running(&self) -> Vec<CubePoint> {
        self.running.values().cloned().collect()
    }
}

fn text(configuration: &Configuration) -> Option<String> {
    serde_json::to_string(configuration).ok()
}
