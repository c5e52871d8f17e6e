//! Failed credentials, counted for each address that they came from (spec 4.1).

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use countersign_core::exact::Digest;
use http::HeaderMap;

/// How long failures count.
const WINDOW: Duration = Duration::from_secs(15 * 60);

/// How often one credential may fail.
const OF_ONE: u32 = 5;

/// How often all credentials of one address together may fail.
const OF_ADDRESS: u32 = 50;

/// How many addresses are remembered.
const ADDRESSES: usize = 20_000;

/// The failures of all addresses.
#[derive(Debug, Default)]
pub(super) struct Throttle {
    addresses: Mutex<HashMap<IpAddr, Failures>>,
}

#[derive(Debug)]
struct Failures {
    since: Instant,
    all: u32,
    /// By the digest of the credential; what guesses does not fill memory, for `all` ends it first.
    each: HashMap<Digest, u32>,
}

impl Failures {
    fn left(&self, now: Instant) -> Option<Duration> {
        let left = WINDOW.checked_sub(now.saturating_duration_since(self.since))?;
        (!left.is_zero()).then_some(left)
    }
}

impl Throttle {
    /// How long a credential from an address is not looked at, if so. A credential that fails again and again does not
    /// use up what others behind the same address have.
    pub(super) fn blocked(&self, source: IpAddr, credential: &Digest, now: Instant) -> Option<Duration> {
        let addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        let failures = addresses.get(&source)?;
        let left = failures.left(now)?;
        let own = failures.each.get(credential).copied().unwrap_or_default();
        (own >= OF_ONE || failures.all >= OF_ADDRESS).then_some(left)
    }

    /// Counts a failure.
    pub(super) fn failed(&self, source: IpAddr, credential: Digest, now: Instant) {
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        if addresses.len() >= ADDRESSES && !addresses.contains_key(&source) {
            addresses.retain(|_, failures| failures.left(now).is_some());
            if addresses.len() >= ADDRESSES {
                tracing::warn!("too many addresses bring credentials that fail; no further one is remembered");
                return;
            }
        }
        let fresh = || Failures {
            since: now,
            all: 0,
            each: HashMap::new(),
        };
        let failures = addresses.entry(source).or_insert_with(fresh);
        if failures.left(now).is_none() {
            *failures = fresh();
        }
        failures.all += 1;
        *failures.each.entry(credential).or_default() += 1;
    }
}

/// Blocks of addresses whose `X-Forwarded-For` is believed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Proxies(pub(crate) Vec<(IpAddr, u8)>);

impl Proxies {
    fn has(&self, address: IpAddr) -> bool {
        self.0.iter().any(|(block, bits)| is_in(address, *block, *bits))
    }

    /// The address that a request comes from: the right-most hop that is none of the proxies. What stands left of it
    /// anybody could have written.
    pub(super) fn source(&self, peer: SocketAddr, headers: &HeaderMap) -> IpAddr {
        let mut source = peer.ip().to_canonical();
        let values: Vec<&str> = headers
            .get_all("x-forwarded-for")
            .iter()
            .map(|value| value.to_str().unwrap_or_default())
            .collect();
        let hops = values.iter().rev().flat_map(|value| value.rsplit(','));
        for hop in hops {
            if !self.has(source) {
                break;
            }
            let Some(next) = address(hop.trim()) else { break };
            source = next;
        }
        by_network(source)
    }
}

/// A hop as proxies write it, with a port or without.
fn address(hop: &str) -> Option<IpAddr> {
    let bare = || hop.parse::<IpAddr>().ok();
    let with_port = || hop.parse::<SocketAddr>().ok().map(|address| address.ip());
    let bracketed = || hop.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    bare()
        .or_else(with_port)
        .or_else(bracketed)
        .map(|address| address.to_canonical())
}

/// One customer has a whole /64 of IPv6 addresses.
fn by_network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64))),
    }
}

fn is_in(address: IpAddr, block: IpAddr, bits: u8) -> bool {
    let same = |a: u128, b: u128, width: u32| {
        let free = width.saturating_sub(u32::from(bits));
        a.checked_shr(free).unwrap_or_default() == b.checked_shr(free).unwrap_or_default()
    };
    match (address, block.to_canonical()) {
        (IpAddr::V4(a), IpAddr::V4(b)) => same(u128::from(a.to_bits()), u128::from(b.to_bits()), 32),
        (IpAddr::V6(a), IpAddr::V6(b)) => same(a.to_bits(), b.to_bits(), 128),
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
    }
}
