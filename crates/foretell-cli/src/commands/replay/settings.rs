//! The settings that a replay compares: by default those of a few searches, and on demand every policy with every value of the flags that
//! matter to it.

use super::flags::ReplayArguments;
use super::way::Way;
use crate::catalogue::catalogue;
use crate::failure::Failure;
use foretell::StopCriterion;
use foretell_search::{
    AshaRule, Caution, ForecastRule, Kappa, MedianRule, NamedRule, NoStopping, Oracle, ParameterSpace, Rank,
    Reference, Refit, Refusal, ReplaySpec, Rungs, SamplerSpec, Schedule, Space, Stopping, StudyRequest,
    Table,
};

/// One setting.
#[derive(Clone, Debug)]
pub(super) struct Variant {
    /// The name of its way of stopping.
    pub(super) way: String,
    pub(super) predictor: Option<String>,
    /// When a forecast stops a run, if forecasts are made.
    pub(super) criterion: Option<StopCriterion>,
    /// With Hyperband: the runs that a run is compared with.
    pub(super) reference: Option<(Reference, Kappa)>,
    pub(super) spec: ReplaySpec,
    /// The setting of `foretell search --caution`, if it is one.
    pub(super) caution: Option<Caution>,
}

impl Variant {
    /// The caution by which predictor and Δ are chosen from the runs of a warm start, as `foretell search --learn-from` chooses them.
    pub(super) fn teaching_caution(&self) -> Option<Caution> {
        self.caution.filter(|_| self.spec.warm_start > 0)
    }

    /// Whether these are the default settings of `foretell search`.
    pub(super) fn is_default(&self) -> bool {
        self.caution == Some(Caution::default())
    }

    /// The predictor by which it forecasts, and whether each curve alone.
    pub(super) fn forecasts_by(&self) -> Option<(bool, String)> {
        Some((self.spec.policy.is_by_curve_alone(), self.predictor.clone()?))
    }

    /// Whether it stops runs, by a rule or by its schedule.
    pub(super) fn stops(&self) -> bool {
        self.spec.policy.stops() || matches!(self.spec.schedule, Schedule::IEpoch { .. })
    }

    /// Whether it knows how runs end.
    pub(super) fn is_bound(&self) -> bool {
        self.spec.policy.needs(1).truth
    }
}

/// The settings to compare. With a study file: `study`, between no stopping and perfect foresight.
pub(super) fn variants(
    arguments: &ReplayArguments,
    study: Option<&StudyRequest>,
    table: &Table,
) -> Result<Vec<Variant>, Failure> {
    if study.is_some() || arguments.is_short() {
        return Ok(short(arguments, study, table)?);
    }
    let mut variants = Vec::new();
    for sampler in &arguments.sampler {
        let sampler = catalogue().sampler(&sampler.as_str().into(), &serde_json::Map::new(), 0, None);
        let sampler = sampler.map_err(|error| Failure::input(format!("--sampler: {}", error.reason)))?;
        let with_sampler = |variant: Variant| {
            let spec = ReplaySpec { sampler: sampler.clone(), ..variant.spec };
            Variant { spec, ..variant }
        };
        variants.extend(in_random_order(arguments, table)?.into_iter().map(with_sampler));
    }
    Ok(variants)
}

/// No stopping, the settings of `foretell search` (or `study`), the usual peers, and perfect foresight.
fn short(
    arguments: &ReplayArguments,
    study: Option<&StudyRequest>,
    table: &Table,
) -> Result<Vec<Variant>, Refusal> {
    let with = |name: &str| StudyRequest { policy: Some(name.into()), ..StudyRequest::default() };
    let cautious = |caution: Caution| StudyRequest { caution: Some(caution), ..StudyRequest::default() };
    let mut requests = vec![with(NoStopping::NAME)];
    match study {
        Some(study) => requests.push(study.clone()),
        None => {
            requests.extend(arguments.cautions().into_iter().map(cautious));
            // the median compares by the metric alone
            requests.extend(table.objectives().is_empty().then(|| with(MedianRule::NAME)));
            requests.push(with(AshaRule::NAME));
        }
    }
    let mut variants: Vec<Variant> =
        requests.iter().map(|request| of_request(arguments, request, table)).collect::<Result<_, _>>()?;
    variants.push(bound(&variants[1]));
    Ok(variants)
}

