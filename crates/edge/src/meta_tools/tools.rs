//! `list_tools`, `filter_tools`, `describe_tool`, `list_core_tools`.

use std::collections::BTreeMap;

use countersign_core::admit;
use countersign_core::catalogue::{Provider, Tool};
use countersign_core::exact::Exact;
use countersign_core::names::ServerName;
use countersign_core::refusal::{Code, Refusal};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::MetaTool;
use super::answer::{Failure, structured};
use super::arguments::{Flag, Reader, Window};
use super::invocation;
use super::page::{Filters, Over, Page, summary};
use super::view::{Absent, View};
use super::within::{Presets, Within};

/// `list_tools`
pub(super) fn list(view: &View<'_>, arguments: &Exact) -> Result<String, Failure> {
    let mut reader = Reader::of(MetaTool::ListTools, arguments);
    let window = reader.window(50);
    reader.finish()?;
    let filters = Filters {
        limit: Some(window.limit),
        offset: Some(window.offset),
        ..Filters::default()
    };
    let matches = view.tools().map(|tool| (tool, None));
    let within = Within::of(MetaTool::ListTools, view.world(), (&filters, None));
    answer(*view, &filters, Page::of(matches, window), within)
}

/// `filter_tools`: all filters must agree; with `query` the best match stands first.
pub(super) fn filter(view: &View<'_>, arguments: &Exact) -> Result<String, Failure> {
    let mut reader = Reader::of(MetaTool::FilterTools, arguments);
    let mut filters = Filters {
        pattern: reader.text("pattern"),
        description_filter: reader.text("description_filter"),
        query: reader.text("query"),
        labels: reader.texts("labels"),
        case_sensitive: Some(reader.flag("case_sensitive", Flag::Off)),
        include_schema: Some(reader.flag("include_schema", Flag::Off)),
        ..Filters::default()
    };
    let window = reader.window(25);
    // What it says is in force by now, as far as it says anything.
    let has_toolset = reader.list("toolset").is_some();
    let presets = if reader.flag("include_presets", Flag::Off) || has_toolset {
        Presets::Shown
    } else {
        Presets::Hidden
    };
    filters.limit = Some(window.limit);
    filters.offset = Some(window.offset);
    reader.finish()?;
    let glob = filters.glob(Over::Names)?;
    let part = filters.description_filter.as_deref().map(|part| filters.fold(part));
    let agree = |tool: &Tool| {
        glob.as_ref()
            .is_none_or(|glob| glob.matches(&filters.fold(tool.name.as_str())))
            && part
                .as_ref()
                .is_none_or(|part| filters.fold(&tool.definition.description).contains(part))
            && (filters.labels.is_empty() || carries(*view, tool, &filters.labels))
    };
    let page = match &filters.query {
        None => Page::of(view.tools().filter(|tool| agree(tool)).map(|tool| (tool, None)), window),
        Some(query) => {
            let hits = view.catalogue().index().search(query);
            let found = hits
                .iter()
                .filter_map(|hit| Some((view.world().tool_at(hit.document)?, Some(hit.score))));
            Page::of(
                found.filter(|(tool, _)| super::view::is_for_models(tool) && agree(tool)),
                window,
            )
        }
    };
    let within = Within::of(MetaTool::FilterTools, view.world(), (&filters, glob.as_ref()));
    answer(*view, &filters, page, within.with_presets(view.world(), presets))
}

/// `list_core_tools`
pub(super) fn list_core(view: &View<'_>, arguments: &Exact) -> Result<String, Failure> {
    let mut reader = Reader::of(MetaTool::ListCoreTools, arguments);
    let filters = Filters {
        include_schema: Some(reader.flag("include_schema", Flag::On)),
        ..Filters::default()
    };
    reader.finish()?;
    let core = view.tools().filter(|tool| matches!(tool.provider, Provider::Core(_)));
    let all = Window {
        limit: usize::MAX,
        offset: 0,
    };
    let within = Within::of(MetaTool::ListCoreTools, view.world(), (&filters, None));
    answer(*view, &filters, Page::of(core.map(|tool| (tool, None)), all), within)
}

/// `describe_tool`
pub(super) fn describe(view: &View<'_>, arguments: &Exact) -> Result<String, Failure> {
    let mut reader = Reader::of(MetaTool::DescribeTool, arguments);
    let name = reader.needed("name");
    reader.finish()?;
    let Some(tool) = view.world().tool(&name) else {
        if let Some(refusal) = view.world().refuse_tool(&name) {
            return Err(Failure::from(refusal));
        }
        return Err(not_found(*view, &name, admit::missing_tool(view.world(), &name)));
    };
    let invocation = invocation::of_tool(tool.name.as_str(), &tool.definition.input_schema);
    let description = Description {
        entry: Entry::of(*view, tool),
        description: &tool.definition.description,
        input_schema: raw(&tool.definition.input_schema),
        output_schema: tool.definition.output_schema.as_deref().and_then(raw),
        original_name: tool.definition.name.as_str(),
        family: family(tool),
        invocation: raw(&invocation),
    };
    structured(&description)
}

/// The answer for a name that no tool bears.
pub(super) fn not_found(view: View<'_>, name: &str, mut refusal: Refusal) -> Failure {
    if refusal.code == Code::ToolNotFound {
        refusal.nearest = view.offered(refusal.nearest);
        if super::find(name).is_some() {
            let hint = " (it is a meta-tool: call it by its own name, not through another one)";
            refusal.sentence.push_str(hint);
        }
    }
    Failure::from(refusal)
}

