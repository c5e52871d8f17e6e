//! Streamable HTTP: one request per message, answered by JSON or by an event stream.

mod client;
mod line;
mod origin;
mod signed;
mod stream;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use bytes::{Bytes, BytesMut};
use countersign_core::secret::Secret;
use countersign_fetch::Screen;
use countersign_wire::object::Object;
use countersign_wire::version::Version;
use countersign_wire::{codes, headers, rpc};
use http::header::{ACCEPT, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body::Body as _;
use http_body_util::{BodyExt, Full, Limited};
use serde_json::value::RawValue;

use crate::auth::Credential;
use crate::connection::Connection;
use crate::exchange::{Failure, Outgoing};
use crate::inbound::{self, Heard};
use crate::pending::{Back, Delivered};
use crate::text::code_of;

pub(crate) use client::Client;
use origin::{Body, Origin};
pub(crate) use stream::{End, Piece, Stream};

/// What is asked for with every request, whatever a caller asked us for.
pub(crate) const ACCEPTED: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
/// `Mcp-Session-Id`
pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const TOOLS_CALL: &str = "tools/call";
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// How large an answer with an error status may be, in bytes.
const ERROR_BODY: usize = 1 << 20;

/// One server's endpoint, and the session there.
#[derive(Debug)]
pub(crate) struct Link {
    origin: Origin,
    /// Where messages go, as a request to this origin names it.
    path: Uri,
    base: HeaderMap,
    /// What requests are signed with, where the principal has a credential of its own.
    credential: Option<Box<Credential>>,
    session: OnceLock<HeaderValue>,
    /// The headers of calls of tools of 2026-07-28, which are nearly all that is sent.
    of_calls: OnceLock<HeaderMap>,
    pub(crate) limit: usize,
}

/// How an endpoint is reached.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way<'a> {
    pub(crate) client: &'a Client,
    /// Whether its own address is screened.
    pub(crate) screen: Screen,
    /// How large one message may be, in bytes.
    pub(crate) limit: usize,
}

impl Link {
    /// An endpoint.
    ///
    /// # Errors
    /// What is wrong with the address or a header, without its value.
    pub(crate) fn new(
        way: Way<'_>,
        url: &Secret,
        configured: &BTreeMap<String, Secret>,
        credential: Option<Credential>,
    ) -> Result<Self, String> {
        let uri: Uri = url
            .reveal()
            .parse()
            .map_err(|_error| "`url` is not an address".to_owned())?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none() {
            return Err("`url` is not an http or https address".to_owned());
        }
        let path = path_of(&uri);
        let origin = Origin::new(way.client, uri, way.screen);
        Ok(Self {
            base: base_headers(origin.host()?, configured)?,
            origin,
            path,
            credential: credential.map(Box::new),
            session: OnceLock::new(),
            of_calls: OnceLock::new(),
            limit: way.limit,
        })
    }

    /// The address.
    pub(crate) fn uri(&self) -> &Uri {
        self.origin.uri()
    }

    /// The session that the server opened.
    pub(crate) fn open_session(&self, session: HeaderValue) {
        self.session.get_or_init(|| session);
    }

    /// Whether the server opened a session.
    pub(crate) fn has_session(&self) -> bool {
        self.session.get().is_some()
    }

    /// Whether the credential that requests are signed with is good no longer.
    pub(crate) fn is_signed_out(&self) -> bool {
        self.credential.as_ref().is_some_and(|credential| credential.is_gone())
    }

    /// The headers of every request.
    pub(crate) fn headers(&self, version: Option<Version>) -> HeaderMap {
        let mut headers = self.base.clone();
        if let Some(version) = version {
            headers.insert(VERSION, HeaderValue::from_static(version.as_str()));
        }
        if let Some(session) = self.session.get() {
            headers.insert(SESSION, session.clone());
        }
        headers
    }

    /// The headers of a call of a tool of 2026-07-28; its name has a place, since a full map is copied to take one more.
    fn headers_of_calls(&self) -> &HeaderMap {
        self.of_calls.get_or_init(|| {
            let mut headers = self.headers(Some(Version::V2026_07_28));
            headers.insert(METHOD, HeaderValue::from_static(TOOLS_CALL));
            headers.insert(NAME, HeaderValue::from_static(""));
            headers
        })
    }

    /// Posts a message.
    pub(crate) async fn post(&self, headers: HeaderMap, body: String) -> Result<Response<Body>, Failure> {
        self.send(Method::POST, self.path.clone(), headers, Bytes::from(body))
            .await
    }

    /// Posts a message to another address of the same origin.
    pub(crate) async fn post_to(&self, uri: &Uri, body: String) -> Result<Response<Body>, Failure> {
        self.send(Method::POST, path_of(uri), self.headers(None), Bytes::from(body))
            .await
    }

