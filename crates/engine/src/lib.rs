//! The only orchestrator: one way for every call, one snapshot for every decision.

mod book;
mod call;
mod clock;
mod core_tools;
mod links;
mod lists;
mod metrics;
mod narrowings;
mod outcome;
mod publish;
mod refresh;
mod sessions;
mod sign_in;
mod views;
mod weigh;
mod workflows;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use countersign_core::admit::{Rules, World};
use countersign_core::catalogue::{Catalogue, Naming};
use countersign_core::names::ServerName;
use countersign_core::principal::{Caller, PrincipalKey};
use countersign_core::server::ServerEntry;
use countersign_core::stages::{Pins, Rights, WriteGate};
use countersign_core::toolset::Presets;
use countersign_sandbox::Scripts;
use countersign_store::{Ledger, Note};
use countersign_upstream::Upstreams;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, broadcast};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use countersign_store::{Bind, Binding, Bound, Unbound};
pub use countersign_upstream::{
    Abilities, BadKey, Messages, Passage, Reply, Settings as UpstreamSettings, Tasks, ToCaller, VaultKey, Way, way,
};
pub use outcome::{Change, Outcome, Provenance, Readiness, Refused, ServerReadiness};
pub use sign_in::{AskedBy, AuthRequired, CALLBACK, CLIENT, Callback, Invitation, START, SignedIn, Stuck};
pub use views::Kept;
pub use workflows::{SetAside, Workflows};

/// What the engine is started with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How exposed names are made.
    pub naming: Naming,
    /// Limits for upstreams; read once, at the start.
    pub upstream: UpstreamSettings,
    /// The presets that toolsets may name.
    pub presets: Arc<Presets>,
    /// Whose connections list the servers.
    pub listed_as: PrincipalKey,
    /// How long a burst of list changes is gathered before one re-list.
    pub debounce: Duration,
    /// Where people reach the gateway's own pages, without a slash at the end: `public_url`, else the loopback
    /// listener. `None` where it has none.
    pub pages: Option<String>,
    /// The configuration in force, masked, for `core_config_get`.
    pub shown: Arc<serde_json::Value>,
    /// The workflows.
    pub workflows: Workflows,
    /// Hash of the configuration in force, hex.
    pub hash: String,
}

/// How many changes a slow listener may lag behind before it loses the oldest.
const CHANGES: usize = 256;

/// How many servers are started and listed at once: enough that a few dead ones hold up nobody, and few
/// enough that a large fleet does not start all its processes in one moment.
const LISTED_AT_ONCE: usize = 64;

/// The engine; shared by all edges.
#[derive(Debug)]
pub struct Engine {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    settings: ArcSwap<Settings>,
    views: views::Views,
    rules: ArcSwap<Rules>,
    narrowings: narrowings::Narrowings,
    scripts: Scripts,
    ledger: Ledger,
    metrics: metrics::CallMetrics,
    upstreams: Upstreams,
    /// The servers that are listed once for all.
    base: Arc<lists::Lists>,
    links: links::Links,
    /// A place for each server that may be listed at the same time as others.
    places: Semaphore,
    /// The same for servers that are listed for one principal.
    own_places: Semaphore,
    /// Whoever builds a principal's own snapshot holds it.
    builders: Semaphore,
    changes: broadcast::Sender<Change>,
    configuration_error: Mutex<Option<String>>,
    tasks: TaskTracker,
    /// Where the tasks run.
    runtime: Handle,
    stop: CancellationToken,
}

