//! The wiring: a configuration folder becomes a ledger, an engine and an edge, until the end.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use countersign_config::{Config, Store};
use countersign_core::auth::Auth;
use countersign_core::catalogue::Naming;
use countersign_core::principal::Principal;
use countersign_core::server::ServerEntry;
use countersign_core::toolset::Selectors;
use countersign_edge::Edge;
use countersign_engine::Engine;
use countersign_store::Ledger;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::reload;

/// How long a burst of list changes of a server is gathered before one re-list.
const DEBOUNCE: Duration = Duration::from_millis(200);

/// How long a principal's own connection to a server may be unused before it is ended.
const IDLE: Duration = Duration::from_secs(30 * 60);

/// A folder that has been read, with its listeners bound; nothing is started yet.
#[derive(Debug)]
pub(crate) struct Gateway {
    pub(crate) dir: PathBuf,
    pub(crate) config: Config,
    pub(crate) address: SocketAddr,
    listener: TcpListener,
    metrics: Option<TcpListener>,
}

/// The variable that holds the key to what is kept of sign-ins to servers.
const VAULT_KEY: &str = "COUNTERSIGN_KEY";

/// The engine and the edge in front of it; a task follows the folder's edits.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) engine: Arc<Engine>,
    edge: Edge,
}

impl Gateway {
    /// Binds the addresses of the configuration; `listen` stands in for the configured one.
    pub(crate) async fn bind(dir: PathBuf, config: Config, listen: Option<SocketAddr>) -> Result<Self, Failure> {
        if let Some(asked) = listen.filter(|asked| !asked.ip().is_loopback() && config.identities.is_none()) {
            return Err(Failure::configuration(
                format_args!(
                    "--listen {asked} can be reached from other machines, and this gateway does not ask who calls"
                ),
                "use a loopback address such as 127.0.0.1:8090, or write an `identities.yaml` that says who may connect",
            ));
        }
        let asked = listen.unwrap_or(config.gateway.listen);
        let listener = TcpListener::bind(asked).await.map_err(|error| {
            taken(
                &error,
                "MCP address",
                asked,
                "choose another with --listen ADDR or `listen` in countersign.yaml, or stop the program that has it",
            )
        })?;
        let address = listener
            .local_addr()
            .map_err(|error| taken(&error, "MCP address", asked, "try again"))?;
        let metrics = match config.gateway.metrics_listen {
            None => None,
            Some(asked) => Some(TcpListener::bind(asked).await.map_err(|error| {
                taken(&error, "metrics address", asked, "choose another with `metrics: {listen: ADDR}` in countersign.yaml, or stop the program that has it")
            })?),
        };
        Ok(Self {
            dir,
            config,
            address,
            listener,
            metrics,
        })
    }

    /// Where MCP clients connect.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Starts the engine and the watch over the folder.
    pub(crate) fn start(&self, stop: &CancellationToken) -> Result<Running, Failure> {
        start(&self.dir, &self.config, Pages::Served(self.address), stop)
    }

    /// Serves until `stop`, then ends every connection and child process.
    pub(crate) async fn serve(self, running: Running, stop: Stop) -> Result<(), Failure> {
        let Running { engine, edge } = running;
        let served = edge.serve(self.listener, self.metrics, stop.token.clone());
        let end = tokio::select! {
            end = served => end,
            // A second signal does not wait for calls under way.
            () = stop.at_once() => Ok(()),
        };
        stop.token.cancel();
        engine.shutdown().await;
        end.map_err(|error| Failure::failed(format_args!("the MCP listener failed: {error}"), "the log says more"))
    }
}

