//! A family on the direct surface at 2026-07-28: listed once, called on the member that the argument names, and
//! what is said of a member that was stopped.

use std::sync::Arc;

use countersign_core::names::FamilyName;
use countersign_core::server::{Membership, ServerEntry};
use serde_json::{Value, json};

use super::gateway::{Gateway, direct};
use super::upstream::Upstream;

/// A server whose one tool has an output schema and says what it was sent.
async fn member(name: &'static str) -> (Upstream, Arc<ServerEntry>) {
    let upstream = Upstream::scripted(false, vec![], move |message| match message["method"].as_str()? {
        "tools/list" => Some(
            json!({"result":{"tools":[{"name":"pods","inputSchema":{"type":"object"},
            "outputSchema":{"type":"object","required":["at"]}}]}}),
        ),
        "tools/call" => {
            Some(json!({"result":{"content":[],"structuredContent":{"at":name,"sent":message["params"]["arguments"]}}}))
        }
        _ => None,
    })
    .await;
    let mut entry = (*upstream.entry(name)).clone();
    entry.family = Some(Membership {
        name: FamilyName::parse("k8s").expect("a name"),
        instance_arg: "cluster".into(),
    });
    (upstream, Arc::new(entry))
}

async fn pods(gateway: &Gateway, arguments: &str) -> Value {
    let params = format!(r#""name":"x_k8s_pods","arguments":{arguments}"#);
    gateway.modern("tools/call", Some("x_k8s_pods"), &params).await.result()
}

#[tokio::test]
async fn a_family_is_listed_once_and_the_argument_reaches_no_server_nor_the_trail() {
    let (east, one) = member("east").await;
    let (west, two) = member("west").await;
    let gateway = Gateway::start(direct(), &[two, one]).await;
    let list = gateway.modern("tools/list", None, "").await.result();
    let tools = list["tools"].as_array().expect("a list");
    let of_family: Vec<&Value> = tools.iter().filter(|tool| tool["name"] == "x_k8s_pods").collect();
    assert_eq!(of_family.len(), 1, "{list}");
    assert_eq!(of_family[0]["outputSchema"], json!({"type":"object","required":["at"]}));
    assert_eq!(
        of_family[0]["inputSchema"]["properties"]["cluster"]["enum"],
        json!(["east", "west"])
    );
    let answer = pods(&gateway, r#"{"cluster":"west","n":1}"#).await;
    assert_eq!(answer["structuredContent"], json!({"at":"west","sent":{"n":1}}));
    assert_eq!((east.count("tools/call"), west.count("tools/call")), (0, 1));
    for refused in ["{}", r#"{"cluster":"north"}"#, r#"{"cluster":["west"]}"#] {
        let refused = pods(&gateway, refused).await;
        assert_eq!(refused["isError"], true, "{refused}");
        // Structured content would have to match the tool's own output schema.
        assert!(refused.get("structuredContent").is_none(), "{refused}");
    }
    assert_eq!((east.count("tools/call"), west.count("tools/call")), (0, 1));
    let trail = gateway.ledger.recent(10).await.expect("reads");
    let ran = trail
        .iter()
        .map(|entry| json!(entry))
        .find(|entry| entry["server"] == "west");
    let sent = countersign_core::exact::Exact::object(r#"{"n":1}"#).expect("an object");
    assert_eq!(ran.expect("an entry")["args_sha256"], sent.digest().hex());
}

#[tokio::test]
async fn a_stopped_member_leaves_and_a_family_without_members_says_who_is_stopped() {
    let (_east, one) = member("east").await;
    let (_west, two) = member("west").await;
    let gateway = Gateway::start(direct(), &[one, two]).await;
    gateway.modern("tools/list", None, "").await.result();
    let stop = async |server: &str| {
        let params = format!(r#""name":"core_server_stop","arguments":{{"server":"{server}"}}"#);
        gateway
            .modern("tools/call", Some("core_server_stop"), &params)
            .await
            .result();
    };
    let text = |result: Value| result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    let until = async |wanted: &str| loop {
        let said = text(pods(&gateway, r#"{"cluster":"west"}"#).await);
        if said == wanted {
            break;
        }
    };
    stop("west").await;
    until(r#"tool x_k8s_pods is not available on server "west" (available: east)"#).await;
    stop("east").await;
    until("servers east, west are unavailable: they were stopped with core_server_stop; core_server_start starts one again").await;
}

#[tokio::test]
async fn a_family_has_the_members_that_the_toolset_selects_and_the_others_are_refused() {
    let (_east, one) = member("east").await;
    let (west, two) = member("west").await;
    let gateway = Gateway::start(direct(), &[two, one]).await;
    let session = gateway.session().await;
    let ask = async |method: &str, params: Value| {
        let body = json!({"jsonrpc":"2.0","id":1,"method":method,"params":params}).to_string();
        let toolset = "X-Countersign-Toolset: server:east";
        gateway.post(&[session, toolset], &body).await.result()
    };
    let list = ask("tools/list", json!({})).await;
    let tools = list["tools"].as_array().expect("a list");
    assert_eq!(tools.len(), 1, "{list}");
    assert_eq!(
        tools[0]["inputSchema"]["properties"]["cluster"]["enum"],
        json!(["east"])
    );
    let call = |arguments: Value| json!({"name":"x_k8s_pods","arguments":arguments});
    let ran = ask("tools/call", call(json!({"cluster":"east"}))).await;
    assert_eq!(ran["structuredContent"]["at"], "east", "{ran}");
    let refused = ask("tools/call", call(json!({"cluster":"west"}))).await;
    assert_eq!(
        refused["content"][0]["text"],
        "tool \"x_k8s_pods\" on server \"west\" is outside the toolset [server:east]"
    );
    // The tool is listed, so that structured content would have to match its output schema.
    assert!(refused.get("structuredContent").is_none(), "{refused}");
    let said = &refused["_meta"]["countersign/outcome"];
    assert_eq!(
        (&said["code"], &said["server"]),
        (&json!("outside_toolset"), &json!("west"))
    );
    let missing = ask("tools/call", call(json!({}))).await;
    assert!(
        missing.to_string().contains("provided by a family on servers east;"),
        "{missing}"
    );
    assert_eq!(west.count("tools/call"), 0);
}
