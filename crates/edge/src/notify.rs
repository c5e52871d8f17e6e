//! What servers say of their own accord, told to the legacy sessions that it concerns.

use std::sync::Arc;

use countersign_core::principal::PrincipalKey;
use countersign_engine::Change;
use countersign_wire::object::{self, Edit};
use countersign_wire::rpc;
use countersign_wire::version::Era;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use crate::cursor::List;
use crate::hearer::Hearer;
use crate::session::Session;
use crate::shared::Shared;
use crate::speaker::Speaker;
use crate::tasks;

/// Tells sessions of changes until the gateway stops; `sessions` gives those that are open now.
pub(crate) async fn pump(
    shared: Arc<Shared>,
    mut changes: Receiver<Change>,
    sessions: impl Fn() -> Vec<Arc<Session>>,
    stop: CancellationToken,
) {
    loop {
        let change = tokio::select! {
            change = changes.recv() => match change {
                Ok(change) => Some(change),
                // What was missed is not known, so that every list may have changed.
                Err(RecvError::Lagged(_)) => None,
                Err(RecvError::Closed) => return,
            },
            () = stop.cancelled() => return,
        };
        let surfaces = shared.in_force().surfaces;
        for session in &sessions() {
            let Some(hearer) = session.hearer() else { continue };
            let missed = change.is_none().then(|| all_lists(&session.principal));
            if let Some(Change::SignedIn { to, server }) = &change
                && *to == session.principal
            {
                for id in session.take_sign_ins(server) {
                    session.tell(complete(&id));
                }
            }
            for change in missed.iter().flatten().chain(&change) {
                if let Some(message) = message(&shared, (session, &hearer), change, surfaces.direct) {
                    session.tell(message);
                }
            }
        }
    }
}

/// What its client was sent to a URL for is done (2025-11-25).
fn complete(id: &str) -> String {
    let params = format!(r#"{{"elicitationId":{}}}"#, object::quote(id));
    rpc::notification("notifications/elicitation/complete", Some(&params))
}

/// What a session is told of a change. Changes of a list that it does not see are none of its business.
fn message(
    shared: &Shared,
    (session, hearer): (&Arc<Session>, &Hearer),
    change: &Change,
    is_direct: bool,
) -> Option<String> {
    let concerns = |to: &Option<PrincipalKey>| shared.engine.concerns(to.as_ref(), &session.principal);
    let list = |list: List, to: &Option<PrincipalKey>| {
        let is_seen = concerns(to) && hearer.sees_change(&shared.engine, list);
        is_seen.then(|| rpc::notification(&format!("notifications/{}/list_changed", list.member()), None))
    };
    match change {
        Change::Tools { to } if is_direct || session.lists_direct() => list(List::Tools, to),
        Change::Tools { .. } | Change::SignedIn { .. } => None,
        Change::Prompts { to } => list(List::Prompts, to),
        Change::Resources { to } => list(List::Resources, to),
        Change::ResourceUpdated {
            server,
            principal,
            uri,
            params,
        } => {
            let told = is_for(session, principal.as_ref())
                && session.watches(uri)
                && hearer.sees_server(&shared.engine, server.as_str());
            told.then(|| rpc::notification("notifications/resources/updated", Some(params.get())))
        }
        Change::Task {
            server,
            principal,
            params,
        } => {
            let theirs = tasks::id_in(params.get())?;
            let known = shared.tasks.called(server.as_str(), &theirs, principal.as_ref());
            let task = known
                .iter()
                .find(|task| task.era == Era::Legacy && task.session.as_deref() == Some(&session.id))?;
            let params = tasks::told(&task.id, server.as_str(), params.get());
            Some(rpc::notification("notifications/tasks/status", Some(&params)))
        }
        Change::Log {
            server,
            principal,
            params,
        } => {
            let speaker = Speaker::Session(Arc::clone(session));
            let is_heard = is_for(session, principal.as_ref())
                && speaker.wants_log(params.get())
                && hearer.sees_server(&shared.engine, server.as_str());
            if !is_heard {
                return None;
            }
            let logger = object::quote(server.as_str());
            let params = object::edit(params.get(), &[Edit::Default("logger", &logger)]).ok()?;
            Some(rpc::notification("notifications/message", Some(&params)))
        }
    }
}

/// Every list of a principal, each as changed.
pub(crate) fn all_lists(principal: &PrincipalKey) -> [Change; 3] {
    let to = || Some(principal.clone());
    [
        Change::Tools { to: to() },
        Change::Prompts { to: to() },
        Change::Resources { to: to() },
    ]
}

/// Whether a change that belongs to one principal's connection, or to all, is this session's.
fn is_for(session: &Session, principal: Option<&PrincipalKey>) -> bool {
    principal.is_none_or(|principal| *principal == session.principal)
}
