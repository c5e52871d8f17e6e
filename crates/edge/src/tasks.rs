//! The tasks that callers follow themselves: ids of the gateway's own, each bound to the caller that began it.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use countersign_core::names::ServerName;
use countersign_core::principal::{Caller, Endpoint, PrincipalKey};
use countersign_engine::Tasks as Follows;
use countersign_wire::codes;
use countersign_wire::object::{self, Edit, Object};
use countersign_wire::questions;
use countersign_wire::rpc::Fault;
use countersign_wire::version::Era;

use crate::abilities::TASKS as TASKS_EXTENSION;
use crate::dispatch::Asking;
use crate::sessions;

/// How many tasks of one principal are known; an older one gives way.
const TASKS: usize = 1000;

/// The key in `_meta` that ties a message to a task (2025-11-25).
const RELATED: &str = "io.modelcontextprotocol/related-task";

/// One task.
#[derive(Debug)]
pub(crate) struct Task {
    /// The gateway's own id of it, which alone callers know.
    pub(crate) id: String,
    pub(crate) principal: PrincipalKey,
    endpoint: Endpoint,
    pub(crate) server: ServerName,
    /// The server's own id of it.
    pub(crate) theirs: String,
    /// The era that its server and its caller both speak.
    pub(crate) era: Era,
    /// The session that began it.
    pub(crate) session: Option<String>,
}

/// What begins a task: a call of this caller, in this era.
#[derive(Debug)]
pub(crate) struct Beginning<'b> {
    pub(crate) caller: &'b Caller,
    pub(crate) server: &'b ServerName,
    pub(crate) era: Era,
    pub(crate) session: Option<&'b str>,
}

/// All tasks that are followed.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    by_id: HashMap<String, Arc<Task>>,
    by_principal: HashMap<PrincipalKey, VecDeque<Arc<Task>>>,
}

impl Tasks {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a task and gives the id that its caller gets. `None` when the system has no randomness.
    pub(crate) fn enter(&self, begun: &Beginning<'_>, theirs: &str) -> Option<String> {
        let principal = begun.caller.principal.key();
        let mut table = self.table();
        let own = table.by_principal.entry(principal.clone()).or_default();
        let known = own.iter().find(|task| {
            task.theirs == theirs && task.server == *begun.server && task.endpoint == begun.caller.endpoint
        });
        if let Some(known) = known {
            return Some(known.id.clone());
        }
        let id = format!("countersign-task-{}", sessions::fresh_id()?);
        let task = Arc::new(Task {
            id: id.clone(),
            principal: principal.clone(),
            endpoint: begun.caller.endpoint.clone(),
            server: begun.server.clone(),
            theirs: theirs.to_owned(),
            era: begun.era,
            session: begun.session.map(str::to_owned),
        });
        own.push_back(Arc::clone(&task));
        let oldest = if own.len() > TASKS { own.pop_front() } else { None };
        if let Some(oldest) = oldest {
            table.by_id.remove(&oldest.id);
        }
        table.by_id.insert(id.clone(), task);
        Some(id)
    }

    /// The task of that id, if this caller began it in this era. To anyone else it does not exist.
    pub(crate) fn find(&self, id: &str, caller: &Caller, era: Era) -> Option<Arc<Task>> {
        let task = self.table().by_id.get(id).cloned()?;
        let own = task.principal == *caller.principal.key() && task.endpoint == caller.endpoint && task.era == era;
        own.then_some(task)
    }

    /// The tasks that this caller began in this era, newest first.
    pub(crate) fn of(&self, caller: &Caller, era: Era) -> Vec<Arc<Task>> {
        let table = self.table();
        let own = table.by_principal.get(caller.principal.key()).into_iter().flatten();
        own.rev()
            .filter(|task| task.endpoint == caller.endpoint && task.era == era)
            .cloned()
            .collect()
    }

