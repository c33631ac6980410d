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
//! | room      | what is in it                                                                        |
//! |-----------|---------------------------------------------------------------------------------------|
//! | `log`     | the event log, studies as they are stored, files that are written whole               |
//! | `process` | trials as processes: started, read, stopped, and nothing of them left                 |
//! | `fleet`   | the trainer, which runs the trainings of any worker, and workers of other machines    |
//! | `host`    | a study that this process owns: who runs what, its driver, orders, the way in         |
//!
//! Beside them: the command of a trial (`placeholder`, `command_line`), its configuration file (`config_file`), and the bodies of the verbs over
//! HTTP ([`wire`]).
//!
//! # Systems
//!
//! Linux runs everything. Other Unix systems get process groups, signals and `waitpid`: the environment variable [`PORTABLE`] makes
//! Linux do the same, and tests run so. The promises are weaker: what leaves a trial's process group is not found, and after a
//! crash of the guardian, too, a process that is left must be ended by hand. macOS itself has not been tested.

#[cfg(not(unix))]
compile_error!("foretell-run needs a Unix system: process groups, signals and advisory locks");

mod command_line;
mod config_file;
mod fleet;
mod host;
mod log;
mod placeholder;
mod process;
pub mod wire;

// the rooms' modules go by their own names throughout this crate
use fleet::{trainer, worker};
use host::{access, door, driver, hosted, leases, orders, work};
use log::{atomic_write, event_store, flusher, no_links, room, stored};
use process::{
    abandoned, checkpoints, control_group, executor, followed, group, guardian, local_trials, message,
    outbox, output, params_watch, parent, printed, start_error, strays, terminal, trial, watcher,
};

pub use abandoned::{Abandoned, AbandonedError, end_abandoned, end_all_abandoned};
pub use access::{Access, AccessError};
pub use atomic_write::{Draft, write_atomically, write_output};
pub use checkpoints::checkpoint_directory;
pub use command_line::{COMMAND_FILE, command_of, shell_line};
pub use config_file::{CONFIG, ConfigFile, ConfigFileError};
pub use door::{Calls, Door};
pub use driver::{Driver, DriverError, Elsewhere, Event, Finish, Limits, Observer, Patience};
pub use event_store::{EventStore, Survey};
pub use executor::LocalProcesses;
pub use fleet::executor::{Begin, Executor, ExecutorError};
pub use foretell_logs::printed::{
    Chosen, MetricPattern, MetricSource, PatternError, Read, Report, ReportProblem, ReportReader, Seen,
};
pub use group::{PORTABLE, ProcessIdentity};
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
pub use trainer::Notice;
pub use trial::{TrialSpec, Watch};
pub use work::{Work, WorkError};
pub use worker::{Worker, WorkerError, WorkerSettings};
