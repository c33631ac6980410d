#![doc = include_str!("../README.md")]
//!
//! [`read_runs()`] recognizes the format, reads the runs, and returns [`RecordedSet`]: curves in which larger is better, the columns of the configuration, the
//! runs that repeat others, and a note about everything that was dropped. [`write_json_lines`] writes such a file.
// docs.rs shows which feature brings an item
#![cfg_attr(docsrs, feature(doc_cfg))]

mod collect;
mod columns;
mod error;
mod history;
mod json;
mod json_lines;
mod locate;
mod long;
mod names;
mod notation;
mod note;
mod old;
mod options;
mod parquet;
pub mod printed;
mod raw;
mod read;
mod recorded;
mod repeats;
mod source;
mod table;
mod wide;
mod yaml;

pub use error::Error;
pub use foretell::direction_of;
pub use json_lines::{write_json_lines, write_recorded};
pub use locate::printed_logs_below;
pub use names::{is_same_metric, prominence};
pub use note::{Note, NoteTopic};
pub use old::{
    ImportManifest, LeftOut, LogFormat, LogSurvey, MetricFound, ReadProgress, RunEnd, RunFound,
    configuration_nearby, survey_logs,
};
pub use options::{EmptyEnds, ReadOptions};
pub use parquet::{ColumnValues, write_parquet};
pub use read::{is_table_file, is_tool_log, read_runs, read_with_progress, recorded_from_runs, update_logs};
pub use recorded::RecordedSet;
pub use source::FileLimits;
pub use yaml::{YamlContent, YamlNode, parse_yaml_documents};
