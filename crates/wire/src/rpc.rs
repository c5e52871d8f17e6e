//! JSON-RPC envelopes, strict on the way in, minimal on the way out.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::codes;
use crate::object::{self, Object, value_of};
use crate::outline::{Member, Outline};
use crate::scan;
use crate::version::Version;

mod salvage;

/// How deep the objects stand whose members are kept by the way: the message, its `params`, and `_meta` in them.
const OUTLINED: usize = 3;

/// One message. Everything that the gateway need not read stays raw.
#[derive(Debug, Clone)]
pub enum Message<'a> {
    /// A request; its id is a string or an integer, kept as written.
    Request {
        /// The id's raw text.
        id: &'a RawValue,
        /// The method.
        method: Cow<'a, str>,
        /// `params`: an object when present.
        params: Option<&'a RawValue>,
    },
    /// A notification.
    Notification {
        /// The method.
        method: Cow<'a, str>,
        /// `params`: an object when present.
        params: Option<&'a RawValue>,
    },
    /// An answer to a request of ours.
    Response {
        /// The id's raw text.
        id: &'a RawValue,
        /// `result` or `error`, raw.
        outcome: Result<&'a RawValue, &'a RawValue>,
    },
}

/// What one body holds.
#[derive(Debug, Clone)]
pub enum Body<'a> {
    /// One message.
    One(Message<'a>),
    /// A batch; only 2025-03-26 has them.
    Batch(Vec<Message<'a>>),
}

/// An error of the protocol, for the one who sent the message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// A code of [`crate::codes`].
    pub code: i64,
    /// What is wrong, naming the place.
    pub message: String,
    /// `data`, raw JSON.
    pub data: Option<String>,
    /// The id of the request where it could be read, raw.
    pub id: Option<String>,
}

impl Fault {
    /// A fault with a code and a text only.
    #[must_use]
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
            id: None,
        }
    }

    /// The same fault for the request with this id (raw JSON).
    #[must_use]
    pub fn of(mut self, id: &str) -> Self {
        self.id = Some(id.to_owned());
        self
    }

    /// The response that says it.
    #[must_use]
    pub fn render(&self) -> String {
        error(self.id.as_deref(), self.code, &self.message, self.data.as_deref())
    }
}

/// Reads a body strictly: UTF-8, no BOM, no duplicate keys and no lone surrogates anywhere (spec
/// 9.3), depth at most 128, `jsonrpc` is `"2.0"`, ids are strings or integers, `params` is an
/// object when present.
///
/// # Errors
/// A [`Fault`] that can be sent back as it is; it has the request's id where that could be read.
pub fn parse(body: &[u8]) -> Result<Body<'_>, Fault> {
    outlined(body).map(|(body, _outline)| body)
}

/// As [`parse`], and gives what was found of the message's outer objects by the way.
///
/// # Errors
/// As [`parse`].
pub fn outlined(body: &[u8]) -> Result<(Body<'_>, Outline<'_>), Fault> {
    let text = std::str::from_utf8(body).map_err(|error| {
        let mut fault = Fault::new(
            codes::PARSE_ERROR,
            format!("the body is not UTF-8 at byte {}", error.valid_up_to()),
        );
        fault.id = salvage::id(&String::from_utf8_lossy(body));
        fault
    })?;
    if text.starts_with('\u{FEFF}') {
        let mut fault = Fault::new(
            codes::PARSE_ERROR,
            "the body begins with a byte order mark; send plain UTF-8",
        );
        fault.id = salvage::id(text);
        return Err(fault);
    }
    let outline = scan::outline(text, OUTLINED).map_err(|error| {
        let code = match error {
            scan::Error::Syntax { .. } | scan::Error::LoneSurrogate { .. } => codes::PARSE_ERROR,
            scan::Error::DuplicateKey(_) | scan::Error::TooDeep => codes::INVALID_REQUEST,
        };
        let mut fault = Fault::new(code, error.to_string());
        fault.id = salvage::id(text);
        fault
    })?;
    if text.trim_start().starts_with('[') {
        return Ok((batch(text)?, outline));
    }
    let members = outline.root();
    let message = strict_message(members.ok_or_else(|| invalid("expected a JSON-RPC message: an object"))?)?;
    Ok((Body::One(message), outline))
}

