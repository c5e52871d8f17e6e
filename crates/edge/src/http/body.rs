//! Bodies: requests read within their limit, responses whole or as events.

use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use countersign_wire::sse;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, MissedTickBehavior};

use super::alarm::Alarm;
use super::bell;
use crate::auth::End;
use crate::replay::Cursor;

/// How long a body may take to arrive.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// How much of a body that is too large is read on, so that its client reads the answer.
const DRAINED: usize = 64 * 1024 * 1024;

/// How long such a body is read on.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    /// It is larger than the limit.
    TooLarge,
    /// It took too long.
    TooSlow,
    /// Its client went away in the middle.
    Broken,
}

/// Whether the client sends its body only once it is told to (`Expect: 100-continue`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    /// It waits.
    Yes,
    /// It sends at once.
    No,
}

/// Reads a body of at most `limit` bytes.
pub(super) async fn read(mut body: Incoming, (limit, waits): (usize, Waits), alarm: &Alarm) -> Result<Bytes, Unread> {
    let reading = async {
        if usize::try_from(body.size_hint().lower()).map_or(true, |announced| announced > limit) {
            if waits == Waits::No {
                Box::pin(drain(&mut body)).await;
            }
            return Err(Unread::TooLarge);
        }
        let mut first = Bytes::new();
        let mut rest: Option<BytesMut> = None;
        while let Some(frame) = poll_fn(|cx| bell::poll_frame(&mut body, cx)).await {
            let Ok(data) = frame.ok().ok_or(Unread::Broken)?.into_data() else {
                continue;
            };
            let length = rest.as_ref().map_or(first.len(), BytesMut::len);
            if length.saturating_add(data.len()) > limit {
                Box::pin(drain(&mut body)).await;
                return Err(Unread::TooLarge);
            }
            match &mut rest {
                // Most bodies come in one piece and are never copied.
                None if first.is_empty() => first = data,
                None => {
                    let mut joined = BytesMut::with_capacity(first.len() + data.len());
                    joined.extend_from_slice(&first);
                    joined.extend_from_slice(&data);
                    rest = Some(joined);
                }
                Some(joined) => joined.extend_from_slice(&data),
            }
        }
        Ok(rest.map_or(first, BytesMut::freeze))
    };
    tokio::select! {
        biased;
        read = reading => read,
        () = alarm.wait(READ_TIMEOUT) => Err(Unread::TooSlow),
    }
}

/// A client that still writes when the connection closes sees a reset and not the answer.
async fn drain(body: &mut Incoming) {
    let draining = async {
        let mut drained = 0_usize;
        while drained < DRAINED {
            match body.frame().await {
                Some(Ok(frame)) => drained += frame.data_ref().map_or(0, Bytes::len),
                Some(Err(_)) | None => break,
            }
        }
    };
    // Whether it was drained or not, the answer is the same.
    tokio::time::timeout(DRAIN_TIMEOUT, draining).await.ok();
}

/// The body of a response.
#[derive(Debug)]
pub(super) enum Body {
    /// All of it.
    Whole(Option<Bytes>),
    /// All of it, in two pieces that are not copied together.
    Pieces([Option<Bytes>; 2]),
    /// Messages as server-sent events, until their sender ends.
    Events(Events),
}

/// A stream of events.
pub(super) struct Events {
    source: Source,
    heartbeat: Interval,
    /// When the stream ends, whatever is still to come.
    end: Option<End>,
}

/// Where events come from.
#[derive(Debug)]
pub(super) enum Source {
    /// Messages, until their sender ends.
    Channel(mpsc::Receiver<String>),
    /// The stream of a call.
    Stream(Cursor),
}

impl Source {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match self {
            Self::Channel(messages) => messages
                .poll_recv(cx)
                .map(|message| message.map(|message| Bytes::from(sse::encode(None, &message)))),
            Self::Stream(cursor) => cursor.poll_next(cx),
        }
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events")
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

impl Events {
    fn has_ended(&mut self, cx: &mut Context<'_>) -> bool {
        let end = self.end.as_mut();
        end.is_some_and(|end| end.as_mut().poll(cx).is_ready())
    }
}

impl Body {
    pub(super) fn whole(text: impl Into<Bytes>) -> Self {
        Self::Whole(Some(text.into()))
    }

    pub(super) fn pieces(head: impl Into<Bytes>, rest: Bytes) -> Self {
        Self::Pieces([Some(head.into()), Some(rest)])
    }

    pub(super) fn empty() -> Self {
        Self::Whole(None)
    }

    pub(super) fn events(source: Source, heartbeat: Duration, end: Option<End>) -> Self {
        let mut heartbeat = tokio::time::interval_at(Instant::now() + heartbeat, heartbeat);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self::Events(Events { source, heartbeat, end })
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Pieces(pieces) => {
                let piece = pieces.iter_mut().find_map(Option::take);
                Poll::Ready(piece.map(|bytes| Ok(Frame::data(bytes))))
            }
            Self::Events(events) => {
                if events.has_ended(cx) {
                    return Poll::Ready(None);
                }
                match events.source.poll_next(cx) {
                    Poll::Ready(event) => Poll::Ready(event.map(|event| Ok(Frame::data(event)))),
                    Poll::Pending => {
                        let beat = events.heartbeat.poll_tick(cx);
                        beat.map(|_| Some(Ok(Frame::data(Bytes::from_static(sse::KEEP_ALIVE.as_bytes())))))
                    }
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None) | Self::Pieces([None, None]))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => {
                let length = bytes.as_ref().map_or(0, Bytes::len);
                SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
            }
            Self::Pieces(pieces) => {
                let length: usize = pieces.iter().flatten().map(Bytes::len).sum();
                SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
            }
            Self::Events(_) => SizeHint::default(),
        }
    }
}
