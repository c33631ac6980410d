//! Policies, as the command line names them.

use crate::catalogue::catalogue;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use foretell_search::{PartError, Policy, Stopping};
use serde_json::Map;

/// A policy as the command line names it; some names include a predictor or scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PolicyName {
    None,
    Srm,
    LastValue,
    Median,
    Patience,
    Asha,
    Oracle,
    IEpoch,
    /// One that the catalogue has.
    Own(&'static str),
}

/// Those of a replay, in the order of the help.
const OURS: [(PolicyName, &str, &str); 8] = [
    (PolicyName::None, "none", "Stop nothing"),
    (PolicyName::Srm, "srm", "Stop runs that are forecast not to win, by --predictor"),
    (
        PolicyName::LastValue,
        "last-value",
        "Stop runs that would not win if the last value were the final one",
    ),
    (PolicyName::Median, "median", "Stop runs below the median of completed runs"),
    (PolicyName::Patience, "patience", "Stop runs without improvement for --patience points"),
    (PolicyName::Asha, "asha", "Keep the best 1/η at the rungs R/η² and R/η"),
    (
        PolicyName::Oracle,
        "oracle",
        "Stop runs that will not win, with perfect foresight: the upper bound for forecasts",
    ),
    (PolicyName::IEpoch, "i-epoch", "Stop all but the best --keep after --i-epochs points"),
];

impl PolicyName {
    /// The parser of a name on the command line.
    pub(super) fn parser() -> impl TypedValueParser<Value = Self> {
        let ours = OURS.map(|(_, name, about)| (name, about));
        let theirs = catalogue()
            .replayed_policies()
            .filter(|(name, _)| !OURS.iter().any(|(_, known, _)| known == name));
        let value = |(name, about): (&'static str, &'static str)| {
            // of a study its rules speak of trials
            PossibleValue::new(name).help(about.trim_end_matches('.').replace("trials", "runs"))
        };
        let lacking =
            catalogue().lacking("policy").into_iter().map(|name| PossibleValue::new(name).hide(true));
        let values = ours.into_iter().chain(theirs).map(value).chain(lacking);
        PossibleValuesParser::new(values).try_map(|name| Self::named(&name))
    }

    /// # Errors
    /// The refusal of a name that the catalogue lacks.
    fn named(name: &str) -> Result<Self, PartError> {
        let ours = OURS.iter().find_map(|(policy, known, _)| (*known == name).then_some(*policy));
        let theirs = || {
            catalogue().replayed_policies().find_map(|(known, _)| (known == name).then_some(Self::Own(known)))
        };
        let absent = || catalogue().policy(&name.into(), &Map::new()).err();
        ours.or_else(theirs).map_or_else(|| absent().map_or(Ok(Self::None), Err), Ok)
    }

    /// Its name on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Own(name) => name,
            ours => {
                OURS.iter().find_map(|(known, name, _)| (*known == ours).then_some(*name)).unwrap_or("none")
            }
        }
    }

    /// The predictors that it forecasts by; none if it makes no forecast.
    pub(super) fn predictors(self, chosen: &[String]) -> Vec<String> {
        let policy = self.policy(1, 1);
        match self {
            Self::Srm => chosen.to_vec(),
            Self::LastValue => vec![self.name().to_owned()],
            Self::Own(_) if policy.is_by_curve_alone() => {
                let known = catalogue().extrapolating();
                let named = chosen.iter().filter(|name| known.contains(&name.as_str())).cloned();
                let named: Vec<String> = named.collect();
                let usual = || self.usual().map(|stopping| stopping.predictor).into_iter().collect();
                if named.is_empty() { usual() } else { named }
            }
            Self::Own(_) if policy.is_by_forecasts() => chosen.to_vec(),
            _ => Vec::new(),
        }
    }

    /// The default stop criterion of a study with this policy, if the policy defines its own.
    pub(super) fn usual(self) -> Option<Stopping> {
        self.policy(1, 1).usual()
    }

    /// Whether each run is forecast by its own curve alone.
    pub(super) fn is_by_curve_alone(self) -> bool {
        self.policy(1, 1).is_by_curve_alone()
    }

    /// The policy that it replays; `eta` and `patience` are the numbers of those that have one.
    pub(super) fn policy(self, eta: u64, patience: usize) -> Policy {
        match self {
            Self::None | Self::IEpoch => Policy::none(),
            Self::Srm | Self::LastValue => Policy::default(),
            named => {
                let numbers = [("eta".to_owned(), eta.into()), ("patience".to_owned(), patience.into())];
                // the parser took the name from the catalogue
                catalogue().policy(&named.name().into(), &Map::from_iter(numbers)).unwrap_or_default()
            }
        }
    }
}
