//! Reads recorded training runs (wide CSV, long CSV, JSON lines, plain or gzip) into learning curves.
//!
//! ```
//! use foretell_logs::{ReadOptions, read};
//! let file = std::env::temp_dir().join("foretell_logs_example.csv");
//! std::fs::write(&file, "lr,num_layers,loss_1,loss_2\n0.1,2,2.3,1.9\n0.01,3,2.4,nan\n")?;
//! let recorded = read(&file, &ReadOptions::default())?;
//! assert_eq!(recorded.runs.len(), 2);
//! assert_eq!(recorded.direction, foretell::Direction::Minimize);
//! assert_eq!(recorded.runs[1].curve.diverged_at(), Some(2.0));
//! # std::fs::remove_file(&file)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `read` finds the file ([`read()`]), a reader for its format makes runs of it, and these become [`Recorded`]: curves
//! turned so that larger is better, the configuration columns that are features, which runs repeat which, and notes of
//! everything that was dropped or found on the way. [`write_json_lines`] is the way back.

mod collect;
mod error;
mod json_lines;
mod locate;
mod long;
mod names;
mod options;
mod raw;
mod read;
mod recorded;
mod repeats;
mod source;
mod table;
mod wide;

pub use error::Error;
pub use json_lines::write_json_lines;
pub use names::direction_of;
pub use options::{EmptyEnds, ReadOptions};
pub use read::read;
pub use recorded::{Note, Recorded, Topic};
