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
mod orders;
mod outbox;
mod output;
mod params_watch;
mod parent;
mod placeholder;
mod printed;
mod process;
mod room;
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
pub use foretell_logs::printed::{
    Chosen, MetricPattern, MetricSource, PatternError, Read, Report, ReportProblem, ReportReader, Seen,
};
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
pub use placeholder::{
    EPOCHS, PARAMS_FILE, PARAMS_JSON, PlaceholderError, SEED, TRIAL_DIR, fill_in, substitute,
};
pub use printed::Printed;
pub use room::Room;
pub use start_error::StartError;
pub use stored::{Stored, StoredError, log_in, studies_in};
pub use trial::{TrialSpec, Watch};
pub use work::{Work, WorkError};
pub use worker::{Worker, WorkerError, WorkerSettings};
