//! One catalogue: predictors, samplers, stop rules and spaces by the names that requests and logs have for them.
//!
//! The parts of this crate are in it. A program that brings others adds them, and hands the catalogue to [`StudyRequest::resolve_with`](crate::StudyRequest::resolve_with) and, in
//! [`Parts`](crate::Parts), to each study: flags, study files, HTTP and logs then know them as they know ours.

use crate::part::{Named, Part, PartError};
use crate::samplers::{SAMPLERS, SamplerFamily, SamplerSpec};
use crate::space::{SearchSpace, Space};
use crate::stopping::StopRule;
use crate::stopping::policy::{POLICIES, Policy};
use foretell::{NO_LABORATORY, Predictor, PredictorOptions, Predictors, UnknownPredictor};
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;

/// The parts that `foretell-paper` brings, by the `field` that names them.
fn laboratory(field: &str) -> &'static [&'static str] {
    match field {
        "policy" => &["lce", "lce-optimistic"],
        "sampler" => &["q-learning"],
        "space" => &["metaqnn"],
        _ => &[],
    }
}

type Make<T> = Arc<dyn Fn(&Value) -> Result<Arc<T>, String> + Send + Sync>;

struct Entry<T: ?Sized> {
    name: &'static str,
    about: &'static str,
    make: Make<T>,
}

/// The entries of one kind.
struct Shelf<T: ?Sized> {
    field: &'static str,
    ours: &'static [(&'static str, &'static str)],
    theirs: Vec<Entry<T>>,
}

impl<T: ?Sized> Clone for Shelf<T> {
    fn clone(&self) -> Self {
        let entry = |entry: &Entry<T>| Entry { make: Arc::clone(&entry.make), ..*entry };
        Self { theirs: self.theirs.iter().map(entry).collect(), ..*self }
    }
}

impl<T: ?Sized> Shelf<T> {
    fn new(field: &'static str, ours: &'static [(&'static str, &'static str)]) -> Self {
        Self { field, ours, theirs: Vec::new() }
    }

    /// A name that there is keeps its meaning.
    fn add(&mut self, name: &'static str, about: &'static str, make: Make<T>) {
        if !self.names().any(|(known, _)| known == name) {
            self.theirs.push(Entry { name, about, make });
        }
    }

    fn names(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.ours.iter().copied().chain(self.theirs.iter().map(|entry| (entry.name, entry.about)))
    }

    /// The refusal of the name `found`.
    fn unknown(&self, found: &str) -> PartError {
        let known: Vec<&str> = self.names().map(|(name, _)| name).collect();
        let absent = match laboratory(self.field).contains(&found) {
            true => format!("`{found}` {NO_LABORATORY}"),
            false => format!("unknown `{found}`"),
        };
        let choices =
            if known.is_empty() { String::new() } else { format!(". Choose one of {}", known.join(", ")) };
        PartError::new(self.field, format!("{absent}{choices}"))
    }

    /// `named`, made.
    fn part(&self, named: Named) -> Result<Part<T>, PartError> {
        let entry = self.theirs.iter().find(|entry| entry.name == named.name);
        let entry = entry.ok_or_else(|| self.unknown(&named.name))?;
        let made = (entry.make)(&named.settings)
            .map_err(|why| PartError::new(self.field, format!("{}: {why}", named.name)))?;
        Ok(Part::new(named, made))
    }

    fn remake(&self, part: &mut Part<T>) -> Result<(), PartError> {
        if part.made().is_none() {
            *part = self.part(part.named().clone())?;
        }
        Ok(())
    }
}