    /// The tasks that a server calls by this id; `principal` is the one whose connection it said it on.
    pub(crate) fn called(&self, server: &str, theirs: &str, principal: Option<&PrincipalKey>) -> Vec<Arc<Task>> {
        let table = self.table();
        let owners = table.by_principal.iter();
        let owners = owners.filter(|(owner, _)| principal.is_none_or(|principal| *owner == principal));
        let tasks = owners.flat_map(|(_, tasks)| tasks);
        tasks
            .filter(|task| task.server.as_str() == server && task.theirs == theirs)
            .cloned()
            .collect()
    }

    /// The parameters of a question of a server, with the task that they name as this principal knows it. A task
    /// that the caller does not follow is not named to it.
    pub(crate) fn related<'p>(&self, params: &'p str, principal: &PrincipalKey) -> Cow<'p, str> {
        if !params.contains(RELATED) {
            return Cow::Borrowed(params);
        }
        let related = || {
            let object = Object::parse(params).ok()?;
            let meta_text = object.get("_meta")?.get();
            let meta = Object::parse(meta_text).ok()?;
            let theirs = meta.get(RELATED)?.get();
            let theirs = Object::parse(theirs).ok()?.text("taskId")?;
            let server = meta.text(questions::SERVER_KEY).unwrap_or_default();
            let known = self.called(&server, &theirs, Some(principal));
            let named = known.first().map(|task| relation(&task.id));
            let change = named
                .as_deref()
                .map_or(Edit::Remove(RELATED), |named| Edit::Set(RELATED, named));
            let meta = object::edit(meta_text, &[change]).ok()?;
            object::edit(params, &[Edit::Set("_meta", &meta)]).ok()
        };
        related().map_or(Cow::Borrowed(params), Cow::Owned)
    }
}

