//! The world outside Foretell's pure core: an append-only event log and trials as child processes.
//!
//! Two independent parts, and neither knows what a study is:
//!
//! - [`EventLog`] remembers: one record a line, checksummed, flushed to the operating system before it is acknowledged.
//! - [`Executor`] acts: it starts trials as child processes that speak the trial protocol, hands their reports over
//!   one channel, and stops them with everything they started.
//!
//! ```
//! use foretell_run::{EventLog, EventLogError, Opened};
//!
//! let dir = tempfile::tempdir()?;
//! let path = dir.path().join("events.jsonl");
//! let Opened { mut log, .. } = EventLog::<String>::open(&path)?;
//! log.append(&"trial 1 reported 0.71".to_owned())?;
//! drop(log);
//!
//! let again = EventLog::<String>::open(&path)?;
//! assert_eq!(again.records, ["trial 1 reported 0.71"]);
//! assert!(again.dropped.is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module        | what it is                                                             |
//! |---------------|------------------------------------------------------------------------|
//! | `log`         | the event log: open, append, sync                                      |
//! | `log_line`    | one line of it: version, checksum, record                              |
//! | `log_file`    | the file below it, as few operations as the log needs                  |
//! | `lock`        | one writer a log                                                       |
//! | `checksum`    | CRC-32                                                                 |
//! | `trial`       | what to start: command, parameters, environment, directories           |
//! | `placeholder` | `{lr}` in a command                                                    |
//! | `protocol`    | what a trial's output line says: a report, nothing, or an unusable report |
//! | `pattern`     | the `--metric` pattern                                                 |
//! | `output`      | a trial's output: lines, `output.log`, the last twenty                 |
//! | `group`       | process groups: who is in one, signalling it                           |
//! | `process`     | the life of one trial's process                                        |
//! | `executor`    | many trials, one channel                                               |
//! | `leftover`    | processes that a killed Foretell left running                          |
//! | `parent`      | a child that ends when its parent is gone                              |

mod checksum;
mod executor;
mod group;
mod leftover;
mod lock;
mod log;
mod log_file;
mod log_line;
mod output;
mod parent;
mod pattern;
mod placeholder;
mod process;
mod protocol;
mod trial;

pub use executor::{Executor, Message, MessageKind, StartError, Status};
pub use group::ProcessIdentity;
pub use leftover::{Leftover, LeftoverError, kill_leftover};
pub use lock::LockError;
pub use log::{Dropped, EventLog, EventLogError, Opened, read_log};
pub use log_line::LineProblem;
pub use parent::{ParentGuard, parent_alive_guard};
pub use pattern::{MetricPattern, PatternError};
pub use placeholder::{PARAMS_JSON, PlaceholderError, fill_in, substitute};
pub use protocol::{MetricSource, Report, ReportProblem, ReportReader};
pub use trial::TrialSpec;
