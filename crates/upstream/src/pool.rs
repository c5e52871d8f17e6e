//! The set of servers in force, and the swap from one set to the next.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use countersign_core::names::ServerName;
use countersign_core::principal::PrincipalKey;
use countersign_core::secret::Secret;
use countersign_core::server::ServerEntry;
use countersign_core::time::Millis;
use countersign_store::Ledger;
use futures_util::future::join_all;
use tokio::sync::mpsc;
use tokio_util::sync::DropGuard;

use crate::auth::{self, Keeper, Returned, Routes, SignIn, SignInError, SignedIn, Standing};
use crate::ending::Ending;
use crate::http::Client;
use crate::server::{Common, Server};
use crate::{Error, Event, Settings};

/// All servers in force.
pub(crate) struct Pool {
    common: Common,
    servers: RwLock<BTreeMap<ServerName, Arc<Server>>>,
    /// Dropping the last handle ends every connection and child process.
    _end_on_drop: DropGuard,
}

impl Pool {
    /// No servers yet.
    pub(crate) fn new(settings: Settings, ledger: Ledger, events: mpsc::Sender<Event>) -> Self {
        let (ending, end_on_drop) = Ending::new(settings.warden.clone());
        let common = Common {
            client: Client::new(settings.connect_timeout),
            keeper: Arc::new(Keeper::new(ledger, settings.vault_key.clone(), ending.clone())),
            settings: Arc::new(settings),
            events,
            ending,
        };
        Self {
            common,
            servers: RwLock::default(),
            _end_on_drop: end_on_drop,
        }
    }

    /// Takes over a new set of entries.
    pub(crate) fn apply(&self, entries: &[Arc<ServerEntry>]) {
        let retired = {
            let mut servers = self.servers.write().unwrap_or_else(PoisonError::into_inner);
            let mut before = std::mem::take(&mut *servers);
            for entry in entries {
                let server = match before.remove(&entry.name) {
                    Some(server) if server.entry.digest == entry.digest => server,
                    Some(changed) => {
                        let server = self.fresh(entry);
                        server.take_wishes(&changed);
                        changed.retire();
                        server
                    }
                    None => self.fresh(entry),
                };
                servers.insert(entry.name.clone(), server);
            }
            before
        };
        for server in retired.into_values() {
            server.retire();
        }
    }

    fn fresh(&self, entry: &Arc<ServerEntry>) -> Arc<Server> {
        Arc::new(Server::new(Arc::clone(entry), self.common.clone()))
    }

    /// A server in force.
    pub(crate) fn server(&self, name: &ServerName) -> Option<Arc<Server>> {
        self.servers
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(name)
            .cloned()
    }

    /// Whether another server of the same name is in force now.
    pub(crate) fn replaced(&self, server: &Arc<Server>) -> bool {
        self.server(&server.entry.name)
            .is_some_and(|current| !Arc::ptr_eq(&current, server))
    }

    /// A server in force, or the error that says there is none.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    pub(crate) fn known(&self, name: &ServerName) -> Result<Arc<Server>, Error> {
        self.server(name).ok_or_else(|| Error::Unknown(name.to_string()))
    }

    /// Begins a sign-in.
    ///
    /// # Errors
    /// [`SignInError`]
    pub(crate) async fn sign_in(
        &self,
        name: &ServerName,
        principal: &PrincipalKey,
        routes: &Routes,
    ) -> Result<SignIn, SignInError> {
        let server = self
            .server(name)
            .ok_or_else(|| SignInError::Unknown(name.to_string()))?;
        let Some(site) = server.site() else {
            return Err(SignInError::NoSignIn {
                server: name.clone(),
                why: "its entry has no `auth`",
            });
        };
        let challenge = auth::challenge(server.way(), site).await;
        self.common
            .keeper
            .begin(site, challenge.as_ref(), principal, routes)
            .await
    }

    /// Finishes a sign-in. The principal's former connection takes no new call: its session belongs to the
    /// former sign-in.
    ///
    /// # Errors
    /// [`SignInError`]
    pub(crate) async fn finish_sign_in(&self, returned: Returned) -> Result<SignedIn, SignInError> {
        let site = |name: &ServerName| self.server(name).and_then(|server| server.site().cloned());
        let signed_in = self.common.keeper.finish(returned, site).await?;
        if let Some(server) = self.server(&signed_in.server) {
            server.set_aside(Some(&signed_in.principal), "its principal signed in again");
        }
        Ok(signed_in)
    }

    /// Ends a sign-in; whether there was one.
    ///
    /// # Errors
    /// [`Error::Unknown`]
    pub(crate) async fn sign_out(&self, name: &ServerName, principal: &PrincipalKey) -> Result<bool, Error> {
        let server = self.known(name)?;
        let Some(site) = server.site() else { return Ok(false) };
        // First the session, while its credential is still good.
        server.end_of(principal, "its principal signed out").await;
        Ok(self.common.keeper.forget(site, principal).await)
    }

    /// How a principal stands with a server.
    pub(crate) fn standing(&self, name: &ServerName, principal: &PrincipalKey) -> Standing {
        let server = self.server(name);
        let site = server.as_ref().and_then(|server| server.site());
        site.map_or(Standing::NotNeeded, |site| self.common.keeper.standing(site, principal))
    }

    /// Whether a principal that is signed in must sign in again for what a request of its needed.
    pub(crate) fn lacks_scope(&self, name: &ServerName, principal: &PrincipalKey) -> bool {
        let server = self.server(name);
        let site = server.as_ref().and_then(|server| server.site());
        site.is_some_and(|site| self.common.keeper.lacks_scope(site, principal))
    }

    /// Takes the bearer token that a principal connected with.
    pub(crate) fn present(&self, principal: &PrincipalKey, token: &Secret, ends: Option<Millis>) {
        self.common.keeper.present(principal, token, ends);
    }

    /// Ends every connection and waits until every child process is gone.
    pub(crate) async fn shutdown(&self) {
        let servers = std::mem::take(&mut *self.servers.write().unwrap_or_else(PoisonError::into_inner));
        // Connections that are being made and those of former entries end by the same signal.
        let stopped = join_all(servers.values().map(|server| server.stop()));
        tokio::join!(stopped, self.common.ending.come());
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}
