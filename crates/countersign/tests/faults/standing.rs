//! Sessions over their whole life: what ends one, what does not, and how many there may be.

use std::sync::LazyLock;

use crate::gateway::{Folder, Gateway, call, initialize, rpc, until};
use crate::http::{Wire, request};
use crate::upstream::{Era, Script, Upstream};

static PAIR: LazyLock<(Upstream, Gateway)> = LazyLock::new(|| {
    let upstream = Script::with_tools(Era::Legacy, &["t", "slow"]).holds("slow").start();
    let gateway = Gateway::over("surface: direct", &[("u", upstream.address)]);
    (upstream, gateway)
});

const EVENTS: &str = "Accept: text/event-stream";
const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

fn opened(gateway: &Gateway, session: &str) -> Wire {
    let mut wire = Wire::open(gateway.address);
    wire.write(&request("GET /mcp", &[&gateway.host(), EVENTS, session], b""));
    wire
}

fn metric(gateway: &Gateway, line: &str) -> bool {
    let host = format!("Host: {}", gateway.metrics);
    let mut wire = Wire::open(gateway.metrics);
    wire.write(&request("GET /metrics", &[&host], b""));
    wire.response()
        .expect("metrics")
        .text()
        .lines()
        .any(|text| text == line)
}

#[test]
fn b001_no_way_to_lose_a_stream_or_a_connection_ends_the_session() {
    let (_, gateway) = &*PAIR;
    let session = gateway.session();
    let works = |what: &str| {
        let params = format!("{{{}}}", call("x_u_t", "{}"));
        let response = gateway.post(&[&session], &rpc("1", "tools/call", &params));
        assert_eq!(response.status, 200, "{what}: {response:?}");
        assert_eq!(response.result()["content"][0]["text"], "done", "{what}");
    };
    // A reset, before and after the head was read.
    opened(gateway, &session).reset();
    works("reset");
    let mut wire = opened(gateway, &session);
    assert_eq!(wire.head().expect("a response").status, 200);
    drop(wire);
    works("closed");
    let mut wire = opened(gateway, &session);
    wire.head().expect("a response");
    wire.close_sending();
    works("half closed");
    // A newer stream takes the place of an older one.
    let (mut older, mut newer) = (opened(gateway, &session), opened(gateway, &session));
    older.head().expect("a response");
    newer.head().expect("a response");
    drop((older, newer));
    works("two streams");
    // A request that breaks off in its head, in its body, and one that is no request.
    let whole = gateway.posting(&[&session], LIST.as_bytes());
    for length in [20, whole.len() - 3] {
        let mut wire = Wire::open(gateway.address);
        wire.write(&whole[..length]);
        drop(wire);
    }
    let mut wire = Wire::open(gateway.address);
    wire.write(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 this is TLS\r\n\r\n");
    drop(wire);
    works("broken requests");
    for body in [
        "",
        "{",
        "[]",
        "null",
        r#"{"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
    ] {
        let response = gateway.post(&[&session], body);
        assert_eq!(response.status, 400, "{body}: {response:?}");
    }
    works("bad bodies");
    // Another initialize, even with this session's id, is another session.
    assert_eq!(gateway.post(&[&session], &initialize("2025-06-18")).status, 200);
    works("initialize again");
}

#[test]
fn b001_a_call_whose_caller_is_gone_ends_the_call_alone() {
    let (upstream, gateway) = &*PAIR;
    let session = gateway.session();
    let params = format!("{{{}}}", call("x_u_slow", r#"{"mark":"b001-gone"}"#));
    let mut wire = Wire::open(gateway.address);
    wire.write(&gateway.posting(&[&session], rpc("1", "tools/call", &params).as_bytes()));
    let held = upstream.held("b001-gone");
    drop(wire);
    assert!(gateway.legacy(&session, "ping", "").result().is_object());
    assert!(held.answer(r#"{"content":[]}"#), "the server is not disturbed");
    until("the call is recorded as it ended", || {
        gateway
            .trail()
            .iter()
            .any(|entry| entry.to_string().contains("slow") && entry.to_string().contains("\"done\""))
    });
}

#[test]
fn b002_b003_unknown_sessions_are_404_and_initialize_with_one_is_a_new_session() {
    let (_, gateway) = &*PAIR;
    let stale = "Mcp-Session-Id: 00000000-dead-beef-0000-000000000000";
    for (id, shown) in [
        ("1", serde_json::json!(1)),
        ("\"x\"", serde_json::json!("x")),
        ("0", serde_json::json!(0)),
    ] {
        for method in [
            "tools/list",
            "tools/call",
            "ping",
            "resources/read",
            "no/such",
            "logging/setLevel",
        ] {
            let response = gateway.post(&[stale], &rpc(id, method, "{}"));
            assert_eq!(response.status, 404, "{method}");
            assert_eq!(
                (&response.json()["id"], response.header("content-type")),
                (&shown, Some("application/json"))
            );
            assert!(response.header("mcp-session-id").is_none());
        }
    }
    let response = gateway.post(&[stale], &initialize("2025-11-25"));
    assert_eq!(response.status, 200);
    let fresh = response.header("mcp-session-id").expect("an id").to_owned();
    assert!(!stale.contains(&fresh));
    gateway.log.with("`initialize` came with a session id");
    assert_eq!(gateway.post(&[stale], LIST).status, 404, "the old id stays unknown");
    let fresh = format!("Mcp-Session-Id: {fresh}");
    assert_eq!(gateway.post(&[&fresh], LIST).status, 200);
}

#[test]
fn memory_growth_ten_thousand_sessions_that_nobody_ends_stay_small() {
    let yaml = "limits: {sessions: 10000, sessions_per_principal: 10000}";
    let gateway = Folder::new(yaml, "{}").serve();
    let id = |response: crate::http::Response| {
        assert_eq!(response.status, 200, "{response:?}");
        format!("Mcp-Session-Id: {}", response.header("mcp-session-id").expect("an id"))
    };
    let bytes = gateway.posting(&[], initialize("2025-11-25").as_bytes());
    let mut wire = Wire::open(gateway.address);
    let mut open = || {
        wire.write(&bytes);
        id(wire.response().expect("a response"))
    };
    let first = open();
    let second = open();
    for _ in 2..500 {
        open();
    }
    let before = gateway.resident();
    for _ in 500..10_000 {
        open();
    }
    let each = gateway.resident().saturating_sub(before) / 9500;
    assert!(each <= 12 * 1024, "{each} bytes a session");

    // The next one needs a place: of those that nobody listens to, the one that was used least recently has to go.
    let mut stream = opened(&gateway, &first);
    assert_eq!(stream.head().expect("a response").status, 200);
    assert!(metric(&gateway, "countersign_sessions 10000"));
    let next = open();
    assert_eq!(gateway.post(&[&second], LIST).status, 404, "it made room");
    for session in [&first, &next] {
        assert_eq!(gateway.post(&[session], LIST).status, 200);
    }
    assert!(metric(&gateway, "countersign_sessions 10000"));
    assert!(metric(
        &gateway,
        "countersign_sessions_ended_total{reason=\"evicted\"} 1"
    ));
    gateway
        .log
        .with("least recently used, and a new session needed its place");
}

#[test]
fn memory_growth_where_all_sessions_are_in_use_a_new_one_is_refused_with_the_limit() {
    let gateway = Folder::new("limits: {sessions_per_principal: 2}", "{}").serve();
    let streams: Vec<Wire> = (0..2)
        .map(|_| {
            let mut stream = opened(&gateway, &gateway.session());
            assert_eq!(stream.head().expect("a response").status, 200);
            stream
        })
        .collect();
    let response = gateway.post(&[], &initialize("2025-11-25"));
    assert_eq!((response.status, response.header("retry-after")), (503, Some("5")));
    assert!(
        response.message().contains("`limits.sessions_per_principal` (2)"),
        "{response:?}"
    );
    assert_eq!(
        gateway.modern("server/discover", None, "").status,
        200,
        "the modern era needs none"
    );
    drop(streams);
    until("there is room again", || {
        gateway.post(&[], &initialize("2025-11-25")).status == 200
    });
}

#[test]
fn b001_idle_sessions_end_and_that_is_in_the_log_the_trail_and_the_metrics() {
    let gateway = Folder::new("limits: {session_idle_timeout: 1ms}", "{}").serve();
    let session = gateway.session();
    gateway.log.with("limits.session_idle_timeout");
    assert_eq!(gateway.post(&[&session], LIST).status, 404);
    until("the metric", || {
        metric(&gateway, "countersign_sessions_ended_total{reason=\"idle\"} 1")
    });
    let trail = gateway.trail();
    assert!(
        trail
            .iter()
            .any(|entry| entry["kind"] == "session_ended" && entry["reason"].to_string().contains("idle_timeout")),
        "{trail:?}"
    );
}

#[test]
fn b001_a_deleted_session_is_in_the_log_and_the_metrics() {
    let gateway = Folder::new("", "{}").serve();
    let (session, host) = (gateway.session(), gateway.host());
    assert_eq!(gateway.exchange("DELETE /mcp", &[&host, &session], b"").status, 204);
    gateway.log.with("its client ended it");
    assert!(metric(
        &gateway,
        "countersign_sessions_ended_total{reason=\"deleted\"} 1"
    ));
    assert!(metric(&gateway, "countersign_sessions 0"));
}

#[test]
fn b001_sessions_that_end_with_the_gateway_are_in_the_log() {
    let gateway = Folder::new("", "{}").serve();
    let (_first, _second) = (gateway.session(), gateway.session());
    let log = std::sync::Arc::clone(&gateway.log);
    drop(gateway);
    let line = log.with("sessions end because the gateway stops");
    assert!(line.contains("sessions=2"), "{line}");
}
