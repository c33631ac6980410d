//! Studies in the browser: a page that follows the logs of studies while they run, and the same page as one file.
//!
//! The page shows a study as the server has it: the server folds the log ([`Server`]), and sends what is new as server-sent
//! events, numbered by the log's last record. A browser that reconnects names the last number that it has seen, and misses
//! nothing. [`page`] writes the same into the page.
//!
//! | module        | what it is                                   |
//! |---------------|----------------------------------------------|
//! | `folder`      | the studies in a folder, read without a lock |
//! | `guard`       | who is let in, with how long a body          |
//! | `connections` | how many connections there are               |
//! | `routes`      | the addresses: who answers, and how they are described |
//! | `openapi`     | the description of the interface             |
//! | `answers`     | the answers to readers                       |
//! | `verbs`       | the four verbs, and what a person orders     |
//! | `owner`       | the studies that this server hosts           |
//! | `fold`        | a study as its log makes it                  |
//! | `folds`       | those of all studies that somebody reads     |
//! | `views`       | what readers are shown of a study            |
//! | `records`     | a study's records as they are                |
//! | `events`      | both as server-sent events                   |
//! | `served`      | what all requests share                      |
//! | `problem`     | why a request is refused                     |
//! | `file`        | the page as one file                         |
//! | `server`      | listens and answers                          |
//! | `options`     | what is served, to whom, and how much of it  |
//! | `error`       | why there is no page                         |

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
mod verbs;
mod views;

pub use error::ServeError;
pub use file::page;
pub use options::{Limits, Options};
pub use server::Server;
