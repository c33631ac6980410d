//! W&B's offline runs: a `.wandb` file holds protobuf records in the blocks of a LevelDB log.

use super::LogFormat;
use super::json;
use super::point::LoggedPoint;
use super::protobuf::{DamagedMessage, MessageFields, WireValue, all};
use super::series::{RunEnd, RunLog, SeriesFilter};
use crate::error::Error;
use foretell::Configuration;
use serde_json::Value as Json;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

const BLOCK_BYTES: usize = 1 << 15;
const HEADER_BYTES: usize = 7;
/// `:W&B`, the magic number and the version.
const FILE_MAGIC: [u8; 6] = [b':', b'W', b'&', b'B', 0xe1, 0xbe];
/// A record that is longer is damaged.
const MAX_RECORD_BYTES: usize = 1 << 30;

/// Whether these bytes begin a `.wandb` file.
pub(crate) fn is_wandb_file(start: &[u8]) -> bool {
    start.starts_with(&FILE_MAGIC)
}

/// The run in `file`. What stands before a damaged record counts.
pub(crate) fn read(file: &Path, id: &str, wanted: &SeriesFilter) -> Result<RunLog, Error> {
    let reader = BufReader::with_capacity(BLOCK_BYTES, File::open(file).map_err(Error::io_at(file))?);
    let mut records = RecordReader { reader, block: Vec::new(), at: HEADER_BYTES, last: false };
    let mut run = RunLog::new(id, LogFormat::Wandb);
    run.ended = RunEnd::Running;
    let mut step = 0;
    loop {
        match records.next_record().map_err(Error::io_at(file))? {
            NextRecord::End => break,
            NextRecord::Damaged(what) => {
                run.damage = Some(format!("{}: {what}", file.display()));
                break;
            }
            NextRecord::Record(record) => {
                if add_record(&record, &mut run, &mut step, wanted).is_err() {
                    run.damage = Some(format!(
                        "{}: a record is damaged, so the rest of the file is ignored",
                        file.display()
                    ));
                    break;
                }
            }
        }
    }
    Ok(run)
}

enum NextRecord {
    Record(Vec<u8>),
    End,
    Damaged(&'static str),
}

/// The records of the file.
struct RecordReader<R> {
    reader: R,
    block: Vec<u8>,
    at: usize,
    /// Whether `block` is the last.
    last: bool,
}

impl<R: Read> RecordReader<R> {
    /// Makes sure that `block` has something left; `false` at the end of the file.
    fn fill_block(&mut self) -> std::io::Result<bool> {
        while self.block.len().saturating_sub(self.at) < HEADER_BYTES {
            if self.last {
                return Ok(false);
            }
            let first = self.block.is_empty();
            self.block.clear();
            self.reader.by_ref().take(BLOCK_BYTES as u64).read_to_end(&mut self.block)?;
            self.last = self.block.len() < BLOCK_BYTES;
            // the file's own header is as long as a record's
            self.at = if first { HEADER_BYTES } else { 0 };
        }
        Ok(true)
    }

