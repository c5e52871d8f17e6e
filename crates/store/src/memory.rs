//! A ledger in memory, for tests and for gateways that keep no trail.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use countersign_core::outcome::Fate;

use crate::entry::Entry;

/// How many entries are kept.
const KEPT: usize = 10_000;

#[derive(Debug, Clone)]
pub(crate) struct Memory {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    last: i64,
    entries: VecDeque<Entry>,
}

impl Memory {
    pub(crate) fn new() -> Self {
        Self { state: Arc::default() }
    }

    pub(crate) fn intent(&self, entry: Entry) -> i64 {
        self.push(entry)
    }

    pub(crate) fn note(&self, entry: Entry) {
        self.push(entry);
    }

    pub(crate) fn end(&self, id: i64, fate: Fate, duration_ms: Option<i64>) {
        let mut state = self.lock();
        // Entries are numbered without gaps, so the place follows from the number; one that has been
        // pushed out of the window is gone.
        let first = state.entries.front().map_or(0, |entry| entry.seq);
        let place = id.checked_sub(first).and_then(|place| usize::try_from(place).ok());
        if let Some(entry) = place.and_then(|place| state.entries.get_mut(place)) {
            entry.fate = Some(fate.word().to_owned());
            entry.duration_ms = duration_ms;
        }
    }

    pub(crate) fn recent(&self, limit: usize) -> Vec<Entry> {
        self.lock().entries.iter().rev().take(limit).cloned().collect()
    }

    fn push(&self, mut entry: Entry) -> i64 {
        let mut state = self.lock();
        state.last += 1;
        entry.seq = state.last;
        if state.entries.len() == KEPT {
            state.entries.pop_front();
        }
        state.entries.push_back(entry);
        state.last
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
