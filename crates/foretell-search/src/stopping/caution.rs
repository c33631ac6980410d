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
    /// Saves the most, and often ends with the second or third best trial.
    Fast,
}

/// When trials are stopped, and which results forecasts learn from.
#[derive(Clone, Debug, PartialEq)]
pub struct StoppingDefaults {
    /// Trials that are trained to their end before any is stopped.
    pub burn_in: u64,
    /// The predictor's name.
    pub predictor: String,
    /// Refit when the number of finished trials has grown by this factor; `None`: once.
    pub refit: Option<f64>,
    /// When a forecast stops a trial.
    pub criterion: StopCriterion,
}

/// The facts of a caution, all in one place.
struct CautionFacts {
    caution: Caution,
    name: &'static str,
    /// θ: see [`Caution::bar`].
    theta: f64,
    /// The fraction of studies that it is to keep the best trial in.
    promise: f64,
    /// Δ, where forecasts by a predictor stop trials.
    stop_probability: f64,
}

/// From the most careful on. θ was chosen by simulated searches in `docs/research/chain.md`.
const CAUTION_FACTS: [CautionFacts; 3] = [
    CautionFacts {
        caution: Caution::Safe,
        name: "safe",
        theta: 0.0125,
        promise: 0.97,
        stop_probability: 0.999,
    },
    CautionFacts {
        caution: Caution::Balanced,
        name: "balanced",
        theta: 0.025,
        promise: 0.93,
        stop_probability: 0.99,
    },
    CautionFacts {
        caution: Caution::Fast,
        name: "fast",
        theta: 0.057,
        promise: 0.85,
        stop_probability: 0.95,
    },
];

impl Caution {
    /// All, from the most careful on.
    pub const ALL: [Self; 3] = [CAUTION_FACTS[0].caution, CAUTION_FACTS[1].caution, CAUTION_FACTS[2].caution];

    fn facts(self) -> &'static CautionFacts {
        &CAUTION_FACTS[self as usize]
    }

    /// The name in requests and logs.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The fraction of studies that it is to keep the best trial in: earlier runs are stopped as boldly as this allows.
    pub fn promise(self) -> f64 {
        self.facts().promise
    }

    /// c = θ√N of a study of N = `planned` trials: a trial stops once its chance to end best is below c times that of an average trial. Among more trials, the
    /// best ones are more, too, so that losing one of them costs less; in proportion to N, a study of many trials would stop every early one.
    pub(super) fn bar(self, planned: u64) -> f64 {
        self.facts().theta * (planned as f64).sqrt()
    }

    /// The stopping of a study with full training by forecasts: from the third trial on, once two checks in a row forecast with probability Δ that a
    /// trial will not win. Forecasts are learned again with each trial that completes up to 20, then with each twentieth more.
    ///
    /// ```
    /// use foretell_search::Caution;
    /// let usual = Caution::default().stopping();
    /// assert_eq!((usual.burn_in, usual.predictor.as_str(), usual.criterion.stop_probability), (3, "mean-gain", 0.99));
    /// ```
    pub fn stopping(self) -> StoppingDefaults {
        let stop_probability = self.facts().stop_probability;
        StoppingDefaults {
            burn_in: 3,
            predictor: "mean-gain".to_owned(),
            refit: Some(1.05),
            criterion: StopCriterion { stop_probability, agreeing_checks: 2, ..StopCriterion::default() },
        }
    }
}

impl StoppingDefaults {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_caution_has_its_own_facts_and_is_bolder_than_the_one_before() {
        for caution in Caution::ALL {
            assert_eq!(caution.facts().caution, caution);
        }
        for pair in Caution::ALL.windows(2) {
            assert!(pair[0].promise() > pair[1].promise());
            for planned in [2, 24, 40, 60, 100] {
                assert!(
                    pair[0].bar(planned) < pair[1].bar(planned) && pair[1].bar(planned) < 1.0,
                    "{planned}"
                );
            }
        }
    }
}
