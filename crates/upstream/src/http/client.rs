//! The HTTP client that all servers share: pooled, `TCP_NODELAY`, no redirects, no proxies.

use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::exchange::Failure;

type Plain = legacy::Client<HttpConnector, Full<Bytes>>;
type Secure = legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// Node closes an idle connection after 5 s; a request that meets a closing one would be lost.
const IDLE: Duration = Duration::from_secs(4);

/// The client; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    plain: Plain,
    /// Made with the first https request: loading the system's roots takes time and may fail.
    secure: Arc<OnceLock<Result<Secure, String>>>,
    connect_timeout: Duration,
}

impl Client {
    /// A client.
    pub(crate) fn new(connect_timeout: Duration) -> Self {
        Self {
            plain: builder().build(connector(connect_timeout)),
            secure: Arc::default(),
            connect_timeout,
        }
    }

    /// Sends a request and waits for the head of its answer.
    pub(crate) async fn request(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Failure> {
        let answer = if request.uri().scheme() == Some(&http::uri::Scheme::HTTPS) {
            match self.secure.get_or_init(|| secure(self.connect_timeout)) {
                Ok(client) => client.request(request),
                Err(reason) => return Err(Failure::NotSent(reason.clone())),
            }
        } else {
            self.plain.request(request)
        };
        answer.await.map_err(|error| {
            let cause = innermost(&error);
            if error.is_connect() {
                Failure::NotSent(format!("it cannot be reached: {cause}"))
            } else {
                Failure::Lost(format!("the connection broke before its answer came: {cause}"))
            }
        })
    }
}

fn builder() -> legacy::Builder {
    let mut builder = legacy::Client::builder(TokioExecutor::new());
    builder.pool_idle_timeout(IDLE).pool_timer(TokioTimer::new());
    builder
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
    let connector = builder_with_roots
        .https_only()
        .enable_http1()
        .wrap_connector(connector(connect_timeout));
    Ok(builder().build(connector))
}

/// The innermost cause says what happened; the outer ones only that something did.
fn innermost(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
