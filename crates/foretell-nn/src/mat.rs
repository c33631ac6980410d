//! Arrays of bytes and small numbers from MATLAB files of version 5.
//!
//! Source: The MathWorks, *MAT-File format* (level 5): a header of 128 bytes, then elements of a type (4 bytes), a size (4
//! bytes) and that many bytes, rounded up to a multiple of 8. An element of type 15 is compressed with zlib, one of type 14 is an
//! array: its flags, sizes, name and values are elements again.

use crate::error::Error;
use flate2::read::ZlibDecoder;
use std::io::Read;
use std::path::Path;

const HEADER_BYTES: usize = 128;
const BYTES_TYPE: u32 = 2;
const DOUBLES_TYPE: u32 = 9;
const ARRAY_TYPE: u32 = 14;
const COMPRESSED_TYPE: u32 = 15;

/// An array: its sizes, and its values in MATLAB's order, the first index fastest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MatArray {
    /// Name of the array.
    pub(crate) name: String,
    /// Sizes of the array.
    pub(crate) sizes: Vec<usize>,
    /// Values of the array.
    pub(crate) values: Vec<u8>,
}

/// Reads the arrays of unsigned bytes of the file at `path`. Whole numbers up to 255 that are written as doubles are read, too.
pub(crate) fn read(path: &Path) -> Result<Vec<MatArray>, Error> {
    let bytes = std::fs::read(path).map_err(|error| Error::read(path, error))?;
    parse_arrays(&bytes).map_err(|reason| Error::Mat { path: path.to_owned(), reason })
}

fn parse_arrays(bytes: &[u8]) -> Result<Vec<MatArray>, String> {
    let little = bytes.get(126..HEADER_BYTES).ok_or("it is shorter than a header")?;
    if little != b"IM" {
        return Err("its header does not end in `IM`".to_owned());
    }
    let mut rest = &bytes[HEADER_BYTES..];
    let mut arrays = Vec::new();
    while !rest.is_empty() {
        let element;
        (element, rest) = next_element(rest)?;
        let array = match element {
            (COMPRESSED_TYPE, packed) => {
                let mut unpacked = Vec::new();
                ZlibDecoder::new(packed).read_to_end(&mut unpacked).map_err(|error| error.to_string())?;
                let (inner, _) = next_element(&unpacked)?;
                array(inner)?
            }
            other => array(other)?,
        };
        arrays.extend(array);
    }
    Ok(arrays)
}

type MatElement<'a> = (u32, &'a [u8]);

/// The first element of `bytes` and what comes after it. Small elements hold type, size and up to four bytes in eight.
fn next_element(bytes: &[u8]) -> Result<(MatElement<'_>, &[u8]), String> {
    let kind = read_u32(bytes, 0)?;
    let (kind, from, size, padded) = match kind >> 16 {
        0 => {
            let size = read_u32(bytes, 4)? as usize;
            // a compressed element is not padded, so the next one follows at once
            (kind, 8, size, if kind == COMPRESSED_TYPE { size } else { size.next_multiple_of(8) })
        }
        small => (kind & 0xffff, 4, small as usize, 4),
    };
    let value = bytes.get(from..from + size).ok_or_else(|| {
        format!("an element promises {size} bytes, but {} are left", bytes.len().saturating_sub(from))
    })?;
    Ok(((kind, value), bytes.get(from + padded..).unwrap_or_default()))
}

fn read_u32(bytes: &[u8], at: usize) -> Result<u32, &'static str> {
    bytes.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).ok_or("an element is cut")
}

