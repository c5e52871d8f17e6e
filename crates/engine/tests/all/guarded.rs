//! A scripted server over HTTP that shows each bearer token its own tools, and knows whose call it answers. It is its
//! own authorization server: a code is exchanged for the token of the same name.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use countersign_core::secret::Secret;
use countersign_core::server::Transport;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex as Turn, watch};

use crate::peer::soon;

/// One message as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) token: String,
    pub(crate) method: String,
    /// The tool that is called.
    pub(crate) tool: String,
}

#[derive(Default)]
struct State {
    address: Mutex<String>,
    /// The tools that each token is shown.
    tools: Mutex<BTreeMap<String, Vec<Value>>>,
    heard: Mutex<Vec<Heard>>,
    /// Codes that were exchanged for tokens.
    exchanged: Mutex<Vec<String>>,
    /// Open streams, by token.
    streams: Mutex<Vec<(String, Arc<Turn<OwnedWriteHalf>>)>>,
    changed: watch::Sender<u64>,
}

/// The server.
pub(crate) struct Guarded {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
}

impl Guarded {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, state) = (listener.local_addr().unwrap(), Arc::new(State::default()));
        *state.address.lock().unwrap() = address.to_string();
        let accepting = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(Arc::clone(&accepting).serve(socket));
            }
        });
        Self { address, state }
    }

    pub(crate) fn transport(&self) -> Transport {
        Transport::Http {
            url: Secret::plain(format!("http://{}/mcp", self.address)),
            headers: BTreeMap::new(),
        }
    }

    /// From now on a token is good, and is shown these tools.
    pub(crate) fn shows(&self, token: &str, tools: &[&str]) {
        let tools = tools
            .iter()
            .map(|name| json!({"name": name, "description": format!("{name} of the server"), "inputSchema": {"type": "object"}}));
        self.state
            .tools
            .lock()
            .unwrap()
            .insert(token.to_owned(), tools.collect());
    }

    /// From now on a token is refused.
    pub(crate) fn refuses(&self, token: &str) {
        self.state.tools.lock().unwrap().remove(token);
    }

    /// The codes that were exchanged for tokens.
    pub(crate) fn exchanged(&self) -> Vec<String> {
        self.state.exchanged.lock().unwrap().clone()
    }

    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.state.heard.lock().unwrap().clone()
    }

    /// How often a token was used for a method.
    pub(crate) fn count(&self, token: &str, method: &str) -> usize {
        let heard = self.heard();
        heard
            .iter()
            .filter(|heard| heard.token == token && heard.method == method)
            .count()
    }

    /// Who called which tools.
    pub(crate) fn calls(&self) -> Vec<(String, String)> {
        let heard = self.heard().into_iter();
        heard
            .filter(|heard| heard.method == "tools/call")
            .map(|heard| (heard.token, heard.tool))
            .collect()
    }

    /// Tells the streams of one token that their tools changed, once there is one.
    pub(crate) async fn announces_to(&self, token: &str) {
        let mut changed = self.state.changed.subscribe();
        let of_token = || -> Vec<Arc<Turn<OwnedWriteHalf>>> {
            let streams = self.state.streams.lock().unwrap();
            let of_token = streams.iter().filter(|(of, _)| of == token);
            of_token.map(|(_, stream)| Arc::clone(stream)).collect()
        };
        soon("a stream", async {
            while of_token().is_empty() {
                changed.changed().await.unwrap();
            }
        })
        .await;
        for stream in of_token() {
            let text =
                "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n";
            stream.lock().await.write_all(text.as_bytes()).await.ok();
        }
    }
}

impl State {
    /// What it says of itself as an authorization server, and what it gives for a code.
    fn document(&self, path: &str, form: &str, origin: &str) -> Option<Value> {
        match path {
            "/.well-known/oauth-protected-resource/mcp" => {
                Some(json!({"resource": format!("{origin}/mcp"), "authorization_servers": [origin]}))
            }
            "/.well-known/oauth-authorization-server" => Some(json!({
                "issuer": origin,
                "authorization_endpoint": format!("{origin}/authorize"),
                "token_endpoint": format!("{origin}/token"),
                "registration_endpoint": format!("{origin}/register"),
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"]
            })),
            "/register" => Some(json!({"client_id": "gateway", "token_endpoint_auth_method": "none"})),
            "/token" => {
                let code = form.split('&').find_map(|field| field.strip_prefix("code="))?;
                self.exchanged.lock().unwrap().push(code.to_owned());
                Some(json!({"access_token": code, "token_type": "Bearer", "expires_in": 3600}))
            }
            _ => None,
        }
    }

