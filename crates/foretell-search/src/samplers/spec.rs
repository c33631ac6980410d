//! The sampler of a study, as requests and logs describe it.

use super::{NamedSampler, RandomSampling, Sampler, SamplerFamily, TpeGpSampling, samplers};
use crate::part::{NamedSettings, PartError, StudyPart};
use crate::space::Space;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// The sampler of a study: an entry of a [`Catalogue`](crate::Catalogue), with its settings.
///
/// ```
/// use foretell_search::{SamplerSpec, TpeSampling};
/// assert_eq!(SamplerSpec::from(TpeSampling).name(), "tpe");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct SamplerSpec(StudyPart<dyn SamplerFamily>);

impl<F: NamedSampler> From<F> for SamplerSpec {
    fn from(family: F) -> Self {
        Self(StudyPart::new(F::NAME.into(), Arc::new(family)))
    }
}

impl From<StudyPart<dyn SamplerFamily>> for SamplerSpec {
    fn from(part: StudyPart<dyn SamplerFamily>) -> Self {
        Self(part)
    }
}

impl Default for SamplerSpec {
    fn default() -> Self {
        RandomSampling.into()
    }
}

/// A sampler of another crate stays a description until [`StudySpec::made`](crate::StudySpec::made).
impl<'de> Deserialize<'de> for SamplerSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let named = NamedSettings::deserialize(deserializer)?;
        let ours = samplers().part(&named, &Map::new());
        Ok(Self(ours.unwrap_or_else(|_| StudyPart::without_implementation(named))))
    }
}

impl SamplerSpec {
    /// The default sampler for `space`: [`TpeGpSampling`] for parameters, random for networks.
    pub fn usual(space: &Space) -> Self {
        match space {
            Space::Parameters(_) => TpeGpSampling.into(),
            Space::Own(_) => RandomSampling.into(),
        }
    }

    /// Whether it is one of this crate, whose samplers learn from any trial.
    pub(crate) fn is_ours(&self) -> bool {
        samplers().names().any(|(name, _)| name == self.name())
    }

    /// The part that the sampler is, to be made by a catalogue.
    pub(crate) fn part_mut(&mut self) -> &mut StudyPart<dyn SamplerFamily> {
        &mut self.0
    }

    /// The name by which a request asks for it.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// The name and the settings.
    pub fn named_settings(&self) -> &NamedSettings {
        self.0.named_settings()
    }

    /// The settings.
    pub fn settings(&self) -> &Json {
        self.0.settings()
    }

    /// The family, where a catalogue has made it.
    fn family(&self) -> Option<&dyn SamplerFamily> {
        self.0.implementation().map(|family| &**family)
    }

    /// Whether it learns from forecasts of trials that were not trained to their end.
    pub(crate) fn learns_from_forecasts(&self) -> bool {
        self.family().is_some_and(SamplerFamily::learns_from_forecasts)
    }

    /// Whether it proposes trial `trial` by a Gaussian process.
    pub(crate) fn is_by_process(&self, trial: u64) -> bool {
        self.family().is_some_and(|family| family.is_by_process(trial))
    }

    /// Whether it tries all configurations of `space`, one after the other.
    pub(crate) fn lists(&self, space: &Space) -> bool {
        self.family().is_some_and(|family| family.combinations(space).is_some())
    }

    /// Whether it learns from rewards: see [`SamplerFamily::is_rewarded`].
    pub fn is_rewarded(&self) -> bool {
        self.family().is_some_and(SamplerFamily::is_rewarded)
    }

    /// The fields of a request that correspond to its settings: see [`SamplerFamily::fields`].
    pub(crate) fn fields(&self) -> Map<String, Json> {
        self.family().map_or_else(Map::new, |family| family.fields(self.settings()))
    }

    /// The description for `search --explain`: see [`SamplerFamily::in_words`].
    pub fn in_words(&self) -> Option<String> {
        self.family().and_then(|family| family.in_words(self.settings()))
    }

    /// The sampler of `space` with the study's `seed`.
    ///
    /// # Errors
    /// [`PartError`] for settings out of range, or a space that it cannot search.
    pub fn sampler(&self, space: &Space, seed: u64) -> Result<Box<dyn Sampler>, PartError> {
        let sampler = match self.family() {
            Some(family) => family.check(space).and_then(|()| family.sampler(self.settings(), space, seed)),
            None => Err("no catalogue has made it".to_owned()),
        };
        sampler.map_err(|why| PartError::new("sampler", format!("{}: {why}", self.name())))
    }
}
