//! Requests of ours that wait for their answer, by our own id, and the ways back to their callers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::exchange::Failure;
use crate::passage::{Passage, ToCaller};

/// An answer of a server, byte for byte.
#[derive(Debug)]
pub(crate) enum Delivered {
    /// `result`
    Result(Box<RawValue>),
    /// `error`
    Error(Box<RawValue>),
}

/// The way back to the caller of one call under way.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "one flag per capability of the protocol")]
pub(crate) struct Back {
    to_caller: mpsc::Sender<ToCaller>,
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
    started: Instant,
    heard: Mutex<Instant>,
    asked: AtomicUsize,
}

impl Back {
    /// The way back of a passage.
    pub(crate) fn new(passage: &Passage) -> Self {
        let now = Instant::now();
        Self {
            to_caller: passage.to_caller.clone(),
            token: passage.progress_token.clone(),
            samples: passage.abilities.sampling,
            shows_forms: passage.abilities.elicit_form,
            opens_urls: passage.abilities.elicit_url,
            has_roots: passage.abilities.roots,
            started: now,
            heard: Mutex::new(now),
            asked: AtomicUsize::new(0),
        }
    }

    /// When the call began.
    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    /// When the server was last heard of for this call: now, while it waits for the caller's answer.
    pub(crate) fn heard(&self) -> Instant {
        if self.asked.load(Ordering::Acquire) > 0 {
            return Instant::now();
        }
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner)
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
}

/// All requests of one connection that wait.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    waiters: Mutex<Waiters>,
}

#[derive(Debug, Default)]
struct Waiters {
    by_id: HashMap<i64, Waiter>,
    closed: Option<String>,
}

impl Pending {
    /// Registers a request whose answer comes over the connection's one stream.
    ///
    /// # Errors
    /// Why the connection has ended.
    pub(crate) fn expect(&self, id: i64, back: Option<Arc<Back>>) -> Result<oneshot::Receiver<Awaited>, String> {
        let (sender, receiver) = oneshot::channel();
        self.insert(
            id,
            Waiter {
                answer: Some(sender),
                back,
            },
        )?;
        Ok(receiver)
    }

    /// Registers a request whose answer comes as the reply to its own HTTP request.
    ///
    /// # Errors
    /// Why the connection has ended.
    pub(crate) fn note(&self, id: i64, back: Option<Arc<Back>>) -> Result<(), String> {
        self.insert(id, Waiter { answer: None, back })
    }

    fn insert(&self, id: i64, waiter: Waiter) -> Result<(), String> {
        let mut waiters = self.lock();
        if let Some(reason) = &waiters.closed {
            return Err(reason.clone());
        }
        waiters.by_id.insert(id, waiter);
        Ok(())
    }

    /// A request no longer waits.
    pub(crate) fn remove(&self, id: i64) {
        self.lock().by_id.remove(&id);
    }

    /// Hands an answer to the one who waits for it; `false` when nobody does.
    pub(crate) fn deliver(&self, id: i64, answer: Awaited) -> bool {
        let waiter = self.lock().by_id.remove(&id);
        waiter
            .and_then(|waiter| waiter.answer)
            .is_some_and(|sender| sender.send(answer).is_ok())
    }

    /// Whether somebody still waits for the answer to a request.
    pub(crate) fn waits(&self, id: i64) -> bool {
        self.lock().by_id.contains_key(&id)
    }

    /// Every answer that is waited for over the connection's one stream is lost; `false` when there is none.
    pub(crate) fn lose_all(&self, reason: &str) -> bool {
        let waiting: Vec<_> = {
            let mut waiters = self.lock();
            let all = std::mem::take(&mut waiters.by_id);
            let (over_stream, rest) = all.into_iter().partition(|(_, waiter)| waiter.answer.is_some());
            waiters.by_id = rest;
            let over_stream: HashMap<i64, Waiter> = over_stream;
            over_stream.into_values().filter_map(|waiter| waiter.answer).collect()
        };
        let any = !waiting.is_empty();
        for sender in waiting {
            sender.send(Err(Failure::Lost(reason.to_owned()))).ok();
        }
        any
    }

    /// The way back of one call.
    pub(crate) fn back(&self, id: i64) -> Option<Arc<Back>> {
        self.lock().by_id.get(&id).and_then(|waiter| waiter.back.clone())
    }

    /// The way back of the only call under way. With two, nobody can say whose a message is.
    pub(crate) fn only_call(&self) -> Option<Arc<Back>> {
        let waiters = self.lock();
        let mut backs = waiters.by_id.values().filter_map(|waiter| waiter.back.as_ref());
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
        let calls = waiters.by_id.iter().filter(|(_, waiter)| waiter.back.is_some());
        let mut ids: Vec<i64> = calls.map(|(id, _)| *id).collect();
        if ids.is_empty() {
            ids.extend(waiters.by_id.keys());
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
        for sender in ended.into_values().filter_map(|waiter| waiter.answer) {
            sender.send(Err(Failure::Lost(reason.to_owned()))).ok();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Waiters> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
