//! A person's way through a sign-in: the link, the server's own pages, the way back, and out again.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use countersign_core::auth::Auth;
use countersign_core::names::{FamilyName, ServerName};
use countersign_core::principal::{Principal, PrincipalKey};
use countersign_core::secret::Secret;
use countersign_core::server::ServerEntry;
use countersign_core::time::Millis;
use countersign_store::Note;
use countersign_upstream::{Returned, Routes, Standing, client_document};

use crate::links::{Lost, Purpose};
use crate::outcome::Change;
use crate::views::Own;
use crate::{Engine, Shared, clock};

/// The path of the page that a link opens.
pub const START: &str = "/oauth/start";

/// The path of the document that says who the gateway is as a client (client id metadata documents).
pub const CLIENT: &str = "/.well-known/oauth-client";

/// The path that authorization servers send people back to.
pub const CALLBACK: &str = "/oauth/callback";

/// A server that waits for its caller's sign-in, and the way to it.
pub struct AuthRequired {
    /// The server.
    pub server: ServerName,
    /// The family that it is a member of.
    pub family: Option<FamilyName>,
    /// Where the person signs in; `None` where there is no page for it.
    pub link: Option<Secret>,
    /// What asked for it.
    pub asked_by: AskedBy,
    why: Why,
}

/// What a sign-in was asked for by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskedBy {
    /// A call that cannot run before it.
    Call,
    /// `core_auth_login`
    Login,
}

/// Why there is no link, if there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    /// A person signs in.
    Person,
    /// The server takes the caller's own token.
    Token,
    /// The gateway's own pages have no address.
    NoPages,
}

impl AuthRequired {
    /// What its caller is told, the link included.
    #[must_use]
    pub fn sentence(&self) -> String {
        let server = &self.server;
        match (&self.link, self.why) {
            (Some(link), _) => format!(
                "auth_required: server \"{server}\" needs you to sign in first. Open {} in a browser, sign in there, \
                 then call again. The link works once, within ten minutes.",
                link.reveal()
            ),
            (None, Why::Token) => format!(
                "auth_required: server \"{server}\" is called with its caller's own token, and this connection brings \
                 none that can be passed on. Connect to the gateway with a bearer token of an issuer that it trusts."
            ),
            (None, Why::Person | Why::NoPages) => format!(
                "auth_required: server \"{server}\" needs a sign-in, and this gateway has no address for its pages. \
                 Set `public_url` in countersign.yaml."
            ),
        }
    }

    /// What a person is told who is shown the link beside it.
    #[must_use]
    pub fn message(&self) -> String {
        format!(
            "Server \"{}\" needs you to sign in before its tools can be used.",
            self.server
        )
    }
}

impl fmt::Debug for AuthRequired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthRequired")
            .field("server", &self.server)
            .field("asked_by", &self.asked_by)
            .finish_non_exhaustive()
    }
}

/// What the page of a link says before its person goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    /// The server.
    pub server: ServerName,
    /// What the operator says of it.
    pub description: Option<String>,
    /// Who asked: the subject.
    pub subject: String,
    /// What the subject connected as; absent where it says nothing more.
    pub connection: Option<String>,
}

/// What the authorization server sent a browser back with.
#[derive(Debug)]
pub struct Callback {
    /// `state`
    pub state: String,
    /// `code`, or `error` and its description.
    pub answer: Result<Secret, String>,
    /// `iss` (RFC 9207)
    pub iss: Option<String>,
}

/// A sign-in that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedIn {
    /// The server.
    pub server: ServerName,
    /// Who may use it now: the subject.
    pub subject: String,
}

/// Why a sign-in goes no further. None of them holds a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stuck {
    /// The link is unknown, was used, or is too old.
    #[error("this link is no longer good: it works once, within ten minutes")]
    Expired,
    /// The link is another principal's.
    #[error("this link was made for somebody else")]
    NotYours,
    /// The sign-in was begun in another browser.
    #[error("this sign-in was begun in another browser")]
    WrongBrowser,
    /// The authorization server, or the person there, said no.
    #[error("server {server} did not sign you in: {reason}")]
    Refused {
        /// The server.
        server: ServerName,
        /// Why.
        reason: String,
    },
}

