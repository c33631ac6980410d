//! What a study searches: layer sequences or named parameters.

use crate::layer_space::{LayerSpace, LayerSpaceError, Trajectory};
use crate::parameter::{Parameter, ParameterKind};
use crate::parameter_space::ParameterSpace;
use foretell::{Configuration, Scale, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a study searches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Space {
    /// Networks as layer sequences: MetaQNN's space.
    Metaqnn(LayerSpace),
    /// Named parameters of a user's command.
    Parameters(ParameterSpace),
}

impl Space {
    /// The parameters that are searched on a logarithmic scale, for which forecasts take their logarithms, too.
    pub(crate) fn scales(&self) -> BTreeMap<String, Scale> {
        let Self::Parameters(space) = self else { return BTreeMap::new() };
        let logarithmic = |parameter: &&Parameter| {
            matches!(parameter.kind, ParameterKind::Log { .. } | ParameterKind::LogInt { .. })
        };
        let searched = space.parameters().iter().filter(logarithmic);
        searched.map(|parameter| (parameter.name.clone(), Scale::Log)).collect()
    }
}

/// The name of the configuration value that holds a network's number of weights.
pub const WEIGHTS: &str = "weights";
/// The name of the configuration value that holds a network's number of layers.
pub const LAYERS: &str = "layers";

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
    fn forecasts_take_logarithms_where_the_search_does() {
        let texts = ["lr=log:0.1:1", "units=logint:4:16", "dropout=float:0.001:1", "layers=int:1:64"];
        let space = Space::Parameters(ParameterSpace::parse(&texts).unwrap());
        let scales = space.scales();
        assert_eq!(scales.keys().map(String::as_str).collect::<Vec<_>>(), ["lr", "units"]);
        assert!(scales.values().all(|&scale| scale == Scale::Log));
    }
}
