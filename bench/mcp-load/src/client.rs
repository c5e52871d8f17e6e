//! One MCP session over one HTTP/1.1 connection.

use std::{
    borrow::Cow,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, anyhow, bail};
use bench_common::proto::{self, Message};
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::{
    Method, Request, Response, StatusCode, Uri,
    body::Incoming,
    client::conn::http1::{self, SendRequest},
    header::{self, HeaderMap, HeaderName, HeaderValue},
};
use hyper_util::rt::TokioIo;
use serde::{Deserialize, de::IgnoredAny};
use tokio::net::TcpStream;

use crate::TargetArgs;

/// Where and how to connect; shared by all sessions.
#[derive(Clone)]
pub(crate) struct Target(Arc<TargetInner>);

struct TargetInner {
    address: String,
    path: Uri,
    headers: HeaderMap,
    capabilities: &'static str,
    protocol: String,
    modern: bool,
    timeout: Duration,
}

impl Target {
    pub(crate) fn new(args: &TargetArgs) -> Result<Self> {
        let url: Uri = args.url.parse().context("bad --url")?;
        if url.scheme_str() != Some("http") {
            bail!("only http:// URLs are supported");
        }
        let host = url.host().ok_or_else(|| anyhow!("--url has no host"))?;
        let address = format!("{host}:{}", url.port_u16().unwrap_or(80));
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_str(&address)?);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(
            header::ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        for h in &args.headers {
            let (name, value) = h
                .split_once(':')
                .ok_or_else(|| anyhow!("--header needs 'Name: value'"))?;
            headers.insert(
                HeaderName::from_bytes(name.trim().as_bytes())?,
                HeaderValue::from_str(value.trim())?,
            );
        }
        Ok(Self(Arc::new(TargetInner {
            address,
            path: url
                .path_and_query()
                .map_or("/", |p| p.as_str())
                .parse()
                .context("bad path in --url")?,
            headers,
            capabilities: "{}",
            modern: args.protocol.as_str() >= proto::MODERN,
            protocol: args.protocol.clone(),
            timeout: args.timeout(),
        })))
    }

    /// The same target for a caller that can ask a person.
    pub(crate) fn with_elicitation(args: &TargetArgs) -> Result<Self> {
        let Self(inner) = Self::new(args)?;
        let mut inner = Arc::into_inner(inner).ok_or_else(|| anyhow!("a new target is not shared"))?;
        inner.capabilities = r#"{"elicitation":{"form":{}}}"#;
        Ok(Self(Arc::new(inner)))
    }
}

/// A complete answer to one request.
pub(crate) struct Answer {
    /// The JSON-RPC message, without any event-stream framing.
    pub(crate) body: Bytes,
    /// From before the request was sent until the message was complete.
    pub(crate) latency: Duration,
    /// Bytes of HTTP body received.
    pub(crate) wire_bytes: usize,
}

impl Answer {
    pub(crate) fn text(&self) -> Result<&str> {
        Ok(std::str::from_utf8(&self.body)?)
    }

    /// The `result` member, or the JSON-RPC error as an `Err`.
    pub(crate) fn result(&self) -> Result<&str> {
        let msg: Message<'_> = serde_json::from_slice(&self.body).context("answer is not JSON-RPC")?;
        if let Some(error) = msg.error {
            bail!("JSON-RPC error {}", clip(error.get()));
        }
        Ok(msg
            .result
            .ok_or_else(|| anyhow!("answer has neither result nor error"))?
            .get())
    }
}

pub(crate) struct Page {
    pub(crate) tools: usize,
    pub(crate) next: Option<String>,
}

/// Counts the tools of one tools/list result.
pub(crate) fn parse_page(result: &str) -> Result<Page> {
    #[derive(Deserialize)]
    struct List<'a> {
        tools: Vec<IgnoredAny>,
        #[serde(borrow, default, rename = "nextCursor")]
        next: Option<Cow<'a, str>>,
    }
    let list: List<'_> = serde_json::from_str(result).context("not a tools/list result")?;
    Ok(Page {
        tools: list.tools.len(),
        next: list.next.map(Cow::into_owned),
    })
}

pub(crate) struct Session {
    target: Target,
    sender: SendRequest<Full<Bytes>>,
    id: Option<HeaderValue>,
    next_id: u64,
    pub(crate) connects: u64,
}

impl Session {
    /// Connects and, for the handshake revisions, initializes.
    pub(crate) async fn open(target: &Target) -> Result<Self> {
        let mut session = Self {
            target: target.clone(),
            sender: connect(target).await?,
            id: None,
            next_id: 0,
            connects: 1,
        };
        if !target.0.modern {
            session.initialize().await.context("initialize")?;
        }
        Ok(session)
    }

