//! Streamable HTTP before 2026-07-28.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use countersign_core::exact::Digest;
use countersign_core::server::Sharing;
use countersign_upstream::{Answer, Event, Reply, ToCaller};
use futures_util::future::join_all;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::support::{
    Bench, Say, Seen, entry, error, http, legacy, lost, not_sent, ok, passage, pieces, principal, result, settings,
    soon, status,
};

fn is_call(seen: &Seen) -> bool {
    seen.method() == "tools/call"
}

fn event(json: &serde_json::Value) -> String {
    format!("data: {json}\n\n")
}

fn done(seen: &Seen) -> String {
    event(&json!({"jsonrpc": "2.0", "id": seen.id(), "result": {"content": []}}))
}

#[tokio::test]
async fn a_legacy_server_is_listed_and_called() {
    let fake = legacy(|_| None).await;
    let bench = Bench::new(entry(http(&fake.url)));
    let alice = principal("alice");
    let listing = bench.list(&alice).await.unwrap();
    assert_eq!(listing.protocol, "2025-06-18");
    assert_eq!(listing.instructions.as_deref(), Some("be kind"));
    assert_eq!(listing.tools.len(), 1);
    assert_eq!(
        result(bench.call(&alice, "count", "{}").await)["structuredContent"]["count"],
        1
    );

    let order: Vec<String> = fake
        .seen()
        .iter()
        .map(|seen| format!("{} {}", seen.verb, seen.method()))
        .collect();
    let posts: Vec<&str> = order.iter().filter_map(|line| line.strip_prefix("POST ")).collect();
    assert_eq!(
        posts,
        [
            "server/discover",
            "initialize",
            "notifications/initialized",
            "tools/list",
            "tools/call"
        ]
    );
}

#[tokio::test]
async fn b015_accept_is_always_exact_and_the_session_and_version_are_named() {
    let fake = legacy(|_| None).await;
    let bench = Bench::new(entry(http(&fake.url)));
    result(bench.call(&principal("alice"), "count", "{}").await);
    fake.saw("the GET stream", |seen| seen.verb == "GET").await;
    for seen in fake.seen() {
        assert_eq!(
            seen.header("accept"),
            Some("application/json, text/event-stream"),
            "{seen:?}"
        );
    }
    let call = fake.saw("the call", is_call).await;
    assert_eq!(call.header("mcp-session-id"), Some("s1"));
    assert_eq!(call.header("mcp-protocol-version"), Some("2025-06-18"));
    assert_eq!(call.header("content-type"), Some("application/json"));
}

