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
//! Linux is fully supported. Other Unix systems use process groups, signals and `waitpid`. The environment variable [`PORTABLE_VARIABLE`] selects this
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
mod program;
mod regular;
mod secrets;
mod supervised;
pub mod wire;

pub use command_line::{COMMAND_FILE, quote_for_shell, retrain_command};
pub use config_file::{CONFIG_PLACEHOLDER, ConfigFile, ConfigFileError};
pub use fleet::executor::{Executor, ExecutorError, StartPoint, UnreadReports};
pub use fleet::worker::{Worker, WorkerError, WorkerSettings};
pub use foretell_logs::printed::{MetricSource, Report, ReportReader};
pub use host::access::{AccessError, ServerAccess};
pub use host::door::{HostCalls, HostDoor};
pub use host::driver::{Driver, DriverError, DriverEvent, RemoteTrainings, RunLimits, RunOutcome};
pub use host::hosted::{
    HostError, MetricReading, StudyHost, TrainingTask, carry_out_manual_order, check_running,
};
pub use host::leases::{Leases, WorkerView};
pub use host::orders::Orders;
pub use host::work::{Work, WorkError};
pub use log::atomic_write::{DraftFile, write_atomically, write_output, write_privately};
pub use log::event_store::{EventLogSurvey, EventStore};
pub use log::notes::{NOTES_FILE, read_notes, replace_notes};
pub use log::room::FullDiskWait;
pub use log::stored::{StoredError, StoredStudy, list_studies, log_path, read_stored_spec};
pub use log::{
    EventLog, EventLogError, LineProblem, LineStamp, LineTreatment, LockError, LogPosition, LogReader,
    LogRepair, LogSalvage, OpenedLog, read_log,
};
pub use own_files::{NOTICES_FILE, is_own_file};
pub use placeholder::{
    EPOCHS_PLACEHOLDER, PARAMS_FILE, PARAMS_JSON, PlaceholderError, SEED_PLACEHOLDER, TRIAL_DIR,
    fill_placeholders,
};
pub use process::abandoned::{AbandonedError, AbandonedOutcome, end_abandoned, end_all_abandoned};
pub use process::checkpoints::{checkpoint_directory, remove_checkpoints, trial_directory};
pub use process::executor::LocalProcesses;
pub use process::group::{PORTABLE_VARIABLE, ProcessIdentity};
pub use process::guardian::{Guardian, adopt_orphans, run_guardian};
pub use process::hook::{
    HookLine, HookLoop, HookOptions, HookRecord, HookScope, HookValue, PRINTED_SOURCE, ScriptOption,
};
pub use process::local_trials::{LocalTrials, TrialSetup};
pub use process::message::{FurtherScore, MessageKind, ProcessStatus, TrialMessage, TrialNotice};
pub use process::parent::watch_parent;
pub use process::start_error::StartError;
pub use process::stored_output::Printed;
pub use process::trial::{TrialSpec, WatchSettings};
pub use process::usage::Usage;
pub use program::program_of;
pub use regular::read_regular_text as read_regular_file;
pub use secrets::{MissingSecret, SECRETS_FILE, keep_secrets, restore_secrets, secrets_hint};
pub use supervised::spawn_supervised;
