//! One sign-in: begun with a link, finished by what comes back to the callback.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use countersign_core::names::ServerName;
use countersign_core::principal::PrincipalKey;
use countersign_core::secret::Secret;
use countersign_fetch::form;

use super::client::{Client, register};
use super::discovery::{Found, discover};
use super::grant::{Grant, Record};
use super::pending::{self, Begun};
use super::token::{Desk, Refusal, code};
use super::{Challenge, Keeper, Kind, Site, random};

/// Where people come back to, and where the gateway's document about itself is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routes {
    /// The callback's address.
    pub callback: String,
    /// The address of [`client_document`](super::client_document); https only, `None` where others cannot reach it.
    pub client_document: Option<String>,
}

/// A sign-in that was begun.
#[derive(Debug, Clone)]
pub struct SignIn {
    /// Where the person signs in.
    pub url: String,
    /// What the answer will carry; bind it to the browser that follows the link.
    pub state: Secret,
    /// Who signs them in: the authorization server's identifier.
    pub issuer: String,
    /// The scopes that are asked for.
    pub scopes: Vec<String>,
    /// How long the sign-in may take.
    pub life: Duration,
}

/// What came back to the callback.
#[derive(Debug, Clone)]
pub struct Returned {
    /// `state`
    pub state: Secret,
    /// `code`, or `error` in its place.
    pub code: Result<Secret, String>,
    /// `iss` (RFC 9207)
    pub iss: Option<String>,
}

/// A sign-in that was finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedIn {
    /// The server.
    pub server: ServerName,
    /// Who signed in.
    pub principal: PrincipalKey,
}

/// Why a sign-in was not begun or not finished.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignInError {
    /// No such server in the catalogue file.
    #[error("server `{0}` is not in the catalogue")]
    Unknown(String),
    /// Nobody signs in to it here.
    #[error("server {server} has no sign-in: {why}")]
    NoSignIn {
        /// The server.
        server: ServerName,
        /// What it has instead.
        why: &'static str,
    },
    /// Nobody can.
    #[error("server {server} cannot be signed in to: {reason}")]
    Impossible {
        /// The server.
        server: ServerName,
        /// Why, without any secret.
        reason: String,
    },
    /// The state is not one that is waited for.
    #[error(
        "this sign-in is not known here: it was finished already, took longer than ten minutes, or the gateway was restarted since; begin it again"
    )]
    UnknownState,
    /// The answer is another authorization server's, or does not say whose it is.
    #[error(
        "the answer does not come from the authorization server of {server}, so nothing was done with it; begin the sign-in again"
    )]
    OtherIssuer {
        /// The server.
        server: ServerName,
    },
    /// The person or the authorization server said no.
    #[error("the sign-in to {server} was not granted: {code}")]
    Denied {
        /// The server.
        server: ServerName,
        /// The error code.
        code: String,
    },
    /// No token was given for the code.
    #[error("the sign-in to {server} failed: {reason}")]
    Failed {
        /// The server.
        server: ServerName,
        /// Why, without any secret.
        reason: String,
    },
}

impl SignInError {
    /// Why, without the server's name where it is known anyway.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::Impossible { reason, .. } | Self::Failed { reason, .. } => reason.clone(),
            Self::NoSignIn { why, .. } => (*why).to_owned(),
            Self::Denied { code, .. } => format!("it was not granted ({code})"),
            Self::Unknown(_) | Self::UnknownState | Self::OtherIssuer { .. } => self.to_string(),
        }
    }
}

