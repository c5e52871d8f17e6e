//! What is known of a set of servers right now, and who is told when it changes.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use countersign_core::catalogue::Catalogue;
use countersign_core::names::ServerName;
use countersign_core::principal::PrincipalKey;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::book::Book;
use crate::publish::Told;

/// The servers that are listed once for all, or those that one principal signed in to.
#[derive(Debug)]
pub(crate) struct Lists {
    /// Whose they are; `None` for those that all share.
    pub(crate) whose: Option<PrincipalKey>,
    /// Something changed that no snapshot shows yet.
    pub(crate) dirty: Notify,
    /// The book's revision that the snapshot in force shows, for those who wait.
    pub(crate) published: watch::Sender<u64>,
    /// What callers were told of last.
    pub(crate) told: Mutex<Told>,
    /// Ends with the lists.
    pub(crate) stop: CancellationToken,
    book: Mutex<Book>,
    gathering: Mutex<BTreeSet<ServerName>>,
    settled: AtomicBool,
    /// The book's revision that the snapshot in force shows.
    revision: AtomicU64,
}

impl Lists {
    /// Empty lists, of which callers know what a snapshot shows.
    pub(crate) fn new(whose: Option<PrincipalKey>, known: Arc<Catalogue>, stop: CancellationToken) -> Self {
        Self {
            whose,
            dirty: Notify::new(),
            published: watch::Sender::new(0),
            told: Mutex::new(Told::of(known)),
            stop,
            book: Mutex::default(),
            gathering: Mutex::default(),
            settled: AtomicBool::new(false),
            revision: AtomicU64::new(0),
        }
    }

    /// Runs a function on the book; the lock is never held over an await.
    pub(crate) fn with_book<T>(&self, act: impl FnOnce(&mut Book) -> T) -> T {
        let mut book = self.book();
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

    /// Whether a listing would still have to wait.
    pub(crate) fn is_pending(&self) -> bool {
        !self.settled.load(Ordering::Acquire)
    }

    /// Whether every server has been tried and the snapshot of that revision shows it.
    pub(crate) fn is_settled_at(&self, published: u64) -> bool {
        let book = self.book();
        !book.is_pending() && book.revision() <= published
    }

    /// Asks for a new snapshot.
    pub(crate) fn republish(&self) {
        self.dirty.notify_one();
    }

    /// The snapshot in force shows the book as it was at that revision.
    pub(crate) fn shown(&self, revision: u64) {
        self.revision.store(revision, Ordering::Release);
        self.published.send_replace(revision);
        self.with_book(|_| ());
    }

    /// Says that the announcements of a server are gathered from now on; `false` when they are already.
    pub(crate) fn gather(&self, server: &ServerName) -> bool {
        self.gathering().insert(server.clone())
    }

    /// They are gathered no longer.
    pub(crate) fn gathered(&self, server: &ServerName) {
        self.gathering().remove(server);
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn gathering(&self) -> MutexGuard<'_, BTreeSet<ServerName>> {
        self.gathering.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