    async fn initialize(&mut self) -> Result<()> {
        let params = format!(
            r#"{{"protocolVersion":"{}","capabilities":{},"clientInfo":{{"name":"mcp-load","version":"{}"}}}}"#,
            self.target.0.protocol,
            self.target.0.capabilities,
            env!("CARGO_PKG_VERSION")
        );
        let (answer, headers) = self.exchange("initialize", None, &params).await?;
        answer.result()?;
        self.id = headers.get(proto::HDR_SESSION).cloned();
        let body = Bytes::from_static(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        let request = self.request("notifications/initialized", None, body)?;
        let response = self.send(request).await?;
        if !response.status().is_success() {
            bail!("notifications/initialized: HTTP {}", response.status());
        }
        response.into_body().collect().await?;
        Ok(())
    }

    /// Sends one request and waits for its complete answer. A connection that
    /// the server closed after the last answer is opened again first.
    pub(crate) async fn rpc(&mut self, method: &str, name: Option<&str>, params: &str) -> Result<Answer> {
        Ok(self.exchange(method, name, params).await?.0)
    }

    async fn exchange(&mut self, method: &str, name: Option<&str>, params: &str) -> Result<(Answer, HeaderMap)> {
        let limit = self.target.0.timeout;
        match tokio::time::timeout(limit, self.exchange_inner(method, name, params)).await {
            Ok(r) => r,
            Err(_) => {
                // The connection still carries the late answer: replace it.
                self.sender = connect(&self.target).await?;
                self.connects += 1;
                bail!("no answer within {limit:?}")
            }
        }
    }

    async fn exchange_inner(&mut self, method: &str, name: Option<&str>, params: &str) -> Result<(Answer, HeaderMap)> {
        self.next_id += 1;
        let id = self.next_id;
        let body = self.body(id, method, params);
        let request = self.request(method, name, body)?;
        let start = Instant::now();
        let response = self.send(request).await?;
        let status = response.status();
        let (head, body) = response.into_parts();
        let is_sse = head
            .headers
            .get(header::CONTENT_TYPE)
            .and_then(|v| v.to_str().ok())
            .is_some_and(|v| v.starts_with("text/event-stream"));
        if status != StatusCode::OK {
            let body = body.collect().await.map(|b| b.to_bytes()).unwrap_or_default();
            bail!("{method}: HTTP {status} {}", clip(&String::from_utf8_lossy(&body)));
        }
        let answer = if is_sse {
            read_events(body, id, start).await?
        } else {
            let body = body.collect().await?.to_bytes();
            Answer {
                latency: start.elapsed(),
                wire_bytes: body.len(),
                body,
            }
        };
        Ok((answer, head.headers))
    }

    fn body(&self, id: u64, method: &str, params: &str) -> Bytes {
        let meta = if self.target.0.modern {
            let comma = if params.trim() == "{}" { "" } else { "," };
            format!(
                r#"{{"_meta":{{"{}":"{}","{}":{{"name":"mcp-load","version":"{}"}},"{}":{}}}{comma}"#,
                proto::META_VERSION,
                self.target.0.protocol,
                proto::META_CLIENT,
                env!("CARGO_PKG_VERSION"),
                proto::META_CAPABILITIES,
                self.target.0.capabilities,
            )
        } else {
            "{".into()
        };
        let rest = params.trim_start().strip_prefix('{').unwrap_or("}");
        Bytes::from(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{meta}{rest}}}"#
        ))
    }

    fn request(&self, method: &str, name: Option<&str>, body: Bytes) -> Result<Request<Full<Bytes>>> {
        let inner = &self.target.0;
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = inner.path.clone();
        let headers = request.headers_mut();
        *headers = inner.headers.clone();
        if method != "initialize" {
            headers.insert(
                HeaderName::from_static(proto::HDR_VERSION),
                HeaderValue::from_str(&inner.protocol)?,
            );
        }
        if let Some(id) = &self.id {
            headers.insert(HeaderName::from_static(proto::HDR_SESSION), id.clone());
        }
        if inner.modern {
            headers.insert(
                HeaderName::from_static(proto::HDR_METHOD),
                HeaderValue::from_str(method)?,
            );
            if let Some(name) = name {
                headers.insert(HeaderName::from_static(proto::HDR_NAME), HeaderValue::from_str(name)?);
            }
        }
        Ok(request)
    }

    async fn send(&mut self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>> {
        if self.sender.ready().await.is_err() {
            self.sender = connect(&self.target).await?;
            self.connects += 1;
        }
        Ok(self.sender.send_request(request).await?)
    }

    /// Ends the session the way a client should.
    pub(crate) async fn close(mut self) {
        if self.id.is_none() {
            return;
        }
        let Ok(mut request) = self.request("", None, Bytes::new()) else {
            return;
        };
        *request.method_mut() = Method::DELETE;
        let _ = tokio::time::timeout(Duration::from_secs(1), self.send(request)).await;
    }
}

