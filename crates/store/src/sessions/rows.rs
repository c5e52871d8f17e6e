//! Bindings as rows of the SQLite ledger.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use countersign_core::time::Millis;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use super::{Binding, Reading, Sessions, wall_now};
use crate::Error;

/// One binding as it is stored, with the time until which it is known to have lived.
#[derive(Debug)]
pub(crate) struct Row {
    session: Arc<str>,
    subject: Arc<str>,
    toolset: Option<String>,
    roles: String,
    plan: Option<String>,
    expires_at: Millis,
    seen: Millis,
}

impl Row {
    pub(crate) fn of(binding: &Binding, seen: Millis) -> Self {
        Self {
            session: Arc::clone(&binding.session),
            subject: Arc::clone(&binding.subject),
            toolset: binding.toolset.as_deref().map(lines),
            roles: lines(&binding.roles),
            plan: binding.plan.clone(),
            expires_at: binding.expires_at,
            seen,
        }
    }

    pub(crate) fn insert(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection
            .prepare_cached(
                "INSERT OR REPLACE INTO binding (session, subject, toolset, roles, plan, expires_at, seen)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![
                &*self.session,
                &*self.subject,
                self.toolset,
                self.roles,
                self.plan,
                self.expires_at.0,
                self.seen.0
            ])
            .map(drop)
    }
}

impl Sessions {
    /// Reads what is stored. Whatever has ended is deleted.
    pub(crate) fn load(connection: &Connection) -> rusqlite::Result<Self> {
        // The trail tells of a later time than the bindings themselves where nothing used them.
        let told: Option<i64> = connection
            .query_row("SELECT at FROM trail ORDER BY seq DESC LIMIT 1", [], |row| row.get(0))
            .optional()?;
        let now = Reading {
            wall: wall_now(),
            steady: Instant::now(),
        };
        let mut statement =
            connection.prepare("SELECT session, subject, toolset, roles, plan, expires_at, seen FROM binding")?;
        let rows = statement.query_map([], |row| {
            let seen: i64 = row.get(6)?;
            Ok((read(row)?, Millis(seen.max(told.unwrap_or(i64::MIN)))))
        })?;
        let rows: Vec<(Binding, Millis)> = rows.collect::<rusqlite::Result<_>>()?;
        let over = rows
            .iter()
            .filter(|(binding, seen)| binding.expires_at <= now.wall.max(*seen));
        for (binding, _) in over {
            delete(connection, &binding.session)?;
        }
        Ok(Self::of(rows, now))
    }
}

fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Binding> {
    let (session, subject): (String, String) = (row.get(0)?, row.get(1)?);
    let (toolset, roles): (Option<String>, String) = (row.get(2)?, row.get(3)?);
    Ok(Binding {
        session: session.into(),
        subject: subject.into(),
        toolset: toolset.as_deref().map(texts),
        roles: texts(&roles),
        plan: row.get(4)?,
        expires_at: Millis(row.get(5)?),
    })
}

/// The binding of a Session as a file has it, ended or not, for whoever only wants to know: nothing is written, and
/// a gateway that has the file open is not disturbed.
///
/// # Errors
/// [`Error::Open`] when the file is not there or cannot be read.
pub fn stored_binding(path: &Path, session: &str) -> Result<Option<Binding>, Error> {
    let sql = "SELECT session, subject, toolset, roles, plan, expires_at, seen FROM binding WHERE session = ?1";
    let found = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .and_then(|connection| connection.query_row(sql, params![session], read).optional());
    found.map_err(|source| Error::Open {
        path: path.display().to_string(),
        source,
    })
}

/// Deletes the binding of a Session.
pub(crate) fn delete(connection: &Connection, session: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM binding WHERE session = ?1")?
        .execute(params![session])
        .map(drop)
}

/// All bindings have lived until then.
pub(crate) fn saw(connection: &Connection, at: Millis) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE binding SET seen = max(seen, ?1)")?
        .execute(params![at.0])
        .map(drop)
}

/// Selectors and roles hold no line ends, so that a line is one of them.
fn lines(texts: &[String]) -> String {
    texts.join("\n")
}

fn texts(lines: &str) -> Vec<String> {
    lines.lines().map(str::to_owned).collect()
}
