//! Every request of every listener: the guard, the routes, and the headers of every response.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use countersign_engine::Refused;
use futures_util::FutureExt;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, CONNECTION, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;

use super::body::Body;
use super::{Connection, Routes, admission, bindings, headers, post, reply, sign_in, streams};
use crate::auth;
use crate::guard::{self, Denied};
use crate::settings::InForce;

const MAIN_METHODS: &str = "POST, GET, DELETE";

/// What a page may read of an answer besides its body.
const EXPOSED: &str = "mcp-session-id, mcp-protocol-version, www-authenticate, retry-after";

/// A page of the wider network asks for this before it may call a loopback address.
const PRIVATE_NETWORK: (HeaderName, HeaderName) = (
    HeaderName::from_static("access-control-request-private-network"),
    HeaderName::from_static("access-control-allow-private-network"),
);

/// Answers one request. A panic in answering it is its own failure and no other request's.
pub(super) async fn answer(connection: &Arc<Connection>, request: Request<Incoming>) -> Response<Body> {
    let in_force = connection.shared.in_force();
    let listed = match guard::check(request.uri(), request.headers(), &connection.own, &in_force.allowed) {
        Ok(listed) => listed.0.cloned(),
        Err(denied) => return refuse(connection, &request, &denied),
    };
    if let Some(unclear) = headers::unclear_end(request.headers()) {
        let mut response = reply::error(StatusCode::BAD_REQUEST, unclear);
        response
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
        return response;
    }
    if let Some(broken) = headers::broken_limit(request.headers()) {
        return reply::error(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, &broken);
    }
    let preflight = listed.is_some() && request.method() == Method::OPTIONS;
    let mut response = if preflight && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD) {
        preflight_answer(request.headers())
    } else {
        let answering = AssertUnwindSafe(route(connection, in_force, request)).catch_unwind();
        answering.await.unwrap_or_else(|_| {
            tracing::error!("a request was given up because answering it panicked");
            reply::error(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the gateway failed to answer this request",
            )
        })
    };
    if let Some(origin) = listed {
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
        headers.append(VARY, HeaderValue::from_static("origin"));
    }
    response
}

fn refuse(connection: &Connection, request: &Request<Incoming>, denied: &Denied) -> Response<Body> {
    let reason = denied.to_string();
    if connection.shared.metrics.guard_refusal() {
        tracing::warn!(%reason, "a request was refused before anything of it was read");
        connection.shared.engine.note(Refused {
            principal: "unknown".to_owned(),
            kind: "origin_refused",
            method: request.method().to_string(),
            subject: denied.subject(),
            reason: reason.clone(),
        });
    }
    reply::error(StatusCode::FORBIDDEN, &reason)
}

/// CORS for a listed origin (Fetch standard). Headers that mirror parameters have names of their own.
fn preflight_answer(asked: &HeaderMap) -> Response<Body> {
    let is_private = asked.get(PRIVATE_NETWORK.0).is_some_and(|value| value == "true");
    let mut allowed = "content-type, accept, authorization, last-event-id, mcp-session-id, mcp-protocol-version, \
                       mcp-method, mcp-name, x-countersign-surface, x-countersign-toolset, x-muster-toolset, traceparent, tracestate, baggage"
        .to_owned();
    let asked = asked
        .get(ACCESS_CONTROL_REQUEST_HEADERS)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    for name in asked
        .split(',')
        .map(str::trim)
        .filter(|name| name.to_ascii_lowercase().starts_with("mcp-param-"))
    {
        allowed.push_str(", ");
        allowed.push_str(name);
    }
    let mut response = reply::no_content();
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(MAIN_METHODS));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    if is_private {
        headers.insert(PRIVATE_NETWORK.1, HeaderValue::from_static("true"));
    }
    if let Ok(allowed) = HeaderValue::from_str(&allowed) {
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    }
    response
}

async fn route(connection: &Arc<Connection>, in_force: Arc<InForce>, request: Request<Incoming>) -> Response<Body> {
    let method = request.method().clone();
    match (connection.routes, request.uri().path()) {
        (Routes::Main, "/mcp") => match method {
            Method::POST => post::answer(connection, in_force, request).await,
            Method::GET => streams::open(connection, &in_force, request.headers()).await,
            Method::DELETE => streams::end_session(connection, &in_force, request.headers()).await,
            _ => reply::not_allowed(MAIN_METHODS),
        },
        (Routes::Main | Routes::People, path) if sign_in::is_at(path) => {
            sign_in::answer(connection, &in_force, request).await
        }
        (_, "/health") => read_only(&method, || reply::json(StatusCode::OK, r#"{"status":"live"}"#)),
        (Routes::Main, "/ready") if method == Method::GET => ready(connection, &in_force, &request).await,
        (Routes::Main, "/ready") => reply::not_allowed("GET"),
        (Routes::Main, path) if path.starts_with(bindings::ROUTE) => {
            bindings::answer(connection, &in_force, request).await
        }
        (Routes::Main, path) if path.starts_with(auth::METADATA) => {
            match auth::metadata(&in_force, connection.reached, path) {
                Some(metadata) => read_only(&method, || reply::json(StatusCode::OK, metadata)),
                None => reply::not_found(),
            }
        }
        (Routes::Metrics, "/metrics") => read_only(&method, || metrics(connection)),
        (Routes::Main | Routes::Metrics | Routes::People, _) => reply::not_found(),
    }
}

fn read_only(method: &Method, answer: impl FnOnce() -> Response<Body>) -> Response<Body> {
    if *method == Method::GET {
        answer()
    } else {
        reply::not_allowed("GET")
    }
}

/// What a stranger learns of a gateway that tells callers apart is whether it is ready; how its servers stand is for
/// those who are let in.
async fn ready(connection: &Connection, in_force: &InForce, request: &Request<Incoming>) -> Response<Body> {
    let is_known = !in_force.auth.tells_apart() || admission::is_let_in(connection, in_force, request.headers()).await;
    let readiness = connection.shared.engine.readiness().await;
    let status = if readiness.ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    if !is_known {
        return reply::json(status, format!(r#"{{"ready":{}}}"#, readiness.ready));
    }
    match serde_json::to_string(&readiness) {
        Ok(text) => reply::json(status, text),
        Err(error) => reply::error(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

fn metrics(connection: &Connection) -> Response<Body> {
    let catalogue = connection.shared.engine.catalogue();
    let text = connection
        .shared
        .metrics
        .render(connection.shared.sessions.count(), &catalogue);
    reply::text("application/openmetrics-text; version=1.0.0; charset=utf-8", text)
}
