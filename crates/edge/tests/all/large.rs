//! A catalogue of many tools from 50 servers, over real sockets; its size is one that a slow machine lists in time.

use std::sync::Arc;

use countersign_core::secret::Secret;
use countersign_core::server::{ServerEntry, Transport};
use serde_json::{Value, json};

use super::gateway::{Gateway, call, direct};
use super::upstream::Upstream;

#[path = "../../../core/benches/shared/synthetic.rs"]
mod synthetic;

/// The servers, running, and the exposed names of their tools in listing order.
async fn fleet() -> (Vec<Arc<ServerEntry>>, Vec<String>) {
    let (mut entries, mut names) = (Vec::new(), Vec::new());
    for server in synthetic::parts(1000, 50).servers {
        let tools: Vec<Value> = server
            .listing
            .tools
            .iter()
            .map(|tool| serde_json::from_str(tool.raw()).expect("JSON"))
            .collect();
        let name = &server.entry.name;
        names.extend(
            server
                .listing
                .tools
                .iter()
                .map(|tool| format!("x_{name}_{}", tool.name)),
        );
        let upstream = Upstream::scripted(false, Vec::new(), move |message| match message["method"].as_str() {
            Some("tools/list") => Some(json!({"result": {"tools": tools}})),
            Some("tools/call") => Some(json!({"result": {"content": [], "called": message["params"]["name"]}})),
            _ => None,
        });
        let address = upstream.await.address;
        entries.push(Arc::new(ServerEntry {
            transport: Transport::Http {
                url: Secret::plain(format!("http://{address}/mcp")),
                headers: Default::default(),
            },
            ..(*server.entry).clone()
        }));
    }
    (entries, names)
}

/// The names on all pages of `tools/list`.
async fn listed(gateway: &Gateway, session: &str) -> Vec<String> {
    let (mut names, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let params = if cursor.is_null() {
            json!({})
        } else {
            json!({"cursor": cursor})
        };
        let request = json!({"jsonrpc":"2.0","id":1,"method":"tools/list","params":params});
        let result = gateway.post(&[session], &request.to_string()).await.result();
        let page = result["tools"].as_array().expect("a page").iter();
        names.extend(page.map(|tool| tool["name"].as_str().expect("a name").to_owned()));
        cursor = result["nextCursor"].clone();
        if cursor.is_null() {
            return names;
        }
    }
}

#[tokio::test]
async fn a_thousand_tools_of_fifty_servers_are_listed_found_and_called() {
    let (entries, expected) = fleet().await;
    let gateway = Gateway::start(direct(), &entries).await;
    let session = gateway.session().await;
    let first = listed(&gateway, session).await;
    let upstream: Vec<&String> = first.iter().filter(|name| !name.starts_with("core_")).collect();
    assert!(
        upstream.iter().copied().eq(&expected),
        "every tool once, servers by name"
    );
    assert_eq!(first, listed(&gateway, session).await, "the same order each time");
    for name in expected.iter().step_by(20) {
        let called = gateway.post(&[session], &call("2", name, "{}")).await.result();
        let own = called["called"].as_str().expect("the server's own name");
        assert!(name.ends_with(own) && !own.is_empty(), "{name}: {called}");
    }
    let wanted = &expected[432];
    let number = wanted.rsplit('_').next().expect("a number");
    for filter in [
        json!({"query": format!("the tool with number {number}")}),
        json!({"pattern": format!("*_{number}")}),
        json!({"description_filter": format!("variant {}.", number.trim_start_matches('0'))}),
    ] {
        let found = gateway
            .post(
                &[session, "X-Countersign-Surface: meta"],
                &call("3", "filter_tools", &filter.to_string()),
            )
            .await;
        assert_eq!(
            found.result()["structuredContent"]["tools"][0]["name"],
            **wanted,
            "{filter}"
        );
    }
}
