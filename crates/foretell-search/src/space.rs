//! What a study searches: layer sequences or named parameters.

use crate::layer_space::{LayerSpace, LayerSpaceError, Trajectory};
use crate::parameter_space::ParameterSpace;
use foretell::{Configuration, Value};
use serde::{Deserialize, Serialize};

/// What a study searches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Space {
    /// Networks as layer sequences: MetaQNN's space.
    Metaqnn(LayerSpace),
    /// Named parameters of a user's command.
    Parameters(ParameterSpace),
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
