//! Configurations of a parameter space as points of the unit cube, and back.

use crate::parameter::{Parameter, ParameterKind};
use crate::parameter_space::ParameterSpace;
use foretell::{Configuration, Value};

/// One coordinate for each parameter, in \[0, 1\]; `None` where the parameter does not apply.
pub(crate) type CubePoint = Vec<Option<f64>>;

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
pub(crate) struct UnitCube {
    space: ParameterSpace,
}

impl UnitCube {
    pub(crate) fn new(space: ParameterSpace) -> Self {
        Self { space }
    }

    fn parameters(&self) -> &[Parameter] {
        self.space.parameters()
    }

    /// The number of parameters.
    pub(crate) fn dimensions(&self) -> usize {
        self.parameters().len()
    }

    /// The number of options parameter `j` has; `None` if its values have an order.
    pub(crate) fn options(&self, j: usize) -> Option<usize> {
        self.parameters()[j].kind.options().map(|options| options.len())
    }

    /// The number of values parameter `j` has; `None` if it is a real number.
    pub(crate) fn values(&self, j: usize) -> Option<u64> {
        self.parameters()[j].kind.value_count()
    }

    /// The configuration at `coordinates`; those of parameters that do not apply are ignored.
    pub(crate) fn configuration(&self, coordinates: &[f64]) -> Configuration {
        let mut configuration = Configuration::new();
        for (parameter, &u) in self.parameters().iter().zip(coordinates) {
            let value = if parameter.applies_in(&configuration) {
                value_at(&parameter.kind, u)
            } else {
                Value::Missing
            };
            configuration.insert(parameter.name.clone(), value);
        }
        configuration
    }

    /// The point of `configuration`. A value outside its range counts as the nearest bound.
    pub(crate) fn point(&self, configuration: &Configuration) -> CubePoint {
        let coordinates = self.parameters().iter().map(|parameter| {
            let value = configuration.get(&parameter.name).filter(|_| parameter.applies_in(configuration))?;
            coordinate_of(&parameter.kind, value)
        });
        coordinates.collect()
    }

    /// The point of the configuration at `coordinates`.
    pub(crate) fn point_at_coordinates(&self, coordinates: &[f64]) -> CubePoint {
        self.point(&self.configuration(coordinates))
    }
}

fn value_at(kind: &ParameterKind, u: f64) -> Value {
    let u = u.clamp(0.0, 1.0);
    match (kind.bounds(), kind.options()) {
        (Some(bounds), _) => Value::Number(bounds.value_at(u)),
        (None, Some(options)) => {
            options[((u * options.len() as f64) as usize).min(options.len() - 1)].clone()
        }
        (None, None) => Value::Missing,
    }
}

fn coordinate_of(kind: &ParameterKind, value: &Value) -> Option<f64> {
    if let Some(options) = kind.options() {
        let place = options.iter().position(|option| option == value)?;
        return Some((place as f64 + 0.5) / options.len() as f64);
    }
    let x = value.as_number().filter(|x| x.is_finite())?;
    kind.bounds().map(|bounds| bounds.share(x))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samplers::random::trial_stream;

    fn cube(texts: &[&str]) -> UnitCube {
        UnitCube::new(ParameterSpace::parse(texts).unwrap())
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
            cube.space.check_configuration(&back).unwrap();
            for (name, value) in &drawn {
                match (value.as_number(), back[name].as_number()) {
                    (Some(a), Some(b)) => assert!((a - b).abs() <= 1e-9 * a.abs(), "{name}: {a} {b}"),
                    _ => assert_eq!(*value, back[name], "{name}"),
                }
            }
        }
    }
}
