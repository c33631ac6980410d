//! Samplers that learn from the values of trials: tree-structured Parzen estimators and a Gaussian process.

mod cube;
mod evidence;
mod first_draws;
mod front;
mod gp;
mod process;
mod relevance;
mod surface;
mod tpe;

pub(crate) use cube::UnitCube;
pub(crate) use evidence::TrialEvidence;
pub(crate) use first_draws::first_draw;
pub(crate) use front::{FrontSearch, KnownCosts};
pub(crate) use gp::GpSearch;
pub use relevance::{Relevances, relevances, relevances_of};
pub use surface::{Contour, ResponseSurface, Slice};
pub(crate) use tpe::parzen_draws;
