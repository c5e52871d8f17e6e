//! The tables of the SQLite ledger, and the runs that write to it.

use std::fs::File;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};

use crate::Error;

/// The schema that this version writes, kept in `PRAGMA user_version`.
const VERSION: i64 = 1;

const TABLES: &str = "
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
    let connection = Connection::open(path).map_err(failed)?;
    connection
        .busy_timeout(std::time::Duration::from_secs(5))
        .map_err(failed)?;
    connection.pragma_update(None, "journal_mode", "WAL").map_err(failed)?;
    connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
    let found: i64 = connection
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .map_err(failed)?;
    if found > VERSION {
        return Err(Error::Newer {
            path: path.display().to_string(),
            found,
            known: VERSION,
        });
    }
    if found == 0 {
        connection
            .execute_batch(&format!(
                "BEGIN IMMEDIATE;{TABLES}PRAGMA user_version = {VERSION};COMMIT;"
            ))
            .map_err(failed)?;
    }
    let run = start_run(path)?;
    settle_dead_runs(&connection, path).map_err(failed)?;
    Ok((connection, run))
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
