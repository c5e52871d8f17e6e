//! Every fault against every transport: what the call is told, that it ran at most once, and that the next ones work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use countersign_core::admit::Ask;
use countersign_core::exact::Digest;
use countersign_core::principal::Principal;
use countersign_core::server::ServerEntry;
use countersign_upstream::{Answer, Event, Settings};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::peer::{Do, Got, IdAt, Peer, Wire, soon};
use crate::support::{Bench, entry, http, lost, not_sent, principal, result, settings};

fn bench_of(peer: &Peer) -> Bench {
    Bench::new(entry(peer.transport()))
}

fn impatient(peer: &Peer, timeout: Duration) -> Bench {
    Bench::new(ServerEntry {
        timeout: Some(timeout),
        ..entry(peer.transport())
    })
}

/// A script that does some steps with the first call of a tool named `bad…` or `look_bad…`.
fn first_bad(steps: Vec<Do>) -> impl Fn(&Got) -> Option<Vec<Do>> + Send + Sync + 'static {
    let done = AtomicBool::new(false);
    move |got| (got.tool().contains("bad") && !done.swap(true, Ordering::SeqCst)).then(|| steps.clone())
}

fn every_bad(steps: Vec<Do>) -> impl Fn(&Got) -> Option<Vec<Do>> + Send + Sync + 'static {
    move |got| got.tool().contains("bad").then(|| steps.clone())
}

/// Calls until the server is there again: while it is started or connected anew a call is refused, and not sent.
async fn again(bench: &Bench, who: &Arc<Principal>) -> Value {
    soon("the server works again", async {
        loop {
            match bench.call(who, "count", "{}").await {
                Answer::Result(raw) => return serde_json::from_str(raw.get()).unwrap(),
                Answer::NotSent(_) => tokio::time::sleep(Duration::from_millis(20)).await,
                other => panic!("neither a result nor unavailable: {other:?}"),
            }
        }
    })
    .await
}

/// Calls until the server works again after a fault; a call that is sent into the broken connection is lost.
async fn eventually(bench: &Bench, who: &Arc<Principal>) {
    soon("the server works again", async {
        loop {
            match bench.call(who, "look", "{}").await {
                Answer::Result(_) => return,
                Answer::NotSent(_) | Answer::Lost { .. } => tokio::time::sleep(Duration::from_millis(20)).await,
                other => panic!("no honest outcome: {other:?}"),
            }
        }
    })
    .await;
}

#[tokio::test]
async fn every_transport_is_listed_and_called_and_ten_first_calls_connect_once() {
    for wire in Wire::ALL {
        let peer = Peer::start(wire, |_| None).await;
        let bench = bench_of(&peer);
        let alice = principal("alice");
        let answers = join_all((0..10).map(|_| bench.call(&alice, "count", "{}"))).await;
        assert_eq!(answers.into_iter().map(result).count(), 10);
        assert_eq!(bench.list(&alice).await.unwrap().tools.len(), 1, "{wire:?}");
        assert_eq!(peer.of_method("initialize").len(), 1, "{wire:?}");
        assert_eq!(peer.counted(), 10, "{wire:?}");
        bench.upstreams.shutdown().await;
    }
}

#[tokio::test]
async fn b022_silence_after_a_call_is_an_unknown_outcome_and_the_connection_serves_on() {
    for wire in Wire::ALL {
        for tool in ["bad", "look_bad"] {
            let peer = Peer::start(wire, every_bad(vec![Do::Stall])).await;
            let bench = impatient(&peer, Duration::from_millis(300));
            let alice = principal("alice");
            again(&bench, &alice).await;
            let told = lost(bench.call(&alice, tool, "{}").await);
            assert_eq!(told, "no answer within 300 ms", "{wire:?}");
            result(bench.call(&alice, "count", "{}").await);
            assert_eq!(peer.calls_of(tool), 1, "{wire:?}");
            assert_eq!(peer.of_method("initialize").len(), 1, "{wire:?}");
            bench.upstreams.shutdown().await;
        }
    }
}

