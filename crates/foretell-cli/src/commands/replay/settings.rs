//! The settings that a replay compares, each made of a request for a study as a search resolves it: a few by default, and on demand a grid with
//! every value of the fields that matter to each stop rule.

use super::flags::ReplayArguments;
use super::way::StoppingWay;
use crate::catalogue::catalogue;
use crate::failure::Failure;
use foretell::StopCriterion;
use foretell_search::{
    AshaRule, Caution, ForecastRule, Kappa, MedianRule, NamedRule, NoStopping, OracleRule, ParameterSpace,
    Rank, Reference, Refit, Refusal, ReplaySetting, RunTable, SamplerSpec, Schedule, SchedulerName, Space,
    StoppingDefaults, StudyRequest, StudySpec,
};
use serde_json::{Map, Value};

/// One setting.
#[derive(Clone)]
pub(super) struct ReplayVariant {
    /// The name of its way of stopping.
    pub(super) way: String,
    pub(super) setting: ReplaySetting,
    /// The setting of `foretell search --caution`, if it is one.
    pub(super) caution: Option<Caution>,
    /// Whether a policy was named with this caution.
    pub(super) is_named: bool,
}

impl ReplayVariant {
    /// The study that it replays.
    pub(super) fn study(&self) -> &StudySpec {
        &self.setting.study
    }

    /// The caution by which predictor and Δ are chosen from the runs of a warm start, as `foretell search --learn-from` chooses them.
    pub(super) fn teaching_caution(&self) -> Option<Caution> {
        self.caution.filter(|_| self.setting.warm_start > 0)
    }

    /// Whether these are the default settings of `foretell search`.
    pub(super) fn is_default(&self) -> bool {
        !self.is_named && self.caution == Some(Caution::default())
    }

    /// When a forecast stops a run, if forecasts do.
    pub(super) fn criterion(&self) -> Option<StopCriterion> {
        self.study().policy.is_by_forecasts().then_some(self.study().criterion)
    }

    /// The name of the predictor by which it forecasts.
    pub(super) fn predictor(&self) -> Option<&str> {
        let forecasts = self.study().policy.is_by_forecasts() || self.study().rank != Rank::Value;
        forecasts.then_some(&self.study().predictor)
    }

    /// The predictor by which it forecasts, and whether each curve alone.
    pub(super) fn forecasts_by(&self) -> Option<(bool, String)> {
        Some((self.study().policy.is_by_curve_alone(), self.predictor()?.to_owned()))
    }

    /// With Hyperband: the runs that a run is compared with.
    pub(super) fn reference(&self) -> Option<(Reference, Kappa)> {
        match self.study().schedule {
            Schedule::Hyperband { kappa, reference, .. } if self.has_rule() => Some((reference, kappa)),
            _ => None,
        }
    }

    /// Whether a rule stops runs.
    pub(super) fn has_rule(&self) -> bool {
        self.study().policy.stops()
    }

    /// Whether it stops runs, by a rule or by its schedule.
    pub(super) fn stops(&self) -> bool {
        self.has_rule() || self.study().schedule.is_for_replays()
    }

    /// Whether it knows how runs end.
    pub(super) fn is_bound(&self) -> bool {
        self.study().policy.needs(1).truth
    }

    /// Whether a search can use it, and stops trials by it.
    pub(super) fn is_for_searches(&self) -> bool {
        self.has_rule() && !self.is_bound()
    }
}

