//! From a request to a study: all defaults.

use super::names::{Refit, RungSettings, SchedulerName};
use super::{Queued, Refusal, StudyRequest};
use crate::catalogue::Catalogue;
use crate::defaults::{DEFAULT_ETA, DEFAULT_KAPPA, DEFAULT_TRIALS};
use crate::lessons::PredictorChoice;
use crate::limits::MAX_PLANNED_TRIALS;
use crate::parameter_space::ParameterSpace;
use crate::resource::UNKNOWN_RESOURCE;
use crate::samplers::{SamplerFamily, SamplerSpec};
use crate::schedulers::brackets::plan;
use crate::schedulers::f_hyperband::{Kappa, Reference};
use crate::schedulers::rank::Rank;
use crate::schedulers::schedule::{Schedule, ScheduleError};
use crate::secret::{REDACTED, is_secret_name, redact_line};
use crate::space::Space;
use crate::stopping::caution::{Caution, StoppingDefaults};
use crate::stopping::policy::StopPolicy;
use crate::stopping::{ChainRule, ForecastRule, NamedRule};
use crate::study::{ConfigurationQueue, StudyError, StudySpec};
use foretell::{Configuration, Direction, Run, RunScore, StopCriterion};
use serde_json::Map;
use std::collections::BTreeMap;

impl StudyRequest {
    /// Returns the requested study. `there` is the study to continue, if any: its settings replace those that the request leaves open.
    ///
    /// # Errors
    /// The [`Refusal`] of the first field that is wrong, or that may not differ from what is there.
    pub fn resolve(self, there: Option<&StudySpec>) -> Result<StudySpec, Refusal> {
        self.resolve_with(there, &Catalogue::default())
    }

    /// As [`resolve`](Self::resolve), where the names of parts are those of `catalogue`.
    ///
    /// # Errors
    /// Those of [`resolve`](Self::resolve).
    pub fn resolve_with(
        self,
        there: Option<&StudySpec>,
        catalogue: &Catalogue,
    ) -> Result<StudySpec, Refusal> {
        let asked = self.without_unused(there, catalogue)?;
        let spec = asked.spec(there, catalogue)?;
        asked.resolve_checked(spec, there, catalogue)
    }

    /// As [`resolve_with`](Self::resolve_with) for a new study of a replay, which compares policies: a setting may be of another policy.
    ///
    /// # Errors
    /// Those of [`resolve`](Self::resolve).
    pub fn resolve_to_compare(self, catalogue: &Catalogue) -> Result<StudySpec, Refusal> {
        self.resolve_checked(self.spec(None, catalogue)?, None, catalogue)
    }

    /// Returns the requested study without checking its queue, since an existing study may already contain it.
    ///
    /// # Errors
    /// The [`Refusal`] of the first field that is wrong.
    pub fn resolve_regardless_of_queue(&self, catalogue: &Catalogue) -> Result<StudySpec, Refusal> {
        let asked = self.clone().without_unused(None, catalogue)?;
        let mut spec = asked.spec(None, catalogue)?;
        let queue = std::mem::take(&mut spec.queue);
        Ok(StudySpec { queue, ..asked.resolve_checked(spec, None, catalogue)? })
    }

    /// The `spec` of this request, if it is a valid study and goes with the one that is `there`.
    fn resolve_checked(
        &self,
        mut spec: StudySpec,
        there: Option<&StudySpec>,
        catalogue: &Catalogue,
    ) -> Result<StudySpec, Refusal> {
        // what was enqueued before may lie outside of the space as it is now
        let enqueued = there.map_or(&[][..], |there| &there.queue);
        let queue = std::mem::take(&mut spec.queue);
        spec.queue = ConfigurationQueue::new(enqueued.to_vec()).missing(queue);
        spec.validate_with(&catalogue.into())?;
        self.check_budget(&spec)?;
        if self.learn_from.is_none() && there.is_none() {
            spec.check_burn_in(0)?;
        }
        let Some(there) = there else { return Ok(spec) };
        let longer = there.resource().filter(|&known| spec.max_resource < known && spec.schedule.is_full());
        if let Some(known) = longer {
            return Err(Refusal::new(
                "epochs",
                format!(
                    "the existing study trains for {known} epochs, and trials can only become longer. Start another study"
                ),
            ));
        }
        if !there.conflicts(&spec).is_empty() {
            return Err(conflict_refusal(there, &spec));
        }
        // those of before come first: the log has them in this order
        spec.queue.splice(0..0, enqueued.iter().cloned());
        Ok(spec)
    }

