//! MCP Apps: tools for apps alone, and the `ui://` resources that show results.

use serde_json::{Value, json};

use super::gateway::{Gateway, call, direct};
use super::upstream::Upstream;

const APPS: &str = r#"{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}"#;

async fn clock() -> Upstream {
    Upstream::scripted(false, vec![], |message| match message["method"].as_str()? {
        "tools/list" => Some(json!({"result":{"tools":[
            {"name":"show","inputSchema":{"type":"object"},
             "_meta":{"ui":{"resourceUri":"ui://clock"},"ui/resourceUri":"ui://clock"}},
            {"name":"tick","inputSchema":{"type":"object"},
             "_meta":{"ui":{"resourceUri":"ui://clock","visibility":["app"]}}},
        ]}})),
        "tools/call" => Some(json!({"result":{"content":[],"structuredContent":{"called":message["params"]["name"]}}})),
        "resources/list" => Some(json!({"result":{"resources":[]}})),
        "resources/read" => {
            let page = json!({"uri":message["params"]["uri"],"mimeType":"text/html;profile=mcp-app","text":"<p>"});
            Some(json!({"result":{"contents":[page]}}))
        }
        _ => None,
    })
    .await
}

async fn listed(gateway: &Gateway, session: &'static str) -> Vec<Value> {
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let result = gateway.post(&[session], list).await.result();
    let tools = result["tools"].as_array().expect("tools").clone();
    tools
        .into_iter()
        .filter(|tool| tool["name"].to_string().contains("x_"))
        .collect()
}

#[tokio::test]
async fn a_tool_for_apps_alone_is_listed_to_clients_that_show_apps_and_called_by_all() {
    let upstream = clock().await;
    let gateway = Gateway::start(direct(), &[upstream.entry("s")]).await;
    let plain = gateway.session().await;
    let names: Vec<Value> = listed(&gateway, plain)
        .await
        .iter()
        .map(|tool| tool["name"].clone())
        .collect();
    assert_eq!(names, ["x_s_show"]);
    let called = gateway.post(&[plain], &call("2", "x_s_tick", "{}")).await.result();
    assert_eq!(called["structuredContent"]["called"], "tick");
    let host = gateway.session_with("2025-11-25", APPS).await;
    let tools = listed(&gateway, host).await;
    assert_eq!(tools.len(), 2);
    assert_eq!(
        tools[0]["_meta"],
        json!({"ui":{"resourceUri":"ui://clock"},"ui/resourceUri":"ui://clock"})
    );
}

#[tokio::test]
async fn an_app_that_no_list_shows_is_read_from_the_server_whose_tool_names_it() {
    let (one, other) = (clock().await, Upstream::with(vec!["echo"]).await);
    let gateway = Gateway::start(direct(), &[one.entry("a"), other.entry("b")]).await;
    let session = gateway.session().await;
    listed(&gateway, session).await;
    let read = r#"{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"ui://clock"}}"#;
    let page = gateway.post(&[session], read).await.result();
    assert_eq!(page["contents"][0]["mimeType"], "text/html;profile=mcp-app");
    assert_eq!((one.count("resources/read"), other.count("resources/read")), (1, 0));
}

#[tokio::test]
async fn an_app_that_two_servers_publish_is_refused_with_both_named() {
    let (one, other) = (clock().await, clock().await);
    let gateway = Gateway::start(direct(), &[one.entry("a"), other.entry("b")]).await;
    let session = gateway.session().await;
    listed(&gateway, session).await;
    let read = r#"{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"ui://clock"}}"#;
    let refused = gateway.post(&[session], read).await;
    assert_eq!(refused.code(), -32602);
    assert!(refused.body.contains("servers a, b"), "{refused:?}");
    let ready = gateway.raw("GET /ready", &[&gateway.host()], "").await;
    assert!(ready.body.contains("publishes this app too"), "{ready:?}");
}
