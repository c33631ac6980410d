//! Samplers on recorded runs: a proposal takes the nearest recorded configuration.

use crate::comparison::Comparison;
use crate::condition::{Condition, ValueTest};
use crate::parameter::{Parameter, ParameterKind};
use crate::parameter_space::ParameterSpace;
use crate::samplers::Sampler;
use crate::samplers::worth::Worth;
use foretell::{Configuration, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// Categories that a parameter has at most: a name that is different in each run is none.
const MAX_OPTIONS: usize = 20;
/// A positive parameter whose largest value is this many times its smallest is searched by its logarithm.
const LOG_SCALE_RATIO: f64 = 50.0;

/// The selected runs, in order.
pub type TakenRuns = Arc<Mutex<Vec<usize>>>;

/// A sampler that moves proposals to the nearest recorded configuration that is not used yet, and learns from that configuration. A trial that
/// somebody else proposed, such as the best one of an earlier study, takes the nearest run when it starts.
///
/// The distance is Euclidean in the unit cube of the space; two options, and a value and none, are 1 apart. O(runs · parameters) a
/// proposal.
pub struct NearestSampler {
    inner: Box<dyn Sampler>,
    space: ParameterSpace,
    left: Vec<(usize, Configuration)>,
    taken: TakenRuns,
    /// The configurations of the runs that trials of somebody else took.
    moved: BTreeMap<u64, Configuration>,
}

impl NearestSampler {
    /// `inner`, on the recorded `runs` with their numbers; those taken are pushed on `taken`.
    pub fn new(
        inner: Box<dyn Sampler>,
        space: ParameterSpace,
        runs: Vec<(usize, Configuration)>,
        taken: TakenRuns,
    ) -> Self {
        Self { inner, space, left: runs, taken, moved: BTreeMap::new() }
    }

    /// Takes the run nearest to the configuration that is `wanted`.
    fn take_nearest(&mut self, wanted: &Configuration) -> Option<Configuration> {
        let distances = self.left.iter().map(|(_, recorded)| self.distance(wanted, recorded));
        let (near, _) = distances.enumerate().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let (run, configuration) = self.left.remove(near);
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).push(run);
        Some(configuration)
    }

    fn distance(&self, wanted: &Configuration, recorded: &Configuration) -> f64 {
        let distances = self.space.parameters().iter().map(|parameter| {
            let [wanted, recorded] = [wanted, recorded]
                .map(|configuration| configuration.get(&parameter.name).unwrap_or(&Value::Missing));
            squared_distance(&parameter.kind, wanted, recorded)
        });
        distances.sum()
    }
}

fn squared_distance(kind: &ParameterKind, a: &Value, b: &Value) -> f64 {
    let differ = f64::from(u8::from(a != b));
    let (Some(x), Some(y)) = (a.as_number(), b.as_number()) else { return differ };
    let Some(bounds) = kind.bounds() else { return differ };
    let [lo, hi, x, y] = [bounds.lo, bounds.hi, x, y].map(|x| if bounds.is_log { x.ln() } else { x });
    if hi > lo { ((x - y) / (hi - lo)).powi(2) } else { 0.0 }
}

impl Sampler for NearestSampler {
    fn propose(&mut self, trial: u64) -> Option<Configuration> {
        let wanted = self.inner.propose(trial)?;
        self.take_nearest(&wanted)
    }

    fn observe_start(&mut self, trial: u64, configuration: &Configuration) {
        let known = self.taken.lock().unwrap_or_else(PoisonError::into_inner).len() as u64;
        let moved = if trial < known { None } else { self.take_nearest(configuration) };
        self.inner.observe_start(trial, moved.as_ref().unwrap_or(configuration));
        self.moved.extend(moved.map(|moved| (trial, moved)));
    }

    fn learn(&mut self, trial: u64, configuration: &Configuration, worth: Worth) {
        self.inner.learn(trial, self.moved.get(&trial).unwrap_or(configuration), worth);
    }

    fn observe_failure(&mut self, trial: u64, configuration: &Configuration) {
        self.inner.observe_failure(trial, self.moved.get(&trial).unwrap_or(configuration));
    }
}

