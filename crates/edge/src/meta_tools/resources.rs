//! `list_resources`, `filter_resources`, `describe_resource`: resources and resource templates.

use countersign_core::admit;
use countersign_core::catalogue::{Catalogue, Resource};
use countersign_core::exact::Exact;
use countersign_core::refusal::{Code, Kind, Refusal};
use serde::Serialize;
use serde_json::value::RawValue;

use super::MetaTool;
use super::answer::{Failure, structured};
use super::arguments::{Flag, Reader};
use super::invocation;
use super::page::{Filters, Over, Page, summary};
use super::view::{Absent, View};

/// `list_resources`
pub(super) fn list(view: &View<'_>, arguments: &Exact) -> Result<String, Failure> {
    let mut reader = Reader::of(MetaTool::ListResources, arguments);
    let window = reader.window(50);
    let server = reader.text("server");
    reader.finish()?;
    view.check_server(MetaTool::ListResources, server.as_deref())?;
    let filters = Filters {
        server,
        limit: Some(window.limit),
        offset: Some(window.offset),
        ..Filters::default()
    };
    let matches = all(*view).filter(|found| filters.of_server(found.resource().server.as_str()));
    answer(*view, &filters, Page::of(matches, window))
}

/// `filter_resources`
pub(super) fn filter(view: &View<'_>, arguments: &Exact) -> Result<String, Failure> {
    let mut reader = Reader::of(MetaTool::FilterResources, arguments);
    let window = reader.window(25);
    let filters = Filters {
        pattern: reader.text("pattern"),
        server: reader.text("server"),
        case_sensitive: Some(reader.flag("case_sensitive", Flag::Off)),
        limit: Some(window.limit),
        offset: Some(window.offset),
        ..Filters::default()
    };
    reader.finish()?;
    view.check_server(MetaTool::FilterResources, filters.server.as_deref())?;
    let glob = filters.glob(Over::Uris)?;
    let matches = all(*view).filter(|found| {
        let resource = found.resource();
        filters.of_server(resource.server.as_str())
            && glob
                .as_ref()
                .is_none_or(|glob| glob.matches(&Over::Uris.flat(&filters.fold(&resource.definition.uri))))
    });
    answer(*view, &filters, Page::of(matches, window))
}

/// `describe_resource`
pub(super) fn describe(view: &View<'_>, arguments: &Exact) -> Result<String, Failure> {
    let mut reader = Reader::of(MetaTool::DescribeResource, arguments);
    let uri = reader.needed("uri");
    let server = reader.text("server");
    reader.finish()?;
    view.check_server(MetaTool::DescribeResource, server.as_deref())?;
    let wanted = |found: &Found<'_>| {
        let resource = found.resource();
        resource.definition.uri == uri && server.as_deref().is_none_or(|name| name == resource.server.as_str())
    };
    let candidates: Vec<Found<'_>> = all(*view).filter(wanted).collect();
    let Some(found) = candidates.first() else {
        if let Some(hidden) = published(view.catalogue()).find(wanted) {
            let server = hidden.resource().server.as_str();
            let outside = view.world().refuse_of_server(server, Kind::Resource, &uri);
            return Err(outside.map_or_else(|| not_found(*view, &uri, None), Failure::from));
        }
        return Err(not_found(*view, &uri, server.as_deref()));
    };
    let mut servers: Vec<String> = candidates
        .iter()
        .map(|found| found.resource().server.to_string())
        .collect();
    servers.sort();
    servers.dedup();
    if servers.len() > 1 {
        return Err(ambiguous(&uri, servers));
    }
    let resource = found.resource();
    let invocation = invocation::of_resource(&resource.definition.uri, resource.server.as_str());
    let description = Description {
        entry: Entry::of(*found),
        description: &resource.definition.description,
        definition: serde_json::from_str(resource.definition.raw()).ok(),
        invocation: serde_json::from_str(&invocation).ok(),
    };
    structured(&description)
}

fn not_found(view: View<'_>, uri: &str, server: Option<&str>) -> Failure {
    let mut refusal = admit::missing_resource(view.catalogue(), uri, server);
    if refusal.code == Code::ResourceNotFound {
        let hint = " (list_resources shows what is listed; get_resource may read URIs that no list shows)";
        refusal.sentence.push_str(hint);
    }
    Failure::from(refusal)
}

fn ambiguous(uri: &str, servers: Vec<String>) -> Failure {
    let sentence = format!(
        "resource `{uri}` is published by servers {}; name one with the `server` argument of describe_resource",
        servers.join(", ")
    );
    Failure::from(Refusal::new(Code::ResourceAmbiguous, sentence).near(servers))
}

/// A resource, or a template of resources.
#[derive(Debug, Clone, Copy)]
enum Found<'a> {
    One(&'a Resource),
    Template(&'a Resource),
}

impl<'a> Found<'a> {
    fn resource(self) -> &'a Resource {
        match self {
            Self::One(resource) | Self::Template(resource) => resource,
        }
    }
}

/// What the caller can discover.
fn all(view: View<'_>) -> impl Iterator<Item = Found<'_>> {
    let world = view.world();
    world
        .resources()
        .map(Found::One)
        .chain(world.templates().map(Found::Template))
}

/// What there is, whoever can discover it.
fn published(catalogue: &Catalogue) -> impl Iterator<Item = Found<'_>> {
    let templates = catalogue.templates().iter().map(Found::Template);
    catalogue.resources().iter().map(Found::One).chain(templates)
}

#[derive(Debug, Serialize)]
struct Answer<'a> {
    filters: &'a Filters,
    total_resources: usize,
    total: usize,
    truncated: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    servers_unavailable: Vec<Absent<'a>>,
    resources: Vec<Listed<'a>>,
}

fn answer(view: View<'_>, filters: &Filters, page: Page<Found<'_>>) -> Result<String, Failure> {
    let listed = page.shown.into_iter().map(|found| Listed {
        entry: Entry::of(found),
        summary: summary(&found.resource().definition.description),
    });
    structured(&Answer {
        filters,
        total_resources: all(view).count(),
        total: page.total,
        truncated: page.truncated,
        servers_unavailable: view.absent(),
        resources: listed.collect(),
    })
}

#[derive(Debug, Serialize)]
struct Entry<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri_template: Option<&'a str>,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    server: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Listed<'a> {
    #[serde(flatten)]
    entry: Entry<'a>,
    summary: String,
}

#[derive(Debug, Serialize)]
struct Description<'a> {
    #[serde(flatten)]
    entry: Entry<'a>,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    definition: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    invocation: Option<&'a RawValue>,
}

impl<'a> Entry<'a> {
    fn of(found: Found<'a>) -> Self {
        let (uri, uri_template) = match found {
            Found::One(resource) => (Some(resource.definition.uri.as_str()), None),
            Found::Template(template) => (None, Some(template.definition.uri.as_str())),
        };
        let resource = found.resource();
        Self {
            uri,
            uri_template,
            name: &resource.definition.name,
            title: resource.definition.title.as_deref(),
            server: resource.server.as_str(),
            mime_type: resource.definition.mime_type.as_deref(),
        }
    }
}
