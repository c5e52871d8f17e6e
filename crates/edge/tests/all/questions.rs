//! Questions of servers to clients of the other era.

use std::time::Duration;

use countersign_core::surface::Surface;
use countersign_edge::Settings;
use serde_json::{Value, json};

use super::gateway::{Gateway, LIMIT, Response, call, direct};
use super::stdio::Client;
use super::upstream::Upstream;

/// A session, a tool, the answers that the client gives, and what the tool error says.
type Case<'c> = (&'static str, &'static str, &'c [(&'static str, Value)], &'static str);

const ABLE: &str = r#"{"elicitation":{},"sampling":{}}"#;

async fn pair(settings: Settings) -> (Upstream, Gateway) {
    let upstream = Upstream::with(vec!["ask", "both", "again", "wait"]).await;
    let gateway = Gateway::start(settings, &[upstream.entry("s")]).await;
    (upstream, gateway)
}

/// A modern `tools/call` of a client that can answer; `more` are members of its parameters.
fn asking(id: u8, name: &str, more: &Value) -> String {
    let mut params = json!({"name": name, "arguments": {}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": serde_json::from_str::<Value>(ABLE).expect("JSON"),
        "progressToken": id,
    }});
    for (member, value) in more.as_object().expect("an object") {
        params[member] = value.clone();
    }
    json!({"jsonrpc":"2.0","id":id,"method":"tools/call","params":params}).to_string()
}

pub(crate) async fn send(gateway: &Gateway, id: u8, name: &str, more: &Value) -> Response {
    let named = format!("Mcp-Name: {name}");
    let lines = ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", &named];
    gateway.post(&lines, &asking(id, name, more)).await
}

fn keys(result: &Value) -> Vec<String> {
    assert_eq!(result["resultType"], "input_required", "{result}");
    let requests = result["inputRequests"].as_object().expect("questions");
    requests.keys().cloned().collect()
}

/// The members of a retry that answers every question with `content`.
fn answered(result: &Value, content: &str) -> Value {
    let answers: serde_json::Map<_, _> = keys(result)
        .into_iter()
        .map(|key| (key, json!({"action":"accept","content":{"x":content}})))
        .collect();
    json!({"inputResponses":answers,"requestState":result["requestState"]})
}

#[tokio::test]
async fn i5_a_modern_caller_answers_a_legacy_server_by_a_retry_and_the_call_runs_once() {
    let (upstream, gateway) = pair(direct()).await;
    let asked = send(&gateway, 1, "x_s_ask", &json!({})).await.result();
    assert_eq!(keys(&asked).len(), 1);
    let request = &asked["inputRequests"][&keys(&asked)[0]];
    assert_eq!(
        request,
        &json!({"method":"sampling/createMessage","params":{"messages":[],"_meta":{"countersign/server":"s"}}})
    );
    assert!(asked["_meta"]["io.modelcontextprotocol/serverInfo"].is_object());
    let again = answered(&asked, "yes");
    let done = send(&gateway, 2, "x_s_ask", &again).await.json();
    assert_eq!(done["id"], 2);
    assert_eq!(done["result"]["resultType"], "complete");
    assert_eq!(
        done["result"]["structuredContent"]["said"]["result"]["content"]["x"],
        "yes"
    );
    let twice = send(&gateway, 3, "x_s_ask", &again).await;
    assert_eq!(twice.code(), -32602);
    assert!(twice.body.contains("lapsed"), "{twice:?}");
    assert_eq!(upstream.count("tools/call"), 1);
    let trail = gateway.ledger.recent(10).await.expect("reads");
    assert_eq!(trail.len(), 1, "{trail:?}");
}

#[tokio::test]
async fn a_question_reaches_a_caller_of_call_tool_too() {
    let (upstream, gateway) = pair(Settings {
        surfaces: vec![Surface::Meta],
        ..Settings::default()
    })
    .await;
    let inner = json!({"arguments":{"name":"x_s_ask","arguments":{}}});
    let asked = send(&gateway, 1, "call_tool", &inner).await.result();
    let mut again = answered(&asked, "yes");
    again["arguments"] = inner["arguments"].clone();
    let done = send(&gateway, 2, "call_tool", &again).await.result();
    assert_eq!(done["structuredContent"]["said"]["result"]["content"]["x"], "yes");
    assert_eq!(done["_meta"]["countersign/tool"]["name"], "x_s_ask");
    assert_eq!(upstream.count("tools/call"), 1);
}

