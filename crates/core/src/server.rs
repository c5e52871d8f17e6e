//! One entry of the catalogue file as a typed value (spec 2.2), whatever file it came from.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::effect::AnnotationTrust;
use crate::exact::Digest;
use crate::names::{FamilyName, ServerName};
use crate::secret::Secret;

pub use crate::auth::Auth;

/// One upstream server, as configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEntry {
    /// Its name.
    pub name: ServerName,
    /// Its labels, sorted.
    pub labels: BTreeMap<String, String>,
    /// What stands in exposed names in place of the server name; empty exposes bare names.
    pub tool_prefix: Option<String>,
    /// What the operator says of it.
    pub description: Option<String>,
    /// How long one call may take; the gateway's `call_timeout` when absent.
    pub timeout: Option<Duration>,
    /// When the connection is made.
    pub start: Start,
    /// Whether the server's hints are believed.
    pub trust: AnnotationTrust,
    /// Who shares one upstream session.
    pub sharing: Sharing,
    /// Access class rules, first match wins.
    pub access: Vec<AccessRule>,
    /// The family that it is a member of.
    pub family: Option<Membership>,
    /// Whose credential it is sent.
    pub auth: Auth,
    /// Whether its own address may lead to a private network.
    pub private_network: PrivateNetwork,
    /// How it is reached.
    pub transport: Transport,
    /// A digest over the entry after expansion: equal digests mean an unchanged entry.
    pub digest: Digest,
}

impl ServerEntry {
    /// Whether it carries a label; without a value its presence counts.
    #[must_use]
    pub fn has_label(&self, key: &str, value: Option<&str>) -> bool {
        let carried = self.labels.get(key);
        carried.is_some_and(|carried| value.is_none_or(|value| value == carried))
    }
}

/// A server's place in a family: servers that offer the same tools for different targets (spec 2.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// The family.
    pub name: FamilyName,
    /// The argument by which a call says which member runs it.
    pub instance_arg: Arc<str>,
}

/// When the connection to a server is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// With the gateway (`autoStart: true`, the default).
    Boot,
    /// With the first listing or call that needs it (`autoStart: false`).
    Lazy,
    /// Not at all (`suspended: true`, or another client's `disabled: true`).
    Suspended,
}

/// Who shares one upstream session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// One session per principal (the default).
    PerPrincipal,
    /// One session for all (`shared: true`).
    Shared,
}

impl ServerEntry {
    /// Whether each principal has a session of its own: always where it has a credential of its own.
    #[must_use]
    pub fn is_per_principal(&self) -> bool {
        self.auth.is_on() || self.sharing == Sharing::PerPrincipal
    }
}

/// Whether a server's own address may lead to a private network (`allowPrivateNetwork`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrivateNetwork {
    /// It may: the operator wrote the address.
    Allowed,
    /// It is screened at every connection.
    Screened,
}

/// One access rule: tools whose original name matches a glob get the class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessRule {
    /// `read`, `write`, `admin`, `dangerous` or a custom word.
    pub class: String,
    /// Globs over the tool's own name.
    pub tools: Vec<String>,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// A child process that speaks over its pipes.
    Stdio {
        /// The program; no shell, ever.
        command: Secret,
        /// Its arguments.
        args: Vec<Secret>,
        /// Variables set for it.
        env: BTreeMap<String, Secret>,
        /// What else it inherits.
        env_mode: EnvMode,
        /// Variables copied through when they are set.
        env_passthrough: Vec<String>,
        /// Its working folder; a relative one is already joined to the configuration folder.
        cwd: Option<Secret>,
    },
    /// Streamable HTTP.
    Http {
        /// The endpoint.
        url: Secret,
        /// Headers sent with every request.
        headers: BTreeMap<String, Secret>,
    },
    /// The HTTP+SSE transport of 2024-11-05.
    Sse {
        /// The event stream's address.
        url: Secret,
        /// Headers sent with every request.
        headers: BTreeMap<String, Secret>,
    },
}

/// What a child process inherits from the gateway's environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnvMode {
    /// `PATH`, `HOME` and `LANG` only.
    Clean,
    /// Everything.
    Inherit,
}
