//! The gateway's own settings, `countersign.yaml`, with every default (spec 2.1).

mod read;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use countersign_core::identity::Binders;
use countersign_core::surface::Surface;
use countersign_core::toolset::Presets;

pub(crate) use read::read;

/// The settings of the gateway itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Gateway {
    /// Where MCP callers connect; a loopback address, unless `identities.yaml` says who may.
    pub listen: SocketAddr,
    /// What links and statements begin with: `scheme://host[:port][/path]`, no trailing slash and no `/mcp`.
    pub public_url: Option<String>,
    /// Where metrics are served; absent when they are turned off.
    pub metrics_listen: Option<SocketAddr>,
    /// What `tools/list` shows; at least one, none twice.
    pub surfaces: Vec<Surface>,
    /// What exposed names begin with; empty for nothing.
    pub name_prefix: String,
    /// How much of everything.
    pub limits: Limits,
    /// Where sessions and intents are kept.
    pub store: Store,
    /// `Host` values besides the listener's own and `public_url`'s, in lower case.
    pub allowed_hosts: Vec<String>,
    /// Origins that may call and get CORS headers, in lower case, `scheme://host[:port]`.
    pub allowed_origins: Vec<String>,
    /// The presets that toolsets may name, the built-in ones among them.
    pub presets: Arc<Presets>,
    /// Blocks of addresses whose `X-Forwarded-For` is believed: an address, and how many of its bits count.
    pub trusted_proxies: Vec<(IpAddr, u8)>,
    /// Who binds Sessions, and who signs for their actors.
    pub bindings: Binders,
}

/// How much of everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The largest body of a request, in bytes.
    pub request_bytes: usize,
    /// The largest answer of an upstream, and its longest line, in bytes.
    pub response_bytes: usize,
    /// Sessions at once.
    pub sessions: usize,
    /// Sessions of one principal at once.
    pub sessions_per_principal: usize,
    /// How long nothing may use a session before it ends.
    pub session_idle_timeout: Duration,
    /// Parked calls of one principal at once.
    pub parked_per_principal: usize,
    /// The longest exposed name, in bytes.
    pub tool_name_length: usize,
    /// How long a call may take when its server's entry does not say.
    pub call_timeout: Duration,
    /// How long connecting to a server may take.
    pub connect_timeout: Duration,
}

/// Where sessions and intents are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Store {
    /// In this process only.
    Memory,
    /// In a SQLite file.
    Sqlite {
        /// The file, already joined to the configuration folder when it was relative.
        path: PathBuf,
    },
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request_bytes: 10 * 1024 * 1024,
            response_bytes: 100 * 1024 * 1024,
            sessions: 10_000,
            sessions_per_principal: 200,
            session_idle_timeout: Duration::from_secs(24 * 60 * 60),
            parked_per_principal: 50,
            tool_name_length: 64,
            call_timeout: Duration::from_secs(120),
            connect_timeout: Duration::from_secs(15),
        }
    }
}

impl Default for Gateway {
    /// What an absent file means; the store's path is relative to the working folder.
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8090)),
            public_url: None,
            metrics_listen: Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 9090))),
            surfaces: vec![Surface::Meta],
            name_prefix: "x".to_owned(),
            limits: Limits::default(),
            store: Store::Sqlite {
                path: PathBuf::from("state.db"),
            },
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            presets: Arc::default(),
            trusted_proxies: vec![
                (IpAddr::V4(Ipv4Addr::new(127, 0, 0, 0)), 8),
                (IpAddr::V6(Ipv6Addr::LOCALHOST), 128),
            ],
            bindings: Binders::default(),
        }
    }
}

/// Texts stay out: any of them may have come from a reference. [`crate::Config::shown`] shows the rest.
impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway")
            .field("surfaces", &self.surfaces)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
