//! Defaults of a study that stand nowhere else; how trials are stopped is in [`Caution`](crate::Caution).

/// The default number of trials of a study.
pub(crate) const DEFAULT_TRIALS: u64 = 40;
/// The default number of epochs of a full trial.
pub(crate) const DEFAULT_EPOCHS: u64 = 20;
/// The default name of the metric.
pub(crate) const DEFAULT_METRIC: &str = "score";
/// The default η of schedulers with rungs.
pub const DEFAULT_ETA: u64 = 3;
/// The default κ of f-Hyperband.
pub(crate) const DEFAULT_KAPPA: f64 = 0.25;
/// The default number of reports without a new best before the policy patience stops a trial.
pub const DEFAULT_PATIENCE: usize = 5;