impl Engine {
    /// The page and the way to it for a principal that has to sign in to a server.
    pub(crate) fn auth_required(
        &self,
        principal: &Arc<Principal>,
        entry: &ServerEntry,
        asked_by: AskedBy,
    ) -> AuthRequired {
        let (link, why) = match entry.auth {
            Auth::ForwardToken | Auth::TokenExchange(_) => (None, Why::Token),
            Auth::None | Auth::OAuth(_) => {
                let link = self.link(principal, &entry.name);
                let why = if link.is_some() { Why::Person } else { Why::NoPages };
                (link, why)
            }
        };
        AuthRequired {
            server: entry.name.clone(),
            family: entry.family.as_ref().map(|family| family.name.clone()),
            link,
            asked_by,
            why,
        }
    }

    fn link(&self, principal: &Arc<Principal>, server: &ServerName) -> Option<Secret> {
        let pages = self.shared.settings.load().pages.clone()?;
        let ticket = self.shared.links.ticket(Purpose {
            principal: Arc::clone(principal),
            server: server.clone(),
        })?;
        Some(Secret::hidden(format!("{pages}{START}?ticket={}", ticket.reveal())))
    }

    /// The document that says who the gateway is as a client; `None` where others cannot read it.
    #[must_use]
    pub fn client_document(&self) -> Option<String> {
        client_document(&self.routes()?)
    }

    /// Where people come back to, and where the gateway's document is: others can read one that stands under https.
    fn routes(&self) -> Option<Routes> {
        let pages = self.shared.settings.load().pages.clone()?;
        let is_public = pages.to_ascii_lowercase().starts_with("https://");
        Some(Routes {
            callback: format!("{pages}{CALLBACK}"),
            client_document: is_public.then(|| format!("{pages}{CLIENT}")),
        })
    }

    /// What a link is for. Where the request that opens it says who it is, the link must be that principal's.
    ///
    /// # Errors
    /// [`Stuck`]
    pub fn invitation(&self, ticket: &str, opened_by: Option<&PrincipalKey>) -> Result<Invitation, Stuck> {
        let purpose = self.shared.links.purpose(ticket).ok_or(Stuck::Expired)?;
        let principal = &purpose.principal;
        if opened_by.is_some_and(|key| key != principal.key()) {
            return Err(Stuck::NotYours);
        }
        let entry = self.shared.views.entry(&purpose.server).ok_or(Stuck::Expired)?;
        let connection = principal.connection();
        Ok(Invitation {
            server: purpose.server,
            description: entry.description.clone(),
            subject: principal.subject().to_owned(),
            connection: (connection != principal.subject()).then(|| connection.to_owned()),
        })
    }

    /// Uses a link up and says where its person signs in; only this browser can come back from there.
    ///
    /// # Errors
    /// [`Stuck`]
    pub async fn go(&self, ticket: &str, opened_by: Option<&PrincipalKey>, browser: &Secret) -> Result<Secret, Stuck> {
        self.invitation(ticket, opened_by)?;
        let taken = self.shared.links.take(ticket).ok_or(Stuck::Expired)?;
        let Purpose { principal, server } = taken.purpose().clone();
        let Some(routes) = self.routes() else {
            return Err(Stuck::Expired);
        };
        match self.shared.upstreams.sign_in(&server, principal.key(), &routes).await {
            Ok(begun) => {
                let purpose = Purpose { principal, server };
                self.shared.links.began(purpose, begun.state.reveal(), browser);
                Ok(Secret::hidden(begun.url))
            }
            Err(error) => {
                let reason = error.reason();
                tracing::warn!(%server, %reason, "a sign-in cannot be begun");
                self.noted(&principal, &server, "sign_in_failed", &reason);
                self.shared.links.give_back(taken);
                Err(Stuck::Refused { server, reason })
            }
        }
    }

    /// Ends a sign-in with what the authorization server sent the browser back with.
    ///
    /// # Errors
    /// [`Stuck`]
    pub async fn come_back(&self, callback: Callback, browser: Option<&Secret>) -> Result<SignedIn, Stuck> {
        let Callback { state, answer, iss } = callback;
        let purpose = self.shared.links.end(&state, browser).map_err(|lost| match lost {
            Lost::Expired => Stuck::Expired,
            Lost::WrongBrowser => Stuck::WrongBrowser,
        })?;
        let Purpose { principal, server } = purpose;
        let returned = Returned {
            state: Secret::hidden(state),
            code: answer,
            iss,
        };
        match self.shared.upstreams.finish_sign_in(returned).await {
            // INVARIANT: what waits under a state is for the principal and the server of its link.
            Ok(done) if done.server != server || done.principal != *principal.key() => {
                tracing::error!(%server, "a sign-in ended at another server or for another principal than it was begun for");
                Err(Stuck::Expired)
            }
            Ok(_done) => {
                self.noted(&principal, &server, "signed_in", "a person signed in");
                let subject = principal.subject().to_owned();
                self.signed_in(&principal, &server);
                Ok(SignedIn { server, subject })
            }
            Err(error) => {
                let reason = error.reason();
                tracing::warn!(%server, %reason, "a sign-in failed");
                self.noted(&principal, &server, "sign_in_failed", &reason);
                Err(Stuck::Refused { server, reason })
            }
        }
    }

