//! Writing a file so that a kill, or a full disk, leaves the old one or the new one.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The mode of files for everybody, of which the umask takes away what the user wants.
const MODE_FOR_ALL: u32 = 0o666;
/// The mode of files for their owner alone.
const MODE_FOR_OWNER: u32 = 0o600;

/// A file that is written next to its place, and moved there once it is complete: readers see all of it or the old content. It is
/// not flushed to the device. A path that is no file, such as `/dev/stdout`, is written directly.
#[derive(Debug)]
pub struct DraftFile {
    file: BufWriter<File>,
    /// Where it is written, until it is moved.
    draft: Option<PathBuf>,
    path: PathBuf,
}

impl DraftFile {
    /// A draft of a file that the user named: where a symbolic link is there, of the file that it points to.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn for_output(path: &Path) -> io::Result<Self> {
        let Ok(about) = fs::metadata(path) else { return Self::beside(path, MODE_FOR_ALL) };
        if !about.is_file() {
            let file = BufWriter::new(fs::OpenOptions::new().write(true).open(path)?);
            return Ok(Self { file, draft: None, path: path.to_owned() });
        }
        // nobody else may read it before it has the permissions of the file that it replaces, which may be strict
        let draft = Self::beside(&fs::canonicalize(path)?, MODE_FOR_OWNER)?;
        draft.file.get_ref().set_permissions(about.permissions())?;
        Ok(draft)
    }

    /// A draft of the file at `path` itself: a symbolic link there is replaced, and not followed.
    fn beside(path: &Path, mode: u32) -> io::Result<Self> {
        static DRAFT_COUNT: AtomicU64 = AtomicU64::new(0);
        let number = DRAFT_COUNT.fetch_add(1, Ordering::Relaxed);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let draft = path.with_file_name(format!(".{name}.{}-{number}.tmp", std::process::id()));
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // a new file: no link is followed
        let file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&draft)?;
        Ok(Self { file: BufWriter::new(file), draft: Some(draft), path: path.to_owned() })
    }

    /// Moves it to its place.
    ///
    /// # Errors
    /// When the last of it cannot be written, or it cannot be moved; what was there before is as it was.
    pub fn finish(mut self) -> io::Result<()> {
        self.file.flush()?;
        match &self.draft {
            Some(draft) => fs::rename(draft, &self.path)?,
            None => return Ok(()),
        }
        self.draft = None;
        Ok(())
    }
}

impl Write for DraftFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for DraftFile {
    fn drop(&mut self) {
        // a draft left until now is an unfinished file next to the good one
        let _ = self.draft.take().map(fs::remove_file);
    }
}

/// Writes `text` to `path` in a study's folder, like a [`DraftFile`]: it means nothing after a loss of power, and is written again at the
/// next start.
///
/// # Errors
/// When the file cannot be written next to `path`, or not be moved there; `path` is as it was.
pub fn write_atomically(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut draft = DraftFile::beside(path, MODE_FOR_ALL)?;
    draft.write_all(text)?;
    draft.finish()
}

/// Writes `text` to `path` as [`write_atomically`] does, for its owner's eyes alone.
///
/// # Errors
/// Those of [`write_atomically`].
pub fn write_privately(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut draft = DraftFile::beside(path, MODE_FOR_OWNER)?;
    draft.write_all(text)?;
    draft.finish()
}

/// Writes `text` to the file that the user named, as a [`DraftFile`] is.
///
/// # Errors
/// Those of [`DraftFile::for_output`] and [`DraftFile::finish`].
pub fn write_output(path: &Path, text: impl AsRef<[u8]>) -> io::Result<()> {
    let mut draft = DraftFile::for_output(path)?;
    draft.write_all(text.as_ref())?;
    draft.finish()
}

#[cfg(test)]
mod tests {
    use super::{DraftFile, write_atomically, write_output};
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_in_a_studys_folder_is_replaced_and_one_that_the_user_named_is_followed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (victim, path) = (folder.path().join("victim"), folder.path().join("params.json"));
        fs::write(&victim, "precious").expect("it is written");
        symlink(&victim, &path).expect("a link is made");
        write_output(&path, "{}").expect("there is room");
        assert_eq!(fs::read_to_string(&victim).expect("it is there"), "{}");
        write_atomically(&path, b"[]").expect("there is room");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "[]");
        assert_eq!(fs::read_to_string(&victim).expect("it is there"), "{}");
    }

    #[test]
    fn what_is_not_finished_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("runs.jsonl");
        fs::write(&path, "old").expect("it is written");
        let mut draft = DraftFile::for_output(&path).expect("there is room");
        draft.write_all(b"half of the new").expect("there is room");
        drop(draft);
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "old");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
        write_output(std::path::Path::new("/dev/null"), "anything").expect("a device takes it as it is");
    }
}
