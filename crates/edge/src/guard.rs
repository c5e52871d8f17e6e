//! Host and Origin: the first check on every route of every listener, before anything is parsed.
//!
//! A page on a foreign site can make a browser call a loopback address under the page's own
//! name (DNS rebinding); it cannot make the browser lie about Host and Origin.

use std::fmt;
use std::net::SocketAddr;

use http::header::{HOST, ORIGIN};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};

use crate::settings::Settings;

/// The Host values of one listener itself, lower case.
#[derive(Debug)]
pub(crate) struct Own {
    hosts: Vec<String>,
}

impl Own {
    /// The names of a listener, by the address at which a connection reached it.
    pub(crate) fn of(address: SocketAddr) -> Self {
        let ip = address.ip().to_canonical();
        let port = address.port();
        let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "[::1]".to_owned()];
        let reached = if ip.is_ipv6() {
            format!("[{ip}]")
        } else {
            ip.to_string()
        };
        // An address that was really reached is no name that somebody could bind anew.
        if !names.contains(&reached) {
            names.push(reached);
        }
        let mut hosts: Vec<String> = names.iter().map(|name| format!("{name}:{port}")).collect();
        if port == 80 {
            hosts.append(&mut names);
        }
        Self { hosts }
    }

    fn has_host(&self, host: &str) -> bool {
        self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host))
    }

    fn has_origin(&self, origin: &str) -> bool {
        strip_scheme(origin, "http").is_some_and(|host| self.has_host(host))
    }
}

/// What the settings allow besides the listener's own names.
#[derive(Debug)]
pub(crate) struct Allowed {
    hosts: Vec<Host>,
    public_origin: Option<String>,
    listed_origins: Vec<String>,
}

#[derive(Debug)]
enum Host {
    /// Exactly this value.
    Exact(String),
    /// This name at any port.
    AnyPort(String),
}

impl Allowed {
    pub(crate) fn new(settings: &Settings) -> Self {
        let public: Option<Uri> = settings.public_url.as_deref().and_then(|url| url.parse().ok());
        let mut hosts: Vec<Host> = settings.allowed_hosts.iter().map(|host| allowed_host(host)).collect();
        let mut public_origin = None;
        if let Some((scheme, authority)) = public
            .as_ref()
            .and_then(|url| Some((url.scheme_str()?, url.authority()?)))
        {
            public_origin = Some(format!("{scheme}://{authority}"));
            hosts.push(Host::Exact(authority.as_str().to_owned()));
            if authority.port().is_none() {
                let port = if scheme.eq_ignore_ascii_case("https") { 443 } else { 80 };
                hosts.push(Host::Exact(format!("{authority}:{port}")));
            }
        }
        let listed = settings
            .allowed_origins
            .iter()
            .map(|origin| origin.trim_end_matches('/').to_owned());
        Self {
            hosts,
            public_origin,
            listed_origins: listed.collect(),
        }
    }

    fn has_host(&self, host: &str) -> bool {
        self.hosts.iter().any(|allowed| match allowed {
            Host::Exact(exact) => exact.eq_ignore_ascii_case(host),
            Host::AnyPort(name) => without_port(host).eq_ignore_ascii_case(name),
        })
    }

    fn has_origin(&self, origin: &str) -> bool {
        self.public_origin
            .as_ref()
            .is_some_and(|public| public.eq_ignore_ascii_case(origin))
            || self.lists(origin)
    }

    fn lists(&self, origin: &str) -> bool {
        self.listed_origins
            .iter()
            .any(|listed| listed.eq_ignore_ascii_case(origin))
    }
}

/// Why a request is turned away before anything of it is parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Denied {
    /// The header is not there.
    Missing(HeaderName),
    /// The header is there more than once.
    Repeated(HeaderName),
    /// The header holds a value that is not allowed.
    Foreign(HeaderName, String),
}

impl Denied {
    /// What was asked for, for the trail.
    pub(crate) fn subject(&self) -> String {
        match self {
            Self::Missing(header) | Self::Repeated(header) => header.to_string(),
            Self::Foreign(header, value) => format!("{header}: {value}"),
        }
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(header) => write!(f, "header `{header}` is missing"),
            Self::Repeated(header) => write!(f, "header `{header}` is there more than once"),
            Self::Foreign(header, value) => {
                let key = if *header == HOST {
                    "allowed_hosts"
                } else {
                    "allowed_origins"
                };
                write!(
                    f,
                    "{header} `{value}` is not served here; list it in `{key}` if it should be"
                )
            }
        }
    }
}

/// The origin that gets CORS headers: one that `allowed_origins` lists.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listed<'r>(pub(crate) Option<&'r HeaderValue>);

/// Checks Host, the authority of an absolute target, and Origin.
pub(crate) fn check<'r>(
    target: &Uri,
    headers: &'r HeaderMap,
    own: &Own,
    allowed: &Allowed,
) -> Result<Listed<'r>, Denied> {
    let host = only(headers, &HOST)?.ok_or(Denied::Missing(HOST))?;
    let serves = |host: &str| own.has_host(host) || allowed.has_host(host);
    let named = target.authority().map(http::uri::Authority::as_str);
    for value in std::iter::once(text(host)).chain(named) {
        if !serves(value) {
            return Err(Denied::Foreign(HOST, shown(value)));
        }
    }
    let Some(origin) = only(headers, &ORIGIN)? else {
        return Ok(Listed(None));
    };
    let value = text(origin);
    if allowed.lists(value) {
        Ok(Listed(Some(origin)))
    } else if own.has_origin(value) || allowed.has_origin(value) {
        Ok(Listed(None))
    } else {
        Err(Denied::Foreign(ORIGIN, shown(value)))
    }
}

fn only<'r>(headers: &'r HeaderMap, name: &HeaderName) -> Result<Option<&'r HeaderValue>, Denied> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() {
        Err(Denied::Repeated(name.clone()))
    } else {
        Ok(first)
    }
}

/// A value that is no visible ASCII is no host and no origin: it equals nothing that is allowed.
fn text(value: &HeaderValue) -> &str {
    value.to_str().unwrap_or_default()
}

/// At most 200 characters of a stranger's text.
fn shown(value: &str) -> String {
    value.chars().take(200).collect()
}

fn allowed_host(host: &str) -> Host {
    if without_port(host).len() == host.len() {
        Host::AnyPort(host.to_owned())
    } else {
        Host::Exact(host.to_owned())
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        // The colons of an IPv6 address stand inside brackets and are no port.
        Some((name, port)) if !port.ends_with(']') => name,
        Some(_) | None => host,
    }
}

fn strip_scheme<'o>(origin: &'o str, scheme: &str) -> Option<&'o str> {
    let (named, rest) = origin.split_once("://")?;
    named.eq_ignore_ascii_case(scheme).then_some(rest)
}

#[cfg(test)]
mod tests;
