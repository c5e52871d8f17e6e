//! One connection, driven by whoever uses it: a request wakes no second task.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::rt::{Read, Write};
use tokio::task::coop;

/// What a line carries.
pub(super) type Outward = Request<Full<Bytes>>;

type Driver = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

/// One connection; dropped with a request under way, it is closed.
pub(super) struct Line {
    sender: SendRequest<Full<Bytes>>,
    motor: Motor,
}

impl std::fmt::Debug for Line {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Line").finish_non_exhaustive()
    }
}

impl Line {
    /// The line over an open stream of bytes.
    ///
    /// # Errors
    /// What the handshake says.
    pub(super) async fn new(io: impl Read + Write + Unpin + Send + 'static) -> hyper::Result<Self> {
        // Vectored writes stay on: without them, a connection would count as ready before all of a request is written.
        let (sender, connection) = http1::handshake(io).await?;
        let signal = Arc::new(Signal::default());
        let motor = Motor {
            driver: Some(Box::pin(connection)),
            waker: Waker::from(Arc::clone(&signal)),
            signal,
        };
        Ok(Self { sender, motor })
    }

    /// Whether the last answer was read to its end, as far as anybody has looked.
    pub(super) fn is_ready(&self) -> bool {
        self.motor.driver.is_some() && self.sender.is_ready()
    }

    /// Sends a request and waits for the head of its answer. What the server did since the last request is seen
    /// first: the request goes back unsent when the server has closed.
    pub(super) async fn send(&mut self, request: Outward) -> Result<Response<Incoming>, TrySendError<Outward>> {
        // With no waker known, the answer must not be put off by the runtime's budget either.
        let mut answer = pin!(coop::unconstrained(self.sender.try_send_request(request)));
        let motor = &mut self.motor;
        std::future::poll_fn(move |cx| {
            motor.drive();
            let polled = answer.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            motor.wait_if_pending(polled, cx)
        })
        .await
    }

    /// The next piece of an answer that came over this line.
    pub(super) fn poll_frame(
        &mut self,
        incoming: &mut Incoming,
        cx: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let mut nobody = Context::from_waker(Waker::noop());
        match Pin::new(&mut *incoming).poll_frame(&mut nobody) {
            Poll::Ready(frame) => Poll::Ready(frame),
            Poll::Pending => {
                self.motor.drive();
                let polled = Pin::new(incoming).poll_frame(&mut nobody);
                self.motor.wait_if_pending(polled, cx)
            }
        }
    }
}

/// What reads and writes. Only it brings what a task waits for, so only it wakes that task.
struct Motor {
    /// `None` when the connection has ended.
    driver: Option<Driver>,
    signal: Arc<Signal>,
    /// The signal, as the driver knows it.
    waker: Waker,
}

impl Motor {
    /// Reads and writes what can be read and written now.
    fn drive(&mut self) {
        drop(self.signal.task.take());
        self.signal.again.store(false, Ordering::Release);
        let mut cx = Context::from_waker(&self.waker);
        if let Some(running) = &mut self.driver
            && let Poll::Ready(ended) = running.as_mut().poll(&mut cx)
        {
            // Gone at once, so that a request that still waits in it comes back.
            self.driver = None;
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection to a server ended early");
            }
        }
    }

    /// Has the task woken when the driver can go on, also if that was said since it was polled.
    fn wait_if_pending<T>(&self, polled: Poll<T>, cx: &Context<'_>) -> Poll<T> {
        if polled.is_pending() {
            self.signal.task.register(cx.waker());
            if self.signal.again.load(Ordering::Acquire) {
                cx.waker().wake_by_ref();
            }
        }
        polled
    }
}

/// Wakes the task that waits, if one does: what passes between it and the driver would otherwise wake it, or the
/// task that used the connection before, for nothing.
#[derive(Default)]
struct Signal {
    task: AtomicWaker,
    again: AtomicBool,
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.again.store(true, Ordering::Release);
        self.task.wake();
    }
}
