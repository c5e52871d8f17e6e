//! The one call: takes a record by value, sends it once, and says honestly what became of it (I1, I5).

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use countersign_core::admit::{ExactCall, Operation, Target, TaskVerb};
use countersign_core::effect::Effect;
use countersign_store::{Receipt, Recorded};
use countersign_wire::object::text_of;
use countersign_wire::param_headers;
use countersign_wire::version::Version;
use serde_json::value::RawValue;

use crate::connection::Connection;
use crate::exchange::{Failure, Outgoing};
use crate::flight::Flight;
use crate::passage::Passage;
use crate::pending::{Back, Delivered, GivenUp};
use crate::pool::Pool;
use crate::server::Purpose;
use crate::text::shown;
use crate::{Answer, Error, params, task};

/// Makes exactly the recorded call.
pub(crate) async fn send(pool: &Pool, recorded: Recorded, passage: &Passage) -> (Answer, Receipt) {
    let (call, receipt) = recorded.into_parts();
    (run(pool, &call, passage).await, receipt)
}

async fn run(pool: &Pool, call: &ExactCall, passage: &Passage) -> Answer {
    let Target::Server(name) = call.target() else {
        return Answer::NotSent(Error::Unknown("gateway".to_owned()));
    };
    // INVARIANT: a call whose fate is unknown is sent again only if it changes nothing (I5).
    let reads = call.classified().effect == Effect::ReadOnly;
    let mut again = true;
    // A new instance of a server first breaks the old connections and then does not know the session: that is
    // one repetition for either, and the second is of a call that certainly did not run.
    let mut new_session = true;
    loop {
        let server = match pool.known(name) {
            Ok(server) => server,
            Err(error) => return Answer::NotSent(error),
        };
        if passage.cancel.is_cancelled() {
            return Answer::Cancelled;
        }
        let lease = tokio::select! {
            biased;
            lease = server.checkout(call.principal().key(), Purpose::Call) => match lease {
                Ok(lease) => lease,
                // The entry was changed while the connection was made: the new one is asked.
                Err(_replaced) if again && pool.replaced(&server) => {
                    again = false;
                    continue;
                }
                Err(error) => return Answer::NotSent(error),
            },
            () = passage.cancel.cancelled() => return Answer::Cancelled,
        };
        let failure = match attempt(&lease, call.operation(), passage, server.call_timeout()).await {
            Ok(answer) => return answer,
            Err(failure) => failure,
        };
        match failure {
            Failure::NotSent(_) if std::mem::take(&mut again) => {}
            Failure::NotSent(reason) | Failure::Refused { reason, .. } => {
                return Answer::NotSent(server.unavailable(reason));
            }
            Failure::SignIn(reason) => {
                server.set_aside_if_signed_out(&lease);
                return Answer::NotSent(server.requires_sign_in(reason));
            }
            Failure::SessionLost => {
                server.discard(&lease, "the server does not know the session any more");
                // The server refused the request itself, so the call did not run; a mutating one is still
                // the caller's to repeat, never ours (I5).
                if !(reads && std::mem::take(&mut new_session)) {
                    let reason = "it had ended the session and did not take the call; call again".to_owned();
                    return Answer::NotSent(server.unavailable(reason));
                }
            }
            Failure::Lost(_)
                if reads && lease.is_http() && !lease.closed.is_cancelled() && std::mem::take(&mut again) => {}
            Failure::Lost(reason) => return Answer::Lost { reason },
        }
    }
}

