//! The catalogue as the search index sees it: one group of documents for each origin of tools.

use std::collections::BTreeMap;

use super::{Provider, Server, Tool};
use crate::rank::{Document, Group, Index};

/// The index over a snapshot's tools. What is known of the snapshot before is not read again.
pub(super) fn index(now: (&[Server], &[Tool]), before: Option<(&[Server], &[Tool], &Index)>) -> Index {
    let labels = labels(now.0);
    let groups = groups(now.1, &labels);
    match before {
        None => Index::build_from(&groups, &Index::default(), &[]),
        Some((servers, tools, index)) => {
            let labels = self::labels(servers);
            Index::build_from(&groups, index, &self::groups(tools, &labels))
        }
    }
}

/// The labels of each server, as words.
type Labels<'s> = BTreeMap<&'s str, Vec<String>>;

fn labels(servers: &[Server]) -> Labels<'_> {
    let of_server = |server: &Server| -> Vec<String> {
        let labels = server.entry.labels.iter();
        labels.map(|(key, value)| format!("{key}={value}")).collect()
    };
    servers
        .iter()
        .map(|server| (server.entry.name.as_str(), of_server(server)))
        .collect()
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
        Provider::Core(_) => "",
    }
}

fn document<'d>(tool: &'d Tool, labels: &'d Labels<'_>) -> Document<'d> {
    Document {
        name: tool.name.as_str(),
        title: tool.definition.title.as_deref(),
        description: &tool.definition.description,
        parameters: &tool.definition.parameters,
        labels: match &tool.provider {
            Provider::Server(server) => labels.get(server.as_str()).map_or(&[], Vec::as_slice),
            Provider::Core(_) => &[],
        },
    }
}
