//! The digest of an entry after expansion, by which a reload knows which servers changed.

use countersign_core::effect::AnnotationTrust;
use countersign_core::exact::Digest;
use countersign_core::secret::Secret;
use countersign_core::server::{AccessRule, EnvMode, ServerEntry, Sharing, Start, Transport};
use serde_json::{Map, Value, json};

/// The digest over everything the entry says, secrets included; its own field does not count.
///
/// Every field is named in the pattern, so a new one cannot be forgotten.
pub(super) fn of(entry: &ServerEntry) -> Digest {
    let ServerEntry {
        name,
        labels,
        tool_prefix,
        description,
        timeout,
        start,
        trust,
        sharing,
        auth,
        access,
        family,
        transport,
        digest: _,
    } = entry;
    let access: Vec<Value> = access
        .iter()
        .map(|AccessRule { class, tools }| json!({"class": class, "tools": tools}))
        .collect();
    let value = json!({
        "name": name.as_str(),
        "labels": labels,
        "tool_prefix": tool_prefix,
        "description": description,
        "timeout": timeout.map(|timeout| timeout.as_millis().to_string()),
        "start": match start {
            Start::Boot => "boot",
            Start::Lazy => "lazy",
            Start::Suspended => "suspended",
        },
        "trust": matches!(trust, AnnotationTrust::Trusted),
        "shared": matches!(sharing, Sharing::Shared),
        "auth": format!("{auth:?}"),
        "access": access,
        "family": family.as_ref().map(|family| json!([family.name.as_str(), &*family.instance_arg])),
        "transport": transport_value(transport),
    });
    Digest::of(value.to_string().as_bytes())
}

fn transport_value(transport: &Transport) -> Value {
    match transport {
        Transport::Stdio {
            command,
            args,
            env,
            env_mode,
            env_passthrough,
            cwd,
        } => json!({
            "command": command.reveal(),
            "args": args.iter().map(Secret::reveal).collect::<Vec<_>>(),
            "env": revealed(env),
            "inherit": matches!(env_mode, EnvMode::Inherit),
            "env_passthrough": env_passthrough,
            "cwd": cwd.as_ref().map(Secret::reveal),
        }),
        Transport::Http { url, headers } => json!({"http": url.reveal(), "headers": revealed(headers)}),
        Transport::Sse { url, headers } => json!({"sse": url.reveal(), "headers": revealed(headers)}),
    }
}

fn revealed(values: &std::collections::BTreeMap<String, Secret>) -> Map<String, Value> {
    values
        .iter()
        .map(|(name, value)| (name.clone(), Value::from(value.reveal())))
        .collect()
}
