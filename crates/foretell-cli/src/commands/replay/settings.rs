//! The settings that a replay compares: every policy with every value of the flags that matter to it.

use super::flags::Arguments;
use super::policy_name::PolicyName;
use crate::scheduling::RecordedSamplerName;
use foretell::StopCriterion;
use foretell_search::{
    Caution, Kappa, Oracle, Policy, Rank, Reference, Refit, ReplaySpec, Rungs, Schedule, Stopping, Table,
};

/// One setting.
#[derive(Clone, Debug)]
pub(super) struct Variant {
    pub(super) policy: PolicyName,
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
}

/// Every policy with every value of the flags that matter to it; those with the same predictor side by side.
pub(super) fn variants(arguments: &Arguments, table: &Table) -> Vec<Variant> {
    let variants_of = |&sampler: &RecordedSamplerName| {
        let with_sampler = move |variant: Variant| {
            let spec = ReplaySpec { sampler: sampler.into(), ..variant.spec };
            Variant { spec, ..variant }
        };
        in_random_order(arguments, table).into_iter().map(with_sampler)
    };
    arguments.sampler.iter().flat_map(variants_of).collect()
}

fn in_random_order(arguments: &Arguments, table: &Table) -> Vec<Variant> {
    let mut variants = Vec::new();
    for policy in arguments.policies() {
        match policy {
            PolicyName::Srm => {
                variants.extend(arguments.cautions().into_iter().map(|c| usual(arguments, c, table)))
            }
            PolicyName::Oracle => variants.extend(bound(arguments, table)),
            _ => {}
        }
        let rule = policy.policy(arguments.chosen("eta"), arguments.chosen("patience"));
        for spec in specs(arguments, policy, table) {
            let predictors = policy.predictors(&arguments.compared::<String>("predictor"));
            for predictor in &predictors {
                for criterion in criteria(arguments, policy != PolicyName::Srm, &spec.criterion) {
                    let spec = ReplaySpec { policy: rule.clone(), criterion, ..spec.clone() };
                    let predictor = Some(predictor.clone());
                    variants.push(Variant {
                        policy,
                        predictor,
                        criterion: Some(criterion),
                        reference: reference(&spec),
                        spec,
                        caution: None,
                    });
                }
            }
            if predictors.is_empty() {
                let spec = ranked(arguments, ReplaySpec { policy: rule.clone(), ..spec });
                let ranking = (spec.rank != Rank::Value)
                    .then(|| arguments.compared::<String>("predictor").into_iter().next());
                variants.push(Variant {
                    policy,
                    predictor: ranking.flatten(),
                    criterion: None,
                    reference: reference(&spec),
                    spec,
                    caution: None,
                });
            }
        }
    }
    variants
}

/// `spec` with the value that its runs are compared by at rungs.
fn ranked(arguments: &Arguments, spec: ReplaySpec) -> ReplaySpec {
    let rank = arguments.chosen("rank");
    if rank == Rank::Value {
        return spec;
    }
    let Stopping { burn_in, refit, .. } = Stopping::ranking();
    let burn_in = arguments.asked.last("burn_in").unwrap_or(burn_in as usize);
    ReplaySpec { rank, burn_in, refit: arguments.refit().map_or(refit, Refit::growth), ..spec }
}

/// The settings of `foretell search --caution` for a study of as many runs.
fn usual(arguments: &Arguments, caution: Caution, table: &Table) -> Variant {
    let usual = caution.stopping();
    let common = common(arguments);
    let spec = ReplaySpec {
        policy: Policy::cautious(caution, common.warm_start > 0),
        criterion: usual.criterion,
        burn_in: (usual.burn_in as usize).min(common.trials(table).saturating_sub(1)).max(1),
        refit: usual.refit,
        ..common
    };
    let forecasts = spec.policy.is_by_forecasts();
    Variant {
        policy: PolicyName::Srm,
        predictor: forecasts.then_some(usual.predictor),
        criterion: forecasts.then_some(spec.criterion),
        reference: None,
        spec,
        caution: Some(caution),
    }
}

/// The most that the settings of `foretell search` could save.
fn bound(arguments: &Arguments, table: &Table) -> Option<Variant> {
    let caution = *arguments.cautions().first()?;
    let like = usual(arguments, caution, table);
    let criterion = StopCriterion::default();
    Some(Variant {
        policy: PolicyName::Oracle,
        predictor: None,
        criterion: None,
        spec: ReplaySpec { policy: Oracle.into(), criterion, ..like.spec },
        caution: None,
        ..like
    })
}

/// Each budget with each Δ and each number of agreeing checks, with the offset and the n-th best of `common`.
fn criteria(arguments: &Arguments, baseline: bool, common: &StopCriterion) -> Vec<StopCriterion> {
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

/// The schedules, burn-ins, offsets and incumbents that matter to `policy`.
fn specs(arguments: &Arguments, policy: PolicyName, table: &Table) -> Vec<ReplaySpec> {
    let compares = !matches!(
        policy,
        PolicyName::None | PolicyName::Median | PolicyName::Patience | PolicyName::IEpoch | PolicyName::Asha
    );
    let first = |values: Vec<f64>| if compares { values } else { vec![0.0] };
    let offsets = first(arguments.compared("offset"));
    let ranks = if compares { arguments.compared("nth_best") } else { vec![1] };
    let own = policy.usual();
    let burn_ins = match policy {
        PolicyName::None | PolicyName::IEpoch | PolicyName::Asha => vec![1],
        _ if policy.is_by_curve_alone() => arguments
            .asked
            .all("burn_in")
            .unwrap_or_else(|| vec![own.as_ref().map_or(1, |own| own.burn_in as usize)]),
        _ => arguments.burn_ins(common(arguments).trials(table)),
    };
    let mut specs = Vec::new();
    for schedule in schedules(arguments, policy, table) {
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

fn common(arguments: &Arguments) -> ReplaySpec {
    ReplaySpec {
        refit: arguments.refit().and_then(Refit::growth),
        exempt: arguments.chosen("exempt"),
        max_resource: arguments.max_resource,
        first_check: arguments.first_check,
        check_every: arguments.check_every,
        retrain: arguments.retrain,
        warm_start: arguments.warm_start,
        study_size: arguments.study_size,
        workers: arguments.workers,
        orderings: arguments.orderings,
        seed: arguments.seed,
        ..ReplaySpec::default()
    }
}

fn schedules(arguments: &Arguments, policy: PolicyName, table: &Table) -> Vec<Schedule> {
    if policy == PolicyName::IEpoch {
        let points = arguments.max_resource.map_or(table.points(), |resource| resource as usize);
        return vec![Schedule::IEpoch {
            epochs: arguments.first_points(points),
            keep: arguments.kept(common(arguments).trials(table)),
        }];
    }
    let pairs = arguments.references();
    // without stopping, the runs that a run is compared with do not matter
    let differ = arguments.scheduler().is_hyperband() && policy != PolicyName::None;
    let schedule = |&(reference, kappa): &(Reference, Kappa)| {
        let (eta, most, runs) = (arguments.chosen("eta"), arguments.rungs(), arguments.runs);
        arguments.scheduler().schedule(&Rungs { eta, most, runs, kappa, reference })
    };
    pairs[..if differ { pairs.len() } else { 1 }].iter().map(schedule).collect()
}
