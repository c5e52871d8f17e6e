//! Which gateway the `tools` commands talk to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use http::Uri;

use crate::args::Target;
use crate::failure::Failure;
use crate::folder;

/// The MCP address: the flag's, or that of a configuration folder, or the default.
pub(super) fn url(target: Target) -> Result<Uri, Failure> {
    if let Some(text) = target.url {
        let url: Uri = text.parse().map_err(|error| wrong(&text, &error))?;
        let usable = matches!(url.scheme_str(), Some("http" | "https")) && url.host().is_some();
        return if usable {
            Ok(url)
        } else {
            Err(wrong(&text, &"it needs http:// or https:// and a host"))
        };
    }
    let dir = match target.config {
        Some(dir) => Some(folder::existing(Some(dir))?),
        None => Some(folder::named(None))
            .filter(|dir| dir.is_dir())
            .or_else(|| folder::quickstart().filter(|dir| dir.is_dir())),
    };
    let listen = match dir {
        Some(dir) => folder::load(&dir)?.gateway.listen,
        None => countersign_config::Gateway::default().listen,
    };
    of_listener(listen)
}

/// The address that reaches a listener from this machine.
fn of_listener(listen: SocketAddr) -> Result<Uri, Failure> {
    if listen.port() == 0 {
        return Err(Failure::configuration(
            "`listen` asks for any free port, so the configuration does not name the gateway's address",
            "give --url with the address that `serve` printed",
        ));
    }
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip @ (IpAddr::V4(_) | IpAddr::V6(_)) => ip,
    };
    let text = format!("http://{}/mcp", SocketAddr::new(ip, listen.port()));
    text.parse().map_err(|error| wrong(&text, &error))
}

fn wrong(text: &str, why: &dyn std::fmt::Display) -> Failure {
    Failure::configuration(
        format_args!("`{text}` is no address of a gateway: {why}"),
        "an address looks like http://127.0.0.1:8090/mcp",
    )
}
