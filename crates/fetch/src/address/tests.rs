//! Which URLs may be fetched at all.

use super::*;

#[test]
fn only_addresses_of_the_web_without_a_user_are_fetched() {
    for good in [
        "https://a.example",
        "http://127.0.0.1:1/x?y",
        "https://[::1]:1/",
        "https://a/b#c",
    ] {
        assert!(parse(good).is_ok(), "{good}");
    }
    for bad in [
        "",
        "a",
        "/a",
        "ftp://a/",
        "https://",
        "https://u@a/",
        "https://u:p@a/",
        "https:///a",
        "javascript:1",
    ] {
        assert!(parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn the_operator_vouches_for_origins_and_for_hosts() {
    let trust = Trust::nobody()
        .and_origin_of("http://One.example:8080/x")
        .and_host("two.example")
        .and_host("Three.example:99");
    let covers = |url: &str| trust.covers(&url.parse().unwrap());
    for url in [
        "http://one.example:8080/y",
        "https://two.example/",
        "http://two.example:1/",
        "http://three.example:99/",
    ] {
        assert!(covers(url), "{url}");
    }
    for url in [
        "https://one.example:8080/",
        "http://one.example/",
        "http://three.example/",
        "http://sub.two.example/",
    ] {
        assert!(!covers(url), "{url}");
    }
    let implied = Trust::nobody().and_origin_of("https://a.example");
    assert!(implied.covers(&"https://a.example:443/".parse().unwrap()));
}

#[test]
fn a_redirect_leads_where_a_browser_would_go() {
    let from: Uri = "https://a.example/one/two?q".parse().unwrap();
    for (location, leads) in [
        ("/x?y", Some("https://a.example/x?y")),
        ("x", Some("https://a.example/one/x")),
        ("//b.example/x", Some("https://b.example/x")),
        ("http://b.example/#f", Some("http://b.example/")),
        ("x/y:z", Some("https://a.example/one/x/y:z")),
        ("javascript:alert(1)", None),
        ("https://u@b.example/", None),
    ] {
        let resolved = resolved(&from, location).map(|uri| uri.to_string());
        assert_eq!(resolved.as_deref(), leads, "{location}");
    }
}

#[test]
fn i10_what_an_error_shows_of_an_address_has_no_secret() {
    for (url, text) in [
        (
            "https://u:secret@a.example/x?token=secret#secret",
            "https://a.example/x",
        ),
        ("https://a.example?token=secret", "https://a.example"),
        ("secret@", "secret@"),
        ("https://a.example/\r\nx", "https://a.example/x"),
    ] {
        assert_eq!(shown(url), text);
    }
    assert!(shown(&format!("https://a/{}", "x".repeat(999))).chars().count() <= 201);
}
