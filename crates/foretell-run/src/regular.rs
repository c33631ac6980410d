//! Regular files, and nothing else: opening a pipe waits for whoever writes to it, and a device may never end.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::OFlag;

/// The most that is read of a file into memory: Foretell's own are far smaller.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Opens the file at `path` by `options` and more `flags`, if it is a regular one. Never waits.
pub(crate) fn open_regular_with(options: &mut OpenOptions, flags: OFlag, path: &Path) -> io::Result<File> {
    // what may wait, and what reading may change, is looked at once it is open: it could be another file later
    let opened = options.custom_flags((OFlag::O_NONBLOCK | flags).bits()).open(path);
    let is_special = match &opened {
        Ok(file) => !file.metadata()?.is_file(),
        // a socket, or a pipe that nobody reads
        Err(error) => error.raw_os_error() == Some(Errno::ENXIO as i32),
    };
    if is_special {
        let why = "it is not a regular file. Remove it, or name another one";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    opened
}

/// Opens the file at `path` to be read.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    open_regular_with(OpenOptions::new().read(true), OFlag::empty(), path)
}

/// The content of the file at `path`.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    if open(path)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut content)? as u64 > MAX_FILE_BYTES {
        let why =
            format!("it is larger than {MAX_FILE_BYTES} bytes, so Foretell has not written it. Remove it");
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    Ok(content)
}

/// The content of the file at `path` as text, if it is a regular file: a pipe or a device, which may never end, is refused. Never waits.
///
/// # Errors
/// If it is no regular file, larger than 64 MiB or no text, or cannot be read.
pub fn read_regular_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::{MAX_FILE_BYTES, open, read, read_regular_text};
    use std::fs::{self, File};
    use std::io::ErrorKind;
    use std::os::unix::net::UnixListener;
    use std::path::Path;

    #[test]
    fn only_regular_files_are_read_and_nothing_waits() {
        let folder = tempfile::tempdir().expect("a folder");
        let path_of = |name: &str| folder.path().join(name);
        nix::unistd::mkfifo(&path_of("pipe"), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        let _socket = UnixListener::bind(path_of("socket")).expect("a socket");
        std::os::unix::fs::symlink("/dev/zero", path_of("link")).expect("a link");
        for path in [path_of("pipe"), path_of("socket"), path_of("link"), Path::new("/dev/zero").to_owned()] {
            let refused = open(&path).expect_err("it is special");
            assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{}", path.display());
            assert!(read(&path).is_err(), "{}", path.display());
        }
        assert_eq!(read(&path_of("none")).expect_err("it is missing").kind(), ErrorKind::NotFound);
        fs::write(path_of("file"), "text").expect("it is written");
        assert_eq!(read_regular_text(&path_of("file")).expect("it is read"), "text");
        File::create(path_of("large"))
            .and_then(|file| file.set_len(MAX_FILE_BYTES + 1))
            .expect("a large file");
        assert!(read(&path_of("large")).expect_err("it is too large").to_string().contains("larger than"));
    }
}
