//! Writing a small file so that a crash leaves the old one or the new one.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Writes `text` to `path` so that readers, also after a crash, see all of it or what was there before.
pub(crate) fn write_atomically(path: &Path, text: &[u8]) -> io::Result<()> {
    let draft = path.with_extension("tmp");
    let mut file = File::create(&draft)?;
    file.write_all(text)?;
    file.sync_all()?;
    fs::rename(&draft, path)
}
