//! Requests of ours that wait for their answer, by our own id, and the ways back to their callers.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures_util::task::AtomicWaker;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::exchange::Failure;
use crate::passage::{Passage, ToCaller};
use crate::way::Way;

/// An answer of a server, byte for byte.
#[derive(Debug)]
pub(crate) enum Delivered {
    /// `result`
    Result(Box<RawValue>),
    /// `error`
    Error(Box<RawValue>),
}

/// A call that shows signs of life may take this many times its timeout.
const CEILING: u32 = 10;

/// Why a call is not waited for any longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GivenUp {
    /// Its connection has ended.
    Closed,
    /// Its server was silent for its timeout.
    Silent,
    /// It took as long as a call may take altogether.
    TooLong,
}

/// The way back to the caller of one call under way.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "one flag per capability of the protocol")]
pub(crate) struct Back {
    to_caller: Way,
    /// The caller's progress token, when it wants progress.
    pub(crate) token: Option<Box<RawValue>>,
    /// The client behind the call can be asked to sample.
    pub(crate) samples: bool,
    /// The client behind the call can show a form.
    pub(crate) shows_forms: bool,
    /// The client behind the call can open a URL.
    pub(crate) opens_urls: bool,
    /// The client behind the call tells its roots.
    pub(crate) has_roots: bool,
    patience: Duration,
    started: Instant,
    heard: Mutex<Instant>,
    asked: AtomicUsize,
    /// 0, or a [`GivenUp`].
    given_up: AtomicU8,
    waits: AtomicWaker,
}

impl Back {
    /// The way back of a passage, for a call whose server may be silent for so long.
    pub(crate) fn new(passage: &Passage, patience: Duration) -> Self {
        let now = Instant::now();
        Self {
            to_caller: passage.to_caller.clone(),
            token: passage.progress_token.clone(),
            samples: passage.abilities.sampling,
            shows_forms: passage.abilities.elicit_form,
            opens_urls: passage.abilities.elicit_url,
            has_roots: passage.abilities.roots,
            patience,
            started: now,
            heard: Mutex::new(now),
            asked: AtomicUsize::new(0),
            given_up: AtomicU8::new(0),
            waits: AtomicWaker::new(),
        }
    }

    /// Waits until the call is given up.
    pub(crate) async fn given_up(&self) -> GivenUp {
        poll_fn(|cx| {
            let known = || match self.given_up.load(Ordering::Acquire) {
                0 => Poll::Pending,
                1 => Poll::Ready(GivenUp::Closed),
                2 => Poll::Ready(GivenUp::Silent),
                _ => Poll::Ready(GivenUp::TooLong),
            };
            if known().is_pending() {
                self.waits.register(cx.waker());
            }
            known()
        })
        .await
    }

    fn give_up(&self, why: GivenUp) {
        let word = match why {
            GivenUp::Closed => 1,
            GivenUp::Silent => 2,
            GivenUp::TooLong => 3,
        };
        // The first reason counts.
        self.given_up
            .compare_exchange(0, word, Ordering::AcqRel, Ordering::Acquire)
            .ok();
        self.waits.wake();
    }

    /// How long the call may take altogether.
    pub(crate) fn longest(&self) -> Duration {
        self.patience.saturating_mul(CEILING)
    }

    /// Gives the call up where it is due; if not, says when to look again.
    fn look(&self, now: Instant) -> Option<Instant> {
        // While the server waits for the caller's answer it is not silent.
        let heard = match self.asked.load(Ordering::Acquire) {
            0 => *self.heard.lock().unwrap_or_else(PoisonError::into_inner),
            _ => now,
        };
        let ceiling = self.started + self.longest();
        let due = (heard + self.patience).min(ceiling);
        if now < due {
            return Some(due);
        }
        self.give_up(if now >= ceiling {
            GivenUp::TooLong
        } else {
            GivenUp::Silent
        });
        None
    }