fn relation(id: &str) -> String {
    format!(r#"{{"taskId":{}}}"#, object::quote(id))
}

/// A result that begins a task, with the id that `enter` gives for the server's; `None` when it begins none.
pub(crate) fn begun(era: Era, result: &str, enter: impl FnOnce(&str) -> Option<String>) -> Option<String> {
    let object = Object::parse(result).ok()?;
    match era {
        Era::Modern => {
            object.text("resultType").filter(|kind| kind == "task")?;
            let id = object::quote(&enter(&object.text("taskId")?)?);
            object::edit(result, &[Edit::Set("taskId", &id)]).ok()
        }
        Era::Legacy => {
            let raw = object.get("task")?.get();
            let task = Object::parse(raw).ok()?;
            let id = object::quote(&enter(&task.text("taskId")?)?);
            let task = object::edit(raw, &[Edit::Set("taskId", &id)]).ok()?;
            object::edit(result, &[Edit::Set("task", &task)]).ok()
        }
    }
}

/// The task that a notification is about.
pub(crate) fn id_in(params: &str) -> Option<String> {
    Object::parse(params).ok()?.text("taskId").map(Cow::into_owned)
}

/// Refuses a request of 2026-07-28 whose client did not declare that it follows tasks.
pub(crate) fn require(asking: &Asking) -> Result<(), Fault> {
    if asking.version().era() == Era::Legacy || asking.speaker.abilities().tasks == Follows::Extension {
        return Ok(());
    }
    let message = format!("the client must declare the extension `{TASKS_EXTENSION}` to follow tasks");
    let mut fault = Fault::new(codes::MISSING_CAPABILITY, message);
    fault.data = Some(format!(
        r#"{{"requiredCapabilities":{{"extensions":{{"{TASKS_EXTENSION}":{{}}}}}}}}"#
    ));
    Err(fault)
}

/// What a server says of a task, as its caller gets it: with the gateway's id, and the server's name in questions.
pub(crate) fn told(task_id: &str, server: &str, said: &str) -> String {
    let said = questions::named_result(server, said).map_or(Cow::Borrowed(said), Cow::Owned);
    let Ok(object) = Object::parse(&said) else {
        return said.into_owned();
    };
    let id = object::quote(task_id);
    let mut edits = Vec::new();
    if object.get("taskId").is_some() {
        edits.push(Edit::Set("taskId", &id));
    }
    let meta = object
        .get("_meta")
        .map(|meta| meta.get())
        .filter(|meta| meta.contains(RELATED));
    let named = relation(task_id);
    let meta = meta.and_then(|meta| object::edit(meta, &[Edit::Set(RELATED, &named)]).ok());
    edits.extend(meta.iter().map(|meta| Edit::Set("_meta", meta)));
    object::edit(&said, &edits).unwrap_or_else(|_| said.to_string())
}

#[cfg(test)]
mod tests {
    use countersign_core::names::ServerName;
    use countersign_core::principal::{Caller, Endpoint, Principal};
    use countersign_core::stages::Toolset;
    use countersign_wire::version::Era;

    use super::{Beginning, TASKS, Tasks, begun, told};

    fn caller() -> Caller {
        Caller {
            principal: std::sync::Arc::new(Principal::local()),
            endpoint: Endpoint::Main,
            toolset: Toolset::Unscoped { because: "a test" },
        }
    }

    #[test]
    fn a_task_is_known_by_the_gateways_id_alone_and_the_oldest_gives_way() {
        let (tasks, caller, server) = (Tasks::default(), caller(), ServerName::parse("s").expect("a name"));
        let enter = |theirs: &str| {
            let begun = Beginning {
                caller: &caller,
                server: &server,
                era: Era::Modern,
                session: None,
            };
            tasks.enter(&begun, theirs).expect("randomness")
        };
        let first = enter("up-0");
        assert_eq!(enter("up-0"), first, "one task has one id");
        assert!(tasks.find("up-0", &caller, Era::Modern).is_none());
        assert!(tasks.find(&first, &caller, Era::Legacy).is_none());
        assert_eq!(
            tasks.find(&first, &caller, Era::Modern).expect("its caller's").theirs,
            "up-0"
        );
        let asked = r#"{"_meta":{"countersign/server":"s","io.modelcontextprotocol/related-task":{"taskId":"up-0"}}}"#;
        let related = tasks.related(asked, caller.principal.key());
        assert_eq!(related, asked.replace("up-0", &first));
        let foreign = asked.replace("up-0", "up-x");
        let related = tasks.related(&foreign, caller.principal.key());
        assert_eq!(related, r#"{"_meta":{"countersign/server":"s"}}"#);
        for number in 1..=TASKS {
            enter(&format!("up-{number}"));
        }
        assert!(tasks.find(&first, &caller, Era::Modern).is_none());
        assert_eq!(tasks.of(&caller, Era::Modern).len(), TASKS);
    }

    #[test]
    fn only_the_id_changes_in_what_a_server_says_of_a_task() {
        let enter = |theirs: &str| Some(format!("own-{theirs}"));
        let cases = [
            (
                Era::Modern,
                r#"{"resultType":"task","taskId":"7","x":1.0}"#,
                Some(r#"{"resultType":"task","taskId":"own-7","x":1.0}"#),
            ),
            (Era::Modern, r#"{"resultType":"complete","taskId":"7"}"#, None),
            (
                Era::Legacy,
                r#"{"task":{"taskId":"7"}}"#,
                Some(r#"{"task":{"taskId":"own-7"}}"#),
            ),
            (Era::Legacy, r#"{"resultType":"task","taskId":"7"}"#, None),
        ];
        for (era, result, expected) in cases {
            assert_eq!(begun(era, result, enter).as_deref(), expected, "{result}");
        }
        let said = r#"{"taskId":"7","status":"working","big":1e400}"#;
        assert_eq!(
            told("own-7", "s", said),
            r#"{"taskId":"own-7","status":"working","big":1e400}"#
        );
        let result = r#"{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"7"}}}"#;
        assert_eq!(
            told("own-7", "s", result),
            r#"{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"own-7"}}}"#
        );
    }
}
