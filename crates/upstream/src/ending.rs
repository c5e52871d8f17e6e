//! The end of all connections: told once, and awaited until nothing of them is left.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::stdio::Warden;

/// A handle on the end, held by everything that must not outlive it.
#[derive(Debug, Clone)]
pub(crate) struct Ending {
    told: CancellationToken,
    rest: TaskTracker,
    /// Where the tasks run, whoever asks for them: one that reads a long listing must not stand in the
    /// way of the connections that are served where it was asked for.
    runtime: Handle,
    /// Ends children where this process cannot any more.
    pub(crate) warden: Arc<Warden>,
}

impl Ending {
    /// An end that is still to come, and the guard whose drop tells it.
    pub(crate) fn new(warden: Option<PathBuf>) -> (Self, DropGuard) {
        let told = CancellationToken::new();
        let guard = told.clone().drop_guard();
        let rest = TaskTracker::new();
        let warden = Arc::new(Warden::new(warden));
        let runtime = Handle::current();
        let ending = Self {
            told,
            rest,
            runtime,
            warden,
        };
        (ending, guard)
    }

    /// A token that is cancelled with the end.
    pub(crate) fn token(&self) -> CancellationToken {
        self.told.child_token()
    }

    /// Runs what has to be done before all is over: whoever waits for the end waits for it.
    pub(crate) fn spawn<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.rest.spawn_on(task, &self.runtime)
    }

    /// Runs what is given up at the end.
    pub(crate) fn spawn_until<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<Option<T>> {
        self.rest
            .spawn_on(self.told.clone().run_until_cancelled_owned(task), &self.runtime)
    }

    /// Tells the end and waits until all tasks have seen it.
    pub(crate) async fn come(&self) {
        self.told.cancel();
        self.rest.close();
        self.rest.wait().await;
    }
}
