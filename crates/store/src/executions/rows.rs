//! Runs as rows of the SQLite ledger.

use countersign_core::time::Millis;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::{AGE, Change, Execution, ExecutionEnd, ExecutionQuery, ExecutionStart, ExecutionStep, KEPT};

/// The tables of runs.
pub(crate) const TABLES: &str = "
CREATE TABLE execution (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    run TEXT NOT NULL,
    principal TEXT NOT NULL,
    workflow TEXT NOT NULL,
    digest TEXT NOT NULL,
    status TEXT NOT NULL,
    started INTEGER NOT NULL,
    ended INTEGER,
    error TEXT,
    shown_input TEXT NOT NULL,
    shown_output TEXT,
    input TEXT
);
CREATE INDEX execution_of ON execution (principal, seq);
CREATE INDEX execution_started ON execution (started);
CREATE INDEX execution_running ON execution (run) WHERE status = 'running';
CREATE TABLE execution_step (
    execution TEXT NOT NULL,
    place INTEGER NOT NULL,
    path TEXT NOT NULL,
    tool TEXT,
    status TEXT NOT NULL,
    began INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    error TEXT,
    result TEXT,
    PRIMARY KEY (execution, place)
) WITHOUT ROWID;
";

/// Writes one change, as part of a transaction.
pub(crate) fn write(connection: &Connection, run: &str, change: &Change) -> rusqlite::Result<()> {
    match change {
        Change::Start(start) => self::start(connection, run, start),
        Change::Step(execution, step) => self::step(connection, execution, step),
        Change::End(execution, end) => self::end(connection, execution, end),
    }
}

fn start(connection: &Connection, run: &str, start: &ExecutionStart) -> rusqlite::Result<()> {
    forget(connection, start.at)?;
    connection
        .prepare_cached(
            "INSERT INTO execution (id, run, principal, workflow, digest, status, started, shown_input, input)
             VALUES (?1, ?2, ?3, ?4, ?5, 'running', ?6, ?7, ?8)",
        )?
        .execute(params![
            start.id,
            run,
            start.principal,
            start.workflow,
            start.digest,
            start.at.0,
            start.shown_input,
            start.input
        ])
        .map(drop)
}

/// Runs that are too old, or too many, are no longer kept.
fn forget(connection: &Connection, now: Millis) -> rusqlite::Result<()> {
    let kept = i64::try_from(KEPT).unwrap_or(i64::MAX);
    let before = now.0.saturating_sub(AGE);
    // The run that comes is one of those that are kept.
    let which = "status <> 'running' AND (started < ?1 OR seq <= (SELECT max(seq) FROM execution) - ?2 + 1)";
    connection
        .prepare_cached(&format!(
            "DELETE FROM execution_step WHERE execution IN (SELECT id FROM execution WHERE {which})"
        ))?
        .execute(params![before, kept])?;
    connection
        .prepare_cached(&format!("DELETE FROM execution WHERE {which}"))?
        .execute(params![before, kept])
        .map(drop)
}

fn step(connection: &Connection, execution: &str, step: &ExecutionStep) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO execution_step (execution, place, path, tool, status, began, duration_ms, error, result)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
             ON CONFLICT (execution, place) DO UPDATE SET
                 status = ?5, duration_ms = ?7, error = ?8, result = ?9",
        )?
        .execute(params![
            execution,
            i64::try_from(step.place).unwrap_or(i64::MAX),
            step.path,
            step.tool,
            step.status,
            step.began.0,
            step.duration_ms,
            step.error,
            step.result
        ])
        .map(drop)
}

fn end(connection: &Connection, execution: &str, end: &ExecutionEnd) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE execution SET status = ?2, ended = ?3, shown_output = ?4, error = ?5, input = NULL WHERE id = ?1",
        )?
        .execute(params![execution, end.status, end.at.0, end.shown_output, end.error])?;
    connection
        .prepare_cached("UPDATE execution_step SET result = NULL WHERE execution = ?1 AND result IS NOT NULL")?
        .execute(params![execution])
        .map(drop)
}

