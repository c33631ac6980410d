//! Parquet tables, as the text of a CSV: flat columns of numbers, flags and texts; lists are left out.
//!
//! Reads the encodings and compressions that pandas, polars and DuckDB write. Memory is that of one row group.

mod cell;
mod encodings;
mod thrift;
mod write;

use cell::{Cell, Damaged, Physical, invalid};
use encodings::{delta, delta_texts, hybrid, length_texts, plain, split};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use thrift::{Thrift, structure, take};
pub use write::{Values, write_parquet};

/// A longer page, or a longer footer, is damaged.
const LONGEST: usize = 1 << 30;

/// A column that is read.
struct Column {
    name: String,
    kind: Physical,
    /// Its place among all columns of a row group.
    place: usize,
    /// The definition level of a value that is there.
    deepest: u32,
    unsigned: bool,
    /// The power of ten that integers are divided by.
    scale: i32,
}

/// The table in a file, read as CSV.
pub(crate) struct Text {
    file: File,
    columns: Vec<Column>,
    groups: Vec<Thrift>,
    next: usize,
    /// The cells of the row group that is read, a column each, and how many of its rows are text already.
    cells: Vec<Vec<Cell>>,
    row: usize,
    text: Vec<u8>,
    given: usize,
}

/// Rows that are turned into text at once.
const ROWS: usize = 1024;

impl Text {
    /// Reads the metadata.
    pub(crate) fn open(mut file: File) -> io::Result<Self> {
        let end = file.seek(SeekFrom::End(0))?;
        let mut tail = [0_u8; 8];
        if end < 12 {
            return Err(Damaged.into());
        }
        file.seek(SeekFrom::Start(end - 8))?;
        file.read_exact(&mut tail)?;
        let size = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
        if &tail[4..] != b"PAR1" || size > end - 12 || size > LONGEST as u64 {
            return Err(Damaged.into());
        }
        file.seek(SeekFrom::Start(end - 8 - size))?;
        let mut footer = Vec::new();
        Read::by_ref(&mut file).take(size).read_to_end(&mut footer)?;
        let metadata = structure(&mut &footer[..])?;
        let mut columns = Vec::new();
        let schema = metadata.list(2)?;
        let mut rest = schema.get(1..).ok_or(Damaged)?;
        let mut place = 0;
        for _ in 0..schema[0].size(5)? {
            leaves(&mut rest, "", (0, false), &mut place, &mut columns)?;
        }
        let groups = metadata.list(4)?.to_vec();
        let mut text =
            Self { file, columns, groups, next: 0, cells: Vec::new(), row: 0, text: Vec::new(), given: 0 };
        let names: Vec<Cell> =
            text.columns.iter().map(|column| Cell::Text(column.name.as_str().into())).collect();
        write_row(&mut text.text, names.iter().map(|name| (name, None)))?;
        Ok(text)
    }

    /// The next rows as text; `false` if there are none.
    fn fill(&mut self) -> io::Result<bool> {
        while self.row >= self.cells.first().map_or(0, Vec::len) {
            let Some(group) = self.groups.get(self.next).cloned() else { return Ok(false) };
            self.next += 1;
            self.row = 0;
            self.read_group(&group)?;
        }
        self.text.clear();
        self.given = 0;
        let rows = self.cells.first().map_or(0, Vec::len);
        for row in self.row..rows.min(self.row + ROWS) {
            let cells = self.cells.iter().zip(&self.columns);
            write_row(&mut self.text, cells.map(|(cells, column)| (&cells[row], Some(column))))?;
        }
        self.row += ROWS;
        Ok(true)
    }

    fn read_group(&mut self, group: &Thrift) -> io::Result<()> {
        let rows = group.size(3)?;
        let chunks = group.list(1)?;
        self.cells.clear();
        for column in &self.columns {
            let chunk = chunks.get(column.place).and_then(|chunk| chunk.field(3)).ok_or(Damaged)?;
            let found = chunk_cells(&mut self.file, chunk, column, rows)?;
            if found.len() != rows {
                return Err(Damaged.into());
            }
            self.cells.push(found);
        }
        Ok(())
    }
}

impl Read for Text {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.text.len() {
            if !self.fill()? {
                return Ok(0);
            }
        }
        let read = buffer.len().min(self.text.len() - self.given);
        buffer[..read].copy_from_slice(&self.text[self.given..self.given + read]);
        self.given += read;
        Ok(read)
    }
}

