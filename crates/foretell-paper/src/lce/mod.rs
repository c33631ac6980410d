//! Learning-curve extrapolation (Domhan et al. 2015): parametric curve families, fitted, combined and sampled.
//!
//! [`extrapolate`] takes one curve and gives the posterior of its end, [`Lce`] does so as a predictor.

mod beginning;
mod exponentials;
mod extrapolate;
mod families;
mod least_squares;
mod logarithmic;
mod options;
mod posterior;
mod power_laws;
mod predictor;
mod rule;
mod sampler;
mod sigmoids;
mod start;
mod termination;

pub use beginning::LeadingCut;
pub use extrapolate::{Extrapolation, NoExtrapolation, PartialCurve, extrapolate};
pub use families::CurveFamily;
pub use options::LceOptions;
pub use posterior::MonotonicityRule;
pub use predictor::Lce;
pub use rule::LceRule;
pub use sampler::{ChainDiagnostics, ConvergenceCriterion, EnsembleOptions, WalkerMove};
pub use termination::{TerminationCriterion, TerminationJudgment, TerminationMode, TerminationReason};
