//! The guard, the limits and the routes, over real sockets.

use countersign_edge::Settings;

use super::gateway::{Gateway, exchange};

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

#[tokio::test]
async fn b086_foreign_pages_are_refused_on_every_route_before_parsing() {
    let gateway = Gateway::start(Settings::default(), &[]).await;
    let host = gateway.host();
    let cases: &[&[&str]] = &[
        &["Host: evil.example"],
        &["Host: rebind.network"],
        &["Host: localhost.evil"],
        &[],
        &[&host, "Host: evil.example"],
        &[&host, "Origin: http://evil.example"],
        &[&host, "Origin: null"],
        &[&host, "Origin: http://localhost:6274", "Origin: http://localhost:6274"],
    ];
    for target in [
        "POST /mcp",
        "GET /mcp",
        "DELETE /mcp",
        "OPTIONS /mcp",
        "GET /health",
        "GET /ready",
        "GET /nothing",
    ] {
        for lines in cases {
            let response = gateway.raw(target, lines, "not even JSON").await;
            assert_eq!(response.status, 403, "{target} {lines:?} {response:?}");
            assert!(response.header("access-control-allow-origin").is_none());
            assert!(response.json()["error"]["message"].is_string());
        }
    }
    for target in ["GET /metrics", "GET /health", "GET /nothing"] {
        let response = exchange(gateway.metrics, target, &["Host: evil.example"], b"").await;
        assert_eq!(response.status, 403, "metrics {target}");
    }
}

#[tokio::test]
async fn only_listed_origins_get_cors_headers() {
    let allowed_origins = vec!["http://localhost:6274".to_owned()];
    let gateway = Gateway::start(
        Settings {
            allowed_origins,
            ..Settings::default()
        },
        &[],
    )
    .await;
    let host = gateway.host();
    let lines = [
        host.as_str(),
        "Origin: http://localhost:6274",
        "Access-Control-Request-Method: POST",
        "Access-Control-Request-Headers: content-type, mcp-param-region",
    ];
    let preflight = gateway.raw("OPTIONS /mcp", &lines, "").await;
    assert_eq!(preflight.status, 204);
    assert_eq!(
        preflight.header("access-control-allow-origin"),
        Some("http://localhost:6274")
    );
    assert!(
        preflight
            .header("access-control-allow-headers")
            .is_some_and(|names| names.ends_with("mcp-param-region"))
    );
    let own = format!("Origin: http://{}", gateway.address);
    let response = gateway.raw("GET /health", &[&host, &own], "").await;
    assert_eq!(
        (response.status, response.header("access-control-allow-origin")),
        (200, None)
    );
}

#[tokio::test]
async fn b012_get_without_a_stream_is_405_before_anyone_is_asked_who_they_are() {
    let gateway = Gateway::start(Settings::default(), &[]).await;
    let host = gateway.host();
    let session = gateway.session().await;
    let cases: &[&[&str]] = &[
        &[],
        &["Accept: text/event-stream"],
        &["Accept: application/json"],
        &[
            "Accept: text/event-stream",
            "Mcp-Session-Id: 00000000-dead-beef-0000-000000000000",
        ],
        &["Accept: text/event-stream", "MCP-Protocol-Version: 2026-07-28", session],
        &["Accept: application/json", session],
        &[session],
        &["Authorization: Bearer nonsense"],
    ];
    for more in cases {
        let mut lines = vec![host.as_str()];
        lines.extend(*more);
        let response = gateway.raw("GET /mcp", &lines, "").await;
        assert_eq!(
            (response.status, response.header("allow")),
            (405, Some("POST, DELETE")),
            "{more:?}"
        );
        assert!(response.header("www-authenticate").is_none());
    }
}

