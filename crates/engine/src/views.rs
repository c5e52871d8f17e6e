//! One catalogue per principal that signed in somewhere, beside the one that all others share.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, ArcSwapOption};
use countersign_core::catalogue::{Availability, Catalogue, Naming, Parts, Server};
use countersign_core::exact::Digest;
use countersign_core::listing::Listing;
use countersign_core::names::ServerName;
use countersign_core::principal::{Principal, PrincipalKey};
use countersign_core::secret::Secret;
use countersign_core::server::ServerEntry;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::lists::Lists;
use crate::publish::{self, Whose};
use crate::{Engine, Shared};

/// How many listings of one server are remembered, so that principals who are shown the same share them.
const REMEMBERED: usize = 16;

/// The longest time between two looks for principals that nobody uses any more.
const LOOK: Duration = Duration::from_secs(60);

/// What one principal has of its own: the servers that ask for a sign-in, as they stand for it.
#[derive(Debug)]
pub(crate) struct Own {
    pub(crate) principal: Arc<Principal>,
    pub(crate) lists: Arc<Lists>,
    /// `None` while it is signed in nowhere: it sees what everybody sees.
    catalogue: ArcSwapOption<Catalogue>,
    /// The version of the shared snapshot that its own builds on.
    built_on: AtomicU64,
    /// How often somebody signed in.
    pub(crate) signed: watch::Sender<u64>,
    /// The digest of the token that it connected with last.
    brought: Mutex<Option<Digest>>,
    /// When it was used last, in milliseconds after the views were made.
    used: AtomicU64,
    /// How many streams wait for its changes.
    held: AtomicUsize,
}

impl Own {
    /// Its own snapshot, if it has one.
    pub(crate) fn catalogue(&self) -> Option<Arc<Catalogue>> {
        self.catalogue.load_full()
    }

    /// Notes the token that its principal connects with; says whether it is another than before.
    pub(crate) fn brings(&self, token: &Secret) -> bool {
        let digest = Digest::of(token.reveal().as_bytes());
        let mut brought = self.brought.lock().unwrap_or_else(PoisonError::into_inner);
        brought.replace(digest) != Some(digest)
    }

    /// Puts its own snapshot in force, which builds on a shared one.
    pub(crate) fn put(&self, catalogue: Option<Arc<Catalogue>>, base: &Catalogue) {
        self.catalogue.store(catalogue);
        self.built_on.store(base.version(), Ordering::Release);
    }
}

/// What a principal has of its own stays while this is held: somebody waits for its changes.
#[derive(Debug)]
pub struct Kept(Arc<Own>);

