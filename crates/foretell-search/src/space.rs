//! What a study searches: layer sequences or named parameters.

use crate::layer_space::{LayerSpace, LayerSpaceError, NETWORK, Trajectory};
use crate::parameter_space::ParameterSpace;
use crate::part::Part;
use foretell::{Configuration, LayerSequence, Scale, Value};
use rand::Rng;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The search space of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Space {
    /// Networks as layer sequences: MetaQNN's space.
    Metaqnn(LayerSpace),
    /// Named parameters of a user's command.
    Parameters(ParameterSpace),
    /// One of a [`Catalogue`](crate::Catalogue).
    #[serde(untagged)]
    Own(Part<dyn SearchSpace>),
}

/// A space of another crate. Its trials are configurations.
pub trait SearchSpace: Send + Sync {
    /// What each configuration of it names.
    fn names(&self) -> Vec<&str>;

    /// A configuration, drawn with `rng`.
    fn sample(&self, rng: &mut dyn Rng) -> Configuration;

    /// Checks that `configuration` can be tried.
    ///
    /// # Errors
    /// What is wrong with it.
    fn check(&self, configuration: &Configuration) -> Result<(), String>;
}

impl Space {
    /// The name by which a request asks for it; `None` for parameters.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Metaqnn(_) => Some("metaqnn"),
            Self::Parameters(_) => None,
            Self::Own(part) => Some(part.name()),
        }
    }

    /// The names in its configurations: the parameters, or a network with its weights and layers.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Self::Metaqnn(_) => vec![NETWORK, WEIGHTS, LAYERS],
            Self::Parameters(space) => space.parameters().iter().map(|p| p.name.as_str()).collect(),
            Self::Own(part) => part.made().map_or_else(Vec::new, |space| space.names()),
        }
    }

    /// The values that are known before a trial is trained: those of its configuration, and the multiply-adds of a network.
    pub fn known_names(&self) -> Vec<&str> {
        let mut names = self.names();
        if matches!(self, Self::Metaqnn(_)) {
            names.push(FLOPS);
        }
        names
    }

    /// The number called `name` that is known of `configuration` before it is trained; O(layers) for multiply-adds.
    pub(crate) fn known_value(&self, configuration: &Configuration, name: &str) -> Option<f64> {
        match (self, configuration.get(name)) {
            (_, Some(value)) => value.number(),
            (Self::Metaqnn(space), None) if name == FLOPS => {
                let network = configuration.get(NETWORK).and_then(Value::text)?;
                let counts = network.parse::<LayerSequence>().ok()?.counts(space.image()).ok()?;
                Some(counts.multiply_adds as f64)
            }
            _ => None,
        }
    }

    /// Whether `configuration` is one of it. Networks always are: their space does not change.
    pub fn contains(&self, configuration: &Configuration) -> bool {
        match self {
            Self::Metaqnn(_) => true,
            Self::Parameters(space) => space.check(configuration).is_ok(),
            Self::Own(part) => part.made().is_none_or(|space| space.check(configuration).is_ok()),
        }
    }

    /// The values of `configuration` as a program is given them: see [`ParameterSpace::written`].
    pub fn written(&self, configuration: &Configuration) -> serde_json::Map<String, serde_json::Value> {
        match self {
            Self::Parameters(space) => space.written(configuration),
            // networks are described by texts and counts
            Self::Metaqnn(_) | Self::Own(_) => ParameterSpace::any().written(configuration),
        }
    }

    /// The parameters that are searched on a logarithmic scale, for which forecasts take their logarithms, too.
    pub(crate) fn scales(&self) -> BTreeMap<String, Scale> {
        let Self::Parameters(space) = self else { return BTreeMap::new() };
        let searched = space.parameters().iter().filter(|parameter| parameter.kind.is_log());
        searched.map(|parameter| (parameter.name.clone(), Scale::Log)).collect()
    }
}

/// The name of the configuration value with a network's number of weights.
pub const WEIGHTS: &str = "weights";
/// The name of the configuration value that holds a network's number of layers.
const LAYERS: &str = "layers";

/// The name of the configuration value with a network's multiply-adds per image.
pub const FLOPS: &str = "flops";

/// The configuration of a network: its layers, and its weights and layers counted.
///
/// # Errors
/// [`LayerSpaceError`] if it cannot be built on the space's images.
pub(crate) fn network_configuration(
    space: &LayerSpace,
    trajectory: &Trajectory,
) -> Result<Configuration, LayerSpaceError> {
    let counts = trajectory.network().counts(space.image())?;
    let mut configuration = trajectory.configuration();
    configuration.insert(WEIGHTS.to_owned(), Value::Number(counts.weights as f64));
    configuration.insert(LAYERS.to_owned(), Value::Number(counts.layers as f64));
    Ok(configuration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_a_configuration_is_told_beforehand() {
        let layers = LayerSpace::default();
        let trajectory = layers.sample(2, &mut crate::samplers::random::trial_stream(0, 0));
        let configuration = network_configuration(&layers, &trajectory).unwrap();
        let mut names = Space::Metaqnn(layers).names().into_iter().map(str::to_owned).collect::<Vec<_>>();
        names.sort();
        assert_eq!(names, configuration.into_keys().collect::<Vec<_>>());
    }

    #[test]
    fn forecasts_take_logarithms_where_the_search_does() {
        let texts = ["lr=log:0.1:1", "units=logint:4:16", "dropout=float:0.001:1", "layers=int:1:64"];
        let space = Space::Parameters(ParameterSpace::parse(&texts).unwrap());
        let scales = space.scales();
        assert_eq!(scales.keys().map(String::as_str).collect::<Vec<_>>(), ["lr", "units"]);
        assert!(scales.values().all(|&scale| scale == Scale::Log));
    }
}
