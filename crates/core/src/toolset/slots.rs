//! How the tools of a catalogue stand in bit sets: one place for each member that runs a tool.

use std::ops::Range;

use crate::catalogue::{Server, Tool};
use crate::names::ServerName;

/// The places of one catalogue's tools: one for a tool of a server or of the gateway, and one for every member
/// of a family's tool, in the order of the members.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    /// Where each tool's places begin, and after the last where they end.
    first: Vec<usize>,
    /// The tool at each place.
    tools: Vec<usize>,
    /// The places of each server's tools, by the server's own place.
    of_servers: Vec<Vec<usize>>,
}

impl Slots {
    pub(crate) fn of(tools: &[Tool], servers: &[Server]) -> Self {
        let mut slots = Self {
            first: Vec::with_capacity(tools.len().saturating_add(1)),
            tools: Vec::with_capacity(tools.len()),
            of_servers: vec![Vec::new(); servers.len()],
        };
        // The tools of a server stand together, so the one before is mostly the one again.
        let mut last: (Option<&ServerName>, usize) = (None, 0);
        for (place, tool) in tools.iter().enumerate() {
            let next = slots.tools.len();
            slots.first.push(next);
            for server in tool.servers() {
                if last.0 != Some(server) {
                    let at = servers.binary_search_by(|other| other.entry.name.cmp(server));
                    last = (Some(server), at.unwrap_or(usize::MAX));
                }
                if let Some(of_server) = slots.of_servers.get_mut(last.1) {
                    of_server.push(slots.tools.len());
                }
                slots.tools.push(place);
            }
            // What no server runs is the gateway's own.
            if slots.tools.len() == next {
                slots.tools.push(place);
            }
        }
        slots.first.push(slots.tools.len());
        slots
    }

    /// How many places there are.
    pub(super) fn count(&self) -> usize {
        self.tools.len()
    }

    /// The places of the tool that stands there in the catalogue; a family's in the order of its members.
    pub(super) fn of_tool(&self, tool: usize) -> Range<usize> {
        match (self.first.get(tool), self.first.get(tool.saturating_add(1))) {
            (Some(start), Some(end)) => *start..*end,
            _ => 0..0,
        }
    }

    /// The tool at a place.
    pub(super) fn tool(&self, slot: usize) -> Option<usize> {
        self.tools.get(slot).copied()
    }

    /// The places of the tools of the server that stands there in the catalogue.
    pub(super) fn of_server(&self, server: usize) -> &[usize] {
        self.of_servers.get(server).map_or(&[], Vec::as_slice)
    }
}
