//! A file that a trial appends its metrics to, read as if it were printed.
//!
//! What was read last is compared each time: a file whose content before the place differs was truncated, replaced or rotated, and is read as a
//! new one. A file that was written once more, with more at its end, is read on.

use std::collections::VecDeque;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use foretell_search::SourcePosition;

use crate::process::output::LineSplitter;
use crate::regular;

/// The most of the first line that is read.
const HEADER_BYTES: usize = 64 * 1024;
/// The number of bytes before a place, and of the first ones of a file, by which the file is recognized.
const KNOWN_BYTES: usize = 4096;
/// A file that has become shorter, and begins as before, is being written once more: so long it may take.
const MAX_REWRITE_TIME: Duration = Duration::from_millis(500);

/// A file that is followed.
pub(crate) struct FollowedFile {
    path: PathBuf,
    /// The file that is read: another one may have taken its place.
    open: Option<File>,
    at: u64,
    /// The bytes before `at`, and those at the beginning of the file.
    recent: Vec<u8>,
    head: Vec<u8>,
    /// The files to be read after the open one, oldest first: they were rotated, and are complete.
    rotated: VecDeque<File>,
    /// Since when the file is shorter than the part that was read.
    shorter: Option<Instant>,
    /// What the file looked like when there was nothing new in it.
    looked: Option<(u64, u64, SystemTime)>,
    pub(crate) lines: LineSplitter,
}

/// The continuation of a file.
enum FileContinuation {
    /// So many new bytes.
    NewBytes(usize),
    /// The part that was read is not in it any more.
    OtherContent,
}

impl FollowedFile {
    /// Follows the file at `path` from its end on. It may not be there yet.
    pub(crate) fn new(path: PathBuf) -> Self {
        let mut followed = Self::from_beginning(path);
        if let Ok(file) = regular::open(&followed.path) {
            followed.at = file.metadata().map_or(0, |file| file.len());
            followed.recent = bytes_before(&file, followed.at).unwrap_or_default();
            followed.head = first_bytes(&file, followed.at);
            followed.open = Some(file);
        }
        followed
    }

    fn from_beginning(path: PathBuf) -> Self {
        Self {
            path,
            open: None,
            at: 0,
            recent: Vec::new(),
            head: Vec::new(),
            rotated: VecDeque::new(),
            shorter: None,
            looked: None,
            lines: LineSplitter::default(),
        }
    }

    /// Follows the file at `path` from `position` on, and whether that was found: if it is neither in this file nor in one that it was
    /// rotated to, the file is read as a new one.
    pub(crate) fn resume_at(path: PathBuf, position: SourcePosition) -> (Self, bool) {
        let mut followed = Self::from_beginning(path);
        let mut files = rotated_files(&followed.path);
        files.extend(regular::open(&followed.path));
        let place = files.iter().rposition(|file| {
            bytes_before(file, position.at).is_some_and(|before| crc32fast::hash(&before) == position.crc)
        });
        let Some(place) = place else { return (followed, position.at == 0) };
        followed.rotated = files.split_off(place).into();
        if let Some(file) = followed.rotated.pop_front() {
            followed.at = position.at;
            followed.recent = bytes_before(&file, position.at).unwrap_or_default();
            followed.head = first_bytes(&file, position.at);
            followed.open = Some(file);
        }
        (followed, true)
    }

    /// The file's first line, if it is before the place that is read: the header of a table.
    pub(crate) fn read_header(&self) -> Option<Vec<u8>> {
        let mut head = vec![0; HEADER_BYTES.min(self.at as usize)];
        let read = self.open.as_ref()?.read_at(&mut head, 0).ok()?;
        let end = head[..read].iter().position(|&byte| byte == b'\n')?;
        head.truncate(end);
        Some(head)
    }

    /// The place so many bytes `back` from where it is read, after the report of step `after`.
    pub(crate) fn source_position(&self, back: usize, after: u64) -> SourcePosition {
        let end = self.recent.len().saturating_sub(back);
        let known = &self.recent[end.saturating_sub(KNOWN_BYTES)..end];
        SourcePosition { at: self.at.saturating_sub(back as u64), after, crc: crc32fast::hash(known) }
    }

