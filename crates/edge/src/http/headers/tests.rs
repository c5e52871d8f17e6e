//! Headers: limits, readings, refusals.

use http::{HeaderMap, HeaderName, HeaderValue};

use super::{Accepts, Read, broken_limit, is_modern, unreadable};

fn headers(lines: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        let name: HeaderName = name.parse().expect("a name");
        headers.append(name, HeaderValue::from_bytes(value.as_bytes()).expect("a value"));
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
fn a_narrowing_that_is_not_known_is_refused() {
    let error = Read::of(&headers(&[("X-Countersign-Specialist", "readers")])).expect_err("must be refused");
    assert!(
        error.contains("x-countersign-specialist") && error.contains("not supported"),
        "{error}"
    );
}

#[test]
fn every_line_of_both_names_of_the_toolset_counts() {
    let (new, old) = ("X-Countersign-Toolset", "X-muster-Toolset");
    type Case<'c> = (&'c [(&'c str, &'c str)], Option<&'c str>);
    let cases: &[Case<'_>] = &[
        (&[], None),
        (&[(new, "")], Some("")),
        (&[(new, "server:a, server:b")], Some("server:a, server:b")),
        (&[(old, "server:a")], Some("server:a")),
        (&[(new, "server:a"), (new, "preset:none")], Some("server:a,preset:none")),
        (&[(new, "server:a"), (old, "server:b")], Some("server:a,server:b")),
        (&[(old, "server:b"), (new, "server:a")], Some("server:b,server:a")),
        (&[(new, ""), (old, "server:b")], Some(",server:b")),
        (&[(new, "server:ü")], Some("server:ü")),
    ];
    for (lines, joined) in cases {
        let headers = headers(lines);
        let read = Read::of(&headers).expect("readable");
        assert_eq!(read.toolset.as_deref(), *joined, "{lines:?}");
    }
}

#[test]
fn a_toolset_that_is_no_text_is_not_left_out() {
    let mut headers = HeaderMap::new();
    let value = HeaderValue::from_bytes(b"server:\xff").expect("a value");
    headers.insert("x-countersign-toolset", value);
    let read = Read::of(&headers).expect("readable");
    assert_eq!(read.toolset.as_deref(), Some("server:\u{fffd}"));
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
