//! The session era over HTTP.

use countersign_edge::Settings;
use serde_json::json;

use super::gateway::{Gateway, call, direct, exchange, initialize};
use super::upstream::{ODD, Upstream};

const LIST: &str = r#"{"jsonrpc":"2.0","id":"list","method":"tools/list"}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

#[tokio::test]
async fn handshake_agrees_on_a_version_and_gives_a_session() {
    let gateway = Gateway::start(Settings::default(), &[]).await;
    for (asked, agreed) in [
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2024-11-05", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let response = gateway.post(&[], &initialize(asked, "{}")).await;
        let result = response.result();
        assert_eq!(result["protocolVersion"], agreed, "{asked}");
        assert_eq!(result["capabilities"]["tools"]["listChanged"], true);
        assert_eq!(result["serverInfo"]["name"], "countersign");
        assert!(response.header("mcp-session-id").is_some_and(|id| id.len() == 64));
    }
    let response = gateway
        .post(&[], r#"{"jsonrpc":"2.0","id":9,"method":"initialize","params":{}}"#)
        .await;
    assert_eq!((response.code(), response.json()["id"].as_i64()), (-32602, Some(9)));
}

#[tokio::test]
async fn b002_unknown_session_is_404_with_the_same_id() {
    let gateway = Gateway::start(Settings::default(), &[]).await;
    let response = gateway
        .post(&["Mcp-Session-Id: 00000000-dead-beef-0000-000000000000"], LIST)
        .await;
    assert_eq!((response.status, response.json()["id"].as_str()), (404, Some("list")));
    assert_eq!(response.header("content-type"), Some("application/json"));
    let missing = gateway.post(&[], LIST).await;
    assert_eq!((missing.status, missing.json()["id"].as_str()), (400, Some("list")));
}

#[tokio::test]
async fn b003_initialize_with_a_stale_session_opens_a_new_one() {
    let gateway = Gateway::start(Settings::default(), &[]).await;
    let response = gateway
        .post(&["Mcp-Session-Id: stale"], &initialize("2025-11-25", "{}"))
        .await;
    assert_eq!(response.status, 200);
    assert!(response.header("mcp-session-id").is_some_and(|id| id != "stale"));
}

#[tokio::test]
async fn b008_refused_sessions_are_in_the_trail() {
    let gateway = Gateway::start(Settings::default(), &[]).await;
    gateway.post(&["Mcp-Session-Id: someone-elses"], LIST).await;
    let is_there = async {
        loop {
            let recent = gateway.ledger.recent(10).await.expect("the trail");
            if recent.iter().any(|entry| entry.kind == "session_refused") {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(super::gateway::LIMIT, is_there)
        .await
        .expect("is recorded");
}

#[tokio::test]
async fn b091_requests_before_initialized_are_answered() {
    let gateway = std::sync::Arc::new(Gateway::start(Settings::default(), &[]).await);
    let clients = (0..32).map(|_| {
        let gateway = std::sync::Arc::clone(&gateway);
        tokio::spawn(async move {
            let session = gateway.session().await;
            let lines = [session];
            let (list, initialized) = tokio::join!(gateway.post(&lines, LIST), gateway.post(&lines, INITIALIZED));
            assert_eq!((list.status, initialized.status), (200, 202));
            assert!(list.result()["tools"].is_array());
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.await.expect("is served");
    }
}

#[tokio::test]
async fn ended_session_is_gone() {
    let gateway = Gateway::start(Settings::default(), &[]).await;
    let session = gateway.session().await;
    let host = gateway.host();
    assert_eq!(gateway.raw("DELETE /mcp", &[&host, session], "").await.status, 204);
    assert_eq!(gateway.raw("DELETE /mcp", &[&host, session], "").await.status, 404);
    assert_eq!(gateway.raw("DELETE /mcp", &[&host], "").await.status, 400);
    assert_eq!(gateway.post(&[session], LIST).await.status, 404);
    let modern = gateway
        .raw("DELETE /mcp", &[&host, session, "MCP-Protocol-Version: 2026-07-28"], "")
        .await;
    assert_eq!(modern.status, 405);
}

#[tokio::test]
async fn sessions_over_the_limit_take_the_place_of_the_oldest() {
    let gateway = Gateway::start(
        Settings {
            sessions_per_principal: 2,
            ..Settings::default()
        },
        &[],
    )
    .await;
    let (first, second, third) = (
        gateway.session().await,
        gateway.session().await,
        gateway.session().await,
    );
    assert_eq!(gateway.post(&[first], LIST).await.status, 404);
    assert_eq!(gateway.post(&[second], LIST).await.status, 200);
    assert_eq!(gateway.post(&[third], LIST).await.status, 200);
}

#[tokio::test]
async fn version_header_must_be_a_served_one() {
    let gateway = Gateway::start(Settings::default(), &[]).await;
    let session = gateway.session().await;
    for (line, status) in [
        ("MCP-Protocol-Version: 2025-11-25", 200),
        ("MCP-Protocol-Version: 2025-03-26", 200),
        ("MCP-Protocol-Version: 2024-11-05", 400),
        ("MCP-Protocol-Version: 1.0", 400),
    ] {
        let response = gateway.post(&[session, line], LIST).await;
        assert_eq!(
            (response.status, response.json()["id"].as_str()),
            (status, Some("list")),
            "{line}"
        );
    }
}

#[tokio::test]
async fn simple_requests_are_answered_here() {
    let gateway = Gateway::start(Settings::default(), &[]).await;
    let session = gateway.session().await;
    let ask = async |body: &str| gateway.post(&[session], body).await;
    assert_eq!(
        ask(r#"{"jsonrpc":"2.0","id":12345678901234567890,"method":"ping"}"#)
            .await
            .body,
        r#"{"jsonrpc":"2.0","id":12345678901234567890,"result":{}}"#
    );
    assert_eq!(
        ask(r#"{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}"#)
            .await
            .result(),
        json!({})
    );
    assert_eq!(
        ask(r#"{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"loud"}}"#)
            .await
            .code(),
        -32602
    );
    let unknown = ask(r#"{"jsonrpc":"2.0","id":1,"method":"nonsense"}"#).await;
    assert_eq!((unknown.status, unknown.code()), (200, -32601));
    for (method, member) in [
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ] {
        assert_eq!(
            ask(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#))
                .await
                .result(),
            json!({member: []})
        );
    }
    let missing = ask(r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"no://where"}}"#).await;
    assert_eq!(
        (missing.code(), missing.json()["error"]["data"]["uri"].as_str()),
        (-32002, Some("no://where"))
    );
}

#[tokio::test]
async fn surfaces_are_chosen_by_settings_and_by_header() {
    let gateway = Gateway::start(Settings::default(), &[]).await;
    let session = gateway.session().await;
    let names = async |more: &str| {
        let response = gateway.post(&[session, more], LIST).await;
        let tools = response.result()["tools"].as_array().expect("tools").clone();
        tools
            .iter()
            .map(|tool| tool["name"].as_str().expect("a name").to_owned())
            .collect::<Vec<_>>()
    };
    let meta = names("X-A: b").await;
    assert!(meta.contains(&"call_tool".to_owned()) && !meta.contains(&"core_server_list".to_owned()));
    let direct = names("X-Countersign-Surface: direct").await;
    assert!(direct.contains(&"core_server_list".to_owned()) && !direct.contains(&"call_tool".to_owned()));
    assert_eq!(
        names("X-Countersign-Surface: meta, direct").await.len(),
        meta.len() + direct.len()
    );
    let unknown = gateway.post(&[session, "X-Countersign-Surface: all"], LIST).await;
    assert_eq!(unknown.status, 400);
    assert!(
        unknown.body.contains("`meta`") && unknown.body.contains("`direct`"),
        "{unknown:?}"
    );
    let specialist = gateway.post(&[session, "X-Countersign-Specialist: a"], LIST).await;
    assert_eq!(specialist.status, 400, "{specialist:?}");
}

#[tokio::test]
async fn live_reload_changes_the_surface_of_open_sessions() {
    let gateway = Gateway::start(Settings::default(), &[]).await;
    let session = gateway.session().await;
    gateway.edge.apply(direct());
    let response = gateway.post(&[session], LIST).await;
    assert!(response.body.contains("core_server_list"));
}

#[tokio::test]
async fn bad_cursor_is_refused() {
    let gateway = Gateway::start(direct(), &[]).await;
    let session = gateway.session().await;
    for cursor in [r#""""#, r#""x""#, "7", "null"] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"cursor":{cursor}}}}}"#);
        let response = gateway.post(&[session], &body).await;
        assert_eq!(response.code(), -32602, "{cursor}");
        assert!(response.body.contains("params.cursor"));
    }
}

#[tokio::test]
async fn b041_null_arguments() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(direct(), &[upstream.entry("s")]).await;
    let session = gateway.session().await;
    let ask = async |arguments: &str| {
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"x_s_echo"{arguments}}}}}"#);
        gateway.post(&[session], &body).await
    };
    for same in ["", r#","arguments":{}"#] {
        assert_eq!(ask(same).await.result()["echo"]["arguments"], json!({}), "{same}");
    }
    for wrong in ["null", "[]", "'x'", "7", "true"] {
        let wrong = wrong.replace('\'', "\"");
        let response = ask(&format!(r#","arguments":{wrong}"#)).await;
        assert_eq!(response.code(), -32602, "{wrong}");
        assert!(response.body.contains("params.arguments"), "{response:?}");
    }
}

#[tokio::test]
async fn b043_results_pass_byte_for_byte() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(direct(), &[upstream.entry("s")]).await;
    let session = gateway.session().await;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x_s_echo","arguments":{"b":1,"a":2},"future":{"z":1},"_meta":{"traceparent":"00-a","vendor/key":[1]}}}"#;
    gateway.post(&[session], body).await;
    let odd = gateway.post(&[session], &call("1", "x_s_odd", "{}")).await;
    assert_eq!(odd.body, format!(r#"{{"jsonrpc":"2.0","id":1,"result":{ODD}}}"#));
    let sent = upstream.received(|message| message["method"] == "tools/call").await;
    assert_eq!(sent["params"]["name"], "echo");
    assert_eq!(sent["params"]["arguments"], json!({"a":2,"b":1}));
    assert_eq!(sent["params"]["future"], json!({"z":1}));
    assert_eq!(sent["params"]["_meta"]["vendor/key"], json!([1]));
}

#[tokio::test]
async fn unknown_tools_prompts_and_servers_are_said_so() {
    let gateway = Gateway::start(Settings::default(), &[]).await;
    let session = gateway.session().await;
    let response = gateway.post(&[session], &call("1", "core_server_lost", "{}")).await;
    let error = response.json()["error"].clone();
    assert_eq!(
        (error["code"].as_i64(), error["message"].as_str()),
        (Some(-32602), Some("Tool not found: core_server_lost"))
    );
    assert_eq!(error["data"]["code"], "tool_not_found");
    assert!(
        error["data"]["nearest"]
            .as_array()
            .is_some_and(|nearest| nearest.contains(&json!("core_server_list")))
    );
    let prompt = r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"nope"}}"#;
    assert_eq!(gateway.post(&[session], prompt).await.code(), -32602);
}

#[tokio::test]
async fn batches_are_for_2025_03_26_only() {
    let gateway = Gateway::start(Settings::default(), &[]).await;
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":2,"method":"nonsense"}]"#;
    let old = gateway.session_with("2025-03-26", "{}").await;
    let answers = gateway.post(&[old], batch).await.json();
    assert_eq!(answers.as_array().map(Vec::len), Some(2));
    assert_eq!(
        (&answers[0]["id"], &answers[1]["error"]["code"]),
        (&json!(1), &json!(-32601))
    );
    let quiet = r#"[{"jsonrpc":"2.0","method":"notifications/initialized"}]"#;
    assert_eq!(gateway.post(&[old], quiet).await.status, 202);
    let new = gateway.session().await;
    let refused = gateway.post(&[new], batch).await;
    assert_eq!((refused.status, refused.code()), (400, -32600));
    assert_eq!(gateway.post(&[], batch).await.status, 400);
}

#[tokio::test]
async fn event_stream_alone_is_answered_as_events() {
    let gateway = Gateway::start(Settings::default(), &[]).await;
    let session = gateway.session().await;
    let host = gateway.host();
    let lines = [
        host.as_str(),
        session,
        "Content-Type: application/json",
        "Accept: text/event-stream",
    ];
    let response = gateway.raw("POST /mcp", &lines, LIST).await;
    assert_eq!(response.header("content-type"), Some("text/event-stream"));
    assert_eq!(response.events().len(), 1);
}

#[tokio::test]
async fn b044_any_text_makes_the_round_trip_and_half_characters_are_refused() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(direct(), &[upstream.entry("s")]).await;
    let session = gateway.session().await;
    let text = r#"{"t":"Đ × ★ 漢字 \ud83d\ude00 \u2028 \u0000"}"#;
    let echoed = gateway.post(&[session], &call("\"ü\"", "x_s_echo", text)).await;
    assert_eq!(echoed.json()["id"], "ü");
    assert_eq!(
        echoed.result()["echo"]["arguments"]["t"],
        "Đ × ★ 漢字 \u{1f600} \u{2028} \0"
    );
    let half = gateway
        .post(&[session], &call("1", "x_s_echo", r#"{"t":"\ud800"}"#))
        .await;
    assert_eq!(half.status, 400);
    assert!(half.code() < -32000);
}

#[tokio::test]
async fn b060_arguments_never_choose_the_tool() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(direct(), &[upstream.entry("s")]).await;
    let session = gateway.session().await;
    let arguments = r#"{"__server":"x","name":"delete","tool_name":"delete"}"#;
    let echoed = gateway
        .post(&[session], &call("1", "x_s_echo", arguments))
        .await
        .result()["echo"]
        .clone();
    assert_eq!(
        (&echoed["name"], echoed["arguments"].to_string().as_str()),
        (&json!("echo"), arguments)
    );
}

#[tokio::test]
async fn duplicate_keys_are_refused_wherever_they_are() {
    let gateway = Gateway::start(direct(), &[]).await;
    let session = gateway.session().await;
    for body in [
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","m\u0065thod":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"core_events","name":"core_server_stop"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"core_events","arguments":{"a":{"b":1,"b":2}}}}"#,
    ] {
        let response = gateway.post(&[session], body).await;
        assert_eq!(response.status, 400, "{body}");
        assert!(
            response.json()["error"]["message"]
                .as_str()
                .is_some_and(|text| text.contains("duplicate")),
            "{response:?}"
        );
    }
}

#[tokio::test]
async fn large_capabilities_are_not_kept() {
    let gateway = Gateway::start(direct(), &[]).await;
    let capabilities = format!(r#"{{"experimental":{{"a":"{}"}}}}"#, "a".repeat(10_000));
    assert_eq!(
        gateway.post(&[], &initialize("2025-11-25", &capabilities)).await.code(),
        -32602
    );
}

#[tokio::test]
async fn b001_an_idle_session_ends_visibly_and_a_used_one_does_not() {
    let gateway = Gateway::start(
        Settings {
            session_idle_timeout: std::time::Duration::from_millis(1),
            ..Settings::default()
        },
        &[],
    )
    .await;
    let session = gateway.session().await;
    // Every look is a use, and between two uses there is always a millisecond.
    while gateway.post(&[session], LIST).await.status != 404 {
        tokio::task::yield_now().await;
    }
    let host = format!("Host: {}", gateway.metrics);
    let ended = r#"countersign_sessions_ended_total{reason="idle"} 1"#;
    while !exchange(gateway.metrics, "GET /metrics", &[&host], b"")
        .await
        .body
        .contains(ended)
    {}
    let trail = gateway.ledger.recent(10).await.expect("reads");
    let trail = format!("{trail:?}");
    assert!(
        trail.contains("session_ended") && trail.contains("session_idle_timeout"),
        "{trail}"
    );

    // A longer time holds for sessions that are open already.
    gateway.edge.apply(Settings::default());
    let session = gateway.session().await;
    assert_eq!(gateway.post(&[session], LIST).await.status, 200);
}
