//! Event streams of calls that a client may lose and take up again by `Last-Event-ID`.
//!
//! A stream is found only among those of its own session, which is found only by its principal. The ids of its events
//! are of no use anywhere else.

mod kept;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use countersign_wire::sse;
use tokio::sync::Notify;

pub(crate) use kept::Kept;

/// How many events wait for a client that reads slowly or is away.
const WAITING: usize = 64;

/// How long they may be together, in bytes.
const WAITING_BYTES: usize = 1024 * 1024;

/// How many bytes of events that were handed over are kept: a client may have lost them on the way.
const HANDED_OVER_BYTES: usize = 1024 * 1024;

/// How large a stream may be to be kept after its end.
const ENDED_BYTES: usize = 1024 * 1024;

/// How long a client is told to wait before it takes up a stream again, in milliseconds.
const RETRY: u64 = 1000;

/// The events of one call.
#[derive(Debug)]
pub(crate) struct Stream {
    /// Begins the ids of its events; empty where nobody can take it up again.
    id: String,
    state: Mutex<State>,
    left: Notify,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<Event>,
    bytes: usize,
    next: u64,
    /// The first event that was not handed over.
    unread: u64,
    /// Who reads now; one that came before reads no more.
    reader: u64,
    is_read: bool,
    is_over: bool,
    waker: Option<Waker>,
}

#[derive(Debug)]
struct Event {
    number: u64,
    bytes: Bytes,
}

/// Whether the stream begins with an event without a message, by which it can be taken up again (2025-11-25).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Priming {
    /// It does.
    Yes,
    /// It does not: older clients read a message in every event.
    No,
}

impl Stream {
    /// A stream that nobody can take up again.
    pub(crate) fn once() -> Arc<Self> {
        Self::new(String::new())
    }

    /// A stream that can be taken up again; `id` is like no other stream's.
    pub(crate) fn named(id: String, priming: Priming) -> Arc<Self> {
        let stream = Self::new(id);
        if priming == Priming::Yes {
            let event = sse::encode_priming(&stream.event_id(0), Some(RETRY));
            stream.state().push(Bytes::from(event));
        } else {
            stream.state().next = 1;
        }
        stream
    }

    fn new(id: String) -> Arc<Self> {
        Arc::new(Self {
            id,
            state: Mutex::default(),
            left: Notify::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn event_id(&self, number: u64) -> String {
        format!("{}-{number}", self.id)
    }

    /// The number of the event with this id, if it is one of this stream that can still be taken up.
    pub(crate) fn position(&self, event_id: &str) -> Option<u64> {
        let (id, number) = event_id.rsplit_once('-')?;
        if self.id.is_empty() || id != self.id {
            return None;
        }
        let number: u64 = number.parse().ok()?;
        let state = self.state();
        let is_forgotten = state.is_over && state.events.is_empty();
        (number < state.next && !is_forgotten).then_some(number)
    }

    /// Whether there is room for a message that is no answer.
    pub(crate) fn has_room(&self) -> bool {
        let state = self.state();
        let waiting = state.events.iter().filter(|event| event.number >= state.unread);
        let (count, bytes) = waiting.fold((0, 0), |(count, bytes), event| (count + 1, bytes + event.bytes.len()));
        !state.is_over && count < WAITING && bytes < WAITING_BYTES
    }

    /// Whether somebody reads.
    pub(crate) fn is_read(&self) -> bool {
        self.state().is_read
    }

    /// Waits until the one who reads has gone.
    pub(crate) async fn left(&self) {
        loop {
            let left = self.left.notified();
            if !self.is_read() {
                return;
            }
            left.await;
        }
    }

    /// Adds a message.
    pub(crate) fn say(&self, message: &str) {
        let mut state = self.state();
        let id = (!self.id.is_empty()).then(|| self.event_id(state.next));
        state.push(Bytes::from(sse::encode(id.as_deref(), message)));
        state.forget_handed_over(HANDED_OVER_BYTES);
    }

    /// Nothing more comes. Gives how many bytes are to be kept for a client that may come back; none where that is
    /// too much, or nobody can.
    pub(crate) fn end(&self) -> Option<usize> {
        let mut state = self.state();
        state.is_over = true;
        state.wake();
        if self.id.is_empty() || (state.bytes > ENDED_BYTES && !state.is_read) {
            if !state.is_read {
                state.forget();
            }
            return None;
        }
        Some(state.bytes.min(ENDED_BYTES))
    }

    /// Keeps nothing any more.
    pub(crate) fn forget(&self) {
        self.state().forget();
    }

    /// Reads on after an event, or from the start. Who read until now reads no more.
    pub(crate) fn read(self: &Arc<Self>, after: Option<u64>) -> Cursor {
        let mut state = self.state();
        state.reader += 1;
        state.is_read = true;
        state.wake();
        Cursor {
            reader: state.reader,
            next: after.map_or(0, |number| number + 1),
            stream: Arc::clone(self),
        }
    }
}

impl State {
    fn push(&mut self, bytes: Bytes) {
        self.bytes += bytes.len();
        let number = self.next;
        self.events.push_back(Event { number, bytes });
        self.next += 1;
        self.wake();
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Keeps at most so many bytes of what was handed over.
    fn forget_handed_over(&mut self, most: usize) {
        let handed_over = |event: &&Event| event.number < self.unread;
        let mut bytes: usize = self
            .events
            .iter()
            .take_while(handed_over)
            .map(|event| event.bytes.len())
            .sum();
        while bytes > most {
            let Some(event) = self.events.pop_front() else { return };
            bytes = bytes.saturating_sub(event.bytes.len());
            self.bytes = self.bytes.saturating_sub(event.bytes.len());
        }
    }

    fn forget(&mut self) {
        self.events = VecDeque::new();
        self.bytes = 0;
        self.is_over = true;
        self.wake();
    }
}

/// A place in a stream, and the right to read on from it.
#[derive(Debug)]
pub(crate) struct Cursor {
    stream: Arc<Stream>,
    reader: u64,
    next: u64,
}

impl Cursor {
    /// The next event as bytes; `None` at the end, or when somebody else reads.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut state = self.stream.state();
        if state.reader != self.reader {
            return Poll::Ready(None);
        }
        if let Some(event) = state.events.iter().find(|event| event.number >= self.next) {
            let bytes = event.bytes.clone();
            self.next = event.number + 1;
            state.unread = state.unread.max(self.next);
            if bytes.len() > HANDED_OVER_BYTES {
                state.forget_handed_over(HANDED_OVER_BYTES);
            }
            return Poll::Ready(Some(bytes));
        }
        if state.is_over {
            return Poll::Ready(None);
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        let mut state = self.stream.state();
        if state.reader != self.reader {
            return;
        }
        state.is_read = false;
        state.waker = None;
        if state.is_over && (self.stream.id.is_empty() || state.bytes > ENDED_BYTES) {
            state.forget();
        }
        drop(state);
        self.stream.left.notify_waiters();
    }
}