#[tokio::test]
async fn b041_arguments_are_always_sent_in_their_exact_form() {
    let fake = legacy(|_| None).await;
    let bench = Bench::new(entry(http(&fake.url)));
    let alice = principal("alice");
    bench.call(&alice, "count", "{}").await;
    bench
        .call(&alice, "count", r#"{"b":12345678901234567890, "a":1.0}"#)
        .await;
    let calls = fake.of_method("tools/call");
    assert_eq!(calls[0].body["params"], json!({"name": "count", "arguments": {}}));
    assert_eq!(
        calls[1].body["params"]["arguments"],
        json!({"a": 1.0, "b": 12_345_678_901_234_567_890_u64})
    );
}

#[tokio::test]
async fn b006_two_principals_never_share_a_session() {
    let fake = legacy(|_| None).await;
    let bench = Bench::new(entry(http(&fake.url)));
    let (alice, bob) = (principal("alice"), principal("bob"));
    for wanted in 1..=3 {
        assert_eq!(
            result(bench.call(&alice, "count", "{}").await)["structuredContent"]["count"],
            wanted
        );
    }
    assert_eq!(
        result(bench.call(&bob, "count", "{}").await)["structuredContent"]["count"],
        1
    );
}

#[tokio::test]
async fn a_shared_server_has_one_session_for_all() {
    let fake = legacy(|_| None).await;
    let bench = Bench::new(countersign_core::server::ServerEntry {
        sharing: Sharing::Shared,
        ..entry(http(&fake.url))
    });
    assert_eq!(
        result(bench.call(&principal("alice"), "count", "{}").await)["structuredContent"]["count"],
        1
    );
    assert_eq!(
        result(bench.call(&principal("bob"), "count", "{}").await)["structuredContent"]["count"],
        2
    );
}

#[tokio::test]
async fn b052_ten_first_calls_open_one_session() {
    let fake = legacy(|_| None).await;
    let bench = Bench::new(entry(http(&fake.url)));
    let alice = principal("alice");
    join_all((0..10).map(|_| bench.call(&alice, "count", "{}")))
        .await
        .into_iter()
        .for_each(|answer| {
            result(answer);
        });
    assert_eq!(fake.of_method("initialize").len(), 1);
    assert_eq!(bench.upstreams.status(&bench.entry.name).unwrap().connections, 1);
}

#[tokio::test]
async fn a_lost_session_is_opened_again_and_a_reading_call_repeated_once() {
    let lost_once = AtomicBool::new(false);
    let fake =
        legacy(move |seen| (is_call(seen) && !lost_once.swap(true, Ordering::SeqCst)).then(|| status(404))).await;
    let bench = Bench::new(entry(http(&fake.url)));
    result(bench.call(&principal("alice"), "look", "{}").await);
    assert_eq!(fake.of_method("initialize").len(), 2);
    assert_eq!(fake.of_method("tools/call").len(), 2);
}

#[tokio::test]
async fn a_lost_session_never_repeats_a_mutating_call() {
    let lost_once = AtomicBool::new(false);
    let fake =
        legacy(move |seen| (is_call(seen) && !lost_once.swap(true, Ordering::SeqCst)).then(|| status(404))).await;
    let bench = Bench::new(entry(http(&fake.url)));
    let alice = principal("alice");
    let answer = bench.call(&alice, "count", "{}").await;
    let Answer::NotSent(error) = answer else {
        panic!("{answer:?}")
    };
    assert!(error.to_string().contains("did not take the call"), "{error}");
    assert_eq!(fake.of_method("tools/call").len(), 1);
    result(bench.call(&alice, "count", "{}").await);
    assert_eq!(fake.of_method("initialize").len(), 2);
}

#[tokio::test]
async fn i5_a_broken_connection_repeats_reading_calls_only() {
    for (tool, sent) in [("look", 2), ("count", 1)] {
        let fake = legacy(|seen| is_call(seen).then_some(Say::Break)).await;
        let bench = Bench::new(entry(http(&fake.url)));
        lost(bench.call(&principal("alice"), tool, "{}").await);
        assert_eq!(fake.of_method("tools/call").len(), sent, "{tool}");
    }
}

#[tokio::test]
async fn b013_a_refused_get_stream_is_asked_for_once() {
    let fake = legacy(|_| None).await;
    let mut bench = Bench::new(entry(http(&fake.url)));
    let alice = principal("alice");
    bench.list(&alice).await.unwrap();
    fake.saw("the GET", |seen| seen.verb == "GET").await;
    for _ in 0..5 {
        result(bench.call(&alice, "count", "{}").await);
    }
    assert_eq!(fake.seen().iter().filter(|seen| seen.verb == "GET").count(), 1);
    assert!(bench.events.try_recv().is_err(), "a refused stream changes no list");
}

#[tokio::test]
async fn what_comes_on_the_get_stream_becomes_events() {
    let fake = legacy(|seen| {
        (seen.verb == "GET").then(|| {
            pieces(&[
                event(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})),
                event(&json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "a:b"}})),
                event(&json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}})),
                event(&json!({"jsonrpc": "2.0", "id": "r1", "method": "sampling/createMessage", "params": {}})),
            ])
        })
    })
    .await;
    let mut bench = Bench::new(entry(http(&fake.url)));
    bench.list(&principal("alice")).await.unwrap();
    let mut told = Vec::new();
    for _ in 0..3 {
        told.push(match soon("an event", bench.events.recv()).await.unwrap() {
            Event::ListChanged { .. } => "list changed".to_owned(),
            Event::ResourceUpdated { principal, params, .. } => format!("{} {params}", principal.unwrap()),
            Event::Log { params, .. } | Event::Task { params, .. } => params.get().to_owned(),
            Event::Down { reason, .. } => reason,
        });
    }
    assert_eq!(
        told,
        ["list changed", r#"alice {"uri":"a:b"}"#, r#"{"data":1,"level":"info"}"#]
    );
    let refused = fake.saw("the refusal", |seen| *seen.id() == "r1").await;
    assert_eq!(refused.body["error"]["code"], -32601);
}

