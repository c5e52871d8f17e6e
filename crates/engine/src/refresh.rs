//! Keeps the snapshot current: lists servers, retries those that failed, publishes what changed.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use countersign_core::catalogue::{Catalogue, Finding, Parts};
use countersign_core::names::ServerName;
use countersign_core::server::ServerEntry;
use countersign_core::toolset;
use countersign_upstream::Event;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::book::{Book, Next};
use crate::outcome::Change;
use crate::{Engine, Shared};

/// The wait after the first failed listing; it doubles up to [`RETRY_MOST`].
const RETRY_FIRST: Duration = Duration::from_millis(500);
/// The longest time that announcements of one server are gathered.
const GATHER_MOST: Duration = Duration::from_secs(5);
/// The longest wait between two tries of a server that fails.
const RETRY_MOST: Duration = Duration::from_secs(30);

impl Shared {
    /// Runs a function on the book; the lock is never held over an await.
    pub(crate) fn with_book<T>(&self, act: impl FnOnce(&mut Book) -> T) -> T {
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        let done = act(&mut book);
        self.settle(&book);
        done
    }

    // INVARIANT: nothing here takes a lock while the book is held: waiters of `published` take the book.
    /// Notes whether a listing would still have to wait, so that a call asks for it without a lock.
    fn settle(&self, book: &Book) {
        let settled = !book.is_pending() && book.revision() <= self.revision.load(Ordering::Acquire);
        self.settled.store(settled, Ordering::Release);
    }

    /// Whether every server has been tried and the snapshot of that revision shows it.
    pub(crate) fn is_settled_at(&self, published: u64) -> bool {
        let book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        !book.is_pending() && book.revision() <= published
    }

    /// Asks for a new snapshot.
    pub(crate) fn republish(&self) {
        self.dirty.notify_one();
    }
}

impl Engine {
    /// Starts a listing of a server unless one is under way.
    pub(crate) fn refresh(&self, server: ServerName) {
        let listing = list(Arc::clone(&self.shared), server);
        // Whoever asks for it may run where connections are served, and a long listing would hold them up.
        self.shared.tasks.spawn_on(
            self.shared.stop.clone().run_until_cancelled_owned(listing),
            &self.shared.runtime,
        );
    }

    /// Starts the tasks that live as long as the engine.
    pub(crate) fn start_loops(&self, events: mpsc::Receiver<Event>) {
        let stop = self.shared.stop.clone();
        self.shared.tasks.spawn(
            stop.clone()
                .run_until_cancelled_owned(publish(Arc::clone(&self.shared))),
        );
        self.shared
            .tasks
            .spawn(stop.run_until_cancelled_owned(follow(Arc::clone(&self.shared), events)));
    }
}

/// Lists one server, again while changes are announced, and later again while it fails.
async fn list(shared: Arc<Shared>, server: ServerName) {
    let mut after = None;
    loop {
        let Some((entry, turn)) = shared.with_book(|book| book.begin(&server, after)) else {
            return;
        };
        let listed_as = shared.settings.load().listed_as.clone();
        let known = shared.with_book(|book| book.listing(&server));
        let place = shared.places.acquire().await;
        let listed = shared
            .upstreams
            .list_again(&server, &listed_as, &known)
            .await
            .map_err(|error| error.reason().to_owned());
        drop(place);
        log_listing(&entry, &listed);
        let next = shared.with_book(|book| book.end(&entry, listed));
        shared.republish();
        let wait = match next {
            Next::Rest => return,
            Next::Again(unchanged) => gather_for(shared.settings.load().debounce, unchanged),
            Next::Retry(failures) => retry_wait(failures),
        };
        tokio::time::sleep(wait).await;
        after = Some(turn);
    }
}

/// How long announcements are gathered: longer, the more of them brought nothing new.
fn gather_for(debounce: Duration, unchanged: u32) -> Duration {
    debounce
        .saturating_mul(2_u32.saturating_pow(unchanged.min(16)))
        .min(GATHER_MOST.max(debounce))
}

