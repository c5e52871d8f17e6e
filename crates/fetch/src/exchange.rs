//! One request over one connection, which is closed after it.

use std::error::Error as StdError;
use std::pin::pin;

use bytes::Bytes;
use futures_util::future::{Either, select};
use http::header::{CONNECTION, HOST, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, Uri};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::client::conn::http1;

use crate::connector::Io;
use crate::{Document, Error, shown};

/// A request, but for its address.
pub(crate) struct Outward {
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Sends a request and reads the whole answer, at most `limit` bytes of it.
pub(crate) async fn exchange(io: Io, at: &Uri, outward: Outward, limit: usize) -> Result<Document, Error> {
    let url = || shown(&at.to_string());
    let broken = |error: &(dyn StdError + 'static)| Error::Broken {
        url: url(),
        reason: innermost(error),
    };
    let request = request(at, outward).ok_or_else(|| Error::NotAnAddress { url: url() })?;
    let (mut sender, connection) = http1::handshake(io).await.map_err(|error| broken(&error))?;
    let work = pin!(async {
        let response = sender.send_request(request).await.map_err(|error| broken(&error))?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, limit).collect().await.map_err(|error| {
            if error.is::<LengthLimitError>() {
                Error::TooLarge { url: url(), limit }
            } else {
                broken(&*error)
            }
        })?;
        Ok(Document {
            status: head.status,
            headers: head.headers,
            body: body.to_bytes(),
        })
    });
    match select(work, pin!(connection)).await {
        Either::Left((document, _connection)) => document,
        // What came before the end is still to be read.
        Either::Right((_ended, work)) => work.await,
    }
}

fn request(at: &Uri, outward: Outward) -> Option<Request<Full<Bytes>>> {
    let mut request = Request::new(Full::new(outward.body));
    *request.method_mut() = outward.method;
    *request.uri_mut() = at
        .path_and_query()
        .cloned()
        .map_or_else(|| Uri::from_static("/"), Uri::from);
    *request.headers_mut() = outward.headers;
    let host = at.host()?;
    let host = match at.port_u16() {
        Some(port) => HeaderValue::try_from(format!("{host}:{port}")),
        None => HeaderValue::try_from(host),
    };
    let headers = request.headers_mut();
    headers.insert(HOST, host.ok()?);
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    headers.insert(
        USER_AGENT,
        HeaderValue::from_static(concat!("countersign/", env!("CARGO_PKG_VERSION"))),
    );
    Some(request)
}

/// The innermost cause says what happened; the outer ones only that something did.
pub(crate) fn innermost(error: &(dyn StdError + 'static)) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
