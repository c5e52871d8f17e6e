//! JSON-RPC envelopes: what is accepted agrees with a strict reading, and is written as it was read.

use countersign_wire::rpc::{self, Body, Fault, Message};
use serde_json::value::RawValue;

use crate::reference;

/// The laws of one body.
pub fn check(data: &[u8]) {
    let parsed = rpc::parse(data);
    let wanted = std::str::from_utf8(data).ok().and_then(strict);
    match &parsed {
        Ok(Body::One(message)) => {
            assert_eq!(wanted, Some(Strict::One(of(message))));
            render_is_stable(message);
            as_of_an_upstream(data, message);
        }
        Ok(Body::Batch(messages)) => {
            assert_eq!(wanted, Some(Strict::Batch(messages.iter().map(of).collect())));
            messages.iter().for_each(render_is_stable);
        }
        Err(fault) => {
            assert_eq!(wanted, None, "refused: {fault}");
            fault_can_be_sent(fault);
        }
    }
    if let Ok(text) = std::str::from_utf8(data) {
        let tolerant = rpc::parse_upstream(text);
        if let Err(fault) = &tolerant {
            fault_can_be_sent(fault);
        }
        if let Some(id) = rpc::id_of_unreadable(text) {
            assert!(is_id(&id), "{id}");
        }
        one_line_keeps_the_value(text);
    }
}

/// A message in canonical texts.
#[derive(Debug, PartialEq, Eq)]
enum Plain {
    Request {
        id: String,
        method: String,
        params: Option<String>,
    },
    Notification {
        method: String,
        params: Option<String>,
    },
    Result {
        id: String,
        result: String,
    },
    Error {
        id: String,
        error: String,
    },
}

#[derive(Debug, PartialEq, Eq)]
enum Strict {
    One(Plain),
    Batch(Vec<Plain>),
}

/// The strict reading: one reading of the JSON, then the envelope by the letter of JSON-RPC 2.0 and MCP.
fn strict(text: &str) -> Option<Strict> {
    let text = reference::canonical(text)?;
    match reference::elements(&text) {
        Some(items) if items.is_empty() => None,
        Some(items) => items.into_iter().map(plain).collect::<Option<_>>().map(Strict::Batch),
        None => serde_json::from_str(&text).ok().and_then(plain).map(Strict::One),
    }
}

fn plain(message: &RawValue) -> Option<Plain> {
    let members = reference::members(message.get())?;
    let text = |name: &str| members.get(name).map(|value| value.get().to_owned());
    if text("jsonrpc")? != "\"2.0\"" {
        return None;
    }
    let id = text("id");
    if id.as_deref().is_some_and(|id| !is_id(id)) {
        return None;
    }
    match (text("method"), text("result"), text("error")) {
        (Some(method), None, None) => {
            let method = serde_json::from_str(&method).ok()?;
            let params = text("params");
            if params.as_deref().is_some_and(|params| !params.starts_with('{')) {
                return None;
            }
            Some(match id {
                Some(id) => Plain::Request { id, method, params },
                None => Plain::Notification { method, params },
            })
        }
        (None, Some(result), None) => Some(Plain::Result { id: id?, result }),
        (None, None, Some(error)) if error.starts_with('{') => Some(Plain::Error { id: id?, error }),
        _ => None,
    }
}

fn is_id(raw: &str) -> bool {
    serde_json::from_str::<String>(raw).is_ok()
        || (serde_json::from_str::<&RawValue>(raw).is_ok()
            && raw
                .strip_prefix('-')
                .unwrap_or(raw)
                .bytes()
                .all(|byte| byte.is_ascii_digit()))
}

/// A parsed message in canonical texts.
fn of(message: &Message<'_>) -> Plain {
    let canonical = |raw: &RawValue| reference::canonical(raw.get()).expect("what was accepted has one reading");
    match message {
        Message::Request { id, method, params } => Plain::Request {
            id: canonical(id),
            method: method.clone().into_owned(),
            params: params.map(canonical),
        },
        Message::Notification { method, params } => Plain::Notification {
            method: method.clone().into_owned(),
            params: params.map(canonical),
        },
        Message::Response {
            id,
            outcome: Ok(result),
        } => Plain::Result {
            id: canonical(id),
            result: canonical(result),
        },
        Message::Response {
            id,
            outcome: Err(error),
        } => Plain::Error {
            id: canonical(id),
            error: canonical(error),
        },
    }
}

fn rendered(message: &Message<'_>) -> String {
    match message {
        Message::Request { id, method, params } => rpc::request(id.get(), method, params.map(RawValue::get)),
        Message::Notification { method, params } => rpc::notification(method, params.map(RawValue::get)),
        Message::Response {
            id,
            outcome: Ok(result),
        } => rpc::result(id.get(), result.get()),
        Message::Response {
            id,
            outcome: Err(error),
        } => rpc::raw_error(id.get(), error.get()),
    }
}

/// What is written is read as the same message, and written the same again.
fn render_is_stable(message: &Message<'_>) {
    let text = rendered(message);
    match rpc::parse(text.as_bytes()) {
        Ok(Body::One(again)) => {
            assert_eq!(of(&again), of(message));
            assert_eq!(rendered(&again), text);
        }
        other => panic!("{text}: {other:?}"),
    }
}

/// What a caller may send a server may send too, and it means the same.
fn as_of_an_upstream(data: &[u8], message: &Message<'_>) {
    let text = std::str::from_utf8(data).expect("it was parsed");
    let again = rpc::parse_upstream(text).expect("servers may say what callers may say");
    assert_eq!(of(&again), of(message));
}

/// A fault is a response that its sender can read.
fn fault_can_be_sent(fault: &Fault) {
    if let Some(id) = &fault.id {
        assert!(serde_json::from_str::<&RawValue>(id).is_ok(), "{id}");
    }
    let text = fault.render();
    match rpc::parse_upstream(&text) {
        Ok(Message::Response { outcome: Err(_), .. }) => {}
        other => panic!("{text}: {other:?}"),
    }
}

fn one_line_keeps_the_value(text: &str) {
    let line = rpc::one_line(text);
    assert!(!line.contains(['\n', '\r']));
    if let Some(value) = reference::canonical(text) {
        assert_eq!(reference::canonical(&line), Some(value));
    }
}
