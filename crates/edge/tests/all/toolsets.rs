//! Toolsets: each request within its own, on every way in, and nothing of one stays for the next.

use countersign_core::surface::Surface;
use countersign_edge::Settings;
use serde_json::{Value, json};

use super::gateway::{Gateway, Response, call, direct};
use super::stdio::Client;
use super::upstream::Upstream;

/// A server with a tool, a prompt and a resource that bear its own name.
async fn server(name: &'static str) -> Upstream {
    Upstream::scripted(false, vec!["echo", "wait"], move |message| {
        let uri = format!("note://{name}");
        match message["method"].as_str()? {
            "resources/list" => Some(json!({"result":{"resources":[{"uri":uri,"name":name}]}})),
            "resources/templates/list" => {
                Some(json!({"result":{"resourceTemplates":[{"uriTemplate":format!("{name}://{{id}}"),"name":name}]}}))
            }
            "prompts/list" => Some(json!({"result":{"prompts":[{"name":"greet"}]}})),
            _ => None,
        }
    })
    .await
}

async fn pair(settings: Settings) -> (Upstream, Upstream, Gateway) {
    let (one, two) = (server("a").await, server("b").await);
    let gateway = Gateway::start(settings, &[one.entry("a"), two.entry("b")]).await;
    // Both are listed from here on.
    gateway.modern("prompts/list", None, "").await.result();
    (one, two, gateway)
}

fn both() -> Settings {
    Settings {
        surfaces: vec![Surface::Meta, Surface::Direct],
        ..Settings::default()
    }
}

fn rpc(method: &str, params: &Value) -> String {
    json!({"jsonrpc":"2.0","id":1,"method":method,"params":params}).to_string()
}

/// A request of a session within a toolset.
async fn within(gateway: &Gateway, (session, toolset): (&str, &str), method: &str, params: Value) -> Response {
    let line = format!("X-Countersign-Toolset: {toolset}");
    gateway.post(&[session, &line], &rpc(method, &params)).await
}

fn meta(tool: &str, arguments: impl Into<Value>) -> (&'static str, Value) {
    let arguments: Value = arguments.into();
    ("tools/call", json!({"name":tool,"arguments":arguments}))
}

/// What reaches the second server in one way or another.
fn ways_in() -> Vec<(&'static str, Value)> {
    let prompt = json!({"type":"ref/prompt","name":"x_b_greet"});
    let resource = json!({"type":"ref/resource","uri":"b://{id}"});
    let argument = json!({"name":"a","value":""});
    vec![
        meta("x_b_echo", json!({})),
        meta("call_tool", json!({"name":"x_b_echo","arguments":{}})),
        ("prompts/get", json!({"name":"x_b_greet"})),
        meta("get_prompt", json!({"name":"x_b_greet"})),
        ("resources/read", json!({"uri":"note://b"})),
        ("resources/read", json!({"uri":"b://1"})),
        meta("get_resource", json!({"uri":"note://b"})),
        meta("get_resource", json!({"uri":"note://b","server":"b"})),
        ("resources/subscribe", json!({"uri":"note://b"})),
        ("resources/unsubscribe", json!({"uri":"note://b"})),
        ("completion/complete", json!({"ref":prompt,"argument":argument})),
        ("completion/complete", json!({"ref":resource,"argument":argument})),
    ]
}

/// The sentence of an answer that refuses, however it says so.
fn refusal(response: &Response) -> String {
    let answer = response.json();
    if let Some(message) = answer["error"]["message"].as_str() {
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        return message.to_owned();
    }
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    answer["result"]["content"][0]["text"]
        .as_str()
        .expect("a text")
        .to_owned()
}

