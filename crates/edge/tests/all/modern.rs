//! 2026-07-28 over HTTP.

use countersign_edge::Settings;
use serde_json::json;

use super::gateway::{Gateway, call, direct, modern};
use super::upstream::Upstream;

const VERSION: &str = "MCP-Protocol-Version: 2026-07-28";

#[tokio::test]
async fn discover_tells_versions_and_abilities() {
    let gateway = Gateway::start(Settings::default(), &[]).await;
    let response = gateway.modern("server/discover", None, "").await;
    let result = response.result();
    assert_eq!(result["supportedVersions"][0], "2026-07-28");
    assert_eq!(result["resultType"], "complete");
    assert_eq!(
        (&result["ttlMs"], &result["cacheScope"]),
        (&json!(0), &json!("private"))
    );
    assert_eq!(
        result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "countersign"
    );
    assert!(result["capabilities"].get("logging").is_none());
    assert!(response.header("mcp-session-id").is_none());
}

#[tokio::test]
async fn metadata_and_headers_are_required_and_must_agree() {
    let gateway = Gateway::start(Settings::default(), &[]).await;
    let method = "Mcp-Method: tools/list";
    let good = modern("tools/list", "");
    let bare = r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#;
    let foreign = good.replace("2026-07-28", "2099-01-01");
    let partial = good.replace(r#","io.modelcontextprotocol/clientCapabilities":{}"#, "");
    let cases: &[(&[&str], &str, i64)] = &[
        (&[VERSION, method], bare, -32602),
        (&[VERSION, method], &partial, -32602),
        (&[method], &good, -32020),
        (&[VERSION], &good, -32020),
        (&[VERSION, "Mcp-Method: tools/call"], &good, -32020),
        (&["MCP-Protocol-Version: 2025-11-25", method], &good, -32020),
        (&[VERSION, method], &foreign, -32020),
        (&["MCP-Protocol-Version: 2099-01-01", method], &foreign, -32022),
    ];
    for (lines, body, code) in cases {
        let response = gateway.post(lines, body).await;
        assert_eq!((response.status, response.code()), (400, *code), "{lines:?} {body}");
        assert!(response.json()["id"] == "m-1" || response.json()["id"] == 7);
    }
    assert_eq!(
        gateway
            .post(&[VERSION, method, "Mcp-Session-Id: ignored"], &good)
            .await
            .status,
        200
    );
    assert_eq!(gateway.post(&[VERSION, VERSION, method], &good).await.status, 400);
}

#[tokio::test]
async fn names_in_headers_must_equal_those_in_the_body() {
    let gateway = Gateway::start(Settings::default(), &[]).await;
    let params = r#""name":"core_server_list""#;
    assert_eq!(
        gateway
            .modern("tools/call", Some("core_server_list"), params)
            .await
            .status,
        200
    );
    assert_eq!(
        gateway
            .modern("tools/call", Some("=?base64?Y29yZV9zZXJ2ZXJfbGlzdA==?="), params)
            .await
            .status,
        200
    );
    for wrong in [None, Some("core_config_get"), Some("=?base64?!?=")] {
        let response = gateway.modern("tools/call", wrong, params).await;
        assert_eq!((response.status, response.code()), (400, -32020), "{wrong:?}");
    }
}

#[tokio::test]
async fn removed_and_unknown_methods_are_404() {
    let gateway = Gateway::start(Settings::default(), &[]).await;
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "unknown/method",
    ] {
        let response = gateway.modern(method, None, r#""uri":"a:b""#).await;
        assert_eq!((response.status, response.code()), (404, -32601), "{method}");
        assert_eq!(response.json()["id"], "m-1");
    }
}

#[tokio::test]
async fn results_of_legacy_upstreams_are_completed() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(direct(), &[upstream.entry("s")]).await;
    let result = gateway
        .modern("tools/call", Some("x_s_echo"), r#""name":"x_s_echo""#)
        .await
        .result();
    assert_eq!(result["resultType"], "complete");
    assert!(result.get("ttlMs").is_none());
    assert!(
        result["echo"]["_meta"]
            .get("io.modelcontextprotocol/protocolVersion")
            .is_none(),
        "{result}"
    );
    let read = gateway
        .modern("resources/read", Some("note://one"), r#""uri":"note://one""#)
        .await
        .result();
    assert_eq!(
        (&read["ttlMs"], &read["contents"][0]["text"]),
        (&json!(0), &json!("hello"))
    );
    let list = gateway.modern("tools/list", None, "").await.result();
    assert_eq!(
        (&list["cacheScope"], &list["tools"][0]["name"]),
        (&json!("private"), &json!("x_s_echo"))
    );
    let missing = gateway
        .modern("tools/call", Some("x_s_none"), r#""name":"x_s_none""#)
        .await;
    assert_eq!((missing.status, missing.code()), (200, -32602));
}

#[tokio::test]
async fn notifications_are_taken_in_and_answers_are_not() {
    let gateway = Gateway::start(Settings::default(), &[]).await;
    let lines = [VERSION, "Mcp-Method: notifications/cancelled"];
    let cancelled = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let response = gateway.post(&lines, cancelled).await;
    assert_eq!((response.status, response.body.as_str()), (202, ""));
    let answer = gateway
        .post(&[VERSION], r#"{"jsonrpc":"2.0","id":1,"result":{}}"#)
        .await;
    assert_eq!(answer.status, 400);
}

#[tokio::test]
async fn b089_servers_with_and_without_sessions_serve_callers_with_and_without() {
    let (stateful, stateless) = (Upstream::start().await, Upstream::modern(vec!["plain"]).await);
    let entries = [stateful.entry("old"), stateless.entry("new")];
    let gateway = Gateway::start(direct(), &entries).await;
    let session = gateway.session().await;
    for name in ["x_old_echo", "x_new_plain"] {
        let params = format!(r#""name":"{name}","arguments":{{"n":1}}"#);
        let modern = gateway.modern("tools/call", Some(name), &params).await;
        assert_eq!(modern.header("mcp-session-id"), None, "{name}");
        assert_eq!(modern.result()["resultType"], "complete", "{name}");
        let legacy = gateway.post(&[session], &call("1", name, r#"{"n":1}"#)).await;
        assert_eq!(legacy.result().get("resultType"), None, "{name}");
    }
}
