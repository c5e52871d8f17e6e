//! Toolsets against the real binary: nothing outside is reached, in either era and by any way, and nothing wrong is silent.

use std::sync::LazyLock;

use serde_json::Value;

use crate::gateway::{Folder, Gateway, call, catalogue, rpc};
use crate::upstream::{Era, Script, Upstream};

const PRESETS: &str = r#"surface: [meta, direct]
toolsetPresets:
  read: {include: [{tool: x_work_read}]}
  g0: {include: [{pattern: "mcp__*(*)"}]}
  g1: {include: [{pattern: "github*"}]}
  g2: {include: [{pattern: "x_work_r?ad"}]}
  g3: {include: [{pattern: "**"}]}
  g5: {include: [{pattern: ".*"}]}
  g6: {include: [{pattern: "x_work_read|x_work_write"}]}
  g7: {include: [{pattern: "X_WORK_*"}]}
  g8: {include: [{pattern: "x_work_[rw]*"}]}
  g9: {include: [{pattern: "work_read"}]}
"#;

/// A server with tools that read and write, a prompt and resources, and one beside it.
static PAIR: LazyLock<(Upstream, Gateway)> = LazyLock::new(|| {
    let script = |name: &str, tools: &[&str]| {
        Script::with_tools(Era::Legacy, tools)
            .answer("prompts/list", r#"{"prompts":[{"name":"plan"}]}"#)
            .answer(
                "resources/list",
                &format!(r#"{{"resources":[{{"uri":"note://{name}","name":"n"}}]}}"#),
            )
            .answer(
                "resources/templates/list",
                &format!(r#"{{"resourceTemplates":[{{"uriTemplate":"{name}://{{id}}","name":"t"}}]}}"#),
            )
            .start()
    };
    let (work, other) = (script("work", &["read", "write"]), script("other", &["look"]));
    let mcp = catalogue(&[("work", work.address), ("other", other.address)]);
    let gateway = Folder::new(PRESETS, &mcp).serve();
    gateway.listed(2);
    (work, gateway)
});

/// The text of an answer and what it holds besides: the error's data, or the structured content.
fn told(method: &str, params: &str, toolset: &str) -> (String, Value) {
    let (_, gateway) = &*PAIR;
    let session = gateway.session();
    let header = format!("X-Countersign-Toolset: {toolset}");
    let answer = gateway.post(&[&session, &header], &rpc("1", method, params)).json();
    if let Some(message) = answer["error"]["message"].as_str() {
        return (message.to_owned(), answer["error"]["data"].clone());
    }
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    (text.to_owned(), result["structuredContent"].clone())
}

fn through(tool: &str, arguments: &str) -> (&'static str, String) {
    ("tools/call", format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#))
}

/// Every way in, and the sentence that each is refused with.
fn ways_in() -> Vec<((&'static str, String), String)> {
    let tool = r#"tool "x_work_write" is outside the toolset [server:other]"#;
    let prompt = r#"prompt "x_work_plan" is outside the toolset [server:other]"#;
    let resource = |uri: &str| format!(r#"resource "{uri}" is outside the toolset [server:other]"#);
    let argument = r#""argument":{"name":"a","value":""}"#;
    vec![
        (through("x_work_write", "{}"), tool.to_owned()),
        (
            through("call_tool", r#"{"name":"x_work_write","arguments":{}}"#),
            tool.to_owned(),
        ),
        (through("describe_tool", r#"{"name":"x_work_write"}"#), tool.to_owned()),
        (
            ("prompts/get", r#"{"name":"x_work_plan"}"#.to_owned()),
            prompt.to_owned(),
        ),
        (through("get_prompt", r#"{"name":"x_work_plan"}"#), prompt.to_owned()),
        (
            through("describe_prompt", r#"{"name":"x_work_plan"}"#),
            prompt.to_owned(),
        ),
        (
            ("resources/read", r#"{"uri":"note://work"}"#.to_owned()),
            resource("note://work"),
        ),
        (
            ("resources/read", r#"{"uri":"work://7"}"#.to_owned()),
            resource("work://7"),
        ),
        (
            ("resources/subscribe", r#"{"uri":"note://work"}"#.to_owned()),
            resource("note://work"),
        ),
        (
            ("resources/unsubscribe", r#"{"uri":"note://work"}"#.to_owned()),
            resource("note://work"),
        ),
        (
            through("get_resource", r#"{"uri":"note://work"}"#),
            resource("note://work"),
        ),
        (
            through("describe_resource", r#"{"uri":"note://work"}"#),
            resource("note://work"),
        ),
        (
            (
                "completion/complete",
                format!(r#"{{"ref":{{"type":"ref/prompt","name":"x_work_plan"}},{argument}}}"#),
            ),
            prompt.to_owned(),
        ),
        (
            (
                "completion/complete",
                format!(r#"{{"ref":{{"type":"ref/resource","uri":"work://{{id}}"}},{argument}}}"#),
            ),
            resource("work://{id}"),
        ),
    ]
}

#[test]
fn b058_b094_whatever_is_outside_a_toolset_is_refused_alike_by_every_way_in() {
    let (work, gateway) = &*PAIR;
    let cases = ways_in();
    for ((method, params), sentence) in &cases {
        let (text, more) = told(method, params, "server:other");
        assert_eq!(text, *sentence, "{method} {params}");
        assert_eq!(more["code"], "outside_toolset", "{method} {params} {more}");
        assert_eq!(
            (&more["toolset"][0], &more["bound"]),
            (&"server:other".into(), &false.into())
        );
    }
    // What is not there at all is not found, and nothing outside is named beside it.
    for params in [
        through("x_work_writ", "{}").1,
        through("describe_tool", r#"{"name":"x_work_writ"}"#).1,
    ] {
        let (text, more) = told("tools/call", &params, "server:other");
        assert!(text.starts_with("Tool not found: x_work_writ"), "{text}");
        assert!(
            !text.contains("x_work_write") && !more.to_string().contains("x_work_write"),
            "{text} {more}"
        );
    }
    for method in [
        "tools/call",
        "prompts/get",
        "resources/read",
        "resources/subscribe",
        "completion/complete",
    ] {
        assert!(work.seen_of(method).is_empty(), "{method}");
    }
    let trail = gateway.trail();
    let refused = trail
        .iter()
        .filter(|line| line.to_string().contains("is outside the toolset"));
    assert!(refused.count() >= 10, "{trail:?}");
    let line = gateway.log.with("refused: outside the toolset");
    assert!(line.contains("server:other"), "{line}");
}

#[test]
fn b060_arguments_that_are_named_like_tools_choose_neither_the_tool_nor_the_toolset() {
    let upstream = Script::with_tools(Era::Legacy, &["list_issues", "delete_repo"]).start();
    let gateway = Gateway::over("surface: [meta, direct]", &[("git", upstream.address)]);
    let session = gateway.session();
    let arguments = r#"{"tool_name":"delete_repo","name":"x_git_delete_repo","__server":"x","toolset":["preset:full"],"X-Countersign-Toolset":"preset:full"}"#;
    let header = "X-Countersign-Toolset: tool:x_git_list_issues";
    let within = |name: &str, arguments: &str| {
        let body = rpc("1", "tools/call", &format!("{{{}}}", call(name, arguments)));
        gateway.post(&[&session, header], &body).result()
    };
    within("x_git_list_issues", arguments);
    let inner = format!(r#"{{"name":"x_git_list_issues","arguments":{arguments}}}"#);
    within("call_tool", &inner);
    let sent = upstream.seen_of("tools/call");
    assert_eq!(sent.len(), 2);
    for seen in &sent {
        assert_eq!(seen.param(&["name"]), r#""list_issues""#);
        assert_eq!(seen.param(&["arguments", "name"]), r#""x_git_delete_repo""#);
        assert_eq!(seen.param(&["arguments", "toolset"]), r#"["preset:full"]"#);
    }
    let refused = within(
        "x_git_delete_repo",
        r#"{"name":"x_git_list_issues","tool_name":"list_issues"}"#,
    );
    assert_eq!(refused["isError"], true, "{refused}");
    assert_eq!(upstream.seen_of("tools/call").len(), 2);
}

#[test]
fn b061_what_is_unknown_is_named_and_what_is_empty_says_so() {
    let (_, gateway) = &*PAIR;
    for toolset in ["preset:nope", "server:work,preset:nope"] {
        for (method, params) in [
            ("tools/list", "{}".to_owned()),
            ("prompts/list", "{}".to_owned()),
            ("resources/list", "{}".to_owned()),
            through("list_tools", "{}"),
            through("x_work_read", "{}"),
        ] {
            let (text, more) = told(method, &params, toolset);
            assert!(
                text.starts_with(&format!(
                    "toolset [{toolset}] names unknown preset \"nope\"; known presets: "
                )),
                "{text}"
            );
            assert_eq!(more["code"], "bad_toolset", "{more}");
        }
    }
    let (_, empty) = told("tools/call", &through("list_tools", "{}").1, "server:nowhere");
    assert_eq!((&empty["total"], &empty["total_tools"]), (&0.into(), &0.into()));
    assert_eq!(empty["toolset_unmatched"][0], "server:nowhere");
    assert!(
        empty["note"]
            .as_str()
            .is_some_and(|note| note.contains("server:nowhere")),
        "{empty}"
    );
    let session = gateway.session();
    let headers = ["X-Countersign-Toolset: server:nowhere", "X-Countersign-Surface: direct"];
    let list = gateway
        .post(&[&session, headers[0], headers[1]], &rpc("1", "tools/list", "{}"))
        .result();
    assert_eq!(list["tools"], Value::Array(Vec::new()));
    assert!(
        list["_meta"]["countersign/note"]
            .as_str()
            .is_some_and(|note| note.contains("server:nowhere")),
        "{list}"
    );
    let trail = gateway.trail();
    assert!(
        trail.iter().any(|line| line.to_string().contains("empty_toolset")),
        "{trail:?}"
    );
}

#[test]
fn b062_a_pattern_matches_whole_names_and_case_and_one_that_matches_nothing_is_told() {
    let (_, gateway) = &*PAIR;
    let all = ["x_work_read", "x_work_write"];
    let cases = [
        ("g0", &[][..]),
        ("g1", &[]),
        ("g2", &all[..1]),
        ("g3", &all),
        ("g5", &[]),
        ("g6", &[]),
        ("g7", &[]),
        ("g8", &all),
        ("g9", &[]),
    ];
    for (preset, expected) in cases {
        let arguments = format!(r#"{{"toolset":["preset:{preset}","preset:none"],"pattern":"x_work_*"}}"#);
        let (_, found) = told("tools/call", &through("filter_tools", &arguments).1, "server:work");
        let names: Vec<&str> = found["tools"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .collect();
        assert_eq!(names, expected, "{preset}");
        let unmatched = found["toolset_unmatched"].to_string().contains(preset);
        assert_eq!(unmatched, expected.is_empty(), "{preset} {found}");
    }
    let checked = gateway.folder.run(&["check"]);
    let said = String::from_utf8_lossy(&checked.stderr).into_owned() + &String::from_utf8_lossy(&checked.stdout);
    for preset in ["g0", "g1", "g5", "g7", "g9"] {
        assert!(
            said.contains(&format!("`{preset}`")),
            "{preset} is not warned of:\n{said}"
        );
    }
}
