//! Why a reproduction ended without a result.

use std::fmt::Display;

/// Why a reproduction ended without a result.
#[derive(Debug, thiserror::Error)]
pub enum ReproductionError {
    /// Bad input.
    #[error("{0}")]
    Input(String),
    /// Something went wrong midway.
    #[error("{0}")]
    Midway(String),
}

impl ReproductionError {
    /// Bad input, described by `error`.
    pub(super) fn input(error: impl Display) -> Self {
        Self::Input(error.to_string())
    }

    /// A failure midway, described by `error`.
    pub(super) fn midway(error: impl Display) -> Self {
        Self::Midway(error.to_string())
    }
}
