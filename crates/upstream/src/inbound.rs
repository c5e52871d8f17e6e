//! What a server says: answers, notifications and requests, each handed to whom it belongs.

use std::borrow::Cow;
use std::sync::Arc;

use countersign_wire::codes;
use countersign_wire::object::{Edit, Object, edit};
use countersign_wire::questions;
use countersign_wire::rpc::{self, Message};
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use crate::connection::Connection;
use crate::passage::Reply;
use crate::pending::{Back, Delivered};
use crate::watch;

/// What one message was.
#[derive(Debug)]
pub(crate) enum Heard {
    /// An answer to the request of that id.
    Answer(i64, Delivered),
    /// A notification or request; it has been handed on.
    Said,
    /// No message.
    Garbage(String),
}

/// Takes one message. `back` is the call on whose own stream it came.
pub(crate) fn receive(connection: &Arc<Connection>, text: &str, back: Option<&Arc<Back>>) -> Heard {
    match rpc::parse_upstream(text) {
        Ok(Message::Response { id, outcome }) => {
            let Some(id) = our_id(id) else {
                return Heard::Garbage("an answer with an id that is not ours".to_owned());
            };
            Heard::Answer(
                id,
                match outcome {
                    Ok(result) => Delivered::Result(result.to_owned()),
                    Err(error) => Delivered::Error(error.to_owned()),
                },
            )
        }
        Ok(Message::Notification { method, params }) => {
            notification(connection, &method, params, back);
            Heard::Said
        }
        Ok(Message::Request { id, method, params }) => {
            request(connection, id, &method, params, back);
            Heard::Said
        }
        Err(fault) => Heard::Garbage(fault.message),
    }
}

/// Takes what may be a batch, in the version that has them; of the answers in it only the wanted one is given back.
pub(crate) fn receive_for(connection: &Arc<Connection>, text: &str, back: Option<&Arc<Back>>, wanted: i64) -> Heard {
    let trimmed = text.trim_start_matches('\u{feff}').trim_start();
    if !trimmed.starts_with('[') || !rpc::has_batches(connection.version()) {
        return receive(connection, text, back);
    }
    let Ok(messages) = serde_json::from_str::<Vec<&RawValue>>(trimmed) else {
        return Heard::Garbage("a batch that is no JSON".to_owned());
    };
    let mut heard = Heard::Said;
    for message in messages {
        match receive(connection, message.get(), back) {
            Heard::Answer(id, delivered) if id == wanted => heard = Heard::Answer(id, delivered),
            Heard::Answer(id, _) => {
                tracing::debug!(server = %connection.server, id, "an answer came that nobody waits for");
            }
            Heard::Said => {}
            Heard::Garbage(what) => tracing::debug!(server = %connection.server, what, "skipped what is no message"),
        }
    }
    heard
}

/// Our ids are integers; some servers give them back as strings.
fn our_id(id: &RawValue) -> Option<i64> {
    id.get().trim_matches('"').parse().ok()
}

fn notification(connection: &Arc<Connection>, method: &str, params: Option<&RawValue>, back: Option<&Arc<Back>>) {
    match method {
        "notifications/progress" => {
            if let Some(params) = params {
                progress(connection, params);
            }
        }
        "notifications/tools/list_changed"
        | "notifications/prompts/list_changed"
        | "notifications/resources/list_changed" => connection.events.list_changed(),
        "notifications/resources/updated" => {
            if let Some(params) = params {
                connection
                    .events
                    .resource_updated(connection.principal.as_ref(), params);
            }
        }
        "notifications/tasks" | "notifications/tasks/status" => {
            if let Some(params) = params {
                connection.events.task(connection.principal.as_ref(), params);
            }
        }
        "notifications/subscriptions/acknowledged" => watch::acknowledged(connection),
        // A request of the server that it takes back: its caller's client finds out by itself.
        "notifications/cancelled" => {}
        "notifications/message" => match (caller(connection, back), params) {
            (Some(back), Some(params)) => back.notify(method, params.to_owned()),
            (None, Some(params)) => connection.events.log(connection.principal.as_ref(), params),
            (_, None) => {}
        },
        _ => match (caller(connection, back), params) {
            (Some(back), Some(params)) => back.notify(method, params.to_owned()),
            (_, _) => tracing::debug!(server = %connection.server, method, "a notification belongs to no call"),
        },
    }
}