/// Says of the runs of a process that died that they were interrupted, and that nobody knows what became of the steps
/// that were under way. Nothing of them is done again.
pub(crate) fn interrupt(connection: &Connection, run: &str) -> rusqlite::Result<()> {
    let of_run = "(SELECT id FROM execution WHERE run = ?1 AND status = 'running')";
    connection.execute(
        &format!(
            "UPDATE execution_step SET status = 'outcome_unknown',
                 error = 'the gateway ended while it was under way; it may have run, and it was not called again'
             WHERE status = 'running' AND execution IN {of_run}"
        ),
        params![run],
    )?;
    connection.execute(
        &format!("UPDATE execution_step SET result = NULL WHERE result IS NOT NULL AND execution IN {of_run}"),
        params![run],
    )?;
    connection
        .execute(
            "UPDATE execution SET status = 'interrupted', error = 'the gateway ended while it ran', input = NULL
             WHERE run = ?1 AND status = 'running'",
            params![run],
        )
        .map(drop)
}

/// The processes with runs that have not ended.
pub(crate) fn running(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("SELECT DISTINCT run FROM execution WHERE status = 'running'")?;
    let runs = statement.query_map([], |row| row.get(0))?;
    runs.collect()
}

const COLUMNS: &str = "id, workflow, status, started, ended, error, shown_input, shown_output";

/// The runs that are asked for, and how many there are altogether.
pub(crate) fn list(connection: &Connection, query: &ExecutionQuery) -> rusqlite::Result<(Vec<Execution>, usize)> {
    let which = "principal = ?1 AND (?2 IS NULL OR workflow = ?2) AND (?3 IS NULL OR status = ?3)";
    let total: i64 = connection
        .prepare_cached(&format!("SELECT count(*) FROM execution WHERE {which}"))?
        .query_row(params![query.principal, query.workflow, query.status], |row| row.get(0))?;
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM execution WHERE {which} ORDER BY seq DESC LIMIT ?4 OFFSET ?5"
    ))?;
    let bound = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let found = statement.query_map(
        params![
            query.principal,
            query.workflow,
            query.status,
            bound(query.limit),
            bound(query.offset)
        ],
        execution,
    )?;
    let found = found.collect::<rusqlite::Result<_>>()?;
    Ok((found, usize::try_from(total).unwrap_or_default()))
}

/// One run of a principal, with its steps.
pub(crate) fn find(connection: &Connection, principal: &str, id: &str) -> rusqlite::Result<Option<Execution>> {
    let found = connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM execution WHERE id = ?1 AND principal = ?2"
        ))?
        .query_row(params![id, principal], execution)
        .optional()?;
    let Some(mut found) = found else { return Ok(None) };
    let mut statement = connection.prepare_cached(
        "SELECT place, path, tool, status, began, duration_ms, error, result
         FROM execution_step WHERE execution = ?1 ORDER BY place",
    )?;
    let steps = statement.query_map(params![id], |row| {
        let place: i64 = row.get(0)?;
        Ok(ExecutionStep {
            place: usize::try_from(place).unwrap_or_default(),
            path: row.get(1)?,
            tool: row.get(2)?,
            status: row.get(3)?,
            began: Millis(row.get(4)?),
            duration_ms: row.get(5)?,
            error: row.get(6)?,
            result: row.get(7)?,
        })
    })?;
    found.steps = steps.collect::<rusqlite::Result<_>>()?;
    Ok(Some(found))
}

fn execution(row: &Row<'_>) -> rusqlite::Result<Execution> {
    let ended: Option<i64> = row.get(4)?;
    Ok(Execution {
        id: row.get(0)?,
        workflow: row.get(1)?,
        status: row.get(2)?,
        started: Millis(row.get(3)?),
        ended: ended.map(Millis),
        error: row.get(5)?,
        input: row.get(6)?,
        output: row.get(7)?,
        steps: Vec::new(),
    })
}
