//! Calls that say something before they answer, standing streams, cancellation.

use countersign_edge::Settings;
use serde_json::json;

use super::gateway::{Gateway, call, direct, modern};
use super::upstream::Upstream;

const VERSION: &str = "MCP-Protocol-Version: 2026-07-28";

async fn pair() -> (Upstream, Gateway) {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(direct(), &[upstream.entry("s")]).await;
    (upstream, gateway)
}

fn progress(id: u8, token: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"x_s_progress","_meta":{{"progressToken":{token}}}}}}}"#
    )
}

#[tokio::test]
async fn b021_progress_bears_the_callers_own_token() {
    let (_upstream, gateway) = pair().await;
    let session = gateway.session().await;
    for (token, expected) in [("\"p1\"", json!("p1")), ("7", json!(7))] {
        let response = gateway.post(&[session], &progress(1, token)).await;
        assert_eq!(response.header("x-accel-buffering"), Some("no"));
        assert_eq!(response.header("cache-control"), Some("no-store"));
        let events = response.events();
        assert_eq!(events[0]["params"]["progressToken"], expected);
        assert_eq!(events[1]["result"]["structuredContent"]["said"], "progressed");
    }
    let plain = gateway.post(&[session], &call("1", "x_s_progress", "{}")).await;
    assert_eq!(plain.header("content-type"), Some("application/json"));
}

