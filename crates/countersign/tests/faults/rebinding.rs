//! Host and Origin: a page on a foreign site reaches loopback under its own name.

use std::net::{SocketAddr, TcpListener};
use std::sync::LazyLock;

use crate::gateway::{BOTH, Folder, Gateway, JSON, initialize, rpc};
use crate::http::{Response, Wire, request};

static GATEWAY: LazyLock<Gateway> = LazyLock::new(|| Folder::new("", "{}").serve());

const MAIN: &[&str] = &[
    "POST /mcp",
    "GET /mcp",
    "DELETE /mcp",
    "OPTIONS /mcp",
    "PUT /mcp",
    "GET /health",
    "GET /ready",
    "GET /metrics",
    "GET /",
    "GET /nothing",
    "POST /mcp/w/team/reader",
    "GET /.well-known/oauth-protected-resource",
    "GET /approve/1",
    "GET /../mcp",
];
const METRICS: &[&str] = &[
    "GET /metrics",
    "GET /health",
    "GET /ready",
    "GET /",
    "GET /nothing",
    "POST /metrics",
    "POST /mcp",
];

fn refused(address: SocketAddr, target: &str, lines: &[&str]) {
    let mut wire = Wire::open(address);
    wire.write(&request(
        target,
        lines,
        if target.starts_with("POST") { b"{not json" } else { b"" },
    ));
    let response = wire.response().expect("a response");
    assert_eq!(response.status, 403, "{target} {lines:?} {response:?}");
    let names = response.headers.iter().map(|(name, _)| name.as_str());
    assert!(
        !names
            .clone()
            .any(|name| name.starts_with("access-control-") || name == "mcp-session-id"),
        "{response:?}"
    );
}

/// Host values that are not the listener's own, for its port.
fn foreign_hosts(address: SocketAddr) -> Vec<String> {
    let port = address.port();
    let other = if port == 9 { 10 } else { 9 };
    [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        "rebind.network".to_owned(),
        "localhost.evil".to_owned(),
        format!("localhost.evil:{port}"),
        format!("127.0.0.1.evil.example:{port}"),
        format!("localhost:{other}"),
        format!("127.0.0.1:{other}"),
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
        format!("localhost.:{port}"),
        format!("localhost:{port}."),
        format!("localhost:{port}:{port}"),
        format!("localhost:0{port}"),
        format!("localhost:{port} evil.example"),
        format!("localhost:{port},evil.example"),
        format!("user@localhost:{port}"),
        format!("localhost:{port}@evil.example"),
        format!("evil.example#localhost:{port}"),
        format!("localhost:{port}/"),
        format!("http://localhost:{port}"),
        format!("0.0.0.0:{port}"),
        format!("127.1:{port}"),
        format!("2130706433:{port}"),
        format!("0x7f.0.0.1:{port}"),
        format!("[::]:{port}"),
        format!("[::ffff:7f00:1]:{port}"),
        format!("::1:{port}"),
        format!("l\u{f6}calhost:{port}"),
        String::new(),
        ":".to_owned(),
        format!(":{port}"),
    ]
    .into()
}

#[test]
fn b086_foreign_hosts_are_refused_on_every_route_of_both_listeners_before_parsing() {
    for (address, targets) in [(GATEWAY.address, MAIN), (GATEWAY.metrics, METRICS)] {
        for host in foreign_hosts(address) {
            // Every host once on the route that matters most, and on all routes where it is the plainest case.
            let all = if host.starts_with("evil.example") {
                targets
            } else {
                &targets[..1]
            };
            for target in all {
                refused(address, target, &[&format!("Host: {host}"), JSON, BOTH]);
            }
        }
        let own = format!("Host: {address}");
        for target in targets {
            refused(address, target, &[JSON, BOTH]);
            refused(address, target, &[&own, "Host: evil.example"]);
            refused(address, target, &["Host: evil.example", &own]);
            refused(address, target, &[&own, &own]);
        }
    }
}

#[test]
fn b086_foreign_origins_are_refused_on_every_route_of_both_listeners_before_parsing() {
    for (address, targets) in [(GATEWAY.address, MAIN), (GATEWAY.metrics, METRICS)] {
        let (own, port) = (format!("Host: {address}"), address.port());
        let origins = [
            "http://evil.example".to_owned(),
            "null".to_owned(),
            String::new(),
            "file://".to_owned(),
            format!("https://127.0.0.1:{port}"),
            format!("http://127.0.0.1:{port}.evil.example"),
            format!("http://evil.example:{port}"),
            "http://localhost".to_owned(),
            "http://localhost:6274".to_owned(),
            format!("http://localhost:{port}/"),
            format!("http://localhost:{port} http://evil.example"),
            format!("http://user@localhost:{port}"),
            format!("ws://localhost:{port}"),
            format!("localhost:{port}"),
            "chrome-extension://abc".to_owned(),
        ];
        for origin in &origins {
            let line = format!("Origin: {origin}");
            let all = if origin == "null" || origin.ends_with("evil.example") {
                targets
            } else {
                &targets[..1]
            };
            for target in all {
                refused(address, target, &[&own, &line, JSON, BOTH]);
            }
        }
        let good = format!("Origin: http://localhost:{port}");
        for target in targets {
            refused(address, target, &[&own, &good, &good]);
            refused(address, target, &[&own, &good, "Origin: null"]);
        }
    }
}

