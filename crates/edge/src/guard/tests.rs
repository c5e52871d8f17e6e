//! Host and Origin: every case, one table each.

use http::header::{HOST, ORIGIN};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};

use super::{Allowed, Own, check};
use crate::settings::Settings;

fn settings() -> Settings {
    Settings {
        public_url: Some("https://gw.example/mcp".to_owned()),
        allowed_hosts: vec!["inner.example".to_owned(), "exact.example:9000".to_owned()],
        allowed_origins: vec!["http://localhost:6274".to_owned(), "https://App.example/".to_owned()],
        ..Settings::default()
    }
}

fn outcome(port: u16, target: &str, lines: &[(HeaderName, &str)]) -> Result<bool, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(
            name.clone(),
            HeaderValue::from_bytes(value.as_bytes()).expect("a header value"),
        );
    }
    let own = Own::of(([127, 0, 0, 1], port).into());
    let target: Uri = target.parse().expect("a target");
    let listed = check(&target, &headers, &own, &Allowed::new(&settings()));
    listed
        .map(|listed| listed.0.is_some())
        .map_err(|denied| denied.to_string())
}

#[test]
fn b086_host_must_be_the_listeners_own() {
    let cases: &[(&[&str], bool)] = &[
        (&["127.0.0.1:8090"], true),
        (&["localhost:8090"], true),
        (&["LOCALHOST:8090"], true),
        (&["[::1]:8090"], true),
        (&["gw.example"], true),
        (&["GW.example:443"], true),
        (&["inner.example"], true),
        (&["inner.example:1234"], true),
        (&["exact.example:9000"], true),
        (&[], false),
        (&[""], false),
        (&["evil.example"], false),
        (&["evil.example:8090"], false),
        (&["rebind.network:8090"], false),
        (&["localhost.evil:8090"], false),
        (&["localhost"], false),
        (&["localhost:80"], false),
        (&["127.0.0.1:8091"], false),
        (&["127.0.0.1"], false),
        (&["localhost.:8090"], false),
        (&["127.0.0.1:8090.evil.example"], false),
        (&["evil.example#localhost:8090"], false),
        (&["evil@localhost:8090"], false),
        (&["gw.example:8443"], false),
        (&["exact.example"], false),
        (&["exact.example:9001"], false),
        (&["inner.example.evil"], false),
        (&["127.0.0.1:8090", "127.0.0.1:8090"], false),
        (&["127.0.0.1:8090", "evil.example"], false),
    ];
    for (hosts, served) in cases {
        let lines: Vec<_> = hosts.iter().map(|host| (HOST, *host)).collect();
        assert_eq!(outcome(8090, "/mcp", &lines).is_ok(), *served, "Host {hosts:?}");
    }
}

#[test]
fn b086_origin_must_be_absent_or_allowed_once() {
    let cases: &[(&[&str], Option<bool>)] = &[
        (&[], Some(false)),
        (&["http://localhost:8090"], Some(false)),
        (&["http://127.0.0.1:8090"], Some(false)),
        (&["http://[::1]:8090"], Some(false)),
        (&["https://gw.example"], Some(false)),
        (&["http://localhost:6274"], Some(true)),
        (&["https://app.example"], Some(true)),
        (&["null"], None),
        (&[""], None),
        (&["http://evil.example"], None),
        (&["https://localhost:8090"], None),
        (&["http://localhost"], None),
        (&["http://localhost:8091"], None),
        (&["http://localhost:8090.evil.example"], None),
        (&["http://localhost:8090/"], None),
        (&["http://gw.example"], None),
        (&["file://"], None),
        (&["chrome-extension://abc"], None),
        (&["http://localhost:8090", "http://localhost:8090"], None),
        (&["http://localhost:8090, http://evil.example"], None),
    ];
    for (origins, expected) in cases {
        let mut lines = vec![(HOST, "127.0.0.1:8090")];
        lines.extend(origins.iter().map(|origin| (ORIGIN, *origin)));
        assert_eq!(outcome(8090, "/mcp", &lines).ok(), *expected, "Origin {origins:?}");
    }
}

#[test]
fn b086_absolute_target_may_not_name_a_foreign_host() {
    let host = [(HOST, "127.0.0.1:8090")];
    assert!(outcome(8090, "http://127.0.0.1:8090/mcp", &host).is_ok());
    assert!(outcome(8090, "http://evil.example/mcp", &host).is_err());
}

#[test]
fn host_without_a_port_means_port_80() {
    assert!(outcome(80, "/mcp", &[(HOST, "localhost")]).is_ok());
    assert!(outcome(80, "/mcp", &[(HOST, "localhost:80")]).is_ok());
}

#[test]
fn refusal_names_the_header_and_the_way_out() {
    let foreign = outcome(8090, "/", &[(HOST, "evil.example")]);
    assert_eq!(
        foreign,
        Err("host `evil.example` is not served here; list it in `allowed_hosts` if it should be".to_owned())
    );
    assert_eq!(outcome(8090, "/", &[]), Err("header `host` is missing".to_owned()));
}
