//! What a request means in one world: the entry that its name maps to, within the request's toolset (I3, I9).

use std::sync::Arc;

use super::world::bad;
use super::{Ask, Operation, Reference, Target, TaskVerb, UpstreamReference, View, World, absent, member};
use crate::catalogue::{Catalogue, Owner, Prompt, Provider};
use crate::effect::{Classified, Effect, Source};
use crate::exact::Exact;
use crate::names::ServerName;
use crate::refusal::{Code, Kind, Refusal};

/// What a request means.
pub(super) struct Found {
    pub(super) target: Target,
    pub(super) operation: Operation,
    pub(super) classified: Classified,
}

const READING: Classified = Classified {
    effect: Effect::ReadOnly,
    source: Source::Protocol,
};

/// What a request means in one world.
pub(super) fn resolve(world: &World, ask: Ask) -> Result<Found, Refusal> {
    if let View::Refused(error) = &world.view
        && needs_toolset(&ask)
    {
        return Err(bad(error));
    }
    match ask {
        Ask::Tool { name, arguments } => tool(world, &name, arguments),
        Ask::Resource { uri, server } => {
            let owner = owner_of(world, &uri, server.as_deref())?;
            Ok(reading(owner, Operation::ReadResource { uri }))
        }
        Ask::Prompt { name, arguments } => {
            let prompt = prompt(world, &name)?;
            let name = prompt.definition.name.clone();
            Ok(reading(prompt.server.clone(), Operation::GetPrompt { name, arguments }))
        }
        Ask::Complete {
            reference,
            argument,
            context,
        } => {
            let (server, reference) = match reference {
                Reference::Prompt(name) => {
                    let prompt = prompt(world, &name)?;
                    let name = prompt.definition.name.clone();
                    (prompt.server.clone(), UpstreamReference::Prompt(name))
                }
                Reference::Resource(uri) => (owner_of(world, &uri, None)?, UpstreamReference::Resource(uri)),
            };
            let operation = Operation::Complete {
                reference,
                argument,
                context,
            };
            Ok(reading(server, operation))
        }
        Ask::Subscribe { uri } => {
            let owner = owner_of(world, &uri, None)?;
            Ok(reading(owner, Operation::Subscribe { uri }))
        }
        Ask::Unsubscribe { uri } => {
            let owner = owner_of(world, &uri, None)?;
            Ok(reading(owner, Operation::Unsubscribe { uri }))
        }
        Ask::Task { server, task, verb } => resolve_task(&world.catalogue, server, task, verb),
    }
}

/// Whether the request's toolset says anything of what is asked for. What a caller began it may follow, whatever toolset
/// its next request declares.
fn needs_toolset(ask: &Ask) -> bool {
    match ask {
        Ask::Tool { .. }
        | Ask::Resource { .. }
        | Ask::Prompt { .. }
        | Ask::Complete { .. }
        | Ask::Subscribe { .. }
        | Ask::Unsubscribe { .. } => true,
        Ask::Task { .. } => false,
    }
}

fn prompt<'w>(world: &'w World, name: &str) -> Result<&'w Prompt, Refusal> {
    let prompt = world.catalogue.prompt(name);
    let prompt = prompt.ok_or_else(|| absent::of_prompt(world, name))?;
    match world.refuse_of_server(prompt.server.as_str(), Kind::Prompt, name) {
        None => Ok(prompt),
        Some(refusal) => Err(refusal),
    }
}

fn resolve_task(catalogue: &Catalogue, server: ServerName, task: String, verb: TaskVerb) -> Result<Found, Refusal> {
    if catalogue.server(server.as_str()).is_none() {
        let sentence = "Task not found: its server is not in the catalogue any more";
        return Err(Refusal::new(Code::TaskNotFound, sentence.to_owned()));
    }
    let operation = Operation::Task { task, verb };
    Ok(match verb {
        TaskVerb::Get | TaskVerb::Result | TaskVerb::Watch | TaskVerb::Unwatch => reading(server, operation),
        // An answer lets the task go on, and a cancelled one stops in the middle.
        TaskVerb::Update | TaskVerb::Cancel => Found {
            target: Target::Server(server),
            operation,
            classified: Classified {
                effect: Effect::Mutating,
                source: Source::Undeclared,
            },
        },
    })
}

fn reading(server: ServerName, operation: Operation) -> Found {
    Found {
        target: Target::Server(server),
        operation,
        classified: READING,
    }
}

fn tool(world: &World, name: &str, arguments: Exact) -> Result<Found, Refusal> {
    let Some((place, tool)) = world.catalogue.entry(name) else {
        return Err(absent::of_call(world, name, &arguments));
    };
    let (target, operation) = match &tool.provider {
        Provider::Family(family) => return member::resolve(world, (name, place), family, &arguments),
        Provider::Server(server) => {
            let definition = Arc::clone(&tool.definition);
            let operation = Operation::CallTool { definition, arguments };
            (Target::Server(server.clone()), operation)
        }
        Provider::Core(core) => {
            let operation = Operation::RunCore { tool: *core, arguments };
            (Target::Gateway, operation)
        }
        Provider::Workflow(workflow) => {
            let workflow = Arc::clone(workflow);
            (Target::Gateway, Operation::RunWorkflow { workflow, arguments })
        }
    };
    match world.refuse_tool_at(place, name) {
        Some(refusal) => Err(refusal),
        None => Ok(Found {
            target,
            operation,
            classified: tool.classified,
        }),
    }
}

/// The one server inside the toolset that answers for a URI.
fn owner_of(world: &World, uri: &str, server: Option<&str>) -> Result<ServerName, Refusal> {
    let catalogue = &world.catalogue;
    let inside = |server: ServerName| match world.refuse_of_server(server.as_str(), Kind::Resource, uri) {
        None => Ok(server),
        Some(refusal) => Err(refusal),
    };
    if let Some(name) = server {
        let server = catalogue.resource_server(name).cloned();
        return server
            .ok_or_else(|| absent::of_resource(world, uri, Some(name)))
            .and_then(inside);
    }
    match catalogue.owner(uri) {
        Owner::One(server) => inside(server),
        Owner::Nobody => Err(absent::of_resource(world, uri, None)),
        Owner::Many(servers) => {
            let is_inside = |server: &&ServerName| world.shows_server(server.as_str());
            let left: Vec<ServerName> = servers.iter().filter(is_inside).cloned().collect();
            match (left.as_slice(), servers.first()) {
                ([only], _) => Ok(only.clone()),
                ([], Some(first)) => inside(first.clone()),
                _ => Err(ambiguous(uri, &left)),
            }
        }
    }
}

fn ambiguous(uri: &str, servers: &[ServerName]) -> Refusal {
    let names: Vec<String> = servers.iter().map(ToString::to_string).collect();
    let sentence = format!(
        "resource `{uri}` is published by servers {}; name one with the `server` argument of get_resource",
        names.join(", ")
    );
    Refusal::new(Code::ResourceAmbiguous, sentence).near(names)
}
