//! An immutable snapshot of everything the gateway can offer, with every name looked up, never split.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, OnceLock};

use serde::Serialize;

use crate::core_tools::CoreTool;
use crate::definition::{PromptDefinition, ResourceDefinition, ToolDefinition};
use crate::effect::Classified;
use crate::listing::Listing;
use crate::names::{ExposedName, ServerName};
use crate::rank::Index;
use crate::server::ServerEntry;
use crate::toolset::Slots;
use crate::workflow::Workflow;

mod absent;
mod build;
mod claims;
mod families;
mod finding;
mod naming;
mod nearest;
mod owners;
mod ranked;
mod routes;
mod workflows;

pub use families::{FamilyTool, MemberTool};
pub use finding::{Finding, FindingKind};
use nearest::Sketch;
use owners::Owners;
pub use routes::{Family, Route};

/// How exposed names are made (spec 2.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Naming {
    /// `name_prefix`; empty gives `<server>_<tool>`.
    pub prefix: String,
    /// `limits.tool_name_length`, in characters.
    pub max_length: usize,
}

/// Whether a server can be called now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Availability {
    /// Its list is not known yet: it is starting, or starts with the first use.
    Unlisted,
    /// Connected and listed.
    Ready,
    /// Down; a last listing, if any, is kept.
    Unavailable {
        /// Why.
        reason: String,
    },
    /// Switched off by its entry.
    Suspended,
    /// Stopped by `core_server_stop`.
    Stopped,
    /// It waits for the sign-in of whoever this catalogue is for, and contributes nothing until then.
    AuthRequired,
}

/// One server of the snapshot.
#[derive(Debug, Clone)]
pub struct Server {
    /// Its entry in the catalogue file.
    pub entry: Arc<ServerEntry>,
    /// Its last listing; empty before the first.
    pub listing: Arc<Listing>,
    /// Whether it can be called now.
    pub availability: Availability,
}

impl Server {
    /// Whether it waits for the sign-in of whoever the catalogue is for.
    #[must_use]
    pub fn awaits_sign_in(&self) -> bool {
        match self.availability {
            Availability::AuthRequired => true,
            Availability::Unlisted
            | Availability::Ready
            | Availability::Unavailable { .. }
            | Availability::Suspended
            | Availability::Stopped => false,
        }
    }
}

/// Where a tool comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Provider {
    /// An upstream server; its tool name is the definition's.
    Server(ServerName),
    /// The members of a family; an argument of the call says which of them.
    Family(Arc<FamilyTool>),
    /// The gateway itself.
    Core(CoreTool),
    /// A chain of tools from a file; the gateway runs it.
    Workflow(Arc<Workflow>),
}

/// One tool of the snapshot.
#[derive(Debug, Clone)]
pub struct Tool {
    /// The name callers use.
    pub name: ExposedName,
    /// Where it comes from.
    pub provider: Provider,
    /// The definition as published; a family's has the argument that names the member.
    pub definition: Arc<ToolDefinition>,
    /// What a call may do; of a family's tool, whichever member runs it.
    pub classified: Classified,
}

impl Tool {
    /// Writes the definition as callers see it: `name` replaced, all else byte for byte.
    pub fn write_to(&self, out: &mut String) {
        self.definition.write_renamed(self.name.as_str(), out);
    }
}

impl Tool {
    /// The servers that run it, sorted; none for the gateway's own.
    pub fn servers(&self) -> impl Iterator<Item = &ServerName> {
        let (one, members) = match &self.provider {
            Provider::Server(server) => (Some(server), None),
            Provider::Family(family) => (None, Some(family.members.keys())),
            Provider::Core(_) | Provider::Workflow(_) => (None, None),
        };
        one.into_iter().chain(members.into_iter().flatten())
    }
}

/// One prompt of the snapshot.
#[derive(Debug, Clone)]
pub struct Prompt {
    /// The name callers use.
    pub name: ExposedName,
    /// Its server.
    pub server: ServerName,
    /// The definition as published.
    pub definition: Arc<PromptDefinition>,
    /// The definition as callers see it.
    pub rendered: Arc<str>,
}

