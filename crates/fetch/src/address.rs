//! Addresses as text: what may be fetched, whom the operator vouches for, and what an error may show.

use std::collections::BTreeSet;

use http::Uri;
use http::uri::PathAndQuery;

use crate::Error;

/// Whom the operator vouches for: what is fetched from there may speak plain http and have a private address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    /// `scheme://host:port`
    origins: BTreeSet<String>,
    /// `host` or `host:port`
    hosts: BTreeSet<String>,
}

impl Trust {
    /// Nobody: every address is one that a stranger named.
    #[must_use]
    pub fn nobody() -> Self {
        Self::default()
    }

    /// The origin (scheme, host and port) of an address that the operator wrote. One that is no address adds nobody.
    #[must_use]
    pub fn and_origin_of(mut self, url: &str) -> Self {
        self.origins.extend(parse(url).ok().and_then(|uri| origin(&uri)));
        self
    }

    /// A host, `host` for every port of it or `host:port`.
    #[must_use]
    pub fn and_host(mut self, host: &str) -> Self {
        self.hosts.insert(host.to_ascii_lowercase());
        self
    }

    /// Whether an address may be fetched as far as its text says: https, or at one of them.
    #[must_use]
    pub fn admits(&self, url: &str) -> bool {
        parse(url).is_ok_and(|uri| uri.scheme_str() == Some("https") || self.covers(&uri))
    }

    /// Whether an address is at one of them.
    pub(crate) fn covers(&self, uri: &Uri) -> bool {
        let Some(host) = uri.host().map(str::to_ascii_lowercase) else {
            return false;
        };
        let with_port = format!("{host}:{}", port(uri));
        self.hosts.contains(&host)
            || self.hosts.contains(&with_port)
            || origin(uri).is_some_and(|origin| self.origins.contains(&origin))
    }
}

fn origin(uri: &Uri) -> Option<String> {
    let (scheme, host) = (uri.scheme_str()?, uri.host()?.to_ascii_lowercase());
    Some(format!("{scheme}://{host}:{}", port(uri)))
}

/// The port of an address, or the one that its scheme implies.
pub(crate) fn port(uri: &Uri) -> u16 {
    let implied = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    uri.port_u16().unwrap_or(implied)
}

/// An address that can be fetched: http or https, with a host and without a user.
pub(crate) fn parse(url: &str) -> Result<Uri, Error> {
    let bad = || Error::NotAnAddress { url: shown(url) };
    // A fragment says nothing to a server.
    let url = url.split_once('#').map_or(url, |(before, _)| before);
    let uri: Uri = url.parse().map_err(|_error| bad())?;
    let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
    let authority = uri.authority().ok_or_else(bad)?;
    if !is_web || authority.host().is_empty() || authority.as_str().contains('@') {
        return Err(bad());
    }
    Ok(uri)
}

/// Where a redirect leads, seen from where it was met.
pub(crate) fn resolved(from: &Uri, location: &str) -> Option<Uri> {
    let location = location.split_once('#').map_or(location, |(before, _)| before);
    let (scheme, authority) = (from.scheme()?.clone(), from.authority()?.clone());
    if location.starts_with("//") {
        return parse(&format!("{scheme}:{location}")).ok();
    }
    // `scheme:` stands before the first slash; a path may hold a colon later.
    if location.split('/').next().is_some_and(|first| first.contains(':')) {
        return parse(location).ok();
    }
    let path = if location.starts_with('/') {
        location.to_owned()
    } else {
        let folder = from.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{folder}/{location}")
    };
    let path: PathAndQuery = path.parse().ok()?;
    Uri::builder()
        .scheme(scheme)
        .authority(authority)
        .path_and_query(path)
        .build()
        .ok()
}

/// An address as an error may show it: without user, query and fragment, and not endless.
#[must_use]
pub fn shown(url: &str) -> String {
    const LONGEST: usize = 200;
    let plain = url.split(['?', '#']).next().unwrap_or_default();
    let plain = match plain.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest
                .split_once('/')
                .map_or((rest, None), |(authority, path)| (authority, Some(path)));
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            match path {
                Some(path) => format!("{scheme}://{host}/{path}"),
                None => format!("{scheme}://{host}"),
            }
        }
        None => plain.to_owned(),
    };
    let mut text: String = plain.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    if plain.chars().count() > LONGEST {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests;
