//! Files in a study's folder are opened as themselves: who can write there could else make Foretell write into any file of its
//! user by a symbolic link, or wait for ever at a pipe.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::OFlag;

use crate::regular;

/// Opens the file at `path` by `options`, but not through a symbolic link in its last part, and only a regular one. Folders
/// may be links.
pub(crate) fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    regular::open_regular_with(options, OFlag::O_NOFOLLOW, path).map_err(|error| {
        if error.raw_os_error() != Some(Errno::ELOOP as i32) {
            return error;
        }
        let why = "it is a symbolic link, and Foretell does not write through links. Put the file itself there, or link its folder";
        io::Error::new(io::ErrorKind::InvalidInput, why)
    })
}
