//! The catalogue as the search index sees it: one group of documents for each origin of tools.

use std::collections::{BTreeMap, BTreeSet};

use super::{FamilyTool, Provider, Server, Tool};
use crate::rank::{Document, Group, Index};

/// The index over a snapshot's tools. What is known of the snapshot before is not read again.
pub(super) fn index(now: (&[Server], &[Tool]), before: Option<(&[Server], &[Tool], &Index)>) -> Index {
    let labels = labels(now.0, now.1);
    let groups = groups(now.1, &labels);
    match before {
        None => Index::build_from(&groups, &Index::default(), &[]),
        Some((servers, tools, index)) => {
            let labels = self::labels(servers, tools);
            Index::build_from(&groups, index, &self::groups(tools, &labels))
        }
    }
}

/// The labels of each server, and of each tool of a family and each workflow by its exposed name, as words.
struct Labels<'s> {
    servers: BTreeMap<&'s str, Vec<String>>,
    families: BTreeMap<&'s str, Vec<String>>,
}

fn labels<'s>(servers: &'s [Server], tools: &'s [Tool]) -> Labels<'s> {
    let of_server = |server: &Server| -> Vec<String> {
        let labels = server.entry.labels.iter();
        labels.map(|(key, value)| format!("{key}={value}")).collect()
    };
    let servers: BTreeMap<&str, Vec<String>> = servers
        .iter()
        .map(|server| (server.entry.name.as_str(), of_server(server)))
        .collect();
    // A family's tool is found by the labels of every member that has it.
    let of_members = |family: &FamilyTool| -> Vec<String> {
        let labels = family.members.keys().filter_map(|member| servers.get(member.as_str()));
        let labels: BTreeSet<&String> = labels.flatten().collect();
        labels.into_iter().cloned().collect()
    };
    let families = tools
        .iter()
        .filter_map(|tool| match &tool.provider {
            Provider::Family(family) => Some((tool.name.as_str(), of_members(family))),
            Provider::Workflow(workflow) => {
                let labels = workflow.draft().labels.iter();
                let labels = labels.map(|(key, value)| format!("{key}={value}")).collect();
                Some((tool.name.as_str(), labels))
            }
            Provider::Server(_) | Provider::Core(_) => None,
        })
        .collect();
    Labels { servers, families }
}

fn groups<'t>(tools: &'t [Tool], labels: &'t Labels<'_>) -> Vec<Group<'t>> {
    let same_origin = |left: &Tool, right: &Tool| origin(left) == origin(right);
    let group = |tools: &'t [Tool]| Group {
        name: tools.first().map_or("", origin),
        documents: tools.iter().map(|tool| document(tool, labels)).collect(),
    };
    tools.chunk_by(same_origin).map(group).collect()
}

/// What tells the tools apart that come and change together.
fn origin(tool: &Tool) -> &str {
    match &tool.provider {
        Provider::Server(server) => server.as_str(),
        // No server has the name of a family.
        Provider::Family(family) => family.family.as_str(),
        Provider::Core(_) => "",
        // Nor has one this name.
        Provider::Workflow(_) => ":workflows",
    }
}

fn document<'d>(tool: &'d Tool, labels: &'d Labels<'_>) -> Document<'d> {
    Document {
        name: tool.name.as_str(),
        title: tool.definition.title.as_deref(),
        description: &tool.definition.description,
        parameters: &tool.definition.parameters,
        labels: match &tool.provider {
            Provider::Server(server) => labels.servers.get(server.as_str()).map_or(&[], Vec::as_slice),
            Provider::Family(_) | Provider::Workflow(_) => {
                labels.families.get(tool.name.as_str()).map_or(&[], Vec::as_slice)
            }
            Provider::Core(_) => &[],
        },
    }
}
