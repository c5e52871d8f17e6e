//! Values that only their owner can read: what people granted at servers, sealed before it comes here.

use std::sync::Arc;

use rusqlite::{Connection, params};

use crate::{Backend, Error, Ledger};

/// One sealed value.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed {
    /// What kind of value it is.
    pub kind: String,
    /// Which of its kind.
    pub key: String,
    /// The sealed bytes.
    pub bytes: Vec<u8>,
}

impl std::fmt::Debug for Sealed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sealed")
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

impl Ledger {
    /// What was kept when the ledger was opened; a ledger in memory keeps nothing.
    #[must_use]
    pub fn sealed(&self) -> &[Sealed] {
        &self.sealed
    }

    /// Whether what is kept here is there after a restart.
    #[must_use]
    pub fn outlives_the_process(&self) -> bool {
        match self.backend {
            Backend::Memory(_) => false,
            Backend::Sqlite(_) => true,
        }
    }

    /// Keeps a value in place of one of the same kind and key; it is on disk when this returns.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn keep_sealed(&self, sealed: Sealed) -> Result<(), Error> {
        match &self.backend {
            Backend::Memory(_) => Ok(()),
            Backend::Sqlite(sqlite) => sqlite.keep_sealed(sealed).await,
        }
    }

    /// Deletes a value; that there is none is no error.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn drop_sealed(&self, kind: &str, key: &str) -> Result<(), Error> {
        match &self.backend {
            Backend::Memory(_) => Ok(()),
            Backend::Sqlite(sqlite) => sqlite.drop_sealed(kind, key).await,
        }
    }
}

/// Reads everything that was kept.
pub(crate) fn load(connection: &Connection) -> rusqlite::Result<Arc<[Sealed]>> {
    let mut statement = connection.prepare("SELECT kind, key, bytes FROM sealed ORDER BY kind, key")?;
    let rows = statement.query_map([], |row| {
        Ok(Sealed {
            kind: row.get(0)?,
            key: row.get(1)?,
            bytes: row.get(2)?,
        })
    })?;
    rows.collect()
}

pub(crate) fn insert(connection: &Connection, sealed: &Sealed) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO sealed (kind, key, bytes) VALUES (?1, ?2, ?3)")?
        .execute(params![sealed.kind, sealed.key, sealed.bytes])
        .map(drop)
}

pub(crate) fn delete(connection: &Connection, kind: &str, key: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM sealed WHERE kind = ?1 AND key = ?2")?
        .execute(params![kind, key])
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::Sealed;
    use crate::Ledger;

    fn sealed(key: &str, byte: u8) -> Sealed {
        Sealed {
            kind: "grant".to_owned(),
            key: key.to_owned(),
            bytes: vec![byte; 3],
        }
    }

    #[tokio::test]
    async fn sealed_values_are_there_after_a_restart_until_they_are_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.db");
        let first = Ledger::sqlite(&path).unwrap();
        assert!(first.sealed().is_empty() && first.outlives_the_process());
        for (key, byte) in [("a", 1), ("b", 2), ("a", 3)] {
            first.keep_sealed(sealed(key, byte)).await.unwrap();
        }
        first.drop_sealed("grant", "b").await.unwrap();
        first.drop_sealed("grant", "c").await.unwrap();
        first.close().await;
        assert!(first.keep_sealed(sealed("d", 4)).await.is_err());
        let second = Ledger::sqlite(&path).unwrap();
        assert_eq!(second.sealed(), [sealed("a", 3)]);
        second.close().await;
    }

    #[tokio::test]
    async fn a_ledger_in_memory_keeps_nothing() {
        let ledger = Ledger::memory();
        ledger.keep_sealed(sealed("a", 1)).await.unwrap();
        ledger.drop_sealed("grant", "a").await.unwrap();
        assert!(ledger.sealed().is_empty() && !ledger.outlives_the_process());
    }
}