/// Predictors, samplers, stop rules and spaces by name. [`Default`] contains those of this crate.
///
/// ```
/// use foretell_search::{Catalogue, PatienceRule, StudyRequest};
/// use std::sync::Arc;
///
/// let catalogue = Catalogue::default().with_stop_rule("restless", "Stop after three reports without a new best.", |_| {
///     Ok(Arc::new(PatienceRule(3)))
/// });
/// let fields = serde_json::json!({"space": {"lr": "log:1e-4:1"}, "metric": "val_acc", "policy": "restless"});
/// let request = StudyRequest::from_fields(fields.as_object().unwrap()).unwrap();
/// assert!(request.clone().resolve(None).is_err());
/// assert_eq!(request.resolve_with(None, &catalogue).unwrap().policy.name(), "restless");
/// ```
#[derive(Clone)]
pub struct Catalogue {
    predictors: Predictors,
    samplers: Shelf<dyn SamplerFamily>,
    stop_rules: Shelf<dyn StopRule>,
    spaces: Shelf<dyn SearchSpace>,
}

impl Default for Catalogue {
    fn default() -> Self {
        Self {
            predictors: Predictors::default(),
            samplers: Shelf::new("sampler", SAMPLERS),
            stop_rules: Shelf::new("policy", POLICIES),
            spaces: Shelf::new("space", &[]),
        }
    }
}

impl fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalogue").finish_non_exhaustive()
    }
}

impl Catalogue {
    /// The same, and the predictor that `make` makes as `name`.
    #[must_use]
    pub fn with_predictor(
        mut self,
        name: &'static str,
        make: impl Fn(&PredictorOptions) -> Box<dyn Predictor> + Send + Sync + 'static,
    ) -> Self {
        self.predictors = self.predictors.with(name, make);
        self
    }

    /// The same, and the samplers of a `family` as `name`; `about` is a sentence for help texts.
    #[must_use]
    pub fn with_sampler(
        mut self,
        name: &'static str,
        about: &'static str,
        family: impl SamplerFamily + 'static,
    ) -> Self {
        let family: Arc<dyn SamplerFamily> = Arc::new(family);
        self.samplers.add(name, about, Arc::new(move |_| Ok(Arc::clone(&family))));
        self
    }

    /// The same, and the stop rule that `make` makes of its settings as `name`; `about` is a sentence for help texts.
    #[must_use]
    pub fn with_stop_rule(
        mut self,
        name: &'static str,
        about: &'static str,
        make: impl Fn(&Value) -> Result<Arc<dyn StopRule>, String> + Send + Sync + 'static,
    ) -> Self {
        self.stop_rules.add(name, about, Arc::new(make));
        self
    }

    /// The same, and the space that `make` makes of its settings as `name`; `about` is a sentence for help texts.
    #[must_use]
    pub fn with_space(
        mut self,
        name: &'static str,
        about: &'static str,
        make: impl Fn(&Value) -> Result<Arc<dyn SearchSpace>, String> + Send + Sync + 'static,
    ) -> Self {
        self.spaces.add(name, about, Arc::new(make));
        self
    }

    /// The predictors.
    pub fn predictors(&self) -> &Predictors {
        &self.predictors
    }

    /// The names of samplers, each with a sentence.
    pub fn samplers(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.samplers.names()
    }

    /// The names of policies, each with a sentence.
    pub fn policies(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.stop_rules.names()
    }

    /// The names of spaces, each with a sentence.
    pub fn spaces(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.spaces.names()
    }

