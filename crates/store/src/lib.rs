//! The ledger: what was intended, refused and became of it, durable before the act (I5, I6).
//!
//! It mints [`Recorded`], the only thing that an upstream call takes.

mod entry;
mod executions;
mod intent;
mod memory;
mod queue;
mod recorded;
mod schema;
mod sealed;
mod sessions;
mod sqlite;

use std::path::Path;
use std::sync::Arc;

use countersign_core::admit::Permit;
use countersign_core::effect::Effect;
use countersign_core::outcome::Fate;
use countersign_core::time::Millis;

use intent::Intent;

pub use entry::{End, Entry, Note};
pub use executions::{Execution, ExecutionEnd, ExecutionQuery, ExecutionStart, ExecutionStep};
pub use recorded::{Receipt, Recorded};
pub use sealed::Sealed;
pub use sessions::{Bind, Binding, Bound, Reading, Unbound, stored_binding};

/// Why the ledger could not write or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database file cannot be opened.
    #[error("cannot open the ledger `{path}`; check that its folder exists and can be written")]
    Open {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: rusqlite::Error,
    },
    /// The database file was written by a newer version.
    #[error("the ledger `{path}` has schema {found}, newer than {known}; use the version of countersign that wrote it")]
    Newer {
        /// The file.
        path: String,
        /// Its schema.
        found: i64,
        /// The newest schema that this version knows.
        known: i64,
    },
    /// The run's lock file cannot be made.
    #[error("cannot lock the ledger `{path}`")]
    Lock {
        /// The lock file.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The database refused a statement.
    #[error("cannot write to the ledger: {0}")]
    Write(Arc<rusqlite::Error>),
    /// The ledger's writer cannot keep up.
    #[error("the ledger is {0} entries behind")]
    Behind(usize),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    Random,
    /// The ledger's writer has ended.
    #[error("the ledger is closed")]
    Closed,
}

/// The ledger; one value, shared.
#[derive(Debug, Clone)]
pub struct Ledger {
    backend: Backend,
    sessions: Arc<sessions::Sessions>,
    sealed: Arc<[Sealed]>,
}

#[derive(Debug, Clone)]
enum Backend {
    Memory(memory::Memory),
    Sqlite(sqlite::Sqlite),
}

impl Backend {
    fn end(&self, id: i64, fate: Fate, duration_ms: Option<i64>) -> Result<(), Error> {
        match self {
            Self::Memory(memory) => memory.end(id, fate, duration_ms),
            Self::Sqlite(sqlite) => sqlite.end(id, fate, duration_ms)?,
        }
        Ok(())
    }
}

/// Whether an entry must be on disk before its caller goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Durability {
    /// On disk first.
    Durable,
    /// Queued; written with the next group.
    Queued,
}

impl Ledger {
    /// A ledger that ends with the process and keeps its latest 10,000 entries.
    #[must_use]
    pub fn memory() -> Self {
        Self {
            backend: Backend::Memory(memory::Memory::new()),
            sessions: Arc::default(),
            sealed: Arc::default(),
        }
    }

    /// Opens or creates a SQLite ledger: one writer thread, WAL, `synchronous=FULL` for what must
    /// be durable. Intents of a run that has ended without a fate become `outcome_unknown`.
    ///
    /// # Errors
    /// [`Error::Open`], [`Error::Newer`] or [`Error::Lock`].
    pub fn sqlite(path: &Path) -> Result<Self, Error> {
        let (sqlite, sessions, sealed) = sqlite::Sqlite::open(path)?;
        Ok(Self {
            backend: Backend::Sqlite(sqlite),
            sessions: Arc::new(sessions),
            sealed,
        })
    }

    /// Records the intent. For a call that is not read-only the intent is durable when this returns;
    /// a reading call is queued for the trail.
    ///
    /// # Errors
    /// When the intent cannot be written: the call must not be made.
    pub async fn begin(&self, permit: Permit, at: Millis) -> Result<Recorded, Error> {
        let (call, answers) = permit.into_parts();
        let intent = Intent::of(&call, answers, at);
        let durability = match call.classified().effect {
            Effect::ReadOnly | Effect::Control => Durability::Queued,
            Effect::Mutating | Effect::Spawning => Durability::Durable,
        };
        let id = match &self.backend {
            Backend::Memory(memory) => memory.intent(intent),
            Backend::Sqlite(sqlite) => sqlite.intent(intent.entry(), durability).await?,
        };
        Ok(Recorded::mint(call, self.backend.clone(), id, at))
    }

    /// Records how a call ended. A process that dies before this is written leaves an intent that
    /// the next one reports as `outcome_unknown`: honest, so nobody waits for the disk here.
    ///
    /// # Errors
    /// When it cannot be queued; the call has been made all the same.
    pub fn finish(&self, receipt: Receipt, end: End) -> Result<(), Error> {
        let Some((id, begun)) = receipt.spend() else {
            return Ok(());
        };
        self.backend
            .end(id, end.fate, Some(end.at.0.saturating_sub(begun.0).max(0)))
    }

    /// Records a refusal or an event.
    ///
    /// # Errors
    /// When it cannot be queued.
    pub fn note(&self, note: Note) -> Result<(), Error> {
        let entry = Entry::note(note);
        match &self.backend {
            Backend::Memory(memory) => memory.note(entry),
            Backend::Sqlite(sqlite) => sqlite.note(entry)?,
        }
        Ok(())
    }

    /// The latest entries, newest first, with all that was queued before.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn recent(&self, limit: usize) -> Result<Vec<Entry>, Error> {
        match &self.backend {
            Backend::Memory(memory) => Ok(memory.recent(limit)),
            Backend::Sqlite(sqlite) => sqlite.recent(limit).await,
        }
    }

    /// Whether the ledger can be written now (a probe for `/ready`): it writes.
    ///
    /// # Errors
    /// Why it cannot.
    pub async fn writable(&self) -> Result<(), Error> {
        match &self.backend {
            Backend::Memory(_) => Ok(()),
            Backend::Sqlite(sqlite) => sqlite.writable().await,
        }
    }

    /// Writes out what is queued and ends the writer; later writes fail with [`Error::Closed`].
    pub async fn close(&self) {
        match &self.backend {
            Backend::Memory(_) => {}
            Backend::Sqlite(sqlite) => {
                self.sessions.keep_seen(sqlite);
                sqlite.close().await;
            }
        }
    }
}

#[cfg(test)]
mod tests;
