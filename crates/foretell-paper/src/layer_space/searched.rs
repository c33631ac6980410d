//! MetaQNN's space as a study searches it: networks as configurations.

use super::space::LayerSpace;
use super::trajectory::Trajectory;
use foretell::{Configuration, FLOPS_KEY, LayerSequence, NETWORK_KEY, Value, WEIGHTS_KEY};
use foretell_search::{NamedSettings, SearchSpace, Space, StudyPart};
use rand::Rng;
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// The name by which requests ask for it.
pub(crate) const SPACE_NAME: &str = "metaqnn";

/// The configuration value with a network's number of layers.
const LAYER_COUNT_NAME: &str = "layers";

/// The minimum number of layers before the softmax of a randomly sampled network, if the space allows it, so that small searches train no
/// networks of one layer. MetaQNN's own exploration has no such bound.
const MINIMUM_DEPTH: usize = 2;

impl LayerSpace {
    /// The space that the `settings` of a request describe: fields of a [`LayerSpace`], and `scale`, the factor of [`LayerSpace::scaled`].
    ///
    /// # Errors
    /// The first setting that cannot be used.
    pub(crate) fn from_settings(settings: &Json) -> Result<Self, String> {
        let mut fields = settings.as_object().cloned().unwrap_or_default();
        let scale = fields.shift_remove("scale");
        let space: Self = serde_json::from_value(fields.into()).map_err(|error| error.to_string())?;
        let checked = match scale.as_ref().and_then(Json::as_f64) {
            Some(factor) => space.scale_sizes(factor),
            None => space.validate().map(|()| space),
        };
        checked.map_err(|error| error.to_string())
    }

    /// The configuration of a network: its layers, and its weights and layers counted.
    pub(crate) fn configuration_of(&self, trajectory: &Trajectory) -> Configuration {
        let mut configuration = trajectory.to_configuration();
        // every network of the space can be built on its images
        if let Ok(counts) = trajectory.to_network().network_counts(self.image_shape()) {
            configuration.insert(WEIGHTS_KEY.to_owned(), Value::Number(counts.weights as f64));
            configuration.insert(LAYER_COUNT_NAME.to_owned(), Value::Number(counts.layers as f64));
        }
        configuration
    }
}

/// The network that a configuration names.
pub(crate) fn network_of(configuration: &Configuration) -> Option<Trajectory> {
    let text = configuration.get(NETWORK_KEY).and_then(Value::as_text)?;
    Trajectory::without_dropout(&text.parse().ok()?).ok()
}

impl SearchSpace for LayerSpace {
    fn settings(&self) -> Json {
        json!(self)
    }

    fn names(&self) -> Vec<&str> {
        vec![NETWORK_KEY, WEIGHTS_KEY, LAYER_COUNT_NAME]
    }

    fn searched_names(&self) -> Vec<&str> {
        vec![NETWORK_KEY]
    }

    fn known_names(&self) -> Vec<&str> {
        vec![NETWORK_KEY, WEIGHTS_KEY, LAYER_COUNT_NAME, FLOPS_KEY]
    }

    /// O(layers).
    fn known_value(&self, configuration: &Configuration, name: &str) -> Option<f64> {
        if name != FLOPS_KEY {
            return None;
        }
        let network = configuration.get(NETWORK_KEY).and_then(Value::as_text)?;
        let counts = network.parse::<LayerSequence>().ok()?.network_counts(self.image_shape()).ok()?;
        Some(counts.multiply_adds as f64)
    }

    fn sample(&self, rng: &mut dyn Rng) -> Configuration {
        let mut rng = rng;
        self.configuration_of(&LayerSpace::sample_network(self, MINIMUM_DEPTH, &mut rng))
    }

    fn read_configuration(&self, text: &str) -> Result<Configuration, String> {
        Ok(Configuration::from([(NETWORK_KEY.to_owned(), Value::Text(text.to_owned()))]))
    }

    fn check(&self, configuration: &Configuration) -> Result<(), String> {
        let network = configuration.get(NETWORK_KEY).and_then(Value::as_text).unwrap_or_default();
        let fits = network
            .parse::<LayerSequence>()
            .and_then(|layers| layers.network_counts(self.image_shape()).map(drop));
        fits.map_err(|error| format!("a queued network, {network}: {error}"))
    }

    /// Networks that differ in their dropout alone are the same choice of layers.
    fn duplicate_key(&self, configuration: &Configuration) -> Option<String> {
        network_of(configuration).map(|network| network.to_string())
    }
}

impl From<LayerSpace> for Space {
    fn from(space: LayerSpace) -> Self {
        let named = NamedSettings { name: SPACE_NAME.to_owned(), settings: json!(space) };
        Self::Own(StudyPart::new(named, Arc::new(space)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell_search::{RandomSampling, SamplerSpec, trial_stream};

    #[test]
    fn the_names_of_a_configuration_are_known_before_it_is_sampled() {
        let layers = LayerSpace::default();
        let configuration = SearchSpace::sample(&layers, &mut trial_stream(0, 0));
        let mut names: Vec<String> = layers.names().into_iter().map(str::to_owned).collect();
        names.sort();
        assert_eq!(names, configuration.into_keys().collect::<Vec<_>>());
    }

    #[test]
    fn networks_do_not_repeat_until_the_space_is_spent() {
        // two networks of the minimum depth, as far as the space allows: a fully connected layer and the softmax
        let space = LayerSpace {
            height: 4,
            width: 4,
            filters: vec![],
            fully_connected: vec![8, 4],
            max_fully_connected: 1,
            ..LayerSpace::default()
        };
        let mut sampler = SamplerSpec::from(RandomSampling).sampler(&space.clone().into(), 0).unwrap();
        let mut proposed = std::collections::BTreeSet::new();
        for trial in 0..2 {
            let configuration = sampler.propose(trial).unwrap();
            sampler.observe_start(trial, &configuration);
            assert!(proposed.insert(space.duplicate_key(&configuration)), "trial {trial}: {configuration:?}");
        }
        let repeated = sampler.propose(2).unwrap();
        assert!(proposed.contains(&space.duplicate_key(&repeated)));
    }
}