    /// Reads on; answers how many bytes, 0 where there is nothing new. After the end of the training, `is_last`, nobody writes any more.
    ///
    /// # Errors
    /// When it is no regular file. Other trouble, such as a file that is not there yet, may pass.
    pub(crate) fn read_new_bytes(&mut self, buffer: &mut [u8], is_last: bool) -> Result<usize, String> {
        match self.try_read(buffer, is_last) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Err(format!(
                "{} cannot be followed: it is not a regular file, but a pipe or a device, for example. Let the script append to a file",
                self.path.display()
            )),
            read => Ok(read.unwrap_or(0)),
        }
    }

    fn try_read(&mut self, buffer: &mut [u8], is_last: bool) -> io::Result<usize> {
        let there = match regular::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            there => Some(there?),
        };
        if let Some(there) = &there
            && !is_last
            && self.rotated.is_empty()
            && self.looked == there.metadata().ok().map(|about| change_stamp(&about))
            && self.shorter.is_none()
        {
            return Ok(0);
        }
        loop {
            let Some(open) = self.open.take() else {
                match there {
                    Some(there) => self.open = Some(there),
                    None => return Ok(0),
                }
                return self.read_open(buffer, is_last);
            };
            let is_there = there.as_ref().is_none_or(|there| is_same_file(there, &open));
            self.open = Some(open);
            if is_there && self.rotated.is_empty() {
                return self.read_open(buffer, is_last);
            }
            // another file has its place: what was written to this one before comes first
            if let FileContinuation::NewBytes(read) = self.read_continuation(buffer)?
                && read > 0
            {
                return Ok(read);
            }
            self.switch_to_next(there.as_ref())?;
        }
    }

    /// Turns from a file that was replaced to the next one.
    fn switch_to_next(&mut self, there: Option<&File>) -> io::Result<()> {
        if self.rotated.is_empty()
            && let (Some(open), Some(there)) = (self.open.take(), there)
        {
            // it may have been rotated several times since the last look, so that the files in between come first
            let mut rotated = rotated_files(&self.path);
            let place = rotated.iter().rposition(|file| is_same_file(file, &open));
            self.rotated = place.map(|place| rotated.split_off(place + 1)).unwrap_or_default().into();
            self.rotated.push_back(there.try_clone()?);
        }
        self.open = self.rotated.pop_front();
        let is_copy = self.open.as_ref().is_some_and(|file| {
            self.at > 0 && bytes_before(file, self.at).is_some_and(|before| before.ends_with(&self.recent))
        });
        if !is_copy {
            self.restart_from_beginning();
        }
        Ok(())
    }

    fn restart_from_beginning(&mut self) {
        (self.at, self.shorter, self.looked) = (0, None, None);
        self.recent.clear();
        self.head.clear();
        self.lines = LineSplitter::default();
    }

    /// Reads on in the open file, which is the one at the path.
    fn read_open(&mut self, buffer: &mut [u8], is_last: bool) -> io::Result<usize> {
        let Some(about) = self.open.as_ref().map(File::metadata).transpose()? else { return Ok(0) };
        if let FileContinuation::NewBytes(read) = self.read_continuation(buffer)? {
            self.shorter = None;
            self.looked = (read == 0).then(|| change_stamp(&about));
            return Ok(read);
        }
        // a program that writes its whole table anew has a shorter file for a moment: its rows would otherwise be read twice
        if about.len() < self.at && self.begins_as_before(about.len()) {
            let since = *self.shorter.get_or_insert_with(Instant::now);
            if is_last || since.elapsed() < MAX_REWRITE_TIME {
                return Ok(0);
            }
        }
        self.restart_from_beginning();
        match self.read_continuation(buffer)? {
            FileContinuation::NewBytes(read) => Ok(read),
            FileContinuation::OtherContent => Ok(0),
        }
    }

    /// Whether the open file, of `length` bytes now, begins with what was read from it.
    fn begins_as_before(&self, length: u64) -> bool {
        let now = self.open.as_ref().map(|file| first_bytes(file, length)).unwrap_or_default();
        self.head.starts_with(&now[..now.len().min(self.head.len())])
    }

    /// Reads on after the part that was read, if that is still there.
    fn read_continuation(&mut self, buffer: &mut [u8]) -> io::Result<FileContinuation> {
        let Some(open) = &self.open else { return Ok(FileContinuation::OtherContent) };
        let known = self.recent.len().min(KNOWN_BYTES).min(buffer.len() / 2);
        let known_bytes = &self.recent[self.recent.len() - known..];
        // both at once: the file may be written anew meanwhile
        let mut filled = 0;
        while filled < buffer.len() {
            match open.read_at(&mut buffer[filled..], self.at - known as u64 + filled as u64)? {
                0 => break,
                read => filled += read,
            }
        }
        if filled < known || buffer[..known] != *known_bytes {
            return Ok(FileContinuation::OtherContent);
        }
        buffer.copy_within(known..filled, 0);
        let read = filled - known;
        self.at += read as u64;
        self.recent.extend_from_slice(&buffer[..read]);
        // a place may be asked for that is a whole buffer back
        let spare = self.recent.len().saturating_sub(KNOWN_BYTES + buffer.len());
        self.recent.drain(..spare);
        if self.head.len() < KNOWN_BYTES {
            self.head = first_bytes(open, self.at);
        }
        Ok(FileContinuation::NewBytes(read))
    }
}

