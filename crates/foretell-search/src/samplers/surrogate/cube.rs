//! Configurations of a parameter space as points of the unit cube, and back.

use crate::parameter::{Parameter, ParameterKind};
use crate::parameter_space::ParameterSpace;
use foretell::{Configuration, Value};

/// One coordinate for each parameter, in \[0, 1\]; `None` where the parameter does not apply.
pub(crate) type Point = Vec<Option<f64>>;

/// A parameter space as a unit cube.
///
/// | kind     | coordinate of the value v                                    |
/// |----------|--------------------------------------------------------------|
/// | `float`  | (v − lo)/(hi − lo)                                           |
/// | `log`    | (ln v − ln lo)/(ln hi − ln lo)                               |
/// | `int`    | (v − lo + ½)/(hi − lo + 1)                                   |
/// | `logint` | (ln v − ln(lo − ½))/(ln(hi + ½) − ln(lo − ½))                |
/// | `choice` | (i + ½)/k for option i, from 0, of k                         |
#[derive(Clone, Debug)]
pub(crate) struct Cube {
    space: ParameterSpace,
}

impl Cube {
    pub(crate) fn new(space: ParameterSpace) -> Self {
        Self { space }
    }

    fn parameters(&self) -> &[Parameter] {
        self.space.parameters()
    }

    /// How many parameters there are.
    pub(crate) fn dimensions(&self) -> usize {
        self.parameters().len()
    }

    /// How many options parameter `j` has; `None` if its values have an order.
    pub(crate) fn options(&self, j: usize) -> Option<usize> {
        match &self.parameters()[j].kind {
            ParameterKind::Choice { options } => Some(options.len()),
            _ => None,
        }
    }

    /// How many values parameter `j` has; `None` if it is a real number.
    pub(crate) fn values(&self, j: usize) -> Option<u64> {
        match &self.parameters()[j].kind {
            ParameterKind::Float { lo, hi } | ParameterKind::Log { lo, hi } => (hi <= lo).then_some(1),
            ParameterKind::Int { lo, hi } | ParameterKind::LogInt { lo, hi } => Some(hi.abs_diff(*lo) + 1),
            ParameterKind::Choice { options } => Some(options.len() as u64),
        }
    }

    /// The configuration at `coordinates`, of which those of parameters that do not apply are ignored.
    pub(crate) fn configuration(&self, coordinates: &[f64]) -> Configuration {
        let mut configuration = Configuration::new();
        for (parameter, &u) in self.parameters().iter().zip(coordinates) {
            let value = if applies(parameter, &configuration) {
                value_at(&parameter.kind, u)
            } else {
                Value::Missing
            };
            configuration.insert(parameter.name.clone(), value);
        }
        configuration
    }

    /// The point of `configuration`. A value outside its range counts as the nearest bound.
    pub(crate) fn point(&self, configuration: &Configuration) -> Point {
        let coordinate = |parameter: &Parameter| {
            let value = configuration.get(&parameter.name).filter(|_| applies(parameter, configuration))?;
            coordinate_of(&parameter.kind, value)
        };
        self.parameters().iter().map(coordinate).collect()
    }

    /// All configurations, if there are at most `most`.
    pub(crate) fn all(&self, most: u64) -> Option<Vec<Configuration>> {
        let counts: Vec<u64> = (0..self.dimensions()).map(|j| self.values(j)).collect::<Option<_>>()?;
        let total = counts.iter().try_fold(1_u64, |total, &count| total.checked_mul(count))?;
        if total > most {
            return None;
        }
        let mut all: Vec<Configuration> = Vec::new();
        for number in 0..total {
            let (mut rest, mut configuration) = (number, Configuration::new());
            for (parameter, &count) in self.parameters().iter().zip(&counts) {
                let value = if applies(parameter, &configuration) {
                    nth_value(&parameter.kind, rest % count)
                } else {
                    Value::Missing
                };
                configuration.insert(parameter.name.clone(), value);
                rest /= count;
            }
            if !all.contains(&configuration) {
                all.push(configuration);
            }
        }
        Some(all)
    }
}

/// Whether `parameter` applies, given the values of those before it.
fn applies(parameter: &Parameter, configuration: &Configuration) -> bool {
    let holds = |name: &String, equals: &Value| configuration.get(name) == Some(equals);
    parameter.active_if.as_ref().is_none_or(|condition| holds(&condition.name, &condition.equals))
}

