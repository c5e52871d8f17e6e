//! One legacy session: what its client declared, chose and awaits.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use countersign_core::names::ServerName;
use countersign_core::principal::{Caller, Endpoint, Principal, PrincipalKey};
use countersign_core::stages::Toolset;
use countersign_engine::{Abilities, Reply};
use countersign_wire::version::Version;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};

use crate::calls::Calls;
use crate::dispatch::Waiting;
use crate::hearer::Hearer;
use crate::levels::Level;
use crate::parking::Asked;
use crate::replay::{Cursor, Stream};

/// How many resources one session may watch.
pub(crate) const SUBSCRIPTIONS: usize = 1000;

/// How many calls of one session may wait for a person at a URL.
const WAITING: usize = 16;

/// How many sign-ins one session may wait for.
const SIGN_INS: usize = 64;

/// How many streams of calls one session may take up again.
const STREAMS: usize = 32;

/// How long their URIs may be together, in bytes: an idle session must stay small.
const WATCHED_BYTES: usize = 128 * 1024;

/// One legacy session. It outlives every stream and every connection of its client.
#[derive(Debug)]
pub(crate) struct Session {
    /// `Mcp-Session-Id`; empty for the one session of a pipe.
    pub(crate) id: String,
    pub(crate) principal: PrincipalKey,
    /// Who opened it.
    owner: Arc<Principal>,
    pub(crate) endpoint: Endpoint,
    pub(crate) version: Version,
    pub(crate) abilities: Abilities,
    /// What is under way.
    pub(crate) calls: Arc<Calls>,
    lists_direct: AtomicBool,
    /// Whether a call has ever waited for its person at a URL.
    waits: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    level: Option<Level>,
    subscriptions: BTreeSet<String>,
    asked: HashMap<String, oneshot::Sender<Reply>>,
    waiting: Vec<Waiting>,
    /// The servers that its person was sent to sign in to, each with the elicitation id that the client was told.
    sign_ins: Vec<(ServerName, String)>,
    stream: Option<Standing>,
    /// The event streams of calls that its client may take up again, oldest first.
    streams: Vec<Arc<Stream>>,
}

/// A client's standing stream, and what it may be told.
#[derive(Debug)]
struct Standing {
    messages: mpsc::Sender<String>,
    hearer: Arc<Hearer>,
}

impl Session {
    pub(crate) fn new(id: String, caller: &Caller, version: Version, abilities: Abilities) -> Self {
        Self {
            id,
            principal: caller.principal.key().clone(),
            owner: Arc::clone(&caller.principal),
            endpoint: caller.endpoint.clone(),
            version,
            abilities,
            calls: Arc::default(),
            lists_direct: AtomicBool::new(false),
            waits: AtomicBool::new(false),
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who opened it.
    pub(crate) fn owner(&self) -> &Principal {
        &self.owner
    }

    /// Who takes back what it watched, when it has ended.
    pub(crate) fn former_caller(&self) -> Caller {
        Caller {
            principal: Arc::clone(&self.owner),
            endpoint: self.endpoint.clone(),
            toolset: Toolset::Unscoped {
                because: "the session has ended, and only takes back what it watched",
            },
        }
    }

    /// Whether its client listens or waits for a call.
    pub(crate) fn is_busy(&self) -> bool {
        self.has_stream() || !self.calls.is_idle()
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

    /// Keeps what a call has to carry when the client, sent to a URL, calls again; the oldest gives way.
    pub(crate) fn keep_waiting(&self, waiting: Waiting) {
        let mut state = self.state();
        if state.waiting.len() >= WAITING {
            state.waiting.remove(0);
        }
        state.waiting.push(waiting);
        self.waits.store(true, Ordering::Release);
    }

    /// Keeps under which id its client was sent to a server's sign-in; the oldest gives way.
    pub(crate) fn keep_sign_in(&self, server: &ServerName, id: &str) {
        let mut state = self.state();
        if state.sign_ins.len() >= SIGN_INS {
            state.sign_ins.remove(0);
        }
        state.sign_ins.push((server.clone(), id.to_owned()));
    }

    /// Takes out the ids under which its client was sent to a server's sign-in.
    pub(crate) fn take_sign_ins(&self, server: &ServerName) -> Vec<String> {
        let mut state = self.state();
        let taken = state.sign_ins.extract_if(.., |(to, _)| to == server);
        taken.map(|(_, id)| id).collect()
    }

    /// Whether a call has ever waited for its person at a URL.
    pub(crate) fn has_waiting(&self) -> bool {
        self.waits.load(Ordering::Acquire)
    }

    /// Takes out what a call has to carry.
    pub(crate) fn take_waiting(&self, request: &Asked) -> Option<Waiting> {
        let mut state = self.state();
        let place = state.waiting.iter().position(|waiting| waiting.is_of(request))?;
        Some(state.waiting.remove(place))
    }

    /// Opens the client's standing stream; an older one ends.
    pub(crate) fn open_stream(&self, messages: mpsc::Sender<String>, hearer: Hearer) {
        let hearer = Arc::new(hearer);
        self.state().stream = Some(Standing { messages, hearer });
    }

    /// Ends the client's standing stream. The session goes on.
    pub(crate) fn close_stream(&self) {
        let mut state = self.state();
        state.stream = None;
    }

    /// Whether the client listens.
    pub(crate) fn has_stream(&self) -> bool {
        self.hearer().is_some()
    }

    /// What the client may be told of, while it listens.
    pub(crate) fn hearer(&self) -> Option<Arc<Hearer>> {
        let state = self.state();
        let stream = state.stream.as_ref().filter(|stream| !stream.messages.is_closed())?;
        Some(Arc::clone(&stream.hearer))
    }

    /// Remembers the stream of a call. Of too many the oldest is forgotten.
    pub(crate) fn add_stream(&self, stream: &Arc<Stream>) {
        let mut state = self.state();
        if state.streams.len() >= STREAMS {
            state.streams.remove(0);
        }
        state.streams.push(Arc::clone(stream));
    }

    /// Forgets the stream of a call.
    pub(crate) fn drop_stream(&self, stream: &Arc<Stream>) {
        self.state().streams.retain(|kept| !Arc::ptr_eq(kept, stream));
    }

    /// The stream that has an event of this id, from there on.
    pub(crate) fn resumed(&self, event_id: &str) -> Option<Cursor> {
        let state = self.state();
        let mut found = state.streams.iter();
        found.find_map(|stream| stream.position(event_id).map(|number| stream.read(Some(number))))
    }

    /// Sends a message on the standing stream. Without one, or where the client does not read, it is dropped.
    pub(crate) fn tell(&self, message: String) {
        let mut state = self.state();
        let Some(stream) = &state.stream else { return };
        if let Err(mpsc::error::TrySendError::Closed(_)) = stream.messages.try_send(message) {
            state.stream = None;
        }
    }

    /// Ends the session: cancels what is under way and gives back what it watched.
    pub(crate) fn end(&self) -> BTreeSet<String> {
        self.calls.cancel_all();
        let mut state = self.state();
        state.stream = None;
        for stream in std::mem::take(&mut state.streams) {
            stream.forget();
        }
        state.asked.clear();
        std::mem::take(&mut state.subscriptions)
    }
}
