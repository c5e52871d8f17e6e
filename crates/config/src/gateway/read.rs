//! Reading `countersign.yaml`: every key of the gateway, checked.

#[cfg(test)]
mod tests;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use countersign_core::surface::Surface;

use super::{Gateway, Limits, Store};
use crate::address;
use crate::bindings;
use crate::fields::{Field, Fields, Numbers, Reader};
use crate::folder::{Files, IDENTITIES_FILE};
use crate::nearest;
use crate::presets;
use crate::tree::{Node, Value};

/// Reads the gateway's settings. What is wrong is left at its default and complained of in the reader.
pub(crate) fn read(reader: &mut Reader<'_>, node: Option<&Node>, files: &Files) -> Gateway {
    let dir = files.dir.as_path();
    let mut gateway = Gateway {
        store: Store::Sqlite {
            path: dir.join("state.db"),
        },
        ..Gateway::default()
    };
    let Some(mut fields) = node.and_then(|node| reader.root(node)) else {
        return gateway;
    };
    addresses(reader, &mut fields, &mut gateway, Callers::of(files));
    if let Some(field) = fields.take(reader, &["surface"])
        && let Some(surfaces) = surfaces(reader, &field)
    {
        gateway.surfaces = surfaces;
    }
    if let Some(field) = fields.take(reader, &["name_prefix"])
        && let Some(prefix) = name_prefix(reader, &field)
    {
        gateway.name_prefix = prefix;
    }
    if let Some(field) = fields.take(reader, &["limits"]) {
        limits(reader, &field, &mut gateway.limits);
    }
    if let Some(field) = fields.take(reader, &["store"])
        && let Some(store) = store(reader, &field, dir)
    {
        gateway.store = store;
    }
    if let Some(field) = fields.take(reader, &["allowed_hosts"]) {
        gateway.allowed_hosts = checked_list(reader, &field, address::host);
    }
    if let Some(field) = fields.take(reader, &["allowed_origins"]) {
        gateway.allowed_origins = checked_list(reader, &field, address::origin);
    }
    if let Some(field) = fields.take(reader, &["trusted_proxies"]) {
        gateway.trusted_proxies = checked_list(reader, &field, address::block);
    }
    if let Some(field) = fields.take(reader, &["bindings"]) {
        gateway.bindings = bindings::read(reader, &field);
    }
    if let Some(field) = fields.take(reader, &["toolsetPresets"]) {
        gateway.presets = presets::read(reader, &field);
    }
    refuse_later_keys(reader, &mut fields);
    fields.finish(reader);
    gateway
}

/// Whether callers are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Callers {
    /// `identities.yaml` says who may connect.
    Identified,
    /// Whoever connects is `local`.
    Local,
}

impl Callers {
    fn of(files: &Files) -> Self {
        if files.names().contains(IDENTITIES_FILE) {
            Self::Identified
        } else {
            Self::Local
        }
    }
}

fn addresses(reader: &mut Reader<'_>, fields: &mut Fields<'_>, gateway: &mut Gateway, callers: Callers) {
    if let Some(field) = fields.take(reader, &["listen"])
        && let Some(address) = socket_address(reader, &field)
    {
        if address.ip().is_loopback() || callers == Callers::Identified {
            gateway.listen = address;
        } else {
            reader.wrong_with_help(
                &field,
                "must be a loopback address: without `identities.yaml` everyone who can reach the gateway \
                 would be served as `local`",
                "write `127.0.0.1:8090`, or an `identities.yaml` that says who may connect",
            );
        }
    }
    if let Some(field) = fields.take(reader, &["public_url"])
        && !matches!(field.node.value, Value::Null)
        && let Some(url) = reader.secret(&field)
    {
        match address::public(url.reveal()) {
            Ok(url) => gateway.public_url = Some(url),
            Err(what) => reader.wrong_with_help(&field, what, "write it like `https://gateway.example.com`"),
        }
    }
    if let Some(field) = fields.take(reader, &["metrics"]) {
        metrics(reader, &field, gateway);
    }
}

