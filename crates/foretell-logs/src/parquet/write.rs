//! Writes a Parquet table: flat columns of numbers, flags and texts, each value plain, pages compressed by snappy.

use super::cell::invalid;
use std::io::{self, Write};
use std::ops::Range;

const MAGIC: &[u8] = b"PAR1";
/// Rows that are written at once: what memory holds beside the table itself.
const GROUP: usize = 1 << 16;

/// The values of a column; `None` is a value that is missing.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Whole numbers.
    Integers(Vec<Option<i64>>),
    /// Numbers.
    Numbers(Vec<Option<f64>>),
    /// Flags.
    Flags(Vec<Option<bool>>),
    /// Texts.
    Texts(Vec<Option<String>>),
}

impl Values {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Integers(values) => values.len(),
            Self::Numbers(values) => values.len(),
            Self::Flags(values) => values.len(),
            Self::Texts(values) => values.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Parquet's number of their physical type.
    fn physical(&self) -> i64 {
        match self {
            Self::Flags(_) => 0,
            Self::Integers(_) => 2,
            Self::Numbers(_) => 5,
            Self::Texts(_) => 6,
        }
    }

    /// The page of the rows in `range`: which values are there, and these values.
    fn page(&self, range: Range<usize>) -> Vec<u8> {
        let mut plain = Vec::new();
        let is_there = match self {
            Self::Integers(values) => {
                written(&values[range], |value| plain.extend_from_slice(&value.to_le_bytes()))
            }
            Self::Numbers(values) => {
                written(&values[range], |value| plain.extend_from_slice(&value.to_le_bytes()))
            }
            Self::Texts(values) => written(&values[range], |text| {
                plain.extend_from_slice(&(text.len() as u32).to_le_bytes());
                plain.extend_from_slice(text.as_bytes());
            }),
            Self::Flags(values) => {
                let mut flags = Vec::new();
                let is_there = written(&values[range], |&flag| flags.push(flag));
                plain = packed(&flags);
                is_there
            }
        };
        let bits = packed(&is_there);
        // one run of packed groups of eight: their number, shifted, and a mark
        let mut levels = Vec::new();
        varint(&mut levels, (bits.len() as u64) << 1 | 1);
        levels.extend(bits);
        let mut page = (levels.len() as u32).to_le_bytes().to_vec();
        page.extend(levels);
        page.extend(plain);
        page
    }
}

/// Hands each value that is there to `write`; answers which are there.
fn written<T>(values: &[Option<T>], write: impl FnMut(&T)) -> Vec<bool> {
    values.iter().flatten().for_each(write);
    values.iter().map(Option::is_some).collect()
}

/// Flags as bits, the first lowest.
fn packed(flags: &[bool]) -> Vec<u8> {
    let byte = |flags: &[bool]| flags.iter().rev().fold(0, |byte, &flag| byte << 1 | u8::from(flag));
    flags.chunks(8).map(byte).collect()
}

