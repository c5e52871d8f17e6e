//! Entries, recorded calls and scripted servers for the tests.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use countersign_core::admit::{self, Admission, Ask, Origin, Rules, View, World};
use countersign_core::catalogue::{Availability, Catalogue, Naming, Parts, Server};
use countersign_core::definition::ToolDefinition;
use countersign_core::effect::AnnotationTrust;
use countersign_core::exact::{Digest, Exact};
use countersign_core::listing::{Capabilities, Listing};
use countersign_core::names::ServerName;
use countersign_core::principal::{Authentication, Caller, Endpoint, Principal};
use countersign_core::secret::Secret;
use countersign_core::server::{EnvMode, ServerEntry, Sharing, Start, Transport};
use countersign_core::stages::{Pins, Rights, Toolset, WriteGate};
use countersign_core::time::Millis;
use countersign_store::{End, Ledger, Recorded};
use countersign_upstream::{Abilities, Answer, Event, Messages, Passage, Settings, Upstreams, way};
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

/// What the tests call.
pub(crate) struct Bench {
    pub(crate) upstreams: Upstreams,
    pub(crate) events: mpsc::Receiver<Event>,
    pub(crate) entry: Arc<ServerEntry>,
}

/// The caller's end of one call.
pub(crate) struct CallerEnd {
    pub(crate) inbox: Messages,
    pub(crate) cancel: CancellationToken,
}

pub(crate) fn settings() -> Settings {
    Settings {
        connect_timeout: Duration::from_secs(20),
        call_timeout: Duration::from_secs(20),
        response_bytes: 1 << 20,
        idle: Duration::from_secs(3600),
        warden: None,
        vault_key: None,
    }
}

pub(crate) fn entry(transport: Transport) -> ServerEntry {
    ServerEntry {
        name: ServerName::parse("fake").unwrap(),
        labels: BTreeMap::new(),
        tool_prefix: None,
        description: None,
        timeout: None,
        start: Start::Boot,
        trust: AnnotationTrust::Trusted,
        sharing: Sharing::PerPrincipal,
        auth: countersign_core::server::Auth::None,
        access: Vec::new(),
        family: None,
        private_network: countersign_core::server::PrivateNetwork::Allowed,
        transport,
        digest: Digest::of(b"1"),
    }
}

pub(crate) fn http(url: &str) -> Transport {
    Transport::Http {
        url: Secret::plain(url),
        headers: BTreeMap::new(),
    }
}

/// The scripted child; `mode` says how it behaves.
pub(crate) fn child(mode: &str) -> Transport {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/all/scripted.py");
    Transport::Stdio {
        command: Secret::plain("python3"),
        args: vec![Secret::plain(script), Secret::plain(mode)],
        env: BTreeMap::from([("API_KEY".to_owned(), Secret::hidden("sesame-12345"))]),
        env_mode: EnvMode::Clean,
        env_passthrough: Vec::new(),
        cwd: None,
    }
}

pub(crate) fn principal(name: &str) -> Arc<Principal> {
    Arc::new(Principal::of(name, name, Authentication::LocalOnly))
}

pub(crate) fn passage() -> (Passage, CallerEnd) {
    let (to_caller, inbox) = way(64);
    let cancel = CancellationToken::new();
    let passage = Passage {
        abilities: Abilities {
            sampling: true,
            elicit_form: true,
            ..Abilities::default()
        },
        progress_token: None,
        log_level: None,
        meta: Vec::new(),
        extra: Vec::new(),
        to_caller,
        cancel: cancel.clone(),
    };
    (passage, CallerEnd { inbox, cancel })
}

impl Bench {
    pub(crate) fn new(entry: ServerEntry) -> Self {
        Self::with(entry, settings())
    }

    pub(crate) fn with(entry: ServerEntry, settings: Settings) -> Self {
        let (upstreams, events) = Upstreams::new(settings, Ledger::memory());
        let entry = Arc::new(entry);
        upstreams.apply(&[Arc::clone(&entry)]);
        Self {
            upstreams,
            events,
            entry,
        }
    }

    /// A call that was judged, settled and recorded. Tools named `look…` change nothing.
    pub(crate) async fn recorded(&self, who: &Arc<Principal>, tool: &str, arguments: &str) -> Recorded {
        self.recorded_ask(who, tool, |name| Ask::Tool {
            name,
            arguments: Exact::object(arguments).unwrap(),
        })
        .await
    }

