//! Writing a small file so that a kill leaves the old one or the new one.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Writes `text` to `path` so that readers, also after this process is killed, see all of it or what was there before. It is
/// not flushed to the device: what it holds is written again at the next start, and means nothing after a loss of power. A
/// symbolic link at `path` is replaced by the file, not followed.
///
/// # Errors
/// When the file cannot be written beside `path`, or not be moved there; `path` is as it was.
pub fn write_atomically(path: &Path, text: &[u8]) -> io::Result<()> {
    let draft = path.with_extension("tmp");
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    File::create_new(&draft)?.write_all(text)?; // a new file: no link is followed
    fs::rename(&draft, path)
}

#[cfg(test)]
mod tests {
    use super::write_atomically;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_at_the_file_and_at_its_draft_are_replaced_and_not_followed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let victim = folder.path().join("victim");
        fs::write(&victim, "precious").expect("it is written");
        let path = folder.path().join("params.json");
        for link in [&path, &folder.path().join("params.tmp")] {
            symlink(&victim, link).expect("a link is made");
        }
        write_atomically(&path, b"{}").expect("there is room");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "{}");
        assert_eq!(fs::read_to_string(&victim).expect("it is there"), "precious");
    }
}
