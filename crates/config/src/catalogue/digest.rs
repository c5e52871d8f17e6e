//! The digest of an entry after expansion, by which a reload knows which servers changed.

use countersign_core::auth::{Auth, ExchangedAt, OAuth, OAuthClient, TokenExchange};
use countersign_core::effect::AnnotationTrust;
use countersign_core::exact::Digest;
use countersign_core::secret::Secret;
use countersign_core::server::{AccessRule, EnvMode, PrivateNetwork, ServerEntry, Sharing, Start, Transport};
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
        access,
        family,
        auth,
        private_network,
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
        "access": access,
        "family": family.as_ref().map(|family| json!([family.name.as_str(), &*family.instance_arg])),
        "auth": auth_value(auth),
        "screened": matches!(private_network, PrivateNetwork::Screened),
        "transport": transport_value(transport),
    });
    Digest::of(value.to_string().as_bytes())
}

fn auth_value(auth: &Auth) -> Value {
    match auth {
        Auth::None => Value::Null,
        Auth::ForwardToken => json!("forward"),
        Auth::OAuth(oauth) => {
            let OAuth {
                issuer,
                client,
                scopes,
                redirect,
                allowed_hosts,
            } = &**oauth;
            let (issuer, redirect) = (opened(issuer.as_ref()), opened(redirect.as_ref()));
            json!({"oauth": [issuer, client_value(client.as_ref()), scopes, redirect, allowed_hosts]})
        }
        Auth::TokenExchange(exchange) => {
            let TokenExchange {
                at,
                client,
                audience,
                resource,
                scopes,
                subject_token_type,
                allowed_hosts,
            } = &**exchange;
            let at = match at {
                ExchangedAt::Endpoint(endpoint) => json!({"endpoint": endpoint.reveal()}),
                ExchangedAt::Issuer(issuer) => json!({"issuer": issuer.reveal()}),
            };
            let client = client_value(client.as_ref());
            let (audience, resource) = (opened(audience.as_ref()), opened(resource.as_ref()));
            json!({"exchange": [at, client, audience, resource, scopes, subject_token_type, allowed_hosts]})
        }
    }
}

fn opened(text: Option<&Secret>) -> Option<&str> {
    text.map(Secret::reveal)
}

fn client_value(client: Option<&OAuthClient>) -> Value {
    client.map_or(Value::Null, |OAuthClient { id, secret }| {
        json!([id.reveal(), opened(secret.as_ref())])
    })
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
