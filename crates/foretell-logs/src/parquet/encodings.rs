//! How the values of a page are written.

use super::cell::{Cell, Damaged, Physical};
use super::thrift::{take, varint, zigzag};

/// `count` values written plainly.
pub(super) fn plain(bytes: &mut &[u8], kind: Physical, count: usize) -> Result<Vec<Cell>, Damaged> {
    if kind == Physical::Boolean {
        let packed = take(bytes, count.div_ceil(8))?;
        return Ok((0..count).map(|at| Cell::Bool(packed[at / 8] >> (at % 8) & 1 == 1)).collect());
    }
    let mut cells = Vec::with_capacity(count.min(bytes.len()));
    for _ in 0..count {
        cells.push(match kind {
            Physical::Int32 => Cell::Int(i64::from(i32::from_le_bytes(fixed(bytes)?))),
            Physical::Int64 => Cell::Int(i64::from_le_bytes(fixed(bytes)?)),
            Physical::Float => Cell::Number(f64::from(f32::from_le_bytes(fixed(bytes)?))),
            Physical::Double => Cell::Number(f64::from_le_bytes(fixed(bytes)?)),
            Physical::Bytes => {
                let length = u32::from_le_bytes(fixed(bytes)?);
                text(take(bytes, usize::try_from(length).map_err(|_| Damaged)?)?)
            }
            Physical::Boolean => return Err(Damaged),
        });
    }
    Ok(cells)
}

fn fixed<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], Damaged> {
    take(bytes, N)?.try_into().map_err(|_| Damaged)
}

fn text(bytes: &[u8]) -> Cell {
    Cell::Text(String::from_utf8_lossy(bytes).into())
}

/// `count` small numbers in runs and packed groups of eight.
pub(super) fn hybrid(bytes: &mut &[u8], width: u32, count: usize) -> Result<Vec<u32>, Damaged> {
    if width > 32 {
        return Err(Damaged);
    }
    let mut found = Vec::with_capacity(count.min(1 << 20));
    while found.len() < count {
        let head = varint(bytes)?;
        let left = count - found.len();
        let length = usize::try_from(head >> 1).map_err(|_| Damaged)?;
        if head & 1 == 0 {
            let raw = take(bytes, width.div_ceil(8) as usize)?;
            let value = raw.iter().rev().fold(0_u32, |value, &byte| value << 8 | u32::from(byte));
            if length == 0 {
                return Err(Damaged);
            }
            found.extend(std::iter::repeat_n(value, length.min(left)));
        } else {
            // the last group may be cut off where no value of it counts
            let needed = length.saturating_mul(8).min(left);
            let size = length.checked_mul(width as usize).ok_or(Damaged)?.min(bytes.len());
            let packed = take(bytes, size)?;
            if packed.len() * 8 < needed * width as usize || length == 0 {
                return Err(Damaged);
            }
            found.extend((0..needed).map(|at| bits(packed, at * width as usize, width) as u32));
        }
    }
    Ok(found)
}

/// `width` bits from bit `at` on, the lowest first.
fn bits(packed: &[u8], at: usize, width: u32) -> u64 {
    let mut value = 0_u64;
    for bit in 0..width as usize {
        let place = at + bit;
        let one = packed.get(place / 8).map_or(0, |byte| byte >> (place % 8) & 1);
        value |= u64::from(one) << bit;
    }
    value
}

/// Integers as differences from those before them.
pub(super) fn delta(bytes: &mut &[u8], most: usize) -> Result<Vec<i64>, Damaged> {
    let block = usize::try_from(varint(bytes)?).map_err(|_| Damaged)?;
    let parts = usize::try_from(varint(bytes)?).map_err(|_| Damaged)?;
    let count = usize::try_from(varint(bytes)?).map_err(|_| Damaged)?;
    let mut value = zigzag(bytes)?;
    if parts == 0
        || block == 0
        || !block.is_multiple_of(parts)
        || parts > 512
        || block > 1 << 16
        || count > most
    {
        return Err(Damaged);
    }
    let per_part = block / parts;
    let mut found = Vec::with_capacity(count);
    if count > 0 {
        found.push(value);
    }
    while found.len() < count {
        let least = zigzag(bytes)?;
        let widths = take(bytes, parts)?;
        for &width in widths {
            if found.len() >= count {
                break;
            }
            if width > 64 {
                return Err(Damaged);
            }
            let packed = take(bytes, per_part * usize::from(width) / 8)?;
            for at in 0..per_part.min(count - found.len()) {
                let difference = bits(packed, at * usize::from(width), u32::from(width)) as i64;
                value = value.wrapping_add(least).wrapping_add(difference);
                found.push(value);
            }
        }
    }
    Ok(found)
}

/// Texts: their lengths first, then all of them.
pub(super) fn delta_lengths(bytes: &mut &[u8], most: usize) -> Result<Vec<Vec<u8>>, Damaged> {
    let lengths = delta(bytes, most)?;
    lengths
        .into_iter()
        .map(|length| Ok(take(bytes, usize::try_from(length).map_err(|_| Damaged)?)?.to_vec()))
        .collect()
}

/// Texts that share their beginnings with those before them.
pub(super) fn delta_texts(bytes: &mut &[u8], most: usize) -> Result<Vec<Cell>, Damaged> {
    let shared = delta(bytes, most)?;
    let rests = delta_lengths(bytes, most)?;
    if shared.len() != rests.len() {
        return Err(Damaged);
    }
    let mut before: Vec<u8> = Vec::new();
    let mut found = Vec::with_capacity(rests.len());
    for (shared, rest) in shared.into_iter().zip(rests) {
        let shared = usize::try_from(shared).map_err(|_| Damaged)?;
        if shared > before.len() {
            return Err(Damaged);
        }
        before.truncate(shared);
        before.extend(rest);
        found.push(text(&before));
    }
    Ok(found)
}

/// Texts by their lengths.
pub(super) fn length_texts(bytes: &mut &[u8], most: usize) -> Result<Vec<Cell>, Damaged> {
    Ok(delta_lengths(bytes, most)?.iter().map(|bytes| text(bytes)).collect())
}

/// Numbers whose first bytes stand together, then their second, and so on.
pub(super) fn split(bytes: &mut &[u8], kind: Physical, count: usize) -> Result<Vec<Cell>, Damaged> {
    let width = match kind {
        Physical::Float | Physical::Int32 => 4,
        Physical::Double | Physical::Int64 => 8,
        _ => return Err(Damaged),
    };
    let streams = take(bytes, count.checked_mul(width).ok_or(Damaged)?)?;
    let mut joined = Vec::with_capacity(streams.len());
    for at in 0..count {
        joined.extend((0..width).map(|stream| streams[stream * count + at]));
    }
    plain(&mut &joined[..], kind, count)
}
