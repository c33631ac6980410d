//! The subcommands, one file or folder each.

#[cfg(feature = "nn")]
pub(crate) mod data;
pub(crate) mod draw;
pub(crate) mod evaluate;
mod figures;
pub(crate) mod forecast;
pub(crate) mod import;
pub(crate) mod init;
mod manifest;
pub(crate) mod replay;
#[cfg(feature = "paper")]
pub(crate) mod reproduce;
pub(crate) mod schema;
pub(crate) mod search;
#[cfg(feature = "serve")]
pub(crate) mod serve;
pub(crate) mod study;
#[cfg(feature = "nn")]
pub(crate) mod train;
pub(crate) mod worker;
