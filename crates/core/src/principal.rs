//! Who is served, and through which endpoint.

use std::fmt;
use std::sync::Arc;

use crate::stages::Toolset;

/// The stable identity that sessions and upstream connections are bound to.
///
/// INVARIANT: never made from token bytes, so that a refreshed token is the same principal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PrincipalKey(Arc<str>);

impl PrincipalKey {
    /// The key as text, for the audit trail.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PrincipalKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How a principal was authenticated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authentication {
    /// No `identities.yaml`: whoever reaches the loopback listener or the pipe is `local`.
    LocalOnly,
}

/// Who is served: a subject and what it connected as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    key: PrincipalKey,
    subject: Arc<str>,
    connection: Arc<str>,
    authentication: Authentication,
}

impl Principal {
    /// The one principal of a gateway without `identities.yaml` (spec 2.1).
    #[must_use]
    pub fn local() -> Self {
        Self::of("local", "local", Authentication::LocalOnly)
    }

    /// A principal from its subject and connection.
    #[must_use]
    pub fn of(subject: &str, connection: &str, authentication: Authentication) -> Self {
        // Lengths keep two pairs from ever sharing a key, whatever the texts hold.
        let key = if subject == connection {
            subject.to_owned()
        } else {
            format!("{}:{subject}/{connection}", subject.len())
        };
        Self {
            key: PrincipalKey(key.into()),
            subject: subject.into(),
            connection: connection.into(),
            authentication,
        }
    }

    /// The stable identity.
    #[must_use]
    pub fn key(&self) -> &PrincipalKey {
        &self.key
    }

    /// The person or program that is served.
    #[must_use]
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// What the subject connected as.
    #[must_use]
    pub fn connection(&self) -> &str {
        &self.connection
    }

    /// How the principal was authenticated.
    #[must_use]
    pub fn authentication(&self) -> &Authentication {
        &self.authentication
    }
}

/// The route that a request came in by; a session never leaves the one it was opened on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Endpoint {
    /// `/mcp`, and stdio.
    Main,
}

/// One request's asker: the principal, the endpoint and the toolset that bounds the request.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Who asks.
    pub principal: Arc<Principal>,
    /// Where the request came in.
    pub endpoint: Endpoint,
    /// What the request is narrowed to.
    pub toolset: Toolset,
}
