//! Which addresses are public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::{Kind, kind_of};

#[test]
fn b075_addresses_that_lead_inside_are_known_and_public_ones_pass() {
    use Kind::{Carrier, LinkLocal, Loopback, Mapped, Metadata, Multicast, Private, Reserved, Translated, Unspecified};
    let table = [
        ("0.0.0.0", Some(Unspecified)),
        ("0.1.2.3", Some(Unspecified)),
        ("127.0.0.1", Some(Loopback)),
        ("127.255.255.254", Some(Loopback)),
        ("10.0.0.1", Some(Private)),
        ("172.16.0.1", Some(Private)),
        ("172.31.255.255", Some(Private)),
        ("172.32.0.1", None),
        ("172.15.255.255", None),
        ("192.168.0.1", Some(Private)),
        ("192.169.0.1", None),
        ("169.254.169.254", Some(LinkLocal)),
        ("169.254.170.2", Some(LinkLocal)),
        ("169.253.0.1", None),
        ("100.63.255.255", None),
        ("100.64.0.1", Some(Carrier)),
        ("100.100.100.200", Some(Carrier)),
        ("100.127.255.255", Some(Carrier)),
        ("100.128.0.1", None),
        ("168.63.129.16", Some(Metadata)),
        ("192.0.0.192", Some(Reserved)),
        ("192.0.2.1", Some(Reserved)),
        ("198.18.0.1", Some(Reserved)),
        ("198.51.100.1", Some(Reserved)),
        ("203.0.113.1", Some(Reserved)),
        ("224.0.0.1", Some(Multicast)),
        ("239.255.255.250", Some(Multicast)),
        ("240.0.0.1", Some(Reserved)),
        ("255.255.255.255", Some(Reserved)),
        ("8.8.8.8", None),
        ("1.1.1.1", None),
        ("::", Some(Unspecified)),
        ("::1", Some(Loopback)),
        ("::7f00:1", Some(Mapped)),
        ("::ffff:10.0.0.1", Some(Mapped)),
        ("::ffff:169.254.169.254", Some(Mapped)),
        ("::ffff:8.8.8.8", Some(Mapped)),
        ("::ffff:0:127.0.0.1", Some(Mapped)),
        ("64:ff9b::a9fe:a9fe", Some(Translated)),
        ("64:ff9b:1::7f00:1", Some(Translated)),
        ("2002:7f00:1::", Some(Translated)),
        ("2002:a9fe:a9fe::1", Some(Translated)),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", Some(Translated)),
        ("2001:db8::1", Some(Reserved)),
        ("2001:20::1", Some(Reserved)),
        ("3fff::1", Some(Reserved)),
        ("100::1", Some(Reserved)),
        ("4000::1", Some(Reserved)),
        ("fc00::1", Some(Private)),
        ("fd00:ec2::254", Some(Private)),
        ("fec0::1", Some(Private)),
        ("fe80::1", Some(LinkLocal)),
        ("ff02::1", Some(Multicast)),
        ("2606:4700:4700::1111", None),
        ("2a00:1450:4001:81b::200e", None),
    ];
    for (text, kind) in table {
        assert_eq!(kind_of(text.parse().unwrap()), kind, "{text}");
    }
}

proptest! {
    /// Whatever the standard library knows not to be public is refused.
    #[test]
    fn nothing_inside_passes_as_public(v4 in any::<u32>(), v6 in any::<u128>()) {
        let v4 = Ipv4Addr::from(v4);
        let inside = v4.is_private() || v4.is_loopback() || v4.is_link_local() || v4.is_multicast()
            || v4.is_broadcast() || v4.is_unspecified() || v4.is_documentation();
        prop_assert!(!inside || kind_of(IpAddr::V4(v4)).is_some());
        let v6 = Ipv6Addr::from(v6);
        let inside = v6.is_loopback() || v6.is_unspecified() || v6.is_multicast()
            || v6.is_unique_local() || v6.is_unicast_link_local();
        prop_assert!(!inside || kind_of(IpAddr::V6(v6)).is_some());
        // An address in disguise is never public, whatever it hides.
        prop_assert!(kind_of(IpAddr::V6(v4.to_ipv6_mapped())).is_some());
        prop_assert!(kind_of(IpAddr::V6(v4.to_ipv6_compatible())).is_some());
    }
}
