//! The only orchestrator: one way for every call, one snapshot for every decision.

mod book;
mod call;
mod clock;
mod core_tools;
mod metrics;
mod narrowings;
mod outcome;
mod refresh;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use countersign_core::admit::{Rules, World};
use countersign_core::catalogue::{Catalogue, Naming, Parts};
use countersign_core::principal::{Caller, PrincipalKey};
use countersign_core::server::ServerEntry;
use countersign_core::stages::{Pins, Rights, WriteGate};
use countersign_core::toolset::Presets;
use countersign_sandbox::Scripts;
use countersign_store::{Ledger, Note};
use countersign_upstream::Upstreams;
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore, broadcast, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use countersign_upstream::{Abilities, Passage, Reply, Settings as UpstreamSettings, Tasks, ToCaller};
pub use outcome::{Change, Outcome, Provenance, Readiness, Refused, ServerReadiness};

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
    /// The configuration in force, masked, for `core_config_get`.
    pub shown: Arc<serde_json::Value>,
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
    catalogue: ArcSwap<Catalogue>,
    rules: ArcSwap<Rules>,
    narrowings: narrowings::Narrowings,
    scripts: Scripts,
    ledger: Ledger,
    metrics: metrics::CallMetrics,
    upstreams: Upstreams,
    book: Mutex<book::Book>,
    gathering: Mutex<BTreeSet<countersign_core::names::ServerName>>,
    settled: AtomicBool,
    /// The book's revision that the snapshot in force shows.
    revision: AtomicU64,
    dirty: Notify,
    /// A place for each server that may be listed at the same time as others.
    places: Semaphore,
    published: watch::Sender<u64>,
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
        let (upstreams, events) = Upstreams::new(settings.upstream.clone());
        let empty = Parts {
            version: 0,
            naming: settings.naming.clone(),
            servers: Vec::new(),
        };
        let shared = Shared {
            rules: ArcSwap::from_pointee(rules(&settings)),
            settings: ArcSwap::from_pointee(settings),
            catalogue: ArcSwap::from_pointee(Catalogue::build(empty)),
            narrowings: narrowings::Narrowings::default(),
            scripts: Scripts::None {
                because: "this gateway runs no scripts",
            },
            ledger,
            metrics: metrics::CallMetrics::new(),
            upstreams,
            book: Mutex::default(),
            gathering: Mutex::default(),
            settled: AtomicBool::new(false),
            revision: AtomicU64::new(0),
            dirty: Notify::new(),
            places: Semaphore::new(LISTED_AT_ONCE),
            published: watch::Sender::new(0),
            changes: broadcast::Sender::new(CHANGES),
            configuration_error: Mutex::new(None),
            tasks: TaskTracker::new(),
            runtime: Handle::current(),
            stop: CancellationToken::new(),
        };
        let engine = Arc::new(Self {
            shared: Arc::new(shared),
        });
        engine.shared.upstreams.apply(entries);
        let due = engine.shared.with_book(|book| book.apply(entries));
        // Before the first caller: a server that still starts is no unknown one.
        engine.shared.publish_now();
        engine.start_loops(events);
        for server in due {
            engine.refresh(server);
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
        self.shared.upstreams.apply(entries);
        let due = self.shared.with_book(|book| book.apply(entries));
        self.shared.republish();
        for server in due {
            self.refresh(server);
        }
    }

    /// One instant, one view: what this caller has, within its toolset.
    #[must_use]
    pub fn world(&self, caller: &Caller) -> World {
        let catalogue = self.catalogue();
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
        self.listed().await;
        self.world(caller)
    }

    /// The snapshot in force, for what no caller asks.
    #[must_use]
    pub fn catalogue(&self) -> Arc<Catalogue> {
        self.shared.catalogue.load_full()
    }

    /// As [`Engine::catalogue`], when every server has been tried, as for [`Engine::listing_world`].
    pub async fn listed_catalogue(&self) -> Arc<Catalogue> {
        self.listed().await;
        self.catalogue()
    }

    async fn listed(&self) {
        if self.is_pending() {
            self.wait_until_listed().await;
        }
    }

    /// Whether a listing would still have to wait.
    pub(crate) fn is_pending(&self) -> bool {
        !self.shared.settled.load(Ordering::Acquire)
    }

    pub(crate) async fn wait_until_listed(&self) {
        for server in self.shared.with_book(|book| book.lazy()) {
            self.refresh(server);
        }
        let limit = self.shared.settings.load().upstream.connect_timeout;
        let mut published = self.shared.published.subscribe();
        let listed = published.wait_for(|published| self.shared.is_settled_at(*published));
        if tokio::time::timeout(limit, listed).await.is_err() {
            tracing::warn!("some servers are still starting; the listing goes on without them");
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

/// What is in force: the stages whose rules are not part of this version allow, and say why.
fn rules(settings: &Settings) -> Rules {
    Rules {
        rights: Rights::Open {
            because: "no authz.yaml, and only loopback can connect",
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
