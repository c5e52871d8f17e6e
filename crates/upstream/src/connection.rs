//! One connection to one server: what was negotiated, what is under way, and how it ends.

use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use countersign_core::names::ServerName;
use countersign_core::principal::PrincipalKey;
use countersign_wire::meta::LOG_LEVELS;
use countersign_wire::object::quote;
use countersign_wire::rpc;
use countersign_wire::version::{Era, Version};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::ending::Ending;
use crate::events::Events;
use crate::exchange::{Facts, Failure, Outgoing};
use crate::flight::Flight;
use crate::http::Link as HttpLink;
use crate::pending::{Back, Care, Delivered, Pending};
use crate::stdio::Log;
use crate::text::shown;
use crate::watch::{Watch, Wished};
use crate::{duplex, http};

/// How many answers to requests of one server may be on their way at once.
const ANSWERS: usize = 64;
/// How long a server may take to accept a message that is no request.
pub(crate) const TAKEN: Duration = Duration::from_secs(30);

/// Why connections end that nobody ended.
const SHUT_DOWN: &str = "the gateway is shutting down";

/// How messages travel.
#[derive(Debug)]
pub(crate) enum Link {
    /// Each request is an HTTP request of its own.
    Http(Box<HttpLink>),
    /// One stream each way: pipes of a child, or the HTTP+SSE transport.
    Duplex(duplex::Outbox),
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Its server.
    pub(crate) server: ServerName,
    /// Whose it is; `None` for a shared one.
    pub(crate) principal: Option<PrincipalKey>,
    /// How messages travel.
    pub(crate) link: Link,
    /// The way of its own messages to the engine.
    pub(crate) events: Events,
    /// Where its own words go, and what masks them.
    pub(crate) log: Arc<Log>,
    /// Requests that wait for their answer.
    pub(crate) pending: Pending,
    /// What the server is asked to announce (2026-07-28).
    pub(crate) watch: Watch,
    /// Cancelled when the connection takes no further request.
    pub(crate) closed: CancellationToken,
    /// Cancelled when nothing of it is left: process reaped, session deleted.
    pub(crate) gone: CancellationToken,
    /// Places for answers to requests of the server.
    pub(crate) answers: Arc<Semaphore>,
    facts: OnceLock<Facts>,
    ids: AtomicI64,
    level: Mutex<Option<String>>,
    ended: OnceLock<(Instant, String)>,
    leases: AtomicUsize,
    idle: Notify,
    /// When a lease was given back last, in milliseconds after `born`.
    used: AtomicU64,
    born: Instant,
}

impl Connection {
    /// A connection before its handshake.
    pub(crate) fn new(whose: Whose, link: Link, ending: &Ending) -> Arc<Self> {
        Arc::new(Self {
            server: whose.server,
            principal: whose.principal,
            log: whose.log,
            link,
            events: whose.events,
            pending: Pending::default(),
            watch: Watch::new(whose.wished),
            closed: ending.token(),
            gone: CancellationToken::new(),
            answers: Arc::new(Semaphore::new(ANSWERS)),
            facts: OnceLock::new(),
            ids: AtomicI64::new(1),
            level: Mutex::default(),
            ended: OnceLock::new(),
            leases: AtomicUsize::new(0),
            idle: Notify::new(),
            used: AtomicU64::new(0),
            born: Instant::now(),
        })
    }

    /// The handshake is done.
    pub(crate) fn settle(&self, facts: Facts) {
        self.facts.get_or_init(|| facts);
    }

    /// What the handshake settled; `None` before.
    pub(crate) fn facts(&self) -> Option<&Facts> {
        self.facts.get()
    }

    /// The version in use; before the handshake the newest with sessions.
    pub(crate) fn version(&self) -> Version {
        self.facts.get().map_or(Version::NEWEST_LEGACY, |facts| facts.version)
    }

    /// Whether every request carries its own metadata.
    pub(crate) fn is_modern(&self) -> bool {
        self.version().era() == Era::Modern
    }

    /// Whether requests travel over HTTP, each on its own.
    pub(crate) fn is_http(&self) -> bool {
        matches!(self.link, Link::Http(_))
    }