fn in_random_order(arguments: &ReplayArguments, table: &Table) -> Result<Vec<Variant>, Failure> {
    let mut variants = Vec::new();
    for way in arguments.ways()? {
        if way.is_compared() {
            for caution in arguments.cautions() {
                variants.push(usual(arguments, caution, table)?);
            }
        } else if way.policy.needs(1).truth
            && let Some(&caution) = arguments.cautions().first()
        {
            variants.push(bound(&usual(arguments, caution, table)?));
        }
        for spec in specs(arguments, &way, table) {
            let predictors = way.predictors(&arguments.compared::<String>("predictor"));
            for predictor in &predictors {
                for criterion in criteria(arguments, !way.is_compared(), &spec.criterion) {
                    let spec = ReplaySpec { policy: way.policy.clone(), criterion, ..spec.clone() };
                    variants.push(Variant {
                        way: way.name.clone(),
                        predictor: Some(predictor.clone()),
                        criterion: Some(criterion),
                        reference: reference(&spec),
                        spec,
                        caution: None,
                    });
                }
            }
            if predictors.is_empty() {
                let spec = ranked(arguments, ReplaySpec { policy: way.policy.clone(), ..spec });
                let ranking = (spec.rank != Rank::Value)
                    .then(|| arguments.compared::<String>("predictor").into_iter().next());
                variants.push(Variant {
                    way: way.name.clone(),
                    predictor: ranking.flatten(),
                    criterion: None,
                    reference: reference(&spec),
                    spec,
                    caution: None,
                });
            }
        }
    }
    Ok(variants)
}

/// `spec` with the value that its runs are compared by at rungs.
fn ranked(arguments: &ReplayArguments, spec: ReplaySpec) -> ReplaySpec {
    let rank = arguments.chosen("rank");
    if rank == Rank::Value {
        return spec;
    }
    let Stopping { burn_in, refit, .. } = Stopping::ranking();
    let burn_in = arguments.asked.last("burn_in").unwrap_or(burn_in as usize);
    ReplaySpec { rank, burn_in, refit: arguments.refit().map_or(refit, Refit::growth), ..spec }
}

/// The settings of `foretell search --caution` for a study of as many runs.
fn usual(arguments: &ReplayArguments, caution: Caution, table: &Table) -> Result<Variant, Refusal> {
    of_request(arguments, &StudyRequest { caution: Some(caution), ..StudyRequest::default() }, table)
}

/// The setting of a search that is asked for by `request`, for a study of as many runs.
fn of_request(
    arguments: &ReplayArguments,
    request: &StudyRequest,
    table: &Table,
) -> Result<Variant, Refusal> {
    let common = common(arguments);
    let (runs, metric) = (common.trials(table), table.history().metric());
    let asked = StudyRequest {
        space: Some(Space::Parameters(ParameterSpace::parse(&["any=float:0:1"])?)),
        metric: Some(metric.name.clone()),
        direction: Some(metric.direction),
        trials: Some(runs as u64).filter(|_| request.runs.is_none()),
        epochs: Some(common.resource(table)),
        learn_from: (common.warm_start > 0).then(Vec::new),
        // the recorded runs are there, whatever these would choose
        enqueue: None,
        budget_epochs: None,
        until_no_improvement: None,
        target: None,
        repeats: None,
        objective: None,
        limit: None,
        reward: None,
        ..request.clone()
    };
    let study = asked.resolve_with(None, catalogue())?;
    let is_by_forecasts = study.policy.is_by_forecasts();
    let spec = ReplaySpec {
        sampler: request.sampler.as_ref().map_or_else(SamplerSpec::default, |_| study.sampler.clone()),
        schedule: study.schedule,
        rank: study.rank,
        policy: study.policy,
        criterion: study.criterion,
        burn_in: (study.burn_in as usize).min(runs.saturating_sub(1)).max(1),
        refit: study.refit,
        exempt: request.exempt.unwrap_or(common.exempt),
        ..common
    };
    let forecasts = is_by_forecasts || spec.rank != Rank::Value;
    let way = if is_by_forecasts && !spec.policy.is_by_curve_alone() {
        ForecastRule::NAME
    } else {
        spec.policy.name()
    };
    Ok(Variant {
        way: way.to_owned(),
        predictor: forecasts.then_some(study.predictor),
        criterion: is_by_forecasts.then_some(spec.criterion),
        reference: reference(&spec),
        spec,
        caution: request.caution,
    })
}