#[tokio::test]
async fn b047_headers_are_bounded_and_may_not_hold_line_ends() {
    let gateway = Gateway::start(Settings::default(), &[]).await;
    let many: Vec<String> = (0..300).map(|number| format!("X-{number}: a")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(gateway.post(&many, LIST).await.status, 431);
    let long = format!("X-Long: {}", "a".repeat(64 * 1024));
    let response = gateway.post(&[&long], LIST).await;
    assert_eq!(response.status, 431);
    assert!(response.body.contains("`x-long`"), "{response:?}");
    for broken in ["X-Nul: a\0b", "X-Cr: a\rX-Admin: 1", "X-Name\r: a"] {
        assert_eq!(gateway.post(&[broken], LIST).await.status, 400, "{broken:?}");
    }
}

#[tokio::test]
async fn b017_a_body_over_the_limit_is_413_and_names_the_limit() {
    let gateway = Gateway::start(
        Settings {
            request_bytes: 1000,
            ..Settings::default()
        },
        &[],
    )
    .await;
    let large = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":"{}"}}}}"#,
        "a".repeat(6 * 1024 * 1024)
    );
    let response = gateway.post(&[], &large).await;
    assert_eq!(response.status, 413);
    assert!(
        response.body.contains("limits.request_bytes") && response.body.contains("1000"),
        "{response:?}"
    );
    let host = gateway.host();
    let chunked = ["Content-Type: application/json", "Transfer-Encoding: chunked", &host];
    let body = format!("800\r\n{}\r\n0\r\n\r\n", "a".repeat(2048));
    let response = gateway.raw("PUT /mcp", &chunked, "").await;
    assert_eq!(response.status, 405);
    let mut stream = gateway
        .stream("POST /mcp HTTP/1.1\r\nX-A: a\r\nX-B:", &chunked, &body)
        .await;
    assert!([400, 413].contains(&stream.head().await.status));
}

#[tokio::test]
async fn bodies_must_be_plain_json() {
    let gateway = Gateway::start(Settings::default(), &[]).await;
    let host = gateway.host();
    for more in [
        &["Content-Type: text/plain"][..],
        &[],
        &["Content-Type: application/json", "Content-Encoding: gzip"],
    ] {
        let mut lines = vec![host.as_str()];
        lines.extend(more);
        assert_eq!(gateway.raw("POST /mcp", &lines, LIST).await.status, 415, "{more:?}");
    }
    let response = gateway
        .raw(
            "POST /mcp",
            &[&host, "Content-Type: application/json", "Accept: text/html"],
            LIST,
        )
        .await;
    assert_eq!(response.status, 406);
}

#[tokio::test]
async fn strict_json_is_refused_with_its_place() {
    let gateway = Gateway::start(Settings::default(), &[]).await;
    let session = gateway.session().await;
    for (body, code) in [
        ("", -32700),
        ("{", -32700),
        ("\u{feff}{}", -32700),
        ("[]", -32600),
        ("{}", -32600),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}"#,
            -32600,
        ),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, -32600),
    ] {
        let response = gateway.post(&[session], body).await;
        assert_eq!(response.status, 400, "{body}");
        assert!(
            [code, -32600, -32602, -32700].contains(&response.code()),
            "{body} {response:?}"
        );
    }
}

#[tokio::test]
async fn probes_and_metrics_tell_how_the_gateway_is() {
    let gateway = Gateway::start(Settings::default(), &[]).await;
    let host = gateway.host();
    let health = gateway.raw("GET /health", &[&host], "").await;
    assert_eq!((health.status, health.body.as_str()), (200, r#"{"status":"live"}"#));
    let ready = gateway.raw("GET /ready", &[&host], "").await;
    assert_eq!((ready.status, ready.json()["ready"].as_bool()), (200, Some(true)));
    let session = gateway.session().await;
    gateway.post(&[session], LIST).await;
    gateway
        .post(&[session], &super::gateway::call("2", "core_server_list", "{}"))
        .await;
    gateway.edge.count_reload(countersign_edge::Reload::Applied);
    let host = format!("Host: {}", gateway.metrics);
    let metrics = exchange(gateway.metrics, "GET /metrics", &[&host], b"").await;
    for line in [
        "countersign_sessions 1",
        r#"countersign_requests_total{method="tools/list",outcome="done"} 1"#,
        r#"countersign_calls_total{server="gateway",tool="core_server_list",effect="read_only",decision="ran"} 1"#,
        r#"countersign_configuration_reloads_total{result="applied"} 1"#,
        "countersign_build_info{version=",
    ] {
        assert!(metrics.body.contains(line), "{line}\n{}", metrics.body);
    }
    let own = gateway.host();
    assert_eq!(gateway.raw("GET /metrics", &[&own], "").await.status, 404);
    for path in ["GET /", "GET /mcp/", "POST /mcp/w/job/reader"] {
        assert_eq!(gateway.raw(path, &[&own], "").await.status, 404, "{path}");
    }
}
