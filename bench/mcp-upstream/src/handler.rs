//! Answers to requests, the same for every transport.
//!
//! They are assembled from bytes prepared at start, so a `tools/list` of
//! thousands of tools costs no serialisation and no copy.

use std::{borrow::Cow, collections::HashMap, time::Duration};

use bench_common::{
    catalog::{Kind, catalog},
    proto::{self, Era, Message, code},
};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

pub(crate) struct Options {
    /// Number of the first synthetic tool.
    pub(crate) first: usize,
    pub(crate) tools: usize,
    pub(crate) page_size: usize,
    pub(crate) delay: Duration,
    pub(crate) name: String,
    pub(crate) legacy_only: bool,
}

pub(crate) struct Handler {
    kinds: HashMap<String, Kind>,
    pages: Vec<Page>,
    delay: Duration,
    server_info: String,
    legacy_only: bool,
}

/// One page of tools/list, as the `result` object in both protocol families.
struct Page {
    legacy: Bytes,
    modern: Bytes,
}

/// One complete JSON-RPC message, in up to three parts that are sent in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts(pub(crate) [Bytes; 3]);

#[cfg(test)]
impl Parts {
    fn text(&self) -> String {
        self.0.iter().map(|b| std::str::from_utf8(b).unwrap()).collect()
    }
}

impl From<String> for Parts {
    fn from(s: String) -> Self {
        Parts([Bytes::from(s), Bytes::new(), Bytes::new()])
    }
}

#[derive(Debug)]
pub(crate) struct Reply {
    /// The message to send back; none for notifications.
    pub(crate) message: Option<Parts>,
    /// How long to wait before sending it.
    pub(crate) delay: Duration,
    /// HTTP status that goes with it.
    pub(crate) status: u16,
    /// Whether this was a successful `initialize`.
    pub(crate) initialized: bool,
    /// Whether the caller is to be asked something before the message is sent.
    pub(crate) asks: bool,
}

impl Reply {
    fn ok(message: impl Into<Parts>) -> Self {
        Self {
            message: Some(message.into()),
            delay: Duration::ZERO,
            status: 200,
            initialized: false,
            asks: false,
        }
    }

    pub(crate) fn error(status: u16, id: Option<&RawValue>, code: i32, text: &str) -> Self {
        Self::error_data(status, id, code, text, None)
    }

    fn error_data(status: u16, id: Option<&RawValue>, code: i32, text: &str, data: Option<&str>) -> Self {
        let id = id.map_or("null", RawValue::get);
        let text = json_string(text);
        let data = data.map(|d| format!(",\"data\":{d}")).unwrap_or_default();
        Self {
            status,
            ..Self::ok(format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{text}{data}}}}}"#
            ))
        }
    }

    fn accepted() -> Self {
        Self {
            message: None,
            delay: Duration::ZERO,
            status: 202,
            initialized: false,
            asks: false,
        }
    }
}

fn json_string(s: &str) -> String {
    serde_json::to_string(s).expect("strings always serialise")
}

fn result(id: &RawValue, result: &str) -> String {
    let id = id.get();
    let mut s = String::with_capacity(result.len() + id.len() + 40);
    s.push_str(r#"{"jsonrpc":"2.0","id":"#);
    s.push_str(id);
    s.push_str(r#","result":"#);
    s.push_str(result);
    s.push('}');
    s
}

#[derive(Deserialize)]
struct CallParams<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(default)]
    kib: Option<u64>,
    #[serde(default)]
    ms: Option<u64>,
}

const EMPTY_OBJECT: &str = "{}";
const MAX_KIB: u64 = 64 * 1024;
const MAX_SLEEP_MS: u64 = 600_000;

