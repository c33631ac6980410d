//! TensorBoard's event files: scalars of both ages, and the hparams plugin.

use super::point::LoggedPoint;
use super::protobuf::{DamagedMessage, MessageFields, WireValue, all};
use super::series::{RunEnd, RunLog, SeriesFilter};
use crate::error::Error;
use foretell::Value;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::Path;

/// A longer record is damaged: protobuf allows no message of 2 GiB.
const MAX_RECORD_BYTES: u64 = 1 << 31;

/// The plugins that the tags of a run belong to, which `read` needs to know.
pub(crate) type TagPlugins = HashMap<String, bool>;

/// Whether these bytes begin an event file: the checksum of the first length is right.
pub(crate) fn is_event_file(start: &[u8]) -> bool {
    let Some((length, rest)) = start.split_first_chunk::<8>() else { return false };
    let Some((sum, _)) = rest.split_first_chunk::<4>() else { return false };
    u64::from_le_bytes(*length) < MAX_RECORD_BYTES && masked_crc(length) == u32::from_le_bytes(*sum)
}

/// TensorFlow's masked CRC-32C.
fn masked_crc(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Adds the scalars and the settings of one event file to `run`. What stands before a damaged record counts.
pub(crate) fn read(
    file: &Path,
    prefix: &str,
    run: &mut RunLog,
    plugins: &mut TagPlugins,
    wanted: &SeriesFilter,
) -> Result<(), Error> {
    let mut reader = BufReader::with_capacity(1 << 18, File::open(file).map_err(Error::io_at(file))?);
    let mut events = EventReader { prefix, run, plugins, wanted, name: String::new() };
    let mut data = Vec::new();
    let mut place = 0_u64;
    loop {
        match read_record(&mut reader, &mut data) {
            Ok(Some(length)) => {
                if events.event(&data).is_err() {
                    events.run.damage.get_or_insert(format!(
                        "{}: the record at byte {place} is not an event, so the rest of the file is ignored",
                        file.display()
                    ));
                    return Ok(());
                }
                place += length;
            }
            Ok(None) => return Ok(()),
            Err(RecordError::Io(source)) => return Err(Error::io_at(file)(source)),
            Err(RecordError::Cut) => {
                let what = "the file ends in the middle of a record, because its writer was interrupted";
                events.run.damage.get_or_insert(format!("{}: {what}", file.display()));
                return Ok(());
            }
            Err(RecordError::Checksum) => {
                events.run.damage.get_or_insert(format!(
                    "{}: the record at byte {place} is damaged, so the rest of the file is ignored",
                    file.display()
                ));
                return Ok(());
            }
        }
    }
}

enum RecordError {
    Io(std::io::Error),
    Cut,
    Checksum,
}

/// Reads the next record into `data`; its length in the file, or `None` at the end.
fn read_record(reader: &mut impl Read, data: &mut Vec<u8>) -> Result<Option<u64>, RecordError> {
    let mut head = [0_u8; 12];
    let mut filled = 0;
    while filled < head.len() {
        match reader.read(&mut head[filled..]) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(RecordError::Cut),
            Ok(read) => filled += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(RecordError::Io(error)),
        }
    }
    let (length, sum) = head.split_at(8);
    let size = u64::from_le_bytes(length.try_into().map_err(|_| RecordError::Checksum)?);
    // before the length is used: a damaged one would otherwise take the rest of the file for one record
    if masked_crc(length).to_le_bytes() != sum || size >= MAX_RECORD_BYTES {
        return Err(RecordError::Checksum);
    }
    data.clear();
    let whole = size + 4;
    match reader.take(whole).read_to_end(data) {
        Ok(read) if read as u64 == whole => {}
        Ok(_) => return Err(RecordError::Cut),
        Err(error) => return Err(RecordError::Io(error)),
    }
    let (body, sum) = data.split_at(data.len() - 4);
    if masked_crc(body).to_le_bytes() != sum {
        return Err(RecordError::Checksum);
    }
    data.truncate(data.len() - 4);
    Ok(Some(12 + whole))
}

/// The events of one file, on their way into a run.
struct EventReader<'a> {
    prefix: &'a str,
    run: &'a mut RunLog,
    plugins: &'a mut TagPlugins,
    wanted: &'a SeriesFilter,
    name: String,
}

