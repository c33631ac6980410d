//! The judge: the knowledge from a study's trials, their forecasts, and the decision on a running trial. It changes no record.

pub(super) mod decision;
pub(super) mod fit;
mod folds;
pub(super) mod knowledge;
mod learner;
pub(super) mod measures;
mod misfits;
mod objectives;
mod outlook;
mod ranking;
mod rungs;
mod side;
mod worths;
