//! The output of trainings, read as series: lines in, reports out, no files and no clock.
//!
//! A number belongs to a *series*: its label, the stage words around it, its position, and the form of its line. Lines of one form are
//! read alike, and a metric's name is looked for among the labels. If it fits more than one series, these rules choose, in this order:
//! the label that is the name itself; a current value, before a best one, a target or a spread; validation, then no stage, then test, then
//! training; one value per epoch before many; the line of the epoch before those of batches.
//!
//! | file | content |
//! |---|---|
//! | `text` | a line without escapes, drawings and wrappers |
//! | `number` | numbers, and parts that only look like one |
//! | `words` | labels, stages, counters, words of the past |
//! | `line`, `table`, `collector` | a line, a row, a block, and their headings: records |
//! | `series`, `settle` | which series a name means; its epochs |
//! | `pattern`, `template`, `protocol`, `once` | patterns, line templates, report lines, values printed once |
//! | `last` | the result behind the reports |
//! | `guess` | the number that is the metric, if nobody names it |
//! | `first` | metric, unit and length of a training, by a first trial that has ended |
//! | `reader` | all of it, on a stream or on a whole output |

mod collector;
mod first;
mod guess;
mod last;
mod line;
mod number;
mod once;
mod pattern;
mod protocol;
mod reader;
mod report;
mod series;
mod settle;
mod table;
mod template;
#[cfg(test)]
mod tests;
mod text;
mod traceback;
mod words;

pub use first::{
    DataRole, FirstTrial, LengthOrigin, MetricChoice, MetricDoubt, PrintedSeries, TrainingLength,
    TrainingSequence, is_rival, settle_first_trial,
};
pub use guess::{MetricGuess, guess_metric};
pub use last::final_value;
pub use pattern::{MetricPattern, PatternError};
pub use protocol::{FOLD_FIELD, MetricSource, metric_name_in};
pub use reader::{MetricCandidates, OutputReports, ReportReader, ReportResult, StepUnit};
pub use report::{Report, ReportProblem};
pub use series::ChosenSeries;
pub use text::{PlainLine, to_plain_line};
pub use words::ends_with_counter;
pub(crate) use words::{Stage, split_stage, stage};