/// The most that the setting `like` could save.
fn bound(like: &Variant) -> Variant {
    let criterion = StopCriterion::default();
    Variant {
        way: Oracle::NAME.to_owned(),
        predictor: None,
        criterion: None,
        spec: ReplaySpec { policy: Oracle.into(), criterion, rank: Rank::Value, ..like.spec.clone() },
        caution: None,
        ..like.clone()
    }
}

/// Each budget with each Δ and each number of agreeing checks, with the offset and the n-th best of `common`.
fn criteria(arguments: &ReplayArguments, baseline: bool, common: &StopCriterion) -> Vec<StopCriterion> {
    let mut criteria = Vec::new();
    for error_budget in arguments.budgets(baseline) {
        for stop_probability in arguments.compared("stop_probability") {
            for agreeing_checks in arguments.agreeing(baseline) {
                criteria.push(StopCriterion { stop_probability, agreeing_checks, error_budget, ..*common });
            }
        }
    }
    criteria
}

fn reference(spec: &ReplaySpec) -> Option<(Reference, Kappa)> {
    match spec.schedule {
        Schedule::Hyperband { kappa, reference, .. } if spec.policy.stops() => Some((reference, kappa)),
        _ => None,
    }
}

/// The schedules, burn-ins, offsets and incumbents that matter to `way`.
fn specs(arguments: &ReplayArguments, way: &Way, table: &Table) -> Vec<ReplaySpec> {
    let needs = way.policy.needs(1);
    let (offsets, ranks) = match needs.incumbent {
        true => (arguments.compared("offset"), arguments.compared("nth_best")),
        false => (vec![0.0], vec![1]),
    };
    let own = way.policy.usual();
    let burn_ins = match &own {
        _ if !needs.burn_in && !needs.forecasts => vec![1],
        Some(own) => arguments.asked.all("burn_in").unwrap_or_else(|| vec![own.burn_in as usize]),
        None => arguments.burn_ins(common(arguments).trials(table)),
    };
    let mut specs = Vec::new();
    for schedule in schedules(arguments, way, table) {
        for &burn_in in &burn_ins {
            for &offset in &offsets {
                for &nth_best in &ranks {
                    let criterion = StopCriterion { offset, nth_best, ..StopCriterion::default() };
                    let common = common(arguments);
                    let refit = match (arguments.refit(), &own) {
                        (None, Some(own)) => own.refit,
                        _ => common.refit,
                    };
                    specs.push(ReplaySpec { schedule, burn_in, criterion, refit, ..common });
                }
            }
        }
    }
    specs
}

fn common(arguments: &ReplayArguments) -> ReplaySpec {
    ReplaySpec {
        refit: arguments.refit().and_then(Refit::growth),
        exempt: arguments.chosen("exempt"),
        max_resource: arguments.max_resource,
        first_check: arguments.first_check,
        check_every: arguments.check_every,
        retrain: arguments.retrain,
        warm_start: arguments.warm_start,
        earlier_searches: arguments.earlier_searches,
        study_size: arguments.study_size,
        workers: arguments.workers,
        orderings: arguments.orderings,
        seed: arguments.seed,
        ..ReplaySpec::default()
    }
}

fn schedules(arguments: &ReplayArguments, way: &Way, table: &Table) -> Vec<Schedule> {
    if way.is_schedule() {
        let points = arguments.max_resource.map_or(table.points(), |resource| resource as usize);
        return vec![Schedule::IEpoch {
            epochs: arguments.first_points(points),
            keep: arguments.kept(common(arguments).trials(table)),
        }];
    }
    let pairs = arguments.references();
    // without stopping, the runs that a run is compared with do not matter
    let differ = arguments.scheduler().is_hyperband() && way.policy.stops();
    let schedule = |&(reference, kappa): &(Reference, Kappa)| {
        let (eta, most, runs) = (arguments.chosen("eta"), arguments.rungs(), arguments.runs);
        arguments.scheduler().schedule(&Rungs { eta, most, runs, kappa, reference })
    };
    pairs[..if differ { pairs.len() } else { 1 }].iter().map(schedule).collect()
}
