//! Tools and their results for people.

use countersign_wire::object::Object;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::out::{harmless, line, plural, table};

/// The longest description in a list, in characters.
const SUMMARY: usize = 80;

/// A member that is text.
pub(super) fn text_of(json: &str, name: &str) -> Option<String> {
    Object::parse(json).ok()?.text(name).map(|text| text.into_owned())
}

/// One row a tool.
pub(super) fn list(tools: &[Box<RawValue>]) -> String {
    let rows: Vec<Vec<String>> = tools
        .iter()
        .map(|tool| {
            let name = text_of(tool.get(), "name").unwrap_or_default();
            let description = text_of(tool.get(), "description").unwrap_or_default();
            vec![
                one_line(&name),
                hint(tool.get()).to_owned(),
                shortened(&one_line(&description)),
            ]
        })
        .collect();
    if rows.is_empty() {
        return "no tools; the gateway's log and /ready say how its servers stand\n".to_owned();
    }
    table(&["NAME", "HINT", "DESCRIPTION"], &rows)
}

/// One tool with its arguments.
pub(super) fn describe(tool: &str) -> String {
    let mut text = harmless(&text_of(tool, "name").unwrap_or_default());
    if let Some(title) = text_of(tool, "title") {
        text.push_str(&format!("  ({})", one_line(&title)));
    }
    text.push_str(&format!("\nHint of its server: {}\n", hint(tool)));
    if let Some(description) = text_of(tool, "description") {
        text.push_str(&format!("\n{}\n", harmless(description.trim())));
    }
    let definition: Value = serde_json::from_str(tool).unwrap_or_default();
    let required: Vec<&str> = definition
        .pointer("/inputSchema/required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let rows: Vec<Vec<String>> = definition
        .pointer("/inputSchema/properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, schema)| {
            let kind = schema
                .get("type")
                .map(|kind| kind.as_str().map_or_else(|| kind.to_string(), str::to_owned))
                .unwrap_or_default();
            let needed = if required.contains(&name.as_str()) {
                "required"
            } else {
                ""
            };
            let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
            vec![
                one_line(name),
                one_line(&kind),
                needed.to_owned(),
                one_line(description),
            ]
        })
        .collect();
    text.push('\n');
    if rows.is_empty() {
        text.push_str("It takes no arguments that its schema names.\n");
    } else {
        text.push_str(&table(&["ARGUMENT", "TYPE", "", "DESCRIPTION"], &rows));
    }
    text
}

/// What a call gave: texts as they are, the rest named.
pub(super) fn result(result: &str) -> String {
    let Ok(result) = Object::parse(result) else {
        return line(harmless(result));
    };
    let content: Vec<&RawValue> = result
        .get("content")
        .and_then(|content| serde_json::from_str(content.get()).ok())
        .unwrap_or_default();
    let mut text = String::new();
    for block in &content {
        text.push_str(&line(harmless(&shown(block.get()))));
    }
    if content.is_empty() {
        match result.get("structuredContent") {
            Some(value) => text.push_str(&line(harmless(value.get()))),
            None => text.push_str("the tool answered without content\n"),
        }
    }
    text
}

fn shown(block: &str) -> String {
    let Ok(object) = Object::parse(block) else {
        return block.to_owned();
    };
    let text = |name: &str| object.text(name).map(|text| text.into_owned());
    match text("type").as_deref() {
        Some("text") => text("text").unwrap_or_default(),
        Some(kind @ ("image" | "audio")) => binary(kind, text("mimeType").as_deref(), text("data").as_deref()),
        Some("resource_link") => format!("[resource {}]", text("uri").unwrap_or_default()),
        Some("resource") => {
            let inner = object.get("resource").map_or("{}", RawValue::get);
            let uri = text_of(inner, "uri").unwrap_or_default();
            match (text_of(inner, "text"), text_of(inner, "blob")) {
                (Some(text), _) => format!("[resource {uri}]\n{text}"),
                (None, blob) => binary(
                    &format!("resource {uri}"),
                    text_of(inner, "mimeType").as_deref(),
                    blob.as_deref(),
                ),
            }
        }
        Some(_) | None => block.to_owned(),
    }
}

/// Bytes do not belong on a terminal; `--output json` has them.
fn binary(what: &str, mime: Option<&str>, base64: Option<&str>) -> String {
    let data = base64.unwrap_or_default();
    let padding = data.bytes().rev().take_while(|byte| *byte == b'=').count();
    let bytes = (data.len() / 4).saturating_mul(3).saturating_sub(padding);
    format!(
        "[{what}, {}, {}; --output json has it]",
        mime.unwrap_or("type unknown"),
        plural(bytes, "byte")
    )
}

/// What the server says of its tool; the gateway's own word is the `effect` of the meta-tools.
fn hint(tool: &str) -> &'static str {
    let annotations = Object::parse(tool)
        .ok()
        .and_then(|tool| tool.get("annotations").map(RawValue::get));
    let read_only = annotations
        .and_then(|text| Object::parse(text).ok())
        .and_then(|hints| hints.get("readOnlyHint").map(RawValue::get));
    match read_only {
        Some("true") => "reads",
        Some("false") => "writes",
        Some(_) | None => "-",
    }
}

fn one_line(text: &str) -> String {
    harmless(text.lines().next().unwrap_or_default()).replace('\t', " ")
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= SUMMARY {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(SUMMARY.saturating_sub(1)).collect();
    short.push('…');
    short
}
