//! What the edge is started with, and what it makes of it once per change.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use countersign_core::identity::{Binders, Identities};
use countersign_core::surface::Surface;
use countersign_wire::object;

use crate::auth::{self, Auth, Proxies};
use crate::guard::Allowed;
use crate::surfaces::Surfaces;

/// What the edge is started with; a live reload replaces it as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `public_url`: its host and origin are the listener's own.
    pub public_url: Option<String>,
    /// `surface`: what `tools/list` shows where a request names no surface.
    pub surfaces: Vec<Surface>,
    /// `limits.request_bytes`: how large the body of a request, or one line of stdio, may be.
    pub request_bytes: usize,
    /// `limits.sessions`: how many sessions may be open at once.
    pub sessions: usize,
    /// `limits.sessions_per_principal`
    pub sessions_per_principal: usize,
    /// `limits.session_idle_timeout`: how long nothing may use a session before it is ended.
    pub session_idle_timeout: Duration,
    /// `limits.parked_per_principal`: how many calls of one principal may wait for its answer to a server's question.
    pub parked_per_principal: usize,
    /// How long a caller may take to answer a server's question.
    pub question_lifetime: Duration,
    /// How long a call waits for a person whose client says that it sent them to a sign-in.
    pub sign_in_patience: Duration,
    /// How long an open stream may be silent.
    pub heartbeat: Duration,
    /// `allowed_hosts`: Host values besides the listener's own; without a port, any port.
    pub allowed_hosts: Vec<String>,
    /// `allowed_origins`: pages that may call, and that get CORS headers.
    pub allowed_origins: Vec<String>,
    /// Who may connect; absent, everyone is `local`.
    pub identities: Option<Arc<Identities>>,
    /// Who binds Sessions, and who signs for their actors.
    pub bindings: Binders,
    /// Blocks of addresses whose `X-Forwarded-For` is believed: an address, and how many of its bits count.
    pub trusted_proxies: Vec<(IpAddr, u8)>,
    /// The version of the program, for `serverInfo` and the metrics.
    pub version: &'static str,
}

impl Default for Settings {
    /// The defaults of `countersign.yaml` (spec 2.1).
    fn default() -> Self {
        Self {
            public_url: None,
            surfaces: vec![Surface::Meta],
            request_bytes: 10 * 1024 * 1024,
            sessions: 10_000,
            sessions_per_principal: 200,
            session_idle_timeout: Duration::from_secs(24 * 60 * 60),
            parked_per_principal: 50,
            question_lifetime: Duration::from_secs(5 * 60),
            sign_in_patience: Duration::from_secs(25),
            heartbeat: Duration::from_secs(15),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            identities: None,
            bindings: Binders::default(),
            trusted_proxies: vec![
                (IpAddr::V4(Ipv4Addr::new(127, 0, 0, 0)), 8),
                (IpAddr::V6(Ipv6Addr::LOCALHOST), 128),
            ],
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

impl Settings {
    /// Whether other settings let the same callers in.
    pub(crate) fn lets_in_as(&self, other: &Self) -> bool {
        self.identities == other.identities && self.bindings == other.bindings
    }
}

/// The settings in force, with what every request needs of them prepared.
#[derive(Debug)]
pub(crate) struct InForce {
    pub(crate) settings: Settings,
    pub(crate) surfaces: Surfaces,
    pub(crate) allowed: Allowed,
    pub(crate) auth: Auth,
    /// `serverInfo` as raw JSON.
    pub(crate) server_info: String,
}

impl InForce {
    pub(crate) fn new(settings: Settings, credentials: &Arc<auth::Memory>) -> Self {
        let server_info = format!(
            r#"{{"name":"countersign","title":"Countersign","version":{}}}"#,
            object::quote(settings.version)
        );
        Self {
            surfaces: Surfaces::of(&settings.surfaces),
            allowed: Allowed::new(&settings),
            auth: Auth::new(
                settings.identities.as_deref(),
                &settings.bindings,
                Proxies(settings.trusted_proxies.clone()),
                credentials,
            ),
            server_info,
            settings,
        }
    }
}
