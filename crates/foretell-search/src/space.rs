//! The space that a study searches: named parameters, or a space of a catalogue.

use crate::parameter_space::ParameterSpace;
use crate::part::StudyPart;
use foretell::{Configuration, Scale};
use rand::Rng;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// The search space of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Space {
    /// Named parameters of a user's command.
    Parameters(ParameterSpace),
    /// One of a [`Catalogue`](crate::Catalogue).
    #[serde(untagged)]
    Own(StudyPart<dyn SearchSpace>),
}

/// A space of another crate. Its trials are configurations.
pub trait SearchSpace: Send + Sync {
    /// The settings in full, as logs keep them; `null` where the settings of the request are all of them.
    fn settings(&self) -> Json {
        Json::Null
    }

    /// The names in each configuration of it.
    fn names(&self) -> Vec<&str>;

    /// The names whose values are chosen. The other values are computed from them.
    fn searched_names(&self) -> Vec<&str> {
        self.names()
    }

    /// The values that are known before a trial is trained: those of its configuration, and numbers that
    /// [`known_value`](Self::known_value) computes.
    fn known_names(&self) -> Vec<&str> {
        self.names()
    }

    /// The number called `name` that follows from `configuration`, which does not contain it.
    fn known_value(&self, configuration: &Configuration, name: &str) -> Option<f64> {
        let _ = (configuration, name);
        None
    }

    /// A configuration, drawn with `rng`.
    fn sample(&self, rng: &mut dyn Rng) -> Configuration;

    /// Reads a configuration from a user's text. The values are not checked.
    ///
    /// # Errors
    /// The reason why the text cannot be read.
    fn read_configuration(&self, text: &str) -> Result<Configuration, String> {
        ParameterSpace::any().parts(text).map_err(|error| error.to_string())
    }

    /// Checks that `configuration` can be tried.
    ///
    /// # Errors
    /// What is wrong with it.
    fn check(&self, configuration: &Configuration) -> Result<(), String>;

    /// A text that is equal for two configurations if training both would repeat a training.
    fn duplicate_key(&self, configuration: &Configuration) -> Option<String> {
        serde_json::to_string(configuration).ok()
    }
}

impl Space {
    /// The name by which a request asks for it; `None` for parameters.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Parameters(_) => None,
            Self::Own(part) => Some(part.name()),
        }
    }

    /// The space of another crate, where a catalogue has made it.
    fn made(&self) -> Option<&dyn SearchSpace> {
        match self {
            Self::Parameters(_) => None,
            Self::Own(part) => part.implementation().map(|space| &**space),
        }
    }

    /// The names in its configurations.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Self::Parameters(space) => space.parameters().iter().map(|p| p.name.as_str()).collect(),
            Self::Own(_) => self.made().map_or_else(Vec::new, SearchSpace::names),
        }
    }

    /// The names whose values are chosen: see [`SearchSpace::searched_names`].
    pub fn searched_names(&self) -> Vec<&str> {
        self.made().map_or_else(|| self.names(), SearchSpace::searched_names)
    }

    /// The values that are known before a trial is trained: see [`SearchSpace::known_names`].
    pub fn known_names(&self) -> Vec<&str> {
        self.made().map_or_else(|| self.names(), SearchSpace::known_names)
    }

    /// The number called `name` that is known of `configuration` before it is trained.
    pub(crate) fn known_value(&self, configuration: &Configuration, name: &str) -> Option<f64> {
        match configuration.get(name) {
            Some(value) => value.as_number(),
            None => self.made()?.known_value(configuration, name),
        }
    }

    /// A configuration, drawn with `rng`; `None` of a space that no catalogue has made.
    pub(crate) fn sample(&self, rng: &mut impl Rng) -> Option<Configuration> {
        match self {
            Self::Parameters(space) => Some(space.sample(rng)),
            Self::Own(_) => self.made().map(|space| space.sample(rng)),
        }
    }

    /// Whether `configuration` is one of it.
    pub fn contains(&self, configuration: &Configuration) -> bool {
        match self {
            Self::Parameters(space) => space.check_configuration(configuration).is_ok(),
            Self::Own(_) => self.made().is_none_or(|space| space.check(configuration).is_ok()),
        }
    }

    /// The values of `configuration` as a program is given them: see [`ParameterSpace::program_values`].
    pub fn program_values(&self, configuration: &Configuration) -> serde_json::Map<String, Json> {
        match self {
            Self::Parameters(space) => space.program_values(configuration),
            // texts and counts
            Self::Own(_) => ParameterSpace::any().program_values(configuration),
        }
    }

    /// The parameters that are searched on a logarithmic scale, for which forecasts take their logarithms, too.
    pub(crate) fn scales(&self) -> BTreeMap<String, Scale> {
        let Self::Parameters(space) = self else { return BTreeMap::new() };
        let searched = space.parameters().iter().filter(|parameter| parameter.kind.is_log());
        searched.map(|parameter| (parameter.name.clone(), Scale::Log)).collect()
    }
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