    /// The server said something for this call: its idle time begins again.
    pub(crate) fn hear(&self) {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Hands a notification on; dropped when the caller does not keep up.
    pub(crate) fn notify(&self, method: &str, params: Box<RawValue>) {
        let message = ToCaller::Notification {
            method: method.to_owned(),
            params,
        };
        if self.to_caller.try_send(message).is_err() {
            tracing::debug!(
                method,
                "a notification was dropped: its caller does not keep up or is gone"
            );
        }
    }

    /// Hands a request on; `None` when the caller is gone or does not keep up.
    pub(crate) fn ask(
        &self,
        method: &str,
        params: Option<Box<RawValue>>,
    ) -> Option<oneshot::Receiver<crate::passage::Reply>> {
        let (reply, answer) = oneshot::channel();
        let message = ToCaller::Request {
            method: method.to_owned(),
            params,
            reply,
        };
        self.asked.fetch_add(1, Ordering::AcqRel);
        if self.to_caller.try_send(message).is_err() {
            self.answered();
            return None;
        }
        Some(answer)
    }

    /// One request of the server has its answer, or will have none.
    pub(crate) fn answered(&self) {
        self.hear();
        self.asked.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What a duplex connection hands to the one who asked; `Err` says why there is no answer.
pub(crate) type Awaited = Result<Delivered, Failure>;

#[derive(Debug)]
struct Waiter {
    answer: Option<oneshot::Sender<Awaited>>,
    back: Option<Arc<Back>>,
    /// Its answer came: nothing else belongs to it. It may stand for a task that is followed, and be given up.
    answered: bool,
}

/// All requests of one connection that wait.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    waiters: Mutex<Waiters>,
}

#[derive(Debug, Default)]
struct Waiters {
    by_id: BTreeMap<i64, Waiter>,
    closed: Option<String>,
    /// Whether somebody looks after calls whose server is silent.
    watched: bool,
}

impl Waiters {
    /// Those whose answer is still to come.
    fn open(&self) -> impl Iterator<Item = (i64, &Waiter)> {
        let all = self.by_id.iter().map(|(id, waiter)| (*id, waiter));
        all.filter(|(_, waiter)| !waiter.answered)
    }
}

/// Whether somebody looks after a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Care {
    /// Nobody does: [`Pending::watch`] has to run.
    Needed,
    /// Somebody does, or it is no call.
    Given,
}

impl Pending {
    /// Registers a request whose answer comes over the connection's one stream.
    ///
    /// # Errors
    /// Why the connection has ended.
    pub(crate) fn expect(
        &self,
        id: i64,
        back: Option<Arc<Back>>,
    ) -> Result<(oneshot::Receiver<Awaited>, Care), String> {
        let (sender, receiver) = oneshot::channel();
        let care = self.insert(id, Some(sender), back)?;
        Ok((receiver, care))
    }

    /// Registers a request whose answer comes as the reply to its own HTTP request.
    ///
    /// # Errors
    /// Why the connection has ended.
    pub(crate) fn note(&self, id: i64, back: Option<Arc<Back>>) -> Result<Care, String> {
        self.insert(id, None, back)
    }

    fn insert(
        &self,
        id: i64,
        answer: Option<oneshot::Sender<Awaited>>,
        back: Option<Arc<Back>>,
    ) -> Result<Care, String> {
        let mut waiters = self.lock();
        if let Some(reason) = &waiters.closed {
            return Err(reason.clone());
        }
        let care = if back.is_none() || std::mem::replace(&mut waiters.watched, true) {
            Care::Given
        } else {
            Care::Needed
        };
        let waiter = Waiter {
            answer,
            back,
            answered: false,
        };
        waiters.by_id.insert(id, waiter);
        Ok(care)
    }

    /// Looks after the calls of one connection as long as there are any, and gives up those whose server is silent.
    ///
    /// One timer does for all of them: their timeout is the same, so that one which begins later is due later. A
    /// timer for each call would cost every call what only the rare silent one needs.
    pub(crate) async fn watch(&self) {
        let mut unwatched = Unwatched(Some(self));
        while let Some(due) = self.look() {
            tokio::time::sleep_until(due).await;
        }
        unwatched.0 = None;
    }

