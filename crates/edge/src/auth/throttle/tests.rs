//! Who is blocked, for how long, and whom it does not touch.

use http::HeaderValue;

use super::*;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn proxies() -> Proxies {
    Proxies(vec![(ip("127.0.0.0"), 8), (ip("10.1.0.0"), 16), (ip("::1"), 128)])
}

fn source(peer: &str, forwarded: &[&str]) -> String {
    let mut headers = HeaderMap::new();
    for line in forwarded {
        headers.append("x-forwarded-for", HeaderValue::from_str(line).unwrap());
    }
    proxies().source(peer.parse().unwrap(), &headers).to_string()
}

#[test]
fn the_source_is_the_right_most_hop_that_is_no_proxy() {
    for (peer, forwarded, expected) in [
        ("192.0.2.1:5", &[][..], "192.0.2.1"),
        // A stranger's own header is not believed.
        ("192.0.2.1:5", &["198.51.100.7"], "192.0.2.1"),
        ("127.0.0.1:5", &["198.51.100.7"], "198.51.100.7"),
        ("127.0.0.1:5", &["1.1.1.1, 198.51.100.7"], "198.51.100.7"),
        ("127.0.0.1:5", &["1.1.1.1", "198.51.100.7, 10.1.2.3"], "198.51.100.7"),
        ("127.0.0.1:5", &["198.51.100.7:4711"], "198.51.100.7"),
        ("127.0.0.1:5", &["[2001:db8:1:2:3:4:5:6]:99"], "2001:db8:1:2::"),
        ("127.0.0.1:5", &["198.51.100.7, nonsense"], "127.0.0.1"),
        ("127.0.0.1:5", &["10.1.2.3, 10.1.2.4"], "10.1.2.3"),
        ("[::1]:5", &["2001:db8:1:2:ffff::1"], "2001:db8:1:2::"),
        ("[::ffff:10.1.9.9]:5", &["198.51.100.7"], "198.51.100.7"),
        ("10.2.0.1:5", &["198.51.100.7"], "10.2.0.1"),
    ] {
        assert_eq!(source(peer, forwarded), expected, "{peer} {forwarded:?}");
    }
}

#[test]
fn one_credential_fails_five_times_and_an_address_fifty() {
    let throttle = Throttle::default();
    let now = Instant::now();
    let (here, there) = (ip("192.0.2.1"), ip("192.0.2.2"));
    let wrong = Digest::of(b"wrong");
    for _ in 0..5 {
        assert_eq!(throttle.blocked(here, &wrong, now), None);
        throttle.failed(here, wrong, now);
    }
    assert_eq!(throttle.blocked(here, &wrong, now), Some(WINDOW));
    assert_eq!(throttle.blocked(there, &wrong, now), None);
    let other = |number: u32| Digest::of(&number.to_le_bytes());
    for number in 5..50 {
        assert_eq!(throttle.blocked(here, &other(number), now), None, "{number}");
        throttle.failed(here, other(number), now);
    }
    assert_eq!(throttle.blocked(here, &other(50), now), Some(WINDOW));
    assert_eq!(throttle.blocked(there, &other(50), now), None);
    let almost = now + WINDOW - Duration::from_secs(1);
    assert_eq!(throttle.blocked(here, &wrong, almost), Some(Duration::from_secs(1)));
    assert_eq!(throttle.blocked(here, &wrong, now + WINDOW), None);
    throttle.failed(here, wrong, now + WINDOW);
    assert_eq!(throttle.blocked(here, &wrong, now + WINDOW), None);
}
