//! What a result or an error needs to be right for a caller of the other era (A.16 of the MCP notes).

use crate::authored;
use crate::codes;
use crate::meta::SERVER_INFO;
use crate::object::{self, Edit, Object, quote};
use crate::version::{Era, Version};

/// Which kind of result it is: lists and reads carry cache hints in 2026-07-28.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `tools/call`, `prompts/get`, `completion/complete`, `subscriptions/listen`.
    Plain,
    /// `server/discover`, lists, `resources/read`.
    Cacheable,
}

/// A result as `caller` must get it.
///
/// For a modern caller `resultType` is added where missing, and `serverInfo` in `_meta` is the gateway's
/// own (`server_info`, raw JSON). A complete result of a cacheable kind gets `ttlMs` where it has none, and
/// its `cacheScope` is `private` whatever the upstream says, since what a caller may read depends on who it
/// is. For a legacy caller `resultType`, `ttlMs`, `cacheScope` and the reserved `_meta` key are removed, and
/// a `structuredContent` of a modern server that is not an object becomes text. All other bytes stay; a
/// legacy server's odd `structuredContent` too, since caller and server speak the same revision.
///
/// The result must have been read as JSON before; it is not checked again.
#[must_use]
pub fn result_for(caller: Version, kind: Kind, result: &str, server_info: &str) -> String {
    let Ok(object) = Object::of_read(result) else {
        return result.to_owned();
    };
    match caller.era() {
        Era::Modern => modern_result(kind, result, &object, server_info),
        Era::Legacy => legacy_result(result, &object),
    }
}

