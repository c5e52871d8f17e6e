//! Retries of modern callers that go on with nothing, and questions that they cannot answer.

use countersign_core::surface::Surface;
use countersign_edge::Settings;
use serde_json::{Value, json};

use super::gateway::{Gateway, direct};
use super::questions::send;
use super::upstream::Upstream;

#[tokio::test]
async fn i5_a_retry_with_a_foreign_state_towards_a_legacy_server_begins_no_call() {
    let upstream = Upstream::with(vec!["echo"]).await;
    let settings = Settings {
        surfaces: vec![Surface::Meta, Surface::Direct],
        ..Settings::default()
    };
    let gateway = Gateway::start(settings, &[upstream.entry("s")]).await;
    // The server is listed, so that it is known to be one of the legacy era.
    gateway.modern("tools/list", None, "").await.result();
    let retry = |state: Value, more: Value| {
        let mut members = json!({"inputResponses":{"a":{"action":"accept"}},"requestState":state});
        for (name, value) in more.as_object().expect("an object") {
            members[name] = value.clone();
        }
        members
    };
    let inner = |name: &str| json!({"arguments":{"name":name,"arguments":{}}});
    let cases = [
        ("x_s_echo", retry(json!("st-1"), json!({}))),
        ("x_s_echo", retry(json!("Countersign-parked-1"), json!({}))),
        ("x_s_echo", retry(json!(7), json!({}))),
        ("core_server_list", retry(json!("st-1"), json!({}))),
        ("call_tool", retry(json!("st-1"), inner("x_s_echo"))),
        ("list_tools", retry(json!("st-1"), json!({}))),
    ];
    for (name, members) in cases {
        let refused = send(&gateway, 1, name, &members).await;
        assert_eq!(refused.code(), -32602, "{name} {members}");
        assert!(refused.body.contains("names no question that was asked"), "{refused:?}");
    }
    assert_eq!(upstream.count("tools/call"), 0);
    let done = send(&gateway, 2, "x_s_echo", &json!({})).await.result();
    assert_eq!(done["resultType"], "complete");
}

#[tokio::test]
async fn a_state_of_a_modern_server_goes_back_to_it() {
    let upstream = Upstream::modern(vec!["need"]).await;
    let gateway = Gateway::start(direct(), &[upstream.entry("m")]).await;
    let answers = json!({"who":{"action":"accept"},"what":{"role":"assistant"}});
    let again = json!({"inputResponses":answers,"requestState":"st-1"});
    let done = send(&gateway, 1, "x_m_need", &again).await.result();
    assert_eq!(done["structuredContent"]["sent"]["requestState"], "st-1", "{done}");
}

#[tokio::test]
async fn a_question_that_a_modern_caller_did_not_declare_to_answer_is_a_missing_capability() {
    let upstream = Upstream::modern(vec!["need", "rude"]).await;
    let gateway = Gateway::start(direct(), &[upstream.entry("m")]).await;
    let lacking = gateway
        .modern("tools/call", Some("x_m_need"), r#""name":"x_m_need","arguments":{}"#)
        .await;
    assert_eq!((lacking.status, lacking.code()), (400, -32021), "{lacking:?}");
    let error = lacking.json()["error"].clone();
    assert!(
        ["{\"elicitation\":{\"form\":{}}}", "{\"sampling\":{}}"]
            .contains(&error["data"]["requiredCapabilities"].to_string().as_str()),
        "{error}"
    );
    assert!(
        error["message"].as_str().is_some_and(|text| text.contains("server m")),
        "{error}"
    );
    // What nobody knows is not known to need anything: it passes, as everything that is not the gateway's own.
    let novel = gateway
        .modern("tools/call", Some("x_m_rude"), r#""name":"x_m_rude","arguments":{}"#)
        .await
        .result();
    assert_eq!(novel["inputRequests"]["a"]["method"], "secrets/list", "{novel}");
}
