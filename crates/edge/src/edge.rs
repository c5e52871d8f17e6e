//! The edge as its owner handles it: start, live reload, stop.

use std::io;
use std::sync::Arc;

use countersign_core::toolset::Selectors;
use countersign_engine::Engine;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::settings::Settings;
use crate::shared::Shared;
use crate::{http, stdio};

/// HTTP and stdio in front of one engine. Clones are handles to the same edge.
#[derive(Debug, Clone)]
pub struct Edge {
    shared: Arc<Shared>,
    /// What stdio narrows every request to.
    declared: Option<Selectors>,
}

/// What became of an edit of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reload {
    /// It is in force.
    Applied,
    /// It is broken, and what was in force before still is.
    Refused,
}

impl Edge {
    /// An edge that serves nothing yet.
    #[must_use]
    pub fn new(engine: Arc<Engine>, settings: Settings) -> Self {
        Self {
            shared: Arc::new(Shared::new(engine, settings)),
            declared: None,
        }
    }

    /// The same edge, which narrows every request over stdio to this toolset (`--toolset`).
    #[must_use]
    pub fn with_toolset(self, declared: Option<Selectors>) -> Self {
        Self { declared, ..self }
    }

    /// Puts other settings in force, for the next request of every connection. Sessions stay open, but for those of
    /// principals that are no longer let in.
    pub fn apply(&self, settings: Settings) {
        self.shared.apply(settings);
    }

    /// Counts an edit of the configuration.
    pub fn count_reload(&self, reload: Reload) {
        self.shared.metrics.reload(match reload {
            Reload::Applied => "applied",
            Reload::Refused => "refused",
        });
    }

    /// Serves HTTP on `listener`, and `/metrics` on the other one, until `shutdown`. Then nothing new is
    /// taken, standing streams end, and calls under way have ten seconds to end.
    ///
    /// # Errors
    /// When a listener has no address, or the system gives no threads to serve with.
    pub async fn serve(
        &self,
        listener: TcpListener,
        metrics: Option<TcpListener>,
        shutdown: CancellationToken,
    ) -> io::Result<()> {
        http::serve(&self.shared, listener, metrics, shutdown).await
    }

    /// Serves the pages by which people sign in to servers, and nothing else, until `shutdown`: for a client over
    /// pipes, which has no other listener.
    ///
    /// # Errors
    /// As [`Edge::serve`].
    pub async fn serve_people(&self, listener: TcpListener, shutdown: CancellationToken) -> io::Result<()> {
        http::serve_people(&self.shared, listener, shutdown).await
    }

    /// Serves one client over a pair of pipes until its input ends, or until `shutdown`.
    ///
    /// # Errors
    /// When the input cannot be read.
    pub async fn serve_stdio(
        &self,
        stdin: impl AsyncRead + Unpin + Send,
        stdout: impl AsyncWrite + Unpin + Send + 'static,
        shutdown: CancellationToken,
    ) -> io::Result<()> {
        stdio::serve(&self.shared, self.declared.clone(), (stdin, stdout), shutdown).await
    }
}

/// Serves HTTP with settings that never change; see [`Edge::serve`].
///
/// # Errors
/// As [`Edge::serve`].
pub async fn serve(
    listener: TcpListener,
    metrics: Option<TcpListener>,
    engine: Arc<Engine>,
    settings: Settings,
    shutdown: CancellationToken,
) -> io::Result<()> {
    Edge::new(engine, settings).serve(listener, metrics, shutdown).await
}

/// Serves one client over a pair of pipes; see [`Edge::serve_stdio`].
///
/// # Errors
/// As [`Edge::serve_stdio`].
pub async fn serve_stdio(
    engine: Arc<Engine>,
    settings: Settings,
    stdin: impl AsyncRead + Unpin + Send,
    stdout: impl AsyncWrite + Unpin + Send + 'static,
    shutdown: CancellationToken,
) -> io::Result<()> {
    Edge::new(engine, settings).serve_stdio(stdin, stdout, shutdown).await
}
