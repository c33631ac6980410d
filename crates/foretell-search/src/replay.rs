//! Replay: what a study would have done on recorded runs. It is a study: only its trainings are looked up.

mod drive;
mod outcome;
mod recording;
mod table;

pub use drive::{Trace, TrialTrace};
pub use outcome::{OrderingOutcome, Outcome};
pub use table::Table;

use crate::brackets::plan;
use crate::layer_space::LayerSpace;
use crate::policy::Policy;
use crate::random::trial_stream;
use crate::range::{RangeError, at_least_one, growth, share};
use crate::record::Record;
use crate::sampler::SamplerSpec;
use crate::schedule::{Schedule, ScheduleError};
use crate::space::Space;
use crate::study::{Parts, Recording, Study, StudyError, StudySpec};
use drive::Drive;
use foretell::{FitError, HistoryError, Predictor, Run, StopCriterion, StopCriterionError};
use rand::RngExt;
use rayon::prelude::*;
use recording::{Bank, Recorded, Replayer};
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

/// Why there is no replay.
#[derive(Debug, Error, Clone, PartialEq)]
#[non_exhaustive]
pub enum ReplayError {
    /// Nothing to replay.
    #[error(
        "finished runs: {got}, unfinished: {unfinished}; a replay needs at least 2 that are finished: {}",
        if *unfinished > 0 { "choose an earlier target step" } else { "put more runs into one file, each with its id" }
    )]
    TooFewRuns {
        /// Finished runs.
        got: usize,
        /// The others.
        unfinished: usize,
    },
    /// A run of one point cannot be stopped early.
    #[error("the runs have a single point: there is nothing to stop early")]
    OnePoint,
    /// More burn-in than runs.
    #[error(
        "burn-in of {burn_in} runs, but only {got} finished runs are recorded: no run could ever be stopped; lower the burn-in below {got}"
    )]
    BurnIn {
        /// The burn-in.
        burn_in: usize,
        /// Finished runs.
        got: usize,
    },
    /// More runs to hold back than there are.
    #[error(
        "a warm start of {warm_start} runs, but only {got} finished runs are recorded: none would be left to replay; lower --warm-start below {got}"
    )]
    WarmStart {
        /// The runs to hold back.
        warm_start: usize,
        /// Finished runs.
        got: usize,
    },
    /// The recorded runs are too short.
    #[error(
        "the largest resource is {max_resource}, but the recorded runs have {points} points: lower it to at most {points}"
    )]
    TooShort {
        /// R.
        max_resource: u64,
        /// Points of a recorded run.
        points: usize,
    },
    /// A number is out of range.
    #[error(transparent)]
    Range(#[from] RangeError),
    /// The stop criterion is out of range.
    #[error(transparent)]
    Criterion(#[from] StopCriterionError),
    /// The runs make no history.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// Forecasts need a predictor.
    #[error("stopping by forecasts needs a predictor")]
    NoPredictor,
    /// The study is not valid.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// There is no such schedule.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// The predictor could not be fitted.
    #[error(transparent)]
    Fit(#[from] FitError),
}

/// A replay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplaySpec {
    /// Who is trained, and how far.
    pub schedule: Schedule,
    /// By what rule runs are stopped.
    pub policy: Policy,
    /// When a forecast stops a run; its offset and n-th best are the oracle's, too.
    pub criterion: StopCriterion,
    /// d: runs trained to a level before anything is stopped there; with full training, the burn-in.
    pub burn_in: usize,
    /// Learn again when so many times as many are finished; `None`: once.
    pub refit: Option<f64>,
    /// The share of runs that is never stopped.
    pub exempt: f64,
    /// R, in points; `None`: whole runs.
    pub max_resource: Option<u64>,
    /// Points before the first check.
    pub first_check: u64,
    /// Points between checks.
    pub check_every: u64,
    /// Whether a promoted trial is charged as if it were trained anew at each rung, instead of resumed.
    pub retrain: bool,
    /// Runs held back from the draw and handed in as an earlier search's curves at every level: a warm start; 0 for none.
    pub warm_start: usize,
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
            schedule: Schedule::Full,
            policy: Policy::None,
            criterion: StopCriterion::default(),
            burn_in: 100,
            refit: None,
            exempt: 0.0,
            max_resource: None,
            first_check: 1,
            check_every: 1,
            retrain: false,
            warm_start: 0,
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
        if let Policy::Patience(reports) = self.policy {
            at_least_one(&[("patience", reports as u64)])?;
        }
        at_least_one(&[
            ("orderings", self.orderings as u64),
            ("workers", self.workers as u64),
            ("first check", self.first_check),
            ("points between checks", self.check_every),
            ("burn-in", self.burn_in as u64),
            ("largest resource", self.resource(table)),
        ])?;
        share("exempt share", self.exempt)?;
        growth("refit factor", self.refit)?;
        let max_resource = self.resource(table);
        if max_resource > table.points() as u64 {
            return Err(ReplayError::TooShort { max_resource, points: table.points() });
        }
        if self.warm_start > 0 && self.warm_start >= table.len() {
            return Err(ReplayError::WarmStart { warm_start: self.warm_start, got: table.len() });
        }
        let whole = matches!(
            self.schedule,
            Schedule::Full | Schedule::Asha { .. } | Schedule::SuccessiveHalving { .. }
        );
        let stops = self.policy != Policy::None;
        if self.warm_start == 0 && whole && stops && self.burn_in >= table.len() {
            return Err(ReplayError::BurnIn { burn_in: self.burn_in, got: table.len() });
        }
        Ok(self.schedule.validate(table.len() as u64, max_resource)?)
    }

    /// R, in points.
    pub fn resource(&self, table: &Table) -> u64 {
        self.max_resource.unwrap_or(table.points() as u64)
    }
}