    /// Opens an event stream.
    pub(crate) async fn get(
        &self,
        version: Option<Version>,
        last_event: Option<&str>,
    ) -> Result<Response<Body>, Failure> {
        let mut headers = self.headers(version);
        headers.remove(CONTENT_TYPE);
        if let Some(value) = last_event.and_then(|id| HeaderValue::from_str(id).ok()) {
            headers.insert(LAST_EVENT, value);
        }
        self.send(Method::GET, self.path.clone(), headers, Bytes::new()).await
    }

    /// Tells the server that the session is over.
    pub(crate) async fn delete(&self, version: Version) -> Result<(), Failure> {
        let mut headers = self.headers(Some(version));
        headers.remove(CONTENT_TYPE);
        self.send(Method::DELETE, self.path.clone(), headers, Bytes::new())
            .await
            .map(drop)
    }

    async fn send(&self, method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> Result<Response<Body>, Failure> {
        match &self.credential {
            None => self.send_unsigned(method, uri, headers, body).await,
            Some(credential) => {
                let request = signed::Unsigned {
                    method,
                    uri,
                    headers,
                    body,
                };
                Box::pin(signed::send(self, credential, request)).await
            }
        }
    }

    fn send_unsigned(
        &self,
        method: Method,
        uri: Uri,
        headers: HeaderMap,
        body: Bytes,
    ) -> impl Future<Output = Result<Response<Body>, Failure>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        self.origin.send(request)
    }
}

/// What a request to the origin of an address names.
fn path_of(uri: &Uri) -> Uri {
    uri.path_and_query()
        .cloned()
        .map_or_else(|| Uri::from_static("/"), Uri::from)
}

fn base_headers(host: HeaderValue, configured: &BTreeMap<String, Secret>) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::with_capacity(configured.len() + 10);
    headers.insert(HOST, host);
    headers.insert(
        USER_AGENT,
        HeaderValue::from_static(concat!("countersign/", env!("CARGO_PKG_VERSION"))),
    );
    for (name, value) in configured {
        let parsed = HeaderName::try_from(name.as_str()).map_err(|_error| format!("`{name}` is not a header name"))?;
        let mut text = HeaderValue::from_str(value.reveal())
            .map_err(|_error| format!("the value of header `{name}` has characters that no header may have"))?;
        text.set_sensitive(value.is_hidden());
        headers.insert(parsed, text);
    }
    // The protocol's own headers win over configured ones of the same name.
    headers.insert(ACCEPT, ACCEPTED);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(headers)
}

/// Sends a request and reads its answer.
pub(crate) async fn exchange(
    connection: &Arc<Connection>,
    link: &Link,
    out: &Outgoing<'_>,
    back: Option<&Arc<Back>>,
) -> Result<Delivered, Failure> {
    let response = post(link, out).await?;
    answer(connection, link, out, response, back).await
}

/// Posts a request; the answer's body is still to be read.
pub(crate) async fn post(link: &Link, out: &Outgoing<'_>) -> Result<Response<Body>, Failure> {
    let mut headers = match (out.version, out.method, out.name) {
        (Some(Version::V2026_07_28), TOOLS_CALL, Some(name)) => {
            let mut headers = link.headers_of_calls().clone();
            headers.insert(NAME, encoded(name)?);
            headers
        }
        (version @ Some(Version::V2026_07_28), method, name) => {
            let mut headers = link.headers(version);
            headers.insert(METHOD, encoded(method)?);
            if let Some(name) = name {
                headers.insert(NAME, encoded(name)?);
            }
            headers
        }
        (version, ..) => link.headers(version),
    };
    for (name, value) in out.headers {
        let bad = || Failure::NotSent(format!("parameter header `{name}` cannot be written"));
        let name = HeaderName::try_from(name.as_str()).map_err(|_error| bad())?;
        headers.insert(name, HeaderValue::from_str(value).map_err(|_error| bad())?);
    }
    let body = rpc::request(&out.id.to_string(), out.method, out.params);
    link.post(headers, body).await
}

fn encoded(text: &str) -> Result<HeaderValue, Failure> {
    HeaderValue::try_from(headers::encode(text))
        .map_err(|_error| Failure::NotSent("a name cannot be written as a header".to_owned()))
}

/// Posts a message that is no request.
pub(crate) async fn tell(connection: &Connection, link: &Link, message: String) -> Result<(), Failure> {
    let version = connection.version();
    let response = link.post(link.headers(Some(version)), message).await?;
    let status = response.status();
    // A short body is read to the end, so that the connection can be used again.
    Limited::new(response.into_body(), ERROR_BODY).collect().await.ok();
    if status.is_success() {
        Ok(())
    } else {
        Err(refused(status))
    }
}

