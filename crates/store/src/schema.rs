//! The tables of the SQLite ledger, and the runs that write to it.

use std::fs::File;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior, params};

use crate::Error;
use crate::executions::rows as executions;

/// What makes each schema of the one before it; `PRAGMA user_version` counts those that were made. A step that was
/// ever shipped stays as it is.
const STEPS: &[&str] = &[TRAIL, BINDINGS, SEALED, executions::TABLES];

const TRAIL: &str = "
CREATE TABLE trail (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    run TEXT NOT NULL,
    call INTEGER,
    at INTEGER NOT NULL,
    principal TEXT NOT NULL,
    kind TEXT NOT NULL,
    origin TEXT NOT NULL,
    method TEXT NOT NULL,
    server TEXT NOT NULL,
    subject TEXT NOT NULL,
    effect TEXT NOT NULL,
    args_sha256 TEXT,
    reason TEXT NOT NULL,
    fate TEXT,
    duration_ms INTEGER,
    UNIQUE (run, call)
);
CREATE INDEX trail_running ON trail (run) WHERE fate IS NULL AND call IS NOT NULL;
CREATE TABLE probe (id INTEGER PRIMARY KEY CHECK (id = 1), at INTEGER NOT NULL);
";

const BINDINGS: &str = "
CREATE TABLE binding (
    session TEXT PRIMARY KEY,
    subject TEXT NOT NULL,
    toolset TEXT,
    roles TEXT NOT NULL,
    plan TEXT,
    expires_at INTEGER NOT NULL,
    seen INTEGER NOT NULL
) WITHOUT ROWID;
";

const SEALED: &str = "
CREATE TABLE sealed (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (kind, key)
) WITHOUT ROWID;
";

/// One process's writing to the ledger. While it lives it holds a lock on a file of its own, so that
/// another process can tell a run that goes on from one that died.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) id: String,
    lock: PathBuf,
    _held: File,
}

impl Drop for Run {
    fn drop(&mut self) {
        // A lock file that stays behind is found unlocked and removed by the next start.
        drop(std::fs::remove_file(&self.lock));
    }
}

/// Opens the file, brings it to the current schema and settles what dead runs left behind.
pub(crate) fn open(path: &Path) -> Result<(Connection, Run), Error> {
    let failed = |source| Error::Open {
        path: path.display().to_string(),
        source,
    };
    let mut connection = Connection::open(path).map_err(failed)?;
    connection
        .busy_timeout(std::time::Duration::from_secs(5))
        .map_err(failed)?;
    connection.pragma_update(None, "journal_mode", "WAL").map_err(failed)?;
    connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
    migrate(&mut connection, path)?;
    let run = start_run(path)?;
    settle_dead_runs(&connection, path).map_err(failed)?;
    Ok((connection, run))
}

/// Makes what is missing, step by step.
fn migrate(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    let failed = |source| Error::Open {
        path: path.display().to_string(),
        source,
    };
    // Within the transaction, so that of two processes which start at once only one makes the tables.
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(failed)?;
    let found: i64 = transaction
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .map_err(failed)?;
    let known = i64::try_from(STEPS.len()).unwrap_or(i64::MAX);
    let missing = usize::try_from(found).ok().and_then(|found| STEPS.get(found..));
    let Some(missing) = missing else {
        return Err(Error::Newer {
            path: path.display().to_string(),
            found,
            known,
        });
    };
    for step in missing {
        transaction.execute_batch(step).map_err(failed)?;
    }
    if !missing.is_empty() {
        transaction.pragma_update(None, "user_version", known).map_err(failed)?;
    }
    transaction.commit().map_err(failed)
}

fn start_run(path: &Path) -> Result<Run, Error> {
    let mut random = [0_u8; 8];
    let failed = |path: &Path, source| Error::Lock {
        path: path.display().to_string(),
        source,
    };
    getrandom::fill(&mut random).map_err(|error| failed(path, std::io::Error::other(error.to_string())))?;
    let id: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let lock = lock_path(path, &id);
    let held = File::create(&lock).map_err(|source| failed(&lock, source))?;
    held.try_lock()
        .map_err(|error| failed(&lock, std::io::Error::other(error.to_string())))?;
    Ok(Run { id, lock, _held: held })
}

fn settle_dead_runs(connection: &Connection, path: &Path) -> rusqlite::Result<()> {
    let mut statement = connection.prepare("SELECT DISTINCT run FROM trail WHERE fate IS NULL AND call IS NOT NULL")?;
    let runs: Vec<String> = statement
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for run in runs.iter().filter(|run| is_dead(path, run)) {
        connection.execute(
            "UPDATE trail SET fate = 'outcome_unknown' WHERE run = ?1 AND fate IS NULL AND call IS NOT NULL",
            params![run],
        )?;
    }
    for run in executions::running(connection)?.iter().filter(|run| is_dead(path, run)) {
        executions::interrupt(connection, run)?;
    }
    Ok(())
}

fn is_dead(path: &Path, run: &str) -> bool {
    let lock = lock_path(path, run);
    let Ok(file) = File::open(&lock) else { return true };
    let dead = file.try_lock().is_ok();
    if dead {
        drop(std::fs::remove_file(&lock));
    }
    dead
}

fn lock_path(path: &Path, run: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".run-{run}"));
    PathBuf::from(name)
}