    /// The requested study, before its numbers are checked.
    fn spec(&self, there: Option<&StudySpec>, catalogue: &Catalogue) -> Result<StudySpec, Refusal> {
        let space = self.space.clone().or_else(|| there.map(|there| there.space.clone()));
        let mut space = space.ok_or_else(|| {
            Refusal::new("space", "a new study needs a search space, for example {\"lr\": \"log:1e-4:1\"}")
        })?;
        // objectives and the queue ask for its names
        catalogue.make_space(&mut space)?;
        let family = self.sampler.as_ref().and_then(|named| catalogue.family(named));
        let is_rewarded = family.as_ref().is_some_and(|family| family.is_rewarded());
        let metric = self.metric_or(there.map(|there| &there.metric));
        let max_resource = self.epochs.or(there.map(|there| there.max_resource)).unwrap_or(UNKNOWN_RESOURCE);
        self.check_runs(there)?;
        let schedule = self.schedule(max_resource, there)?;
        let trials = self.resolve_trials(&space, &schedule, max_resource, family.as_deref(), there)?;
        let named = self
            .policy
            .as_ref()
            .map(|policy| catalogue.resolve_policy(policy, &self.fields()))
            .transpose()?;
        self.check_shadow(named.as_ref())?;
        let usual = self.usual_stopping(named.as_ref(), &schedule, there)?;
        let mut spec = StudySpec {
            sampler: self.sampler(trials, &space, there, catalogue)?,
            schedule,
            rank: self.rank.or(there.map(|there| there.rank)).unwrap_or_default(),
            direction: self.direction(&metric, there)?,
            objectives: self.objectives(&metric, &space, there)?,
            limits: self.limits(&space, there)?,
            reward: self.reward(&metric, &space, there)?,
            metric,
            run_score: self.score.or(there.map(|there| there.run_score)).unwrap_or_default(),
            score_chosen: self.score.is_some() || there.is_some_and(|there| there.score_chosen),
            returns_own_scores: there.is_some_and(|there| there.returns_own_scores),
            max_resource,
            is_open_ended: self.epochs.is_none() && there.is_none_or(|there| there.is_open_ended),
            trials,
            budget_epochs: self.budget_epochs.or(there.and_then(|there| there.budget_epochs)),
            until_no_improvement: self
                .until_no_improvement
                .or(there.and_then(|there| there.until_no_improvement)),
            target: self.target.or(there.and_then(|there| there.target)),
            repeats: self.repeats.or(there.and_then(|there| there.repeats)).filter(|repeats| *repeats != 1),
            folds: self.folds.or(there.and_then(|there| there.folds)).filter(|folds| *folds != 1),
            queue: self.queue(&space, there)?,
            burn_in: self.burn_in.unwrap_or(usual.burn_in.min(self.max_burn_in(trials, there))),
            policy: self.policy(named, is_rewarded, there),
            caution: self.caution.or(there.map(|there| there.caution)).unwrap_or_default(),
            shadow: self.shadow.or(there.map(|there| there.shadow)).unwrap_or(false),
            predictor: self.predictor.clone().unwrap_or(usual.predictor),
            criterion: self.criterion(usual.criterion),
            refit: self.refit.map_or(usual.refit, Refit::growth),
            exempt: self.exempt.or(there.map(|there| there.exempt)).unwrap_or(0.0),
            seed: self.seed.or(there.map(|there| there.seed)).unwrap_or(0),
            workload: self.redacted_workload(there),
            space,
        };
        spec = spec.made(catalogue)?;
        spec.policy = spec.policy_in_force();
        Ok(spec)
    }

