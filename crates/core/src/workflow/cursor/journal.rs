//! The account of a run: a line per step, written when it begins and when it ends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{CallEnd, CallKey, Line, Status};
use crate::time::Millis;

/// The account of a run.
#[derive(Debug, Default)]
pub(super) struct Journal {
    lines: Vec<Line>,
    open: BTreeMap<CallKey, usize>,
    changed: BTreeSet<usize>,
    keys: usize,
}

impl Journal {
    pub(super) fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Whether a call is under way.
    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// The step whose call is under way for the longest time.
    pub(super) fn first_open(&self) -> Option<Arc<str>> {
        let place = self.open.values().min()?;
        self.lines.get(*place).map(|line| Arc::clone(&line.path))
    }

    /// Writes down a call that begins.
    pub(super) fn begin(&mut self, path: &Arc<str>, tool: &Arc<str>, now: Millis) -> CallKey {
        let key = CallKey(self.keys);
        self.keys += 1;
        self.open.insert(key, self.lines.len());
        self.add(Line {
            path: Arc::clone(path),
            tool: Some(Arc::clone(tool)),
            status: Status::Running,
            began: now,
            duration_ms: 0,
            error: None,
        });
        key
    }

    /// Writes down a step that is over as soon as it begins.
    pub(super) fn note(
        &mut self,
        (path, tool): (&Arc<str>, Option<Arc<str>>),
        status: Status,
        error: Option<String>,
        now: Millis,
    ) {
        self.add(Line {
            path: Arc::clone(path),
            tool,
            status,
            began: now,
            duration_ms: 0,
            error,
        });
    }

    /// Writes down how a call ended; false when it was not under way.
    pub(super) fn close(&mut self, key: CallKey, end: &CallEnd, now: Millis) -> bool {
        let Some(place) = self.open.remove(&key) else {
            return false;
        };
        if let Some(line) = self.lines.get_mut(place) {
            line.duration_ms = now.0.saturating_sub(line.began.0).max(0);
            (line.status, line.error) = match end {
                CallEnd::Answered { success: true, .. } => (Status::Completed, None),
                CallEnd::Answered { error, .. } => (Status::Failed, error.clone()),
                CallEnd::Failed { error } => (Status::Failed, Some(error.clone())),
                CallEnd::Unknown { error } => (Status::Unknown, Some(error.clone())),
                CallEnd::Cancelled => (Status::Cancelled, None),
            };
            self.changed.insert(place);
        }
        true
    }

    pub(super) fn take_changed(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.changed).into_iter().collect()
    }

    fn add(&mut self, line: Line) {
        self.changed.insert(self.lines.len());
        self.lines.push(line);
    }
}
