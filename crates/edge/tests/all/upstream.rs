//! A scripted upstream of 2025-11-25 over HTTP: what it was sent is kept, what it says is chosen by tool name.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use countersign_core::effect::AnnotationTrust;
use countersign_core::exact::Digest;
use countersign_core::names::ServerName;
use countersign_core::secret::Secret;
use countersign_core::server::{ServerEntry, Sharing, Start, Transport};
use http::{Method, Request, Response};
use http_body::Frame;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

use super::gateway::LIMIT;

#[derive(Clone)]
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
}

/// Answers a request with an object that has `result` or `error`, or `"never"`; nothing leaves the answer to the usual script.
type Script = Box<dyn Fn(&Value) -> Option<Value> + Send + Sync>;

struct State {
    is_modern: bool,
    script: Script,
    received: watch::Sender<Vec<Value>>,
    streams: Mutex<Vec<mpsc::Sender<String>>>,
    tools: Mutex<Vec<&'static str>>,
}

/// A result that no typed model would give back.
pub(crate) const ODD: &str = "{ \"z\" : 1e400,\n \"structuredContent\":{\"big\":9007199254740993123,\"a\":-0,\"nul\":\"\\u0000\"},\"content\" : [{\"type\":\"novel\",\"deep\":{\"x\":[]}}], \"unknown\":1 }";

pub(crate) struct Events(mpsc::Receiver<String>);

impl http_body::Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0
            .poll_recv(cx)
            .map(|text| text.map(|text| Ok(Frame::data(Bytes::from(text)))))
    }
}

impl Upstream {
    pub(crate) async fn start() -> Self {
        Self::with(vec!["echo", "odd", "progress", "ask", "wait", "log"]).await
    }

    /// An upstream with these tools.
    pub(crate) async fn with(tools: Vec<&'static str>) -> Self {
        Self::serve(tools, false, Box::new(|_| None)).await
    }

    /// An upstream of 2026-07-28, whose every tool asks for input first.
    pub(crate) async fn modern(tools: Vec<&'static str>) -> Self {
        Self::serve(tools, true, Box::new(|_| None)).await
    }

    /// An upstream whose answers to some requests are these.
    pub(crate) async fn scripted(
        is_modern: bool,
        tools: Vec<&'static str>,
        script: impl Fn(&Value) -> Option<Value> + Send + Sync + 'static,
    ) -> Self {
        Self::serve(tools, is_modern, Box::new(script)).await
    }

