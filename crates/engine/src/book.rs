//! What is known of every server right now: the one mutable thing behind the snapshots.

use std::collections::BTreeMap;
use std::sync::Arc;

use countersign_core::catalogue::{Availability, Server};
use countersign_core::listing::Listing;
use countersign_core::names::ServerName;
use countersign_core::server::{ServerEntry, Start};

/// One server's page.
#[derive(Debug)]
struct Page {
    entry: Arc<ServerEntry>,
    listing: Arc<Listing>,
    availability: Availability,
    refresh: Refresh,
    turn: Turn,
    failures: u32,
    /// How many listings in a row brought nothing new.
    unchanged: u32,
}

/// Numbers the listings of one server; only the latest may go on after a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Turn(u64);

/// Where the listing of a server stands; there is never more than one under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refresh {
    Idle,
    /// It failed or is stale, and whoever holds the turn will try again.
    Waiting,
    Running,
    /// Running, and something changed meanwhile: once more when it ends.
    RunningStale,
}

/// All pages, and a number that rises with every change to them.
#[derive(Debug, Default)]
pub(crate) struct Book {
    pages: BTreeMap<ServerName, Page>,
    revision: u64,
}

/// Why a server gave no listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unlisted {
    /// It cannot be used.
    Unavailable {
        /// Why, without any secret.
        reason: String,
    },
    /// It asks for a sign-in first.
    AuthRequired,
}

/// What to do after a listing ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing.
    Rest,
    /// List again: a change was announced while listing. So many listings in a row brought nothing new.
    Again(u32),
    /// List again later: this was the n-th failure in a row.
    Retry(u32),
}

impl Book {
    /// Takes over a set of entries. Pages of unchanged entries stay as they are; a changed entry
    /// keeps its last listing until it is listed anew. Returns who has to be listed now.
    ///
    /// `is_open` says whether a server can be asked for whom the book is, or waits for a sign-in.
    pub(crate) fn apply(
        &mut self,
        entries: &[Arc<ServerEntry>],
        is_open: impl Fn(&ServerEntry) -> bool,
    ) -> Vec<ServerName> {
        let mut before = std::mem::take(&mut self.pages);
        let mut due = Vec::new();
        for entry in entries {
            let old = before.remove(&entry.name);
            let page = match old {
                Some(page) if page.entry.digest == entry.digest => page,
                old => {
                    let opens = is_open(entry);
                    if entry.start == Start::Boot && opens {
                        due.push(entry.name.clone());
                    }
                    fresh_page(entry, old, opens)
                }
            };
            self.pages.insert(entry.name.clone(), page);
        }
        self.revision += 1;
        due
    }

    /// Marks a listing as begun and says which turn it is. `None` when one is under way (it will be
    /// repeated), when the server is not to be listed, or when a newer turn has taken over from `after`.
    pub(crate) fn begin(&mut self, server: &ServerName, after: Option<Turn>) -> Option<(Arc<ServerEntry>, Turn)> {
        let page = self.pages.get_mut(server)?;
        if !is_asked(&page.availability) {
            page.refresh = Refresh::Idle;
            return None;
        }
        match (page.refresh, after) {
            (Refresh::Running | Refresh::RunningStale, _) => {
                page.refresh = Refresh::RunningStale;
                return None;
            }
            (Refresh::Waiting, Some(turn)) if turn == page.turn => {}
            (Refresh::Idle | Refresh::Waiting, Some(_)) => return None,
            (Refresh::Idle | Refresh::Waiting, None) => page.turn = Turn(page.turn.0.saturating_add(1)),
        }
        page.refresh = Refresh::Running;
        Some((Arc::clone(&page.entry), page.turn))
    }

    /// Writes down how a listing ended. What was listed for an entry that changed meanwhile is dropped.
    pub(crate) fn end(&mut self, entry: &ServerEntry, listed: Result<Arc<Listing>, Unlisted>) -> Next {
        let Some(page) = self.pages.get_mut(&entry.name) else {
            return Next::Rest;
        };
        let stale = page.refresh == Refresh::RunningStale || page.entry.digest != entry.digest;
        page.refresh = Refresh::Idle;
        if !is_asked(&page.availability) {
            return Next::Rest;
        }
        if page.entry.digest == entry.digest {
            match listed {
                // Nothing new: the snapshot stands, and a server that announces no change over and over
                // is asked less and less often.
                Ok(listing) if page.availability == Availability::Ready && page.listing == listing => {
                    page.unchanged = page.unchanged.saturating_add(1);
                }
                Ok(listing) => {
                    self.revision += 1;
                    page.listing = listing;
                    page.availability = Availability::Ready;
                    page.failures = 0;
                    page.unchanged = 0;
                }
                Err(Unlisted::AuthRequired) => {
                    self.revision += 1;
                    page.availability = Availability::AuthRequired;
                    page.failures = 0;
                    return Next::Rest;
                }
                Err(Unlisted::Unavailable { reason }) => {
                    self.revision += 1;
                    page.availability = Availability::Unavailable { reason };
                    page.failures = page.failures.saturating_add(1);
                    page.refresh = Refresh::Waiting;
                    return Next::Retry(page.failures);
                }
            }
        }
        if !stale {
            return Next::Rest;
        }
        page.refresh = Refresh::Waiting;
        Next::Again(page.unchanged)
    }

