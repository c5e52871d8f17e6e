//! A small MCP client of 2026-07-28 over HTTP: one POST a request, no session, an answer as JSON or as events.

use std::time::Duration;

use bytes::Bytes;
use countersign_wire::rpc::{self, Message};
use countersign_wire::sse::Decoder;
use countersign_wire::version::Version;
use countersign_wire::{codes, headers, meta, object, param_headers};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::value::RawValue;

use crate::failure::Failure;
use crate::out;

/// The largest answer that is read, in bytes.
const LARGEST: usize = 256 * 1024 * 1024;
/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// The variable that holds a key or token for the gateway. No flag does: other users of this machine see flags.
const BEARER: &str = "COUNTERSIGN_BEARER";
/// The one request that is under way.
const ID: &str = "1";

/// A client of one gateway.
#[derive(Debug)]
pub(super) struct Client {
    url: Uri,
    /// What lets it in where the gateway asks who calls.
    bearer: Option<HeaderValue>,
    http: legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

/// Why there is no result.
#[derive(Debug)]
pub(super) enum Refused {
    /// The gateway answered with an error of the protocol.
    Answered {
        /// Its code.
        code: i64,
        /// Its sentence.
        message: String,
    },
    /// There is no answer of the protocol.
    Failure(Failure),
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Answered { code, message } => Self::failed(
                format_args!(
                    "the gateway refused the request: {} (code {code})",
                    out::harmless(&message)
                ),
                "its log says more",
            ),
            Refused::Failure(failure) => failure,
        }
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// The header that lets this client in; `None` where nothing is set.
fn bearer() -> Result<Option<HeaderValue>, Failure> {
    let Some(set) = std::env::var(BEARER).ok().filter(|set| !set.is_empty()) else {
        return Ok(None);
    };
    let mut value = HeaderValue::from_str(&format!("Bearer {set}")).map_err(|_error| {
        Failure::configuration(
            format_args!("the variable {BEARER} holds what no header may hold"),
            "put one key or token into it, without line ends",
        )
    })?;
    value.set_sensitive(true);
    Ok(Some(value))
}

impl Client {
    /// A client for that address; nothing is sent yet.
    pub(super) fn new(url: Uri) -> Result<Self, Failure> {
        let mut tcp = HttpConnector::new();
        tcp.set_connect_timeout(Some(CONNECT));
        tcp.set_nodelay(true);
        tcp.enforce_http(false);
        let tls = HttpsConnectorBuilder::new().with_native_roots().map_err(|error| {
            Failure::failed(
                format_args!("cannot read this machine's certificates: {error}"),
                "install the CA certificates of your system",
            )
        })?;
        let connector = tls.https_or_http().enable_http1().wrap_connector(tcp);
        Ok(Self {
            url,
            bearer: bearer()?,
            http: legacy::Client::builder(TokioExecutor::new()).build(connector),
        })
    }

    /// All tools, page after page, each definition as sent.
    pub(super) async fn tools(&self) -> Result<Vec<Box<RawValue>>, Failure> {
        let mut tools = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let params: Vec<(&str, &str)> = cursor.iter().map(|cursor| ("cursor", cursor.as_str())).collect();
            let result = self.request("tools/list", None, &params, &[]).await?;
            let page = object::Object::parse(result.get()).map_err(|error| self.nonsense(&error))?;
            let list = page.get("tools").map_or("[]", RawValue::get);
            tools.extend(serde_json::from_str::<Vec<Box<RawValue>>>(list).map_err(|error| self.nonsense(&error))?);
            let next = page.get("nextCursor").map(|value| value.get().to_owned());
            if next.is_none() || next == cursor {
                return Ok(tools);
            }
            cursor = next;
        }
    }

    /// Calls a tool. `arguments` is a raw JSON object.
    pub(super) async fn call(&self, name: &str, arguments: &str) -> Result<Box<RawValue>, Refused> {
        let quoted = object::quote(name);
        let params = [("name", quoted.as_str()), ("arguments", arguments)];
        match self.request("tools/call", Some(name), &params, &[]).await {
            // The tool mirrors parameters into headers; its schema says which, and nothing has run yet.
            Err(Refused::Answered {
                code: codes::HEADER_MISMATCH,
                ..
            }) => {
                let mirrored = self.mirrored(name, arguments).await?;
                self.request("tools/call", Some(name), &params, &mirrored).await
            }
            other => other,
        }
    }

    async fn mirrored(&self, name: &str, arguments: &str) -> Result<Vec<(String, String)>, Failure> {
        for tool in self.tools().await? {
            let Ok(tool) = object::Object::parse(tool.get()) else {
                continue;
            };
            if tool.text("name").as_deref() == Some(name) {
                let schema = tool.get("inputSchema").map_or("{}", RawValue::get);
                let found = param_headers::of_schema(schema).map_err(|error| self.nonsense(&error))?;
                return Ok(param_headers::for_arguments(&found, arguments));
            }
        }
        Ok(Vec::new())
    }