    /// The names of parts of `foretell-paper` for a `field` of a request that this catalogue lacks. A program accepts them, so that the error
    /// tells where they are.
    pub fn lacking(&self, field: &str) -> Vec<&'static str> {
        let shelf: Vec<&str> = match field {
            "policy" => self.policies().map(|(name, _)| name).collect(),
            "sampler" => self.samplers().map(|(name, _)| name).collect(),
            "space" => self.spaces().map(|(name, _)| name).collect(),
            _ => Vec::new(),
        };
        laboratory(field).iter().copied().filter(|name| !shelf.contains(name)).collect()
    }

    /// The space that a request names.
    ///
    /// # Errors
    /// The [`PartError`] of an unknown name, or of settings that are none.
    pub fn space(&self, named: Named) -> Result<Space, PartError> {
        let mut space = Space::Own(Part::unmade(named));
        self.make_space(&mut space)?;
        Ok(space)
    }

    /// Makes a `space` that is not of this crate, with its settings in full.
    pub(crate) fn make_space(&self, space: &mut Space) -> Result<(), PartError> {
        let Space::Own(part) = space else { return Ok(()) };
        self.spaces.remake(part)?;
        if let Some(made) = part.made().filter(|made| !made.settings().is_null()) {
            let named = Named { settings: made.settings(), name: part.name().to_owned() };
            *part = Part::new(named, Arc::clone(made));
        }
        Ok(())
    }

    /// Whether the samplers called `named` learn from rewards: see [`SamplerFamily::is_rewarded`].
    pub(crate) fn is_rewarded(&self, named: &Named) -> bool {
        self.samplers
            .part(named.clone())
            .is_ok_and(|part| part.made().is_some_and(|family| family.is_rewarded()))
    }

    /// The predictor called `name` that forecasts by `policy`.
    ///
    /// # Errors
    /// [`UnknownPredictor`] if there is none.
    pub fn predictor(
        &self,
        policy: &Policy,
        name: &str,
        options: &PredictorOptions,
    ) -> Result<Arc<dyn Predictor>, UnknownPredictor> {
        let purpose =
            if policy.is_by_curve_alone() { foretell::Purpose::Termination } else { options.purpose };
        self.predictors.predictor(name, &PredictorOptions { purpose, ..*options }).map(Arc::from)
    }

    /// The names of predictors that forecast each run by its own curve alone.
    pub fn extrapolating(&self) -> Vec<&'static str> {
        let extrapolates = |name: &&str| {
            self.predictors
                .predictor(name, &PredictorOptions::default())
                .is_ok_and(|known| known.extrapolates())
        };
        self.predictors.names().into_iter().filter(extrapolates).collect()
    }

    /// The policy that a request names, with the numbers of those of this crate that have one.
    ///
    /// # Errors
    /// The [`PartError`] of an unknown name, or of settings that are none.
    pub fn policy(&self, named: &Named, eta: u64, patience: usize) -> Result<Policy, PartError> {
        match Policy::named(&named.name, eta, patience) {
            Some(policy) => Ok(policy),
            None => self.stop_rules.part(named.clone()).map(Policy::Own),
        }
    }

    /// The sampler that a request names whose fields are `asked`, for so many `trials`; `there` is the one that the study has. See
    /// [`SamplerFamily::settings`].
    ///
    /// # Errors
    /// The [`PartError`] of an unknown name.
    pub fn sampler(
        &self,
        named: &Named,
        asked: &Map<String, Value>,
        trials: u64,
        there: Option<&SamplerSpec>,
    ) -> Result<SamplerSpec, PartError> {
        if let Some(ours) = SamplerSpec::named(&named.name) {
            return Ok(ours);
        }
        let part = self.samplers.part(named.clone())?;
        let there = there.and_then(|there| match there {
            SamplerSpec::Own(there) if there.name() == named.name => Some(there.settings()),
            _ => None,
        });
        Ok(SamplerSpec::Own(match part.made() {
            Some(family) if part.settings().is_null() => {
                let settings = family.settings(asked, trials, there);
                Part::new(Named { settings, ..named.clone() }, Arc::clone(family))
            }
            _ => part,
        }))
    }

    /// Makes those of the parts of a study that are not of this crate.
    ///
    /// # Errors
    /// The [`PartError`] of the first whose name is unknown, or whose settings are none.
    pub(crate) fn make(
        &self,
        space: &mut Space,
        sampler: &mut SamplerSpec,
        policy: &mut Policy,
    ) -> Result<(), PartError> {
        self.make_space(space)?;
        if let SamplerSpec::Own(part) = sampler {
            self.samplers.remake(part)?;
        }
        if let Policy::Own(part) = policy {
            self.stop_rules.remake(part)?;
        }
        Ok(())
    }
}
