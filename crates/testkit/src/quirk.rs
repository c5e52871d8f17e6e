//! An upstream with exact, odd JSON, to prove that what a server says passes the gateway byte for byte.

mod cases;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::conformance::Era;
use cases::Answer;

/// The modern revision's number.
const MODERN: &str = "2026-07-28";
/// What the server declares about itself, in either era.
const CAPABILITIES: &str =
    r#"{"tools":{},"prompts":{},"resources":{},"experimental":{"vendor.example/z":{"b":1,"a":2}}}"#;

/// The server; what it counts is shared by all connections.
#[derive(Debug)]
pub struct Quirk {
    era: Era,
    cancels: AtomicUsize,
}

/// What is to be sent back for one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// This JSON-RPC message.
    Message(String),
    /// Nothing: it was a notification or a response.
    Nothing,
    /// Nothing, ever: the call hangs until the client gives up.
    Never,
}

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Params {
    name: Option<String>,
    uri: Option<String>,
    protocol_version: Option<String>,
}

impl Quirk {
    /// A server of one era; `Both` answers as the client opened.
    #[must_use]
    pub fn new(era: Era) -> Self {
        Self {
            era,
            cancels: AtomicUsize::new(0),
        }
    }

    /// Notes that a client gave up on a call.
    pub fn note_cancel(&self) {
        self.cancels.fetch_add(1, Ordering::SeqCst);
    }

    /// The answer to one message. `headers`: the MCP headers it came with, as a JSON object.
    #[must_use]
    pub fn reply(&self, message: &str, headers: &str) -> Reply {
        let Ok(request) = serde_json::from_str::<Request<'_>>(message) else {
            return Reply::Message(
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no JSON-RPC"}}"#.to_owned(),
            );
        };
        let method = request.method.as_deref().unwrap_or_default();
        let Some(id) = request.id else {
            if method == "notifications/cancelled" {
                self.note_cancel();
            }
            return Reply::Nothing;
        };
        let raw = request.params.map_or("{}", RawValue::get);
        let params: Params = serde_json::from_str(raw).unwrap_or_default();
        // A request says by itself which era it belongs to.
        let modern = raw.contains("io.modelcontextprotocol/protocolVersion");
        let complete = |members: &str| format!(r#""result":{}"#, complete(members, modern, ""));
        let cached = |members: &str| format!(r#""result":{}"#, complete_cached(members, modern));
        let body = match method {
            "initialize" if self.era == Era::Modern => error(-32022, r#","data":{"supported":["2026-07-28"]}"#),
            "initialize" => initialized(params.protocol_version.as_deref().unwrap_or("2025-11-25")),
            "server/discover" if self.era == Era::Legacy => error(-32601, ""),
            "server/discover" => cached(&format!(
                r#""supportedVersions":["{MODERN}"],"capabilities":{CAPABILITIES}"#
            )),
            "ping" => r#""result":{}"#.to_owned(),
            "tools/list" => {
                let listed: Vec<&str> = cases::TOOLS.iter().map(|case| case.definition).collect();
                cached(&format!(r#""tools":[{}]"#, listed.join(",")))
            }
            "resources/list" => cached(cases::RESOURCES),
            "resources/templates/list" => cached(cases::TEMPLATES),
            "prompts/list" => cached(cases::PROMPTS),
            "prompts/get" if params.name.as_deref() == Some("quirky") => complete(cases::PROMPT),
            "resources/read" => match params.uri.as_deref().and_then(cases::contents) {
                Some(contents) => cached(contents),
                None => error(-32002, r#","data":{"z":1,"a":2}"#),
            },
            "tools/call" => match self.call(params.name.as_deref().unwrap_or_default(), raw, headers) {
                Some(Called::Members(members)) => complete(&members),
                Some(Called::Whole(body)) => body,
                Some(Called::Never) => return Reply::Never,
                None => error(-32602, r#","data":"unknown tool""#),
            },
            _ => error(-32601, ""),
        };
        Reply::Message(format!(r#"{{"jsonrpc":"2.0","id":{},{body}}}"#, id.get()))
    }

    fn call(&self, name: &str, params: &str, headers: &str) -> Option<Called> {
        let marked = format!(r#""name":"{name}""#);
        let case = cases::TOOLS.iter().find(|case| case.definition.contains(&marked))?;
        let structured = |value: &str| Called::Members(format!(r#""content":[],"structuredContent":{value}"#));
        Some(match case.answer {
            Answer::Members(members) => Called::Members(members.to_owned()),
            Answer::Modern(result) => Called::Whole(format!(r#""result":{result}"#)),
            Answer::Error(error) => Called::Whole(format!(r#""error":{error}"#)),
            Answer::Echo => structured(params),
            Answer::Headers => structured(headers),
            Answer::Hang => Called::Never,
            Answer::Cancels => structured(&format!(r#"{{"cancels":{}}}"#, self.cancels.load(Ordering::SeqCst))),
        })
    }
}

enum Called {
    Members(String),
    Whole(String),
    Never,
}

fn complete(members: &str, modern: bool, hints: &str) -> String {
    if modern {
        format!(r#"{{"resultType":"complete",{hints}{members}}}"#)
    } else {
        format!("{{{members}}}")
    }
}

fn complete_cached(members: &str, modern: bool) -> String {
    complete(members, modern, r#""ttlMs":0,"cacheScope":"private","#)
}

fn initialized(asked: &str) -> String {
    let version = if ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"].contains(&asked) {
        asked
    } else {
        "2025-11-25"
    };
    format!(
        r#""result":{{"protocolVersion":"{version}","capabilities":{CAPABILITIES},"serverInfo":{{"name":"quirk","version":"1","futureInfo":1}}}}"#
    )
}

fn error(code: i32, rest: &str) -> String {
    format!(r#""error":{{"code":{code},"message":"quirk says no"{rest}}}"#)
}