#[tokio::test]
async fn b020_a_cancelled_call_is_taken_back_with_our_id() {
    let fake = legacy(|seen| is_call(seen).then_some(Say::Nothing)).await;
    let bench = Arc::new(Bench::new(entry(http(&fake.url))));
    let (passage, end) = passage();
    let call = {
        let bench = Arc::clone(&bench);
        tokio::spawn(async move { bench.call_with(&principal("alice"), "count", "{}", passage).await })
    };
    let sent = fake.saw("the call", is_call).await;
    end.cancel.cancel();
    assert!(matches!(call.await.unwrap(), Answer::Cancelled));
    let cancelled = fake
        .saw("the cancellation", |seen| seen.method() == "notifications/cancelled")
        .await;
    assert_eq!(cancelled.body["params"]["requestId"], *sent.id());
}

#[tokio::test]
async fn a_dropped_call_is_taken_back_too() {
    let fake = legacy(|seen| is_call(seen).then_some(Say::Nothing)).await;
    let bench = Arc::new(Bench::new(entry(http(&fake.url))));
    let call = {
        let bench = Arc::clone(&bench);
        tokio::spawn(async move { bench.call(&principal("alice"), "count", "{}").await })
    };
    let sent = fake.saw("the call", is_call).await;
    call.abort();
    let cancelled = fake
        .saw("the cancellation", |seen| seen.method() == "notifications/cancelled")
        .await;
    assert_eq!(cancelled.body["params"]["requestId"], *sent.id());
}

#[tokio::test]
async fn b022_a_call_that_takes_too_long_is_lost_and_never_sent_again() {
    for tool in ["count", "look"] {
        let fake = legacy(|seen| is_call(seen).then_some(Say::Nothing)).await;
        let timeout = Some(Duration::from_millis(50));
        let bench = Bench::new(countersign_core::server::ServerEntry {
            timeout,
            ..entry(http(&fake.url))
        });
        assert_eq!(
            lost(bench.call(&principal("alice"), tool, "{}").await),
            "no answer within 50 ms"
        );
        fake.saw("the cancellation", |seen| seen.method() == "notifications/cancelled")
            .await;
        // The two requests travel on connections of their own, in any order.
        fake.saw("the call", is_call).await;
        assert_eq!(fake.of_method("tools/call").len(), 1, "{tool}");
    }
}

#[tokio::test]
async fn b021_progress_comes_with_the_callers_own_token_and_rearms_the_timeout() {
    for theirs in ["\"p1\"", "7"] {
        let fake = legacy(move |seen| {
            is_call(seen).then(|| {
                let token = seen.body["params"]["_meta"]["progressToken"].clone();
                assert_eq!(token, *seen.id(), "the caller's token stays here");
                let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress",
                    "params": {"progressToken": token, "progress": 1, "odd": [1, 2]}});
                pieces(&[event(&progress), done(seen)])
            })
        })
        .await;
        let bench = Bench::new(entry(http(&fake.url)));
        let (mut passage, mut end) = passage();
        passage.progress_token = Some(RawValue::from_string(theirs.to_owned()).unwrap());
        passage.meta = vec![(
            "traceparent".to_owned(),
            RawValue::from_string("\"00-1\"".to_owned()).unwrap(),
        )];
        result(bench.call_with(&principal("alice"), "count", "{}", passage).await);
        let Some(ToCaller::Notification { method, params }) = end.inbox.recv().await else {
            panic!("no progress")
        };
        assert_eq!(method, "notifications/progress");
        assert_eq!(
            params.get(),
            format!(r#"{{"odd":[1,2],"progress":1,"progressToken":{theirs}}}"#)
        );
        let call = fake.saw("the call", is_call).await;
        assert_eq!(call.body["params"]["_meta"]["traceparent"], "00-1");
    }
}

