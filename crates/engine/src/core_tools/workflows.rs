//! `core_workflow_*`: the workflows of the catalogue, what is wrong with them, and the caller's own runs.

use std::sync::Arc;

use countersign_core::admit::World;
use countersign_core::catalogue::{Catalogue, Provider, Tool};
use countersign_core::effect::Effect;
use countersign_core::principal::Caller;
use countersign_core::workflow::{PREFIX, Place, Use, Workflow};
use countersign_store::{Execution, ExecutionQuery, ExecutionStep};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::Trouble;
use super::arguments::Arguments;
use crate::Engine;

/// How many workflows or runs a list shows without a `limit`, and at most.
const LISTED: (usize, usize) = (50, 200);

/// How a run may stand.
const STATUS: [&str; 5] = ["running", "completed", "failed", "parked", "interrupted"];

/// `core_workflow_list`: the workflows that this caller can run.
pub(super) async fn list(engine: &Engine, caller: &Caller, arguments: &Arguments) -> Result<Value, Trouble> {
    let (limit, offset) = (arguments.limit(LISTED.0, LISTED.1)?, arguments.offset()?);
    let world = engine.listing_world(caller).await;
    let offered = world.tools().filter_map(|tool| Some((tool, workflow_of(tool)?)));
    let offered: Vec<_> = offered.collect();
    let shown = offered.iter().skip(offset).take(limit);
    let shown: Vec<Value> = shown.map(|(tool, workflow)| summary(tool, workflow)).collect();
    Ok(json!({"total": offered.len(), "workflows": shown}))
}

/// `core_workflow_get`
pub(super) async fn get(engine: &Engine, caller: &Caller, arguments: &Arguments) -> Result<Value, Trouble> {
    let name = arguments.text("workflow")?;
    let world = engine.listing_world(caller).await;
    let (tool, workflow) = find(&world, name).ok_or_else(|| unknown(name))?;
    let mut value = summary(tool, workflow);
    if let (Some(value), Ok(Value::Object(shown))) = (
        value.as_object_mut(),
        serde_json::from_str(&workflow.draft().shown().to_text()),
    ) {
        value.extend(shown);
        let schema: Option<Box<RawValue>> = serde_json::from_str(&tool.definition.input_schema).ok();
        value.insert("inputSchema".to_owned(), json!(schema));
    }
    Ok(value)
}

/// `core_workflow_validate`: files that are set aside, and what the catalogue lacks.
pub(super) async fn validate(engine: &Engine, caller: &Caller, arguments: &Arguments) -> Result<Value, Trouble> {
    let asked = arguments.optional("workflow")?;
    let catalogue = engine.listed_catalogue_of(caller).await;
    let settings = engine.shared.settings.load_full();
    let file = asked.map(|name| format!("workflows/{name}.yaml"));
    let set_aside = settings.workflows.set_aside.iter();
    let set_aside = set_aside.filter(|it| file.as_ref().is_none_or(|file| it.file == *file));
    let mut problems: Vec<Value> = set_aside
        .map(|it| {
            json!({"severity": "error", "file": it.file, "line": it.place.map(|(line, _)| line),
                   "column": it.place.map(|(_, column)| column), "message": it.message, "help": it.help})
        })
        .collect();
    let is_asked = |workflow: &&Arc<Workflow>| asked.is_none_or(|name| workflow.name() == name);
    let workflows: Vec<&Arc<Workflow>> = catalogue.workflows().iter().filter(is_asked).collect();
    if let Some(name) = asked.filter(|_| workflows.is_empty() && problems.is_empty()) {
        return Err(unknown(name));
    }
    for workflow in &workflows {
        problems.extend(missing(&catalogue, workflow));
    }
    let is_error = |problem: &Value| problem.get("severity").and_then(Value::as_str) == Some("error");
    let is_valid = !problems.iter().any(is_error);
    let names: Vec<&str> = workflows.iter().map(|workflow| workflow.name()).collect();
    for problem in &mut problems {
        if let Some(problem) = problem.as_object_mut() {
            problem.retain(|_, value| !value.is_null());
        }
    }
    Ok(json!({"valid": is_valid, "workflows": names, "problems": problems}))
}

/// What a sound workflow needs and the catalogue does not have.
fn missing(catalogue: &Catalogue, workflow: &Workflow) -> Vec<Value> {
    let problem = |severity: &str, at: &Place, message: String, help: &str| {
        json!({"severity": severity, "workflow": workflow.name(), "file": &*at.file, "line": at.line,
               "column": at.column, "message": message, "help": help})
    };
    let mut problems = Vec::new();
    for (tool, how, at) in workflow.uses().tools() {
        if catalogue.tool(tool).is_some() {
            continue;
        }
        let near = catalogue.nearest_tools(tool, 3);
        let help = if near.is_empty() {
            "filter_tools finds the tools that there are".to_owned()
        } else {
            format!("nearest names: {}", near.join(", "))
        };
        let (severity, what) = match how {
            Use::Always => ("error", "so the workflow is not offered"),
            Use::Perhaps => ("warning", "so the step fails when it runs"),
        };
        let message = format!("tool `{tool}` is published by no server, {what}");
        problems.push(problem(severity, at, message, &help));
    }
    for (tool, at) in workflow.uses().retried() {
        if catalogue
            .tool(tool)
            .is_some_and(|tool| tool.classified.effect != Effect::ReadOnly)
        {
            let message =
                format!("`retry` is for steps that only read, and `{tool}` may change something: it is made once");
            problems.push(problem("warning", at, message, "take `retry` out"));
        }
    }
    problems
}

