//! What a list says of the toolset that it is within, and of the servers that wait for a sign-in (spec 3.3).

use countersign_core::admit::World;
use countersign_core::catalogue::Server;
use countersign_core::glob::Glob;
use countersign_core::toolset::{Selector, Selectors};
use serde::Serialize;

use super::MetaTool;
use super::page::Filters;
use crate::toolsets;

/// The tool that gives the link to sign in with.
const AUTH_TOOL: &str = "core_auth_login";

/// What a list says of its toolset; absent members say nothing.
#[derive(Debug, Default, Serialize)]
pub(super) struct Within<'w> {
    #[serde(skip_serializing_if = "Option::is_none")]
    toolset: Option<&'w Selectors>,
    #[serde(skip_serializing_if = "Option::is_none")]
    toolset_bound: Option<&'w Selectors>,
    #[serde(skip_serializing_if = "<[Selector]>::is_empty")]
    toolset_unmatched: &'w [Selector],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    toolset_requiring_auth: Vec<Waiting<'w>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    servers_requiring_auth: Vec<Waiting<'w>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    presets: Option<Vec<Shown<'w>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// A server that waits for a sign-in.
#[derive(Debug, Serialize)]
struct Waiting<'w> {
    name: &'w str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    auth_tool: &'static str,
    tool_prefix: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    family: Option<&'w str>,
}

/// A preset.
#[derive(Debug, Serialize)]
struct Shown<'w> {
    name: &'w str,
    description: &'w str,
    built_in: bool,
}

/// Whether the presets that there are belong to an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presets {
    Shown,
    Hidden,
}

impl<'w> Within<'w> {
    /// What a list of that tool says; `glob` is the pattern that it was filtered with.
    pub(super) fn of(tool: MetaTool, world: &'w World, (filters, glob): (&Filters, Option<&Glob>)) -> Self {
        let mut within = Self::default();
        if let Some(narrowed) = world.toolset() {
            let bounds = narrowed.bounds();
            within.toolset = bounds.narrowest().map(|layer| &layer.selectors);
            within.toolset_unmatched = narrowed.unmatched();
            within.note = toolsets::empty_note(narrowed);
            let waiting = narrowed.requiring_auth().iter();
            within.toolset_requiring_auth = waiting
                .filter_map(|name| Some(Waiting::of(world, world.catalogue.server(name.as_str())?, None)))
                .collect();
            if tool == MetaTool::FilterTools {
                within.toolset_bound = bounds.bound().map(|layer| &layer.selectors);
            }
        }
        if matches!(tool, MetaTool::ListTools | MetaTool::FilterTools) {
            // Neither narrowed nor paged: it says which sign-in would make more of the toolset resolve.
            let servers = world.catalogue.servers().iter();
            within.servers_requiring_auth = servers
                .filter(|server| server.awaits_sign_in() && could_match(world, server, filters, glob))
                .map(|server| Waiting::of(world, server, Some("auth_required")))
                .collect();
        }
        within
    }

    /// The same with the presets that selectors may name.
    pub(super) fn with_presets(mut self, world: &'w World, presets: Presets) -> Self {
        let shown = || {
            let all = world.rules.presets.all();
            all.map(|(preset, built_in)| Shown {
                name: &preset.name,
                description: &preset.description,
                built_in,
            })
            .collect()
        };
        self.presets = (presets == Presets::Shown).then(shown);
        self
    }
}

impl<'w> Waiting<'w> {
    fn of(world: &World, server: &'w Server, status: Option<&'static str>) -> Self {
        Self {
            name: server.entry.name.as_str(),
            status,
            auth_tool: AUTH_TOOL,
            tool_prefix: world.catalogue.tool_prefix(&server.entry),
            family: server.entry.family.as_ref().map(|family| family.name.as_str()),
        }
    }
}

/// Whether a pattern could match a tool of a server whose tools are not known yet.
fn could_match(world: &World, server: &Server, filters: &Filters, glob: Option<&Glob>) -> bool {
    let Some(glob) = glob else { return true };
    let family = server.entry.family.as_ref();
    let of_family = family.map(|family| world.catalogue.family_prefix(&family.name));
    let heads = [Some(world.catalogue.tool_prefix(&server.entry)), of_family];
    heads
        .iter()
        .flatten()
        .any(|head| glob.may_match_after(&filters.fold(head)))
}
