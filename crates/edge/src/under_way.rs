//! The part of a call that outlives the request that began it: its work, its messages, its open questions.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::Poll;

use countersign_engine::{Messages, Reply, ToCaller};
use countersign_wire::codes;
use countersign_wire::questions::Question;
use countersign_wire::rpc;
use futures_util::FutureExt;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::answer::Answer;
use crate::calls::Ticket;
use crate::parking::Bond;

/// What a call comes to. `None`: the caller took it back, and nothing is answered.
pub(crate) type Finished = Option<Answer>;

/// What happens next to a call under way.
#[derive(Debug)]
pub(crate) enum Step {
    /// Its upstream has something for the caller.
    Message(ToCaller),
    /// It is over.
    Done(Finished),
}

enum Work {
    /// It goes on while somebody waits for it.
    Held(Pin<Box<dyn Future<Output = Finished> + Send>>),
    /// It goes on by itself.
    Detached(JoinHandle<Finished>),
    Over(Finished),
}

/// A question of an upstream that waits for its caller.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) question: Question,
    reply: oneshot::Sender<Reply>,
}

/// One call, whoever waits for it.
///
/// INVARIANT: the work is finished even when nobody waits any more, so that what became of the
/// call is recorded; `Drop` hands it to a task of its own.
pub(crate) struct UnderWay {
    /// The raw id of the request that began it, which its answer is written for.
    pub(crate) began_as: String,
    /// Who may go on with it when it asks; `None` where it cannot be parked.
    pub(crate) bond: Option<Bond>,
    /// Its place among the calls that its caller can take back.
    pub(crate) ticket: Option<Ticket>,
    /// What its upstream asked and nobody answered yet.
    pub(crate) open: Vec<Open>,
    cancel: CancellationToken,
    work: Work,
    messages: Messages,
    held_back: VecDeque<ToCaller>,
}

impl UnderWay {
    /// Takes over some work. A panic in it is the failure of this one request. The work comes boxed: it is large, and
    /// each layer around it would move it once more.
    pub(crate) fn new(
        id: &str,
        (messages, cancel): (Messages, CancellationToken),
        work: Pin<Box<dyn Future<Output = Finished> + Send>>,
    ) -> Self {
        let began_as = id.to_owned();
        let id = id.to_owned();
        let caught = AssertUnwindSafe(work).catch_unwind();
        let work = Box::pin(caught.map(move |finished| {
            finished.unwrap_or_else(|_| {
                tracing::error!(%id, "a request was given up because answering it panicked");
                Some(Answer::broken(&id))
            })
        }));
        Self {
            began_as,
            bond: None,
            ticket: None,
            open: Vec::new(),
            cancel,
            work: Work::Held(work),
            messages,
            held_back: VecDeque::new(),
        }
    }

    /// Waits for the next thing to happen. What was said before the answer comes before the answer.
    pub(crate) async fn next(&mut self) -> Step {
        if let Some(message) = self.held_back.pop_front() {
            return Step::Message(message);
        }
        if !matches!(self.work, Work::Over(_)) {
            let (work, messages) = (&mut self.work, &mut self.messages);
            let stepped = poll_fn(|cx| {
                // What the work says while it is polled is seen below, and so is its end: neither needs to wake anybody.
                messages.ignore();
                let finished = match work {
                    Work::Held(work) => work.poll_unpin(cx),
                    // The runtime ends: nobody is left to be told.
                    Work::Detached(task) => task.poll_unpin(cx).map(Result::unwrap_or_default),
                    Work::Over(finished) => Poll::Ready(finished.take()),
                };
                match finished {
                    Poll::Ready(finished) => Poll::Ready(Err(finished)),
                    Poll::Pending => match messages.poll_recv(cx) {
                        Poll::Ready(Some(message)) => Poll::Ready(Ok(message)),
                        Poll::Ready(None) | Poll::Pending => Poll::Pending,
                    },
                }
            });
            match stepped.await {
                Ok(message) => return Step::Message(message),
                Err(finished) => self.work = Work::Over(finished),
            }
        }
        match self.messages.try_recv() {
            Some(message) => Step::Message(message),
            None => {
                let over = std::mem::replace(&mut self.work, Work::Over(None));
                self.ticket = None;
                match over {
                    Work::Over(finished) => Step::Done(finished),
                    Work::Held(_) | Work::Detached(_) => Step::Done(None),
                }
            }
        }
    }

    /// Whether it has ended, so that no question of it needs an answer.
    pub(crate) fn is_over(&self) -> bool {
        match &self.work {
            Work::Held(_) => false,
            Work::Detached(task) => task.is_finished(),
            Work::Over(_) => true,
        }
    }

    /// Takes in a question.
    pub(crate) fn open(&mut self, question: Question, reply: oneshot::Sender<Reply>) {
        self.open.push(Open { question, reply });
    }

    /// Takes in all that was said until now, without waiting. What `asked` gives back comes later, in order.
    pub(crate) fn gather(&mut self, asked: impl Fn(ToCaller) -> Result<(Question, oneshot::Sender<Reply>), ToCaller>) {
        while let Some(message) = self.messages.try_recv() {
            match asked(message) {
                Ok((question, reply)) => self.open(question, reply),
                Err(message) => self.held_back.push_back(message),
            }
        }
    }

    /// Hands the caller's answers to the upstream; questions that `answer_to` leaves out stay open.
    pub(crate) fn answer<'a>(&mut self, answer_to: impl Fn(&str) -> Option<&'a RawValue>) {
        for open in std::mem::take(&mut self.open) {
            match answer_to(&open.question.id) {
                // An upstream that no longer waits for the answer needs none.
                Some(answer) => drop(open.reply.send(Reply::Result(answer.to_owned()))),
                None => self.open.push(open),
            }
        }
    }

    /// Refuses all open questions.
    pub(crate) fn refuse(&mut self, code: i64, reason: &str) {
        for open in std::mem::take(&mut self.open) {
            refuse(open.reply, code, &open.question.method, reason);
        }
    }

    /// From now on the work goes on by itself.
    pub(crate) fn detach(&mut self, tasks: &TaskTracker) {
        self.work = match std::mem::replace(&mut self.work, Work::Over(None)) {
            Work::Held(work) => Work::Detached(tasks.spawn(work)),
            work @ (Work::Detached(_) | Work::Over(_)) => work,
        };
    }

    /// Takes the call back.
    pub(crate) fn cancel(&self) {
        self.cancel.cancel();
    }

    /// What takes the call back.
    pub(crate) fn cancel_token(&self) -> &CancellationToken {
        &self.cancel
    }
}

/// Answers a request of an upstream with an error.
pub(crate) fn refuse(reply: oneshot::Sender<Reply>, code: i64, method: &str, reason: &str) {
    let error = rpc::error_object(code, &format!("`{method}` is refused: {reason}"), None);
    if let Ok(error) = RawValue::from_string(error) {
        // An upstream that no longer waits for the answer needs none.
        reply.send(Reply::Error(error)).ok();
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.refuse(codes::INTERNAL_ERROR, "the caller is gone");
        let work = match std::mem::replace(&mut self.work, Work::Over(None)) {
            Work::Held(work) => work,
            Work::Detached(_) | Work::Over(_) => return,
        };
        let ticket = self.ticket.take();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            // The task ends by itself: every call has a timeout.
            drop(runtime.spawn(async move {
                work.await;
                drop(ticket);
            }));
        }
    }
}

impl fmt::Debug for UnderWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnderWay")
            .field("began_as", &self.began_as)
            .field("open", &self.open)
            .finish_non_exhaustive()
    }
}
