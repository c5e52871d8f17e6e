//! The snapshot as JSON with every secret masked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use countersign_core::auth::{Auth, ExchangedAt, OAuthClient};
use countersign_core::effect::AnnotationTrust;
use countersign_core::identity::Identities;
use countersign_core::secret::Secret;
use countersign_core::server::{EnvMode, PrivateNetwork, ServerEntry, Sharing, Start, Transport};
use countersign_core::toolset::Presets;
use countersign_core::workflow::Workflow;
use serde_json::{Map, Value, json};

use crate::gateway::{Gateway, Store};

/// What a person may see of the snapshot. `hidden` are the paths of the gateway's keys that came from references.
pub(crate) fn view(
    gateway: &Gateway,
    identities: Option<&Identities>,
    (servers, workflows): (&[Arc<ServerEntry>], &[Arc<Workflow>]),
    hidden: &BTreeSet<String>,
) -> Value {
    let servers: Map<String, Value> = servers
        .iter()
        .map(|entry| (entry.name.as_str().to_owned(), server(entry)))
        .collect();
    let workflows: Map<String, Value> = workflows
        .iter()
        .map(|workflow| {
            let draft = workflow.draft();
            let shown = json!({"file": &*draft.at.file, "digest": draft.digest.hex()});
            (workflow.name().to_owned(), shown)
        })
        .collect();
    // How many there are; who they are is nobody's business who may ask the gateway for its settings.
    let identities =
        identities.map(|identities| json!({"keys": identities.keys.len(), "issuers": identities.issuers.len()}));
    json!({"gateway": gateway_view(gateway, hidden), "identities": identities, "servers": servers, "workflows": workflows})
}

fn gateway_view(gateway: &Gateway, hidden: &BTreeSet<String>) -> Value {
    let masked = |path: &str, value: Value| mask(hidden, path, value);
    let limits = &gateway.limits;
    let proxies: Vec<String> = gateway
        .trusted_proxies
        .iter()
        .map(|(address, bits)| format!("{address}/{bits}"))
        .collect();
    let store = match &gateway.store {
        Store::Memory => json!({"type": "memory"}),
        Store::Sqlite { path } => {
            json!({"type": "sqlite", "path": masked("store.path", json!(path.display().to_string()))})
        }
    };
    json!({
        "listen": masked("listen", json!(gateway.listen.to_string())),
        "public_url": masked("public_url", json!(gateway.public_url)),
        "metrics": {"listen": masked("metrics.listen", json!(gateway.metrics_listen.map(|address| address.to_string())))},
        "surface": gateway.surfaces,
        "name_prefix": masked("name_prefix", json!(gateway.name_prefix)),
        "limits": {
            "request_bytes": limits.request_bytes,
            "response_bytes": limits.response_bytes,
            "sessions": limits.sessions,
            "sessions_per_principal": limits.sessions_per_principal,
            "session_idle_timeout": duration(limits.session_idle_timeout),
            "parked_per_principal": limits.parked_per_principal,
            "tool_name_length": limits.tool_name_length,
            "call_timeout": duration(limits.call_timeout),
            "connect_timeout": duration(limits.connect_timeout),
        },
        "store": store,
        "allowed_hosts": masked("allowed_hosts", json!(gateway.allowed_hosts)),
        "allowed_origins": masked("allowed_origins", json!(gateway.allowed_origins)),
        "toolsetPresets": presets(&gateway.presets),
        "trusted_proxies": masked("trusted_proxies", json!(proxies)),
        "bindings": {
            "writers": gateway.bindings.writers.len(),
            "actor_tokens": gateway.bindings.actor_tokens.is_some(),
        },
    })
}

/// The presets of the configuration, as it says them.
fn presets(presets: &Presets) -> Map<String, Value> {
    let configured = presets.all().filter(|(_, is_built_in)| !is_built_in);
    configured
        .map(|(preset, _)| {
            let shown = json!({
                "description": preset.description,
                "include": preset.include,
                "exclude": preset.exclude,
            });
            (preset.name.to_string(), shown)
        })
        .collect()
}

/// A list counts as hidden when any of its items came from a reference.
fn mask(hidden: &BTreeSet<String>, path: &str, value: Value) -> Value {
    let item = format!("{path}[");
    let is_hidden = hidden.iter().any(|hidden| hidden == path || hidden.starts_with(&item));
    if is_hidden { json!("[secret]") } else { value }
}

