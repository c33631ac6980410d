//! The rules that a policy names.

use super::{AshaRule, ForecastRule, MedianRule, PatienceRule, StopRule};
use crate::stopping::policy::Policy;
use foretell::StopCriterion;
use std::sync::Arc;

/// The rule of `policy`; `None` where no trial is judged, or where only a replay has it.
pub(crate) fn rule_of(policy: Policy, criterion: StopCriterion) -> Option<Arc<dyn StopRule>> {
    Some(match policy {
        Policy::None | Policy::Oracle => return None,
        Policy::Forecast => Arc::new(ForecastRule { criterion, optimistic: false }),
        Policy::Optimistic => Arc::new(ForecastRule { criterion, optimistic: true }),
        Policy::Median => Arc::new(MedianRule),
        Policy::Patience(reports) => Arc::new(PatienceRule(reports)),
        Policy::Asha(eta) => Arc::new(AshaRule { eta }),
    })
}