fn metrics(reader: &mut Reader<'_>, field: &Field<'_>, gateway: &mut Gateway) {
    if matches!(field.node.value, Value::Null) {
        gateway.metrics_listen = None;
        return;
    }
    let Some(mut fields) = reader.fields(field) else { return };
    if let Some(listen) = fields.take(reader, &["listen"]) {
        if matches!(listen.node.value, Value::Null) {
            gateway.metrics_listen = None;
        } else if let Some(address) = socket_address(reader, &listen) {
            if address == gateway.listen && address.port() != 0 {
                reader.wrong(&listen, "is the address of `listen`; metrics need their own");
            }
            if !address.ip().is_loopback() {
                reader.warn(
                    &listen,
                    "serves metrics, with the names of servers and tools, to every machine that can reach it",
                );
            }
            gateway.metrics_listen = Some(address);
        }
    }
    fields.finish(reader);
}

fn socket_address(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<SocketAddr> {
    let text = reader.secret(field)?;
    let address = match text.reveal().strip_prefix("localhost:") {
        Some(port) => port
            .parse()
            .ok()
            .map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
        None => text.reveal().parse().ok(),
    };
    if address.is_none() {
        let what = format!("must be an address and a port, not `{}`", text.shown());
        reader.wrong_with_help(field, &what, "write it like `127.0.0.1:8090` or `[::1]:8090`");
    }
    address
}

fn surfaces(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Vec<Surface>> {
    let items = match field.node.value {
        Value::List(_) => reader.list(field)?,
        Value::Null | Value::Boolean(_) | Value::Number(_) | Value::Text(_) | Value::Map(_) => vec![field.clone()],
    };
    if items.is_empty() {
        reader.wrong_with_help(field, "must name at least one surface", "write `meta` or `direct`");
        return None;
    }
    let mut surfaces = Vec::new();
    for item in items {
        let text = reader.secret(&item)?;
        match Surface::parse(text.reveal()) {
            Some(surface) if surfaces.contains(&surface) => {
                reader.wrong(&item, &format!("names `{}` twice", text.shown()));
            }
            Some(surface) => surfaces.push(surface),
            None if text.reveal() == "code" => {
                unsupported(reader, &item, "`code`", "scripts would be offered without a sandbox")
            }
            None => {
                let what = format!("must be `meta` or `direct`, not `{}`", text.shown());
                reader.wrong_with_help(&item, &what, nearest::help(text.shown(), &["meta", "direct"]));
            }
        }
    }
    (!surfaces.is_empty()).then_some(surfaces)
}

fn name_prefix(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<String> {
    let prefix = reader.secret(field)?;
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if prefix.reveal().len() <= 32 && prefix.reveal().bytes().all(allowed) {
        Some(prefix.reveal().to_owned())
    } else {
        reader.wrong(field, "must be at most 32 letters, digits, `_`, `-` or `.`");
        None
    }
}

fn limits(reader: &mut Reader<'_>, field: &Field<'_>, limits: &mut Limits) {
    let Some(mut fields) = reader.fields(field) else { return };
    let sizes = [
        ("request_bytes", &mut limits.request_bytes),
        ("response_bytes", &mut limits.response_bytes),
    ];
    for (key, limit) in sizes {
        if let Some(value) = fields.take(reader, &[key]).and_then(|field| reader.size(&field)) {
            *limit = value;
        }
    }
    let counts = [
        ("sessions", &mut limits.sessions),
        ("sessions_per_principal", &mut limits.sessions_per_principal),
        ("parked_per_principal", &mut limits.parked_per_principal),
    ];
    for (key, limit) in counts {
        if let Some(value) = fields.take(reader, &[key]).and_then(|field| reader.count(&field)) {
            *limit = value;
        }
    }
    if let Some(field) = fields.take(reader, &["tool_name_length"])
        && let Some(length) = reader.count(&field)
    {
        if (16..=128).contains(&length) {
            limits.tool_name_length = length;
        } else {
            reader.wrong(
                &field,
                "must be from 16 to 128: MCP allows no more, and an alias needs no less",
            );
        }
    }
    let times = [
        ("session_idle_timeout", &mut limits.session_idle_timeout),
        ("call_timeout", &mut limits.call_timeout),
        ("connect_timeout", &mut limits.connect_timeout),
    ];
    for (key, limit) in times {
        if let Some(value) = fields
            .take(reader, &[key])
            .and_then(|field| reader.duration(&field, Numbers::Refused))
        {
            *limit = value;
        }
    }
    fields.finish(reader);
}

fn store(reader: &mut Reader<'_>, field: &Field<'_>, dir: &Path) -> Option<Store> {
    let mut fields = reader.fields(field)?;
    let kind_field = fields.take(reader, &["type"]);
    let path_field = fields.take(reader, &["path"]);
    let kind = match &kind_field {
        Some(kind) => Some(reader.secret(kind)?),
        None => None,
    };
    let kind = kind.as_ref().map_or("sqlite", |kind| kind.reveal());
    let store = match (kind, &kind_field) {
        ("memory", _) => {
            if let Some(path) = &path_field {
                reader.wrong_key(
                    path,
                    "does not go with `type: memory`",
                    "remove it, or write `type: sqlite`",
                );
            }
            Some(Store::Memory)
        }
        ("sqlite", _) => {
            let path = match &path_field {
                Some(path) => sqlite_path(reader, path)?,
                None => PathBuf::from("state.db"),
            };
            Some(Store::Sqlite { path: dir.join(path) })
        }
        ("redis" | "postgres", Some(kind)) => {
            unsupported(
                reader,
                kind,
                &format!("`{}`", kind.node.text().unwrap_or_default()),
                "state would be kept on this machine alone",
            );
            // Its other keys belong to a later version, so they are no mistakes of their own.
            return None;
        }
        (_, Some(kind)) => {
            let shown = if reader.hidden.contains(&kind.path) {
                "[secret]"
            } else {
                kind.node.text().unwrap_or_default()
            };
            let what = format!("must be `memory` or `sqlite`, not `{shown}`");
            reader.wrong_with_help(kind, &what, nearest::help(shown, &["memory", "sqlite"]));
            None
        }
        (_, None) => None,
    };
    fields.finish(reader);
    store
}

fn sqlite_path(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<PathBuf> {
    let path = reader.secret(field)?;
    if path.reveal().is_empty() || path.reveal().contains('\0') {
        reader.wrong(field, "must be the path of a file");
        return None;
    }
    Some(PathBuf::from(path.reveal()))
}

fn checked_list<T>(reader: &mut Reader<'_>, field: &Field<'_>, check: fn(&str) -> Result<T, &'static str>) -> Vec<T> {
    let mut values = Vec::new();
    for item in reader.list(field).unwrap_or_default() {
        let Some(text) = reader.secret(&item) else { continue };
        match check(text.reveal()) {
            Ok(value) => values.push(value),
            Err(what) => reader.wrong(&item, what),
        }
    }
    values
}

/// Keys of later versions fail closed: each asks for a narrowing or a record that would not happen.
fn refuse_later_keys(reader: &mut Reader<'_>, fields: &mut Fields<'_>) {
    if let Some(field) = fields.take(reader, &["pins"]) {
        let off = field.node.member("mode").and_then(|member| member.node.text()) == Some("off");
        let alone = matches!(&field.node.value, Value::Map(members) if members.len() == 1);
        if !(off && alone) {
            refuse(reader, &field, "changed tools would be served without being noticed");
        }
    }
    let others = [
        ("write_gate", "calls would be served without the approval it asks for"),
        ("audit", "calls would be served without the trail it asks for"),
    ];
    for (key, consequence) in others {
        if let Some(field) = fields.take(reader, &[key]) {
            refuse(reader, &field, consequence);
        }
    }
}

fn refuse(reader: &mut Reader<'_>, field: &Field<'_>, consequence: &str) {
    let help = format!("remove it; it is refused rather than ignored because {consequence}");
    reader.wrong_key(field, "is not supported by this version of countersign", help);
}

fn unsupported(reader: &mut Reader<'_>, field: &Field<'_>, value: &str, consequence: &str) {
    let what = format!("is {value}, which is not supported by this version of countersign");
    let help = format!("remove it; it is refused rather than ignored because {consequence}");
    reader.wrong_with_help(field, &what, help);
}