impl Handler {
    pub(crate) fn new(options: &Options) -> Self {
        let tools = catalog(options.first, options.tools);
        let kinds = tools.iter().map(|t| (t.name.clone(), t.kind)).collect();
        let page_size = match options.page_size {
            0 => tools.len().max(1),
            n => n,
        };
        let chunks: Vec<_> = tools.chunks(page_size).collect();
        let count = chunks.len().max(1);
        let pages = (0..count)
            .map(|i| {
                let tools = chunks.get(i).copied().unwrap_or_default();
                let list = serde_json::to_string(tools).expect("the catalogue serialises");
                let cursor = if i + 1 < count {
                    format!(r#","nextCursor":"{}""#, i + 1)
                } else {
                    String::new()
                };
                Page {
                    legacy: Bytes::from(format!(r#"{{"tools":{list}{cursor}}}"#)),
                    modern: Bytes::from(format!(
                        r#"{{"resultType":"complete","tools":{list}{cursor},"ttlMs":60000,"cacheScope":"public"}}"#
                    )),
                }
            })
            .collect();
        Self {
            kinds,
            pages,
            delay: options.delay,
            server_info: format!(
                r#"{{"name":{},"version":"{}"}}"#,
                json_string(&options.name),
                env!("CARGO_PKG_VERSION")
            ),
            legacy_only: options.legacy_only,
        }
    }

    /// The protocol family of a message, from its declared version.
    pub(crate) fn era(version: Option<&str>) -> Era {
        match version {
            Some(v) if !proto::LEGACY.contains(&v) && v != "2024-11-05" => Era::Modern,
            _ => Era::Legacy,
        }
    }

    pub(crate) fn handle(&self, msg: &Message<'_>, era: Era) -> Reply {
        let Some(method) = msg.method.as_deref() else {
            // A response from the client: nothing to do with it.
            return if msg.result.is_some() || msg.error.is_some() {
                Reply::accepted()
            } else {
                Reply::error(400, msg.id, code::INVALID_REQUEST, "missing method")
            };
        };
        let Some(id) = msg.id else {
            return Reply::accepted();
        };
        if era == Era::Modern
            && let Some(refusal) = self.check_version(id, msg.params)
        {
            return refusal;
        }
        match method {
            "tools/call" => self.call(id, msg.params, era),
            "tools/list" => self.list(id, msg.params, era),
            "ping" if era == Era::Legacy => Reply::ok(result(id, EMPTY_OBJECT)),
            "initialize" if era == Era::Legacy => self.initialize(id, msg.params),
            "server/discover" if era == Era::Modern => self.discover(id),
            _ => {
                let status = if era == Era::Modern { 404 } else { 200 };
                Reply::error(status, Some(id), code::METHOD_NOT_FOUND, "Method not found")
            }
        }
    }

    fn check_version(&self, id: &RawValue, params: Option<&RawValue>) -> Option<Reply> {
        let requested = proto::meta_version(params);
        if requested.as_deref() == Some(proto::MODERN) && !self.legacy_only {
            return None;
        }
        let supported: Vec<&str> = std::iter::once(proto::MODERN)
            .filter(|_| !self.legacy_only)
            .chain(proto::LEGACY)
            .collect();
        let data = serde_json::json!({ "supported": supported, "requested": requested });
        Some(Reply::error_data(
            400,
            Some(id),
            code::UNSUPPORTED_VERSION,
            "Unsupported protocol version",
            Some(&data.to_string()),
        ))
    }

    fn initialize(&self, id: &RawValue, params: Option<&RawValue>) -> Reply {
        #[derive(Deserialize)]
        struct Params<'a> {
            #[serde(borrow, rename = "protocolVersion")]
            version: Cow<'a, str>,
        }
        let Some(Ok(params)) = params.map(|p| serde_json::from_str::<Params<'_>>(p.get())) else {
            return Reply::error(200, Some(id), code::INVALID_PARAMS, "protocolVersion is missing");
        };
        let version = proto::LEGACY
            .iter()
            .find(|v| **v == params.version)
            .unwrap_or(&proto::LEGACY[0]);
        let info = &self.server_info;
        Reply {
            initialized: true,
            ..Reply::ok(result(
                id,
                &format!(
                    r#"{{"protocolVersion":"{version}","capabilities":{{"tools":{{"listChanged":false}}}},"serverInfo":{info}}}"#
                ),
            ))
        }
    }

    fn discover(&self, id: &RawValue) -> Reply {
        let versions: Vec<&str> = std::iter::once(proto::MODERN).chain(proto::LEGACY).collect();
        let versions = serde_json::to_string(&versions).expect("strings always serialise");
        let info = &self.server_info;
        Reply::ok(result(
            id,
            &format!(
                r#"{{"resultType":"complete","supportedVersions":{versions},"capabilities":{{"tools":{{}}}},"_meta":{{"{}":{info}}},"ttlMs":3600000,"cacheScope":"public"}}"#,
                proto::META_SERVER
            ),
        ))
    }

    fn list(&self, id: &RawValue, params: Option<&RawValue>, era: Era) -> Reply {
        #[derive(Deserialize)]
        struct Params<'a> {
            #[serde(borrow, default)]
            cursor: Option<Cow<'a, str>>,
        }
        let cursor = match params.map(|p| serde_json::from_str::<Params<'_>>(p.get())) {
            None => None,
            Some(Ok(p)) => p.cursor,
            Some(Err(_)) => {
                return Reply::error(200, Some(id), code::INVALID_PARAMS, "bad params");
            }
        };
        let index = cursor.map_or(Ok(0), |c| c.parse::<usize>());
        let Some(page) = index.ok().and_then(|i| self.pages.get(i)) else {
            return Reply::error(200, Some(id), code::INVALID_PARAMS, "unknown cursor");
        };
        let body = match era {
            Era::Legacy => page.legacy.clone(),
            Era::Modern => page.modern.clone(),
        };
        Reply::ok(Parts([
            Bytes::from(format!(r#"{{"jsonrpc":"2.0","id":{},"result":"#, id.get())),
            body,
            Bytes::from_static(b"}"),
        ]))
    }

    fn call(&self, id: &RawValue, params: Option<&RawValue>, era: Era) -> Reply {
        let Some(Ok(params)) = params.map(|p| serde_json::from_str::<CallParams<'_>>(p.get())) else {
            return Reply::error(200, Some(id), code::INVALID_PARAMS, "bad params");
        };
        let Some(kind) = self.kinds.get(params.name.as_ref()) else {
            let text = format!("Unknown tool: {}", params.name);
            return Reply::error(200, Some(id), code::INVALID_PARAMS, &text);
        };
        let raw = params.arguments.map_or(EMPTY_OBJECT, RawValue::get);
        let Ok(args) = serde_json::from_str::<Arguments<'_>>(raw) else {
            return Reply::error(200, Some(id), code::INVALID_PARAMS, "bad arguments");
        };
        let mut delay = self.delay;
        // `text` is the JSON string literal of the first content block.
        let text: Cow<'_, str> = match kind {
            Kind::Blob => {
                let kib = args.kib.unwrap_or(1).min(MAX_KIB) as usize;
                Cow::Owned(blob_literal(kib * 1024))
            }
            Kind::Sleep => {
                delay += Duration::from_millis(args.ms.unwrap_or(100).min(MAX_SLEEP_MS));
                echo_literal(args.message, raw)
            }
            Kind::Echo | Kind::Fail | Kind::Ask => echo_literal(args.message, raw),
        };
        let is_error = *kind == Kind::Fail;
        let kind_field = match era {
            Era::Legacy => "",
            Era::Modern => r#""resultType":"complete","#,
        };
        let id = id.get();
        let mut out = String::with_capacity(text.len() + id.len() + 128);
        out.push_str(r#"{"jsonrpc":"2.0","id":"#);
        out.push_str(id);
        out.push_str(r#","result":{"#);
        out.push_str(kind_field);
        out.push_str(r#""content":[{"type":"text","text":"#);
        out.push_str(&text);
        out.push_str(r#"}],"isError":"#);
        out.push_str(if is_error { "true}}" } else { "false}}" });
        Reply {
            delay,
            asks: *kind == Kind::Ask && era == Era::Legacy,
            ..Reply::ok(out)
        }
    }
}

/// The message argument as a JSON string literal, or all arguments as one.
fn echo_literal<'a>(message: Option<&'a RawValue>, arguments: &'a str) -> Cow<'a, str> {
    match message.map(RawValue::get) {
        Some(m) if m.starts_with('"') => Cow::Borrowed(m),
        Some(m) => Cow::Owned(json_string(m)),
        None => Cow::Owned(json_string(arguments)),
    }
}

/// A JSON string literal of `len` bytes of readable text.
fn blob_literal(len: usize) -> String {
    const LINE: &str = "The quick brown fox jumps over the lazy dog 0123456789 times. ";
    let mut s = String::with_capacity(len + LINE.len() + 2);
    s.push('"');
    while s.len() <= len {
        s.push_str(LINE);
    }
    s.truncate(len + 1);
    s.push('"');
    s
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handler(tools: usize, page_size: usize) -> Handler {
        Handler::new(&Options {
            first: 0,
            tools,
            page_size,
            delay: Duration::ZERO,
            name: "t".into(),
            legacy_only: false,
        })
    }

    fn ask(h: &Handler, text: &str, era: Era) -> (u16, serde_json::Value) {
        let msg: Message<'_> = serde_json::from_str(text).unwrap();
        let reply = h.handle(&msg, era);
        let body = reply
            .message
            .map_or(serde_json::Value::Null, |m| serde_json::from_str(&m.text()).unwrap());
        (reply.status, body)
    }

    const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

    #[test]
    fn echo_returns_the_message_with_its_escapes() {
        let (_, v) = ask(
            &handler(4, 0),
            r#"{"jsonrpc":"2.0","id":"a\"b","method":"tools/call","params":{"name":"echo","arguments":{"message":"x\n\"y\" é"}}}"#,
            Era::Legacy,
        );
        assert_eq!(v["id"], "a\"b");
        assert_eq!(v["result"]["content"][0]["text"], "x\n\"y\" é");
        assert_eq!(v["result"]["isError"], false);
        assert!(v["result"].get("resultType").is_none());
    }

    #[test]
    fn echo_without_message_returns_all_arguments() {
        let (_, v) = ask(
            &handler(6, 0),
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"crm_create_record_0000","arguments":{"record_id":"7"}}}"#,
            Era::Legacy,
        );
        assert_eq!(v["result"]["content"][0]["text"], r#"{"record_id":"7"}"#);
    }

    #[test]
    fn blob_has_the_requested_size() {
        let (_, v) = ask(
            &handler(4, 0),
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"blob","arguments":{"kib":3}}}"#,
            Era::Legacy,
        );
        assert_eq!(v["result"]["content"][0]["text"].as_str().unwrap().len(), 3072);
    }

    #[test]
    fn list_pages_through_every_tool() {
        let h = handler(25, 10);
        let mut cursor = String::new();
        let mut seen = 0;
        loop {
            let (_, v) = ask(
                &h,
                &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{cursor}}}}}"#),
                Era::Legacy,
            );
            seen += v["result"]["tools"].as_array().unwrap().len();
            match v["result"]["nextCursor"].as_str() {
                Some(c) => cursor = format!(r#""cursor":"{c}""#),
                None => break,
            }
        }
        assert_eq!(seen, 25);
    }

    #[test]
    fn modern_results_carry_the_required_fields() {
        let h = handler(4, 0);
        let (_, v) = ask(
            &h,
            &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{META}}}}}"#),
            Era::Modern,
        );
        assert_eq!(v["result"]["resultType"], "complete");
        assert_eq!(v["result"]["cacheScope"], "public");
        let (_, v) = ask(
            &h,
            &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{{{META}}}}}"#),
            Era::Modern,
        );
        assert_eq!(v["result"]["supportedVersions"][0], proto::MODERN);
    }

    #[test]
    fn unknown_versions_are_refused_with_the_supported_ones() {
        let (status, v) = ask(
            &handler(4, 0),
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"1900-01-01"}}}"#,
            Era::Modern,
        );
        assert_eq!(status, 400);
        assert_eq!(v["error"]["code"], code::UNSUPPORTED_VERSION);
        assert_eq!(v["error"]["data"]["requested"], "1900-01-01");
    }

    #[test]
    fn notifications_and_responses_get_no_answer() {
        let h = handler(4, 0);
        let (s, v) = ask(
            &h,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            Era::Legacy,
        );
        assert_eq!((s, v.is_null()), (202, true));
        let (s, v) = ask(&h, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, Era::Legacy);
        assert_eq!((s, v.is_null()), (202, true));
    }

    #[test]
    fn unknown_tools_and_methods_are_errors() {
        let h = handler(4, 0);
        let (_, v) = ask(
            &h,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nope"}}"#,
            Era::Legacy,
        );
        assert_eq!(v["error"]["code"], code::INVALID_PARAMS);
        let (_, v) = ask(&h, r#"{"jsonrpc":"2.0","id":1,"method":"nope"}"#, Era::Legacy);
        assert_eq!(v["error"]["code"], code::METHOD_NOT_FOUND);
    }
}
