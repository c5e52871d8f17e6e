//! The one timer of a connection: moved where it runs out, not for every request.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt;
use tokio::time::{Instant, Sleep};

/// A timer that the waits of one connection share, of which there is one at a time. Nearly all of them end long before
/// they are due, so the timer stays where it was set until it runs out or must be earlier: to set one for each wait
/// costs each request work, and mostly a wake-up of its own thread.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    /// Made by whoever waits first, since it belongs to the runtime where it is made.
    sleep: Mutex<Option<Pin<Box<Sleep>>>>,
}

impl Alarm {
    /// Waits for so long.
    pub(super) async fn wait(&self, period: Duration) {
        let mut due = None;
        poll_fn(|cx| {
            let due = *due.get_or_insert_with(|| Instant::now() + period);
            self.poll(due, cx)
        })
        .await;
    }

    fn poll(&self, due: Instant, cx: &mut Context<'_>) -> Poll<()> {
        let mut sleep = self.sleep.lock().unwrap_or_else(PoisonError::into_inner);
        let sleep = sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(due)));
        if sleep.deadline() > due {
            sleep.as_mut().reset(due);
        }
        while sleep.as_mut().poll(cx).is_ready() {
            if Instant::now() >= due {
                return Poll::Ready(());
            }
            sleep.as_mut().reset(due);
        }
        Poll::Pending
    }
}

/// The alarm of a connection, as hyper waits by it for the head of the next request.
#[derive(Debug, Clone)]
pub(super) struct HeadTimer(pub(super) Arc<Alarm>);

impl rt::Timer for HeadTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn rt::Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: std::time::Instant) -> Pin<Box<dyn rt::Sleep>> {
        Box::pin(HeadWait {
            alarm: Arc::clone(&self.0),
            due: deadline.into(),
        })
    }
}

struct HeadWait {
    alarm: Arc<Alarm>,
    due: Instant,
}

impl Future for HeadWait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.alarm.poll(self.due, cx)
    }
}

impl rt::Sleep for HeadWait {}

#[cfg(test)]
mod tests;