    async fn serve(tools: Vec<&'static str>, is_modern: bool, script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
        let address = listener.local_addr().expect("bound");
        let state = Arc::new(State {
            is_modern,
            script,
            received: watch::Sender::default(),
            streams: Mutex::default(),
            tools: Mutex::new(tools),
        });
        let upstream = Self { address, state };
        let serving = upstream.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let upstream = serving.clone();
                let service = service_fn(move |request| {
                    let upstream = upstream.clone();
                    async move { Ok::<_, Infallible>(upstream.answer(request).await) }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        upstream
    }

    pub(crate) fn entry(&self, name: &str) -> Arc<ServerEntry> {
        Arc::new(ServerEntry {
            name: ServerName::parse(name).expect("a name"),
            labels: Default::default(),
            tool_prefix: None,
            description: None,
            timeout: None,
            start: Start::Boot,
            trust: AnnotationTrust::Ignored,
            sharing: Sharing::PerPrincipal,
            auth: countersign_core::server::Auth::None,
            access: Vec::new(),
            family: None,
            private_network: countersign_core::server::PrivateNetwork::Allowed,
            transport: Transport::Http {
                url: Secret::plain(format!("http://{}/mcp", self.address)),
                headers: Default::default(),
            },
            digest: Digest::of(name.as_bytes()),
        })
    }

    /// Waits for a message that the upstream was sent.
    pub(crate) async fn received(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut received = self.state.received.subscribe();
        let found = received.wait_for(|all| all.iter().any(&wanted));
        let all = tokio::time::timeout(LIMIT, found)
            .await
            .expect("is sent in time")
            .expect("open")
            .clone();
        all.into_iter().find(|message| wanted(message)).expect("was found")
    }

    /// How many messages of that method the upstream was sent.
    pub(crate) fn count(&self, method: &str) -> usize {
        let received = self.state.received.borrow();
        received.iter().filter(|message| message["method"] == method).count()
    }

    /// Says something of its own accord, once somebody listens.
    pub(crate) async fn say(&self, message: &Value) {
        let listening = async {
            loop {
                let streams = self.state.streams.lock().expect("lock").clone();
                if !streams.is_empty() {
                    return streams;
                }
                tokio::task::yield_now().await;
            }
        };
        for stream in tokio::time::timeout(LIMIT, listening)
            .await
            .expect("somebody listens in time")
        {
            stream.send(format!("data: {message}\n\n")).await.ok();
        }
    }

    pub(crate) async fn add_tool(&self, name: &'static str) {
        self.state.tools.lock().expect("lock").push(name);
        self.say(&json!({"jsonrpc":"2.0","method":"notifications/tools/list_changed"}))
            .await;
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Events> {
        let (sender, receiver) = mpsc::channel(16);
        if request.method() == Method::GET {
            self.state.streams.lock().expect("lock").push(sender);
            return respond(200, "text/event-stream", receiver);
        }
        if request.method() == Method::DELETE {
            return respond(200, "application/json", receiver);
        }
        let headers: serde_json::Map<_, _> = request
            .headers()
            .iter()
            .map(|(name, value)| (name.to_string(), json!(value.to_str().unwrap_or_default())))
            .collect();
        let body = request.into_body().collect().await.expect("a body").to_bytes();
        let message: Value = serde_json::from_slice(&body).expect("JSON");
        let mut kept = message.clone();
        kept["headers"] = headers.into();
        self.state.received.send_modify(|all| all.push(kept));
        let id = message["id"].clone();
        if id.is_null() || message.get("method").is_none() {
            return respond(202, "application/json", receiver);
        }
        if message["method"] == "server/discover" && !self.state.is_modern {
            sender
                .send(json!({"jsonrpc":"2.0","id":id,"error":{"code":-32601,"message":"no"}}).to_string())
                .await
                .ok();
            return respond(200, "application/json", receiver);
        }
        if message["method"] == "subscriptions/listen" {
            let ack = json!({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged",
                "params":{"notifications":message["params"]["notifications"]}});
            sender.send(format!("data: {ack}\n\n")).await.ok();
            self.state.streams.lock().expect("lock").push(sender);
            return respond(200, "text/event-stream", receiver);
        }
        if let Some(mut answer) = (self.state.script)(&message) {
            if answer == "never" {
                tokio::spawn(async move { sender.closed().await });
                return respond(200, "application/json", receiver);
            }
            answer["jsonrpc"] = json!("2.0");
            answer["id"] = id;
            sender.send(answer.to_string()).await.ok();
            return respond(200, "application/json", receiver);
        }
        let is_streamed = message["method"] == "tools/call" && !self.state.is_modern;
        if is_streamed && !["echo", "odd"].iter().any(|name| message["params"]["name"] == *name) {
            let upstream = self.clone();
            tokio::spawn(async move { upstream.stream(message, sender).await });
            return respond(200, "text/event-stream", receiver);
        }
        let result = self.result(&message);
        sender
            .send(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
            .await
            .ok();
        respond(200, "application/json", receiver)
    }

    fn result(&self, message: &Value) -> String {
        let resource = json!({"uri":"note://one","name":"one"});
        let value = match message["method"].as_str().unwrap_or_default() {
            "server/discover" => json!({
                "resultType":"complete", "ttlMs":0, "cacheScope":"private",
                "supportedVersions":["2026-07-28"], "capabilities":{"tools":{}},
            }),
            "tools/call" if self.state.is_modern => required(&message["params"]),
            "initialize" => json!({
                "protocolVersion": "2025-11-25",
                "serverInfo": {"name":"scripted","version":"1"},
                "capabilities": {
                    "tools":{"listChanged":true}, "resources":{"subscribe":true,"listChanged":true},
                    "prompts":{}, "logging":{}, "completions":{}
                },
            }),
            "tools/list" => {
                let tool = |name: &&str| json!({"name":name,"inputSchema":{"type":"object"}});
                let tools = self.state.tools.lock().expect("lock");
                json!({"tools": tools.iter().map(tool).collect::<Vec<_>>()})
            }
            "resources/list" => json!({"resources":[resource]}),
            "resources/templates/list" => json!({"resourceTemplates":[]}),
            "resources/read" => json!({"contents":[{"uri":"note://one","text":"hello"}]}),
            "prompts/list" => json!({"prompts":[{"name":"greet"}]}),
            "prompts/get" => json!({"messages":[]}),
            "completion/complete" => json!({"completion":{"values":["a"]}}),
            // Blanks, order, big numbers and unknown members are to pass as they are.
            "tools/call" if message["params"]["name"] == "odd" => return ODD.to_owned(),
            "tools/call" => json!({"content":[],"echo":message["params"]}),
            _ => json!({}),
        };
        value.to_string()
    }

    async fn stream(&self, message: Value, out: mpsc::Sender<String>) {
        let id = message["id"].clone();
        let params = message["params"].clone();
        let say = async |value: Value| {
            out.send(format!("data: {value}\n\n")).await.ok();
        };
        let done =
            |text: Value| json!({"jsonrpc":"2.0","id":id,"result":{"content":[],"structuredContent":{"said":text}}});
        match params["name"].as_str().unwrap_or_default() {
            "progress" => {
                let token = params["_meta"]["progressToken"].clone();
                if !token.is_null() {
                    say(json!({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":token,"progress":1}})).await;
                }
                say(done(json!("progressed"))).await;
            }
            "log" => {
                for level in ["debug", "error"] {
                    say(
                        json!({"jsonrpc":"2.0","method":"notifications/message","params":{"level":level,"data":level}}),
                    )
                    .await;
                }
                say(done(json!("logged"))).await;
            }
            "both" => {
                for (id, word) in [("both-1", "one"), ("both-2", "two")] {
                    say(question(id, word)).await;
                }
                let one = self.received(|message| message["id"] == "both-1").await;
                let two = self.received(|message| message["id"] == "both-2").await;
                say(done(json!([one["result"], two["result"]]))).await;
            }
            "again" => {
                say(question("again-1", "first")).await;
                self.received(|message| message["id"] == "again-1").await;
                let token = params["_meta"]["progressToken"].clone();
                say(json!({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":token,"progress":1}})).await;
                say(question("again-2", "second")).await;
                let answer = self.received(|message| message["id"] == "again-2").await;
                say(done(answer)).await;
            }
            "roots" => {
                say(json!({"jsonrpc":"2.0","id":"roots-1","method":"roots/list"})).await;
                let answer = self.received(|message| message["id"] == "roots-1").await;
                say(done(answer)).await;
            }
            "ask" => {
                say(json!({"jsonrpc":"2.0","id":"up-1","method":"sampling/createMessage","params":{"messages":[]}}))
                    .await;
                let answer = self.received(|message| message["id"] == "up-1").await;
                say(done(answer)).await;
            }
            _ => {
                let cancelled = self
                    .received(|message| message["method"] == "notifications/cancelled")
                    .await;
                assert_eq!(cancelled["params"]["requestId"], id);
            }
        }
    }
}

fn question(id: &str, word: &str) -> Value {
    let params = json!({"mode":"form","message":word,"requestedSchema":{"type":"object","properties":{}}});
    json!({"jsonrpc":"2.0","id":id,"method":"elicitation/create","params":params})
}

/// A modern tool asks two things, then tells what it was sent; `endless` asks for ever, `rude` asks the unknown, and `plain` nothing.
fn required(params: &Value) -> Value {
    let asks = |requests: Value| json!({"resultType":"input_required","inputRequests":requests,"requestState":"st-1"});
    match params["name"].as_str().unwrap_or_default() {
        "endless" => json!({"resultType":"input_required","requestState":"st-1"}),
        "plain" => json!({"resultType":"complete","ttlMs":0,"cacheScope":"private","content":[]}),
        "rude" => asks(json!({"a":{"method":"secrets/list"}})),
        _ if params.get("inputResponses").is_none() => asks(json!({
            "who":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object"}}},
            "what":{"method":"sampling/createMessage","params":{"messages":[]}},
        })),
        _ => json!({"resultType":"complete","content":[],"structuredContent":{"sent":params}}),
    }
}

fn respond(status: u16, content_type: &str, body: mpsc::Receiver<String>) -> Response<Events> {
    let response = Response::builder().status(status).header("content-type", content_type);
    response
        .header("mcp-session-id", "upstream-session")
        .body(Events(body))
        .expect("a response")
}
