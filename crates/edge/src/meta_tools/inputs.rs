//! The input schemas of the meta-tools: what the strict reader takes, said to the model.

use serde_json::{Value, json};

use super::MetaTool;
use super::arguments::LIMITS;

/// The schema of a meta-tool's arguments.
pub(super) fn input(tool: MetaTool) -> Value {
    match tool {
        MetaTool::ListTools => object(&[], json!({"limit": limit(50), "offset": offset()})),
        MetaTool::FilterTools => object(&[], filter_tools()),
        MetaTool::DescribeTool => object(&["name"], json!({"name": text("The tool's name as listed.")})),
        MetaTool::ListCoreTools => object(&[], json!({"include_schema": include_schema(true)})),
        MetaTool::CallTool => object(
            &["name"],
            call(
                "tool",
                json!({
                    "type": "object", "default": {}, "description": "The tool's own arguments, by its inputSchema."
                }),
            ),
        ),
        MetaTool::ListResources | MetaTool::ListPrompts => {
            object(&[], json!({"server": server(), "limit": limit(50), "offset": offset()}))
        }
        MetaTool::FilterResources => object(
            &[],
            filter("URI or URI template", "file:///docs/*", "`*` and `?` stand for `/` too"),
        ),
        MetaTool::FilterPrompts => object(&[], filter("name", "x_github_*", NO_BORDER)),
        MetaTool::DescribeResource => object(&["uri"], read("The URI or URI template as listed.")),
        MetaTool::GetResource => object(&["uri"], read("The URI.")),
        MetaTool::DescribePrompt => object(&["name"], json!({"name": text("The prompt's name as listed.")})),
        MetaTool::GetPrompt => object(
            &["name"],
            call(
                "prompt",
                json!({
                    "type": "object",
                    "additionalProperties": {"type": "string"},
                    "default": {},
                    "description": "The prompt's arguments, all strings."
                }),
            ),
        ),
    }
}

fn filter_tools() -> Value {
    json!({
        "pattern": pattern("exposed name", "x_github_*", NO_BORDER),
        "description_filter": {"type": "string", "description": "Text that the description must contain."},
        "query": {"type": "string", "description": "What you want to do, in a few words; the best match stands first."},
        "labels": {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "description": "Labels that the tool's server must have, all with these values, such as {\"team\": \"infra\"}."
        },
        "case_sensitive": case_sensitive(),
        "include_schema": include_schema(false),
        "toolset": {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "maxItems": countersign_core::toolset::MOST,
            "description": "Shows only what these selectors select, within your own toolset: `preset:<name>`, `server:<name>`, `workflow:<name>`, `tool:<name>`."
        },
        "include_presets": {"type": "boolean", "default": false, "description": "Adds the presets that selectors may name."},
        "limit": limit(25),
        "offset": offset()
    })
}

/// How globs over names treat `/`.
const NO_BORDER: &str = "`*` and `?` do not cross `/`";

fn filter(what: &str, example: &str, border: &str) -> Value {
    json!({
        "pattern": pattern(what, example, border),
        "server": server(),
        "case_sensitive": case_sensitive(),
        "limit": limit(25),
        "offset": offset()
    })
}

fn read(uri: &str) -> Value {
    json!({
        "uri": text(uri),
        "server": {"type": "string", "description": "The server, where several publish that URI."}
    })
}

fn call(noun: &str, arguments: Value) -> Value {
    let mut properties = json!({"name": text(&format!("The {noun}'s name as listed."))});
    if let Some(members) = properties.as_object_mut() {
        members.insert("arguments".to_owned(), arguments);
    }
    properties
}

fn text(description: &str) -> Value {
    json!({"type": "string", "minLength": 1, "description": description})
}

fn include_schema(default: bool) -> Value {
    json!({"type": "boolean", "default": default, "description": "Adds each tool's inputSchema."})
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

fn pattern(what: &str, example: &str, border: &str) -> Value {
    json!({"type": "string", "description": format!("Glob over the whole {what}, such as `{example}`; {border}.")})
}

fn server() -> Value {
    json!({"type": "string", "description": "Only those of this server."})
}

fn case_sensitive() -> Value {
    json!({"type": "boolean", "default": false, "description": "Whether upper and lower case differ."})
}
