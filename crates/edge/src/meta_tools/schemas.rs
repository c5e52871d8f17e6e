//! The output schemas of the meta-tools: what their structured answers look like.

use serde_json::{Value, json};

use super::MetaTool;

/// The schema of a meta-tool's structured answer.
///
/// `call_tool` has none: its result is the tool's own, and a client holds a tool that has an output schema to
/// structured content, which most tools do not give.
pub(super) fn output(tool: MetaTool) -> Option<Value> {
    let answer = match tool {
        MetaTool::ListTools | MetaTool::FilterTools | MetaTool::ListCoreTools => page_of_tools(tool),
        MetaTool::DescribeTool => described_tool(),
        MetaTool::CallTool => return None,
        MetaTool::ListResources | MetaTool::FilterResources => page("resources", &listed_resource()),
        MetaTool::DescribeResource => described_resource(),
        MetaTool::GetResource => contents(),
        MetaTool::ListPrompts | MetaTool::FilterPrompts => page("prompts", &listed_prompt()),
        MetaTool::DescribePrompt => described_prompt(),
        MetaTool::GetPrompt => messages(),
    };
    Some(or_error(answer))
}

/// The schema of an answer, widened to that of an error: some clients hold the structured content
/// of errors to the output schema too, and would show their own complaint in place of ours.
fn or_error(mut answer: Value) -> Value {
    let Some(members) = answer.as_object_mut() else {
        return answer;
    };
    let conditions = ["required", "oneOf"]
        .into_iter()
        .filter_map(|name| members.remove_entry(name))
        .collect();
    let error = json!({"required": ["code", "message"]});
    members.insert("anyOf".to_owned(), json!([Value::Object(conditions), error]));
    if let Some(properties) = members.get_mut("properties") {
        let error = json!({
            "code": {"type": "string", "description": "Of an error: its stable code."},
            "message": {"type": "string", "description": "Of an error: what is wrong."}
        });
        join(properties, error);
    }
    answer
}

fn page(noun: &str, entry: &Value) -> Value {
    let count = format!("total_{noun}");
    json!({
        "type": "object",
        "required": ["filters", count, "total", "truncated", noun],
        "properties": {
            "filters": {"type": "object", "description": "The arguments in force."},
            count: {"type": "integer", "minimum": 0, "description": "How many there are in all."},
            "total": {"type": "integer", "minimum": 0, "description": "How many match."},
            "truncated": {"type": "boolean", "description": "Whether more match than are shown up to here."},
            "servers_unavailable": {
                "type": "array",
                "description": "Servers that are not connected: what they offer may be missing here, and calls of it may fail.",
                "items": {
                    "type": "object",
                    "required": ["server", "state", "reason"],
                    "properties": {
                        "server": {"type": "string"},
                        "state": {"enum": ["unlisted", "unavailable", "suspended", "stopped", "auth_required"]},
                        "reason": {"type": "string"}
                    }
                }
            },
            noun: {"type": "array", "items": entry}
        }
    })
}

/// A page of tools, with what is said of the toolset that it is within.
fn page_of_tools(tool: MetaTool) -> Value {
    let mut page = page("tools", &listed_tool());
    let Some(properties) = page.get_mut("properties") else {
        return page;
    };
    let selectors = |what: &str| json!({"type": "array", "items": {"type": "string"}, "description": what});
    join(
        properties,
        json!({
            "toolset": selectors("The selectors that this list is within; without them it is not narrowed."),
            "toolset_unmatched": selectors("Those of them that select nothing now."),
            "toolset_requiring_auth": {
                "type": "array",
                "description": "Servers that wait for your sign-in and of which the toolset could select a tool then.",
                "items": waiting(&[])
            },
            "note": {"type": "string", "description": "Why nothing is shown."}
        }),
    );
    if matches!(tool, MetaTool::ListTools | MetaTool::FilterTools) {
        join(
            properties,
            json!({
                "servers_requiring_auth": {
                    "type": "array",
                    "description": "Servers that wait for your sign-in, whatever the toolset is.",
                    "items": waiting(&["status"])
                }
            }),
        );
    }
    if tool == MetaTool::FilterTools {
        join(
            properties,
            json!({
                "toolset_bound": selectors("The selectors that your session is bound to."),
                "presets": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["name", "description", "built_in"],
                        "properties": {
                            "name": {"type": "string"},
                            "description": {"type": "string"},
                            "built_in": {"type": "boolean"}
                        }
                    }
                }
            }),
        );
    }
    page
}

/// A server that waits for a sign-in.
fn waiting(more: &[&str]) -> Value {
    let mut required = vec!["name", "auth_tool", "tool_prefix"];
    required.extend(more);
    json!({
        "type": "object",
        "required": required,
        "properties": {
            "name": {"type": "string"},
            "status": {"enum": ["auth_required"]},
            "auth_tool": {"type": "string", "description": "The tool that gives the link to sign in with."},
            "tool_prefix": {"type": "string", "description": "What the names of its tools will begin with."},
            "family": {"type": "string", "description": "The family that it belongs to."}
        }
    })
}

