//! How a server is signed in to, as configured (`auth` of an entry; spec 2.2 and 3.5).

use crate::secret::Secret;

/// Whose credential goes to a server, and how it comes about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Auth {
    /// None but the entry's own headers.
    #[default]
    None,
    /// The caller's own bearer token.
    ForwardToken,
    /// Each principal signs in at the server's authorization server.
    OAuth(Box<OAuth>),
    /// The caller's bearer token is exchanged for one of the server's (RFC 8693).
    TokenExchange(Box<TokenExchange>),
}

impl Auth {
    /// Whether each principal has a credential, and so lists and calls, of its own.
    #[must_use]
    pub fn is_on(&self) -> bool {
        match self {
            Self::None => false,
            Self::ForwardToken | Self::OAuth(_) | Self::TokenExchange(_) => true,
        }
    }

    /// The word for it in the catalogue file.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ForwardToken => "forwardToken",
            Self::OAuth(_) => "oauth",
            Self::TokenExchange(_) => "tokenExchange",
        }
    }
}

/// Signing in. What is absent is discovered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OAuth {
    /// The one authorization server that is used.
    pub issuer: Option<Secret>,
    /// The client that the operator registered there.
    pub client: Option<OAuthClient>,
    /// The scopes that are asked for.
    pub scopes: Option<Vec<String>>,
    /// The address that people come back to, where it is not the gateway's own.
    pub redirect: Option<Secret>,
    /// Hosts (`host` or `host:port`) that may be private and speak plain http.
    pub allowed_hosts: Vec<String>,
}

/// A client that the operator registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OAuthClient {
    /// Its identifier.
    pub id: Secret,
    /// Its secret; absent for a public client.
    pub secret: Option<Secret>,
}

/// Exchanging the caller's token (RFC 8693).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenExchange {
    /// Who exchanges.
    pub at: ExchangedAt,
    /// The client that exchanges.
    pub client: Option<OAuthClient>,
    /// `audience`
    pub audience: Option<Secret>,
    /// `resource`
    pub resource: Option<Secret>,
    /// `scope`
    pub scopes: Vec<String>,
    /// `subject_token_type`; an access token when absent.
    pub subject_token_type: Option<String>,
    /// Hosts (`host` or `host:port`) that may be private and speak plain http.
    pub allowed_hosts: Vec<String>,
}

/// Who exchanges tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExchangedAt {
    /// A token endpoint.
    Endpoint(Secret),
    /// An issuer, whose token endpoint its metadata names.
    Issuer(Secret),
}

impl ExchangedAt {
    /// The address that the operator wrote.
    #[must_use]
    pub fn address(&self) -> &Secret {
        match self {
            Self::Endpoint(address) | Self::Issuer(address) => address,
        }
    }
}