#[tokio::test]
async fn an_answer_that_stops_half_way_is_an_unknown_outcome() {
    for wire in Wire::ALL {
        let peer = Peer::start(wire, every_bad(vec![Do::Half])).await;
        let bench = impatient(&peer, Duration::from_millis(300));
        let alice = principal("alice");
        again(&bench, &alice).await;
        assert_eq!(
            lost(bench.call(&alice, "bad", "{}").await),
            "no answer within 300 ms",
            "{wire:?}"
        );
        assert_eq!(peer.calls_of("bad"), 1, "{wire:?}");
        bench.upstreams.shutdown().await;
    }
}

#[tokio::test]
async fn i5_a_peer_that_breaks_or_half_closes_loses_the_call_once_and_is_used_again() {
    for wire in Wire::ALL {
        for step in [Do::Reset, Do::HalfClose] {
            let peer = Peer::start(wire, first_bad(vec![step.clone()])).await;
            let bench = bench_of(&peer);
            let (alice, bob) = (principal("alice"), principal("bob"));
            again(&bench, &alice).await;
            let told = lost(soon("the end", bench.call(&alice, "bad", "{}")).await);
            let wanted: &[&str] = match wire {
                Wire::Stdio => &[
                    "its process ended (signal: 9 (SIGKILL))",
                    "it closed its output",
                    "it closed its input",
                    "its answer is no JSON-RPC message",
                ],
                Wire::Http => &["the connection broke", "its answer"],
                Wire::Sse => &["its event stream ended", "the connection broke"],
            };
            assert!(
                wanted.iter().any(|wanted| told.contains(wanted)),
                "{wire:?} {step:?}: {told}"
            );
            eventually(&bench, &alice).await;
            eventually(&bench, &bob).await;
            assert_eq!(peer.calls_of("bad"), 1, "{wire:?} {step:?}");
            bench.upstreams.shutdown().await;
        }
    }
}

#[tokio::test]
async fn i5_only_over_http_a_reading_call_whose_connection_broke_is_sent_once_more() {
    for (wire, sent) in [(Wire::Stdio, 1), (Wire::Http, 2), (Wire::Sse, 1)] {
        let peer = Peer::start(wire, every_bad(vec![Do::Reset])).await;
        let bench = bench_of(&peer);
        let alice = principal("alice");
        again(&bench, &alice).await;
        lost(bench.call(&alice, "look_bad", "{}").await);
        assert_eq!(peer.calls_of("look_bad"), sent, "{wire:?}");
        bench.upstreams.shutdown().await;
    }
}

#[tokio::test]
async fn b017_an_answer_over_the_limit_loses_its_own_call_and_no_other() {
    const MIB: usize = 1 << 20;
    for wire in Wire::ALL {
        for at in [IdAt::Front, IdAt::Back] {
            let peer = Peer::start(wire, move |got| match got.tool() {
                "bad" => Some(vec![Do::Large(8 * MIB, at)]),
                "slow" => Some(vec![Do::Stall]),
                _ => None,
            })
            .await;
            let bench = Arc::new(bench_of(&peer));
            let alice = principal("alice");
            again(&bench, &alice).await;
            let slow = {
                let (bench, alice) = (Arc::clone(&bench), Arc::clone(&alice));
                tokio::spawn(async move { bench.call(&alice, "slow", "{}").await })
            };
            peer.until("the slow call", |got| got.iter().any(|got| got.tool() == "slow"))
                .await;
            let told = lost(soon("the refusal", bench.call(&alice, "bad", "{}")).await);
            assert_eq!(
                told, "its answer is larger than 1048576 bytes (limits.response_bytes)",
                "{wire:?} {at:?}"
            );
            result(bench.call(&alice, "count", "{}").await);
            assert!(!slow.is_finished(), "{wire:?} {at:?}: another call under way was lost");
            assert_eq!(peer.of_method("initialize").len(), 1, "{wire:?} {at:?}");
            slow.abort();
            bench.upstreams.shutdown().await;
        }
    }
}

