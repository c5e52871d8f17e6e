//! A ledger in memory, for tests and for gateways that keep no trail.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use countersign_core::outcome::Fate;

use crate::entry::Entry;
use crate::executions::memory::Executions;
use crate::intent::Intent;

/// How many entries are kept.
const KEPT: usize = 10_000;

#[derive(Debug, Clone)]
pub(crate) struct Memory {
    state: Arc<Mutex<State>>,
    executions: Executions,
}

#[derive(Debug, Default)]
struct State {
    last: i64,
    lines: VecDeque<Line>,
}

/// One line of the trail. Nobody waits for its texts: they are written when somebody reads them.
#[derive(Debug)]
struct Line {
    seq: i64,
    what: What,
    fate: Option<Fate>,
    duration_ms: Option<i64>,
}

#[derive(Debug)]
enum What {
    Call(Intent),
    Note(Box<Entry>),
}

impl Line {
    fn entry(&self) -> Entry {
        let entry = match &self.what {
            What::Call(intent) => intent.entry(),
            What::Note(entry) => (**entry).clone(),
        };
        Entry {
            seq: self.seq,
            fate: self.fate.map(|fate| fate.word().to_owned()),
            duration_ms: self.duration_ms,
            ..entry
        }
    }
}

impl Memory {
    pub(crate) fn new() -> Self {
        Self {
            state: Arc::default(),
            executions: Executions::default(),
        }
    }

    /// The runs of workflows.
    pub(crate) fn executions(&self) -> &Executions {
        &self.executions
    }

    pub(crate) fn intent(&self, intent: Intent) -> i64 {
        self.push(What::Call(intent))
    }

    pub(crate) fn note(&self, entry: Entry) {
        self.push(What::Note(Box::new(entry)));
    }

    pub(crate) fn end(&self, id: i64, fate: Fate, duration_ms: Option<i64>) {
        let mut state = self.lock();
        // Lines are numbered without gaps, so the place follows from the number; one that has been
        // pushed out of the window is gone.
        let first = state.lines.front().map_or(0, |line| line.seq);
        let place = id.checked_sub(first).and_then(|place| usize::try_from(place).ok());
        if let Some(line) = place.and_then(|place| state.lines.get_mut(place)) {
            line.fate = Some(fate);
            line.duration_ms = duration_ms;
        }
    }

    pub(crate) fn recent(&self, limit: usize) -> Vec<Entry> {
        self.lock().lines.iter().rev().take(limit).map(Line::entry).collect()
    }

    fn push(&self, what: What) -> i64 {
        let mut state = self.lock();
        state.last += 1;
        let line = Line {
            seq: state.last,
            what,
            fate: None,
            duration_ms: None,
        };
        if state.lines.len() == KEPT {
            state.lines.pop_front();
        }
        state.lines.push_back(line);
        state.last
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
