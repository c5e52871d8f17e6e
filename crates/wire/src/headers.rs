//! Header rules of streamable HTTP: `Mcp-Method`, `Mcp-Name`, `MCP-Protocol-Version`, the sentinel.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;

use crate::codes;
use crate::object::Object;
use crate::rpc::Fault;

/// Begins a coded value; its letters count as they are (SEP-2243).
const SENTINEL_START: &str = "=?base64?";
/// Ends a coded value. A value that lacks one of the two is plain.
const SENTINEL_END: &str = "?=";

/// Headers of one request, as the edge read them: at most one line each.
#[derive(Debug, Clone, Copy, Default)]
pub struct Seen<'a> {
    /// `MCP-Protocol-Version`
    pub version: Option<&'a str>,
    /// `Mcp-Method`
    pub method: Option<&'a str>,
    /// `Mcp-Name`
    pub name: Option<&'a str>,
}

/// Compares the headers of a 2026-07-28 request with its body: version equal to `_meta`, `Mcp-Method`
/// on every message, `Mcp-Name` for tools/call, prompts/get (`params.name`), resources/read
/// (`params.uri`) and tasks/* (`params.taskId`).
///
/// # Errors
/// `-32020` naming the header, when one is missing, malformed or differs.
pub fn check(seen: Seen<'_>, body_version: &str, method: &str, params: Option<&RawValue>) -> Result<(), Fault> {
    let named = match (name_member(method), params) {
        (Some(member), Some(params)) => Object::parse(params.get()).ok().and_then(|params| params.text(member)),
        (Some(_), None) | (None, _) => None,
    };
    compare(seen, body_version, method, named.as_deref())
}

/// As [`check`], of `params` that were read already.
///
/// # Errors
/// As [`check`].
pub fn check_read(seen: Seen<'_>, body_version: &str, method: &str, params: &Object<'_>) -> Result<(), Fault> {
    let named = name_member(method).and_then(|member| params.text(member));
    compare(seen, body_version, method, named.as_deref())
}

/// As [`check`], with the body's name (see [`name_member`]) already read.
///
/// # Errors
/// As [`check`].
pub fn compare(seen: Seen<'_>, body_version: &str, method: &str, name: Option<&str>) -> Result<(), Fault> {
    equal("MCP-Protocol-Version", seen.version, body_version)?;
    equal("Mcp-Method", seen.method, method)?;
    if name_member(method).is_none() {
        return Ok(());
    }
    match (name, seen.name) {
        (Some(name), header) => equal("Mcp-Name", header, name),
        // The body lacks its name, which is an error of the parameters and not of the headers.
        (None, None) => Ok(()),
        (None, Some(_)) => Err(mismatch("header `Mcp-Name` has no counterpart in the body".to_owned())),
    }
}

fn equal(header: &str, value: Option<&str>, expected: &str) -> Result<(), Fault> {
    let value = value.ok_or_else(|| mismatch(format!("header `{header}` is missing")))?;
    if value == expected && !value.starts_with(SENTINEL_START) {
        return Ok(());
    }
    let value = decode(value.trim_matches([' ', '\t']))
        .ok_or_else(|| mismatch(format!("header `{header}` does not decode")))?;
    if value == expected {
        Ok(())
    } else {
        Err(mismatch(format!(
            "header `{header}` is `{value}`, the body says `{expected}`"
        )))
    }
}

/// `-32020` with a text.
pub(crate) fn mismatch(message: String) -> Fault {
    Fault::new(codes::HEADER_MISMATCH, message)
}

/// The body member that `Mcp-Name` mirrors for a method.
#[must_use]
pub fn name_member(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}

/// A header value for a text: as is where it is plain, else `=?base64?…?=`.
///
/// Plain is visible ASCII with blanks inside only, and not what looks like the sentinel itself; so no
/// value can hold a line end (CR, LF or NUL).
#[must_use]
pub fn encode(text: &str) -> String {
    let visible = text.bytes().all(|byte| matches!(byte, 0x20..=0x7E));
    let padded = text.starts_with(' ') || text.ends_with(' ');
    if visible && !padded && !text.starts_with(SENTINEL_START) {
        text.to_owned()
    } else {
        [SENTINEL_START, &STANDARD.encode(text), SENTINEL_END].concat()
    }
}

/// The text of a header value; `None` when the sentinel does not decode.
#[must_use]
pub fn decode(value: &str) -> Option<Cow<'_, str>> {
    match value
        .strip_prefix(SENTINEL_START)
        .and_then(|rest| rest.strip_suffix(SENTINEL_END))
    {
        Some(coded) => String::from_utf8(STANDARD.decode(coded).ok()?).ok().map(Cow::Owned),
        None => Some(Cow::Borrowed(value)),
    }
}

#[cfg(test)]
mod tests;