fn batch(text: &str) -> Result<Body<'_>, Fault> {
    let items: Vec<Object<'_>> = serde_json::from_str(text)
        .ok()
        .ok_or_else(|| invalid("every item of a batch must be an object"))?;
    if items.is_empty() {
        return Err(invalid("the batch is empty"));
    }
    items
        .iter()
        .map(|item| strict_message(item.members()))
        .collect::<Result<_, _>>()
        .map(Body::Batch)
}

fn strict_message<'a>(members: &[Member<'a>]) -> Result<Message<'a>, Fault> {
    let message = envelope(members)?;
    if let Message::Response { id, .. } = &message
        && !is_id(id.get())
    {
        return Err(invalid("`id` of a response must be a string or an integer"));
    }
    if let Message::Request {
        params: Some(params), ..
    }
    | Message::Notification {
        params: Some(params), ..
    } = &message
        && !params.get().starts_with('{')
    {
        let hint = if params.get().starts_with('[') {
            "; parameters by position are not part of MCP"
        } else {
            ""
        };
        let mut fault = Fault::new(codes::INVALID_PARAMS, format!("`params` must be an object{hint}"));
        fault.id = value_of(members, "id").map(|id| id.get().to_owned());
        return Err(fault);
    }
    Ok(message)
}

/// As [`parse`], for a message of an upstream: duplicates inside results are the upstream's own
/// and pass; only the envelope is checked. A BOM, CRLF, `params: null`, and `id: null` of an error are tolerated.
///
/// # Errors
/// What is wrong.
pub fn parse_upstream(text: &str) -> Result<Message<'_>, Fault> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let object = Object::parse(text).map_err(|error| match error {
        object::Error::NotAnObject => Fault::new(codes::PARSE_ERROR, "expected one JSON object"),
        object::Error::DuplicateKey(_) => invalid(&error.to_string()),
    })?;
    let absent = |params: Option<&'_ RawValue>| params.is_some_and(|raw| raw.get() == "null");
    match envelope(object.members())? {
        Message::Request { id, method, params } if absent(params) => Ok(Message::Request {
            id,
            method,
            params: None,
        }),
        Message::Notification { method, params } if absent(params) => {
            Ok(Message::Notification { method, params: None })
        }
        message @ (Message::Request { .. } | Message::Notification { .. } | Message::Response { .. }) => Ok(message),
    }
}

/// The id of a message of an upstream that cannot be read, raw; whoever waits for its answer need not wait longer.
#[must_use]
pub fn id_of_unreadable(text: &str) -> Option<String> {
    salvage::id(text)
}

/// The names at the top level of an object that may be cut off, as far as they can be read.
#[must_use]
pub fn names_of_unreadable(text: &str) -> Vec<String> {
    salvage::names(text)
}

/// What kind of message an object is.
fn envelope<'a>(members: &[Member<'a>]) -> Result<Message<'a>, Fault> {
    let get = |name: &str| value_of(members, name);
    let id = get("id");
    let answerable = |fault: Fault| match id {
        Some(id) if is_id(id.get()) && get("method").is_some() => fault.of(id.get()),
        Some(_) | None => fault,
    };
    if get("jsonrpc").and_then(object::text_of).as_deref() != Some("2.0") {
        return Err(answerable(invalid("`jsonrpc` must be \"2.0\"")));
    }
    let (result, error) = (get("result"), get("error"));
    let Some(method) = get("method") else {
        return response(id, result, error);
    };
    if result.is_some() || error.is_some() {
        return Err(answerable(invalid("a message is a request or a response, not both")));
    }
    let method = object::text_of(method).ok_or_else(|| answerable(invalid("`method` must be a string")))?;
    let params = get("params");
    match id {
        None => Ok(Message::Notification { method, params }),
        Some(id) if is_id(id.get()) => Ok(Message::Request { id, method, params }),
        Some(_) => Err(invalid("`id` must be a string or an integer")),
    }
}

