//! Defaults of a study that stand nowhere else; how trials are stopped is in [`Caution`](crate::Caution).

/// How many trials a study has unless told otherwise.
pub const DEFAULT_TRIALS: u64 = 40;
/// How many epochs a whole training takes unless told otherwise.
pub const DEFAULT_EPOCHS: u64 = 20;
/// What a metric without a name is called.
pub const DEFAULT_METRIC: &str = "score";
/// η of schedulers with rungs.
pub const DEFAULT_ETA: u64 = 3;
/// κ of f-Hyperband.
pub const DEFAULT_KAPPA: f64 = 0.25;
/// Reports without a new best before the policy patience stops a trial.
pub const DEFAULT_PATIENCE: usize = 5;
