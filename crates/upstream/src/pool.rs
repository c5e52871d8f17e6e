//! The set of servers in force, and the swap from one set to the next.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use countersign_core::names::ServerName;
use countersign_core::server::ServerEntry;
use futures_util::future::join_all;
use tokio::sync::mpsc;
use tokio_util::sync::DropGuard;

use crate::ending::Ending;
use crate::http::Client;
use crate::server::Server;
use crate::{Error, Event, Settings};

/// All servers in force.
pub(crate) struct Pool {
    settings: Arc<Settings>,
    events: mpsc::Sender<Event>,
    client: Client,
    servers: RwLock<BTreeMap<ServerName, Arc<Server>>>,
    ending: Ending,
    /// Dropping the last handle ends every connection and child process.
    _end_on_drop: DropGuard,
}

impl Pool {
    /// No servers yet.
    pub(crate) fn new(settings: Settings, events: mpsc::Sender<Event>) -> Self {
        let (ending, end_on_drop) = Ending::new(settings.warden.clone());
        Self {
            client: Client::new(settings.connect_timeout),
            settings: Arc::new(settings),
            events,
            servers: RwLock::default(),
            _end_on_drop: end_on_drop,
            ending,
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
        Arc::new(Server::new(
            Arc::clone(entry),
            Arc::clone(&self.settings),
            self.events.clone(),
            self.client.clone(),
            self.ending.clone(),
        ))
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

    /// Ends every connection and waits until every child process is gone.
    pub(crate) async fn shutdown(&self) {
        let servers = std::mem::take(&mut *self.servers.write().unwrap_or_else(PoisonError::into_inner));
        // Connections that are being made and those of former entries end by the same signal.
        let stopped = join_all(servers.values().map(|server| server.stop()));
        tokio::join!(stopped, self.ending.come());
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}
