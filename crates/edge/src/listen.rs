//! `subscriptions/listen` of 2026-07-28: one stream of the changes that its caller asked for.

use std::sync::Arc;

use countersign_core::admit::{Ask, Origin, TaskVerb};
use countersign_core::principal::{Caller, PrincipalKey};
use countersign_engine::{Change, Outcome};
use countersign_wire::meta::{SERVER_INFO, SUBSCRIPTION_ID};
use countersign_wire::object::{self, Edit, Object};
use countersign_wire::rpc::{self, Fault};
use countersign_wire::version::Era;
use serde::Deserialize;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::calls::Ticket;
use crate::cursor::List;
use crate::dispatch::{Asking, Request, bad_toolset, invalid};
use crate::hearer::Hearer;
use crate::notify;
use crate::session::SUBSCRIPTIONS;
use crate::settings::InForce;
use crate::shared::{Shared, quiet_passage};
use crate::tasks::{self, Task};

/// One subscription.
#[derive(Debug)]
pub(crate) struct Listen {
    shared: Arc<Shared>,
    in_force: Arc<InForce>,
    hearer: Hearer,
    /// The id of the request, raw: it tags every message.
    id: String,
    filter: Filter,
    sees_direct: bool,
    changes: Receiver<Change>,
    cancel: CancellationToken,
    ticket: Option<Ticket>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Filter {
    tools_list_changed: bool,
    prompts_list_changed: bool,
    resources_list_changed: bool,
    resource_subscriptions: Vec<String>,
    task_ids: Vec<String>,
}

/// What is watched besides lists.
#[derive(Debug)]
struct Watched {
    uris: Vec<String>,
    tasks: Vec<Arc<Task>>,
}

fn asked(task: &Task, verb: TaskVerb) -> Ask {
    Ask::Task {
        server: task.server.clone(),
        task: task.theirs.clone(),
        verb,
    }
}

impl Listen {
    /// Reads what is to be listened to. Changes from now on are told.
    pub(crate) fn read(asking: &Asking, request: &Request<'_>) -> Result<Self, Fault> {
        let raw = request
            .params
            .get("notifications")
            .ok_or_else(|| invalid("`params.notifications` is missing".to_owned()))?;
        if !raw.get().starts_with('{') {
            return Err(invalid("`params.notifications` must be an object".to_owned()));
        }
        let filter: Filter =
            serde_json::from_str(raw.get()).map_err(|error| invalid(format!("`params.notifications`: {error}")))?;
        if filter.resource_subscriptions.len() > SUBSCRIPTIONS {
            return Err(invalid(format!(
                "`params.notifications.resourceSubscriptions` may name at most {SUBSCRIPTIONS} resources"
            )));
        }
        if !filter.task_ids.is_empty() {
            tasks::require(asking)?;
        }
        if filter.task_ids.len() > SUBSCRIPTIONS {
            return Err(invalid(format!(
                "`params.notifications.taskIds` may name at most {SUBSCRIPTIONS} tasks"
            )));
        }
        if let Some(error) = asking.shared.engine.world(&asking.caller).refused() {
            return Err(bad_toolset(error));
        }
        let cancel = CancellationToken::new();
        Ok(Self {
            shared: Arc::clone(&asking.shared),
            in_force: Arc::clone(&asking.in_force),
            hearer: Hearer::new(&asking.shared.engine, asking.caller.clone()),
            id: request.id.to_owned(),
            filter,
            sees_direct: asking.surfaces.direct,
            changes: asking.shared.engine.changes(),
            ticket: asking.speaker.calls().map(|calls| calls.enter(request.id, &cancel)),
            cancel,
        })
    }

    fn caller(&self) -> &Caller {
        self.hearer.caller()
    }

