//! Matrices, solvers and minimizers.

pub mod cholesky;
pub mod inverse;
pub mod lbfgs;
pub(crate) mod least_squares;
pub(crate) mod matrix;
pub mod simd;
pub(crate) mod tridiagonal;
