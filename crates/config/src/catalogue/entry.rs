//! One server's entry: what holds for every transport.

use std::collections::BTreeMap;
use std::time::Duration;

use countersign_core::effect::AnnotationTrust;
use countersign_core::exact::Digest;
use countersign_core::glob::Glob;
use countersign_core::names::ServerName;
use countersign_core::server::{AccessRule, ServerEntry, Start};

use super::{Rules, digest, family, foreign, transport};
use crate::fields::{Field, Fields, Numbers, Reader};
use crate::tree::{Node, Value};

/// Reads one entry. Nothing when it has no usable transport; other faults are complained of beside it.
pub(super) fn read(
    reader: &mut Reader<'_>,
    server: &Field<'_>,
    name: ServerName,
    rules: &Rules<'_>,
) -> Option<ServerEntry> {
    // Inside the entry, messages begin with the server and name the key from there.
    let inside = server.under("").owned_by(format!("server `{name}`: "));
    let Value::Map(_) = server.node.value else {
        reader.wrong(server, &format!("must be a map, not {}", server.node.kind()));
        return None;
    };
    let mut fields = reader.fields(&inside)?;
    let transport = transport::read(reader, &mut fields, server, rules);
    let labels = take(reader, &mut fields, &["labels"], labels).unwrap_or_default();
    let tool_prefix = take(reader, &mut fields, &["toolPrefix", "tool_prefix"], tool_prefix);
    let description = take(reader, &mut fields, &["description"], Reader::literal);
    let timeout = take(reader, &mut fields, &["timeout"], timeout);
    let access = take(reader, &mut fields, &["access"], access).unwrap_or_default();
    let trust = take(
        reader,
        &mut fields,
        &["trustAnnotations", "trust_annotations"],
        Reader::flag,
    );
    let start = start(reader, &mut fields);
    let family = take(reader, &mut fields, &["family"], family::read);
    other_keys(reader, &fields);
    let transport::Reached {
        transport,
        sharing,
        auth,
        private_network,
    } = transport?;
    let mut entry = ServerEntry {
        name,
        labels,
        tool_prefix,
        description,
        timeout,
        start,
        trust: if trust == Some(true) {
            AnnotationTrust::Trusted
        } else {
            AnnotationTrust::Ignored
        },
        sharing,
        access,
        family,
        auth,
        private_network,
        transport,
        digest: Digest::of(b""),
    };
    entry.digest = digest::of(&entry);
    Some(entry)
}

