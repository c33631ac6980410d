//! Policies: the stop rules of running trials, by their names in requests and in the log, and in words.
//!
//! A new rule of this crate is one file next to this one, its variant here, and its name in [`POLICIES`]. Other crates add theirs to a
//! [`Catalogue`](crate::Catalogue).

use super::asha::AshaRule;
use super::caution::{Caution, Stopping};
use super::median::MedianRule;
use super::rungs_first::{FEWEST, first_rungs, margin};
use super::{ForecastRule, Needs, PatienceRule, RungsFirstRule, StopRule};
use crate::defaults::DEFAULT_ETA;
use crate::part::Part;
use foretell::StopCriterion;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The rule that stops running trials.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// No trial is stopped, and no decision is made.
    None,
    /// By their forecasts: the paper's rule, with any predictor (`srm` on the command line). `last-value` as the predictor
    /// gives the last-value criterion.
    #[default]
    Forecast,
    /// The median rule: stop a trial whose best score so far is below the median of the running means of those that were
    /// trained as far as it is to be. Source: Golovin et al., "Google Vizier", KDD 2017, §3.2.2.
    Median,
    /// Stop a trial whose best score is this many reports old. It saves training that no longer improves, of winners too.
    Patience(usize),
    /// ASHA that stops instead of pausing, so no checkpoint is needed. The number is η. At its rungs, R/η² and R/η, a trial continues
    /// if it is among the best ⌊n/η⌋ (at least the best) of the n that have reached the rung, itself counted. There is no burn-in. Ranks
    /// at lower rungs tell little about final values (see `docs/research/budget.md`). Source: Li et al. 2020; the stopping variant is
    /// that of Ray Tune and of Optuna's `SuccessiveHalvingPruner`.
    Asha(u64),
    /// By rungs while fewer trials than the burn-in have finished, then by forecasts: see [`RungsFirstRule`].
    RungsFirst(Caution),
    /// Perfect foresight: stop a trial that ends at or below the score it has to beat. The most that forecasts could save; in replays only.
    Oracle,
    /// A rule of a [`Catalogue`](crate::Catalogue).
    #[serde(untagged)]
    Own(Part<dyn StopRule>),
}

/// The names of this crate's policies.
pub(crate) const POLICIES: &[(&str, &str)] = &[
    ("none", "Stop nothing."),
    ("srm", "Stop trials whose forecasts show that they will not win."),
    (
        "rungs-first",
        "Until enough trials are completed, keep the best third at the rungs R/9 and R/3; then as srm.",
    ),
    ("median", "Stop trials below the median of the other trials' running means."),
    ("patience", "Stop after a number of reports without improvement."),
    ("asha", "ASHA without pauses: keep the best 1/η at the rungs R/η² and R/η."),
];

impl Policy {
    /// The policy of a study that stops with `caution`. Beyond three times less training late rungs keep the best trial more often than forecasts do,
    /// unless earlier runs teach how sure a forecast has to be.
    pub fn cautious(caution: Caution, learns_from_earlier_runs: bool) -> Self {
        match caution {
            Caution::Fast if !learns_from_earlier_runs => Self::Asha(DEFAULT_ETA),
            Caution::Safe | Caution::Balanced | Caution::Fast => Self::RungsFirst(caution),
        }
    }

    /// The policy of this crate that is called `name`, with the numbers of those that have one.
    pub fn named(name: &str, eta: u64, patience: usize) -> Option<Self> {
        Some(match name {
            "none" => Self::None,
            "srm" | "forecast" => Self::Forecast,
            "rungs-first" => Self::RungsFirst(Caution::default()),
            "median" => Self::Median,
            "patience" => Self::Patience(patience),
            "asha" => Self::Asha(eta),
            _ => return None,
        })
    }

    /// The name by which a request asks for it.
    pub fn name(&self) -> &str {
        match self {
            Self::None => "none",
            Self::Median => "median",
            Self::Patience(_) => "patience",
            Self::Asha(_) => "asha",
            Self::RungsFirst(_) => "rungs-first",
            Self::Forecast | Self::Oracle => "srm",
            Self::Own(part) => part.name(),
        }
    }

    /// The rule of a catalogue, and what it needs.
    fn own(&self) -> Option<(&dyn StopRule, Needs)> {
        let Self::Own(part) = self else { return None };
        let rule = part.made()?.as_ref();
        Some((rule, rule.needs(1)))
    }

    /// Whether forecasts of their end stop trials, from some time on.
    pub fn is_by_forecasts(&self) -> bool {
        matches!(self, Self::Forecast | Self::RungsFirst(_))
            || self.own().is_some_and(|(_, needs)| needs.forecasts)
    }

    /// Whether each trial is forecast by its own curve alone, so that nothing is learned from others.
    pub fn is_by_curve_alone(&self) -> bool {
        self.own().is_some_and(|(_, needs)| needs.curve_alone)
    }

    /// The default stopping of a study by it, where the rule has a choice of its own.
    pub fn usual(&self) -> Option<Stopping> {
        self.own().and_then(|(rule, _)| rule.usual())
    }

    /// Its rule; `None` where no trial is judged, or where only a replay has it.
    pub(crate) fn rule(&self, criterion: StopCriterion) -> Option<Arc<dyn StopRule>> {
        Some(match self {
            Self::None | Self::Oracle => return None,
            Self::Forecast => Arc::new(ForecastRule { criterion }),
            Self::RungsFirst(caution) => Arc::new(RungsFirstRule { criterion, caution: *caution }),
            Self::Median => Arc::new(MedianRule),
            Self::Patience(reports) => Arc::new(PatienceRule(*reports)),
            Self::Asha(eta) => Arc::new(AshaRule { eta: *eta }),
            Self::Own(part) => return part.made().cloned(),
        })
    }

    /// The epochs at which it compares trials before forecasts can; none for most policies.
    pub fn rungs_before_forecasts(&self, max_resource: u64) -> Vec<u64> {
        match self {
            Self::RungsFirst(_) => first_rungs(max_resource),
            _ => Vec::new(),
        }
    }

    /// When it stops a trial before forecasts can, in words that follow "a trial is stopped"; `None` where nothing does, or no rung lies below the
    /// end.
    pub fn before_forecasts(&self, max_resource: u64) -> Option<String> {
        let Self::RungsFirst(caution) = *self else { return None };
        let rungs: Vec<String> = first_rungs(max_resource).iter().map(u64::to_string).collect();
        let unless = margin(caution).map_or(String::new(), |margin| {
            format!(
                ", and trails the best of them by more than {margin} × the standard deviation of their scores"
            )
        });
        (!rungs.is_empty()).then(|| {
            format!(
                "if it is not among the best third (at least {FEWEST}) of the trials at epoch {}{unless}",
                rungs.join(" or ")
            )
        })
    }

    /// When it stops a trial, in words that follow "a trial is stopped"; `None` for policies that go by forecasts, whose words need
    /// the criterion, and for the one that stops nothing.
    pub fn in_words(&self) -> Option<String> {
        match self {
            Self::None | Self::Forecast | Self::RungsFirst(_) | Self::Oracle => None,
            Self::Median => Some("once its best is below the median of the others' running means".to_owned()),
            Self::Patience(reports) => Some(format!("after {reports} reports without a new best")),
            Self::Asha(eta) => Some(format!(
                "at the rungs R/{} and R/{eta} unless it is among the best 1/{eta} there",
                eta * eta
            )),
            Self::Own(part) => {
                let needs_words = !part.made()?.needs(1).forecasts;
                needs_words.then(|| format!("by the rule {}", part.name()))
            }
        }
    }
}