#[tokio::test]
async fn a_retry_must_be_of_the_same_request_and_of_a_known_state() {
    let (upstream, gateway) = pair(direct()).await;
    let asked = send(&gateway, 1, "x_s_ask", &json!({})).await.result();
    let good = answered(&asked, "yes");
    let with = |member: &str, value: Value| {
        let mut changed = good.clone();
        changed[member] = value;
        changed
    };
    let state = good["requestState"].as_str().expect("a state");
    let cases = [
        ("x_s_ask", with("arguments", json!({"other":1})), "another request"),
        ("x_s_both", good.clone(), "another request"),
        ("x_s_ask", with("requestState", json!(format!("{state}0"))), "lapsed"),
        ("x_s_ask", with("inputResponses", json!({"a":1})), "must be an object"),
        ("x_s_ask", with("inputResponses", json!([])), "expected a JSON object"),
    ];
    for (name, members, why) in cases {
        let refused = send(&gateway, 2, name, &members).await;
        assert_eq!(refused.code(), -32602, "{why}");
        assert!(refused.body.contains(why), "{refused:?}");
    }
    let done = send(&gateway, 3, "x_s_ask", &good).await.result();
    assert_eq!(done["resultType"], "complete");
    assert_eq!(upstream.count("tools/call"), 1);
}

#[tokio::test]
async fn a_missing_answer_is_asked_for_again_with_the_same_question() {
    let (_upstream, gateway) = pair(direct()).await;
    let first = send(&gateway, 1, "x_s_ask", &json!({})).await.result();
    let empty = json!({"inputResponses":{"unknown":{}},"requestState":first["requestState"]});
    let second = send(&gateway, 2, "x_s_ask", &empty).await.result();
    assert_eq!(second["inputRequests"], first["inputRequests"]);
    assert_ne!(second["requestState"], first["requestState"]);
    let done = send(&gateway, 3, "x_s_ask", &answered(&second, "yes")).await.result();
    assert_eq!(done["resultType"], "complete");
}

#[tokio::test]
async fn answers_to_no_question_are_passed_over_and_reach_no_legacy_server() {
    let (upstream, gateway) = pair(direct()).await;
    let extra = json!({"action":"accept","content":{"x":"unasked"}});
    let unasked = json!({"inputResponses":{"user_name":extra}});
    let asked = send(&gateway, 1, "x_s_ask", &unasked).await.result();
    assert_eq!(keys(&asked).len(), 1);
    let sent = upstream.received(|sent| sent["method"] == "tools/call").await;
    assert_eq!(sent["params"]["inputResponses"], Value::Null);
    let mut again = answered(&asked, "yes");
    again["inputResponses"]["user_name"] = extra;
    let done = send(&gateway, 2, "x_s_ask", &again).await.result();
    assert_eq!(done["structuredContent"]["said"]["result"]["content"]["x"], "yes");
    assert_eq!(upstream.count("tools/call"), 1);
}

#[tokio::test]
async fn two_questions_of_one_call_are_both_answered() {
    let (upstream, gateway) = pair(direct()).await;
    let mut result = send(&gateway, 1, "x_s_both", &json!({})).await.result();
    let mut rounds = 0;
    while result["resultType"] == "input_required" {
        rounds += 1;
        assert!(rounds <= 2, "{result}");
        let answers = result["inputRequests"].as_object().expect("questions").iter();
        let answers: serde_json::Map<_, _> = answers
            .map(|(key, question)| (key.clone(), json!({"action":question["params"]["message"]})))
            .collect();
        let again = json!({"inputResponses":answers,"requestState":result["requestState"]});
        result = send(&gateway, 2, "x_s_both", &again).await.result();
    }
    let said = json!([{"action":"[s] one"},{"action":"[s] two"}]);
    assert_eq!(result["structuredContent"]["said"], said);
    assert_eq!(upstream.count("tools/call"), 1);
}

