//! MCP protocol constants and zero-copy JSON-RPC envelopes.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// Newest revision: stateless, request metadata in `_meta` and HTTP headers.
pub const MODERN: &str = "2026-07-28";

/// Revisions that open with an `initialize` handshake, newest first.
pub const LEGACY: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];

/// Key of `_meta`: the protocol version of a request.
pub const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Key of `_meta`: who asks.
pub const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
/// Key of `_meta`: what the caller can do.
pub const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// Key of `_meta`: who answers.
pub const META_SERVER: &str = "io.modelcontextprotocol/serverInfo";

/// Header that names a session of the handshake revisions.
pub const HDR_SESSION: &str = "mcp-session-id";
/// Header that names the protocol version.
pub const HDR_VERSION: &str = "mcp-protocol-version";
/// Header that mirrors `method`, from 2026-07-28 on.
pub const HDR_METHOD: &str = "mcp-method";
/// Header that mirrors `params.name`, from 2026-07-28 on.
pub const HDR_NAME: &str = "mcp-name";

/// JSON-RPC error codes used by MCP.
pub mod code {
    /// The text is no JSON.
    pub const PARSE: i32 = -32700;
    /// The JSON is no request.
    pub const INVALID_REQUEST: i32 = -32600;
    /// Nobody knows the method.
    pub const METHOD_NOT_FOUND: i32 = -32601;
    /// The parameters are wrong.
    pub const INVALID_PARAMS: i32 = -32602;
    /// A mirrored header differs from the body.
    pub const HEADER_MISMATCH: i32 = -32020;
    /// The server does not speak the version.
    pub const UNSUPPORTED_VERSION: i32 = -32022;
}

/// Which of the two protocol families a request belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// `initialize` handshake, optional HTTP session.
    Legacy,
    /// 2026-07-28 and later: every request stands alone.
    Modern,
}

/// Any JSON-RPC message, borrowing from the receive buffer.
#[derive(Debug, Deserialize)]
pub struct Message<'a> {
    /// The id of a request or of its answer, as written.
    #[serde(borrow, default)]
    pub id: Option<&'a RawValue>,
    /// The method of a request or a notification.
    #[serde(borrow, default)]
    pub method: Option<Cow<'a, str>>,
    /// Its parameters.
    #[serde(borrow, default)]
    pub params: Option<&'a RawValue>,
    /// The result, in an answer.
    #[serde(borrow, default)]
    pub result: Option<&'a RawValue>,
    /// The error, in an answer.
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
}

/// The protocol version in `params._meta`, if there is one.
pub fn meta_version(params: Option<&RawValue>) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, default, rename = "_meta")]
        meta: Option<Meta<'a>>,
    }
    #[derive(Deserialize)]
    struct Meta<'a> {
        #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
        version: Option<Cow<'a, str>>,
    }
    serde_json::from_str::<Params<'_>>(params?.get()).ok()?.meta?.version
}