    /// A fresh id.
    pub(crate) fn next_id(&self) -> i64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// Sends a request and waits for its answer. The caller bounds the time.
    pub(crate) async fn exchange(
        self: &Arc<Self>,
        out: &Outgoing<'_>,
        back: Option<&Arc<Back>>,
    ) -> Result<Delivered, Failure> {
        match &self.link {
            Link::Http(link) => {
                let care = self.pending.note(out.id, back.cloned()).map_err(Failure::NotSent)?;
                self.look_after(care);
                http::exchange(self, link, out, back).await
            }
            Link::Duplex(outbox) => {
                let expected = self.pending.expect(out.id, back.cloned());
                let (answer, care) = expected.map_err(Failure::NotSent)?;
                self.look_after(care);
                let message = rpc::request(&out.id.to_string(), out.method, out.params);
                outbox.send(message, Some(out.id)).await.map_err(Failure::NotSent)?;
                answer
                    .await
                    .unwrap_or_else(|_closed| Err(Failure::Lost("the connection ended".to_owned())))
            }
        }
    }

    fn look_after(self: &Arc<Self>, care: Care) {
        if care == Care::Given {
            return;
        }
        let connection = Arc::clone(self);
        // The task ends with the calls that are under way.
        drop(tokio::spawn(async move {
            tokio::select! {
                () = connection.pending.watch() => {}
                () = connection.closed.cancelled() => {}
            }
        }));
    }

