//! Connections to MCP servers, and the one call that reaches them (I1).

mod auth;
mod backoff;
mod call;
mod connect;
mod connection;
mod duplex;
mod ending;
mod events;
mod exchange;
mod flight;
mod http;
mod inbound;
mod listing;
mod params;
mod passage;
mod pending;
mod pool;
mod rounds;
mod server;
mod sse;
mod stdio;
mod task;
mod text;
mod watch;
mod way;

use std::sync::Arc;
use std::time::Duration;

use countersign_core::listing::Listing;
use countersign_core::names::ServerName;
use countersign_core::principal::PrincipalKey;
use countersign_core::secret::Secret;
use countersign_core::server::ServerEntry;
use countersign_core::time::Millis;
use countersign_store::{Ledger, Receipt, Recorded};
use tokio::sync::mpsc;

pub use auth::{BadKey, Returned, Routes, SignIn, SignInError, SignedIn, Standing, VaultKey, client_document};
pub use passage::{Abilities, Passage, Reply, Tasks, ToCaller};
pub use rounds::{Carried, answers};
pub use way::{Messages, Way, way};

/// Limits that hold for every server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long connecting and the handshake may take.
    pub connect_timeout: Duration,
    /// How long one call may take where its server names no own limit.
    pub call_timeout: Duration,
    /// How large one message of a server may be, in bytes.
    pub response_bytes: usize,
    /// How long a principal's own connection may be unused before it is ended.
    pub idle: Duration,
    /// The program whose command `warden` ends the process groups that outlive a gateway which was killed.
    pub warden: Option<std::path::PathBuf>,
    /// What sign-ins to servers are sealed with where they are kept; without it they end with the process.
    pub vault_key: Option<VaultKey>,
}

/// Why a server could not be used.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// No such server in the catalogue file.
    #[error("server `{0}` is not in the catalogue")]
    Unknown(String),
    /// It cannot be reached or started.
    #[error("server {server} is unavailable: {reason}")]
    Unavailable {
        /// The server.
        server: ServerName,
        /// Why, without any secret.
        reason: String,
    },
    /// The principal has no credential that it takes. A call that ends so was not sent, or was refused unread.
    #[error("server {server} requires a sign-in: {reason}")]
    AuthRequired {
        /// The server.
        server: ServerName,
        /// Why, without any secret.
        reason: String,
    },
}

impl Error {
    /// Why, without the server's name.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::Unknown(_) => "it is not in the catalogue",
            Self::Unavailable { reason, .. } | Self::AuthRequired { reason, .. } => reason,
        }
    }
}

/// What became of one call.
#[derive(Debug)]
pub enum Answer {
    /// `result` as the server sent it, byte for byte.
    Result(Box<serde_json::value::RawValue>),
    /// `error` as the server sent it, byte for byte.
    Error(Box<serde_json::value::RawValue>),
    /// The server never saw the call.
    NotSent(Error),
    /// The call was sent and its answer was lost.
    Lost {
        /// Why.
        reason: String,
    },
    /// The caller took the call back; the server has been told.
    Cancelled,
}

/// What servers say of their own accord.
#[derive(Debug, Clone)]
pub enum Event {
    /// A list of a server may have changed.
    ListChanged {
        /// The server.
        server: ServerName,
        /// Whose connection was told; `None` for a shared one.
        principal: Option<PrincipalKey>,
    },
    /// A resource changed.
    ResourceUpdated {
        /// The server.
        server: ServerName,
        /// Whose connection was told.
        principal: Option<PrincipalKey>,
        /// The notification's parameters, as sent.
        params: Arc<serde_json::value::RawValue>,
    },
    /// A task changed.
    Task {
        /// The server.
        server: ServerName,
        /// Whose connection was told; `None` for a shared one.
        principal: Option<PrincipalKey>,
        /// The notification's parameters, as sent.
        params: Arc<serde_json::value::RawValue>,
    },
    /// A server writes a log message that belongs to no call.
    Log {
        /// The server.
        server: ServerName,
        /// Whose connection was told; `None` for a shared one.
        principal: Option<PrincipalKey>,
        /// The notification's parameters, as sent.
        params: Arc<serde_json::value::RawValue>,
    },
    /// A connection ended.
    Down {
        /// The server.
        server: ServerName,
        /// Whose connection it was; `None` for a shared one.
        principal: Option<PrincipalKey>,
        /// Why, without any secret.
        reason: String,
    },
}

/// How a server stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// How many connections are open.
    pub connections: usize,
    /// The last error, if the last attempt failed.
    pub last_error: Option<String>,
    /// The last lines that it wrote to its standard error, masked; empty for HTTP.
    pub stderr: Vec<String>,
    /// Whether `stop` was called.
    pub stopped: bool,
}

