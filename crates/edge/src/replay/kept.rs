//! Streams that have ended and are kept for clients that come back: the oldest are forgotten first.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::Stream;

/// How many bytes all of them may have together.
const BYTES: usize = 16 * 1024 * 1024;

/// What each counts for besides its events.
const OVERHEAD: usize = 512;

/// All streams that have ended and are kept.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    streams: VecDeque<(Weak<Stream>, usize)>,
    bytes: usize,
}

impl Kept {
    /// Keeps a stream of so many bytes until others need its place.
    pub(crate) fn keep(&self, stream: &Arc<Stream>, bytes: usize) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = bytes + OVERHEAD;
        queue.bytes += bytes;
        queue.streams.push_back((Arc::downgrade(stream), bytes));
        while queue.bytes > BYTES {
            let Some((oldest, bytes)) = queue.streams.pop_front() else {
                return;
            };
            queue.bytes = queue.bytes.saturating_sub(bytes);
            if let Some(oldest) = oldest.upgrade() {
                oldest.forget();
            }
        }
    }
}