/// Serves one client over stdin and stdout until its end.
pub(crate) async fn serve_stdio(
    dir: PathBuf,
    config: Config,
    toolset: Option<Selectors>,
    stop: Stop,
) -> Result<(), Failure> {
    let people = people(&config).await?;
    let pages = match &people {
        Some(listener) => Pages::Beside(listener.local_addr()?),
        None => Pages::Nowhere,
    };
    let Running { engine, edge } = start(&dir, &config, pages, &stop.token)?;
    let edge = edge.with_toolset(toolset);
    let served = edge.serve_stdio(tokio::io::stdin(), tokio::io::stdout(), stop.token.clone());
    let shown = async {
        match people {
            Some(listener) => edge.serve_people(listener, stop.token.clone()).await,
            None => std::future::pending().await,
        }
    };
    let end = tokio::select! {
        end = served => end,
        end = shown => end,
        () = stop.at_once() => Ok(()),
    };
    stop.token.cancel();
    engine.shutdown().await;
    Ok(end?)
}

/// Where people sign in to servers while the client speaks over pipes: at the configured address, which stays the same
/// from run to run, unless another program has it. `None` where no server is signed in to.
async fn people(config: &Config) -> Result<Option<TcpListener>, Failure> {
    let signs_in = |entry: &Arc<ServerEntry>| match entry.auth {
        Auth::OAuth(_) => true,
        Auth::None | Auth::ForwardToken | Auth::TokenExchange(_) => false,
    };
    if !config.servers.iter().any(signs_in) {
        return Ok(None);
    }
    let listen = config.gateway.listen;
    if listen.ip().is_loopback()
        && let Ok(listener) = TcpListener::bind(listen).await
    {
        return Ok(Some(listener));
    }
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listener = TcpListener::bind(any)
        .await
        .map_err(|error| taken(&error, "address of the sign-in pages", any, "try again"))?;
    Ok(Some(listener))
}

/// Where people reach the gateway's own pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pages {
    /// Where MCP is served, or at `public_url` where that is set.
    Served(SocketAddr),
    /// At a listener of their own; `public_url` leads to another process.
    Beside(SocketAddr),
    /// There are none.
    Nowhere,
}

fn start(dir: &std::path::Path, config: &Config, at: Pages, stop: &CancellationToken) -> Result<Running, Failure> {
    let mut settings = engine_settings(config, at);
    settings.upstream.vault_key = vault_key()?;
    let ledger = ledger(&config.gateway.store)?;
    let engine = Engine::start(settings, &config.servers, ledger);
    let edge = Edge::new(Arc::clone(&engine), edge_settings(config));
    reload::log_applied(config, config.servers.len());
    tokio::spawn(reload::follow(
        dir.to_owned(),
        (config.clone(), at),
        Arc::clone(&engine),
        edge.clone(),
        stop.clone(),
    ));
    Ok(Running { engine, edge })
}

/// The key that sign-ins to servers are kept with, when there is one.
fn vault_key() -> Result<Option<countersign_engine::VaultKey>, Failure> {
    let Some(text) = std::env::var_os(VAULT_KEY).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let key = text.to_str().map(countersign_engine::VaultKey::parse);
    match key.unwrap_or(Err(countersign_engine::BadKey)) {
        Ok(key) => Ok(Some(key)),
        Err(error) => Err(Failure::configuration(
            error,
            "make one with `openssl rand -base64 32` and keep it: without it, what was stored cannot be read again",
        )),
    }
}

fn ledger(store: &Store) -> Result<Ledger, Failure> {
    match store {
        Store::Memory => Ok(Ledger::memory()),
        Store::Sqlite { path } => Ledger::sqlite(path).map_err(|error| {
            let why = std::error::Error::source(&error)
                .map(|source| format!(": {source}"))
                .unwrap_or_default();
            Failure::failed(
                format_args!("{error}{why}"),
                "check the file and its folder's rights, or name another with `store: {type: sqlite, path: FILE}`",
            )
        }),
    }
}

/// How exposed names are made.
pub(crate) fn naming(config: &Config) -> Naming {
    Naming {
        prefix: config.gateway.name_prefix.clone(),
        max_length: config.gateway.limits.tool_name_length,
    }
}

