//! What an entry says of signing in to its server.

use std::sync::Arc;

use countersign_core::auth::{Auth, OAuth, TokenExchange};
use countersign_core::names::ServerName;
use countersign_core::secret::Secret;
use countersign_core::server::{PrivateNetwork, ServerEntry, Transport};
use countersign_fetch::Trust;
use http::Uri;

use super::{metadata, random};

/// A server that callers have credentials for.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) entry: Arc<ServerEntry>,
    pub(crate) url: Uri,
    /// What a grant is bound to: the server's address, and the issuer and client that the operator pinned. A token
    /// for another address is never sent to this one.
    pub(crate) binding: String,
    /// Whom the operator vouches for.
    pub(crate) trust: Trust,
}

impl Site {
    /// The site of an entry; `None` where nobody has a credential of its own.
    pub(crate) fn of(entry: &Arc<ServerEntry>) -> Option<Self> {
        let (Transport::Http { url, .. } | Transport::Sse { url, .. }) = &entry.transport else {
            return None;
        };
        let (issuer, client, hosts) = match &entry.auth {
            Auth::None => return None,
            Auth::ForwardToken => (None, None, &[][..]),
            Auth::OAuth(oauth) => (
                oauth.issuer.as_ref(),
                oauth.client.as_ref(),
                oauth.allowed_hosts.as_slice(),
            ),
            Auth::TokenExchange(exchange) => (None, exchange.client.as_ref(), exchange.allowed_hosts.as_slice()),
        };
        let mut trust = Trust::nobody();
        if entry.private_network == PrivateNetwork::Allowed {
            trust = trust.and_origin_of(url.reveal());
            if let Some(issuer) = issuer {
                trust = trust.and_origin_of(issuer.reveal());
            }
            if let Auth::TokenExchange(exchange) = &entry.auth {
                trust = trust.and_origin_of(exchange.at.address().reveal());
            }
        }
        for host in hosts {
            trust = trust.and_host(host);
        }
        let pinned = [issuer, client.map(|client| &client.id)];
        let pinned = pinned.map(|text| text.map_or("", Secret::reveal));
        Some(Self {
            url: url.reveal().parse().ok()?,
            binding: random::hash(&format!("{}\n{}\n{}", url.reveal(), pinned[0], pinned[1])),
            trust,
            entry: Arc::clone(entry),
        })
    }

    /// The server.
    pub(crate) fn server(&self) -> &ServerName {
        &self.entry.name
    }

    /// What a principal lacks that has no credential.
    pub(crate) fn missing(&self) -> &'static str {
        match &self.entry.auth {
            Auth::None | Auth::OAuth(_) => "the principal is not signed in to it",
            Auth::ForwardToken => "the caller connected with no token that could be forwarded to it",
            Auth::TokenExchange(_) => "the caller connected with no token that could be exchanged for it",
        }
    }

    /// What is said of signing in, where people sign in.
    pub(crate) fn oauth(&self) -> Option<&OAuth> {
        match &self.entry.auth {
            Auth::OAuth(oauth) => Some(oauth),
            Auth::None | Auth::ForwardToken | Auth::TokenExchange(_) => None,
        }
    }

    /// What is said of exchanging, where tokens are exchanged.
    pub(crate) fn exchange(&self) -> Option<&TokenExchange> {
        match &self.entry.auth {
            Auth::TokenExchange(exchange) => Some(exchange),
            Auth::None | Auth::ForwardToken | Auth::OAuth(_) => None,
        }
    }

    /// The identifier that tokens are asked for where the server names none (RFC 8707). An address that may hold a
    /// credential says its origin alone.
    pub(crate) fn resource(&self) -> String {
        let origin = metadata::origin(&self.url).unwrap_or_default();
        let (Transport::Http { url, .. } | Transport::Sse { url, .. }) = &self.entry.transport else {
            return origin;
        };
        if url.is_hidden() {
            origin
        } else {
            format!("{origin}{}", self.url.path().trim_end_matches('/'))
        }
    }
}
