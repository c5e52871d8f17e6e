//! Streams that stand open: they end with what let their caller in.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

use countersign_core::principal::Principal;
use tokio_util::sync::CancellationToken;

use super::Admitted;

/// The streams that stand open.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    open: Mutex<Vec<Weak<Open>>>,
}

#[derive(Debug)]
struct Open {
    principal: Arc<Principal>,
    cut: CancellationToken,
}

/// Ends when a stream has to end.
pub(crate) type End = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Streams {
    /// Enters a stream of a caller; `None` where nothing ever ends it.
    pub(crate) fn enter(&self, admitted: &Admitted) -> Option<End> {
        if admitted.is_local() {
            return None;
        }
        let stream = Arc::new(Open {
            principal: Arc::clone(&admitted.principal),
            cut: CancellationToken::new(),
        });
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that have ended are let go of when the list has doubled, so that each is looked at a few times only.
        if open.len() == open.capacity() {
            open.retain(|stream| stream.strong_count() > 0);
        }
        open.push(Arc::downgrade(&stream));
        Some(Box::pin(end(stream, admitted.until)))
    }

    /// Ends the streams of some principals.
    pub(crate) fn cut(&self, of: impl Fn(&Principal) -> bool) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        for stream in open.iter().filter_map(Weak::upgrade) {
            if of(&stream.principal) {
                stream.cut.cancel();
            }
        }
    }
}

async fn end(stream: Arc<Open>, until: Option<Instant>) {
    match until {
        None => stream.cut.cancelled().await,
        Some(until) => tokio::select! {
            () = stream.cut.cancelled() => {}
            () = tokio::time::sleep_until(until.into()) => {}
        },
    }
}