fn listed_tool() -> Value {
    tool(
        "summary",
        &[],
        json!({
            "summary": {"type": "string", "description": "The first line of the description."},
            "score": {"type": "number", "description": "How well it matches `query`."},
            "inputSchema": {"type": "object"}
        }),
    )
}

fn described_tool() -> Value {
    tool(
        "description",
        &["inputSchema", "original_name", "invocation"],
        json!({
            "description": {"type": "string"},
            "inputSchema": {"type": "object"},
            "outputSchema": {"type": ["object", "boolean"]},
            "original_name": {"type": "string", "description": "The name that the server gave it."},
            "family": {
                "type": "object",
                "description": "Servers that offer the same tool; `instance_arg` names the argument that says which one runs a call.",
                "required": ["name", "instance_arg", "members"],
                "properties": {
                    "name": {"type": "string"},
                    "instance_arg": {"type": "string"},
                    "members": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["server", "effect"],
                            "properties": {"server": {"type": "string"}, "effect": {"type": "string"}}
                        }
                    }
                }
            },
            "invocation": invocation()
        }),
    )
}

/// A tool's entry: the members of every form, and those of one.
fn tool(text: &str, required: &[&str], mut properties: Value) -> Value {
    let common = json!({
        "name": {"type": "string"},
        "title": {"type": "string"},
        "server": {"type": "string"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Labels of its server."},
        "kind": {"enum": ["tool", "workflow", "core"]},
        "annotations": {"type": "object", "description": "Hints of the server, not verified."},
        "effect": {"enum": ["read_only", "mutating", "spawning"], "description": "What a call may do to the world."},
        "on_call": {
            "enum": ["runs", "asks", "needs_grant"],
            "description": "What a call does: runs at once, asks a person first, or needs a grant."
        }
    });
    join(&mut properties, common);
    let mut all = vec!["name", text, "kind", "effect", "on_call"];
    all.extend(required);
    json!({"type": "object", "required": all, "properties": properties})
}

fn listed_resource() -> Value {
    resource(
        &["summary"],
        json!({"summary": {"type": "string", "description": "The first line of the description."}}),
    )
}

fn described_resource() -> Value {
    resource(
        &["description", "definition", "invocation"],
        json!({
            "description": {"type": "string"},
            "definition": {"type": "object", "description": "As the server publishes it."},
            "invocation": invocation()
        }),
    )
}

fn resource(required: &[&str], mut properties: Value) -> Value {
    let common = json!({
        "uri": {"type": "string"},
        "uri_template": {"type": "string", "description": "A template: fill its variables in to get a URI."},
        "name": {"type": "string"},
        "title": {"type": "string"},
        "server": {"type": "string"},
        "mime_type": {"type": "string"}
    });
    join(&mut properties, common);
    let mut all = vec!["name", "server"];
    all.extend(required);
    json!({
        "type": "object",
        "required": all,
        "oneOf": [{"required": ["uri"]}, {"required": ["uri_template"]}],
        "properties": properties
    })
}

fn contents() -> Value {
    json!({
        "type": "object",
        "required": ["contents"],
        "properties": {
            "contents": {
                "type": "array",
                "description": "As the server gave them: `text`, or `blob` in base64.",
                "items": {"type": "object"}
            }
        }
    })
}

fn listed_prompt() -> Value {
    prompt(
        &["summary"],
        json!({"summary": {"type": "string", "description": "The first line of the description."}}),
    )
}

fn described_prompt() -> Value {
    prompt(
        &["description", "original_name", "definition", "invocation"],
        json!({
            "description": {"type": "string"},
            "original_name": {"type": "string", "description": "The name that the server gave it."},
            "definition": {"type": "object", "description": "As the server publishes it, under its exposed name."},
            "invocation": invocation()
        }),
    )
}

fn prompt(required: &[&str], mut properties: Value) -> Value {
    let common = json!({
        "name": {"type": "string"},
        "title": {"type": "string"},
        "server": {"type": "string"},
        "arguments": {"type": "array", "items": {"type": "object"}}
    });
    join(&mut properties, common);
    let mut all = vec!["name", "server"];
    all.extend(required);
    json!({"type": "object", "required": all, "properties": properties})
}

fn messages() -> Value {
    json!({
        "type": "object",
        "required": ["messages"],
        "properties": {
            "description": {"type": "string"},
            "messages": {"type": "array", "description": "As the server gave them.", "items": {"type": "object"}}
        }
    })
}

fn invocation() -> Value {
    json!({
        "type": "object",
        "description": "An example: the meta-tool to call, and its arguments with a place for each required one.",
        "required": ["tool", "arguments"],
        "properties": {"tool": {"type": "string"}, "arguments": {"type": "object"}}
    })
}

fn join(properties: &mut Value, more: Value) {
    if let (Some(properties), Value::Object(more)) = (properties.as_object_mut(), more) {
        properties.extend(more);
    }
}
