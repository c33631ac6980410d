//! Errors of reading recorded runs, with their place in the file.

use foretell::CurveError;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Errors of reading or writing recorded runs. Lines count from 1, the header included.
#[derive(Debug, Error)]
pub enum Error {
    /// The file or folder cannot be opened, read or written.
    #[error("{}: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// The system's message.
        source: io::Error,
    },
    /// There is no such file or folder.
    #[error("{}: there is no such file or folder. Check the spelling and the current folder", file.display())]
    NotFound {
        /// The file.
        file: PathBuf,
    },
    /// The gzip data of the file are damaged or end early.
    #[error("{}:{line}: the gzip data after this line are damaged or incomplete ({message}). Download or compress the file again", file.display())]
    Gzip {
        /// The file.
        file: PathBuf,
        /// The last line that could be read; 0 if none.
        line: u64,
        /// The decoder's message.
        message: String,
    },
    /// The file is empty.
    #[error("{}: the file is empty. Use a CSV file with a header, or JSON lines", file.display())]
    Empty {
        /// The file.
        file: PathBuf,
    },
    /// The file has a header but no runs.
    #[error("{}: the file contains a header but no runs. Add one row per run (wide) or one row per epoch (long)", file.display())]
    NoRuns {
        /// The file.
        file: PathBuf,
    },
    /// A folder holds no file of curves.
    #[error("{}: there is no curve file in this folder (found: {files}). Pass a file, or a folder with one .csv, .tsv or .jsonl file (or a .gz of it), curves.csv with configs.csv, or logs of runs", folder.display())]
    NoCurveFile {
        /// The folder.
        folder: PathBuf,
        /// The files in it.
        files: String,
    },
    /// A folder holds several files that could be the curves.
    #[error("{}: several files could contain the curves: {files}. Pass the one to read", folder.display())]
    ManyCurveFiles {
        /// The folder.
        folder: PathBuf,
        /// The candidates.
        files: String,
    },
    /// A text is not UTF-8.
    #[error("{}:{line}: {field} is not UTF-8 text. Convert the file to UTF-8", file.display())]
    NotUtf8 {
        /// The file.
        file: PathBuf,
        /// The line.
        line: u64,
        /// The part of the line.
        field: String,
    },
    /// The column that should name the runs is a point of a series.
    #[error("{}:1: the id column `{column}` is an epoch of `{series}`, so it cannot name the runs. Choose another id column, or none to number the runs", file.display())]
    IdInSeries {
        /// The file.
        file: PathBuf,
        /// The column.
        column: String,
        /// The metric that it is an epoch of.
        series: String,
    },
    /// Two columns have the same name, or stand for the same epoch.
    #[error("{}:1: columns {first} and {second} are both {what}. Rename or remove one", file.display())]
    DuplicateColumn {
        /// The file.
        file: PathBuf,
        /// The 1-based position of the first.
        first: usize,
        /// The 1-based position of the second.
        second: usize,
        /// Their common name or epoch.
        what: String,
    },
    /// A quote is never closed.
    #[error("{}:{line}: the quote that opens field {field} is never closed. Close or remove it", file.display())]
    UnclosedQuote {
        /// The file.
        file: PathBuf,
        /// The line.
        line: u64,
        /// The 1-based position of the field.
        field: usize,
    },
    /// A line has too few or too many fields.
    #[error("{}:{line}: the number of fields is {found} here, but {expected} in the header. Look for a missing or unquoted separator", file.display())]
    FieldCount {
        /// The file.
        file: PathBuf,
        /// The line.
        line: u64,
        /// Number of fields in the header.
        expected: usize,
        /// Number of fields in this line.
        found: usize,
    },
    /// A cell of an epoch, step or metric column is not a number.
    #[error("{}:{line}: `{cell}` in column `{column}` is not {wanted}", file.display())]
    NotANumber {
        /// The file.
        file: PathBuf,
        /// The line.
        line: u64,
        /// The column.
        column: String,
        /// The content of the cell.
        cell: String,
        /// The expected content, and a remedy.
        wanted: &'static str,
    },
    /// A cell that names the run is empty.
    #[error("{}:{line}: column `{column}` is empty, so the run is unnamed. Fill the cell, or choose another id column", file.display())]
    NoId {
        /// The file.
        file: PathBuf,
        /// The line.
        line: u64,
        /// The column.
        column: String,
    },
    /// The header is neither that of a wide nor that of a long file.
    #[error("{}:1: no curves found, because the table contains neither epoch columns (`acc_0`, `acc_1`, …) nor an id and a step column (`config_id`, `epoch`). Its columns are {columns}", file.display())]
    NoCurves {
        /// The file.
        file: PathBuf,
        /// The columns found.
        columns: String,
    },
    /// The first row of a table holds numbers where names should be.
    #[error("{}:1: the header of the table is missing: its first row is `{row}`. Add a first line that names the columns, for example epoch,train_loss,val_acc", file.display())]
    NoHeading {
        /// The file.
        file: PathBuf,
        /// The first row.
        row: String,
    },
    /// A comma in a number can be that of a decimal or of thousands.
    #[error("{}:{line}: `{cell}` in column `{column}` is ambiguous: its comma may mark decimals or thousands. Write decimals with a point, and thousands without a comma", file.display())]
    Comma {
        /// The file.
        file: PathBuf,
        /// The line.
        line: u64,
        /// The column.
        column: String,
        /// The content of the cell.
        cell: String,
    },
    /// A column named by an option does not exist.
    #[error("{}:1: there is no column `{column}` ({option}). Choose one of {columns}", file.display())]
    UnknownColumn {
        /// The file.
        file: PathBuf,
        /// The requested column.
        column: String,
        /// The option that named it.
        option: &'static str,
        /// The columns found.
        columns: String,
    },
    /// The requested metric does not exist, or no metric was requested and none can be inferred.
    #[error("{}: {problem}. Choose one of {candidates} as the metric", file.display())]
    Metric {
        /// The file.
        file: PathBuf,
        /// The problem.
        problem: String,
        /// The candidates for the metric.
        candidates: String,
    },
    /// The file records runs of other metrics or directions only.
    #[error("{}: {problem}. Give the file's own metric and direction (`--metric` and `--direction` of the command), or another file", file.display())]
    OtherMetric {
        /// The file.
        file: PathBuf,
        /// The problem.
        problem: String,
    },
    /// Two rows give different values for the same run and step.
    #[error("{}:{line}: the value of run `{id}` at step {step} is {second}, but {first} in line {first_line}. Remove one row, or choose an id column that tells the runs apart", file.display())]
    Conflict {
        /// The file.
        file: PathBuf,
        /// The later line.
        line: u64,
        /// The run.
        id: String,
        /// The step.
        step: f64,
        /// The value of the earlier line.
        first: f64,
        /// The earlier line.
        first_line: u64,
        /// The value of the later line.
        second: f64,
    },
    /// A setting changes within a run, although it is constant in nearly all others.
    #[error("{}:{line}: `{column}` of run `{id}` is {values}, although it is constant in {constant} of {runs} runs. Correct the cell, or exclude the column", file.display())]
    Varies {
        /// The file.
        file: PathBuf,
        /// The later line.
        line: u64,
        /// The column.
        column: String,
        /// The run.
        id: String,
        /// The content of the cell, the earlier content, and its line.
        values: String,
        /// The number of runs in which the column is constant.
        constant: usize,
        /// The number of runs.
        runs: usize,
    },
    /// The configurations contradict the curves on a run.
    #[error("{}:{line}: `{column}` of run `{id}` is {values}. Make them equal, or remove the column from one of the files", file.display())]
    Disagree {
        /// The file of the configurations.
        file: PathBuf,
        /// The line in that file.
        line: u64,
        /// The column.
        column: String,
        /// The run.
        id: String,
        /// The content of the cell, that of the curves, and its line.
        values: String,
    },
    /// Two lines describe the same run.
    #[error("{}:{line}: id `{id}` was already used in line {first_line}. Use a different id for each run", file.display())]
    DuplicateId {
        /// The file.
        file: PathBuf,
        /// The later line.
        line: u64,
        /// The id.
        id: String,
        /// The earlier line.
        first_line: u64,
    },
    /// Logs of a tool cannot be read.
    #[error("{}: {problem}", file.display())]
    Old {
        /// The file or folder.
        file: PathBuf,
        /// The problem, and a remedy.
        problem: String,
    },
    /// A line is not a JSON object of the expected shape.
    #[error("{}:{line}: {message}. Write one object per line: {{\"id\", \"configuration\": {{…}}, \"values\": […], \"steps\": […]?}}", file.display())]
    Json {
        /// The file.
        file: PathBuf,
        /// The line.
        line: u64,
        /// The problem, with the column.
        message: String,
    },
    /// Steps and values do not form a curve.
    #[error("{}:{line}: {source}", file.display())]
    Curve {
        /// The file.
        file: PathBuf,
        /// The line.
        line: u64,
        /// The reason.
        source: CurveError,
    },
}

impl Error {
    /// A failure of the system at `file`, for `map_err`.
    pub(crate) fn io_at(file: &Path) -> impl Fn(io::Error) -> Self {
        |source| match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound { file: file.to_owned() },
            _ => Self::Io { file: file.to_owned(), source },
        }
    }
}