/// `core_workflow_execution_list`
pub(super) async fn executions(engine: &Engine, caller: &Caller, arguments: &Arguments) -> Result<Value, Trouble> {
    let status = arguments.optional("status")?;
    if let Some(status) = status.filter(|status| !STATUS.contains(status)) {
        return Err(arguments.bad(format_args!("`status` is `{status}`, none of {}", STATUS.join(", "))));
    }
    let query = ExecutionQuery {
        principal: caller.principal.key().to_string(),
        workflow: arguments.optional("workflow")?.map(str::to_owned),
        status: status.map(str::to_owned),
        limit: arguments.limit(LISTED.0, LISTED.1)?,
        offset: arguments.offset()?,
    };
    let found = engine.shared.ledger.executions(query).await;
    let (found, total) = found.map_err(|error| unreadable(&error))?;
    let shown: Vec<Value> = found.iter().map(run).collect();
    Ok(json!({"total": total, "executions": shown}))
}

/// `core_workflow_execution_get`
pub(super) async fn execution(engine: &Engine, caller: &Caller, arguments: &Arguments) -> Result<Value, Trouble> {
    let id = arguments.text("execution_id")?;
    let principal = caller.principal.key().to_string();
    let found = engine.shared.ledger.execution(&principal, id).await;
    let found = found.map_err(|error| unreadable(&error))?.ok_or_else(|| {
        let message = format!("no run `{id}` of yours is kept; core_workflow_execution_list shows those that are");
        Trouble {
            code: "execution_not_found",
            message,
        }
    })?;
    let mut value = run(&found);
    if let Some(value) = value.as_object_mut() {
        let raw = |text: &str| serde_json::from_str::<Box<RawValue>>(text).ok();
        value.insert("input".to_owned(), json!(raw(&found.input)));
        if let Some(output) = found.output.as_deref().and_then(raw) {
            value.insert("output".to_owned(), json!(output));
        }
        value.insert("steps".to_owned(), found.steps.iter().map(step).collect());
    }
    Ok(value)
}

fn unreadable(error: &countersign_store::Error) -> Trouble {
    Trouble {
        code: "ledger_unavailable",
        message: error.to_string(),
    }
}

fn unknown(name: &str) -> Trouble {
    Trouble {
        code: "workflow_not_found",
        message: format!("no workflow `{name}` is offered; core_workflow_list names those that are"),
    }
}

fn workflow_of(tool: &Tool) -> Option<&Arc<Workflow>> {
    match &tool.provider {
        Provider::Workflow(workflow) => Some(workflow),
        Provider::Server(_) | Provider::Family(_) | Provider::Core(_) => None,
    }
}

/// A workflow by its name, with or without what its tool's name begins with.
fn find<'w>(world: &'w World, name: &str) -> Option<(&'w Tool, &'w Arc<Workflow>)> {
    let name = name.strip_prefix(PREFIX).unwrap_or(name);
    let tool = world.tool(&format!("{PREFIX}{name}"))?;
    Some((tool, workflow_of(tool)?))
}

fn summary(tool: &Tool, workflow: &Workflow) -> Value {
    let hints = tool.definition.annotations.as_ref();
    let mut value = json!({
        "name": workflow.name(),
        "tool": tool.name,
        "description": workflow.draft().description,
        "effect": tool.classified.effect.word(),
        "read_only": hints.is_some_and(|hints| hints.read_only == Some(true)),
    });
    if let Some(value) = value.as_object_mut().filter(|_| !workflow.draft().labels.is_empty()) {
        value.insert("labels".to_owned(), json!(workflow.draft().labels));
    }
    value
}

fn run(execution: &Execution) -> Value {
    let mut value = json!({
        "execution_id": execution.id,
        "workflow": execution.workflow,
        "status": execution.status,
        "started_at": execution.started,
    });
    if let Some(value) = value.as_object_mut() {
        if let Some(ended) = execution.ended {
            value.insert("ended_at".to_owned(), json!(ended));
        }
        if let Some(error) = &execution.error {
            value.insert("error".to_owned(), json!(error));
        }
    }
    value
}

fn step(step: &ExecutionStep) -> Value {
    let mut value = json!({"id": step.path, "status": step.status, "duration_ms": step.duration_ms});
    if let Some(value) = value.as_object_mut() {
        if let Some(tool) = &step.tool {
            value.insert("tool".to_owned(), json!(tool));
        }
        if let Some(error) = &step.error {
            value.insert("error".to_owned(), json!(error));
        }
    }
    value
}
