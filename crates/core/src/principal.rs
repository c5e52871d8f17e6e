//! Who is served, and through which endpoint.

use std::fmt;
use std::sync::Arc;

use crate::stages::Toolset;
use crate::toolset::Origin;

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
    /// By a bearer key of `identities.yaml`.
    Key {
        /// The key's name.
        name: Arc<str>,
    },
    /// By a signed token of a trusted issuer.
    Token {
        /// The issuer, as `identities.yaml` names it.
        issuer: Arc<str>,
    },
    /// By an actor token, as the person that the Session's binding names (spec 3.4).
    Bound {
        /// The Session.
        session: Arc<str>,
        /// The issuer of actor tokens.
        issuer: Arc<str>,
    },
}

/// What a principal is besides who it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    /// The roles it has.
    pub roles: Arc<[Arc<str>]>,
    /// The plan it is on.
    pub plan: Option<Arc<str>>,
    /// The groups that its issuer says it is in.
    pub groups: Arc<[Arc<str>]>,
}

/// Who is served: a subject and what it connected as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    key: PrincipalKey,
    subject: Arc<str>,
    connection: Arc<str>,
    authentication: Authentication,
    standing: Standing,
}

impl Principal {
    /// The one principal of a gateway without `identities.yaml` (spec 2.1).
    #[must_use]
    pub fn local() -> Self {
        Self::of("local", "local", Authentication::LocalOnly)
    }

    /// A principal from its subject and connection, without roles, plan or groups.
    #[must_use]
    pub fn of(subject: &str, connection: &str, authentication: Authentication) -> Self {
        Self {
            key: PrincipalKey(key(subject, connection, &authentication).into()),
            subject: subject.into(),
            connection: connection.into(),
            authentication,
            standing: Standing::default(),
        }
    }

    /// The same principal with what it is besides who it is.
    #[must_use]
    pub fn with(mut self, standing: Standing) -> Self {
        self.standing = standing;
        self
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

    /// The roles, the plan and the groups.
    #[must_use]
    pub fn standing(&self) -> &Standing {
        &self.standing
    }
}

/// The stable identity as text.
///
/// The first word says how the principal was authenticated, and lengths keep two of one kind from ever sharing a
/// key, whatever their texts hold. An issuer is part of it: what one issuer calls a subject is nobody at another.
fn key(subject: &str, connection: &str, authentication: &Authentication) -> String {
    let length = subject.len();
    match authentication {
        Authentication::LocalOnly if subject == connection => subject.to_owned(),
        Authentication::LocalOnly => format!("{length}:{subject}/{connection}"),
        Authentication::Key { .. } => format!("key:{length}:{subject}/{connection}"),
        Authentication::Token { issuer } => {
            format!("token:{length}:{subject}/{}:{connection}@{issuer}", connection.len())
        }
        Authentication::Bound { issuer, .. } => {
            format!("bound:{length}:{subject}/{}:{connection}@{issuer}", connection.len())
        }
    }
}

#[cfg(test)]
mod tests;

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

impl Caller {
    /// What the trail says of an actor: its Session, and the toolset that the Session's binding carries. `None` for
    /// everyone who asks for itself.
    #[must_use]
    pub fn bound_as(&self) -> Option<String> {
        let Authentication::Bound { session, .. } = self.principal.authentication() else {
            return None;
        };
        let layers = match &self.toolset {
            Toolset::Within(bounds) => bounds.layers(),
            Toolset::Unscoped { .. } | Toolset::Bad(_) => &[],
        };
        let bound = layers.iter().find(|layer| layer.origin == Origin::Bound);
        Some(match bound {
            Some(layer) => format!("{session}, toolset=[{}]", layer.selectors),
            None => format!("{session}, no toolset"),
        })
    }
}