/// Adds the columns of the schema element that comes next, and of those inside it.
fn leaves(
    rest: &mut &[Thrift],
    prefix: &str,
    (depth, repeated): (u32, bool),
    place: &mut usize,
    columns: &mut Vec<Column>,
) -> Result<(), Damaged> {
    let (element, after) = rest.split_first().ok_or(Damaged)?;
    *rest = after;
    let name = element.field(4).and_then(Thrift::text).ok_or(Damaged)?;
    let name = if prefix.is_empty() { name } else { format!("{prefix}.{name}") };
    let repetition = element.int(3).unwrap_or(0);
    let depth = depth + u32::from(repetition != 0);
    let repeated = repeated || repetition == 2;
    let children = element.int(5).unwrap_or(0);
    if children > 0 {
        if depth > 64 {
            return Err(Damaged);
        }
        for _ in 0..children {
            leaves(rest, &name, (depth, repeated), place, columns)?;
        }
        return Ok(());
    }
    let kind = match element.int(1) {
        Some(0) => Some(Physical::Boolean),
        Some(1) => Some(Physical::Int32),
        Some(2) => Some(Physical::Int64),
        Some(4) => Some(Physical::Float),
        Some(5) => Some(Physical::Double),
        Some(6) => Some(Physical::Bytes),
        _ => None,
    };
    let converted = element.int(6);
    let decimal = converted == Some(5);
    // a decimal written as bytes is no text
    if let Some(kind) = kind.filter(|kind| !(repeated || decimal && *kind == Physical::Bytes)) {
        let scale =
            if decimal { i32::try_from(element.int(7).unwrap_or(0)).map_err(|_| Damaged)? } else { 0 };
        let unsigned = converted.is_some_and(|converted| (11..=14).contains(&converted));
        columns.push(Column { name, kind, place: *place, deepest: depth, unsigned, scale });
    }
    *place += 1;
    Ok(())
}

/// All values of a column in a row group.
fn chunk_cells(file: &mut File, chunk: &Thrift, column: &Column, rows: usize) -> io::Result<Vec<Cell>> {
    let start = chunk.int(11).filter(|&at| at > 0).into_iter().chain(chunk.int(9)).min();
    let start = start.and_then(|start| u64::try_from(start).ok()).ok_or(Damaged)?;
    let (codec, size) = (chunk.int(4).unwrap_or(0), chunk.size(7)? as u64);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    Read::by_ref(file).take(size).read_to_end(&mut bytes)?;
    let mut rest = &bytes[..];
    let mut dictionary: Vec<Cell> = Vec::new();
    let mut cells: Vec<Cell> = Vec::new();
    while cells.len() < rows {
        let header = structure(&mut rest)?;
        let (whole, packed) = (header.size(2)?, header.size(3)?);
        if whole > LONGEST {
            return Err(Damaged.into());
        }
        let body = take(&mut rest, packed)?;
        match header.int(1) {
            Some(2) => {
                let count = header.field(7).ok_or(Damaged)?.size(1)?;
                let body = unpacked(body, codec, whole)?;
                dictionary = plain(&mut &body[..], column.kind, count)?;
            }
            Some(0) => {
                let head = header.field(5).ok_or(Damaged)?;
                let body = unpacked(body, codec, whole)?;
                let mut body = &body[..];
                let count = head.size(1)?;
                let levels = match column.deepest {
                    0 => None,
                    deepest => {
                        let size = u32::from_le_bytes(take(&mut body, 4)?.try_into().map_err(|_| Damaged)?);
                        let mut levels = take(&mut body, size as usize)?;
                        Some(hybrid(&mut levels, width(deepest), limited(count, rows)?)?)
                    }
                };
                page(&mut cells, body, (head.int(2), limited(count, rows)?), levels, column, &dictionary)?;
            }
            Some(3) => {
                let head = header.field(8).ok_or(Damaged)?;
                let mut body = body;
                let repetitions = head.size(6)?;
                take(&mut body, repetitions)?;
                let mut levels = take(&mut body, head.size(5)?)?;
                let count = limited(head.size(1)?, rows)?;
                let levels = match column.deepest {
                    0 => None,
                    deepest => Some(hybrid(&mut levels, width(deepest), count)?),
                };
                let left = whole.checked_sub(repetitions + head.size(5)?).ok_or(Damaged)?;
                let codec = if head.flag(7) == Some(false) { 0 } else { codec };
                let body = unpacked(body, codec, left)?;
                page(&mut cells, &body, (head.int(4), count), levels, column, &dictionary)?;
            }
            // an index
            _ => {}
        }
    }
    Ok(cells)
}

fn limited(count: usize, rows: usize) -> Result<usize, Damaged> {
    if count <= rows { Ok(count) } else { Err(Damaged) }
}

/// The bits of a level.
fn width(deepest: u32) -> u32 {
    u32::BITS - deepest.leading_zeros()
}