/// The recorded runs of one ordering: those behind the trials, and those handed in for a warm start.
struct Draw {
    trials: Vec<usize>,
    warm_start: Vec<usize>,
}

/// Draws the runs of ordering number `ordering`: for a pass over all runs a random order; for Hyperband one bracket
/// after another, without repeats until fewer runs are left than the next bracket needs.
fn draw(spec: &ReplaySpec, table: &Table, ordering: u64) -> Result<Draw, ReplayError> {
    let mut random = trial_stream(spec.seed, ordering);
    let mut pool: Vec<usize> = (0..table.len()).collect();
    shuffle(&mut pool, &mut random);
    let warm_start = pool.split_off(pool.len() - spec.warm_start);
    let Schedule::Hyperband { eta, runs, .. } = spec.schedule else {
        return Ok(Draw { trials: pool, warm_start });
    };
    let plan = plan(spec.resource(table), eta).map_err(ScheduleError::from)?;
    let mut trials = Vec::new();
    let mut left = Vec::new();
    for _ in 0..runs {
        for bracket in &plan.brackets {
            let wanted = bracket.totals().configurations as usize;
            let end = trials.len() + wanted;
            while trials.len() < end {
                if left.is_empty() || left.len() < wanted.min(pool.len()) {
                    shuffle(&mut pool, &mut random);
                    left.clone_from(&pool);
                }
                trials.extend(left.drain(..left.len().min(end - trials.len())));
            }
        }
    }
    Ok(Draw { trials, warm_start })
}

fn shuffle(items: &mut [usize], random: &mut impl rand::Rng) {
    for i in (1..items.len()).rev() {
        items.swap(i, random.random_range(0..=i));
    }
}

/// A setting to replay, and the predictor that its forecasts are from (`None` if its policy needs none).
#[derive(Clone)]
pub struct Setting {
    /// The setting.
    pub spec: ReplaySpec,
    /// The predictor.
    pub predictor: Option<Arc<dyn Predictor>>,
}

/// The study that a replay is.
fn study_spec(spec: &ReplaySpec, table: &Table, trials: u64) -> StudySpec {
    let options = table.options();
    StudySpec {
        // neither space nor sampler is asked: configurations are the recorded ones
        space: Space::Metaqnn(LayerSpace::default()),
        sampler: SamplerSpec::Random,
        schedule: spec.schedule,
        metric: String::new(),
        direction: table.history().direction(),
        run_score: options.run_score,
        max_resource: spec.resource(table),
        trials,
        burn_in: match spec.warm_start {
            0 => spec.burn_in,
            warm => warm.min(spec.burn_in),
        } as u64,
        policy: spec.policy,
        shadow: false,
        predictor: String::new(),
        criterion: spec.criterion,
        refit: spec.refit,
        exempt: spec.exempt,
        seed: spec.seed,
        workload: BTreeMap::new(),
    }
}

