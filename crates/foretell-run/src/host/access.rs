//! Where a study's server is, and the token that it asks for: typed, or in a file that only its owner reads.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::log::atomic_write::write_privately;
use crate::regular;

/// The file, in a study's folder.
const ACCESS_FILE: &str = "access.json";

/// The address of a study's server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerAccess {
    /// The server's addresses, `HOST:PORT`, or with `https://` before them; the first that answers is taken.
    pub addresses: Vec<String>,
    /// The token that it asks for.
    pub token: Option<String>,
    /// The file that this is from: read again when the server does not answer, since it may have moved.
    #[serde(skip)]
    pub file: Option<PathBuf>,
}

/// The reason why an address is invalid.
#[derive(Debug, Error)]
pub enum AccessError {
    /// The address has a token in it.
    #[error(
        "ADDRESS: remove the token, since every user of this machine can read the command line. Set FORETELL_TOKEN instead"
    )]
    TokenInAddress,
    /// The address is encrypted.
    #[error(
        "ADDRESS {0}: a worker does not support TLS. Forward the port, for example with ssh -L 8675:127.0.0.1:8675 HOST, and name http://127.0.0.1:8675"
    )]
    Encrypted(String),
    /// The text is neither an address nor a file.
    #[error(
        "ADDRESS {0}: this is neither an address, such as http://HOST:8675, nor the folder of a study that a search with --on or --serve is running"
    )]
    UnknownAddress(String),
    /// The file with the address cannot be read.
    #[error("{path}: {source}. The file exists only while a search with --on or --serve is running", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system or of the decoder.
        source: io::Error,
    },
}

impl ServerAccess {
    /// The study that `text` names: `http://HOST:PORT`, `HOST:PORT`, the folder of a study, or its file with the address. The token of an
    /// address that is typed is `token`. The folder may still be missing, or have no file with an address: then there are no addresses
    /// yet, and the file is read again.
    ///
    /// # Errors
    /// [`AccessError`].
    pub fn parse(text: &str, token: Option<String>) -> Result<Self, AccessError> {
        let path = Path::new(text);
        let file = path.join(ACCESS_FILE);
        let is_later = text.contains('/') && !text.contains("://") && !path.exists();
        if is_later || (path.is_dir() && !file.exists()) {
            return Ok(Self { file: Some(file), ..Self::default() });
        }
        if path.is_dir() {
            return Self::read(&file);
        }
        if path.is_file() {
            return Self::read(path);
        }
        let is_encrypted = text.starts_with("https://");
        if is_encrypted && !cfg!(feature = "tls") {
            return Err(AccessError::Encrypted(text.to_owned()));
        }
        let place = text.strip_prefix("http://").or(text.strip_prefix("https://")).unwrap_or(text);
        if place.contains("token=") {
            return Err(AccessError::TokenInAddress);
        }
        let place = place.trim_end_matches('/');
        let port = place.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port);
        let port = port.or(is_encrypted.then_some("443"));
        if place.contains('/') || port.and_then(|port| port.parse::<u16>().ok()).is_none() {
            return Err(AccessError::UnknownAddress(text.to_owned()));
        }
        let address = if is_encrypted { format!("https://{place}") } else { place.to_owned() };
        Ok(Self { addresses: vec![address], token, file: None })
    }

    fn read(file: &Path) -> Result<Self, AccessError> {
        let access = regular::read(file).and_then(|text| Ok(serde_json::from_slice::<Self>(&text)?));
        let access = access.map_err(|source| AccessError::File { path: file.to_owned(), source })?;
        Ok(Self { file: Some(file.to_owned()), ..access })
    }

    /// Reads the file again.
    pub(crate) fn reload(&self) -> Option<Self> {
        Self::read(self.file.as_deref()?).ok().filter(|now| now != self)
    }

    /// The access that is written in the folder of a study.
    pub fn read_in_study(study: &Path) -> Option<Self> {
        Self::read(&study.join(ACCESS_FILE)).ok()
    }

    /// Where it is written, in the folder of a study.
    pub fn file_path(study: &Path) -> PathBuf {
        study.join(ACCESS_FILE)
    }

    /// Writes it into the folder of a study, for its owner's eyes alone.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, study: &Path) -> io::Result<()> {
        write_privately(&study.join(ACCESS_FILE), serde_json::to_string_pretty(self)?.as_bytes())
    }

    /// Removes it from the folder of a study: nobody serves it any more.
    pub fn remove(study: &Path) {
        // a worker that reads it finds nobody there
        let _ = fs::remove_file(study.join(ACCESS_FILE));
    }

    /// A token that nobody guesses.
    ///
    /// # Errors
    /// When the system gives no randomness.
    pub fn new_token() -> io::Result<String> {
        let mut bytes = [0_u8; 16];
        fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::ServerAccess;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn an_address_is_typed_or_read_and_never_has_a_token() {
        for (text, place) in [("http://node1:8675/", "node1:8675"), ("10.0.0.1:80", "10.0.0.1:80")] {
            let access = ServerAccess::parse(text, Some("secret".to_owned())).expect("an address");
            assert_eq!((access.addresses[0].as_str(), access.token.as_deref()), (place, Some("secret")));
        }
        let cases = [
            ("https://node1", "does not support TLS"),
            ("http://node1:1/?token=x", "remove the token"),
            ("node1", "neither an address"),
            ("http://nowhere/at/all", "neither an address"),
        ];
        for (text, words) in cases {
            let error = ServerAccess::parse(text, None).expect_err(text).to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn only_its_owner_reads_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let token = ServerAccess::new_token().expect("randomness");
        let access =
            ServerAccess { addresses: vec!["a:1".to_owned()], token: Some(token), ..ServerAccess::default() };
        access.write(folder.path()).expect("it is written");
        access.write(folder.path()).expect("it is written again");
        let file = ServerAccess::file_path(folder.path());
        let mode = std::fs::metadata(&file).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let read = ServerAccess::parse(folder.path().to_str().expect("a path"), None).expect("it is read");
        assert_eq!((&read.addresses, &read.token), (&access.addresses, &access.token));
        assert!(read.reload().is_none());
        ServerAccess { addresses: vec!["b:2".to_owned()], ..access.clone() }
            .write(folder.path())
            .expect("it is written");
        assert_eq!(read.reload().expect("it has moved").addresses, ["b:2"]);
        let study = folder.path().join("later");
        let early =
            ServerAccess::parse(study.to_str().expect("a path"), None).expect("the search starts later");
        assert!(early.addresses.is_empty() && early.reload().is_none());
        std::fs::create_dir(&study).expect("a folder");
        access.write(&study).expect("it is written");
        assert_eq!(early.reload().expect("it has started").addresses, ["a:1"]);
    }
}
