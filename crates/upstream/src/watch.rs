//! The stream for what belongs to no call: a GET stream before 2026-07-28, `subscriptions/listen` since.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use countersign_wire::object::quote;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde_json::value::RawValue;
use tokio::sync::watch;

use crate::connection::{Connection, Link, TAKEN};
use crate::exchange::{Failure, Outgoing};
use crate::flight::Flight;
use crate::http::{End, Link as HttpLink, Stream};
use crate::inbound::{self, Heard};
use crate::params;
use crate::pending::Delivered;

/// The first wait before a lost stream is opened again.
const SHORTEST: Duration = Duration::from_secs(1);
/// No wait that a server asks for is shorter.
const LEAST: Duration = Duration::from_millis(100);
/// No wait is longer.
const LONGEST: Duration = Duration::from_secs(30);
/// A stream that lived this long was healthy: the next wait is short again.
const HEALTHY: Duration = Duration::from_secs(10);
/// How long a subscription waits for the server's acknowledgement.
const ACKNOWLEDGED: Duration = Duration::from_secs(5);

/// The resources that one principal wishes to be told of; they outlive a connection.
#[derive(Debug, Default)]
pub(crate) struct Wished(Mutex<BTreeSet<String>>);

impl Wished {
    /// One more; whether it is new.
    pub(crate) fn add(&self, uri: &str) -> bool {
        self.lock().insert(uri.to_owned())
    }

