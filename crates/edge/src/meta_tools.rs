//! The meta-tools of the `meta` surface: their names, and which function answers each (spec 2.5).

mod answer;
mod arguments;
mod definitions;
mod forward;
mod inputs;
mod invocation;
mod page;
mod prompts;
mod resources;
mod schemas;
mod tools;
mod view;
mod within;

use std::sync::LazyLock;

use countersign_core::admit::World;
use countersign_core::exact::Exact;
use countersign_core::principal::Caller;
use countersign_core::refusal::Refusal;
use countersign_core::toolset::{Origin, Selectors};
use countersign_engine::{Engine, Outcome, Passage};
use serde::Deserialize;

use crate::toolsets;
use answer::Failure;
use view::View;

/// One meta-tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MetaTool {
    /// `list_tools`
    ListTools,
    /// `filter_tools`
    FilterTools,
    /// `describe_tool`
    DescribeTool,
    /// `list_core_tools`
    ListCoreTools,
    /// `call_tool`
    CallTool,
    /// `list_resources`
    ListResources,
    /// `filter_resources`
    FilterResources,
    /// `describe_resource`
    DescribeResource,
    /// `get_resource`
    GetResource,
    /// `list_prompts`
    ListPrompts,
    /// `filter_prompts`
    FilterPrompts,
    /// `describe_prompt`
    DescribePrompt,
    /// `get_prompt`
    GetPrompt,
}

/// What a meta-tool answers.
#[derive(Debug)]
pub(crate) enum MetaAnswer {
    /// The gateway's own answer: a `CallToolResult` as raw JSON.
    Own(String),
    /// The call was refused; `result` says so.
    Refused {
        /// The refusal.
        refusal: Refusal,
        /// A `CallToolResult` as raw JSON.
        result: String,
    },
    /// What the target answered, to be shown as the outcome of a direct call is.
    Passed(Outcome),
}

/// The meta-tool of that name.
pub(crate) fn find(name: &str) -> Option<MetaTool> {
    MetaTool::ALL.iter().copied().find(|tool| tool.name() == name)
}

/// All that a refusal says, as one JSON object.
pub(crate) fn said(refusal: Refusal) -> String {
    answer::structured(&Failure::from(refusal)).unwrap_or_else(|_| "{}".to_owned())
}

/// The definitions of all meta-tools as one JSON array, for `tools/list` on the `meta` surface.
pub(crate) fn rendered() -> &'static str {
    static RENDERED: LazyLock<String> = LazyLock::new(definitions::render);
    &RENDERED
}

/// Runs a meta-tool for one caller.
pub(crate) async fn run(
    tool: MetaTool,
    engine: &Engine,
    caller: &Caller,
    arguments: Exact,
    passage: Passage,
) -> MetaAnswer {
    match tool.way() {
        Way::Read(read) => {
            let narrowed = narrowed_by(tool, caller, &arguments);
            let caller = narrowed.as_ref().unwrap_or(caller);
            // Right after the start this waits for the servers' first lists, so it can be taken back.
            let Some(world) = passage.cancel.run_until_cancelled(engine.listing_world(caller)).await else {
                return MetaAnswer::Passed(Outcome::Cancelled);
            };
            if matches!(tool, MetaTool::ListTools | MetaTool::FilterTools) {
                toolsets::note_empty(engine, caller, &world, tool.name());
            }
            let Some(answer) = answer_of(read, world, arguments).await else {
                return MetaAnswer::Passed(Outcome::Cancelled);
            };
            MetaAnswer::Own(answer.map_or_else(|failure| failure.render(), |structured| answer::own(&structured)))
        }
        Way::Call => forward::call_tool(engine, caller, &arguments, passage).await,
        Way::Resource => forward::resource(engine, caller, &arguments, passage).await,
        Way::Prompt => forward::prompt(engine, caller, &arguments, passage).await,
    }
}

/// What reads a snapshot and gives the structured answer as JSON.
type Read = fn(&View<'_>, &Exact) -> Result<String, Failure>;

/// A snapshot with more tools than this is read beside the loop that serves connections: ranking
/// thousands of tools takes milliseconds, which every other call of that loop would wait for.
const LONG: usize = 500;

/// `None` when the gateway ends meanwhile.
async fn answer_of(read: Read, world: World, arguments: Exact) -> Option<Result<String, Failure>> {
    if world.catalogue.tools().len() <= LONG {
        return Some(within_toolset(read, &world, &arguments));
    }
    let reading = tokio::task::spawn_blocking(move || within_toolset(read, &world, &arguments));
    match reading.await {
        Ok(answer) => Some(answer),
        Err(ended) => match ended.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_cancelled) => None,
        },
    }
}

