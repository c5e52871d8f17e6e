//! A scripted server that speaks over pipes, over streamable HTTP or over HTTP+SSE: one script, three transports.
//!
//! Over pipes the child process only relays between its pipes and a socket of this process.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use countersign_core::secret::Secret;
use countersign_core::server::{EnvMode, Transport};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex as Turn, watch};

/// Copies both ways. The end of the socket closes the output; a reset socket is a crash.
const RELAY: &str = r#"
exec 3<>/dev/tcp/127.0.0.1/$0
{ cat <&3 || kill -9 $$; } &
exec 1>&-
cat >&3
"#;

/// How messages travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Stdio,
    Http,
    Sse,
}

impl Wire {
    pub(crate) const ALL: [Self; 3] = [Self::Stdio, Self::Http, Self::Sse];
}

/// One step of what is done with a request.
#[derive(Debug, Clone)]
pub(crate) enum Do {
    /// Answers with a result.
    Answer(Value),
    /// Answers with an error of this code.
    Refuse(i64),
    /// Says something else first, on the way that the answer takes.
    Say(String),
    /// Never answers.
    Stall,
    /// Writes half of the answer, and then nothing.
    Half,
    /// Writes half of the answer and ends what it writes; it reads on.
    HalfClose,
    /// Breaks the connection.
    Reset,
    /// Answers with a result of so many bytes; the id stands before or after it.
    Large(usize, IdAt),
    /// An HTTP status without a body.
    Status(u16),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdAt {
    Front,
    Back,
    Nowhere,
}

/// One message as it came.
#[derive(Debug, Clone)]
pub(crate) struct Got {
    pub(crate) verb: String,
    pub(crate) session: Option<String>,
    pub(crate) body: Value,
}

impl Got {
    pub(crate) fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    /// The tool that is called.
    pub(crate) fn tool(&self) -> &str {
        if self.method() == "tools/call" {
            self.body["params"]["name"].as_str().unwrap_or_default()
        } else {
            ""
        }
    }
}

type Script = dyn Fn(&Got) -> Option<Vec<Do>> + Send + Sync;
type Writer = Arc<Turn<OwnedWriteHalf>>;

struct State {
    wire: Wire,
    script: Box<Script>,
    tools: Mutex<Value>,
    got: Mutex<Vec<Got>>,
    count: watch::Sender<usize>,
    sessions: Mutex<BTreeSet<String>>,
    opened: Mutex<usize>,
    calls: Mutex<u64>,
    /// Where messages of its own accord go: pipes, GET streams. By the number of the connection.
    streams: Mutex<BTreeMap<usize, Writer>>,
    streamed: watch::Sender<usize>,
    /// Rises when every connection is broken.
    broken: watch::Sender<u64>,
    /// Open halves that nobody else keeps.
    kept: Mutex<Vec<Writer>>,
    has_stream: bool,
}

/// A scripted server.
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
    listening: Mutex<Option<tokio::task::JoinHandle<()>>>,
}

impl Peer {
    pub(crate) async fn start(wire: Wire, script: impl Fn(&Got) -> Option<Vec<Do>> + Send + Sync + 'static) -> Self {
        Self::with_stream(wire, true, script).await
    }

