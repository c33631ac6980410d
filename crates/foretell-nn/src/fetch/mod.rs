//! Fetching data sets: downloads that resume where they were interrupted, checksums, unpacking.

mod catalogue;
mod unpack;

pub use catalogue::{ArchiveFiles, DataSetDownload, RemoteFile, list_downloads};

use crate::error::Error;
use sha2::{Digest, Sha256};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Downloads data sets with the program `curl`, which knows the certificates and proxies of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFetcher {
    /// The folder that gets a folder for each set.
    pub into: PathBuf,
    /// An address to fetch all files from instead of their own; the file's name is appended.
    pub mirror: Option<String>,
    /// Whether curl shows its progress on the standard error.
    pub progress: bool,
}

impl DataFetcher {
    /// Fetches `download` and returns the folder with its files, which has its name and is in `into`.
    ///
    /// Existing files are not fetched again. A file arrives under the name `….part`, where an interrupted download resumes, and is
    /// renamed once its checksum is right. An archive is unpacked under another name first, so that the folder is complete or missing.
    ///
    /// # Errors
    /// [`Error::Fetch`] if a file cannot be fetched, [`Error::Checksum`] if it is not the published one, [`Error::File`] if it cannot be
    /// written or unpacked.
    pub fn fetch_data_set(&self, download: &DataSetDownload) -> Result<PathBuf, Error> {
        let folder = self.into.join(&download.name);
        for file in &download.files {
            match &file.archive {
                Some(archive) if !folder.exists() => {
                    let path = self.into.join(&file.name);
                    // before the download, which takes minutes
                    #[cfg(not(feature = "zip"))]
                    if unpack::is_zip(&path) {
                        let address = file.base.clone() + &file.name;
                        return Err(Error::Fetch { address, reason: unpack::WITHOUT_ZIP.to_owned(), path });
                    }
                    self.fetch_file(file, &path)?;
                    unpack::unpack(&path, archive, &folder)?;
                    std::fs::remove_file(&path).map_err(|error| Error::write(&path, error))?;
                }
                Some(_) => {}
                None => self.fetch_file(file, &folder.join(&file.name))?,
            }
        }
        Ok(folder)
    }

    /// Brings `file` to `path` unless it is there.
    fn fetch_file(&self, file: &RemoteFile, path: &Path) -> Result<(), Error> {
        if path.exists() {
            return verify_checksum(path, &file.sha256);
        }
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(|error| Error::write(folder, error))?;
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        // a whole part would make the server answer that nothing is left
        if !part.exists() || sha256_checksum(&part)? != file.sha256 {
            self.download(file, &part, path)?;
            verify_checksum(&part, &file.sha256)?;
        }
        std::fs::rename(&part, path).map_err(|error| Error::write(path, error))
    }

    fn download(&self, file: &RemoteFile, part: &Path, path: &Path) -> Result<(), Error> {
        let mut address = self.mirror.clone().unwrap_or_else(|| file.base.clone());
        if !address.ends_with('/') {
            address.push('/');
        }
        address.push_str(&file.name);
        let failed =
            |reason: String| Error::Fetch { address: address.clone(), reason, path: path.to_owned() };
        let mut curl = Command::new("curl");
        curl.args(["--fail", "--location", "--show-error", "--retry", "3", "--connect-timeout", "30"]);
        curl.arg(if self.progress { "--progress-bar" } else { "--silent" });
        curl.args(["--continue-at", "-", "--output"]).arg(part).arg(&address);
        let stderr = if self.progress { Stdio::inherit() } else { Stdio::piped() };
        let child = curl.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr).spawn();
        let output = child
            .and_then(std::process::Child::wait_with_output)
            .map_err(|error| failed(format!("the program curl does not start ({error}). Install it")))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().last().unwrap_or("curl failed").trim();
        Err(failed(format!("{said} ({})", output.status)))
    }
}

/// The SHA-256 checksum of a file in hexadecimal.
fn sha256_checksum(path: &Path) -> Result<String, Error> {
    let mut file = std::fs::File::open(path).map_err(|error| Error::read(path, error))?;
    let (mut digest, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer).map_err(|error| Error::read(path, error))? {
            0 => break,
            count => digest.update(&buffer[..count]),
        }
    }
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

fn verify_checksum(path: &Path, expected: &str) -> Result<(), Error> {
    let found = sha256_checksum(path)?;
    if found == expected {
        return Ok(());
    }
    Err(Error::Checksum { path: path.to_owned(), found, expected: expected.to_owned() })
}
