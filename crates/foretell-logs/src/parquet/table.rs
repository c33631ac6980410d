//! Reads and writes flat columns of numbers, flags and texts; columns of lists are left out.

use super::values::ColumnValues;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use parquet::schema::types::{Type, TypePtr};
use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Rows that are written at once: memory holds them in addition to the table itself.
const ROWS_PER_GROUP: usize = 1 << 16;

/// The rows of a file, as the text of a CSV.
pub(super) struct ParquetAsCsv {
    schema: TypePtr,
    rows: RowIter<'static>,
    text: Vec<u8>,
    given: usize,
}

impl ParquetAsCsv {
    /// Reads the metadata.
    pub(super) fn open(file: File) -> io::Result<Self> {
        let reader = catch_panic(|| SerializedFileReader::new(file))?;
        let schema = reader.metadata().file_metadata().schema_descr().root_schema_ptr();
        let mut names = Vec::new();
        for field in schema.get_fields() {
            add_names(field, "", &mut names);
        }
        let mut text = names.join(",").into_bytes();
        text.push(b'\n');
        Ok(Self { schema, rows: reader.into_iter(), text, given: 0 })
    }
}

impl Read for ParquetAsCsv {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.text.len() {
            let Some(row) = catch_panic(|| self.rows.next().transpose())? else { return Ok(0) };
            let mut cells = Vec::new();
            add_cells(self.schema.get_fields(), Some(&row), &mut cells);
            self.text = (cells.join(",") + "\n").into_bytes();
            self.given = 0;
        }
        let read = buffer.len().min(self.text.len() - self.given);
        buffer[..read].copy_from_slice(&self.text[self.given..self.given + read]);
        self.given += read;
        Ok(read)
    }
}

/// The result of `read`. The crate panics on some damaged files, which are bad data and no broken promise of this program.
fn catch_panic<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> io::Result<T> {
    let caught = catch_unwind(AssertUnwindSafe(read));
    caught
        .unwrap_or_else(|_| Err(ParquetError::General("the reader failed".to_owned())))
        .map_err(damaged_error)
}

