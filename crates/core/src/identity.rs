//! Who may connect, as values: bearer keys, trusted issuers, and who may bind Sessions (spec 3.4, 4.1).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::exact::Digest;
use crate::principal::{Authentication, Principal, Standing};
use crate::stages::Toolset;
use crate::toolset::{Origin, Selectors};

/// What `identities.yaml` says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identities {
    /// Bearer keys; no name and no digest is there twice.
    pub keys: Vec<Key>,
    /// Issuers whose tokens are taken; no issuer is there twice for one audience.
    pub issuers: Vec<Issuer>,
}

/// A bearer key for a program.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    /// Its name, shown in the trail.
    pub name: Arc<str>,
    /// SHA-256 of the key; the key itself is nowhere.
    pub sha256: Digest,
    /// Whom it stands for.
    pub subject: Arc<str>,
    /// What it connects as; absent, the key itself is the connection.
    pub caller_id: Option<Arc<str>>,
    /// Roles and plan.
    pub standing: Standing,
    /// The selectors that bound every request made with it.
    pub toolset: Option<Vec<String>>,
}

/// An issuer of the tokens that people's clients bring (OAuth 2.1 resource server).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issuer {
    /// `iss`, compared as it stands.
    pub issuer: Arc<str>,
    /// `aud` must hold it.
    pub audience: Arc<str>,
    /// Where its keys are; absent, its metadata says so.
    pub jwks_url: Option<Arc<str>>,
    /// The claim that names the subject.
    pub subject_claim: Arc<str>,
    /// The claim that lists the roles.
    pub roles_claim: Option<Arc<str>>,
    /// The claims that name the client; the first that is there counts.
    pub client_claims: Vec<Arc<str>>,
    /// How far clocks may differ, at most 60 s.
    pub leeway: Duration,
}

/// `bindings` of `countersign.yaml`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Binders {
    /// API-key names or subjects that may write bindings.
    pub writers: Vec<Arc<str>>,
    /// Who signs actor tokens.
    pub actor_tokens: Option<ActorTokens>,
}

/// The issuer of the tokens that a Session's actor brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActorTokens {
    /// `iss`, compared as it stands.
    pub issuer: Arc<str>,
    /// Where its keys are; absent, its metadata says so.
    pub jwks_url: Option<Arc<str>>,
    /// `aud` must hold it.
    pub audience: Arc<str>,
    /// The claim that names the Session.
    pub session_claim: Arc<str>,
}

/// What a request is bounded by before it names a toolset itself.
pub const UNSCOPED: Toolset = Toolset::Unscoped {
    because: "the request names no toolset",
};

impl Key {
    /// Whom a request with it is served as.
    #[must_use]
    pub fn principal(&self) -> Principal {
        let connection = self.caller_id.as_ref().unwrap_or(&self.name);
        let name = Arc::clone(&self.name);
        Principal::of(&self.subject, connection, Authentication::Key { name }).with(self.standing.clone())
    }

    /// What bounds every request with it.
    #[must_use]
    pub fn bounds(&self) -> Toolset {
        match &self.toolset {
            None => UNSCOPED,
            Some(list) => UNSCOPED.narrowed(Origin::Key, Selectors::parse_list(list)),
        }
    }
}

/// The digest stays out: it would let a reader try keys at leisure.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("name", &self.name)
            .field("subject", &self.subject)
            .finish_non_exhaustive()
    }
}
