//! Event streams: the answer to one request among other messages, resumed where it broke.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use countersign_wire::cut::Cut;
use countersign_wire::sse::{Decoder, Error, Event};
use http_body_util::BodyExt;

use super::{Body, Link, too_large};
use crate::connection::Connection;
use crate::exchange::{Failure, Outgoing};
use crate::inbound::{self, Heard};
use crate::pending::{Back, Delivered};

/// How often a stream is resumed without having brought anything new.
const RESUMES: u32 = 5;
/// How long to wait before a stream is resumed, where the server does not say.
const RETRY: Duration = Duration::from_secs(1);
/// A server cannot ask for a longer wait.
const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// Events out of one body.
#[derive(Debug)]
pub(crate) struct Stream {
    body: Body,
    decoder: Decoder,
    events: VecDeque<Event>,
    passed: VecDeque<Cut>,
    limit: usize,
}

/// What a stream brings.
#[derive(Debug)]
pub(crate) enum Piece {
    /// An event.
    Event(Event),
    /// The ends of an event over the limit.
    Cut(Cut),
}

/// Why a stream brings no further event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// It was closed or broke.
    Closed,
    /// It cannot be read on.
    Unreadable(String),
}

impl Stream {
    /// The events of a body.
    pub(crate) fn new(body: Body, limit: usize) -> Self {
        Self {
            body,
            decoder: Decoder::new(limit),
            events: VecDeque::new(),
            passed: VecDeque::new(),
            limit,
        }
    }

    /// The events of a body that carries the answers of many: one over the limit does not end it.
    pub(crate) fn passing_over(body: Body, limit: usize) -> Self {
        Self {
            decoder: Decoder::passing_over(limit),
            ..Self::new(body, limit)
        }
    }

    /// How large one event may be, in bytes.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// The next event, or what is kept of one that was over the limit.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) async fn piece(&mut self) -> Result<Piece, End> {
        loop {
            if let Some(cut) = self.passed.pop_front() {
                return Ok(Piece::Cut(cut));
            }
            if let Some(event) = self.events.pop_front() {
                return Ok(Piece::Event(event));
            }
            self.more().await?;
        }
    }

    /// The next event.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) async fn next(&mut self) -> Result<Event, End> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(event);
            }
            self.more().await?;
        }
    }

    async fn more(&mut self) -> Result<(), End> {
        let Some(Ok(frame)) = self.body.frame().await else {
            return Err(End::Closed);
        };
        let Ok(bytes) = frame.into_data() else { return Ok(()) };
        match self.decoder.push(&bytes) {
            Ok(events) => self.events.extend(events),
            Err(Error::TooLarge { .. }) => return Err(End::Unreadable(too_large(self.limit))),
            Err(error @ Error::NotUtf8) => return Err(End::Unreadable(error.to_string())),
        }
        self.passed.extend(self.decoder.take_passed());
        Ok(())
    }
}

/// What a broken stream needs to be read on.
#[derive(Debug, Default)]
struct Place {
    last_event: Option<String>,
    retry: Option<Duration>,
    resumes: u32,
}

impl Place {
    fn advance(&mut self, event: &Event) {
        if let Some(id) = &event.id {
            self.last_event = Some(id.clone());
        }
        if let Some(retry) = event.retry {
            self.retry = Some(Duration::from_millis(retry).min(LONGEST_RETRY));
        }
        if !event.data.is_empty() {
            self.resumes = 0;
        }
    }
}

/// Reads a stream until the answer to one request comes; other messages are handed on.
pub(crate) async fn answer(
    connection: &Arc<Connection>,
    link: &Link,
    out: &Outgoing<'_>,
    body: Body,
    back: Option<&Arc<Back>>,
) -> Result<Delivered, Failure> {
    let mut stream = Stream::new(body, link.limit);
    let mut place = Place::default();
    loop {
        match stream.next().await {
            Ok(event) => {
                place.advance(&event);
                if event.data.is_empty() {
                    continue;
                }
                match inbound::receive_for(connection, &event.data, back, out.id) {
                    Heard::Answer(id, delivered) if id == out.id => return Ok(delivered),
                    Heard::Answer(id, _) => {
                        tracing::debug!(server = %connection.server, id, "an answer came on a foreign stream");
                    }
                    Heard::Said => {}
                    Heard::Garbage(what) => {
                        tracing::debug!(server = %connection.server, what, "skipped an event that is no message");
                    }
                }
            }
            Err(End::Closed) => stream = resumed(connection, link, &mut place).await?,
            Err(End::Unreadable(reason)) => return Err(Failure::Lost(reason)),
        }
    }
}

/// The rest of a broken stream (2025-11-25, resumability): servers also close one on purpose, to be polled.
async fn resumed(connection: &Connection, link: &Link, place: &mut Place) -> Result<Stream, Failure> {
    let broke = || Failure::Lost("its event stream ended before the answer came".to_owned());
    if connection.is_modern() {
        return Err(broke());
    }
    let Some(last_event) = place.last_event.clone() else {
        return Err(broke());
    };
    loop {
        if place.resumes >= RESUMES {
            return Err(broke());
        }
        place.resumes += 1;
        tokio::time::sleep(place.retry.unwrap_or(RETRY)).await;
        match link.get(Some(connection.version()), Some(&last_event)).await {
            Ok(response) if response.status().is_success() => {
                return Ok(Stream::new(response.into_body(), link.limit));
            }
            // A refusal stays one; only a server that is away for a moment is asked again.
            Ok(response) if !response.status().is_server_error() => return Err(broke()),
            Ok(_) | Err(_) => {}
        }
    }
}