fn response<'a>(
    id: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
) -> Result<Message<'a>, Fault> {
    let outcome = match (result, error) {
        (Some(result), None) => Ok(result),
        (None, Some(error)) if error.get().starts_with('{') => Err(error),
        (None, Some(_)) => return Err(invalid("`error` must be an object")),
        (Some(_), Some(_)) => return Err(invalid("a response has `result` or `error`, not both")),
        (None, None) => return Err(invalid("expected `method`, `result` or `error`")),
    };
    match id {
        Some(id) if is_id(id.get()) || (id.get() == "null" && outcome.is_err()) => {
            Ok(Message::Response { id, outcome })
        }
        Some(_) => Err(invalid("`id` of a response must be a string or an integer")),
        None => Err(invalid("a response needs `id`")),
    }
}

fn invalid(message: &str) -> Fault {
    Fault::new(codes::INVALID_REQUEST, message)
}

/// Whether a raw value is a string or an integer.
fn is_id(raw: &str) -> bool {
    match raw.as_bytes() {
        [b'"', ..] => true,
        [b'-', digits @ ..] | digits => !digits.is_empty() && digits.iter().all(u8::is_ascii_digit),
    }
}

/// Whether a revision has batches.
#[must_use]
pub fn has_batches(version: Version) -> bool {
    version == Version::V2025_03_26
}

/// A response with a result; `id` and `result` are raw JSON.
#[must_use]
pub fn result(id: &str, result: &str) -> String {
    [r#"{"jsonrpc":"2.0","id":"#, id, r#","result":"#, result, "}"].concat()
}

/// A response with an error object given raw.
#[must_use]
pub fn raw_error(id: &str, error: &str) -> String {
    [r#"{"jsonrpc":"2.0","id":"#, id, r#","error":"#, error, "}"].concat()
}

/// A response with an error of the gateway's own; `id` and `data` are raw JSON, and the id is
/// `null` when it could not be read.
#[must_use]
pub fn error(id: Option<&str>, code: i64, message: &str, data: Option<&str>) -> String {
    raw_error(id.unwrap_or("null"), &error_object(code, message, data))
}

/// An error object; `data` is raw JSON.
#[must_use]
pub fn error_object(code: i64, message: &str, data: Option<&str>) -> String {
    let message = object::quote(message);
    match data {
        Some(data) => format!(r#"{{"code":{code},"message":{message},"data":{data}}}"#),
        None => format!(r#"{{"code":{code},"message":{message}}}"#),
    }
}

/// A request; `id` and `params` are raw JSON.
#[must_use]
pub fn request(id: &str, method: &str, params: Option<&str>) -> String {
    let method = object::quote(method);
    match params {
        Some(params) => [
            r#"{"jsonrpc":"2.0","id":"#,
            id,
            r#","method":"#,
            &method,
            r#","params":"#,
            params,
            "}",
        ]
        .concat(),
        None => [r#"{"jsonrpc":"2.0","id":"#, id, r#","method":"#, &method, "}"].concat(),
    }
}

/// A notification; `params` is raw JSON.
#[must_use]
pub fn notification(method: &str, params: Option<&str>) -> String {
    let method = object::quote(method);
    match params {
        Some(params) => [r#"{"jsonrpc":"2.0","method":"#, &method, r#","params":"#, params, "}"].concat(),
        None => [r#"{"jsonrpc":"2.0","method":"#, &method, "}"].concat(),
    }
}

/// A JSON text in one line, for the line framing of stdio. Line ends stand only between the
/// tokens of JSON, so that nothing but blanks changes.
#[must_use]
pub fn one_line(json: &str) -> Cow<'_, str> {
    if json.contains(['\n', '\r']) {
        Cow::Owned(json.replace(['\n', '\r'], " "))
    } else {
        Cow::Borrowed(json)
    }
}

#[cfg(test)]
mod tests;
