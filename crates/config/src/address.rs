//! URLs, origins and hosts as an operator may write them. Complaints are the rest of a sentence.

#[cfg(test)]
mod tests;

use http::Uri;

/// What is to be known of a server's URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// Whether it holds a user name or a password.
    pub(crate) has_credentials: bool,
}

/// Checks a server's URL.
pub(crate) fn endpoint(text: &str) -> Result<Endpoint, &'static str> {
    if text.contains('#') {
        return Err("must be a URL without `#`");
    }
    let (authority, _) = http_url(text)?;
    Ok(Endpoint {
        has_credentials: authority.contains('@'),
    })
}

/// What links begin with: an origin in lower case and perhaps a path, without a slash at its end. An `/mcp` at the end
/// of the path is dropped: it is where MCP clients connect, and not what links begin with.
pub(crate) fn public(text: &str) -> Result<String, &'static str> {
    let (authority, _) = http_url(text)?;
    if authority.contains('@') {
        return Err("must be a URL without a user name");
    }
    if text.contains(['?', '#', '"', ' ']) {
        return Err("must be a URL without a query, such as `https://gateway.example.com`");
    }
    let whole = text.trim_end_matches('/');
    let base = whole.strip_suffix("/mcp").unwrap_or(whole);
    let start = base.find("://").map_or(0, |at| at + 3);
    let path = base
        .get(start..)
        .and_then(|rest| rest.find('/'))
        .map_or(base.len(), |at| start + at);
    let (origin, path) = base.split_at_checked(path).unwrap_or((base, ""));
    Ok(format!("{}{path}", origin.to_ascii_lowercase()))
}

/// Whether nobody on the way can change what is fetched from there: it is https, or it never leaves this machine.
pub(crate) fn is_private_to_its_ends(url: &str) -> bool {
    let uri: Option<Uri> = url.parse().ok();
    uri.is_some_and(|uri| {
        let host = uri.host().unwrap_or_default();
        let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
        let is_local = host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback());
        is_local
            || uri
                .scheme_str()
                .is_some_and(|scheme| scheme.eq_ignore_ascii_case("https"))
    })
}

/// An address or a block of addresses: `10.0.0.0/8`, `192.0.2.7`.
pub(crate) fn block(text: &str) -> Result<(std::net::IpAddr, u8), &'static str> {
    let what = "must be an address or a block of addresses, such as `10.0.0.7` or `10.0.0.0/8`";
    let (address, bits) = text
        .split_once('/')
        .map_or((text, None), |(address, bits)| (address, Some(bits)));
    let address: std::net::IpAddr = address.parse().map_err(|_malformed: std::net::AddrParseError| what)?;
    let all = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits
        .map_or(Some(all), |bits| bits.parse().ok())
        .filter(|bits| *bits <= all);
    bits.map(|bits| (address, bits)).ok_or(what)
}

/// `scheme://host[:port]` in lower case; one trailing slash is dropped.
pub(crate) fn origin(text: &str) -> Result<String, &'static str> {
    let text = text.strip_suffix('/').unwrap_or(text);
    let (authority, rest) = http_url(text)?;
    if authority.contains('@') {
        return Err("must be a URL without a user name");
    }
    if rest || text.contains('#') || text.ends_with('/') {
        return Err("must be a URL without a path, such as `https://gateway.example.com`");
    }
    Ok(text.to_ascii_lowercase())
}

/// `host[:port]` in lower case.
pub(crate) fn host(text: &str) -> Result<String, &'static str> {
    let what = "must be a host or a host and a port, such as `gateway.example.com` or `gateway:8090`";
    if text.contains(['/', '@', '#', '?', '*', '\\']) {
        return Err(what);
    }
    match http_url(&format!("http://{text}")) {
        Ok(_) => Ok(text.to_ascii_lowercase()),
        Err(_) => Err(what),
    }
}

/// The authority of an http or https URL, and whether a path or a query follows it.
fn http_url(text: &str) -> Result<(String, bool), &'static str> {
    let malformed = "must be a URL that begins with `http://` or `https://`";
    let uri: Uri = text.parse().map_err(|_malformed: http::uri::InvalidUri| malformed)?;
    let scheme = uri.scheme_str().ok_or(malformed)?.to_ascii_lowercase();
    let authority = uri.authority().ok_or(malformed)?;
    if scheme != "http" && scheme != "https" {
        return Err(malformed);
    }
    let location = authority
        .as_str()
        .rsplit_once('@')
        .map_or(authority.as_str(), |(_, location)| location);
    let port = location
        .rsplit_once(':')
        .map(|(_, port)| port)
        .filter(|port| !port.ends_with(']'));
    let port_is_good = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port != 0));
    if authority.host().is_empty() || !port_is_good || text.contains('\\') {
        return Err("must be a URL with a host and, when there is one, a port from 1 to 65535");
    }
    let after = text.split_once("://").map_or("", |(_, after)| after);
    Ok((authority.as_str().to_owned(), after.contains(['/', '?'])))
}
