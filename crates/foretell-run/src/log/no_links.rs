//! Files in a study's folder are opened as themselves: who can write there could else make Foretell write into any file of its
//! user by a symbolic link.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::OFlag;

/// Opens the file at `path` by `options`, but not through a symbolic link in its last part. Folders may be links.
pub(crate) fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.custom_flags(OFlag::O_NOFOLLOW.bits()).open(path).map_err(|error| {
        if error.raw_os_error() != Some(Errno::ELOOP as i32) {
            return error;
        }
        let why = "it is a symbolic link, and Foretell does not write through links. Put the file itself there, or link its folder";
        io::Error::new(io::ErrorKind::InvalidInput, why)
    })
}
