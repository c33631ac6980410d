#![doc = include_str!("../README.md")]

pub mod bnn;
mod catalogue;
mod epochs;
pub mod lce;
pub mod reproduce;

pub use bnn::Bnn;
pub use catalogue::{catalogue, with_laboratory};
pub use lce::{Lce, LceRule};