fn modern_result(kind: Kind, result: &str, object: &Object<'_>, server_info: &str) -> String {
    let mut edits = Vec::with_capacity(4);
    let result_type = object.text("resultType");
    if result_type.is_none() {
        edits.push(Edit::Set("resultType", r#""complete""#));
    }
    let complete = result_type.is_none_or(|kind| kind == "complete");
    match kind {
        Kind::Cacheable if complete => {
            // Anything but a number that is not negative counts as 0 (SEP-2549).
            if !object
                .get("ttlMs")
                .is_some_and(|raw| raw.get().starts_with(|first: char| first.is_ascii_digit()))
            {
                edits.push(Edit::Set("ttlMs", "0"));
            }
            if object.text("cacheScope").as_deref() != Some("private") {
                edits.push(Edit::Set("cacheScope", r#""private""#));
            }
        }
        Kind::Cacheable | Kind::Plain => {}
    }
    let meta = object.get("_meta").map(|raw| raw.get());
    let meta = match meta.and_then(|meta| Some((meta, Object::of_read(meta).ok()?))) {
        Some((meta, members)) => object::apply(meta, &members, &[Edit::Set(SERVER_INFO, server_info)]),
        None => [r#"{""#, SERVER_INFO, r#"":"#, server_info, "}"].concat(),
    };
    edits.push(Edit::Set("_meta", &meta));
    object::apply(result, object, &edits)
}

fn legacy_result(result: &str, object: &Object<'_>) -> String {
    let mut edits: Vec<Edit<'_>> = ["resultType", "ttlMs", "cacheScope"]
        .into_iter()
        .filter(|name| object.get(name).is_some())
        .map(Edit::Remove)
        .collect();
    let meta = object.get("_meta").map(|raw| raw.get());
    let members = meta
        .and_then(|raw| Object::of_read(raw).ok())
        .filter(|members| members.get(SERVER_INFO).is_some());
    let rest = match (meta, &members) {
        (Some(raw), Some(members)) if members.iter().any(|(name, _)| name != SERVER_INFO) => {
            Some(object::apply(raw, members, &[Edit::Remove(SERVER_INFO)]))
        }
        (_, _) => None,
    };
    match (&members, &rest) {
        (Some(_), Some(rest)) => edits.push(Edit::Set("_meta", rest)),
        (Some(_), None) => edits.push(Edit::Remove("_meta")),
        (None, _) => {}
    }
    // Only results of 2026-07-28 bear a `resultType`.
    let crosses = object.get("resultType").is_some();
    let odd = object
        .get("structuredContent")
        .map(|raw| raw.get())
        .filter(|raw| crosses && !raw.starts_with('{'));
    let as_text = odd.map(|raw| format!(r#"[{{"type":"text","text":{}}}]"#, quote(raw)));
    if let Some(text) = &as_text {
        edits.push(Edit::Remove("structuredContent"));
        let empty = object
            .get("content")
            .is_none_or(|raw| raw.get().trim_matches(['[', ']', ' ', '\n', '\r', '\t']).is_empty());
        if empty {
            edits.push(Edit::Set("content", text));
        }
    }
    if edits.is_empty() {
        result.to_owned()
    } else {
        object::apply(result, object, &edits)
    }
}

/// An error object of an upstream as `caller` must get it; message and data stay.
///
/// A missing resource is `-32602` for a modern caller and `-32002` for a legacy one. `-32042` does not
/// exist for a modern caller and becomes `-32603`; so do `-32020` and `-32022` for every caller, since they
/// speak of the gateway's own request and a caller would take them for a verdict about its own.
#[must_use]
pub fn error_for(caller: Version, method: &str, error: &str) -> String {
    let Ok(object) = Object::parse_tolerant(error) else {
        return error.to_owned();
    };
    let code = object.get("code").and_then(|raw| raw.get().parse::<i64>().ok());
    let new = match (caller.era(), code) {
        (Era::Modern, Some(codes::RESOURCE_NOT_FOUND)) => Some(codes::INVALID_PARAMS),
        (Era::Modern, Some(codes::URL_ELICITATION_REQUIRED)) => Some(codes::INTERNAL_ERROR),
        (Era::Modern | Era::Legacy, Some(codes::HEADER_MISMATCH | codes::UNSUPPORTED_VERSION)) => {
            Some(codes::INTERNAL_ERROR)
        }
        (Era::Legacy, Some(codes::INVALID_PARAMS)) if is_missing_resource(method, &object) => {
            Some(codes::RESOURCE_NOT_FOUND)
        }
        (Era::Modern | Era::Legacy, _) => None,
    };
    match new {
        Some(code) => object::apply(error, &object, &[Edit::Set("code", &code.to_string())]),
        None => error.to_owned(),
    }
}

/// The result of `tools/call` that a legacy caller gets in place of `-32021`, a code it does not know;
/// `None` when the error goes to `caller` as an error ([`error_for`]).
#[must_use]
pub fn tool_error_for(caller: Version, error: &str) -> Option<String> {
    let object = Object::parse_tolerant(error).ok()?;
    let code = object.get("code")?.get().parse::<i64>().ok()?;
    match caller.era() {
        Era::Legacy if code == codes::MISSING_CAPABILITY => {
            let message = object.text("message").unwrap_or_default();
            Some(authored::tool_error(
                &format!("the client lacks a capability that this tool needs: {message}"),
                None,
            ))
        }
        Era::Legacy | Era::Modern => None,
    }
}

/// Whether a `-32602` says that a resource is missing, and not that the parameters are malformed:
/// the specification's example has the URI as data, and the known servers say so in words.
fn is_missing_resource(method: &str, error: &Object<'_>) -> bool {
    if !matches!(
        method,
        "resources/read" | "resources/subscribe" | "resources/unsubscribe"
    ) {
        return false;
    }
    let has_uri = error
        .get("data")
        .is_some_and(|data| Object::parse_tolerant(data.get()).is_ok_and(|data| data.text("uri").is_some()));
    let message = error.text("message").unwrap_or_default().to_lowercase();
    has_uri
        || ["not found", "unknown resource", "no such"]
            .iter()
            .any(|words| message.contains(words))
}

#[cfg(test)]
mod tests;
