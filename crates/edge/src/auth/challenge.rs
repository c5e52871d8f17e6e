//! What a caller without a good credential is told: nothing but where to get one (RFC 6750, RFC 9728).

use std::net::SocketAddr;

use http::HeaderValue;
use serde_json::json;

use crate::settings::InForce;

/// Where the metadata of the protected resource is.
pub(crate) const METADATA: &str = "/.well-known/oauth-protected-resource";

/// What links begin with. Nothing that a request says is part of it: `Host` and `X-Forwarded-*` are the caller's own
/// words. Without `public_url` only a listener that nobody else reaches has an address that is surely its own.
fn base(in_force: &InForce, reached: SocketAddr) -> Option<String> {
    let public = in_force.settings.public_url.clone();
    public.or_else(|| reached.ip().is_loopback().then(|| format!("http://{reached}")))
}

/// `resource`, and the path of its metadata.
fn resource(in_force: &InForce, reached: SocketAddr) -> Option<(String, String)> {
    let resource = format!("{}/mcp", base(in_force, reached)?);
    let (scheme, rest) = resource.split_once("://")?;
    let (authority, path) = rest.split_at_checked(rest.find('/')?)?;
    let metadata = format!("{scheme}://{authority}{METADATA}{path}");
    Some((resource, metadata))
}

/// The value of `WWW-Authenticate`; `error` where a credential was there and was not taken.
pub(crate) fn challenge(in_force: &InForce, reached: SocketAddr, error: Option<&str>) -> HeaderValue {
    let metadata = resource(in_force, reached).map(|(_, metadata)| format!("resource_metadata=\"{metadata}\""));
    let error = error.map(|error| format!("error=\"{error}\""));
    let parameters: Vec<String> = metadata.into_iter().chain(error).collect();
    let value = format!("Bearer {}", parameters.join(", "));
    HeaderValue::from_str(value.trim_end()).unwrap_or(HeaderValue::from_static("Bearer"))
}

/// The metadata of the protected resource at a path, where it is served.
pub(crate) fn metadata(in_force: &InForce, reached: SocketAddr, path: &str) -> Option<String> {
    let issuers = in_force.auth.issuers()?;
    let (resource, url) = resource(in_force, reached)?;
    let is_own = path == METADATA || path == format!("{METADATA}/mcp") || url.ends_with(path);
    if !is_own || !path.starts_with(METADATA) {
        return None;
    }
    let mut metadata = json!({
        "resource": resource,
        "bearer_methods_supported": ["header"],
        "resource_name": "Countersign",
    });
    if let Some(metadata) = metadata.as_object_mut().filter(|_| !issuers.is_empty()) {
        metadata.insert("authorization_servers".to_owned(), json!(issuers));
    }
    Some(metadata.to_string())
}
