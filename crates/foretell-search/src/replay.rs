//! Replay: what a scheduler and a stopper would have done on recorded runs.

mod clock;
mod models;
mod outcome;
mod table;

pub use clock::{Trace, TrialTrace};
pub use outcome::{OrderingOutcome, Outcome};
pub use table::Table;

use crate::brackets::plan;
use crate::f_hyperband::LevelData;
use crate::random::trial_stream;
use crate::range::{RangeError, at_least_one, growth, share};
use crate::schedule::{Schedule, ScheduleError};
use crate::stopper::{ByForecast, Stopper};
use clock::{Clock, Scene};
use foretell::{FitError, Predictor, StopRule, StopRuleError};
use models::ModelBank;
use rand::RngExt;
use rayon::prelude::*;
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
    /// The stop rule is none.
    #[error(transparent)]
    Rule(#[from] StopRuleError),
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
    /// Who is stopped.
    pub stopper: Stopper,
    /// δ ≥ 0, in the metric's unit: runs within it of the reference may finish.
    pub offset: f64,
    /// n: with full training, the reference is the n-th best finished run.
    pub nth_best: usize,
    /// d: runs trained to a level before anything is stopped there; with full training, the burn-in.
    pub burn_in: usize,
    /// Learn again when so many times as many are finished; `None`: once.
    pub refit: Option<f64>,
    /// The share of runs that is never stopped.
    pub exempt: f64,
    /// R, in points; `None`: whole runs.
    pub max_resource: Option<u64>,
    /// Points before the first look.
    pub first_look: u64,
    /// Points between looks.
    pub look_every: u64,
    /// Whether a promoted trial is trained anew instead of resumed.
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
            stopper: Stopper::None,
            offset: 0.0,
            nth_best: 1,
            burn_in: 100,
            refit: None,
            exempt: 0.0,
            max_resource: None,
            first_look: 1,
            look_every: 1,
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
        let stop_probability = match self.stopper {
            Stopper::Forecast(ByForecast { stop_probability, .. }) => stop_probability,
            _ => 0.5,
        };
        StopRule { stop_probability, offset: self.offset, nth_best: self.nth_best }.validate()?;
        at_least_one(&[
            ("orderings", self.orderings as u64),
            ("workers", self.workers as u64),
            ("first look", self.first_look),
            ("points between looks", self.look_every),
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
        let stops = !matches!(self.stopper, Stopper::None);
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
    handed_in: Vec<usize>,
}

/// Draws the runs of ordering number `ordering`: for a pass over all runs a random order; for Hyperband a draw without
/// replacement in each bracket (as far as there are enough runs).
fn draw(spec: &ReplaySpec, table: &Table, ordering: u64) -> Result<Draw, ReplayError> {
    let mut random = trial_stream(spec.seed, ordering);
    let mut pool: Vec<usize> = (0..table.len()).collect();
    shuffle(&mut pool, &mut random);
    let handed_in = pool.split_off(pool.len() - spec.warm_start);
    let Schedule::Hyperband { eta, runs, .. } = spec.schedule else {
        return Ok(Draw { trials: pool, handed_in });
    };
    let plan = plan(spec.resource(table), eta).map_err(ScheduleError::from)?;
    let mut trials = Vec::new();
    for _ in 0..runs {
        for bracket in &plan.brackets {
            let wanted = bracket.totals().configurations as usize;
            let end = trials.len() + wanted;
            while trials.len() < end {
                shuffle(&mut pool, &mut random);
                trials.extend_from_slice(&pool[..pool.len().min(end - trials.len())]);
            }
        }
    }
    Ok(Draw { trials, handed_in })
}

fn shuffle(items: &mut [usize], random: &mut impl rand::Rng) {
    for i in (1..items.len()).rev() {
        items.swap(i, random.random_range(0..=i));
    }
}

/// Replays one ordering.
fn replay_one(
    spec: &ReplaySpec,
    table: &Table,
    draw: &Draw,
    bank: Option<&mut ModelBank<'_>>,
) -> Result<Trace, ReplayError> {
    let max_resource = spec.resource(table);
    let mut scheduler =
        spec.schedule.scheduler(draw.trials.len() as u64, max_resource, spec.nth_best, spec.burn_in)?;
    let mut data = LevelData::new(spec.burn_in, spec.refit);
    if spec.warm_start > 0 {
        data = LevelData::new(spec.warm_start.min(spec.burn_in), spec.refit);
        for level in 1..=max_resource {
            data.hand_in(level, draw.handed_in.iter().copied());
        }
    }
    let trials_a_run = match spec.schedule {
        Schedule::Hyperband { runs, .. } => draw.trials.len() as u64 / runs,
        _ => 0,
    };
    let scene = Scene {
        table,
        runs: &draw.trials,
        workers: spec.workers,
        stopper: spec.stopper,
        offset: spec.offset,
        first_look: spec.first_look,
        look_every: spec.look_every,
        retrain: spec.retrain,
        exempt: spec.exempt,
        seed: spec.seed,
        trials_a_run,
    };
    Ok(Clock::new(&scene, scheduler.as_mut(), data, bank, max_resource).run()?)
}

/// A setting to replay, and the predictor that its forecasts are from (`None` if its stopper needs none).
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// The setting.
    pub spec: ReplaySpec,
    /// The predictor.
    pub predictor: Option<&'a dyn Predictor>,
}

/// Replays `settings` on `table`. Orderings run in parallel; settings with the same predictor share models, which are
/// fitted once for each ordering, level and τ. The result does not depend on the number of threads.
///
/// O(settings · orderings · trials · T) besides the fits.
///
/// # Errors
/// The [`ReplayError`] of the first setting that is not valid, or whose predictor cannot be fitted.
pub fn replay(table: &Table, settings: &[Setting<'_>]) -> Result<Vec<Outcome>, ReplayError> {
    for setting in settings {
        setting.spec.validate(table)?;
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

fn replay_ordering(
    table: &Table,
    settings: &[Setting<'_>],
    ordering: usize,
) -> Result<Vec<Option<OrderingOutcome>>, ReplayError> {
    let mut banks: Vec<(&dyn Predictor, ModelBank<'_>)> = Vec::new();
    let mut results = Vec::new();
    for Setting { spec, predictor } in settings {
        if ordering >= spec.orderings {
            results.push(None);
            continue;
        }
        let draw = draw(spec, table, ordering as u64)?;
        let bank = predictor.map(|predictor| {
            // the very same one: two of a name may differ in features, seed or draws
            let same = |known: &dyn Predictor| {
                known.name() == predictor.name() && std::ptr::addr_eq(known, predictor)
            };
            let known = banks.iter().position(|(known, _)| same(*known));
            let place = known.unwrap_or_else(|| {
                banks.push((predictor, ModelBank::new(table, predictor)));
                banks.len() - 1
            });
            banks[place].1.next_setting();
            &mut banks[place].1
        });
        let trace = replay_one(spec, table, &draw, bank)?;
        results.push(Some(OrderingOutcome::new(spec, table, &draw.trials, trace)?));
    }
    Ok(results)
}
