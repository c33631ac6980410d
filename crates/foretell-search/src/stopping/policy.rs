//! The stop rule of a study, as requests and logs describe it.

use super::caution::{Caution, StoppingDefaults};
use super::{ForecastRule, NamedRule, NoStopping, RuleNeeds, StopRule, rules};
use crate::part::{NamedSettings, StudyPart};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// The rule that stops running trials: an entry of a [`Catalogue`](crate::Catalogue), with its settings.
///
/// ```
/// use foretell_search::{MedianRule, PatienceRule, StopPolicy};
///
/// assert_eq!(StopPolicy::from(MedianRule).name(), "median");
/// let patience = StopPolicy::from(PatienceRule { patience: 7 });
/// assert_eq!(serde_json::to_value(&patience).unwrap(), serde_json::json!({"patience": {"patience": 7}}));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct StopPolicy(StudyPart<dyn StopRule>);

impl<R: NamedRule> From<R> for StopPolicy {
    fn from(rule: R) -> Self {
        // the settings of a rule are plain data
        let settings = serde_json::to_value(&rule).unwrap_or_default();
        Self(StudyPart::new(NamedSettings { name: R::NAME.to_owned(), settings }, Arc::new(rule)))
    }
}

impl Default for StopPolicy {
    fn default() -> Self {
        ForecastRule.into()
    }
}

/// A rule of another crate stays a description until [`StudySpec::made`](crate::StudySpec::made).
impl<'de> Deserialize<'de> for StopPolicy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let named = NamedSettings::deserialize(deserializer)?;
        let ours = rules().part(&named, &serde_json::Map::new());
        Ok(Self(ours.unwrap_or_else(|_| StudyPart::without_implementation(named))))
    }
}

impl StopPolicy {
    /// The policy of a catalogue's `part`.
    pub(crate) fn of_part(part: StudyPart<dyn StopRule>) -> Self {
        Self(part)
    }

    /// The part that the policy is, to be made by a catalogue.
    pub(crate) fn part_mut(&mut self) -> &mut StudyPart<dyn StopRule> {
        &mut self.0
    }

    /// No stopping.
    pub fn none() -> Self {
        NoStopping.into()
    }

    /// The name by which a request asks for it.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// The name and the settings.
    pub fn named_settings(&self) -> &NamedSettings {
        self.0.named_settings()
    }

    /// The setting `name`, if it has one.
    pub fn setting(&self, name: &str) -> Option<&Value> {
        self.0.settings().get(name)
    }

    /// The rule; `None` for one of another crate, where only its description was read.
    pub fn rule(&self) -> Option<&Arc<dyn StopRule>> {
        self.0.implementation()
    }

    /// The needs of its rule where a whole training takes `max_resource` steps.
    pub fn needs(&self, max_resource: u64) -> RuleNeeds {
        self.rule().map_or_else(RuleNeeds::default, |rule| rule.needs(max_resource))
    }

    /// Whether the setting `field` of a request matters to it.
    pub fn uses(&self, field: &str) -> bool {
        let needs = self.needs(1);
        self.setting(field).is_some()
            || match field {
                "burn_in" => needs.burn_in,
                "offset" | "nth_best" => needs.incumbent,
                "caution" => needs.curves || needs.forecasts && !needs.curve_alone,
                "stop_probability" | "agreeing_checks" | "error_budget" | "refit" | "predictor" => {
                    needs.forecasts
                }
                _ => false,
            }
    }

    /// Whether it stops trials.
    pub fn stops(&self) -> bool {
        !self.needs(1).nothing
    }

    /// Whether forecasts of their end stop trials, from some time on.
    pub fn is_by_forecasts(&self) -> bool {
        self.needs(1).forecasts
    }

    /// Returns this policy if forecasts by a predictor stop trials, else the rule that goes by them alone.
    pub(crate) fn by_forecasts(self) -> Self {
        if self.is_by_forecasts() { self } else { ForecastRule.into() }
    }

    /// Whether it learns from the curves of earlier runs as far as they go, completed or not.
    pub fn learns_from_curves(&self) -> bool {
        self.needs(1).curves
    }

    /// Whether each trial is forecast by its own curve alone, so that nothing is learned from others.
    pub fn is_by_curve_alone(&self) -> bool {
        self.needs(1).curve_alone
    }

    /// The default stopping of a study by it, where the rule has a choice of its own.
    pub fn usual(&self) -> Option<StoppingDefaults> {
        self.rule().and_then(|rule| rule.usual())
    }

    /// When it stops a trial with this `caution`, in words that follow "a trial is stopped"; `None` for policies that go by forecasts, whose words need
    /// the criterion, and for the one that stops nothing.
    pub fn in_words(&self, caution: Caution) -> Option<String> {
        let rule = self.rule()?;
        let RuleNeeds { nothing, forecasts, .. } = rule.needs(1);
        rule.in_words(caution)
            .or_else(|| (!nothing && !forecasts).then(|| format!("by the rule {}", self.name())))
    }
}
