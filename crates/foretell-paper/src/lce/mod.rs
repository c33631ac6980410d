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

pub use beginning::Beginning;
pub use extrapolate::{Extrapolation, NoExtrapolation, PartialCurve, extrapolate};
pub use families::Family;
pub use options::LceOptions;
pub use posterior::Monotonicity;
pub use predictor::Lce;
pub use rule::LceRule;
pub use sampler::{Convergence, Diagnostics, EnsembleOptions, Move};
pub use termination::{Judgment, Termination, TerminationMode, TerminationReason};
