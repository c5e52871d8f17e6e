//! One call under way: its answer to come, and what an upstream tells or asks its caller meanwhile.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;

use countersign_engine::{Reply, ToCaller};
use countersign_wire::codes;
use countersign_wire::rpc;
use countersign_wire::version::Era;
use futures_util::FutureExt;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::abilities;
use crate::answer::Answer;
use crate::shared::Shared;
use crate::speaker::Speaker;

/// What a call comes to. `None`: the caller took it back, and nothing is answered.
pub(crate) type Finished = Option<Answer>;

type Work = Pin<Box<dyn Future<Output = Finished> + Send>>;

/// One call under way.
///
/// INVARIANT: the work is finished even when nobody waits any more, so that what became of the
/// call is recorded; `Drop` hands it to a task of its own.
pub(crate) struct Running {
    shared: Arc<Shared>,
    speaker: Speaker,
    work: Option<Work>,
    finished: Option<Finished>,
    messages: mpsc::Receiver<ToCaller>,
    cancel: CancellationToken,
    asked: Vec<String>,
}

/// What happens next to a call under way.
#[derive(Debug)]
pub(crate) enum Step {
    /// Its upstream has something for the caller.
    Message(ToCaller),
    /// It is over.
    Done(Finished),
}

/// Whether messages can reach the caller before the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Road {
    /// They can.
    Open,
    /// Only the answer can: notifications are dropped and requests refused.
    Closed,
}

impl Running {
    /// Takes over some work. A panic in it is the failure of this one request.
    pub(crate) fn new(
        shared: &Arc<Shared>,
        speaker: &Speaker,
        id: &str,
        (messages, cancel): (mpsc::Receiver<ToCaller>, CancellationToken),
        work: impl Future<Output = Finished> + Send + 'static,
    ) -> Self {
        let id = id.to_owned();
        let caught = AssertUnwindSafe(work).catch_unwind();
        let work = Box::pin(caught.map(move |finished| {
            finished.unwrap_or_else(|_| {
                tracing::error!(%id, "a request was given up because answering it panicked");
                Some(Answer::broken(&id))
            })
        }));
        Self {
            shared: Arc::clone(shared),
            speaker: speaker.clone(),
            work: Some(work),
            finished: None,
            messages,
            cancel,
            asked: Vec::new(),
        }
    }

    /// Waits for the next thing to happen. What was said before the answer comes before the answer.
    pub(crate) async fn next(&mut self) -> Step {
        if let Some(work) = &mut self.work {
            tokio::select! {
                biased;
                Some(message) = self.messages.recv() => return Step::Message(message),
                finished = work => {
                    self.work = None;
                    self.finished = Some(finished);
                }
            }
        }
        match self.messages.try_recv() {
            Ok(message) => Step::Message(message),
            Err(_) => Step::Done(self.finished.take().flatten()),
        }
    }

    /// The caller is gone for good.
    pub(crate) fn abandon(&self) {
        if self.speaker.era() == Era::Modern {
            self.cancel.cancel();
        }
    }

    /// The message as the caller gets it; `None` when it gets none.
    pub(crate) fn render(&mut self, message: ToCaller, road: Road) -> Option<String> {
        match message {
            ToCaller::Notification { method, params } => {
                let wanted = method != "notifications/message" || self.speaker.wants_log(params.get());
                (road == Road::Open && wanted).then(|| rpc::notification(&method, Some(params.get())))
            }
            ToCaller::Request { method, params, reply } => {
                let params = params.as_deref().map(RawValue::get);
                let refusal = self.refusal(&method, params, road);
                let (None, Speaker::Session(session)) = (refusal, &self.speaker) else {
                    refuse(reply, &method, refusal.unwrap_or("the caller has no session"));
                    return None;
                };
                let id = self.shared.next_request_id();
                session.await_reply(id.clone(), reply);
                let text = rpc::request(&id, &method, params);
                self.asked.push(id);
                Some(text)
            }
        }
    }

    /// Why the caller cannot be asked this.
    fn refusal(&self, method: &str, params: Option<&str>, road: Road) -> Option<&'static str> {
        match &self.speaker {
            Speaker::Stateless(_) => Some("the caller speaks 2026-07-28, in which servers send no requests"),
            Speaker::Session(_) if road == Road::Closed => Some("the caller has no stream open for this call"),
            Speaker::Session(session) if !abilities::can_answer(&session.abilities, method, params) => {
                Some("the caller's client did not declare that it answers this")
            }
            Speaker::Session(_) => None,
        }
    }
}

fn refuse(reply: oneshot::Sender<Reply>, method: &str, reason: &str) {
    let error = rpc::error_object(
        codes::METHOD_NOT_FOUND,
        &format!("`{method}` is refused: {reason}"),
        None,
    );
    if let Ok(error) = RawValue::from_string(error) {
        // An upstream that no longer waits for the answer needs none.
        reply.send(Reply::Error(error)).ok();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Speaker::Session(session) = &self.speaker {
            for id in &self.asked {
                session.forget(id);
            }
        }
        let Some(work) = self.work.take() else { return };
        self.abandon();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            // The task ends by itself: every call has a timeout.
            drop(runtime.spawn(work));
        }
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("speaker", &self.speaker)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
