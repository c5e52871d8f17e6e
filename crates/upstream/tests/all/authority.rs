//! A scripted authorization server and an MCP server behind its tokens, on one origin.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use countersign_core::auth::{Auth, OAuth};
use countersign_core::names::ServerName;
use countersign_core::principal::Principal;
use countersign_core::secret::Secret;
use countersign_core::server::ServerEntry;
use countersign_store::Ledger;
use countersign_upstream::{Returned, Routes, Settings, SignIn, Upstreams};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};

use crate::support::{Bench, entry, http, settings};

/// One request to the MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) verb: String,
    pub(crate) method: String,
    pub(crate) bearer: Option<String>,
}

/// What the two servers know and do.
#[derive(Debug)]
pub(crate) struct State {
    /// Access tokens that the MCP server takes.
    pub(crate) good: BTreeSet<String>,
    /// The refresh token that is good.
    pub(crate) refresh: Option<String>,
    issued: u32,
    /// `expires_in` of what is given.
    pub(crate) lifetime: u64,
    /// Answers of the token endpoint that come before its own.
    pub(crate) token_answers: VecDeque<(u16, Value)>,
    /// What the token endpoint was asked, and with which `Authorization`.
    pub(crate) token_requests: Vec<(BTreeMap<String, String>, Option<String>)>,
    pub(crate) registrations: Vec<Value>,
    pub(crate) revoked: Vec<BTreeMap<String, String>>,
    pub(crate) asked: Vec<Asked>,
    /// Challenges of the MCP server that come before its answers to calls, with their statuses.
    pub(crate) refusals: VecDeque<(u16, String)>,
    /// The documents, by path.
    pub(crate) documents: BTreeMap<String, Value>,
    /// What a 401 says.
    pub(crate) challenge: String,
    url: String,
}

/// Both servers.
pub(crate) struct World {
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
}

impl World {
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let documents = BTreeMap::from([
            (
                "/.well-known/oauth-protected-resource/mcp".to_owned(),
                json!({
                    "resource": format!("{url}/mcp"),
                    "authorization_servers": [url],
                    "scopes_supported": ["tools"],
                }),
            ),
            ("/.well-known/oauth-authorization-server".to_owned(), authority(&url)),
        ]);
        let state = Arc::new(Mutex::new(State {
            good: BTreeSet::new(),
            refresh: None,
            issued: 0,
            lifetime: 3600,
            token_answers: VecDeque::new(),
            token_requests: Vec::new(),
            registrations: Vec::new(),
            revoked: Vec::new(),
            asked: Vec::new(),
            refusals: VecDeque::new(),
            documents,
            challenge: "Bearer".to_owned(),
            url: url.clone(),
        }));
        let served = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let state = Arc::clone(&served);
                let service = service_fn(move |request| serve(request, Arc::clone(&state)));
                tokio::spawn(async move {
                    hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(socket), service)
                        .await
                        .ok();
                });
            }
        });
        Self { url, state }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Changes one member of a document.
    pub(crate) fn edit(&self, path: &str, member: &str, value: Value) {
        self.state().documents.get_mut(path).unwrap()[member] = value;
    }

    pub(crate) fn entry(&self, auth: Auth) -> ServerEntry {
        ServerEntry {
            auth,
            ..entry(http(&format!("{}/mcp", self.url)))
        }
    }

    pub(crate) fn bench(&self) -> Bench {
        bench(self.entry(oauth()), settings(), Ledger::memory())
    }

    /// What was sent to the MCP server by this method.
    pub(crate) fn calls(&self, method: &str) -> Vec<Option<String>> {
        let state = self.state();
        let of_method = state.asked.iter().filter(|asked| asked.method == method);
        of_method.map(|asked| asked.bearer.clone()).collect()
    }

    /// How often the token endpoint was asked in this way.
    pub(crate) fn grants(&self, kind: &str) -> usize {
        let state = self.state();
        state
            .token_requests
            .iter()
            .filter(|(fields, _)| fields["grant_type"] == kind)
            .count()
    }
}

pub(crate) fn oauth() -> Auth {
    Auth::OAuth(Box::default())
}

pub(crate) fn oauth_of(oauth: OAuth) -> Auth {
    Auth::OAuth(Box::new(oauth))
}

pub(crate) fn bench(entry: ServerEntry, settings: Settings, ledger: Ledger) -> Bench {
    let (upstreams, events) = Upstreams::new(settings, ledger);
    let entry = Arc::new(entry);
    upstreams.apply(&[Arc::clone(&entry)]);
    Bench {
        upstreams,
        events,
        entry,
    }
}

pub(crate) fn routes() -> Routes {
    Routes {
        callback: "http://127.0.0.1:8090/oauth/callback".to_owned(),
        client_document: None,
    }
}

pub(crate) fn name() -> ServerName {
    ServerName::parse("fake").unwrap()
}

/// The fields of a link's query.
pub(crate) fn query(sign_in: &SignIn) -> BTreeMap<String, String> {
    fields(sign_in.url.split_once('?').unwrap().1)
}

/// What the browser brings back.
pub(crate) fn returned(sign_in: &SignIn, code: &str, iss: Option<&str>) -> Returned {
    Returned {
        state: sign_in.state.clone(),
        code: Ok(Secret::hidden(code)),
        iss: iss.map(str::to_owned),
    }
}

