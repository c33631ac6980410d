//! Unpacking archives.

use crate::error::Error;
use crate::fetch::ArchiveFiles;
use flate2::read::GzDecoder;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Component, Path, PathBuf};

/// Unpacks what `archive` names of the archive at `path` into `folder`, which is whole or missing.
pub(super) fn unpack(path: &Path, archive: &ArchiveFiles, folder: &Path) -> Result<(), Error> {
    let mut aside = folder.as_os_str().to_owned();
    aside.push(".unpacking");
    let aside = PathBuf::from(aside);
    // left by an interruption: its files may be cut off, so all are unpacked again
    if aside.exists() {
        fs::remove_dir_all(&aside).map_err(|error| Error::write(&aside, error))?;
    }
    let file = BufReader::new(File::open(path).map_err(|error| Error::read(path, error))?);
    let count = if is_zip(path) { unzip(file, archive, &aside) } else { unpack_tar(file, archive, &aside) };
    let unpacked = match count {
        Ok(0) => Err(io::Error::new(io::ErrorKind::InvalidData, format!("it contains no {}…", archive.root))),
        other => other,
    };
    unpacked.map_err(|source| Error::File { action: "unpack", path: path.to_owned(), source })?;
    fs::rename(&aside, folder).map_err(|error| Error::write(folder, error))
}

/// Whether the file at `path` is a ZIP archive, by its name.
pub(super) fn is_zip(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "zip")
}

fn unpack_tar(file: impl Read, archive: &ArchiveFiles, into: &Path) -> io::Result<usize> {
    let mut count = 0;
    for entry in tar::Archive::new(GzDecoder::new(file)).entries()? {
        let mut entry = entry?;
        let wanted = place(&entry.path()?, archive);
        if let Some(place) = wanted.filter(|_| entry.header().entry_type().is_file()) {
            write(&into.join(place), &mut entry)?;
            count += 1;
        }
    }
    Ok(count)
}

#[cfg(feature = "zip")]
fn unzip(file: impl Read + io::Seek, archive: &ArchiveFiles, into: &Path) -> io::Result<usize> {
    let mut zip = zip::ZipArchive::new(file)?;
    let mut count = 0;
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index)?;
        let wanted = entry.enclosed_name().and_then(|name| place(&name, archive));
        if let Some(place) = wanted.filter(|_| entry.is_file()) {
            write(&into.join(place), &mut entry)?;
            count += 1;
        }
    }
    Ok(count)
}

/// Why a build without the feature `zip` refuses a ZIP archive.
#[cfg(not(feature = "zip"))]
pub(super) const WITHOUT_ZIP: &str =
    "this program is built without ZIP archives. Build it with `--features zip`";

/// Refused: the crate `zip` isn't in this build.
#[cfg(not(feature = "zip"))]
fn unzip(_file: impl Read, _archive: &ArchiveFiles, _into: &Path) -> io::Result<usize> {
    Err(io::Error::new(io::ErrorKind::Unsupported, WITHOUT_ZIP))
}

/// Where a member of an archive goes; none if it is not wanted, or would leave the folder.
fn place(member: &Path, archive: &ArchiveFiles) -> Option<PathBuf> {
    let member = member.strip_prefix(".").unwrap_or(member);
    let place = member.strip_prefix(&archive.root).ok()?;
    let inside = place.components().all(|component| matches!(component, Component::Normal(_)));
    let text = place.to_str()?;
    let wanted = archive.members.is_empty() || archive.members.iter().any(|begin| text.starts_with(begin));
    (inside && wanted && !text.is_empty()).then(|| place.to_owned())
}

fn write(path: &Path, content: &mut impl Read) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    io::copy(content, &mut File::create(path)?)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_placed_without_their_root_and_never_outside() {
        let all = ArchiveFiles { root: "set/".to_owned(), members: Vec::new() };
        let some = ArchiveFiles { members: vec!["train/".to_owned()], ..all.clone() };
        let placed = |member: &str, archive| place(Path::new(member), archive);
        assert_eq!(placed("./set/a.bin", &all), Some(PathBuf::from("a.bin")));
        assert_eq!(placed("set/train/b", &some), Some(PathBuf::from("train/b")));
        for (member, archive) in
            [("set/val/b", &some), ("other/a", &all), ("set/../../a", &all), ("set/", &all), ("/set/a", &all)]
        {
            assert_eq!(placed(member, archive), None, "{member}");
        }
    }
}
