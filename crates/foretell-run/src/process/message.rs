//! The messages of a trial: its reports, and how it ended.

use std::time::Duration;

use foretell_logs::printed::{Report, ReportProblem};

/// A message about a trial: a report, an observation or its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The trial's number.
    pub trial: u64,
    /// The kind of message.
    pub kind: MessageKind,
}

/// The kinds of message, in a trial's order: reports as they were printed, then one `Ended`, then nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum MessageKind {
    /// A report.
    Report(Report),
    /// All that it has reported, where it came at once with its end: its program held its output back.
    Late {
        /// The reports, in order.
        reports: Vec<Report>,
    },
    /// All that was not certain before its end: which of the numbers that it printed are its metric, or what an epoch's last value is.
    Settled {
        /// The reports, in order.
        reports: Vec<Report>,
    },
    /// Its output has shown which of its series is the metric: the trials after it are read alike.
    Chosen {
        /// The series, as JSON.
        series: String,
    },
    /// A note about how its output is read.
    Noted {
        /// A sentence.
        note: String,
    },
    /// It has reported nothing for long; said once, until it reports again.
    Quiet {
        /// For how long.
        silence: Duration,
    },
    /// A line that should be a report, but cannot be used.
    Unusable {
        /// The line, its first 1,000 bytes.
        line: String,
        /// The reason.
        problem: ReportProblem,
    },
    /// It has printed many lines, but no report yet; repeated seldom.
    Silent {
        /// The number of lines.
        lines: usize,
        /// The last of them, its first 1,000 bytes.
        line: String,
        /// The names and numbers that it printed; empty if there are none.
        seen: String,
    },
    /// It has reported, or ended, and never read parameters that it is given in no other way; said once, of one trial.
    Unread {
        /// The parameters.
        parameters: String,
    },
    /// The trial's process has ended, nothing of its process group runs any more, and all it printed was read.
    Ended {
        /// Its exit status.
        status: Status,
        /// Whether [`LocalProcesses::stop`](crate::LocalProcesses::stop) was called while it ran.
        stopped_by_us: bool,
        /// The last lines it printed, up to 20, oldest first.
        tail: Vec<String>,
        /// The names and numbers that it printed, where it reported nothing.
        seen: String,
        /// Why we ended it, where it took too long or reported no more.
        fault: Option<String>,
    },
}

/// The exit status of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It exited by itself, with this code; 0 means well.
    Exited(i32),
    /// This signal ended it.
    Signaled(i32),
    /// Another part of the program took its status away.
    Unknown,
}