/// Signs a principal in.
pub(crate) async fn sign_in(bench: &Bench, who: &Principal) -> SignIn {
    let begun = bench.upstreams.sign_in(&name(), who.key(), &routes()).await.unwrap();
    let done = bench
        .upstreams
        .finish_sign_in(returned(&begun, "code", None))
        .await
        .unwrap();
    assert_eq!((done.server, &done.principal), (name(), who.key()));
    begun
}

fn authority(url: &str) -> Value {
    json!({
        "issuer": url,
        "authorization_endpoint": format!("{url}/authorize?tenant=1"),
        "token_endpoint": format!("{url}/token"),
        "registration_endpoint": format!("{url}/register"),
        "revocation_endpoint": format!("{url}/revoke"),
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post"],
    })
}

fn fields(text: &str) -> BTreeMap<String, String> {
    let decoded = |text: &str| {
        let mut bytes = Vec::new();
        let mut rest = text.bytes();
        while let Some(byte) = rest.next() {
            if byte == b'%' {
                let digits = [rest.next().unwrap(), rest.next().unwrap()];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
            } else {
                bytes.push(byte);
            }
        }
        String::from_utf8(bytes).unwrap()
    };
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}

async fn serve(request: Request<Incoming>, state: Arc<Mutex<State>>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let text = String::from_utf8(body.to_vec()).unwrap();
    let authorization = head
        .headers
        .get("authorization")
        .map(|value| value.to_str().unwrap().to_owned());
    let path = head.uri.path().to_owned();
    let answer = {
        let mut state = state.lock().unwrap();
        match path.as_str() {
            "/mcp" => state.mcp(head.method.as_str(), &text, authorization.as_deref()),
            "/token" => state.token(&text, authorization),
            "/register" => {
                state.registrations.push(serde_json::from_str(&text).unwrap());
                (
                    201,
                    None,
                    json!({"client_id": "dyn", "client_secret": "dyn secret", "token_endpoint_auth_method": "client_secret_basic"}),
                )
            }
            "/revoke" => {
                state.revoked.push(fields(&text));
                (200, None, Value::Null)
            }
            other => match state.documents.get(other) {
                Some(document) => (200, None, document.clone()),
                None => (404, None, Value::Null),
            },
        }
    };
    let (status, challenge, body) = answer;
    let mut response = Response::builder()
        .status(status)
        .header("content-type", "application/json");
    if let Some(challenge) = challenge {
        response = response.header("www-authenticate", challenge);
    }
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    Ok(response.body(Full::new(Bytes::from(body))).unwrap())
}

impl State {
    /// Gives a new pair of tokens; the one before is used up.
    fn issue(&mut self) -> Value {
        self.issued += 1;
        let number = self.issued;
        self.good.insert(format!("access-{number}"));
        self.refresh = Some(format!("refresh-{number}"));
        json!({
            "access_token": format!("access-{number}"),
            "token_type": "Bearer",
            "expires_in": self.lifetime,
            "refresh_token": format!("refresh-{number}"),
        })
    }

    fn token(&mut self, body: &str, authorization: Option<String>) -> (u16, Option<String>, Value) {
        let fields = fields(body);
        self.token_requests.push((fields.clone(), authorization));
        if let Some((status, answer)) = self.token_answers.pop_front() {
            return (status, None, answer);
        }
        let good = match fields["grant_type"].as_str() {
            "refresh_token" => self.refresh.as_ref() == fields.get("refresh_token"),
            "authorization_code" => fields["code"] == "code",
            _ => true,
        };
        if good {
            (200, None, self.issue())
        } else {
            (400, None, json!({"error": "invalid_grant"}))
        }
    }

    fn mcp(&mut self, verb: &str, body: &str, authorization: Option<&str>) -> (u16, Option<String>, Value) {
        let message: Value = serde_json::from_str(body).unwrap_or_default();
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        let bearer = authorization
            .and_then(|text| text.strip_prefix("Bearer "))
            .map(str::to_owned);
        self.asked.push(Asked {
            verb: verb.to_owned(),
            method: method.clone(),
            bearer: bearer.clone(),
        });
        if !bearer.is_some_and(|bearer| self.good.contains(&bearer)) {
            let challenge = self.challenge.replace("{url}", &self.url);
            return (401, Some(challenge), Value::Null);
        }
        if method == "tools/call"
            && let Some((status, challenge)) = self.refusals.pop_front()
        {
            return (status, Some(challenge), Value::Null);
        }
        let result = match (verb, method.as_str()) {
            ("GET", _) => return (405, None, Value::Null),
            ("DELETE", _) => return (200, None, Value::Null),
            (_, "server/discover") => return (400, None, Value::Null),
            (_, "initialize") => json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "fake", "version": "1"},
            }),
            (_, "tools/list") => json!({"tools": [{"name": "count", "inputSchema": {"type": "object"}}]}),
            (_, "tools/call") => json!({"content": [], "structuredContent": {"ran": true}}),
            _ => return (202, None, Value::Null),
        };
        (
            200,
            None,
            json!({"jsonrpc": "2.0", "id": message["id"], "result": result}),
        )
    }
}
