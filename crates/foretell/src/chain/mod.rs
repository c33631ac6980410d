//! The chain: forecasts from level to level of every curve there is, and each running trial's chance to end as the best.

pub(crate) mod contest;
pub(crate) mod end;
pub(crate) mod fit;
pub(crate) mod forecaster;
pub(crate) mod guard;
pub(crate) mod levels;
pub(crate) mod regression;
pub(crate) mod transformation;