/// The space that recorded configurations were drawn from, as far as they tell; `None` if no parameter differs between them.
///
/// Whole numbers make an integer parameter and others a real one, by its logarithm from 50 times the smallest on; up to 20 texts
/// make a choice. A parameter that only some of them have gets a condition on one that all have, if the values of that one tell
/// which. Everything else is not searched.
pub(super) fn space_of<'a>(
    recorded: impl Iterator<Item = &'a Configuration> + Clone,
) -> Option<ParameterSpace> {
    let names: BTreeSet<&String> = recorded.clone().flat_map(Configuration::keys).collect();
    let columns = names.into_iter().map(|name| {
        let values = recorded.clone().map(|all| all.get(name).filter(|value| **value != Value::Missing));
        (name, values.collect())
    });
    let columns: Vec<(&String, Vec<Option<&Value>>)> = columns.collect();
    let parameters = columns.iter().filter_map(|(name, values)| {
        let present: Vec<&Value> = values.iter().copied().flatten().collect();
        let kind = kind_of(&present)?;
        let active_if = match present.len() < values.len() {
            true => Some(columns.iter().find_map(|(other, of)| condition_of(other, of, values))?),
            false => None,
        };
        let parameter = Parameter { name: (*name).clone(), kind, active_if };
        parameter.validate().ok().map(|()| parameter)
    });
    let parameters: Vec<Parameter> = parameters.collect();
    if parameters.is_empty() { None } else { ParameterSpace::new(parameters).ok() }
}

/// The condition on the parameter `other`, whose values are `of`, that holds exactly in the runs that have one of `values`.
fn condition_of(other: &str, of: &[Option<&Value>], values: &[Option<&Value>]) -> Option<Condition> {
    let of: Vec<&Value> = of.iter().copied().collect::<Option<_>>()?;
    // it has to be a parameter of the space itself
    let kind = kind_of(&of)?;
    let [with, without] = [true, false].map(|is_present| {
        let mut part: Vec<&Value> = Vec::new();
        for (value, _) in of.iter().zip(values).filter(|(_, own)| own.is_some() == is_present) {
            if !part.contains(value) {
                part.push(value);
            }
        }
        part
    });
    if with.iter().any(|value| without.contains(value)) {
        return None;
    }
    let ends = [&with, &without].map(|part| {
        let numbers = part.iter().filter_map(|value| value.as_number());
        numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), x| (lo.min(x), hi.max(x)))
    });
    let test = match (kind.options(), ends) {
        (None, [(lo, _), (_, hi)]) if lo > hi => ValueTest::Compared(Comparison::AtLeast, lo),
        (None, [(_, hi), (lo, _)]) if hi < lo => ValueTest::Compared(Comparison::AtMost, hi),
        // a list of real numbers would tell any runs apart
        (None, _) if kind.value_count().is_none_or(|values| values > MAX_OPTIONS as u64) => return None,
        _ => ValueTest::AnyOf(with.into_iter().cloned().collect()),
    };
    Some(Condition::on(other, test))
}

