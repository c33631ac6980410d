//! Studies in the browser: a page that follows the logs of studies while they run, and the same page as one file.
//!
//! The page is a fold over a study's records, as the study itself is. [`Server`] sends it the records as server-sent events,
//! numbered from 1: a browser that reconnects names the last number that it has seen, and misses nothing. [`page`] writes the
//! records into the page.
//!
//! | module    | what it is                                   |
//! |-----------|----------------------------------------------|
//! | `folder`  | the studies in a folder, read without a lock |
//! | `guard`   | who is let in                                |
//! | `routes`  | the addresses and their answers              |
//! | `verbs`   | the four verbs, and what a person orders     |
//! | `owner`   | the studies that this server owns            |
//! | `owned`   | one of them: its session, and who runs which trial |
//! | `views`   | what is worked out from a log                |
//! | `served`  | what all requests share                      |
//! | `fields`  | the fields of a request's body               |
//! | `problem` | why a request is refused                     |
//! | `events`  | a study's records as server-sent events      |
//! | `file`    | the page as one file                         |
//! | `server`  | listens and answers                          |
//! | `options` | what is served, to whom                      |
//! | `error`   | why there is no page                         |

mod error;
mod events;
mod fields;
mod file;
mod folder;
mod guard;
mod options;
mod owned;
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
pub use options::Options;
pub use server::Server;