/// Adds the values of a page; `levels` say which are there.
fn page(
    cells: &mut Vec<Cell>,
    mut body: &[u8],
    (encoding, count): (Option<i64>, usize),
    levels: Option<Vec<u32>>,
    column: &Column,
    dictionary: &[Cell],
) -> io::Result<()> {
    let is_there = |level: &&u32| **level == column.deepest;
    let there = levels.as_ref().map_or(count, |levels| levels.iter().filter(is_there).count());
    let integers = |values: Vec<i64>| values.into_iter().map(Cell::Int).collect::<Vec<Cell>>();
    let values = match (encoding, column.kind) {
        (Some(0), kind) => plain(&mut body, kind, there)?,
        (Some(2 | 8), _) if there == 0 => Vec::new(),
        (Some(2 | 8), _) => {
            let width = u32::from(take(&mut body, 1)?[0]);
            let places = hybrid(&mut body, width, there)?;
            let found = places.iter().map(|&place| dictionary.get(place as usize).cloned().ok_or(Damaged));
            found.collect::<Result<Vec<Cell>, Damaged>>()?
        }
        (Some(3), Physical::Boolean) => {
            take(&mut body, 4)?;
            hybrid(&mut body, 1, there)?.into_iter().map(|bit| Cell::Bool(bit == 1)).collect()
        }
        (Some(5), Physical::Int32) => {
            delta(&mut body, there)?.into_iter().map(|value| Cell::Int(i64::from(value as i32))).collect()
        }
        (Some(5), Physical::Int64) => integers(delta(&mut body, there)?),
        (Some(6), Physical::Bytes) => length_texts(&mut body, there)?,
        (Some(7), Physical::Bytes) => delta_texts(&mut body, there)?,
        (Some(9), kind) => split(&mut body, kind, there)?,
        (other, _) => {
            let text =
                "column `{}` has an encoding that is not read ({}); write the file by pandas or polars";
            let number = other.map_or("none".to_owned(), |number| number.to_string());
            return Err(invalid(text.replacen("{}", &column.name, 1).replacen("{}", &number, 1)));
        }
    };
    if values.len() != there {
        return Err(Damaged.into());
    }
    let mut values = values.into_iter();
    match levels {
        None => cells.extend(values),
        Some(levels) => cells.extend(levels.iter().map(|level| match is_there(&level) {
            true => values.next().unwrap_or(Cell::Missing),
            false => Cell::Missing,
        })),
    }
    Ok(())
}

/// The bytes of a page, of which there are `whole`.
fn unpacked(body: &[u8], codec: i64, whole: usize) -> io::Result<Vec<u8>> {
    let limit = whole as u64 + 1;
    let mut found = Vec::new();
    match codec {
        0 => found.extend(body),
        1 => {
            let stated = snap::raw::decompress_len(body).map_err(|_| Damaged)?;
            if stated != whole {
                return Err(Damaged.into());
            }
            found = snap::raw::Decoder::new().decompress_vec(body).map_err(|_| Damaged)?;
        }
        2 => {
            let decoder = flate2::read::MultiGzDecoder::new(body);
            decoder.take(limit).read_to_end(&mut found).map_err(|_| Damaged)?;
        }
        6 => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(body).map_err(|_| Damaged)?;
            decoder.take(limit).read_to_end(&mut found).map_err(|_| Damaged)?;
        }
        _ => {
            let name = match codec {
                3 => "LZO",
                4 => "Brotli",
                5 | 7 => "LZ4",
                _ => "an unknown method",
            };
            return Err(invalid(format!(
                "the Parquet data are compressed by {name}, which is not read; write them with snappy, gzip, zstd or none"
            )));
        }
    }
    if found.len() == whole { Ok(found) } else { Err(Damaged.into()) }
}

/// Writes a row of CSV.
fn write_row<'a>(
    text: &mut Vec<u8>,
    cells: impl Iterator<Item = (&'a Cell, Option<&'a Column>)>,
) -> io::Result<()> {
    for (at, (cell, column)) in cells.enumerate() {
        if at > 0 {
            text.push(b',');
        }
        match cell {
            Cell::Missing => {}
            Cell::Bool(flag) => write!(text, "{flag}")?,
            Cell::Number(number) if number.is_nan() => text.extend(b"nan"),
            Cell::Number(number) => write!(text, "{number}")?,
            Cell::Int(number) => match column {
                Some(column) if column.scale != 0 => {
                    write!(text, "{}", *number as f64 / 10_f64.powi(column.scale))?;
                }
                Some(Column { unsigned: true, kind: Physical::Int32, .. }) => {
                    write!(text, "{}", *number as u32)?
                }
                Some(Column { unsigned: true, .. }) => write!(text, "{}", *number as u64)?,
                _ => write!(text, "{number}")?,
            },
            Cell::Text(name) => {
                write!(text, "\"{}\"", name.replace('"', "\"\""))?;
            }
        }
    }
    text.push(b'\n');
    Ok(())
}
