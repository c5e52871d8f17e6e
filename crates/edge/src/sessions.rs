//! All legacy sessions of the HTTP listener, bound to their principal and endpoint (I3).

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use countersign_core::principal::{Caller, PrincipalKey};

use crate::session::Session;

/// How many sessions may be open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) total: usize,
    pub(crate) per_principal: usize,
}

/// Every session that can be opened has one in use, so none can make room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("all sessions that the limits allow are in use; end one or raise `limits.sessions`")]
pub(crate) struct Full;

/// All sessions.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    ticks: AtomicU64,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    by_id: HashMap<String, Arc<Session>>,
    by_principal: HashMap<PrincipalKey, Vec<Arc<Session>>>,
}

impl Sessions {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::Relaxed)
    }

    /// Opens a session. Where a limit is reached, the principal's own least recently used idle
    /// sessions make room and are given back; another principal's never do.
    pub(crate) fn open(&self, session: Session, limits: Limits) -> Result<(Arc<Session>, Vec<Arc<Session>>), Full> {
        session.touch(self.tick());
        let session = Arc::new(session);
        let mut table = self.table();
        let mut evicted = Vec::new();
        while table.is_full(&session.principal, limits) {
            let Some(oldest) = table.oldest_idle(&session.principal) else {
                drop(table);
                return Err(Full);
            };
            table.remove(&oldest);
            evicted.push(oldest);
        }
        table.by_id.insert(session.id.clone(), Arc::clone(&session));
        table
            .by_principal
            .entry(session.principal.clone())
            .or_default()
            .push(Arc::clone(&session));
        Ok((session, evicted))
    }

    /// The session of that id, if it is this caller's at this endpoint. To anyone else it does not exist.
    pub(crate) fn find(&self, id: &str, caller: &Caller) -> Option<Arc<Session>> {
        let session = self.table().by_id.get(id).cloned()?;
        let own = session.principal == *caller.principal.key() && session.endpoint == caller.endpoint;
        own.then(|| {
            session.touch(self.tick());
            session
        })
    }

    /// Takes a session out of the table.
    pub(crate) fn close(&self, session: &Arc<Session>) {
        self.table().remove(session);
    }

    /// All sessions.
    pub(crate) fn all(&self) -> Vec<Arc<Session>> {
        self.table().by_id.values().cloned().collect()
    }

    /// How many sessions are open.
    pub(crate) fn count(&self) -> usize {
        self.table().by_id.len()
    }
}

impl Table {
    fn is_full(&self, principal: &PrincipalKey, limits: Limits) -> bool {
        let own = self.by_principal.get(principal).map_or(0, Vec::len);
        self.by_id.len() >= limits.total || own >= limits.per_principal
    }

    fn oldest_idle(&self, principal: &PrincipalKey) -> Option<Arc<Session>> {
        let own = self.by_principal.get(principal)?;
        own.iter()
            .filter(|session| session.calls.is_idle())
            .min_by_key(|session| session.age())
            .cloned()
    }

    fn remove(&mut self, session: &Arc<Session>) {
        self.by_id.remove(&session.id);
        if let Some(own) = self.by_principal.get_mut(&session.principal) {
            own.retain(|other| !Arc::ptr_eq(other, session));
            if own.is_empty() {
                self.by_principal.remove(&session.principal);
            }
        }
    }
}

/// A fresh session id: 256 random bits as 64 hex digits. `None` when the system has no randomness.
pub(crate) fn fresh_id() -> Option<String> {
    let mut bits = [0_u8; 32];
    getrandom::fill(&mut bits).ok()?;
    Some(bits.iter().fold(String::with_capacity(64), |mut id, byte| {
        // Writing to a string cannot fail.
        write!(id, "{byte:02x}").ok();
        id
    }))
}

#[cfg(test)]
mod tests;
