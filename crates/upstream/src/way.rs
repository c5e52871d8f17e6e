//! The way of messages to the caller of a call under way. Few calls use it, so it costs little until it is used.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::passage::ToCaller;

/// A way on which at most `room` messages wait, from its one end to the other.
#[must_use]
pub fn way(room: usize) -> (Way, Messages) {
    let shared = Arc::new(Shared(Mutex::new(State {
        waiting: VecDeque::new(),
        room,
        speakers: 1,
        has_listener: true,
        listener: None,
        held_up: Vec::new(),
    })));
    (Way(Arc::clone(&shared)), Messages(shared))
}

/// Where messages are put in.
#[derive(Debug)]
pub struct Way(Arc<Shared>);

/// Where messages come out.
#[derive(Debug)]
pub struct Messages(Arc<Shared>);

#[derive(Debug)]
struct Shared(Mutex<State>);

#[derive(Debug)]
struct State {
    waiting: VecDeque<ToCaller>,
    room: usize,
    speakers: usize,
    has_listener: bool,
    listener: Option<Waker>,
    /// Speakers that wait for room.
    held_up: Vec<Waker>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Puts a message in where there is room.
    fn take(&mut self, message: ToCaller) -> Result<(), ToCaller> {
        if !self.has_listener || self.waiting.len() >= self.room {
            return Err(message);
        }
        self.waiting.push_back(message);
        if let Some(listener) = self.listener.take() {
            listener.wake();
        }
        Ok(())
    }

    fn give(&mut self) -> Option<ToCaller> {
        let message = self.waiting.pop_front()?;
        self.held_up.drain(..).for_each(Waker::wake);
        Some(message)
    }
}

impl Way {
    /// Puts a message in.
    ///
    /// # Errors
    /// The message, when there is no room or nobody listens.
    pub fn try_send(&self, message: ToCaller) -> Result<(), ToCaller> {
        self.0.lock().take(message)
    }

    /// Puts a message in as soon as there is room.
    ///
    /// # Errors
    /// The message, when nobody listens.
    pub async fn send(&self, message: ToCaller) -> Result<(), ToCaller> {
        let mut message = Some(message);
        poll_fn(|cx| {
            let mut state = self.0.lock();
            let Some(unsent) = message.take() else {
                return Poll::Ready(Ok(()));
            };
            match state.take(unsent) {
                Ok(()) => Poll::Ready(Ok(())),
                Err(unsent) if !state.has_listener => Poll::Ready(Err(unsent)),
                Err(unsent) => {
                    message = Some(unsent);
                    state.held_up.push(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}

impl Clone for Way {
    fn clone(&self) -> Self {
        self.0.lock().speakers += 1;
        Self(Arc::clone(&self.0))
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.speakers -= 1;
        if state.speakers == 0
            && let Some(listener) = state.listener.take()
        {
            listener.wake();
        }
    }
}

impl Messages {
    /// The next message; `None` when nobody can put one in any more.
    pub async fn recv(&mut self) -> Option<ToCaller> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// As [`Messages::recv`], one step of it.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<ToCaller>> {
        let mut state = self.0.lock();
        if let Some(message) = state.give() {
            return Poll::Ready(Some(message));
        }
        if state.speakers == 0 {
            return Poll::Ready(None);
        }
        match &mut state.listener {
            Some(listener) => listener.clone_from(cx.waker()),
            none @ None => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    /// Whoever waited for a message does not need to be woken any more.
    pub fn ignore(&mut self) {
        self.0.lock().listener = None;
    }

    /// The next message, if it is there.
    pub fn try_recv(&mut self) -> Option<ToCaller> {
        self.0.lock().give()
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.has_listener = false;
        state.held_up.drain(..).for_each(Waker::wake);
        // Dropped after the lock: with a request goes the way of its answer, and with that who waits for it.
        let unread = std::mem::take(&mut state.waiting);
        drop(state);
        drop(unread);
    }
}

#[cfg(test)]
mod tests;
