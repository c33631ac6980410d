//! One catalogue: predictors, samplers, stop rules and spaces by the names that requests and logs have for them.
//!
//! The parts of this crate are in it. A program that brings others adds them, and hands the catalogue to [`StudyRequest::resolve_with`](crate::StudyRequest::resolve_with) and, in
//! [`Parts`](crate::Parts), to each study: flags, study files, HTTP and logs then know them as they know ours.

use crate::part::{NamedSettings, PartError, StudyPart};
use crate::samplers::{SamplerFamily, SamplerSpec, samplers};
use crate::shelf::{PartShelf, laboratory};
use crate::space::{SearchSpace, Space};
use crate::stopping::policy::StopPolicy;
use crate::stopping::{NamedRule, StopRule, add_rule, rules};
use foretell::{Predictor, PredictorOptions, PredictorRegistry, UnknownPredictor};
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;

/// Predictors, samplers, stop rules and spaces by name. [`Default`] contains those of this crate.
///
/// ```
/// use foretell_search::{Catalogue, PatienceRule, StudyRequest};
/// use std::sync::Arc;
///
/// let catalogue = Catalogue::default().with_stop_rule("restless", "Stop after three reports without a new best.", |_| {
///     Ok(Arc::new(PatienceRule { patience: 3 }))
/// });
/// let fields = serde_json::json!({"space": {"lr": "log:1e-4:1"}, "metric": "val_acc", "policy": "restless"});
/// let request = StudyRequest::from_fields(fields.as_object().unwrap()).unwrap();
/// assert!(request.clone().resolve(None).is_err());
/// assert_eq!(request.resolve_with(None, &catalogue).unwrap().policy.name(), "restless");
/// ```
#[derive(Clone)]
pub struct Catalogue {
    predictors: PredictorRegistry,
    samplers: PartShelf<dyn SamplerFamily>,
    stop_rules: PartShelf<dyn StopRule>,
    spaces: PartShelf<dyn SearchSpace>,
}

impl Default for Catalogue {
    fn default() -> Self {
        Self {
            predictors: PredictorRegistry::default(),
            samplers: samplers(),
            stop_rules: rules(),
            spaces: PartShelf::new("space"),
        }
    }
}

impl fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalogue").finish_non_exhaustive()
    }
}

impl Catalogue {
    /// Adds the predictor that `make` makes, as `name`.
    #[must_use]
    pub fn with_predictor(
        mut self,
        name: &'static str,
        make: impl Fn(&PredictorOptions) -> Box<dyn Predictor> + Send + Sync + 'static,
    ) -> Self {
        self.predictors = self.predictors.with_predictor(name, make);
        self
    }

    /// Adds the samplers of a `family`, as `name`; `about` is a sentence for help texts.
    #[must_use]
    pub fn with_sampler(
        mut self,
        name: &'static str,
        about: &'static str,
        family: impl SamplerFamily + 'static,
    ) -> Self {
        let family: Arc<dyn SamplerFamily> = Arc::new(family);
        self.samplers.add((name, about), &[], move |given| Ok((Arc::clone(&family), given.clone())));
        self
    }

    /// Adds the stop rule `R`, by its own name.
    #[must_use]
    pub fn with_rule<R: NamedRule>(mut self) -> Self {
        add_rule::<R>(&mut self.stop_rules);
        self
    }

    /// Adds the stop rule that `make` makes of its settings, as `name`; `about` is a sentence for help texts. For a rule whose
    /// settings are its fields, [`with_rule`](Self::with_rule) is shorter.
    #[must_use]
    pub fn with_stop_rule(
        mut self,
        name: &'static str,
        about: &'static str,
        make: impl Fn(&Value) -> Result<Arc<dyn StopRule>, String> + Send + Sync + 'static,
    ) -> Self {
        self.stop_rules.add((name, about), &[], move |given| Ok((make(given)?, given.clone())));
        self
    }

    /// Adds the space that `make` makes of its settings, as `name`; `about` is a sentence for help texts.
    #[must_use]
    pub fn with_space(
        mut self,
        name: &'static str,
        about: &'static str,
        make: impl Fn(&Value) -> Result<Arc<dyn SearchSpace>, String> + Send + Sync + 'static,
    ) -> Self {
        self.spaces.add((name, about), &[], move |given| Ok((make(given)?, given.clone())));
        self
    }

    /// The predictors.
    pub fn predictors(&self) -> &PredictorRegistry {
        &self.predictors
    }

    /// The names of samplers, each with a sentence.
    pub fn list_samplers(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.samplers.names()
    }

    /// The names of policies for a study, each with a sentence.
    pub fn list_policies(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.list_replay_policies().filter(|(name, _)| {
            !self.resolve_policy(&(*name).into(), &Map::new()).is_ok_and(|policy| policy.needs(1).truth)
        })
    }

