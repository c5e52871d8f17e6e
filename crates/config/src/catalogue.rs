//! The server catalogue, `mcp.json`: which servers there are (spec 2.2).

pub(crate) mod credential;
mod digest;
mod entry;
mod family;
pub(crate) mod foreign;
mod transport;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use countersign_core::names::ServerName;
use countersign_core::secret::Secret;
use countersign_core::server::ServerEntry;

use crate::fields::{Field, Fields, Reader};
use crate::tree::{Node, Value};

/// What holds for every entry of the file.
pub(crate) struct Rules<'a> {
    /// The configuration folder, which relative working folders are relative to.
    pub(crate) dir: &'a Path,
    /// Commands that may be started; empty means all.
    pub(crate) commands: Vec<Secret>,
}

/// Reads the catalogue, sorted by name. What is wrong is complained of in the reader.
pub(crate) fn read(reader: &mut Reader<'_>, node: &Node, dir: &Path) -> Vec<Arc<ServerEntry>> {
    let Some(mut fields) = reader.root(node) else {
        return Vec::new();
    };
    let list = server_list(reader, &mut fields);
    if let Some(version) = fields.take(reader, &["version"])
        && !matches!(&version.node.value, Value::Number(token) if token == "1")
    {
        reader.wrong_with_help(&version, "must be 1", "write `1`, or remove it");
    }
    let commands = fields
        .take(reader, &["commandAllowlist", "command_allowlist"])
        .map_or_else(Vec::new, |field| command_allowlist(reader, &field));
    for (key, field) in fields.rest() {
        if foreign::is_file_key(key) {
            reader.warn(&field, "is another client's key and is not used here");
        } else {
            fields.refuse_unknown(reader, key, &field);
        }
    }
    let rules = Rules { dir, commands };
    let entries = list.and_then(|list| reader.entries(&list)).unwrap_or_default();
    let mut servers = Vec::new();
    let mut names: BTreeMap<String, &str> = BTreeMap::new();
    let mut families = family::Families::default();
    for (name, field) in entries {
        let field = field.under(name).owned_by("server ".to_owned());
        match ServerName::parse(name) {
            Ok(parsed) => {
                if let Some(other) = names.insert(name.to_ascii_lowercase(), name) {
                    reader.warn(
                        &field,
                        &format!("differs from server `{other}` only in upper and lower case"),
                    );
                }
                let entry = entry::read(reader, &field, parsed, &rules);
                families.note(name, &field, entry.as_ref().and_then(|entry| entry.family.as_ref()));
                servers.extend(entry.map(Arc::new));
            }
            Err(_) => reader.wrong_key(
                &field,
                "has a name that is not allowed",
                "use 1 to 64 letters, digits, `.`, `_` or `-`, beginning with a letter or a digit",
            ),
        }
    }
    families.check(reader);
    servers.sort_by(|a, b| a.name.cmp(&b.name));
    servers
}

fn server_list<'t>(reader: &mut Reader<'_>, fields: &mut Fields<'t>) -> Option<Field<'t>> {
    let ours = fields.take(reader, &["mcpServers"]);
    let theirs = fields.take(reader, &["servers"]);
    match (ours, theirs) {
        (Some(first), Some(second)) => {
            reader.wrong_key(&second, "means the same as `mcpServers`", "move its servers there");
            Some(first)
        }
        (first, second) => first.or(second),
    }
}

fn command_allowlist(reader: &mut Reader<'_>, field: &Field<'_>) -> Vec<Secret> {
    let items = reader.list(field).unwrap_or_default();
    items.iter().filter_map(|item| reader.secret(item)).collect()
}
