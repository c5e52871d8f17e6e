//! Names of tools: too long, claimed twice, taken from arguments.

use std::sync::LazyLock;

use serde_json::Value;

use crate::gateway::{Folder, Gateway, call, catalogue, rpc};
use crate::upstream::{Era, Script, Upstream};

const LONG: &str = "server-with-a-name-of-exactly-forty-char";

struct All {
    long: Upstream,
    a: Upstream,
    a_b: Upstream,
    gateway: Gateway,
}

static ALL: LazyLock<All> = LazyLock::new(|| {
    let forty = "tool_with_a_name_of_exactly_forty_charsx";
    let most = "m".repeat(128);
    let long = Script::with_tools(Era::Legacy, &[forty, &most, "q", "it has blanks"]).start();
    let a = Script::with_tools(Era::Legacy, &["b_c", "fine"]).start();
    let a_b = Script::with_tools(Era::Legacy, &["c", "delete_repo"]).start();
    let mcp = catalogue(&[(LONG, long.address), ("a", a.address), ("a_b", a_b.address)]);
    let gateway = Folder::new("surface: [meta, direct]", &mcp).serve();
    gateway.listed(3);
    All { long, a, a_b, gateway }
});

fn listed(gateway: &Gateway, session: &str) -> Vec<String> {
    let result = gateway.legacy(session, "tools/list", "{}").result();
    let tools = result["tools"].as_array().cloned().unwrap_or_default();
    tools
        .iter()
        .filter_map(|tool| tool["name"].as_str().map(str::to_owned))
        .collect()
}

fn calling(gateway: &Gateway, session: &str, name: &str, arguments: &str) -> Value {
    gateway
        .post(
            &[session],
            &rpc("1", "tools/call", &format!("{{{}}}", call(name, arguments))),
        )
        .json()
}

#[test]
fn b036_every_name_fits_and_leads_to_its_own_tool() {
    let All { long, gateway, .. } = &*ALL;
    let session = gateway.session();
    let names: Vec<String> = listed(gateway, &session)
        .into_iter()
        .filter(|name| name.contains("server-with"))
        .collect();
    assert_eq!(names.len(), 4, "none is dropped: {names:?}");
    let mut reached = Vec::new();
    for name in &names {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        assert!(name.len() <= 64 && name.bytes().all(allowed), "{name}");
        let answer = calling(gateway, &session, "call_tool", &format!(r#"{{"name":"{name}"}}"#));
        let about = &answer["result"]["_meta"]["countersign/tool"];
        assert_eq!(
            (&about["name"], &about["server"]),
            (&Value::from(name.as_str()), &Value::from(LONG))
        );
        let sent: Value = serde_json::from_str(&long.last_of("tools/call").param(&["name"])).expect("a name");
        assert_eq!(about["tool"], sent, "what it is really called is told and sent");
        let shown = calling(gateway, &session, "describe_tool", &format!(r#"{{"name":"{name}"}}"#));
        assert!(shown.to_string().contains(sent.as_str().expect("a text")), "{shown}");
        reached.push(sent.to_string());
    }
    reached.sort();
    reached.dedup();
    assert_eq!(reached.len(), 4);
}

#[test]
fn b037_a_name_that_two_tools_claim_is_nobodys_and_both_are_named() {
    let All { a, a_b, gateway, .. } = &*ALL;
    let session = gateway.session();
    let names = listed(gateway, &session);
    assert!(!names.contains(&"x_a_b_c".to_owned()), "{names:?}");
    assert!(names.contains(&"x_a_fine".to_owned()) && names.contains(&"x_a_b_delete_repo".to_owned()));
    let answer = calling(gateway, &session, "x_a_b_c", "{}");
    assert_eq!(answer["error"]["data"]["code"], "tool_not_found", "{answer}");
    let reached = |upstream: &Upstream, tool: &str| {
        upstream
            .seen_of("tools/call")
            .iter()
            .any(|seen| seen.param(&["name"]).trim_matches('"') == tool)
    };
    assert!(!reached(a, "b_c") && !reached(a_b, "c"));
    let host = gateway.host();
    let findings = gateway.exchange("GET /ready", &[&host], b"").json()["findings"].to_string();
    assert!(findings.contains("x_a_b_c"), "{findings}");
    for origin in ["b_c", "a_b"] {
        assert!(findings.contains(origin), "{origin}: {findings}");
    }
}

#[test]
fn b060_no_argument_chooses_the_tool_or_the_server() {
    let All { a, a_b, gateway, .. } = &*ALL;
    let session = gateway.session();
    let arguments = r#"{"__server":"a_b","_meta":{"server":"a_b"},"arguments":{"name":"delete_repo"},"method":"tools/list","name":"delete_repo","server":"a_b","tool":"delete_repo","tool_name":"delete_repo"}"#;
    for (tool, arguments_of_call) in [
        ("x_a_fine", arguments.to_owned()),
        ("call_tool", format!(r#"{{"name":"x_a_fine","arguments":{arguments}}}"#)),
    ] {
        let answer = calling(gateway, &session, tool, &arguments_of_call);
        assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
        let seen = a.last_of("tools/call");
        assert_eq!(seen.param(&["name"]), "\"fine\"");
        assert_eq!(seen.param(&["arguments"]), arguments, "they are data");
    }
    assert!(a_b.seen_of("tools/call").is_empty());
    // Members beside the name do not choose either.
    let params =
        r#"{"name":"x_a_fine","arguments":{},"tool":"delete_repo","server":"a_b","tool_name":"x_a_b_delete_repo"}"#;
    assert_eq!(
        gateway.post(&[&session], &rpc("1", "tools/call", params)).result()["content"][0]["text"],
        "done"
    );
    assert!(a_b.seen_of("tools/call").is_empty());
}
