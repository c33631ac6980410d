//! The settings that a replay compares: every policy with every value of the flags that matter to it.

use super::flags::Arguments;
use crate::scheduling::SchedulerName;
use clap::ValueEnum;
use foretell_search::{ByForecast, Kappa, Reference, ReplaySpec, Schedule, Stopper, Table};

/// Who is stopped, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Policy {
    /// Nobody.
    None,
    /// Who is forecast not to win, by --predictor.
    Srm,
    /// Who would not win if the last value were the end, give or take.
    LastValue,
    /// Who is forecast not to win by learning-curve extrapolation. Not built yet, which is said to whoever asks for it.
    #[value(hide = true)]
    Lce,
    /// Who is below the median of finished runs.
    Median,
    /// Who has not improved for --patience points.
    Patience,
    /// Who will not win: perfect foresight, the most that any forecast could save.
    Oracle,
    /// All but the best --keep after --i-epochs points.
    IEpoch,
}

impl Policy {
    /// Its name on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Srm => "srm",
            Self::LastValue => "last-value",
            Self::Lce => "lce",
            Self::Median => "median",
            Self::Patience => "patience",
            Self::Oracle => "oracle",
            Self::IEpoch => "i-epoch",
        }
    }

    /// The predictors that it forecasts by; none if it makes no forecast.
    pub(super) fn predictors(self, chosen: &[String]) -> Vec<String> {
        match self {
            Self::Srm => chosen.to_vec(),
            Self::LastValue => vec![self.name().to_owned()],
            _ => Vec::new(),
        }
    }
}

/// One setting.
#[derive(Clone, Debug)]
pub(super) struct Variant {
    pub(super) policy: Policy,
    pub(super) predictor: Option<String>,
    pub(super) rule: Option<ByForecast>,
    /// With Hyperband: whom a run is compared with.
    pub(super) reference: Option<(Reference, Kappa)>,
    pub(super) spec: ReplaySpec,
}

/// Every policy with every value of the flags that matter to it; those with the same predictor side by side.
pub(super) fn variants(arguments: &Arguments, table: &Table) -> Vec<Variant> {
    let mut variants = Vec::new();
    for policy in arguments.policies() {
        for spec in specs(arguments, policy, table) {
            let predictors = policy.predictors(&arguments.predictor);
            for predictor in &predictors {
                for rule in rules(arguments, policy == Policy::LastValue) {
                    let spec = ReplaySpec { stopper: Stopper::Forecast(rule), ..spec };
                    let predictor = Some(predictor.clone());
                    variants.push(Variant {
                        policy,
                        predictor,
                        rule: Some(rule),
                        reference: reference(&spec),
                        spec,
                    });
                }
            }
            if predictors.is_empty() {
                let stopper = match policy {
                    Policy::Median => Stopper::Median,
                    Policy::Patience => Stopper::Patience(arguments.patience),
                    Policy::Oracle => Stopper::Oracle,
                    _ => Stopper::None,
                };
                let spec = ReplaySpec { stopper, ..spec };
                variants.push(Variant {
                    policy,
                    predictor: None,
                    rule: None,
                    reference: reference(&spec),
                    spec,
                });
            }
        }
    }
    variants
}

/// Each budget with each Δ and each number of agreeing checks.
fn rules(arguments: &Arguments, baseline: bool) -> Vec<ByForecast> {
    let mut rules = Vec::new();
    for budget in arguments.budgets(baseline) {
        for stop_probability in arguments.stop_probabilities() {
            for agreeing_looks in arguments.agreeing(baseline) {
                rules.push(ByForecast { stop_probability, agreeing_looks, budget });
            }
        }
    }
    rules
}

fn reference(spec: &ReplaySpec) -> Option<(Reference, Kappa)> {
    match spec.schedule {
        Schedule::Hyperband { kappa, reference, .. } if spec.stopper != Stopper::None => {
            Some((reference, kappa))
        }
        _ => None,
    }
}

/// The schedules, burn-ins, offsets and incumbents that matter to `policy`, without its stopper.
fn specs(arguments: &Arguments, policy: Policy, table: &Table) -> Vec<ReplaySpec> {
    let compares = !matches!(policy, Policy::None | Policy::Median | Policy::Patience | Policy::IEpoch);
    let first = |values: Vec<f64>| if compares { values } else { vec![0.0] };
    let offsets = first(arguments.offset.clone());
    let ranks = if compares { arguments.nth_best.clone() } else { vec![1] };
    let burn_ins = match policy {
        Policy::None | Policy::IEpoch => vec![1],
        _ => arguments.burn_ins(table.len()),
    };
    let mut specs = Vec::new();
    for schedule in schedules(arguments, policy, table) {
        for &burn_in in &burn_ins {
            for &offset in &offsets {
                for &nth_best in &ranks {
                    specs.push(ReplaySpec { schedule, burn_in, offset, nth_best, ..common(arguments) });
                }
            }
        }
    }
    specs
}

fn common(arguments: &Arguments) -> ReplaySpec {
    ReplaySpec {
        refit: arguments.refit,
        exempt: arguments.exempt,
        max_resource: arguments.max_resource,
        first_look: arguments.first_check,
        look_every: arguments.check_every,
        retrain: arguments.retrain,
        warm_start: arguments.warm_start,
        workers: arguments.workers,
        orderings: arguments.orderings,
        seed: arguments.seed,
        ..ReplaySpec::default()
    }
}

fn schedules(arguments: &Arguments, policy: Policy, table: &Table) -> Vec<Schedule> {
    let eta = arguments.eta;
    if policy == Policy::IEpoch {
        let points = arguments.max_resource.map_or(table.points(), |resource| resource as usize);
        return vec![Schedule::IEpoch {
            epochs: arguments.first_points(points),
            keep: arguments.kept(table.len()),
        }];
    }
    match arguments.scheduler {
        SchedulerName::Full => vec![Schedule::Full],
        SchedulerName::SuccessiveHalving => vec![Schedule::SuccessiveHalving { eta }],
        SchedulerName::Asha => vec![Schedule::Asha { eta }],
        SchedulerName::Hyperband | SchedulerName::FHyperband => {
            let runs = arguments.runs;
            let pairs = arguments.references();
            let used = if policy == Policy::None { 1 } else { pairs.len() };
            let one = |&(reference, kappa): &(Reference, Kappa)| Schedule::Hyperband {
                eta,
                runs,
                kappa,
                reference,
            };
            pairs[..used].iter().map(one).collect()
        }
    }
}
