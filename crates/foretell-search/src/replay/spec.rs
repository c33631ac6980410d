//! The description of a replay.

use super::error::ReplayError;
use super::table::Table;
use crate::limits;
use crate::range::{at_least_one, at_most, growth, share};
use crate::samplers::SamplerSpec;
use crate::schedulers::brackets::plan;
use crate::schedulers::rank::Rank;
use crate::schedulers::schedule::{Schedule, ScheduleError};
use crate::stopping::policy::Policy;
use crate::study::{StudyError, check_comparisons};
use foretell::StopCriterion;

/// The description of a replay.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplaySpec {
    /// The sampler that takes the recorded runs: a random order, or the run nearest to each proposal.
    pub sampler: SamplerSpec,
    /// The choice of trials to train, and of their lengths.
    pub schedule: Schedule,
    /// The score by which runs are compared at a rung.
    pub rank: Rank,
    /// The stop rule.
    pub policy: Policy,
    /// When a forecast stops a run; its offset and n-th best are the oracle's, too.
    pub criterion: StopCriterion,
    /// d: runs trained to a level before anything is stopped there; with full training, the burn-in.
    pub burn_in: usize,
    /// Refit when the number of completed runs has grown by this factor; `None`: once.
    pub refit: Option<f64>,
    /// The share of runs that is never stopped.
    pub exempt: f64,
    /// R, in points; `None`: whole runs.
    pub max_resource: Option<u64>,
    /// Points before the first check.
    pub first_check: u64,
    /// Points between checks.
    pub check_every: u64,
    /// Whether a promoted trial is charged as if it were trained from the beginning at each rung, instead of resumed.
    pub retrain: bool,
    /// Runs held back from the draw and handed in as an earlier search's curves at every level: a warm start; 0 for none.
    pub warm_start: usize,
    /// Searches of as many runs that come before, one after another, each learning from those before it: their curves, as far as they were trained, are
    /// learned from.
    pub earlier_searches: usize,
    /// The number of runs sampled for each ordering, to show studies of that size; `None`: all of them.
    pub study_size: Option<usize>,
    /// Virtual workers.
    pub workers: usize,
    /// Random orders (or draws) to average over.
    pub orderings: usize,
    /// The seed of orders and draws.
    pub seed: u64,
}

impl Default for ReplaySpec {
    fn default() -> Self {
        Self {
            sampler: SamplerSpec::default(),
            schedule: Schedule::Full,
            rank: Rank::Value,
            policy: Policy::none(),
            criterion: StopCriterion::default(),
            burn_in: 100,
            refit: None,
            exempt: 0.0,
            max_resource: None,
            first_check: 1,
            check_every: 1,
            retrain: false,
            warm_start: 0,
            earlier_searches: 0,
            study_size: None,
            workers: 1,
            orderings: 10,
            seed: 0,
        }
    }
}

impl ReplaySpec {
    /// Checks the spec against the recorded runs.
    ///
    /// # Errors
    /// The [`ReplayError`] of the first field that is out of range or does not fit `table`.
    pub fn validate(&self, table: &Table) -> Result<(), ReplayError> {
        self.criterion.validate()?;
        if !self.schedule.compares_by(self.rank, &self.policy) {
            return Err(StudyError::Rank.into());
        }
        if !table.objectives().is_empty() {
            let metric = &table.history().metric().name;
            check_comparisons(metric, self.schedule, self.rank, &self.policy).map_err(StudyError::from)?;
        }
        if let Some(rule) = self.policy.rule() {
            rule.check(self.resource(table)).map_err(StudyError::from)?;
        }
        at_least_one(&[
            ("orderings", self.orderings as u64),
            ("workers", self.workers as u64),
            ("first check", self.first_check),
            ("points between checks", self.check_every),
            ("burn-in", self.burn_in as u64),
            ("largest resource", self.resource(table)),
        ])?;
        at_most(limits::ORDERINGS, &[("orderings", self.orderings as u64)])?;
        at_most(limits::WORKERS, &[("workers", self.workers as u64)])?;
        let points = [("first check", self.first_check), ("points between checks", self.check_every)];
        at_most(limits::COUNT, &points)?;
        share("exempt fraction", self.exempt)?;
        growth("refit factor", self.refit)?;
        let max_resource = self.resource(table);
        if max_resource > table.points() as u64 {
            return Err(ReplayError::TooShort { max_resource, points: table.points() });
        }
        if self.study_size.is_some_and(|size| size < 2) {
            return Err(ReplayError::StudySize);
        }
        if self.warm_start > 0 && self.warm_start >= table.len() {
            return Err(ReplayError::WarmStart { warm_start: self.warm_start, got: table.len() });
        }
        let whole = matches!(
            self.schedule,
            Schedule::Full | Schedule::Asha { .. } | Schedule::SuccessiveHalving { .. }
        );
        if let Schedule::Hyperband { eta, runs, .. } = self.schedule {
            let a_run = plan(max_resource, eta).map_err(ScheduleError::from)?.totals().configurations;
            let wanted = a_run.saturating_mul(runs);
            if self.sampler != SamplerSpec::default() && wanted > self.trials(table) as u64 {
                return Err(ReplayError::Spent { wanted, got: self.trials(table) });
            }
        }
        let stops = self.policy.stops();
        if self.warm_start == 0 && whole && stops && self.burn_in >= self.trials(table) {
            return Err(ReplayError::BurnIn { burn_in: self.burn_in, got: self.trials(table) });
        }
        Ok(self.schedule.validate(self.trials(table) as u64, max_resource)?)
    }

    /// The number of recorded runs the trials of one ordering are: of those that are not held back, as many as the study's size.
    pub fn trials(&self, table: &Table) -> usize {
        let left = (table.len() - self.warm_start.min(table.len())) / (self.earlier_searches + 1);
        self.study_size.map_or(left, |size| size.min(left))
    }

    /// R, in points.
    pub fn resource(&self, table: &Table) -> u64 {
        self.max_resource.unwrap_or(table.points() as u64)
    }
}
