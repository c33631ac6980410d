//! The choice of a scheduler: a description that can be written down, and the scheduler it describes.

use crate::limits::MAX_PLANNED_TRIALS;
use crate::schedulers::Scheduler;
use crate::schedulers::asha::Asha;
use crate::schedulers::brackets::{
    Bracket, BracketError, Rung, last_levels, levels, plan, successive_halving,
};
use crate::schedulers::f_hyperband::{Kappa, KappaError, Reference};
use crate::schedulers::full::FullTraining;
use crate::schedulers::hyperband::Hyperband;
use crate::schedulers::rank::Rank;
use crate::schedulers::successive_halving::SuccessiveHalving;
use crate::stopping::policy::StopPolicy;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The choice of trials to train, and of their lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Schedule {
    /// Every trial to its end.
    #[default]
    Full,
    /// Every trial for `epochs` points, then the best `keep` to the end: the baseline i-epoch.
    IEpoch {
        /// Points for every trial.
        epochs: u64,
        /// The number of trials that continue.
        keep: u64,
    },
    /// One bracket of successive halving over all trials.
    SuccessiveHalving {
        /// η.
        eta: u64,
    },
    /// Hyperband; with a stopper, f-Hyperband.
    Hyperband {
        /// η.
        eta: u64,
        /// The number of runs in a row.
        runs: u64,
        /// The score that has to be beaten.
        kappa: Kappa,
        /// The reference of the comparison.
        reference: Reference,
    },
    /// ASHA over all trials.
    Asha {
        /// η.
        eta: u64,
        /// The most rungs below the end, the last ones: early ranks may say nothing. `None`: as many as η allows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rungs: Option<u32>,
    },
}

