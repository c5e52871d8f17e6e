//! What wakes a connection: everything but hyper's word to itself that a body it has sent whole was taken.

use std::cell::Cell;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use http_body::{Body as _, Frame};
use hyper::body::Incoming;

thread_local! {
    /// What this thread rings is not to be heard; whether something was rung.
    static MUTED: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Wakes the task of a connection.
#[derive(Default)]
struct Bell {
    task: AtomicWaker,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if MUTED.get().is_some() {
            MUTED.set(Some(true));
        } else {
            self.task.wake();
        }
    }
}

/// A future that is woken by a bell of its own.
pub(super) struct Ringing<F> {
    inner: F,
    bell: Arc<Bell>,
    waker: Waker,
}

impl<F> Ringing<F> {
    pub(super) fn new(inner: F) -> Self {
        let bell = Arc::new(Bell::default());
        Self {
            inner,
            waker: Waker::from(Arc::clone(&bell)),
            bell,
        }
    }

    pub(super) fn get_mut(&mut self) -> &mut F {
        &mut self.inner
    }
}

impl<F: Future + Unpin> Future for Ringing<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Self { inner, bell, waker } = &mut *self;
        bell.task.register(cx.waker());
        Pin::new(inner).poll(&mut Context::from_waker(waker))
    }
}

/// As long as it is there, this thread rings no bell.
struct Mute;

impl Mute {
    fn new() -> Self {
        MUTED.set(Some(false));
        Self
    }

    fn was_rung(self) -> bool {
        MUTED.get() == Some(true)
    }
}

impl Drop for Mute {
    fn drop(&mut self) {
        MUTED.set(None);
    }
}

/// The next piece of a request's body. When hyper hears that a piece was taken it looks for the next, and with it at
/// all that the connection has under way; after the last piece it would do so for nothing, once for every request.
pub(super) fn poll_frame(
    body: &mut Incoming,
    cx: &mut Context<'_>,
) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
    let mute = Mute::new();
    let polled = Pin::new(&mut *body).poll_frame(cx);
    if mute.was_rung() && !body.is_end_stream() {
        cx.waker().wake_by_ref();
    }
    polled
}
