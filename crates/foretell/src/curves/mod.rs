//! Learning curves and configurations as they were reported, and runs laid on a common grid of steps.

pub(crate) mod architecture;
pub(crate) mod columns;
pub(crate) mod configuration;
pub(crate) mod curve;
pub(crate) mod encoding;
pub(crate) mod history;
pub(crate) mod metric;
pub(crate) mod names;
pub(crate) mod scale;
pub(crate) mod standing;
pub(crate) mod training;