impl EventReader<'_> {
    fn event(&mut self, message: &[u8]) -> Result<(), DamagedMessage> {
        let (mut wall, mut step, mut summary, mut session) = (None, 0, None, None);
        for field in MessageFields::in_message(message) {
            match field? {
                (1, field) => wall = field.number(),
                (2, field) => step = field.integer().unwrap_or(0),
                (5, WireValue::Bytes(bytes)) => summary = Some(bytes),
                (7, WireValue::Bytes(bytes)) => session = Some(bytes),
                _ => {}
            }
        }
        if let Some(session) = session
            && all(session)?.iter().any(|&(number, field)| number == 1 && field.integer() == Some(1))
        {
            self.discard_from_step(step as f64);
        }
        let Some(summary) = summary else { return Ok(()) };
        for field in MessageFields::in_message(summary) {
            if let (1, WireValue::Bytes(value)) = field? {
                self.value(value, step as f64, wall)?;
            }
        }
        Ok(())
    }

    /// A session that starts again: points logged from its first step on no longer count, as in TensorBoard.
    fn discard_from_step(&mut self, step: f64) {
        for series in self.run.series.values_mut() {
            series.points.retain(|point| point.step < step);
        }
    }

    fn value(&mut self, message: &[u8], step: f64, wall: Option<f64>) -> Result<(), DamagedMessage> {
        let (mut tag, mut simple, mut tensor, mut metadata) = ("", None, None, None);
        for field in MessageFields::in_message(message) {
            match field? {
                (1, field) => tag = field.text().ok_or(DamagedMessage)?,
                (2, field) => simple = field.number(),
                (8, WireValue::Bytes(bytes)) => tensor = Some(bytes),
                (9, WireValue::Bytes(bytes)) => metadata = Some(bytes),
                _ => {}
            }
        }
        if let Some(metadata) = metadata {
            self.metadata(tag, metadata)?;
        }
        let value = match (simple, tensor) {
            (Some(value), _) => Some(value),
            // only of the plugin for scalars, because a tensor of another one may hold a single number, too
            (None, Some(tensor)) if self.plugins.get(tag) == Some(&true) => tensor_scalar(tensor)?,
            _ => None,
        };
        let Some(value) = value.filter(|_| !tag.starts_with("_hparams_/")) else { return Ok(()) };
        self.name.clear();
        self.name.push_str(self.prefix);
        self.name.push_str(tag);
        let point = LoggedPoint { step, epoch: None, time: wall, value };
        self.run.push(&self.name, point, self.wanted);
        Ok(())
    }

    fn metadata(&mut self, tag: &str, message: &[u8]) -> Result<(), DamagedMessage> {
        let plugin = all(message)?.into_iter().find_map(|(number, field)| (number == 1).then_some(field));
        let Some(plugin) = plugin.and_then(WireValue::bytes) else { return Ok(()) };
        let fields = all(plugin)?;
        let name = fields.iter().find_map(|&(number, field)| field.text().filter(|_| number == 1));
        if !self.plugins.contains_key(tag) {
            self.plugins.insert(tag.to_owned(), name == Some("scalars"));
        }
        let content = fields.iter().find_map(|&(number, field)| field.bytes().filter(|_| number == 2));
        match (name, content) {
            (Some("hparams"), Some(content)) => self.read_hparams(content),
            _ => Ok(()),
        }
    }

    /// The settings, or the end, of a session.
    fn read_hparams(&mut self, message: &[u8]) -> Result<(), DamagedMessage> {
        for (number, field) in all(message)? {
            let Some(bytes) = field.bytes() else { continue };
            match number {
                3 => {
                    let entries = all(bytes)?.into_iter().filter(|(number, _)| *number == 1);
                    for entry in entries.filter_map(|(_, field)| field.bytes()) {
                        self.read_hparam(&all(entry)?)?;
                    }
                }
                4 => {
                    let status = all(bytes)?.iter().find_map(|&(n, f)| f.integer().filter(|_| n == 1));
                    // success shows nothing: PyTorch writes it together with the settings
                    if status == Some(2) {
                        self.run.ended = RunEnd::Failed;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn read_hparam(&mut self, entry: &[(u64, WireValue<'_>)]) -> Result<(), DamagedMessage> {
        let key = entry.iter().find_map(|&(number, field)| field.text().filter(|_| number == 1));
        let value = entry.iter().find_map(|&(number, field)| field.bytes().filter(|_| number == 2));
        let (Some(key), Some(value)) = (key, value) else { return Ok(()) };
        let value = match all(value)?.first() {
            Some((2, field)) => {
                field.number().filter(|n| n.is_finite()).map_or(Value::Missing, Value::Number)
            }
            Some((3, field)) => Value::Text(field.text().ok_or(DamagedMessage)?.to_owned()),
            Some((4, field)) => Value::Text((field.integer() == Some(1)).to_string()),
            _ => Value::Missing,
        };
        self.run.configure(key, value);
        Ok(())
    }
}

/// The one number of a tensor; `None` if it holds several, or none.
fn tensor_scalar(message: &[u8]) -> Result<Option<f64>, DamagedMessage> {
    let (mut kind, mut content, mut listed) = (0, None, Vec::new());
    for (number, field) in all(message)? {
        match (number, field) {
            (1, field) => kind = field.integer().unwrap_or(0),
            (4, WireValue::Bytes(bytes)) => content = Some(bytes),
            (5 | 6, WireValue::Fixed32(_) | WireValue::Fixed64(_)) => listed.extend(field.number()),
            (5, WireValue::Bytes(bytes)) => {
                listed.extend(bytes.as_chunks::<4>().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))));
            }
            (6, WireValue::Bytes(bytes)) => {
                listed.extend(bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)));
            }
            (7 | 10 | 13, WireValue::Varint(value)) => listed.push(integer(kind, value)),
            (7 | 10 | 13, WireValue::Bytes(mut bytes)) => {
                while let Some((value, rest)) = read_varint(bytes) {
                    listed.push(integer(kind, value));
                    bytes = rest;
                }
            }
            _ => {}
        }
    }
    if let (Some(bytes), []) = (content, &listed[..]) {
        return Ok(scalar_from_bytes(kind, bytes));
    }
    Ok(if let [one] = listed[..] { Some(one) } else { None })
}

fn read_varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let end = bytes.iter().take(10).position(|&byte| byte < 0x80)? + 1;
    let value = bytes[..end].iter().enumerate();
    Some((value.fold(0, |sum, (at, &byte)| sum | (u64::from(byte & 0x7f) << (7 * at))), &bytes[end..]))
}