#[derive(Debug, Serialize)]
struct Answer<'a> {
    filters: &'a Filters,
    total_tools: usize,
    total: usize,
    truncated: bool,
    #[serde(flatten)]
    within: Within<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    servers_unavailable: Vec<Absent<'a>>,
    tools: Vec<Listed<'a>>,
}

fn answer<'a>(
    view: View<'a>,
    filters: &'a Filters,
    page: Page<(&'a Tool, Option<f64>)>,
    within: Within<'a>,
) -> Result<String, Failure> {
    let with_schema = filters.include_schema == Some(true);
    let listed = page.shown.into_iter().map(|(tool, score)| Listed {
        entry: Entry::of(view, tool),
        summary: summary(&tool.definition.description),
        score: score.map(rounded),
        input_schema: with_schema.then(|| raw(&tool.definition.input_schema)).flatten(),
    });
    structured(&Answer {
        filters,
        total_tools: view.tools().count(),
        total: page.total,
        truncated: page.truncated,
        within,
        servers_unavailable: view.absent(),
        tools: listed.collect(),
    })
}

/// What every form of an entry holds.
#[derive(Debug, Serialize)]
struct Entry<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<&'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<&'a str, &'a str>,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<&'a RawValue>,
    effect: &'static str,
    on_call: &'static str,
}

/// An entry of a list.
#[derive(Debug, Serialize)]
struct Listed<'a> {
    #[serde(flatten)]
    entry: Entry<'a>,
    summary: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    #[serde(rename = "inputSchema", skip_serializing_if = "Option::is_none")]
    input_schema: Option<&'a RawValue>,
}

/// An entry with all that is known.
#[derive(Debug, Serialize)]
struct Description<'a> {
    #[serde(flatten)]
    entry: Entry<'a>,
    description: &'a str,
    #[serde(rename = "inputSchema", skip_serializing_if = "Option::is_none")]
    input_schema: Option<&'a RawValue>,
    #[serde(rename = "outputSchema", skip_serializing_if = "Option::is_none")]
    output_schema: Option<&'a RawValue>,
    original_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    family: Option<Family<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    invocation: Option<&'a RawValue>,
}

/// The family that a tool stands for.
#[derive(Debug, Serialize)]
struct Family<'a> {
    name: &'a str,
    instance_arg: &'a str,
    members: Vec<Member<'a>>,
}

/// One server that runs a family's tool, and what a call there may do.
#[derive(Debug, Serialize)]
struct Member<'a> {
    server: &'a str,
    effect: &'static str,
}

fn family(tool: &Tool) -> Option<Family<'_>> {
    let Provider::Family(family) = &tool.provider else {
        return None;
    };
    Some(Family {
        name: family.family.as_str(),
        instance_arg: &family.instance_arg,
        members: family
            .members
            .iter()
            .map(|(server, member)| Member {
                server: server.as_str(),
                effect: member.classified.effect.word(),
            })
            .collect(),
    })
}

impl<'a> Entry<'a> {
    fn of(view: View<'a>, tool: &'a Tool) -> Self {
        let (server, kind) = match &tool.provider {
            Provider::Server(server) => (Some(server.as_str()), "tool"),
            Provider::Family(family) => (Some(family.family.as_str()), "tool"),
            Provider::Core(_) => (None, "core"),
            Provider::Workflow(_) => (None, "workflow"),
        };
        Self {
            name: tool.name.as_str(),
            title: tool.definition.title.as_deref(),
            server,
            labels: shared_labels(view, tool),
            kind,
            annotations: tool
                .definition
                .annotations
                .as_ref()
                .and_then(|_| annotations(tool.definition.raw())),
            effect: tool.classified.effect.word(),
            on_call: view.on_call(tool),
        }
    }
}

fn labels_of<'a>(view: View<'a>, server: &ServerName) -> Option<&'a BTreeMap<String, String>> {
    view.catalogue()
        .server(server.as_str())
        .map(|server| &server.entry.labels)
}

/// Whether one of the servers that run a tool carries all of some labels.
fn carries(view: View<'_>, tool: &Tool, wanted: &BTreeMap<String, String>) -> bool {
    let has_all = |labels: &BTreeMap<String, String>| wanted.iter().all(|(key, value)| labels.get(key) == Some(value));
    if let Provider::Workflow(workflow) = &tool.provider {
        return has_all(&workflow.draft().labels);
    }
    tool.servers()
        .any(|server| labels_of(view, server).is_some_and(has_all))
}

/// The labels that hold whichever server runs a tool.
fn shared_labels<'a>(view: View<'a>, tool: &'a Tool) -> BTreeMap<&'a str, &'a str> {
    let own = match &tool.provider {
        Provider::Workflow(workflow) => Some(&workflow.draft().labels),
        Provider::Server(_) | Provider::Family(_) | Provider::Core(_) => None,
    };
    let servers = tool.servers().filter_map(|server| labels_of(view, server));
    let mut servers = own.into_iter().chain(servers);
    let mut shared: BTreeMap<&str, &str> = servers
        .next()
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    for labels in servers {
        shared.retain(|key, value| labels.get(*key).is_some_and(|other| other == value));
    }
    shared
}

/// Text that is known to be JSON, to be written as it stands.
fn raw(json: &str) -> Option<&RawValue> {
    serde_json::from_str(json).ok()
}

/// `annotations` as published, with the members that the gateway does not know.
fn annotations(definition: &str) -> Option<&RawValue> {
    #[derive(Deserialize)]
    struct Published<'a> {
        #[serde(borrow)]
        annotations: Option<&'a RawValue>,
    }
    serde_json::from_str::<Published<'_>>(definition).ok()?.annotations
}

/// Four decimals tell scores apart and cost the model fewer tokens.
fn rounded(score: f64) -> f64 {
    (score * 10_000.0).round() / 10_000.0
}
