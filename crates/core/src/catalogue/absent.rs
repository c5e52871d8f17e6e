//! Why a name that nothing bears may be missed: its server was stopped, or was never reached.

use super::{Availability, Catalogue, Server, naming};
use crate::definition::PromptDefinition;
use crate::listing::Listing;
use crate::names::ServerName;

impl Catalogue {
    /// The servers, stopped by `core_server_stop`, that would serve a tool of that exposed name, sorted.
    ///
    /// Its cost grows with what stopped servers published, so it is for names that are not found.
    #[must_use]
    pub fn stopped_with_tool(&self, name: &str) -> Vec<&ServerName> {
        self.stopped(|server| {
            let mut tools = server.listing.tools.iter();
            tools.any(|tool| self.would_be(server, tool.name.as_str(), name))
        })
    }

    /// As [`Catalogue::stopped_with_tool`], for prompts.
    #[must_use]
    pub fn stopped_with_prompt(&self, name: &str) -> Vec<&ServerName> {
        let is_it = |server: &Server, prompt: &PromptDefinition| {
            let original = prompt.name.as_str();
            self.name_at(
                naming::part_of(&server.entry),
                server.entry.name.as_str(),
                original,
                name,
            )
        };
        self.stopped(|server| server.listing.prompts.iter().any(|prompt| is_it(server, prompt)))
    }

    /// As [`Catalogue::stopped_with_tool`], for the URI of a resource; templates are not tried. Where the caller names
    /// a server, that one, whatever it published.
    #[must_use]
    pub fn stopped_with_resource(&self, uri: &str, named: Option<&str>) -> Vec<&ServerName> {
        self.stopped(|server| match named {
            Some(named) => server.entry.name.as_str() == named,
            None => server.listing.resources.iter().any(|resource| resource.uri == uri),
        })
    }

    /// A server that was never listed and whose tools would have names that begin as this one does, and why.
    #[must_use]
    pub fn unreached_like(&self, name: &str) -> Option<(&ServerName, &str)> {
        self.servers.iter().find_map(|server| {
            let Availability::Unavailable { reason } = &server.availability else {
                return None;
            };
            let family = server.entry.family.as_ref().map(|family| family.name.as_str());
            let is_like = |part: &str| {
                let head = naming::whole_of(&self.naming, part, "");
                !part.is_empty() && name.starts_with(&head)
            };
            let is_it = is_like(naming::part_of(&server.entry)) || family.is_some_and(is_like);
            (*server.listing == Listing::default() && is_it).then_some((&server.entry.name, reason.as_str()))
        })
    }

    fn stopped(&self, has: impl Fn(&Server) -> bool) -> Vec<&ServerName> {
        let stopped = self.servers.iter().filter(|server| match server.availability {
            Availability::Stopped => true,
            Availability::Unlisted
            | Availability::Ready
            | Availability::Unavailable { .. }
            | Availability::Suspended
            | Availability::AuthRequired => false,
        });
        stopped
            .filter(|server| has(server))
            .map(|server| &server.entry.name)
            .collect()
    }

    /// Whether a tool would have that exposed name, as its server's own or as its family's.
    fn would_be(&self, server: &Server, original: &str, name: &str) -> bool {
        let entry = &server.entry;
        let family = entry.family.as_ref().map(|family| family.name.as_str());
        self.name_at(naming::part_of(entry), entry.name.as_str(), original, name)
            || family.is_some_and(|family| self.name_at(family, family, original, name))
    }

    fn name_at(&self, part: &str, owner: &str, original: &str, name: &str) -> bool {
        let whole = naming::whole_of(&self.naming, part, original);
        naming::exposed(&self.naming, owner, original, &whole).as_str() == name
    }
}
