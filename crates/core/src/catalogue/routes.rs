//! Where a call would go whose name nothing in the catalogue bears: by what names begin with.

use std::sync::Arc;

use super::{Catalogue, Server, naming};
use crate::names::FamilyName;
use crate::server::ServerEntry;

/// Whose name a name would be, if it were listed.
#[derive(Debug, Clone, Copy)]
pub enum Route<'c> {
    /// A server's own.
    Server(&'c Server),
    /// A family's; an argument of the call says which member runs it.
    Family(Family<'c>),
    /// Nobody's.
    Nowhere,
}

/// A family, by what its members say of it.
#[derive(Debug, Clone, Copy)]
pub struct Family<'c> {
    /// Its name.
    pub name: &'c FamilyName,
    /// The argument that names the member.
    pub instance_arg: &'c Arc<str>,
}

impl Catalogue {
    /// Whose name it would be: of all that it begins with the longest counts, a family's before a server's.
    ///
    /// Names of tools that are listed are looked up, never split; this is for names that are not found.
    #[must_use]
    pub fn route(&self, name: &str) -> Route<'_> {
        if naming::reserved(name).is_some() {
            return Route::Nowhere;
        }
        let own = self
            .servers
            .iter()
            .map(|server| (self.tool_prefix(&server.entry), false, Route::Server(server)));
        let of_families = self.servers.iter().filter_map(|server| {
            let family = server.entry.family.as_ref()?;
            let route = Route::Family(Family {
                name: &family.name,
                instance_arg: &family.instance_arg,
            });
            Some((self.family_prefix(&family.name), true, route))
        });
        own.chain(of_families)
            .filter(|(head, ..)| name.starts_with(head))
            .max_by_key(|(head, is_family, _)| (head.len(), *is_family))
            .map_or(Route::Nowhere, |(_, _, route)| route)
    }

    /// What the exposed names of a server's own tools begin with.
    #[must_use]
    pub fn tool_prefix(&self, entry: &ServerEntry) -> String {
        naming::whole_of(&self.naming, naming::part_of(entry), "")
    }

    /// What the exposed names of a family's tools begin with.
    #[must_use]
    pub fn family_prefix(&self, family: &FamilyName) -> String {
        naming::whole_of(&self.naming, family.as_str(), "")
    }
}
