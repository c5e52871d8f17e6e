//! What the engine answers, in words that know neither JSON-RPC nor HTTP.

use std::sync::Arc;

use countersign_core::catalogue::{Availability, Finding};
use countersign_core::names::ServerName;
use countersign_core::outcome::Fate;
use countersign_core::principal::PrincipalKey;
use countersign_core::refusal::Refusal;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::sign_in::AuthRequired;

/// What became of a request.
#[derive(Debug)]
pub enum Outcome {
    /// Not admitted.
    Refused(Refusal),
    /// The caller has to sign in to the server first, and nothing ran.
    AuthRequired(Box<AuthRequired>),
    /// The ledger could not record the intent, so the call was not made (I6).
    Unrecorded {
        /// Why, without any secret.
        reason: String,
    },
    /// The target answered with a result, byte for byte.
    Result {
        /// The result.
        result: Box<RawValue>,
        /// Whence.
        from: Provenance,
    },
    /// The target answered with an error, byte for byte.
    Error {
        /// The error object.
        error: Box<RawValue>,
        /// Whence.
        from: Provenance,
    },
    /// The call did not run, or its answer was lost: `fate` says which (I5).
    Failed {
        /// `NotSent` or `OutcomeUnknown`.
        fate: Fate,
        /// The sentence for the caller.
        sentence: String,
        /// Whence.
        from: Provenance,
    },
    /// The caller took it back.
    Cancelled,
}

/// Which server and which of its tools answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// The server; `None` for the gateway itself.
    pub server: Option<ServerName>,
    /// The upstream's own name.
    pub subject: String,
}

/// What callers are told of.
#[derive(Debug, Clone)]
pub enum Change {
    /// The list of tools differs from the one before.
    Tools {
        /// Whose; `None` for everybody who has no list of its own ([`crate::Engine::concerns`]).
        to: Option<PrincipalKey>,
    },
    /// The list of prompts differs from the one before.
    Prompts {
        /// Whose, as for tools.
        to: Option<PrincipalKey>,
    },
    /// The list of resources or templates differs from the one before.
    Resources {
        /// Whose, as for tools.
        to: Option<PrincipalKey>,
    },
    /// A person signed in to a server.
    SignedIn {
        /// For whom.
        to: PrincipalKey,
        /// The server.
        server: ServerName,
    },
    /// A resource changed; parameters as the server sent them.
    ResourceUpdated {
        /// The server.
        server: ServerName,
        /// Whose subscription; `None` for a shared connection.
        principal: Option<PrincipalKey>,
        /// The URI.
        uri: String,
        /// The notification's parameters.
        params: Arc<RawValue>,
    },
    /// A task of a server changed.
    Task {
        /// The server.
        server: ServerName,
        /// Whose connection; `None` for a shared one.
        principal: Option<PrincipalKey>,
        /// The notification's parameters, as the server sent them.
        params: Arc<RawValue>,
    },
    /// A server's log message that belongs to no call.
    Log {
        /// The server.
        server: ServerName,
        /// Whose connection; `None` for a shared one.
        principal: Option<PrincipalKey>,
        /// The notification's parameters, as the server sent them.
        params: Arc<RawValue>,
    },
}

/// Whether the gateway can do its work now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Readiness {
    /// Snapshot loaded, ledger writable.
    pub ready: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Hash of the configuration in force, hex.
    pub configuration: String,
    /// The last configuration error, while an edit on disk is not in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration_error: Option<String>,
    /// How every server stands.
    pub servers: Vec<ServerReadiness>,
    /// What a person should mend.
    pub findings: Vec<Finding>,
}

/// One server's part of [`Readiness`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerReadiness {
    /// Its name.
    pub name: String,
    /// Its state.
    #[serde(flatten)]
    pub availability: Availability,
    /// How many tools are served from its last listing.
    pub tools: usize,
    /// How many principals are signed in to it now, of those that were served lately; absent where nobody has to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_in: Option<usize>,
}

/// Something that is refused before it is a call: a foreign session, a foreign origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Who asked, as far as it is known.
    pub principal: String,
    /// `session_refused`, `origin_refused`, …
    pub kind: &'static str,
    /// The method of the protocol, or the HTTP method.
    pub method: String,
    /// What was asked for, in the caller's own words.
    pub subject: String,
    /// The sentence that says why.
    pub reason: String,
}
