//! How connections to servers over HTTP are made: `TCP_NODELAY`, TLS where the address says so, no proxies.

use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use countersign_fetch::{Connector, Screen, Unconnected};
use http::Uri;
use hyper::rt::{Read, Write};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use tower_service::Service;

use super::line::Line;
use crate::exchange::Failure;

type Secure = HttpsConnector<HttpConnector>;

/// Makes connections; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    plain: HttpConnector,
    /// Made for the first https address: loading the system's roots takes time and may fail.
    secure: Arc<OnceLock<Result<Secure, String>>>,
    /// For addresses that must not lead inside.
    screened: Connector,
    connect_timeout: Duration,
}

impl Client {
    /// A client.
    pub(crate) fn new(connect_timeout: Duration) -> Self {
        Self {
            plain: connector(connect_timeout),
            secure: Arc::default(),
            screened: Connector::new(connect_timeout),
            connect_timeout,
        }
    }

    /// Makes a connection to the server of an address.
    ///
    /// # Errors
    /// [`Failure::NotSent`]
    pub(super) async fn connect(&self, uri: &Uri, screen: Screen) -> Result<Line, Failure> {
        if screen == Screen::Others {
            let io = self.screened.connect(uri, screen).await;
            open(io.map_err(screened_off)?).await
        } else if uri.scheme() == Some(&http::uri::Scheme::HTTPS) {
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

async fn open(io: impl Read + Write + Unpin + Send + 'static) -> Result<Line, Failure> {
    Line::new(io).await.map_err(|error| unreachable(&error))
}

fn screened_off(unconnected: Unconnected) -> Failure {
    Failure::NotSent(match unconnected {
        Unconnected::Unreachable(reason) => format!("it cannot be reached: {reason}"),
        Unconnected::Screened(kind) => format!(
            "its host leads to {} address, and its entry says `allowPrivateNetwork: false`",
            kind.words()
        ),
    })
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
