//! `_meta` of requests: the reserved keys of 2026-07-28, the progress token, and the rest.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::value::RawValue;

use crate::codes;
use crate::object::{Object, push_quoted, quote, text_of};
use crate::rpc::Fault;
use crate::version::{Era, Version};

/// Reserved key of the protocol version.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Reserved key of the client's capabilities.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// Reserved key of the client's own statement of who it is.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// Reserved key of the wanted log level.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// Reserved key of the server's own statement of who it is, in results.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// Reserved key that ties a notification to its `subscriptions/listen`.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// The key that asks for progress; not reserved, and bound to one sender.
pub const PROGRESS_TOKEN: &str = "progressToken";

/// The log levels of the protocol (RFC 5424), most talkative first.
pub const LOG_LEVELS: &[&str] = &[
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// `_meta` of one request.
#[derive(Debug, Clone, Default)]
pub struct RequestMeta<'a> {
    /// The protocol version as written, when the key is there.
    pub version: Option<Cow<'a, str>>,
    /// The client's capabilities, raw.
    pub capabilities: Option<&'a RawValue>,
    /// The client's own statement of who it is, raw.
    pub client_info: Option<&'a RawValue>,
    /// The wanted log level.
    pub log_level: Option<Cow<'a, str>>,
    /// `progressToken`, raw: a string or a number.
    pub progress_token: Option<&'a RawValue>,
    /// All other members, in order.
    pub rest: Vec<(String, &'a RawValue)>,
}

/// Reads `_meta` out of `params` (raw object, or absent).
///
/// # Errors
/// A [`Fault`] when `_meta` or one of its reserved members has the wrong type.
pub fn read(params: Option<&RawValue>) -> Result<RequestMeta<'_>, Fault> {
    match params {
        None => Ok(RequestMeta::default()),
        Some(params) => of(&Object::parse(params.get()).map_err(|error| bad(format!("`params`: {error}")))?),
    }
}

/// As [`read`], of `params` that were read already.
///
/// # Errors
/// As [`read`].
pub fn of<'a>(params: &Object<'a>) -> Result<RequestMeta<'a>, Fault> {
    let mut meta = RequestMeta::default();
    let Some(raw) = params.get("_meta") else {
        return Ok(meta);
    };
    let members = params
        .inner(raw)
        .map_err(|error| bad(format!("`params._meta`: {error}")))?;
    for (name, value) in members.iter() {
        match name {
            PROTOCOL_VERSION => meta.version = Some(text(name, value)?),
            LOG_LEVEL => meta.log_level = Some(text(name, value)?),
            CLIENT_CAPABILITIES => meta.capabilities = Some(object(name, value)?),
            CLIENT_INFO => meta.client_info = Some(object(name, value)?),
            PROGRESS_TOKEN => meta.progress_token = Some(token(value)?),
            _ => meta.rest.push((name.to_owned(), value)),
        }
    }
    Ok(meta)
}

fn bad(message: String) -> Fault {
    Fault::new(codes::INVALID_PARAMS, message)
}

fn text<'a>(name: &str, value: &'a RawValue) -> Result<Cow<'a, str>, Fault> {
    text_of(value).ok_or_else(|| bad(format!("`params._meta` member `{name}` must be a string")))
}

fn object<'a>(name: &str, value: &'a RawValue) -> Result<&'a RawValue, Fault> {
    if value.get().starts_with('{') {
        Ok(value)
    } else {
        Err(bad(format!("`params._meta` member `{name}` must be an object")))
    }
}

fn token(value: &RawValue) -> Result<&RawValue, Fault> {
    let is_token = value
        .get()
        .starts_with(|first: char| first == '"' || first == '-' || first.is_ascii_digit());
    if is_token {
        Ok(value)
    } else {
        Err(bad(
            "`params._meta.progressToken` must be a string or a number".to_owned()
        ))
    }
}

