//! What servers say of their own accord, on its way to the engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use countersign_core::names::ServerName;
use countersign_core::principal::PrincipalKey;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::Event;

/// How many events wait for the engine.
pub(crate) const CAPACITY: usize = 1024;

/// The way of one server, or of one principal's connection to it, to the engine.
#[derive(Debug, Clone)]
pub(crate) struct Events {
    server: ServerName,
    /// Whose connection speaks; `None` for a shared one.
    principal: Option<PrincipalKey>,
    sender: mpsc::Sender<Event>,
    /// A list change waits for room: more of them say nothing new.
    waiting: Arc<AtomicBool>,
}

impl Events {
    /// A server's way to the engine.
    pub(crate) fn new(server: ServerName, sender: mpsc::Sender<Event>) -> Self {
        Self {
            server,
            principal: None,
            sender,
            waiting: Arc::default(),
        }
    }

    /// The way of one principal's connection.
    pub(crate) fn of(&self, principal: Option<PrincipalKey>) -> Self {
        Self {
            principal,
            waiting: Arc::default(),
            ..self.clone()
        }
    }

    /// A list may have changed. It is never dropped: a lost one would leave an old list in force.
    pub(crate) fn list_changed(&self) {
        if self.waiting.swap(true, Ordering::AcqRel) {
            return;
        }
        let event = Event::ListChanged {
            server: self.server.clone(),
            principal: self.principal.clone(),
        };
        match self.sender.try_reserve() {
            Ok(permit) => {
                self.waiting.store(false, Ordering::Release);
                permit.send(event);
            }
            Err(_full) => {
                let (sender, waiting) = (self.sender.clone(), Arc::clone(&self.waiting));
                tokio::spawn(async move {
                    let permit = sender.reserve().await;
                    waiting.store(false, Ordering::Release);
                    if let Ok(permit) = permit {
                        permit.send(event);
                    }
                });
            }
        }
    }

    /// A resource changed; dropped when the engine does not keep up.
    pub(crate) fn resource_updated(&self, principal: Option<&PrincipalKey>, params: &RawValue) {
        let server = self.server.clone();
        self.offer(Event::ResourceUpdated {
            server,
            principal: principal.cloned(),
            params: shared(params),
        });
    }

    /// A task changed; dropped when the engine does not keep up.
    pub(crate) fn task(&self, principal: Option<&PrincipalKey>, params: &RawValue) {
        let server = self.server.clone();
        self.offer(Event::Task {
            server,
            principal: principal.cloned(),
            params: shared(params),
        });
    }

    /// A log message that belongs to no call; dropped when the engine does not keep up.
    pub(crate) fn log(&self, principal: Option<&PrincipalKey>, params: &RawValue) {
        let server = self.server.clone();
        self.offer(Event::Log {
            server,
            principal: principal.cloned(),
            params: shared(params),
        });
    }

    /// A connection ended by itself.
    pub(crate) fn down(&self, reason: &str) {
        self.offer(Event::Down {
            server: self.server.clone(),
            principal: self.principal.clone(),
            reason: reason.to_owned(),
        });
    }

    fn offer(&self, event: Event) {
        if self.sender.try_send(event).is_err() {
            tracing::debug!(server = %self.server, "an event was dropped: nobody keeps up with them");
        }
    }
}

fn shared(params: &RawValue) -> Arc<RawValue> {
    Arc::from(params.to_owned())
}
