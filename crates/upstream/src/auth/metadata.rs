//! The two documents of discovery: a server's own (RFC 9728) and its authorization server's (RFC 8414, OIDC).

use http::Uri;
use serde::Deserialize;

/// What a server says of itself (RFC 9728).
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Resource {
    /// The identifier that tokens are asked for.
    pub(crate) resource: String,
    /// Who gives tokens for it.
    #[serde(default)]
    pub(crate) authorization_servers: Vec<String>,
    /// The scopes that it knows.
    pub(crate) scopes_supported: Option<Vec<String>>,
}

/// What an authorization server says of itself (RFC 8414, OpenID Connect Discovery).
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Authority {
    /// Its identifier.
    pub(crate) issuer: String,
    /// Where people sign in.
    pub(crate) authorization_endpoint: Option<String>,
    /// Where tokens are given.
    pub(crate) token_endpoint: Option<String>,
    /// Where clients register (RFC 7591).
    pub(crate) registration_endpoint: Option<String>,
    /// Where tokens are given back (RFC 7009).
    pub(crate) revocation_endpoint: Option<String>,
    /// PKCE methods.
    #[serde(default)]
    pub(crate) code_challenge_methods_supported: Vec<String>,
    /// How a client proves itself; `client_secret_basic` when absent (RFC 8414).
    pub(crate) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    /// The scopes that it knows.
    #[serde(default)]
    pub(crate) scopes_supported: Vec<String>,
    /// Whether a client's identifier may be the address of a document about it.
    #[serde(default)]
    pub(crate) client_id_metadata_document_supported: bool,
    /// Whether its answers name it (RFC 9207).
    #[serde(default)]
    pub(crate) authorization_response_iss_parameter_supported: bool,
}

/// Where a server's own metadata may be: beside its path, then at the root (RFC 9728, 3.1).
pub(crate) fn resource_places(url: &Uri) -> Vec<String> {
    let Some(origin) = origin(url) else { return Vec::new() };
    let path = url.path().trim_end_matches('/');
    let mut places = vec![format!("{origin}/.well-known/oauth-protected-resource{path}")];
    if !path.is_empty() {
        places.push(format!("{origin}/.well-known/oauth-protected-resource"));
    }
    places
}

/// Where an authorization server's metadata may be, in the order of the MCP specification.
pub(crate) fn authority_places(issuer: &Uri) -> Vec<String> {
    let Some(origin) = origin(issuer) else {
        return Vec::new();
    };
    let path = issuer.path().trim_end_matches('/');
    let mut places = vec![
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
        format!("{origin}/.well-known/openid-configuration{path}"),
    ];
    if !path.is_empty() {
        places.push(format!("{origin}{path}/.well-known/openid-configuration"));
    }
    places
}

/// `scheme://host[:port]`
pub(crate) fn origin(url: &Uri) -> Option<String> {
    Some(format!("{}://{}", url.scheme_str()?, url.authority()?))
}

/// Whether a server's identifier fits the address that the operator wrote: the same origin, and the same path or one
/// above it. A token for another would be a token for somebody else.
pub(crate) fn fits(resource: &str, url: &Uri) -> bool {
    let Ok(resource) = resource.parse::<Uri>() else {
        return false;
    };
    let place = |uri: &Uri| {
        let implied = if uri.scheme_str() == Some("https") { 443 } else { 80 };
        Some((
            uri.scheme_str()?.to_owned(),
            uri.host()?.to_ascii_lowercase(),
            uri.port_u16().unwrap_or(implied),
        ))
    };
    let (theirs, ours) = (resource.path().trim_end_matches('/'), url.path().trim_end_matches('/'));
    let below = ours
        .strip_prefix(theirs)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    place(&resource).is_some()
        && place(&resource) == place(url)
        && below
        && resource.query().is_none_or(|query| url.query() == Some(query))
}

#[cfg(test)]
mod tests {
    use super::{authority_places, fits, resource_places};

    #[test]
    fn metadata_is_looked_for_in_the_order_of_the_specification() {
        let places = |url: &str| authority_places(&url.parse().unwrap());
        assert_eq!(
            places("https://as.example/tenant/1"),
            [
                "https://as.example/.well-known/oauth-authorization-server/tenant/1",
                "https://as.example/.well-known/openid-configuration/tenant/1",
                "https://as.example/tenant/1/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            places("https://as.example/"),
            [
                "https://as.example/.well-known/oauth-authorization-server",
                "https://as.example/.well-known/openid-configuration",
            ]
        );
        let places = |url: &str| resource_places(&url.parse().unwrap());
        assert_eq!(
            places("https://rs.example:8443/mcp/?x=1"),
            [
                "https://rs.example:8443/.well-known/oauth-protected-resource/mcp",
                "https://rs.example:8443/.well-known/oauth-protected-resource",
            ]
        );
        assert_eq!(places("https://rs.example").len(), 1);
    }

    #[test]
    fn a_servers_identifier_must_be_its_own() {
        let url = "https://rs.example/api/mcp".parse().unwrap();
        for fit in [
            "https://rs.example/api/mcp",
            "https://RS.example:443/api/mcp/",
            "https://rs.example/api",
            "https://rs.example",
            "https://rs.example/",
        ] {
            assert!(fits(fit, &url), "{fit}");
        }
        for other in [
            "https://rs.example/api/mc",
            "https://rs.example/api/mcp/more",
            "http://rs.example/api/mcp",
            "https://other.example/api/mcp",
            "https://rs.example:8443/api/mcp",
            "https://rs.example/api/mcp?tenant=2",
            "rs.example",
            "",
        ] {
            assert!(!fits(other, &url), "{other}");
        }
    }
}