fn server(entry: &ServerEntry) -> Value {
    let access: Vec<Value> = entry
        .access
        .iter()
        .map(|rule| json!({"class": rule.class, "tools": rule.tools}))
        .collect();
    let mut shown = json!({
        "labels": entry.labels,
        "toolPrefix": entry.tool_prefix,
        "description": entry.description,
        "timeout": entry.timeout.map(duration),
        "autoStart": matches!(entry.start, Start::Boot),
        "suspended": matches!(entry.start, Start::Suspended),
        "trustAnnotations": matches!(entry.trust, AnnotationTrust::Trusted),
        "shared": matches!(entry.sharing, Sharing::Shared),
        "access": access,
        "auth": auth(&entry.auth),
        "family": entry.family.as_ref().map(|family| {
            json!({"name": family.name.as_str(), "instanceArg": &*family.instance_arg})
        }),
    });
    let transport = transport(&entry.transport);
    if let (Value::Object(shown), PrivateNetwork::Screened) = (&mut shown, entry.private_network) {
        shown.insert("allowPrivateNetwork".to_owned(), json!(false));
    }
    if let (Value::Object(shown), Value::Object(transport)) = (&mut shown, transport) {
        shown.extend(transport);
        shown.retain(|_, value| !value.is_null());
    }
    shown
}

fn auth(auth: &Auth) -> Value {
    let (word, mut members) = match auth {
        Auth::None => return Value::Null,
        Auth::ForwardToken => return json!("forwardToken"),
        Auth::OAuth(oauth) => {
            let members = json!({
                "issuer": oauth.issuer.as_ref().map(Secret::shown),
                "scopes": oauth.scopes,
                "redirect": oauth.redirect.as_ref().map(Secret::shown),
                "allowedHosts": listed(&oauth.allowed_hosts),
            });
            (auth.word(), with_client(members, oauth.client.as_ref()))
        }
        Auth::TokenExchange(exchange) => {
            let (endpoint, issuer) = match &exchange.at {
                ExchangedAt::Endpoint(endpoint) => (Some(endpoint), None),
                ExchangedAt::Issuer(issuer) => (None, Some(issuer)),
            };
            let members = json!({
                "tokenEndpoint": endpoint.map(Secret::shown),
                "issuer": issuer.map(Secret::shown),
                "audience": exchange.audience.as_ref().map(Secret::shown),
                "resource": exchange.resource.as_ref().map(Secret::shown),
                "scopes": listed(&exchange.scopes),
                "subjectTokenType": exchange.subject_token_type,
                "allowedHosts": listed(&exchange.allowed_hosts),
            });
            (auth.word(), with_client(members, exchange.client.as_ref()))
        }
    };
    if let Value::Object(members) = &mut members {
        members.retain(|_, value| !value.is_null());
    }
    json!({word: members})
}

/// An empty list says nothing.
fn listed(texts: &[String]) -> Option<&[String]> {
    (!texts.is_empty()).then_some(texts)
}

fn with_client(mut members: Value, client: Option<&OAuthClient>) -> Value {
    if let (Value::Object(members), Some(client)) = (&mut members, client) {
        members.insert("clientId".to_owned(), json!(client.id.shown()));
        members.insert(
            "clientSecret".to_owned(),
            json!(client.secret.as_ref().map(Secret::shown)),
        );
    }
    members
}

fn transport(transport: &Transport) -> Value {
    match transport {
        Transport::Stdio {
            command,
            args,
            env,
            env_mode,
            env_passthrough,
            cwd,
        } => json!({
            "type": "stdio",
            "command": command.shown(),
            "args": args.iter().map(Secret::shown).collect::<Vec<_>>(),
            "env": secrets(env),
            "envMode": match env_mode {
                EnvMode::Clean => "clean",
                EnvMode::Inherit => "inherit",
            },
            "envPassthrough": env_passthrough,
            "cwd": cwd.as_ref().map(Secret::shown),
        }),
        Transport::Http { url, headers } => json!({"type": "http", "url": url.shown(), "headers": secrets(headers)}),
        Transport::Sse { url, headers } => json!({"type": "sse", "url": url.shown(), "headers": secrets(headers)}),
    }
}

fn secrets(values: &BTreeMap<String, Secret>) -> Map<String, Value> {
    values
        .iter()
        .map(|(name, value)| (name.clone(), Value::from(value.shown())))
        .collect()
}

fn duration(duration: Duration) -> String {
    if duration.subsec_millis() == 0 {
        format!("{}s", duration.as_secs())
    } else {
        format!("{}ms", duration.as_millis())
    }
}
