//! Which addresses are taken.

use super::{endpoint, host, origin};

#[test]
fn a_servers_url_is_http_with_a_host() {
    for good in [
        "http://localhost:1/mcp",
        "https://a.example/mcp?key=1",
        "HTTPS://A.example",
        "http://[::1]:8080/x",
        "http://127.0.0.1",
    ] {
        assert!(endpoint(good).is_ok(), "{good}");
    }
    for bad in [
        "",
        "a.example",
        "/mcp",
        "ftp://a",
        "ws://a",
        "file:///x",
        "http://",
        "http:///x",
        "http://a:0",
        "http://a:99999",
        "http://a:/x",
        "http://a b",
        "http://a/\n",
        "http://a#x",
        "javascript:alert(1)",
        "http://a\\b",
        "http://é.example",
        "http://a:b:c/",
    ] {
        assert!(endpoint(bad).is_err(), "{bad}");
    }
    assert!(endpoint("http://u:p@a/x").unwrap().has_credentials);
    assert!(!endpoint("http://a/x@y").unwrap().has_credentials);
}

#[test]
fn an_origin_has_no_path() {
    assert_eq!(
        origin("https://Gate.Example:8443/").as_deref(),
        Ok("https://gate.example:8443")
    );
    for bad in [
        "null",
        "*",
        "https://a/b",
        "https://a//",
        "https://a?x",
        "https://u@a",
        "https://a#",
        "https://*.a/x",
        "a",
    ] {
        assert!(origin(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_host_has_no_scheme() {
    assert_eq!(host("Gate.Example:80").as_deref(), Ok("gate.example:80"));
    assert_eq!(host("[::1]:80").as_deref(), Ok("[::1]:80"));
    for bad in ["", "http://a", "a/b", "*", "*.a", "a:b", "u@a", "a b"] {
        assert!(host(bad).is_err(), "{bad}");
    }
}