/// Reads the answer to a request.
pub(crate) async fn answer(
    connection: &Arc<Connection>,
    link: &Link,
    out: &Outgoing<'_>,
    response: Response<Body>,
    back: Option<&Arc<Back>>,
) -> Result<Delivered, Failure> {
    let status = response.status();
    if !status.is_success() {
        return Box::pin(unsuccessful(connection, link, response)).await;
    }
    let kind = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    if starts_with(kind, "application/json") {
        let text = whole(response.into_body(), link.limit).await?;
        let text = std::str::from_utf8(&text).map_err(|_error| Failure::Lost("its answer is not UTF-8".to_owned()))?;
        return match inbound::receive_for(connection, text, back, out.id) {
            Heard::Answer(id, delivered) if id == out.id => Ok(delivered),
            Heard::Answer(_, _) => Err(Failure::Lost("its answer has the id of another request".to_owned())),
            Heard::Said => Err(Failure::Lost("its answer is no response".to_owned())),
            Heard::Garbage(what) => error_of(text)
                .map(Delivered::Error)
                .ok_or_else(|| Failure::Lost(format!("its answer is no JSON-RPC response: {what}"))),
        };
    }
    if starts_with(kind, "text/event-stream") {
        return Box::pin(stream::answer(connection, link, out, response.into_body(), back)).await;
    }
    Err(Failure::Lost(
        if status == StatusCode::ACCEPTED || status == StatusCode::NO_CONTENT {
            "it accepted the request and gave no answer".to_owned()
        } else {
            "its answer is neither JSON nor an event stream".to_owned()
        },
    ))
}

fn starts_with(kind: &str, wanted: &str) -> bool {
    kind.get(..wanted.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(wanted))
}

/// A whole body of at most `limit` bytes; most come in one piece, which is handed on as it is.
async fn whole(mut body: Body, limit: usize) -> Result<Bytes, Failure> {
    let mut first = Bytes::new();
    let mut text = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_error| Failure::Lost("the connection broke while its answer came".to_owned()))?;
        let Ok(piece) = frame.into_data() else { continue };
        if piece.len() > limit - first.len() - text.len() {
            return Err(Failure::Lost(too_large(limit)));
        }
        if text.is_empty() && first.is_empty() {
            if body.is_end_stream() {
                return Ok(piece);
            }
            first = piece;
        } else {
            text.extend_from_slice(&std::mem::take(&mut first));
            text.extend_from_slice(&piece);
        }
    }
    Ok(if text.is_empty() { first } else { text.freeze() })
}

/// The sentence for an answer over the limit.
pub(crate) fn too_large(limit: usize) -> String {
    format!("its answer is larger than {limit} bytes (limits.response_bytes)")
}

/// An answer whose status is no success: a JSON-RPC error, a lost session, or a refusal.
async fn unsuccessful(connection: &Connection, link: &Link, response: Response<Body>) -> Result<Delivered, Failure> {
    let status = response.status();
    let in_session = link.has_session() && !connection.is_modern();
    if status == StatusCode::NOT_FOUND && in_session {
        return Err(Failure::SessionLost);
    }
    let error = match whole(response.into_body(), ERROR_BODY.min(link.limit)).await {
        Ok(body) => std::str::from_utf8(&body).ok().and_then(error_of),
        Err(_failure) => None,
    };
    match error {
        // Servers built on the example of the TypeScript SDK say 400 where the protocol says 404.
        Some(error) if status == StatusCode::BAD_REQUEST && in_session && names_session(&error) => {
            Err(Failure::SessionLost)
        }
        Some(error) => Ok(Delivered::Error(error)),
        None => Err(refused(status)),
    }
}

fn names_session(error: &RawValue) -> bool {
    let message = Object::parse(error.get())
        .ok()
        .and_then(|error| error.text("message").map(|text| text.to_lowercase()));
    code_of(error) == Some(-32000) && message.is_some_and(|message| message.contains("session"))
}

/// What a status that is no success says of the request.
pub(crate) fn refused(status: StatusCode) -> Failure {
    let reason = match status.canonical_reason() {
        _ if status.is_redirection() => format!("it redirects (HTTP {}), which is not followed", status.as_u16()),
        Some(words) => format!("it answered HTTP {} {words}", status.as_u16()),
        None => format!("it answered HTTP {}", status.as_u16()),
    };
    // A gateway's 502 or 504 does not say whether the request got through.
    if status.is_server_error() {
        Failure::Lost(reason)
    } else {
        Failure::Refused { status, reason }
    }
}

/// The error object of an answer whose id may be null.
pub(crate) fn error_of(text: &str) -> Option<Box<RawValue>> {
    let object = Object::parse(text.trim_start_matches('\u{feff}').trim()).ok()?;
    let error = object.get("error")?;
    code_of(error).map(|_code| error.to_owned())
}

/// Whether an error says that the server speaks 2026-07-28 (A.4 of the MCP notes).
pub(crate) fn is_modern_error(error: &RawValue) -> bool {
    matches!(
        code_of(error),
        Some(codes::HEADER_MISMATCH | codes::MISSING_CAPABILITY | codes::UNSUPPORTED_VERSION)
    )
}