#[tokio::test]
async fn b058_i3_what_a_toolset_hides_is_in_no_list_and_every_way_in_is_refused() {
    let (_one, two, gateway) = pair(both()).await;
    let session = gateway.session().await;
    let lists = [
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        meta("list_tools", json!({"limit":500})),
        meta("filter_tools", json!({"query":"echo"})),
        meta("list_resources", json!({})),
        meta("filter_resources", json!({"pattern":"*"})),
        meta("list_prompts", json!({})),
        meta("filter_prompts", json!({"pattern":"*"})),
    ];
    for (method, params) in lists {
        let open = gateway
            .post(&[session], &rpc(method, &params))
            .await
            .result()
            .to_string();
        assert!(
            open.contains("note://b") || open.contains("x_b_") || open.contains("b://"),
            "{open}"
        );
        let narrow = within(&gateway, (session, "server:a"), method, params.clone())
            .await
            .result();
        let text = narrow.to_string();
        assert!(
            !text.contains("note://b") && !text.contains("x_b_") && !text.contains("b://"),
            "{method} {text}"
        );
        assert!(
            text.contains("note://a") || text.contains("x_a_") || text.contains("a://"),
            "{method} {text}"
        );
    }
    for (method, params) in ways_in() {
        let refused = within(&gateway, (session, "server:a"), method, params.clone()).await;
        assert_eq!(refused.status, 200, "{refused:?}");
        let sentence = refusal(&refused);
        assert!(
            sentence.ends_with(" is outside the toolset [server:a]"),
            "{method} {params} {sentence}"
        );
    }
    for describe in [
        meta("describe_tool", json!({"name":"x_b_echo"})),
        meta("describe_prompt", json!({"name":"x_b_greet"})),
        meta("describe_resource", json!({"uri":"note://b"})),
    ] {
        let sentence = refusal(&within(&gateway, (session, "server:a"), describe.0, describe.1).await);
        assert!(sentence.ends_with(" is outside the toolset [server:a]"), "{sentence}");
    }
    for method in [
        "tools/call",
        "prompts/get",
        "resources/read",
        "resources/subscribe",
        "completion/complete",
    ] {
        assert_eq!(two.count(method), 0, "{method}");
    }
    let trail = gateway.ledger.recent(100).await.expect("reads");
    let refused = trail
        .iter()
        .filter(|line| format!("{line:?}").contains("outside the toolset"));
    assert!(refused.count() >= ways_in().len(), "every refusal is recorded");
}

#[tokio::test]
async fn b094_nothing_outside_is_named_beside_what_is_not_found() {
    let (_one, _two, gateway) = pair(both()).await;
    let session = gateway.session().await;
    for (method, params) in [
        meta("x_b_ech", json!({})),
        meta("call_tool", json!({"name":"x_b_ech"})),
        meta("describe_tool", json!({"name":"x_b_ech"})),
        meta("list_resources", json!({"server":"nowhere"})),
        meta("list_prompts", json!({"server":"nowhere"})),
    ] {
        let open = gateway.post(&[session], &rpc(method, &params)).await;
        assert!(open.body.contains("x_b_echo") || open.body.contains("a, b"), "{open:?}");
        let narrow = within(&gateway, (session, "server:a"), method, params.clone()).await;
        assert!(
            !narrow.body.contains("x_b_echo") && !narrow.body.contains("a, b"),
            "{params} {narrow:?}"
        );
    }
}

#[tokio::test]
async fn a_refusal_says_which_tool_and_which_toolset() {
    let (_one, _two, gateway) = pair(both()).await;
    let session = gateway.session().await;
    for (method, params) in [
        meta("x_b_echo", json!({})),
        meta("call_tool", json!({"name":"x_b_echo","arguments":{}})),
    ] {
        let result = within(&gateway, (session, "tool:x_a_echo , server:a"), method, params)
            .await
            .result();
        let sentence = "tool \"x_b_echo\" is outside the toolset [tool:x_a_echo,server:a]";
        assert_eq!(result["content"], json!([{"type":"text","text":sentence}]));
        let structured = &result["structuredContent"];
        assert_eq!(structured["code"], "outside_toolset");
        assert_eq!(structured["tool"], "x_b_echo");
        assert_eq!(structured["toolset"], json!(["tool:x_a_echo", "server:a"]));
        assert_eq!(structured["bound"], false);
    }
}