    /// Drops the settings of other policies than that of the study, which do not matter at their defaults.
    ///
    /// # Errors
    /// The [`Refusal`] of the first such setting with another value.
    fn without_unused(mut self, there: Option<&StudySpec>, catalogue: &Catalogue) -> Result<Self, Refusal> {
        let mut given = self.fields();
        given.retain(|field, _| !catalogue.policies_with(field).is_empty());
        // who turns stopping off for one search leaves its settings in the study file
        if given.is_empty() || self.stopping == Some(false) {
            return Ok(self);
        }
        let spec = self.spec(there, catalogue)?;
        given.retain(|field, _| !spec.uses(field));
        let fields: Map<_, _> =
            self.fields().into_iter().filter(|(field, _)| !given.contains_key(field)).collect();
        let Self { ends_by_time, workload, .. } = self;
        self = Self { ends_by_time, workload, ..Self::from_fields(&fields)? };
        let continued = self.spec(there, catalogue)?.request();
        let mut defaults = vec![continued.fields()];
        // besides the values of a study that is continued, the documented defaults change nothing, either
        let StudyRequest { space, metric, direction, epochs, .. } = continued;
        let new = Self { space, metric, direction, epochs, ..self.clone() };
        defaults.extend(new.spec(None, catalogue).ok().map(|spec| spec.request().fields()));
        for (field, value) in given {
            let by = catalogue.policies_with(&field);
            let made = |name: &&str| catalogue.resolve_policy(&(*name).into(), &Map::new()).ok();
            let own = by.iter().filter_map(made).find_map(|policy| policy.setting(&field).cloned());
            let is_default = |usual: &Map<_, _>| own.as_ref().or(usual.get(&field)) == Some(&value);
            if !defaults.iter().any(is_default) {
                let why = format!(
                    "a setting of the policy {}, but the policy of this study is {}. Set `policy`{}, or leave it out",
                    by.join(" or "),
                    spec.policy.name(),
                    if by.contains(&ForecastRule::NAME) { " or `paper`" } else { "" }
                );
                return Err(Refusal::new(&field, why));
            }
        }
        Ok(self)
    }

    /// The command and other facts of the program, or those of the study that is `there`, without secrets.
    fn redacted_workload(&self, there: Option<&StudySpec>) -> BTreeMap<String, String> {
        match there {
            Some(there) if self.workload.is_empty() => there.workload.clone(),
            _ => {
                self.workload.iter().map(|(name, value)| (name.clone(), redact_entry(name, value))).collect()
            }
        }
    }

    /// When a forecast stops a trial: as requested, otherwise as `usual`.
    fn criterion(&self, usual: StopCriterion) -> StopCriterion {
        StopCriterion {
            stop_probability: self.stop_probability.unwrap_or(usual.stop_probability),
            offset: self.offset.unwrap_or(usual.offset),
            nth_best: self.nth_best.unwrap_or(usual.nth_best),
            agreeing_checks: self.agreeing_checks.unwrap_or(usual.agreeing_checks),
            error_budget: self.error_budget.unwrap_or(usual.error_budget),
        }
    }

    /// Checks that only Hyperband has runs.
    fn check_runs(&self, there: Option<&StudySpec>) -> Result<(), Refusal> {
        let has_runs = self.scheduler.or(there.map(name_of)).is_some_and(SchedulerName::is_hyperband);
        match self.runs {
            Some(_) if !has_runs => Err(Refusal::new(
                "runs",
                "only the schedulers hyperband and f-hyperband use this setting. Choose one of them, or leave it out",
            )),
            _ => Ok(()),
        }
    }

    /// The predictor that forecasts the earlier `runs` best, and how sure it has to be to keep what the caution promises, unless somebody chose that. `None` if somebody chose a predictor, if the
    /// trials of `spec` are not stopped by forecasts, or if the usual rule, which learns from curves, does so with too few completed runs to choose by.
    pub fn lessons(&self, spec: &StudySpec, runs: &[Run]) -> Option<PredictorChoice> {
        let is_free = spec.resource().is_some()
            && self.predictor.is_none()
            && self.paper != Some(true)
            && self.rank.unwrap_or_default() == Rank::Value;
        let by_curves = self.policy.is_none() && spec.policy.learns_from_curves();
        let learns = by_curves || spec.policy.is_by_forecasts() && !spec.policy.is_by_curve_alone();
        if !is_free || !spec.schedule.is_full() || !learns {
            return None;
        }
        let caution = self.stop_probability.is_none().then_some(spec.caution);
        PredictorChoice::new(runs, spec, &spec.history_options(), caution)
    }