async fn connect(target: &Target) -> Result<SendRequest<Full<Bytes>>> {
    let stream = TcpStream::connect(&target.0.address).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = http1::Builder::new()
        .max_buf_size(16 * 1024 * 1024)
        .handshake(TokioIo::new(stream))
        .await?;
    tokio::spawn(connection);
    Ok(sender)
}

/// Reads an event stream until the answer to `id`, then to its end, so that the
/// connection can be used again.
async fn read_events(mut body: Incoming, id: u64, start: Instant) -> Result<Answer> {
    let mut buffer = BytesMut::new();
    let mut wire_bytes = 0;
    let mut found = None;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else {
            continue;
        };
        wire_bytes += data.len();
        if found.is_some() {
            continue;
        }
        // A message may arrive in many frames: look for the end of an event
        // only where the new bytes could have completed one.
        let from = buffer.len().saturating_sub(3);
        buffer.extend_from_slice(&data);
        let mut from = from;
        while let Some((end, next)) = event_end(&buffer, from) {
            let event = buffer.split_to(next);
            from = 0;
            if let Some(message) = event_data(&event[..end])
                && is_answer(&message, id)
            {
                found = Some((message, start.elapsed()));
                break;
            }
        }
    }
    let (body, latency) = found.ok_or_else(|| anyhow!("event stream ended without the answer"))?;
    Ok(Answer {
        body,
        latency,
        wire_bytes,
    })
}

/// Finds the blank line that ends an event: (length of the event, start of the
/// next one).
fn event_end(buffer: &[u8], from: usize) -> Option<(usize, usize)> {
    let mut i = from;
    while let Some(at) = buffer[i..].iter().position(|b| *b == b'\n').map(|p| p + i) {
        match buffer.get(at + 1) {
            Some(b'\n') => return Some((at, at + 2)),
            Some(b'\r') if buffer.get(at + 2) == Some(&b'\n') => return Some((at, at + 3)),
            _ => i = at + 1,
        }
    }
    None
}

/// The joined `data` fields of one event.
fn event_data(event: &[u8]) -> Option<Bytes> {
    let mut out = BytesMut::new();
    for line in event.split(|b| *b == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some(data) = line.strip_prefix(b"data:") {
            if !out.is_empty() {
                out.extend_from_slice(b"\n");
            }
            out.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
        }
    }
    (!out.is_empty()).then(|| out.freeze())
}

fn is_answer(message: &[u8], id: u64) -> bool {
    serde_json::from_slice::<Message<'_>>(message).is_ok_and(|m| {
        (m.result.is_some() || m.error.is_some()) && m.id.and_then(|i| i.get().parse::<u64>().ok()) == Some(id)
    })
}

/// At most 200 characters of a server's text.
pub(crate) fn clip(s: &str) -> String {
    s.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_end_at_a_blank_line_of_either_kind() {
        assert_eq!(event_end(b"data: a\n\nrest", 0), Some((7, 9)));
        assert_eq!(event_end(b"data: a\r\n\r\nrest", 0), Some((8, 11)));
        assert_eq!(event_end(b"data: a\n", 0), None);
        assert_eq!(event_end(b"event: m\ndata: a\n\n", 0), Some((16, 18)));
    }

    #[test]
    fn event_data_joins_lines_and_skips_other_fields() {
        assert_eq!(
            event_data(b"event: message\r\ndata: {\r\ndata: }\r").as_deref(),
            Some(&b"{\n}"[..])
        );
        assert_eq!(event_data(b": ping"), None);
    }

    #[test]
    fn only_the_answer_with_our_id_counts() {
        assert!(is_answer(br#"{"jsonrpc":"2.0","id":7,"result":{}}"#, 7));
        assert!(!is_answer(br#"{"jsonrpc":"2.0","id":8,"result":{}}"#, 7));
        assert!(!is_answer(br#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#, 7));
    }

    #[test]
    fn pages_are_counted() {
        let p = parse_page(r#"{"tools":[{"a":1},{}],"nextCursor":"1"}"#).unwrap();
        assert_eq!((p.tools, p.next.as_deref()), (2, Some("1")));
    }
}
