//! The ways of stopping that a replay compares, as the command line names them.

use crate::catalogue::catalogue;
use clap::builder::{PossibleValue, PossibleValuesParser};
use foretell_search::{ForecastRule, NamedRule, PartError, StopPolicy};
use serde_json::{Map, Value};

/// Those besides the policies of the catalogue: `srm` with a predictor of its own, and a schedule.
const LAST_VALUE: (&str, &str) =
    ("last-value", "Stop runs that would not win if the last value were the final one");
const I_EPOCH: (&str, &str) = ("i-epoch", "Stop all but the best --keep after --i-epochs points");

/// A way of stopping runs.
#[derive(Clone, Debug)]
pub(super) struct StoppingWay {
    /// Name on the command line.
    pub(super) name: String,
    /// The policy of a study that stops so.
    pub(super) policy: StopPolicy,
}

impl StoppingWay {
    /// The parser of a name on the command line.
    pub(super) fn parser() -> PossibleValuesParser {
        let all = catalogue().list_replay_policies().chain([LAST_VALUE, I_EPOCH]);
        let value = |(name, about): (&'static str, &'static str)| {
            // of a study its rules speak of trials
            PossibleValue::new(name).help(about.trim_end_matches('.').replace("trial", "run"))
        };
        // accepted here and refused by the catalogue, which tells where they are
        let lacking = catalogue()
            .missing_paper_parts("policy")
            .into_iter()
            .map(|name| PossibleValue::new(name).hide(true));
        PossibleValuesParser::new(all.map(value).chain(lacking))
    }

    /// The way called `name`, with the settings among the `fields` of a request.
    ///
    /// # Errors
    /// The refusal of a name that the catalogue lacks, or of the settings.
    pub(super) fn from_name(name: &str, fields: &Map<String, Value>) -> Result<Self, PartError> {
        let policy = match name {
            _ if name == LAST_VALUE.0 => ForecastRule.into(),
            _ if name == I_EPOCH.0 => StopPolicy::none(),
            _ => catalogue().resolve_policy(&name.into(), fields)?,
        };
        Ok(Self { name: name.to_owned(), policy })
    }

    /// Whether it drops runs after a few epochs by a schedule, not by a rule.
    pub(super) fn is_schedule(&self) -> bool {
        self.name == I_EPOCH.0
    }

    /// Whether every setting of its forecasts is compared; other rules are compared with it.
    pub(super) fn is_compared(&self) -> bool {
        self.name == ForecastRule::NAME
    }

    /// Whether a caution sets the risk.
    pub(super) fn has_caution(&self) -> bool {
        self.policy.name() == self.name && self.policy.uses("caution")
    }

    /// The predictors that it forecasts by; none if it makes no forecast.
    pub(super) fn predictors(&self, chosen: &[String]) -> Vec<String> {
        let needs = self.policy.needs(1);
        if self.name == LAST_VALUE.0 {
            return vec![self.name.clone()];
        }
        if !needs.forecasts || !needs.curve_alone {
            return if needs.forecasts { chosen.to_vec() } else { Vec::new() };
        }
        let known = catalogue().extrapolating_predictors();
        let named: Vec<String> =
            chosen.iter().filter(|name| known.contains(&name.as_str())).cloned().collect();
        let usual = || self.policy.usual().map(|stopping| stopping.predictor).into_iter().collect();
        if named.is_empty() { usual() } else { named }
    }
}