    /// Refuses a budget with which no trial reaches a result. The least: one training if the last value counts, else the first rung.
    fn check_budget(&self, spec: &StudySpec) -> Result<(), Refusal> {
        let first =
            || spec.schedule.levels(spec.max_resource).ok().and_then(|levels| levels.first().copied());
        let least = match spec.run_score {
            _ if spec.resource().is_none() => 1,
            RunScore::Last | RunScore::Mean(_) => spec.max_resource,
            RunScore::Best => first().unwrap_or(spec.max_resource),
        };
        match self.budget_epochs.filter(|&budget| budget < least) {
            None => Ok(()),
            Some(budget) => Err(Refusal::new(
                "budget_epochs",
                format!(
                    "{budget}: these epochs are too few for any trial to reach a result. Set at least {least}, or lower `epochs`"
                ),
            )),
        }
    }

    /// Refuses a shadow of a policy that stops nothing.
    fn check_shadow(&self, named: Option<&StopPolicy>) -> Result<(), Refusal> {
        let stops_nothing = named.is_some_and(|policy| !policy.stops()) || self.stopping == Some(false);
        if self.shadow == Some(true) && stops_nothing {
            return Err(Refusal::new(
                "shadow",
                "the policy none does not stop any trials, so there is nothing to show. Remove one of them",
            ));
        }
        Ok(())
    }

    /// The usual stopping where no field defines it: by `paper`, `caution` or the schedule; else as in the existing study.
    fn usual_stopping(
        &self,
        named: Option<&StopPolicy>,
        schedule: &Schedule,
        there: Option<&StudySpec>,
    ) -> Result<StoppingDefaults, Refusal> {
        let paper = self.paper == Some(true);
        let alone = named.filter(|policy| policy.is_by_curve_alone()).map(StopPolicy::name);
        if let Some(name) = alone.filter(|_| paper) {
            let why = format!(
                "the paper's settings are for its own predictor, but the policy {name} is another method. Leave one of them out"
            );
            return Err(Refusal::new("paper", why));
        }
        // the default caution changes nothing where another choice sets the risk
        let caution = self.caution.filter(|_| !paper && alone.is_none() && schedule.is_full());
        if caution != self.caution && self.caution != Some(Caution::default()) {
            let why = match alone {
                _ if paper => "the paper's settings set their own caution".to_owned(),
                Some(name) => format!("it was measured for policies other than {name}"),
                None => "it was measured for trials that complete, but this scheduler uses rungs".to_owned(),
            };
            return Err(Refusal::new(
                "caution",
                format!("{why}. Leave one of them out, or set `stop_probability` itself"),
            ));
        }
        // what a study has for forecasts by others' curves is nothing for those by each curve alone, nor the other way round
        let alike =
            |there: &&StudySpec| self.policy.is_none() || there.policy.is_by_curve_alone() == alone.is_some();
        Ok(match (caution, there.filter(alike)) {
            _ if paper => StoppingDefaults::paper(),
            (None, Some(there)) => StoppingDefaults {
                burn_in: there.burn_in,
                predictor: there.predictor.clone(),
                refit: there.refit,
                criterion: there.criterion,
            },
            (None, None) if named.is_some_and(|policy| policy.usual().is_some()) => {
                named.and_then(StopPolicy::usual).unwrap_or_else(StoppingDefaults::paper)
            }
            (None, None) if self.rank.unwrap_or_default() != Rank::Value => StoppingDefaults::ranking(),
            (None, None) if !schedule.is_full() => StoppingDefaults::in_rungs(),
            (caution, _) => caution.unwrap_or_default().stopping(),
        })
    }

