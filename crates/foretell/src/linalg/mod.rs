//! Matrices, solvers and minimisers.

pub(crate) mod cholesky;
pub(crate) mod inverse;
pub(crate) mod lbfgs;
pub(crate) mod least_squares;
pub(crate) mod matrix;
pub(crate) mod simd;
pub(crate) mod tridiagonal;
