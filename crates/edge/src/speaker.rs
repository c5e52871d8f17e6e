//! Who speaks: a session of the legacy era, or one stateless request of the modern one.

use std::sync::Arc;

use countersign_engine::Abilities;
use countersign_wire::meta::{self, RequestMeta};
use countersign_wire::rpc::Fault;
use countersign_wire::version::{Era, Version};

use crate::abilities;
use crate::calls::Calls;
use crate::levels::Level;
use crate::session::Session;

/// Who speaks.
#[derive(Debug, Clone)]
pub(crate) enum Speaker {
    /// A session opened by `initialize`.
    Session(Arc<Session>),
    /// One request that carries all there is to know.
    Stateless(Arc<Stateless>),
}

/// What one modern request says of its client.
#[derive(Debug)]
pub(crate) struct Stateless {
    version: Version,
    abilities: Abilities,
    level: Option<Level>,
    /// The calls of the pipe it came by. Over HTTP a call is taken back by closing its stream.
    calls: Option<Arc<Calls>>,
}

impl Stateless {
    /// Reads a modern request's metadata.
    pub(crate) fn read(meta: &RequestMeta<'_>, calls: Option<Arc<Calls>>) -> Result<Self, Fault> {
        let version = meta::require_modern(meta)?;
        let level = meta.log_level.as_deref().and_then(Level::parse);
        Ok(Self {
            version,
            abilities: abilities::of(meta.capabilities),
            level,
            calls,
        })
    }
}

impl Speaker {
    pub(crate) fn version(&self) -> Version {
        match self {
            Self::Session(session) => session.version,
            Self::Stateless(stateless) => stateless.version,
        }
    }

    pub(crate) fn era(&self) -> Era {
        self.version().era()
    }

    pub(crate) fn abilities(&self) -> &Abilities {
        match self {
            Self::Session(session) => &session.abilities,
            Self::Stateless(stateless) => &stateless.abilities,
        }
    }

    /// The log level that was asked for.
    pub(crate) fn level(&self) -> Option<Level> {
        match self {
            Self::Session(session) => session.level(),
            Self::Stateless(stateless) => stateless.level,
        }
    }

    /// Whether a log message is wanted. A session that set no level gets all; a modern request
    /// that named none gets none.
    pub(crate) fn wants_log(&self, params: &str) -> bool {
        match (self, self.level()) {
            (_, Some(level)) => level.wants(params),
            (Self::Session(_), None) => true,
            (Self::Stateless(_), None) => false,
        }
    }

    /// Where the calls under way are entered.
    pub(crate) fn calls(&self) -> Option<&Arc<Calls>> {
        match self {
            Self::Session(session) => Some(&session.calls),
            Self::Stateless(stateless) => stateless.calls.as_ref(),
        }
    }
}
