//! A gateway on a free port, and a client that writes raw HTTP.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use countersign_core::catalogue::Naming;
use countersign_core::principal::Principal;
use countersign_core::server::ServerEntry;
use countersign_core::surface::Surface;
use countersign_edge::{Edge, Settings};
use countersign_engine::{Engine, UpstreamSettings};
use countersign_store::Ledger;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

/// Nothing here takes long; what takes longer hangs.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

pub(crate) struct Gateway {
    pub(crate) address: SocketAddr,
    pub(crate) metrics: SocketAddr,
    pub(crate) edge: Edge,
    pub(crate) ledger: Ledger,
    stop: CancellationToken,
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

pub(crate) fn direct() -> Settings {
    Settings {
        surfaces: vec![Surface::Direct],
        ..Settings::default()
    }
}

pub(crate) async fn engine(entries: &[Arc<ServerEntry>]) -> (Arc<Engine>, Ledger) {
    let ledger = Ledger::memory();
    let settings = countersign_engine::Settings {
        naming: Naming {
            prefix: "x".to_owned(),
            max_length: 64,
        },
        presets: Arc::default(),
        upstream: UpstreamSettings {
            connect_timeout: LIMIT,
            call_timeout: LIMIT,
            response_bytes: 10_000_000,
            idle: Duration::from_secs(3600),
            warden: None,
            vault_key: None,
        },
        listed_as: Principal::local().key().clone(),
        debounce: Duration::from_millis(20),
        pages: None,
        shown: Arc::new(Value::Null),
        hash: "none".to_owned(),
        workflows: countersign_engine::Workflows::default(),
    };
    (Engine::start(settings, entries, ledger.clone()), ledger)
}

impl Gateway {
    pub(crate) async fn start(settings: Settings, entries: &[Arc<ServerEntry>]) -> Self {
        let (engine, ledger) = engine(entries).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
        let metrics = TcpListener::bind("127.0.0.1:0").await.expect("binds");
        let (address, metrics_address) = (
            listener.local_addr().expect("bound"),
            metrics.local_addr().expect("bound"),
        );
        let (edge, stop) = (Edge::new(engine, settings), CancellationToken::new());
        let (serving, stopped) = (edge.clone(), stop.clone());
        tokio::spawn(async move { serving.serve(listener, Some(metrics), stopped).await.expect("serves") });
        Self {
            address,
            metrics: metrics_address,
            edge,
            ledger,
            stop,
        }
    }

    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    /// One request with exactly these header lines besides `Content-Length`.
    pub(crate) async fn raw(&self, target: &str, lines: &[&str], body: &str) -> Response {
        exchange(self.address, target, lines, body.as_bytes()).await
    }

    /// `POST /mcp` with usual headers and some more.
    pub(crate) async fn post(&self, more: &[&str], body: &str) -> Response {
        self.raw("POST /mcp", &self.usual(more), body).await
    }

    pub(crate) fn host(&self) -> String {
        format!("Host: {}", self.address)
    }

    pub(crate) fn usual<'a>(&self, more: &[&'a str]) -> Vec<&'a str> {
        let host: &'static str = Box::leak(self.host().into_boxed_str());
        let mut lines = vec![
            host,
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
        ];
        lines.extend(more);
        lines
    }

    /// A session of the newest legacy version, as its header line.
    pub(crate) async fn session(&self) -> &'static str {
        self.session_with("2025-11-25", "{}").await
    }

    pub(crate) async fn session_with(&self, version: &str, capabilities: &str) -> &'static str {
        let response = self.post(&[], &initialize(version, capabilities)).await;
        assert_eq!(response.status, 200, "{response:?}");
        let line = format!(
            "Mcp-Session-Id: {}",
            response.header("mcp-session-id").expect("a session id")
        );
        Box::leak(line.into_boxed_str())
    }

    /// A modern request; `params` are its members besides `_meta`.
    pub(crate) async fn modern(&self, method: &str, name: Option<&str>, params: &str) -> Response {
        let mut lines = vec![
            format!("MCP-Protocol-Version: 2026-07-28"),
            format!("Mcp-Method: {method}"),
        ];
        lines.extend(name.map(|name| format!("Mcp-Name: {name}")));
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        self.post(&lines, &modern(method, params)).await
    }

    /// Opens a stream and gives the connection to read it from.
    pub(crate) async fn stream(&self, target: &str, lines: &[&str], body: &str) -> Events {
        let mut socket = TcpStream::connect(self.address).await.expect("connects");
        socket
            .write_all(&request(target, lines, body.as_bytes()))
            .await
            .expect("writes");
        Events {
            socket,
            seen: Vec::new(),
            at: 0,
        }
    }
}

pub(crate) fn initialize(version: &str, capabilities: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{capabilities},"clientInfo":{{"name":"t","version":"1"}}}}}}"#
    )
}