#[test]
fn b086_the_listeners_own_names_are_served_in_any_case() {
    let port = GATEWAY.address.port();
    for host in ["localhost", "LOCALHOST", "LocalHost", "127.0.0.1", "[::1]"] {
        let host = format!("Host: {host}:{port}");
        for more in [
            String::new(),
            format!("Origin: http://localhost:{port}"),
            format!("Origin: HTTP://LOCALHOST:{port}"),
        ] {
            let mut lines = vec![host.as_str(), JSON, BOTH];
            if !more.is_empty() {
                lines.push(&more);
            }
            let response = GATEWAY.exchange("POST /mcp", &lines, initialize("2025-11-25").as_bytes());
            assert_eq!(response.status, 200, "{lines:?}");
            assert_eq!(response.header("access-control-allow-origin"), None);
        }
    }
}

#[test]
fn b086_http_1_0_without_a_host_and_targets_with_a_foreign_one_are_refused() {
    let address = GATEWAY.address;
    let answer = |bytes: String| -> Response {
        let mut wire = Wire::open(address);
        wire.write(bytes.as_bytes());
        wire.response().expect("a response")
    };
    assert_eq!(answer("GET /health HTTP/1.0\r\n\r\n".to_owned()).status, 403);
    assert_eq!(
        answer("GET /health HTTP/1.0\r\nHost: evil.example\r\n\r\n".to_owned()).status,
        403
    );
    assert_eq!(
        answer(format!("GET /health HTTP/1.0\r\nHost: {address}\r\n\r\n")).status,
        200
    );
    let absolute = format!("GET http://evil.example/health HTTP/1.1\r\nHost: {address}\r\n\r\n");
    assert_eq!(answer(absolute).status, 403);
    let both = format!("GET http://{address}/health HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    assert_eq!(answer(both).status, 403);
    let own = format!("GET http://{address}/health HTTP/1.1\r\nHost: {address}\r\n\r\n");
    assert_eq!(answer(own).status, 200);
    assert_ne!(
        answer(format!("CONNECT evil.example:80 HTTP/1.1\r\nHost: {address}\r\n\r\n")).status,
        200
    );
    assert_ne!(
        answer(format!("OPTIONS * HTTP/1.1\r\nHost: {address}\r\n\r\n")).status,
        200
    );
}

#[test]
fn b086_a_listener_on_ipv6_loopback_is_guarded_alike() {
    if TcpListener::bind("[::1]:0").is_err() {
        return;
    }
    let gateway = Folder::new("listen: \"[::1]:0\"", "{}").serve();
    let port = gateway.address.port();
    for host in ["[::1]", "localhost", "127.0.0.1", "LOCALHOST"] {
        let response = gateway.exchange("GET /health", &[&format!("Host: {host}:{port}")], b"");
        assert_eq!(response.status, 200, "{host}");
    }
    for host in [
        "evil.example",
        "[::2]",
        "[::1%25lo]",
        "::1",
        "[0:0:0:0:0:0:0:2]",
        "[::1].evil.example",
    ] {
        refused(gateway.address, "POST /mcp", &[&format!("Host: {host}:{port}")]);
    }
}

#[test]
fn b086_allowed_hosts_and_origins_are_served_and_no_others() {
    let yaml = "allowed_hosts: [gate.internal, \"other.internal:8443\"]\nallowed_origins: [\"http://localhost:6274\"]";
    let gateway = Folder::new(yaml, "{}").serve();
    let status = |lines: &[&str]| gateway.exchange("GET /health", lines, b"").status;
    assert_eq!(status(&["Host: gate.internal"]), 200);
    assert_eq!(status(&["Host: GATE.internal:1234"]), 200);
    assert_eq!(status(&["Host: other.internal:8443"]), 200);
    assert_eq!(status(&["Host: other.internal"]), 403);
    assert_eq!(status(&["Host: gate.internal.evil.example"]), 403);
    let host = gateway.host();
    let served = gateway.exchange("GET /health", &[&host, "Origin: http://localhost:6274"], b"");
    assert_eq!(
        served.header("access-control-allow-origin"),
        Some("http://localhost:6274")
    );
    assert_eq!(status(&[&host, "Origin: http://localhost:6275"]), 403);
    assert_eq!(status(&[&host, "Origin: http://localhost:6274.evil.example"]), 403);
}

#[test]
fn b087_no_session_is_reachable_under_a_foreign_name() {
    let (session, host) = (GATEWAY.session(), GATEWAY.host());
    let list = rpc("1", "tools/list", "{}");
    for foreign in ["Host: evil.example", "Host: rebind.network"] {
        for (target, body) in [("POST /mcp", list.as_str()), ("GET /mcp", ""), ("DELETE /mcp", "")] {
            refused(GATEWAY.address, target, &[foreign, &session, JSON, BOTH]);
            let origin = "Origin: http://evil.example";
            let response = GATEWAY.exchange(target, &[&host, origin, &session, JSON, BOTH], body.as_bytes());
            assert_eq!(response.status, 403, "{target}");
        }
    }
    assert!(
        GATEWAY.legacy(&session, "ping", "").result().is_object(),
        "the session stands"
    );
}

#[test]
fn b087_every_request_of_a_connection_is_checked() {
    let mut wire = Wire::open(GATEWAY.address);
    let host = GATEWAY.host();
    let good = request("GET /health", &[&host], b"");
    let bad = request("GET /health", &["Host: evil.example"], b"");
    wire.write(&[good.clone(), bad, good].concat());
    let statuses: Vec<u16> = (0..3)
        .map(|_| wire.response().map_or(0, |response| response.status))
        .collect();
    assert_eq!(statuses[..2], [200, 403]);
    assert!([200, 0].contains(&statuses[2]), "{statuses:?}");
}