    /// Asks on the gateway's own behalf and waits at most `limit`.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        method: &str,
        params: Option<&str>,
        limit: Duration,
    ) -> Result<Delivered, Failure> {
        let version = self.facts().map(|facts| facts.version);
        self.ask_as(method, params, version, limit).await
    }

    /// As [`Connection::ask`], in a version that is not settled yet.
    pub(crate) async fn ask_as(
        self: &Arc<Self>,
        method: &str,
        params: Option<&str>,
        version: Option<Version>,
        limit: Duration,
    ) -> Result<Delivered, Failure> {
        let id = self.next_id();
        let out = Outgoing {
            id,
            method,
            name: None,
            params,
            headers: &[],
            version,
        };
        let mut flight = Flight::new(self, id);
        let answer = tokio::select! {
            biased;
            answer = tokio::time::timeout(limit, self.exchange(&out, None)) => answer,
            () = self.closed.cancelled() => {
                flight.land();
                return Err(Failure::Lost(self.end_reason()));
            }
        };
        match answer {
            Ok(answer) => {
                flight.land();
                answer
            }
            Err(_elapsed) => Err(Failure::Lost(format!(
                "no answer to `{method}` within {}",
                shown(limit)
            ))),
        }
    }

    /// Sends a message that is no request.
    pub(crate) async fn tell(self: &Arc<Self>, message: String) -> Result<(), Failure> {
        match &self.link {
            Link::Http(link) => http::tell(self, link, message).await,
            Link::Duplex(outbox) => outbox.send(message, None).await.map_err(Failure::NotSent),
        }
    }

    /// Sends a message that is no request, soon and without waiting: also from a destructor.
    pub(crate) fn tell_soon(self: &Arc<Self>, message: String) {
        let message = match &self.link {
            Link::Duplex(outbox) => match outbox.try_send(message) {
                Ok(()) => return,
                Err(message) => message,
            },
            Link::Http(_) => message,
        };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let Ok(place) = Arc::clone(&self.answers).try_acquire_owned() else {
            tracing::debug!(server = %self.server, "a message was dropped: the server takes none");
            return;
        };
        let connection = Arc::clone(self);
        runtime.spawn(async move {
            tokio::select! {
                sent = tokio::time::timeout(TAKEN, connection.tell(message)) => {
                    let failure = sent.map_or_else(
                        |_elapsed| Some("the server did not take it in time".to_owned()),
                        |sent| sent.err().map(Failure::reason),
                    );
                    if let Some(reason) = failure {
                        tracing::debug!(server = %connection.server, reason, "a message could not be sent");
                    }
                }
                () = connection.closed.cancelled() => {}
            }
            drop(place);
        });
    }

    /// Tells the server that nobody waits for a request any more.
    pub(crate) fn withdraw(self: &Arc<Self>, id: i64) {
        // INVARIANT: `initialize` and a modern HTTP request are never cancelled by a message; the
        // latter by the end of its stream (2026-07-28, cancellation).
        if self.closed.is_cancelled() || self.facts().is_none() || (self.is_http() && self.is_modern()) {
            return;
        }
        let params = format!(r#"{{"requestId":{id},"reason":"nobody waits for it any more"}}"#);
        self.tell_soon(rpc::notification("notifications/cancelled", Some(&params)));
    }

    /// Brings a legacy server's log level to the wanted one, unless it says as much already: the connection has one
    /// level for all its callers, each of whom hears what its own level lets through.
    pub(crate) async fn set_level(self: &Arc<Self>, wanted: &str, limit: Duration) {
        let logs = self.facts().is_some_and(|facts| facts.capabilities.logging);
        if !logs || self.is_modern() {
            return;
        }
        {
            let mut level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
            let place = |wanted: &str| LOG_LEVELS.iter().position(|level| *level == wanted);
            if level.as_deref().is_some_and(|level| place(level) <= place(wanted)) {
                return;
            }
            *level = Some(wanted.to_owned());
        }
        let params = format!(r#"{{"level":{}}}"#, quote(wanted));
        match self.ask("logging/setLevel", Some(&params), limit).await {
            Ok(Delivered::Result(_)) => {}
            Ok(Delivered::Error(_)) | Err(_) => {
                tracing::debug!(server = %self.server, level = wanted, "the server did not take the log level");
            }
        }
    }

    /// Ends the connection: no further request, and every answer that waits is lost.
    pub(crate) fn end(&self, reason: &str) {
        self.ended.get_or_init(|| (Instant::now(), reason.to_owned()));
        self.closed.cancel();
        self.pending.close(reason);
    }

    /// Ends the connection because it broke, and says so.
    pub(crate) fn broke(&self, reason: &str) {
        if self.closed.is_cancelled() {
            return;
        }
        self.end(reason);
        // Before its handshake is done it is an attempt, and whoever made it is told.
        if self.facts().is_some() {
            tracing::warn!(server = %self.server, reason, "the connection ended");
            self.events.down(reason);
        }
    }

    /// Ends the connection and waits until nothing of it is left.
    pub(crate) async fn close(&self, reason: &str) {
        self.end(reason);
        self.gone.cancelled().await;
    }

    /// When and why it ended.
    pub(crate) fn ended(&self) -> Option<&(Instant, String)> {
        self.ended.get()
    }

    /// Why it ended, for a person.
    pub(crate) fn end_reason(&self) -> String {
        self.ended
            .get()
            .map_or_else(|| SHUT_DOWN.to_owned(), |(_, reason)| reason.clone())
    }

    /// Waits until it takes no further request. Where that is told from outside, whoever waits for an answer hears it here.
    pub(crate) async fn closed(&self) {
        self.closed.cancelled().await;
        self.end(SHUT_DOWN);
    }

    /// One more holds the connection.
    pub(crate) fn hold(&self) {
        self.leases.fetch_add(1, Ordering::AcqRel);
    }

    /// One less holds it.
    pub(crate) fn let_go(&self) {
        let now = u64::try_from(self.born.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.used.store(now, Ordering::Release);
        if self.leases.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.idle.notify_waiters();
        }
    }

    /// For how long nobody has held the connection; `None` while somebody does.
    pub(crate) fn unused_for(&self) -> Option<Duration> {
        let used = Duration::from_millis(self.used.load(Ordering::Acquire));
        (self.leases.load(Ordering::Acquire) == 0).then(|| self.born.elapsed().saturating_sub(used))
    }

    /// Waits until no call holds the connection.
    pub(crate) async fn idle(&self) {
        loop {
            let notified = self.idle.notified();
            if self.leases.load(Ordering::Acquire) == 0 {
                return;
            }
            notified.await;
        }
    }
}

/// Whose connection it is, and where its own messages go.
#[derive(Debug, Clone)]
pub(crate) struct Whose {
    /// Its server.
    pub(crate) server: ServerName,
    /// The principal; `None` for a shared one.
    pub(crate) principal: Option<PrincipalKey>,
    /// The way to the engine.
    pub(crate) events: Events,
    /// Where its own words go, and what masks them.
    pub(crate) log: Arc<Log>,
    /// The resources that the principal wishes to be told of; they outlive a connection.
    pub(crate) wished: Arc<Wished>,
}