    async fn serve(self: Arc<Self>, socket: TcpStream) {
        socket.set_nodelay(true).unwrap();
        let (reader, writer) = socket.into_split();
        let (mut reader, writer) = (BufReader::new(reader), Arc::new(Turn::new(writer)));
        while let Some(Asked {
            verb,
            path,
            token,
            text,
        }) = request(&mut reader).await
        {
            if path != "/mcp" {
                let origin = format!("http://{}", self.address.lock().unwrap());
                let document = self.document(&path, &text, &origin);
                let status = if document.is_some() { "200 OK" } else { "404 Not Found" };
                let body = document.map_or_else(String::new, |document| document.to_string());
                respond(&writer, status, "Content-Type: application/json\r\n", &body).await;
                continue;
            }
            let body: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
            let tools = self.tools.lock().unwrap().get(&token).cloned();
            let Some(tools) = tools else {
                respond(&writer, "401 Unauthorized", "WWW-Authenticate: Bearer\r\n", "").await;
                continue;
            };
            if verb == "GET" {
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
                writer.lock().await.write_all(head.as_bytes()).await.ok();
                self.streams.lock().unwrap().push((token, Arc::clone(&writer)));
                self.changed.send_modify(|times| *times += 1);
                let mut rest = Vec::new();
                reader.read_to_end(&mut rest).await.ok();
                return;
            }
            let method = body["method"].as_str().unwrap_or_default().to_owned();
            let tool = body["params"]["name"].as_str().unwrap_or_default().to_owned();
            self.heard.lock().unwrap().push(Heard {
                token: token.clone(),
                method: method.clone(),
                tool: tool.clone(),
            });
            if body["id"].is_null() {
                respond(&writer, "202 Accepted", "", "").await;
                continue;
            }
            let answer = match method.as_str() {
                "initialize" => json!({"result": {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {"listChanged": true}},
                    "serverInfo": {"name": "guarded", "version": "1"}
                }}),
                "tools/list" => json!({"result": {"tools": tools}}),
                "tools/call" => {
                    json!({"result": {"content": [{"type": "text", "text": format!("{tool} for {token}")}]}})
                }
                _ => json!({"error": {"code": -32601, "message": "unknown method"}}),
            };
            let mut whole = json!({"jsonrpc": "2.0", "id": body["id"]});
            for (name, value) in answer.as_object().unwrap() {
                whole[name] = value.clone();
            }
            let session = if method == "initialize" {
                format!("Mcp-Session-Id: of-{token}\r\n")
            } else {
                String::new()
            };
            let head = format!("Content-Type: application/json\r\n{session}");
            respond(&writer, "200 OK", &head, &whole.to_string()).await;
        }
    }
}

struct Asked {
    verb: String,
    path: String,
    token: String,
    text: String,
}

async fn request(reader: &mut BufReader<OwnedReadHalf>) -> Option<Asked> {
    let mut line = String::new();
    reader.read_line(&mut line).await.ok().filter(|read| *read > 0)?;
    let mut words = line.split(' ').map(str::to_owned);
    let (verb, path) = (words.next()?, words.next()?);
    let (mut token, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).await.ok().filter(|read| *read > 0)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "authorization" => token = value.trim().trim_start_matches("Bearer ").to_owned(),
            "content-length" => length = value.trim().parse().ok()?,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).await.ok()?;
    Some(Asked {
        verb,
        path,
        token,
        text: String::from_utf8(body).ok()?,
    })
}

async fn respond(writer: &Turn<OwnedWriteHalf>, status: &str, head: &str, body: &str) {
    let text = format!(
        "HTTP/1.1 {status}\r\n{head}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    writer.lock().await.write_all(text.as_bytes()).await.ok();
}
