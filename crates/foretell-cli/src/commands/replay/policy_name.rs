//! Policies, as the command line names them.

use clap::ValueEnum;
use foretell::lce::LceOptions;
use foretell_search::{Policy, Stopping};

/// Who is stopped, as the command line names it: a policy, and for some their predictor or scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PolicyName {
    /// Stop nothing.
    None,
    /// Stop runs that are forecast not to win, by --predictor.
    Srm,
    /// Stop runs that would not win if the last value were the final one.
    LastValue,
    /// Stop runs that will not win, by extrapolating each curve alone (Domhan et al., conservative).
    Lce,
    /// As lce, and stop runs whose final value is certain, whatever their rank (Domhan et al., optimistic).
    LceOptimistic,
    /// Stop runs below the median of finished runs.
    Median,
    /// Stop runs without improvement for --patience points.
    Patience,
    /// Keep the best 1/η at the rungs R/η² and R/η.
    Asha,
    /// Stop runs that will not win, with perfect foresight: the upper bound for forecasts.
    Oracle,
    /// Stop all but the best --keep after --i-epochs points.
    IEpoch,
}

impl PolicyName {
    /// Its name on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Srm => "srm",
            Self::LastValue => "last-value",
            Self::Lce => "lce",
            Self::LceOptimistic => "lce-optimistic",
            Self::Median => "median",
            Self::Patience => "patience",
            Self::Asha => "asha",
            Self::Oracle => "oracle",
            Self::IEpoch => "i-epoch",
        }
    }

    /// The predictors that it forecasts by; none if it makes no forecast.
    pub(super) fn predictors(self, chosen: &[String]) -> Vec<String> {
        match self {
            Self::Srm => chosen.to_vec(),
            Self::LastValue => vec![self.name().to_owned()],
            Self::Lce | Self::LceOptimistic => {
                let named = chosen.iter().filter(|name| LceOptions::named(name).is_some()).cloned();
                let named: Vec<String> = named.collect();
                if named.is_empty() { vec![Stopping::lce().predictor] } else { named }
            }
            _ => Vec::new(),
        }
    }

    /// Whether each run is forecast by its own curve alone.
    pub(super) fn is_by_curve_alone(self) -> bool {
        matches!(self, Self::Lce | Self::LceOptimistic)
    }

    /// The policy that it replays; `eta` and `patience` are the numbers of those that have one.
    pub(super) fn policy(self, eta: u64, patience: usize) -> Policy {
        use foretell_search::PolicyName as Study;
        match self {
            Self::None | Self::IEpoch => Policy::None,
            Self::Srm | Self::LastValue => Policy::Forecast,
            Self::Lce => Study::Lce.policy(eta, patience),
            Self::LceOptimistic => Study::LceOptimistic.policy(eta, patience),
            Self::Oracle => Policy::Oracle,
            Self::Median => Study::Median.policy(eta, patience),
            Self::Patience => Study::Patience.policy(eta, patience),
            Self::Asha => Study::Asha.policy(eta, patience),
        }
    }
}
