//! `GET /mcp`, of callers and of the gateway itself.

use std::sync::LazyLock;

use crate::gateway::{Folder, Gateway, call, rpc, until};
use crate::http::{Wire, request};
use crate::upstream::{Era, Script};

static BARE: LazyLock<Gateway> = LazyLock::new(|| Folder::new("", "{}").serve());

#[test]
fn b012_get_opens_the_stream_of_a_session_and_is_405_for_anything_else() {
    let (session, host) = (BARE.session(), BARE.host());
    let events = "Accept: text/event-stream";
    let cases: &[&[&str]] = &[
        &[],
        &[events],
        &["Accept: */*"],
        &["Accept: application/json"],
        &[events, "Mcp-Session-Id: 00000000-dead-beef-0000-000000000000"],
        &[events, "Mcp-Session-Id: "],
        &[events, "MCP-Protocol-Version: 2026-07-28"],
        &[events, "MCP-Protocol-Version: 2026-07-28", &session],
        &["Accept: application/json", &session],
        &[&session],
        &[events, &session, &session],
        &[events, "Authorization: Bearer nonsense"],
        &["Authorization: Basic eDp5", "Cookie: a=b"],
        &[events, "Last-Event-ID: 17"],
    ];
    for more in cases {
        let mut lines = vec![host.as_str()];
        lines.extend(*more);
        let response = BARE.exchange("GET /mcp", &lines, b"");
        assert_eq!(
            (response.status, response.header("allow")),
            (405, Some("POST, DELETE")),
            "{more:?}"
        );
        assert!(response.header("www-authenticate").is_none(), "it starts no sign-in");
    }

    let mut wire = Wire::open(BARE.address);
    wire.write(&request("GET /mcp", &[&host, events, &session], b""));
    let head = wire.head().expect("a response");
    assert_eq!(
        (head.status, head.header("content-type")),
        (200, Some("text/event-stream"))
    );
    assert_eq!(head.header("cache-control"), Some("no-store"));
    assert_eq!(
        head.header("x-accel-buffering"),
        Some("no"),
        "no proxy may hold it back"
    );
}

#[test]
fn b012_other_methods_are_405_with_what_is_allowed() {
    let host = BARE.host();
    for method in ["PUT", "PATCH", "HEAD", "OPTIONS", "TRACE", "BREW"] {
        let mut wire = Wire::open(BARE.address);
        wire.write(&request(&format!("{method} /mcp"), &[&host], b""));
        let head = wire.head().expect("a response");
        assert_eq!(head.status, 405, "{method}");
        let allow = head.header("allow").expect("what is allowed");
        assert!(allow.contains("POST") && allow.contains("DELETE"), "{method}: {allow}");
    }
}

#[test]
fn b012_a_stream_ends_with_its_session_and_is_405_after() {
    let (session, host) = (BARE.session(), BARE.host());
    let lines = [host.as_str(), "Accept: text/event-stream", &session];
    let mut wire = Wire::open(BARE.address);
    wire.write(&request("GET /mcp", &lines, b""));
    assert_eq!(wire.head().expect("a response").status, 200);
    assert_eq!(BARE.exchange("DELETE /mcp", &[&host, &session], b"").status, 204);
    assert_eq!(wire.event(), None, "the stream ends");
    assert_eq!(BARE.exchange("GET /mcp", &lines, b"").status, 405);
    assert_eq!(BARE.exchange("DELETE /mcp", &[&host, &session], b"").status, 404);
}

#[test]
fn b013_a_server_that_refuses_the_get_stream_is_asked_once_and_disturbs_no_other() {
    let refusing = Script::with_tools(Era::Legacy, &["t"]).start();
    let streaming = Script::with_tools(Era::Legacy, &["t"]).streams().start();
    let gateway = Gateway::over(
        "surface: direct",
        &[("refusing", refusing.address), ("streaming", streaming.address)],
    );
    refusing.wait("the one GET", |seen| seen.http_method() == "GET");
    streaming.wait("the GET", |seen| seen.http_method() == "GET");

    let (session, host) = (gateway.session(), gateway.host());
    let listed = gateway.legacy(&session, "tools/list", "{}").result().to_string();
    assert!(
        listed.contains("x_refusing_t") && listed.contains("x_streaming_t"),
        "{listed}"
    );
    let mut stream = Wire::open(gateway.address);
    stream.write(&request(
        "GET /mcp",
        &[&host, "Accept: text/event-stream", &session],
        b"",
    ));
    assert_eq!(stream.head().expect("a response").status, 200);

    for server in ["refusing", "streaming"] {
        for _ in 0..10 {
            let params = format!("{{{}}}", call(&format!("x_{server}_t"), "{}"));
            let response = gateway.post(&[&session], &rpc("1", "tools/call", &params));
            assert_eq!(response.result()["content"][0]["text"], "done", "{server}");
        }
    }
    // Only what really changes is told of, and the first to be told of is that.
    streaming.change(
        "tools/list",
        r#"{"tools":[{"name":"fresh","inputSchema":{"type":"object"}}]}"#,
    );
    streaming.push(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    assert_eq!(
        stream.event().expect("a message")["method"],
        "notifications/tools/list_changed"
    );
    until("the new tool is listed", || {
        gateway
            .legacy(&session, "tools/list", "{}")
            .result()
            .to_string()
            .contains("x_streaming_fresh")
    });

    let gets = |upstream: &crate::upstream::Upstream| {
        upstream
            .seen()
            .iter()
            .filter(|seen| seen.http_method() == "GET")
            .count()
    };
    assert_eq!((gets(&refusing), gets(&streaming)), (1, 1));
    assert_eq!(refusing.seen_of("tools/list").len(), 1, "its list is read once");
    assert_eq!(refusing.seen_of("initialize").len(), 1, "its session stands");
    let log = gateway.log.all();
    assert!(!log.contains("HTTP 405"), "a refused stream is no fault: {log}");
}
