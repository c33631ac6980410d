//! What is heard of a trial: its reports, and how it ended.

use crate::report::{Report, ReportProblem};

/// What a trial says, or what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The trial's number.
    pub trial: u64,
    /// What it is about.
    pub kind: MessageKind,
}

/// The kinds of message, in a trial's order: reports as they were printed, then one `Ended`, then nothing.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum MessageKind {
    /// A report.
    Report(Report),
    /// A line that should be a report, but cannot be used.
    Unusable {
        /// The line, its first 1,000 bytes.
        line: String,
        /// Why.
        problem: ReportProblem,
    },
    /// It has printed many lines, but no report yet; said once.
    Silent {
        /// How many lines.
        lines: usize,
        /// The last of them, its first 1,000 bytes.
        line: String,
    },
    /// The trial's process has ended, nothing of its process group runs any more, and all it printed was read.
    Ended {
        /// How it ended.
        status: Status,
        /// Whether [`LocalProcesses::stop`](crate::LocalProcesses::stop) was called while it ran.
        stopped_by_us: bool,
        /// The last lines it printed, up to 20, oldest first.
        tail: Vec<String>,
    },
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It exited by itself, with this code; 0 means well.
    Exited(i32),
    /// This signal ended it.
    Signalled(i32),
    /// Another part of the program took its status away.
    Unknown,
}
