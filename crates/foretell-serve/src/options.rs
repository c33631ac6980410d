//! What is served, to whom.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// What is served, to whom.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder that holds the studies' folders, or the folder of one study.
    pub folder: PathBuf,
    /// Where to listen. Port 0 is any free one.
    pub address: SocketAddr,
    /// What a reader must know; needed where other machines can reach the address.
    pub token: Option<String>,
    /// How long a trial that runs elsewhere may be silent before it is given to another worker.
    pub lease: Duration,
}

impl Options {
    /// The usual lease: an hour.
    pub const LEASE: Duration = Duration::from_secs(3600);
}