    /// When the first call is due that is not given up; `None` when there is none, and nobody watches from then on.
    fn look(&self) -> Option<Instant> {
        let now = Instant::now();
        let mut waiters = self.lock();
        let backs = waiters.by_id.values().filter_map(|waiter| waiter.back.as_ref());
        let due = backs.filter_map(|back| back.look(now)).min();
        waiters.watched = due.is_some();
        due
    }

    /// A request no longer waits.
    pub(crate) fn remove(&self, id: i64) {
        self.lock().by_id.remove(&id);
    }

    /// Hands an answer to the one who waits for it; `false` when nobody does.
    pub(crate) fn deliver(&self, id: i64, answer: Awaited) -> bool {
        let sender = self.lock().by_id.get_mut(&id).and_then(|waiter| {
            waiter.answered = true;
            waiter.answer.take()
        });
        sender.is_some_and(|sender| sender.send(answer).is_ok())
    }

    /// Whether somebody still waits for the answer to a request.
    pub(crate) fn waits(&self, id: i64) -> bool {
        self.lock().by_id.get(&id).is_some_and(|waiter| !waiter.answered)
    }

    /// Every answer that is waited for over the connection's one stream is lost; `false` when there is none.
    pub(crate) fn lose_all(&self, reason: &str) -> bool {
        let waiting: Vec<_> = {
            let mut waiters = self.lock();
            let over_stream = waiters.by_id.values_mut().filter(|waiter| waiter.answer.is_some());
            over_stream
                .filter_map(|waiter| {
                    waiter.answered = true;
                    waiter.answer.take()
                })
                .collect()
        };
        let any = !waiting.is_empty();
        for sender in waiting {
            sender.send(Err(Failure::Lost(reason.to_owned()))).ok();
        }
        any
    }

    /// The way back of one call.
    pub(crate) fn back(&self, id: i64) -> Option<Arc<Back>> {
        let waiters = self.lock();
        let waiter = waiters.by_id.get(&id).filter(|waiter| !waiter.answered)?;
        waiter.back.clone()
    }

    /// The way back of the only call under way. With two, nobody can say whose a message is.
    pub(crate) fn only_call(&self) -> Option<Arc<Back>> {
        let waiters = self.lock();
        let mut backs = waiters.open().filter_map(|(_, waiter)| waiter.back.as_ref());
        let first = backs.next()?;
        if backs.next().is_some() {
            None
        } else {
            Some(Arc::clone(first))
        }
    }

    /// The id of the only call under way; without calls, of the only request that waits.
    pub(crate) fn only_id(&self) -> Option<i64> {
        let waiters = self.lock();
        let calls = waiters.open().filter(|(_, waiter)| waiter.back.is_some());
        let mut ids: Vec<i64> = calls.map(|(id, _)| id).collect();
        if ids.is_empty() {
            ids.extend(waiters.open().map(|(id, _)| id));
        }
        match ids.as_slice() {
            [only] => Some(*only),
            _ => None,
        }
    }

    /// The connection has ended: every answer is lost, and no further request is taken.
    pub(crate) fn close(&self, reason: &str) {
        let ended = {
            let mut waiters = self.lock();
            if waiters.closed.is_none() {
                waiters.closed = Some(reason.to_owned());
            }
            std::mem::take(&mut waiters.by_id)
        };
        for waiter in ended.into_values() {
            if let Some(sender) = waiter.answer {
                sender.send(Err(Failure::Lost(reason.to_owned()))).ok();
            }
            if let Some(back) = waiter.back {
                back.give_up(GivenUp::Closed);
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Waiters> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says that nobody watches any more where the one who did was stopped in the middle, say with its runtime.
struct Unwatched<'p>(Option<&'p Pending>);

impl Drop for Unwatched<'_> {
    fn drop(&mut self) {
        if let Some(pending) = self.0 {
            pending.lock().watched = false;
        }
    }
}
