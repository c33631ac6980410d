//! Why there is no page.

use std::net::SocketAddr;

use thiserror::Error;

/// Why there is no page.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Anybody on the network could read the studies.
    #[error(
        "--address {address} can be reached from other machines: name a --token that readers must know, or bind to 127.0.0.1"
    )]
    Open {
        /// The address.
        address: SocketAddr,
    },
    /// The address cannot be bound to.
    #[error("{address}: {source}; name another by --address")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// The system gives no more threads or sockets.
    #[error("the server cannot run: {0}")]
    System(#[from] std::io::Error),
    /// The log of a study cannot be read.
    #[error(transparent)]
    Log(#[from] foretell_run::EventLogError),
}
