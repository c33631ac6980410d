//! Reads the rows of a CSV one at a time; errors have line and column.

use crate::error::Error;
use crate::notation::{CommaMeaning, is_decimal, is_doubtful, is_heading, number_of};
use crate::source::{FileLimits, TextSource, read_error};
use csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder};
use foretell::Value;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};

/// The advice for a cell that should be a measurement.
const MEASUREMENT_ADVICE: &str =
    "a number such as 0.85, 85 % or 0,85. Correct the cell, or leave it empty if the value is missing";

/// A reader that knows whether its end was reached.
struct EndTracker {
    text: Box<dyn BufRead>,
    reached: bool,
}

impl Read for EndTracker {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.text.read(buffer)?;
        self.reached |= read == 0 && !buffer.is_empty();
        Ok(read)
    }
}

/// A CSV that is read row by row; only the current row is kept in memory.
pub(crate) struct CsvTable {
    file: PathBuf,
    gzip: bool,
    reader: Reader<EndTracker>,
    headers: Vec<String>,
    row: ByteRecord,
    line: u64,
    limits: FileLimits,
    /// The meaning of commas inside numbers, looked up when the first one is met.
    comma: OnceCell<Option<CommaMeaning>>,
}

impl CsvTable {
    /// Reads the header, and refuses a first row that is none.
    pub(crate) fn open(source: TextSource) -> Result<Self, Error> {
        let table = Self::open_at_header(source)?;
        let names: Vec<&str> = table.headers.iter().map(String::as_str).collect();
        if !is_heading(&names) || is_doubtful(&names) && !table.has_decimals_below()? {
            let row = truncate_text(&names.join(", "));
            return Err(Error::NoHeading { file: table.file, row });
        }
        table.check_headers()?;
        Ok(table)
    }

    /// Whether the first row below the header has a decimal number.
    fn has_decimals_below(&self) -> Result<bool, Error> {
        let mut table = Self::open_at_header(TextSource::open(&self.file, self.limits)?)?;
        let more = table.advance()?;
        let mut cells = table.row.iter().filter_map(|cell| std::str::from_utf8(cell).ok());
        Ok(!more || cells.any(|cell| is_decimal(cell.trim())))
    }

    fn open_at_header(mut source: TextSource) -> Result<Self, Error> {
        let (file, gzip, delimiter) = (source.file().to_owned(), source.is_gzip(), source.separator());
        let limits = source.limits();
        let text = EndTracker { text: Box::new(source.into_reader()), reached: false };
        let reader =
            ReaderBuilder::new().flexible(true).has_headers(false).delimiter(delimiter).from_reader(text);
        let (headers, row, comma) = (Vec::new(), ByteRecord::new(), OnceCell::new());
        let mut table = Self { file, gzip, reader, headers, row, line: 0, limits, comma };
        if !table.advance()? {
            return Err(Error::Empty { file: table.file });
        }
        table.headers = (0..table.row.len()).map(|at| table.header(at)).collect::<Result<_, _>>()?;
        Ok(table)
    }

    /// Opens the file again, from its beginning.
    pub(crate) fn again(&self) -> Result<Self, Error> {
        Self::open(TextSource::open(&self.file, self.limits)?)
    }

    fn header(&self, at: usize) -> Result<String, Error> {
        match std::str::from_utf8(&self.row[at]) {
            Ok(name) => Ok(name.trim().to_owned()),
            Err(_) => Err(self.not_utf8(format!("the name of column {}", at + 1))),
        }
    }

