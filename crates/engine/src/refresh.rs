//! Keeps books current: lists servers, retries those that failed, follows what they announce.

use std::sync::Arc;
use std::time::Duration;

use countersign_core::listing::Listing;
use countersign_core::names::ServerName;
use countersign_core::principal::PrincipalKey;
use countersign_core::server::ServerEntry;
use countersign_upstream::{Error, Event};
use tokio::sync::mpsc;

use crate::book::{Next, Unlisted};
use crate::lists::Lists;
use crate::outcome::Change;
use crate::publish::{self, Whose};
use crate::{Engine, Shared};

/// The wait after the first failed listing; it doubles up to [`RETRY_MOST`].
const RETRY_FIRST: Duration = Duration::from_millis(500);
/// The longest time that announcements of one server are gathered.
const GATHER_MOST: Duration = Duration::from_secs(5);
/// The longest wait between two tries of a server that fails.
const RETRY_MOST: Duration = Duration::from_secs(30);

impl Engine {
    /// Starts a listing of a server unless one is under way.
    pub(crate) fn refresh(&self, lists: &Arc<Lists>, server: ServerName) {
        self.shared.refresh(lists, server);
    }

    /// Starts the tasks that live as long as the engine.
    pub(crate) fn start_loops(&self, events: mpsc::Receiver<Event>) {
        let shared = &self.shared;
        shared.spawn(&shared.base, publish::publish(Arc::clone(shared), Whose::Everybody));
        shared.spawn(&shared.base, follow(Arc::clone(shared), events));
        shared.spawn(&shared.base, crate::views::forget_unused(Arc::clone(shared)));
    }

    /// Waits until every server of some lists was listed or has failed once, at most the connect timeout;
    /// those that start with the first use are started by this. And until the snapshot `is_current` in other ways.
    pub(crate) async fn wait_until_listed(&self, lists: &Arc<Lists>, is_current: impl Fn() -> bool) {
        for server in lists.with_book(|book| book.lazy()) {
            self.refresh(lists, server);
        }
        let limit = self.shared.settings.load().upstream.connect_timeout;
        let mut published = lists.published.subscribe();
        let listed = published.wait_for(|published| lists.is_settled_at(*published) && is_current());
        // What a principal has of its own may be forgotten meanwhile.
        let listed = lists.stop.run_until_cancelled(listed);
        if tokio::time::timeout(limit, listed).await.is_err() {
            tracing::warn!("some servers are still starting; the listing goes on without them");
        }
    }

    /// A call could not be sent although its server counts as ready: listing it shows how it stands.
    pub(crate) fn doubt(&self, principal: &PrincipalKey, server: &ServerName) {
        let lists = self.shared.lists_of(server, Some(principal));
        if let Some(lists) = lists.filter(|lists| lists.with_book(|book| book.is_ready(server))) {
            relist(&self.shared, &lists, server.clone());
        }
    }
}

impl Shared {
    /// Starts a listing of a server unless one is under way.
    pub(crate) fn refresh(self: &Arc<Self>, lists: &Arc<Lists>, server: ServerName) {
        self.spawn(lists, list(Arc::clone(self), Arc::clone(lists), server));
    }

    /// Runs a task as long as the lists are kept.
    pub(crate) fn spawn(&self, lists: &Lists, task: impl Future<Output = ()> + Send + 'static) {
        // Whoever asks for it may run where connections are served, and a long listing would hold them up.
        self.tasks
            .spawn_on(lists.stop.clone().run_until_cancelled_owned(task), &self.runtime);
    }

    /// The lists that a server's listing goes into: its own connection's principal's where each signs in.
    fn lists_of(&self, server: &ServerName, principal: Option<&PrincipalKey>) -> Option<Arc<Lists>> {
        if !self.views.asks_for_sign_in(server) {
            return Some(Arc::clone(&self.base));
        }
        let own = self.views.find(principal?)?;
        Some(Arc::clone(&own.lists))
    }
}