impl Drop for Kept {
    fn drop(&mut self) {
        self.0.held.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What is in force: the shared snapshot, and who has more than that.
#[derive(Debug, Clone)]
struct Front {
    base: Arc<Catalogue>,
    own: Arc<HashMap<PrincipalKey, Arc<Own>>>,
}

/// Snapshots that several principals share, since they are made of the same.
#[derive(Debug, Default)]
struct Twins {
    /// The shared snapshot that they build on.
    base: Weak<Catalogue>,
    built: HashMap<u64, Weak<Catalogue>>,
}

/// All snapshots in force.
#[derive(Debug)]
pub(crate) struct Views {
    front: ArcSwap<Front>,
    /// Whether some server asks for a sign-in. Without one no principal has anything of its own.
    asks: AtomicBool,
    entries: ArcSwap<Vec<Arc<ServerEntry>>>,
    versions: AtomicU64,
    /// Held while a principal is added or taken away.
    adding: Mutex<()>,
    twins: Mutex<Twins>,
    listings: Mutex<HashMap<ServerName, Listings>>,
    born: Instant,
}

/// What principals were shown by one server lately.
#[derive(Debug, Default)]
struct Listings {
    entry: Option<Digest>,
    known: Vec<Weak<Listing>>,
}

impl Views {
    /// Nobody has more than an empty snapshot.
    pub(crate) fn new(naming: Naming) -> Self {
        let base = Arc::new(Catalogue::build(Parts {
            version: 0,
            naming,
            servers: Vec::new(),
            workflows: Arc::default(),
        }));
        let own = Arc::default();
        Self {
            front: ArcSwap::from_pointee(Front { base, own }),
            asks: AtomicBool::new(false),
            entries: ArcSwap::default(),
            versions: AtomicU64::new(0),
            adding: Mutex::default(),
            twins: Mutex::default(),
            listings: Mutex::default(),
            born: Instant::now(),
        }
    }

    /// The snapshot of everybody who signed in nowhere.
    pub(crate) fn base(&self) -> Arc<Catalogue> {
        Arc::clone(&self.front.load().base)
    }

    /// What a principal sees. Its cost does not grow with their number.
    pub(crate) fn of(&self, principal: &PrincipalKey) -> Arc<Catalogue> {
        let front = self.front.load();
        if front.own.is_empty() {
            return Arc::clone(&front.base);
        }
        let own = front.own.get(principal).and_then(|own| own.catalogue());
        own.unwrap_or_else(|| Arc::clone(&front.base))
    }

    /// Whether a principal sees more than everybody sees.
    pub(crate) fn has_own(&self, principal: &PrincipalKey) -> bool {
        let front = self.front.load();
        front
            .own
            .get(principal)
            .is_some_and(|own| own.catalogue.load().is_some())
    }

    /// What a principal has of its own.
    pub(crate) fn find(&self, principal: &PrincipalKey) -> Option<Arc<Own>> {
        self.front.load().own.get(principal).cloned()
    }

    /// Whether a principal's own snapshot shows what everybody shares as it is now.
    pub(crate) fn is_current(&self, own: &Own) -> bool {
        own.catalogue.load().is_none() || own.built_on.load(Ordering::Acquire) == self.front.load().base.version()
    }

    /// Everybody who has something of its own.
    pub(crate) fn all(&self) -> Vec<Arc<Own>> {
        self.front.load().own.values().cloned().collect()
    }

    /// How many principals, of those that were served lately, are signed in to a server.
    pub(crate) fn signed_in(&self, server: &ServerName) -> usize {
        let is_in = |own: &&Arc<Own>| own.lists.with_book(|book| book.is_open_at(server));
        self.all().iter().filter(is_in).count()
    }

    /// Whether some server asks for a sign-in.
    pub(crate) fn asks(&self) -> bool {
        self.asks.load(Ordering::Relaxed)
    }

    /// Whether that server asks for a sign-in.
    pub(crate) fn asks_for_sign_in(&self, server: &ServerName) -> bool {
        self.asks() && self.entries.load().iter().any(|entry| entry.name == *server)
    }

    /// The servers that ask for a sign-in.
    pub(crate) fn entries(&self) -> Arc<Vec<Arc<ServerEntry>>> {
        self.entries.load_full()
    }

    /// The entry of a server that asks for a sign-in.
    pub(crate) fn entry(&self, server: &ServerName) -> Option<Arc<ServerEntry>> {
        self.entries.load().iter().find(|entry| entry.name == *server).cloned()
    }

    /// Takes over which servers ask for a sign-in.
    pub(crate) fn apply(&self, entries: &[Arc<ServerEntry>]) {
        let asking: Vec<Arc<ServerEntry>> = entries.iter().filter(|entry| entry.auth.is_on()).cloned().collect();
        self.asks.store(!asking.is_empty(), Ordering::Relaxed);
        self.entries.store(Arc::new(asking));
    }

    /// The number of the next snapshot, whosever it is.
    pub(crate) fn next_version(&self) -> u64 {
        self.versions.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Puts the shared snapshot in force.
    pub(crate) fn put_base(&self, base: &Arc<Catalogue>) {
        self.front.rcu(|front| Front {
            base: Arc::clone(base),
            own: Arc::clone(&front.own),
        });
    }

    fn edit(&self, edit: impl Fn(&mut HashMap<PrincipalKey, Arc<Own>>)) {
        self.front.rcu(|front| {
            let mut own = HashMap::clone(&front.own);
            edit(&mut own);
            Front {
                base: Arc::clone(&front.base),
                own: Arc::new(own),
            }
        });
    }

    fn now(&self) -> u64 {
        u64::try_from(self.born.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn is_unused(&self, own: &Own, for_long: Duration) -> bool {
        let unused = self.now().saturating_sub(own.used.load(Ordering::Relaxed));
        own.held.load(Ordering::Acquire) == 0 && Duration::from_millis(unused) >= for_long
    }

    /// The shared snapshot with a principal's own pages in place of those that ask for a sign-in. Principals
    /// whose pages show the same get the same snapshot.
    pub(crate) fn merged(
        &self,
        base: &Arc<Catalogue>,
        pages: Vec<Server>,
        before: Option<&Arc<Catalogue>>,
    ) -> Arc<Catalogue> {
        let servers = merged(base, pages);
        let key = key_of(&servers);
        if let Some(twin) = self.twin(base, key).filter(|twin| is_made_of(twin, &servers)) {
            return twin;
        }
        let parts = Parts {
            version: self.next_version(),
            naming: base.naming().clone(),
            servers,
            workflows: Arc::clone(base.workflows()),
        };
        let built = Arc::new(before.unwrap_or(base).next(parts));
        let mut twins = self.twins();
        if std::ptr::eq(twins.base.as_ptr(), Arc::as_ptr(base)) {
            twins.built.retain(|_, twin| twin.strong_count() > 0);
            twins.built.insert(key, Arc::downgrade(&built));
        }
        built
    }

    fn twin(&self, base: &Arc<Catalogue>, key: u64) -> Option<Arc<Catalogue>> {
        let mut twins = self.twins();
        // INVARIANT: a weak pointer keeps its allocation, so that an equal address is the same snapshot.
        if !std::ptr::eq(twins.base.as_ptr(), Arc::as_ptr(base)) {
            *twins = Twins {
                base: Arc::downgrade(base),
                built: HashMap::new(),
            };
        }
        twins.built.get(&key).and_then(Weak::upgrade)
    }

    fn twins(&self) -> MutexGuard<'_, Twins> {
        self.twins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A listing whose definitions need not be read again where they are the same: one's own, or another principal's.
    pub(crate) fn known_to_others(&self, entry: &ServerEntry, own: Arc<Listing>) -> Arc<Listing> {
        if *own != Listing::default() {
            return own;
        }
        let listings = self.listings.lock().unwrap_or_else(PoisonError::into_inner);
        let of_server = listings
            .get(&entry.name)
            .filter(|listings| listings.entry == Some(entry.digest));
        let latest = of_server.and_then(|listings| listings.known.iter().rev().find_map(Weak::upgrade));
        latest.unwrap_or(own)
    }

    /// A listing as all principals hold it who were shown the same.
    pub(crate) fn shared_listing(&self, entry: &ServerEntry, listing: Listing) -> Arc<Listing> {
        let mut listings = self.listings.lock().unwrap_or_else(PoisonError::into_inner);
        let of_server = listings.entry(entry.name.clone()).or_default();
        if of_server.entry != Some(entry.digest) {
            *of_server = Listings {
                entry: Some(entry.digest),
                known: Vec::new(),
            };
        }
        let mut known = of_server.known.iter().filter_map(Weak::upgrade);
        if let Some(same) = known.find(|known| **known == listing) {
            return same;
        }
        let listing = Arc::new(listing);
        of_server.known.retain(|known| known.strong_count() > 0);
        if of_server.known.len() >= REMEMBERED {
            of_server.known.remove(0);
        }
        of_server.known.push(Arc::downgrade(&listing));
        listing
    }
}

/// The servers of a snapshot, with those in place of which a principal has its own.
fn merged(base: &Catalogue, pages: Vec<Server>) -> Vec<Server> {
    let mut own: HashMap<ServerName, Server> = pages.into_iter().map(|page| (page.entry.name.clone(), page)).collect();
    let servers = base.servers().iter().map(|server| match server.availability {
        Availability::AuthRequired => own.remove(&server.entry.name).unwrap_or_else(|| server.clone()),
        Availability::Unlisted
        | Availability::Ready
        | Availability::Unavailable { .. }
        | Availability::Suspended
        | Availability::Stopped => server.clone(),
    });
    servers.collect()
}

/// Equal for servers that a snapshot could be shared for; [`is_made_of`] makes sure.
fn key_of(servers: &[Server]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for server in servers {
        Arc::as_ptr(&server.entry).hash(&mut hasher);
        Arc::as_ptr(&server.listing).hash(&mut hasher);
    }
    hasher.finish()
}

fn is_made_of(catalogue: &Catalogue, servers: &[Server]) -> bool {
    let same = |(one, other): (&Server, &Server)| {
        Arc::ptr_eq(&one.entry, &other.entry)
            && Arc::ptr_eq(&one.listing, &other.listing)
            && one.availability == other.availability
    };
    // Both stand by name.
    catalogue.servers().len() == servers.len() && catalogue.servers().iter().zip(servers).all(same)
}

impl Engine {
    /// What a principal has of its own, begun with its first request; `None` while no server asks for a sign-in.
    pub(crate) fn meet(&self, principal: &Arc<Principal>) -> Option<Arc<Own>> {
        let shared = &self.shared;
        if !shared.views.asks() {
            return None;
        }
        let own = match shared.views.find(principal.key()) {
            Some(own) => own,
            None => shared.add(principal),
        };
        own.used.store(shared.views.now(), Ordering::Relaxed);
        Some(own)
    }

    /// Keeps what a principal has of its own while somebody waits for its changes.
    #[must_use]
    pub fn keep(&self, principal: &Arc<Principal>) -> Option<Kept> {
        let own = self.meet(principal)?;
        own.held.fetch_add(1, Ordering::AcqRel);
        Some(Kept(own))
    }

    /// Whether some server asks for a sign-in.
    #[must_use]
    pub fn asks_for_sign_ins(&self) -> bool {
        self.shared.views.asks()
    }

    /// Whether a change is one of this principal's lists: its own, or the shared ones where it has none.
    #[must_use]
    pub fn concerns(&self, to: Option<&PrincipalKey>, principal: &PrincipalKey) -> bool {
        match to {
            Some(to) => to == principal,
            None => !self.shared.views.has_own(principal),
        }
    }
}

impl Shared {
    /// Begins what a principal has of its own: where a grant is kept, its servers are listed.
    fn add(self: &Arc<Self>, principal: &Arc<Principal>) -> Arc<Own> {
        let _adding = self.views.adding.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = self.views.find(principal.key()) {
            return own;
        }
        let own = Arc::new(self.fresh(principal));
        let due = own.lists.with_book(|book| {
            book.apply(&self.views.entries(), |entry| {
                self.is_signed_in(&entry.name, principal.key())
            })
        });
        let (revision, is_open) = own.lists.with_book(|book| (book.revision(), book.is_open()));
        if is_open {
            own.lists.republish();
        } else {
            own.lists.shown(revision);
        }
        let (key, added) = (principal.key().clone(), Arc::clone(&own));
        self.views.edit(|all| {
            all.insert(key.clone(), Arc::clone(&added));
        });
        self.spawn(
            &own.lists,
            publish::publish(Arc::clone(self), Whose::One(Arc::clone(&own))),
        );
        for server in due {
            self.refresh(&own.lists, server);
        }
        own
    }

    fn fresh(&self, principal: &Arc<Principal>) -> Own {
        let stop: CancellationToken = self.stop.child_token();
        Own {
            principal: Arc::clone(principal),
            lists: Arc::new(Lists::new(Some(principal.key().clone()), self.views.base(), stop)),
            catalogue: ArcSwapOption::empty(),
            built_on: AtomicU64::new(0),
            signed: watch::Sender::new(0),
            brought: Mutex::default(),
            used: AtomicU64::new(self.views.now()),
            held: AtomicUsize::new(0),
        }
    }

    /// Takes over edited entries for everybody who has something of its own.
    pub(crate) fn apply_to_all(self: &Arc<Self>) {
        let entries = self.views.entries();
        for own in self.views.all() {
            let key = own.principal.key();
            let due = own
                .lists
                .with_book(|book| book.apply(&entries, |entry| self.is_signed_in(&entry.name, key)));
            own.lists.republish();
            for server in due {
                self.refresh(&own.lists, server);
            }
        }
    }

    /// Lists a server anew for everybody who is signed in to it.
    pub(crate) fn relist_for_all(self: &Arc<Self>, server: &ServerName) {
        for own in self.views.all() {
            self.refresh(&own.lists, server.clone());
        }
    }

    fn forget(&self, own: &Arc<Own>) {
        let key = own.principal.key();
        self.views.edit(|all| {
            all.remove(key);
        });
        own.lists.stop.cancel();
        for entry in self.views.entries().iter() {
            self.upstreams.release(&entry.name, key);
        }
    }
}

/// Forgets, from time to time, what principals have of their own whom nobody has served for long. Their grants
/// stay, and their next request lists anew.
pub(crate) async fn forget_unused(shared: Arc<Shared>) {
    loop {
        let idle = shared.settings.load().upstream.idle;
        tokio::time::sleep((idle / 4).clamp(Duration::from_millis(10), LOOK)).await;
        for own in shared.views.all() {
            let _adding = shared.views.adding.lock().unwrap_or_else(PoisonError::into_inner);
            if shared.views.is_unused(&own, idle) {
                shared.forget(&own);
            }
        }
    }
}
