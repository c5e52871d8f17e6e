//! The published definitions of the meta-tools: texts for a model, and hints.

use serde_json::{Value, json};

use super::MetaTool;
use super::{inputs, schemas};

/// All definitions as one JSON array.
pub(super) fn render() -> String {
    Value::Array(MetaTool::ALL.iter().map(|tool| definition(*tool)).collect()).to_string()
}

fn definition(tool: MetaTool) -> Value {
    let text = text(tool);
    let mut definition = json!({
        "name": tool.name(),
        "title": text.title,
        "description": text.description,
        "inputSchema": inputs::input(tool),
        "annotations": hints(tool),
    });
    if let (Some(schema), Some(members)) = (schemas::output(tool), definition.as_object_mut()) {
        members.insert("outputSchema".to_owned(), schema);
    }
    definition
}

struct Text {
    title: &'static str,
    description: &'static str,
}

fn text(tool: MetaTool) -> Text {
    let (title, description) = match tool {
        MetaTool::ListTools => (
            "List tools",
            "Lists the tools that you can run with call_tool: name, one-line summary, and what a call may do. Use it for an overview; when there are many (see total_tools), filter_tools finds the right one faster.",
        ),
        MetaTool::FilterTools => (
            "Find tools",
            "Finds tools. Describe the task in `query` to get the best matches first, or narrow by name (`pattern`), description or server labels; all filters given must hold. Then read the parameters with describe_tool and run the tool with call_tool.",
        ),
        MetaTool::DescribeTool => (
            "Describe a tool",
            "Gives one tool's full description, its input and output schema, and an example invocation. Use it before the first call of a tool.",
        ),
        MetaTool::ListCoreTools => (
            "List the gateway's own tools",
            "Lists the gateway's own tools (core_*): the servers behind it and their state, its configuration and events. Run them with call_tool.",
        ),
        MetaTool::CallTool => (
            "Call a tool",
            "Runs a tool by the name that list_tools or filter_tools gave, and returns its own result. Look its parameters up with describe_tool first.",
        ),
        MetaTool::ListResources => (
            "List resources",
            "Lists resources (documents and data) and resource templates of all servers. Read one with get_resource.",
        ),
        MetaTool::FilterResources => (
            "Find resources",
            "Finds resources and resource templates by URI and server. Read one with get_resource.",
        ),
        MetaTool::DescribeResource => (
            "Describe a resource",
            "Gives all that is published about one listed resource or resource template, without reading it.",
        ),
        MetaTool::GetResource => (
            "Read a resource",
            "Reads a resource by its URI and returns its contents, text and binary. Fill a template's variables in first.",
        ),
        MetaTool::ListPrompts => (
            "List prompts",
            "Lists the prompts of all servers, with their arguments. Get one with get_prompt.",
        ),
        MetaTool::FilterPrompts => (
            "Find prompts",
            "Finds prompts by name and server. Get one with get_prompt.",
        ),
        MetaTool::DescribePrompt => (
            "Describe a prompt",
            "Gives one prompt's full description, its arguments and an example invocation.",
        ),
        MetaTool::GetPrompt => (
            "Get a prompt",
            "Fills a prompt with arguments and returns its messages, every kind of content as the server gave it.",
        ),
    };
    Text { title, description }
}

fn hints(tool: MetaTool) -> Value {
    match tool {
        // It may run any tool, so it bears the hints of the worst one.
        MetaTool::CallTool => {
            json!({"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true})
        }
        MetaTool::GetResource | MetaTool::GetPrompt => {
            json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": true})
        }
        MetaTool::ListTools
        | MetaTool::FilterTools
        | MetaTool::DescribeTool
        | MetaTool::ListCoreTools
        | MetaTool::ListResources
        | MetaTool::FilterResources
        | MetaTool::DescribeResource
        | MetaTool::ListPrompts
        | MetaTool::FilterPrompts
        | MetaTool::DescribePrompt => {
            json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false})
        }
    }
}
