//! Listens and answers.

use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use foretell_run::wire::Refused;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio_io_timeout::TimeoutStream;

use crate::connections::{ConnectionCounter, CountedConnection};
use crate::error::ServeError;
use crate::options::{ReaderLimits, ServeOptions};
use crate::routes;
use crate::served::ServerState;

/// How long to wait where the system gives no more sockets.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(500);

/// How long a thread without work is kept: as long as any server runs.
const THREAD_KEEP_ALIVE: Duration = Duration::from_secs(365 * 24 * 3600);

/// A server that listens, and answers once it [runs](Self::run).
#[derive(Debug)]
pub struct Server {
    runtime: tokio::runtime::Runtime,
    listener: TcpListener,
    options: ServeOptions,
}

impl Server {
    /// Listens.
    ///
    /// # Errors
    /// [`ServeError`].
    pub fn bind(options: ServeOptions) -> Result<Self, ServeError> {
        let address = options.address;
        if options.token.as_deref().is_some_and(|token| !is_token(token)) {
            return Err(ServeError::Token);
        }
        if !address.ip().is_loopback() && options.token.is_none() {
            return Err(ServeError::Open { address });
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            // the first thread stays: where the system gives no second one, requests wait for it, and nothing panics
            .thread_keep_alive(THREAD_KEEP_ALIVE)
            .build()?;
        // a system without a thread to give is an error now, instead of a panic at the first request
        drop(foretell_run::spawn_supervised("probe", || (), |_| ())?);
        runtime.block_on(runtime.spawn_blocking(|| ())).map_err(std::io::Error::from)?;
        let listener = runtime.block_on(TcpListener::bind(address));
        let listener = listener.map_err(|source| ServeError::Bind { address, source })?;
        Ok(Self { runtime, listener, options })
    }

    /// The address to open in a browser.
    pub fn url(&self) -> String {
        let address = self.address();
        let token = self.options.token.as_ref().map(|token| {
            form_urlencoded::Serializer::new(String::from("?")).append_pair("token", token).finish()
        });
        format!("http://{address}/{}", token.unwrap_or_default())
    }

    /// Where it listens.
    pub fn address(&self) -> std::net::SocketAddr {
        self.listener.local_addr().unwrap_or(self.options.address)
    }

    /// Answers, for as long as the program runs.
    ///
    /// # Errors
    /// [`ServeError::System`].
    pub fn run(self) -> Result<(), ServeError> {
        let Self { runtime, listener, options } = self;
        let limits = options.limits;
        let served = Arc::new(ServerState::new(options));
        let router = routes::router(Arc::clone(&served));
        // a long log takes seconds: it is read before somebody opens the page
        drop(runtime.spawn_blocking(move || served.read_latest()));
        runtime.block_on(accept_connections(&listener, &router, limits));
        Ok(())
    }
}

/// Whether `token` can be sent in a header: visible characters, and spaces between them.
fn is_token(token: &str) -> bool {
    !token.is_empty() && token.trim() == token && token.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

async fn accept_connections(listener: &TcpListener, router: &Router, limits: ReaderLimits) {
    let connections = ConnectionCounter::new(limits);
    loop {
        // no more sockets, or a connection that is gone already
        let Ok((stream, address)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            continue;
        };
        match connections.open(address.ip()) {
            Err(why) => drop(tokio::spawn(refuse_client(stream, why))),
            Ok(connection) => {
                tokio::spawn(answer(stream, router.clone(), connection, limits));
            }
        }
    }
}

async fn answer(stream: TcpStream, router: Router, connection: CountedConnection, limits: ReaderLimits) {
    let _ = stream.set_nodelay(true);
    let mut protocol = http1::Builder::new();
    // a connection beyond its address's limit shows quickly that it is a worker's, so that silent ones do not take the places of all
    let head = if connection.is_extra() { limits.head / 10 } else { limits.head };
    protocol.timer(TokioTimer::new()).header_read_timeout(head);
    let service = TowerToHyperService::new(router.layer(Extension(Arc::new(connection))));
    // problems of a connection are its client's matter
    // a reader that takes nothing for so long would keep its place, and the text of its answer in memory
    let mut stream = Box::pin(TimeoutStream::new(stream));
    stream.as_mut().set_write_timeout_pinned(Some(limits.unread));
    let _ = protocol.serve_connection(TokioIo::new(stream), service).await;
}

/// Tells a client that it is one too many, without waiting for its request.
async fn refuse_client(mut stream: TcpStream, why: String) {
    let refused = Refused { error: why, field: None };
    let body = serde_json::to_string(&refused).unwrap_or_default();
    let text = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\ncontent-length: {}\r\nretry-after: 5\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let _ = tokio::time::timeout(ACCEPT_RETRY_DELAY, stream.write_all(text.as_bytes())).await;
}