/// Whose a message is: the call's on whose stream it came, else the only one's under way.
fn caller(connection: &Connection, back: Option<&Arc<Back>>) -> Option<Arc<Back>> {
    back.cloned().or_else(|| connection.pending.only_call())
}

/// Progress goes to the call whose id is its token, under the caller's own token.
fn progress(connection: &Connection, params: &RawValue) {
    let token = Object::parse(params.get())
        .ok()
        .and_then(|object| object.get("progressToken").and_then(our_id));
    let Some(back) = token.and_then(|id| connection.pending.back(id)) else {
        tracing::debug!(server = %connection.server, "progress came that nobody asked for");
        return;
    };
    back.hear();
    let Some(theirs) = &back.token else { return };
    let edited = edit(params.get(), &[Edit::Set("progressToken", theirs.get())]);
    if let Some(params) = edited.ok().and_then(|text| RawValue::from_string(text).ok()) {
        back.notify("notifications/progress", params);
    }
}

fn request(
    connection: &Arc<Connection>,
    id: &RawValue,
    method: &str,
    params: Option<&RawValue>,
    back: Option<&Arc<Back>>,
) {
    let answered = match method {
        "ping" => Some(rpc::result(id.get(), "{}")),
        "sampling/createMessage" | "elicitation/create" | "roots/list" => match relay(connection, method, params, back)
        {
            Ok((back, answer)) => {
                spawn_answer(connection, id.to_owned(), back, answer);
                None
            }
            Err(why) => Some(rpc::error(Some(id.get()), codes::METHOD_NOT_FOUND, &why, None)),
        },
        _ => {
            let why = format!("method `{method}` is not offered by this client");
            Some(rpc::error(Some(id.get()), codes::METHOD_NOT_FOUND, &why, None))
        }
    };
    if let Some(message) = answered {
        connection.tell_soon(message);
    }
}

/// Hands a request to the caller whose call it belongs to.
pub(crate) fn relay(
    connection: &Connection,
    method: &str,
    params: Option<&RawValue>,
    back: Option<&Arc<Back>>,
) -> Result<(Arc<Back>, oneshot::Receiver<Reply>), String> {
    let back = caller(connection, back)
        .ok_or_else(|| "no caller: the request belongs to no single call under way".to_owned())?;
    let url_mode = params
        .and_then(|params| Object::parse(params.get()).ok())
        .and_then(|object| object.text("mode").map(|mode| mode == "url"))
        .unwrap_or(false);
    let (able, what) = match (method, url_mode) {
        ("sampling/createMessage", _) => (back.samples, "sampling"),
        ("roots/list", _) => (back.has_roots, "roots"),
        (_, true) => (back.opens_urls, "elicitation by URL"),
        (_, false) => (back.shows_forms, "elicitation"),
    };
    if !able {
        return Err(format!("the client of the call under way does not support {what}"));
    }
    // The user must see which server asks: the client shows the gateway's name only.
    let params = match params {
        Some(params) => Some(named(connection.server.as_str(), method, params)?),
        None => None,
    };
    let answer = back
        .ask(method, params)
        .ok_or_else(|| "the caller of the call under way is gone".to_owned())?;
    Ok((back, answer))
}

/// A question's parameters with the server's name.
fn named(server: &str, method: &str, params: &RawValue) -> Result<Box<RawValue>, String> {
    let named = questions::named(server, method, params.get());
    let named = named.map_err(|_error| "params is not an object with one reading".to_owned())?;
    RawValue::from_string(named).map_err(|_error| "params is not valid JSON".to_owned())
}

/// Waits for the caller's answer beside the stream, which must be read on meanwhile.
fn spawn_answer(connection: &Arc<Connection>, id: Box<RawValue>, back: Arc<Back>, answer: oneshot::Receiver<Reply>) {
    let connection = Arc::clone(connection);
    tokio::spawn(async move {
        let reply = tokio::select! {
            reply = answer => reply,
            () = connection.closed.cancelled() => return,
        };
        back.answered();
        let message: Cow<'_, str> = match &reply {
            Ok(Reply::Result(result)) => rpc::result(id.get(), result.get()).into(),
            Ok(Reply::Error(error)) => rpc::raw_error(id.get(), error.get()).into(),
            Err(_gone) => rpc::error(
                Some(id.get()),
                codes::INTERNAL_ERROR,
                "the caller ended without an answer",
                None,
            )
            .into(),
        };
        connection.tell_soon(message.into_owned());
    });
}