/// A toolset that cannot be used is an answer of every meta-tool, and never a look at more.
fn within_toolset(read: Read, world: &World, arguments: &Exact) -> Result<String, Failure> {
    match world.refused() {
        Some(error) => Err(Failure::of_toolset(error)),
        None => read(&View::of(world), arguments),
    }
}

/// The caller within the toolset that the arguments name. What is no list of texts is named by the tool itself.
fn narrowed_by(tool: MetaTool, caller: &Caller, arguments: &Exact) -> Option<Caller> {
    #[derive(Deserialize)]
    struct Narrowing {
        toolset: Option<Vec<String>>,
    }
    if tool != MetaTool::FilterTools {
        return None;
    }
    let narrowing: Narrowing = serde_json::from_str(arguments.as_str()).ok()?;
    let declared = Selectors::parse_list(&narrowing.toolset?);
    let mut narrowed = caller.clone();
    narrowed.toolset = narrowed.toolset.narrowed(Origin::Argument, declared);
    Some(narrowed)
}

/// The answer of a meta-tool that reads the snapshot alone.
pub(crate) fn read(tool: MetaTool, world: &World, arguments: &Exact) -> Option<String> {
    match tool.way() {
        Way::Read(read) => within_toolset(read, world, arguments)
            .ok()
            .map(|structured| answer::own(&structured)),
        Way::Call | Way::Resource | Way::Prompt => None,
    }
}

/// How a meta-tool comes to its answer.
enum Way {
    /// From the snapshot alone; gives the structured answer as JSON.
    Read(Read),
    /// By calling a tool.
    Call,
    /// By reading a resource.
    Resource,
    /// By getting a prompt.
    Prompt,
}

impl MetaTool {
    /// Every meta-tool, in listing order.
    const ALL: &[Self] = &[
        Self::ListTools,
        Self::FilterTools,
        Self::DescribeTool,
        Self::ListCoreTools,
        Self::CallTool,
        Self::ListResources,
        Self::FilterResources,
        Self::DescribeResource,
        Self::GetResource,
        Self::ListPrompts,
        Self::FilterPrompts,
        Self::DescribePrompt,
        Self::GetPrompt,
    ];

    /// The name that it is called by.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ListTools => "list_tools",
            Self::FilterTools => "filter_tools",
            Self::DescribeTool => "describe_tool",
            Self::ListCoreTools => "list_core_tools",
            Self::CallTool => "call_tool",
            Self::ListResources => "list_resources",
            Self::FilterResources => "filter_resources",
            Self::DescribeResource => "describe_resource",
            Self::GetResource => "get_resource",
            Self::ListPrompts => "list_prompts",
            Self::FilterPrompts => "filter_prompts",
            Self::DescribePrompt => "describe_prompt",
            Self::GetPrompt => "get_prompt",
        }
    }

    /// The arguments that it takes; all others are errors.
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::ListTools => &["limit", "offset"],
            Self::FilterTools => &[
                "pattern",
                "description_filter",
                "query",
                "labels",
                "case_sensitive",
                "include_schema",
                "toolset",
                "include_presets",
                "limit",
                "offset",
            ],
            Self::DescribeTool | Self::DescribePrompt => &["name"],
            Self::ListCoreTools => &["include_schema"],
            Self::CallTool | Self::GetPrompt => &["name", "arguments"],
            Self::ListResources | Self::ListPrompts => &["server", "limit", "offset"],
            Self::FilterResources | Self::FilterPrompts => &["pattern", "server", "case_sensitive", "limit", "offset"],
            Self::DescribeResource | Self::GetResource => &["uri", "server"],
        }
    }

    fn way(self) -> Way {
        match self {
            Self::ListTools => Way::Read(tools::list),
            Self::FilterTools => Way::Read(tools::filter),
            Self::DescribeTool => Way::Read(tools::describe),
            Self::ListCoreTools => Way::Read(tools::list_core),
            Self::CallTool => Way::Call,
            Self::ListResources => Way::Read(resources::list),
            Self::FilterResources => Way::Read(resources::filter),
            Self::DescribeResource => Way::Read(resources::describe),
            Self::GetResource => Way::Resource,
            Self::ListPrompts => Way::Read(prompts::list),
            Self::FilterPrompts => Way::Read(prompts::filter),
            Self::DescribePrompt => Way::Read(prompts::describe),
            Self::GetPrompt => Way::Prompt,
        }
    }
}

#[cfg(test)]
mod tests;
