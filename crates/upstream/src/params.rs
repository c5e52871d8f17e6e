//! `params` of a call: what was judged, what the caller sent beside it, and `_meta`.

use countersign_core::admit::{Operation, UpstreamReference};
use countersign_wire::meta;
use countersign_wire::object::quote;
use countersign_wire::version::{Era, Version};

use crate::passage::{Passage, Tasks};
use crate::task::AsTask;

/// Members that the judged call covers: nothing of the same name may stand beside them (I4).
const COVERED: &[&str] = &[
    "name",
    "arguments",
    "uri",
    "ref",
    "argument",
    "context",
    "taskId",
    "_meta",
];

/// What `params` need beside the arguments of most calls, in bytes.
const ROOM: usize = 640;

/// `params` for a server of that version; `id` is the request's own, also its progress token.
pub(crate) fn of_call(
    operation: &Operation,
    passage: &Passage,
    id: i64,
    (version, as_task): (Version, AsTask),
) -> String {
    let mut params = String::with_capacity(ROOM + operation.arguments().map_or(0, |exact| exact.as_str().len()));
    params.push('{');
    judged(&mut params, operation);
    for (name, value) in &passage.extra {
        if !COVERED.contains(&name.as_str()) && belongs_to(version, passage, name) {
            foreign(&mut params, name, value.get());
        }
    }
    match as_task {
        AsTask::Needed => member(&mut params, "task", "{}"),
        AsTask::No => {}
    }
    if let Some(meta) = meta_of(passage, id, version) {
        member(&mut params, "_meta", &meta);
    }
    params.push('}');
    params
}

/// Whether a member that the caller sent means the same to a server of that version: answers to questions
/// exist since 2026-07-28, and the parameter `task` before it only.
fn belongs_to(version: Version, passage: &Passage, name: &str) -> bool {
    match (version.era(), name) {
        (Era::Legacy, "inputResponses" | "requestState") => false,
        (era, "task") => era == Era::Legacy && passage.abilities.tasks == Tasks::Parameter,
        (Era::Legacy | Era::Modern, _) => true,
    }
}

/// `params` of a request of the gateway's own; `members` is the inside of an object.
pub(crate) fn of_own(members: &str, version: Option<Version>) -> String {
    match version.map(Version::era) {
        Some(Era::Modern) => {
            let meta = meta::modern_request(OFFERED_PER_REQUEST, None, None, &[]);
            let comma = if members.is_empty() { "" } else { "," };
            format!(r#"{{{members}{comma}"_meta":{meta}}}"#)
        }
        Some(Era::Legacy) | None => format!("{{{members}}}"),
    }
}

/// What the gateway can relay, as `initialize` declares it.
pub(crate) const OFFERED: &str = r#"{"sampling":{},"elicitation":{"form":{},"url":{}},"roots":{}}"#;

/// The same for requests of its own since 2026-07-28: it also follows tasks.
const OFFERED_PER_REQUEST: &str = r#"{"sampling":{},"elicitation":{"form":{},"url":{}},"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

fn judged(params: &mut String, operation: &Operation) {
    match operation {
        Operation::CallTool { definition, arguments } => {
            member(params, "name", &quote(definition.name.as_str()));
            member(params, "arguments", arguments.as_str());
        }
        Operation::RunCore { tool, arguments } => {
            member(params, "name", &quote(tool.name()));
            member(params, "arguments", arguments.as_str());
        }
        Operation::RunWorkflow { workflow, arguments } => {
            member(params, "name", &quote(workflow.exposed()));
            member(params, "arguments", arguments.as_str());
        }
        Operation::ReadResource { uri } | Operation::Subscribe { uri } | Operation::Unsubscribe { uri } => {
            member(params, "uri", &quote(uri));
        }
        Operation::Task { task, .. } => member(params, "taskId", &quote(task)),
        Operation::GetPrompt { name, arguments } => {
            member(params, "name", &quote(name.as_str()));
            member(params, "arguments", arguments.as_str());
        }
        Operation::Complete {
            reference,
            argument,
            context,
        } => {
            let reference = match reference {
                UpstreamReference::Prompt(name) => {
                    format!(r#"{{"type":"ref/prompt","name":{}}}"#, quote(name.as_str()))
                }
                UpstreamReference::Resource(uri) => format!(r#"{{"type":"ref/resource","uri":{}}}"#, quote(uri)),
            };
            member(params, "ref", &reference);
            member(params, "argument", argument.as_str());
            if let Some(context) = context {
                member(params, "context", context.as_str());
            }
        }
    }
}

fn meta_of(passage: &Passage, id: i64, version: Version) -> Option<String> {
    let token = passage.progress_token.as_ref().map(|_token| id.to_string());
    match version.era() {
        Era::Modern => {
            let capabilities = passage.abilities.raw.as_ref().map_or("{}", |raw| raw.get());
            Some(meta::modern_request(
                capabilities,
                passage.log_level.as_deref(),
                token.as_deref(),
                &passage.meta,
            ))
        }
        Era::Legacy => {
            if passage.meta.is_empty() && token.is_none() {
                return None;
            }
            let mut text = String::from("{");
            for (name, value) in &passage.meta {
                if name != "progressToken" {
                    foreign(&mut text, name, value.get());
                }
            }
            if let Some(token) = token {
                member(&mut text, "progressToken", &token);
            }
            text.push('}');
            Some(text)
        }
    }
}

/// A member whose name is one of the protocol's, which need no escapes.
fn member(object: &mut String, name: &'static str, value: &str) {
    if object.len() > 1 {
        object.push(',');
    }
    object.push('"');
    object.push_str(name);
    object.push_str("\":");
    object.push_str(value);
}

/// A member that somebody else named.
fn foreign(object: &mut String, name: &str, value: &str) {
    if object.len() > 1 {
        object.push(',');
    }
    object.push_str(&quote(name));
    object.push(':');
    object.push_str(value);
}
