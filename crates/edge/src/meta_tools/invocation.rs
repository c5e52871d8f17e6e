//! Example invocations: what to call, with a place for every required argument.

use std::borrow::Cow;

use countersign_wire::object::{Object, quote};
use serde::Deserialize;
use serde_json::value::RawValue;

/// How a tool is called, with a place for every required parameter of its schema.
pub(super) fn of_tool(name: &str, schema: &str) -> String {
    invocation("call_tool", name, &of_schema(schema))
}

/// How a prompt is got, with a place for every required argument; `arguments` as published.
pub(super) fn of_prompt(name: &str, arguments: Option<&str>) -> String {
    #[derive(Deserialize)]
    struct Argument<'a> {
        #[serde(borrow)]
        name: Cow<'a, str>,
        #[serde(default)]
        required: bool,
    }
    let arguments: Vec<Argument<'_>> = arguments
        .and_then(|raw| serde_json::from_str(raw).ok())
        .unwrap_or_default();
    let places = arguments
        .iter()
        .filter(|argument| argument.required)
        .map(|argument| (&*argument.name, place(&argument.name)));
    invocation("get_prompt", name, &object(places))
}

/// How a resource is read.
pub(super) fn of_resource(uri: &str, server: &str) -> String {
    format!(
        r#"{{"tool":"get_resource","arguments":{{"uri":{},"server":{}}}}}"#,
        quote(uri),
        quote(server)
    )
}

fn invocation(tool: &str, name: &str, arguments: &str) -> String {
    format!(
        r#"{{"tool":"{tool}","arguments":{{"name":{},"arguments":{arguments}}}}}"#,
        quote(name)
    )
}

/// An object with a value for every required property; a schema that cannot be read gives `{}`.
fn of_schema(schema: &str) -> String {
    let Ok(schema) = Object::parse(schema) else {
        return "{}".to_owned();
    };
    let read = |name| schema.get(name).map(RawValue::get);
    let required: Vec<String> = read("required")
        .and_then(|raw| serde_json::from_str(raw).ok())
        .unwrap_or_default();
    let properties = read("properties")
        .and_then(|raw| Object::parse(raw).ok())
        .unwrap_or_default();
    let values = required
        .iter()
        .map(|name| (name.as_str(), value(name, properties.get(name).map(RawValue::get))));
    object(values)
}

fn object<'a>(members: impl Iterator<Item = (&'a str, String)>) -> String {
    let members: Vec<String> = members
        .map(|(name, value)| format!("{}:{value}", quote(name)))
        .collect();
    format!("{{{}}}", members.join(","))
}

/// A value that the schema names itself, as written, else a place of the right type.
fn value(name: &str, schema: Option<&str>) -> String {
    let Some(schema) = schema.and_then(|raw| Object::parse(raw).ok()) else {
        return place(name);
    };
    if let Some(named) = schema.get("default").or_else(|| schema.get("const")) {
        return named.get().to_owned();
    }
    for list in ["examples", "enum"] {
        let values = schema
            .get(list)
            .and_then(|raw| serde_json::from_str::<Vec<&RawValue>>(raw.get()).ok());
        if let Some(first) = values.as_deref().and_then(<[_]>::first) {
            return first.get().to_owned();
        }
    }
    match schema.get("type").map(RawValue::get) {
        Some(r#""integer""# | r#""number""#) => schema
            .get("minimum")
            .map_or_else(|| "0".to_owned(), |raw| raw.get().to_owned()),
        Some(r#""boolean""#) => "false".to_owned(),
        Some(r#""array""#) => "[]".to_owned(),
        // Nested objects stay empty: an example shows the shape of a call, the schema the rest.
        Some(r#""object""#) => "{}".to_owned(),
        Some(_) | None => place(name),
    }
}

fn place(name: &str) -> String {
    quote(&format!("<{name}>"))
}
