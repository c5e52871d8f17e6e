//! From a server's address to the authorization server that signs people in to it (RFC 9728, RFC 8414, OIDC).

use countersign_fetch::{Document, Fetcher};
use http::{StatusCode, Uri};
use serde::de::DeserializeOwned;

use super::challenge::Challenge;
use super::metadata::{Authority, Resource, authority_places, fits, origin, resource_places};
use super::site::Site;

/// What was found out.
#[derive(Debug)]
pub(crate) struct Found {
    /// The identifier that tokens are asked for.
    pub(crate) resource: String,
    /// Who gives them; its endpoints have been checked.
    pub(crate) authority: Authority,
    /// Where people sign in.
    pub(crate) authorization: String,
    /// Where tokens are given.
    pub(crate) token: String,
    /// The scopes that the server suggests.
    pub(crate) scopes: Vec<String>,
}

/// Finds out who signs people in to a server.
///
/// # Errors
/// Why nobody does, as the rest of a sentence about the server.
pub(crate) async fn discover(fetcher: &Fetcher, site: &Site, challenge: Option<&Challenge>) -> Result<Found, String> {
    let own = resource(fetcher, site, challenge).await?;
    let pinned = site.oauth().and_then(|oauth| oauth.issuer.as_ref());
    let issuers = match (&own, pinned) {
        (_, Some(pinned)) => vec![pinned.reveal().to_owned()],
        (Some(own), None) => own.authorization_servers.iter().take(1).cloned().collect(),
        // Before 2025-06-18 a server was its own authorization server, and nobody said how it is spelt.
        (None, None) => {
            let origin = origin(&site.url).ok_or("its address has no origin")?;
            vec![origin.clone(), format!("{origin}/")]
        }
    };
    let authority = authority(fetcher, site, &issuers).await?;
    let (authorization, token) = checked(&authority, site)?;
    let suggested = own
        .as_ref()
        .and_then(|own| own.scopes_supported.clone())
        .unwrap_or_default();
    let challenged = challenge.map(|challenge| challenge.scopes.clone()).unwrap_or_default();
    Ok(Found {
        resource: own.map_or_else(|| site.resource(), |own| own.resource),
        scopes: if challenged.is_empty() { suggested } else { challenged },
        authorization,
        token,
        authority,
    })
}

/// The server's own metadata: where its challenge says, else where it should be.
async fn resource(fetcher: &Fetcher, site: &Site, challenge: Option<&Challenge>) -> Result<Option<Resource>, String> {
    let found = match challenge.and_then(|challenge| challenge.resource_metadata.as_deref()) {
        Some(named) => {
            let document = fetcher.get(named, &site.trust).await.map_err(|error| told(&error))?;
            let resource: Option<Resource> = read(&document);
            Some(resource.ok_or("the metadata that its challenge names cannot be read")?)
        }
        None => first(fetcher, site, resource_places(&site.url)).await?,
    };
    match found {
        Some(resource) if !fits(&resource.resource, &site.url) => {
            Err("its metadata is about another address: tokens for that one would not be for this server".to_owned())
        }
        found => Ok(found),
    }
}

/// The authorization server's metadata; it must be about the very issuer that is looked for, character by character
/// (RFC 8414, 3.3). Several are spellings of one.
async fn authority(fetcher: &Fetcher, site: &Site, issuers: &[String]) -> Result<Authority, String> {
    let issuer = issuers.first().ok_or("its metadata names no authorization server")?;
    let uri: Uri = issuer
        .parse()
        .map_err(|_error| "its authorization server's identifier is no address".to_owned())?;
    let mut other = false;
    for place in authority_places(&uri) {
        let document = fetcher.get(&place, &site.trust).await.map_err(|error| told(&error))?;
        match read::<Authority>(&document) {
            Some(found) if issuers.contains(&found.issuer) => {
                return Ok(found);
            }
            Some(_) => other = true,
            None => {}
        }
    }
    Err(if other {
        "the metadata of its authorization server is about another issuer".to_owned()
    } else {
        "its authorization server publishes no metadata".to_owned()
    })
}

async fn first<T: DeserializeOwned>(fetcher: &Fetcher, site: &Site, places: Vec<String>) -> Result<Option<T>, String> {
    for place in places {
        let document = fetcher.get(&place, &site.trust).await.map_err(|error| told(&error))?;
        if let Some(found) = read(&document) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn read<T: DeserializeOwned>(document: &Document) -> Option<T> {
    if document.status != StatusCode::OK {
        return None;
    }
    serde_json::from_slice(&document.body).ok()
}

/// The endpoints that are needed, once they are good.
fn checked(authority: &Authority, site: &Site) -> Result<(String, String), String> {
    let needed = |endpoint: &Option<String>, what: &str| {
        let endpoint = endpoint
            .clone()
            .ok_or_else(|| format!("its authorization server names no {what} endpoint"))?;
        if site.trust.admits(&endpoint) {
            Ok(endpoint)
        } else {
            Err(format!(
                "the {what} endpoint of its authorization server is no https address"
            ))
        }
    };
    let authorization = needed(&authority.authorization_endpoint, "authorization")?;
    let token = needed(&authority.token_endpoint, "token")?;
    // Without it a stolen code could be redeemed (OAuth 2.1, and the MCP specification).
    if !authority
        .code_challenge_methods_supported
        .iter()
        .any(|method| method == "S256")
    {
        return Err("its authorization server does not say that it checks PKCE with S256".to_owned());
    }
    Ok((authorization, token))
}

/// The token endpoint of an issuer, for an exchange.
///
/// # Errors
/// Why there is none.
pub(crate) async fn token_endpoint(fetcher: &Fetcher, site: &Site, issuer: &str) -> Result<String, String> {
    let authority = authority(fetcher, site, &[issuer.to_owned()]).await?;
    let endpoint = authority
        .token_endpoint
        .ok_or("its authorization server names no token endpoint")?;
    if site.trust.admits(&endpoint) {
        Ok(endpoint)
    } else {
        Err("the token endpoint of its authorization server is no https address".to_owned())
    }
}

/// A fetch's error, with the way out where the operator has one.
fn told(error: &countersign_fetch::Error) -> String {
    match error {
        countersign_fetch::Error::NotSecure { .. } | countersign_fetch::Error::Screened { .. } => {
            format!("{error} (set `issuer` or `allowedHosts` in its `auth.oauth` in mcp.json if it is yours)")
        }
        countersign_fetch::Error::NotAnAddress { .. }
        | countersign_fetch::Error::Unreachable { .. }
        | countersign_fetch::Error::Broken { .. }
        | countersign_fetch::Error::TooSlow { .. }
        | countersign_fetch::Error::TooLarge { .. }
        | countersign_fetch::Error::TooManyRedirects { .. }
        | countersign_fetch::Error::BadRedirect { .. }
        | countersign_fetch::Error::Redirected { .. }
        | countersign_fetch::Error::Unwritable { .. } => error.to_string(),
    }
}