    /// How many listings of a server in a row brought nothing new.
    pub(crate) fn unchanged(&self, server: &ServerName) -> u32 {
        self.pages.get(server).map_or(0, |page| page.unchanged)
    }

    /// Writes down that a server's connection ended; its last listing stays.
    pub(crate) fn down(&mut self, server: &ServerName, reason: &str) {
        if let Some(page) = self.pages.get_mut(server)
            && page.availability == Availability::Ready
        {
            page.availability = Availability::Unavailable {
                reason: reason.to_owned(),
            };
            self.revision += 1;
        }
    }

    /// Whether a server answered when it was asked last.
    pub(crate) fn is_ready(&self, server: &ServerName) -> bool {
        self.pages
            .get(server)
            .is_some_and(|page| page.availability == Availability::Ready)
    }

    /// Writes down that a server was stopped by hand, or may start again.
    pub(crate) fn set(&mut self, server: &ServerName, availability: Availability) {
        if let Some(page) = self.pages.get_mut(server) {
            page.availability = availability;
            page.failures = 0;
            self.revision += 1;
        }
    }

    /// Writes down that a server can be asked from now on; `false` when it could already, or is not to be.
    pub(crate) fn open(&mut self, server: &ServerName) -> bool {
        let Some(page) = self.pages.get_mut(server) else {
            return false;
        };
        if page.availability != Availability::AuthRequired {
            return false;
        }
        page.availability = Availability::Unlisted;
        page.failures = 0;
        self.revision += 1;
        true
    }

    /// Writes down that a server waits for a sign-in; what it published for the last one is forgotten.
    pub(crate) fn close(&mut self, server: &ServerName) -> bool {
        let Some(page) = self.pages.get_mut(server) else {
            return false;
        };
        if !is_asked(&page.availability) {
            return false;
        }
        page.availability = Availability::AuthRequired;
        page.listing = Arc::default();
        page.failures = 0;
        page.unchanged = 0;
        self.revision += 1;
        true
    }

    /// Whether some server of it is asked at all.
    pub(crate) fn is_open(&self) -> bool {
        self.pages.values().any(|page| is_asked(&page.availability))
    }

    /// Whether that server is asked.
    pub(crate) fn is_open_at(&self, server: &ServerName) -> bool {
        self.pages.get(server).is_some_and(|page| is_asked(&page.availability))
    }

    /// Servers that nobody has tried to list yet and that start with the first use.
    pub(crate) fn lazy(&self) -> Vec<ServerName> {
        let waits = |page: &&Page| {
            page.availability == Availability::Unlisted
                && page.entry.start == Start::Lazy
                && page.refresh == Refresh::Idle
        };
        self.pages
            .values()
            .filter(waits)
            .map(|page| page.entry.name.clone())
            .collect()
    }

    /// Whether some server has neither been listed nor failed yet.
    pub(crate) fn is_pending(&self) -> bool {
        self.pages
            .values()
            .any(|page| page.availability == Availability::Unlisted)
    }

    /// The entry of a server.
    pub(crate) fn entry(&self, server: &str) -> Option<Arc<ServerEntry>> {
        self.pages.get(server).map(|page| Arc::clone(&page.entry))
    }

    /// The last listing of a server.
    pub(crate) fn listing(&self, server: &ServerName) -> Arc<Listing> {
        self.pages
            .get(server)
            .map_or_else(Arc::default, |page| Arc::clone(&page.listing))
    }

    /// Rises with every change.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// The servers as a snapshot takes them.
    pub(crate) fn servers(&self) -> Vec<Server> {
        let server = |page: &Page| Server {
            entry: Arc::clone(&page.entry),
            listing: Arc::clone(&page.listing),
            availability: page.availability.clone(),
        };
        self.pages.values().map(server).collect()
    }
}

/// Whether a server in that state is asked for its lists.
fn is_asked(availability: &Availability) -> bool {
    match availability {
        Availability::Unlisted | Availability::Ready | Availability::Unavailable { .. } => true,
        Availability::AuthRequired | Availability::Suspended | Availability::Stopped => false,
    }
}

fn fresh_page(entry: &Arc<ServerEntry>, old: Option<Page>, opens: bool) -> Page {
    let availability = match entry.start {
        Start::Suspended => Availability::Suspended,
        Start::Boot | Start::Lazy if !opens => Availability::AuthRequired,
        Start::Boot | Start::Lazy => Availability::Unlisted,
    };
    let (listing, refresh, turn) = old.map_or_else(
        || (Arc::default(), Refresh::Idle, Turn::default()),
        // What it published for a principal is of no use to one that is not signed in.
        |page| {
            (
                if opens { page.listing } else { Arc::default() },
                page.refresh,
                page.turn,
            )
        },
    );
    Page {
        entry: Arc::clone(entry),
        listing,
        availability,
        refresh,
        turn,
        failures: 0,
        unchanged: 0,
    }
}

#[cfg(test)]
mod tests;
