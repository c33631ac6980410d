#![doc = include_str!("../README.md")]
//!
//! [`Server`] reads the log of each study and sends new records to the page as server-sent events, numbered by the last record in the log. A
//! browser that reconnects sends the last number that it received, and misses nothing. [`page`] writes the same data into one file.

mod answers;
mod connections;
mod error;
mod events;
mod file;
mod fold;
mod folder;
mod folds;
mod guard;
mod openapi;
mod options;
mod owner;
mod problem;
mod records;
mod routes;
mod served;
mod server;
mod snapshot;
mod verbs;
mod views;

pub use error::ServeError;
pub use file::page;
pub use options::{ReaderLimits, ServeOptions};
pub use server::Server;
