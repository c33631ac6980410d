//! The names of predictors, samplers, policies and spaces, and their meaning in this process. The catalogue is made once, as the flags are.

use crate::failure::Failure;
use foretell_search::{Catalogue, NamedSettings, SamplerSpec, Space};
use serde_json::{Map, Value};
use std::sync::OnceLock;

static PROCESS_CATALOGUE: OnceLock<Catalogue> = OnceLock::new();

/// The catalogue of this process.
pub(crate) fn catalogue() -> &'static Catalogue {
    PROCESS_CATALOGUE.get_or_init(usual)
}

/// The catalogue of the command as it is built.
#[cfg(feature = "paper")]
pub(crate) fn usual() -> Catalogue {
    foretell_paper::full_catalogue()
}

/// The catalogue of the command as it is built.
#[cfg(not(feature = "paper"))]
pub(crate) fn usual() -> Catalogue {
    Catalogue::default()
}

/// The stages of a study by Q-learning: each with its ε and its number of networks. Empty for other samplers.
#[cfg(feature = "paper")]
pub(crate) fn epsilon_stages(sampler: &SamplerSpec) -> Vec<(f64, u64)> {
    let settings = foretell_paper::QLearning::settings_of(sampler);
    let stages = settings.into_iter().flat_map(|settings| settings.schedule.stages);
    stages.map(|stage| (stage.epsilon, stage.models)).collect()
}

/// The stages of a study by Q-learning: none without the laboratory.
#[cfg(not(feature = "paper"))]
pub(crate) fn epsilon_stages(_sampler: &SamplerSpec) -> Vec<(f64, u64)> {
    Vec::new()
}

/// The space of the catalogue called `name`. Settings without a value keep their defaults.
pub(crate) fn named_space(
    name: &str,
    settings: impl IntoIterator<Item = (&'static str, Option<Value>)>,
) -> Result<Space, Failure> {
    let chosen = settings.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let chosen: Map<String, Value> = chosen.collect();
    let settings = if chosen.is_empty() { Value::Null } else { chosen.into() };
    let named = NamedSettings { name: name.to_owned(), settings };
    catalogue().resolve_space(named).map_err(|error| Failure::input(format!("--space: {}", error.reason)))
}

/// Makes `catalogue` that of this process, unless there is one.
pub(crate) fn set(catalogue: &Catalogue) {
    // a second command of one process has the flags of the first
    let _ = PROCESS_CATALOGUE.set(catalogue.clone());
}
