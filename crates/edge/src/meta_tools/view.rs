//! What one caller can discover in one world.

use countersign_core::admit::World;
use countersign_core::catalogue::{Availability, Catalogue, Tool};
use countersign_core::refusal::Kind;
use countersign_core::stages::{Rights, WriteGate};
use serde::Serialize;

use super::MetaTool;
use super::answer::Failure;

/// What one caller can discover in one world.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    world: &'a World,
}

/// A server whose tools are missing from a list or cannot be called now.
#[derive(Debug, Serialize)]
pub(super) struct Absent<'a> {
    server: &'a str,
    state: &'static str,
    reason: &'a str,
}

impl<'a> View<'a> {
    /// Narrows the world to what the caller can discover.
    pub(super) fn of(world: &'a World) -> Self {
        // Each stage that could narrow is named, so that a new variant cannot be overlooked here.
        match &world.rules.rights {
            Rights::Open { because: _ } => {}
        }
        Self { world }
    }

    pub(super) fn world(self) -> &'a World {
        self.world
    }

    pub(super) fn catalogue(self) -> &'a Catalogue {
        &self.world.catalogue
    }

    /// The tools that may be offered to a model, in listing order.
    pub(super) fn tools(self) -> impl Iterator<Item = &'a Tool> {
        self.world.tools().filter(|tool| is_for_models(tool))
    }

    /// Names near one that was not found, without those that are not offered.
    pub(super) fn offered(self, mut nearest: Vec<String>) -> Vec<String> {
        nearest.retain(|name| self.world.tool(name).is_some_and(is_for_models));
        nearest
    }

    /// Whether a server that the caller names exists: an empty list for a slip would look like the truth.
    ///
    /// # Errors
    /// `bad_arguments`, with the servers that there are; `outside_toolset` for one that the toolset does not show.
    pub(super) fn check_server(self, tool: MetaTool, server: Option<&str>) -> Result<(), Failure> {
        let Some(name) = server else { return Ok(()) };
        if self.catalogue().server(name).is_some() {
            let outside = self.world.refuse_of_server(name, Kind::Server, name);
            return outside.map_or(Ok(()), |refusal| Err(Failure::from(refusal)));
        }
        let servers: Vec<String> = self.world.servers().map(|it| it.entry.name.to_string()).collect();
        let sentence = format!(
            "{}: `server` names no server: `{name}`; servers: {}",
            tool.name(),
            servers.join(", ")
        );
        Err(Failure::bad_arguments(sentence, vec!["server".to_owned()], tool.arguments()).of_servers(servers))
    }

    /// What a call of the tool does at once: `runs`, `asks` or `needs_grant`.
    pub(super) fn on_call(self, _tool: &Tool) -> &'static str {
        match &self.world.rules.gate {
            WriteGate::Off { because: _ } => "runs",
        }
    }

    /// The servers that a caller should not wait for, and why.
    pub(super) fn absent(self) -> Vec<Absent<'a>> {
        let servers = self.catalogue().servers().iter();
        servers
            .filter(|server| self.world.could_show_server(server))
            .filter_map(|server| {
                let (state, reason) = match &server.availability {
                    // Named among the servers that ask for a sign-in.
                    Availability::Ready | Availability::AuthRequired => return None,
                    Availability::Unlisted => (
                        "unlisted",
                        "its list is not known yet: it is starting, or starts with its first use",
                    ),
                    Availability::Unavailable { reason } => ("unavailable", reason.as_str()),
                    Availability::Suspended => ("suspended", "it is switched off in the catalogue file"),
                    Availability::Stopped => ("stopped", "it was stopped by core_server_stop"),
                };
                Some(Absent {
                    server: server.entry.name.as_str(),
                    state,
                    reason,
                })
            })
            .collect()
    }
}

/// MCP Apps: some tools are for their app's own page only.
pub(super) fn is_for_models(tool: &Tool) -> bool {
    tool.definition.for_models
}