fn integer(kind: i64, value: u64) -> f64 {
    match kind {
        14 => bfloat(value as u16),
        19 => half(value as u16),
        _ => value as i64 as f64,
    }
}

/// A tensor's raw content, if it is one number.
fn scalar_from_bytes(kind: i64, bytes: &[u8]) -> Option<f64> {
    Some(match (kind, bytes.len()) {
        (1, 4) => f64::from(f32::from_le_bytes(bytes.try_into().ok()?)),
        (2, 8) => f64::from_le_bytes(bytes.try_into().ok()?),
        (3, 4) => f64::from(i32::from_le_bytes(bytes.try_into().ok()?)),
        (9, 8) => i64::from_le_bytes(bytes.try_into().ok()?) as f64,
        (14, 2) => bfloat(u16::from_le_bytes(bytes.try_into().ok()?)),
        (19, 2) => half(u16::from_le_bytes(bytes.try_into().ok()?)),
        _ => return None,
    })
}

fn bfloat(bits: u16) -> f64 {
    f64::from(f32::from_bits(u32::from(bits) << 16))
}

/// IEEE 754 half precision.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction > 0.0 => f64::NAN,
        31 => f64::INFINITY,
        _ => (1.0 + fraction / 1024.0) * 2_f64.powi(exponent - 15),
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "half precision is exact in double")]
mod tests {
    use super::{bfloat, half};

    #[test]
    fn half_precision_is_read_exactly() {
        let cases =
            [(0x3c00, 1.0), (0xc000, -2.0), (0x3555, 0.333_251_953_125), (0x0001, 5.960_464_477_539_063e-8)];
        assert!(cases.iter().all(|&(bits, value)| half(bits) == value));
        assert!(half(0x7c00) == f64::INFINITY && half(0x7e00).is_nan() && bfloat(0x3fc0) == 1.5);
    }
}