/// The bytes of `file` before the place `at`, at most [`KNOWN_BYTES`]; `None` if it is shorter.
fn bytes_before(file: &File, at: u64) -> Option<Vec<u8>> {
    let mut known = vec![0; KNOWN_BYTES.min(usize::try_from(at).unwrap_or(KNOWN_BYTES))];
    let from = at - known.len() as u64;
    file.read_exact_at(&mut known, from).ok()?;
    Some(known)
}

/// The first bytes of `file`, at most [`KNOWN_BYTES`] and `length`.
fn first_bytes(file: &File, length: u64) -> Vec<u8> {
    bytes_before(file, length.min(KNOWN_BYTES as u64)).unwrap_or_default()
}

fn is_same_file(file: &File, other: &File) -> bool {
    let [file, other] =
        [file, other].map(|file| file.metadata().ok().map(|about| (about.dev(), about.ino())));
    file == other
}

fn change_stamp(about: &Metadata) -> (u64, u64, SystemTime) {
    (about.ino(), about.len(), about.modified().unwrap_or(SystemTime::UNIX_EPOCH))
}

/// The files that the one at `path` was rotated to, oldest first: `m.csv.2`, `m.csv.1`, or `m.csv.2026-11-28`.
fn rotated_files(path: &Path) -> Vec<File> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Vec::new();
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let rotated = entries.filter(|entry| {
        entry.file_name().to_str().and_then(|other| other.strip_prefix(name)).is_some_and(|end| {
            (2..=21).contains(&end.len())
                && end.starts_with(['.', '-'])
                && end.chars().all(|c| c.is_ascii_digit() || ".-_".contains(c))
        })
    });
    let mut files: Vec<(SystemTime, File)> = rotated
        .filter_map(|entry| regular::open(&entry.path()).ok())
        .filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file)))
        .collect();
    files.sort_by_key(|(time, _)| *time);
    files.into_iter().map(|(_, file)| file).collect()
}

#[cfg(test)]
mod tests {
    use super::FollowedFile;
    use foretell_search::SourcePosition;
    use std::fs;
    use std::io::Write;
    use std::path::Path;

    fn append(path: &Path, text: &str) {
        let mut file = fs::OpenOptions::new().append(true).create(true).open(path).expect("it opens");
        file.write_all(text.as_bytes()).expect("it is written");
    }

    fn read(followed: &mut FollowedFile) -> String {
        let (mut buffer, mut text) = (vec![0; 16 * 1024], Vec::new());
        while let Ok(count @ 1..) = followed.read_new_bytes(&mut buffer, true) {
            text.extend_from_slice(&buffer[..count]);
        }
        String::from_utf8(text).expect("text")
    }

    #[test]
    fn a_file_is_read_on_where_it_was_appended_to_or_written_once_more_and_anew_where_it_is_another() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("m.txt");
        append(&path, "of another training\n");
        let mut followed = FollowedFile::new(path.clone());
        append(&path, "a 1\na 2\n");
        assert_eq!(read(&mut followed), "a 1\na 2\n");
        let copy = folder.path().join("copy");
        fs::write(&copy, "of another training\na 1\na 2\na 3\n").expect("it is written");
        fs::rename(&copy, &path).expect("it takes the place");
        assert_eq!(read(&mut followed), "a 3\n");
        fs::write(&path, "b 1\n").expect("it is truncated");
        assert_eq!(read(&mut followed), "b 1\n");
        fs::write(&path, "c 1\n").expect("it is as long as before");
        assert_eq!(read(&mut followed), "c 1\n");
        append(&path, "c 2\n");
        fs::rename(&path, folder.path().join("m.txt.1")).expect("it is rotated");
        append(&path, "c 3\n");
        assert_eq!(read(&mut followed), "c 2\nc 3\n");
    }

    #[test]
    fn after_an_interruption_a_place_is_found_in_the_file_or_in_one_that_it_was_rotated_to() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("m.txt");
        let mut followed = FollowedFile::new(path.clone());
        append(&path, "a 1\na 2\n");
        assert_eq!(read(&mut followed), "a 1\na 2\n");
        let place: SourcePosition = followed.source_position("a 2\n".len(), 1);
        assert_eq!((place.at, place.after), (4, 1));
        let resumed = |place| {
            let (mut followed, is_found) = FollowedFile::resume_at(path.clone(), place);
            (read(&mut followed), is_found)
        };
        append(&path, "a 3\n");
        assert_eq!(resumed(place), ("a 2\na 3\n".to_owned(), true));
        fs::rename(&path, folder.path().join("m.txt.1")).expect("it is rotated");
        append(&path, "a 4\n");
        assert_eq!(resumed(place), ("a 2\na 3\na 4\n".to_owned(), true));
        fs::remove_file(folder.path().join("m.txt.1")).expect("it is removed");
        assert_eq!(resumed(place), ("a 4\n".to_owned(), false));
    }
}
