//! `list_prompts`, `filter_prompts`, `describe_prompt`.

use countersign_core::admit;
use countersign_core::catalogue::Prompt;
use countersign_core::exact::Exact;
use countersign_core::refusal::{Code, Kind};
use serde::Serialize;
use serde_json::value::RawValue;

use super::MetaTool;
use super::answer::{Failure, structured};
use super::arguments::{Flag, Reader};
use super::invocation;
use super::page::{Filters, Over, Page, summary};
use super::view::{Absent, View};

/// `list_prompts`
pub(super) fn list(view: &View<'_>, arguments: &Exact) -> Result<String, Failure> {
    let mut reader = Reader::of(MetaTool::ListPrompts, arguments);
    let window = reader.window(50);
    let server = reader.text("server");
    reader.finish()?;
    view.check_server(MetaTool::ListPrompts, server.as_deref())?;
    let filters = Filters {
        server,
        limit: Some(window.limit),
        offset: Some(window.offset),
        ..Filters::default()
    };
    let matches = view
        .world()
        .prompts()
        .filter(|prompt| filters.of_server(prompt.server.as_str()));
    answer(*view, &filters, Page::of(matches, window))
}

/// `filter_prompts`
pub(super) fn filter(view: &View<'_>, arguments: &Exact) -> Result<String, Failure> {
    let mut reader = Reader::of(MetaTool::FilterPrompts, arguments);
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
    view.check_server(MetaTool::FilterPrompts, filters.server.as_deref())?;
    let glob = filters.glob(Over::Names)?;
    let matches = view.world().prompts().filter(|prompt| {
        filters.of_server(prompt.server.as_str())
            && glob
                .as_ref()
                .is_none_or(|glob| glob.matches(&filters.fold(prompt.name.as_str())))
    });
    answer(*view, &filters, Page::of(matches, window))
}

/// `describe_prompt`
pub(super) fn describe(view: &View<'_>, arguments: &Exact) -> Result<String, Failure> {
    let mut reader = Reader::of(MetaTool::DescribePrompt, arguments);
    let name = reader.needed("name");
    reader.finish()?;
    let Some(prompt) = view.catalogue().prompt(&name) else {
        let mut refusal = admit::missing_prompt(view.catalogue(), &name);
        if refusal.code == Code::PromptNotFound {
            refusal.sentence.push_str(" (list_prompts shows what there is)");
        }
        return Err(Failure::from(refusal));
    };
    if let Some(refusal) = view
        .world()
        .refuse_of_server(prompt.server.as_str(), Kind::Prompt, &name)
    {
        return Err(Failure::from(refusal));
    }
    let invocation = invocation::of_prompt(prompt.name.as_str(), prompt.definition.arguments.as_deref());
    let description = Description {
        entry: Entry::of(prompt),
        description: &prompt.definition.description,
        original_name: prompt.definition.name.as_str(),
        definition: serde_json::from_str(&prompt.rendered).ok(),
        invocation: serde_json::from_str(&invocation).ok(),
    };
    structured(&description)
}

#[derive(Debug, Serialize)]
struct Answer<'a> {
    filters: &'a Filters,
    total_prompts: usize,
    total: usize,
    truncated: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    servers_unavailable: Vec<Absent<'a>>,
    prompts: Vec<Listed<'a>>,
}

fn answer(view: View<'_>, filters: &Filters, page: Page<&Prompt>) -> Result<String, Failure> {
    let listed = page.shown.into_iter().map(|prompt| Listed {
        entry: Entry::of(prompt),
        summary: summary(&prompt.definition.description),
    });
    structured(&Answer {
        filters,
        total_prompts: view.world().prompts().count(),
        total: page.total,
        truncated: page.truncated,
        servers_unavailable: view.absent(),
        prompts: listed.collect(),
    })
}

#[derive(Debug, Serialize)]
struct Entry<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    server: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a RawValue>,
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
    original_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    definition: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    invocation: Option<&'a RawValue>,
}

impl<'a> Entry<'a> {
    fn of(prompt: &'a Prompt) -> Self {
        Self {
            name: prompt.name.as_str(),
            title: prompt.definition.title.as_deref(),
            server: prompt.server.as_str(),
            arguments: prompt
                .definition
                .arguments
                .as_deref()
                .and_then(|raw| serde_json::from_str(raw).ok()),
        }
    }
}
