//! Runs of workflows: how each began, every step of it, and how it ended (spec 7).
//!
//! A step is written when it begins and when it ends, so that a run that was broken off can be told of honestly, and
//! taken up where it was. Kept for 21 days, and the latest 10,000.

use countersign_core::time::Millis;

use crate::{Backend, Error, Ledger};

pub(crate) mod memory;
pub(crate) mod rows;

/// How many runs are kept.
pub(crate) const KEPT: usize = 10_000;

/// How long a run is kept, in milliseconds.
pub(crate) const AGE: i64 = 21 * 24 * 60 * 60 * 1_000;

/// A run that begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionStart {
    /// Its id, from [`Ledger::new_execution`].
    pub id: String,
    /// Whose it is.
    pub principal: String,
    /// The workflow.
    pub workflow: String,
    /// The digest of the workflow's file, hex: a run is taken up by the same workflow only.
    pub digest: String,
    /// The input as it may be shown: without credentials.
    pub shown_input: String,
    /// The input as it is, until the run has ended.
    pub input: String,
    /// When it began.
    pub at: Millis,
}

/// How a step stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionStep {
    /// Its place in the account of the run, from 0.
    pub place: usize,
    /// The step, with the loops around it.
    pub path: String,
    /// The tool, of a step that calls one.
    pub tool: Option<String>,
    /// `running`, `completed`, `failed`, `skipped`, `outcome_unknown` or `cancelled`.
    pub status: String,
    /// When it began.
    pub began: Millis,
    /// How long it took, in milliseconds.
    pub duration_ms: i64,
    /// What is wrong.
    pub error: Option<String>,
    /// What it answered, until the run has ended.
    pub result: Option<String>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionEnd {
    /// `completed` or `failed`.
    pub status: &'static str,
    /// When.
    pub at: Millis,
    /// The output as it may be shown: without credentials.
    pub shown_output: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
}

/// A run as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    /// Its id.
    pub id: String,
    /// The workflow.
    pub workflow: String,
    /// `running`, `completed`, `failed`, or `interrupted` when the gateway ended while it ran.
    pub status: String,
    /// When it began.
    pub started: Millis,
    /// When it ended.
    pub ended: Option<Millis>,
    /// Why it failed.
    pub error: Option<String>,
    /// The input as it may be shown.
    pub input: String,
    /// The output as it may be shown.
    pub output: Option<String>,
    /// Its steps, in the order in which they began; empty in a list.
    pub steps: Vec<ExecutionStep>,
}

/// Which runs are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionQuery {
    /// Whose.
    pub principal: String,
    /// Of which workflow.
    pub workflow: Option<String>,
    /// That stand how.
    pub status: Option<String>,
    /// How many.
    pub limit: usize,
    /// How many are passed over.
    pub offset: usize,
}

/// One thing that is written of a run.
#[derive(Debug)]
pub(crate) enum Change {
    Start(ExecutionStart),
    Step(String, ExecutionStep),
    End(String, ExecutionEnd),
}

impl Ledger {
    /// An id for a run that nobody can guess.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn new_execution(&self) -> Result<String, Error> {
        let mut random = [0_u8; 16];
        getrandom::fill(&mut random).map_err(|_error| Error::Random)?;
        Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Writes that a run begins.
    ///
    /// # Errors
    /// When it cannot be queued: the run must not begin.
    pub fn start_execution(&self, start: ExecutionStart) -> Result<(), Error> {
        self.change(Change::Start(start))
    }

    /// Writes how a step of a run stands.
    ///
    /// # Errors
    /// When it cannot be queued.
    pub fn step_execution(&self, execution: &str, step: ExecutionStep) -> Result<(), Error> {
        self.change(Change::Step(execution.to_owned(), step))
    }

    /// Writes how a run ended. What was kept to take it up again is forgotten.
    ///
    /// # Errors
    /// When it cannot be queued.
    pub fn end_execution(&self, execution: &str, end: ExecutionEnd) -> Result<(), Error> {
        self.change(Change::End(execution.to_owned(), end))
    }

    fn change(&self, change: Change) -> Result<(), Error> {
        match &self.backend {
            Backend::Memory(memory) => memory.executions().take(change),
            Backend::Sqlite(sqlite) => sqlite.execution(change)?,
        }
        Ok(())
    }

    /// The runs that are asked for, the latest first, and how many there are altogether.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn executions(&self, query: ExecutionQuery) -> Result<(Vec<Execution>, usize), Error> {
        match &self.backend {
            Backend::Memory(memory) => Ok(memory.executions().list(&query)),
            Backend::Sqlite(sqlite) => sqlite.read(move |connection| rows::list(connection, &query)).await,
        }
    }

    /// One run with its steps; nothing for another principal's.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn execution(&self, principal: &str, id: &str) -> Result<Option<Execution>, Error> {
        match &self.backend {
            Backend::Memory(memory) => Ok(memory.executions().find(principal, id)),
            Backend::Sqlite(sqlite) => {
                let (principal, id) = (principal.to_owned(), id.to_owned());
                sqlite
                    .read(move |connection| rows::find(connection, &principal, &id))
                    .await
            }
        }
    }
}

#[cfg(test)]
mod tests;