    /// The longest burn-in that is chosen: a new study's own trials. The paper's, and that of a study that is there, are refused
    /// where they are longer.
    fn max_burn_in(&self, trials: u64, there: Option<&StudySpec>) -> u64 {
        if self.paper == Some(true) || (there.is_some() && self.caution.is_none()) {
            u64::MAX
        } else {
            trials.max(1)
        }
    }

    /// The better direction: as requested, as in the existing study, or by the metric's name.
    fn direction(&self, metric: &str, there: Option<&StudySpec>) -> Result<Direction, Refusal> {
        let there = there.filter(|there| there.metric == metric).map(|there| there.direction);
        let said = self.objective_direction(metric)?;
        self.direction.or(said).or(there).or_else(|| foretell::direction_of(metric)).ok_or_else(|| {
            let why = format!(
                "the metric's name {metric:?} does not show which way is better. Set maximize or minimize"
            );
            Refusal::new("direction", why)
        })
    }

    fn queue(&self, space: &Space, there: Option<&StudySpec>) -> Result<Vec<Configuration>, Refusal> {
        let Some(queued) = &self.enqueue else {
            return Ok(there.map(|there| there.queue.clone()).unwrap_or_default());
        };
        queued.iter().map(|queued| queued.read(space)).collect()
    }

    /// The schedule: with rungs, only where R is known.
    fn schedule(&self, max_resource: u64, there: Option<&StudySpec>) -> Result<Schedule, StudyError> {
        let schedule = self.any_schedule(there);
        let is_possible = schedule.is_full() || max_resource != UNKNOWN_RESOURCE;
        is_possible.then_some(schedule).ok_or(StudyError::NoResource)
    }

    fn any_schedule(&self, there: Option<&StudySpec>) -> Schedule {
        let numbered =
            self.eta.is_some() || self.runs.is_some() || self.kappa.is_some() || self.kappa_of.is_some();
        let asked = numbered || self.rungs.is_some() || self.reference.is_some() || self.scheduler.is_some();
        match (self.scheduler, there) {
            (_, Some(there)) if !asked => there.schedule,
            (scheduler, _) => scheduler.or(there.map(name_of)).unwrap_or_default().schedule(&RungSettings {
                eta: self.eta.unwrap_or(DEFAULT_ETA),
                most: self.rungs,
                runs: self.runs.unwrap_or(1),
                kappa: Kappa {
                    kappa: self.kappa.unwrap_or(DEFAULT_KAPPA),
                    of: self.kappa_of.unwrap_or_default(),
                },
                reference: self.reference.unwrap_or(Reference::Level),
            }),
        }
    }

    /// The number of trials: with Hyperband as many as its brackets have.
    fn resolve_trials(
        &self,
        space: &Space,
        schedule: &Schedule,
        max_resource: u64,
        family: Option<&dyn SamplerFamily>,
        there: Option<&StudySpec>,
    ) -> Result<u64, Refusal> {
        let Schedule::Hyperband { eta, runs, .. } = *schedule else {
            // one that is stopped or fails costs less than its first job, but an epoch at least: the budget ends the search, not the
            // number of trials, unless a plan is made for that
            let planned =
                schedule.is_planned_for_trials() || family.is_some_and(|family| family.is_rewarded());
            let levels = schedule.levels(max_resource).ok().filter(|_| planned);
            let first = levels.and_then(|levels| levels.first().copied());
            let paid = self.budget_epochs.map(|budget| (budget / first.unwrap_or(1).max(1)).max(1));
            let many = paid.or(self.ends_by_time.then_some(MAX_PLANNED_TRIALS));
            let many = many.max(there.map(|there| there.trials));
            let every = || family.and_then(|family| family.combinations(space));
            return Ok(self.trials.or(many).or_else(every).unwrap_or(DEFAULT_TRIALS));
        };
        let plan =
            plan(max_resource, eta).map_err(|error| Refusal::new("eta", ScheduleError::from(error)))?;
        let a_run = plan.totals().configurations;
        let planned = runs.saturating_mul(a_run);
        match self.trials {
            Some(trials) if trials != planned && there.is_none_or(|there| there.trials != trials) => {
                Err(Refusal::new(
                    "trials",
                    format!(
                        "{trials}: Hyperband's brackets determine the number of trials: {a_run} per run with {max_resource} epochs and an eta of {eta}. Set `runs` instead"
                    ),
                ))
            }
            _ => Ok(planned),
        }
    }

