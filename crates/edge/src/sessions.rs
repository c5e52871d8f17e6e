//! All legacy sessions of the HTTP listener, bound to their principal and endpoint (I3).

mod expiry;

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use countersign_core::principal::{Caller, PrincipalKey};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::session::Session;

pub(crate) use expiry::expire;

/// How many sessions may be open, and how long nothing may use one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) total: usize,
    pub(crate) per_principal: usize,
    pub(crate) idle: Duration,
}

/// Every session that could make room has a call under way or a client that listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Full {
    /// The gateway has no room, and the principal no session to give.
    #[error("all sessions that `limits.sessions` ({0}) allows are in use; end one, or raise the limit")]
    Total(usize),
    /// The principal has no room.
    #[error("all sessions that `limits.sessions_per_principal` ({0}) allows are in use; end one, or raise the limit")]
    PerPrincipal(usize),
}

/// All sessions.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    table: Mutex<Table>,
    /// The first session was opened, or the time that they may be idle changed.
    reconsidered: Notify,
}

/// When a session is looked at again; the number makes it unique.
type Due = (Instant, u64);

#[derive(Debug, Default)]
struct Table {
    by_id: HashMap<String, Entry>,
    by_principal: HashMap<PrincipalKey, Vec<Arc<Session>>>,
    /// INVARIANT: one entry for every session, under the `due` of its entry; `insert`, `remove` and `postpone` keep it.
    queue: BTreeMap<Due, Arc<Session>>,
    numbers: u64,
}

#[derive(Debug)]
struct Entry {
    session: Arc<Session>,
    /// When it was last used.
    used: Instant,
    /// It was busy when it was last looked at, so that when it became idle is not known.
    was_busy: bool,
    due: Due,
}

impl Sessions {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a session. Where a limit is reached, the principal's own least recently used idle
    /// sessions make room and are given back; another principal's never do, nor does one whose
    /// client listens or waits for a call.
    pub(crate) fn open(&self, session: Session, limits: Limits) -> Result<(Arc<Session>, Vec<Arc<Session>>), Full> {
        let session = Arc::new(session);
        let mut table = self.table();
        let mut evicted = Vec::new();
        while let Some(full) = table.is_full(&session.principal, limits) {
            let Some(oldest) = table.oldest_idle(&session.principal) else {
                drop(table);
                return Err(full);
            };
            table.remove(&oldest);
            evicted.push(oldest);
        }
        let is_first = table.by_id.is_empty();
        table.insert(&session, limits.idle);
        drop(table);
        if is_first {
            self.reconsidered.notify_one();
        }
        Ok((session, evicted))
    }

    /// The session of that id, if it is this caller's at this endpoint. To anyone else it does not exist.
    pub(crate) fn find(&self, id: &str, caller: &Caller) -> Option<Arc<Session>> {
        let mut table = self.table();
        let entry = table.by_id.get_mut(id)?;
        let session = &entry.session;
        if session.principal != *caller.principal.key() || session.endpoint != caller.endpoint {
            return None;
        }
        entry.used = Instant::now();
        Some(Arc::clone(session))
    }

    /// Takes a session out of the table; says whether it was there.
    pub(crate) fn close(&self, session: &Arc<Session>) -> bool {
        self.table().remove(session)
    }

    /// All sessions.
    pub(crate) fn all(&self) -> Vec<Arc<Session>> {
        self.table()
            .by_id
            .values()
            .map(|entry| Arc::clone(&entry.session))
            .collect()
    }

    /// How many sessions are open.
    pub(crate) fn count(&self) -> usize {
        self.table().by_id.len()
    }
}

impl Table {
    fn is_full(&self, principal: &PrincipalKey, limits: Limits) -> Option<Full> {
        let own = self.by_principal.get(principal).map_or(0, Vec::len);
        if own >= limits.per_principal {
            return Some(Full::PerPrincipal(limits.per_principal));
        }
        (self.by_id.len() >= limits.total).then_some(Full::Total(limits.total))
    }

    /// Looks at the principal's own sessions only, and at most at `limits.sessions_per_principal` of them.
    fn oldest_idle(&self, principal: &PrincipalKey) -> Option<Arc<Session>> {
        let own = self.by_principal.get(principal)?;
        own.iter()
            .filter(|session| !session.is_busy())
            .min_by_key(|session| self.by_id.get(&session.id).map(|entry| (entry.used, entry.due.1)))
            .cloned()
    }

    fn due(&mut self, at: Instant) -> Due {
        self.numbers += 1;
        (at, self.numbers)
    }

    fn insert(&mut self, session: &Arc<Session>, idle: Duration) {
        let used = Instant::now();
        let due = self.due(used + idle);
        let entry = Entry {
            session: Arc::clone(session),
            used,
            was_busy: false,
            due,
        };
        self.queue.insert(due, Arc::clone(session));
        self.by_id.insert(session.id.clone(), entry);
        self.by_principal
            .entry(session.principal.clone())
            .or_default()
            .push(Arc::clone(session));
    }

    fn remove(&mut self, session: &Arc<Session>) -> bool {
        let Some(entry) = self.by_id.remove(&session.id) else {
            return false;
        };
        self.queue.remove(&entry.due);
        if let Some(own) = self.by_principal.get_mut(&session.principal) {
            own.retain(|other| !Arc::ptr_eq(other, session));
            if own.is_empty() {
                self.by_principal.remove(&session.principal);
            }
        }
        true
    }
}

/// A fresh session id: 256 random bits as 64 hex digits. `None` when the system has no randomness.
pub(crate) fn fresh_id() -> Option<String> {
    fresh_bits::<32>()
}

/// So many random bytes as hex digits. `None` when the system has no randomness.
pub(crate) fn fresh_bits<const BYTES: usize>() -> Option<String> {
    let mut bits = [0_u8; BYTES];
    getrandom::fill(&mut bits).ok()?;
    Some(bits.iter().fold(String::with_capacity(2 * BYTES), |mut id, byte| {
        // Writing to a string cannot fail.
        write!(id, "{byte:02x}").ok();
        id
    }))
}

#[cfg(test)]
mod tests;
