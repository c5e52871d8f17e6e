//! One legacy session: what its client declared, chose and awaits.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use countersign_core::principal::{Caller, Endpoint, PrincipalKey};
use countersign_engine::{Abilities, Reply};
use countersign_wire::version::Version;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};

use crate::calls::Calls;
use crate::levels::Level;

/// How many resources one session may watch.
pub(crate) const SUBSCRIPTIONS: usize = 1000;

/// How long their URIs may be together, in bytes: an idle session must stay small.
const WATCHED_BYTES: usize = 128 * 1024;

/// One legacy session. It outlives every stream and every connection of its client.
#[derive(Debug)]
pub(crate) struct Session {
    /// `Mcp-Session-Id`; empty for the one session of a pipe.
    pub(crate) id: String,
    pub(crate) principal: PrincipalKey,
    pub(crate) endpoint: Endpoint,
    pub(crate) version: Version,
    pub(crate) abilities: Abilities,
    /// What is under way.
    pub(crate) calls: Arc<Calls>,
    lists_direct: AtomicBool,
    used: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    level: Option<Level>,
    subscriptions: BTreeSet<String>,
    asked: HashMap<String, oneshot::Sender<Reply>>,
    stream: Option<mpsc::Sender<String>>,
}

impl Session {
    pub(crate) fn new(id: String, caller: &Caller, version: Version, abilities: Abilities) -> Self {
        Self {
            id,
            principal: caller.principal.key().clone(),
            endpoint: caller.endpoint.clone(),
            version,
            abilities,
            calls: Arc::default(),
            lists_direct: AtomicBool::new(false),
            used: AtomicU64::new(0),
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a use; `tick` only ever grows.
    pub(crate) fn touch(&self, tick: u64) {
        self.used.store(tick, Ordering::Relaxed);
    }

    /// How long ago it was used, as a tick, after those whose client still listens.
    pub(crate) fn age(&self) -> (bool, u64) {
        (self.has_stream(), self.used.load(Ordering::Relaxed))
    }

    /// Remembers that its client has seen the direct list, and so wants to hear of its changes.
    pub(crate) fn saw_direct(&self) {
        self.lists_direct.store(true, Ordering::Relaxed);
    }

    /// Whether its client has seen the direct list.
    pub(crate) fn lists_direct(&self) -> bool {
        self.lists_direct.load(Ordering::Relaxed)
    }

    /// `logging/setLevel`
    pub(crate) fn set_level(&self, level: Level) {
        self.state().level = Some(level);
    }

    /// The level that was set.
    pub(crate) fn level(&self) -> Option<Level> {
        self.state().level
    }

    /// Adds a watched resource. `None` when there are too many, else whether it is new.
    pub(crate) fn watch(&self, uri: &str) -> Option<bool> {
        let mut state = self.state();
        if state.subscriptions.contains(uri) {
            return Some(false);
        }
        let length: usize = state.subscriptions.iter().map(String::len).sum();
        if state.subscriptions.len() >= SUBSCRIPTIONS || length + uri.len() > WATCHED_BYTES {
            return None;
        }
        Some(state.subscriptions.insert(uri.to_owned()))
    }

    /// Removes a watched resource; says whether it was watched.
    pub(crate) fn unwatch(&self, uri: &str) -> bool {
        self.state().subscriptions.remove(uri)
    }

    /// Whether a resource is watched.
    pub(crate) fn watches(&self, uri: &str) -> bool {
        self.state().subscriptions.contains(uri)
    }

    /// Awaits the client's answer to a request of ours; `id` is raw.
    pub(crate) fn await_reply(&self, id: String, reply: oneshot::Sender<Reply>) {
        self.state().asked.insert(id, reply);
    }

    /// Takes in a client's answer; says whether anyone awaited it.
    pub(crate) fn reply(&self, id: &str, outcome: Result<&RawValue, &RawValue>) -> bool {
        let Some(reply) = self.state().asked.remove(id) else {
            return false;
        };
        let outcome = match outcome {
            Ok(result) => Reply::Result(result.to_owned()),
            Err(error) => Reply::Error(error.to_owned()),
        };
        reply.send(outcome).is_ok()
    }

    /// No longer awaits an answer.
    pub(crate) fn forget(&self, id: &str) {
        self.state().asked.remove(id);
    }

    /// Opens the client's standing stream; an older one ends.
    pub(crate) fn open_stream(&self, stream: mpsc::Sender<String>) {
        self.state().stream = Some(stream);
    }

    /// Ends the client's standing stream. The session goes on.
    pub(crate) fn close_stream(&self) {
        self.state().stream = None;
    }

    /// Whether the client listens.
    pub(crate) fn has_stream(&self) -> bool {
        self.state().stream.as_ref().is_some_and(|stream| !stream.is_closed())
    }

    /// Sends a message on the standing stream. Without one, or where the client does not read, it is dropped.
    pub(crate) fn tell(&self, message: String) {
        let mut state = self.state();
        let Some(stream) = &state.stream else { return };
        if let Err(mpsc::error::TrySendError::Closed(_)) = stream.try_send(message) {
            state.stream = None;
        }
    }

    /// Ends the session: cancels what is under way and gives back what it watched.
    pub(crate) fn end(&self) -> BTreeSet<String> {
        self.calls.cancel_all();
        let mut state = self.state();
        state.stream = None;
        state.asked.clear();
        std::mem::take(&mut state.subscriptions)
    }
}