impl ReplayVariant {
    /// The command that searches with these settings; `None` where no search stops trials so.
    pub(super) fn command(&self) -> Option<String> {
        let study = self.study();
        if !self.is_for_searches() || !study.schedule.is_full() {
            return None;
        }
        let mut fields = Map::new();
        if self.is_named {
            fields.insert("policy".to_owned(), study.policy.name().into());
            fields.extend(study.policy.named_settings().settings.as_object().cloned().unwrap_or_default());
        }
        if let Some(caution) = self.caution.filter(|_| !self.is_default()) {
            fields.insert("caution".to_owned(), caution.name().into());
        }
        let all = study.request().fields();
        let mut add = |names: &[&str]| {
            fields.extend(names.iter().filter_map(|&name| Some((name.to_owned(), all.get(name)?.clone()))));
        };
        let needs = study.policy.needs(study.max_resource);
        if self.is_named && self.caution.is_none() {
            if needs.forecasts {
                add(&["predictor", "stop_probability", "agreeing_checks", "error_budget", "refit"]);
            }
            if needs.forecasts || needs.burn_in {
                add(&["burn_in"]);
            }
            if needs.incumbent {
                add(&["offset", "nth_best"]);
            }
            if study.rank != Rank::Value {
                add(&["rank"]);
            }
        }
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let flag =
            |(name, value): (&String, &Value)| format!(" --{} {}", name.replace('_', "-"), text(value));
        Some(format!("foretell search{}", fields.iter().map(flag).collect::<String>()))
    }
}

/// The settings to compare. With a study file: `study`, between no stopping and perfect foresight.
pub(super) fn variants(
    arguments: &ReplayArguments,
    study: Option<&StudyRequest>,
    table: &RunTable,
) -> Result<Vec<ReplayVariant>, Failure> {
    if study.is_some() || arguments.is_short() {
        return Ok(few_variants(arguments, study, table)?);
    }
    let mut variants = Vec::new();
    for sampler in &arguments.samplers(table) {
        let usual = StudyRequest { sampler: Some(sampler.as_str().into()), ..StudyRequest::default() };
        let first = variants.len();
        for way in arguments.ways()? {
            let cautious = |caution| {
                variant_of_request(
                    arguments,
                    &StudyRequest { caution: Some(caution), ..usual.clone() },
                    table,
                )
            };
            let cautions = arguments.cautions();
            if let Some(named) = arguments.cautions_of_policy(&way)? {
                for caution in named {
                    let policy = Some(way.name.as_str().into());
                    let request = StudyRequest { policy, caution: Some(caution), ..usual.clone() };
                    variants.push(variant_of_request(arguments, &request, table)?);
                }
                continue;
            }
            if way.is_compared() {
                variants.extend(cautions.into_iter().map(cautious).collect::<Result<Vec<_>, _>>()?);
            } else if way.policy.needs(1).truth
                && let Some(&caution) = cautions.first()
            {
                variants.push(upper_bound_of(&cautious(caution)?));
            }
            for request in grid_requests(arguments, &way, &usual, table)? {
                variants.push(variant_of_grid_point(arguments, &way, &request, table)?);
            }
        }
        variants.extend(default_to_compare(&variants[first..], arguments, &usual, table)?);
    }
    Ok(variants)
}

/// The default settings of `foretell search` in the orders of `usual`, unless they are among the `variants`, or no variant stops runs that
/// would train to their end: no setting can be advised that was not compared with the default.
fn default_to_compare(
    variants: &[ReplayVariant],
    arguments: &ReplayArguments,
    usual: &StudyRequest,
    table: &RunTable,
) -> Result<Option<ReplayVariant>, Refusal> {
    let is_compared = arguments.scheduler() == SchedulerName::Full
        && variants.iter().any(ReplayVariant::is_for_searches)
        && !variants.iter().any(ReplayVariant::is_default);
    let request = StudyRequest { caution: Some(Caution::default()), ..usual.clone() };
    is_compared.then(|| variant_of_request(arguments, &request, table)).transpose()
}

/// No stopping, the settings of `foretell search` (or `study`), the usual peers, and perfect foresight.
fn few_variants(
    arguments: &ReplayArguments,
    study: Option<&StudyRequest>,
    table: &RunTable,
) -> Result<Vec<ReplayVariant>, Refusal> {
    let sampler = arguments.samplers(table).pop().map(|name| name.as_str().into());
    let usual = StudyRequest { sampler, ..StudyRequest::default() };
    let with = |name: &str| StudyRequest { policy: Some(name.into()), ..usual.clone() };
    let cautious = |caution: Caution| StudyRequest { caution: Some(caution), ..usual.clone() };
    let mut requests = vec![with(NoStopping::NAME)];
    match study {
        Some(study) => requests.push(usual.with_overrides(study)),
        None => {
            requests.extend(arguments.cautions().into_iter().map(cautious));
            // the median compares by the metric alone
            requests.extend(table.objectives().is_empty().then(|| with(MedianRule::NAME)));
            requests.push(with(AshaRule::NAME));
        }
    }
    let mut variants: Vec<ReplayVariant> = requests
        .iter()
        .map(|request| variant_of_request(arguments, request, table))
        .collect::<Result<_, _>>()?;
    if study.is_none() {
        variants.extend(default_to_compare(&variants, arguments, &usual, table)?);
    }
    // foresight that stops a trial when it is certain to lose is no bound where several train at once
    if arguments.workers == 1 {
        variants.push(upper_bound_of(&variants[1]));
    }
    Ok(variants)
}

