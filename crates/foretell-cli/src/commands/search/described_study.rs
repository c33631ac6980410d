//! The study that the flags describe: their defaults, and where the study is kept.

use super::flags::{Arguments, PolicyName, SamplerName};
use super::workload::Workload;
use crate::curves::DEFAULT_PREDICTOR;
use crate::failure::Failure;
use crate::scheduling::{RankName, SchedulerName};
use foretell::{Configuration, Direction, StopCriterion, Value};
use foretell_search::{
    Caution, Choice, EpsilonSchedule, Kappa, NETWORK, Policy, QLearning, SamplerSpec, Schedule,
    ScheduleError, Space, Stopping, StudySpec, plan,
};
use std::path::PathBuf;

/// Trials of a search that ends when its time is spent.
const MOST_TRIALS: u64 = 1_000_000;

impl Arguments {
    /// The study that the flags describe.
    pub(super) fn spec(&self, workload: &Workload) -> Result<StudySpec, Failure> {
        if self.shadow && self.policy == Some(PolicyName::None) {
            return Err(Failure::input(
                "--shadow shows what a policy would have stopped, and --policy none stops nothing: leave one of them out",
            ));
        }
        let max_resource = self.epochs.or(workload.epochs).unwrap_or(20);
        let choice = self.choice(&workload.space, max_resource);
        let schedule = self.schedule(choice.as_ref());
        let trials = self.all_trials(&schedule, max_resource)?;
        let stopping = self.stopping(&schedule)?;
        Ok(StudySpec {
            space: workload.space.clone(),
            sampler: self.sampler(trials, choice.as_ref()),
            schedule,
            rank: self.rank.into(),
            metric: workload.metric_name.clone(),
            direction: self.direction(&workload.metric_name),
            run_score: self.score.into(),
            max_resource,
            trials,
            budget_epochs: self.budget_epochs,
            queue: self.queue(&workload.space)?,
            burn_in: self.burn_in.unwrap_or_else(|| self.usual_burn_in(&stopping, trials)),
            policy: self.policy(choice.as_ref()),
            shadow: self.shadow,
            predictor: self.predictor.clone().unwrap_or_else(|| stopping.predictor.to_owned()),
            criterion: self.criterion(&stopping.criterion),
            refit: self.refit.map_or(stopping.refit, |refit| refit.0),
            exempt: self.exempt,
            seed: self.seed,
            workload: workload.description.clone(),
        })
    }

    /// How trials are stopped where no flag says more: by --paper, --caution or the schedule.
    fn stopping(&self, schedule: &Schedule) -> Result<Stopping, Failure> {
        match self.caution {
            Some(_) if !schedule.is_full() => Err(Failure::input(format!(
                "--caution was measured for trials that train to their end, and the scheduler is {}: leave one of them out, or give --stop-probability",
                self.scheduler.map_or("that chosen for the budget", SchedulerName::name)
            ))),
            _ if self.paper => Ok(Stopping::paper()),
            None if self.rank != RankName::Value => Ok(Stopping::ranking()),
            _ if !schedule.is_full() => Ok(Stopping::in_rungs()),
            caution => Ok(Caution::from(caution.unwrap_or_default()).stopping()),
        }
    }

    /// The burn-in where no flag says more: no longer than the study, but for the paper's, which then is refused.
    fn usual_burn_in(&self, stopping: &Stopping, trials: u64) -> u64 {
        if self.paper { stopping.burn_in } else { stopping.burn_in.min(trials.max(1)) }
    }

    /// When a forecast stops a trial: by the flags, and by `usual` where they say nothing.
    fn criterion(&self, usual: &StopCriterion) -> StopCriterion {
        StopCriterion {
            stop_probability: self.stop_probability.unwrap_or(usual.stop_probability),
            offset: self.offset,
            nth_best: self.nth_best,
            agreeing_checks: self.agreeing_checks.unwrap_or(usual.agreeing_checks),
            error_budget: self.error_budget.into(),
        }
    }

    /// Which way is better: as told, by the metric's name, or larger.
    pub(super) fn direction(&self, metric: &str) -> Direction {
        match (self.minimize, self.maximize) {
            (true, _) => Direction::Minimize,
            (_, true) => Direction::Maximize,
            _ => foretell_logs::direction_of(metric).unwrap_or_default(),
        }
    }

    /// Takes over from a study that is there what the flags leave open, and the number of trials or the version decides: how
    /// trials are stopped, and the ε schedule.
    pub(super) fn take_over(&self, spec: &mut StudySpec, there: &StudySpec) {
        if self.caution.is_none() && !self.paper {
            spec.burn_in = self.burn_in.unwrap_or(there.burn_in);
            spec.predictor = self.predictor.clone().unwrap_or_else(|| there.predictor.clone());
            spec.refit = self.refit.map_or(there.refit, |refit| refit.0);
            spec.criterion = self.criterion(&there.criterion);
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
            let sampler = self.sampler(0, self.choice(&spec.space, spec.max_resource).as_ref());
            let burn_in = self.burn_in.unwrap_or(0);
            let mut identity = StudySpec { burn_in, sampler, ..spec.regardless_of_length() };
            if self.caution.is_none() && !self.paper {
                // what no flag says is written as the first version's default, by which older studies are found
                let (stop_probability, agreeing_checks) =
                    if spec.schedule.is_full() { (0.99, 2) } else { (0.9, 1) };
                let usual = StopCriterion { stop_probability, agreeing_checks, ..spec.criterion };
                identity.criterion = self.criterion(&usual);
                identity.predictor = self.predictor.clone().unwrap_or_else(|| DEFAULT_PREDICTOR.to_owned());
                identity.refit = self.refit.and_then(|refit| refit.0);
            }
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
            let network =
                |text: &String| Configuration::from([(NETWORK.to_owned(), Value::Text(text.clone()))]);
            return Ok(self.enqueue.iter().map(network).collect());
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
            return Ok(self.trials.or(many).unwrap_or(40));
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
            SamplerName::TpeGp => SamplerSpec::TpeGp,
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