#[tokio::test]
async fn a_servers_request_reaches_the_caller_and_names_the_server() {
    let (answered, waits) = mpsc::channel::<String>(8);
    let waits = std::sync::Mutex::new(Some(waits));
    let feed = answered.clone();
    let fake = legacy(move |seen| {
        if is_call(seen) {
            let ask = json!({"jsonrpc": "2.0", "id": "e1", "method": "elicitation/create",
                "params": {"message": "Sure?", "requestedSchema": {"type": "object"}}});
            feed.try_send(event(&ask)).unwrap();
            return Some(Say::Stream(waits.lock().unwrap().take().unwrap()));
        }
        None
    })
    .await;
    let bench = Arc::new(Bench::new(entry(http(&fake.url))));
    let (passage, mut end) = passage();
    let call = {
        let bench = Arc::clone(&bench);
        tokio::spawn(async move { bench.call_with(&principal("alice"), "count", "{}", passage).await })
    };
    let Some(ToCaller::Request { method, params, reply }) = soon("the request", end.inbox.recv()).await else {
        panic!("no request")
    };
    assert_eq!(method, "elicitation/create");
    assert_eq!(
        params.unwrap().get(),
        r#"{"message":"[fake] Sure?","requestedSchema":{"type":"object"},"_meta":{"countersign/server":"fake"}}"#
    );
    reply
        .send(Reply::Result(
            RawValue::from_string(r#"{"action":"accept"}"#.to_owned()).unwrap(),
        ))
        .unwrap();
    let posted = fake.saw("the answer", |seen| *seen.id() == "e1").await;
    assert_eq!(posted.body["result"], json!({"action": "accept"}));
    let sent = fake.saw("the call", is_call).await;
    answered.try_send(done(&sent)).unwrap();
    result(call.await.unwrap());
}

#[tokio::test]
async fn a_stream_that_ends_before_the_answer_is_resumed_where_it_ended() {
    let asked = AtomicUsize::new(0);
    let call_id = std::sync::Mutex::new(serde_json::Value::Null);
    let fake = legacy(move |seen| {
        if is_call(seen) {
            *call_id.lock().unwrap() = seen.id().clone();
            return Some(pieces(&["id: e-1\nretry: 1\ndata:\n\n".to_owned()]));
        }
        (seen.header("last-event-id") == Some("e-1")).then(|| {
            if asked.fetch_add(1, Ordering::SeqCst) == 0 {
                return pieces(&[]);
            }
            pieces(&[event(
                &json!({"jsonrpc": "2.0", "id": *call_id.lock().unwrap(), "result": {"late": true}}),
            )])
        })
    })
    .await;
    let bench = Bench::new(entry(http(&fake.url)));
    assert_eq!(
        result(bench.call(&principal("alice"), "count", "{}").await)["late"],
        true
    );
    assert_eq!(fake.of_method("tools/call").len(), 1);
}

#[tokio::test]
async fn b017_an_answer_over_the_limit_is_lost_and_names_the_limit() {
    let large = format!(r#"{{"content":[],"x":"{}"}}"#, "y".repeat(3000));
    for streamed in [false, true] {
        let large = large.clone();
        let fake = legacy(move |seen| {
            is_call(seen).then(|| {
                let body = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{large}}}"#, seen.id());
                if streamed {
                    pieces(&[format!("data: {body}\n\n")])
                } else {
                    Say::Json(200, None, body)
                }
            })
        })
        .await;
        let bench = Bench::with(
            entry(http(&fake.url)),
            countersign_upstream::Settings {
                response_bytes: 2000,
                ..settings()
            },
        );
        let reason = lost(bench.call(&principal("alice"), "count", "{}").await);
        assert_eq!(reason, "its answer is larger than 2000 bytes (limits.response_bytes)");
    }
}

