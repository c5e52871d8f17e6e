//! What the gateway itself says: handshakes and results that no upstream wrote, as raw JSON.

use crate::meta;
use crate::object::{push_quoted, quote};
use crate::version::Version;

/// The gateway as an MCP implementation, raw JSON: its `serverInfo` towards callers and its
/// `clientInfo` towards upstreams.
pub const GATEWAY: &str = concat!(
    r#"{"name":"countersign","title":"Countersign","version":""#,
    env!("CARGO_PKG_VERSION"),
    r#""}"#
);

/// A result that says nothing.
pub const EMPTY_RESULT: &str = "{}";

/// How far a part of the protocol is offered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Offer {
    /// Not at all.
    #[default]
    Absent,
    /// Offered.
    Plain,
    /// Offered, with notifications of a changed list.
    ListChanged,
    /// Offered, with subscriptions to single resources too; for other parts the same as [`Offer::ListChanged`].
    Subscribe,
}

/// The capabilities that the gateway declares to a caller.
#[derive(Debug, Clone, Copy, Default)]
pub struct Capabilities<'a> {
    /// `tools`
    pub tools: Offer,
    /// `resources`
    pub resources: Offer,
    /// `prompts`
    pub prompts: Offer,
    /// `completions`
    pub completions: Offer,
    /// `logging`
    pub logging: Offer,
    /// `tasks` of 2025-11-25: tools may be called as tasks.
    pub tasks: bool,
    /// `extensions`, a raw JSON object.
    pub extensions: Option<&'a str>,
}

impl Capabilities<'_> {
    /// The raw JSON object.
    #[must_use]
    pub fn render(&self) -> String {
        let changes = |offer| match offer {
            Offer::Absent => None,
            Offer::Plain => Some("{}"),
            Offer::ListChanged | Offer::Subscribe => Some(r#"{"listChanged":true}"#),
        };
        let plain = |offer| match offer {
            Offer::Absent => None,
            Offer::Plain | Offer::ListChanged | Offer::Subscribe => Some("{}"),
        };
        let resources = match self.resources {
            Offer::Subscribe => Some(r#"{"subscribe":true,"listChanged":true}"#),
            other @ (Offer::Absent | Offer::Plain | Offer::ListChanged) => changes(other),
        };
        members(&[
            ("completions", plain(self.completions)),
            ("logging", plain(self.logging)),
            ("prompts", changes(self.prompts)),
            (
                "tasks",
                self.tasks
                    .then_some(r#"{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}"#),
            ),
            ("resources", resources),
            ("tools", changes(self.tools)),
            ("extensions", self.extensions),
        ])
    }
}

/// An object of the members that are there; values are raw JSON.
fn members(all: &[(&str, Option<&str>)]) -> String {
    let mut out = String::from("{");
    for (name, value) in all {
        if let Some(value) = value {
            if out.len() > 1 {
                out.push(',');
            }
            push_quoted(&mut out, name);
            out.push(':');
            out.push_str(value);
        }
    }
    out.push('}');
    out
}

/// The result of `initialize`; `server_info` is raw JSON ([`GATEWAY`]), the instructions are plain text.
#[must_use]
pub fn initialize_result(
    version: Version,
    capabilities: &Capabilities<'_>,
    server_info: &str,
    instructions: Option<&str>,
) -> String {
    members(&[
        ("protocolVersion", Some(&quote(version.as_str()))),
        ("capabilities", Some(&capabilities.render())),
        ("serverInfo", Some(server_info)),
        ("instructions", instructions.map(quote).as_deref()),
    ])
}

/// The result of `server/discover` (2026-07-28), whole: for no other caller, and not to be kept.
#[must_use]
pub fn discover_result(capabilities: &Capabilities<'_>, server_info: &str, instructions: Option<&str>) -> String {
    members(&[
        ("resultType", Some(r#""complete""#)),
        ("supportedVersions", Some(&meta::served())),
        ("capabilities", Some(&capabilities.render())),
        ("instructions", instructions.map(quote).as_deref()),
        ("ttlMs", Some("0")),
        ("cacheScope", Some(r#""private""#)),
        ("_meta", Some(&members(&[(meta::SERVER_INFO, Some(server_info))]))),
    ])
}

/// `params` of `initialize` towards an upstream; the capabilities are a raw JSON object.
#[must_use]
pub fn initialize_params(version: Version, capabilities: &str) -> String {
    members(&[
        ("protocolVersion", Some(&quote(version.as_str()))),
        ("capabilities", Some(capabilities)),
        ("clientInfo", Some(GATEWAY)),
    ])
}

/// `notifications/initialized`, the whole message.
#[must_use]
pub fn initialized() -> String {
    crate::rpc::notification("notifications/initialized", None)
}

/// `params` of `server/discover` towards an upstream; the capabilities are a raw JSON object.
#[must_use]
pub fn discover_params(capabilities: &str) -> String {
    members(&[("_meta", Some(&meta::modern_request(capabilities, None, None, &[])))])
}

/// A `tools/call` result with one text.
#[must_use]
pub fn tool_text(text: &str) -> String {
    members(&[("content", Some(&text_content(text)))])
}

/// A `tools/call` result with one JSON value, as structured content and as text; the value is a raw JSON object.
#[must_use]
pub fn tool_json(value: &str) -> String {
    members(&[
        ("content", Some(&text_content(value))),
        ("structuredContent", Some(value)),
    ])
}

/// A `tools/call` result that says what went wrong; the structured content is a raw JSON object.
#[must_use]
pub fn tool_error(text: &str, structured: Option<&str>) -> String {
    members(&[
        ("content", Some(&text_content(text))),
        ("structuredContent", structured),
        ("isError", Some("true")),
    ])
}

fn text_content(text: &str) -> String {
    format!(r#"[{{"type":"text","text":{}}}]"#, quote(text))
}

#[cfg(test)]
mod tests;