/// Writes `columns`, each by its name, as a Parquet file that pandas, polars and DuckDB read.
///
/// # Errors
/// The errors of `writer`, and [`io::ErrorKind::InvalidData`] if columns differ in length.
///
/// ```
/// use foretell_logs::{Values, write_parquet};
/// let columns = [
///     ("trial".to_owned(), Values::Integers(vec![Some(0), Some(1)])),
///     ("score".to_owned(), Values::Numbers(vec![Some(0.9), None])),
/// ];
/// let mut file = Vec::new();
/// write_parquet(&mut file, &columns)?;
/// assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_parquet(mut writer: impl Write, columns: &[(String, Values)]) -> io::Result<()> {
    let rows = columns.first().map_or(0, |(_, values)| values.len());
    if let Some((name, values)) = columns.iter().find(|(_, values)| values.len() != rows) {
        return Err(invalid(format!("column `{name}` has {} rows instead of {rows}", values.len())));
    }
    writer.write_all(MAGIC)?;
    let (mut at, mut groups) = (MAGIC.len(), Vec::new());
    for start in (0..rows).step_by(GROUP) {
        let range = start..rows.min(start + GROUP);
        let (begin, mut chunks) = (at, Vec::new());
        for (name, values) in columns {
            let page = values.page(range.clone());
            let small = snap::raw::Encoder::new().compress_vec(&page).map_err(io::Error::other)?;
            let header = page_header(page.len(), small.len(), range.len());
            writer.write_all(&header)?;
            writer.write_all(&small)?;
            let sizes = [header.len() + page.len(), header.len() + small.len()];
            chunks.push(chunk(name, values, range.len(), sizes, at));
            at += sizes[1];
        }
        let group =
            Structure::new().list(1, Kind::Structure, chunks).long(2, at - begin).long(3, range.len());
        groups.push(group.finished());
    }
    let footer = footer(columns, rows, groups);
    writer.write_all(&footer)?;
    writer.write_all(&(footer.len() as u32).to_le_bytes())?;
    writer.write_all(MAGIC)
}

/// Numbers of Parquet's metadata.
mod code {
    pub(super) const PLAIN: i64 = 0;
    pub(super) const RLE: i64 = 3;
    pub(super) const SNAPPY: i64 = 1;
    pub(super) const OPTIONAL: i64 = 1;
    pub(super) const UTF8: i64 = 0;
    pub(super) const DATA_PAGE: i64 = 0;
}

fn page_header(whole: usize, small: usize, values: usize) -> Vec<u8> {
    let data = Structure::new().int(1, values as i64).int(2, code::PLAIN).int(3, code::RLE).int(4, code::RLE);
    let header = Structure::new().int(1, code::DATA_PAGE).int(2, whole as i64).int(3, small as i64);
    header.structure(5, data).finished()
}

/// What is said of a column in a row group that begins `at`.
fn chunk(name: &str, values: &Values, rows: usize, [whole, small]: [usize; 2], at: usize) -> Vec<u8> {
    let encodings = [code::PLAIN, code::RLE].map(zigzag).to_vec();
    let metadata = Structure::new()
        .int(1, values.physical())
        .list(2, Kind::Int, encodings)
        .list(3, Kind::Bytes, vec![text(name)])
        .int(4, code::SNAPPY)
        .long(5, rows)
        .long(6, whole)
        .long(7, small)
        .long(9, at);
    Structure::new().long(2, at).structure(3, metadata).finished()
}

fn footer(columns: &[(String, Values)], rows: usize, groups: Vec<Vec<u8>>) -> Vec<u8> {
    let root = Structure::new().bytes(4, "schema").int(5, columns.len() as i64);
    let element = |(name, values): &(String, Values)| {
        let element = Structure::new().int(1, values.physical()).int(3, code::OPTIONAL).bytes(4, name);
        if matches!(values, Values::Texts(_)) { element.int(6, code::UTF8) } else { element }
    };
    let schema = std::iter::once(root).chain(columns.iter().map(element));
    Structure::new()
        .int(1, 1)
        .list(2, Kind::Structure, schema.map(Structure::finished).collect())
        .long(3, rows)
        .list(4, Kind::Structure, groups)
        .bytes(6, concat!("foretell ", env!("CARGO_PKG_VERSION")))
        .finished()
}

/// Types of Thrift's compact protocol.
#[derive(Clone, Copy)]
enum Kind {
    Int = 5,
    Long = 6,
    Bytes = 8,
    List = 9,
    Structure = 12,
}

/// A structure of Thrift's compact protocol, written field by field, by ascending numbers.
struct Structure {
    bytes: Vec<u8>,
    last: u8,
}

impl Structure {
    fn new() -> Self {
        Self { bytes: Vec::new(), last: 0 }
    }

    fn field(mut self, number: u8, kind: Kind, value: &[u8]) -> Self {
        self.bytes.push((number - self.last) << 4 | kind as u8);
        self.bytes.extend_from_slice(value);
        Self { last: number, ..self }
    }

