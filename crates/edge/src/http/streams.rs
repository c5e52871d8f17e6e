//! `GET` and `DELETE` of `/mcp`: a session's standing stream, and its end.

use http::header::ACCEPT;
use http::{HeaderMap, Method, Response, StatusCode};
use tokio::sync::mpsc;

use super::body::Body;
use super::headers::{Accepts, Read};
use super::{Connection, MESSAGES, admission, reply};
use crate::hearer::Hearer;
use crate::metrics::SessionEnd;
use crate::settings::InForce;

/// Where no session is named, no stream is offered; that is said before anyone is asked who they are,
/// so that it never starts a sign-in.
const WITHOUT_STREAM: &str = "POST, DELETE";

/// Opens the standing stream of a session, in the place of an earlier one; or goes on with the stream of a call that its
/// client lost, from the event after `Last-Event-ID`.
pub(super) async fn open(connection: &Connection, in_force: &InForce, headers: &HeaderMap) -> Response<Body> {
    let wants_events = headers.contains_key(ACCEPT) && Accepts::of(headers).events;
    let Ok(read) = Read::of(headers) else {
        return reply::not_allowed(WITHOUT_STREAM);
    };
    let Some(id) = read.session.filter(|_| wants_events && !read.is_modern()) else {
        return reply::not_allowed(WITHOUT_STREAM);
    };
    let admitted = match admission::admit(connection, in_force, &Method::GET, headers).await {
        Ok(admitted) => admitted,
        Err(response) => return *response,
    };
    let Some(session) = connection.session(id, "GET", &admitted.caller()) else {
        return reply::not_allowed(WITHOUT_STREAM);
    };
    let heartbeat = in_force.settings.heartbeat;
    if let Some(last) = headers.get("last-event-id") {
        match last.to_str().ok().and_then(|last| session.resumed(last)) {
            Some(rest) => return reply::stream(rest, heartbeat),
            // A fresh stream is better than an error that a client runs into again and again.
            None => connection.note_unknown_event(&session),
        }
    }
    let (sender, messages) = mpsc::channel(MESSAGES);
    let caller = read.narrowed(admitted.caller());
    session.open_stream(sender, Hearer::new(&connection.shared.engine, caller));
    if connection.stop.is_cancelled() {
        session.close_stream();
    }
    reply::events(
        messages,
        heartbeat,
        connection.shared.credentials.streams.enter(&admitted),
    )
}

/// Ends a session for good.
pub(super) async fn end_session(connection: &Connection, in_force: &InForce, headers: &HeaderMap) -> Response<Body> {
    let admitted = match admission::admit(connection, in_force, &Method::DELETE, headers).await {
        Ok(admitted) => admitted,
        Err(response) => return *response,
    };
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
    let Some(session) = connection.session(id, "DELETE", &admitted.caller()) else {
        return reply::error(StatusCode::NOT_FOUND, "session not found");
    };
    if shared.sessions.close(&session) {
        shared.end_session(&session);
        shared.note_end(&session, "DELETE", SessionEnd::Deleted, "its client ended it");
    }
    reply::no_content()
}