fn damaged_error(error: ParquetError) -> io::Error {
    let text =
        format!("the Parquet data are damaged, or of an unsupported kind ({error}). Write the file again");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// Whether a field is one of the kinds that are read: no list, no map, no bytes of a fixed length.
fn is_supported(field: &Type) -> bool {
    let info = field.get_basic_info();
    let is_list = matches!(info.logical_type_ref(), Some(LogicalType::List | LogicalType::Map))
        || info.has_repetition() && info.repetition() == Repetition::REPEATED;
    let is_bytes = field.is_primitive()
        && matches!(field.get_physical_type(), Physical::FIXED_LEN_BYTE_ARRAY | Physical::INT96);
    !is_list && !is_bytes
}

/// Adds the names of a field's columns: those inside of it are joined by dots.
fn add_names(field: &Type, prefix: &str, names: &mut Vec<String>) {
    let name = format!("{prefix}{}", field.name());
    if !is_supported(field) {
    } else if field.is_primitive() {
        names.push(quote_cell(&name));
    } else {
        field.get_fields().iter().for_each(|inner| add_names(inner, &format!("{name}."), names));
    }
}

/// Adds the cells of a row, in the order of the names; a group that is missing has empty cells.
fn add_cells(fields: &[TypePtr], row: Option<&Row>, cells: &mut Vec<String>) {
    let mut found = row.map(Row::get_column_iter);
    for field in fields {
        let value = found.as_mut().and_then(Iterator::next).map(|(_, value)| value);
        if !is_supported(field) {
        } else if field.is_primitive() {
            cells.push(value.map_or_else(String::new, cell));
        } else {
            let inner = match value {
                Some(Field::Group(row)) => Some(row),
                _ => None,
            };
            add_cells(field.get_fields(), inner, cells);
        }
    }
}

fn cell(value: &Field) -> String {
    match value {
        Field::Null => String::new(),
        Field::Str(text) => quote_cell(text),
        Field::Bytes(bytes) => quote_cell(&String::from_utf8_lossy(bytes.data())),
        Field::Float(number) => number_cell(f64::from(*number)),
        Field::Float16(number) => number_cell(f64::from(*number)),
        Field::Double(number) => number_cell(*number),
        Field::Date(number) | Field::TimeMillis(number) => number.to_string(),
        Field::TimeMicros(number) | Field::TimestampMillis(number) | Field::TimestampMicros(number) => {
            number.to_string()
        }
        // flags, whole numbers and decimals: as the crate prints them
        other => other.to_string(),
    }
}

fn number_cell(number: f64) -> String {
    if number.is_nan() { "nan".to_owned() } else { number.to_string() }
}

fn quote_cell(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// Writes the columns.
pub(super) fn write(writer: impl Write + Send, columns: &[(String, ColumnValues)]) -> io::Result<()> {
    let rows = columns.first().map_or(0, |(_, values)| values.len());
    if let Some((name, values)) = columns.iter().find(|(_, values)| values.len() != rows) {
        let text = format!("column `{name}` contains {} rows instead of {rows}", values.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    write_row_groups(writer, columns, rows).map_err(io::Error::other)
}

fn write_row_groups(
    writer: impl Write + Send,
    columns: &[(String, ColumnValues)],
    rows: usize,
) -> Result<(), ParquetError> {
    let fields = columns.iter().map(|(name, values)| field(name, values));
    let schema = Type::group_type_builder("table").with_fields(fields.collect::<Result<_, _>>()?).build()?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut file = SerializedFileWriter::new(writer, Arc::new(schema), Arc::new(properties))?;
    for start in (0..rows).step_by(ROWS_PER_GROUP) {
        let range = start..rows.min(start + ROWS_PER_GROUP);
        let mut group = file.next_row_group()?;
        for (_, values) in columns {
            if let Some(mut column) = group.next_column()? {
                write_column(&mut column, values, range.clone())?;
                column.close()?;
            }
        }
        group.close()?;
    }
    file.close().map(drop)
}

fn field(name: &str, values: &ColumnValues) -> Result<TypePtr, ParquetError> {
    let (physical, logical) = match values {
        ColumnValues::Integers(_) => (Physical::INT64, None),
        ColumnValues::Numbers(_) => (Physical::DOUBLE, None),
        ColumnValues::Flags(_) => (Physical::BOOLEAN, None),
        ColumnValues::Texts(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let builder = Type::primitive_type_builder(name, physical).with_logical_type(logical);
    builder.with_repetition(Repetition::OPTIONAL).build().map(Arc::new)
}

fn write_column(
    column: &mut SerializedColumnWriter<'_>,
    values: &ColumnValues,
    rows: Range<usize>,
) -> Result<(), ParquetError> {
    fn split_levels<T, S>(values: &[Option<T>], convert: impl Fn(&T) -> S) -> (Vec<S>, Vec<i16>) {
        let levels = values.iter().map(|value| i16::from(value.is_some())).collect();
        (values.iter().flatten().map(convert).collect(), levels)
    }
    match (column.untyped(), values) {
        (ColumnWriter::Int64ColumnWriter(column), ColumnValues::Integers(values)) => {
            let (values, levels) = split_levels(&values[rows], |value| *value);
            column.write_batch(&values, Some(&levels), None)?;
        }
        (ColumnWriter::DoubleColumnWriter(column), ColumnValues::Numbers(values)) => {
            let (values, levels) = split_levels(&values[rows], |value| *value);
            column.write_batch(&values, Some(&levels), None)?;
        }
        (ColumnWriter::BoolColumnWriter(column), ColumnValues::Flags(values)) => {
            let (values, levels) = split_levels(&values[rows], |value| *value);
            column.write_batch(&values, Some(&levels), None)?;
        }
        (ColumnWriter::ByteArrayColumnWriter(column), ColumnValues::Texts(values)) => {
            let (values, levels) = split_levels(&values[rows], |value| value.as_str().into());
            column.write_batch(&values, Some(&levels), None)?;
        }
        _ => unreachable!("a column is written by the writer of its type"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{ColumnValues, ParquetAsCsv, ROWS_PER_GROUP, write};
    use std::io::{Read, Seek, Write};

    fn read_back(columns: &[(String, ColumnValues)]) -> String {
        let mut file = tempfile::tempfile().expect("a file");
        let mut bytes = Vec::new();
        write(&mut bytes, columns).expect("written");
        file.write_all(&bytes).and_then(|()| file.rewind()).expect("kept");
        let mut text = String::new();
        ParquetAsCsv::open(file).expect("metadata").read_to_string(&mut text).expect("rows");
        text
    }

    #[test]
    fn what_is_written_is_read_back() {
        let columns = [
            ("trial".to_owned(), ColumnValues::Integers(vec![Some(0), None, Some(-7), Some(i64::MAX)])),
            ("score".to_owned(), ColumnValues::Numbers(vec![Some(0.1), Some(f64::NAN), None, Some(-2e300)])),
            ("kept".to_owned(), ColumnValues::Flags(vec![None, Some(true), Some(false), Some(true)])),
            (
                "why".to_owned(),
                ColumnValues::Texts(vec![Some("a \"b\", c".into()), Some(String::new()), None, None]),
            ),
        ];
        let expected = "\"trial\",\"score\",\"kept\",\"why\"\n0,0.1,,\"a \"\"b\"\", c\"\n,nan,true,\"\"\n-7,,false,\n9223372036854775807,-";
        let text = read_back(&columns);
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn tables_of_any_size_are_read_back() {
        for rows in [0, 1, 8, 9, ROWS_PER_GROUP, ROWS_PER_GROUP + 3] {
            let numbers = (0..rows).map(|row| (row % 5 > 0).then_some(row as i64)).collect();
            let text = read_back(&[("n".to_owned(), ColumnValues::Integers(numbers))]);
            let lines: Vec<&str> = text.lines().collect();
            assert_eq!(lines.len(), rows + 1);
            let cell = |row: usize| if row.is_multiple_of(5) { String::new() } else { row.to_string() };
            assert!((0..rows).all(|row| lines[row + 1] == cell(row)), "{rows}");
        }
    }

    #[test]
    fn columns_of_other_lengths_are_refused() {
        let columns = [
            ("long".to_owned(), ColumnValues::Numbers(vec![Some(1.0)])),
            ("short".to_owned(), ColumnValues::Flags(Vec::new())),
        ];
        let error = write(Vec::new(), &columns).expect_err("it is refused");
        assert_eq!(error.to_string(), "column `short` contains 0 rows instead of 1");
    }
}
