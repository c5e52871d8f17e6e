//! Tasks of both eras: what callers follow themselves, and what is run to its end for them.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::gateway::{Gateway, call, direct};
use super::upstream::Upstream;

const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// A modern request of a client that follows tasks.
async fn following(gateway: &Gateway, method: &str, name: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"extensions":{EXTENSION:{}}},
    });
    let body = json!({"jsonrpc":"2.0","id":"f","method":method,"params":params}).to_string();
    let lines = [
        "MCP-Protocol-Version: 2026-07-28".to_owned(),
        format!("Mcp-Method: {method}"),
        format!("Mcp-Name: {name}"),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    gateway.post(&lines, &body).await.json()
}

/// A server of 2025-11-25 whose tool runs as a task only.
async fn old_server() -> Upstream {
    let gets = AtomicUsize::new(0);
    Upstream::scripted(false, vec![], move |message| {
        let task = |status: &str| json!({"taskId":"up-7","status":status,"statusMessage":status,"createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":1000,"pollInterval":20});
        match message["method"].as_str()? {
            "tools/list" => Some(json!({"result":{"tools":[
                {"name":"research","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}},
                {"name":"either","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}},
            ]}})),
            "tools/call" if message["params"].get("task").is_some() => Some(json!({"result":{"task":task("working")}})),
            "tools/call" => Some(json!({"error":{"code":-32601,"message":"it runs as a task only"}})),
            "tasks/get" => {
                let status = if gets.fetch_add(1, Ordering::SeqCst) == 0 { "working" } else { "completed" };
                Some(json!({"result":task(status)}))
            }
            "tasks/result" => Some(json!({"result":{
                "content":[{"type":"text","text":"found"}],
                "_meta":{"io.modelcontextprotocol/related-task":{"taskId":"up-7"}},
            }})),
            "tasks/cancel" => Some(json!({"result":task("cancelled")})),
            "tasks/list" => Some(json!({"result":{"tasks":[]}})),
            _ => None,
        }
    })
    .await
}

/// A server of 2026-07-28 that answers every call with a task, which asks something and then ends as `end`.
async fn new_server(end: Value) -> Upstream {
    let updates = AtomicUsize::new(0);
    Upstream::scripted(true, vec!["slow"], move |message| {
        let task = |status: &str, more: Value| {
            let mut task = json!({"taskId":"up-9","status":status,"createdAt":"2026-01-01T00:00:00Z",
                "lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":null,"pollIntervalMs":20});
            for (name, value) in more.as_object().expect("an object") {
                task[name] = value.clone();
            }
            json!({"result":task})
        };
        match message["method"].as_str()? {
            "tools/call" => {
                let told = &message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
                if told["extensions"].get(EXTENSION).is_none() {
                    return Some(
                        json!({"result":{"resultType":"complete","content":[{"type":"text","text":"plain"}]}}),
                    );
                }
                Some(task("working", json!({"resultType":"task"})))
            }
            "tasks/get" if updates.load(Ordering::SeqCst) == 0 => Some(task(
                "input_required",
                json!({"resultType":"complete","inputRequests":{"who":{"method":"elicitation/create",
                    "params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}}}),
            )),
            "tasks/get" => Some(task(
                if end.get("error").is_some() {
                    "failed"
                } else {
                    "completed"
                },
                {
                    let mut end = end.clone();
                    end["resultType"] = json!("complete");
                    end
                },
            )),
            "tasks/update" => {
                updates.fetch_add(1, Ordering::SeqCst);
                Some(json!({"result":{"resultType":"complete"}}))
            }
            "tasks/cancel" => Some(json!({"result":{"resultType":"complete"}})),
            _ => None,
        }
    })
    .await
}

#[tokio::test]
async fn a_tool_that_runs_as_a_task_only_answers_callers_that_know_no_such_tasks() {
    let upstream = old_server().await;
    let gateway = Gateway::start(direct(), &[upstream.entry("s")]).await;
    let modern = gateway
        .modern(
            "tools/call",
            Some("x_s_research"),
            r#""name":"x_s_research","arguments":{}"#,
        )
        .await
        .result();
    assert_eq!(modern["content"][0]["text"], "found", "{modern}");
    assert_eq!(modern["resultType"], "complete");
    assert!(
        modern["_meta"].get("io.modelcontextprotocol/related-task").is_none(),
        "{modern}"
    );
    let session = gateway.session_with("2025-06-18", "{}").await;
    let legacy = gateway
        .post(&[session], &call("3", "x_s_research", "{}"))
        .await
        .result();
    assert_eq!(legacy["content"][0]["text"], "found");
    let sent = upstream.received(|message| message["method"] == "tools/call").await;
    assert_eq!(sent["params"]["task"], json!({}));
    assert_eq!(upstream.count("tools/call"), 2);
    assert_eq!(upstream.count("tasks/cancel"), 0);
    assert_eq!(gateway.ledger.recent(10).await.expect("reads").len(), 2);
}

#[tokio::test]
async fn a_task_that_is_run_for_its_caller_is_cancelled_with_the_call() {
    let upstream = Upstream::scripted(false, vec![], |message| match message["method"].as_str()? {
        "tools/list" => Some(json!({"result":{"tools":[
            {"name":"research","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}]}})),
        "tools/call" => Some(json!({"result":{"task":{"taskId":"up-7","status":"working","pollInterval":20}}})),
        "tasks/get" => Some(json!({"result":{"taskId":"up-7","status":"working","statusMessage":"on its way"}})),
        "tasks/result" => Some(json!("never")),
        "tasks/cancel" => Some(json!({"result":{"taskId":"up-7","status":"cancelled"}})),
        _ => None,
    })
    .await;
    let gateway = Gateway::start(direct(), &[upstream.entry("s")]).await;
    let session = gateway.session().await;
    let body = r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"x_s_research","arguments":{},"_meta":{"progressToken":"mine"}}}"#;
    let mut events = gateway.stream("POST /mcp", &gateway.usual(&[session]), body).await;
    let progress = events.next().await.expect("progress");
    assert_eq!(progress["method"], "notifications/progress");
    assert_eq!(
        progress["params"],
        json!({"progressToken":"mine","progress":1,"message":"on its way"})
    );
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}"#;
    assert_eq!(gateway.post(&[session], cancel).await.status, 202);
    let cancelled = upstream.received(|message| message["method"] == "tasks/cancel").await;
    assert_eq!(cancelled["params"]["taskId"], "up-7");
}

#[tokio::test]
async fn a_modern_servers_task_is_run_to_its_end_for_a_session_and_its_question_is_asked() {
    let upstream = new_server(json!({"result":{"content":[],"structuredContent":[1]}})).await;
    let gateway = Gateway::start(direct(), &[upstream.entry("m")]).await;
    let session = gateway.session_with("2025-11-25", r#"{"elicitation":{}}"#).await;
    let mut events = gateway
        .stream("POST /mcp", &gateway.usual(&[session]), &call("5", "x_m_slow", "{}"))
        .await;
    let asked = events.next().await.expect("a question");
    assert_eq!(asked["params"]["message"], "[m] Who?");
    let answer = json!({"jsonrpc":"2.0","id":asked["id"],"result":{"action":"accept","content":{}}}).to_string();
    assert_eq!(gateway.post(&[session], &answer).await.status, 202);
    let done = events.next().await.expect("an answer");
    // What is not an object is text for a session's client.
    assert_eq!(done["result"], json!({"content":[{"type":"text","text":"[1]"}]}));
    let update = upstream.received(|message| message["method"] == "tasks/update").await;
    assert_eq!(update["params"]["inputResponses"]["who"]["action"], "accept");
    assert_eq!(update["headers"]["mcp-name"], "up-9");
    assert_eq!(upstream.count("tools/call"), 1);
}

#[tokio::test]
async fn a_task_that_fails_or_cannot_be_answered_is_an_error_and_is_given_up() {
    let failed = new_server(json!({"error":{"code":-32603,"message":"it broke","data":{"a":1}}})).await;
    let gateway = Gateway::start(direct(), &[failed.entry("m")]).await;
    let unable = gateway.session_with("2025-11-25", "{}").await;
    let refused = gateway.post(&[unable], &call("5", "x_m_slow", "{}")).await.json();
    assert!(
        refused["error"]["message"]
            .as_str()
            .is_some_and(|text| text.contains("elicitation")),
        "{refused}"
    );
    failed.received(|message| message["method"] == "tasks/cancel").await;
}

#[tokio::test]
async fn a_modern_caller_without_the_extension_gets_a_plain_answer() {
    let upstream = new_server(json!({})).await;
    let gateway = Gateway::start(direct(), &[upstream.entry("m")]).await;
    let plain = gateway
        .modern("tools/call", Some("x_m_slow"), r#""name":"x_m_slow","arguments":{}"#)
        .await
        .result();
    assert_eq!(plain["content"][0]["text"], "plain");
}

#[tokio::test]
async fn a_task_that_its_caller_did_not_ask_for_is_run_to_its_end() {
    let task = |status: &str, kind: &str| {
        json!({"resultType":kind,"taskId":"up-1","status":status,"createdAt":"2026-01-01T00:00:00Z",
            "lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":null,"pollIntervalMs":20})
    };
    let upstream = Upstream::scripted(true, vec!["rash"], move |message| match message["method"].as_str()? {
        "tools/call" => Some(json!({"result":task("working", "task")})),
        "tasks/get" => {
            let mut done = task("completed", "complete");
            done["result"] = json!({"content":[{"type":"text","text":"done"}]});
            Some(json!({"result":done}))
        }
        _ => None,
    })
    .await;
    let gateway = Gateway::start(direct(), &[upstream.entry("m")]).await;
    let done = gateway
        .modern("tools/call", Some("x_m_rash"), r#""name":"x_m_rash","arguments":{}"#)
        .await;
    let done = done.result();
    assert_eq!(
        (&done["resultType"], &done["content"][0]["text"]),
        (&json!("complete"), &json!("done")),
        "{done}"
    );
}

#[tokio::test]
async fn a_modern_caller_follows_a_task_under_an_id_of_the_gateways_own() {
    let upstream = new_server(json!({"result":{"content":[{"type":"text","text":"done"}]}})).await;
    let gateway = Gateway::start(direct(), &[upstream.entry("m")]).await;
    let begun = following(
        &gateway,
        "tools/call",
        "x_m_slow",
        json!({"name":"x_m_slow","arguments":{}}),
    )
    .await;
    let begun = &begun["result"];
    assert_eq!(begun["resultType"], "task", "{begun}");
    let id = begun["taskId"].as_str().expect("an id").to_owned();
    assert!(
        id.starts_with("countersign-task-") && !begun.to_string().contains("up-9"),
        "{begun}"
    );
    let asks = following(&gateway, "tasks/get", &id, json!({"taskId":id})).await;
    assert_eq!(asks["result"]["taskId"], id.as_str());
    assert_eq!(asks["result"]["inputRequests"]["who"]["params"]["message"], "[m] Who?");
    let answers = json!({"taskId":id,"inputResponses":{"who":{"action":"accept"}}});
    let update = following(&gateway, "tasks/update", &id, answers).await;
    assert_eq!(update["result"]["resultType"], "complete", "{update}");
    let sent = upstream.received(|message| message["method"] == "tasks/update").await;
    assert_eq!(sent["params"]["taskId"], "up-9");
    assert_eq!(sent["params"]["inputResponses"]["who"]["action"], "accept");
    assert_eq!(sent["headers"]["mcp-name"], "up-9");
    let done = following(&gateway, "tasks/get", &id, json!({"taskId":id})).await;
    assert_eq!(done["result"]["result"]["content"][0]["text"], "done");
    let cancelled = following(&gateway, "tasks/cancel", &id, json!({"taskId":id})).await;
    assert_eq!(cancelled["result"]["resultType"], "complete");
    // The server's own id is nobody's, and neither is the id in another's words.
    for foreign in ["up-9", "countersign-task-0"] {
        let refused = following(&gateway, "tasks/get", foreign, json!({"taskId":foreign})).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        assert_eq!(refused["error"]["data"]["code"], "task_not_found");
    }
    let params = format!(r#""taskId":"{id}""#);
    let undeclared = gateway.modern("tasks/get", Some(&id), &params).await;
    assert_eq!((undeclared.status, undeclared.code()), (400, -32021));
    let session = gateway.session().await;
    let body = json!({"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":id}}).to_string();
    assert_eq!(
        gateway.post(&[session], &body).await.code(),
        -32602,
        "another era's task"
    );
}

#[tokio::test]
async fn a_modern_caller_hears_of_its_task_by_listening() {
    let upstream = new_server(json!({})).await;
    let gateway = Gateway::start(direct(), &[upstream.entry("m")]).await;
    let begun = following(
        &gateway,
        "tools/call",
        "x_m_slow",
        json!({"name":"x_m_slow","arguments":{}}),
    )
    .await;
    let id = begun["result"]["taskId"].as_str().expect("an id").to_owned();
    let body = json!({"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{
        "notifications":{"taskIds":[id, "up-9"]},
        "_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
            "io.modelcontextprotocol/clientCapabilities":{"extensions":{EXTENSION:{}}}},
    }})
    .to_string();
    let lines = ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: subscriptions/listen"];
    let mut events = gateway.stream("POST /mcp", &gateway.usual(&lines), &body).await;
    let acknowledged = events.next().await.expect("an acknowledgement");
    assert_eq!(acknowledged["params"]["notifications"], json!({"taskIds":[id]}));
    let listened = upstream
        .received(|message| message["method"] == "subscriptions/listen")
        .await;
    assert_eq!(listened["params"]["notifications"]["taskIds"], json!(["up-9"]));
    let changed = json!({"jsonrpc":"2.0","method":"notifications/tasks","params":{"taskId":"up-9","status":"working"}});
    upstream.say(&changed).await;
    let heard = events.next_of("notifications/tasks").await;
    assert_eq!(heard["params"]["taskId"], id.as_str());
    assert_eq!(heard["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "l");
}

#[tokio::test]
async fn a_session_follows_a_task_of_its_own_era() {
    let upstream = old_server().await;
    let gateway = Gateway::start(direct(), &[upstream.entry("s")]).await;
    let session = gateway.session().await;
    let ask = async |method: &str, params: Value| {
        let body = json!({"jsonrpc":"2.0","id":2,"method":method,"params":params}).to_string();
        gateway.post(&[session], &body).await.json()
    };
    let begun = ask(
        "tools/call",
        json!({"name":"x_s_either","arguments":{},"task":{"ttl":60000}}),
    )
    .await;
    let task = &begun["result"]["task"];
    let id = task["taskId"].as_str().expect("an id").to_owned();
    assert!(id.starts_with("countersign-task-"), "{begun}");
    let sent = upstream.received(|message| message["method"] == "tools/call").await;
    assert_eq!(sent["params"]["task"], json!({"ttl":60000}));
    let mut events = gateway.stream("GET /mcp", &gateway.usual(&[session]), "").await;
    events.head().await;
    let changed =
        json!({"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"up-7","status":"working"}});
    upstream.say(&changed).await;
    assert_eq!(
        events.next_of("notifications/tasks/status").await["params"]["taskId"],
        id.as_str()
    );
    let got = ask("tasks/get", json!({"taskId":id})).await;
    assert_eq!(got["result"]["taskId"], id.as_str(), "{got}");
    let listed = ask("tasks/list", json!({})).await;
    assert_eq!(listed["result"]["tasks"][0]["taskId"], id.as_str(), "{listed}");
    let result = ask("tasks/result", json!({"taskId":id})).await;
    assert_eq!(result["result"]["content"][0]["text"], "found");
    let related = &result["result"]["_meta"]["io.modelcontextprotocol/related-task"]["taskId"];
    assert_eq!(related, id.as_str());
    let cancelled = ask("tasks/cancel", json!({"taskId":id})).await;
    assert_eq!(cancelled["result"]["status"], "cancelled");
    assert_eq!(
        ask("tasks/get", json!({"taskId":"up-7"})).await["error"]["code"],
        -32602
    );
    // It exists since 2026-07-28 only, and so does what every request of its era must carry.
    assert_eq!(ask("tasks/update", json!({"taskId":id})).await["error"]["code"], -32602);
}

#[tokio::test]
async fn what_cannot_run_as_a_task_of_a_session_says_so() {
    let upstream = new_server(json!({})).await;
    let gateway = Gateway::start(direct(), &[upstream.entry("m")]).await;
    let session = gateway.session().await;
    let body =
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x_m_slow","arguments":{},"task":{}}}"#;
    // The first list settles who serves the tool.
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    gateway.post(&[session], list).await.result();
    let refused = gateway.post(&[session], body).await;
    assert_eq!(refused.code(), -32601, "{refused:?}");
    assert_eq!(upstream.count("tools/call"), 0);
}