/// Replays one ordering: drives a study of the runs of `draw` to its end.
fn replay_one(
    spec: &ReplaySpec,
    table: &Arc<Table>,
    draw: &Draw,
    bank: Option<Arc<Bank>>,
    keep_log: bool,
) -> Result<(Trace, Vec<Record>), ReplayError> {
    let runs = [&draw.warm_start[..], &draw.trials].concat();
    let configurations = draw.trials.iter().map(|&run| table.run(run).configuration.clone()).collect();
    let parts = Parts {
        sampler: Some(Box::new(Replayer(configurations))),
        predictor: bank.as_ref().map(|bank| bank.predictor()),
        scheduler: None,
    };
    let recorded = Arc::new(Recorded::new(spec, Arc::clone(table), runs, bank));
    let study_spec = study_spec(spec, table, draw.trials.len() as u64);
    let recording: Arc<dyn Recording> = recorded.clone();
    let mut study = Study::assembled(study_spec, parts, Some(recording))?;
    let whole =
        |&run: &usize| Run { curve: table.curve(run, table.points() as u64), ..table.run(run).clone() };
    let warm_start = study.warm_start(&draw.warm_start.iter().map(whole).collect::<Vec<_>>());
    let mut drive = Drive {
        table,
        runs: &draw.trials,
        workers: spec.workers,
        retrain: spec.retrain,
        trials_a_run: match spec.schedule {
            Schedule::Hyperband { runs, .. } => draw.trials.len() as u64 / runs,
            _ => 0,
        },
        study,
        trace: Trace::default(),
        log: keep_log.then_some(warm_start),
    };
    drive.run();
    let (trace, log) = (drive.trace, drive.log.unwrap_or_default());
    recorded.failure().map_or(Ok((trace, log)), |error| Err(error.into()))
}

/// Replays `settings` on `table`. Orderings run in parallel; settings with the same predictor share forecasters, whose models
/// are fitted once for each ordering, level and τ. The result does not depend on the number of threads.
///
/// O(settings · orderings · trials · T) besides the fits.
///
/// # Errors
/// The [`ReplayError`] of the first setting that is not valid, or whose predictor cannot be fitted.
pub fn replay(table: &Arc<Table>, settings: &[Setting]) -> Result<Vec<Outcome>, ReplayError> {
    for Setting { spec, predictor } in settings {
        spec.validate(table)?;
        if matches!(spec.policy, Policy::Forecast | Policy::Optimistic) && predictor.is_none() {
            return Err(ReplayError::NoPredictor);
        }
    }
    let orderings = settings.iter().map(|setting| setting.spec.orderings).max().unwrap_or(0);
    let by_ordering: Vec<Vec<Option<OrderingOutcome>>> = (0..orderings)
        .into_par_iter()
        .map(|ordering| replay_ordering(table, settings, ordering))
        .collect::<Result<_, _>>()?;
    let mut outcomes: Vec<Outcome> =
        settings.iter().map(|setting| Outcome::new(setting.spec, table)).collect();
    for ordering in by_ordering {
        for (outcome, one) in outcomes.iter_mut().zip(ordering) {
            outcome.orderings.extend(one);
        }
    }
    Ok(outcomes)
}

/// The log of ordering number `ordering` of a replay: the records that a live study of the same runs would write.
///
/// # Errors
/// Those of [`replay`].
pub fn replay_log(
    table: &Arc<Table>,
    setting: &Setting,
    ordering: usize,
) -> Result<Vec<Record>, ReplayError> {
    let Setting { spec, predictor } = setting;
    spec.validate(table)?;
    let bank = predictor.clone().map(|predictor| Arc::new(Bank::new(predictor)));
    let draw = draw(spec, table, ordering as u64)?;
    replay_one(spec, table, &draw, bank, true).map(|(_, log)| log)
}

fn replay_ordering(
    table: &Arc<Table>,
    settings: &[Setting],
    ordering: usize,
) -> Result<Vec<Option<OrderingOutcome>>, ReplayError> {
    let mut banks: Vec<Arc<Bank>> = Vec::new();
    let mut results = Vec::new();
    for Setting { spec, predictor } in settings {
        if ordering >= spec.orderings {
            results.push(None);
            continue;
        }
        let draw = draw(spec, table, ordering as u64)?;
        let bank = predictor.as_ref().map(|predictor| {
            let known = banks.iter().position(|bank| bank.is_of(predictor)).unwrap_or_else(|| {
                banks.push(Arc::new(Bank::new(Arc::clone(predictor))));
                banks.len() - 1
            });
            banks[known].next_setting();
            Arc::clone(&banks[known])
        });
        let (trace, _) = replay_one(spec, table, &draw, bank, false)?;
        results.push(Some(OrderingOutcome::new(spec, table, &draw.trials, trace)?));
    }
    Ok(results)
}