    pub(crate) async fn recorded_ask(
        &self,
        who: &Arc<Principal>,
        tool: &str,
        ask: impl FnOnce(String) -> Ask,
    ) -> Recorded {
        let reads = tool.starts_with("look");
        let definition = format!(
            r#"{{"name":"{tool}","inputSchema":{{"type":"object","properties":{{"city":{{"type":"string","x-mcp-header":"City"}}}}}},"annotations":{{"readOnlyHint":{reads}}}}}"#
        );
        let capabilities = Capabilities {
            tools: true,
            resources: true,
            subscribe: true,
            ..Capabilities::default()
        };
        let listing = Listing {
            protocol: "2025-11-25".to_owned(),
            capabilities,
            tools: vec![Arc::new(ToolDefinition::parse(&definition).unwrap())],
            ..Listing::default()
        };
        let catalogue = Arc::new(Catalogue::build(Parts {
            workflows: Arc::default(),
            version: 1,
            naming: Naming {
                prefix: "x".to_owned(),
                max_length: 64,
            },
            servers: vec![Server {
                entry: Arc::clone(&self.entry),
                listing: Arc::new(listing),
                availability: Availability::Ready,
            }],
        }));
        let name = catalogue
            .tools()
            .iter()
            .find(|it| it.definition.name.as_str() == tool)
            .unwrap()
            .name
            .to_string();
        let rules = Arc::new(Rules {
            rights: Rights::Open { because: "test" },
            pins: Pins::Off { because: "test" },
            gate: WriteGate::Off { because: "test" },
            presets: Arc::default(),
        });
        let world = World {
            catalogue,
            rules,
            view: View::Whole { because: "test" },
            now: Millis(0),
        };
        let caller = Caller {
            principal: Arc::clone(who),
            endpoint: Endpoint::Main,
            toolset: Toolset::Unscoped { because: "test" },
        };
        let judged = admit::judge(&world, &caller, ask(name), Origin::Direct).unwrap();
        let Admission::Proceed(permit) = admit::settle(&world, judged);
        Ledger::memory().begin(permit, Millis(0)).await.unwrap()
    }

    pub(crate) async fn call_with(
        &self,
        who: &Arc<Principal>,
        tool: &str,
        arguments: &str,
        passage: Passage,
    ) -> Answer {
        let recorded = self.recorded(who, tool, arguments).await;
        let (answer, receipt) = self.upstreams.call(recorded, passage).await;
        let fate = countersign_core::outcome::Fate::Done;
        Ledger::memory().finish(receipt, End { fate, at: Millis(0) }).ok();
        answer
    }

    pub(crate) async fn call(&self, who: &Arc<Principal>, tool: &str, arguments: &str) -> Answer {
        let (passage, _end) = passage();
        self.call_with(who, tool, arguments, passage).await
    }

    pub(crate) async fn list(&self, who: &Arc<Principal>) -> Result<Listing, countersign_upstream::Error> {
        self.upstreams.list(&self.entry.name, who.key()).await
    }
}

/// The result of a call that has one.
pub(crate) fn result(answer: Answer) -> Value {
    match answer {
        Answer::Result(raw) => serde_json::from_str(raw.get()).unwrap(),
        other => panic!("no result: {other:?}"),
    }
}

/// Why the answer of a call was lost.
pub(crate) fn lost(answer: Answer) -> String {
    match answer {
        Answer::Lost { reason } => reason,
        other => panic!("not lost: {other:?}"),
    }
}

/// The text of a call that was not sent.
pub(crate) fn not_sent(answer: Answer) -> String {
    match answer {
        Answer::NotSent(error) => error.to_string(),
        other => panic!("was sent: {other:?}"),
    }
}

/// Waits for what must come; a test that waits in vain fails instead of hanging.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), future)
        .await
        .unwrap_or_else(|_| panic!("never happened: {what}"))
}

/// One request that the scripted HTTP server got.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) verb: String,
    pub(crate) headers: hyper::HeaderMap,
    pub(crate) body: Value,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    pub(crate) fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    pub(crate) fn id(&self) -> &Value {
        &self.body["id"]
    }
}

/// What the scripted HTTP server answers.
pub(crate) enum Say {
    /// A status and a JSON body, maybe with a session.
    Json(u16, Option<String>, String),
    /// An event stream of raw pieces; it ends when the channel does.
    Stream(mpsc::Receiver<String>),
    /// Nothing, ever.
    Nothing,
    /// The connection breaks.
    Break,
}

pub(crate) fn ok(seen: &Seen, result: &str) -> Say {
    Say::Json(
        200,
        None,
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, seen.id()),
    )
}

pub(crate) fn error(seen: &Seen, status: u16, code: i64) -> Say {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":{code},"message":"no"}}}}"#,
        seen.id()
    );
    Say::Json(status, None, body)
}

pub(crate) fn status(status: u16) -> Say {
    Say::Json(status, None, String::new())
}

/// A stream that brings these pieces and ends.
pub(crate) fn pieces(pieces: &[String]) -> Say {
    let (sender, receiver) = mpsc::channel(pieces.len().max(1));
    for piece in pieces {
        sender.try_send(piece.clone()).unwrap();
    }
    Say::Stream(receiver)
}