    fn int(self, number: u8, value: i64) -> Self {
        self.field(number, Kind::Int, &zigzag(value))
    }

    fn long(self, number: u8, value: usize) -> Self {
        self.field(number, Kind::Long, &zigzag(value as i64))
    }

    fn bytes(self, number: u8, value: &str) -> Self {
        self.field(number, Kind::Bytes, &text(value))
    }

    fn structure(self, number: u8, inner: Self) -> Self {
        self.field(number, Kind::Structure, &inner.finished())
    }

    fn list(self, number: u8, kind: Kind, items: Vec<Vec<u8>>) -> Self {
        let mut list = Vec::new();
        match items.len() {
            count @ 0..15 => list.push((count as u8) << 4 | kind as u8),
            count => {
                list.push(0xf0 | kind as u8);
                varint(&mut list, count as u64);
            }
        }
        list.extend(items.concat());
        self.field(number, Kind::List, &list)
    }

    fn finished(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

fn text(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint(&mut bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

fn zigzag(value: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint(&mut bytes, ((value << 1) ^ (value >> 63)) as u64);
    bytes
}

fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::{GROUP, Values, write_parquet};
    use crate::parquet::Text;
    use std::io::{Read, Seek, Write};

    fn read_back(columns: &[(String, Values)]) -> String {
        let mut file = tempfile::tempfile().expect("a file");
        let mut bytes = Vec::new();
        write_parquet(&mut bytes, columns).expect("written");
        file.write_all(&bytes).and_then(|()| file.rewind()).expect("kept");
        let mut text = String::new();
        Text::open(file).expect("metadata").read_to_string(&mut text).expect("rows");
        text
    }

    #[test]
    fn what_is_written_is_read_back() {
        let columns = [
            ("trial".to_owned(), Values::Integers(vec![Some(0), None, Some(-7), Some(i64::MAX)])),
            ("score".to_owned(), Values::Numbers(vec![Some(0.1), Some(f64::NAN), None, Some(-2e300)])),
            ("kept".to_owned(), Values::Flags(vec![None, Some(true), Some(false), Some(true)])),
            (
                "why".to_owned(),
                Values::Texts(vec![Some("a \"b\", c".into()), Some(String::new()), None, None]),
            ),
        ];
        let expected = "\"trial\",\"score\",\"kept\",\"why\"\n0,0.1,,\"a \"\"b\"\", c\"\n,nan,true,\"\"\n-7,,false,\n9223372036854775807,-";
        let text = read_back(&columns);
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn tables_of_any_size_are_read_back() {
        for rows in [0, 1, 8, 9, GROUP, GROUP + 3] {
            let numbers = (0..rows).map(|row| (row % 5 > 0).then_some(row as i64)).collect();
            let text = read_back(&[("n".to_owned(), Values::Integers(numbers))]);
            let lines: Vec<&str> = text.lines().collect();
            assert_eq!(lines.len(), rows + 1);
            let cell = |row: usize| if row.is_multiple_of(5) { String::new() } else { row.to_string() };
            assert!((0..rows).all(|row| lines[row + 1] == cell(row)), "{rows}");
        }
    }

    #[test]
    fn many_columns_are_read_back_and_those_of_other_lengths_are_refused() {
        let column = |at: usize| (format!("column {at}"), Values::Numbers(vec![Some(at as f64)]));
        let mut columns: Vec<_> = (0..40).map(column).collect();
        let last =
            read_back(&columns).lines().nth(1).and_then(|row| row.rsplit(',').next().map(str::to_owned));
        assert_eq!(last.as_deref(), Some("39"));
        columns.push(("short".to_owned(), Values::Flags(Vec::new())));
        let error = write_parquet(Vec::new(), &columns).expect_err("it is refused");
        assert_eq!(error.to_string(), "column `short` has 0 rows instead of 1");
    }
}
