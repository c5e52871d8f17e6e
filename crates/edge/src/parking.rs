//! Calls of callers without a session whose upstream waits for an answer: kept until the caller asks again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use countersign_core::exact::Exact;
use countersign_core::principal::{Endpoint, PrincipalKey};
use countersign_core::stages::Toolset;
use countersign_wire::codes;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use crate::method::Method;
use crate::sessions;
use crate::under_way::UnderWay;

/// What every state of the gateway's own begins with; all others are an upstream's and pass as they are.
pub(crate) const PREFIX: &str = "countersign-parked-";

/// Who may go on with a parked call, and by which request: the caller, and what exactly was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bond {
    pub(crate) principal: PrincipalKey,
    pub(crate) endpoint: Endpoint,
    /// What the request was narrowed to: in another toolset the call might not be there.
    pub(crate) toolset: Toolset,
    pub(crate) asked: Asked,
}

/// What exactly a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    /// The exposed name, or the URI.
    pub(crate) subject: Box<str>,
    pub(crate) arguments: Option<Exact>,
}

/// How many calls may be parked, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) per_principal: usize,
    pub(crate) lifetime: Duration,
}

/// Why a request cannot go on with a parked call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unclaimed {
    /// Unknown, answered, too old, or another principal's: to this caller all are the same.
    #[error("the question has lapsed; call again without `requestState`")]
    Lapsed,
    /// The caller's own, of another request.
    #[error(
        "`params.requestState` belongs to another request: send it with the method, the name, the arguments and the toolset that were answered with `input_required`"
    )]
    AnotherRequest,
}

#[derive(Debug)]
struct Parked {
    bond: Bond,
    call: UnderWay,
    _lapse: AbortOnDropHandle<()>,
}

/// All parked calls.
#[derive(Debug, Default)]
pub(crate) struct Parking {
    calls: Mutex<HashMap<String, Parked>>,
    tasks: TaskTracker,
}

impl Parking {
    fn calls(&self) -> MutexGuard<'_, HashMap<String, Parked>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Parks a call, which goes on meanwhile, and gives the state that names it.
    ///
    /// # Errors
    /// The call, and why it cannot be parked.
    pub(crate) fn park(
        self: &Arc<Self>,
        mut call: Box<UnderWay>,
        limits: Limits,
    ) -> Result<String, (Box<UnderWay>, &'static str)> {
        let Some(bond) = call.bond.clone() else {
            return Err((call, "the request cannot wait for an answer"));
        };
        let Some(id) = sessions::fresh_id() else {
            return Err((call, "the system gives no random numbers"));
        };
        let state = format!("{PREFIX}{id}");
        let mut calls = self.calls();
        let own = calls.values().filter(|parked| parked.bond.principal == bond.principal);
        if own.count() >= limits.per_principal {
            drop(calls);
            return Err((
                call,
                "the caller has as many unanswered questions as `limits.parked_per_principal` allows",
            ));
        }
        call.detach(&self.tasks);
        let (parking, named) = (Arc::clone(self), state.clone());
        let lapse = tokio::spawn(async move {
            tokio::time::sleep(limits.lifetime).await;
            parking.lapse(&named);
        });
        let parked = Parked {
            bond,
            call: *call,
            _lapse: AbortOnDropHandle::new(lapse),
        };
        calls.insert(state.clone(), parked);
        Ok(state)
    }

    /// Takes a parked call out; a state serves once.
    pub(crate) fn claim(&self, state: &str, bond: &Bond) -> Result<UnderWay, Unclaimed> {
        let mut calls = self.calls();
        let parked = calls.get(state).ok_or(Unclaimed::Lapsed)?;
        if parked.bond.principal != bond.principal || parked.bond.endpoint != bond.endpoint {
            return Err(Unclaimed::Lapsed);
        }
        if parked.bond.asked != bond.asked || parked.bond.toolset != bond.toolset {
            return Err(Unclaimed::AnotherRequest);
        }
        let parked = calls.remove(state).ok_or(Unclaimed::Lapsed)?;
        drop(calls);
        Ok(parked.call)
    }

    fn lapse(&self, state: &str) {
        let parked = self.calls().remove(state);
        if let Some(parked) = parked {
            tracing::info!("a server's question was not answered in time; its call is cancelled");
            give_up(parked.call, "the question was not answered in time");
        }
    }

    /// Gives up all parked calls and waits until what became of them is recorded, at most for `grace`.
    pub(crate) async fn end(&self, grace: Duration) {
        let calls = std::mem::take(&mut *self.calls());
        for parked in calls.into_values() {
            give_up(parked.call, "the gateway stops");
        }
        self.tasks.close();
        if tokio::time::timeout(grace, self.tasks.wait()).await.is_err() {
            tracing::warn!("calls that wait for their callers did not end in time");
        }
    }

    /// How many calls are parked.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.calls().len()
    }
}

fn give_up(mut call: UnderWay, reason: &str) {
    call.refuse(codes::INTERNAL_ERROR, reason);
    call.cancel();
}

#[cfg(test)]
mod tests;
