//! The names by which a request chooses parts of a study.

use crate::schedulers::schedule::Schedule;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The choice of the trial to train next, and of its length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SchedulerName {
    /// Complete every trial.
    #[default]
    Full,
    /// Successive halving in one bracket over all trials.
    SuccessiveHalving,
    /// Hyperband, without stopping inside a rung unless you set a policy.
    Hyperband,
    /// Hyperband with stopping inside rungs.
    FHyperband,
    /// Asynchronous successive halving over all trials.
    Asha,
}

impl SchedulerName {
    /// The name as it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::SuccessiveHalving => "successive-halving",
            Self::Hyperband => "hyperband",
            Self::FHyperband => "f-hyperband",
            Self::Asha => "asha",
        }
    }

    /// Whether it runs Hyperband's brackets.
    pub fn is_hyperband(self) -> bool {
        matches!(self, Self::Hyperband | Self::FHyperband)
    }

    /// The scheduler of these numbers.
    pub fn schedule(self, rungs: &RungSettings) -> Schedule {
        let RungSettings { eta, most, runs, kappa, reference } = *rungs;
        match self {
            Self::Full => Schedule::Full,
            Self::SuccessiveHalving => Schedule::SuccessiveHalving { eta },
            Self::Asha => Schedule::Asha { eta, rungs: most },
            Self::Hyperband | Self::FHyperband => Schedule::Hyperband { eta, runs, kappa, reference },
        }
    }
}

/// The settings of schedulers with rungs.
#[derive(Clone, Copy, Debug)]
pub struct RungSettings {
    /// η: one in η trials continues.
    pub eta: u64,
    /// ASHA: the most rungs below the end.
    pub most: Option<u32>,
    /// Hyperband: how often in a row.
    pub runs: u64,
    /// f-Hyperband: how bold.
    pub kappa: crate::Kappa,
    /// f-Hyperband: the results that a trial is compared with.
    pub reference: crate::Reference,
}

/// When forecasts are refitted: `once` for never, or a growth factor of the number of completed trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Refit {
    /// Never.
    Once,
    /// When the number of completed runs has grown by this factor.
    Growth(f64),
}

impl Refit {
    /// The growth factor, if any.
    pub fn growth(self) -> Option<f64> {
        match self {
            Self::Once => None,
            Self::Growth(factor) => Some(factor),
        }
    }
}

impl Serialize for Refit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Once => serializer.serialize_str("once"),
            Self::Growth(factor) => serializer.serialize_f64(*factor),
        }
    }
}

impl<'de> Deserialize<'de> for Refit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "expected a factor above 1, such as 1.25, or \"once\"";
        match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(text) if text == "once" => Ok(Self::Once),
            serde_json::Value::String(text) => {
                let factor = text.parse().ok().filter(|factor: &f64| factor.is_finite());
                factor.map(Self::Growth).ok_or_else(|| D::Error::custom(expected))
            }
            number => number.as_f64().map(Self::Growth).ok_or_else(|| D::Error::custom(expected)),
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Refit {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Refit".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": ["number", "string"]})
    }
}
