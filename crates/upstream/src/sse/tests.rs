//! Tests of `sse`.

use super::resolved;

#[test]
fn an_endpoint_is_of_the_same_origin_or_none() {
    let base = "http://host:81/mcp/sse".parse().unwrap();
    let table = [
        ("/messages?id=1", Some("http://host:81/messages?id=1")),
        ("messages", Some("http://host:81/mcp/messages")),
        ("http://host:81/m", Some("http://host:81/m")),
        ("https://host:81/m", None),
        ("http://other/m", None),
        ("http://host:81@other/m", None),
        ("//other/m", None),
        ("", None),
    ];
    for (named, wanted) in table {
        assert_eq!(
            resolved(&base, named).map(|uri| uri.to_string()).as_deref(),
            wanted,
            "{named}"
        );
    }
}
