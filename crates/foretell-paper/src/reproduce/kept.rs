//! Finished rows in a file, so that a long reproduction continues after an interruption.

use super::failed::ReproductionError;
use super::show::DisplayOptions;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

/// The first bytes of a packed file.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The earlier measurements, by their names; new ones are appended to the file, one JSON line each.
#[derive(Default)]
pub(super) struct KeptRows {
    known: BTreeMap<String, Value>,
    file: Option<File>,
    is_gzip: bool,
}

impl KeptRows {
    /// The contents of `path`; without a path nothing is kept.
    ///
    /// # Errors
    /// When the file cannot be read or written, or holds something else.
    pub(super) fn open(path: Option<&Path>, show: DisplayOptions) -> Result<Self, ReproductionError> {
        let Some(path) = path else { return Ok(Self::default()) };
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(resume_error(path, error)),
        };
        let is_gzip = bytes.starts_with(&GZIP_MAGIC)
            || bytes.is_empty() && path.extension().is_some_and(|end| end == "gz");
        let (text, is_cut) = if is_gzip { expand_gzip(&bytes) } else { (bytes, false) };
        // the last line may have been cut off by the interruption
        let whole = &text[..text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1)];
        let known = parse_rows(whole)
            .map_err(|error| resume_error(path, format!("holds no rows of this command: {error}")))?;
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(|error| resume_error(path, error))?;
        let mut kept = Self { known, file: Some(file), is_gzip };
        if is_cut || whole.len() < text.len() {
            // the whole rows are written again, because one appended after a torn row could not be read
            let cleared = kept.file.iter().try_for_each(|file| file.set_len(0));
            cleared.and_then(|()| kept.append_text(whole)).map_err(|error| resume_error(path, error))?;
        }
        if !kept.known.is_empty() {
            (show.note)(&format!("{}: {} rows measured before", path.display(), kept.known.len()));
        }
        Ok(kept)
    }

    /// The rows of a packed file that is part of the program.
    ///
    /// # Errors
    /// When it holds something else.
    pub(super) fn from_gzip(bytes: &[u8]) -> Result<Self, ReproductionError> {
        let known = parse_rows(&expand_gzip(bytes).0)
            .map_err(|error| ReproductionError::midway(format!("recorded rows: {error}")))?;
        Ok(Self { known, ..Self::default() })
    }

    /// All rows that are a `T`.
    pub(super) fn rows_of_type<T: DeserializeOwned>(&self) -> Vec<T> {
        self.known.values().filter_map(|value| serde_json::from_value(value.clone()).ok()).collect()
    }

    /// Appends `text`, a gzip member of its own where the file is packed.
    fn append_text(&mut self, text: &[u8]) -> std::io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        if !self.is_gzip {
            return file.write_all(text);
        }
        // each row is a gzip member of its own, so that the rows before an interruption can still be read
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(text)?;
        file.write_all(&packed.finish()?)
    }

    /// The numbers of the measurement `key`, if an earlier run has made it.
    pub(super) fn find_numbers<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        self.known.get(key).and_then(|value| serde_json::from_value(value.clone()).ok())
    }

    /// Keeps the numbers of `key`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn keep_numbers<T: Serialize>(
        &mut self,
        key: &str,
        numbers: &T,
    ) -> Result<(), ReproductionError> {
        let mut line = serde_json::to_string(&(key, numbers)).map_err(ReproductionError::midway)?;
        line.push('\n');
        self.append_text(line.as_bytes()).map_err(ReproductionError::midway)
    }
}

fn resume_error(path: &Path, error: impl std::fmt::Display) -> ReproductionError {
    ReproductionError::input(format!("--resume {}: {error}", path.display()))
}

/// The text of gzip members, as far as it can be read, and whether the last was cut off.
fn expand_gzip(bytes: &[u8]) -> (Vec<u8>, bool) {
    let mut text = Vec::new();
    let read = MultiGzDecoder::new(bytes).read_to_end(&mut text);
    (text, read.is_err())
}

/// Rows by their names.
fn parse_rows(text: &[u8]) -> Result<BTreeMap<String, Value>, serde_json::Error> {
    let lines = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines.map(serde_json::from_slice::<(String, Value)>).collect()
}

/// The name of a file, a method or the like. The alias keeps serde from borrowing it.
pub(super) type StaticName = &'static str;

/// A name that lives as long as the program, as those of the tables that rows are made from; there are a few dozen.
pub(super) fn interned<'de, D: Deserializer<'de>>(name: D) -> Result<&'static str, D::Error> {
    String::deserialize(name).map(|name| &*name.leak())
}

/// As [`interned`], where there may be no name.
pub(super) fn interned_if_any<'de, D: Deserializer<'de>>(name: D) -> Result<Option<&'static str>, D::Error> {
    Ok(Option::<String>::deserialize(name)?.map(|name| &*name.leak()))
}

#[cfg(test)]
mod tests {
    use super::{DisplayOptions, KeptRows};

    #[test]
    fn a_line_that_was_cut_off_is_measured_again_and_the_others_are_kept() {
        is_continued("rows.jsonl", 3);
        is_continued("rows.jsonl.gz", 15);
    }

    fn is_continued(name: &str, cut: usize) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        let mut kept = KeptRows::open(Some(&path), DisplayOptions::SILENT).expect("it opens");
        kept.keep_numbers("a", &1.5).expect("it is written");
        kept.keep_numbers("b", &2.5).expect("it is written");
        let text = std::fs::read(&path).expect("it is read");
        std::fs::write(&path, &text[..text.len() - cut]).expect("it is cut");
        let mut kept = KeptRows::open(Some(&path), DisplayOptions::SILENT).expect("it opens");
        assert_eq!((kept.find_numbers::<f64>("a"), kept.find_numbers::<f64>("b")), (Some(1.5), None));
        kept.keep_numbers("b", &3.5).expect("it is written");
        assert_eq!(
            KeptRows::open(Some(&path), DisplayOptions::SILENT).expect("it opens").find_numbers::<f64>("b"),
            Some(3.5)
        );
        std::fs::write(&path, "a,b\n1,2\n").expect("it is written");
        assert!(KeptRows::open(Some(&path), DisplayOptions::SILENT).is_err());
    }
    /// The checksum of a packed row may be cut off while the row is whole: later rows are still read.
    #[test]
    fn rows_after_a_lost_checksum_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rows.jsonl.gz");
        let mut kept = KeptRows::open(Some(&path), DisplayOptions::SILENT).expect("it opens");
        kept.keep_numbers("a", &1.5).expect("it is written");
        let text = std::fs::read(&path).expect("it is read");
        std::fs::write(&path, &text[..text.len() - 3]).expect("it is cut");
        let mut kept = KeptRows::open(Some(&path), DisplayOptions::SILENT).expect("it opens");
        kept.keep_numbers("b", &2.5).expect("it is written");
        let kept = KeptRows::open(Some(&path), DisplayOptions::SILENT).expect("it opens");
        assert_eq!((kept.find_numbers::<f64>("a"), kept.find_numbers::<f64>("b")), (Some(1.5), Some(2.5)));
    }
}
