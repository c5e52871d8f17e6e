//! `params` of a call: what was judged, what the caller sent beside it, and `_meta`.

use countersign_core::admit::{Operation, UpstreamReference};
use countersign_wire::meta;
use countersign_wire::object::quote;
use countersign_wire::version::{Era, Version};

use crate::passage::Passage;

/// Members that the judged call covers: nothing of the same name may stand beside them (I4).
const COVERED: &[&str] = &["name", "arguments", "uri", "ref", "argument", "context", "_meta"];

/// `params` for a server of that version; `id` is the request's own, also its progress token.
pub(crate) fn of_call(operation: &Operation, passage: &Passage, id: i64, version: Version) -> String {
    let mut params = String::with_capacity(256 + operation.arguments().map_or(0, |exact| exact.as_str().len()));
    params.push('{');
    judged(&mut params, operation);
    for (name, value) in &passage.extra {
        if !COVERED.contains(&name.as_str()) {
            member(&mut params, name, value.get());
        }
    }
    if let Some(meta) = meta_of(passage, id, version) {
        member(&mut params, "_meta", &meta);
    }
    params.push('}');
    params
}

/// `params` of a request of the gateway's own; `members` is the inside of an object.
pub(crate) fn of_own(members: &str, version: Option<Version>) -> String {
    match version.map(Version::era) {
        Some(Era::Modern) => {
            let meta = meta::modern_request(OFFERED, None, None, &[]);
            let comma = if members.is_empty() { "" } else { "," };
            format!(r#"{{{members}{comma}"_meta":{meta}}}"#)
        }
        Some(Era::Legacy) | None => format!("{{{members}}}"),
    }
}

/// What the gateway can relay: declared in `initialize`, and where it lists for all.
pub(crate) const OFFERED: &str = r#"{"sampling":{},"elicitation":{"form":{},"url":{}}}"#;

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
        Operation::ReadResource { uri } | Operation::Subscribe { uri } | Operation::Unsubscribe { uri } => {
            member(params, "uri", &quote(uri));
        }
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
                    member(&mut text, name, value.get());
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

fn member(object: &mut String, name: &str, value: &str) {
    if object.len() > 1 {
        object.push(',');
    }
    object.push_str(&quote(name));
    object.push(':');
    object.push_str(value);
}
