//! One text with two readings is refused, wherever the second key stands and however it is spelled.

use std::sync::LazyLock;

use crate::gateway::{Folder, Gateway, MODERN};
use crate::pipes::Pipe;
use crate::upstream::{Era, Script, Upstream};

static PAIR: LazyLock<(Upstream, Gateway)> = LazyLock::new(|| {
    let upstream = Script::with_tools(Era::Legacy, &["safe", "danger"]).start();
    let gateway = Gateway::over("surface: [meta, direct]", &[("u", upstream.address)]);
    (upstream, gateway)
});

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// Bodies of `tools/call`, each with one key twice.
fn doubled() -> Vec<String> {
    let rest = r#""jsonrpc":"2.0","id":9"#;
    let safe = r#""name":"x_u_safe","arguments":{}"#;
    [
        format!(r#"{{{rest},"method":"tools/list","method":"tools/call","params":{{{safe}}}}}"#),
        format!(r#"{{{rest},"method":"tools/call","params":{{{safe}}},"params":{{"name":"x_u_danger"}}}}"#),
        format!(r#"{{{rest},"id":9,"method":"tools/call","params":{{{safe}}}}}"#),
        format!(r#"{{{rest},"jsonrpc":"2.0","method":"tools/call","params":{{{safe}}}}}"#),
        format!(r#"{{{rest},"method":"tools/call","params":{{{safe},"name":"x_u_danger"}}}}"#),
        format!(r#"{{{rest},"method":"tools/call","params":{{{safe},"n\u0061me":"x_u_danger"}}}}"#),
        format!(r#"{{{rest},"method":"tools/call","params":{{{safe},"\u006e\u0061\u006D\u0065":"x_u_danger"}}}}"#),
        format!(r#"{{{rest},"method":"tools/call","params":{{{safe},"arguments":{{"force":true}}}}}}"#),
        format!(r#"{{{rest},"meth\u006fd":"tools/list","method":"tools/call","params":{{{safe}}}}}"#),
        format!(r#"{{{rest},"method":"tools/call","params":{{"name":"x_u_safe","arguments":{{"a":1,"a":1}}}}}}"#),
        format!(r#"{{{rest},"method":"tools/call","params":{{"name":"x_u_safe","arguments":{{"a":1,"\u0061":2}}}}}}"#),
        format!(r#"{{{rest},"method":"tools/call","params":{{"name":"x_u_safe","arguments":{{"a":[[{{"b":{{"c":1,"c":2}}}}]]}}}}}}"#),
        format!(r#"{{{rest},"method":"tools/call","params":{{"name":"x_u_safe","arguments":{{"":1,"":2}}}}}}"#),
        format!(r#"{{{rest},"method":"tools/call","params":{{"name":"x_u_safe","arguments":{{"é":1,"\u00e9":2}}}}}}"#),
        format!(r#"{{{rest},"method":"tools/call","params":{{"name":"x_u_safe","arguments":{{"😀":1,"\ud83d\ude00":2}}}}}}"#),
        format!(r#"{{{rest},"method":"tools/call","params":{{{safe},"_meta":{{"a":1,"a":2}}}}}}"#),
        format!(r#"{{{rest},"method":"tools/call","params":{{{safe},"_meta":{{"progressToken":1,"progressT\u006fken":2}}}}}}"#),
        format!(r#"{{{rest},"method":"tools/call","params":{{{safe},"_meta":{{"v":{{"deep":[{{"k":1,"k":1}}]}}}}}}}}"#),
        format!(r#"{{{rest},"method":"tools/call","params":{{{safe},"_meta":{{}},"_meta":{{}}}}}}"#),
        format!(r#"{{{rest},"method":"tools/call","params":{{{safe},"vendor":{{"k":1,"k":2}}}}}}"#),
        format!(r#"{{{rest},"method":"tools/call","vendor":{{"k":1,"k":2}},"params":{{{safe}}}}}"#),
        format!(r#"{{{rest},"method":"tools/call","params":{{"name":"call_tool","arguments":{{"name":"x_u_safe","name":"x_u_danger"}}}}}}"#),
        format!(r#"{{{rest},"method":"tools/call","params":{{"name":"call_tool","arguments":{{"name":"x_u_safe","arguments":{{"a":1,"a":2}}}}}}}}"#),
    ]
    .into()
}

#[test]
fn b057_a_doubled_key_in_a_request_is_refused_and_reaches_no_server() {
    let (upstream, gateway) = &*PAIR;
    let session = gateway.session();
    for body in doubled() {
        let response = gateway.post(&[&session], &body);
        assert_eq!(response.status, 400, "{body}");
        assert_eq!(response.code(), -32600, "{body}");
        assert!(
            response.message().contains("twice") || response.message().contains("duplicate"),
            "{}",
            response.message()
        );
        let modern = body.replacen(r#""name":"#, &format!(r#"{META},"name":"#), 1);
        let response = gateway.post(&[MODERN, "Mcp-Method: tools/call", "Mcp-Name: x_u_safe"], &modern);
        assert_eq!((response.status, response.code()), (400, -32600), "{modern}");
    }
    assert!(upstream.seen_of("tools/call").is_empty());
}

#[test]
fn b057_a_doubled_key_in_a_batch_refuses_all_of_it() {
    let (upstream, gateway) = &*PAIR;
    let session = gateway.session_of("2025-03-26");
    for body in doubled() {
        let batch = format!(r#"[{{"jsonrpc":"2.0","id":8,"method":"ping"}},{body}]"#);
        let response = gateway.post(&[&session], &batch);
        assert_eq!((response.status, response.code()), (400, -32600), "{batch}");
    }
    assert!(upstream.seen_of("tools/call").is_empty());
}

#[test]
fn b057_doubled_keys_in_notifications_handshakes_and_lists_are_refused() {
    let gateway = &PAIR.1;
    let session = gateway.session();
    let bodies = [
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"requestId":2}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized","method":"notifications/cancelled"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{},"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"a","cursor":"b"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","protocolVersion":"2025-03-26","capabilities":{}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{},"sampling":{}}}}"#,
    ];
    for body in bodies {
        let response = gateway.post(&[&session], body);
        assert_eq!((response.status, response.code()), (400, -32600), "{body}");
    }
}

#[test]
fn keys_that_only_look_alike_are_different_keys() {
    let upstream = Script::with_tools(Era::Legacy, &["danger"]).start();
    let gateway = Gateway::over("surface: direct", &[("u", upstream.address)]);
    let session = gateway.session();
    let arguments = r#"{"A":1,"a":2,"a ":3,"\u00e1":4,"a\u0301":5,"\u0430":6}"#;
    let params = format!(r#"{{"name":"x_u_danger","arguments":{arguments},"Name":"x_u_safe"}}"#);
    assert_eq!(
        gateway.legacy(&session, "tools/call", &params).result()["content"][0]["text"],
        "done"
    );
    let call = upstream.last_of("tools/call");
    assert_eq!(call.param(&["name"]), "\"danger\"");
    let sent: serde_json::Value = serde_json::from_str(&call.param(&["arguments"])).expect("JSON");
    assert_eq!(sent.as_object().expect("an object").len(), 6);
}

#[test]
fn b057_a_doubled_key_over_pipes_is_refused_and_the_pipe_goes_on() {
    let folder = Folder::new("surface: direct", "{}");
    let mut pipe = Pipe::open(&folder);
    for body in doubled() {
        pipe.write(format!("{body}\n").as_bytes());
        let answer = pipe.answer();
        assert_eq!(answer["error"]["code"], -32600, "{body}: {answer}");
        let is_id_doubled = body.matches("\"id\"").count() == 2;
        assert_eq!(answer["id"].is_null(), is_id_doubled, "{body}: {answer}");
    }
    pipe.write(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
    assert!(pipe.answer()["result"].is_object());
}
