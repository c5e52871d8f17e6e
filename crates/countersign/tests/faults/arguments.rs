//! `arguments` that are absent, null or no object, on every road that takes them.

use std::sync::LazyLock;

use crate::gateway::{Gateway, rpc};
use crate::http::{Response, member};
use crate::upstream::{Era, Script, Upstream};

static PAIR: LazyLock<(Upstream, Gateway)> = LazyLock::new(|| {
    let prompts = r#"{"prompts":[{"name":"p","arguments":[{"name":"a"}]}]}"#;
    let upstream = Script::with_tools(Era::Legacy, &["t"])
        .answer("prompts/list", prompts)
        .answer(
            "prompts/get",
            r#"{"messages":[{"role":"user","content":{"type":"text","text":"done"}}]}"#,
        )
        .start();
    let gateway = Gateway::over("surface: [meta, direct]", &[("u", upstream.address)]);
    (upstream, gateway)
});

/// The forms of `arguments`, and what its place is called where it is refused.
const REFUSED: &[(&str, &str)] = &[
    (r#","arguments":null"#, "null"),
    (r#","arguments":[]"#, "array"),
    (r#","arguments":[{}]"#, "array"),
    (r#","arguments":"x""#, "string"),
    (r#","arguments":"{}""#, "string"),
    (r#","arguments":0"#, "number"),
    (r#","arguments":false"#, "boolean"),
];
const TAKEN: &[(&str, &str)] = &[
    ("", "{}"),
    (r#","arguments":{}"#, "{}"),
    (r#","arguments": { } "#, "{}"),
    (r#","arguments":{"b":1,"a":"x"}"#, r#"{"a":"x","b":1}"#),
];

/// Everything here counts what reached the one server, so one test at a time.
fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn ask(method: &str, params: &str) -> [Response; 2] {
    let (_, gateway) = &*PAIR;
    let session = gateway.session();
    let name = member(params, "name").trim_matches('"').to_owned();
    let inside = params
        .trim_start_matches('{')
        .strip_suffix('}')
        .expect("an object")
        .to_owned();
    [
        gateway.post(&[&session], &rpc("5", method, params)),
        gateway.modern(method, Some(&name), &inside),
    ]
}

#[test]
fn b041_arguments_of_tools_and_prompts_are_an_object_or_absent() {
    let _alone = alone();
    for (method, name) in [("tools/call", "x_u_t"), ("prompts/get", "x_u_p")] {
        for (form, found) in REFUSED {
            let before = PAIR.0.seen_of(method).len();
            for response in ask(method, &format!(r#"{{"name":"{name}"{form}}}"#)) {
                assert_eq!(response.code(), -32602, "{method} {form}");
                let message = response.message();
                assert!(
                    message.contains("params.arguments") && message.contains(found),
                    "{form}: {message}"
                );
            }
            assert_eq!(
                PAIR.0.seen_of(method).len(),
                before,
                "{method} {form} reached the server"
            );
        }
        for (form, sent) in TAKEN {
            let before = PAIR.0.seen_of(method).len();
            for response in ask(method, &format!(r#"{{"name":"{name}"{form}}}"#)) {
                assert!(response.result().to_string().contains("done"), "{method} {form}");
            }
            let seen = PAIR.0.seen_of(method);
            assert_eq!(seen.len(), before + 2);
            for request in seen.iter().skip(before) {
                assert_eq!(request.param(&["arguments"]), *sent, "{method} {form}");
            }
        }
    }
}

#[test]
fn b041_inner_arguments_of_meta_tools_are_an_object_or_absent() {
    let _alone = alone();
    for (meta, method, name) in [
        ("call_tool", "tools/call", "x_u_t"),
        ("get_prompt", "prompts/get", "x_u_p"),
    ] {
        for (form, _) in REFUSED {
            let before = PAIR.0.seen_of(method).len();
            for response in ask(
                "tools/call",
                &format!(r#"{{"name":"{meta}","arguments":{{"name":"{name}"{form}}}}}"#),
            ) {
                let result = response.result();
                assert_eq!(result["isError"], true, "{meta} {form}: {result}");
                assert!(result["structuredContent"]["code"].is_string(), "{result}");
                let text = result["content"][0]["text"].as_str().expect("a text");
                assert!(text.contains("arguments"), "{meta} {form}: {text}");
            }
            assert_eq!(PAIR.0.seen_of(method).len(), before, "{meta} {form} reached the server");
        }
        for (form, sent) in TAKEN.iter().take(3) {
            for response in ask(
                "tools/call",
                &format!(r#"{{"name":"{meta}","arguments":{{"name":"{name}"{form}}}}}"#),
            ) {
                assert!(response.result().to_string().contains("done"), "{meta} {form}");
            }
            assert_eq!(PAIR.0.last_of(method).param(&["arguments"]), *sent, "{meta} {form}");
        }
    }
}

#[test]
fn b041_the_bytes_that_were_judged_are_the_bytes_that_are_sent_and_recorded() {
    let _alone = alone();
    let (upstream, gateway) = &*PAIR;
    let written = r#"{ "z": 1.50, "a" : {"k":[1, 2,-0], "j":"\u0041\/"}, "n": 9007199254740993, "e":1E400 }"#;
    let canonical = r#"{"a":{"j":"A/","k":[1,2,-0]},"e":1E400,"n":9007199254740993,"z":1.50}"#;
    let direct = format!(r#"{{"name":"x_u_t","arguments":{written}}}"#);
    let through = format!(r#"{{"name":"call_tool","arguments":{{"name":"x_u_t","arguments":{written}}}}}"#);
    let mut digests = Vec::new();
    for params in [direct, through] {
        for response in ask("tools/call", &params) {
            assert_eq!(response.result()["content"][0]["text"], "done");
            assert_eq!(upstream.last_of("tools/call").param(&["arguments"]), canonical);
            let trail = gateway.trail();
            let calls = trail
                .iter()
                .filter(|entry| entry["kind"] == "call" && entry["server"] == "u");
            let last = calls
                .max_by_key(|entry| entry["seq"].as_i64())
                .expect("an entry")
                .clone();
            digests.push(last["args_sha256"].as_str().expect("a digest").to_owned());
        }
    }
    assert_eq!(digests.len(), 4);
    assert!(digests.iter().all(|digest| digest == &sha256(canonical)), "{digests:?}");
}

/// By a program that is not ours.
fn sha256(text: &str) -> String {
    use std::io::Write as _;
    let mut child = std::process::Command::new("sha256sum")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("sha256sum runs");
    child
        .stdin
        .take()
        .expect("piped")
        .write_all(text.as_bytes())
        .expect("written");
    let output = child.wait_with_output().expect("it ends");
    String::from_utf8(output.stdout)
        .expect("text")
        .split(' ')
        .next()
        .expect("a digest")
        .to_owned()
}

#[test]
fn b041_params_that_are_no_object_are_refused_with_the_id() {
    let (_, gateway) = &*PAIR;
    let session = gateway.session();
    for params in ["null", "[]", r#"["x_u_t"]"#, "\"x\"", "7", "true"] {
        for method in ["tools/call", "tools/list", "prompts/get", "ping"] {
            let response = gateway.post(&[&session], &rpc("5", method, params));
            assert_eq!(response.code(), -32602, "{method} {params}");
            assert_eq!(response.json()["id"], 5, "{method} {params}");
        }
    }
}

#[test]
fn b041_names_that_are_no_text_are_refused_with_their_place() {
    let (_, gateway) = &*PAIR;
    let session = gateway.session();
    for name in ["null", "7", "[]", "{}"] {
        for (method, member) in [
            ("tools/call", "name"),
            ("prompts/get", "name"),
            ("resources/read", "uri"),
        ] {
            let response = gateway.legacy(&session, method, &format!(r#"{{"{member}":{name}}}"#));
            assert_eq!(response.code(), -32602, "{method} {name}");
            assert!(
                response.message().contains(&format!("params.{member}")),
                "{}",
                response.message()
            );
            let response = gateway.legacy(&session, method, "{}");
            assert_eq!(response.code(), -32602, "{method} without {member}");
            assert!(
                response.message().contains(&format!("params.{member}")),
                "{}",
                response.message()
            );
        }
    }
}
