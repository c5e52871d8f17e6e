//! Responses, each with the headers that every one of its kind carries.

use std::time::Duration;

use bytes::Bytes;
use countersign_wire::{codes, rpc, sse};
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use tokio::sync::mpsc;

use super::body::{Body, Source};
use super::headers::Accepts;
use crate::answer::Answer;
use crate::auth::End;
use crate::dispatch::Listed;
use crate::replay::Cursor;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");

fn response(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, NO_STORE);
    headers.insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
    response
}

/// A text of a kind that the caller says.
pub(super) fn bare(status: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    response(status, Body::whole(text))
}

/// A JSON text.
pub(super) fn json(status: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    let mut response = response(status, Body::whole(text));
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

/// A JSON-RPC error that belongs to no request that could be read.
pub(super) fn error(status: StatusCode, message: &str) -> Response<Body> {
    fault(status, None, message)
}

/// A JSON-RPC error of the transport for the request with this id.
pub(super) fn fault(status: StatusCode, id: Option<&str>, message: &str) -> Response<Body> {
    json(status, rpc::error(id, codes::INVALID_REQUEST, message, None))
}

/// An answer, as JSON, or as one event where the client takes nothing else.
pub(super) fn answer(answer: Answer, accepts: Accepts) -> Response<Body> {
    if accepts.json || !accepts.events {
        return json(answer.status, answer.text);
    }
    let mut response = streaming(Body::whole(sse::encode(None, &answer.text)));
    *response.status_mut() = answer.status;
    response
}

/// A page of a list; as JSON it is sent from the bytes that all share.
pub(super) fn listed(listed: Listed, accepts: Accepts) -> Response<Body> {
    if !accepts.json && accepts.events {
        return answer(listed.whole(), accepts);
    }
    let mut response = response(StatusCode::OK, Body::pieces(listed.head, listed.page));
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

/// Messages as a stream of events, for as long as its caller is let in.
pub(super) fn events(messages: mpsc::Receiver<String>, heartbeat: Duration, end: Option<End>) -> Response<Body> {
    streaming(Body::events(Source::Channel(messages), heartbeat, end))
}

/// What a call says as a stream of events.
pub(super) fn stream(cursor: Cursor, heartbeat: Duration) -> Response<Body> {
    streaming(Body::events(Source::Stream(cursor), heartbeat, None))
}

/// A stream that ends without an event.
pub(super) fn no_events() -> Response<Body> {
    streaming(Body::empty())
}

/// No proxy is to hold a stream back.
fn streaming(body: Body) -> Response<Body> {
    let mut response = response(StatusCode::OK, body);
    response.headers_mut().insert(CONTENT_TYPE, EVENTS);
    response.headers_mut().insert(
        HeaderName::from_static("x-accel-buffering"),
        HeaderValue::from_static("no"),
    );
    response
}

/// 202 for a notification or an answer that was taken in.
pub(super) fn accepted() -> Response<Body> {
    response(StatusCode::ACCEPTED, Body::empty())
}

/// 204
pub(super) fn no_content() -> Response<Body> {
    response(StatusCode::NO_CONTENT, Body::empty())
}

/// A plain text.
pub(super) fn text(content_type: &'static str, text: String) -> Response<Body> {
    let mut response = response(StatusCode::OK, Body::whole(text));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// 405, naming what is allowed.
pub(super) fn not_allowed(allow: &'static str) -> Response<Body> {
    let mut response = error(StatusCode::METHOD_NOT_ALLOWED, &format!("this route takes {allow}"));
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
    response
}

/// 404 for a path that is no route.
pub(super) fn not_found() -> Response<Body> {
    json(
        StatusCode::NOT_FOUND,
        r#"{"error":"not found: the MCP endpoint is /mcp"}"#,
    )
}

/// 503, to be tried again.
pub(super) fn busy(id: &str, message: &str) -> Response<Body> {
    let mut response = fault(StatusCode::SERVICE_UNAVAILABLE, Some(id), message);
    response
        .headers_mut()
        .insert(RETRY_AFTER, HeaderValue::from_static("5"));
    response
}
