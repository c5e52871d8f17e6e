//! One server of another client, in our words.

use serde_json::{Map, Value as Json, json};

use super::text::{Inputs, Translator};
use crate::catalogue::{credential, foreign};
use crate::tree::{Member, Node, Value};

/// Keys that mean here what they mean there and whose texts may hold references.
const EXPANDED: &[&str] = &["command", "args", "env", "url", "headers", "cwd"];

/// Keys that are ours alone, so that a file of ours passes unchanged.
const OURS: &[&str] = &[
    "access",
    "allowPrivateNetwork",
    "autoStart",
    "description",
    "envMode",
    "envPassthrough",
    "env_mode",
    "env_passthrough",
    "family",
    "labels",
    "shared",
    "suspended",
    "toolPrefix",
    "trustAnnotations",
];

/// The entry in our words; nothing when it is no entry at all.
pub(super) fn translated(server: &str, node: &Node, inputs: &Inputs<'_>, warnings: &mut Vec<String>) -> Option<Json> {
    let Value::Map(members) = &node.value else {
        warnings.push(format!(
            "server `{server}` was left out, since it is {} and not a map",
            node.kind()
        ));
        return None;
    };
    let mut entry = Map::new();
    let mut texts = Translator {
        server,
        inputs,
        warnings,
    };
    for member in members {
        add(&mut entry, member, &mut texts);
    }
    if !entry.contains_key("command") && !entry.contains_key("url") {
        warnings.push(format!(
            "server `{server}` was left out, since it has neither `command` nor `url`"
        ));
        return None;
    }
    Some(Json::Object(entry))
}

fn add(entry: &mut Map<String, Json>, member: &Member, texts: &mut Translator<'_, '_>) {
    let Member { key, node, .. } = member;
    let is = |wanted: bool| matches!(node.value, Value::Boolean(value) if value == wanted);
    match key.as_str() {
        "type" | "transport" => add_type(entry, node, texts),
        "timeout" => add_timeout(entry, node, texts),
        "disabled" | "enabled" | "isActive" => {
            if is(key == "disabled") {
                entry.insert("suspended".to_owned(), json!(true));
            }
        }
        "auth" if node.text() == Some("none") => {}
        "auth" => add_expanded(entry, "auth", node, texts),
        "oauth" | "headersHelper" => texts.warn(&format!(
            "`{key}` was left out: write `\"auth\": \"oauth\"` where people sign in to the server"
        )),
        "envFile" => texts.warn(
            "`envFile` was left out: the variables of that file must be set for the gateway, or written into `env`",
        ),
        key if EXPANDED.contains(&key) => add_expanded(entry, key, node, texts),
        key if OURS.contains(&key) => {
            entry.insert(key.to_owned(), json_of(node));
        }
        key => match foreign::our_key(key) {
            Some(ours) => {
                add_expanded(entry, ours, node, texts);
                if key == "httpUrl" {
                    entry.insert("type".to_owned(), json!("http"));
                }
            }
            None if is_choice_of_all(key, node) => {}
            None => {
                let why = foreign::warning(key).unwrap_or("is not a key of ours");
                texts.warn(&format!("`{key}` was left out: it {why}"));
            }
        },
    }
}

fn add_type(entry: &mut Map<String, Json>, node: &Node, texts: &mut Translator<'_, '_>) {
    match node.text() {
        Some(kind @ ("stdio" | "http" | "sse")) => {
            entry.insert("type".to_owned(), json!(kind));
        }
        Some("streamable-http" | "streamableHttp" | "streamable_http") => {
            entry.insert("type".to_owned(), json!("http"));
        }
        Some(other) => texts.warn(&format!(
            "`type: {other}` was left out: it is told from `command` or `url`"
        )),
        None => texts.warn("`type` was left out: it is not a string"),
    }
}

/// Large numbers are milliseconds in every client that writes numbers.
fn add_timeout(entry: &mut Map<String, Json>, node: &Node, texts: &mut Translator<'_, '_>) {
    let Value::Number(token) = &node.value else {
        entry.insert("timeout".to_owned(), json_of(node));
        return;
    };
    match token.parse::<u64>() {
        Ok(number) if number >= 1000 => {
            texts.warn(&format!("`timeout: {number}` was taken as milliseconds"));
            entry.insert("timeout".to_owned(), json!(format!("{number}ms")));
        }
        Ok(0) => texts.warn("`timeout: 0` was left out: the gateway's own limit holds"),
        Ok(_) | Err(_) => {
            entry.insert("timeout".to_owned(), json_of(node));
        }
    }
}

fn add_expanded(entry: &mut Map<String, Json>, key: &str, node: &Node, texts: &mut Translator<'_, '_>) {
    let (fits, wanted) = match key {
        "args" => (matches!(node.value, Value::List(_)), "a list"),
        "env" | "headers" => (matches!(node.value, Value::Map(_)), "a map"),
        "auth" => (
            matches!(node.value, Value::Map(_) | Value::Text(_)),
            "a map or a string",
        ),
        _ => (matches!(node.value, Value::Text(_)), "a string"),
    };
    if !fits {
        // Null is how some clients write that a key is not set.
        if !matches!(node.value, Value::Null) {
            texts.warn(&format!("`{key}` was left out: it is {} and not {wanted}", node.kind()));
        }
        return;
    }
    if matches!(key, "env" | "headers")
        && let Value::Map(members) = &node.value
    {
        for member in members {
            let bare = member
                .node
                .text()
                .is_some_and(|text| !text.is_empty() && !text.contains("${"));
            if bare && credential::is_name_of_one(&member.key) {
                let name = &member.key;
                texts.warn(&format!(
                    "`{key}.{name}` holds a credential as it is; put it into a variable and write `${{VARIABLE}}`"
                ));
            }
        }
    }
    let value = translate(key, node, texts);
    entry.insert(key.to_owned(), value);
}

/// A value with the references in its texts translated. Null variables mean that they are not set.
fn translate(path: &str, node: &Node, texts: &mut Translator<'_, '_>) -> Json {
    match &node.value {
        Value::Text(text) => Json::from(texts.translated(path, text)),
        Value::List(items) => items.iter().map(|item| translate(path, item, texts)).collect(),
        Value::Map(members) => {
            let kept = members
                .iter()
                .filter(|member| !matches!(member.node.value, Value::Null));
            let translated = kept.map(|member| {
                let path = format!("{path}.{}", member.key);
                (member.key.clone(), translate(&path, &member.node, texts))
            });
            Json::Object(translated.collect())
        }
        Value::Null | Value::Boolean(_) | Value::Number(_) => json_of(node),
    }
}

fn is_choice_of_all(key: &str, node: &Node) -> bool {
    let star = |item: &Node| item.text() == Some("*");
    key == "tools" && matches!(&node.value, Value::List(items) if items.iter().all(star))
}

/// The value as it is.
pub(super) fn json_of(node: &Node) -> Json {
    match &node.value {
        Value::Null => Json::Null,
        Value::Boolean(value) => Json::from(*value),
        Value::Number(token) => serde_json::from_str(token).unwrap_or(Json::Null),
        Value::Text(text) => Json::from(text.as_str()),
        Value::List(items) => items.iter().map(json_of).collect(),
        Value::Map(members) => Json::Object(
            members
                .iter()
                .map(|member| (member.key.clone(), json_of(&member.node)))
                .collect(),
        ),
    }
}