/// The setting of a search that is asked for by `request`, for a study of as many runs.
fn variant_of_request(
    arguments: &ReplayArguments,
    request: &StudyRequest,
    table: &RunTable,
) -> Result<ReplayVariant, Refusal> {
    let mut setting = resolve_setting(arguments, request, table)?;
    let study = &mut setting.study;
    // a burn-in of all runs would leave none to stop
    let most = (arguments.own(table).trials(table) as u64).saturating_sub(1).max(1);
    study.burn_in = study.burn_in.min(most);
    let is_by_others = study.policy.is_by_forecasts() && !study.policy.is_by_curve_alone();
    let way = if is_by_others { ForecastRule::NAME } else { study.policy.name() };
    let is_named = request.policy.is_some();
    Ok(ReplayVariant { way: way.to_owned(), setting, caution: request.caution, is_named })
}

/// The replay of the study that `request` makes of the recorded runs.
fn resolve_setting(
    arguments: &ReplayArguments,
    request: &StudyRequest,
    table: &RunTable,
) -> Result<ReplaySetting, Refusal> {
    let own = arguments.own(table);
    let metric = table.history().metric();
    let is_hyperband = request.scheduler.is_some_and(SchedulerName::is_hyperband);
    // one that chooses networks has no recorded parameters to choose by
    let sampler = request.sampler.clone().filter(|_| !matches!(request.space, Some(Space::Own(_))));
    let asked = StudyRequest {
        // a request must name a space, even though recorded runs are never drawn from it
        space: Some(Space::Parameters(ParameterSpace::parse(&["any=float:0:1"])?)),
        metric: Some(metric.name.clone()),
        direction: Some(metric.direction),
        trials: (!is_hyperband).then_some(own.trials(table) as u64),
        epochs: Some(own.study.max_resource),
        seed: Some(arguments.seed),
        exempt: request.exempt.or_else(|| arguments.asked.last("exempt")),
        // the runs of a warm start are those of the table, so the request names no file, but resolves as if it learned from one
        learn_from: (own.warm_start > 0).then(Vec::new),
        sampler: sampler.clone(),
        // the recorded runs are there, whatever these would choose
        enqueue: None,
        budget_epochs: None,
        until_no_improvement: None,
        target: None,
        repeats: None,
        folds: None,
        objective: None,
        limit: None,
        reward: None,
        ..request.clone()
    };
    let study = asked.resolve_to_compare(catalogue())?;
    let sampler = sampler.map_or_else(SamplerSpec::default, |_| study.sampler.clone());
    Ok(ReplaySetting { study: StudySpec { sampler, trials: own.study.trials, ..study }, ..own })
}

/// The most that the setting `like` could save.
fn upper_bound_of(like: &ReplayVariant) -> ReplayVariant {
    let criterion = StopCriterion::default();
    let study = StudySpec { policy: OracleRule.into(), criterion, rank: Rank::Value, ..like.study().clone() };
    ReplayVariant {
        way: OracleRule::NAME.to_owned(),
        caution: None,
        is_named: true,
        setting: ReplaySetting { study, ..like.setting.clone() },
    }
}

