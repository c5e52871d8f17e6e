//! What a caller may not see is answered as what does not exist, for everything that has a name.

use std::sync::LazyLock;

use crate::gateway::{Folder, Gateway, rpc, until};
use crate::upstream::{Era, Script, Upstream};

/// Two servers that both claim a prompt and a tool under one exposed name, so that nobody may have either, and a third
/// one that is suspended.
static ALL: LazyLock<(Vec<Upstream>, Gateway)> = LazyLock::new(|| {
    let script = || {
        Script::with_tools(Era::Legacy, &["both"])
            .answer("prompts/list", r#"{"prompts":[{"name":"both"},{"name":"fine"}]}"#)
            .answer("resources/list", r#"{"resources":[]}"#)
            .start()
    };
    let (one, two, three) = (script(), script(), script());
    let entry = |name: &str, upstream: &Upstream, more: &str| {
        format!(r#""{name}": {{"url": "http://{}/mcp"{more}}}"#, upstream.address)
    };
    let bare = r#", "toolPrefix": """#;
    let mcp = format!(
        r#"{{"mcpServers": {{{}, {}, {}}}}}"#,
        entry("one", &one, bare),
        entry("two", &two, bare),
        entry("three", &three, r#", "suspended": true"#)
    );
    let gateway = Folder::new("surface: [meta, direct]\nname_prefix: \"\"", &mcp).serve();
    gateway.listed(2);
    (vec![one, two, three], gateway)
});

/// The answer with the name that was asked for taken out.
fn told(method: &str, params: &str, name: &str) -> String {
    let (_, gateway) = &*ALL;
    let session = gateway.session();
    let answer = gateway.post(&[&session], &rpc("1", method, &params.replace("NAME", name)));
    assert_eq!(answer.status, 200, "{method} {name}");
    answer.answer().replace(name, "NAME")
}

#[test]
fn b058_b094_tools_prompts_resources_completions_and_subscriptions_that_are_hidden_look_unknown() {
    let (upstreams, _) = &*ALL;
    let asks = [
        ("tools/call", r#"{"name":"NAME","arguments":{}}"#),
        (
            "tools/call",
            r#"{"name":"call_tool","arguments":{"name":"NAME","arguments":{}}}"#,
        ),
        ("tools/call", r#"{"name":"describe_tool","arguments":{"name":"NAME"}}"#),
        ("prompts/get", r#"{"name":"NAME"}"#),
        ("tools/call", r#"{"name":"get_prompt","arguments":{"name":"NAME"}}"#),
        (
            "tools/call",
            r#"{"name":"describe_prompt","arguments":{"name":"NAME"}}"#,
        ),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt","name":"NAME"},"argument":{"name":"a","value":""}}"#,
        ),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/resource","uri":"note://NAME"},"argument":{"name":"a","value":""}}"#,
        ),
        ("resources/read", r#"{"uri":"note://NAME"}"#),
        ("resources/subscribe", r#"{"uri":"note://NAME"}"#),
        ("resources/unsubscribe", r#"{"uri":"note://NAME"}"#),
        (
            "tools/call",
            r#"{"name":"get_resource","arguments":{"uri":"note://NAME"}}"#,
        ),
    ];
    for (method, params) in asks {
        let unknown = told(method, params, "zzqqzzqq");
        for hidden in ["both", "three_both", "three_fine"] {
            assert_eq!(told(method, params, hidden), unknown, "{method} {params} {hidden}");
        }
    }
    for upstream in upstreams {
        for method in [
            "tools/call",
            "prompts/get",
            "completion/complete",
            "resources/read",
            "resources/subscribe",
        ] {
            assert!(upstream.seen_of(method).is_empty(), "{method}");
        }
    }
    assert!(
        upstreams[2].seen().is_empty(),
        "a suspended server is not even connected"
    );
}

#[test]
fn b038_names_stay_when_servers_come_and_go() {
    let upstream = Script::with_tools(Era::Legacy, &["search_code"]).start();
    let other = Script::with_tools(Era::Legacy, &["search_code", "more"]).start();
    let one = crate::gateway::catalogue(&[("github", upstream.address)]);
    let both = crate::gateway::catalogue(&[("github", upstream.address), ("gitlab", other.address)]);
    let gateway = Folder::new("surface: direct", &one).serve();
    gateway.listed(1);
    let session = gateway.session();
    let names = || {
        let listed = gateway.legacy(&session, "tools/list", "{}").result();
        let tools = listed["tools"].as_array().cloned().unwrap_or_default();
        let names = tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned));
        names.filter(|name| name.contains("git")).collect::<Vec<_>>()
    };
    assert_eq!(names(), ["x_github_search_code"]);
    gateway.folder.write("mcp.json", &both);
    until("the other one is there", || names().len() == 3);
    assert_eq!(
        names(),
        ["x_github_search_code", "x_gitlab_search_code", "x_gitlab_more"]
    );
    gateway.folder.write("mcp.json", &one);
    until("it is gone", || names() == ["x_github_search_code"]);
}
