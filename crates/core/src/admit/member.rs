//! Which member of a family runs a call: the one its argument names, and the argument goes no further.

use std::sync::Arc;

use super::{Found, Operation, Target};
use crate::catalogue::FamilyTool;
use crate::exact::{self, Exact};
use crate::names::ServerName;
use crate::refusal::{Code, Refusal};

/// How much of a name that no member bears is repeated, in characters.
const REPEATED: usize = 128;

/// The member that a call of a family's tool names, and the call as that member gets it.
///
/// What is judged, recorded and sent from here on is the call without the argument (I4).
pub(super) fn resolve(name: &str, family: &FamilyTool, arguments: &Exact) -> Result<Found, Refusal> {
    let required = |sentence: String| Refusal {
        code: Code::InstanceRequired,
        sentence,
        nearest: servers(family),
    };
    let argument = &family.instance_arg;
    let Some((value, rest)) = arguments.taken(argument) else {
        return Err(required(format!(
            "tool {name} is provided by a family on servers {}; the \"{argument}\" parameter is required",
            available(family)
        )));
    };
    let Some(wanted) = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')) else {
        let found = exact::kind(value);
        return Err(required(format!(
            "tool {name} is provided by a family on servers {}; the \"{argument}\" parameter must be a string, not {found}",
            available(family)
        )));
    };
    // The name of a server holds nothing that JSON escapes, so its canonical text is the name itself.
    let Some((server, member)) = family.members.get_key_value(wanted) else {
        let shown: String = wanted.chars().take(REPEATED).collect();
        return Err(Refusal {
            code: Code::InstanceNotAvailable,
            sentence: format!(
                "tool {name} is not available on server \"{shown}\" (available: {})",
                available(family)
            ),
            nearest: servers(family),
        });
    };
    Ok(Found {
        target: Target::Server(server.clone()),
        operation: Operation::CallTool {
            definition: Arc::clone(&member.definition),
            arguments: rest,
        },
        classified: member.classified,
    })
}

fn available(family: &FamilyTool) -> String {
    servers(family).join(", ")
}

fn servers(family: &FamilyTool) -> Vec<String> {
    family.members.keys().map(ServerName::to_string).collect()
}
