//! `GET` and `DELETE` of `/mcp`: a session's standing stream, and its end.

use std::sync::Arc;

use http::header::ACCEPT;
use http::{HeaderMap, Response, StatusCode};
use tokio::sync::mpsc;

use super::body::Body;
use super::headers::{Accepts, Read};
use super::{Connection, MESSAGES, reply};
use crate::hearer::Hearer;
use crate::metrics::SessionEnd;

/// Where no session is named, no stream is offered; that is said before anyone is asked who they are,
/// so that it never starts a sign-in.
const WITHOUT_STREAM: &str = "POST, DELETE";

/// Opens the standing stream of a session, in the place of an earlier one; or goes on with the stream of a call that its
/// client lost, from the event after `Last-Event-ID`.
pub(super) fn open(connection: &Connection, headers: &HeaderMap) -> Response<Body> {
    let wants_events = headers.contains_key(ACCEPT) && Accepts::of(headers).events;
    let Ok(read) = Read::of(headers) else {
        return reply::not_allowed(WITHOUT_STREAM);
    };
    let session = read.session.filter(|_| wants_events && !read.is_modern());
    let Some(session) = session.and_then(|id| connection.session(id, "GET")) else {
        return reply::not_allowed(WITHOUT_STREAM);
    };
    let heartbeat = connection.shared.in_force().settings.heartbeat;
    if let Some(last) = headers.get("last-event-id") {
        match last.to_str().ok().and_then(|last| session.resumed(last)) {
            Some(rest) => return reply::stream(rest, heartbeat),
            // A fresh stream is better than an error that a client runs into again and again.
            None => connection.note_unknown_event(&session),
        }
    }
    let (sender, messages) = mpsc::channel(MESSAGES);
    let caller = read.narrowed(connection.shared.caller());
    session.open_stream(sender, Hearer::new(&connection.shared.engine, caller));
    if connection.stop.is_cancelled() {
        session.close_stream();
    }
    reply::events(messages, heartbeat)
}

/// Ends a session for good.
pub(super) fn end_session(connection: &Arc<Connection>, headers: &HeaderMap) -> Response<Body> {
    let read = match Read::of(headers) {
        Ok(read) if read.is_modern() => return reply::not_allowed("POST"),
        Ok(read) => read,
        Err(message) => return reply::error(StatusCode::BAD_REQUEST, &message),
    };
    let Some(id) = read.session else {
        return reply::error(
            StatusCode::BAD_REQUEST,
            "header `mcp-session-id` must name the session to end",
        );
    };
    let shared = &connection.shared;
    let Some(session) = connection.session(id, "DELETE") else {
        return reply::error(StatusCode::NOT_FOUND, "session not found");
    };
    if shared.sessions.close(&session) {
        shared.end_session(&session, &shared.caller());
        shared.note_end(&session, "DELETE", SessionEnd::Deleted, "its client ended it");
    }
    reply::no_content()
}