/// The reason why a schedule is invalid.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum ScheduleError {
    /// i-epoch's numbers do not fit.
    #[error(
        "training each run for {epochs} epochs and the best {keep} to the end does not fit {trials} runs of {points} points"
    )]
    IEpoch {
        /// Points for every trial.
        epochs: u64,
        /// Trials kept.
        keep: u64,
        /// Trials there are.
        trials: u64,
        /// Points of a whole trial.
        points: u64,
    },
    /// No Hyperband run at all.
    #[error("Hyperband runs is 0, but must be at least 1")]
    Runs,
    /// A plan of more trials than fit into memory.
    #[error(
        "the scheduler plans {trials} trials, but the maximum is {most}. Set fewer `epochs` (count in a coarser unit), a larger `eta`, or fewer trials or `runs`",
        most = MAX_PLANNED_TRIALS
    )]
    Trials {
        /// Trials of the plan.
        trials: u64,
    },
    /// κ is out of range.
    #[error(transparent)]
    Kappa(#[from] KappaError),
    /// There are no such brackets.
    #[error(transparent)]
    Bracket(#[from] BracketError),
}

/// Checks that a plan of `trials` trials can be held in memory.
fn check_planned_trials(trials: u64) -> Result<(), ScheduleError> {
    if trials > MAX_PLANNED_TRIALS { Err(ScheduleError::Trials { trials }) } else { Ok(()) }
}

impl Schedule {
    /// η, the reduction factor of its rungs; `None` without such.
    pub(crate) fn eta(&self) -> Option<u64> {
        match *self {
            Self::SuccessiveHalving { eta } | Self::Hyperband { eta, .. } | Self::Asha { eta, .. } => {
                Some(eta)
            }
            Self::Full | Self::IEpoch { .. } => None,
        }
    }

    /// Checks the numbers for `trials` trials of `max_resource` each.
    ///
    /// # Errors
    /// The [`ScheduleError`] of the first that is wrong.
    pub fn validate(&self, trials: u64, max_resource: u64) -> Result<(), ScheduleError> {
        match *self {
            Self::Full => {}
            Self::IEpoch { epochs, keep } => {
                if epochs == 0 || keep == 0 || keep > trials || epochs >= max_resource {
                    return Err(ScheduleError::IEpoch { epochs, keep, trials, points: max_resource });
                }
                check_planned_trials(trials)?;
            }
            Self::Hyperband { eta, runs, kappa, .. } => {
                kappa.validate()?;
                if runs == 0 {
                    return Err(ScheduleError::Runs);
                }
                let a_run = plan(max_resource, eta)?.totals().configurations;
                check_planned_trials(a_run.saturating_mul(runs))?;
            }
            Self::SuccessiveHalving { eta } => {
                successive_halving(trials, max_resource, eta)?;
                check_planned_trials(trials)?;
            }
            Self::Asha { eta, rungs } => {
                Asha::new(trials, max_resource, eta, rungs)?;
            }
        }
        Ok(())
    }

    /// The scheduler: for `trials` trials where the plan does not say how many, up to `max_resource` each, with the
    /// `nth_best` finished one as what is to be beaten where every trial is trained to its end, and `burn_in` trials at
    /// a level before anything is stopped there.
    ///
    /// # Errors
    /// Those of [`validate`](Self::validate).
    pub fn scheduler(
        &self,
        trials: u64,
        max_resource: u64,
        nth_best: usize,
        burn_in: usize,
    ) -> Result<Box<dyn Scheduler>, ScheduleError> {
        self.validate(trials, max_resource)?;
        Ok(match *self {
            Self::Full => Box::new(FullTraining::new(trials, max_resource, nth_best)),
            Self::IEpoch { epochs, keep } => {
                let rungs = [(trials, epochs), (keep.min(trials), max_resource)];
                let rungs = rungs.map(|(configurations, resource)| Rung { configurations, resource });
                let bracket = Bracket { s: 1, rungs: rungs.to_vec() };
                Box::new(SuccessiveHalving::new(bracket, 0, Kappa::default()))
            }
            Self::SuccessiveHalving { eta } => {
                let bracket = successive_halving(trials, max_resource, eta)?;
                Box::new(SuccessiveHalving::new(bracket, 0, Kappa::default()))
            }
            Self::Hyperband { eta, runs, kappa, reference } => {
                Box::new(Hyperband::new(plan(max_resource, eta)?, runs, kappa, reference, burn_in))
            }
            Self::Asha { eta, rungs } => Box::new(Asha::new(trials, max_resource, eta, rungs)?),
        })
    }

    /// The resources at which jobs end, ascending; the last is `max_resource`.
    ///
    /// # Errors
    /// [`ScheduleError::Bracket`] if there are no such levels.
    pub fn levels(&self, max_resource: u64) -> Result<Vec<u64>, ScheduleError> {
        Ok(match *self {
            Self::Full => vec![max_resource],
            Self::IEpoch { epochs, .. } => vec![epochs, max_resource],
            Self::SuccessiveHalving { eta } | Self::Hyperband { eta, .. } => levels(max_resource, eta)?,
            Self::Asha { eta, rungs } => last_levels(max_resource, eta, rungs)?,
        })
    }

    /// The fewest trials by which one is trained to `max_resource`, where only the best of those at a rung continue: η to the number of rungs
    /// below the end. `None` where a plan brings its own number of trials.
    pub fn fewest_trials(&self, max_resource: u64) -> Option<u64> {
        let Self::Asha { eta, .. } = *self else { return None };
        let rungs = self.levels(max_resource).ok()?.len().saturating_sub(1);
        Some(eta.saturating_pow(u32::try_from(rungs).ok()?))
    }

    /// Whether trials can be compared by `rank` where `policy` stops them: forecasts of the end need rungs, and no other forecasts at them.
    pub(crate) fn compares_by(&self, rank: Rank, policy: &StopPolicy) -> bool {
        let needs = policy.needs(1);
        rank == Rank::Value || if self.is_full() { needs.ranks } else { needs.nothing }
    }

    /// Whether every trial is trained to its end in one go.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full)
    }

    /// Whether only a replay has it: no search can ask for it.
    pub fn is_for_replays(&self) -> bool {
        matches!(self, Self::IEpoch { .. })
    }

    /// Whether its rungs depend on the total of trials, which then cannot be raised later.
    pub fn is_planned_for_trials(&self) -> bool {
        matches!(self, Self::IEpoch { .. } | Self::SuccessiveHalving { .. })
    }

    /// Whether single trials can be added to it.
    pub(crate) fn takes_more_trials(&self) -> bool {
        matches!(self, Self::Full | Self::Asha { .. })
    }

    /// The schedule, run often enough for `trials` trials: what a log with more trials than asked for needs.
    pub(crate) fn covering(self, trials: u64, max_resource: u64) -> Self {
        match self {
            Self::Hyperband { eta, runs, kappa, reference } => {
                let a_run = plan(max_resource, eta).map_or(1, |plan| plan.totals().configurations.max(1));
                Self::Hyperband { eta, runs: runs.max(trials.div_ceil(a_run)), kappa, reference }
            }
            other => other,
        }
    }

    /// The schedule, but for how often it is run: what stays when a study is prolonged.
    pub(crate) fn without_runs(self) -> Self {
        match self {
            Self::Hyperband { eta, kappa, reference, .. } => {
                Self::Hyperband { eta, runs: 0, kappa, reference }
            }
            other => other,
        }
    }
}
