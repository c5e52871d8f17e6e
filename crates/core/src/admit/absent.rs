//! What is said of a name that nothing in the catalogue bears, and the way out where there is one.

use crate::catalogue::Catalogue;
use crate::names::ServerName;
use crate::refusal::{Code, Refusal};

/// The refusal of a tool that is not found, with the nearest names.
#[must_use]
pub fn missing_tool(catalogue: &Catalogue, name: &str) -> Refusal {
    if let Some(refusal) = stopped(&catalogue.stopped_with_tool(name)) {
        return refusal;
    }
    let mut sentence = format!("Tool not found: {name}");
    if let Some((server, reason)) = catalogue.unreached_like(name) {
        sentence.push_str(&format!(
            " (server {server} is unavailable, and its tools are not known: {reason})"
        ));
    }
    Refusal {
        code: Code::ToolNotFound,
        sentence,
        nearest: catalogue.nearest_tools(name, 3),
    }
}

/// The refusal of a prompt that is not found.
#[must_use]
pub fn missing_prompt(catalogue: &Catalogue, name: &str) -> Refusal {
    stopped(&catalogue.stopped_with_prompt(name)).unwrap_or_else(|| Refusal {
        code: Code::PromptNotFound,
        sentence: format!("Prompt not found: {name}"),
        nearest: Vec::new(),
    })
}

/// The refusal of a resource that is not found, at the server that the caller names, if any.
#[must_use]
pub fn missing_resource(catalogue: &Catalogue, uri: &str, server: Option<&str>) -> Refusal {
    stopped(&catalogue.stopped_with_resource(uri, server)).unwrap_or_else(|| Refusal {
        code: Code::ResourceNotFound,
        sentence: format!("Resource not found: {uri}"),
        nearest: Vec::new(),
    })
}

fn stopped(servers: &[&ServerName]) -> Option<Refusal> {
    let names: Vec<String> = servers.iter().map(ToString::to_string).collect();
    let (whose, verb, it, whom) = match names.len() {
        0 => return None,
        1 => ("server", "is", "it was", "it"),
        _ => ("servers", "are", "they were", "one"),
    };
    Some(Refusal {
        code: Code::ServerStopped,
        sentence: format!(
            "{whose} {} {verb} unavailable: {it} stopped with core_server_stop; core_server_start starts {whom} again",
            names.join(", ")
        ),
        nearest: names,
    })
}
