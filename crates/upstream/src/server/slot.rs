//! What one principal has of a server: a connection, the wait after its end, and what it wishes to be told of.

use std::sync::Arc;
use std::time::{Duration, Instant};

use countersign_core::server::Transport;

use super::Connecting;
use crate::backoff::Backoff;
use crate::connection::{Connection, Link};
use crate::watch::Wished;

/// One principal's part of a server.
#[derive(Default)]
pub(super) struct Slot {
    /// The connection.
    pub(super) place: Place,
    /// When the next one may be made.
    pub(super) backoff: Backoff,
    /// When the handshake of the last connection was done.
    pub(super) since: Option<Instant>,
    /// The server is listed over it.
    pub(super) lists: bool,
    /// The resources that the principal wishes to be told of.
    pub(super) wished: Arc<Wished>,
}

/// Where a connection stands.
#[derive(Default)]
pub(super) enum Place {
    /// There is none.
    #[default]
    Empty,
    /// It is being made.
    Connecting(Connecting),
    /// It was made; it may have ended since.
    Up(Arc<Connection>),
}

impl Slot {
    /// Takes the connection out. One that is still being made stays: whoever waits for it is not let down.
    pub(super) fn taken(&mut self) -> Option<Arc<Connection>> {
        match std::mem::take(&mut self.place) {
            Place::Up(connection) => Some(connection),
            other @ (Place::Empty | Place::Connecting(_)) => {
                self.place = other;
                None
            }
        }
    }

    /// Takes away a connection that has ended and notes the pause after it; returns why it ended.
    pub(super) fn gone(&mut self, transport: &Transport) -> Option<String> {
        let Place::Up(connection) = std::mem::take(&mut self.place) else {
            return None;
        };
        let (at, reason) = connection
            .ended()
            .cloned()
            .unwrap_or_else(|| (Instant::now(), String::new()));
        let up = self
            .since
            .map_or(Duration::ZERO, |since| at.saturating_duration_since(since));
        match (&connection.link, transport) {
            (Link::Duplex(_), Transport::Stdio { .. }) => self.backoff.ended(at, up),
            (Link::Duplex(_), Transport::Http { .. } | Transport::Sse { .. }) => self.backoff.paused(at, up),
            // Each request has a connection of its own, and a session that was lost is opened anew at once.
            (Link::Http(_), _) => {}
        }
        Some(reason)
    }
}
