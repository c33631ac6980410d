//! Parquet tables: read as the text of a CSV, and written from columns; by the crate `parquet`, where this is built with it.

#[cfg(feature = "parquet")]
mod table;
mod values;

use std::fs::File;
use std::io::{self, Read, Write};
pub use values::ColumnValues;

/// The rows of a Parquet file as the text of a CSV.
#[cfg(feature = "parquet")]
pub(crate) fn text(file: File) -> io::Result<Box<dyn Read>> {
    Ok(Box::new(table::ParquetAsCsv::open(file)?))
}

/// Writes columns of one length as a Parquet table, compressed by snappy.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] if a column is shorter than the others, and errors of the writer.
#[cfg(feature = "parquet")]
pub fn write_parquet(writer: impl Write + Send, columns: &[(String, ColumnValues)]) -> io::Result<()> {
    table::write(writer, columns)
}

/// Refused: this is built without Parquet.
#[cfg(not(feature = "parquet"))]
pub(crate) fn text(_file: File) -> io::Result<Box<dyn Read>> {
    Err(missing_feature_error(
        "convert the file to CSV, for example with pandas.read_parquet(FILE).to_csv(OTHER, index=False)",
    ))
}

/// Refused: this is built without Parquet.
///
/// # Errors
/// Always; it says how to get it.
#[cfg(not(feature = "parquet"))]
pub fn write_parquet(_writer: impl Write + Send, _columns: &[(String, ColumnValues)]) -> io::Result<()> {
    Err(missing_feature_error(
        "write a CSV, or use Python: foretell.load(STUDY, \"pandas\")[0].to_parquet(FILE)",
    ))
}

#[cfg(not(feature = "parquet"))]
fn missing_feature_error(instead: &str) -> io::Error {
    let text =
        format!("this program is built without Parquet. Build it with `--features parquet`, or {instead}");
    io::Error::new(io::ErrorKind::Unsupported, text)
}

#[cfg(all(test, not(feature = "parquet")))]
mod tests {
    use super::{text, write_parquet};

    #[test]
    fn without_the_feature_the_way_to_it_is_named() {
        let read = text(tempfile::tempfile().expect("a file")).map(drop).expect_err("refused").to_string();
        let written = write_parquet(Vec::new(), &[]).expect_err("refused").to_string();
        assert!(read.contains("--features parquet") && read.contains("read_parquet"), "{read}");
        assert!(written.contains("--features parquet") && written.contains("to_parquet"), "{written}");
    }
}
