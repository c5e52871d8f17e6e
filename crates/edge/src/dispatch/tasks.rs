//! Requests about tasks that a caller follows itself.

use countersign_core::admit::{Ask, Origin, TaskVerb};
use countersign_core::catalogue::Provider;
use countersign_core::names::ServerName;
use countersign_engine::{Outcome, Refused};
use countersign_wire::codes;
use countersign_wire::rpc::Fault;
use countersign_wire::version::{Era, Version};
use futures_util::future::join_all;

use super::{Asking, Request, bad_toolset, error_data, invalid, shown};
use crate::answer::Answer;
use crate::shared::quiet_passage;
use crate::tasks;

/// How many tasks one list shows.
const LISTED: usize = 100;

/// What is asked of the server of a task; only its own caller can ask.
pub(super) fn ask(asking: &Asking, request: &Request<'_>, verb: TaskVerb) -> Result<Ask, Fault> {
    tasks::require(asking)?;
    let id = request.text("taskId")?;
    let known = asking.shared.tasks.find(&id, &asking.caller, asking.version().era());
    let Some(task) = known else {
        asking.shared.engine.note(Refused {
            principal: asking.caller.principal.key().to_string(),
            kind: "refused",
            method: verb.method().to_owned(),
            subject: shown(&id),
            reason: "no task of this caller has the id".to_owned(),
        });
        let mut fault = invalid(format!("Task not found: {}", shown(&id)));
        fault.data = Some(error_data("task_not_found", &[], None));
        return Err(fault);
    };
    Ok(Ask::Task {
        server: task.server.clone(),
        task: task.theirs.clone(),
        verb,
    })
}

/// Refuses the parameter `task` for what cannot run as a task of 2025-11-25. In 2026-07-28 it means nothing.
pub(super) fn check_parameter(asking: &Asking, name: &str) -> Result<(), Fault> {
    if asking.version().era() == Era::Modern {
        return Ok(());
    }
    let world = asking.shared.engine.world(&asking.caller);
    let is_legacy = |server: &ServerName| {
        let listed = world.catalogue.server(server.as_str());
        listed.is_none_or(|server| server.listing.protocol != Version::V2026_07_28.as_str())
    };
    let takes_tasks = world.tool(name).is_none_or(|tool| match &tool.provider {
        // Which member of a family runs the call is not known yet, so each must take tasks.
        Provider::Server(_) | Provider::Family(_) => tool.servers().all(is_legacy),
        Provider::Core(_) | Provider::Workflow(_) => false,
    });
    if takes_tasks {
        return Ok(());
    }
    let message = format!("tool `{}` does not run as a task: call it without `task`", shown(name));
    Err(Fault::new(codes::METHOD_NOT_FOUND, message))
}

/// `tasks/list` (2025-11-25): the caller's own tasks, newest first, each as its server tells of it now.
pub(super) async fn list(asking: &Asking, request: &Request<'_>) -> Result<Answer, Fault> {
    if request.params.get("cursor").is_some() {
        return Err(invalid(
            "`params.cursor` is not one of this list, which has one page".to_owned(),
        ));
    }
    if let Some(error) = asking.shared.engine.world(&asking.caller).refused() {
        return Err(bad_toolset(error));
    }
    let own = asking.shared.tasks.of(&asking.caller, Era::Legacy);
    let asked = own.iter().take(LISTED).map(|task| async move {
        let ask = Ask::Task {
            server: task.server.clone(),
            task: task.theirs.clone(),
            verb: TaskVerb::Get,
        };
        let engine = &asking.shared.engine;
        match engine.call(&asking.caller, ask, Origin::Direct, quiet_passage()).await {
            Outcome::Result { result, .. } => Some(tasks::told(&task.id, task.server.as_str(), result.get())),
            // A task that its server forgot is none any more.
            Outcome::Error { .. }
            | Outcome::Refused(_)
            | Outcome::AuthRequired(_)
            | Outcome::Unrecorded { .. }
            | Outcome::Failed { .. }
            | Outcome::Cancelled => None,
        }
    });
    let tasks: Vec<String> = join_all(asked).await.into_iter().flatten().collect();
    Ok(Answer::result(
        request.id,
        &format!(r#"{{"tasks":[{}]}}"#, tasks.join(",")),
    ))
}