/// What the engine takes from a configuration.
pub(crate) fn engine_settings(config: &Config, at: Pages) -> countersign_engine::Settings {
    let limits = &config.gateway.limits;
    countersign_engine::Settings {
        naming: naming(config),
        presets: Arc::clone(&config.gateway.presets),
        upstream: countersign_engine::UpstreamSettings {
            connect_timeout: limits.connect_timeout,
            call_timeout: limits.call_timeout,
            response_bytes: limits.response_bytes,
            idle: IDLE,
            // Without its own path there is no warden; children then see the end of their input only.
            warden: std::env::current_exe().ok(),
            vault_key: None,
        },
        listed_as: Principal::local().key().clone(),
        debounce: DEBOUNCE,
        pages: pages(config, at),
        shown: Arc::new(config.shown.clone()),
        workflows: workflows(config),
        hash: config.hash.hex(),
    }
}

/// The address of the gateway's own pages; `public_url` may name the MCP endpoint.
fn pages(config: &Config, at: Pages) -> Option<String> {
    let public = config.gateway.public_url.as_deref().map(|url| {
        let url = url.trim_end_matches('/');
        url.strip_suffix("/mcp").unwrap_or(url).to_owned()
    });
    match at {
        Pages::Served(address) => Some(public.unwrap_or_else(|| format!("http://{address}"))),
        Pages::Beside(address) => Some(format!("http://{address}")),
        Pages::Nowhere => None,
    }
}

/// The workflows of a configuration, and what is wrong with those that are set aside.
fn workflows(config: &Config) -> countersign_engine::Workflows {
    let set_aside = config.set_aside.iter().map(|problem| {
        // A caller is told the file within the folder, not where the folder is.
        let file = problem.file.rsplit(['/', '\\']).next().unwrap_or_default();
        countersign_engine::SetAside {
            file: format!("workflows/{file}"),
            place: problem.place.as_ref().map(|place| (place.line, place.column)),
            message: problem.what.clone(),
            help: problem.help.clone(),
        }
    });
    countersign_engine::Workflows {
        sound: config.workflows.iter().map(Arc::clone).collect(),
        set_aside: set_aside.collect(),
    }
}

/// What the edge takes from a configuration.
pub(crate) fn edge_settings(config: &Config) -> countersign_edge::Settings {
    let gateway = &config.gateway;
    countersign_edge::Settings {
        public_url: gateway.public_url.clone(),
        surfaces: gateway.surfaces.clone(),
        request_bytes: gateway.limits.request_bytes,
        sessions: gateway.limits.sessions,
        sessions_per_principal: gateway.limits.sessions_per_principal,
        session_idle_timeout: gateway.limits.session_idle_timeout,
        parked_per_principal: gateway.limits.parked_per_principal,
        allowed_hosts: gateway.allowed_hosts.clone(),
        allowed_origins: gateway.allowed_origins.clone(),
        identities: config.identities.clone().map(Arc::new),
        bindings: gateway.bindings.clone(),
        trusted_proxies: gateway.trusted_proxies.clone(),
        version: env!("CARGO_PKG_VERSION"),
        ..countersign_edge::Settings::default()
    }
}

/// The wish to end: the first signal asks, the second insists.
#[derive(Debug, Clone)]
pub(crate) struct Stop {
    pub(crate) token: CancellationToken,
    insist: CancellationToken,
}

impl Stop {
    /// Listens for SIGINT, SIGTERM and the closing of the terminal from now on.
    pub(crate) fn on_signals() -> Result<Self, Failure> {
        let stop = Self {
            token: CancellationToken::new(),
            insist: CancellationToken::new(),
        };
        let mut signals = Signals::new().map_err(|error| {
            Failure::failed(
                format_args!("cannot listen for signals: {error}"),
                "check the limits of this process",
            )
        })?;
        let told = stop.clone();
        tokio::spawn(async move {
            signals.next().await;
            tracing::info!("stopping");
            told.token.cancel();
            signals.next().await;
            told.insist.cancel();
        });
        Ok(stop)
    }

    async fn at_once(&self) {
        self.insist.cancelled().await;
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

fn taken(error: &io::Error, what: &str, address: SocketAddr, help: &str) -> Failure {
    if error.kind() == io::ErrorKind::AddrInUse {
        Failure::failed(format_args!("the {what} {address} is in use"), help)
    } else {
        Failure::failed(format_args!("cannot listen on the {what} {address}: {error}"), help)
    }
}