    /// Tells until the caller goes, takes the request back, or the gateway stops.
    pub(crate) async fn run(mut self, out: mpsc::Sender<String>, stop: CancellationToken) {
        let watched = Watched {
            uris: self.watch().await,
            tasks: self.watch_tasks().await,
        };
        self.tell(&out, &watched, &stop).await;
        for task in watched.tasks {
            if self.shared.watches.release(self.caller().principal.key(), &task.id) {
                self.shared.ask_later(self.caller(), asked(&task, TaskVerb::Unwatch));
            }
        }
        for uri in watched.uris {
            if self.shared.watches.release(self.caller().principal.key(), &uri) {
                self.shared.unwatch_later(self.caller(), uri);
            }
        }
        drop(self.ticket.take());
    }

    async fn tell(&mut self, out: &mpsc::Sender<String>, watched: &Watched, stop: &CancellationToken) {
        if out.send(self.acknowledgement(watched)).await.is_err() {
            return;
        }
        loop {
            let messages = tokio::select! {
                change = self.changes.recv() => match change {
                    Ok(change) => self.messages(&change, watched),
                    // What was missed is not known, so that every list may have changed.
                    Err(RecvError::Lagged(_)) => self.all_lists(watched),
                    Err(RecvError::Closed) => break,
                },
                () = stop.cancelled() => break,
                () = self.cancel.cancelled() => return,
                () = out.closed() => return,
            };
            for message in messages {
                if out.send(message).await.is_err() {
                    return;
                }
            }
        }
        let result = format!(
            r#"{{"resultType":"complete","_meta":{{{}:{},{}:{}}}}}"#,
            object::quote(SERVER_INFO),
            self.in_force.server_info,
            object::quote(SUBSCRIPTION_ID),
            self.id
        );
        // A caller that is gone needs no farewell.
        out.send(rpc::result(&self.id, &result)).await.ok();
    }

    /// Subscribes upstream. Resources that cannot be watched are left out of the acknowledgement.
    async fn watch(&self) -> Vec<String> {
        let mut watched: Vec<String> = Vec::new();
        for uri in &self.filter.resource_subscriptions {
            if watched.contains(uri) {
                continue;
            }
            self.shared.watches.hold(self.caller().principal.key(), uri);
            let ask = Ask::Subscribe { uri: uri.clone() };
            let outcome = self
                .shared
                .engine
                .call(self.caller(), ask, Origin::Direct, quiet_passage())
                .await;
            if matches!(outcome, Outcome::Result { .. }) {
                watched.push(uri.clone());
            } else {
                self.shared.watches.release(self.caller().principal.key(), uri);
            }
        }
        watched
    }

    /// Asks the servers to tell of the tasks; those that are not the caller's are left out.
    async fn watch_tasks(&self) -> Vec<Arc<Task>> {
        let mut watched: Vec<Arc<Task>> = Vec::new();
        for id in &self.filter.task_ids {
            let Some(task) = self.shared.tasks.find(id, self.caller(), Era::Modern) else {
                continue;
            };
            if watched.iter().any(|known| known.id == task.id) {
                continue;
            }
            self.shared.watches.hold(self.caller().principal.key(), &task.id);
            let ask = asked(&task, TaskVerb::Watch);
            let engine = &self.shared.engine;
            let outcome = engine.call(self.caller(), ask, Origin::Direct, quiet_passage()).await;
            if matches!(outcome, Outcome::Result { .. }) {
                watched.push(task);
            } else {
                self.shared.watches.release(self.caller().principal.key(), &task.id);
            }
        }
        watched
    }