#[tokio::test]
async fn i11_results_and_errors_pass_byte_for_byte() {
    let odd = r#"{ "content" : [], "n":12345678901234567890123, "z":1.0, "a":{"b":"ä"} }"#;
    let fake = legacy(move |seen| is_call(seen).then(|| ok(seen, odd))).await;
    let bench = Bench::new(entry(http(&fake.url)));
    let Answer::Result(raw) = bench.call(&principal("alice"), "count", "{}").await else {
        panic!("no result")
    };
    assert_eq!(raw.get(), odd);

    let fake = legacy(move |seen| {
        is_call(seen).then(|| {
            let error = r#"{"code":-32099, "message":"no","data":{"k":1e400}}"#;
            Say::Json(
                200,
                None,
                format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, seen.id()),
            )
        })
    })
    .await;
    let bench = Bench::new(entry(http(&fake.url)));
    let Answer::Error(raw) = bench.call(&principal("alice"), "count", "{}").await else {
        panic!("no error")
    };
    assert_eq!(raw.get(), r#"{"code":-32099, "message":"no","data":{"k":1e400}}"#);
}

#[tokio::test]
async fn refusals_say_what_the_server_answered() {
    let table = [
        (403, "server fake is unavailable: it answered HTTP 403 Forbidden"),
        (
            307,
            "server fake is unavailable: it redirects (HTTP 307), which is not followed",
        ),
    ];
    for (code, wanted) in table {
        let fake = legacy(move |seen| is_call(seen).then(|| status(code))).await;
        let bench = Bench::new(entry(http(&fake.url)));
        assert_eq!(not_sent(bench.call(&principal("alice"), "count", "{}").await), wanted);
    }
    let fake = legacy(|seen| is_call(seen).then(|| status(502))).await;
    let bench = Bench::new(entry(http(&fake.url)));
    assert_eq!(
        lost(bench.call(&principal("alice"), "count", "{}").await),
        "it answered HTTP 502 Bad Gateway"
    );
}

#[tokio::test]
async fn a_server_that_nobody_runs_is_unavailable() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    drop(listener);
    let bench = Bench::new(entry(http(&url)));
    let why = not_sent(bench.call(&principal("alice"), "count", "{}").await);
    assert!(
        why.starts_with("server fake is unavailable: it cannot be reached: "),
        "{why}"
    );
    assert!(bench.upstreams.status(&bench.entry.name).unwrap().last_error.is_some());
}

