//! Why there is no page.

use std::net::SocketAddr;

use thiserror::Error;

/// The reason why the server cannot run.
#[derive(Debug, Error)]
pub enum ServeError {
    /// Anybody on the network could read the studies.
    #[error(
        "--address {address} is reachable from other machines. Set a --token for its readers, or use 127.0.0.1"
    )]
    Open {
        /// The address.
        address: SocketAddr,
    },
    /// The token cannot be sent in a header.
    #[error(
        "the token (--token, or FORETELL_TOKEN) must consist of visible ASCII characters, without spaces around them"
    )]
    Token,
    /// The address cannot be bound to.
    #[error("{address}: {source}. Choose another one with --address")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The system gives no more threads or sockets.
    #[error("the server cannot run: {0}. Check the limits of threads, memory and open files (`ulimit -a`)")]
    System(#[from] std::io::Error),
    /// The log of a study cannot be read, or is none.
    #[error("{name}: {problem}")]
    Study {
        /// The study's name.
        name: String,
        /// The problem.
        problem: String,
    },
}