impl Keeper {
    /// Begins a sign-in.
    ///
    /// # Errors
    /// [`SignInError::NoSignIn`], [`SignInError::Impossible`]
    pub(crate) async fn begin(
        &self,
        site: &Arc<Site>,
        challenge: Option<&Challenge>,
        principal: &PrincipalKey,
        routes: &Routes,
    ) -> Result<SignIn, SignInError> {
        let impossible = |reason: String| SignInError::Impossible {
            server: site.server().clone(),
            reason,
        };
        let Some(oauth) = site.oauth() else {
            return Err(SignInError::NoSignIn {
                server: site.server().clone(),
                why: "it is sent the token that its caller connects with; connect with a token of an issuer that it trusts",
            });
        };
        let found = discover(&self.tools.fetcher, site, challenge)
            .await
            .map_err(impossible)?;
        let redirect = oauth.redirect.as_ref().map_or(routes.callback.as_str(), Secret::reveal);
        let routes = Routes {
            callback: redirect.to_owned(),
            // The document names the gateway's own callback.
            client_document: routes.client_document.clone().filter(|_| oauth.redirect.is_none()),
        };
        let scopes = self.scopes(site, principal, &found);
        let client = self.client(site, &found, &routes, &scopes).await.map_err(impossible)?;
        let (state, verifier) = (
            random::token().map_err(impossible)?,
            random::token().map_err(impossible)?,
        );
        let begun = Begun {
            server: site.server().clone(),
            principal: principal.clone(),
            binding: site.binding.clone(),
            issuer: found.authority.issuer.clone(),
            names_issuer: found.authority.authorization_response_iss_parameter_supported,
            token_endpoint: found.token.clone(),
            revocation_endpoint: found.authority.revocation_endpoint.clone(),
            client,
            redirect: routes.callback,
            resource: found.resource.clone(),
            scopes: scopes.clone(),
            verifier,
        };
        let sign_in = SignIn {
            url: link(&found.authorization, &begun, &state),
            state,
            issuer: begun.issuer.clone(),
            scopes,
            life: pending::LIFE,
        };
        self.pending.add(&sign_in.state, begun);
        Ok(sign_in)
    }