/// How long to wait after the n-th failure in a row.
fn retry_wait(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(16);
    RETRY_FIRST
        .saturating_mul(2_u32.saturating_pow(doublings))
        .min(RETRY_MOST)
}

fn log_listing(entry: &ServerEntry, listed: &Result<countersign_core::listing::Listing, String>) {
    let server = entry.name.as_str();
    match listed {
        Ok(listing) => tracing::info!(
            server,
            protocol = %listing.protocol,
            tools = listing.tools.len(),
            resources = listing.resources.len(),
            prompts = listing.prompts.len(),
            set_aside = listing.problems.len(),
            "server listed"
        ),
        Err(reason) => tracing::warn!(server, %reason, "server unavailable"),
    }
}

/// What callers were told of last, and until when they are told nothing more.
#[derive(Debug)]
struct Told {
    catalogue: Arc<Catalogue>,
    quiet: Option<Instant>,
    untold: bool,
}

impl Told {
    fn of(catalogue: Arc<Catalogue>) -> Self {
        Self {
            catalogue,
            quiet: None,
            untold: false,
        }
    }

    /// Tells callers which of their lists differ from what they were told of last: at once, and then not again
    /// within the debounce. A list that changed and changed back meanwhile has not changed.
    fn tell(&mut self, shared: &Shared) {
        if self.quiet.is_some_and(|quiet| Instant::now() < quiet) {
            self.untold = true;
            return;
        }
        self.untold = false;
        let now = shared.catalogue.load_full();
        let before = std::mem::replace(&mut self.catalogue, Arc::clone(&now));
        let changes = [
            (!before.shows_same_tools(&now), Change::Tools),
            (!before.shows_same_prompts(&now), Change::Prompts),
            (!before.shows_same_resources(&now), Change::Resources),
        ];
        for (_, change) in changes.into_iter().filter(|(differs, _)| *differs) {
            self.quiet = Some(Instant::now() + shared.settings.load().debounce);
            shared.announce(change);
        }
    }

    /// When what is left to tell may be told.
    fn due(&self) -> Option<Instant> {
        self.quiet.filter(|_| self.untold)
    }
}

/// Builds and publishes a snapshot whenever the book has changed; bursts become one.
async fn publish(shared: Arc<Shared>) {
    let told = Arc::new(Mutex::new(Told::of(shared.catalogue.load_full())));
    loop {
        let due = told.lock().unwrap_or_else(PoisonError::into_inner).due();
        let is_new = tokio::select! {
            () = shared.dirty.notified() => true,
            () = at(due) => false,
        };
        // Off the threads that serve calls: building, comparing and freeing grow with the catalogue.
        let (here, told) = (Arc::clone(&shared), Arc::clone(&told));
        let done = tokio::task::spawn_blocking(move || {
            let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
            if !is_new {
                told.tell(&here);
                return;
            }
            let (revision, servers) = here.with_book(|book| (book.revision(), book.servers()));
            let naming = here.settings.load().naming.clone();
            let before = here.catalogue.load_full();
            let next = before.next(Parts {
                version: revision,
                naming,
                servers,
            });
            let idle = toolset::idle_rules(&next, &here.rules.load().presets);
            let next = next.with_findings(idle);
            drop(before);
            here.swap_in(&Arc::new(next), revision, &mut told);
        });
        if let Err(error) = done.await {
            tracing::error!(%error, "the catalogue could not be built; the one before stays in force");
        }
    }
}