    /// Takes the bearer token that a principal connected with, and when it ends: servers that it is forwarded to or
    /// exchanged for are listed with it. Cheap where no server wants it, or when it is the one that is known.
    pub fn present(&self, principal: &Arc<Principal>, token: &Secret, ends: Option<Millis>) {
        let Some(own) = self.meet(principal) else { return };
        if !own.brings(token) {
            return;
        }
        self.shared.upstreams.present(principal.key(), token, ends);
        for entry in self.shared.views.entries().iter() {
            let takes_it = match entry.auth {
                Auth::ForwardToken | Auth::TokenExchange(_) => true,
                Auth::None | Auth::OAuth(_) => false,
            };
            if takes_it && own.lists.with_book(|book| book.open(&entry.name)) {
                own.lists.republish();
                self.refresh(&own.lists, entry.name.clone());
            }
        }
    }

    /// A grant is there: the server is listed for its principal, who is told.
    fn signed_in(&self, principal: &Arc<Principal>, server: &ServerName) {
        let Some(own) = self.meet(principal) else { return };
        own.lists.with_book(|book| book.open(server));
        own.lists.republish();
        self.refresh(&own.lists, server.clone());
        own.signed.send_modify(|times| *times += 1);
        self.shared.announce(Change::SignedIn {
            to: principal.key().clone(),
            server: server.clone(),
        });
    }

    /// Lists a server for a principal whose grant is kept, if it is not listed yet, and waits for it.
    pub(crate) async fn listed_again(&self, principal: &Arc<Principal>, server: &ServerName) {
        let Some(own) = self.meet(principal) else { return };
        if own.lists.with_book(|book| book.open(server)) {
            own.lists.republish();
            self.refresh(&own.lists, server.clone());
        }
        self.until_listed(Some(&own)).await;
    }

    /// Ends a principal's grant at a server; says whether there was one.
    pub(crate) async fn sign_out(&self, principal: &Arc<Principal>, server: &ServerName) -> bool {
        // A server that is no longer in the catalogue has nothing that could be forgotten.
        let was = self
            .shared
            .upstreams
            .sign_out(server, principal.key())
            .await
            .unwrap_or_default();
        if let Some(own) = self.meet(principal) {
            self.shared.closed(&own, server);
        }
        if was {
            self.noted(principal, server, "signed_out", "core_auth_logout");
        }
        was
    }

    /// Waits until a principal is signed in to a server, at most for `limit`; says whether it is.
    pub async fn until_signed_in(&self, principal: &Arc<Principal>, server: &ServerName, limit: Duration) -> bool {
        let (Some(own), _kept) = (self.meet(principal), self.keep(principal)) else {
            return true;
        };
        let mut signed = own.signed.subscribe();
        let key = principal.key();
        let wait = signed.wait_for(|_| self.shared.is_signed_in(server, key));
        // The sender is in `own`, so that only the time can end the wait.
        let waited = tokio::time::timeout(limit, wait).await;
        waited.is_ok()
    }

    fn noted(&self, principal: &Principal, server: &ServerName, kind: &'static str, reason: &str) {
        self.shared.metrics.sign_in(server, kind);
        self.record(Note {
            at: clock::now(),
            principal: principal.key().to_string(),
            kind,
            origin: "edge",
            method: "sign_in".to_owned(),
            subject: server.to_string(),
            reason: reason.to_owned(),
        });
    }
}

impl Shared {
    /// A server asks a principal for a sign-in again: what it offered is no longer listed.
    pub(crate) fn closed(&self, own: &Own, server: &ServerName) {
        if own.lists.with_book(|book| book.close(server)) {
            own.lists.republish();
        }
    }

    /// Whether a principal has what a server asks for.
    pub(crate) fn is_signed_in(&self, server: &ServerName, principal: &PrincipalKey) -> bool {
        match self.upstreams.standing(server, principal) {
            Standing::SignedIn => true,
            Standing::Required | Standing::NotNeeded => false,
        }
    }
}