pub(crate) fn modern(method: &str, params: &str) -> String {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let params = if params.is_empty() {
        meta.to_owned()
    } else {
        format!("{params},{meta}")
    };
    format!(r#"{{"jsonrpc":"2.0","id":"m-1","method":"{method}","params":{{{params}}}}}"#)
}

pub(crate) fn call(id: &str, name: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}","arguments":{arguments}}}}}"#
    )
}

fn request(target: &str, lines: &[&str], body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{target} HTTP/1.1\r\n").into_bytes();
    for line in lines {
        bytes.extend_from_slice(line.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    if !body.is_empty() || target.starts_with("POST") {
        bytes.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    bytes
}

pub(crate) async fn exchange(address: SocketAddr, target: &str, lines: &[&str], body: &[u8]) -> Response {
    let mut socket = TcpStream::connect(address).await.expect("connects");
    let mut lines = lines.to_vec();
    lines.push("Connection: close");
    let bytes = request(target, &lines, body);
    let exchange = async {
        // A request that is refused early may not be read to its end.
        socket.write_all(&bytes).await.ok();
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).await.ok();
        Response::parse(&answer)
    };
    tokio::time::timeout(LIMIT, exchange).await.expect("answers in time")
}

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Response {
    fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let mut lines = head.split("\r\n");
        let status = lines
            .next()
            .and_then(|line| line.split(' ').nth(1))
            .and_then(|code| code.parse().ok());
        let headers: Vec<_> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let is_chunked = headers
            .iter()
            .any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        let body = if is_chunked { unchunked(body) } else { body.to_owned() };
        Self {
            status: status.unwrap_or(0),
            headers,
            body,
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(header, _)| header == name)
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn code(&self) -> i64 {
        self.json()["error"]["code"]
            .as_i64()
            .unwrap_or_else(|| panic!("no error: {self:?}"))
    }

    pub(crate) fn result(&self) -> Value {
        let json = self.json();
        assert!(json.get("result").is_some(), "no result: {self:?}");
        json["result"].clone()
    }

    /// The messages of an event stream.
    pub(crate) fn events(&self) -> Vec<Value> {
        events_of(&self.body)
    }
}

fn events_of(text: &str) -> Vec<Value> {
    // The first event of a stream that can be taken up again has an id and no data.
    let data = text
        .split("\n\n")
        .filter_map(|event| event.lines().find_map(|line| line.strip_prefix("data:")))
        .filter(|data| !data.is_empty());
    data.map(|data| serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}")))
        .collect()
}

fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((length, rest)) = body.split_once("\r\n") {
        let length = usize::from_str_radix(length.trim(), 16).unwrap_or(0);
        if length == 0 {
            break;
        }
        whole.push_str(rest.get(..length).unwrap_or(rest));
        body = rest.get(length + 2..).unwrap_or("");
    }
    whole
}

/// A response that is read while it comes.
pub(crate) struct Events {
    socket: TcpStream,
    seen: Vec<u8>,
    at: usize,
}

impl Events {
    async fn more(&mut self) -> bool {
        let mut buffer = [0; 4096];
        let length = tokio::time::timeout(LIMIT, self.socket.read(&mut buffer))
            .await
            .expect("says something in time");
        let length = length.unwrap_or(0);
        self.seen.extend_from_slice(&buffer[..length]);
        length > 0
    }

    /// The head, once it is there.
    pub(crate) async fn head(&mut self) -> Response {
        while !self.seen.windows(4).any(|window| window == b"\r\n\r\n") {
            assert!(self.more().await, "the connection ended before the head");
        }
        Response::parse(&self.seen)
    }

    /// Waits for so many comments.
    pub(crate) async fn beats(&mut self, count: usize) {
        let beats = |seen: &[u8]| seen.windows(3).filter(|window| *window == b":\n\n").count();
        while beats(&self.seen) < count {
            assert!(self.more().await, "the stream ended");
        }
    }

    /// The next message of that method; servers are listed while streams are open, so that others may come first.
    pub(crate) async fn next_of(&mut self, method: &str) -> Value {
        loop {
            let message = self.next().await.expect("a message");
            if message["method"] == method {
                return message;
            }
        }
    }

    /// The next message that tells of no list.
    pub(crate) async fn next_but_lists(&mut self) -> Option<Value> {
        loop {
            let message = self.next().await?;
            if !message["method"]
                .as_str()
                .is_some_and(|method| method.ends_with("/list_changed"))
            {
                return Some(message);
            }
        }
    }

    /// The next message; `None` when the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        self.head().await;
        loop {
            let events = Response::parse(&self.seen).complete_events();
            if let Some(event) = events.get(self.at) {
                self.at += 1;
                return Some(event.clone());
            }
            if self.seen.ends_with(b"0\r\n\r\n") || !self.more().await {
                return None;
            }
        }
    }
}

impl Response {
    fn complete_events(&self) -> Vec<Value> {
        let complete = self
            .body
            .rfind("\n\n")
            .map_or("", |end| self.body.get(..end + 2).unwrap_or_default());
        events_of(complete)
    }
}