#[tokio::test]
async fn b031_every_page_is_read_once_and_a_repeated_cursor_ends_the_list() {
    let fake = legacy(|seen| {
        (seen.method() == "tools/list").then(|| {
            let (tool, next) = match seen.body["params"]["cursor"].as_str() {
                None => ("a", r#","nextCursor":"""#),
                Some("") => ("b", r#","nextCursor":"x""#),
                Some(_) => ("c", r#","nextCursor":"x""#),
            };
            ok(
                seen,
                &format!(r#"{{"tools":[{{"name":"{tool}","inputSchema":{{"type":"object"}}}}]{next}}}"#),
            )
        })
    })
    .await;
    let bench = Bench::new(entry(http(&fake.url)));
    let listing = bench.list(&principal("alice")).await.unwrap();
    let names: Vec<&str> = listing.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(listing.problems[0].name, "tools/list");
    assert_eq!(fake.of_method("tools/list").len(), 3);
}

#[tokio::test]
async fn i12_a_bad_tool_is_set_aside_and_a_missing_list_is_empty() {
    let fake = legacy(|seen| match seen.method() {
        "tools/list" => Some(ok(
            seen,
            r#"{"tools":[{"name":"bad"},{"name":"good","inputSchema":{"type":"object"}},{"name":"good","inputSchema":{"type":"object"}}]}"#,
        )),
        "initialize" => Some(Say::Json(
            200,
            None,
            format!(
                r#"{{"jsonrpc":"2.0","id":{},"result":{{"protocolVersion":"2024-11-05","capabilities":{{"tools":{{}},"prompts":{{}}}},"serverInfo":{{"name":"x","version":"1"}}}}}}"#,
                seen.id()
            ),
        )),
        "prompts/list" => Some(error(seen, 200, -32601)),
        _ => None,
    })
    .await;
    let bench = Bench::new(entry(http(&fake.url)));
    let listing = bench.list(&principal("alice")).await.unwrap();
    assert_eq!(listing.protocol, "2024-11-05");
    assert_eq!(listing.tools.len(), 1);
    assert!(listing.prompts.is_empty());
    let problems: Vec<&str> = listing.problems.iter().map(|problem| problem.name.as_str()).collect();
    assert_eq!(problems, ["bad", "good"], "the second of a name is named too");
    assert!(
        fake.of_method("resources/list").is_empty(),
        "what is not offered is not asked for"
    );
}

#[tokio::test]
async fn the_log_level_is_set_once_and_then_only_to_one_that_says_more() {
    let fake = legacy(|_| None).await;
    let bench = Bench::new(entry(http(&fake.url)));
    let alice = principal("alice");
    for level in ["info", "info", "error", "debug"] {
        let (mut passage, _end) = passage();
        passage.log_level = Some(level.to_owned());
        result(bench.call_with(&alice, "count", "{}", passage).await);
    }
    let levels: Vec<String> = fake
        .of_method("logging/setLevel")
        .iter()
        .map(|seen| seen.body["params"]["level"].to_string())
        .collect();
    assert_eq!(levels, ["\"info\"", "\"debug\""]);
}

#[tokio::test]
async fn a_changed_entry_lets_calls_finish_and_an_unchanged_one_is_not_touched() {
    let (finish, stream) = mpsc::channel::<String>(1);
    let stream = std::sync::Mutex::new(Some(stream));
    let fake = legacy(move |seen| {
        (is_call(seen) && seen.body["params"]["name"] == "slow")
            .then(|| stream.lock().unwrap().take().map_or(Say::Break, Say::Stream))
    })
    .await;
    let bench = Arc::new(Bench::new(entry(http(&fake.url))));
    let alice = principal("alice");
    result(bench.call(&alice, "count", "{}").await);
    bench.upstreams.apply(&[Arc::clone(&bench.entry)]);
    result(bench.call(&alice, "count", "{}").await);
    assert_eq!(fake.of_method("initialize").len(), 1, "the entry did not change");

    let slow = {
        let (bench, alice) = (Arc::clone(&bench), Arc::clone(&alice));
        tokio::spawn(async move { bench.call(&alice, "slow", "{}").await })
    };
    let sent = fake
        .saw("the slow call", |seen| seen.body["params"]["name"] == "slow")
        .await;
    let changed = countersign_core::server::ServerEntry {
        digest: Digest::of(b"2"),
        ..(*bench.entry).clone()
    };
    bench.upstreams.apply(&[Arc::new(changed)]);
    result(bench.call(&alice, "count", "{}").await);
    assert_eq!(
        fake.of_method("initialize").len(),
        2,
        "the new entry has a session of its own"
    );
    finish.try_send(done(&sent)).unwrap();
    result(slow.await.unwrap());
    let deleted = fake.saw("the old session's end", |seen| seen.verb == "DELETE").await;
    assert_eq!(deleted.header("mcp-session-id"), Some("s1"));
}

#[tokio::test]
async fn stop_ends_the_session_and_start_lifts_it() {
    let fake = legacy(|_| None).await;
    let bench = Bench::new(entry(http(&fake.url)));
    let alice = principal("alice");
    result(bench.call(&alice, "count", "{}").await);
    bench.upstreams.stop(&bench.entry.name).await.unwrap();
    assert!(fake.seen().iter().any(|seen| seen.verb == "DELETE"));
    assert_eq!(
        not_sent(bench.call(&alice, "count", "{}").await),
        "server fake is unavailable: it was stopped"
    );
    assert!(bench.upstreams.status(&bench.entry.name).unwrap().stopped);
    bench.upstreams.start(&bench.entry.name).unwrap();
    result(bench.call(&alice, "count", "{}").await);
}

#[tokio::test]
async fn a_servers_request_is_refused_when_the_callers_client_cannot_answer_it() {
    let fake = legacy(|seen| {
        is_call(seen).then(|| {
            let ask = |id: &str, method: &str| {
                event(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"mode": "url"}}))
            };
            pieces(&[
                ask("p", "ping"),
                ask("u", "elicitation/create"),
                ask("r", "roots/list"),
                done(seen),
            ])
        })
    })
    .await;
    let bench = Bench::new(entry(http(&fake.url)));
    result(bench.call(&principal("alice"), "count", "{}").await);
    for (id, wanted) in [("p", None), ("u", Some(-32601)), ("r", Some(-32601))] {
        let answer = fake.saw(id, |seen| *seen.id() == id).await;
        assert_eq!(answer.body["error"]["code"].as_i64(), wanted, "{id}");
    }
}

/// A server of 2024-11-05: a stream of events, and an address that takes messages.
async fn oldest(endpoint: &'static str) -> crate::support::Fake {
    let sender = std::sync::Mutex::new(None::<mpsc::Sender<String>>);
    crate::support::Fake::start(move |seen| {
        let mut sender = sender.lock().unwrap();
        if seen.verb == "GET" {
            let (events, stream) = mpsc::channel(16);
            events
                .try_send(format!("event: endpoint\ndata: {endpoint}\n\n"))
                .unwrap();
            *sender = Some(events);
            return Say::Stream(stream);
        }
        let Some(events) = sender.as_ref() else {
            return status(405);
        };
        let result = match seen.method() {
            "initialize" => json!({"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}}),
            "tools/list" => json!({"tools": [{"name": "count", "inputSchema": {"type": "object"}}]}),
            "tools/call" => json!({"content": []}),
            _ => return status(202),
        };
        let answer = json!({"jsonrpc": "2.0", "id": seen.id(), "result": result});
        events.try_send(format!("event: message\ndata: {answer}\n\n")).unwrap();
        status(202)
    })
    .await
}

#[tokio::test]
async fn a_server_of_the_oldest_version_is_found_behind_either_type() {
    let sse = |url: &str| countersign_core::server::Transport::Sse {
        url: countersign_core::secret::Secret::plain(url),
        headers: std::collections::BTreeMap::new(),
    };
    for transport in [http, sse] {
        let fake = oldest("/messages?s=1").await;
        let bench = Bench::new(entry(transport(&fake.url)));
        let listing = bench.list(&principal("alice")).await.unwrap();
        assert_eq!((listing.protocol.as_str(), listing.tools.len()), ("2024-11-05", 1));
        result(bench.call(&principal("alice"), "count", "{}").await);
    }
}

#[tokio::test]
async fn an_endpoint_of_another_origin_is_refused() {
    let fake = oldest("http://example.com/messages").await;
    let transport = countersign_core::server::Transport::Sse {
        url: countersign_core::secret::Secret::plain(&fake.url),
        headers: std::collections::BTreeMap::new(),
    };
    let why = Bench::new(entry(transport))
        .list(&principal("alice"))
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(
        why,
        "server fake is unavailable: the endpoint that it names is not an address of its own"
    );
}
