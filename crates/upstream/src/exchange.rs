//! The values of an exchange: what was settled, what is asked, and why no answer came.

use countersign_core::listing::Capabilities;
use countersign_wire::version::Version;
use http::StatusCode;

/// What the handshake settled.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    /// The protocol version.
    pub(crate) version: Version,
    /// What the server offers.
    pub(crate) capabilities: Capabilities,
    /// Which of its lists it announces changes of.
    pub(crate) announces: Announces,
    /// `instructions`
    pub(crate) instructions: Option<String>,
}

/// Which lists a server announces changes of (`listChanged`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Announces {
    /// `tools.listChanged`
    pub(crate) tools: bool,
    /// `prompts.listChanged`
    pub(crate) prompts: bool,
    /// `resources.listChanged`
    pub(crate) resources: bool,
}

impl Announces {
    /// Whether there is any.
    pub(crate) fn any(self) -> bool {
        self.tools || self.prompts || self.resources
    }
}

/// Why an exchange brought no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The server never saw the request.
    NotSent(String),
    /// The server refused it before it ran.
    Refused {
        /// The status of the HTTP answer.
        status: StatusCode,
        /// Why.
        reason: String,
    },
    /// The server takes no credential that the principal has; it did not run the request.
    SignIn(String),
    /// The server does not know the session any more.
    SessionLost,
    /// It was sent, and nobody knows what became of it.
    Lost(String),
}

impl Failure {
    /// Why, for a person.
    pub(crate) fn reason(self) -> String {
        match self {
            Self::NotSent(reason) | Self::Lost(reason) | Self::SignIn(reason) | Self::Refused { reason, .. } => reason,
            Self::SessionLost => "it does not know the session any more".to_owned(),
        }
    }
}

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unmade {
    /// The server cannot be used.
    Unusable(String),
    /// The server takes no credential that the principal has.
    SignIn(String),
}

impl From<String> for Unmade {
    fn from(reason: String) -> Self {
        Self::Unusable(reason)
    }
}

impl From<Failure> for Unmade {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::SignIn(reason) => Self::SignIn(reason),
            Failure::NotSent(_) | Failure::Refused { .. } | Failure::SessionLost | Failure::Lost(_) => {
                Self::Unusable(failure.reason())
            }
        }
    }
}

/// One request of ours.
#[derive(Debug)]
pub(crate) struct Outgoing<'a> {
    /// Our own id.
    pub(crate) id: i64,
    /// The method.
    pub(crate) method: &'a str,
    /// What `Mcp-Name` mirrors.
    pub(crate) name: Option<&'a str>,
    /// `params`, raw JSON.
    pub(crate) params: Option<&'a str>,
    /// `Mcp-Param-*` headers.
    pub(crate) headers: &'a [(String, String)],
    /// The version that the request speaks; `None` before it is settled.
    pub(crate) version: Option<Version>,
}