/// The value number `i`, from 0, of a kind with a finite number of them.
fn nth_value(kind: &ParameterKind, i: u64) -> Value {
    match kind {
        ParameterKind::Float { lo, .. } | ParameterKind::Log { lo, .. } => Value::Number(*lo),
        ParameterKind::Int { lo, .. } | ParameterKind::LogInt { lo, .. } => {
            Value::Number(*lo as f64 + i as f64)
        }
        ParameterKind::Choice { options } => options[i as usize].clone(),
    }
}

fn value_at(kind: &ParameterKind, u: f64) -> Value {
    let u = u.clamp(0.0, 1.0);
    let between = |lo: f64, hi: f64| lo * (1.0 - u) + hi * u;
    match kind {
        ParameterKind::Float { lo, hi } => Value::Number(between(*lo, *hi).clamp(*lo, *hi)),
        ParameterKind::Log { lo, hi } => Value::Number(between(lo.ln(), hi.ln()).exp().clamp(*lo, *hi)),
        ParameterKind::Int { lo, hi } => {
            let (lo, hi) = (*lo as f64, *hi as f64);
            Value::Number((lo + (u * (hi - lo + 1.0)).floor()).clamp(lo, hi))
        }
        ParameterKind::LogInt { lo, hi } => {
            let (lo, hi) = (*lo as f64, *hi as f64);
            Value::Number(between((lo - 0.5).ln(), (hi + 0.5).ln()).exp().round().clamp(lo, hi))
        }
        ParameterKind::Choice { options } => {
            options[((u * options.len() as f64) as usize).min(options.len() - 1)].clone()
        }
    }
}

fn coordinate_of(kind: &ParameterKind, value: &Value) -> Option<f64> {
    let share = |x: f64, lo: f64, hi: f64| if hi > lo { ((x - lo) / (hi - lo)).clamp(0.0, 1.0) } else { 0.5 };
    if let ParameterKind::Choice { options } = kind {
        let place = options.iter().position(|option| option == value)?;
        return Some((place as f64 + 0.5) / options.len() as f64);
    }
    let x = value.number().filter(|x| x.is_finite())?;
    Some(match kind {
        ParameterKind::Log { lo, hi } => share(x.max(*lo).ln(), lo.ln(), hi.ln()),
        ParameterKind::Int { lo, hi } => share(x, *lo as f64 - 0.5, *hi as f64 + 0.5),
        ParameterKind::LogInt { lo, hi } => {
            let (lo, hi) = (*lo as f64, *hi as f64);
            share(x.max(lo).ln(), (lo - 0.5).ln(), (hi + 0.5).ln())
        }
        ParameterKind::Float { lo, hi } => share(x, *lo, *hi),
        ParameterKind::Choice { .. } => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samplers::random::trial_stream;

    fn cube(texts: &[&str]) -> Cube {
        Cube::new(ParameterSpace::parse(texts).unwrap())
    }

    #[test]
    fn every_configuration_comes_back_from_its_point() {
        let texts =
            ["lr=log:1e-4:1", "n=int:1:7", "w=logint:1:512", "o=choice:sgd,adam", "m=float:0:1 if o=sgd"];
        let cube = cube(&texts);
        for trial in 0..200 {
            let drawn = cube.space.sample(&mut trial_stream(5, trial));
            let point = cube.point(&drawn);
            let coordinates: Vec<f64> = point.iter().map(|u| u.unwrap_or(0.3)).collect();
            assert!(coordinates.iter().all(|u| (0.0..=1.0).contains(u)));
            let back = cube.configuration(&coordinates);
            cube.space.check(&back).unwrap();
            for (name, value) in &drawn {
                match (value.number(), back[name].number()) {
                    (Some(a), Some(b)) => assert!((a - b).abs() <= 1e-9 * a.abs(), "{name}: {a} {b}"),
                    _ => assert_eq!(*value, back[name], "{name}"),
                }
            }
        }
    }

    #[test]
    fn a_finite_space_is_listed_without_repeats() {
        let finite = cube(&["o=choice:a,b", "n=int:1:3 if o=a", "k=logint:2:3"]);
        assert_eq!(finite.all(100).unwrap().len(), 8, "3 · 2 with a, 2 with b");
        assert_eq!(finite.all(11), None, "twelve combinations are looked through");
        assert_eq!(cube(&["x=float:0:1"]).all(100), None);
        assert_eq!(cube(&["x=float:1:1"]).all(100).unwrap().len(), 1);
    }
}