#[tokio::test]
async fn a_bad_toolset_is_an_error_everywhere_and_never_the_whole_catalogue() {
    let (_one, two, gateway) = pair(both()).await;
    let session = gateway.session().await;
    let bad = [
        (
            "",
            "toolset [] is empty; use \"preset:none\" for an agent without tools",
        ),
        ("server:a,,server:b", "selector \"\" is malformed"),
        (
            "b",
            "selector \"b\" is malformed; expected preset:<name>, server:<name>, workflow:<name> or tool:<name>",
        ),
        (
            "preset:foo",
            "names unknown preset \"foo\"; known presets: read-only, none, full",
        ),
    ];
    let asked = [
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("tasks/list", json!({})),
        meta("list_tools", json!({})),
        meta("filter_tools", json!({})),
        meta("filter_tools", json!({"toolset":["preset:full"]})),
        meta("describe_tool", json!({"name":"x_b_echo"})),
        meta("list_core_tools", json!({})),
        meta("call_tool", json!({"name":"core_server_list"})),
        meta("list_resources", json!({})),
        meta("filter_resources", json!({})),
        meta("describe_resource", json!({"uri":"note://b"})),
        meta("list_prompts", json!({})),
        meta("filter_prompts", json!({})),
        meta("describe_prompt", json!({"name":"x_b_greet"})),
    ];
    for (toolset, sentence) in bad {
        for (method, params) in asked.iter().chain(&ways_in()) {
            let response = within(&gateway, (session, toolset), method, params.clone()).await;
            let said = refusal(&response);
            assert!(said.contains(sentence), "{method} {params}: {said}");
            assert!(response.body.contains("bad_toolset"), "{method} {params}: {response:?}");
        }
    }
    assert_eq!(
        two.count("tools/call") + two.count("prompts/get") + two.count("resources/read"),
        0
    );
    let open = gateway.post(&[session], &rpc("tools/list", &json!({}))).await;
    assert!(
        open.body.contains("x_b_echo"),
        "the next request is not narrowed: {open:?}"
    );
}

#[tokio::test]
async fn b061_a_list_that_a_toolset_empties_says_so_and_the_trail_has_it() {
    let (_one, _two, gateway) = pair(both()).await;
    let session = gateway.session().await;
    let direct = ["X-Countersign-Surface: direct", "X-Countersign-Toolset: server:nowhere"];
    let list = gateway
        .post(&[session, direct[0], direct[1]], &rpc("tools/list", &json!({})))
        .await
        .result();
    assert_eq!(list["tools"], json!([]));
    let note = list["_meta"]["countersign/note"].as_str().expect("a note");
    assert!(note.contains("server:nowhere"), "{note}");
    let (method, params) = meta("list_tools", json!({}));
    let page = within(&gateway, (session, "server:nowhere"), method, params)
        .await
        .result();
    let page = &page["structuredContent"];
    assert_eq!(
        (&page["total"], &page["total_tools"], &page["tools"]),
        (&json!(0), &json!(0), &json!([]))
    );
    assert_eq!(page["toolset_unmatched"], json!(["server:nowhere"]));
    assert!(
        page["note"]
            .as_str()
            .is_some_and(|note| note.contains("server:nowhere")),
        "{page}"
    );
    let trail = gateway.ledger.recent(100).await.expect("reads");
    assert!(
        trail.iter().any(|line| format!("{line:?}").contains("empty_toolset")),
        "{trail:?}"
    );
    let open = gateway.post(&[session], &rpc("tools/list", &json!({}))).await.result();
    assert!(open.get("_meta").is_none(), "{open}");
}

