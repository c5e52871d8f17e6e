//! The invariants that show at the binary: hidden means refused (I3), no decision without a record (I6).

use std::sync::LazyLock;

use serde_json::Value;

use crate::gateway::{Gateway, call, rpc};
use crate::http::request;
use crate::upstream::{Era, Script, Upstream};

static PAIR: LazyLock<(Upstream, Gateway)> = LazyLock::new(|| {
    let tools = r#"{"tools":[{"name":"shown","inputSchema":{"type":"object"}},{"name":"set_aside","inputSchema":{"type":"array"}},
        {"name":"far","inputSchema":{"$ref":"http://evil.example/schema.json"}}]}"#;
    let upstream = Script::new(Era::Legacy).answer("tools/list", tools).start();
    let gateway = Gateway::over("surface: [meta, direct]", &[("u", upstream.address)]);
    (upstream, gateway)
});

/// Names that no caller can discover: unknown, the server's own, set aside, and names bent to look like a good one.
const HIDDEN: &[&str] = &[
    "x_u_nothing",
    "shown",
    "u_shown",
    "u/shown",
    "u.shown",
    "x_u_set_aside",
    "set_aside",
    "x_u_far",
    "x__u_shown",
    "x_u_shown ",
    " x_u_shown",
    "X_U_SHOWN",
    "x_u_shown\\u0000",
    "x_u_\\uff53hown",
    "x_u_shown\\n",
    "x_x_u_shown",
    "",
    "core_server_create",
    "workflow_x",
    "execute_code",
    "discover_tools",
    "request_grant",
];

fn surfaced(surface: &str, session: &str, params: &str) -> Value {
    let surface = format!("X-Countersign-Surface: {surface}");
    PAIR.1
        .post(&[session, &surface], &rpc("1", "tools/call", params))
        .json()
}

/// An answer with the name that was asked for taken out, so that answers to different names can be compared.
fn without(answer: &Value, name: &str) -> String {
    let name: String = serde_json::from_str(&format!("\"{name}\"")).expect("a name");
    let mut answer = answer.clone();
    for place in ["/error/data", "/result/structuredContent"] {
        if let Some(data) = answer.pointer_mut(place).and_then(Value::as_object_mut) {
            data.remove("nearest");
        }
    }
    let mut text = answer.to_string();
    let quoted = serde_json::to_string(&name).expect("JSON");
    let inner = quoted.trim_matches('"');
    if !inner.is_empty() {
        text = text.replace(inner, "NAME");
    }
    text
}

