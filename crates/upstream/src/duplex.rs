//! The outgoing side of a connection that has one stream each way.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use countersign_wire::rpc;
use tokio::sync::mpsc;

use crate::connection::Connection;
use crate::inbound::{self, Heard};

/// How many messages wait for a peer that does not read.
const CAPACITY: usize = 256;
/// How many lines that are no messages one connection may bring.
const GARBAGE: u32 = 1000;
/// How much of such a line is logged, in characters.
const SHOWN: usize = 200;

/// Messages on their way out.
#[derive(Debug)]
pub(crate) struct Outbox {
    sender: mpsc::Sender<String>,
}

impl Outbox {
    /// An outbox and what empties it.
    pub(crate) fn new() -> (Self, mpsc::Receiver<String>) {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        (Self { sender }, receiver)
    }

    /// Hands a message over, waiting for room.
    ///
    /// # Errors
    /// When the connection has ended: the message never left.
    pub(crate) async fn send(&self, message: String) -> Result<(), String> {
        self.sender
            .send(message)
            .await
            .map_err(|_closed| "the connection has ended".to_owned())
    }

    /// Hands a message over if there is room.
    ///
    /// # Errors
    /// The message, when there is none.
    pub(crate) fn try_send(&self, message: String) -> Result<(), String> {
        self.sender.try_send(message).map_err(|error| match error {
            mpsc::error::TrySendError::Full(message) | mpsc::error::TrySendError::Closed(message) => message,
        })
    }
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
        let reason = || format!("its answer is no JSON-RPC message: {what}");
        if lost.is_some_and(|id| self.connection.pending.deliver(id, Err(reason()))) {
            tracing::warn!(server = %self.connection.server, what, "an answer could not be read");
            return Ok(());
        }
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

    /// A message was larger than the limit. Whose answer it was cannot be read without reading it,
    /// so with one request under way that one is lost, and with more the connection ends.
    ///
    /// # Errors
    /// When nobody can say whose answer it was.
    pub(crate) fn too_large(&mut self, limit: usize) -> Result<(), String> {
        let reason = format!("a message of it is larger than {limit} bytes (limits.response_bytes)");
        let only = self.connection.pending.only_id();
        if only.is_some_and(|id| self.connection.pending.deliver(id, Err(reason.clone()))) {
            return Ok(());
        }
        Err(reason)
    }
}

/// A broken request of the server has an id of its own, which says nothing of ours.
fn looks_like_an_answer(text: &str) -> bool {
    (text.contains(r#""result""#) || text.contains(r#""error""#)) && !text.contains(r#""method""#)
}