#[tokio::test]
async fn a_question_after_a_retry_is_asked_by_the_retry_whose_stream_hears_the_progress() {
    let (_upstream, gateway) = pair(direct()).await;
    let first = send(&gateway, 1, "x_s_again", &json!({})).await.result();
    let retry = send(&gateway, 2, "x_s_again", &answered(&first, "one")).await.events();
    assert_eq!(retry[0]["params"]["progressToken"], 2);
    let second = &retry[1]["result"];
    assert_eq!(
        second["inputRequests"][&keys(second)[0]]["params"]["message"],
        "[s] second"
    );
    let done = send(&gateway, 3, "x_s_again", &answered(second, "two")).await.json();
    assert_eq!(
        (&done["id"], &done["result"]["resultType"]),
        (&json!(3), &json!("complete"))
    );
}

#[tokio::test]
async fn a_question_that_nobody_answers_lapses_and_its_call_is_cancelled() {
    let settings = Settings {
        question_lifetime: Duration::from_millis(1),
        ..direct()
    };
    let (upstream, gateway) = pair(settings).await;
    let asked = send(&gateway, 1, "x_s_ask", &json!({})).await.result();
    let answer = upstream.received(|message| message["id"] == "up-1").await;
    assert!(
        answer["error"]["message"]
            .as_str()
            .is_some_and(|text| text.contains("in time"))
    );
    let late = send(&gateway, 2, "x_s_ask", &answered(&asked, "late")).await;
    assert_eq!(late.code(), -32602);
    assert!(late.body.contains("lapsed"), "{late:?}");
}

#[tokio::test]
async fn one_question_too_many_is_refused_and_the_call_goes_on() {
    let settings = Settings {
        parked_per_principal: 1,
        ..direct()
    };
    let (_upstream, gateway) = pair(settings).await;
    let first = send(&gateway, 1, "x_s_again", &json!({})).await.result();
    assert_eq!(keys(&first).len(), 1);
    let second = send(&gateway, 2, "x_s_ask", &json!({})).await.result();
    let said = second["structuredContent"]["said"]["error"]["message"].as_str();
    assert!(
        said.is_some_and(|text| text.contains("parked_per_principal")),
        "{second}"
    );
}

#[tokio::test]
async fn a_pipe_parks_and_resumes_and_its_end_cancels_what_is_parked() {
    let upstream = Upstream::with(vec!["ask", "again"]).await;
    let mut client = Client::start(direct(), Some(&upstream)).await;
    let asked = client.ask(&asking(1, "x_s_ask", &json!({}))).await["result"].clone();
    let cancelled = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    client.say(cancelled).await;
    let done = client.ask(&asking(2, "x_s_ask", &answered(&asked, "yes"))).await;
    assert_eq!(done["id"], 2);
    assert_eq!(
        done["result"]["structuredContent"]["said"]["result"]["content"]["x"],
        "yes"
    );
    let parked = client.ask(&asking(3, "x_s_again", &json!({}))).await;
    assert_eq!(keys(&parked["result"]).len(), 1);
    client.end().await;
    let cancelled = upstream
        .received(|message| message["method"] == "notifications/cancelled" || message["id"] == "again-1")
        .await;
    assert!(cancelled.get("result").is_none(), "{cancelled}");
}

/// A legacy session that answers what it is asked, in order; the last message is given back.
async fn answering(gateway: &Gateway, session: &'static str, name: &str, answers: &[(&str, Value)]) -> Value {
    let mut events = gateway
        .stream("POST /mcp", &gateway.usual(&[session]), &call("5", name, "{}"))
        .await;
    for (method, outcome) in answers {
        let asked = events.next().await.expect("a request");
        assert_eq!(asked["method"], *method);
        if *method == "elicitation/create" {
            assert_eq!(asked["params"]["message"], "[m] Who?");
        }
        let mut answer = json!({"jsonrpc":"2.0","id":asked["id"]});
        let member = if outcome.get("code").is_some() {
            "error"
        } else {
            "result"
        };
        answer[member] = outcome.clone();
        assert_eq!(gateway.post(&[session], &answer.to_string()).await.status, 202);
    }
    let last = events.next().await.expect("an answer");
    assert_eq!(last["id"], 5, "{last}");
    last["result"].clone()
}

