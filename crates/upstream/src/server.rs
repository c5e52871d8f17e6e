//! One server of the catalogue file: its connections, one per principal or one for all.

mod sign_in;
mod slot;

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use countersign_core::principal::PrincipalKey;
use countersign_core::server::{PrivateNetwork, ServerEntry, Start, Transport};
use countersign_fetch::Screen;
use countersign_wire::version::Era;
use futures_util::FutureExt;
use futures_util::future::{Shared, join_all};
use slot::{Place, Slot};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::auth::{Keeper, Site};
use crate::backoff::{Backoff, Wait};
use crate::connect::{Recipe, connect};
use crate::connection::{Connection, Whose};
use crate::ending::Ending;
use crate::events::Events;
use crate::exchange::Unmade;
use crate::flight::Lease;
use crate::http::{Client, Way};
use crate::stdio::Log;
use crate::{Error, Event, Settings, Status};

type Made = Result<Arc<Connection>, Unmade>;
type Connecting = Shared<Pin<Box<dyn Future<Output = Made> + Send>>>;

/// What a connection is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A call.
    Call,
    /// A listing: the connection also hears of changes, and stays.
    List,
}

/// One server, as one version of its entry has it.
pub(crate) struct Server {
    /// Its entry.
    pub(crate) entry: Arc<ServerEntry>,
    settings: Arc<Settings>,
    events: Events,
    client: Client,
    log: Arc<Log>,
    ending: Ending,
    keeper: Arc<Keeper>,
    /// How it is signed in to, where principals have credentials of their own.
    site: Option<Arc<Site>>,
    state: Mutex<State>,
}

/// What all servers have in common.
#[derive(Debug, Clone)]
pub(crate) struct Common {
    pub(crate) settings: Arc<Settings>,
    pub(crate) events: mpsc::Sender<Event>,
    pub(crate) client: Client,
    pub(crate) ending: Ending,
    pub(crate) keeper: Arc<Keeper>,
}

#[derive(Default)]
struct State {
    slots: HashMap<Option<PrincipalKey>, Slot>,
    /// The era that the server spoke: asked once, remembered while the entry stays as it is.
    era: Option<Era>,
    phase: Phase,
    last_error: Option<String>,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// In use.
    #[default]
    Serving,
    /// `stop` was called.
    Stopped,
    /// Its entry was changed or removed.
    Retired,
}

impl Server {
    /// A server without connections.
    pub(crate) fn new(entry: Arc<ServerEntry>, common: Common) -> Self {
        let Common {
            settings,
            events,
            client,
            ending,
            keeper,
        } = common;
        let log = Arc::new(Log::new(entry.name.clone(), &entry.transport));
        let events = Events::new(entry.name.clone(), events);
        let site = Site::of(&entry).map(Arc::new);
        if let Some(site) = &site {
            keeper.serves(site);
        }
        Self {
            entry,
            settings,
            events,
            client,
            log,
            ending,
            keeper,
            site,
            state: Mutex::default(),
        }
    }

    /// How long one call may take without a sign of life.
    pub(crate) fn call_timeout(&self) -> Duration {
        self.entry.timeout.unwrap_or(self.settings.call_timeout)
    }

    /// How large one message may be, in bytes.
    pub(crate) fn limit(&self) -> usize {
        self.settings.response_bytes
    }

    /// The error for a server that cannot be used.
    pub(crate) fn unavailable(&self, reason: impl Into<String>) -> Error {
        Error::Unavailable {
            server: self.entry.name.clone(),
            reason: self.log.masked(&reason.into()),
        }
    }

    fn error(&self, unmade: Unmade) -> Error {
        match unmade {
            Unmade::Unusable(reason) => self.unavailable(reason),
            Unmade::SignIn(reason) => self.requires_sign_in(reason),
        }
    }