    fn sampler(
        &self,
        trials: u64,
        space: &Space,
        there: Option<&StudySpec>,
        catalogue: &Catalogue,
    ) -> Result<SamplerSpec, Refusal> {
        let learns = self.alpha.is_some() || self.gamma.is_some() || self.initial_value.is_some();
        let asked =
            learns || self.sampler.is_some() || self.epsilon_trials.is_some() || self.replay.is_some();
        Ok(match (&self.sampler, there) {
            (_, Some(there)) if !asked => there.sampler.clone(),
            (None, _) => SamplerSpec::usual(space),
            (Some(named), _) => {
                catalogue.resolve_sampler(named, &self.fields(), trials, there.map(|there| &there.sampler))?
            }
        })
    }

    /// The policy that stops trials, by the first line that applies. With several objectives or a limit on a measured value forecasts decide in place of
    /// chances: [`StudySpec::policy_in_force`].
    fn policy(&self, named: Option<StopPolicy>, is_rewarded: bool, there: Option<&StudySpec>) -> StopPolicy {
        match (named, there, self.scheduler.unwrap_or_default()) {
            _ if self.stopping == Some(false) => StopPolicy::none(),
            (Some(named), ..) => named,
            (None, Some(there), _) if self.stopping.is_none() => there.policy.clone(),
            (None, _, SchedulerName::Full) if is_rewarded || self.paper == Some(true) => ForecastRule.into(),
            (None, _, SchedulerName::Full) => ChainRule.into(),
            (None, _, SchedulerName::FHyperband) => ForecastRule.into(),
            (None, ..) if self.shadow == Some(true) => ForecastRule.into(),
            (None, ..) => StopPolicy::none(),
        }
    }
}

impl Queued {
    /// Returns the configuration for `space`, without checking its values.
    ///
    /// # Errors
    /// The [`Refusal`] of a text that is no `NAME=VALUE,…`.
    pub fn read(&self, space: &Space) -> Result<Configuration, Refusal> {
        let refused =
            |text: &str, error: &dyn std::fmt::Display| Refusal::new("enqueue", format!("{text}: {error}"));
        match (self, space) {
            (Self::Values(values), Space::Parameters(space)) => Ok(space.convert_number_texts(values)),
            (Self::Values(values), Space::Own(_)) => Ok(values.clone()),
            (Self::Text(text), Space::Parameters(space)) => {
                space.parts(text).map_err(|error| refused(text, &error))
            }
            (Self::Text(text), Space::Own(part)) => match part.implementation() {
                Some(space) => space.read_configuration(text).map_err(|error| refused(text, &error)),
                None => ParameterSpace::any().parts(text).map_err(|error| refused(text, &error)),
            },
        }
    }
}

/// The name of the scheduler of a study that is there.
pub(super) fn name_of(there: &StudySpec) -> SchedulerName {
    match there.schedule {
        Schedule::Full | Schedule::IEpoch { .. } => SchedulerName::Full,
        Schedule::SuccessiveHalving { .. } => SchedulerName::SuccessiveHalving,
        Schedule::Asha { .. } => SchedulerName::Asha,
        Schedule::Hyperband { .. } if !there.policy.stops() => SchedulerName::Hyperband,
        Schedule::Hyperband { .. } => SchedulerName::FHyperband,
    }
}

/// The refusal of a study that differs from the one that is `there` in what may not change.
fn conflict_refusal(there: &StudySpec, asked: &StudySpec) -> Refusal {
    let differences = there.conflicts(asked);
    let field = differences.first().map_or("study", |first| first.field.as_str());
    let said: Vec<String> = differences.iter().map(ToString::to_string).collect();
    Refusal {
        differs: true,
        ..Refusal::new(
            field,
            format!("a different study exists. The request differs in: {}", said.join(", ")),
        )
    }
}
/// The `value` of an entry of a workload as the log may show it.
fn redact_entry(name: &str, value: &str) -> String {
    if is_secret_name(name) { REDACTED.to_owned() } else { redact_line(value) }
}
