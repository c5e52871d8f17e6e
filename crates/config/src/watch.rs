//! Following edits of the folder: stable content only, by its digest, never by its time.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use countersign_core::exact::Digest;
use notify::{Event, RecursiveMode, Watcher as _};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep, timeout};

use crate::environment::Environment;
use crate::folder::{CATALOGUE_FILE, GATEWAY_FILE};
use crate::load::{Config, Folder, Loaded, Loader};
use crate::problem::{Problem, Problems};

/// How often the folder is read when nothing tells of a change. Reading is the truth, since
/// network and container mounts do not tell.
const POLL: Duration = Duration::from_millis(700);

/// How long content must stay the same before it is believed.
const SETTLE: Duration = Duration::from_millis(200);

/// How long broken content must stay the same before it is reported: it may be half written.
const SETTLE_BROKEN: Duration = Duration::from_millis(900);

/// Follows the folder until the receiver is dropped; see [`follow`].
#[must_use]
pub fn watch(dir: PathBuf, environment: Environment, applied: Digest) -> mpsc::Receiver<Result<Config, Problems>> {
    follow(Arc::new(Folder { dir, environment }), applied)
}

/// Follows a source of snapshots until the receiver is dropped.
///
/// `applied` is the hash of the snapshot in force. Sends each good, stable edit and each broken
/// one, once; after a broken one, a return to the former content is sent too. Needs a tokio runtime.
#[must_use]
pub fn follow(loader: Arc<dyn Loader>, applied: Digest) -> mpsc::Receiver<Result<Config, Problems>> {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(
        Follower {
            loader,
            sent: Sent::Good(applied),
            files: BTreeSet::new(),
        }
        .run(sender),
    );
    receiver
}

/// What the receiver heard last: a snapshot or problems, with the hash of what they were read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sent {
    Good(Digest),
    Broken(Digest),
}

struct Follower {
    loader: Arc<dyn Loader>,
    sent: Sent,
    /// The files of the snapshot in force.
    files: BTreeSet<&'static str>,
}

impl Follower {
    async fn run(mut self, sender: mpsc::Sender<Result<Config, Problems>>) {
        let changed = Arc::new(Notify::new());
        let watcher = self.loader.folder().and_then(|folder| tell(folder, &changed));
        loop {
            if let Some(result) = self.news().await
                && sender.send(result).await.is_err()
            {
                break;
            }
            tokio::select! {
                () = sender.closed() => break,
                // Either end of the wait leads to the same reading.
                _waited = timeout(POLL, changed.notified()) => {}
            }
        }
        drop(watcher);
    }

    /// Reads until the content is stable; what to send, when it is not what was sent last.
    async fn news(&mut self) -> Option<Result<Config, Problems>> {
        let mut reading = self.read().await?;
        let mut since = Instant::now();
        while kind(&reading) != self.sent {
            let settle = if is_sound(&reading) { SETTLE } else { SETTLE_BROKEN };
            if since.elapsed() >= settle {
                self.sent = kind(&reading);
                if reading.result.is_ok() {
                    self.files.clone_from(&reading.files);
                }
                return Some(reading.result);
            }
            sleep(SETTLE).await;
            let again = self.read().await?;
            if again.hash != reading.hash {
                since = Instant::now();
            }
            reading = again;
        }
        if reading.result.is_ok() {
            self.files.clone_from(&reading.files);
        }
        None
    }

    /// One reading, off the runtime's threads: a network mount may hang.
    async fn read(&self) -> Option<Loaded> {
        let loader = Arc::clone(&self.loader);
        let mut reading = tokio::task::spawn_blocking(move || loader.load()).await.ok()?;
        if let (Ok(_), Some(gone)) = (&reading.result, self.files.difference(&reading.files).next()) {
            reading.result = Err(self.gone(gone).into());
        }
        Some(reading)
    }

    /// A file that is gone would take all its servers or settings with it, and nobody wrote that.
    fn gone(&self, file: &str) -> Problem {
        let path = self.loader.folder().unwrap_or(Path::new("")).join(file);
        Problem::of_file(
            &path.display().to_string(),
            "was there and is gone; what it said stays in force".to_owned(),
        )
        .with_help("put it back; for none of what it said write `{}` into it, or restart without it")
    }
}

/// Whether nothing of it is broken; what is may be half written.
fn is_sound(reading: &Loaded) -> bool {
    reading.result.as_ref().is_ok_and(|config| config.set_aside.is_empty())
}

fn kind(reading: &Loaded) -> Sent {
    match &reading.result {
        Ok(_) => Sent::Good(reading.hash),
        Err(_) => Sent::Broken(reading.hash),
    }
}

/// Wakes the follower early where the system tells of changes. Without it the poll alone decides.
fn tell(dir: &Path, changed: &Arc<Notify>) -> Option<notify::RecommendedWatcher> {
    let changed = Arc::clone(changed);
    let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        if event.is_ok_and(|event| is_edit(&event)) {
            changed.notify_one();
        }
    });
    let watching = watcher.and_then(|mut watcher| {
        watcher.watch(dir, RecursiveMode::NonRecursive)?;
        Ok(watcher)
    });
    watching
        .inspect_err(|error| tracing::debug!(%error, "changes of the folder are found by reading it"))
        .ok()
}

/// Our own reading is an event too, and so is every write of a store that is kept in the folder.
fn is_edit(event: &Event) -> bool {
    // `..data` is the link that a Kubernetes mount swaps.
    let names = [GATEWAY_FILE, CATALOGUE_FILE, "..data"];
    let is_ours = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| names.iter().any(|ours| name == *ours))
    };
    !event.kind.is_access() && event.paths.iter().any(is_ours)
}
