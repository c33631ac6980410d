//! The study that the flags describe: their defaults, and where the study is kept.

use super::flags::{Arguments, PolicyName, SamplerName};
use super::workload::Workload;
use crate::failure::Failure;
use crate::scheduling::SchedulerName;
use foretell::{Direction, StopCriterion};
use foretell_search::{
    EpsilonSchedule, Kappa, Policy, QLearning, SamplerSpec, Schedule, ScheduleError, Space, StudySpec, plan,
};
use std::path::PathBuf;

/// The paper's burn-in.
const PAPER_BURN_IN: u64 = 100;
/// The default predictor learns from no fewer.
const FEWEST_RUNS: u64 = 3;
/// The burn-in at a level of the schedulers with rungs: as many results as the reference `level` waits for.
const RUNG_BURN_IN: u64 = 20;

impl Arguments {
    /// The study that the flags describe.
    pub(super) fn spec(&self, workload: &Workload) -> Result<StudySpec, Failure> {
        if self.shadow && self.policy == Some(PolicyName::None) {
            return Err(Failure::input(
                "--shadow shows what a policy would have stopped, and --policy none stops nothing: leave one of them out",
            ));
        }
        let max_resource = self.epochs.or(workload.epochs).unwrap_or(20);
        let schedule = self.schedule();
        let trials = self.all_trials(&schedule, max_resource)?;
        let full = schedule.is_full();
        let burn_in = if full {
            (trials / 3).clamp(FEWEST_RUNS.min(trials.max(1)), PAPER_BURN_IN)
        } else {
            RUNG_BURN_IN.min(trials.max(1))
        };
        Ok(StudySpec {
            space: workload.space.clone(),
            sampler: self.sampler(trials),
            schedule,
            metric: workload.metric_name.clone(),
            direction: self.direction(&workload.metric_name),
            run_score: self.score.into(),
            max_resource,
            trials,
            burn_in: self.burn_in.unwrap_or(burn_in),
            policy: self.policy(),
            shadow: self.shadow,
            predictor: self.predictor.clone(),
            criterion: StopCriterion {
                stop_probability: self.stop_probability.unwrap_or(if full { 0.99 } else { 0.9 }),
                offset: self.offset,
                nth_best: self.nth_best,
                agreeing_checks: self.agreeing_checks.unwrap_or(if full { 2 } else { 1 }),
                error_budget: self.error_budget.into(),
            },
            refit: self.refit,
            exempt: self.exempt,
            seed: self.seed,
            workload: workload.description.clone(),
        })
    }

    /// Which way is better: as told, by the metric's name, or larger.
    pub(super) fn direction(&self, metric: &str) -> Direction {
        match (self.minimize, self.maximize) {
            (true, _) => Direction::Minimize,
            (_, true) => Direction::Maximize,
            _ => foretell_logs::direction_of(metric).unwrap_or_default(),
        }
    }

    /// Takes over from a study that is there what the flags leave open and the number of trials decides, since that may
    /// be raised: burn-in and ε schedule.
    pub(super) fn take_over(&self, spec: &mut StudySpec, there: &StudySpec) {
        if self.burn_in.is_none() {
            spec.burn_in = there.burn_in;
        }
        if let (None, SamplerSpec::QLearning(settings), SamplerSpec::QLearning(there)) =
            (self.epsilon_trials, &mut spec.sampler, &there.sampler)
        {
            settings.schedule = there.schedule.clone();
        }
    }

    /// Where the study is kept. Unless told otherwise a folder named after everything that determines the study but its
    /// number of trials, so that the same command finds it again.
    pub(super) fn directory(&self, spec: &StudySpec) -> PathBuf {
        self.out.clone().unwrap_or_else(|| {
            let kind = match &spec.space {
                _ if !self.command.is_empty() => "command",
                Space::Metaqnn(_) => "metaqnn",
                Space::Parameters(_) => self.space.as_deref().unwrap_or("parameters"),
            };
            let sampler = self.sampler(0);
            let burn_in = self.burn_in.unwrap_or(0);
            let identity = StudySpec { burn_in, sampler, ..spec.regardless_of_length() };
            let mut text = identity.identity();
            text.extend(self.learn_from.iter().map(|path| path.display().to_string()));
            PathBuf::from("foretell-out").join(format!("{kind}-{:08x}", fingerprint(&text)))
        })
    }

    fn schedule(&self) -> Schedule {
        let eta = self.eta;
        match self.scheduler {
            SchedulerName::Full => Schedule::Full,
            SchedulerName::SuccessiveHalving => Schedule::SuccessiveHalving { eta },
            SchedulerName::Asha => Schedule::Asha { eta },
            SchedulerName::Hyperband | SchedulerName::FHyperband => Schedule::Hyperband {
                eta,
                runs: self.runs,
                kappa: Kappa { kappa: self.kappa, of: self.kappa_of.into() },
                reference: self.reference.into(),
            },
        }
    }

    /// How many trials there are: with Hyperband as many as its brackets have.
    fn all_trials(&self, schedule: &Schedule, max_resource: u64) -> Result<u64, Failure> {
        let Schedule::Hyperband { eta, runs, .. } = *schedule else { return Ok(self.trials.unwrap_or(24)) };
        let plan = plan(max_resource, eta).map_err(|error| Failure::input(ScheduleError::from(error)))?;
        let a_run = plan.totals().configurations;
        match self.trials {
            None => Ok(runs.saturating_mul(a_run)),
            Some(trials) => Err(Failure::input(format!(
                "--trials {trials}: Hyperband's brackets say how many trials there are, {a_run} a run with --epochs {max_resource} and --eta {eta}; say how many runs by --runs"
            ))),
        }
    }

    fn sampler(&self, trials: u64) -> SamplerSpec {
        match self.sampler {
            SamplerName::Random => SamplerSpec::Random,
            SamplerName::QLearning => SamplerSpec::QLearning(QLearning {
                learning_rate: self.alpha,
                discount: self.gamma,
                initial_value: self.initial_value,
                replay_number: self.replay,
                schedule: EpsilonSchedule::default().scaled(self.epsilon_trials.unwrap_or(trials)),
                ..QLearning::default()
            }),
        }
    }

    fn policy(&self) -> Policy {
        let by_default = matches!(self.scheduler, SchedulerName::Full | SchedulerName::FHyperband);
        match self.policy {
            _ if self.no_stopping => Policy::None,
            Some(PolicyName::None) => Policy::None,
            Some(PolicyName::Median) => Policy::Median,
            Some(PolicyName::Patience) => Policy::Patience(self.patience),
            None if !by_default && !self.shadow => Policy::None,
            Some(PolicyName::Srm) | None => Policy::Forecast,
        }
    }
}

/// FNV-1a, folded to 32 bits: a short name for a long text.
fn fingerprint(text: &str) -> u32 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash >> 32) as u32 ^ hash as u32
}
