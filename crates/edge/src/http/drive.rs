//! A call under way, as an HTTP response: plain JSON, or events where something is said before the answer.

use std::pin::pin;
use std::sync::Arc;

use countersign_engine::ToCaller;
use http::Response;

use super::alarm::Alarm;
use super::body::Body;
use super::headers::Accepts;
use super::reply;
use crate::replay::Stream;
use crate::running::{Finished, Road, Running, Step};

/// Waits for the answer. It is plain JSON, unless something must be said before it, or it takes so long that a proxy
/// could take the silence for the end.
pub(super) async fn answer(mut running: Running, accepts: Accepts, alarm: &Alarm) -> Response<Body> {
    let road = if accepts.events { Road::Open } else { Road::Closed };
    let mut silence = pin!(alarm.wait(running.heartbeat()));
    loop {
        let step = tokio::select! {
            biased;
            step = running.next() => step,
            () = &mut silence, if accepts.events => return events(running, None),
        };
        match step {
            Step::Done(Some(answer)) => return reply::answer(answer, accepts),
            Step::Done(None) => return taken_back(accepts),
            Step::Message(message) => {
                if let Some(first) = running.render(message, road) {
                    return events(running, Some(first));
                }
            }
        }
    }
}

/// Goes on as a stream of events.
fn events(running: Running, first: Option<String>) -> Response<Body> {
    let stream = running.stream();
    if let Some(first) = first {
        stream.say(&first);
    }
    let response = reply::stream(stream.read(None), running.heartbeat());
    // The task ends with the call, and every call has a timeout.
    drop(tokio::spawn(tell(running, stream)));
    response
}

/// A call that its caller took back is answered with nothing.
fn taken_back(accepts: Accepts) -> Response<Body> {
    if !accepts.events {
        return reply::accepted();
    }
    reply::no_events()
}

/// The answer alone.
pub(super) async fn last(mut running: Running) -> Finished {
    loop {
        match running.next().await {
            Step::Done(finished) => return finished,
            Step::Message(message) => {
                running.render(message, Road::Closed);
            }
        }
    }
}

/// Sends what an upstream says, then the answer. A client that reads slowly loses messages, never the
/// answer, and never holds up the call.
async fn tell(mut running: Running, stream: Arc<Stream>) {
    let mut is_gone = false;
    loop {
        let step = tokio::select! {
            step = running.next() => step,
            () = stream.left(), if !is_gone => {
                is_gone = true;
                running.abandon();
                continue;
            }
        };
        match step {
            Step::Message(message) => {
                // Nobody who is away can be asked; what is only told waits for them.
                let reaches = stream.is_read() || !matches!(message, ToCaller::Request { .. });
                let road = if reaches && stream.has_room() {
                    Road::Open
                } else {
                    Road::Closed
                };
                if let Some(text) = running.render(message, road) {
                    stream.say(&text);
                }
            }
            Step::Done(finished) => {
                if let Some(answer) = finished {
                    stream.say(&answer.text);
                }
                running.end_stream(&stream);
                return;
            }
        }
    }
}