    /// One less; whether it was there.
    pub(crate) fn remove(&self, uri: &str) -> bool {
        self.lock().remove(uri)
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn all(&self) -> Vec<String> {
        self.lock().iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a server of 2026-07-28 is asked to announce. Numbers count the changes of the wish.
#[derive(Debug)]
pub(crate) struct Watch {
    wished: Arc<Wished>,
    tasks: Wished,
    asked: watch::Sender<u64>,
    sent: AtomicU64,
    acknowledged: watch::Sender<u64>,
    /// Nobody listened for a while: what was announced then is not known.
    gap: AtomicBool,
}

impl Watch {
    /// What is wished at first.
    pub(crate) fn new(wished: Arc<Wished>) -> Self {
        Self {
            gap: AtomicBool::new(!wished.is_empty()),
            wished,
            tasks: Wished::default(),
            asked: watch::Sender::new(0),
            sent: AtomicU64::new(0),
            acknowledged: watch::Sender::new(0),
        }
    }

    /// The resources that are wished for.
    pub(crate) fn wished(&self) -> &Wished {
        &self.wished
    }

    /// Asks to be told of a resource, and waits until the server has acknowledged.
    pub(crate) async fn subscribe(&self, uri: &str) {
        self.change(&self.wished, Wished::add, uri).await;
    }

    /// Asks to be told no longer.
    pub(crate) async fn unsubscribe(&self, uri: &str) {
        self.change(&self.wished, Wished::remove, uri).await;
    }

    /// Asks to be told of a task, and waits until the server has acknowledged.
    pub(crate) async fn watch_task(&self, task: &str) {
        self.change(&self.tasks, Wished::add, task).await;
    }

    /// Asks to be told no longer.
    pub(crate) async fn unwatch_task(&self, task: &str) {
        self.change(&self.tasks, Wished::remove, task).await;
    }

    async fn change(&self, wished: &Wished, change: fn(&Wished, &str) -> bool, what: &str) {
        if !change(wished, what) {
            return;
        }
        let none_left = wished.is_empty();
        let mut acknowledged = self.acknowledged.subscribe();
        let mut number = 0;
        self.asked.send_modify(|asked| {
            *asked += 1;
            number = *asked;
        });
        // The last one leaves nothing to listen to, so nothing would be acknowledged.
        if !none_left {
            let heard = acknowledged.wait_for(|acknowledged| *acknowledged >= number);
            if tokio::time::timeout(ACKNOWLEDGED, heard).await.is_err() {
                tracing::debug!("a server did not acknowledge a subscription in time");
            }
        }
    }
}

/// Begins to listen for what belongs to no call, as far as the negotiated version has it.
pub(crate) fn begin(connection: &Arc<Connection>) {
    let connection = Arc::clone(connection);
    if connection.is_modern() {
        tokio::spawn(async move {
            tokio::select! {
                () = keep_listening(&connection) => {}
                () = connection.closed.cancelled() => {}
            }
        });
        return;
    }
    if !connection.watch.wished.is_empty() {
        tokio::spawn(subscribe_again(Arc::clone(&connection)));
    }
    if connection.is_http() {
        tokio::spawn(async move {
            let Link::Http(link) = &connection.link else { return };
            tokio::select! {
                () = keep_stream(&connection, link) => {}
                () = connection.closed.cancelled() => {}
            }
        });
    }
}

/// The server acknowledged the listen that was sent last.
pub(crate) fn acknowledged(connection: &Connection) {
    let watch = &connection.watch;
    watch.acknowledged.send_replace(watch.sent.load(Ordering::Acquire));
    if watch.gap.swap(false, Ordering::AcqRel) {
        missed(connection);
    }
}

/// Nobody listened for a while: the lists are read once more, and the resources may have changed.
fn missed(connection: &Connection) {
    if connection.facts().is_some_and(|facts| facts.announces.any()) {
        connection.events.list_changed();
    }
    for uri in connection.watch.wished.all() {
        may_have_changed(connection, &uri);
    }
}

fn may_have_changed(connection: &Connection, uri: &str) {
    if let Ok(params) = RawValue::from_string(format!(r#"{{"uri":{}}}"#, quote(uri))) {
        connection
            .events
            .resource_updated(connection.principal.as_ref(), &params);
    }
}

/// A legacy server forgets subscriptions with the connection; the callers' wishes outlive it.
async fn subscribe_again(connection: Arc<Connection>) {
    if !connection.facts().is_some_and(|facts| facts.capabilities.subscribe) {
        return;
    }
    for uri in connection.watch.wished.all() {
        let params = format!(r#"{{"uri":{}}}"#, quote(&uri));
        match connection.ask("resources/subscribe", Some(&params), TAKEN).await {
            Ok(Delivered::Result(_)) => may_have_changed(&connection, &uri),
            Ok(Delivered::Error(_)) => {
                tracing::debug!(server = %connection.server, "the server does not take a subscription again");
            }
            Err(_failure) => return,
        }
    }
}

/// Keeps the GET stream of a session open. A server that refuses it is not asked again.
async fn keep_stream(connection: &Arc<Connection>, link: &HttpLink) {
    let mut wait = SHORTEST;
    let mut last_event: Option<String> = None;
    // Whether the session had its stream, or may have had it: a server that says 404 then has forgotten the session.
    let (mut tried, mut had) = (false, false);
    loop {
        let begun = tokio::time::Instant::now();
        let mut retry = None;
        match link.get(Some(connection.version()), last_event.as_deref()).await {
            Ok(response) if response.status().is_success() => {
                let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
                if !kind.is_some_and(|kind| kind.to_ascii_lowercase().starts_with("text/event-stream")) {
                    return;
                }
                // A stream that is resumed by its last event misses nothing.
                if std::mem::replace(&mut had, true) && last_event.is_none() {
                    missed(connection);
                }
                let mut stream = Stream::new(response.into_body(), link.limit);
                let end = loop {
                    match stream.next().await {
                        Ok(event) => {
                            last_event = event.id.or(last_event);
                            retry = event.retry.or(retry);
                            hear(connection, &event.data);
                        }
                        Err(end) => break end,
                    }
                };
                if let End::Unreadable(reason) = end {
                    tracing::debug!(server = %connection.server, reason, "its event stream cannot be read");
                }
            }
            Ok(response) if response.status() == StatusCode::NOT_FOUND && (tried || had) && link.has_session() => {
                connection.end("the server does not know the session any more");
                // Most likely a new instance of it: what it publishes may differ.
                connection.events.list_changed();
                return;
            }
            Ok(response) if !response.status().is_server_error() => return,
            Ok(_) | Err(_) => tried = true,
        }
        if begun.elapsed() >= HEALTHY || retry.is_some() {
            wait = SHORTEST;
        }
        tokio::time::sleep(pause(retry, wait)).await;
        wait = wait.saturating_mul(2).min(LONGEST);
    }
}

/// How long to wait before the stream is opened again. A server may ask for another wait, in
/// milliseconds, but not to be asked without a pause.
fn pause(retry: Option<u64>, wait: Duration) -> Duration {
    retry.map_or(wait, |retry| Duration::from_millis(retry).clamp(LEAST, LONGEST))
}

fn hear(connection: &Arc<Connection>, data: &str) {
    if data.is_empty() {
        return;
    }
    match inbound::receive(connection, data, None) {
        Heard::Said => {}
        Heard::Answer(id, _) => tracing::debug!(server = %connection.server, id, "an answer came on a foreign stream"),
        Heard::Garbage(what) => tracing::debug!(server = %connection.server, what, "skipped what is no message"),
    }
}

/// Keeps one `subscriptions/listen` under way for what is wished now.
async fn keep_listening(connection: &Arc<Connection>) {
    let mut asked = connection.watch.asked.subscribe();
    let mut wait = SHORTEST;
    loop {
        let number = *asked.borrow_and_update();
        let Some(filter) = filter(connection) else {
            if asked.changed().await.is_err() {
                return;
            }
            continue;
        };
        connection.watch.sent.store(number, Ordering::Release);
        let begun = tokio::time::Instant::now();
        let ended = tokio::select! {
            ended = listen(connection, &filter) => Some(ended),
            _changed = asked.changed() => None,
        };
        match ended {
            None => continue,
            Some(Ok(Delivered::Error(_)) | Err(Failure::Refused { .. })) => {
                tracing::debug!(server = %connection.server, "the server does not take subscriptions");
                if asked.changed().await.is_err() {
                    return;
                }
                continue;
            }
            Some(
                Ok(Delivered::Result(_))
                | Err(Failure::NotSent(_) | Failure::SignIn(_) | Failure::SessionLost | Failure::Lost(_)),
            ) => {
                connection.watch.gap.store(true, Ordering::Release);
            }
        }
        if begun.elapsed() >= HEALTHY {
            wait = SHORTEST;
        }
        tokio::time::sleep(wait).await;
        wait = wait.saturating_mul(2).min(LONGEST);
    }
}

async fn listen(connection: &Arc<Connection>, filter: &str) -> Result<Delivered, Failure> {
    let version = connection.version();
    let params = params::of_own(&format!(r#""notifications":{filter}"#), Some(version));
    let id = connection.next_id();
    let mut flight = Flight::new(connection, id);
    let out = Outgoing {
        id,
        method: "subscriptions/listen",
        name: None,
        params: Some(&params),
        headers: &[],
        version: Some(version),
    };
    let ended = connection.exchange(&out, None).await;
    flight.land();
    ended
}

/// What to listen to; `None` when there is nothing.
fn filter(connection: &Connection) -> Option<String> {
    let facts = connection.facts()?;
    let mut members = Vec::new();
    let announced = [
        (facts.announces.tools, "toolsListChanged"),
        (facts.announces.prompts, "promptsListChanged"),
        (facts.announces.resources, "resourcesListChanged"),
    ];
    members.extend(
        announced
            .iter()
            .filter(|(on, _)| *on)
            .map(|(_, name)| format!(r#""{name}":true"#)),
    );
    let resources = connection.watch.wished.all();
    if !resources.is_empty() {
        let uris: Vec<String> = resources.iter().map(|uri| quote(uri)).collect();
        members.push(format!(r#""resourceSubscriptions":[{}]"#, uris.join(",")));
    }
    let tasks = connection.watch.tasks.all();
    if !tasks.is_empty() {
        let ids: Vec<String> = tasks.iter().map(|id| quote(id)).collect();
        members.push(format!(r#""taskIds":[{}]"#, ids.join(",")));
    }
    if members.is_empty() {
        None
    } else {
        Some(format!("{{{}}}", members.join(",")))
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, SHORTEST, pause};

    #[test]
    fn a_server_cannot_have_its_stream_asked_for_without_a_pause() {
        let waits = [None, Some(0), Some(1), Some(500), Some(u64::MAX)].map(|retry| pause(retry, SHORTEST));
        assert_eq!(waits, [1000, 100, 100, 500, 30_000].map(Duration::from_millis));
    }
}