    /// What is asked for: what the operator says, else what the server suggests, and whatever was granted or missed
    /// before. A refresh token is asked for where that has a scope of its own.
    fn scopes(&self, site: &Site, principal: &PrincipalKey, found: &Found) -> Vec<String> {
        let configured = site.oauth().and_then(|oauth| oauth.scopes.clone());
        let lasting = configured.is_none() && found.authority.scopes_supported.iter().any(|scope| scope == OFFLINE);
        let mut scopes = configured.unwrap_or_else(|| found.scopes.clone());
        let before = self.grant(site, principal);
        let before = before.map(|grant| (grant.scopes(), grant.wanted()));
        let (granted, wanted) = before.unwrap_or_default();
        let offline = lasting.then(|| OFFLINE.to_owned());
        for scope in granted.into_iter().chain(wanted).chain(offline) {
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        scopes
    }

    /// Who the gateway is there: what the operator registered, its own document, or a registration.
    async fn client(&self, site: &Site, found: &Found, routes: &Routes, scopes: &[String]) -> Result<Client, String> {
        let (authority, tools) = (&found.authority, &self.tools);
        if let Some(pinned) = site.oauth().and_then(|oauth| oauth.client.as_ref()) {
            return Ok(Client::pinned(pinned, Some(authority)));
        }
        let document = routes
            .client_document
            .as_deref()
            .filter(|address| address.starts_with("https://"));
        if let Some(document) = document.filter(|_| authority.client_id_metadata_document_supported) {
            return Ok(Client::documented(document));
        }
        if let Some(registered) = tools.clients.get(&authority.issuer, &routes.callback) {
            return Ok(registered.client());
        }
        let registered = register(&tools.fetcher, &site.trust, authority, routes, scopes).await?;
        let client = registered.client();
        tools
            .clients
            .keep(&authority.issuer, &routes.callback, registered, &tools.disk)
            .await;
        Ok(client)
    }

    /// Finishes a sign-in.
    ///
    /// # Errors
    /// Why it failed; the state is used up all the same.
    pub(crate) async fn finish(
        &self,
        returned: Returned,
        site: impl FnOnce(&ServerName) -> Option<Arc<Site>>,
    ) -> Result<SignedIn, SignInError> {
        let begun = self
            .pending
            .take(returned.state.reveal())
            .ok_or(SignInError::UnknownState)?;
        let server = begun.server.clone();
        // Before anything is sent anywhere, also where the answer is an error (RFC 9207, 2.4).
        let is_its_own = match &returned.iss {
            Some(iss) => *iss == begun.issuer,
            None => !begun.names_issuer,
        };
        if !is_its_own {
            return Err(SignInError::OtherIssuer { server });
        }
        let given = match returned.code {
            Ok(given) => given,
            Err(error) => {
                return Err(SignInError::Denied {
                    server,
                    // What follows the code is prose of whoever answered.
                    code: code(error.split(':').next().unwrap_or_default()),
                });
            }
        };
        let failed = |reason: String| SignInError::Failed {
            server: server.clone(),
            reason,
        };
        let site = site(&server).ok_or_else(|| SignInError::Unknown(server.to_string()))?;
        if site.binding != begun.binding || site.oauth().is_none() {
            return Err(failed("its entry was changed meanwhile; begin again".to_owned()));
        }
        let record = self.redeem(&site, &begun, &given).await.map_err(failed)?;
        let former = self.grants().remove(&record.name());
        if let Some(former) = former {
            // What it may still write is written before what takes its place.
            former.replace().await;
        }
        self.tools.disk.keep(Kind::Grant, &record.name(), &record).await;
        let (name, grant) = (record.name(), Grant::new(record));
        self.grants().insert(name, grant);
        tracing::info!(%server, principal = %begun.principal, "signed in");
        Ok(SignedIn {
            server,
            principal: begun.principal,
        })
    }

    /// Exchanges the code for tokens.
    async fn redeem(&self, site: &Site, begun: &Begun, given: &Secret) -> Result<Record, String> {
        let desk = Desk {
            fetcher: &self.tools.fetcher,
            trust: &site.trust,
            endpoint: &begun.token_endpoint,
            client: &begun.client,
        };
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", given.reveal()),
            ("redirect_uri", &begun.redirect),
            ("code_verifier", begun.verifier.reveal()),
            ("resource", &begun.resource),
        ];
        let issued = match desk.ask(&fields).await {
            Ok(issued) => issued,
            Err(refusal) => {
                if refusal == Refusal::Final("invalid_client".to_owned()) {
                    let (tools, id) = (&self.tools, begun.client.id.reveal());
                    tools.clients.forget(&begun.issuer, id, &tools.disk).await;
                }
                return Err(refusal.reason());
            }
        };
        let mut record = Record {
            server: begun.server.to_string(),
            principal: begun.principal.to_string(),
            binding: begun.binding.clone(),
            issuer: begun.issuer.clone(),
            token_endpoint: begun.token_endpoint.clone(),
            revocation_endpoint: begun.revocation_endpoint.clone(),
            client_id: begun.client.id.reveal().to_owned(),
            client_secret: begun.client.secret.as_ref().map(|secret| secret.reveal().to_owned()),
            client_method: begun.client.method,
            resource: begun.resource.clone(),
            scopes: begun.scopes.iter().cloned().collect::<BTreeSet<_>>(),
            access: issued.usable()?.reveal().to_owned(),
            refresh: None,
            ends: None,
            lifetime: None,
        };
        record.take(&issued);
        Ok(record)
    }
}

/// The scope that asks for a refresh token (OpenID Connect).
const OFFLINE: &str = "offline_access";

/// The link to sign in with.
fn link(endpoint: &str, begun: &Begun, state: &Secret) -> String {
    let challenge = random::challenge(&begun.verifier);
    let scopes = begun.scopes.join(" ");
    let mut fields = vec![
        ("response_type", "code"),
        ("client_id", begun.client.id.reveal()),
        ("redirect_uri", &begun.redirect),
        ("state", state.reveal()),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
        ("resource", &begun.resource),
    ];
    if !scopes.is_empty() {
        fields.push(("scope", &scopes));
    }
    // OpenID Connect gives a refresh token only where consent was asked for.
    if begun.scopes.iter().any(|scope| scope == OFFLINE) {
        fields.push(("prompt", "consent"));
    }
    let endpoint = endpoint.split('#').next().unwrap_or(endpoint);
    let joint = if endpoint.contains('?') { '&' } else { '?' };
    format!("{endpoint}{joint}{}", form(&fields))
}
