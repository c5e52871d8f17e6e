//! Addresses that lead inside: which they are, and what each is called.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether the addresses that a name leads to are screened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Screen {
    /// The operator wrote or vouched for the name: it may lead anywhere.
    Nothing,
    /// Others named it: only public addresses are connected to.
    Others,
}

/// What kind of address one is, when it is not a public one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `0.0.0.0/8`, `::`
    Unspecified,
    /// `127.0.0.0/8`, `::1`
    Loopback,
    /// RFC 1918, `fc00::/7`, `fec0::/10`
    Private,
    /// `169.254.0.0/16`, `fe80::/10`: also where clouds serve credentials to machines.
    LinkLocal,
    /// `100.64.0.0/10` (RFC 6598)
    Carrier,
    /// A cloud's own service for its machines, at an address that looks public.
    Metadata,
    /// `224.0.0.0/4`, `ff00::/8`
    Multicast,
    /// `::ffff:0:0/96`, `::/96`: an IPv4 address in disguise.
    Mapped,
    /// `64:ff9b::/96`, `64:ff9b:1::/48`, 6to4, Teredo: an IPv4 address behind a translator or a tunnel.
    Translated,
    /// Reserved, for documentation, for benchmarks, or not given out.
    Reserved,
}

impl Kind {
    /// The word for it, as in "a loopback address".
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Unspecified => "an unspecified",
            Self::Loopback => "a loopback",
            Self::Private => "a private",
            Self::LinkLocal => "a link-local",
            Self::Carrier => "a carrier's shared",
            Self::Metadata => "a cloud's metadata",
            Self::Multicast => "a multicast",
            Self::Mapped => "an IPv4-mapped",
            Self::Translated => "a translated",
            Self::Reserved => "a reserved",
        }
    }
}

/// What kind of address it is; `None` for a public one.
#[must_use]
pub fn kind_of(address: IpAddr) -> Option<Kind> {
    match address {
        IpAddr::V4(address) => kind_of_v4(address),
        IpAddr::V6(address) => kind_of_v6(address),
    }
}

fn kind_of_v4(address: Ipv4Addr) -> Option<Kind> {
    let kind = match address.octets() {
        [0, ..] => Kind::Unspecified,
        [127, ..] => Kind::Loopback,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Kind::Private,
        [169, 254, ..] => Kind::LinkLocal,
        [100, 64..=127, ..] => Kind::Carrier,
        // Azure's own service, reached from its machines alone.
        [168, 63, 129, 16] => Kind::Metadata,
        [224..=239, ..] => Kind::Multicast,
        // RFC 6890: protocol assignments, documentation, 6to4 relays, benchmarks, future use and broadcast.
        [192, 0, 0 | 2, _] | [192, 88, 99, _] | [198, 18 | 19, ..] | [198, 51, 100, _] | [203, 0, 113, _] => {
            Kind::Reserved
        }
        [240..=255, ..] => Kind::Reserved,
        _ => return None,
    };
    Some(kind)
}

fn kind_of_v6(address: Ipv6Addr) -> Option<Kind> {
    let kind = match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Kind::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => Kind::Loopback,
        // Mapped (`::ffff:a.b.c.d`), translated by SIIT (`::ffff:0:a.b.c.d`) and compatible (`::a.b.c.d`).
        [0, 0, 0, 0, 0 | 0xffff, 0 | 0xffff, _, _] => Kind::Mapped,
        [0x64, 0xff9b, ..] => Kind::Translated,
        [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => Kind::Private,
        [0xfe80..=0xfebf, ..] => Kind::LinkLocal,
        [0xff00..=0xffff, ..] => Kind::Multicast,
        [0x2002, ..] | [0x2001, 0, ..] => Kind::Translated,
        // RFC 6890 and its registry: assignments to protocols, and documentation.
        [0x2001, 0x1..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Kind::Reserved,
        // Everything that is given out lies in 2000::/3.
        [0x2000..=0x3fff, ..] => return None,
        _ => Kind::Reserved,
    };
    Some(kind)
}

#[cfg(test)]
mod tests;
