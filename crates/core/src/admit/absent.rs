//! What is said of a name that nothing in the catalogue bears, and the way out where there is one.

use super::member::named;
use super::world::outside;
use super::{View, World};
use crate::catalogue::{Catalogue, Family, Route, Server};
use crate::exact::Exact;
use crate::names::{FamilyName, ServerName};
use crate::refusal::{Code, Kind, Refusal};
use crate::toolset;

/// The refusal of a tool that is not found, with the nearest names that the request can discover.
#[must_use]
pub fn missing_tool(world: &World, name: &str) -> Refusal {
    let catalogue = &world.catalogue;
    if let Some(refusal) = stopped(&catalogue.stopped_with_tool(name)) {
        return refusal;
    }
    let mut sentence = format!("Tool not found: {name}");
    if let Some((server, reason)) = catalogue.unreached_like(name) {
        sentence.push_str(&format!(
            " (server {server} is unavailable, and its tools are not known: {reason})"
        ));
    }
    let nearest = match &world.view {
        View::Whole { .. } => catalogue.nearest_tools(name, 3),
        View::Narrowed(narrowed) => catalogue.nearest_of(name, 3, |place| narrowed.has_tool(place)),
        View::Refused(_) => Vec::new(),
    };
    Refusal::new(Code::ToolNotFound, sentence).near(nearest)
}

/// The refusal of a call of a tool that is not found: its server may wait for the caller's sign-in.
pub(super) fn of_call(world: &World, name: &str, arguments: &Exact) -> Refusal {
    match world.catalogue.route(name) {
        Route::Server(server) if server.awaits_sign_in() => by_sign_in(world, name, server, Member::No),
        Route::Family(family) => match arguments.taken(family.instance_arg) {
            Some((value, _)) => named(value)
                .and_then(|wanted| of_member(world, name, family.name, wanted))
                .unwrap_or_else(|| missing_tool(world, name)),
            None => which_member(world, name, family),
        },
        Route::Server(_) | Route::Nowhere => missing_tool(world, name),
    }
}

/// The refusal of a call that names a member of a family that waits for the caller's sign-in; nothing when it
/// names no such member.
pub(super) fn of_member(world: &World, name: &str, family: &FamilyName, wanted: &str) -> Option<Refusal> {
    let server = world.catalogue.server(wanted)?;
    let of = server.entry.family.as_ref()?;
    (of.name == *family && server.awaits_sign_in()).then(|| by_sign_in(world, name, server, Member::Yes))
}

/// Whether a call names a member of a family.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Member {
    Yes,
    No,
}

/// The refusal of a tool that a server may have once the caller has signed in to it: how, when the toolset could
/// select the tool then, and else that it is outside.
fn by_sign_in(world: &World, name: &str, server: &Server, member: Member) -> Refusal {
    let entry = &server.entry;
    match &world.view {
        View::Whole { .. } => Refusal::sign_in(entry.name.clone()),
        View::Refused(error) => super::world::bad(error),
        View::Narrowed(narrowed) => {
            let unknown = (&**entry, member == Member::Yes);
            match toolset::unable(&world.rules.presets, narrowed.bounds(), unknown, name) {
                None => Refusal::sign_in(entry.name.clone()),
                Some(layer) => {
                    let named = (member == Member::Yes).then_some(&entry.name);
                    outside((Kind::Tool, name), named, layer)
                }
            }
        }
    }
}

/// The refusal of a call in a family's name space that names no member: those who wait for a sign-in are to be
/// chosen from, when there are any.
fn which_member(world: &World, name: &str, family: Family<'_>) -> Refusal {
    let is_member = |server: &&Server| {
        let of = server.entry.family.as_ref();
        of.is_some_and(|of| of.name == *family.name) && server.awaits_sign_in()
    };
    let waiting = world.catalogue.servers().iter().filter(is_member);
    let could = waiting.filter(|server| by_sign_in(world, name, server, Member::Yes).code == Code::AuthRequired);
    let servers: Vec<String> = could.map(|server| server.entry.name.to_string()).collect();
    if servers.is_empty() {
        return missing_tool(world, name);
    }
    let sentence = format!(
        "tool {name} may be provided by a family on servers {}, which wait for your sign-in; the \"{}\" parameter is required",
        servers.join(", "),
        family.instance_arg
    );
    Refusal::new(Code::InstanceRequired, sentence).near(servers)
}

/// The refusal of a prompt that is asked for and not found: its server may wait for the caller's sign-in.
pub(super) fn of_prompt(world: &World, name: &str) -> Refusal {
    match world.catalogue.route(name) {
        Route::Server(server) if server.awaits_sign_in() => of_server(world, server, (Kind::Prompt, name)),
        Route::Server(_) | Route::Family(_) | Route::Nowhere => missing_prompt(&world.catalogue, name),
    }
}

/// The refusal of a resource that is asked for and not found at the server that the caller names, if any: that
/// server may wait for the caller's sign-in.
pub(super) fn of_resource(world: &World, uri: &str, server: Option<&str>) -> Refusal {
    let named = server.and_then(|server| world.catalogue.server(server));
    match named.filter(|server| server.awaits_sign_in()) {
        Some(server) => of_server(world, server, (Kind::Resource, uri)),
        None => missing_resource(&world.catalogue, uri, server),
    }
}

/// The refusal of what a server that waits for a sign-in may publish beside its tools: it follows the server.
fn of_server(world: &World, server: &Server, (kind, name): (Kind, &str)) -> Refusal {
    let server = &server.entry.name;
    match &world.view {
        View::Narrowed(narrowed) if !narrowed.requiring_auth().contains(server) => world
            .refuse_of_server(server.as_str(), kind, name)
            .unwrap_or_else(|| Refusal::sign_in(server.clone())),
        View::Refused(error) => super::world::bad(error),
        View::Whole { .. } | View::Narrowed(_) => Refusal::sign_in(server.clone()),
    }
}

/// The refusal of a prompt that is not found.
#[must_use]
pub fn missing_prompt(catalogue: &Catalogue, name: &str) -> Refusal {
    stopped(&catalogue.stopped_with_prompt(name))
        .unwrap_or_else(|| Refusal::new(Code::PromptNotFound, format!("Prompt not found: {name}")))
}

/// The refusal of a resource that is not found, at the server that the caller names, if any.
#[must_use]
pub fn missing_resource(catalogue: &Catalogue, uri: &str, server: Option<&str>) -> Refusal {
    stopped(&catalogue.stopped_with_resource(uri, server))
        .unwrap_or_else(|| Refusal::new(Code::ResourceNotFound, format!("Resource not found: {uri}")))
}

fn stopped(servers: &[&ServerName]) -> Option<Refusal> {
    let names: Vec<String> = servers.iter().map(ToString::to_string).collect();
    let (whose, verb, it, whom) = match names.len() {
        0 => return None,
        1 => ("server", "is", "it was", "it"),
        _ => ("servers", "are", "they were", "one"),
    };
    let sentence = format!(
        "{whose} {} {verb} unavailable: {it} stopped with core_server_stop; core_server_start starts {whom} again",
        names.join(", ")
    );
    Some(Refusal::new(Code::ServerStopped, sentence).near(names))
}