#[tokio::test]
async fn two_agents_with_one_session_and_different_headers_never_see_each_others_toolset() {
    let (_one, _two, gateway) = pair(both()).await;
    let session = gateway.session().await;
    let agent = |name: &'static str, other: &'static str| {
        let gateway = &gateway;
        async move {
            for round in 0..250 {
                let toolset = format!("server:{name}");
                let (method, params) = meta("list_tools", json!({"limit":100}));
                let list = within(gateway, (session, &toolset), method, params).await.result();
                let found = &list["structuredContent"];
                assert_eq!(found["toolset"], json!([toolset]), "{round}");
                assert_eq!(found["total"], 2, "{round} {found}");
                assert!(
                    !found["tools"].to_string().contains(&format!("x_{other}_")),
                    "{round} {found}"
                );
                let tool = format!("x_{other}_echo");
                let refused = within(gateway, (session, &toolset), "tools/call", json!({"name":tool})).await;
                assert!(refusal(&refused).contains("is outside the toolset"), "{round}");
            }
        }
    };
    let open = async {
        for round in 0..250 {
            let list = gateway.post(&[session], &rpc("tools/list", &json!({}))).await;
            assert!(
                list.body.contains("x_a_echo") && list.body.contains("x_b_echo"),
                "{round}"
            );
        }
    };
    tokio::join!(agent("a", "b"), agent("b", "a"), open);
}

#[tokio::test]
async fn the_argument_resolves_within_the_header_and_presets_come_with_it_only() {
    let (_one, _two, gateway) = pair(both()).await;
    let session = gateway.session().await;
    let filter = async |toolset: Option<&str>, arguments: Value| {
        let (method, params) = meta("filter_tools", arguments);
        let response = match toolset {
            Some(toolset) => within(&gateway, (session, toolset), method, params).await,
            None => gateway.post(&[session], &rpc(method, &params)).await,
        };
        response.result()
    };
    let names = |result: &Value| {
        let tools = result["structuredContent"]["tools"].as_array().expect("a list").clone();
        let names = tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned));
        names.collect::<Vec<_>>()
    };
    let wide = filter(Some("server:a"), json!({"toolset":["preset:full"]})).await;
    assert_eq!(names(&wide), ["x_a_echo", "x_a_wait"]);
    assert_eq!(wide["structuredContent"]["toolset"], json!(["preset:full"]));
    assert_eq!(wide["structuredContent"]["presets"][0]["name"], "read-only");
    let other = filter(Some("server:a"), json!({"toolset":["server:b"]})).await;
    assert_eq!(names(&other), [""; 0]);
    assert_eq!(other["structuredContent"]["toolset_unmatched"], json!(["server:b"]));
    let plain = filter(Some("server:a"), json!({})).await;
    assert_eq!(plain["structuredContent"]["toolset"], json!(["server:a"]));
    assert!(plain["structuredContent"].get("presets").is_none(), "{plain}");
    let open = filter(None, json!({"include_presets":true,"limit":1})).await;
    assert!(open["structuredContent"].get("toolset").is_none(), "{open}");
    assert_eq!(open["structuredContent"]["presets"].as_array().map(Vec::len), Some(3));
    let own = filter(None, json!({"toolset":["server:b"]})).await;
    assert_eq!(names(&own), ["x_b_echo", "x_b_wait"]);
    for (arguments, sentence) in [
        (json!({"toolset":[]}), "toolset [] is empty"),
        (json!({"toolset":["label:a=b"]}), "is allowed inside presets only"),
        (json!({"toolset":["preset:foo"]}), "names unknown preset"),
        (json!({"toolset":"server:a"}), "`toolset` must be an array of strings"),
        (
            json!({"toolset":["server:a",7]}),
            "`toolset` must be an array of strings",
        ),
        (json!({"include_presets":"yes"}), "`include_presets` must be"),
    ] {
        let wrong = filter(None, arguments.clone()).await;
        assert_eq!(wrong["isError"], true, "{arguments}");
        assert!(
            wrong["content"][0]["text"]
                .as_str()
                .is_some_and(|text| text.contains(sentence)),
            "{wrong}"
        );
    }
}

