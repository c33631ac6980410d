//! Settings of a server: the studies served, who may read them, and the limits of one reader.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use foretell_run::{EventStore, HostDoor};
use foretell_search::Catalogue;

/// The settings of a server.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The folder that holds the studies' folders, or the folder of one study.
    pub folder: PathBuf,
    /// Where to listen. Port 0 is any free one.
    pub address: SocketAddr,
    /// The secret that a reader must know; needed if other machines can reach the address.
    pub token: Option<String>,
    /// How long a training that renews its lease may be silent before another worker gets it: see [`foretell_run::Leases`].
    pub lease: Duration,
    /// The limits of one reader.
    pub limits: ReaderLimits,
    /// The way to the study in `folder`, if a driver in this process runs it.
    pub door: Option<HostDoor<EventStore>>,
    /// The meaning of the names of the studies' parts.
    pub catalogue: Catalogue,
}

impl ServeOptions {
    /// The usual lease.
    pub const DEFAULT_LEASE: Duration = Duration::from_secs(60);

    /// The studies in `folder`, served at `address` to whoever may reach it.
    pub fn new(folder: impl Into<PathBuf>, address: SocketAddr) -> Self {
        let limits = ReaderLimits::default();
        Self {
            folder: folder.into(),
            address,
            token: None,
            lease: Self::DEFAULT_LEASE,
            limits,
            door: None,
            catalogue: Catalogue::default(),
        }
    }
}

/// The limits per reader, so that none blocks the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderLimits {
    /// How long a request's head may take, from the connection's beginning or the answer before: idle connections end by it.
    pub head: Duration,
    /// How long a request's body may take.
    pub body: Duration,
    /// How long a reader may leave sent data unread.
    pub unread: Duration,
    /// The longest body, in bytes.
    pub body_bytes: usize,
    /// How many connections there are.
    pub connections: usize,
    /// How many of them an address has.
    pub connections_per_address: usize,
}

impl ReaderLimits {
    /// For a study with so many `workers`, which may all have one address: whoever connects knows the token.
    #[must_use]
    pub fn for_workers(self, workers: usize) -> Self {
        let connections = self.connections + 2 * workers;
        Self { connections, connections_per_address: connections, ..self }
    }
}

impl Default for ReaderLimits {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(20),
            body: Duration::from_secs(20),
            unread: Duration::from_secs(30),
            body_bytes: 2 << 20,
            connections: 512,
            connections_per_address: 256,
        }
    }
}
