//! Finished rows in a file, so that a long reproduction continues after an interruption.

use super::failed::Failed;
use super::show::Show;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

/// The earlier measurements, by their names; new ones are appended to the file, one JSON line each.
#[derive(Default)]
pub(super) struct Kept {
    known: BTreeMap<String, Value>,
    file: Option<File>,
}

impl Kept {
    /// The contents of `path`; without a path nothing is kept.
    ///
    /// # Errors
    /// When the file cannot be read or written, or holds something else.
    pub(super) fn open(path: Option<&Path>, show: Show) -> Result<Self, Failed> {
        let Some(path) = path else { return Ok(Self::default()) };
        let failed =
            |error: &dyn std::fmt::Display| Failed::input(format!("--resume {}: {error}", path.display()));
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(failed(&error)),
        };
        // the last line may have been cut off by the interruption
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        let known =
            whole.lines().map(serde_json::from_str::<(String, Value)>).collect::<Result<BTreeMap<_, _>, _>>();
        let known = known.map_err(|error| failed(&format!("holds no rows of this command: {error}")))?;
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(|error| failed(&error))?;
        file.set_len(whole.len() as u64).map_err(|error| failed(&error))?;
        if !known.is_empty() {
            (show.note)(&format!("{}: {} rows measured before", path.display(), known.len()));
        }
        Ok(Self { known, file: Some(file) })
    }

    /// The numbers of the measurement `key`, if an earlier run has made it.
    pub(super) fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        self.known.get(key).and_then(|value| serde_json::from_value(value.clone()).ok())
    }

    /// Keeps the numbers of `key`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn add<T: Serialize>(&mut self, key: &str, numbers: &T) -> Result<(), Failed> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut line = serde_json::to_string(&(key, numbers)).map_err(Failed::midway)?;
        line.push('\n');
        file.write_all(line.as_bytes()).map_err(Failed::midway)
    }
}

#[cfg(test)]
mod tests {
    use super::{Kept, Show};

    #[test]
    fn a_line_that_was_cut_off_is_measured_again_and_the_others_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rows.jsonl");
        let mut kept = Kept::open(Some(&path), Show::SILENT).expect("it opens");
        kept.add("a", &1.5).expect("it is written");
        kept.add("b", &2.5).expect("it is written");
        let text = std::fs::read_to_string(&path).expect("it is read");
        std::fs::write(&path, &text[..text.len() - 3]).expect("it is cut");
        let mut kept = Kept::open(Some(&path), Show::SILENT).expect("it opens");
        assert_eq!((kept.get::<f64>("a"), kept.get::<f64>("b")), (Some(1.5), None));
        kept.add("b", &3.5).expect("it is written");
        assert_eq!(Kept::open(Some(&path), Show::SILENT).expect("it opens").get::<f64>("b"), Some(3.5));
        std::fs::write(&path, "a,b\n1,2\n").expect("it is written");
        assert!(Kept::open(Some(&path), Show::SILENT).is_err());
    }
}