    fn check_headers(&self) -> Result<(), Error> {
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for (at, name) in self.headers.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            if let Some(first) = seen.insert(name, at) {
                return Err(self.duplicate_column(first, at, format!("named `{name}`")));
            }
        }
        Ok(())
    }

    /// The error for two columns with the same meaning.
    pub(crate) fn duplicate_column(&self, first: usize, second: usize, what: String) -> Error {
        Error::DuplicateColumn { file: self.file.clone(), first: first + 1, second: second + 1, what }
    }

    /// Reads the next row; `false` at the end. Empty lines are skipped.
    pub(crate) fn advance(&mut self) -> Result<bool, Error> {
        let more = self.reader.read_byte_record(&mut self.row).map_err(|error| match error.into_kind() {
            ErrorKind::Io(source) => read_error(&self.file, self.gzip, self.line, source),
            kind => Error::Io { file: self.file.clone(), source: io::Error::other(format!("{kind:?}")) },
        })?;
        // Every line ends in `\n` (see `Source`): only a row inside a quote looks further.
        if more && self.reader.get_ref().reached {
            let last = self.row.iter().next_back().unwrap_or_default();
            let after = last.iter().filter(|&&byte| byte == b'\n').count() as u64;
            let line = self.reader.position().line().saturating_sub(after).max(1);
            return Err(Error::UnclosedQuote { file: self.file.clone(), line, field: self.row.len() });
        }
        // And so the reader stands one line after the row's last.
        let inside = self.row.as_slice().iter().filter(|&&byte| byte == b'\n').count() as u64;
        self.line = self.reader.position().line().saturating_sub(1 + inside).max(1);
        Ok(more)
    }

    /// The names of the columns.
    pub(crate) fn headers(&self) -> &[String] {
        &self.headers
    }

    /// The index of the column that `option` names.
    pub(crate) fn column(&self, name: &str, option: &'static str) -> Result<usize, Error> {
        self.headers.iter().position(|header| header == name.trim()).ok_or_else(|| Error::UnknownColumn {
            file: self.file.clone(),
            column: name.to_owned(),
            option,
            columns: list(self.headers.iter().map(String::as_str)),
        })
    }

    /// The path, for messages.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// The line of the row, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// The number of fields of the row.
    pub(crate) fn fields(&self) -> usize {
        self.row.len()
    }

    /// Checks that the row has as many fields as the header; `may_lack` allows it to lack the last ones.
    pub(crate) fn check_fields(&self, may_lack: bool) -> Result<(), Error> {
        let (expected, found) = (self.headers.len(), self.row.len());
        let surplus_empty = self.row.iter().skip(expected).all(|cell| cell.trim_ascii().is_empty());
        if (found < expected && !may_lack) || !surplus_empty {
            return Err(Error::FieldCount { file: self.file.clone(), line: self.line, expected, found });
        }
        Ok(())
    }

    /// The text of a cell, without the space around it; empty if the row ends before it.
    pub(crate) fn text(&self, column: usize) -> Result<&str, Error> {
        let cell = self.row.get(column).unwrap_or_default();
        match std::str::from_utf8(cell) {
            Ok(text) => Ok(text.trim()),
            Err(_) => Err(self.not_utf8(format!("column `{}`", self.headers[column]))),
        }
    }

    /// The bytes of a cell; empty if the row ends before it.
    pub(crate) fn bytes(&self, column: usize) -> &[u8] {
        self.row.get(column).unwrap_or_default()
    }

    /// A cell of a configuration; texts that are empty in a curve are missing values here.
    pub(crate) fn value(&self, column: usize) -> Result<Value, Error> {
        Ok(cell_value(self.text(column)?))
    }

    /// A cell of a curve: `None` if empty, NaN and infinities as they are.
    pub(crate) fn measurement(&self, column: usize) -> Result<Option<f64>, Error> {
        let text = self.text(column)?;
        if is_empty_cell(text) {
            return Ok(None);
        }
        self.number(column, text)?
            .map(Some)
            .ok_or_else(|| self.not_a_number(column, text, MEASUREMENT_ADVICE))
    }

    /// The number that `text` writes, with a percent sign, a decimal comma or thousands too.
    fn number(&self, column: usize, text: &str) -> Result<Option<f64>, Error> {
        let text = text.strip_suffix('%').map_or(text, str::trim_end);
        if !text.contains(',') {
            return Ok(text.parse().ok());
        }
        // a table that cannot be read again shows no more
        let comma = *self.comma.get_or_init(|| self.again().ok().and_then(|table| table.comma_of_cells()));
        if comma.is_none()
            && CommaMeaning::in_cell(text).is_none()
            && number_of(text, CommaMeaning::Decimal).is_some()
        {
            let (file, column) = (self.file.clone(), self.headers[column].clone());
            return Err(Error::Comma { file, line: self.line, column, cell: text.to_owned() });
        }
        Ok(comma.or_else(|| CommaMeaning::in_cell(text)).and_then(|comma| number_of(text, comma)))
    }

    /// The meaning of commas inside the numbers of the rows to come, if any cell shows it.
    fn comma_of_cells(mut self) -> Option<CommaMeaning> {
        while self.advance().ok()? {
            let cells = self.row.iter().filter_map(|cell| std::str::from_utf8(cell).ok());
            if let Some(comma) = cells.map(str::trim).find_map(CommaMeaning::in_cell) {
                return Some(comma);
            }
        }
        None
    }

    /// A cell of a step column: a finite number.
    pub(crate) fn step(&self, column: usize) -> Result<f64, Error> {
        let text = self.text(column)?;
        match self.number(column, text)? {
            Some(step) if step.is_finite() => Ok(step),
            _ => Err(self.not_a_number(column, text, "a finite number. Add a step to each row")),
        }
    }

    fn not_a_number(&self, column: usize, cell: &str, wanted: &'static str) -> Error {
        let cell = truncate_text(cell);
        Error::NotANumber {
            file: self.file.clone(),
            line: self.line,
            column: self.headers[column].clone(),
            cell,
            wanted,
        }
    }

    fn not_utf8(&self, field: String) -> Error {
        Error::NotUtf8 { file: self.file.clone(), line: self.line, field }
    }
}

/// The value of a cell of a configuration.
pub(crate) fn cell_value(text: &str) -> Value {
    if is_empty_cell(text.trim()) { Value::Missing } else { Value::from_cell(text) }
}

/// Whether a cell is empty: no text, `NA`, `N/A`, `-`, `null` or `None`.
pub(crate) fn is_empty_cell(text: &str) -> bool {
    text.is_empty() || ["na", "n/a", "-", "null", "none"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// The first 40 characters.
pub(crate) fn truncate_text(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Names in backquotes, the first 20 of them.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let shown: Vec<String> = names.iter().take(20).map(|name| format!("`{name}`")).collect();
    match names.len() {
        0 => "none".to_owned(),
        count if count > 20 => format!("{} and {} more", shown.join(", "), count - 20),
        _ => shown.join(", "),
    }
}

/// `1 run`, `2 runs`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