    pub(crate) async fn with_stream(
        wire: Wire,
        has_stream: bool,
        script: impl Fn(&Got) -> Option<Vec<Do>> + Send + Sync + 'static,
    ) -> Self {
        let state = Arc::new(State {
            wire,
            script: Box::new(script),
            tools: Mutex::new(json!([{"name": "count", "inputSchema": {"type": "object"}}])),
            got: Mutex::default(),
            count: watch::Sender::new(0),
            sessions: Mutex::default(),
            opened: Mutex::new(0),
            calls: Mutex::new(0),
            streams: Mutex::default(),
            streamed: watch::Sender::new(0),
            broken: watch::Sender::new(0),
            kept: Mutex::default(),
            has_stream,
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let listening = Mutex::new(Some(tokio::spawn(accept(listener, Arc::clone(&state)))));
        Self {
            address,
            state,
            listening,
        }
    }

    /// How a catalogue reaches it.
    pub(crate) fn transport(&self) -> Transport {
        let url = Secret::plain(format!("http://{}/mcp", self.address));
        match self.state.wire {
            Wire::Stdio => Transport::Stdio {
                command: Secret::plain("bash"),
                args: vec![
                    Secret::plain("-c"),
                    Secret::plain(RELAY),
                    Secret::plain(self.address.port().to_string()),
                ],
                env: BTreeMap::new(),
                env_mode: EnvMode::Clean,
                env_passthrough: Vec::new(),
                cwd: None,
            },
            Wire::Http => Transport::Http {
                url,
                headers: BTreeMap::new(),
            },
            Wire::Sse => Transport::Sse {
                url,
                headers: BTreeMap::new(),
            },
        }
    }

    pub(crate) fn got(&self) -> Vec<Got> {
        self.state.got.lock().unwrap().clone()
    }

    pub(crate) fn of_method(&self, method: &str) -> Vec<Got> {
        self.got().into_iter().filter(|got| got.method() == method).collect()
    }

    pub(crate) fn calls_of(&self, tool: &str) -> usize {
        self.got().iter().filter(|got| got.tool() == tool).count()
    }

    pub(crate) fn verbs(&self, verb: &str) -> usize {
        self.got().iter().filter(|got| got.verb == verb).count()
    }

    /// How many calls were carried out.
    pub(crate) fn counted(&self) -> u64 {
        *self.state.calls.lock().unwrap()
    }

    pub(crate) fn set_tools(&self, tools: Value) {
        *self.state.tools.lock().unwrap() = tools;
    }

    /// Waits until what came satisfies a condition.
    pub(crate) async fn until(&self, what: &str, holds: impl Fn(&[Got]) -> bool) {
        let mut count = self.state.count.subscribe();
        soon(what, async {
            while !holds(&self.got()) {
                count.changed().await.unwrap();
            }
        })
        .await;
    }

    /// Says something of its own accord on every stream, once there is one.
    pub(crate) async fn say(&self, messages: &[Value]) {
        let mut streamed = self.state.streamed.subscribe();
        soon("a stream", streamed.wait_for(|streams| *streams > 0))
            .await
            .unwrap();
        let streams: Vec<Writer> = self.state.streams.lock().unwrap().values().cloned().collect();
        for stream in streams {
            let text: String = messages
                .iter()
                .map(|message| framed(self.state.wire, &message.to_string()))
                .collect();
            stream.lock().await.write_all(text.as_bytes()).await.ok();
        }
    }

    /// Breaks every connection and forgets every session, as a new instance of it would.
    pub(crate) fn redeploy(&self) {
        self.state.sessions.lock().unwrap().clear();
        self.break_all();
    }

    pub(crate) fn break_all(&self) {
        self.state.streams.lock().unwrap().clear();
        self.state.streamed.send_replace(0);
        self.state.kept.lock().unwrap().clear();
        self.state.broken.send_modify(|times| *times += 1);
    }

    /// Nothing listens any more, and every connection breaks.
    pub(crate) async fn close(&self) {
        let listening = self.listening.lock().unwrap().take();
        if let Some(listening) = listening {
            listening.abort();
            listening.await.ok();
        }
        self.redeploy();
    }

    /// Listens again at the same address.
    pub(crate) async fn open(&self) {
        let listener = TcpListener::bind(self.address).await.unwrap();
        let listening = tokio::spawn(accept(listener, Arc::clone(&self.state)));
        *self.listening.lock().unwrap() = Some(listening);
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if let Some(listening) = self.listening.lock().unwrap().take() {
            listening.abort();
        }
        self.break_all();
    }
}

/// Waits for what must come; a test that waits in vain fails instead of hanging.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), future)
        .await
        .unwrap_or_else(|_| panic!("never happened: {what}"))
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    for number in 0.. {
        let Ok((socket, _)) = listener.accept().await else {
            return;
        };
        socket.set_nodelay(true).unwrap();
        // A connection that is dropped is reset; one that ends in order is shut down first.
        socket.set_zero_linger().unwrap();
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            let mut broken = state.broken.subscribe();
            tokio::select! {
                _done = state.serve(socket, number) => {}
                _changed = broken.changed() => {}
            }
            state.streams.lock().unwrap().remove(&number);
        });
    }
}