#[tokio::test]
async fn b017_where_nobody_can_say_whose_answer_was_too_large_all_are_told_so_and_the_connection_stays() {
    for wire in [Wire::Stdio, Wire::Sse] {
        let peer = Peer::start(wire, |got| match got.tool() {
            "bad" => Some(vec![Do::Large(2 << 20, IdAt::Nowhere)]),
            "slow" => Some(vec![Do::Stall]),
            _ => None,
        })
        .await;
        let bench = bench_of(&peer);
        let alice = principal("alice");
        again(&bench, &alice).await;
        let bad = async {
            peer.until("the slow call", |got| got.iter().any(|got| got.tool() == "slow"))
                .await;
            bench.call(&alice, "bad", "{}").await
        };
        let both = Box::pin(async { tokio::join!(bench.call(&alice, "slow", "{}"), bad) });
        let (slow, bad) = soon("both ends", both).await;
        for answer in [slow, bad] {
            let told = lost(answer);
            assert!(
                told.contains("larger than 1048576 bytes (limits.response_bytes)"),
                "{told}"
            );
        }
        result(bench.call(&alice, "count", "{}").await);
        assert_eq!(peer.of_method("initialize").len(), 1, "{wire:?}");
        bench.upstreams.shutdown().await;
    }
}

#[tokio::test]
async fn b017_large_arguments_and_answers_within_the_limits_pass_whole() {
    const MIB: usize = 1 << 20;
    for wire in Wire::ALL {
        let peer = Peer::start(wire, every_bad(vec![Do::Large(20 * MIB, IdAt::Front)])).await;
        let large = Settings {
            response_bytes: 100 * MIB,
            ..settings()
        };
        let bench = Bench::with(entry(peer.transport()), large);
        let arguments = format!(r#"{{"text":"{}"}}"#, "x".repeat(6 * MIB));
        let told = result(bench.call(&principal("alice"), "bad", &arguments).await);
        assert_eq!(told["text"].as_str().map(str::len), Some(20 * MIB), "{wire:?}");
        let call = peer.of_method("tools/call").remove(0);
        let text = call.body["params"]["arguments"]["text"].as_str().map(str::len);
        assert_eq!(text, Some(6 * MIB), "{wire:?}");
        bench.upstreams.shutdown().await;
    }
    // Over streamable HTTP the answer may also be one event of a stream.
    let fake = crate::support::legacy(|seen| {
        (seen.method() == "tools/call").then(|| {
            let answer = json!({"jsonrpc": "2.0", "id": seen.id(), "result": {"text": "y".repeat(20 * MIB)}});
            crate::support::pieces(&[format!("data: {answer}\n\n")])
        })
    })
    .await;
    let large = Settings {
        response_bytes: 100 * MIB,
        ..settings()
    };
    let bench = Bench::with(entry(http(&fake.url)), large);
    let told = result(bench.call(&principal("alice"), "count", "{}").await);
    assert_eq!(told["text"].as_str().map(str::len), Some(20 * MIB));
}

#[tokio::test]
async fn b053_what_is_no_message_is_skipped_and_the_answer_arrives() {
    for wire in Wire::ALL {
        let noise = [
            "Starting…".to_owned(),
            "{\"jsonrpc\":".to_owned(),
            format!("{{\"jsonrpc\":{}", "x".repeat(600_000)),
            "z".repeat(600_000),
            "[]".to_owned(),
            "null".to_owned(),
            r#"{"jsonrpc":"2.0","id":99999,"result":{}}"#.to_owned(),
            r#"{"jsonrpc":"2.0","method":"notifications/of_nobody"}"#.to_owned(),
        ];
        let mut steps: Vec<Do> = noise.into_iter().map(Do::Say).collect();
        steps.push(Do::Answer(json!({"ok": true})));
        let peer = Peer::start(wire, every_bad(steps)).await;
        let bench = bench_of(&peer);
        let told = result(bench.call(&principal("alice"), "bad", "{}").await);
        assert_eq!(told["ok"], true, "{wire:?}");
        assert_eq!(peer.of_method("initialize").len(), 1, "{wire:?}");
        bench.upstreams.shutdown().await;
    }
}

#[tokio::test]
async fn b053_a_peer_that_says_nothing_but_garbage_is_given_up_and_connected_anew() {
    for wire in [Wire::Stdio, Wire::Sse] {
        let peer = Peer::start(wire, first_bad(vec![Do::Say("progress: 1 %".to_owned()); 1001])).await;
        let bench = bench_of(&peer);
        let alice = principal("alice");
        again(&bench, &alice).await;
        let told = lost(soon("the end", bench.call(&alice, "bad", "{}")).await);
        assert_eq!(
            told, "it wrote more than 1000 lines that are no JSON-RPC messages",
            "{wire:?}"
        );
        again(&bench, &alice).await;
        assert_eq!(peer.of_method("initialize").len(), 2, "{wire:?}");
        bench.upstreams.shutdown().await;
    }
}

#[tokio::test]
async fn b032_a_thousand_announcements_become_few_events_and_calls_go_through() {
    let storm = vec![json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}); 1000];
    for wire in Wire::ALL {
        let peer = Peer::start(wire, |_| None).await;
        let mut bench = bench_of(&peer);
        let alice = principal("alice");
        bench.list(&alice).await.unwrap();
        peer.say(&storm).await;
        let event = soon("the event", bench.events.recv()).await;
        assert!(matches!(event, Some(Event::ListChanged { .. })), "{event:?}");
        result(bench.call(&alice, "count", "{}").await);
        assert_eq!(
            peer.of_method("tools/list").len(),
            1,
            "{wire:?}: only the engine asks again"
        );
        bench.upstreams.shutdown().await;
    }
}