type Script = dyn Fn(&Seen) -> Say + Send + Sync;
type Body = http_body_util::combinators::BoxBody<Bytes, std::io::Error>;

/// A scripted HTTP server.
pub(crate) struct Fake {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    count: watch::Receiver<usize>,
}

impl Fake {
    pub(crate) async fn start(script: impl Fn(&Seen) -> Say + Send + Sync + 'static) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (counter, count) = watch::channel(0);
        let (counter, script): (_, Arc<Script>) = (Arc::new(counter), Arc::new(script));
        let kept = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                socket.set_nodelay(true).unwrap();
                let (script, kept, counter) = (Arc::clone(&script), Arc::clone(&kept), Arc::clone(&counter));
                let service = service_fn(move |request| {
                    serve(request, Arc::clone(&script), Arc::clone(&kept), Arc::clone(&counter))
                });
                tokio::spawn(async move {
                    hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(socket), service)
                        .await
                        .ok();
                });
            }
        });
        Self { url, seen, count }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn of_method(&self, method: &str) -> Vec<Seen> {
        self.seen().into_iter().filter(|seen| seen.method() == method).collect()
    }

    /// Waits until some request was seen.
    pub(crate) async fn saw(&self, what: &str, wanted: impl Fn(&Seen) -> bool) -> Seen {
        let mut count = self.count.clone();
        soon(what, async {
            loop {
                if let Some(seen) = self.seen().into_iter().find(|seen| wanted(seen)) {
                    return seen;
                }
                count.changed().await.unwrap();
            }
        })
        .await
    }
}

async fn serve(
    request: Request<Incoming>,
    script: Arc<Script>,
    kept: Arc<Mutex<Vec<Seen>>>,
    counter: Arc<watch::Sender<usize>>,
) -> Result<Response<Body>, std::io::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(std::io::Error::other)?.to_bytes();
    let seen = Seen {
        verb: head.method.to_string(),
        headers: head.headers,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    };
    kept.lock().unwrap().push(seen.clone());
    let say = script(&seen);
    counter.send_modify(|count| *count += 1);
    let answer = match say {
        Say::Nothing => std::future::pending().await,
        Say::Break => return Err(std::io::Error::other("broken on purpose")),
        Say::Json(status, session, text) => {
            let mut answer = Response::builder()
                .status(status)
                .header("content-type", "application/json");
            if let Some(session) = session {
                answer = answer.header("mcp-session-id", session);
            }
            let body = http_body_util::Full::new(Bytes::from(text)).map_err(|never: Infallible| match never {});
            answer.body(BodyExt::boxed(body))
        }
        Say::Stream(receiver) => {
            let frames = stream::unfold(receiver, |mut receiver| async move {
                let piece = receiver.recv().await?;
                Some((Ok::<_, std::io::Error>(Frame::data(Bytes::from(piece))), receiver))
            });
            let frames: Pin<Box<dyn stream::Stream<Item = _> + Send + Sync>> = Box::pin(frames);
            Response::builder()
                .header("content-type", "text/event-stream")
                .body(BodyExt::boxed(StreamBody::new(frames)))
        }
    };
    answer.map_err(std::io::Error::other)
}

/// A legacy server: sessions `s1`, `s2`, …; `count` counts per session; other messages go to `script` first.
pub(crate) async fn legacy(script: impl Fn(&Seen) -> Option<Say> + Send + Sync + 'static) -> Fake {
    let sessions = Mutex::new(BTreeMap::<String, u64>::new());
    Fake::start(move |seen| {
        if let Some(say) = script(seen) {
            return say;
        }
        let mut sessions = sessions.lock().unwrap();
        match (seen.verb.as_str(), seen.method()) {
            ("GET", _) => status(405),
            ("DELETE", _) => status(200),
            (_, "server/discover") => status(400),
            (_, "initialize") => {
                let session = format!("s{}", sessions.len() + 1);
                sessions.insert(session.clone(), 0);
                let body = format!(
                    r#"{{"jsonrpc":"2.0","id":{},"result":{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}},"logging":{{}}}},"serverInfo":{{"name":"fake","version":"1"}},"instructions":"be kind"}}}}"#,
                    seen.id()
                );
                Say::Json(200, Some(session), body)
            }
            (_, "tools/list") => ok(seen, r#"{"tools":[{"name":"count","inputSchema":{"type":"object"}}]}"#),
            (_, "tools/call") => {
                let Some(count) = seen.header("mcp-session-id").and_then(|id| sessions.get_mut(id)) else {
                    return status(404);
                };
                *count += 1;
                ok(seen, &format!(r#"{{"content":[],"structuredContent":{{"count":{count}}}}}"#))
            }
            (_, "logging/setLevel") => ok(seen, "{}"),
            _ => status(202),
        }
    })
    .await
}
