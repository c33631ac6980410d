#![doc = include_str!("../README.md")]
//!
//! Two independent parts that know nothing of studies, and a driver that runs studies over them:
//!
//! - [`EventLog`] remembers: one record a line, checksummed, flushed to the operating system before it is acknowledged.
//! - [`LocalProcesses`] acts: it starts trials as child processes that speak the trial protocol, hands their reports over
//!   one channel, and stops them with everything they started.
//! - [`Driver`] runs a study over an [`Executor`] (local processes: [`LocalTrials`]) and a store (the event log:
//!   [`EventStore`]).
//!
//! | module        | what it is                                                             |
//! |---------------|------------------------------------------------------------------------|
//! | `log`         | the event log: open, append, read, sync                                |
//! | `trial`       | what to start: command, parameters, environment, directories           |
//! | `start_error` | why a trial was not started                                            |
//! | `placeholder` | `{lr}` in a command                                                    |
//! | `command_line`| the command of a trial, as a person types it                           |
//! | `config_file` | a trial's copy of the command's configuration file                     |
//! | `protocol`    | what a trial's output line says: a report, nothing, or an unusable report |
//! | `reader`      | reads reports line by line                                             |
//! | [`scan`]      | names and numbers in a line                                            |
//! | `report`      | one report                                                             |
//! | `pattern`     | the `--metric` pattern                                                 |
//! | `output`      | a trial's output: lines, `output.log`, the last twenty                 |
//! | `printed`     | what a trial has printed, for who looks at it                          |
//! | `message`     | what is heard of a trial                                               |
//! | `outbox`      | messages on their way through a channel that may be full               |
//! | `group`       | process groups: who is in one, signalling it                           |
//! | `control_group`| where the system has them: all that a trial has started               |
//! | `strays`      | what has left its trial, and is a child of this process by now         |
//! | `process`     | the life of one trial's process                                        |
//! | `watcher`     | one thread that watches the processes of all trials                    |
//! | `executor`    | many trials, one channel                                               |
//! | `door`        | by which other threads reach a study that a driver runs                |
//! | `driver`      | runs a study: the loop between its session, an executor and an observer |
//! | `local_trials`| the executor of local processes                                        |
//! | `event_store` | the event log as a study's store                                       |
//! | `hosted`      | a study that this process hosts for trainings elsewhere                 |
//! | `access`      | where a study's server is, and the token that it asks for              |
//! | [`wire`]      | bodies and answers of the verbs over HTTP                              |
//! | `work`        | what a worker needs to run a study's trials                            |
//! | `worker`      | takes trials from a study on another machine, and runs them            |
//! | `leases`      | who runs which of them                                                 |
//! | `room`        | waiting for room on a full disk                                        |
//! | `orders`      | what a person orders about trials that another process drives          |
//! | `abandoned`   | processes that a killed Foretell left running                          |
//! | `flusher`     | flushes a file to its device on a thread of its own                    |
//! | `followed`    | a file that a trial appends its metrics to                             |
//! | `params_watch`| whether a trial opens its parameters                                   |
//! | `parent`      | a child that ends when its parent is gone                              |
//! | `guardian`    | a process that ends the trials of a search that was killed             |
//! | `atomic_write`| small files that are written whole                                     |
//! | `no_links`    | files are opened as themselves, not through symbolic links             |
//!
//! # Systems
//!
//! Linux runs everything. On other Unix systems the crate compiles and the event log works, but [`LocalProcesses::start`]
//! refuses every trial: only Linux's `/proc` and `waitid` tell which processes still belong to a trial.

#[cfg(not(unix))]
compile_error!("foretell-run needs a Unix system: process groups, signals and advisory locks");

mod abandoned;
mod access;
mod atomic_write;
mod command_line;
mod config_file;
mod control_group;
mod door;
mod driver;
mod event_store;
mod executor;
mod flusher;
mod followed;
mod group;
mod guardian;
mod hosted;
mod leases;
mod local_trials;
mod log;
mod message;
mod no_links;
mod once;
mod orders;
mod outbox;
mod output;
mod params_watch;
mod parent;
mod pattern;
mod placeholder;
mod printed;
mod process;
mod protocol;
mod reader;
mod report;
mod room;
pub mod scan;
mod start_error;
mod stored;
mod strays;
mod terminal;
mod trial;
mod watcher;
pub mod wire;
mod work;
mod worker;

pub use abandoned::{Abandoned, AbandonedError, end_abandoned, end_all_abandoned};
pub use access::{Access, AccessError};
pub use atomic_write::write_atomically;
pub use command_line::{COMMAND_FILE, command_of, shell_line};
pub use config_file::{CONFIG, ConfigFile, ConfigFileError};
pub use door::{Calls, Door};
pub use driver::{
    Begin, Driver, DriverError, Elsewhere, Event, Executor, ExecutorError, Finish, Limits, Observer, Patience,
};
pub use event_store::{EventStore, Survey};
pub use executor::LocalProcesses;
pub use group::ProcessIdentity;
pub use guardian::{Guardian, adopt_orphans, guard};
pub use hosted::{HostError, Hosted, Next, Reading, Task, by_hand, check_open};
pub use leases::{Leases, WorkerView};
pub use local_trials::{LocalTrials, TrialSetup, trial_directory};
pub use log::{
    Displacement, Dropped, EventLog, EventLogError, Fate, LineProblem, LockError, LogReader, Opened,
    Position, Repair, Salvage, Salvaged, Stamp, UnsoundLine, read_log,
};
pub use message::{Message, MessageKind, Status};
pub use orders::Orders;
pub use parent::{ParentGuard, parent_alive_guard};
pub use pattern::{MetricPattern, PatternError};
pub use placeholder::{
    EPOCHS, PARAMS_FILE, PARAMS_JSON, PlaceholderError, SEED, TRIAL_DIR, fill_in, substitute,
};
pub use printed::Printed;
pub use protocol::MetricSource;
pub use reader::{Read, ReportReader, Seen};
pub use report::{Report, ReportProblem};
pub use room::Room;
pub use start_error::StartError;
pub use stored::{Stored, StoredError, log_in, studies_in};
pub use trial::{TrialSpec, Watch};
pub use work::{Work, WorkError};
pub use worker::{Worker, WorkerError, WorkerSettings};
