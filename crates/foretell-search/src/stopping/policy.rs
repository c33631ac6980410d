//! Policies: which rule stops running trials, by the name that a request and the log have for it, and in words.
//!
//! A new rule is one file beside this one, its variant here, and its name in [`PolicyName`].

use super::caution::Caution;
use super::rungs_first::{FEWEST, first_rungs, margin};
use super::{AshaRule, ForecastRule, LceRule, MedianRule, PatienceRule, RungsFirstRule, StopRule};
use foretell::lce::{LceOptions, TerminationMode};
use foretell::{Lce, Predictor, PredictorOptions, StopCriterion, UnknownPredictor, predictor};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The rule that stops running trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// No trial is stopped, and no decision is made.
    None,
    /// By their forecasts: the paper's rule, with any predictor (`srm` on the command line). `last-value` as the predictor
    /// gives the last-value criterion.
    #[default]
    Forecast,
    /// By the extrapolation of each curve alone: the conservative criterion of Domhan et al. 2015. See [`LceRule`].
    Lce,
    /// The same, and also where the end is known, whatever its rank: their optimistic criterion.
    LceOptimistic,
    /// The median rule: stop a trial whose best score so far is below the median of the running means of those that were
    /// trained as far as it is to be. Source: Golovin et al., "Google Vizier", KDD 2017, §3.2.2.
    Median,
    /// Stop a trial whose best score is this many reports old. It saves training that has come to rest, of winners too.
    Patience(usize),
    /// ASHA that stops instead of pausing, so that no checkpoint is needed: at its rungs, R/η² and R/η, a trial goes on if it is among
    /// the best ⌊n/η⌋ (at least the best) of the n that have reached the level, itself counted. There is no burn-in. The number is η.
    /// Rungs below R/η² are left out: their ranks say little of the end (see `docs/research/budget.md`). Source: Li et al. 2020; the stopping variant is that of Ray Tune and of Optuna's `SuccessiveHalvingPruner`.
    Asha(u64),
    /// By rungs while fewer trials than the burn-in have finished, then by forecasts: see [`RungsFirstRule`].
    RungsFirst(Caution),
    /// Perfect foresight: stop a trial that ends at or below what it has to beat. The most that any forecast could save;
    /// in replays only.
    Oracle,
}

/// The policies that a request can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PolicyName {
    /// Stop nothing.
    None,
    /// Stop trials whose forecasts show that they will not win.
    #[serde(alias = "forecast")]
    Srm,
    /// Until enough trials are completed, keep the best third at the rungs R/9 and R/3; then as srm.
    RungsFirst,
    /// Stop trials below the median of the other trials' running means.
    Median,
    /// Stop after a number of reports without improvement.
    Patience,
    /// ASHA without pauses: keep the best 1/η at the rungs R/η² and R/η.
    Asha,
    /// Stop trials that will not win, by extrapolating each curve alone (Domhan et al., conservative).
    Lce,
    /// As lce, and stop trials whose final value is certain, whatever their rank (Domhan et al., optimistic).
    LceOptimistic,
}

impl PolicyName {
    /// The policy of this name, with the numbers of those that have one.
    pub fn policy(self, eta: u64, patience: usize) -> Policy {
        match self {
            Self::None => Policy::None,
            Self::Srm => Policy::Forecast,
            Self::RungsFirst => Policy::RungsFirst(Caution::default()),
            Self::Median => Policy::Median,
            Self::Patience => Policy::Patience(patience),
            Self::Asha => Policy::Asha(eta),
            Self::Lce => Policy::Lce,
            Self::LceOptimistic => Policy::LceOptimistic,
        }
    }
}

impl Policy {
    /// The name by which a request asks for it.
    pub fn name(self) -> PolicyName {
        match self {
            Self::None => PolicyName::None,
            Self::Median => PolicyName::Median,
            Self::Patience(_) => PolicyName::Patience,
            Self::Asha(_) => PolicyName::Asha,
            Self::RungsFirst(_) => PolicyName::RungsFirst,
            Self::Lce => PolicyName::Lce,
            Self::LceOptimistic => PolicyName::LceOptimistic,
            Self::Forecast | Self::Oracle => PolicyName::Srm,
        }
    }

