//! Both sides of a connection that has one stream each way.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use countersign_wire::cut::{Cut, Whose};
use countersign_wire::rpc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::connection::Connection;
use crate::exchange::Failure;
use crate::inbound::{self, Heard};

/// How many messages wait for a peer that does not read.
const CAPACITY: usize = 256;
/// How much waits for it, in bytes; a message that is larger waits alone.
const ROOM: usize = 16 * 1024 * 1024;
/// How many lines that are no messages one connection may bring.
const GARBAGE: u32 = 1000;
/// How much of such a line is logged, in characters.
const SHOWN: usize = 200;

/// A message on its way out.
#[derive(Debug)]
pub(crate) struct Letter {
    /// The message.
    pub(crate) text: String,
    /// The id of the request that it is.
    pub(crate) request: Option<i64>,
    /// Held until it is written, so that a peer that does not read takes no memory.
    _room: OwnedSemaphorePermit,
}

/// Messages on their way out.
#[derive(Debug)]
pub(crate) struct Outbox {
    sender: mpsc::Sender<Letter>,
    room: Arc<Semaphore>,
}

impl Outbox {
    /// An outbox and what empties it.
    pub(crate) fn new() -> (Self, mpsc::Receiver<Letter>) {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        let room = Arc::new(Semaphore::new(ROOM));
        (Self { sender, room }, receiver)
    }

    /// Hands a message over, waiting for room. `request` is its id when it is a request.
    ///
    /// # Errors
    /// When the connection has ended: the message never left.
    pub(crate) async fn send(&self, text: String, request: Option<i64>) -> Result<(), String> {
        let ended = || "the connection has ended".to_owned();
        let room = tokio::select! {
            room = Arc::clone(&self.room).acquire_many_owned(share(&text)) => room.map_err(|_closed| ended())?,
            () = self.sender.closed() => return Err(ended()),
        };
        let letter = Letter {
            text,
            request,
            _room: room,
        };
        self.sender.send(letter).await.map_err(|_closed| ended())
    }

    /// Hands a message that is no request over if there is room.
    ///
    /// # Errors
    /// The message, when there is none.
    pub(crate) fn try_send(&self, text: String) -> Result<(), String> {
        let Ok(room) = Arc::clone(&self.room).try_acquire_many_owned(share(&text)) else {
            return Err(text);
        };
        let letter = Letter {
            text,
            request: None,
            _room: room,
        };
        self.sender.try_send(letter).map_err(|error| match error {
            mpsc::error::TrySendError::Full(letter) | mpsc::error::TrySendError::Closed(letter) => letter.text,
        })
    }
}

/// A message's part of the room.
fn share(text: &str) -> u32 {
    u32::try_from(text.len().min(ROOM)).unwrap_or(u32::MAX)
}

/// The incoming side: hands each message to whom it belongs.
#[derive(Debug)]
pub(crate) struct Inbox {
    connection: Arc<Connection>,
    garbage: u32,
}

impl Inbox {
    /// The incoming side of a connection.
    pub(crate) fn new(connection: Arc<Connection>) -> Self {
        Self { connection, garbage: 0 }
    }

    /// Takes one message.
    ///
    /// # Errors
    /// Why the connection is of no use any more.
    pub(crate) fn take(&mut self, text: &str) -> Result<(), String> {
        if text.trim_start_matches('\u{feff}').trim().is_empty() {
            return Ok(());
        }
        if text.trim_start_matches('\u{feff}').trim_start().starts_with('[') {
            return self.take_batch(text);
        }
        match inbound::receive(&self.connection, text, None) {
            Heard::Answer(id, delivered) => {
                if !self.connection.pending.deliver(id, Ok(delivered)) {
                    tracing::debug!(server = %self.connection.server, id, "an answer came that nobody waits for");
                }
                Ok(())
            }
            Heard::Said => Ok(()),
            Heard::Garbage(what) => self.skip(text, &what),
        }
    }