impl Engine {
    /// Starts the engine over a set of entries: servers with `Start::Boot` begin to connect at once.
    #[must_use]
    pub fn start(settings: Settings, entries: &[Arc<ServerEntry>], ledger: Ledger) -> Arc<Self> {
        let (upstreams, events) = Upstreams::new(settings.upstream.clone(), ledger.clone());
        let views = views::Views::new(settings.naming.clone());
        let stop = CancellationToken::new();
        let shared = Shared {
            base: Arc::new(lists::Lists::new(None, views.base(), stop.clone())),
            views,
            links: links::Links::default(),
            rules: ArcSwap::from_pointee(rules(&settings)),
            settings: ArcSwap::from_pointee(settings),
            narrowings: narrowings::Narrowings::default(),
            scripts: Scripts::None {
                because: "this gateway runs no scripts",
            },
            ledger,
            metrics: metrics::CallMetrics::new(),
            upstreams,
            places: Semaphore::new(LISTED_AT_ONCE),
            own_places: Semaphore::new(LISTED_AT_ONCE),
            builders: Semaphore::new(1),
            changes: broadcast::Sender::new(CHANGES),
            configuration_error: Mutex::new(None),
            tasks: TaskTracker::new(),
            runtime: Handle::current(),
            stop,
        };
        let engine = Arc::new(Self {
            shared: Arc::new(shared),
        });
        let due = engine.shared.take_over(entries);
        // Before the first caller: a server that still starts is no unknown one.
        engine.shared.publish_base();
        engine.start_loops(events);
        for server in due {
            engine.refresh(&engine.shared.base, server);
        }
        engine
    }

    /// Takes over an edited configuration; servers whose entry did not change are not touched.
    pub fn apply(&self, settings: Settings, entries: &[Arc<ServerEntry>]) {
        // The same presets stay the same rules, so that what was narrowed by them is still known.
        let rules = rules(&settings);
        if **self.shared.rules.load() != rules {
            self.shared.rules.store(Arc::new(rules));
        }
        self.shared.settings.store(Arc::new(settings));
        self.take_over(entries);
        self.report_configuration_error(None);
    }

    fn take_over(&self, entries: &[Arc<ServerEntry>]) {
        let due = self.shared.take_over(entries);
        self.shared.base.republish();
        for server in due {
            self.refresh(&self.shared.base, server);
        }
        self.shared.apply_to_all();
    }

    /// One instant, one view: what this caller has, within its toolset.
    #[must_use]
    pub fn world(&self, caller: &Caller) -> World {
        let catalogue = self.catalogue_of(caller);
        let rules = self.shared.rules.load_full();
        let view = self.shared.narrowings.view(&caller.toolset, &catalogue, &rules.presets);
        World {
            catalogue,
            rules,
            view,
            now: clock::now(),
        }
    }

    /// As [`Engine::world`], after every server that a listing needs has been listed or has failed
    /// once (at most the connect timeout; servers that start lazily are started by this). Once a
    /// server has been tried, nobody waits for it again.
    pub async fn listing_world(&self, caller: &Caller) -> World {
        self.listed(caller).await;
        self.world(caller)
    }

    /// The snapshot in force of everybody who signed in nowhere, for what no caller asks.
    #[must_use]
    pub fn catalogue(&self) -> Arc<Catalogue> {
        self.shared.views.base()
    }

    /// The snapshot in force of one caller, whatever its toolset.
    #[must_use]
    pub fn catalogue_of(&self, caller: &Caller) -> Arc<Catalogue> {
        self.shared.views.of(caller.principal.key())
    }

    /// As [`Engine::catalogue`], when every server has been tried, as for [`Engine::listing_world`].
    pub async fn listed_catalogue(&self) -> Arc<Catalogue> {
        self.until_listed(None).await;
        self.catalogue()
    }

    /// As [`Engine::catalogue_of`], when every server has been tried, as for [`Engine::listing_world`].
    pub(crate) async fn listed_catalogue_of(&self, caller: &Caller) -> Arc<Catalogue> {
        self.listed(caller).await;
        self.catalogue_of(caller)
    }

    async fn listed(&self, caller: &Caller) {
        let own = self.meet(&caller.principal);
        self.until_listed(own.as_deref()).await;
    }