#[tokio::test]
async fn client_without_event_streams_still_gets_the_answer() {
    let (_upstream, gateway) = pair().await;
    let session = gateway.session_with("2025-11-25", r#"{"sampling":{}}"#).await;
    let host = gateway.host();
    let lines = [
        host.as_str(),
        session,
        "Content-Type: application/json",
        "Accept: application/json",
    ];
    for body in [progress(1, "1"), call("1", "x_s_ask", "{}")] {
        let response = gateway.raw("POST /mcp", &lines, &body).await;
        assert_eq!(response.header("content-type"), Some("application/json"));
        assert!(response.result()["structuredContent"]["said"] != json!(null));
    }
}

#[tokio::test]
async fn log_messages_follow_the_level() {
    let (_upstream, gateway) = pair().await;
    let session = gateway.session().await;
    let body = call("1", "x_s_log", "{}");
    assert_eq!(gateway.post(&[session], &body).await.events().len(), 3);
    let level = r#"{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"warning"}}"#;
    gateway.post(&[session], level).await;
    let events = gateway.post(&[session], &body).await.events();
    assert_eq!((events.len(), &events[0]["params"]["level"]), (2, &json!("error")));
    let modern = gateway
        .modern("tools/call", Some("x_s_log"), r#""name":"x_s_log""#)
        .await;
    assert_eq!(modern.header("content-type"), Some("application/json"));
}

#[tokio::test]
async fn upstream_request_reaches_the_caller_and_the_answer_the_upstream() {
    let (upstream, gateway) = pair().await;
    let session = gateway.session_with("2025-11-25", r#"{"sampling":{}}"#).await;
    let mut events = gateway
        .stream("POST /mcp", &gateway.usual(&[session]), &call("5", "x_s_ask", "{}"))
        .await;
    let asked = events.next().await.expect("a request");
    assert_eq!(asked["method"], "sampling/createMessage");
    assert!(
        asked["id"].as_str().is_some_and(|id| id.starts_with("countersign-")),
        "{asked}"
    );
    let answer = json!({"jsonrpc":"2.0","id":asked["id"],"result":{"role":"assistant","model":"m"}}).to_string();
    let other = gateway.session().await;
    assert_eq!(
        gateway
            .post(&[other], &answer.replace("assistant", "intruder"))
            .await
            .status,
        202
    );
    assert_eq!(gateway.post(&[session], &answer).await.status, 202);
    let done = events.next().await.expect("an answer");
    assert_eq!(
        done["result"]["structuredContent"]["said"]["result"]["role"],
        "assistant"
    );
    assert_eq!(events.next().await, None);
    drop(upstream);
}

#[tokio::test]
async fn undeclared_ability_and_modern_callers_refuse_upstream_requests() {
    let (_upstream, gateway) = pair().await;
    let session = gateway.session().await;
    let legacy = gateway.post(&[session], &call("5", "x_s_ask", "{}")).await;
    assert!(legacy.body.contains("-32601"), "{legacy:?}");
    let modern = gateway
        .modern("tools/call", Some("x_s_ask"), r#""name":"x_s_ask""#)
        .await;
    assert!(
        modern.body.contains("result") || modern.body.contains("error"),
        "{modern:?}"
    );
}

#[tokio::test]
async fn b020_cancelled_call_is_cancelled_upstream_and_not_answered() {
    let (upstream, gateway) = pair().await;
    let session = gateway.session().await;
    let body = call("101", "x_s_wait", "{}");
    let lines = [session];
    let (response, ()) = tokio::join!(gateway.post(&lines, &body), async {
        upstream.received(|message| message["params"]["name"] == "wait").await;
        let cancelled = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":101}}"#;
        assert_eq!(gateway.post(&lines, cancelled).await.status, 202);
    });
    assert_eq!((response.status, response.body.as_str()), (200, ""));
    upstream
        .received(|message| message["method"] == "notifications/cancelled")
        .await;
}

#[tokio::test]
async fn modern_disconnect_is_a_cancel() {
    let (upstream, gateway) = pair().await;
    let lines = gateway.usual(&[VERSION, "Mcp-Method: tools/call", "Mcp-Name: x_s_wait"]);
    let stream = gateway
        .stream("POST /mcp", &lines, &modern("tools/call", r#""name":"x_s_wait""#))
        .await;
    upstream.received(|message| message["params"]["name"] == "wait").await;
    drop(stream);
    upstream
        .received(|message| message["method"] == "notifications/cancelled")
        .await;
}

#[tokio::test]
async fn b001_losing_the_stream_never_ends_the_session() {
    let (upstream, gateway) = pair().await;
    let session = gateway.session().await;
    let host = gateway.host();
    let lines = [host.as_str(), session, "Accept: text/event-stream"];
    let mut stream = gateway.stream("GET /mcp", &lines, "").await;
    assert_eq!(stream.head().await.status, 200);
    drop(stream);
    assert_eq!(gateway.post(&[session], &call("1", "x_s_echo", "{}")).await.status, 200);
    let mut first = gateway.stream("GET /mcp", &lines, "").await;
    first.head().await;
    let mut second = gateway.stream("GET /mcp", &lines, "").await;
    second.head().await;
    assert_eq!(
        first.next_but_lists().await,
        None,
        "the newer stream takes the place of the older"
    );
    upstream.add_tool("fresh").await;
    second.next_of("notifications/tools/list_changed").await;
    gateway.stop();
    assert_eq!(second.next_but_lists().await, None);
}

#[tokio::test]
async fn b016_every_open_stream_says_something_within_the_heartbeat() {
    assert!(Settings::default().heartbeat <= std::time::Duration::from_secs(15));
    let upstream = Upstream::start().await;
    let settings = Settings {
        heartbeat: std::time::Duration::from_millis(1),
        ..direct()
    };
    let gateway = Gateway::start(settings, &[upstream.entry("s")]).await;
    let session = gateway.session().await;
    let host = gateway.host();
    let standing = gateway.usual(&[session]);
    // A call that says nothing opens its stream, so that no proxy takes the silence for the end.
    let silent = call("1", "x_s_wait", "{}");
    let listen = r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let modern = gateway.usual(&[VERSION, "Mcp-Method: subscriptions/listen"]);
    let events = [host.as_str(), session, "Accept: text/event-stream"];
    for (target, lines, body) in [
        ("GET /mcp", &events[..], ""),
        ("POST /mcp", &standing, &silent),
        ("POST /mcp", &modern, listen),
    ] {
        let mut stream = gateway.stream(target, lines, body).await;
        let head = stream.head().await;
        assert_eq!(
            (head.status, head.header("content-type")),
            (200, Some("text/event-stream"))
        );
        stream.beats(3).await;
    }
}

#[tokio::test]
async fn b077_b078_an_event_id_of_nobody_gets_a_fresh_stream() {
    let gateway = Gateway::start(direct(), &[]).await;
    let session = gateway.session().await;
    let host = gateway.host();
    let lines = [host.as_str(), session, "Accept: text/event-stream", "Last-Event-ID: 3"];
    let mut stream = gateway.stream("GET /mcp", &lines, "").await;
    assert_eq!(stream.head().await.status, 200);
    gateway.stop();
    assert_eq!(stream.next_but_lists().await, None);
}

#[tokio::test]
async fn updates_go_to_the_sessions_that_subscribed() {
    let (upstream, gateway) = pair().await;
    let (watcher, other) = (gateway.session().await, gateway.session().await);
    let host = gateway.host();
    let mut streams = Vec::new();
    for session in [watcher, other] {
        let mut stream = gateway
            .stream("GET /mcp", &[&host, session, "Accept: text/event-stream"], "")
            .await;
        stream.head().await;
        streams.push(stream);
    }
    let subscribe = |method: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"resources/{method}","params":{{"uri":"note://one"}}}}"#)
    };
    assert_eq!(
        gateway.post(&[watcher], &subscribe("subscribe")).await.result(),
        json!({})
    );
    let updated =
        json!({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"note://one","extra":1}});
    upstream.say(&updated).await;
    let told = streams[0].next_of("notifications/resources/updated").await;
    assert_eq!(told["params"], json!({"uri":"note://one","extra":1}));
    assert_eq!(
        gateway.post(&[watcher], &subscribe("unsubscribe")).await.result(),
        json!({})
    );
    upstream
        .received(|message| message["method"] == "resources/unsubscribe")
        .await;
    // The other session has heard of lists alone.
    gateway.stop();
    assert_eq!(streams[1].next_but_lists().await, None);
}

#[tokio::test]
async fn listen_acknowledges_tags_and_ends_with_a_result() {
    let (upstream, gateway) = pair().await;
    let lines = gateway.usual(&[VERSION, "Mcp-Method: subscriptions/listen"]);
    let wanted = r#""notifications":{"toolsListChanged":true,"resourceSubscriptions":["note://one","no://where"]}"#;
    let mut stream = gateway
        .stream("POST /mcp", &lines, &modern("subscriptions/listen", wanted))
        .await;
    let acknowledged = stream.next().await.expect("an acknowledgement");
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    let tag = json!({"io.modelcontextprotocol/subscriptionId":"m-1"});
    assert_eq!(acknowledged["params"]["_meta"], tag);
    let accepted = &acknowledged["params"]["notifications"];
    assert_eq!(accepted["toolsListChanged"], true);
    assert!(
        accepted["resourceSubscriptions"]
            .as_array()
            .is_some_and(|uris| uris.contains(&json!("note://one")))
    );
    upstream.say(&json!({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"note://one","_meta":{"a":1}}})).await;
    let updated = stream.next_of("notifications/resources/updated").await;
    assert_eq!(
        updated["params"]["_meta"],
        json!({"a":1,"io.modelcontextprotocol/subscriptionId":"m-1"})
    );
    upstream.add_tool("fresh").await;
    let changed = stream.next_of("notifications/tools/list_changed").await;
    assert_eq!(changed["params"]["_meta"], tag);
    gateway.stop();
    let result = stream.next_but_lists().await.expect("a result");
    assert_eq!(
        (&result["id"], &result["result"]["resultType"]),
        (&json!("m-1"), &json!("complete"))
    );
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn shutdown_ends_listen_streams_without_upstreams() {
    let gateway = Gateway::start(direct(), &[]).await;
    let lines = gateway.usual(&[VERSION, "Mcp-Method: subscriptions/listen"]);
    let mut stream = gateway
        .stream(
            "POST /mcp",
            &lines,
            &modern("subscriptions/listen", r#""notifications":{}"#),
        )
        .await;
    assert_eq!(
        stream.next().await.expect("an acknowledgement")["params"]["notifications"],
        json!({})
    );
    gateway.stop();
    assert!(stream.next().await.expect("a result").get("result").is_some());
}