#[tokio::test]
async fn b031_a_cursor_that_never_advances_ends_the_list() {
    for wire in Wire::ALL {
        let pages = Arc::new(AtomicUsize::new(0));
        let asked = Arc::clone(&pages);
        let peer = Peer::start(wire, move |got| {
            (got.method() == "tools/list").then(|| {
                asked.fetch_add(1, Ordering::SeqCst);
                let tools = json!([{"name": "count", "inputSchema": {"type": "object"}}]);
                vec![Do::Answer(json!({"tools": tools, "nextCursor": "x"}))]
            })
        })
        .await;
        let bench = bench_of(&peer);
        let listing = bench.list(&principal("alice")).await.unwrap();
        assert_eq!((listing.tools.len(), pages.load(Ordering::SeqCst)), (1, 2), "{wire:?}");
        assert!(
            listing
                .problems
                .iter()
                .any(|problem| problem.what.contains("cursor repeats"))
        );
        bench.upstreams.shutdown().await;
    }
}

#[tokio::test]
async fn b027_a_bad_tool_is_set_aside_and_its_siblings_are_served() {
    for wire in Wire::ALL {
        let peer = Peer::start(wire, |_| None).await;
        peer.set_tools(json!([
            null, 7, {"name": "any_of", "inputSchema": {"anyOf": [{"type": "object"}]}}, {"name": "none"},
            {"name": "text", "inputSchema": {"type": "string"}}, {"name": "good", "inputSchema": {"type": "object"}},
            {"name": "far", "inputSchema": {"type": "object", "$ref": "http://169.254.169.254/x"}}
        ]));
        let bench = bench_of(&peer);
        let listing = bench.list(&principal("alice")).await.unwrap();
        assert!(
            listing.tools.iter().any(|tool| tool.name.as_str() == "good"),
            "{wire:?}"
        );
        assert!(listing.tools.iter().all(|tool| tool.name.as_str() != "far"), "{wire:?}");
        assert!(!listing.problems.is_empty(), "{wire:?}");
        bench.upstreams.shutdown().await;
    }
}