/// The requests of a `way` of stopping: `usual` with every value of each field that matters to it.
fn grid_requests(
    arguments: &ReplayArguments,
    way: &StoppingWay,
    usual: &StudyRequest,
    table: &RunTable,
) -> Result<Vec<StudyRequest>, Refusal> {
    let needs = way.policy.needs(1);
    let scheduler = arguments.scheduler();
    let ranks = arguments.chosen::<Rank>("rank") != Rank::Value && !needs.forecasts;
    let own = way.policy.usual();
    let usual = StudyRequest {
        // a search refuses a rule that knows how runs end
        policy: (!needs.truth).then(|| way.policy.named_settings().clone()),
        stopping: needs.truth.then_some(false),
        scheduler: Some(scheduler),
        runs: scheduler.is_hyperband().then_some(arguments.runs),
        rungs: arguments.asked.last("rungs"),
        eta: Some(arguments.chosen("eta")),
        kappa_of: Some(arguments.chosen("kappa_of")),
        rank: ranks.then(|| arguments.chosen("rank")),
        refit: arguments.asked.last("refit").or((own.is_none() && !ranks).then_some(Refit::Once)),
        ..usual.clone()
    };
    let burn_ins = match &own {
        _ if ranks => vec![arguments.asked.last("burn_in").unwrap_or(StoppingDefaults::ranking().burn_in)],
        _ if !needs.burn_in && !needs.forecasts => vec![1],
        Some(own) => arguments.asked.all("burn_in").unwrap_or_else(|| vec![own.burn_in]),
        None => arguments.burn_ins(arguments.own(table).trials(table) as u64),
    };
    let is_compared = way.is_compared();
    let listed = |name: &str| arguments.values_to_compare::<Value>(name);
    let first = |name: &str| listed(name).into_iter().take(1).collect::<Vec<_>>();
    // without stopping, the runs that a run is compared with do not matter
    let references = scheduler.is_hyperband() && way.policy.stops();
    let mut axes = ["reference", "kappa"]
        .map(|name| (name, if references { listed(name) } else { first(name) }))
        .to_vec();
    axes.push(("burn_in", burn_ins.into_iter().map(Value::from).collect()));
    if needs.incumbent {
        axes.extend(["offset", "nth_best"].map(|name| (name, listed(name))));
    }
    if needs.forecasts {
        axes.push((
            "predictor",
            way.predictors(&arguments.values_to_compare::<String>("predictor"))
                .into_iter()
                .map(Value::from)
                .collect(),
        ));
        axes.push(("error_budget", arguments.rule_values("error_budget", is_compared)));
        axes.push(("stop_probability", listed("stop_probability")));
        axes.push(("agreeing_checks", arguments.rule_values("agreeing_checks", is_compared)));
    } else if ranks {
        axes.push(("predictor", first("predictor")));
    }
    let read = grid_points(&axes).into_iter().map(|point| StudyRequest::from_fields(&point));
    read.map(|point| Ok(usual.with_overrides(&point?))).collect()
}

/// Each value of the first axis with each of the others.
fn grid_points(axes: &[(&str, Vec<Value>)]) -> Vec<Map<String, Value>> {
    let Some(((name, values), others)) = axes.split_first() else { return vec![Map::new()] };
    let others = grid_points(others);
    let with = |value: &Value| {
        let mut all = others.clone();
        all.iter_mut().for_each(|point| drop(point.insert((*name).to_owned(), value.clone())));
        all
    };
    values.iter().flat_map(with).collect()
}

/// The setting of a point of the grid, whose burn-in is taken as it is.
fn variant_of_grid_point(
    arguments: &ReplayArguments,
    way: &StoppingWay,
    request: &StudyRequest,
    table: &RunTable,
) -> Result<ReplayVariant, Refusal> {
    let mut setting = resolve_setting(arguments, &StudyRequest { burn_in: None, ..request.clone() }, table)?;
    let study = &mut setting.study;
    study.policy = way.policy.clone();
    study.burn_in = request.burn_in.unwrap_or(study.burn_in);
    if way.is_schedule() {
        study.schedule = Schedule::IEpoch {
            epochs: arguments.first_points(study.max_resource),
            keep: arguments.continued_runs(arguments.own(table).trials(table) as u64),
        };
    }
    Ok(ReplayVariant { way: way.name.clone(), setting, caution: None, is_named: true })
}
