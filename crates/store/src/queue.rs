//! What waits for the ledger's writer: taken in groups, and the writer is woken only for what cannot wait.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::Error;

/// Whether somebody waits until a job is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Haste {
    /// Somebody waits.
    Now,
    /// Nobody waits: the job may gather company first.
    Soon,
}

/// Jobs for one writer.
#[derive(Debug)]
pub(crate) struct Queue<J> {
    state: Mutex<State<J>>,
    changed: Condvar,
    limits: Limits,
}

/// How a queue groups its jobs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// How long jobs may wait for company.
    pub(crate) gather: Duration,
    /// How many jobs a group takes at most.
    pub(crate) group: usize,
    /// How many jobs may be behind before no more is taken.
    pub(crate) backlog: usize,
}

#[derive(Debug)]
struct State<J> {
    jobs: Vec<J>,
    /// How many jobs the writer has taken and not finished.
    taken: usize,
    haste: Haste,
    writer: Writer,
    is_open: bool,
}

/// What the writer does. Waking it costs a system call, so that it is left alone where it need not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writer {
    Works,
    /// It waits for a first job.
    Sleeps,
    /// It waits for company of the jobs that are there.
    Gathers,
}

impl<J> Queue<J> {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            state: Mutex::new(State {
                jobs: Vec::new(),
                taken: 0,
                haste: Haste::Soon,
                writer: Writer::Works,
                is_open: true,
            }),
            changed: Condvar::new(),
            limits,
        }
    }

    /// Hands a job to the writer.
    ///
    /// # Errors
    /// [`Error::Behind`], [`Error::Closed`]
    pub(crate) fn push(&self, job: J, haste: Haste) -> Result<(), Error> {
        let mut state = self.lock();
        if !state.is_open {
            return Err(Error::Closed);
        }
        let behind = state.jobs.len() + state.taken;
        if behind >= self.limits.backlog {
            return Err(Error::Behind(behind));
        }
        state.jobs.push(job);
        if haste == Haste::Now {
            state.haste = Haste::Now;
        }
        let wakes = match state.writer {
            Writer::Works => false,
            Writer::Sleeps => true,
            Writer::Gathers => haste == Haste::Now || state.jobs.len() >= self.limits.group,
        };
        if wakes {
            state.writer = Writer::Works;
            drop(state);
            self.changed.notify_one();
        }
        Ok(())
    }

    /// Waits for the next group; `None` when the queue is closed and empty. The group before is finished.
    pub(crate) fn take(&self) -> Option<Vec<J>> {
        let mut state = self.lock();
        state.taken = 0;
        while state.jobs.is_empty() {
            if !state.is_open {
                return None;
            }
            state = self.wait(state, Writer::Sleeps, None);
        }
        let due = Instant::now() + self.limits.gather;
        while state.haste == Haste::Soon && state.is_open && state.jobs.len() < self.limits.group {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.wait(state, Writer::Gathers, Some(left));
        }
        let many = state.jobs.len().min(self.limits.group);
        let rest = state.jobs.split_off(many);
        let group = std::mem::replace(&mut state.jobs, rest);
        if state.jobs.is_empty() {
            state.haste = Haste::Soon;
        }
        state.taken = group.len();
        Some(group)
    }

    /// Takes no further job; what is there is still given to the writer.
    pub(crate) fn close(&self) {
        self.lock().is_open = false;
        self.changed.notify_one();
    }

    /// Takes no further job and gives up those that are there.
    pub(crate) fn abandon(&self) {
        let mut state = self.lock();
        state.is_open = false;
        state.jobs.clear();
    }

    fn wait<'q>(
        &self,
        mut state: MutexGuard<'q, State<J>>,
        writer: Writer,
        limit: Option<Duration>,
    ) -> MutexGuard<'q, State<J>> {
        state.writer = writer;
        let mut state = match limit {
            None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(limit) => {
                let waited = self.changed.wait_timeout(state, limit);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        state.writer = Writer::Works;
        state
    }

    fn lock(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