/// Checks what every request of 2026-07-28 must carry.
///
/// # Errors
/// `-32602` when a key is missing or the log level is none, `-32022` with `data {supported, requested}` when the
/// version is not served in this way.
pub fn require_modern(meta: &RequestMeta<'_>) -> Result<Version, Fault> {
    let missing = |key: &str| bad(format!("`params._meta` must carry `{key}`"));
    let requested = meta.version.as_deref().ok_or_else(|| missing(PROTOCOL_VERSION))?;
    let version = Version::parse(requested).filter(|version| version.era() == Era::Modern);
    let version = version.ok_or_else(|| unsupported(requested))?;
    if meta.capabilities.is_none() {
        return Err(missing(CLIENT_CAPABILITIES));
    }
    match meta.log_level.as_deref() {
        Some(level) if !LOG_LEVELS.contains(&level) => Err(bad(format!(
            "`params._meta` member `{LOG_LEVEL}`: `{level}` is none of {}",
            LOG_LEVELS.join(", ")
        ))),
        Some(_) | None => Ok(version),
    }
}

/// `-32022` for a version that is not served, naming the ones that are.
#[must_use]
pub fn unsupported(requested: &str) -> Fault {
    let data = format!(r#"{{"supported":{},"requested":{}}}"#, served(), quote(requested));
    let mut fault = Fault::new(
        codes::UNSUPPORTED_VERSION,
        format!("protocol version `{requested}` is not supported"),
    );
    fault.data = Some(data);
    fault
}

/// The served versions as a raw JSON array, newest first: a client takes the first it knows.
pub(crate) fn served() -> String {
    let versions: Vec<String> = Version::SERVED
        .iter()
        .rev()
        .map(|version| quote(version.as_str()))
        .collect();
    format!("[{}]", versions.join(","))
}

/// Whether a `_meta` key of a request is the protocol's own and belongs to one hop only.
#[must_use]
pub fn is_hop_key(key: &str) -> bool {
    matches!(
        key,
        PROTOCOL_VERSION | CLIENT_CAPABILITIES | CLIENT_INFO | LOG_LEVEL | PROGRESS_TOKEN
    )
}

/// What every `_meta` towards a modern upstream begins with, up to the client's capabilities.
static MODERN_HEAD: LazyLock<String> = LazyLock::new(|| {
    let version = quote(Version::V2026_07_28.as_str());
    let gateway = crate::authored::GATEWAY;
    format!(r#"{{"{PROTOCOL_VERSION}":{version},"{CLIENT_INFO}":{gateway},"{CLIENT_CAPABILITIES}":"#)
});

/// `_meta` for a request towards a modern upstream, as raw JSON. `capabilities` and
/// `progress_token` are raw, the log level is plain text; the client that it names is the gateway.
#[must_use]
pub fn modern_request(
    capabilities: &str,
    log_level: Option<&str>,
    progress_token: Option<&str>,
    rest: &[(String, Box<RawValue>)],
) -> String {
    let mut out = String::with_capacity(384 + capabilities.len());
    out.push_str(&MODERN_HEAD);
    out.push_str(capabilities);
    let mut add = |name: &str, value: &str| {
        out.push(',');
        push_quoted(&mut out, name);
        out.push(':');
        out.push_str(value);
    };
    if let Some(level) = log_level {
        add(LOG_LEVEL, &quote(level));
    }
    rest_and_token(add, progress_token, rest);
    out.push('}');
    out
}

/// `_meta` for a request towards a legacy upstream, as raw JSON; `None` when it would be empty.
#[must_use]
pub fn legacy_request(progress_token: Option<&str>, rest: &[(String, Box<RawValue>)]) -> Option<String> {
    let mut out = String::new();
    let add = |name: &str, value: &str| {
        out.push(if out.is_empty() { '{' } else { ',' });
        push_quoted(&mut out, name);
        out.push(':');
        out.push_str(value);
    };
    rest_and_token(add, progress_token, rest);
    if out.is_empty() {
        return None;
    }
    out.push('}');
    Some(out)
}

fn rest_and_token(mut add: impl FnMut(&str, &str), progress_token: Option<&str>, rest: &[(String, Box<RawValue>)]) {
    if let Some(token) = progress_token {
        add(PROGRESS_TOKEN, token);
    }
    for (name, value) in rest.iter().filter(|(name, _)| !is_hop_key(name)) {
        add(name, value.get());
    }
}

#[cfg(test)]
mod tests;
