//! What all requests of one edge share.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use countersign_core::admit::{Ask, Origin};
use countersign_core::principal::{Caller, Endpoint, Principal};
use countersign_core::stages::Toolset;
use countersign_engine::{Abilities, Engine, Passage, Refused, way};
use tokio_util::sync::CancellationToken;

use crate::auth;
use crate::metrics::{Metrics, SessionEnd};
use crate::pages::Pages;
use crate::parking::Parking;
use crate::replay::Kept;
use crate::session::Session;
use crate::sessions::Sessions;
use crate::settings::{InForce, Settings};
use crate::tasks::Tasks;
use crate::watches::Watches;

/// What all requests of one edge share.
pub(crate) struct Shared {
    pub(crate) engine: Arc<Engine>,
    pub(crate) sessions: Sessions,
    pub(crate) watches: Watches,
    pub(crate) metrics: Metrics,
    /// The calls of modern callers that wait for an answer to a server's question.
    pub(crate) parking: Arc<Parking>,
    /// The tasks that callers follow themselves.
    pub(crate) tasks: Tasks,
    /// The ended streams that clients may still take up.
    pub(crate) kept: Kept,
    /// Pages of lists, rendered once.
    pub(crate) pages: Pages,
    in_force: ArcSwap<InForce>,
    /// What is remembered of credentials.
    pub(crate) credentials: Arc<auth::Memory>,
    local: Arc<Principal>,
    requests: AtomicU64,
}

impl Shared {
    pub(crate) fn new(engine: Arc<Engine>, settings: Settings) -> Self {
        let credentials = auth::Memory::new();
        Self {
            metrics: Metrics::new(&engine, settings.version),
            engine,
            sessions: Sessions::default(),
            watches: Watches::default(),
            parking: Arc::default(),
            tasks: Tasks::default(),
            kept: Kept::default(),
            pages: Pages::default(),
            in_force: ArcSwap::from_pointee(InForce::new(settings, &credentials)),
            credentials,
            local: Arc::new(Principal::local()),
            requests: AtomicU64::new(1),
        }
    }

    /// The settings in force now; one request uses one view of them.
    pub(crate) fn in_force(&self) -> Arc<InForce> {
        self.in_force.load_full()
    }

    /// Puts other settings in force. Sessions go on, but for those of principals that are no longer let in.
    pub(crate) fn apply(self: &Arc<Self>, settings: Settings) {
        let before = self.in_force.swap(Arc::new(InForce::new(settings, &self.credentials)));
        let now = self.in_force();
        if before.settings.session_idle_timeout != now.settings.session_idle_timeout {
            self.sessions.reconsider();
        }
        if before.settings.lets_in_as(&now.settings) {
            return;
        }
        self.credentials
            .streams
            .cut(|principal| !now.auth.still_knows(principal));
        for session in self.sessions.all() {
            if !now.auth.still_knows(session.owner()) && self.sessions.close(&session) {
                self.end_session(&session);
                let reason = "an edit of the configuration no longer lets its principal in";
                self.note_end(&session, "none", SessionEnd::Refused, reason);
            }
        }
    }

    /// Whoever holds the pipe is `local`, and so is whoever reaches the loopback listener of a gateway without
    /// `identities.yaml`.
    pub(crate) fn local_caller(&self) -> Caller {
        Caller {
            principal: Arc::clone(&self.local),
            endpoint: Endpoint::Main,
            toolset: Toolset::Unscoped {
                because: "the request names no toolset",
            },
        }
    }

    /// An id for a request of ours, raw. No client ever sees it twice.
    pub(crate) fn next_request_id(&self) -> String {
        format!("\"countersign-{}\"", self.requests.fetch_add(1, Ordering::Relaxed))
    }

    /// Ends a session: what is under way is cancelled, and what only it watched is no longer watched.
    pub(crate) fn end_session(self: &Arc<Self>, session: &Session) {
        for uri in session.end() {
            if self.watches.release(&session.principal, &uri) {
                self.unwatch_later(&session.former_caller(), uri);
            }
        }
    }

    /// Puts the end of a session into the log, the trail and the metrics.
    pub(crate) fn note_end(&self, session: &Session, method: &str, end: SessionEnd, reason: &str) {
        tracing::info!(principal = %session.principal, reason, "a session ended");
        self.metrics.session_ended(end);
        self.engine.note(Refused {
            principal: session.principal.to_string(),
            kind: "session_ended",
            method: method.to_owned(),
            subject: "session".to_owned(),
            reason: reason.to_owned(),
        });
    }

    /// Tells the upstream, in a task of its own, that nobody watches a resource any more.
    pub(crate) fn unwatch_later(self: &Arc<Self>, caller: &Caller, uri: String) {
        self.ask_later(caller, Ask::Unsubscribe { uri });
    }

    /// Asks something in a task of its own; nobody waits for the answer. What is given back was asked for within
    /// the toolset of its time, so that none holds now.
    pub(crate) fn ask_later(self: &Arc<Self>, caller: &Caller, ask: Ask) {
        let (shared, mut caller) = (Arc::clone(self), caller.clone());
        caller.toolset = GIVEN_BACK;
        // The task ends by itself: every call has a timeout.
        drop(tokio::spawn(async move {
            let passage = quiet_passage();
            shared.engine.call(&caller, ask, Origin::Direct, passage).await;
        }));
    }
}

/// What gives back what a request asked for is not narrowed.
pub(crate) const GIVEN_BACK: Toolset = Toolset::Unscoped {
    because: "what was asked for is given back",
};

/// The passage of a call that has no caller to talk to.
pub(crate) fn quiet_passage() -> Passage {
    let (to_caller, _) = way(1);
    Passage {
        abilities: Abilities::default(),
        progress_token: None,
        log_level: None,
        meta: Vec::new(),
        extra: Vec::new(),
        to_caller,
        cancel: CancellationToken::new(),
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("sessions", &self.sessions.count())
            .finish_non_exhaustive()
    }
}