    /// The names of policies for a study to which the setting `field` of a request matters.
    pub fn policies_with(&self, field: &str) -> Vec<&'static str> {
        let names = self.list_policies().map(|(name, _)| name);
        let made = |name: &str| self.resolve_policy(&name.into(), &Map::new());
        names.filter(|name| made(name).is_ok_and(|policy| policy.uses(field))).collect()
    }

    /// The names of policies for a replay, each with a sentence: also those that need to know how trials end.
    pub fn list_replay_policies(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.stop_rules.names()
    }

    /// The settings of the policy `name`, each with its documentation.
    pub fn settings_of(&self, name: &str) -> &'static [(&'static str, &'static str)] {
        self.stop_rules.settings(name)
    }

    /// The names of spaces, each with a sentence.
    pub fn list_spaces(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.spaces.names()
    }

    /// The names of parts of `foretell-paper` for a `field` of a request that this catalogue lacks. A program accepts them, so that the error
    /// tells where they are.
    pub fn missing_paper_parts(&self, field: &str) -> Vec<&'static str> {
        let shelf: Vec<&str> = match field {
            "policy" => self.list_policies().map(|(name, _)| name).collect(),
            "sampler" => self.list_samplers().map(|(name, _)| name).collect(),
            "space" => self.list_spaces().map(|(name, _)| name).collect(),
            _ => Vec::new(),
        };
        laboratory(field).iter().copied().filter(|name| !shelf.contains(name)).collect()
    }

    /// The space that a request names.
    ///
    /// # Errors
    /// The [`PartError`] of an unknown name, or of settings that are none.
    pub fn resolve_space(&self, named: NamedSettings) -> Result<Space, PartError> {
        let mut space = Space::Own(StudyPart::without_implementation(named));
        self.make_space(&mut space)?;
        Ok(space)
    }

    /// Makes a `space` that is not of this crate, with its settings in full.
    pub(crate) fn make_space(&self, space: &mut Space) -> Result<(), PartError> {
        let Space::Own(part) = space else { return Ok(()) };
        self.spaces.remake_part(part)?;
        if let Some(made) = part.implementation().filter(|made| !made.settings().is_null()) {
            let named = NamedSettings { settings: made.settings(), name: part.name().to_owned() };
            *part = StudyPart::new(named, Arc::clone(made));
        }
        Ok(())
    }

    /// The samplers called `named`, if there are such.
    pub(crate) fn family(&self, named: &NamedSettings) -> Option<Arc<dyn SamplerFamily>> {
        self.samplers.part(named, &Map::new()).ok()?.implementation().cloned()
    }

    /// The predictor called `name` that forecasts by `policy`.
    ///
    /// # Errors
    /// [`UnknownPredictor`] if there is none.
    pub fn make_predictor(
        &self,
        policy: &StopPolicy,
        name: &str,
        options: &PredictorOptions,
    ) -> Result<Arc<dyn Predictor>, UnknownPredictor> {
        let purpose = if policy.is_by_curve_alone() {
            foretell::PredictorPurpose::Termination
        } else {
            options.purpose
        };
        self.predictors.make_predictor(name, &PredictorOptions { purpose, ..*options }).map(Arc::from)
    }

    /// The names of predictors that forecast each run by its own curve alone.
    pub fn extrapolating_predictors(&self) -> Vec<&'static str> {
        let extrapolates = |name: &&str| {
            self.predictors
                .make_predictor(name, &PredictorOptions::default())
                .is_ok_and(|known| known.extrapolates())
        };
        self.predictors.predictor_names().into_iter().filter(extrapolates).collect()
    }

    /// The policy that a request names. The settings that it leaves open are those of the same name among the `fields` of the request.
    ///
    /// # Errors
    /// The [`PartError`] of an unknown name, or of settings that are none.
    pub fn resolve_policy(
        &self,
        named: &NamedSettings,
        fields: &Map<String, Value>,
    ) -> Result<StopPolicy, PartError> {
        self.stop_rules.part(named, fields).map(StopPolicy::of_part)
    }

    /// The sampler that a request names whose fields are `asked`, for so many `trials`; `there` is the one that the study has. See
    /// [`SamplerFamily::settings`].
    ///
    /// # Errors
    /// The [`PartError`] of an unknown name.
    pub fn resolve_sampler(
        &self,
        named: &NamedSettings,
        asked: &Map<String, Value>,
        trials: u64,
        there: Option<&SamplerSpec>,
    ) -> Result<SamplerSpec, PartError> {
        let part = self.samplers.part(named, &Map::new())?;
        // settings of another sampler must not be taken over: the same name may mean another thing there
        let there = there.filter(|there| there.name() == named.name).map(SamplerSpec::settings);
        Ok(match part.implementation() {
            Some(family) if part.settings().is_null() => {
                let settings = family.settings(asked, trials, there);
                StudyPart::new(NamedSettings { settings, ..named.clone() }, Arc::clone(family)).into()
            }
            _ => part.into(),
        })
    }

    /// Makes those of the parts of a study that are not of this crate.
    ///
    /// # Errors
    /// The [`PartError`] of the first whose name is unknown, or whose settings are none.
    pub(crate) fn make(
        &self,
        space: &mut Space,
        sampler: &mut SamplerSpec,
        policy: &mut StopPolicy,
    ) -> Result<(), PartError> {
        self.make_space(space)?;
        self.samplers.remake_part(sampler.part_mut())?;
        self.stop_rules.remake_part(policy.part_mut())
    }
}