    /// 2025-03-26 lets a server answer in batches.
    fn take_batch(&mut self, text: &str) -> Result<(), String> {
        let trimmed = text.trim_start_matches('\u{feff}');
        match serde_json::from_str::<Vec<&serde_json::value::RawValue>>(trimmed) {
            Ok(messages) if rpc::has_batches(self.connection.version()) => {
                messages.into_iter().try_for_each(|message| self.take(message.get()))
            }
            Ok(_) | Err(_) => self.skip(text, "not a JSON-RPC message"),
        }
    }

    /// Logs and skips what is no message. Where it would have been the answer to a request under way, that
    /// one is lost now: nothing else would end it before its time is up.
    ///
    /// # Errors
    /// When there was too much of it.
    pub(crate) fn skip(&mut self, text: &str, what: &str) -> Result<(), String> {
        let shown = self.shown(text);
        let lost = looks_like_an_answer(text)
            .then(|| rpc::id_of_unreadable(text))
            .flatten();
        let lost = lost.and_then(|id| id.trim_matches('"').parse().ok());
        let reason = || Failure::Lost(format!("its answer is no JSON-RPC message: {what}"));
        if lost.is_some_and(|id| self.connection.pending.deliver(id, Err(reason()))) {
            tracing::warn!(server = %self.connection.server, what, "an answer could not be read");
            return Ok(());
        }
        self.count_garbage(&shown, what)
    }

    fn count_garbage(&mut self, shown: &str, what: &str) -> Result<(), String> {
        self.garbage = self.garbage.saturating_add(1);
        tracing::debug!(server = %self.connection.server, what, line = shown, "skipped what is no message");
        if self.garbage > GARBAGE {
            return Err(format!(
                "it wrote more than {GARBAGE} lines that are no JSON-RPC messages"
            ));
        }
        Ok(())
    }

    /// The head of what a server wrote, for the log: it may have been told secrets, and repeat them.
    fn shown(&self, text: &str) -> String {
        self.connection.log.masked(text).chars().take(SHOWN).collect()
    }

    /// A message was larger than the limit. Its ends mostly say whose answer it was. Where they do not, every
    /// request under way may be the one, so that all of them are lost; the connection goes on.
    ///
    /// # Errors
    /// When there was too much that is no message.
    pub(crate) fn too_large(&mut self, limit: usize, cut: &Cut) -> Result<(), String> {
        let answer = format!("its answer is larger than {limit} bytes (limits.response_bytes)");
        let pending = &self.connection.pending;
        let lost = |reason: &str| Err(Failure::Lost(reason.to_owned()));
        match cut.whose() {
            Whose::Answer(id) => {
                let id = id.trim_matches('"').parse().ok();
                if id.is_some_and(|id| pending.deliver(id, lost(&answer))) {
                    tracing::warn!(server = %self.connection.server, limit, "an answer was larger than limits.response_bytes");
                    return Ok(());
                }
            }
            Whose::Unknown => {
                if pending.only_id().is_some_and(|id| pending.deliver(id, lost(&answer))) {
                    return Ok(());
                }
                let reason = format!(
                    "a message of it is larger than {limit} bytes (limits.response_bytes) and does not say whose answer it is"
                );
                if pending.lose_all(&reason) {
                    tracing::warn!(server = %self.connection.server, limit, "an answer was larger than limits.response_bytes, and nobody can say whose");
                    return Ok(());
                }
            }
            Whose::Said | Whose::Garbage => {}
        }
        let what = format!("larger than {limit} bytes (limits.response_bytes)");
        self.count_garbage("", &what)
    }
}

/// A broken request of the server has an id of its own, which says nothing of ours.
fn looks_like_an_answer(text: &str) -> bool {
    (text.contains(r#""result""#) || text.contains(r#""error""#)) && !text.contains(r#""method""#)
}
