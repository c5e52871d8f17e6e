//! Streamable HTTP of 2026-07-28.

use std::sync::{Arc, Mutex};

use countersign_core::admit::Ask;
use countersign_upstream::{Answer, Event};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::support::{Bench, Fake, Say, Seen, entry, error, http, ok, passage, principal, result, soon};

const META: &str = "io.modelcontextprotocol/";

/// A modern server; other messages go to `script` first.
async fn modern(script: impl Fn(&Seen) -> Option<Say> + Send + Sync + 'static) -> Fake {
    Fake::start(move |seen| {
        script(seen).unwrap_or_else(|| match seen.method() {
            "server/discover" => ok(
                seen,
                r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true}},"ttlMs":0,"cacheScope":"private"}"#,
            ),
            "tools/list" => ok(seen, r#"{"resultType":"complete","tools":[{"name":"count","inputSchema":{"type":"object"}}]}"#),
            "resources/list" => ok(seen, r#"{"resources":[{"uri":"a:b","name":"ab"}]}"#),
            "resources/templates/list" => ok(seen, r#"{"resourceTemplates":[{"uriTemplate":"a:{x}","name":"ax"}]}"#),
            "tools/call" => ok(seen, r#"{"resultType":"complete","content":[]}"#),
            "subscriptions/listen" => Say::Nothing,
            _ => error(seen, 404, -32601),
        })
    })
    .await
}

#[tokio::test]
async fn a_modern_server_is_listed_and_called_without_a_session() {
    let fake = modern(|_| None).await;
    let bench = Bench::new(entry(http(&fake.url)));
    let alice = principal("alice");
    let listing = bench.list(&alice).await.unwrap();
    assert_eq!(listing.protocol, "2026-07-28");
    assert_eq!(
        (listing.tools.len(), listing.resources.len(), listing.templates.len()),
        (1, 1, 1)
    );

    let (mut passage, _end) = passage();
    passage.abilities.raw = Some(RawValue::from_string(r#"{"elicitation":{"url":{}}}"#.to_owned()).unwrap());
    passage.log_level = Some("debug".to_owned());
    passage.extra = vec![
        (
            "requestState".to_owned(),
            RawValue::from_string("\"opaque\"".to_owned()).unwrap(),
        ),
        (
            "name".to_owned(),
            RawValue::from_string("\"another\"".to_owned()).unwrap(),
        ),
    ];
    result(bench.call_with(&alice, "count", r#"{"city":"Zürich"}"#, passage).await);
    let call = fake.saw("the call", |seen| seen.method() == "tools/call").await;
    assert_eq!(call.header("mcp-method"), Some("tools/call"));
    assert_eq!(call.header("mcp-name"), Some("count"));
    assert_eq!(call.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(call.header("mcp-param-city"), Some("=?base64?WsO8cmljaA==?="));
    assert_eq!(call.header("mcp-session-id"), None);
    let params = &call.body["params"];
    assert_eq!(params["name"], "count", "what was judged is what is sent");
    assert_eq!(params["requestState"], "opaque");
    let meta = &params["_meta"];
    assert_eq!(meta[format!("{META}protocolVersion")], "2026-07-28");
    assert_eq!(
        meta[format!("{META}clientCapabilities")],
        json!({"elicitation": {"url": {}}})
    );
    assert_eq!(meta[format!("{META}clientInfo")]["name"], "countersign");
    assert_eq!(meta[format!("{META}logLevel")], "debug");
    assert!(fake.of_method("initialize").is_empty());
    assert!(fake.seen().iter().all(|seen| seen.verb == "POST"));
}

#[tokio::test]
async fn an_error_with_an_http_status_passes_as_it_is() {
    let fake = modern(|seen| (seen.method() == "tools/call").then(|| error(seen, 400, -32602))).await;
    let bench = Bench::new(entry(http(&fake.url)));
    let Answer::Error(raw) = bench.call(&principal("alice"), "count", "{}").await else {
        panic!("no error")
    };
    assert_eq!(raw.get(), r#"{"code":-32602,"message":"no"}"#);
}

#[tokio::test]
async fn a_cancelled_call_closes_its_stream_and_sends_nothing() {
    let (open, stream) = mpsc::channel::<String>(1);
    let stream = Mutex::new(Some(stream));
    let fake = modern(move |seen| {
        (seen.method() == "tools/call").then(|| Say::Stream(stream.lock().unwrap().take().unwrap()))
    })
    .await;
    let bench = Arc::new(Bench::new(entry(http(&fake.url))));
    let (passage, end) = passage();
    let call = {
        let bench = Arc::clone(&bench);
        tokio::spawn(async move { bench.call_with(&principal("alice"), "count", "{}", passage).await })
    };
    fake.saw("the call", |seen| seen.method() == "tools/call").await;
    end.cancel.cancel();
    assert!(matches!(call.await.unwrap(), Answer::Cancelled));
    soon("the stream's end", open.closed()).await;
    assert!(fake.of_method("notifications/cancelled").is_empty());
}

#[tokio::test]
async fn changes_come_through_one_listen_and_a_subscription_widens_it() {
    let open = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&open);
    let fake = modern(move |seen| {
        (seen.method() == "subscriptions/listen").then(|| {
            let (sender, stream) = mpsc::channel::<String>(8);
            let say = |method: &str, params: serde_json::Value| {
                format!(
                    "data: {}\n\n",
                    json!({"jsonrpc": "2.0", "method": method, "params": params})
                )
            };
            sender
                .try_send(say("notifications/subscriptions/acknowledged", json!({})))
                .unwrap();
            if seen.body["params"]["notifications"]["resourceSubscriptions"].is_array() {
                sender
                    .try_send(say("notifications/resources/updated", json!({"uri": "a:b"})))
                    .unwrap();
            } else {
                sender
                    .try_send(say("notifications/tools/list_changed", json!({})))
                    .unwrap();
            }
            kept.lock().unwrap().push(sender);
            Say::Stream(stream)
        })
    })
    .await;
    let mut bench = Bench::new(entry(http(&fake.url)));
    let alice = principal("alice");
    bench.list(&alice).await.unwrap();
    assert!(matches!(
        soon("a change", bench.events.recv()).await,
        Some(Event::ListChanged { .. })
    ));

    let recorded = bench
        .recorded_ask(&alice, "count", |_| Ask::Subscribe { uri: "a:b".to_owned() })
        .await;
    let (passage, _end) = passage();
    let (answer, _receipt) = bench.upstreams.call(recorded, passage).await;
    assert_eq!(result(answer), json!({}));
    assert!(matches!(
        soon("an update", bench.events.recv()).await,
        Some(Event::ResourceUpdated { .. })
    ));
    let listens = fake.of_method("subscriptions/listen");
    assert_eq!(
        listens[0].body["params"]["notifications"],
        json!({"toolsListChanged": true})
    );
    assert_eq!(
        listens[1].body["params"]["notifications"],
        json!({"toolsListChanged": true, "resourceSubscriptions": ["a:b"]})
    );
}

#[tokio::test]
async fn a_server_that_speaks_only_unknown_versions_is_unavailable() {
    let fake = Fake::start(|seen| {
        let error = r#"{"code":-32022,"message":"no such version","data":{"supported":["2030-01-01"],"requested":"2026-07-28"}}"#;
        Say::Json(400, None, format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, seen.id()))
    })
    .await;
    let bench = Bench::new(entry(http(&fake.url)));
    let why = bench.list(&principal("alice")).await.unwrap_err().to_string();
    assert_eq!(
        why,
        "server fake is unavailable: it refuses `server/discover`: no such version"
    );
}

#[tokio::test]
async fn a_listen_that_the_server_drops_is_made_again_and_followed_by_one_listing() {
    let open = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&open);
    let fake = modern(move |seen| {
        (seen.method() == "subscriptions/listen").then(|| {
            let (sender, stream) = mpsc::channel::<String>(8);
            let acknowledged =
                json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {}});
            sender.try_send(format!("data: {acknowledged}\n\n")).unwrap();
            kept.lock().unwrap().push(sender);
            Say::Stream(stream)
        })
    })
    .await;
    let mut bench = Bench::new(entry(http(&fake.url)));
    bench.list(&principal("alice")).await.unwrap();
    soon("the listen", async {
        while open.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(bench.events.try_recv().is_err(), "nothing was missed yet");
    open.lock().unwrap().clear();
    let event = soon("the lists may have changed", bench.events.recv()).await;
    assert!(matches!(event, Some(Event::ListChanged { .. })), "{event:?}");
    assert_eq!(fake.of_method("subscriptions/listen").len(), 2);
    assert!(bench.events.try_recv().is_err(), "once is enough");
}
