//! How connections to servers over HTTP are made: `TCP_NODELAY`, TLS where the address says so, no proxies.

use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::Uri;
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::rt::{Read, Write};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use tower_service::Service;

use crate::exchange::Failure;

/// The way into one connection.
pub(crate) type Sender = SendRequest<Full<Bytes>>;

type Secure = HttpsConnector<HttpConnector>;

/// Makes connections; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    plain: HttpConnector,
    /// Made for the first https address: loading the system's roots takes time and may fail.
    secure: Arc<OnceLock<Result<Secure, String>>>,
    connect_timeout: Duration,
}

impl Client {
    /// A client.
    pub(crate) fn new(connect_timeout: Duration) -> Self {
        Self {
            plain: connector(connect_timeout),
            secure: Arc::default(),
            connect_timeout,
        }
    }

    /// Makes a connection to the server of an address.
    ///
    /// # Errors
    /// [`Failure::NotSent`]
    pub(super) async fn connect(&self, uri: &Uri) -> Result<Sender, Failure> {
        if uri.scheme() == Some(&http::uri::Scheme::HTTPS) {
            let secure = self.secure.get_or_init(|| secure(self.connect_timeout));
            let mut connector = secure.clone().map_err(Failure::NotSent)?;
            let io = connector.call(uri.clone()).await;
            open(io.map_err(|error| unreachable(&*error))?).await
        } else {
            let io = self.plain.clone().call(uri.clone()).await;
            open(io.map_err(|error| unreachable(&error))?).await
        }
    }
}

/// The connection is driven by a task of its own, which ends when nobody can send any more.
async fn open(io: impl Read + Write + Unpin + Send + 'static) -> Result<Sender, Failure> {
    let (sender, connection) = http1::handshake(io).await.map_err(|error| unreachable(&error))?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection to a server ended early");
        }
    });
    Ok(sender)
}

fn unreachable(error: &(dyn Error + 'static)) -> Failure {
    Failure::NotSent(format!("it cannot be reached: {}", innermost(error)))
}

fn connector(connect_timeout: Duration) -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(connect_timeout));
    connector
}

fn secure(connect_timeout: Duration) -> Result<Secure, String> {
    let builder_with_roots = HttpsConnectorBuilder::new()
        .with_provider_and_native_roots(rustls::crypto::aws_lc_rs::default_provider())
        .map_err(|error| format!("the system's certificates cannot be loaded: {error}"))?;
    Ok(builder_with_roots
        .https_only()
        .enable_http1()
        .wrap_connector(connector(connect_timeout)))
}

/// The innermost cause says what happened; the outer ones only that something did.
pub(super) fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
