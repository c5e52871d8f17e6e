//! Bindings of Sessions: whom a Session's actor is served as, within which toolset, and until when (spec 3.4).

mod rows;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use countersign_core::time::Millis;

use crate::sqlite::Sqlite;
use crate::{Backend, Error, Ledger};

pub use rows::stored_binding;
pub(crate) use rows::{Row, delete, saw};

/// How long a binding lives that names no end.
const LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// How many bindings are held at once.
const HELD: usize = 100_000;

/// How often the time until which bindings have lived is written down, at most.
const SEEN_EVERY: Duration = Duration::from_secs(30);

/// A reading of both clocks at one instant: the wall's can be set, the other one only goes on.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    /// Milliseconds since the Unix epoch.
    pub wall: Millis,
    /// The clock that nobody sets.
    pub steady: Instant,
}

/// Whom a Session's actor is served as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// The Session.
    pub session: Arc<str>,
    /// The person.
    pub subject: Arc<str>,
    /// The selectors that bound every request; `None` bounds nothing.
    pub toolset: Option<Vec<String>>,
    /// The person's roles.
    pub roles: Vec<String>,
    /// The person's plan.
    pub plan: Option<String>,
    /// When it ends.
    pub expires_at: Millis,
}

/// A binding that somebody asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bind {
    /// The Session.
    pub session: String,
    /// The person.
    pub subject: String,
    /// The selectors that bound every request; `None` bounds nothing.
    pub toolset: Option<Vec<String>>,
    /// The person's roles.
    pub roles: Vec<String>,
    /// The person's plan.
    pub plan: Option<String>,
    /// When it ends. Absent: when an earlier binding of the Session does, else after 24 hours.
    pub expires_at: Option<Millis>,
}

/// What became of a binding that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bound {
    /// The Session had none.
    Created(Arc<Binding>),
    /// It takes the place of an earlier one.
    Replaced(Arc<Binding>),
}

/// Why a Session was not bound.
#[derive(Debug, thiserror::Error)]
pub enum Unbound {
    /// The Session belongs to somebody else, who is not named.
    #[error("the session is bound to another subject; end that binding first")]
    OtherSubject,
    /// Its end is not after now.
    #[error("`expires_at` is not in the future")]
    Past,
    /// There are too many.
    #[error("{HELD} sessions are bound already; end some of them")]
    Full,
    /// It could not be stored.
    #[error("the binding cannot be stored")]
    Store(#[source] Error),
}

/// All bindings. What is stored is read once, at the start, so that a look-up touches memory only.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    held: HashMap<Arc<str>, Held>,
    /// When the time until which bindings have lived was last written down.
    seen: Option<Instant>,
}

/// INVARIANT: `until` never moves to a later instant while the binding stays (I8); only another binding, which
/// somebody who may write it asks for, brings another one.
#[derive(Debug, Clone)]
struct Held {
    binding: Arc<Binding>,
    until: Instant,
}

impl Held {
    /// A binding that is known to have lived until `now`. `None` when it has ended, or never would.
    fn new(binding: Binding, now: Reading) -> Option<Self> {
        let left = u64::try_from(binding.expires_at.0.checked_sub(now.wall.0)?).ok()?;
        let until = now.steady.checked_add(Duration::from_millis(left))?;
        (left > 0).then(|| Self {
            binding: Arc::new(binding),
            until,
        })
    }

    /// Whichever clock says first that it has ended is believed: setting one back does not lengthen it.
    fn is_over(&self, now: Reading) -> bool {
        now.wall >= self.binding.expires_at || now.steady >= self.until
    }
}

impl Sessions {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The table over what was stored; a stored binding has lived at least until `now`.
    fn of(bindings: Vec<(Binding, Millis)>, now: Reading) -> Self {
        let known_at = |seen: Millis| Reading {
            // A clock that was set back while nobody looked does not lengthen what is left.
            wall: now.wall.max(seen),
            steady: now.steady,
        };
        let held = bindings
            .into_iter()
            .filter_map(|(binding, seen)| Held::new(binding, known_at(seen)))
            .map(|held| (Arc::clone(&held.binding.session), held))
            .collect();
        Self {
            table: Mutex::new(Table { held, seen: None }),
        }
    }

    /// Writes down until when all bindings have lived.
    pub(crate) fn keep_seen(&self, sqlite: &Sqlite) {
        let is_empty = self.table().held.is_empty();
        if !is_empty && let Err(error) = sqlite.seen(wall_now()) {
            tracing::warn!(%error, "it cannot be written down how long the bindings of sessions have lived");
        }
    }
}