    fn next_record(&mut self) -> std::io::Result<NextRecord> {
        let mut record: Option<Vec<u8>> = None;
        loop {
            if !self.fill_block()? {
                let left = self.block.len() > self.at;
                return Ok(match record.is_some() || left {
                    true => NextRecord::Damaged(
                        "the file ends in the middle of a record, because its writer was interrupted",
                    ),
                    false => NextRecord::End,
                });
            }
            let head = &self.block[self.at..self.at + HEADER_BYTES];
            let sum = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
            let (length, kind) = (usize::from(u16::from_le_bytes([head[4], head[5]])), head[6]);
            let start = self.at + HEADER_BYTES;
            let Some(data) = self.block.get(start..start + length) else {
                return Ok(NextRecord::Damaged(
                    "the file ends in the middle of a record, because its writer was interrupted",
                ));
            };
            if kind == 0 && length == 0 && sum == 0 {
                // room that was kept and never written
                self.at = self.block.len();
                continue;
            }
            let mut crc = crc32fast::Hasher::new();
            crc.update(&[kind]);
            crc.update(data);
            if crc.finalize() != sum {
                return Ok(NextRecord::Damaged("a record is damaged, so the rest of the file is ignored"));
            }
            self.at = start + length;
            match (kind, record.take()) {
                (1, None) => return Ok(NextRecord::Record(data.to_vec())),
                (2, None) => record = Some(data.to_vec()),
                (3, Some(mut part)) if part.len() < MAX_RECORD_BYTES => {
                    part.extend(data);
                    record = Some(part);
                }
                (4, Some(mut part)) => {
                    part.extend(data);
                    return Ok(NextRecord::Record(part));
                }
                _ => {
                    return Ok(NextRecord::Damaged(
                        "a record is out of order, so the rest of the file is ignored",
                    ));
                }
            }
        }
    }
}

/// Adds a record to `run`; `step` is that of the row before.
fn add_record(
    record: &[u8],
    run: &mut RunLog,
    step: &mut i64,
    wanted: &SeriesFilter,
) -> Result<(), DamagedMessage> {
    for field in MessageFields::in_message(record) {
        let (number, WireValue::Bytes(message)) = field? else { continue };
        match number {
            2 => add_history_row(message, run, step, wanted)?,
            5 => run.configuration.extend(configuration(message)?),
            17 => {
                for (number, field) in all(message)? {
                    match (number, field) {
                        (1, field) => run.id = field.text().ok_or(DamagedMessage)?.to_owned(),
                        (4, WireValue::Bytes(message)) => run.configuration.extend(configuration(message)?),
                        _ => {}
                    }
                }
            }
            18 => {
                let code = all(message)?.iter().find_map(|&(n, field)| field.integer().filter(|_| n == 1));
                run.ended = if code.unwrap_or(0) == 0 { RunEnd::Finished } else { RunEnd::Failed };
            }
            _ => {}
        }
    }
    Ok(())
}

/// The items of a record: their names and their JSON texts.
fn items(message: &[u8]) -> Result<Vec<(String, Json)>, DamagedMessage> {
    let mut found = Vec::new();
    for item in all(message)?.into_iter().filter(|(number, _)| *number == 1) {
        let (mut name, mut nested, mut value) = ("", Vec::new(), Json::Null);
        for (number, field) in all(item.1.bytes().ok_or(DamagedMessage)?)? {
            match number {
                1 => name = field.text().ok_or(DamagedMessage)?,
                2 => nested.push(field.text().ok_or(DamagedMessage)?),
                4 => value = (field.integer() == Some(1)).into(),
                5 => value = decode_zigzag(field.integer().ok_or(DamagedMessage)?).into(),
                6 => value = number_or_name(field.number().ok_or(DamagedMessage)?),
                7 => value = field.text().ok_or(DamagedMessage)?.into(),
                8 | 16 => value = json::parse(field.text().ok_or(DamagedMessage)?).ok_or(DamagedMessage)?,
                _ => {}
            }
        }
        let name = if nested.is_empty() { name.to_owned() } else { nested.join(".") };
        found.push((name, value));
    }
    Ok(found)
}

/// The signed integer of a `sint64`.
fn decode_zigzag(value: i64) -> i64 {
    ((value as u64 >> 1) as i64) ^ -(value & 1)
}

/// JSON has no number that is not finite.
fn number_or_name(value: f64) -> Json {
    match value {
        _ if value.is_nan() => "NaN".into(),
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        _ => value.into(),
    }
}

fn configuration(message: &[u8]) -> Result<Configuration, DamagedMessage> {
    let items = items(message)?.into_iter().filter(|(name, _)| name != "_wandb");
    Ok(json::settings(&items.collect()))
}

/// One row of the history.
fn add_history_row(
    message: &[u8],
    run: &mut RunLog,
    step: &mut i64,
    wanted: &SeriesFilter,
) -> Result<(), DamagedMessage> {
    for (number, field) in all(message)? {
        if let (2, WireValue::Bytes(message)) = (number, field) {
            let own = all(message)?.iter().find_map(|&(n, field)| field.integer().filter(|_| n == 1));
            *step = own.unwrap_or(0);
        }
    }
    let mut row = Vec::new();
    for (name, value) in items(message)? {
        collect_numbers(&name, &value, &mut row);
    }
    let [at, runtime, timestamp] = ["_step", "_runtime", "_timestamp"]
        .map(|name| row.iter().find(|(own, _)| own == name).map(|(_, value)| *value));
    let at = at.unwrap_or(*step as f64);
    let epoch = row.iter().find(|(name, _)| super::series::is_epoch(name)).map(|(_, value)| *value);
    let time = runtime.or(timestamp);
    for (name, value) in
        row.iter().filter(|(name, _)| !name.starts_with('_') && !super::series::is_epoch(name))
    {
        run.push(name, LoggedPoint { step: at, epoch, time, value: *value }, wanted);
    }
    Ok(())
}

/// The numbers in `value`, those of nested objects named `outer.inner`.
fn collect_numbers(name: &str, value: &Json, row: &mut Vec<(String, f64)>) {
    match value {
        Json::Object(inner) => {
            // histograms, images and tables describe themselves by `_type`
            let plain = inner.iter().filter(|_| !inner.contains_key("_type"));
            plain.for_each(|(key, value)| collect_numbers(&format!("{name}.{key}"), value, row));
        }
        other => row.extend(json::number(other).map(|number| (name.to_owned(), number))),
    }
}
