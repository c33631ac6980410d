//! Listens and answers.

use std::sync::Arc;

use tokio::net::TcpListener;

use crate::error::ServeError;
use crate::options::Options;
use crate::routes;
use crate::served::Served;

/// A server that listens, and answers once it [runs](Self::run).
#[derive(Debug)]
pub struct Server {
    runtime: tokio::runtime::Runtime,
    listener: TcpListener,
    options: Options,
}

impl Server {
    /// Listens.
    ///
    /// # Errors
    /// [`ServeError`].
    pub fn bind(options: Options) -> Result<Self, ServeError> {
        let address = options.address;
        if !address.ip().is_loopback() && options.token.as_deref().is_none_or(str::is_empty) {
            return Err(ServeError::Open { address });
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind(address));
        let listener = listener.map_err(|source| ServeError::Bind { address, source })?;
        Ok(Self { runtime, listener, options })
    }

    /// The address to open in a browser.
    pub fn url(&self) -> String {
        let address = self.listener.local_addr().unwrap_or(self.options.address);
        let token = self.options.token.as_ref().map(|token| format!("?token={token}")).unwrap_or_default();
        format!("http://{address}/{token}")
    }

    /// Answers, for as long as the program runs.
    ///
    /// # Errors
    /// [`ServeError::System`].
    pub fn run(self) -> Result<(), ServeError> {
        let Self { runtime, listener, options } = self;
        let served = Arc::new(Served::new(options));
        Ok(runtime.block_on(async { axum::serve(listener, routes::router(served)).await })?)
    }
}