/// All connections to all servers.
#[derive(Debug, Clone)]
pub struct Upstreams {
    pool: Arc<pool::Pool>,
}

impl Upstreams {
    /// No servers yet; events go to the returned receiver. Sign-ins are kept in the ledger's store.
    #[must_use]
    pub fn new(settings: Settings, ledger: Ledger) -> (Self, mpsc::Receiver<Event>) {
        let (events, receiver) = mpsc::channel(events::CAPACITY);
        (
            Self {
                pool: Arc::new(pool::Pool::new(settings, ledger, events)),
            },
            receiver,
        )
    }

    /// Takes over a new set of entries. Connections of an unchanged entry (equal digest) are not
    /// touched; those of a changed or removed one take no new call and end when their calls have ended.
    pub fn apply(&self, entries: &[Arc<ServerEntry>]) {
        self.pool.apply(entries);
    }

    /// Connects if needed (single-flight) and lists everything, following every page.
    ///
    /// # Errors
    /// When the server cannot be used.
    pub async fn list(&self, server: &ServerName, principal: &PrincipalKey) -> Result<Listing, Error> {
        self.list_again(server, principal, &Arc::default()).await
    }

    /// As [`Upstreams::list`]; definitions that are `known` byte for byte are shared and not read again.
    ///
    /// # Errors
    /// When the server cannot be used.
    pub async fn list_again(
        &self,
        server: &ServerName,
        principal: &PrincipalKey,
        known: &Arc<Listing>,
    ) -> Result<Listing, Error> {
        Box::pin(listing::list(&self.pool, server, principal, known)).await
    }

    /// The one door: makes exactly the recorded call.
    pub async fn call(&self, recorded: Recorded, passage: Passage) -> (Answer, Receipt) {
        call::send(&self.pool, recorded, &passage).await
    }

    /// Begins a principal's sign-in to a server: finds out who signs people in, and gives the link.
    ///
    /// # Errors
    /// Why nobody can sign in.
    pub async fn sign_in(
        &self,
        server: &ServerName,
        principal: &PrincipalKey,
        routes: &Routes,
    ) -> Result<SignIn, SignInError> {
        Box::pin(self.pool.sign_in(server, principal, routes)).await
    }

    /// Finishes a sign-in with what came back to the callback. Whoever calls makes sure that it came from the browser
    /// that followed the link.
    ///
    /// # Errors
    /// Why it failed; it cannot be finished again.
    pub async fn finish_sign_in(&self, returned: Returned) -> Result<SignedIn, SignInError> {
        Box::pin(self.pool.finish_sign_in(returned)).await
    }

    /// Ends a principal's connection to a server and forgets its sign-in; whether there was one.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    pub async fn sign_out(&self, server: &ServerName, principal: &PrincipalKey) -> Result<bool, Error> {
        Box::pin(self.pool.sign_out(server, principal)).await
    }

    /// How a principal stands with a server; [`Standing::NotNeeded`] also for one that is not in the catalogue.
    #[must_use]
    pub fn standing(&self, server: &ServerName, principal: &PrincipalKey) -> Standing {
        self.pool.standing(server, principal)
    }

    /// Whether a principal that is signed in must sign in again for what a request of its needed.
    #[must_use]
    pub fn lacks_scope(&self, server: &ServerName, principal: &PrincipalKey) -> bool {
        self.pool.lacks_scope(server, principal)
    }

    /// Takes the bearer token that a principal connected with, for servers that it is forwarded to or exchanged for;
    /// cheap when it is the one that is known. It is held in memory until it ends.
    pub fn present(&self, principal: &PrincipalKey, token: &Secret, ends: Option<Millis>) {
        self.pool.present(principal, token, ends);
    }

    /// How a server stands.
    #[must_use]
    pub fn status(&self, server: &ServerName) -> Option<Status> {
        self.pool.server(server).map(|server| server.status())
    }

    /// Ends a server's connections and makes no new one until `start`.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    pub async fn stop(&self, server: &ServerName) -> Result<(), Error> {
        self.pool.known(server)?.stop().await;
        Ok(())
    }

    /// Lifts `stop` and forgets failures; the next use connects.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    pub fn start(&self, server: &ServerName) -> Result<(), Error> {
        self.pool.known(server)?.start();
        Ok(())
    }

    /// A principal's lists are no longer kept: its connection to a server ends when it is not used for long.
    pub fn release(&self, server: &ServerName, principal: &PrincipalKey) {
        if let Some(server) = self.pool.server(server) {
            server.release(principal);
        }
    }

    /// Ends every connection and every child process.
    pub async fn shutdown(&self) {
        self.pool.shutdown().await;
    }
}
