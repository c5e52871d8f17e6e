//! Which member of a family runs a call: the one its argument names, and the argument goes no further.

use std::sync::Arc;

use super::resolve::Found;
use super::world::outside;
use super::{Operation, Target, View, World, absent};
use crate::catalogue::FamilyTool;
use crate::exact::{self, Exact};
use crate::names::ServerName;
use crate::refusal::{Code, Kind, Refusal};

/// How much of a name that no member bears is repeated, in characters.
const REPEATED: usize = 128;

/// The member that a call of a family's tool names, and the call as that member gets it. The tool stands at
/// `place` in the catalogue.
///
/// What is judged, recorded and sent from here on is the call without the argument (I4).
pub(super) fn resolve(
    world: &World,
    (name, place): (&str, usize),
    family: &FamilyTool,
    arguments: &Exact,
) -> Result<Found, Refusal> {
    if let Some(refusal) = world.refuse_tool_at(place, name) {
        // A member that is not listed yet may be inside where none that is listed is.
        let wanted = arguments.taken(&family.instance_arg);
        let wanted = wanted.as_ref().and_then(|(value, _)| named(value));
        let awaited = wanted.and_then(|wanted| absent::of_member(world, name, &family.family, wanted));
        return Err(awaited.unwrap_or(refusal));
    }
    let inside = || servers(world, place, family);
    let required = |sentence: String| Refusal::new(Code::InstanceRequired, sentence).near(inside());
    let argument = &family.instance_arg;
    let Some((value, rest)) = arguments.taken(argument) else {
        return Err(required(format!(
            "tool {name} is provided by a family on servers {}; the \"{argument}\" parameter is required",
            inside().join(", ")
        )));
    };
    let Some(wanted) = named(value) else {
        let found = exact::kind(value);
        return Err(required(format!(
            "tool {name} is provided by a family on servers {}; the \"{argument}\" parameter must be a string, not {found}",
            inside().join(", ")
        )));
    };
    let Some((server, member)) = family.members.get_key_value(wanted) else {
        if let Some(refusal) = absent::of_member(world, name, &family.family, wanted) {
            return Err(refusal);
        }
        let shown: String = wanted.chars().take(REPEATED).collect();
        let sentence = format!(
            "tool {name} is not available on server \"{shown}\" (available: {})",
            inside().join(", ")
        );
        return Err(Refusal::new(Code::InstanceNotAvailable, sentence).near(inside()));
    };
    if let View::Narrowed(narrowed) = &world.view {
        let number = family.members.keys().take_while(|member| *member != server).count();
        if !narrowed.has_member(&world.catalogue, place, number)
            && let Some(layer) = narrowed.outside_for_tool(&world.catalogue, place, Some(number))
        {
            return Err(outside((Kind::Tool, name), Some(server), layer));
        }
    }
    Ok(Found {
        target: Target::Server(server.clone()),
        operation: Operation::CallTool {
            definition: Arc::clone(&member.definition),
            arguments: rest,
        },
        classified: member.classified,
    })
}

/// The server that the value of the argument names, when it is a string.
///
/// The name of a server holds nothing that JSON escapes, so its canonical text is the name itself.
pub(super) fn named(value: &str) -> Option<&str> {
    value.strip_prefix('"').and_then(|value| value.strip_suffix('"'))
}

/// The members that the request may choose from.
fn servers(world: &World, place: usize, family: &FamilyTool) -> Vec<String> {
    let is_inside = |number: usize| match &world.view {
        View::Whole { .. } => true,
        View::Narrowed(narrowed) => narrowed.has_member(&world.catalogue, place, number),
        View::Refused(_) => false,
    };
    let members = family.members.keys().enumerate();
    members
        .filter(|(number, _)| is_inside(*number))
        .map(|(_, server): (usize, &ServerName)| server.to_string())
        .collect()
}
