//! Sessions that nothing uses end: one task looks at each when it may be due, and at no other.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{Sessions, Table};
use crate::metrics::SessionEnd;
use crate::session::Session;
use crate::shared::Shared;

/// Ends idle sessions until `stop`.
pub(crate) async fn expire(shared: Arc<Shared>, stop: CancellationToken) {
    loop {
        let idle = shared.in_force().settings.session_idle_timeout;
        let (expired, next) = shared.sessions.expired(Instant::now(), idle);
        for session in expired {
            shared.end_session(&session);
            let reason = format!("nothing used it for {idle:?} (`limits.session_idle_timeout`)");
            shared.note_end(&session, "none", SessionEnd::Idle, &reason);
        }
        let due = async {
            match next {
                Some(next) => sleep_until(next).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = due => {}
            () = shared.sessions.reconsidered.notified() => {}
            () = stop.cancelled() => return,
        }
    }
}

impl Sessions {
    /// Takes out the sessions that nothing used for `idle`; says when to look again.
    pub(super) fn expired(&self, now: Instant, idle: Duration) -> (Vec<Arc<Session>>, Option<Instant>) {
        let mut table = self.table();
        let mut expired = Vec::new();
        while let Some((&(at, number), session)) = table.queue.first_key_value() {
            if at > now {
                return (expired, Some(at));
            }
            let session = Arc::clone(session);
            if !table.postpone((at, number), &session, now, idle) {
                table.remove(&session);
                expired.push(session);
            }
        }
        (expired, None)
    }

    /// Looks at all sessions anew: the time that they may be idle has changed.
    pub(crate) fn reconsider(&self) {
        let mut table = self.table();
        let now = Instant::now();
        let queue = std::mem::take(&mut table.queue);
        for session in queue.into_values() {
            let due = table.due(now);
            if let Some(entry) = table.by_id.get_mut(&session.id) {
                entry.due = due;
                table.queue.insert(due, session);
            }
        }
        drop(table);
        self.reconsidered.notify_one();
    }
}

impl Table {
    /// Puts a session that is not due to a later place in the queue; says whether it did.
    fn postpone(&mut self, place: super::Due, session: &Arc<Session>, now: Instant, idle: Duration) -> bool {
        let is_busy = session.is_busy();
        let Some(entry) = self.by_id.get_mut(&session.id) else {
            self.queue.remove(&place);
            return true;
        };
        if is_busy || entry.was_busy {
            // Since when it is idle is not known, and so the time begins now: it never ends early.
            entry.used = now;
        }
        entry.was_busy = is_busy;
        let until = entry.used + idle;
        if until <= now {
            return false;
        }
        self.queue.remove(&place);
        let due = self.due(until);
        if let Some(entry) = self.by_id.get_mut(&session.id) {
            entry.due = due;
        }
        self.queue.insert(due, Arc::clone(session));
        true
    }
}