/// Ends at an instant; without one, never.
async fn at(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

impl Shared {
    /// Publishes the book as it is. For the start alone, where nothing else publishes.
    pub(crate) fn publish_now(&self) {
        let (revision, servers) = self.with_book(|book| (book.revision(), book.servers()));
        let naming = self.settings.load().naming.clone();
        let version = revision;
        let mut told = Told::of(self.catalogue.load_full());
        self.swap_in(
            &Arc::new(Catalogue::build(Parts {
                version,
                naming,
                servers,
            })),
            revision,
            &mut told,
        );
    }

    /// Puts a snapshot in force and tells callers which of their lists differ.
    fn swap_in(&self, catalogue: &Arc<Catalogue>, revision: u64, told: &mut Told) {
        let before = self.catalogue.swap(Arc::clone(catalogue));
        log_findings(before.findings(), catalogue.findings());
        told.tell(self);
        self.revision.store(revision, Ordering::Release);
        self.published.send_replace(revision);
        self.with_book(|_| ());
    }

    fn announce(&self, change: Change) {
        // Without a listener there is nobody to tell.
        drop(self.changes.send(change));
    }
}

/// Says what is new since the snapshot before, and what is mended; what stays is not said again.
fn log_findings(before: &[Finding], now: &[Finding]) {
    let listed = |finding: &Finding| {
        let servers: Vec<&str> = finding.servers.iter().map(ServerName::as_str).collect();
        servers.join(", ")
    };
    let (old, new): (BTreeSet<&Finding>, BTreeSet<&Finding>) = (before.iter().collect(), now.iter().collect());
    for finding in new.difference(&old) {
        tracing::warn!(
            kind = finding.kind.word(),
            servers = listed(finding),
            subject = finding.subject.as_deref(),
            what = %finding.what,
            way_out = %finding.way_out,
            "finding"
        );
    }
    for finding in old.difference(&new) {
        tracing::info!(
            kind = finding.kind.word(),
            servers = listed(finding),
            subject = finding.subject.as_deref(),
            "finding is no more"
        );
    }
}

/// Acts on what servers say of their own accord.
async fn follow(shared: Arc<Shared>, mut events: mpsc::Receiver<Event>) {
    while let Some(event) = events.recv().await {
        match event {
            Event::ListChanged { server } => relist(&shared, server),
            Event::Down { server, reason } => {
                tracing::warn!(%server, %reason, "connection ended");
                shared.with_book(|book| book.down(&server, &reason));
                shared.republish();
                relist(&shared, server);
            }
            Event::ResourceUpdated {
                server: _,
                principal,
                params,
            } => {
                if let Some(uri) = uri_of(params.get()) {
                    shared.announce(Change::ResourceUpdated { principal, uri, params });
                }
            }
            Event::Task {
                server,
                principal,
                params,
            } => shared.announce(Change::Task {
                server,
                principal,
                params,
            }),
            Event::Log {
                server,
                principal,
                params,
            } => shared.announce(Change::Log {
                server,
                principal,
                params,
            }),
        }
    }
}

impl Engine {
    /// A call could not be sent although its server counts as ready: listing it shows how it stands.
    pub(crate) fn doubt(&self, server: &ServerName) {
        if self.shared.with_book(|book| book.is_ready(server)) {
            relist(&self.shared, server.clone());
        }
    }
}

/// Lists a server after the debounce; what is announced meanwhile is part of that listing.
fn relist(shared: &Arc<Shared>, server: ServerName) {
    let gathering = shared
        .gathering
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(server.clone());
    if !gathering {
        return;
    }
    let (task, stop) = (Arc::clone(shared), shared.stop.clone());
    shared.tasks.spawn(stop.run_until_cancelled_owned(async move {
        let unchanged = task.with_book(|book| book.unchanged(&server));
        tokio::time::sleep(gather_for(task.settings.load().debounce, unchanged)).await;
        task.gathering
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&server);
        list(task, server).await;
    }));
}

fn uri_of(params: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Params {
        uri: String,
    }
    serde_json::from_str::<Params>(params).ok().map(|params| params.uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b033_announcements_that_bring_nothing_new_are_gathered_longer() {
        let debounce = Duration::from_millis(200);
        let waits = [0, 1, 3, 10, 99].map(|unchanged| gather_for(debounce, unchanged).as_millis());
        assert_eq!(waits, [200, 400, 1600, 5000, 5000]);
    }

    #[test]
    fn retries_back_off_to_a_limit() {
        let waits = [1, 2, 3, 7, 40].map(|failures| retry_wait(failures).as_millis());
        assert_eq!(waits, [500, 1000, 2000, 30_000, 30_000]);
    }
}
