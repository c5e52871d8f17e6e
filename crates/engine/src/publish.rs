//! From books to snapshots: builds one whenever a book has changed, and tells callers which lists differ.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use countersign_core::catalogue::{Catalogue, Finding, Parts};
use countersign_core::names::ServerName;
use countersign_core::principal::PrincipalKey;
use countersign_core::toolset;
use tokio::time::Instant;

use crate::Shared;
use crate::lists::Lists;
use crate::outcome::Change;
use crate::views::Own;

/// What callers were told of last, and until when they are told nothing more.
#[derive(Debug)]
pub(crate) struct Told {
    catalogue: Arc<Catalogue>,
    quiet: Option<Instant>,
    untold: bool,
}

impl Told {
    /// Callers know what a snapshot shows.
    pub(crate) fn of(catalogue: Arc<Catalogue>) -> Self {
        Self {
            catalogue,
            quiet: None,
            untold: false,
        }
    }

    /// What callers know.
    pub(crate) fn catalogue(&self) -> &Arc<Catalogue> {
        &self.catalogue
    }

    /// Callers know what another snapshot shows.
    pub(crate) fn knows(&mut self, catalogue: Arc<Catalogue>) {
        self.catalogue = catalogue;
    }

    /// Tells callers which of their lists differ from what they were told of last: at once, and then not again
    /// within the debounce. A list that changed and changed back meanwhile has not changed.
    fn tell(&mut self, shared: &Shared, now: &Arc<Catalogue>, to: Option<&PrincipalKey>) {
        if self.quiet.is_some_and(|quiet| Instant::now() < quiet) {
            self.untold = true;
            return;
        }
        self.untold = false;
        let before = std::mem::replace(&mut self.catalogue, Arc::clone(now));
        if Arc::ptr_eq(&before, now) {
            return;
        }
        let to = || to.cloned();
        let changes = [
            (!before.shows_same_tools(now), Change::Tools { to: to() }),
            (!before.shows_same_prompts(now), Change::Prompts { to: to() }),
            (!before.shows_same_resources(now), Change::Resources { to: to() }),
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

/// Whose snapshot is kept current.
#[derive(Debug, Clone)]
pub(crate) enum Whose {
    /// That of everybody who signed in nowhere.
    Everybody,
    /// One principal's.
    One(Arc<Own>),
}

impl Whose {
    fn lists<'s>(&'s self, shared: &'s Shared) -> &'s Arc<Lists> {
        match self {
            Self::Everybody => &shared.base,
            Self::One(own) => &own.lists,
        }
    }

    fn in_force(&self, shared: &Shared) -> Arc<Catalogue> {
        match self {
            Self::Everybody => shared.views.base(),
            Self::One(own) => own.catalogue().unwrap_or_else(|| shared.views.base()),
        }
    }

    fn build(&self, shared: &Shared) {
        match self {
            Self::Everybody => shared.publish_base(),
            Self::One(own) => shared.publish_own(own),
        }
    }

    fn tell(&self, shared: &Shared) {
        let lists = self.lists(shared);
        let mut told = lists.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.tell(shared, &self.in_force(shared), lists.whose.as_ref());
    }
}

/// Builds and publishes a snapshot whenever the book has changed; bursts become one.
pub(crate) async fn publish(shared: Arc<Shared>, whose: Whose) {
    let lists = Arc::clone(whose.lists(&shared));
    loop {
        let due = lists.told.lock().unwrap_or_else(PoisonError::into_inner).due();
        let is_new = tokio::select! {
            () = lists.dirty.notified() => true,
            () = at(due) => false,
        };
        // One principal after the other: the next may find the snapshot that it needs already built.
        let _turn = match &whose {
            Whose::Everybody => None,
            Whose::One(_) => shared.builders.acquire().await.ok(),
        };
        // Off the threads that serve calls: building, comparing and freeing grow with the catalogue.
        let (here, of) = (Arc::clone(&shared), whose.clone());
        let done = tokio::task::spawn_blocking(move || {
            if is_new {
                of.build(&here);
            } else {
                of.tell(&here);
            }
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
    /// Puts a snapshot of the shared book in force, and has those that build on it built anew.
    pub(crate) fn publish_base(&self) {
        let (revision, servers) = self.base.with_book(|book| (book.revision(), book.servers()));
        let before = self.views.base();
        let next = before.next(Parts {
            version: self.views.next_version(),
            naming: self.settings.load().naming.clone(),
            servers,
            workflows: Arc::clone(&self.settings.load().workflows.sound),
        });
        let idle = toolset::idle_rules(&next, &self.rules.load().presets);
        let next = Arc::new(next.with_findings(idle));
        self.views.put_base(&next);
        log_findings(before.findings(), next.findings());
        drop(before);
        Whose::Everybody.tell(self);
        self.base.shown(revision);
        for own in self.views.all() {
            own.lists.republish();
        }
    }

    /// Puts a principal's own snapshot in force: the shared one, with the servers that it signed in to.
    fn publish_own(&self, own: &Arc<Own>) {
        let (revision, is_open, pages) = own
            .lists
            .with_book(|book| (book.revision(), book.is_open(), book.servers()));
        let base = self.views.base();
        let before = own.catalogue();
        let next = is_open.then(|| self.views.merged(&base, pages, before.as_ref()));
        if before.is_none() {
            // Until now the principal was told what everybody is told.
            let known = self.base.told.lock().unwrap_or_else(PoisonError::into_inner);
            let known = Arc::clone(known.catalogue());
            let mut told = own.lists.told.lock().unwrap_or_else(PoisonError::into_inner);
            told.knows(known);
        }
        let is_own = before.is_some() || next.is_some();
        own.put(next, &base);
        if is_own {
            Whose::One(Arc::clone(own)).tell(self);
        }
        own.lists.shown(revision);
    }

    pub(crate) fn announce(&self, change: Change) {
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
