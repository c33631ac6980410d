//! The messages of a trial: its reports, and how it ended.

use std::fmt;
use std::time::Duration;

use foretell_logs::printed::{Report, ReportProblem};
use foretell_search::SourcePosition;

/// A message about a trial: a report, an observation or its end.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialMessage {
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
    /// All reports that were not certain before its end, in order: because its program held its output back, or because only the end
    /// shows which of its numbers are the metric, or which value of an epoch is the last.
    Settled(Vec<Report>),
    /// The output has shown which of its series, as JSON, is the metric: the trials after it are read alike.
    Chosen(String),
    /// The file that it appends its metrics to was read up to here: the reports until there came before.
    Read(SourcePosition),
    /// A message for people who watch.
    Noticed(TrialNotice),
    /// The trial's process has ended, nothing of its process group runs any more, and all it printed was read.
    Ended {
        /// The exit status.
        status: ProcessStatus,
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

/// An observation about a training, in addition to its reports.
#[derive(Clone, Debug, PartialEq)]
pub enum TrialNotice {
    /// All that it reported came at once with its end: its program held its output back, and nothing could be decided by it.
    Late {
        /// The number of reports.
        reports: usize,
    },
    /// A note about how its output is read.
    Noted {
        /// A sentence.
        note: String,
    },
    /// The trial has reported nothing for long; once, until it reports again.
    Quiet {
        /// For how long.
        silence: Duration,
    },
    /// The trial printed a report that cannot be used.
    Unusable {
        /// The line, its first 1,000 bytes.
        line: String,
        /// The reason.
        problem: ReportProblem,
    },
    /// The trial has printed many lines, but no report yet; repeated seldom.
    Silent {
        /// The number of lines.
        lines: usize,
        /// The last of them, its first 1,000 bytes.
        line: String,
        /// The names and numbers that it printed; empty if there are none.
        seen: String,
    },
    /// The trial has reported, or ended, and never read parameters that it is given in no other way; once, of one trial.
    Unread {
        /// The parameters.
        parameters: String,
    },
    /// The trial has trained several times, as folds, stages or repeats.
    SeveralTrainings {
        /// How often.
        trainings: u64,
        /// What it counts with.
        score: FurtherScore,
    },
    /// The trial failed, and is tried again.
    Retried {
        /// The number of the new attempt, from 1.
        attempt: u32,
        /// The problem.
        why: String,
    },
    /// The trial was to continue from a step, and is trained again from the beginning: it has no checkpoint.
    Retrained {
        /// The step.
        from: u64,
    },
    /// The training failed after its last report: the trial is complete all the same.
    FailedAtEnd {
        /// The problem.
        why: String,
    },
}

impl TrialNotice {
    /// Why every training of the command would fail so, if the notice shows that.
    pub(crate) fn command_fault(&self) -> Option<String> {
        match self {
            Self::Unread { .. } => Some(self.to_string()),
            Self::Unusable {
                line,
                problem: problem @ (ReportProblem::Epoch { .. } | ReportProblem::Notation { .. }),
            } => Some(format!("printed `{line}`: {problem}")),
            _ => None,
        }
    }
}

impl fmt::Display for TrialNotice {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Late { reports } => write!(out, "all {reports} reports were written when it ended"),
            Self::Noted { note } => out.write_str(note),
            Self::Quiet { silence } => write!(out, "no report for {} s", silence.as_secs()),
            Self::Unusable { line, problem } => write!(out, "unusable report `{line}`: {problem}"),
            Self::Silent { lines, line, seen } => {
                let seen = if seen.is_empty() { String::new() } else { format!("; it printed {seen}") };
                write!(out, "{lines} lines (the last one is `{line}`), but no report yet{seen}")
            }
            Self::Unread { parameters } => {
                let first = parameters.split(',').next().unwrap_or_default();
                write!(
                    out,
                    "did not open the file FORETELL_PARAMS, and its command contains no placeholder, so {parameters} had no effect. Write it into the command, such as --{first} {{{first}}}, or read the file"
                )
            }
            Self::SeveralTrainings { trainings, score } => {
                write!(out, "it trained {trainings} times; its score is {score}")
            }
            Self::Retried { attempt, why } => write!(out, "it failed ({why}); attempt {attempt} starts"),
            Self::Retrained { from } => {
                write!(out, "no checkpoint of {from} epochs, so it trains them again, and they count again")
            }
            Self::FailedAtEnd { why } => {
                write!(out, "it failed after its last report ({why}). The trial counts as completed")
            }
        }
    }
}

/// The value that counts for a trial of several trainings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FurtherScore {
    /// The summary that it printed last.
    Printed,
    /// The mean of the last values of its trainings.
    Mean,
    /// The last value of its first training, which is shorter than a full trial.
    First,
}

impl fmt::Display for FurtherScore {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Printed => "the summary that it prints last",
            Self::Mean => "the mean of their last values",
            Self::First => "the last value of the first training, which ends before --epochs",
        })
    }
}

/// The exit status of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessStatus {
    /// The process exited by itself, with this code; 0 means well.
    Exited(i32),
    /// This signal ended it.
    Signaled(i32),
    /// Another part of the program took its status away.
    Unknown,
}
