//! Thrift's compact protocol, in which Parquet writes its metadata.

use super::cell::Damaged;
use std::collections::BTreeMap;

/// A value of the compact protocol.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Thrift {
    Bool(bool),
    Int(i64),
    Double,
    Bytes(Vec<u8>),
    List(Vec<Thrift>),
    Struct(BTreeMap<i16, Thrift>),
}

/// Deeper nesting is damage.
const DEEPEST: usize = 16;

impl Thrift {
    pub(super) fn field(&self, number: i16) -> Option<&Self> {
        match self {
            Self::Struct(fields) => fields.get(&number),
            _ => None,
        }
    }

    pub(super) fn int(&self, number: i16) -> Option<i64> {
        match self.field(number)? {
            Self::Int(value) => Some(*value),
            _ => None,
        }
    }

    pub(super) fn flag(&self, number: i16) -> Option<bool> {
        match self.field(number)? {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// A count or a size.
    pub(super) fn size(&self, number: i16) -> Result<usize, Damaged> {
        self.int(number).and_then(|size| usize::try_from(size).ok()).ok_or(Damaged)
    }

    pub(super) fn list(&self, number: i16) -> Result<&[Self], Damaged> {
        match self.field(number) {
            Some(Self::List(items)) => Ok(items),
            _ => Err(Damaged),
        }
    }

    pub(super) fn text(&self) -> Option<String> {
        match self {
            Self::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        }
    }
}

/// A variable-length integer at the start of `bytes`.
pub(super) fn varint(bytes: &mut &[u8]) -> Result<u64, Damaged> {
    let mut value = 0_u64;
    for at in 0..10 {
        let (&byte, rest) = bytes.split_first().ok_or(Damaged)?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(Damaged)
}

/// A signed one.
pub(super) fn zigzag(bytes: &mut &[u8]) -> Result<i64, Damaged> {
    let value = varint(bytes)?;
    Ok((value >> 1) as i64 ^ -((value & 1) as i64))
}

pub(super) fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Result<&'a [u8], Damaged> {
    let (taken, rest) = bytes.split_at_checked(count).ok_or(Damaged)?;
    *bytes = rest;
    Ok(taken)
}

/// The structure at the start of `bytes`, which is taken off.
pub(super) fn structure(bytes: &mut &[u8]) -> Result<Thrift, Damaged> {
    fields(bytes, 0)
}

fn fields(bytes: &mut &[u8], depth: usize) -> Result<Thrift, Damaged> {
    let mut found = BTreeMap::new();
    let mut number = 0_i16;
    loop {
        let head = take(bytes, 1)?[0];
        if head == 0 {
            return Ok(Thrift::Struct(found));
        }
        number = match head >> 4 {
            0 => i16::try_from(zigzag(bytes)?).map_err(|_| Damaged)?,
            delta => number.checked_add(i16::from(delta)).ok_or(Damaged)?,
        };
        let value = match head & 0xf {
            1 => Thrift::Bool(true),
            2 => Thrift::Bool(false),
            kind => value(bytes, kind, depth + 1)?,
        };
        found.insert(number, value);
    }
}

fn value(bytes: &mut &[u8], kind: u8, depth: usize) -> Result<Thrift, Damaged> {
    if depth > DEEPEST {
        return Err(Damaged);
    }
    Ok(match kind {
        1 | 2 => Thrift::Bool(take(bytes, 1)?[0] == 1),
        3 => Thrift::Int(i64::from(take(bytes, 1)?[0] as i8)),
        4..=6 => Thrift::Int(zigzag(bytes)?),
        7 => {
            take(bytes, 8)?;
            Thrift::Double
        }
        8 => {
            let length = usize::try_from(varint(bytes)?).map_err(|_| Damaged)?;
            Thrift::Bytes(take(bytes, length)?.to_vec())
        }
        9 | 10 => {
            let head = take(bytes, 1)?[0];
            let count = match head >> 4 {
                15 => usize::try_from(varint(bytes)?).map_err(|_| Damaged)?,
                count => usize::from(count),
            };
            // each item takes a byte at least
            if count > bytes.len() {
                return Err(Damaged);
            }
            let items = (0..count).map(|_| value(bytes, head & 0xf, depth + 1));
            Thrift::List(items.collect::<Result<_, _>>()?)
        }
        12 => fields(bytes, depth)?,
        // maps: Parquet's metadata has none
        _ => return Err(Damaged),
    })
}