#[tokio::test]
async fn a_new_instance_is_initialised_once_for_all_callers_and_its_lists_are_asked_for() {
    for wire in Wire::ALL {
        let peer = Peer::start(wire, |_| None).await;
        let mut bench = bench_of(&peer);
        let alice = principal("alice");
        bench.list(&alice).await.unwrap();
        peer.redeploy();
        // Calls that meet the old instance are told so honestly; from the first that went through, all do.
        eventually(&bench, &alice).await;
        let answers = join_all((0..20).map(|_| bench.call(&alice, "look", "{}"))).await;
        assert_eq!(answers.into_iter().map(result).count(), 20, "{wire:?}");
        assert_eq!(peer.of_method("initialize").len(), 2, "{wire:?}");
        soon("the lists are asked for again", async {
            while !matches!(bench.events.recv().await, Some(Event::ListChanged { .. })) {}
        })
        .await;
        bench.upstreams.shutdown().await;
    }
}

#[tokio::test]
async fn many_calls_that_meet_a_lost_session_open_one_new_one() {
    let peer = Peer::with_stream(Wire::Http, false, |_| None).await;
    let bench = bench_of(&peer);
    let alice = principal("alice");
    bench.list(&alice).await.unwrap();
    peer.redeploy();
    let reads = (0..20).map(|_| bench.call(&alice, "look", "{}"));
    for answer in join_all(reads).await {
        // A connection that broke under a request may have taken it along; nothing else is an excuse.
        match answer {
            Answer::Result(_) | Answer::Lost { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    result(bench.call(&alice, "look", "{}").await);
    assert_eq!(peer.of_method("initialize").len(), 2);
}

#[tokio::test]
async fn a_server_whose_stream_says_that_the_session_is_gone_is_listed_again_without_a_call() {
    let peer = Peer::start(Wire::Http, |_| None).await;
    let mut bench = bench_of(&peer);
    let alice = principal("alice");
    bench.list(&alice).await.unwrap();
    peer.until("the stream", |got| got.iter().any(|got| got.verb == "GET"))
        .await;
    peer.redeploy();
    let event = soon("the event", bench.events.recv()).await;
    assert!(matches!(event, Some(Event::ListChanged { .. })), "{event:?}");
    bench.list(&alice).await.unwrap();
    assert_eq!(peer.of_method("initialize").len(), 2);
    bench.upstreams.shutdown().await;
}

#[tokio::test]
async fn b013_a_stream_that_is_refused_is_asked_for_once_and_the_session_stays() {
    let peer = Peer::with_stream(Wire::Http, false, |_| None).await;
    let bench = bench_of(&peer);
    let alice = principal("alice");
    bench.list(&alice).await.unwrap();
    peer.until("the GET", |got| got.iter().any(|got| got.verb == "GET"))
        .await;
    for _ in 0..5 {
        result(bench.call(&alice, "count", "{}").await);
    }
    assert_eq!((peer.verbs("GET"), peer.of_method("initialize").len()), (1, 1));
}

#[tokio::test]
async fn subscriptions_are_made_again_after_a_reconnect_and_after_an_edit_of_the_entry() {
    for wire in Wire::ALL {
        let peer = Peer::start(wire, |_| None).await;
        let mut bench = bench_of(&peer);
        let alice = principal("alice");
        let recorded = bench
            .recorded_ask(&alice, "count", |_| Ask::Subscribe { uri: "a:b".to_owned() })
            .await;
        let (passage, _end) = crate::support::passage();
        let (answer, _receipt) = bench.upstreams.call(recorded, passage).await;
        result(answer);
        peer.redeploy();
        eventually(&bench, &alice).await;
        let subscribed = |wanted: usize| {
            move |got: &[Got]| got.iter().filter(|got| got.method() == "resources/subscribe").count() == wanted
        };
        peer.until("the second subscription", subscribed(2)).await;
        soon("the resource may have changed", async {
            while !matches!(bench.events.recv().await, Some(Event::ResourceUpdated { .. })) {}
        })
        .await;
        let changed = ServerEntry {
            digest: Digest::of(b"2"),
            ..(*bench.entry).clone()
        };
        bench.upstreams.apply(&[Arc::new(changed)]);
        eventually(&bench, &alice).await;
        peer.until("the third subscription", subscribed(3)).await;
        bench.upstreams.shutdown().await;
    }
}

#[tokio::test]
async fn b051_connections_that_nobody_uses_end_and_the_one_that_lists_stays() {
    for wire in Wire::ALL {
        let peer = Peer::start(wire, |_| None).await;
        let bench = Bench::with(
            entry(peer.transport()),
            Settings {
                idle: Duration::from_millis(200),
                ..settings()
            },
        );
        bench.list(&principal("local")).await.unwrap();
        for number in 0..5 {
            result(bench.call(&principal(&format!("user-{number}")), "count", "{}").await);
        }
        let status = || bench.upstreams.status(&bench.entry.name).unwrap();
        soon("the unused ones end", async {
            while status().connections > 1 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
        if wire == Wire::Http {
            peer.until("the sessions' end", |got| {
                got.iter().filter(|got| got.verb == "DELETE").count() == 5
            })
            .await;
        }
        // Who comes again gets a new one; nobody is told that the server was down.
        result(bench.call(&principal("user-1"), "count", "{}").await);
        assert_eq!(status().last_error, None, "{wire:?}");
        bench.upstreams.shutdown().await;
    }
}

#[tokio::test]
async fn a_server_that_is_away_and_comes_back_is_used_again() {
    for wire in Wire::ALL {
        let peer = Peer::start(wire, |_| None).await;
        let bench = bench_of(&peer);
        let alice = principal("alice");
        again(&bench, &alice).await;
        peer.close().await;
        soon("it is shown as away", async {
            loop {
                match bench.call(&alice, "count", "{}").await {
                    Answer::NotSent(error) => {
                        assert!(error.to_string().starts_with("server fake is unavailable: "), "{error}");
                        return;
                    }
                    // Before the end of the connection is noticed a call may still go out into it.
                    Answer::Lost { .. } => {}
                    other => panic!("{other:?}"),
                }
            }
        })
        .await;
        peer.open().await;
        eventually(&bench, &alice).await;
        bench.upstreams.shutdown().await;
    }
}

#[tokio::test]
async fn a_stream_that_ends_over_and_over_is_opened_with_growing_pauses_and_never_given_up() {
    let peer = Peer::start(Wire::Sse, every_bad(vec![Do::Reset])).await;
    let bench = bench_of(&peer);
    let alice = principal("alice");
    let mut paused = 0;
    soon("four ends", async {
        let mut ends = 0;
        while ends < 4 {
            match bench.call(&alice, "bad", "{}").await {
                Answer::Lost { .. } => ends += 1,
                Answer::NotSent(error) => {
                    assert!(
                        error
                            .to_string()
                            .ends_with("it is connected again, with growing pauses"),
                        "{error}"
                    );
                    paused += 1;
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                other => panic!("{other:?}"),
            }
        }
    })
    .await;
    assert!(paused > 0, "nobody waited");
}

#[tokio::test]
async fn a_message_that_an_sse_server_refuses_loses_that_call_only() {
    let peer = Peer::start(Wire::Sse, |got| match got.tool() {
        "bad" => Some(vec![Do::Status(413)]),
        "bad_inside" => Some(vec![Do::Status(500)]),
        _ => None,
    })
    .await;
    let bench = bench_of(&peer);
    let alice = principal("alice");
    assert_eq!(
        not_sent(bench.call(&alice, "bad", "{}").await),
        "server fake is unavailable: it answered HTTP 413 Payload Too Large"
    );
    assert_eq!(
        lost(bench.call(&alice, "bad_inside", "{}").await),
        "it answered HTTP 500 Internal Server Error"
    );
    result(bench.call(&alice, "count", "{}").await);
    assert_eq!(peer.of_method("initialize").len(), 1);
}

#[tokio::test]
async fn a_batch_that_answers_one_request_is_read_in_the_version_that_has_them() {
    let fake = crate::support::legacy(|seen| match seen.method() {
        "initialize" => Some(crate::support::Say::Json(
            200,
            None,
            format!(
                r#"{{"jsonrpc":"2.0","id":{},"result":{{"protocolVersion":"2025-03-26","capabilities":{{"tools":{{}}}}}}}}"#,
                seen.id()
            ),
        )),
        "tools/call" => Some(crate::support::Say::Json(
            200,
            None,
            format!(
                r#"[{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"info","data":1}}}},{{"jsonrpc":"2.0","id":{},"result":{{"content":[]}}}}]"#,
                seen.id()
            ),
        )),
        _ => None,
    })
    .await;
    let bench = Bench::new(entry(http(&fake.url)));
    assert_eq!(
        result(bench.call(&principal("alice"), "count", "{}").await),
        json!({"content": []})
    );
}

/// An address at which the kernel takes no further connection: its queue is full.
fn full_queue() -> (std::net::TcpListener, Vec<std::net::TcpStream>, String) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    // The standard library's queue holds 128; what the kernel takes beyond that is its own affair.
    while waiting.len() < 10_000 {
        match std::net::TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
            Ok(stream) => waiting.push(stream),
            Err(_full) => break,
        }
    }
    (listener, waiting, format!("http://{address}/mcp"))
}

#[tokio::test]
async fn a_black_hole_is_given_up_after_the_connect_timeout() {
    let short = Settings {
        connect_timeout: Duration::from_millis(500),
        ..settings()
    };
    let alice = principal("alice");
    let (_listener, _waiting, url) = tokio::task::spawn_blocking(full_queue).await.unwrap();
    // Connections are not taken; and another server takes them and never says a word.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent_url = format!("http://{}/mcp", silent.local_addr().unwrap());
    for url in [url, silent_url] {
        let sse = countersign_core::server::Transport::Sse {
            url: countersign_core::secret::Secret::plain(url.clone()),
            headers: std::collections::BTreeMap::new(),
        };
        for transport in [http(&url), sse] {
            let bench = Bench::with(entry(transport), short.clone());
            let why = not_sent(soon("the end", bench.call(&alice, "count", "{}")).await);
            assert!(why.starts_with("server fake is unavailable: "), "{why}");
            assert!(bench.list(&alice).await.is_err());
        }
    }
}

#[tokio::test]
async fn b021_signs_of_life_keep_a_call_waiting_but_not_beyond_the_ceiling() {
    // Ten times the timeout is the ceiling; the peer says that it is alive on and on.
    let fake = crate::support::legacy(|seen| {
        (seen.method() == "tools/call").then(|| {
            let token = seen.body["params"]["_meta"]["progressToken"].clone();
            let (sender, stream) = tokio::sync::mpsc::channel(4);
            tokio::spawn(async move {
                for step in 0_u64.. {
                    let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress",
                        "params": {"progressToken": token, "progress": step}});
                    if sender.send(format!("data: {progress}\n\n")).await.is_err() {
                        return;
                    }
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            });
            crate::support::Say::Stream(stream)
        })
    })
    .await;
    let bench = Bench::new(ServerEntry {
        timeout: Some(Duration::from_millis(200)),
        ..entry(http(&fake.url))
    });
    let (mut passage, _end) = crate::support::passage();
    passage.progress_token = Some(serde_json::value::RawValue::from_string("1".to_owned()).unwrap());
    let told = lost(
        soon(
            "the ceiling",
            bench.call_with(&principal("alice"), "count", "{}", passage),
        )
        .await,
    );
    assert_eq!(told, "no answer within 2 s");
}
