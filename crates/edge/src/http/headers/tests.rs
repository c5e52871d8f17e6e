//! Headers: limits, readings, refusals.

use http::{HeaderMap, HeaderName, HeaderValue};

use super::{Accepts, Read, broken_limit, is_modern, unreadable};

fn headers(lines: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        let name: HeaderName = name.parse().expect("a name");
        headers.append(name, HeaderValue::from_str(value).expect("a value"));
    }
    headers
}

#[test]
fn b015_accept_is_read_liberally() {
    let cases = [
        (None, true, true),
        (Some("*/*"), true, true),
        (Some("application/json"), true, false),
        (Some("application/json, text/event-stream"), true, true),
        (Some("text/event-stream"), false, true),
        (Some("Application/JSON;q=0.9"), true, false),
        (Some("text/html"), false, false),
        (Some(""), false, false),
    ];
    for (accept, json, events) in cases {
        let lines: Vec<_> = accept.iter().map(|accept| ("accept", *accept)).collect();
        assert_eq!(Accepts::of(&headers(&lines)), Accepts { json, events }, "{accept:?}");
    }
}

#[test]
fn only_dates_are_versions() {
    for modern in ["2026-07-28", "2027-01-01"] {
        assert!(is_modern(modern), "{modern}");
    }
    for other in ["2025-11-25", "v999.0.0", "9999999999", "", "2026-07-28x"] {
        assert!(!is_modern(other), "{other}");
    }
}

#[test]
fn doubled_protocol_headers_are_named() {
    for name in [
        "mcp-session-id",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "x-countersign-surface",
    ] {
        let error = Read::of(&headers(&[(name, "a"), (name, "a")])).expect_err("must be refused");
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn narrowing_headers_are_refused() {
    for name in ["X-Countersign-Toolset", "X-muster-Toolset", "X-Countersign-Specialist"] {
        let error = Read::of(&headers(&[(name, "readers")])).expect_err("must be refused");
        assert!(
            error.contains(&name.to_ascii_lowercase()) && error.contains("not supported"),
            "{error}"
        );
    }
}

#[test]
fn b047_long_headers_are_refused() {
    assert_eq!(broken_limit(&headers(&[("x-a", &"v".repeat(16 * 1024))])), None);
    assert!(broken_limit(&headers(&[("x-a", &"v".repeat(64 * 1024))])).is_some_and(|why| why.contains("`x-a`")));
    let long = "v".repeat(15 * 1024);
    let many: Vec<_> = (0..5).map(|_| ("x-a", long.as_str())).collect();
    assert!(broken_limit(&headers(&many)).is_some_and(|why| why.contains("together")));
}

#[test]
fn only_plain_json_is_readable() {
    assert_eq!(
        unreadable(&headers(&[("content-type", "application/json; charset=utf-8")])),
        None
    );
    for lines in [
        &[][..],
        &[("content-type", "text/plain")],
        &[("content-type", "application/json"), ("content-type", "text/plain")],
        &[("content-type", "application/json"), ("content-encoding", "gzip")],
    ] {
        assert!(unreadable(&headers(lines)).is_some(), "{lines:?}");
    }
}
