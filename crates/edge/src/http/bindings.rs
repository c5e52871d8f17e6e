//! `/session-bindings/<session>`: whom a Session's actor is served as, written by whoever starts Sessions (spec 3.4).

mod wanted;

use std::sync::Arc;

use countersign_core::principal::{Authentication, Principal};
use countersign_core::time::Millis;
use countersign_engine::{Binding, Bound, Refused, Unbound};
use http::header::{CONTENT_TYPE, EXPECT};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use percent_encoding::percent_decode_str;
use serde_json::json;

use super::body::{self, Body, Unread, Waits};
use super::{Connection, admission, headers, reply};
use crate::settings::InForce;

/// What the route begins with; a Session's name follows.
pub(super) const ROUTE: &str = "/session-bindings/";

/// How large the description of a binding may be, in bytes.
const LIMIT: usize = 64 * 1024;

const METHODS: &str = "PUT, GET, DELETE";

/// Answers one request.
pub(super) async fn answer(connection: &Connection, in_force: &InForce, request: Request<Incoming>) -> Response<Body> {
    let method = request.method().clone();
    if !matches!(method, Method::PUT | Method::GET | Method::DELETE) {
        return reply::not_allowed(METHODS);
    }
    let writer = match writer(connection, in_force, &request).await {
        Ok(writer) => writer,
        Err(response) => return *response,
    };
    let session = match session(request.uri().path()) {
        Ok(session) => session,
        Err(what) => return problem(StatusCode::BAD_REQUEST, what),
    };
    match method {
        Method::PUT => put(connection, &writer, session, request).await,
        Method::DELETE => delete(connection, &writer, &session).await,
        _ => match connection.shared.engine.binding(&session) {
            Some((binding, _)) => shown(StatusCode::OK, &binding),
            None => not_bound(),
        },
    }
}

/// Who may write bindings, if this is one of them.
async fn writer(
    connection: &Connection,
    in_force: &InForce,
    request: &Request<Incoming>,
) -> Result<Arc<Principal>, Box<Response<Body>>> {
    if !in_force.auth.tells_apart() {
        let what = "nobody can be told to be a writer of bindings: name a key for it in `identities.yaml`, and that \
                    key in `bindings.writers` of `countersign.yaml`";
        return Err(Box::new(problem(StatusCode::UNAUTHORIZED, what)));
    }
    let admitted = admission::admit(connection, in_force, request.method(), request.headers()).await?;
    if !in_force.auth.may_bind(&admitted.principal) {
        note(
            connection,
            &admitted.principal,
            "binding_refused",
            request.uri().path(),
            "it is none of `bindings.writers`",
        );
        let what = "only the writers that `bindings.writers` names may read and write bindings";
        return Err(Box::new(problem(StatusCode::FORBIDDEN, what)));
    }
    Ok(admitted.principal)
}

/// The Session that a path names.
fn session(path: &str) -> Result<String, &'static str> {
    let what = "the path must end with one session of 1 to 256 characters, percent-encoded where needed";
    let name = path.strip_prefix(ROUTE).ok_or(what)?;
    let decoded = percent_decode_str(name).decode_utf8().map_err(|_error| what)?;
    let fits = !decoded.is_empty() && decoded.chars().count() <= 256 && !name.contains('/');
    if fits && !decoded.chars().any(char::is_control) {
        Ok(decoded.into_owned())
    } else {
        Err(what)
    }
}

