//! The threads that serve connections. Each runs a loop of its own, so that a call is answered where it
//! came in and wakes no second thread.

use std::io;
use std::net::TcpStream as StdStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tokio::net::TcpStream;
use tokio::runtime::{Builder, Handle};
use tokio_util::sync::{CancellationToken, DropGuard};

/// The threads that serve connections; when it is dropped they end, and with them what still runs there.
#[derive(Debug)]
pub(super) struct Lanes {
    lanes: Vec<Handle>,
    next: AtomicUsize,
    _end_on_drop: DropGuard,
}

impl Lanes {
    /// One lane for each core.
    ///
    /// # Errors
    /// When the system gives no thread or no event queue.
    pub(super) fn start() -> io::Result<Self> {
        let end = CancellationToken::new();
        let count = thread::available_parallelism().map_or(1, usize::from);
        let lanes = (0..count).map(|_| start(end.clone())).collect::<io::Result<_>>()?;
        Ok(Self {
            lanes,
            next: AtomicUsize::new(0),
            _end_on_drop: end.drop_guard(),
        })
    }

    /// Serves a connection in the next lane, for its whole life.
    pub(super) fn serve<F: Future<Output = ()> + Send + 'static>(
        &self,
        stream: TcpStream,
        serve: impl FnOnce(TcpStream) -> F + Send + 'static,
    ) -> io::Result<()> {
        let stream: StdStream = stream.into_std()?;
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.lanes.len().max(1);
        let lane = self
            .lanes
            .get(turn)
            .ok_or_else(|| io::Error::other("there is no lane"))?;
        // The task ends with its connection.
        drop(lane.spawn(async move {
            match TcpStream::from_std(stream) {
                Ok(stream) => serve(stream).await,
                Err(error) => tracing::warn!(%error, "a connection could not be taken in"),
            }
        }));
        Ok(())
    }
}

fn start(end: CancellationToken) -> io::Result<Handle> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    thread::Builder::new().name("lane".to_owned()).spawn(move || {
        runtime.block_on(end.cancelled());
        // Work that blocks is not waited for.
        runtime.shutdown_background();
    })?;
    Ok(handle)
}
