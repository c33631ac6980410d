//! Curves and configurations as rows of numbers: the paper's features and the compact ones.

pub(crate) mod compact;
pub(crate) mod paper;
