#![doc = include_str!("../README.md")]
//!
//! The crate consists of two independent parts that know nothing of studies, and a driver that combines them:
//!
//! - [`EventLog`] stores records, one per line. Each has a checksum and is handed to the operating system before it is acknowledged.
//! - [`LocalProcesses`] starts trials as child processes, sends their reports over one channel, and stops them with all their children.
//! - [`Driver`] runs a study on an [`Executor`] (for example [`LocalTrials`]) and a store (for example [`EventStore`]).
//!
//! # Systems
//!
//! Linux is fully supported. Other Unix systems use process groups, signals and `waitpid`. The environment variable [`PORTABLE`] selects this
//! back end on Linux, where it is tested; macOS itself is untested. The portable back end makes weaker promises: it does not find processes that
//! leave the process group of their trial, and if the guardian is killed, too, you end the remaining processes manually.

#[cfg(not(unix))]
compile_error!("foretell-run needs a Unix system: process groups, signals and advisory locks");

// rooms: `log` stores studies and files; `process` starts, reads and stops trials; `fleet` runs the trials of any worker;
// `host` owns a study and decides who runs which trial
mod command_line;
mod config_file;
mod fleet;
mod host;
mod log;
mod own_files;
mod placeholder;
mod process;
mod regular;
mod supervised;
pub mod wire;

// the rooms' modules go by their own names throughout this crate
use fleet::{trainer, worker};
use host::{access, door, driver, hosted, leases, orders, work};
use log::{atomic_write, event_store, flusher, no_links, room, stored};
use process::{
    abandoned, checkpoints, control_group, executor, followed, group, guardian, hook, local_trials, message,
    outbox, output, params_watch, parent, printed, reading, start_error, strays, terminal, trial, usage,
    watcher,
};

pub use abandoned::{Abandoned, AbandonedError, end_abandoned, end_all_abandoned};
pub use access::{Access, AccessError};
pub use atomic_write::{Draft, write_atomically, write_output};
pub use checkpoints::{checkpoint_directory, trial_directory};
pub use command_line::{COMMAND_FILE, command_of, shell_line};
pub use config_file::{CONFIG, ConfigFile, ConfigFileError};
pub use door::{Calls, Door};
pub use driver::{Driver, DriverError, Elsewhere, Event, Finish, Limits, Patience};
pub use event_store::{EventStore, Survey};
pub use executor::LocalProcesses;
pub use fleet::executor::{Begin, Executor, ExecutorError};
pub use foretell_logs::printed::{
    Chosen, MetricPattern, MetricSource, PatternError, Read, Report, ReportProblem, ReportReader, Seen,
};
pub use group::{PORTABLE, ProcessIdentity};
pub use guardian::{Guardian, adopt_orphans, guard};
pub use hook::{
    Hook, Line as HookLine, Loop as HookLoop, Options as HookOptions, PRINTED, Record as HookRecord,
    ScriptOption, Value as HookValue,
};
pub use hosted::{HostError, Hosted, Next, Reading, Task, by_hand, check_open};
pub use leases::{Leases, WorkerView};
pub use local_trials::{LocalTrials, TrialSetup};
pub use log::notes::{NOTES, notes, replace_notes};
pub use log::{
    EventLog, EventLogError, Fate, LineProblem, LockError, LogReader, Opened, Position, Repair, Salvage,
    Stamp, read_log,
};
pub use message::{Message, MessageKind, Status};
pub use orders::Orders;
pub use own_files::{NOTICES, is_own_file};
pub use parent::parent_alive_guard;
pub use placeholder::{
    EPOCHS, PARAMS_FILE, PARAMS_JSON, PlaceholderError, SEED, TRIAL_DIR, fill_in, substitute,
};
pub use printed::Printed;
pub use room::Room;
pub use start_error::StartError;
pub use stored::{Stored, StoredError, log_in, studies_in};
pub use supervised::supervised;
pub use trainer::{FurtherScore, Notice};
pub use trial::{TrialSpec, Watch};
pub use usage::Usage;
pub use work::{Work, WorkError};
pub use worker::{Worker, WorkerError, WorkerSettings};