    fn acknowledgement(&self, watched: &Watched) -> String {
        let mut accepted = Vec::new();
        for (name, is_wanted) in [
            ("toolsListChanged", self.filter.tools_list_changed),
            ("promptsListChanged", self.filter.prompts_list_changed),
            ("resourcesListChanged", self.filter.resources_list_changed),
        ] {
            if is_wanted {
                accepted.push(format!(r#""{name}":true"#));
            }
        }
        if !watched.uris.is_empty() {
            let uris: Vec<String> = watched.uris.iter().map(|uri| object::quote(uri)).collect();
            accepted.push(format!(r#""resourceSubscriptions":[{}]"#, uris.join(",")));
        }
        if !watched.tasks.is_empty() {
            let ids: Vec<String> = watched.tasks.iter().map(|task| object::quote(&task.id)).collect();
            accepted.push(format!(r#""taskIds":[{}]"#, ids.join(",")));
        }
        let params = format!(
            r#"{{"notifications":{{{}}},"_meta":{}}}"#,
            accepted.join(","),
            self.tag()
        );
        rpc::notification("notifications/subscriptions/acknowledged", Some(&params))
    }

    fn messages(&self, change: &Change, watched: &Watched) -> Vec<String> {
        match change {
            Change::Tools { to } if self.is_told(to) => {
                self.list(List::Tools, self.filter.tools_list_changed && self.sees_direct)
            }
            Change::Prompts { to } if self.is_told(to) => self.list(List::Prompts, self.filter.prompts_list_changed),
            Change::Resources { to } if self.is_told(to) => {
                self.list(List::Resources, self.filter.resources_list_changed)
            }
            // Since 2026-07-28 the retry of a call tells that its person is done.
            Change::Tools { .. } | Change::Prompts { .. } | Change::Resources { .. } | Change::SignedIn { .. } => {
                Vec::new()
            }
            Change::ResourceUpdated {
                server,
                principal,
                uri,
                params,
            } => {
                let own = principal
                    .as_ref()
                    .is_none_or(|principal| principal == self.caller().principal.key());
                let is_seen = || self.hearer.sees_server(&self.shared.engine, server.as_str());
                if own && watched.uris.contains(uri) && is_seen() {
                    vec![self.tagged("notifications/resources/updated", params.get())]
                } else {
                    Vec::new()
                }
            }
            Change::Task {
                server,
                principal,
                params,
            } => {
                let own = |task: &&Arc<Task>| {
                    let theirs = tasks::id_in(params.get());
                    let is_heard = principal.as_ref().is_none_or(|principal| *principal == task.principal);
                    is_heard && task.server == *server && theirs.is_some_and(|theirs| theirs == task.theirs)
                };
                let told = |task: &Arc<Task>| tasks::told(&task.id, server.as_str(), params.get());
                let told = watched.tasks.iter().filter(own).map(told);
                told.map(|said| self.tagged("notifications/tasks", &said)).collect()
            }
            Change::Log { .. } => Vec::new(),
        }
    }

    fn is_told(&self, to: &Option<PrincipalKey>) -> bool {
        self.shared.engine.concerns(to.as_ref(), self.caller().principal.key())
    }

    fn all_lists(&self, watched: &Watched) -> Vec<String> {
        notify::all_lists(self.caller().principal.key())
            .iter()
            .flat_map(|change| self.messages(change, watched))
            .collect()
    }

    fn list(&self, list: List, is_wanted: bool) -> Vec<String> {
        if !is_wanted || !self.hearer.sees_change(&self.shared.engine, list) {
            return Vec::new();
        }
        let params = format!(r#"{{"_meta":{}}}"#, self.tag());
        vec![rpc::notification(
            &format!("notifications/{}/list_changed", list.member()),
            Some(&params),
        )]
    }

    fn tagged(&self, method: &str, params: &str) -> String {
        let own = Object::parse(params).ok().and_then(|params| params.get("_meta"));
        let tagged = own.and_then(|own| object::edit(own.get(), &[Edit::Set(SUBSCRIPTION_ID, &self.id)]).ok());
        let meta = tagged.unwrap_or_else(|| self.tag());
        let params =
            object::edit(params, &[Edit::Set("_meta", &meta)]).unwrap_or_else(|_| format!(r#"{{"_meta":{meta}}}"#));
        rpc::notification(method, Some(&params))
    }

    fn tag(&self) -> String {
        format!("{{{}:{}}}", object::quote(SUBSCRIPTION_ID), self.id)
    }
}
