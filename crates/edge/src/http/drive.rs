//! A call under way, as an HTTP response: plain JSON, or events where something is said before the answer.

use http::Response;
use tokio::sync::mpsc;

use super::body::Body;
use super::headers::Accepts;
use super::{MESSAGES, reply};
use crate::running::{Finished, Road, Running, Step};

/// Waits for the answer. It is plain JSON, unless something must be said before it.
pub(super) async fn answer(mut running: Running, accepts: Accepts) -> Response<Body> {
    let road = if accepts.events { Road::Open } else { Road::Closed };
    loop {
        match running.next().await {
            Step::Done(Some(answer)) => return reply::answer(answer, accepts),
            Step::Done(None) => return taken_back(accepts),
            Step::Message(message) => {
                if let Some(first) = running.render(message, road) {
                    let (sender, messages) = mpsc::channel(MESSAGES);
                    // The task ends with the call, and every call has a timeout.
                    drop(tokio::spawn(stream(running, sender, first)));
                    return reply::events(messages);
                }
            }
        }
    }
}

/// A call that its caller took back is answered with nothing.
fn taken_back(accepts: Accepts) -> Response<Body> {
    if !accepts.events {
        return reply::accepted();
    }
    let (_, messages) = mpsc::channel(1);
    reply::events(messages)
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
async fn stream(mut running: Running, out: mpsc::Sender<String>, first: String) {
    // The channel is fresh, so that there is room.
    out.try_send(first).ok();
    let mut is_gone = false;
    loop {
        let step = tokio::select! {
            step = running.next() => step,
            () = out.closed(), if !is_gone => {
                is_gone = true;
                running.abandon();
                continue;
            }
        };
        match step {
            Step::Message(message) => {
                let room = out.try_reserve().ok();
                let road = if room.is_some() { Road::Open } else { Road::Closed };
                if let (Some(text), Some(room)) = (running.render(message, road), room) {
                    room.send(text);
                }
            }
            Step::Done(finished) => {
                if let Some(answer) = finished {
                    // A client that is gone loses the answer; what became of the call is recorded.
                    out.send(answer.text).await.ok();
                }
                return;
            }
        }
    }
}