    async fn request(
        &self,
        method: &str,
        name: Option<&str>,
        params: &[(&str, &str)],
        mirrored: &[(String, String)],
    ) -> Result<Box<RawValue>, Refused> {
        let info = super::object(&[
            ("name", "\"countersign-cli\""),
            ("version", &object::quote(env!("CARGO_PKG_VERSION"))),
        ]);
        let version = object::quote(Version::V2026_07_28.as_str());
        let meta = super::object(&[
            (meta::PROTOCOL_VERSION, &version),
            (meta::CLIENT_CAPABILITIES, "{}"),
            (meta::CLIENT_INFO, &info),
        ]);
        let mut params = params.to_vec();
        params.push(("_meta", &meta));
        let body = rpc::request(ID, method, Some(&super::object(&params)));
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .header("mcp-protocol-version", Version::V2026_07_28.as_str())
            .header("mcp-method", method)
            // The catalogue itself, also where models are shown the meta-tools.
            .header("x-countersign-surface", "direct");
        if let Some(name) = name {
            request = request.header("mcp-name", headers::encode(name));
        }
        if let Some(bearer) = &self.bearer {
            request = request.header(AUTHORIZATION, bearer);
        }
        for (name, value) in mirrored {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(Bytes::from(body))).map_err(|error| {
            Failure::failed(
                format_args!("cannot make the request: {error}"),
                "check the tool's name and --url",
            )
        })?;
        let response = self
            .http
            .request(request)
            .await
            .map_err(|error| self.unreachable(&error))?;
        self.answer(response).await
    }

    async fn answer(&self, mut response: Response<Incoming>) -> Result<Box<RawValue>, Refused> {
        let status = response.status();
        let content = response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let events = content.trim_start().starts_with("text/event-stream");
        let mut decoder = Decoder::new(LARGEST);
        let mut body = Vec::new();
        while let Some(frame) = response.body_mut().frame().await {
            let frame = frame.map_err(|error| self.broken(&error))?;
            let Ok(data) = frame.into_data() else { continue };
            if !events {
                body.extend_from_slice(&data);
                if body.len() > LARGEST {
                    return Err(self.broken(&format!("it is larger than {LARGEST} bytes")).into());
                }
                continue;
            }
            for event in decoder.push(&data).map_err(|error| self.broken(&error))? {
                if let Some(outcome) = outcome(&event.data) {
                    return outcome;
                }
            }
        }
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Err(self.not_admitted(status, &body).into());
        }
        let text = String::from_utf8_lossy(&body);
        outcome(&text).unwrap_or_else(|| Err(self.no_answer(status).into()))
    }

    fn not_admitted(&self, status: StatusCode, body: &[u8]) -> Failure {
        let text = String::from_utf8_lossy(body);
        let said = match outcome(&text) {
            Some(Err(Refused::Answered { message, .. })) => message,
            Some(_) | None => text.chars().take(200).collect(),
        };
        let help = if status == StatusCode::UNAUTHORIZED {
            "put a key or token of the gateway into the variable COUNTERSIGN_BEARER"
        } else {
            "use an address that the gateway knows as its own: its listen address, public_url or one of allowed_hosts"
        };
        Failure::authentication(
            format_args!(
                "{} does not let this client in ({status}): {}",
                self.url,
                out::harmless(said.trim())
            ),
            help,
        )
    }

    fn unreachable(&self, error: &legacy::Error) -> Failure {
        let mut cause: &dyn std::error::Error = error;
        while let Some(source) = cause.source() {
            cause = source;
        }
        Failure::failed(
            format_args!("no gateway answers at {}: {cause}", self.url),
            "start one with `countersign serve` or `countersign quickstart`, or name the right address with --url",
        )
    }

    fn broken(&self, error: &dyn std::fmt::Display) -> Failure {
        Failure::failed(
            format_args!("the answer of {} broke off: {error}", self.url),
            "the gateway's log says more; a call may have run all the same",
        )
    }

    fn nonsense(&self, error: &dyn std::fmt::Display) -> Failure {
        Failure::failed(
            format_args!("the answer of {} cannot be read: {error}", self.url),
            "is this the address of a countersign gateway?",
        )
    }

    fn no_answer(&self, status: StatusCode) -> Failure {
        Failure::failed(
            format_args!("{} answered {status} without a message of MCP", self.url),
            "is this the address of a countersign gateway? It ends with /mcp",
        )
    }
}

/// The outcome in a message, if it is the answer; notifications on the way are passed over.
fn outcome(text: &str) -> Option<Result<Box<RawValue>, Refused>> {
    let Ok(Message::Response { outcome, .. }) = rpc::parse_upstream(text) else {
        return None;
    };
    Some(match outcome {
        Ok(result) => Ok(result.to_owned()),
        Err(error) => {
            let error = object::Object::parse(error.get()).unwrap_or_default();
            let code = error
                .get("code")
                .and_then(|code| code.get().parse().ok())
                .unwrap_or_default();
            Err(Refused::Answered {
                code,
                message: error.text("message").unwrap_or_default().into_owned(),
            })
        }
    })
}
