//! The published definitions of the meta-tools: texts for a model, input schemas, hints.

use serde_json::{Value, json};

use super::MetaTool;
use super::arguments::LIMITS;
use super::schemas;

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
        "inputSchema": input(tool),
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

fn input(tool: MetaTool) -> Value {
    match tool {
        MetaTool::ListTools => object(&[], json!({"limit": limit(50), "offset": offset()})),
        MetaTool::FilterTools => object(
            &[],
            json!({
                "pattern": pattern("exposed name", "x_github_*"),
                "description_filter": {"type": "string", "description": "Text that the description must contain."},
                "query": {"type": "string", "description": "What you want to do, in a few words; ranked by relevance."},
                "labels": {
                    "type": "object",
                    "additionalProperties": {"type": "string"},
                    "description": "Labels that the tool's server must have, all with these values, such as {\"team\": \"infra\"}."
                },
                "case_sensitive": case_sensitive(),
                "include_schema": {"type": "boolean", "default": false, "description": "Adds each tool's inputSchema."},
                "limit": limit(25),
                "offset": offset()
            }),
        ),
        MetaTool::DescribeTool => object(
            &["name"],
            json!({
                "name": {"type": "string", "minLength": 1, "description": "The tool's name as listed."}
            }),
        ),
        MetaTool::ListCoreTools => object(
            &[],
            json!({
                "include_schema": {"type": "boolean", "default": true, "description": "Adds each tool's inputSchema."}
            }),
        ),
        MetaTool::CallTool => object(
            &["name"],
            json!({
                "name": {"type": "string", "minLength": 1, "description": "The tool's name as listed."},
                "arguments": {"type": "object", "default": {}, "description": "The tool's own arguments, by its inputSchema."}
            }),
        ),
        MetaTool::ListResources | MetaTool::ListPrompts => {
            object(&[], json!({"server": server(), "limit": limit(50), "offset": offset()}))
        }
        MetaTool::FilterResources => object(
            &[],
            json!({
                "pattern": pattern("URI or URI template", "file:///docs/*"),
                "server": server(),
                "case_sensitive": case_sensitive(),
                "limit": limit(25),
                "offset": offset()
            }),
        ),
        MetaTool::FilterPrompts => object(
            &[],
            json!({
                "pattern": pattern("name", "x_github_*"),
                "server": server(),
                "case_sensitive": case_sensitive(),
                "limit": limit(25),
                "offset": offset()
            }),
        ),
        MetaTool::DescribeResource => object(
            &["uri"],
            json!({
                "uri": {"type": "string", "minLength": 1, "description": "The URI or URI template as listed."},
                "server": {"type": "string", "description": "The server, where several publish that URI."}
            }),
        ),
        MetaTool::GetResource => object(
            &["uri"],
            json!({
                "uri": {"type": "string", "minLength": 1, "description": "The URI."},
                "server": {"type": "string", "description": "The server, where several publish that URI."}
            }),
        ),
        MetaTool::DescribePrompt => object(
            &["name"],
            json!({
                "name": {"type": "string", "minLength": 1, "description": "The prompt's name as listed."}
            }),
        ),
        MetaTool::GetPrompt => object(
            &["name"],
            json!({
                "name": {"type": "string", "minLength": 1, "description": "The prompt's name as listed."},
                "arguments": {
                    "type": "object",
                    "additionalProperties": {"type": "string"},
                    "default": {},
                    "description": "The prompt's arguments, all strings."
                }
            }),
        ),
    }
}

fn object(required: &[&str], properties: Value) -> Value {
    let mut schema = json!({"type": "object", "additionalProperties": false});
    if let Some(members) = schema.as_object_mut() {
        members.insert("properties".to_owned(), properties);
        if !required.is_empty() {
            members.insert("required".to_owned(), json!(required));
        }
    }
    schema
}

fn limit(default: usize) -> Value {
    let (least, most) = (LIMITS.start(), LIMITS.end());
    json!({"type": "integer", "minimum": least, "maximum": most, "default": default, "description": "How many to show at most."})
}

fn offset() -> Value {
    json!({"type": "integer", "minimum": 0, "default": 0, "description": "How many to pass over; the next page of a truncated list begins at offset + limit."})
}

fn pattern(what: &str, example: &str) -> Value {
    json!({"type": "string", "description": format!("Glob over the whole {what}, such as `{example}`; `*` and `?` do not cross `/`.")})
}

fn server() -> Value {
    json!({"type": "string", "description": "Only those of this server."})
}

fn case_sensitive() -> Value {
    json!({"type": "boolean", "default": false, "description": "Whether upper and lower case differ."})
}