async fn put(
    connection: &Connection,
    writer: &Principal,
    session: String,
    request: Request<Incoming>,
) -> Response<Body> {
    let (parts, incoming) = request.into_parts();
    if let Some(what) = headers::unreadable(&parts.headers) {
        return problem(StatusCode::UNSUPPORTED_MEDIA_TYPE, what);
    }
    let waits = if parts.headers.contains_key(EXPECT) {
        Waits::Yes
    } else {
        Waits::No
    };
    let bytes = match body::read(incoming, (LIMIT, waits), &connection.alarm).await {
        Ok(bytes) => bytes,
        Err(Unread::TooLarge) => {
            return problem(
                StatusCode::PAYLOAD_TOO_LARGE,
                "the description of a binding is at most 64 KiB",
            );
        }
        Err(Unread::TooSlow | Unread::Broken) => return problem(StatusCode::BAD_REQUEST, "the body did not arrive"),
    };
    let bind = match wanted::read(session, &bytes) {
        Ok(bind) => bind,
        Err(what) => return problem(StatusCode::BAD_REQUEST, &what),
    };
    let named = bind.session.clone();
    let (status, binding) = match connection.shared.engine.bind(bind).await {
        Ok(Bound::Created(binding)) => (StatusCode::CREATED, binding),
        Ok(Bound::Replaced(binding)) => (StatusCode::OK, binding),
        Err(unbound) => {
            note(connection, writer, "binding_refused", &named, &unbound.to_string());
            let status = match &unbound {
                Unbound::OtherSubject => StatusCode::CONFLICT,
                Unbound::Past => StatusCode::BAD_REQUEST,
                Unbound::Full | Unbound::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
            };
            if let Unbound::Store(error) = &unbound {
                tracing::error!(%error, "a binding cannot be stored");
            }
            return problem(status, &unbound.to_string());
        }
    };
    if status == StatusCode::OK {
        cut(connection, &named);
    }
    let within = match &binding.toolset {
        Some(toolset) => format!("toolset=[{}]", toolset.join(",")),
        None => "no toolset".to_owned(),
    };
    note(
        connection,
        writer,
        "session_bound",
        &named,
        &format!("bound to `{}` with {within}", binding.subject),
    );
    shown(status, &binding)
}

async fn delete(connection: &Connection, writer: &Principal, session: &str) -> Response<Body> {
    match connection.shared.engine.unbind(session).await {
        Ok(true) => {
            cut(connection, session);
            note(connection, writer, "session_unbound", session, "its binding was ended");
            reply::no_content()
        }
        Ok(false) => not_bound(),
        Err(error) => {
            tracing::error!(%error, "the end of a binding cannot be stored");
            problem(
                StatusCode::SERVICE_UNAVAILABLE,
                "the end of the binding cannot be stored; try again",
            )
        }
    }
}

/// Ends the streams that a Session's actor has open: they were opened under a binding that is no more.
fn cut(connection: &Connection, session: &str) {
    let is_its = |principal: &Principal| match principal.authentication() {
        Authentication::Bound { session: bound, .. } => &**bound == session,
        Authentication::LocalOnly | Authentication::Key { .. } | Authentication::Token { .. } => false,
    };
    connection.shared.credentials.streams.cut(is_its);
}

fn note(connection: &Connection, writer: &Principal, kind: &'static str, session: &str, reason: &str) {
    connection.shared.engine.note(Refused {
        principal: writer.key().to_string(),
        kind,
        method: "session-bindings".to_owned(),
        subject: session.to_owned(),
        reason: reason.to_owned(),
    });
}

fn not_bound() -> Response<Body> {
    problem(StatusCode::NOT_FOUND, "the session has no binding")
}

fn shown(status: StatusCode, binding: &Binding) -> Response<Body> {
    let text = json!({
        "session": binding.session,
        "subject": binding.subject,
        "toolset": binding.toolset,
        "roles": binding.roles,
        "plan": binding.plan,
        "expires_at": time(binding.expires_at),
    });
    reply::json(status, text.to_string())
}

/// A time as RFC 3339 writes it. One that it cannot write is far enough away to be the last one that it can.
fn time(at: Millis) -> String {
    jiff::Timestamp::from_millisecond(at.0)
        .unwrap_or(jiff::Timestamp::MAX)
        .to_string()
}

/// An error as RFC 9457 describes it.
fn problem(status: StatusCode, detail: &str) -> Response<Body> {
    let title = status.canonical_reason().unwrap_or("Error");
    let text = json!({"title": title, "status": status.as_u16(), "detail": detail});
    let mut response = reply::json(status, text.to_string());
    let kind = HeaderValue::from_static("application/problem+json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