    /// Whether forecasts of their end stop trials, from some time on.
    pub fn is_by_forecasts(self) -> bool {
        matches!(self, Self::Forecast | Self::RungsFirst(_)) || self.is_by_curve_alone()
    }

    /// Whether each trial is forecast by its own curve alone, so that nothing is learnt from others.
    pub fn is_by_curve_alone(self) -> bool {
        matches!(self, Self::Lce | Self::LceOptimistic)
    }

    /// Returns the predictor called `name`, by which the policy forecasts. With LCE's criterion the predictor ignores the points before learning
    /// begins.
    ///
    /// # Errors
    /// [`UnknownPredictor`] if no predictor is called `name`.
    pub fn predictor(
        self,
        name: &str,
        options: &PredictorOptions,
    ) -> Result<Arc<dyn Predictor>, UnknownPredictor> {
        match LceOptions::named(name) {
            Some(lce) if self.is_by_curve_alone() => {
                Ok(Arc::new(Lce::of_termination(lce, options.draws, options.seed)))
            }
            _ => predictor(name, options).map(Arc::from),
        }
    }

    /// Its rule; `None` where no trial is judged, or where only a replay has it.
    pub(crate) fn rule(self, criterion: StopCriterion) -> Option<Arc<dyn StopRule>> {
        Some(match self {
            Self::None | Self::Oracle => return None,
            Self::Forecast => Arc::new(ForecastRule { criterion }),
            Self::Lce => Arc::new(LceRule { criterion, mode: TerminationMode::Conservative }),
            Self::LceOptimistic => Arc::new(LceRule { criterion, mode: TerminationMode::Optimistic }),
            Self::RungsFirst(caution) => Arc::new(RungsFirstRule { criterion, caution }),
            Self::Median => Arc::new(MedianRule),
            Self::Patience(reports) => Arc::new(PatienceRule(reports)),
            Self::Asha(eta) => Arc::new(AshaRule { eta }),
        })
    }

    /// The epochs at which it compares trials before forecasts can; none for most policies.
    pub fn rungs_before_forecasts(self, max_resource: u64) -> Vec<u64> {
        match self {
            Self::RungsFirst(_) => first_rungs(max_resource),
            _ => Vec::new(),
        }
    }

    /// When it stops a trial before forecasts can, in words that follow "a trial is stopped"; `None` where nothing does, or no rung lies below the
    /// end.
    pub fn before_forecasts(self, max_resource: u64) -> Option<String> {
        let Self::RungsFirst(caution) = self else { return None };
        let rungs: Vec<String> = first_rungs(max_resource).iter().map(u64::to_string).collect();
        let unless = margin(caution).map_or(String::new(), |margin| {
            format!(
                ", and is behind the best of them by more than {margin} standard deviation(s) of their scores"
            )
        });
        (!rungs.is_empty()).then(|| {
            format!(
                "if at epoch {} it is not among the best third of those there, {FEWEST} at least{unless}",
                rungs.join(" or ")
            )
        })
    }

    /// When it stops a trial, in words that follow "a trial is stopped"; `None` for policies that go by forecasts, whose words need
    /// the criterion, and for the one that stops nothing.
    pub fn in_words(self) -> Option<String> {
        match self {
            Self::None | Self::Forecast | Self::RungsFirst(_) | Self::Oracle => None,
            Self::Lce | Self::LceOptimistic => None,
            Self::Median => Some("once its best is below the median of the others' running means".to_owned()),
            Self::Patience(reports) => Some(format!("after {reports} reports without a new best")),
            Self::Asha(eta) => Some(format!(
                "at the rungs R/{} and R/{eta} unless it is among the best 1/{eta} there",
                eta * eta
            )),
        }
    }
}