/// Lists one server, again while changes are announced, and later again while it fails.
async fn list(shared: Arc<Shared>, lists: Arc<Lists>, server: ServerName) {
    let mut after = None;
    loop {
        let Some((entry, turn)) = lists.with_book(|book| book.begin(&server, after)) else {
            return;
        };
        let listed = ask(&shared, &lists, &entry).await;
        log_listing(&entry, &listed);
        let next = lists.with_book(|book| book.end(&entry, listed));
        lists.republish();
        let wait = match next {
            Next::Rest => return,
            Next::Again(unchanged) => gather_for(shared.settings.load().debounce, unchanged),
            Next::Retry(failures) => retry_wait(failures),
        };
        tokio::time::sleep(wait).await;
        after = Some(turn);
    }
}

/// Asks a server for its lists, over the connection of whose they are.
async fn ask(shared: &Shared, lists: &Lists, entry: &ServerEntry) -> Result<Arc<Listing>, Unlisted> {
    let server = &entry.name;
    let known = lists.with_book(|book| book.listing(server));
    // A server that keeps one principal's listing waiting does not hold up those that all share.
    let (places, listed_as, known) = match &lists.whose {
        None => (&shared.places, shared.settings.load().listed_as.clone(), known),
        Some(principal) => (
            &shared.own_places,
            principal.clone(),
            shared.views.known_to_others(entry, known),
        ),
    };
    let place = places.acquire().await;
    let listed = shared.upstreams.list_again(server, &listed_as, &known).await;
    drop(place);
    match listed {
        Ok(listing) if lists.whose.is_some() => Ok(shared.views.shared_listing(entry, listing)),
        Ok(listing) => Ok(Arc::new(listing)),
        Err(Error::AuthRequired { .. }) => Err(Unlisted::AuthRequired),
        Err(error @ (Error::Unknown(_) | Error::Unavailable { .. })) => Err(Unlisted::Unavailable {
            reason: error.reason().to_owned(),
        }),
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

fn log_listing(entry: &ServerEntry, listed: &Result<Arc<Listing>, Unlisted>) {
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
        Err(Unlisted::Unavailable { reason }) => tracing::warn!(server, %reason, "server unavailable"),
        Err(Unlisted::AuthRequired) => tracing::info!(server, "server asks for a sign-in"),
    }
}

/// Acts on what servers say of their own accord.
async fn follow(shared: Arc<Shared>, mut events: mpsc::Receiver<Event>) {
    while let Some(event) = events.recv().await {
        match event {
            Event::ListChanged { server, principal } => {
                if let Some(lists) = shared.lists_of(&server, principal.as_ref()) {
                    relist(&shared, &lists, server);
                }
            }
            Event::Down {
                server,
                principal,
                reason,
            } => {
                tracing::warn!(%server, %reason, "connection ended");
                if let Some(lists) = shared.lists_of(&server, principal.as_ref()) {
                    lists.with_book(|book| book.down(&server, &reason));
                    lists.republish();
                    relist(&shared, &lists, server);
                }
            }
            Event::ResourceUpdated {
                server,
                principal,
                params,
            } => {
                if let Some(uri) = uri_of(params.get()) {
                    shared.announce(Change::ResourceUpdated {
                        server,
                        principal,
                        uri,
                        params,
                    });
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

/// Lists a server after the debounce; what is announced meanwhile is part of that listing.
fn relist(shared: &Arc<Shared>, lists: &Arc<Lists>, server: ServerName) {
    if !lists.gather(&server) {
        return;
    }
    let (task, of) = (Arc::clone(shared), Arc::clone(lists));
    shared.spawn(lists, async move {
        let unchanged = of.with_book(|book| book.unchanged(&server));
        tokio::time::sleep(gather_for(task.settings.load().debounce, unchanged)).await;
        of.gathered(&server);
        list(task, of, server).await;
    });
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