fn kind_of(values: &[&Value]) -> Option<ParameterKind> {
    let numbers: Option<Vec<f64>> = values.iter().map(|value| value.as_number()).collect();
    let Some(numbers) = numbers else {
        let mut options: Vec<Value> = Vec::new();
        for &value in values {
            if !options.contains(value) {
                options.push(value.clone());
            }
        }
        let usable = (2..=MAX_OPTIONS).contains(&options.len()) && !options.contains(&Value::Missing);
        return usable.then_some(ParameterKind::Choice { options });
    };
    let lo = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let hi = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (whole, log) = (numbers.iter().all(|x| x.fract() == 0.0), lo > 0.0 && hi >= LOG_SCALE_RATIO * lo);
    (hi > lo).then_some(match (whole, log) {
        (true, true) => ParameterKind::LogInt { lo: lo as i64, hi: hi as i64, step: None },
        (true, false) => ParameterKind::Int { lo: lo as i64, hi: hi as i64, step: None },
        (false, true) => ParameterKind::Log { lo, hi, step: None },
        (false, false) => ParameterKind::Float { lo, hi, step: None },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samplers::{SamplerSpec, TpeSampling};
    use crate::space::Space;

    fn run(lr: f64, n: f64, o: &str) -> Configuration {
        let values = [
            ("lr", Value::Number(lr)),
            ("n", Value::Number(n)),
            ("o", Value::Text(o.to_owned())),
            ("id", Value::Text(format!("{lr} {n} {o}"))),
            ("same", Value::Number(3.0)),
        ];
        values.map(|(name, value)| (name.to_owned(), value)).into()
    }

    fn runs() -> Vec<Configuration> {
        (0..60)
            .map(|i| run(10_f64.powf(-f64::from(i) / 20.0), f64::from(i % 4), ["a", "b"][i as usize % 2]))
            .collect()
    }

    #[test]
    fn a_space_is_read_off_recorded_configurations() {
        let runs = runs();
        let space = space_of(runs.iter()).unwrap();
        let texts: Vec<String> =
            space.parameters().iter().map(|p| format!("{}={}", p.name, p.kind)).collect();
        assert!(texts[0].starts_with("lr=log:") && texts[0].ends_with(":1"), "{texts:?}");
        assert_eq!(texts[1..], ["n=int:0:3", "o=choice:a,b"]);
        assert!(space_of([run(1.0, 1.0, "a")].iter()).is_none());
    }

    #[test]
    fn a_parameter_of_some_runs_gets_the_condition_that_tells_them_apart() {
        let with = |mut run: Configuration, name: &str, value: f64| {
            run.insert(name.to_owned(), Value::Number(value));
            run
        };
        let runs = runs().into_iter().enumerate().map(|(i, run)| match (i % 4, i % 2) {
            (2.., 0) => with(with(run, "deep", i as f64), "momentum", 1.0 / (i + 1) as f64),
            (2.., _) => with(run, "deep", i as f64),
            (_, 0) => with(run, "momentum", 1.0 / (i + 1) as f64),
            _ if i < 30 => with(run, "unclear", i as f64),
            _ => run,
        });
        let runs: Vec<Configuration> = runs.collect();
        let space = space_of(runs.iter()).unwrap();
        let conditions: Vec<(&str, Option<String>)> = space
            .parameters()
            .iter()
            .map(|p| (p.name.as_str(), p.active_if.as_ref().map(ToString::to_string)))
            .collect();
        let expected = [("deep", Some("n>=2")), ("lr", None), ("momentum", Some("n=0,2")), ("n", None)];
        for (name, condition) in expected {
            let found = conditions.iter().find(|(known, _)| *known == name);
            let found = found.unwrap_or_else(|| panic!("no {name} in {conditions:?}"));
            // both the option a and the numbers 0 and 2 tell which runs have a momentum
            assert!(found.1.as_deref() == condition || found.1.as_deref() == Some("o=a"), "{conditions:?}");
        }
        assert!(conditions.iter().all(|(name, _)| *name != "unclear"), "{conditions:?}");
        assert!(runs.iter().all(|run| space.check_part(&only(run, &space)).is_ok()));
    }

    fn only(run: &Configuration, space: &ParameterSpace) -> Configuration {
        let names: Vec<&String> = space.parameters().iter().map(|parameter| &parameter.name).collect();
        run.iter().filter(|(name, _)| names.contains(name)).map(|(n, v)| (n.clone(), v.clone())).collect()
    }

    #[test]
    fn every_run_is_taken_once_and_each_is_the_nearest_left() {
        let (recorded, taken) = (runs(), TakenRuns::default());
        let space = space_of(recorded.iter()).unwrap();
        let inner = SamplerSpec::from(TpeSampling).sampler(&Space::Parameters(space.clone()), 4).unwrap();
        let mut nearest = NearestSampler::new(
            inner,
            space,
            recorded.iter().cloned().enumerate().collect(),
            TakenRuns::clone(&taken),
        );
        for trial in 0..60 {
            let configuration = nearest.propose(trial).unwrap();
            assert_eq!(configuration, recorded[*taken.lock().unwrap().last().unwrap()]);
            nearest.observe_start(trial, &configuration);
            nearest.learn(
                trial,
                &configuration,
                Worth::from_measurement(configuration["n"].as_number().unwrap()),
            );
        }
        assert_eq!(nearest.propose(60), None);
        let mut all = taken.lock().unwrap().clone();
        all.sort_unstable();
        assert_eq!(all, (0..60).collect::<Vec<_>>());
    }

    #[test]
    fn a_trial_that_somebody_else_proposes_takes_the_nearest_run() {
        let (recorded, taken) = (runs(), TakenRuns::default());
        let space = space_of(recorded.iter()).unwrap();
        let inner = SamplerSpec::from(TpeSampling).sampler(&Space::Parameters(space.clone()), 4).unwrap();
        let all = recorded.iter().cloned().enumerate().collect();
        let mut nearest = NearestSampler::new(inner, space, all, TakenRuns::clone(&taken));
        nearest.observe_start(0, &run(recorded[7]["lr"].as_number().unwrap(), 3.0, "b"));
        let next = nearest.propose(1).unwrap();
        nearest.observe_start(1, &next);
        let taken = taken.lock().unwrap().clone();
        assert_eq!((taken[0], taken.len()), (7, 2));
        assert_eq!(nearest.moved, BTreeMap::from([(0, recorded[7].clone())]));
    }
}
