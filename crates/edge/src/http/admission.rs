//! Who may go on: the credential of a request, and what one without a good credential is answered.

use countersign_core::principal::Authentication;
use countersign_core::secret::Secret;
use countersign_engine::Refused;
use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};

use super::body::Body;
use super::{Connection, reply};
use crate::auth::{self, Admitted, Denied};
use crate::settings::InForce;

/// Lets the caller of a request in. Why one is not let in the trail knows, and the answer does not say.
pub(super) async fn admit(
    connection: &Connection,
    in_force: &InForce,
    method: &Method,
    headers: &HeaderMap,
) -> Result<Admitted, Box<Response<Body>>> {
    let admitting = in_force.auth.admit(&connection.shared.engine, headers, connection.peer);
    match admitting.await {
        Ok(admitted) => {
            present(connection, &admitted, headers);
            Ok(admitted)
        }
        Err(denied) => Err(Box::new(refusal(connection, in_force, method, &denied))),
    }
}

/// Hands a person's token to the engine, for the servers that it is forwarded to or exchanged for. A key is none, and an
/// actor's token speaks for its Session, not for the person.
fn present(connection: &Connection, admitted: &Admitted, headers: &HeaderMap) {
    let engine = &connection.shared.engine;
    match admitted.principal.authentication() {
        Authentication::Token { .. } if engine.asks_for_sign_ins() => {
            if let Ok(token) = auth::bearer(headers) {
                engine.present(&admitted.principal, &Secret::hidden(token), admitted.ends());
            }
        }
        Authentication::Token { .. }
        | Authentication::LocalOnly
        | Authentication::Key { .. }
        | Authentication::Bound { .. } => {}
    }
}

/// Whether the caller of a request would be let in; nothing is counted or recorded.
pub(super) async fn is_let_in(connection: &Connection, in_force: &InForce, headers: &HeaderMap) -> bool {
    let admitting = in_force.auth.admit(&connection.shared.engine, headers, connection.peer);
    admitting.await.is_ok()
}

fn refusal(connection: &Connection, in_force: &InForce, method: &Method, denied: &Denied) -> Response<Body> {
    note(connection, method, denied);
    let unauthorized = |error: Option<&str>, message: &str| {
        let mut response = reply::error(StatusCode::UNAUTHORIZED, message);
        let challenge = auth::challenge(in_force, connection.reached, error);
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        response
    };
    let later = |status: StatusCode, message: &str, seconds: u64| {
        let mut response = reply::error(status, message);
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        response
    };
    match denied {
        Denied::Missing => unauthorized(
            None,
            "header `authorization` is missing: send `Bearer` and a key or token of this gateway",
        ),
        Denied::Malformed(_) | Denied::UnknownKey | Denied::Token(_) => unauthorized(
            Some("invalid_token"),
            "the key or token is not taken; the gateway's trail says why",
        ),
        Denied::Throttled { wait, .. } => later(
            StatusCode::TOO_MANY_REQUESTS,
            "too many keys or tokens from this address were not taken; try again later",
            wait.as_secs().saturating_add(1),
        ),
        Denied::Unavailable { .. } => later(
            StatusCode::SERVICE_UNAVAILABLE,
            "the token cannot be checked now; try again later",
            10,
        ),
    }
}

fn note(connection: &Connection, method: &Method, denied: &Denied) {
    let reason = denied.to_string();
    if connection.shared.metrics.credential_refusal() {
        tracing::info!(%reason, "a caller was not let in");
        connection.shared.engine.note(Refused {
            principal: "unknown".to_owned(),
            kind: "credential_refused",
            method: method.to_string(),
            subject: "authorization".to_owned(),
            reason,
        });
    }
}