/// One resource or resource template of the snapshot.
#[derive(Debug, Clone)]
pub struct Resource {
    /// Its server.
    pub server: ServerName,
    /// The definition as published; URIs keep their form.
    pub definition: Arc<ResourceDefinition>,
}

/// Who publishes a URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// One server.
    One(ServerName),
    /// Several; the caller must name one.
    Many(Vec<ServerName>),
    /// None that the catalogue knows.
    Nobody,
}

/// What a snapshot is made of.
#[derive(Debug, Clone)]
pub struct Parts {
    /// The snapshot's number; a later snapshot has a higher one.
    pub version: u64,
    /// How exposed names are made.
    pub naming: Naming,
    /// The servers, in any order; the snapshot sorts them by name.
    pub servers: Vec<Server>,
    /// The workflows, whether or not their tools are there.
    pub workflows: Arc<[Arc<Workflow>]>,
}

/// The snapshot.
#[derive(Debug)]
pub struct Catalogue {
    version: u64,
    naming: Naming,
    servers: Vec<Server>,
    workflows: Arc<[Arc<Workflow>]>,
    tools: Vec<Tool>,
    prompts: Vec<Prompt>,
    resources: Vec<Resource>,
    templates: Vec<Resource>,
    findings: Vec<Finding>,
    index: Index,
    /// INVARIANT: one place per exposed name; `claims::settle` refuses names that two entries claim (I9).
    tools_by_name: BTreeMap<ExposedName, usize>,
    prompts_by_name: BTreeMap<ExposedName, usize>,
    owners: Owners,
    sketches: Vec<Sketch>,
    /// How tools stand in bit sets; counted when the first toolset asks.
    slots: OnceLock<Slots>,
}

/// How many elements one page of a list on the `direct` surface holds.
pub const PAGE: usize = 1000;

impl Catalogue {
    /// Builds a snapshot: names made, collisions refused with both origins named, bad ones set aside.
    ///
    /// Order of tools: servers by name with their own tool order, families by name, core tools, then workflows by name.
    #[must_use]
    pub fn build(parts: Parts) -> Self {
        build::build(parts, None)
    }

    /// As [`Catalogue::build`], with the same outcome, at the cost of what changed since this snapshot.
    #[must_use]
    pub fn next(&self, parts: Parts) -> Self {
        build::build(parts, Some(self))
    }

    /// How its exposed names are made.
    #[must_use]
    pub fn naming(&self) -> &Naming {
        &self.naming
    }

    /// The snapshot's number.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Whether callers see the same tools in another snapshot, so that an equal list is not announced
    /// as a change.
    #[must_use]
    pub fn shows_same_tools(&self, other: &Self) -> bool {
        same(&self.tools, &other.tools, |tool, other| {
            tool.name == other.name && tool.definition.raw() == other.definition.raw()
        })
    }

    /// As [`Catalogue::shows_same_tools`], for prompts.
    #[must_use]
    pub fn shows_same_prompts(&self, other: &Self) -> bool {
        same(&self.prompts, &other.prompts, |prompt, other| {
            prompt.rendered == other.rendered
        })
    }

    /// As [`Catalogue::shows_same_tools`], for resources and templates.
    #[must_use]
    pub fn shows_same_resources(&self, other: &Self) -> bool {
        // The server tells two equal definitions apart, and what it is called is seen in lists.
        let equal = |resource: &Resource, other: &Resource| {
            resource.server == other.server && resource.definition.raw() == other.definition.raw()
        };
        same(&self.resources, &other.resources, equal) && same(&self.templates, &other.templates, equal)
    }

    /// The servers, sorted by name.
    #[must_use]
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// One server.
    #[must_use]
    pub fn server(&self, name: &str) -> Option<&Server> {
        self.servers.get(self.server_place(name)?)
    }