#[tokio::test]
async fn a_standing_stream_hears_nothing_of_servers_outside_its_toolset() {
    let (one, two, gateway) = pair(both()).await;
    let session = gateway.session().await;
    for uri in ["note://a", "note://b"] {
        let watched = gateway
            .post(&[session], &rpc("resources/subscribe", &json!({"uri":uri})))
            .await;
        watched.result();
    }
    let host = gateway.host();
    let lines = [
        host.as_str(),
        session,
        "Accept: text/event-stream",
        "X-Countersign-Toolset: server:a",
    ];
    let mut events = gateway.stream("GET /mcp", &lines, "").await;
    assert_eq!(events.head().await.status, 200);
    let say = async |upstream: &Upstream, name: &str| {
        let log = json!({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":name}});
        let updated = json!({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":format!("note://{name}")}});
        upstream.say(&log).await;
        upstream.say(&updated).await;
    };
    say(&two, "b").await;
    two.add_tool("secret").await;
    until_listed(&gateway, "x_b_secret").await;
    say(&one, "a").await;
    for _ in 0..2 {
        let heard = events.next().await.expect("a message").to_string();
        assert!(
            !heard.contains("list_changed"),
            "a list that did not change for it: {heard}"
        );
        assert!(!heard.contains("note://b") && !heard.contains("\"b\""), "{heard}");
    }
    one.add_tool("more").await;
    let changed = events.next_of("notifications/tools/list_changed").await;
    assert_eq!(changed["method"], "notifications/tools/list_changed");
}

/// Waits until a tool is in the unscoped list.
async fn until_listed(gateway: &Gateway, name: &str) {
    let listed = async {
        while !gateway.modern("tools/list", None, "").await.body.contains(name) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(super::gateway::LIMIT, listed)
        .await
        .expect("is listed in time");
}

#[tokio::test]
async fn a_subscription_of_2026_07_28_hears_within_the_toolset_of_its_request() {
    let (one, two, gateway) = pair(both()).await;
    let filter = json!({"toolsListChanged":true,"resourceSubscriptions":["note://a","note://b"]});
    let params = format!(r#""notifications":{filter}"#);
    let lines = [
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Method: subscriptions/listen",
        "X-Countersign-Toolset: server:a",
    ];
    let body = super::gateway::modern("subscriptions/listen", &params);
    let mut events = gateway.stream("POST /mcp", &gateway.usual(&lines), &body).await;
    let accepted = events.next().await.expect("an acknowledgement");
    assert_eq!(
        accepted["params"]["notifications"]["resourceSubscriptions"],
        json!(["note://a"]),
        "{accepted}"
    );
    two.add_tool("secret").await;
    until_listed(&gateway, "x_b_secret").await;
    let updated = |name: &str| json!({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":format!("note://{name}")}});
    two.say(&updated("b")).await;
    one.say(&updated("a")).await;
    let heard = events.next().await.expect("a message");
    assert_eq!(heard["params"]["uri"], "note://a", "{heard}");
    one.add_tool("more").await;
    let changed = events.next().await.expect("a message");
    assert_eq!(changed["method"], "notifications/tools/list_changed");
    let bad = gateway
        .post(&[lines[0], lines[1], "X-Countersign-Toolset: preset:foo"], &body)
        .await;
    assert_eq!(bad.code(), -32602, "{bad:?}");
}

#[tokio::test]
async fn a_parked_call_goes_on_within_its_own_toolset_only() {
    let upstream = Upstream::with(vec!["ask"]).await;
    let gateway = Gateway::start(direct(), &[upstream.entry("s")]).await;
    let ask = async |toolset: &str, more: &Value| {
        let mut params = json!({"name":"x_s_ask","arguments":{},"_meta":{
            "io.modelcontextprotocol/protocolVersion":"2026-07-28",
            "io.modelcontextprotocol/clientCapabilities":{"sampling":{}}}});
        for (name, value) in more.as_object().expect("an object") {
            params[name] = value.clone();
        }
        let toolset = format!("X-Countersign-Toolset: {toolset}");
        let lines = [
            "MCP-Protocol-Version: 2026-07-28",
            "Mcp-Method: tools/call",
            "Mcp-Name: x_s_ask",
            &toolset,
        ];
        gateway.post(&lines, &rpc("tools/call", &params)).await
    };
    let asked = ask("server:s", &json!({})).await.result();
    let key = asked["inputRequests"]
        .as_object()
        .and_then(|all| all.keys().next())
        .expect("a question")
        .clone();
    let again = json!({"requestState":asked["requestState"],"inputResponses":{key:{"role":"assistant"}}});
    for other in ["preset:none", "server:s,server:t", "preset:foo"] {
        let refused = ask(other, &again).await;
        assert!(refused.json().get("error").is_some(), "{other} {refused:?}");
    }
    let done = ask("server:s", &again).await.result();
    assert_eq!(done["resultType"], "complete", "{done}");
    assert_eq!(upstream.count("tools/call"), 1);
}

#[tokio::test]
async fn meta_of_a_request_narrows_it_over_http_too_and_reaches_no_server() {
    let (one, _two, gateway) = pair(direct()).await;
    let session = gateway.session().await;
    let list = json!({"_meta":{"countersign/toolset":["server:b"]}});
    let narrow = gateway.post(&[session], &rpc("tools/list", &list)).await.body;
    assert!(narrow.contains("x_b_echo") && !narrow.contains("x_a_echo"), "{narrow}");
    let none = within(&gateway, (session, "server:a"), "tools/list", list).await.body;
    assert!(!none.contains("x_b_echo") && !none.contains("x_a_echo"), "{none}");
    let call = json!({"name":"x_a_echo","arguments":{},"_meta":{"countersign/toolset":"server:a","com.example/x":1}});
    gateway.post(&[session], &rpc("tools/call", &call)).await.result();
    let sent = one.received(|message| message["method"] == "tools/call").await;
    assert_eq!(sent["params"]["_meta"]["com.example/x"], 1, "{sent}");
    assert!(sent["params"]["_meta"].get("countersign/toolset").is_none(), "{sent}");
}

#[tokio::test]
async fn a_flag_bounds_all_requests_of_a_pipe_and_each_may_narrow_itself() {
    let upstream = Upstream::start().await;
    let mut client = Client::within(Some("server:s,tool:core_server_list"), direct(), Some(&upstream)).await;
    client.ask(&super::gateway::initialize("2025-11-25", "{}")).await;
    let names = |answer: &Value| {
        let tools = answer["result"]["tools"].as_array().expect("a list");
        tools
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let whole = client.ask(&rpc("tools/list", &json!({}))).await;
    assert!(names(&whole).contains(&"x_s_echo".to_owned()) && names(&whole).contains(&"core_server_list".to_owned()));
    assert!(!names(&whole).contains(&"core_server_get".to_owned()), "{whole}");
    let narrowed = json!({"_meta":{"countersign/toolset":"tool:x_s_echo,tool:core_server_get"}});
    assert_eq!(names(&client.ask(&rpc("tools/list", &narrowed)).await), ["x_s_echo"]);
    let refused = client.ask(&call("7", "core_server_get", r#"{"name":"s"}"#)).await;
    assert_eq!(
        refused["result"]["content"][0]["text"],
        "tool \"core_server_get\" is outside the toolset [server:s,tool:core_server_list]"
    );
    let bad = client
        .ask(&rpc("tools/list", &json!({"_meta":{"countersign/toolset":7}})))
        .await;
    assert_eq!(bad["error"]["code"], -32602, "{bad}");
    client.end().await;
}