#[tokio::test]
async fn a_legacy_client_is_asked_what_a_modern_server_requires_and_the_answers_go_back() {
    let upstream = Upstream::modern(vec!["need"]).await;
    let gateway = Gateway::start(direct(), &[upstream.entry("m")]).await;
    let able = r#"{"elicitation":{},"sampling":{},"roots":{"listChanged":true},"tasks":{}}"#;
    let session = gateway.session_with("2025-11-25", able).await;
    let who = json!({"action":"accept","content":{"name":"Ada"}});
    let what = json!({"role":"assistant","model":"m"});
    let answers = [
        ("sampling/createMessage", what.clone()),
        ("elicitation/create", who.clone()),
    ];
    let result = answering(&gateway, session, "x_m_need", &answers).await;
    assert!(result.get("resultType").is_none(), "{result}");
    let sent = &result["structuredContent"]["sent"];
    assert_eq!(sent["inputResponses"], json!({"who":who,"what":what}));
    assert_eq!(sent["requestState"], "st-1");
    let told = &sent["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    let tasks = json!({"io.modelcontextprotocol/tasks":{}});
    assert_eq!(
        told,
        &json!({"sampling":{},"elicitation":{"form":{}},"roots":{},"extensions":tasks})
    );
    assert_eq!(upstream.count("tools/call"), 2);
    assert_eq!(gateway.ledger.recent(10).await.expect("reads").len(), 2);
}

#[tokio::test]
async fn what_a_legacy_client_cannot_or_will_not_answer_is_told_as_a_tool_error() {
    let upstream = Upstream::modern(vec!["need", "endless", "rude"]).await;
    let gateway = Gateway::start(direct(), &[upstream.entry("m")]).await;
    let unable = gateway.session_with("2025-11-25", r#"{"elicitation":{}}"#).await;
    let able = gateway.session_with("2025-11-25", ABLE).await;
    let no = ("elicitation/create", json!({"code":-1,"message":"not today"}));
    let cases: [Case<'_>; 4] = [
        (unable, "x_m_need", &[], "`sampling`, which the client did not declare"),
        (able, "x_m_endless", &[], "asked for input 10 times"),
        (able, "x_m_rude", &[], "`secrets/list`"),
        (able, "x_m_need", &[no], "not today"),
    ];
    for (session, name, answers, why) in cases {
        let result = if answers.is_empty() {
            gateway.post(&[session], &call("5", name, "{}")).await.result()
        } else {
            let answering = both(&gateway, session, name, answers);
            tokio::time::timeout(LIMIT, answering).await.expect("in time")
        };
        assert_eq!(result["isError"], true, "{name}: {result}");
        let text = result["content"][0]["text"].as_str().expect("a text");
        assert!(text.contains(why), "{name}: {text}");
    }
}

/// As [`answering`], where both questions are asked before the first answer.
async fn both(gateway: &Gateway, session: &'static str, name: &str, answers: &[(&str, Value)]) -> Value {
    let mut events = gateway
        .stream("POST /mcp", &gateway.usual(&[session]), &call("5", name, "{}"))
        .await;
    let asked = [events.next().await.expect("one"), events.next().await.expect("two")];
    for (method, error) in answers {
        let question = asked.iter().find(|asked| asked["method"] == *method).expect("is asked");
        let answer = json!({"jsonrpc":"2.0","id":question["id"],"error":error}).to_string();
        assert_eq!(gateway.post(&[session], &answer).await.status, 202);
    }
    events.next().await.expect("an answer")["result"].clone()
}

/// A modern `tools/call` whose client opens URLs.
async fn opening(gateway: &Gateway, id: u8, more: &Value) -> Response {
    let body = asking(id, "x_s_ask", more).replace(r#""elicitation":{}"#, r#""elicitation":{"url":{}}"#);
    let lines = [
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Method: tools/call",
        "Mcp-Name: x_s_ask",
    ];
    gateway.post(&lines, &body).await
}

#[tokio::test]
async fn a_legacy_server_that_sends_to_a_url_asks_a_modern_caller_and_is_called_again_when_it_accepts() {
    let calls = std::sync::atomic::AtomicUsize::new(0);
    let upstream = Upstream::scripted(false, vec!["ask"], move |message| {
        let first = || calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst) < 3;
        (message["method"] == "tools/call").then(|| {
            if first() {
                json!({"error":{"code":-32042,"message":"log in","data":{"elicitations":[
                    {"mode":"url","elicitationId":"e-1","url":"https://a.example/login","message":"Log in"}]}}})
            } else {
                json!({"result":{"content":[],"structuredContent":{"sent":message["params"]}}})
            }
        })
    })
    .await;
    let gateway = Gateway::start(direct(), &[upstream.entry("s")]).await;
    let unable = send(&gateway, 1, "x_s_ask", &json!({})).await.json();
    assert_eq!(unable["error"]["code"], -32603, "{unable}");
    assert_eq!(unable["error"]["data"]["elicitations"][0]["elicitationId"], "e-1");
    let asked = opening(&gateway, 2, &json!({})).await.result();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let question = &asked["inputRequests"]["countersign-url-e-1"];
    assert_eq!(question["method"], "elicitation/create");
    let params = &question["params"];
    assert_eq!(
        (&params["mode"], &params["url"], &params["message"]),
        (&json!("url"), &json!("https://a.example/login"), &json!("[s] Log in"))
    );
    assert!(
        params.get("elicitationId").is_none() && asked.get("requestState").is_none(),
        "{asked}"
    );
    let declined = json!({"inputResponses":{"countersign-url-e-1":{"action":"decline"}}});
    let told = opening(&gateway, 3, &declined).await.result();
    assert_eq!(told["isError"], true, "{told}");
    assert_eq!(upstream.count("tools/call"), 2);
    let accepted = json!({"inputResponses":{"countersign-url-e-1":{"action":"accept"}}});
    let again = opening(&gateway, 4, &accepted).await.result();
    assert_eq!(
        again["resultType"], "input_required",
        "its person is not done there: {again}"
    );
    let done = opening(&gateway, 5, &accepted).await.result();
    // What answers a question of 2026-07-28 is none of this server's business.
    let sent = done["structuredContent"]["sent"].as_object().expect("parameters");
    assert_eq!(sent.keys().collect::<Vec<_>>(), ["_meta", "arguments", "name"]);
}

#[tokio::test]
async fn more_urls_than_anybody_opens_stay_an_error() {
    let upstream = Upstream::scripted(false, vec!["ask"], |message| {
        let all: Vec<_> = (0..17)
            .map(|at| json!({"mode":"url","elicitationId":at.to_string(),"url":"https://a.example","message":"m"}))
            .collect();
        (message["method"] == "tools/call")
            .then(|| json!({"error":{"code":-32042,"message":"log in","data":{"elicitations":all}}}))
    })
    .await;
    let gateway = Gateway::start(direct(), &[upstream.entry("s")]).await;
    assert_eq!(opening(&gateway, 1, &json!({})).await.code(), -32603);
}

#[tokio::test]
async fn a_legacy_client_is_sent_to_a_modern_servers_url_and_told_when_it_is_done() {
    let calls = std::sync::atomic::AtomicUsize::new(0);
    let upstream = Upstream::scripted(true, vec!["need"], move |message| {
        if message["method"] != "tools/call" {
            return None;
        }
        if calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst) < 2 {
            return Some(json!({"result":{"resultType":"input_required","requestState":"st-1","inputRequests":{
                "login":{"method":"elicitation/create","params":{"mode":"url","url":"https://a.example/login","message":"Log in"}}}}}));
        }
        Some(json!({"result":{"resultType":"complete","content":[],"structuredContent":{"sent":message["params"]}}}))
    })
    .await;
    let gateway = Gateway::start(direct(), &[upstream.entry("m")]).await;
    let session = gateway
        .session_with("2025-11-25", r#"{"elicitation":{"url":{}}}"#)
        .await;
    let lines = gateway.usual(&[session]);
    let mut events = gateway.stream("POST /mcp", &lines, &call("5", "x_m_need", "{}")).await;
    let asked = events.next().await.expect("a question");
    let id = asked["params"]["elicitationId"].clone();
    assert!(id.is_string(), "{asked}");
    assert_eq!(asked["params"]["message"], "[m] Log in");
    let answer = json!({"jsonrpc":"2.0","id":asked["id"],"result":{"action":"accept"}}).to_string();
    assert_eq!(gateway.post(&[session], &answer).await.status, 202);
    let waits = events.next().await.expect("an answer");
    assert_eq!(waits["error"]["code"], -32042, "{waits}");
    assert_eq!(waits["error"]["data"]["elicitations"][0]["elicitationId"], id);
    let mut events = gateway.stream("POST /mcp", &lines, &call("6", "x_m_need", "{}")).await;
    let complete = events.next().await.expect("a word");
    assert_eq!(complete["method"], "notifications/elicitation/complete", "{complete}");
    assert_eq!(complete["params"]["elicitationId"], id);
    let done = events.next().await.expect("an answer");
    let sent = &done["result"]["structuredContent"]["sent"];
    assert_eq!(
        (&sent["requestState"], &sent["inputResponses"]["login"]["action"]),
        (&json!("st-1"), &json!("accept"))
    );
}

#[tokio::test]
async fn a_modern_servers_question_names_the_server_to_a_modern_caller_too() {
    let upstream = Upstream::modern(vec!["need"]).await;
    let gateway = Gateway::start(direct(), &[upstream.entry("m")]).await;
    let asked = send(&gateway, 1, "x_m_need", &json!({})).await.result();
    let requests = &asked["inputRequests"];
    assert_eq!(requests["who"]["params"]["message"], "[m] Who?");
    assert_eq!(requests["what"]["params"]["_meta"]["countersign/server"], "m");
    assert_eq!(asked["requestState"], "st-1");
}

#[tokio::test]
async fn a_legacy_server_is_told_the_roots_of_the_caller_whose_call_it_is() {
    let upstream = Upstream::with(vec!["roots"]).await;
    let gateway = Gateway::start(direct(), &[upstream.entry("s")]).await;
    let able = gateway.session_with("2025-11-25", r#"{"roots":{}}"#).await;
    let roots = json!({"roots":[{"uri":"file:///w"}]});
    let mut events = gateway
        .stream("POST /mcp", &gateway.usual(&[able]), &call("5", "x_s_roots", "{}"))
        .await;
    let asked = events.next().await.expect("a question");
    assert_eq!(asked["method"], "roots/list");
    let answer = json!({"jsonrpc":"2.0","id":asked["id"],"result":roots}).to_string();
    assert_eq!(gateway.post(&[able], &answer).await.status, 202);
    let done = events.next().await.expect("an answer");
    assert_eq!(done["result"]["structuredContent"]["said"]["result"], roots);
    let declared = upstream.received(|message| message["method"] == "initialize").await;
    assert_eq!(declared["params"]["capabilities"]["roots"], json!({}));
}

#[tokio::test]
async fn a_legacy_server_hears_honestly_that_its_caller_has_no_roots() {
    let upstream = Upstream::with(vec!["roots"]).await;
    let gateway = Gateway::start(direct(), &[upstream.entry("s")]).await;
    let unable = gateway.session_with("2025-11-25", "{}").await;
    let done = gateway.post(&[unable], &call("5", "x_s_roots", "{}")).await.result();
    let error = &done["structuredContent"]["said"]["error"];
    assert_eq!(error["code"], -32601, "{done}");
    assert!(
        error["message"]
            .as_str()
            .is_some_and(|text| text.contains("does not support roots")),
        "{error}"
    );
}

#[tokio::test]
async fn a_trace_goes_on_in_meta_and_header_with_a_span_of_the_gateways_own() {
    let upstream = Upstream::with(vec!["echo"]).await;
    let gateway = Gateway::start(direct(), &[upstream.entry("s")]).await;
    let session = gateway.session().await;
    let body = json!({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x_s_echo","arguments":{},"_meta":{
        "traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"a=1","baggage":"user=ada"}}});
    gateway.post(&[session], &body.to_string()).await.result();
    let sent = upstream.received(|message| message["method"] == "tools/call").await;
    let meta = &sent["params"]["_meta"];
    let parent = meta["traceparent"].as_str().expect("a parent");
    assert!(parent.starts_with("00-0af7651916cd43dd8448eb211c80319c-") && !parent.contains("b7ad6b7169203331"));
    assert_eq!(sent["headers"]["traceparent"], parent);
    assert_eq!(
        (&meta["tracestate"], &sent["headers"]["tracestate"]),
        (&json!("a=1"), &json!("a=1"))
    );
    assert!(
        meta.get("baggage").is_none() && sent["headers"].get("baggage").is_none(),
        "{sent}"
    );
}