/// The array of an element; none if it is not numeric.
fn array((kind, bytes): MatElement<'_>) -> Result<Option<MatArray>, String> {
    if kind != ARRAY_TYPE {
        return Ok(None);
    }
    let (_flags, rest) = next_element(bytes)?;
    let ((_, sizes), rest) = next_element(rest)?;
    let ((_, name), rest) = next_element(rest)?;
    let ((kind, values), _) = next_element(rest)?;
    let sizes: Vec<usize> =
        sizes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize).collect();
    let name = String::from_utf8_lossy(name).into_owned();
    let values = match kind {
        BYTES_TYPE => values.to_vec(),
        DOUBLES_TYPE => {
            values.chunks_exact(8).map(byte).collect::<Option<_>>().ok_or("a value is not a byte")?
        }
        _ => return Ok(None),
    };
    // checked, because the sizes in a damaged file may overflow
    let count = sizes.iter().try_fold(1_usize, |product, &size| product.checked_mul(size));
    if count != Some(values.len()) {
        return Err(format!("array {name} has sizes {sizes:?} but {} values", values.len()));
    }
    Ok(Some(MatArray { name, sizes, values }))
}

/// A double that is a whole number from 0 to 255.
fn byte(bytes: &[u8]) -> Option<u8> {
    let value = f64::from_le_bytes(bytes.try_into().ok()?);
    ((0.0..=255.0).contains(&value) && value.fract() == 0.0).then_some(value as u8)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use flate2::{Compression, write::ZlibEncoder};
    use std::io::Write;

    fn element(kind: u32, bytes: &[u8]) -> Vec<u8> {
        let mut element = [kind.to_le_bytes(), (bytes.len() as u32).to_le_bytes()].concat();
        element.extend(bytes);
        element.resize(element.len().next_multiple_of(8), 0);
        element
    }

    /// A file with these arrays of bytes, compressed as MATLAB does.
    pub(crate) fn file(arrays: &[(&str, &[u32], &[u8])]) -> Vec<u8> {
        let mut bytes = vec![b' '; HEADER_BYTES];
        bytes[126..].copy_from_slice(b"IM");
        for (name, sizes, values) in arrays {
            let sizes: Vec<u8> = sizes.iter().flat_map(|size| size.to_le_bytes()).collect();
            // a short name is a small element
            let mut small = (1 | (name.len() as u32) << 16).to_le_bytes().to_vec();
            small.extend(name.bytes());
            small.resize(8, 0);
            let parts =
                [element(6, &[9, 0, 0, 0, 0, 0, 0, 0]), element(5, &sizes), small, element(2, values)];
            let mut packer = ZlibEncoder::new(Vec::new(), Compression::default());
            packer.write_all(&element(ARRAY_TYPE, &parts.concat())).unwrap();
            let packed = packer.finish().unwrap();
            bytes.extend([COMPRESSED_TYPE.to_le_bytes(), (packed.len() as u32).to_le_bytes()].concat());
            bytes.extend(packed);
        }
        bytes
    }

    #[test]
    fn compressed_arrays_are_read_with_name_sizes_and_values() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.mat");
        std::fs::write(&path, file(&[("X", &[2, 3], &[1, 2, 3, 4, 5, 6]), ("y", &[3, 1], &[7, 8, 9])]))
            .unwrap();
        let arrays = read(&path).unwrap();
        assert_eq!(
            arrays[0],
            MatArray { name: "X".into(), sizes: vec![2, 3], values: vec![1, 2, 3, 4, 5, 6] }
        );
        assert_eq!((arrays[1].name.as_str(), arrays[1].values.as_slice()), ("y", &[7, 8, 9][..]));
    }

    #[test]
    fn broken_files_are_refused_and_never_panic() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.mat");
        let whole = file(&[("X", &[2, 3], &[1, 2, 3, 4, 5, 6])]);
        for cut in (0..whole.len()).filter(|&cut| cut != HEADER_BYTES) {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let message = read(&path).unwrap_err().to_string();
            assert!(message.contains("a.mat"), "{message}");
        }
        std::fs::write(&path, file(&[("X", &[2, 4], &[1, 2, 3, 4, 5, 6])])).unwrap();
        let message = read(&path).unwrap_err().to_string();
        assert!(message.contains("array X has sizes [2, 4] but 6 values"), "{message}");
    }
}
