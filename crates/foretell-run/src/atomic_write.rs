//! Writing a small file so that a kill leaves the old one or the new one.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Writes `text` to `path` so that readers, also after this process is killed, see all of it or what was there before. It is
/// not flushed to the device: what it holds is written again at a trial's next start, and means nothing after a loss of power.
pub(crate) fn write_atomically(path: &Path, text: &[u8]) -> io::Result<()> {
    let draft = path.with_extension("tmp");
    File::create(&draft)?.write_all(text)?;
    fs::rename(&draft, path)
}