fn wall_now() -> Millis {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Millis(since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
}

impl Ledger {
    /// Binds a Session, or binds it anew; one transition, whoever else writes at the same time. It is stored when this
    /// returns.
    ///
    /// # Errors
    /// [`Unbound`]; a binding that could not be stored is not in force either.
    pub async fn bind(&self, bind: Bind, now: Reading) -> Result<Bound, Unbound> {
        let (bound, written) = self.enter(bind, now)?;
        if let Some(written) = written
            && let Err(error) = written.await.unwrap_or(Err(Error::Closed))
        {
            let (Bound::Created(binding) | Bound::Replaced(binding)) = &bound;
            let mut table = self.sessions.table();
            if table
                .held
                .get(&binding.session)
                .is_some_and(|held| Arc::ptr_eq(&held.binding, binding))
            {
                table.held.remove(&binding.session);
            }
            return Err(Unbound::Store(error));
        }
        Ok(bound)
    }

    /// Takes the binding into the table, and hands it to the writer in the same order.
    fn enter(&self, bind: Bind, now: Reading) -> Result<(Bound, Option<crate::sqlite::Written>), Unbound> {
        let mut table = self.sessions.table();
        let before = table
            .held
            .get(bind.session.as_str())
            .filter(|held| !held.is_over(now))
            .cloned();
        if before
            .as_ref()
            .is_some_and(|before| *before.binding.subject != *bind.subject)
        {
            return Err(Unbound::OtherSubject);
        }
        let kept = before.as_ref().filter(|_| bind.expires_at.is_none());
        let lifetime = i64::try_from(LIFETIME.as_millis()).unwrap_or(i64::MAX);
        let expires_at = kept.map(|kept| kept.binding.expires_at).or(bind.expires_at);
        let binding = Binding {
            session: bind.session.into(),
            subject: bind.subject.into(),
            toolset: bind.toolset,
            roles: bind.roles,
            plan: bind.plan,
            expires_at: expires_at.unwrap_or(Millis(now.wall.0.saturating_add(lifetime))),
        };
        let mut held = Held::new(binding, now).ok_or(Unbound::Past)?;
        if let Some(kept) = kept {
            held.until = kept.until;
        }
        if before.is_none() {
            table.make_room(&self.backend, now)?;
        }
        let written = match &self.backend {
            Backend::Memory(_) => None,
            Backend::Sqlite(sqlite) => Some(sqlite.bind(Row::of(&held.binding, now.wall)).map_err(Unbound::Store)?),
        };
        let binding = Arc::clone(&held.binding);
        table.held.insert(Arc::clone(&binding.session), held);
        let bound = if before.is_some() {
            Bound::Replaced(binding)
        } else {
            Bound::Created(binding)
        };
        Ok((bound, written))
    }

    /// The binding of a Session while it lives, and when it ends by the clock that nobody sets. One that has ended is gone
    /// for good, whatever the clock says later.
    #[must_use]
    pub fn binding(&self, session: &str, now: Reading) -> Option<(Arc<Binding>, Instant)> {
        let mut table = self.sessions.table();
        let held = table.held.get(session)?;
        if held.is_over(now) {
            table.end(session, &self.backend);
            return None;
        }
        let live = (Arc::clone(&held.binding), held.until);
        let is_due = table
            .seen
            .is_none_or(|seen| now.steady.saturating_duration_since(seen) >= SEEN_EVERY);
        if is_due && let Backend::Sqlite(sqlite) = &self.backend {
            table.seen = Some(now.steady);
            if let Err(error) = sqlite.seen(now.wall) {
                tracing::warn!(%error, "it cannot be written down how long the bindings of sessions have lived");
            }
        }
        Some(live)
    }

    /// Ends the binding of a Session; says whether there was one.
    ///
    /// # Errors
    /// When that cannot be stored; it has ended for this process all the same.
    pub async fn unbind(&self, session: &str, now: Reading) -> Result<bool, Error> {
        let (was_bound, written) = {
            let mut table = self.sessions.table();
            let Some(held) = table.held.remove(session) else {
                return Ok(false);
            };
            let written = match &self.backend {
                Backend::Memory(_) => None,
                Backend::Sqlite(sqlite) => Some(sqlite.unbind(Arc::clone(&held.binding.session))?),
            };
            (!held.is_over(now), written)
        };
        if let Some(written) = written {
            written.await.unwrap_or(Err(Error::Closed))?;
        }
        Ok(was_bound)
    }
}

impl Table {
    /// Lets go of what has ended when there is no room.
    fn make_room(&mut self, backend: &Backend, now: Reading) -> Result<(), Unbound> {
        if self.held.len() < HELD {
            return Ok(());
        }
        let over = self.held.iter().filter(|(_, held)| held.is_over(now));
        let over: Vec<Arc<str>> = over.map(|(session, _)| Arc::clone(session)).collect();
        for session in over {
            self.end(&session, backend);
        }
        if self.held.len() < HELD {
            Ok(())
        } else {
            Err(Unbound::Full)
        }
    }

    fn end(&mut self, session: &str, backend: &Backend) {
        let Some(held) = self.held.remove(session) else { return };
        if let Backend::Sqlite(sqlite) = backend
            && let Err(error) = sqlite.forget(Arc::clone(&held.binding.session))
        {
            tracing::warn!(%error, "the end of a session's binding cannot be stored");
        }
    }
}

#[cfg(test)]
mod tests;
