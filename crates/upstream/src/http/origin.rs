//! One origin and the connections to it: kept while they are idle, and never trusted with a request twice.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use countersign_fetch::Screen;
use http::{HeaderValue, Response, Uri};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use tokio::runtime::{Handle, Id};

use super::client::{Client, innermost};
use super::line::{Line, Outward};
use crate::exchange::Failure;

/// Node closes an idle connection after 5 s; a request that meets a closing one would be lost.
const IDLE: Duration = Duration::from_secs(4);

/// How many idle connections are kept.
const KEPT: usize = 64;

/// One origin and the connections to it.
#[derive(Debug)]
pub(super) struct Origin {
    client: Client,
    uri: Uri,
    screen: Screen,
    idle: Arc<Idle>,
}

impl Origin {
    /// The origin of an address.
    pub(super) fn new(client: &Client, uri: Uri, screen: Screen) -> Self {
        Self {
            client: client.clone(),
            uri,
            screen,
            idle: Arc::default(),
        }
    }

    /// The address that it was made for.
    pub(super) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// What `Host` says: the port is left out where the scheme implies it.
    ///
    /// # Errors
    /// What is wrong with the address.
    pub(super) fn host(&self) -> Result<HeaderValue, String> {
        let host = self.uri.host().unwrap_or_default();
        let implied = match self.uri.scheme_str() {
            Some("https") => 443,
            _ => 80,
        };
        let text = match self.uri.port_u16() {
            Some(port) if port != implied => format!("{host}:{port}"),
            Some(_) | None => host.to_owned(),
        };
        HeaderValue::from_str(&text).map_err(|_error| "`url` has a host that no header can name".to_owned())
    }

    /// Sends a request, its target being a path, and waits for the head of the answer.
    ///
    /// INVARIANT: only a request of which no byte was written is tried over another connection (I5).
    pub(super) async fn send(&self, mut request: Outward) -> Result<Response<Body>, Failure> {
        let home = Handle::current().id();
        loop {
            let kept = self.idle.take(home);
            let is_fresh = kept.is_none();
            let mut line = match kept {
                Some(line) => line,
                // Apart, since every call carries the room of what it may have to do.
                None => Box::pin(self.client.connect(&self.uri, self.screen)).await?,
            };
            match line.send(request).await {
                Ok(response) => {
                    let way = Some((Arc::clone(&self.idle), line, home));
                    return Ok(response.map(|incoming| Body { incoming, way }));
                }
                Err(mut error) => match error.take_message() {
                    Some(unsent) if !is_fresh => request = unsent,
                    Some(_unsent) => {
                        let cause = innermost(error.error());
                        return Err(Failure::NotSent(format!("it cannot be reached: {cause}")));
                    }
                    None => {
                        let cause = innermost(error.error());
                        return Err(Failure::Lost(format!(
                            "the connection broke before its answer came: {cause}"
                        )));
                    }
                },
            }
        }
    }
}

/// Connections that wait for their next request.
#[derive(Debug, Default)]
struct Idle {
    kept: Mutex<Vec<Kept>>,
}

#[derive(Debug)]
struct Kept {
    line: Line,
    /// The runtime whose reactor it is with: from another one, every request would wake a second thread.
    home: Id,
    since: Instant,
}

impl Idle {
    /// The connection that was used last. Nobody reads an idle one: that the server closed it is seen when it is used.
    fn take(&self, home: Id) -> Option<Line> {
        let mut kept = self.lock();
        let at = kept.iter().rposition(|kept| kept.home == home)?;
        if kept.get(at).is_some_and(Kept::is_fresh) {
            return Some(kept.remove(at).line);
        }
        // Those before it have waited for longer.
        kept.retain(Kept::is_fresh);
        None
    }

    fn keep(self: &Arc<Self>, line: Line, home: Id) {
        let mut kept = self.lock();
        if kept.len() < KEPT {
            if kept.is_empty() {
                kept.reserve(8);
            }
            kept.push(Kept {
                line,
                home,
                since: Instant::now(),
            });
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn is_fresh(&self) -> bool {
        self.since.elapsed() < IDLE
    }
}

/// The body of an answer; when it has been read, its connection can take the next request.
#[derive(Debug)]
pub(crate) struct Body {
    incoming: Incoming,
    way: Option<(Arc<Idle>, Line, Id)>,
}

impl Drop for Body {
    fn drop(&mut self) {
        if let Some((idle, line, home)) = self.way.take()
            && line.is_ready()
        {
            idle.keep(line, home);
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Self { incoming, way } = &mut *self;
        match way {
            Some((_, line, _)) => line.poll_frame(incoming, cx),
            None => Pin::new(incoming).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

#[cfg(test)]
mod tests;