/// Sends the call over one connection; `Err` when another attempt may be thought of.
async fn attempt(
    connection: &Arc<Connection>,
    operation: &Operation,
    passage: &Passage,
    patience: Duration,
) -> Result<Answer, Failure> {
    let prepared = tokio::select! {
        biased;
        answer = prepare(connection, operation, passage, patience) => answer,
        () = passage.cancel.cancelled() => Some(Answer::Cancelled),
    };
    if let Some(answer) = prepared {
        return Ok(answer);
    }
    let version = connection.version();
    let id = connection.next_id();
    let as_task = task::is_needed(operation, passage, version);
    let params = params::of_call(operation, passage, id, (version, as_task));
    let mut headers = mirrored(operation, version);
    // Whoever stands between here and the server traces by headers (W3C Trace Context).
    let traced = passage
        .meta
        .iter()
        .filter(|(name, _)| matches!(name.as_str(), "traceparent" | "tracestate"));
    headers.extend(traced.filter_map(|(name, value)| Some((name.clone(), text_of(value)?.into_owned()))));
    let out = Outgoing {
        id,
        method: operation.method(),
        name: countersign_wire::headers::name_member(operation.method()).map(|_member| operation.subject()),
        params: Some(&params),
        headers: &headers,
        version: Some(version),
    };
    let back = Arc::new(Back::new(passage, patience));
    let mut flight = Flight::new(connection, id);
    let exchanged = pin!(async {
        let delivered = connection.exchange(&out, Some(&back)).await;
        // Only a call whose answer was lost on the way may still run at the server.
        if !matches!(delivered, Err(Failure::Lost(_))) {
            flight.land();
        }
        let delivered = delivered?;
        match task::begun(&delivered, as_task, passage, version) {
            None => Ok(delivered),
            Some(task) => Box::pin(task::finish(connection, &task, &back)).await,
        }
    });
    tokio::select! {
        // An answer that is there counts, whatever else happened at the same time.
        biased;
        delivered = exchanged => {
            delivered.map(|delivered| match delivered {
                Delivered::Result(result) => {
                    remember(connection, operation);
                    Answer::Result(result)
                }
                Delivered::Error(error) => Answer::Error(error),
            })
        }
        () = passage.cancel.cancelled() => Ok(Answer::Cancelled),
        why = back.given_up() => {
            let within = |limit| format!("no answer within {}", shown(limit));
            let reason = match why {
                GivenUp::Closed => connection.end_reason(),
                GivenUp::Silent => within(patience),
                GivenUp::TooLong => within(back.longest()),
            };
            Ok(Answer::Lost { reason })
        }
    }
}

/// A legacy server forgets subscriptions with its connection; what was wished is remembered here.
fn remember(connection: &Connection, operation: &Operation) {
    match operation {
        Operation::Subscribe { uri } => {
            connection.watch.wished().add(uri);
        }
        Operation::Unsubscribe { uri } => {
            connection.watch.wished().remove(uri);
        }
        Operation::CallTool { .. }
        | Operation::RunCore { .. }
        | Operation::RunWorkflow { .. }
        | Operation::ReadResource { .. }
        | Operation::GetPrompt { .. }
        | Operation::Task { .. }
        | Operation::Complete { .. } => {}
    }
}

/// Headers that mirror arguments (2026-07-28, `x-mcp-header`).
fn mirrored(operation: &Operation, version: Version) -> Vec<(String, String)> {
    let Operation::CallTool { definition, arguments } = operation else {
        return Vec::new();
    };
    if version != Version::V2026_07_28 || !definition.has_header_params {
        return Vec::new();
    }
    match param_headers::of_schema(&definition.input_schema) {
        Ok(headers) => param_headers::for_arguments(&headers, arguments.as_str()),
        Err(what) => {
            tracing::debug!(
                tool = definition.name.as_str(),
                what,
                "the tool's header annotations are not used"
            );
            Vec::new()
        }
    }
}

/// What goes before the call; `Some` when nothing is left to send.
async fn prepare(
    connection: &Arc<Connection>,
    operation: &Operation,
    passage: &Passage,
    patience: Duration,
) -> Option<Answer> {
    if let Some(level) = &passage.log_level {
        Box::pin(connection.set_level(level, patience)).await;
    }
    subscribed(connection, operation).await
}

/// 2026-07-28 has no subscribe method: the wish goes into what is listened to.
async fn subscribed(connection: &Arc<Connection>, operation: &Operation) -> Option<Answer> {
    if !connection.is_modern() {
        return None;
    }
    match operation {
        Operation::Subscribe { uri } => Box::pin(connection.watch.subscribe(uri)).await,
        Operation::Unsubscribe { uri } => Box::pin(connection.watch.unsubscribe(uri)).await,
        Operation::Task {
            task,
            verb: TaskVerb::Watch,
        } => Box::pin(connection.watch.watch_task(task)).await,
        Operation::Task {
            task,
            verb: TaskVerb::Unwatch,
        } => Box::pin(connection.watch.unwatch_task(task)).await,
        Operation::CallTool { .. }
        | Operation::RunCore { .. }
        | Operation::RunWorkflow { .. }
        | Operation::ReadResource { .. }
        | Operation::GetPrompt { .. }
        | Operation::Task { .. }
        | Operation::Complete { .. } => return None,
    }
    RawValue::from_string("{}".to_owned()).ok().map(Answer::Result)
}
