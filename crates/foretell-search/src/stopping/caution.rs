//! Caution: how a study stops trials unless told otherwise, as one of three measured points.

use foretell::StopCriterion;
use serde::{Deserialize, Serialize};

/// The risk that a study takes to save training: a point on the trade-off between saving and keeping the best trial. The page
/// "How much stopping saves" of the book shows the figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Caution {
    /// Rarely loses the best trial.
    Safe,
    /// Saves most of it at little risk.
    #[default]
    Balanced,
    /// Saves the most: stops at late rungs.
    Fast,
}

/// When trials are stopped, and which results forecasts learn from.
#[derive(Clone, Debug, PartialEq)]
pub struct Stopping {
    /// Trials that are trained to their end before any is stopped.
    pub burn_in: u64,
    /// The predictor's name.
    pub predictor: String,
    /// Refit when the number of finished trials has grown by this factor; `None`: once.
    pub refit: Option<f64>,
    /// When a forecast stops a trial.
    pub criterion: StopCriterion,
}

impl Caution {
    /// All, from the most careful on.
    pub const ALL: [Self; 3] = [Self::Safe, Self::Balanced, Self::Fast];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Balanced => "balanced",
            Self::Fast => "fast",
        }
    }

    /// The fraction of studies that it is to keep the best trial in: earlier runs are stopped as boldly as this allows.
    pub fn promise(self) -> f64 {
        match self {
            Self::Safe => 0.97,
            Self::Balanced => 0.93,
            Self::Fast => 0.85,
        }
    }

    /// The stopping of a study with full training by forecasts: from the third trial on, once two checks in a row forecast with probability Δ that a
    /// trial will not win. Forecasts are learned again with each trial that completes up to 20, then with each twentieth more.
    ///
    /// ```
    /// use foretell_search::Caution;
    /// let usual = Caution::default().stopping();
    /// assert_eq!((usual.burn_in, usual.predictor.as_str(), usual.criterion.stop_probability), (3, "mean-gain", 0.99));
    /// ```
    pub fn stopping(self) -> Stopping {
        let stop_probability = match self {
            Self::Safe => 0.999,
            Self::Balanced => 0.99,
            Self::Fast => 0.95,
        };
        Stopping {
            burn_in: 3,
            predictor: "mean-gain".to_owned(),
            refit: Some(1.05),
            criterion: StopCriterion { stop_probability, agreeing_checks: 2, ..StopCriterion::default() },
        }
    }
}

impl Stopping {
    /// The paper's: ν-SVR with an RBF kernel, learned once from 100 trials; a single check stops at Δ = 0.95.
    ///
    /// Source: Baker et al. 2017, §4.
    pub fn paper() -> Self {
        Self {
            burn_in: 100,
            predictor: "svr-rbf+gaussian".to_owned(),
            refit: None,
            criterion: StopCriterion { stop_probability: 0.95, ..StopCriterion::default() },
        }
    }

    /// Where trials are compared at rungs by forecasts of their end: from the fifth finished trial on, learned again as trials finish.
    pub fn ranking() -> Self {
        Self { burn_in: 5, refit: Some(1.05), ..Self::in_rungs() }
    }

    /// At each level of a scheduler with rungs: as many trials as the reference `level` waits for.
    pub fn in_rungs() -> Self {
        Self {
            burn_in: 20,
            predictor: "auto".to_owned(),
            refit: None,
            criterion: StopCriterion { stop_probability: 0.9, ..StopCriterion::default() },
        }
    }
}
