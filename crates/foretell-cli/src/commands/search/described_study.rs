//! The study that the flags describe: their defaults, and where the study is kept.

use super::flags::{Arguments, PolicyName, SamplerName};
use super::workload::Workload;
use crate::failure::Failure;
use crate::scheduling::SchedulerName;
use foretell::{Configuration, Direction, StopCriterion};
use foretell_search::{
    Choice, EpsilonSchedule, Kappa, Policy, QLearning, SamplerSpec, Schedule, ScheduleError, Space,
    StudySpec, plan,
};
use std::path::PathBuf;

/// The paper's burn-in.
const PAPER_BURN_IN: u64 = 100;
/// Trials of a search that ends when its time is spent.
const MOST_TRIALS: u64 = 1_000_000;
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
        let max_resource = self.epochs.unwrap_or(if self.is_small() { 10 } else { 20 });
        let choice = self.choice(&workload.space, max_resource);
        let schedule = self.schedule(choice.as_ref());
        let trials = self.all_trials(&schedule, max_resource)?;
        let full = schedule.is_full();
        let burn_in = if full {
            (trials / 3).clamp(FEWEST_RUNS.min(trials.max(1)), PAPER_BURN_IN)
        } else {
            RUNG_BURN_IN.min(trials.max(1))
        };
        Ok(StudySpec {
            space: workload.space.clone(),
            sampler: self.sampler(trials, choice.as_ref()),
            schedule,
            metric: workload.metric_name.clone(),
            direction: self.direction(&workload.metric_name),
            run_score: self.score.into(),
            max_resource,
            trials,
            budget_epochs: self.budget_epochs,
            queue: self.queue(&workload.space)?,
            burn_in: self.burn_in.unwrap_or(burn_in),
            policy: self.policy(choice.as_ref()),
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
                Space::Parameters(_) => "parameters",
            };
            let sampler = self.sampler(0, self.choice(&spec.space, spec.max_resource).as_ref());
            let burn_in = self.burn_in.unwrap_or(0);
            let identity = StudySpec { burn_in, sampler, ..spec.regardless_of_length() };
            let mut text = identity.identity();
            text.extend(self.learn_from.iter().map(|path| path.display().to_string()));
            PathBuf::from("foretell-out").join(format!("{kind}-{:08x}", fingerprint(&text)))
        })
    }

    /// What is chosen for the budget, if there is one.
    pub(super) fn choice(&self, space: &Space, max_resource: u64) -> Option<Choice> {
        self.has_budget().then(|| Choice::new(space, max_resource, !self.no_checkpoints))
    }

    /// What the budget is, what is chosen for it, and why.
    pub(super) fn budget_line(&self, spec: &StudySpec) -> Option<String> {
        let choice = self.choice(&spec.space, spec.max_resource)?;
        let budget = match (self.budget_epochs, self.budget_time) {
            (Some(epochs), None) => format!("{epochs} epochs"),
            (Some(epochs), Some(time)) => format!("{epochs} epochs or {time:?}"),
            (None, time) => format!("{:?}", time.unwrap_or_default()),
        };
        let as_chosen = choice.sampler == spec.sampler
            && choice.schedule == spec.schedule
            && choice.policy == spec.policy;
        let why = if as_chosen {
            format!("chosen for it: {}", choice.why)
        } else {
            "spent as the flags say".to_owned()
        };
        Some(format!("budget of {budget}, {why}"))
    }

    /// The queued configurations.
    fn queue(&self, space: &Space) -> Result<Vec<Configuration>, Failure> {
        let Space::Parameters(space) = space else {
            let refused =
                "--enqueue takes values of parameters, and the built-in networks have none: leave it out";
            return if self.enqueue.is_empty() { Ok(Vec::new()) } else { Err(Failure::input(refused)) };
        };
        let read = |text: &String| {
            space.read(text).map_err(|error| Failure::input(format!("--enqueue {text}: {error}")))
        };
        self.enqueue.iter().map(read).collect()
    }

    fn schedule(&self, choice: Option<&Choice>) -> Schedule {
        let eta = self.eta;
        let scheduler = match (self.scheduler, choice) {
            (None, Some(choice)) => return with_rungs(choice.schedule, self.rungs),
            (scheduler, _) => scheduler.unwrap_or_default(),
        };
        match scheduler {
            SchedulerName::Full => Schedule::Full,
            SchedulerName::SuccessiveHalving => Schedule::SuccessiveHalving { eta },
            SchedulerName::Asha => Schedule::Asha { eta, rungs: self.rungs },
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
        let Schedule::Hyperband { eta, runs, .. } = *schedule else {
            // with a budget, as many as it could pay for
            let first = schedule.levels(max_resource).ok().and_then(|levels| levels.first().copied());
            let paid = self.budget_epochs.map(|budget| (budget / first.unwrap_or(1).max(1)).max(1));
            let many = paid.or(self.budget_time.map(|_| MOST_TRIALS));
            return Ok(self.trials.or(many).unwrap_or(24));
        };
        let plan = plan(max_resource, eta).map_err(|error| Failure::input(ScheduleError::from(error)))?;
        let a_run = plan.totals().configurations;
        match self.trials {
            None => Ok(runs.saturating_mul(a_run)),
            Some(trials) => Err(Failure::input(format!(
                "--trials {trials}: Hyperband's brackets say how many trials there are, {a_run} a run with --epochs {max_resource} and --eta {eta}; say how many runs by --runs"
            ))),
        }
    }

    fn sampler(&self, trials: u64, choice: Option<&Choice>) -> SamplerSpec {
        let sampler = match (self.sampler, choice) {
            (None, Some(choice)) => return choice.sampler.clone(),
            (sampler, _) => sampler.unwrap_or_default(),
        };
        match sampler {
            SamplerName::Tpe => SamplerSpec::Tpe,
            SamplerName::Gp => SamplerSpec::Gp,
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

    fn policy(&self, choice: Option<&Choice>) -> Policy {
        let scheduler = self.scheduler.unwrap_or_default();
        let by_default = matches!(scheduler, SchedulerName::Full | SchedulerName::FHyperband);
        match self.policy {
            _ if self.no_stopping => Policy::None,
            Some(PolicyName::None) => Policy::None,
            Some(PolicyName::Median) => Policy::Median,
            Some(PolicyName::Asha) => Policy::Asha(self.eta),
            Some(PolicyName::Patience) => Policy::Patience(self.patience),
            None if choice.is_some() && self.scheduler.is_none() => {
                choice.map_or(Policy::None, |choice| choice.policy)
            }
            None if !by_default && !self.shadow => Policy::None,
            Some(PolicyName::Srm) | None => Policy::Forecast,
        }
    }
}

/// `schedule`, with at most `rungs` rungs if that is said and it is ASHA.
fn with_rungs(schedule: Schedule, rungs: Option<u32>) -> Schedule {
    match schedule {
        Schedule::Asha { eta, rungs: chosen } => Schedule::Asha { eta, rungs: rungs.or(chosen) },
        other => other,
    }
}

/// FNV-1a, folded to 32 bits: a short name for a long text.
fn fingerprint(text: &str) -> u32 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash >> 32) as u32 ^ hash as u32
}