    /// Whether a listing would still have to wait.
    pub(crate) fn is_pending(&self, own: Option<&views::Own>) -> bool {
        let views = &self.shared.views;
        self.shared.base.is_pending() || own.is_some_and(|own| own.lists.is_pending() || !views.is_current(own))
    }

    /// Waits until what everybody shares is listed, and what the principal has of its own.
    pub(crate) async fn until_listed(&self, own: Option<&views::Own>) {
        if self.shared.base.is_pending() {
            Box::pin(self.wait_until_listed(&self.shared.base, || true)).await;
        }
        let views = &self.shared.views;
        if let Some(own) = own.filter(|own| own.lists.is_pending() || !views.is_current(own)) {
            Box::pin(self.wait_until_listed(&own.lists, || views.is_current(own))).await;
        }
    }

    /// Says that an edit on disk is broken and the snapshot before it stays in force (`None`: mended).
    pub fn report_configuration_error(&self, error: Option<String>) {
        *self
            .shared
            .configuration_error
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = error;
    }

    /// Records something that is refused before it is a call.
    pub fn note(&self, refused: Refused) {
        let Refused {
            principal,
            kind,
            method,
            subject,
            reason,
        } = refused;
        self.record(Note {
            at: clock::now(),
            principal,
            kind,
            origin: "edge",
            method,
            subject,
            reason,
        });
    }

    /// What callers are told of, from now on.
    #[must_use]
    pub fn changes(&self) -> broadcast::Receiver<Change> {
        self.shared.changes.subscribe()
    }

    /// Whether the gateway can do its work now: a snapshot is in force and the ledger takes a write.
    pub async fn readiness(&self) -> Readiness {
        let writable = self.shared.ledger.writable().await;
        let catalogue = self.catalogue();
        let mut tools: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
        for tool in catalogue.tools() {
            for server in tool.servers() {
                *tools.entry(server.as_str()).or_default() += 1;
            }
        }
        let server = |server: &countersign_core::catalogue::Server| ServerReadiness {
            name: server.entry.name.to_string(),
            availability: server.availability.clone(),
            tools: tools.get(server.entry.name.as_str()).copied().unwrap_or_default(),
            signed_in: server
                .entry
                .auth
                .is_on()
                .then(|| self.shared.views.signed_in(&server.entry.name)),
        };
        Readiness {
            ready: writable.is_ok(),
            reason: writable.err().map(|error| error.to_string()),
            configuration: self.shared.settings.load().hash.clone(),
            configuration_error: self
                .shared
                .configuration_error
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
            servers: catalogue.servers().iter().map(server).collect(),
            findings: catalogue.findings().to_vec(),
        }
    }

    /// Makes the counts of decisions and outcomes part of a registry.
    pub fn register_metrics(&self, registry: &mut prometheus_client::registry::Registry) {
        self.shared.metrics.register(registry);
    }

    /// Ends every task, connection and child process; writes out the ledger.
    pub async fn shutdown(&self) {
        self.shared.stop.cancel();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
        self.shared.upstreams.shutdown().await;
        self.shared.ledger.close().await;
    }
}

impl Shared {
    /// Takes over a set of entries; says which of the servers that all share are to be listed.
    fn take_over(&self, entries: &[Arc<ServerEntry>]) -> Vec<ServerName> {
        self.upstreams.apply(entries);
        self.views.apply(entries);
        self.base
            .with_book(|book| book.apply(entries, |entry| !entry.auth.is_on()))
    }
}

/// What is in force: the stages whose rules are not part of this version allow, and say why.
fn rules(settings: &Settings) -> Rules {
    Rules {
        rights: Rights::Open {
            because: "no authz.yaml: who is let in may call what it can discover",
        },
        pins: Pins::Off {
            because: "definitions are served as published",
        },
        gate: WriteGate::Off {
            because: "no write gate is configured",
        },
        presets: Arc::clone(&settings.presets),
    }
}