    /// Where in [`Catalogue::servers`] a server stands.
    pub(crate) fn server_place(&self, name: &str) -> Option<usize> {
        self.servers
            .binary_search_by(|server| server.entry.name.as_str().cmp(name))
            .ok()
    }

    /// All workflows, those included whose tools are not there.
    #[must_use]
    pub fn workflows(&self) -> &Arc<[Arc<Workflow>]> {
        &self.workflows
    }

    /// All tools, in listing order.
    #[must_use]
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// The tool that an exposed name maps to; cost does not grow with the catalogue.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.get(self.place(name)?)
    }

    /// Where in [`Catalogue::tools`] the tool stands that an exposed name maps to.
    #[must_use]
    pub fn place(&self, name: &str) -> Option<usize> {
        self.tools_by_name.get(name).copied()
    }

    /// The tool that an exposed name maps to, and where it stands.
    pub(crate) fn entry(&self, name: &str) -> Option<(usize, &Tool)> {
        let place = self.place(name)?;
        Some((place, self.tools.get(place)?))
    }

    /// The tools whose exposed names begin so, by name, each with its place.
    pub(crate) fn names_from<'c>(&'c self, head: &'c str) -> impl Iterator<Item = (&'c ExposedName, usize)> {
        let from = (Bound::Included(head), Bound::Unbounded);
        let names = self.tools_by_name.range::<str, _>(from);
        names
            .take_while(move |(name, _)| name.as_str().starts_with(head))
            .map(|(name, place)| (name, *place))
    }

    /// How the tools stand in bit sets.
    pub(crate) fn slots(&self) -> &Slots {
        self.slots.get_or_init(|| Slots::of(&self.tools, &self.servers))
    }

    /// All prompts, in listing order.
    #[must_use]
    pub fn prompts(&self) -> &[Prompt] {
        &self.prompts
    }

    /// The prompt that an exposed name maps to.
    #[must_use]
    pub fn prompt(&self, name: &str) -> Option<&Prompt> {
        self.prompts.get(*self.prompts_by_name.get(name)?)
    }

    /// All resources, in listing order.
    #[must_use]
    pub fn resources(&self) -> &[Resource] {
        &self.resources
    }

    /// All resource templates, in listing order.
    #[must_use]
    pub fn templates(&self) -> &[Resource] {
        &self.templates
    }

    /// Who publishes a URI: an exact resource, else a template that matches it, else the only
    /// server that offers resources at all (servers answer for URIs that no list shows).
    #[must_use]
    pub fn owner(&self, uri: &str) -> Owner {
        self.owners.of(uri)
    }

    /// The server of that name, when it is part of the snapshot and offers resources.
    #[must_use]
    pub fn resource_server(&self, name: &str) -> Option<&ServerName> {
        self.owners.offering(name)
    }

    /// What a person should mend.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The search index; documents are places in [`Catalogue::tools`].
    #[must_use]
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// At most `limit` exposed tool names near a name that was not found.
    #[must_use]
    pub fn nearest_tools(&self, name: &str, limit: usize) -> Vec<String> {
        self.nearest_of(name, limit, |_| true)
    }

    /// As [`Catalogue::nearest_tools`], of the tools whose places are to be shown.
    pub(crate) fn nearest_of(&self, name: &str, limit: usize, is_shown: impl Fn(usize) -> bool) -> Vec<String> {
        let tools = self.sketches.iter().zip(&self.tools).enumerate();
        let names = tools
            .filter(|(place, _)| is_shown(*place))
            .map(|(_, (sketch, tool))| (*sketch, tool.name.as_str()));
        nearest::nearest(name, names, limit)
    }

    /// The same with more findings, which come from what stands beside the servers.
    #[must_use]
    pub fn with_findings(mut self, more: Vec<Finding>) -> Self {
        self.findings.extend(more);
        self.findings.sort();
        self
    }
}

fn same<T>(here: &[T], there: &[T], equal: impl Fn(&T, &T) -> bool) -> bool {
    here.len() == there.len() && here.iter().zip(there).all(|(here, there)| equal(here, there))
}

#[cfg(test)]
mod tests;
