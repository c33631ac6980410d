//! Studies in the browser: a page that follows the logs of studies while they run, and the same page as one file.
//!
//! The page shows a study as the server has it: the server folds the log ([`Server`]), and sends what is new as server-sent
//! events, numbered by the log's last record. A browser that reconnects names the last number that it has seen, and misses
//! nothing. [`page`] writes the same into the page.

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
mod patient;
mod problem;
mod records;
mod routes;
mod served;
mod server;
mod verbs;
mod views;

pub use error::ServeError;
pub use file::page;
pub use options::{Limits, Options};
pub use server::Server;
