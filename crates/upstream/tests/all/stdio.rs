//! Servers as child processes.

use std::sync::Arc;
use std::time::Duration;

use countersign_upstream::{Answer, Event, Reply, Settings, ToCaller};
use futures_util::future::join_all;
use serde_json::json;
use serde_json::value::RawValue;

use crate::support::{Bench, child, entry, lost, not_sent, passage, principal, result, settings, soon};

fn bench(mode: &str) -> Bench {
    Bench::new(entry(child(mode)))
}

#[tokio::test]
async fn children_of_both_eras_are_listed_and_called() {
    for (mode, version) in [("legacy", "2025-11-25"), ("modern", "2026-07-28")] {
        let bench = bench(mode);
        let alice = principal("alice");
        let listing = bench.list(&alice).await.unwrap();
        assert_eq!(listing.protocol, version);
        assert_eq!(listing.tools[0].name.as_str(), "echo");
        let echoed = result(bench.call(&alice, "echo", r#"{"text":"ä"}"#).await);
        assert_eq!(echoed["echo"]["arguments"], json!({"text": "ä"}));
        bench.upstreams.shutdown().await;
    }
}

#[tokio::test]
async fn a_child_that_dies_or_is_silent_when_probed_is_replaced_and_its_era_remembered() {
    for mode in ["dies", "silent"] {
        let timeout = if mode == "silent" { 12 } else { 30 };
        let bench = Bench::with(
            entry(child(mode)),
            Settings {
                connect_timeout: Duration::from_secs(timeout),
                ..settings()
            },
        );
        for who in ["alice", "bob"] {
            let seen = result(bench.call(&principal(who), "look_seen", "{}").await);
            assert_eq!(seen["seen"][0]["method"], "initialize", "{mode} {who}");
        }
        bench.upstreams.shutdown().await;
    }
}

#[tokio::test]
async fn b052_ten_first_calls_start_one_child() {
    let bench = bench("legacy");
    let alice = principal("alice");
    let answers = join_all((0..10).map(|_| bench.call(&alice, "look_seen", "{}"))).await;
    let mut pids: Vec<_> = answers
        .into_iter()
        .map(|answer| result(answer)["pid"].as_i64())
        .collect();
    pids.dedup();
    assert_eq!(pids.len(), 1);
}

#[tokio::test]
async fn i10_a_child_gets_a_clean_environment() {
    let bench = bench("legacy");
    let seen = result(bench.call(&principal("alice"), "look_seen", "{}").await);
    let env = seen["env"].as_object().unwrap();
    assert_eq!(env["API_KEY"], "sesame-12345");
    // Launchers of Python set variables by themselves, so only ours are looked for.
    let foreign: Vec<&String> = env
        .keys()
        .filter(|name| name.starts_with("CARGO") || name.starts_with("RUST"))
        .collect();
    assert!(
        std::env::vars().any(|(name, _)| name.starts_with("CARGO")),
        "nothing to leak"
    );
    assert!(foreign.is_empty(), "{foreign:?}");
}

#[tokio::test]
async fn b049_a_killed_child_loses_its_calls_at_once_and_is_started_again() {
    let mut bench = bench("legacy");
    let alice = principal("alice");
    let first = result(bench.call(&alice, "look_seen", "{}").await)["pid"].clone();
    let calls = join_all(["slow", "crash"].map(|tool| bench.call(&alice, tool, "{}")));
    for answer in soon("both calls' end", calls).await {
        assert_eq!(lost(answer), "its process ended (exit status: 7)");
    }
    let Some(Event::Down { reason, .. }) = soon("the event", bench.events.recv()).await else {
        panic!("no event")
    };
    assert_eq!(reason, "its process ended (exit status: 7)");
    let second = soon("the restart", async {
        loop {
            match bench.call(&alice, "look_seen", "{}").await {
                Answer::NotSent(error) => assert!(error.to_string().contains("it is started again"), "{error}"),
                answer => return result(answer)["pid"].clone(),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    assert_ne!(first, second);
    assert!(matches!(
        soon("a change", bench.events.recv()).await,
        Some(Event::ListChanged { .. })
    ));
}

#[tokio::test]
async fn a_child_that_reads_no_more_loses_the_call_and_is_ended() {
    let bench = bench("legacy");
    let alice = principal("alice");
    let pid = result(bench.call(&alice, "closes_input", "{}").await)["pid"].clone();
    let told = lost(soon("the end", bench.call(&alice, "echo", "{}")).await);
    assert_eq!(told, "it closed its input");
    gone(&pid.to_string()).await;
}

#[tokio::test]
async fn a_command_that_does_not_exist_is_named_and_given_up_after_five_tries() {
    let mut transport = child("legacy");
    if let countersign_core::server::Transport::Stdio { command, .. } = &mut transport {
        *command = countersign_core::secret::Secret::plain("no-such-program");
    }
    let bench = Bench::new(entry(transport));
    let alice = principal("alice");
    let why = not_sent(bench.call(&alice, "echo", "{}").await);
    assert!(
        why.starts_with("server fake is unavailable: `no-such-program` cannot be started: "),
        "{why}"
    );
    soon("the end of tries", async {
        while !not_sent(bench.call(&alice, "echo", "{}").await).contains("ended too often") {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    bench.upstreams.start(&bench.entry.name).unwrap();
    assert!(!not_sent(bench.call(&alice, "echo", "{}").await).contains("ended too often"));
}

#[tokio::test]
async fn b020_a_cancelled_call_is_taken_back_with_our_id() {
    for mode in ["legacy", "modern"] {
        let bench = Arc::new(bench(mode));
        let alice = principal("alice");
        result(bench.call(&alice, "echo", "{}").await);
        let (passage, end) = passage();
        let slow = bench.call_with(&alice, "slow", "{}", passage);
        let cancel = async {
            soon("the call", async {
                while !result(bench.call(&alice, "look_seen", "{}").await)
                    .to_string()
                    .contains("\"slow\"")
                {}
            })
            .await;
            end.cancel.cancel();
        };
        let (slow, ()) = tokio::join!(slow, cancel);
        assert!(matches!(slow, Answer::Cancelled));
        let seen = soon("the cancellation", async {
            loop {
                let seen = result(bench.call(&alice, "look_seen", "{}").await);
                if seen.to_string().contains("notifications/cancelled") {
                    return seen;
                }
            }
        })
        .await;
        let seen = seen["seen"].as_array().unwrap();
        let sent = seen.iter().find(|message| message["params"]["name"] == "slow").unwrap();
        let cancelled = seen
            .iter()
            .find(|message| message["method"] == "notifications/cancelled")
            .unwrap();
        assert_eq!(cancelled["params"]["requestId"], sent["id"]);
    }
}

#[tokio::test]
async fn b023_b053_b048_odd_bytes_do_not_disturb_answers() {
    let bench = bench("legacy");
    let alice = principal("alice");
    assert_eq!(result(bench.call(&alice, "split", "{}").await)["text"], "ä");
    assert_eq!(result(bench.call(&alice, "garbage", "{}").await)["ok"], true);
    assert_eq!(result(bench.call(&alice, "noise", "{}").await)["ok"], true);
    let stderr = bench.upstreams.status(&bench.entry.name).unwrap().stderr.join("");
    assert!(!stderr.contains("sesame"), "a secret is in the log");
}

#[tokio::test]
async fn an_answer_over_the_limit_is_lost_and_the_child_lives() {
    let bench = bench("legacy");
    let alice = principal("alice");
    let before = result(bench.call(&alice, "look_seen", "{}").await)["pid"].clone();
    let reason = lost(bench.call(&alice, "large", "{}").await);
    assert_eq!(
        reason,
        "its answer is larger than 1048576 bytes (limits.response_bytes)"
    );
    assert_eq!(result(bench.call(&alice, "look_seen", "{}").await)["pid"], before);
}

#[tokio::test]
async fn a_request_of_the_child_reaches_the_only_caller_and_is_refused_with_two() {
    let bench = Arc::new(bench("legacy"));
    let alice = principal("alice");
    let (passage_one, mut end) = passage();
    let call = bench.call_with(&alice, "ask", "{}", passage_one);
    let answer = async {
        let Some(ToCaller::Request { method, reply, .. }) = end.inbox.recv().await else {
            panic!("no request")
        };
        assert_eq!(method, "sampling/createMessage");
        reply
            .send(Reply::Result(
                RawValue::from_string("{\n\"role\":1}".to_owned()).unwrap(),
            ))
            .unwrap();
    };
    let (call, ()) = tokio::join!(call, answer);
    assert_eq!(result(call)["answered"], json!({"role": 1}));

    let slow = {
        let (bench, alice) = (Arc::clone(&bench), Arc::clone(&alice));
        tokio::spawn(async move { bench.call(&alice, "slow", "{}").await })
    };
    soon("the slow call", async {
        while !result(bench.call(&alice, "look_seen", "{}").await)
            .to_string()
            .contains("\"slow\"")
        {}
    })
    .await;
    let refused = result(bench.call(&alice, "ask", "{}").await);
    assert_eq!(refused["error"]["code"], -32601);
    slow.abort();
}

/// Waits until a process is gone. A killed one may be a zombie for a moment, until its new parent reaps it.
async fn gone(pid: &str) {
    let stat = format!("/proc/{pid}/stat");
    soon("the process's end", async {
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn b051_a_child_whose_handshake_is_under_way_is_ended_before_the_shutdown_is_over() {
    let bench = bench("deaf");
    let (alice, name) = (principal("alice"), bench.entry.name.clone());
    let upstreams = bench.upstreams.clone();
    let listing = tokio::spawn(async move { upstreams.list(&name, alice.key()).await });
    let pid = soon("the child's start", async {
        loop {
            let lines = bench.upstreams.status(&bench.entry.name).unwrap().stderr;
            if let Some(pid) = lines.into_iter().next() {
                return pid;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    bench.upstreams.shutdown().await;
    // Nothing runs on behind the caller's back: it may end the process now.
    assert!(
        std::fs::read_to_string(format!("/proc/{pid}/stat")).is_err(),
        "the child is still there"
    );
    let why = listing.await.unwrap().unwrap_err().to_string();
    assert_eq!(why, "server fake is unavailable: the gateway is shutting down");
}

#[tokio::test]
async fn b051_a_stopped_child_leaves_no_process_of_its_group() {
    let bench = bench("legacy");
    let pids = result(bench.call(&principal("alice"), "grandchild", "{}").await);
    bench.upstreams.shutdown().await;
    for who in ["pid", "parent"] {
        gone(&pids[who].to_string()).await;
    }
}

#[tokio::test]
async fn a_missing_working_folder_is_named() {
    let mut transport = child("legacy");
    if let countersign_core::server::Transport::Stdio { cwd, .. } = &mut transport {
        *cwd = Some(countersign_core::secret::Secret::plain("/no/such/folder"));
    }
    let why = not_sent(
        Bench::new(entry(transport))
            .call(&principal("alice"), "echo", "{}")
            .await,
    );
    assert_eq!(
        why,
        "server fake is unavailable: its working folder `/no/such/folder` is no folder"
    );
}

#[tokio::test]
async fn a_suspended_server_is_not_started() {
    let suspended = countersign_core::server::ServerEntry {
        start: countersign_core::server::Start::Suspended,
        ..entry(child("legacy"))
    };
    let why = not_sent(Bench::new(suspended).call(&principal("alice"), "echo", "{}").await);
    assert_eq!(why, "server fake is unavailable: its entry suspends it");
}