/// The value of a key as `read` understands it, when the key is there.
fn take<'r, 't, T>(
    reader: &mut Reader<'r>,
    fields: &mut Fields<'t>,
    spellings: &[&'static str],
    read: impl FnOnce(&mut Reader<'r>, &Field<'t>) -> Option<T>,
) -> Option<T> {
    let field = fields.take(reader, spellings)?;
    read(reader, &field)
}

fn labels(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<BTreeMap<String, String>> {
    let mut labels = BTreeMap::new();
    for (name, value) in reader.entries(field)? {
        if name.trim().is_empty() {
            reader.wrong_key(&value, "is a label without a name", "give it a name");
        } else if let Some(text) = reader.literal(&value) {
            labels.insert(name.to_owned(), text);
        }
    }
    Some(labels)
}

fn tool_prefix(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<String> {
    let prefix = reader.literal(field)?;
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if prefix.len() <= 64 && prefix.bytes().all(allowed) {
        Some(prefix)
    } else {
        reader.wrong(field, "must be at most 64 letters, digits, `_`, `-` or `.`");
        None
    }
}

fn timeout(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Duration> {
    let timeout = reader.duration(field, Numbers::Seconds)?;
    if matches!(field.node.value, Value::Number(_)) && timeout >= Duration::from_secs(1000) {
        let seconds = timeout.as_secs();
        reader.warn(
            field,
            &format!("is read as {seconds} seconds; if milliseconds are meant, write `\"{seconds}ms\"`"),
        );
    }
    Some(timeout)
}

fn access(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Vec<AccessRule>> {
    let items = reader.list(field)?;
    Some(items.iter().filter_map(|item| access_rule(reader, item)).collect())
}

fn access_rule(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<AccessRule> {
    let mut fields = reader.fields(field)?;
    let class = fields.take(reader, &["class"]);
    let tools = fields.take(reader, &["tools"]);
    fields.finish(reader);
    let (Some(class), Some(tools)) = (class, tools) else {
        reader.wrong_with_help(
            field,
            "needs a `class` and `tools`",
            "write `{\"class\": \"read\", \"tools\": [\"get_*\"]}`",
        );
        return None;
    };
    let word = reader.literal(&class)?;
    let is_word = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    };
    if word.is_empty() || !is_word(&word) {
        reader.wrong(
            &class,
            "must be `read`, `write`, `admin`, `dangerous` or a word of your own",
        );
        return None;
    }
    let mut globs = Vec::new();
    let items = reader.list(&tools)?;
    let is_empty = items.is_empty();
    for item in items {
        let pattern = reader.literal(&item)?;
        match Glob::parse(&pattern) {
            Ok(_) => {
                if can_match_no_tool(&pattern) {
                    reader.warn(
                        &item,
                        "matches no tool: their names have letters, digits, `_`, `-`, `.` and `/` only, and a glob \
                         knows `*`, `?`, `[…]` and `\\`, and is compared with the whole name as the server gives it",
                    );
                }
                globs.push(pattern);
            }
            Err(_) => reader.wrong_with_help(
                &item,
                "is a malformed glob",
                "close each `[` and put something after each `\\`",
            ),
        }
    }
    if is_empty {
        reader.wrong(&tools, "must name at least one tool or glob");
        return None;
    }
    Some(AccessRule {
        class: word,
        tools: globs,
    })
}

/// Whether a glob holds, outside of its own signs, what no name of a tool may hold (MCP 2025-11-25).
fn can_match_no_tool(pattern: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '*' | '?');
    let mut is_in_class = false;
    let has_other = pattern.chars().any(|c| match c {
        '[' => {
            is_in_class = true;
            false
        }
        ']' => {
            is_in_class = false;
            false
        }
        '\\' => false,
        _ if is_in_class => false,
        other => !allowed(other),
    });
    pattern.is_empty() || has_other
}

/// Whether the server starts, in our words or in another client's.
fn start(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Start {
    let auto = take(reader, fields, &["autoStart", "auto_start"], Reader::flag).unwrap_or(true);
    let mut suspended = take(reader, fields, &["suspended"], Reader::flag).unwrap_or(false);
    for (key, field) in fields.rest() {
        let Value::Boolean(value) = field.node.value else {
            continue;
        };
        suspended |= match key {
            "disabled" => value,
            "enabled" | "isActive" => !value,
            _ => false,
        };
    }
    match (suspended, auto) {
        (true, _) => Start::Suspended,
        (false, true) => Start::Boot,
        (false, false) => Start::Lazy,
    }
}

fn other_keys(reader: &mut Reader<'_>, fields: &Fields<'_>) {
    for (key, field) in fields.rest() {
        match (key, &field.node.value) {
            ("disabled", Value::Boolean(true)) | ("enabled" | "isActive", Value::Boolean(false)) => {
                reader.warn(
                    &field,
                    "is another client's key; the server is suspended, as with `suspended: true`",
                );
            }
            ("disabled" | "enabled" | "isActive", value) if !matches!(value, Value::Boolean(_)) => {
                let what = format!("must be `true` or `false`, not {}", field.node.kind());
                reader.wrong_with_help(
                    &field,
                    &what,
                    "write `\"suspended\": true` to keep the server from starting",
                );
            }
            ("tools", value) if names_every_tool(value) => {
                reader.warn(&field, "is another client's key and is not used here");
            }
            (key, _) => match (foreign::warning(key), foreign::our_key(key)) {
                (Some(warning), _) => reader.warn(&field, warning),
                (None, Some(ours)) => {
                    reader.wrong_key(&field, "is another client's key", format!("write `{ours}`"));
                }
                (None, None) => fields.refuse_unknown(reader, key, &field),
            },
        }
    }
}

fn names_every_tool(value: &Value) -> bool {
    let is_star = |node: &Node| node.text() == Some("*");
    matches!(value, Value::List(items) if items.iter().all(is_star))
}