#[test]
fn i3_what_is_hidden_is_answered_like_what_is_unknown_on_every_road_and_surface() {
    let session = PAIR.1.session();
    for surface in ["meta", "direct", "meta, direct"] {
        let direct_of = |name: &str| surfaced(surface, &session, &format!(r#"{{"name":"{name}","arguments":{{}}}}"#));
        let unknown = direct_of("x_u_nothing");
        assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
        for name in HIDDEN {
            if name.is_empty() {
                assert_eq!(direct_of(name)["error"]["code"], -32602);
                continue;
            }
            let answer = direct_of(name);
            assert_eq!(answer["error"]["code"], -32602, "{surface} {name}: {answer}");
            assert_eq!(
                answer["error"]["data"]["code"], unknown["error"]["data"]["code"],
                "{surface} {name}"
            );
            let told = without(&answer, name);
            assert_eq!(told, without(&unknown, "x_u_nothing"), "{surface} {name}: {answer}");
        }
        if surface == "direct" {
            continue;
        }
        let through_of = |name: &str| {
            surfaced(
                surface,
                &session,
                &format!("{{{}}}", call("call_tool", &format!(r#"{{"name":"{name}"}}"#))),
            )
        };
        for name in HIDDEN.iter().filter(|name| !name.is_empty()) {
            let answer = through_of(name);
            assert_eq!(answer["result"]["isError"], true, "{surface} {name}: {answer}");
            assert_eq!(
                answer["result"]["structuredContent"]["code"], "tool_not_found",
                "{name}: {answer}"
            );
        }
    }
    assert!(
        PAIR.0
            .seen_of("tools/call")
            .iter()
            .all(|seen| seen.param(&["name"]) == "\"shown\"")
    );
}

#[test]
fn i3_both_roads_name_the_same_code_and_the_same_neighbours() {
    let session = PAIR.1.session();
    for name in ["x_u_show", "x_u_set_aside", "nothing_like_it"] {
        let direct = surfaced("meta, direct", &session, &format!(r#"{{"name":"{name}"}}"#));
        let through = surfaced(
            "meta, direct",
            &session,
            &format!("{{{}}}", call("call_tool", &format!(r#"{{"name":"{name}"}}"#))),
        );
        let (direct, through) = (&direct["error"], &through["result"]);
        assert_eq!(direct["data"]["code"], through["structuredContent"]["code"], "{name}");
        let names = |value: &Value| value["nearest"].as_array().cloned().unwrap_or_default();
        for near in names(&direct["data"])
            .iter()
            .chain(&names(&through["structuredContent"]))
        {
            let near = near.as_str().expect("a name");
            assert!(
                !near.contains("set_aside") && !near.contains("far"),
                "{name}: {near} is hidden"
            );
        }
        assert!(direct["message"].as_str().expect("a text").contains(name), "{direct}");
        assert!(
            through["content"][0]["text"].as_str().expect("a text").contains(name),
            "{through}"
        );
    }
}

#[test]
fn i3_lists_searches_and_descriptions_do_not_name_what_is_hidden() {
    let session = PAIR.1.session();
    let asks = [
        ("list_tools", "{}"),
        ("filter_tools", r#"{"pattern":"*"}"#),
        ("filter_tools", r#"{"query":"set aside far"}"#),
        ("filter_tools", r#"{"pattern":"*aside*","include_schema":true}"#),
    ];
    for (tool, arguments) in asks {
        let answer = surfaced("meta", &session, &format!("{{{}}}", call(tool, arguments)));
        let tools = answer["result"]["structuredContent"]["tools"].to_string();
        assert!(
            !tools.contains("set_aside") && !tools.contains("x_u_far"),
            "{tool}: {tools}"
        );
    }
    let described = surfaced(
        "meta",
        &session,
        &format!("{{{}}}", call("describe_tool", r#"{"name":"x_u_set_aside"}"#)),
    );
    assert_eq!(
        described["result"]["structuredContent"]["code"], "tool_not_found",
        "{described}"
    );
    let listed = PAIR.1.legacy(&session, "tools/list", "{}").answer();
    assert!(listed.contains("x_u_shown") && !listed.contains("set_aside") && !listed.contains("x_u_far"));
}

#[test]
fn i6_every_decision_is_in_the_trail() {
    let (_, gateway) = &*PAIR;
    let (session, host) = (gateway.session(), gateway.host());
    let ask = |params: &str| gateway.post(&[&session], &rpc("1", "tools/call", params));
    ask(r#"{"name":"x_u_shown","arguments":{"mark":"i6-direct"}}"#);
    ask(&format!(
        "{{{}}}",
        call("call_tool", r#"{"name":"x_u_shown","arguments":{"mark":"i6-through"}}"#)
    ));
    ask(r#"{"name":"x_u_i6_unknown"}"#);
    ask(&format!("{{{}}}", call("call_tool", r#"{"name":"x_u_i6_through"}"#)));
    gateway.legacy(&session, "prompts/get", r#"{"name":"i6_prompt"}"#);
    gateway.legacy(&session, "resources/read", r#"{"uri":"i6://resource"}"#);
    ask(&format!("{{{}}}", call("get_resource", r#"{"uri":"i6://inner"}"#)));
    ask(&format!("{{{}}}", call("core_server_get", r#"{"server":"u"}"#)));
    gateway.post(&["Mcp-Session-Id: i6-unknown"], &rpc("1", "tools/list", "{}"));
    gateway.raw(&request("POST /mcp", &["Host: i6.evil.example"], b"{}"));
    gateway.raw(&request("POST /mcp", &[&host, "Origin: http://i6.evil.example"], b"{}"));

    let trail = gateway.trail();
    let find = |kind: &str, subject: &str| {
        let found = trail
            .iter()
            .find(|entry| entry["kind"] == kind && entry["subject"].as_str().is_some_and(|at| at.contains(subject)));
        found.unwrap_or_else(|| {
            panic!(
                "no {kind} of {subject} in {}",
                serde_json::to_string_pretty(&trail).expect("JSON")
            )
        })
    };
    let shown: Vec<&Value> = trail
        .iter()
        .filter(|entry| entry["kind"] == "call" && entry["subject"] == "shown" && entry["server"] == "u")
        .collect();
    let origins: std::collections::BTreeSet<&str> = shown.iter().filter_map(|entry| entry["origin"].as_str()).collect();
    assert_eq!(origins.len(), 2, "both roads: {shown:?}");
    for entry in shown {
        assert_eq!(entry["fate"], "done", "{entry}");
        assert_eq!(
            (&entry["principal"], &entry["effect"]),
            (&"local".into(), &"mutating".into()),
            "{entry}"
        );
        assert_eq!(entry["args_sha256"].as_str().map(str::len), Some(64));
    }
    // One server offers resources, so a URI that it does not list is asked of it: it may know more than it lists.
    for subject in ["i6://resource", "i6://inner"] {
        assert_eq!(find("call", subject)["fate"], "failed");
    }
    for subject in ["x_u_i6_unknown", "x_u_i6_through", "i6_prompt"] {
        let entry = find("refused", subject);
        assert!(
            entry["reason"].as_str().is_some_and(|reason| !reason.is_empty()),
            "{entry}"
        );
    }
    find("call", "core_server_get");
    find("session_refused", "session");
    find("origin_refused", "host: i6.evil.example");
    find("origin_refused", "origin: http://i6.evil.example");
    let numbers: Vec<i64> = trail.iter().filter_map(|entry| entry["seq"].as_i64()).collect();
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), numbers.len(), "numbers are not given twice");
    let text = serde_json::to_string(&trail).expect("JSON");
    assert!(
        !text.contains("i6-direct") && !text.contains("i6-unknown"),
        "arguments and session ids stay out"
    );
}

#[test]
fn i6_what_became_of_a_call_is_recorded_as_it_was() {
    let failing = Script::with_tools(Era::Legacy, &["errs", "fails"])
        .answer("tools/call errs", r#"!{"code":-32603,"message":"no"}"#)
        .answer(
            "tools/call fails",
            r#"{"content":[{"type":"text","text":"no"}],"isError":true}"#,
        )
        .start();
    let gateway = Gateway::over("surface: direct", &[("f", failing.address)]);
    let session = gateway.session();
    for tool in ["x_f_errs", "x_f_fails"] {
        gateway.legacy(&session, "tools/call", &format!("{{{}}}", call(tool, "{}")));
    }
    let trail = gateway.trail();
    // A result that says `isError` is the tool's own word and still a result.
    for (tool, fate) in [("errs", "failed"), ("fails", "done")] {
        let entry = trail.iter().find(|entry| entry["subject"] == tool).expect("an entry");
        assert_eq!(entry["fate"], fate, "{entry}");
    }
}
