//! Connections to what a name leads to, resolved once: what is screened is what is connected to.

use std::fmt;
use std::future::{Ready, ready};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_rustls::{ConfigBuilderExt, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tower_service::Service;

use crate::screen::{Kind, Screen, kind_of};
use crate::{address, exchange};

/// An open connection, with TLS where the address says so.
pub type Io = MaybeHttpsStream<TokioIo<TcpStream>>;

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unconnected {
    /// The name leads to addresses of this kind alone.
    Screened(Kind),
    /// Nobody is reached, for this reason.
    Unreachable(String),
}

type Found = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

/// How names are resolved: by the system, but in tests.
#[derive(Clone)]
struct Lookup(Arc<dyn Fn(String, u16) -> Found + Send + Sync>);

impl fmt::Debug for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lookup")
    }
}

/// Makes connections; cheap to clone.
#[derive(Debug, Clone)]
pub struct Connector {
    lookup: Lookup,
    /// Made for the first https address: loading the system's roots takes time and may fail.
    secure: Arc<OnceLock<Result<ClientConfig, String>>>,
    timeout: Duration,
}

impl Connector {
    /// A connector whose connections are made within the time given.
    #[must_use]
    pub fn new(timeout: Duration) -> Self {
        let lookup = |host: String, port: u16| -> Found {
            Box::pin(async move { Ok(tokio::net::lookup_host((host.as_str(), port)).await?.collect()) })
        };
        Self {
            lookup: Lookup(Arc::new(lookup)),
            secure: Arc::default(),
            timeout,
        }
    }

    /// Connects to the host of an address.
    ///
    /// # Errors
    /// Why there is no connection.
    pub async fn connect(&self, uri: &Uri, screen: Screen) -> Result<Io, Unconnected> {
        let places = self.places(uri, screen).await?;
        let stream = self.dial(&places).await?;
        if uri.scheme_str() != Some("https") {
            return Ok(MaybeHttpsStream::Http(TokioIo::new(stream)));
        }
        let config = self
            .secure
            .get_or_init(secure)
            .clone()
            .map_err(Unconnected::Unreachable)?;
        let mut connector = HttpsConnectorBuilder::new()
            .with_tls_config(config)
            .https_only()
            .enable_http1()
            .wrap_connector(Dialled(Some(stream)));
        let handshake = tokio::time::timeout(self.timeout, connector.call(uri.clone())).await;
        handshake
            .map_err(|_elapsed| Unconnected::Unreachable("the TLS handshake took too long".to_owned()))?
            .map_err(|error| Unconnected::Unreachable(exchange::innermost(&*error)))
    }

    /// What a name leads to, as far as it may be connected to. It is asked for once: a name that leads elsewhere the
    /// next time has been screened all the same, since nobody asks again.
    async fn places(&self, uri: &Uri, screen: Screen) -> Result<Vec<SocketAddr>, Unconnected> {
        let unreachable = |what: &str| Unconnected::Unreachable(what.to_owned());
        let host = uri.host().ok_or_else(|| unreachable("it names no host"))?;
        let port = address::port(uri);
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let found = match bare.unwrap_or(host).parse::<IpAddr>() {
            Ok(address) => vec![SocketAddr::new(address, port)],
            Err(_name) if bare.is_some() => return Err(unreachable("its host is no address")),
            Err(_name) => {
                let lookup = (self.lookup.0)(host.to_owned(), port);
                let found = tokio::time::timeout(self.timeout, lookup).await;
                found
                    .map_err(|_elapsed| unreachable("its name was not resolved in time"))?
                    .map_err(|error| Unconnected::Unreachable(error.to_string()))?
            }
        };
        if screen == Screen::Nothing {
            return Ok(found);
        }
        let kept: Vec<SocketAddr> = found
            .iter()
            .copied()
            .filter(|place| kind_of(place.ip()).is_none())
            .collect();
        match found.iter().find_map(|place| kind_of(place.ip())) {
            Some(kind) if kept.is_empty() => Err(Unconnected::Screened(kind)),
            Some(_) | None => Ok(kept),
        }
    }

    /// Tries the places in their order, each for its share of the time.
    async fn dial(&self, places: &[SocketAddr]) -> Result<TcpStream, Unconnected> {
        let mut last = "its name leads nowhere".to_owned();
        let share = self.timeout / u32::try_from(places.len().max(1)).unwrap_or(u32::MAX);
        for place in places {
            match tokio::time::timeout(share, TcpStream::connect(place)).await {
                Ok(Ok(stream)) => {
                    stream.set_nodelay(true).ok();
                    return Ok(stream);
                }
                Ok(Err(error)) => last = error.to_string(),
                Err(_elapsed) => "connecting took too long".clone_into(&mut last),
            }
        }
        Err(Unconnected::Unreachable(last))
    }
}

fn secure() -> Result<ClientConfig, String> {
    let failed = |error: &dyn fmt::Display| format!("the system's certificates cannot be loaded: {error}");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&error))?
        .with_native_roots()
        .map_err(|error| failed(&error))?;
    Ok(config.with_no_client_auth())
}

/// The way from a stream that is there to the TLS handshake over it.
struct Dialled(Option<TcpStream>);

impl Service<Uri> for Dialled {
    type Response = TokioIo<TcpStream>;
    type Error = io::Error;
    type Future = Ready<io::Result<TokioIo<TcpStream>>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _uri: Uri) -> Self::Future {
        let stream = self.0.take().map(TokioIo::new);
        ready(stream.ok_or_else(|| io::Error::other("the connection is used already")))
    }
}

#[cfg(test)]
mod tests;