fn framed(wire: Wire, message: &str) -> String {
    match wire {
        Wire::Stdio => format!("{message}\n"),
        Wire::Http | Wire::Sse => format!("event: message\ndata: {message}\n\n"),
    }
}

impl State {
    async fn serve(self: &Arc<Self>, socket: TcpStream, number: usize) -> std::io::Result<()> {
        let (reader, writer) = socket.into_split();
        let writer = Arc::new(Turn::new(writer));
        match self.wire {
            Wire::Stdio => self.serve_lines(reader, writer, number).await,
            Wire::Http | Wire::Sse => self.serve_http(reader, writer, number).await,
        }
    }

    fn note(&self, got: &Got) {
        self.got.lock().unwrap().push(got.clone());
        self.count.send_modify(|count| *count += 1);
    }

    fn add_stream(&self, number: usize, writer: &Writer) {
        let mut streams = self.streams.lock().unwrap();
        streams.insert(number, Arc::clone(writer));
        self.streamed.send_replace(streams.len());
    }

    async fn serve_lines(&self, reader: OwnedReadHalf, writer: Writer, number: usize) -> std::io::Result<()> {
        self.add_stream(number, &writer);
        let mut lines = BufReader::new(reader).lines();
        while let Some(line) = lines.next_line().await? {
            let got = Got {
                verb: "LINE".to_owned(),
                session: None,
                body: serde_json::from_str(&line).unwrap_or(Value::Null),
            };
            self.note(&got);
            if got.body["id"].is_null() || got.method().is_empty() {
                continue;
            }
            for step in self.steps(&got) {
                if !self.write(&writer, &got.body["id"], step).await? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Does one step on a stream of messages; `false`: the connection breaks.
    async fn write(&self, writer: &Writer, id: &Value, step: Do) -> std::io::Result<bool> {
        let mut out = writer.lock().await;
        match step {
            Do::Answer(result) => {
                let text = framed(self.wire, &answer(id, &result));
                out.write_all(text.as_bytes()).await?;
            }
            Do::Refuse(code) => {
                let text = framed(self.wire, &refusal(id, code));
                out.write_all(text.as_bytes()).await?;
            }
            Do::Say(text) => out.write_all(framed(self.wire, &text).as_bytes()).await?,
            Do::Stall | Do::Status(_) => {}
            Do::Half | Do::HalfClose => {
                let text = framed(self.wire, &answer(id, &json!({"text": "y".repeat(100)})));
                out.write_all(&text.as_bytes()[..text.len() / 2]).await?;
                if matches!(step, Do::HalfClose) {
                    out.shutdown().await?;
                }
            }
            Do::Reset => {
                drop(out);
                return Ok(false);
            }
            Do::Large(size, at) => {
                let (before, after) = large(id, at);
                let (open, close) = match self.wire {
                    Wire::Stdio => ("", "\n"),
                    Wire::Http | Wire::Sse => ("data: ", "\n\n"),
                };
                out.write_all(format!("{open}{before}").as_bytes()).await?;
                fill(&mut out, size).await?;
                out.write_all(format!("{after}{close}").as_bytes()).await?;
            }
        }
        Ok(true)
    }

    async fn serve_http(self: &Arc<Self>, reader: OwnedReadHalf, writer: Writer, number: usize) -> std::io::Result<()> {
        let mut reader = BufReader::new(reader);
        while let Some(got) = request(&mut reader).await? {
            self.note(&got);
            match (got.verb.as_str(), self.wire) {
                ("GET", wire) if self.has_stream || wire == Wire::Sse => {
                    let known = got
                        .session
                        .as_ref()
                        .is_none_or(|id| self.sessions.lock().unwrap().contains(id));
                    if wire == Wire::Http && !known {
                        respond(&writer, 404, "", "").await?;
                        continue;
                    }
                    let mut head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n".to_owned();
                    if wire == Wire::Sse {
                        head.push_str(&format!("event: endpoint\ndata: /messages?s={number}\n\n"));
                    }
                    writer.lock().await.write_all(head.as_bytes()).await?;
                    self.add_stream(number, &writer);
                    // Nothing more is asked on this connection; its end is the caller's.
                    let mut rest = Vec::new();
                    reader.read_to_end(&mut rest).await?;
                    return Ok(());
                }
                ("GET", _) => respond(&writer, 405, "", "").await?,
                ("DELETE", _) => {
                    let id = got.session.unwrap_or_default();
                    self.sessions.lock().unwrap().remove(&id);
                    respond(&writer, 200, "", "").await?;
                }
                (_, Wire::Sse) => {
                    if !self.post(&got, &writer).await? {
                        return Ok(());
                    }
                }
                (_, _) => {
                    if !self.exchange(&got, &writer).await? {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// A message to an HTTP+SSE server: accepted here, answered on the stream that named the endpoint.
    async fn post(self: &Arc<Self>, got: &Got, writer: &Writer) -> std::io::Result<bool> {
        let stream: usize = got
            .session
            .as_deref()
            .and_then(|id| id.parse().ok())
            .unwrap_or(usize::MAX);
        let stream_writer = self.streams.lock().unwrap().get(&stream).cloned();
        let Some(stream_writer) = stream_writer else {
            respond(writer, 404, "", "").await?;
            return Ok(true);
        };
        let steps = if got.body["id"].is_null() || got.method().is_empty() {
            Vec::new()
        } else {
            self.steps(got)
        };
        if let Some(Do::Status(status)) = steps.first() {
            respond(writer, *status, "", "").await?;
            return Ok(true);
        }
        respond(writer, 202, "", "").await?;
        for step in steps {
            if !self.write(&stream_writer, &got.body["id"], step).await? {
                // The stream breaks, as it does when its process ends; so do the connections for messages.
                self.streams.lock().unwrap().remove(&stream);
                self.broken.send_modify(|times| *times += 1);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A message to a streamable HTTP server.
    async fn exchange(&self, got: &Got, writer: &Writer) -> std::io::Result<bool> {
        let known = got
            .session
            .as_ref()
            .is_none_or(|id| self.sessions.lock().unwrap().contains(id));
        if !known {
            respond(writer, 404, "", "").await?;
            return Ok(true);
        }
        if got.body["id"].is_null() || got.method().is_empty() {
            respond(writer, 202, "", "").await?;
            return Ok(true);
        }
        let id = &got.body["id"];
        let mut events = String::new();
        for step in self.steps(got) {
            match step {
                Do::Say(text) => events.push_str(&framed(self.wire, &text)),
                Do::Answer(result) if !events.is_empty() => {
                    events.push_str(&framed(self.wire, &answer(id, &result)));
                    respond(writer, 200, "Content-Type: text/event-stream\r\n", &events).await?;
                }
                Do::Answer(result) => {
                    let session = if got.method() == "initialize" {
                        self.open_session()
                    } else {
                        String::new()
                    };
                    respond(writer, 200, &format!("{JSON}{session}"), &answer(id, &result)).await?;
                }
                Do::Refuse(code) => respond(writer, 200, JSON, &refusal(id, code)).await?,
                Do::Status(status) => respond(writer, status, "", "").await?,
                Do::Stall => {}
                Do::Half | Do::HalfClose => {
                    let text = answer(id, &json!({"text": "y".repeat(100)}));
                    let head = format!("HTTP/1.1 200 OK\r\n{JSON}Content-Length: {}\r\n\r\n", text.len());
                    let mut out = writer.lock().await;
                    out.write_all(head.as_bytes()).await?;
                    out.write_all(&text.as_bytes()[..text.len() / 2]).await?;
                    if matches!(step, Do::HalfClose) {
                        out.shutdown().await?;
                    }
                    drop(out);
                    self.kept.lock().unwrap().push(Arc::clone(writer));
                }
                Do::Reset => return Ok(false),
                Do::Large(size, at) => {
                    let (before, after) = large(id, at);
                    let length = before.len() + size + after.len();
                    let head = format!("HTTP/1.1 200 OK\r\n{JSON}Content-Length: {length}\r\n\r\n{before}");
                    let mut out = writer.lock().await;
                    out.write_all(head.as_bytes()).await?;
                    fill(&mut out, size).await?;
                    out.write_all(after.as_bytes()).await?;
                }
            }
        }
        Ok(true)
    }

    fn open_session(&self) -> String {
        let mut opened = self.opened.lock().unwrap();
        *opened += 1;
        let id = format!("s{opened}");
        self.sessions.lock().unwrap().insert(id.clone());
        format!("Mcp-Session-Id: {id}\r\n")
    }

    /// What is done with a request: as the script says, else as a good server does.
    fn steps(&self, got: &Got) -> Vec<Do> {
        if let Some(steps) = (self.script)(got) {
            return steps;
        }
        let version = if self.wire == Wire::Sse {
            "2024-11-05"
        } else {
            "2025-11-25"
        };
        let result = match got.method() {
            "initialize" => json!({
                "protocolVersion": version,
                "capabilities": {"tools": {"listChanged": true}, "resources": {"subscribe": true}},
                "serverInfo": {"name": "peer", "version": "1"}
            }),
            "tools/list" => json!({"tools": *self.tools.lock().unwrap()}),
            "resources/list" => json!({"resources": []}),
            "resources/templates/list" => json!({"resourceTemplates": []}),
            "resources/subscribe" | "resources/unsubscribe" => json!({}),
            "tools/call" => {
                let mut calls = self.calls.lock().unwrap();
                *calls += 1;
                json!({"content": [], "structuredContent": {"count": *calls}})
            }
            _ => return vec![Do::Refuse(-32601)],
        };
        vec![Do::Answer(result)]
    }
}

const JSON: &str = "Content-Type: application/json\r\n";

fn answer(id: &Value, result: &Value) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

fn refusal(id: &Value, code: i64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"no"}}}}"#)
}

/// What stands around a large text.
fn large(id: &Value, at: IdAt) -> (String, String) {
    match at {
        IdAt::Front => (
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"text":""#),
            r#""}}"#.to_owned(),
        ),
        IdAt::Back => (
            r#"{"result":{"text":""#.to_owned(),
            format!(r#""}},"id":{id},"jsonrpc":"2.0"}}"#),
        ),
        IdAt::Nowhere => (r#"[{"result":{"text":""#.to_owned(), format!(r#""}},"id":{id}}}]"#)),
    }
}

async fn fill(out: &mut OwnedWriteHalf, size: usize) -> std::io::Result<()> {
    let chunk = vec![b'y'; 64 * 1024];
    let mut left = size;
    while left > 0 {
        let part = left.min(chunk.len());
        out.write_all(&chunk[..part]).await?;
        left -= part;
    }
    Ok(())
}

async fn respond(writer: &Writer, status: u16, head: &str, body: &str) -> std::io::Result<()> {
    let text = format!(
        "HTTP/1.1 {status} Said\r\n{head}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    writer.lock().await.write_all(text.as_bytes()).await
}

/// The next request of a connection. A number in the address stands for the session of HTTP+SSE.
async fn request(reader: &mut BufReader<OwnedReadHalf>) -> std::io::Result<Option<Got>> {
    let mut head = String::new();
    loop {
        let before = head.len();
        if reader.read_line(&mut head).await? == 0 {
            return Ok(None);
        }
        if head.len() == before + 2 {
            break;
        }
    }
    let header = |wanted: &str| {
        let mut pairs = head.lines().filter_map(|line| line.split_once(':'));
        let found = pairs.find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| value.trim().to_owned())
    };
    let length = header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).await?;
    let mut words = head.split(' ');
    let verb = words.next().unwrap_or_default().to_owned();
    let in_address = words
        .next()
        .and_then(|target| target.split_once("?s="))
        .map(|(_, id)| id.to_owned());
    Ok(Some(Got {
        verb,
        session: header("mcp-session-id").or(in_address),
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    }))
}