    /// How it is reached.
    pub(crate) fn way(&self) -> Way<'_> {
        Way {
            client: &self.client,
            screen: match self.entry.private_network {
                PrivateNetwork::Allowed => Screen::Nothing,
                PrivateNetwork::Screened => Screen::Others,
            },
            limit: self.settings.response_bytes,
        }
    }

    /// A principal's connection, made now if there is none. However many ask, one is made.
    ///
    /// # Errors
    /// When there can be none now.
    pub(crate) async fn checkout(self: &Arc<Self>, principal: &PrincipalKey, purpose: Purpose) -> Result<Lease, Error> {
        let key = self.entry.is_per_principal().then(|| principal.clone());
        let connecting = {
            let mut state = self.lock();
            match self
                .place(&mut state, key, purpose)
                .map_err(|unmade| self.error(unmade))?
            {
                Ok(lease) => return Ok(lease),
                Err(connecting) => connecting,
            }
        };
        let connection = connecting.await.map_err(|unmade| self.error(unmade))?;
        let lease = Lease::of(&connection);
        if connection.closed.is_cancelled() {
            return Err(self.unavailable(connection.end_reason()));
        }
        Ok(lease)
    }

    /// The connection that stands, or the one that is being made.
    fn place(
        self: &Arc<Self>,
        state: &mut State,
        key: Option<PrincipalKey>,
        purpose: Purpose,
    ) -> Result<Result<Lease, Connecting>, Unmade> {
        self.check(state.phase)?;
        if self.site.is_some() && !state.slots.contains_key(&key) {
            self.check_sign_in(key.as_ref())?;
        }
        let slot = state.slots.entry(key.clone()).or_default();
        slot.lists |= purpose == Purpose::List;
        match &slot.place {
            Place::Up(connection) if !connection.closed.is_cancelled() => return Ok(Ok(Lease::of(connection))),
            Place::Connecting(connecting) => return Ok(Err(connecting.clone())),
            Place::Up(_) => state.last_error = slot.gone(&self.entry.transport),
            Place::Empty => {}
        }
        self.check_sign_in(key.as_ref())?;
        if let Err(wait) = slot.backoff.check(Instant::now()) {
            let last = state.last_error.as_deref().unwrap_or("it ended");
            return Err(self.paused(last, wait).into());
        }
        let server = Arc::clone(self);
        // A task of its own: a caller that goes away does not take the others' connection along.
        let whose = key.clone();
        let task = self
            .ending
            .spawn_until(async move { server.open(whose, purpose).await });
        let connecting = self.connecting(key, task);
        slot.place = Place::Connecting(connecting.clone());
        Ok(Err(connecting))
    }

    /// What everybody waits for who wants this connection. Should making it panic, the next use tries again.
    fn connecting(self: &Arc<Self>, key: Option<PrincipalKey>, task: JoinHandle<Option<Made>>) -> Connecting {
        let server = Arc::downgrade(self);
        async move {
            match task.await {
                Ok(Some(made)) => made,
                Ok(None) => Err("the gateway is shutting down".to_owned().into()),
                Err(_panicked) => {
                    if let Some(server) = server.upgrade() {
                        server.interrupted(&key);
                    }
                    let why = "connecting was interrupted by a fault of the gateway; the next use tries again";
                    Err(why.to_owned().into())
                }
            }
        }
        .boxed()
        .shared()
    }

    fn interrupted(&self, key: &Option<PrincipalKey>) {
        tracing::error!(server = %self.entry.name, "connecting was interrupted by a panic");
        let mut state = self.lock();
        if let Some(slot) = state.slots.get_mut(key)
            && matches!(slot.place, Place::Connecting(_))
        {
            slot.place = Place::Empty;
            // Not without a pause: it may happen again.
            slot.backoff.paused(Instant::now(), Duration::ZERO);
        }
    }

    fn paused(&self, last: &str, wait: Wait) -> String {
        let again = if self.is_child() { "started" } else { "connected" };
        match wait {
            // The length of the wait is not said: the text is kept in the catalogue and grows stale.
            Wait::For(_) => format!("{last}; it is {again} again, with growing pauses"),
            Wait::Forever => format!(
                "{last}; it ended too often right after its start and is not started again until its entry changes or core_server_start is called"
            ),
        }
    }

    fn check(&self, phase: Phase) -> Result<(), String> {
        match (phase, self.entry.start) {
            (Phase::Stopped, _) => Err("it was stopped".to_owned()),
            (Phase::Retired, _) => Err("its entry was changed or removed".to_owned()),
            (Phase::Serving, Start::Suspended) => Err("its entry suspends it".to_owned()),
            (Phase::Serving, Start::Boot | Start::Lazy) => Ok(()),
        }
    }

    fn is_child(&self) -> bool {
        matches!(self.entry.transport, Transport::Stdio { .. })
    }

    async fn open(self: &Arc<Self>, key: Option<PrincipalKey>, purpose: Purpose) -> Made {
        let (era, wished) = {
            let mut state = self.lock();
            let era = state.era;
            (era, Arc::clone(&state.slots.entry(key.clone()).or_default().wished))
        };
        let (site, principal) = (self.site.as_ref(), key.as_ref());
        let credential = site
            .zip(principal)
            .and_then(|(site, principal)| self.keeper.credential(site, principal));
        let events = self.events.of(key.clone());
        let recipe = Recipe {
            transport: &self.entry.transport,
            whose: Whose {
                server: self.entry.name.clone(),
                principal: key.clone(),
                events: events.clone(),
                log: Arc::clone(&self.log),
                wished,
            },
            era,
            way: self.way(),
            credential: credential.clone(),
            timeout: self.settings.connect_timeout,
            ending: &self.ending,
        };
        let begun = Instant::now();
        let made = match site {
            // Signed out since it was looked at: nothing is sent without the credential.
            Some(site) if credential.is_none() => Err(Unmade::SignIn(site.missing().to_owned())),
            Some(_) | None => Box::pin(connect(&recipe)).await,
        };
        let mut state = self.lock();
        let phase = self.check(state.phase);
        let state = &mut *state;
        let slot = state.slots.entry(key.clone()).or_default();
        match made {
            Ok(connection) => {
                if let Err(reason) = phase {
                    slot.place = Place::Empty;
                    connection.end(&reason);
                    return Err(reason.into());
                }
                tracing::info!(server = %self.entry.name, version = connection.version().as_str(), "connected");
                state.era = Some(connection.version().era());
                state.last_error = None;
                // What a server that was away publishes now may differ from what it published before; a
                // listing that made the connection finds out by itself.
                if slot.since.replace(Instant::now()).is_some() && purpose == Purpose::Call {
                    events.list_changed();
                }
                slot.place = Place::Up(Arc::clone(&connection));
                self.end_when_unused(key, &connection);
                Ok(connection)
            }
            Err(Unmade::SignIn(reason)) => {
                tracing::info!(server = %self.entry.name, reason, "a principal must sign in");
                slot.place = Place::Empty;
                Err(Unmade::SignIn(reason))
            }
            Err(Unmade::Unusable(reason)) => {
                // A server may say back what it was sent, its credential included.
                let reason = self.log.masked(&reason);
                let reason = credential.map_or_else(|| reason.clone(), |credential| credential.masked(&reason));
                tracing::warn!(server = %self.entry.name, reason, "cannot connect");
                // A wrong verdict must not outlive the failure that it may have caused.
                state.era = None;
                state.last_error = Some(reason.clone());
                slot.place = Place::Empty;
                match self.entry.transport {
                    // An attempt that took long was no fast end: the machine may be slow.
                    Transport::Stdio { .. } => slot.backoff.failed(Instant::now(), begun.elapsed()),
                    Transport::Sse { .. } => slot.backoff.paused(Instant::now(), Duration::ZERO),
                    // A request that finds nobody costs little, and the server may be there again.
                    Transport::Http { .. } => {}
                }
                Err(Unmade::Unusable(reason))
            }
        }
    }

    /// Ends a principal's own connection once nobody has used it for long: a child or a session for every
    /// principal that ever called would add up. Connections that hear of changes stay.
    fn end_when_unused(self: &Arc<Self>, key: Option<PrincipalKey>, connection: &Arc<Connection>) {
        if key.is_none() {
            return;
        }
        let (server, connection, idle) = (Arc::downgrade(self), Arc::clone(connection), self.settings.idle);
        tokio::spawn(async move {
            let mut wait = idle;
            loop {
                tokio::select! {
                    () = tokio::time::sleep(wait) => {}
                    () = connection.closed.cancelled() => return,
                }
                let Some(server) = server.upgrade() else { return };
                wait = match connection.unused_for() {
                    Some(unused) if unused < idle => idle.saturating_sub(unused),
                    Some(_) if server.ended_unused(&key, &connection) => return,
                    Some(_) | None => idle,
                };
            }
        });
    }

    /// Ends a connection if it may end; new users and this are in each other's order by the lock.
    fn ended_unused(&self, key: &Option<PrincipalKey>, connection: &Arc<Connection>) -> bool {
        let mut state = self.lock();
        let Some(slot) = state.slots.get_mut(key) else {
            return false;
        };
        let is_current = matches!(&slot.place, Place::Up(current) if Arc::ptr_eq(current, connection));
        // Lists of everybody's are heard of for as long as the gateway runs; a principal's own, while it comes.
        let listens = slot.lists && self.site.is_none();
        if !is_current || listens || !slot.wished.is_empty() || connection.unused_for().is_none() {
            return false;
        }
        tracing::info!(server = %self.entry.name, "a principal's connection was not used for long and ends");
        state.slots.remove(key);
        connection.end("it was not used for long");
        true
    }

    /// Nobody keeps what is listed over a principal's connection: it may end when it is not used for long.
    pub(crate) fn release(&self, principal: &PrincipalKey) {
        if let Some(slot) = self.lock().slots.get_mut(&Some(principal.clone())) {
            slot.lists = false;
        }
    }

    /// Takes over what principals of a former version of the entry wish to be told of.
    pub(crate) fn take_wishes(&self, former: &Self) {
        let wishes: Vec<_> = former
            .lock()
            .slots
            .iter()
            .filter(|(_, slot)| !slot.wished.is_empty())
            .map(|(key, slot)| (key.clone(), Arc::clone(&slot.wished)))
            .collect();
        let mut state = self.lock();
        for (key, wished) in wishes {
            state.slots.entry(key).or_default().wished = wished;
        }
    }

    /// A connection is of no use any more; the next use makes another.
    pub(crate) fn discard(&self, connection: &Arc<Connection>, reason: &str) {
        connection.end(reason);
    }

    /// How it stands.
    pub(crate) fn status(&self) -> Status {
        let state = self.lock();
        let up = |slot: &&Slot| matches!(&slot.place, Place::Up(connection) if !connection.closed.is_cancelled());
        let ended = state.slots.values().find_map(|slot| match &slot.place {
            Place::Up(connection) => connection.ended().map(|(_, reason)| reason.clone()),
            Place::Empty | Place::Connecting(_) => None,
        });
        Status {
            connections: state.slots.values().filter(up).count(),
            last_error: ended.or_else(|| state.last_error.clone()),
            stderr: self.log.lines(),
            stopped: state.phase == Phase::Stopped,
        }
    }

    /// Ends every connection and makes no new one until [`Server::start`].
    pub(crate) async fn stop(&self) {
        let connections = self.take(Phase::Stopped);
        join_all(connections.iter().map(|connection| connection.close("it was stopped"))).await;
    }

    /// Lifts a stop and forgets failures.
    pub(crate) fn start(&self) {
        let mut state = self.lock();
        if state.phase == Phase::Stopped {
            state.phase = Phase::Serving;
        }
        state.last_error = None;
        for slot in state.slots.values_mut() {
            slot.backoff = Backoff::default();
            if matches!(&slot.place, Place::Up(connection) if connection.closed.is_cancelled()) {
                slot.place = Place::Empty;
            }
        }
    }

    /// Takes no new call; every connection ends when its calls have ended.
    pub(crate) fn retire(&self) {
        for connection in self.take(Phase::Retired) {
            tokio::spawn(async move {
                connection.idle().await;
                connection.close("its entry was changed or removed").await;
            });
        }
    }

    fn take(&self, phase: Phase) -> Vec<Arc<Connection>> {
        let mut state = self.lock();
        state.phase = phase;
        let slots = state.slots.values_mut().map(|slot| std::mem::take(&mut slot.place));
        slots
            .filter_map(|place| match place {
                Place::Up(connection) => Some(connection),
                Place::Empty | Place::Connecting(_) => None,
            })
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("name", &self.entry.name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
