//! The description of a replay: a study, and the way in which recorded runs stand in for its trainings.

use super::error::ReplayError;
use super::table::RunTable;
use crate::limits;
use crate::parameter_space::ParameterSpace;
use crate::range::{at_least_one, at_most};
use crate::samplers::SamplerSpec;
use crate::schedulers::brackets::plan;
use crate::schedulers::rank::Rank;
use crate::schedulers::schedule::{Schedule, ScheduleError};
use crate::space::Space;
use crate::stopping::policy::StopPolicy;
use crate::study::{StudyError, StudySpec, check_comparisons};
use foretell::{HistoryOptions, Predictor, Run, StopCriterion};
use std::sync::Arc;

/// Returns a predictor and Δ from earlier runs, the study that learns from them, and the way it reads them; `None` if there are
/// too few runs.
pub type PredictorTeacher =
    Arc<dyn Fn(&[Run], &StudySpec, &HistoryOptions) -> Option<(Arc<dyn Predictor>, f64)> + Send + Sync>;

/// A study to replay, and how its trainings are looked up.
///
/// The metric and the objectives are those of the recorded runs, and each trial has one of their configurations: the next one of a random order, or
/// with a sampler that learns the one nearest to its proposal. A replay takes no notice of limits, budgets, repeats and queued trials.
#[derive(Clone)]
pub struct ReplaySetting {
    /// The study: [`RunTable::study`] with other fields, or one that a search would resolve. Its trials are at most as many as there are runs, its length
    /// is counted in points, and its seed is also that of the orders.
    pub study: StudySpec,
    /// The predictor of its forecasts (`None` if it makes none).
    pub predictor: Option<Arc<dyn Predictor>>,
    /// Chooses predictor and Δ by the runs of the warm start, as a search does.
    pub teacher: Option<PredictorTeacher>,
    /// Where the runs of earlier searches are from, if not from the same runs.
    pub earlier: Option<Arc<RunTable>>,
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
    /// Virtual workers.
    pub workers: usize,
    /// Random orders (or draws) to average over.
    pub orderings: usize,
}

impl RunTable {
    /// The study of all its runs, each trained to its end.
    pub fn study(&self) -> StudySpec {
        let metric = self.history().metric();
        // the configurations are those of the runs: neither the space nor the sampler proposes any
        let space = Space::Parameters(ParameterSpace::any());
        StudySpec {
            sampler: SamplerSpec::default(),
            run_score: self.options().run_score,
            objectives: self.objectives().to_vec(),
            max_resource: self.points() as u64,
            trials: self.len() as u64,
            policy: StopPolicy::none(),
            criterion: StopCriterion::default(),
            refit: None,
            ..StudySpec::new(space, &metric.name, metric.direction)
        }
    }
}

impl ReplaySetting {
    /// A replay of `study` in 10 orders with a check at each point, which learns from no earlier runs.
    pub fn new(study: StudySpec, predictor: Option<Arc<dyn Predictor>>) -> Self {
        Self {
            study,
            predictor,
            teacher: None,
            earlier: None,
            first_check: 1,
            check_every: 1,
            retrain: false,
            warm_start: 0,
            earlier_searches: 0,
            workers: 1,
            orderings: 10,
        }
    }

    /// The study of `trials` runs of `table`.
    pub(super) fn study(&self, table: &RunTable, trials: usize) -> StudySpec {
        let StudySpec { space, metric, direction, run_score, objectives, .. } = table.study();
        let burn_in = match self.warm_start {
            0 => self.study.burn_in,
            warm => self.study.burn_in.min(warm as u64),
        };
        StudySpec {
            space,
            metric,
            direction,
            run_score,
            objectives,
            trials: trials as u64,
            burn_in,
            predictor: String::new(),
            limits: Vec::new(),
            reward: None,
            budget_epochs: None,
            until_no_improvement: None,
            target: None,
            repeats: None,
            queue: Vec::new(),
            shadow: false,
            ..self.study.clone()
        }
    }

    /// Checks the setting against the recorded runs.
    ///
    /// # Errors
    /// The [`ReplayError`] of the first field that is out of range or does not fit `table`.
    pub(super) fn validate(&self, table: &RunTable) -> Result<(), ReplayError> {
        let trials = self.trials(table);
        let StudySpec { max_resource, schedule, rank, ref policy, .. } = self.study;
        at_least_one(&[
            ("orderings", self.orderings as u64),
            ("workers", self.workers as u64),
            ("first check", self.first_check),
            ("points between checks", self.check_every),
        ])?;
        at_most(limits::MAX_ORDERINGS, &[("orderings", self.orderings as u64)])?;
        at_most(limits::MAX_WORKERS, &[("workers", self.workers as u64)])?;
        let points = [("first check", self.first_check), ("points between checks", self.check_every)];
        at_most(limits::MAX_COUNT, &points)?;
        if max_resource > table.points() as u64 {
            return Err(ReplayError::TooShort { max_resource, points: table.points() });
        }
        if self.study.trials < 2 {
            return Err(ReplayError::StudySize);
        }
        if self.warm_start > 0 && self.warm_start >= table.len() {
            return Err(ReplayError::WarmStart { warm_start: self.warm_start, got: table.len() });
        }
        if !table.objectives().is_empty() {
            let metric = &table.history().metric().name;
            check_comparisons(metric, schedule, rank, policy).map_err(StudyError::from)?;
        }
        if let Schedule::Hyperband { eta, runs, .. } = schedule {
            let a_run = plan(max_resource, eta).map_err(ScheduleError::from)?.totals().configurations;
            let wanted = a_run.saturating_mul(runs);
            if self.study.sampler != SamplerSpec::default() && wanted > trials as u64 {
                return Err(ReplayError::Spent { wanted, got: trials });
            }
        } else if self.warm_start == 0 && policy.stops() && self.study.burn_in >= trials as u64 {
            return Err(ReplayError::BurnIn { burn_in: self.study.burn_in, got: trials });
        }
        let forecasts = policy.is_by_forecasts();
        if forecasts && self.earlier_searches > 0 {
            return Err(ReplayError::EarlierSearches);
        }
        self.study(table, trials).validate_plan(false)?;
        if (forecasts || rank != Rank::Value) && self.predictor.is_none() {
            return Err(ReplayError::NoPredictor);
        }
        Ok(())
    }

    /// The number of recorded runs the trials of one ordering are: of those that are not held back, as many as the study has trials.
    pub fn trials(&self, table: &RunTable) -> usize {
        let left = (table.len() - self.warm_start.min(table.len())) / (self.earlier_searches + 1);
        left.min(usize::try_from(self.study.trials).unwrap_or(usize::MAX))
    }
}
