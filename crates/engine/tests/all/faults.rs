//! What the engine makes of servers that announce without end, flap, are replaced or are slow, on every transport.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use countersign_core::catalogue::Availability;
use countersign_core::exact::Digest;
use countersign_core::outcome::Fate;
use countersign_core::server::{ServerEntry, Start};
use countersign_engine::{Change, Engine, Outcome, Settings};
use countersign_store::Ledger;
use serde_json::{Value, json};
use tokio::sync::broadcast::error::TryRecvError;

use crate::peer::{Do, Got, Peer, Wire, soon};
use crate::{call, result, settings, until};

fn entry_of(name: &str, peer: &Peer) -> Arc<ServerEntry> {
    let base = crate::entry(name, std::path::Path::new("/"), Start::Boot, "");
    Arc::new(ServerEntry {
        transport: peer.transport(),
        labels: BTreeMap::new(),
        digest: Digest::of(format!("{name}{}", peer.address).as_bytes()),
        ..(*base).clone()
    })
}

async fn engine_over(peer: &Peer, debounce: Duration) -> Arc<Engine> {
    let settings = Settings { debounce, ..settings() };
    let engine = Engine::start(settings, &[entry_of("far", peer)], Ledger::memory());
    let mut changes = engine.changes();
    until(&engine, |engine| availability(engine) == Availability::Ready).await;
    // A snapshot is in force before callers are told of it; what a test counts begins after that.
    told_once(&mut changes).await;
    engine
}

/// Waits for one word to callers that tools have changed.
async fn told_once(changes: &mut tokio::sync::broadcast::Receiver<Change>) {
    let told = async { while !matches!(changes.recv().await.unwrap(), Change::Tools { .. }) {} };
    tokio::time::timeout(crate::CEILING, told).await.unwrap();
}

fn availability(engine: &Engine) -> Availability {
    engine.catalogue().server("far").unwrap().availability.clone()
}

fn has(engine: &Engine, tool: &str) -> bool {
    engine.catalogue().tool(tool).is_some()
}

fn tools(names: &[&str]) -> Value {
    names
        .iter()
        .map(|name| json!({"name": name, "inputSchema": {"type": "object"}}))
        .collect()
}

fn changed() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
}

/// How often callers would have been told that their tools changed.
fn told(changes: &mut tokio::sync::broadcast::Receiver<Change>) -> usize {
    let mut times = 0;
    loop {
        match changes.try_recv() {
            Ok(Change::Tools { .. }) => times += 1,
            Ok(_) => {}
            Err(TryRecvError::Empty) => return times,
            Err(other) => panic!("{other}"),
        }
    }
}

#[tokio::test]
async fn b032_a_thousand_announcements_are_two_listings_and_no_change_for_callers() {
    for wire in Wire::ALL {
        let peer = Peer::start(wire, |_| None).await;
        let engine = engine_over(&peer, Duration::from_millis(200)).await;
        let mut changes = engine.changes();
        peer.say(&vec![changed(); 1000]).await;
        peer.until("the storm's listing", |got| lists(got) == 2).await;
        // What really differs comes through, once.
        peer.set_tools(tools(&["count", "more"]));
        peer.say(&[changed()]).await;
        until(&engine, |engine| has(engine, "x_far_more")).await;
        assert!(lists(&peer.got()) <= 4, "{wire:?}: {} listings", lists(&peer.got()));
        assert_eq!(told(&mut changes), 1, "{wire:?}");
        engine.shutdown().await;
    }
}

fn lists(got: &[Got]) -> usize {
    got.iter().filter(|got| got.method() == "tools/list").count()
}

#[tokio::test]
async fn b034_a_change_of_what_callers_do_not_see_tells_them_nothing() {
    let peer = Peer::start(Wire::Stdio, |_| None).await;
    let bad = |words: &str| json!({"name": "bad", "description": words, "inputSchema": {"type": "string"}});
    let good = json!({"name": "count", "inputSchema": {"type": "object"}});
    peer.set_tools(json!([good, bad("one")]));
    let engine = engine_over(&peer, Duration::from_millis(10)).await;
    let mut changes = engine.changes();
    peer.set_tools(json!([good, bad("two")]));
    peer.say(&[changed()]).await;
    peer.until("the listing", |got| lists(got) == 2).await;
    peer.set_tools(json!([good, bad("two"), {"name": "more", "inputSchema": {"type": "object"}}]));
    peer.say(&[changed()]).await;
    until(&engine, |engine| has(engine, "x_far_more")).await;
    assert_eq!(told(&mut changes), 1, "only the tool that callers see counts");
    engine.shutdown().await;
}

#[tokio::test]
async fn b025_a_server_that_flaps_keeps_its_last_list_and_tells_callers_nothing() {
    for wire in Wire::ALL {
        let peer = Peer::start(wire, |_| None).await;
        let engine = engine_over(&peer, Duration::from_millis(50)).await;
        let mut changes = engine.changes();
        // Five fast ends of a child are permanent.
        let flaps = if wire == Wire::Stdio { 2 } else { 10 };
        for _ in 0..flaps {
            peer.close().await;
            let outcome = call(&engine, "x_far_count", "{}").await;
            let Outcome::Failed { fate, sentence, .. } = outcome else {
                panic!("{wire:?}: {outcome:?}")
            };
            match fate {
                Fate::NotSent => assert!(sentence.starts_with("server far is unavailable: "), "{sentence}"),
                Fate::OutcomeUnknown => assert!(sentence.starts_with("the outcome is unknown: "), "{sentence}"),
                other => panic!("{other:?}"),
            }
            assert!(has(&engine, "x_far_count"), "{wire:?}: the last list stays");
            peer.open().await;
        }
        until(&engine, |engine| availability(engine) == Availability::Ready).await;
        soon("a call", async {
            while !matches!(
                Box::pin(call(&engine, "x_far_count", "{}")).await,
                Outcome::Result { .. }
            ) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
        assert_eq!(told(&mut changes), 0, "{wire:?}");
        engine.shutdown().await;
    }
}

#[tokio::test]
async fn a_new_instance_with_other_tools_is_found_out_and_listed_once() {
    for wire in Wire::ALL {
        let peer = Peer::start(wire, |_| None).await;
        let engine = engine_over(&peer, Duration::from_millis(10)).await;
        let mut changes = engine.changes();
        if wire == Wire::Http {
            peer.until("the stream", |got| got.iter().any(|got| got.verb == "GET"))
                .await;
        }
        peer.set_tools(tools(&["count", "new"]));
        peer.redeploy();
        until(&engine, |engine| has(engine, "x_far_new")).await;
        result(call(&engine, "x_far_new", "{}").await);
        // Callers may be told a debounce after the snapshot is in force.
        told_once(&mut changes).await;
        // One more announcement: had the new instance been listed twice, it would show by now.
        peer.set_tools(tools(&["count", "new", "last"]));
        peer.say(&[changed()]).await;
        until(&engine, |engine| has(engine, "x_far_last")).await;
        told_once(&mut changes).await;
        assert_eq!(told(&mut changes), 0, "{wire:?}");
        assert_eq!(lists(&peer.got()), 3, "{wire:?}");
        assert_eq!(peer.of_method("initialize").len(), 2, "{wire:?}");
        engine.shutdown().await;
    }
}

#[tokio::test]
async fn b025_callers_are_told_at_most_once_in_a_debounce_and_never_of_what_changed_back() {
    let peer = Peer::start(Wire::Http, |_| None).await;
    let settings = Settings {
        debounce: Duration::from_secs(3600),
        ..settings()
    };
    let engine = Engine::start(settings, &[entry_of("far", &peer)], Ledger::memory());
    let mut changes = engine.changes();
    until(&engine, |engine| has(engine, "x_far_count")).await;
    for _ in 0..3 {
        result(call(&engine, "core_server_stop", r#"{"server":"far"}"#).await);
        until(&engine, |engine| !has(engine, "x_far_count")).await;
        result(call(&engine, "core_server_start", r#"{"server":"far"}"#).await);
        until(&engine, |engine| has(engine, "x_far_count")).await;
    }
    assert_eq!(
        told(&mut changes),
        1,
        "the first listing, and nothing within the hour after it"
    );
    engine.shutdown().await;
}

/// Waits in the script until so many servers were asked; a fan-out one after the other would wait in vain.
#[derive(Default)]
struct Gate {
    asked: Mutex<usize>,
    came: Condvar,
}

impl Gate {
    fn pass(&self, wanted: usize) -> bool {
        // What waits for this thread goes on in another one meanwhile.
        tokio::task::block_in_place(|| {
            let mut asked = self.asked.lock().unwrap();
            *asked += 1;
            self.came.notify_all();
            let limit = Duration::from_secs(30);
            let waited = self.came.wait_timeout_while(asked, limit, |asked| *asked < wanted);
            !waited.unwrap().1.timed_out()
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn b088_all_servers_are_asked_before_any_has_answered() {
    let (met, listed) = (Arc::new(Gate::default()), Arc::new(Gate::default()));
    let mut peers = Vec::new();
    for wire in Wire::ALL {
        let (met, listed) = (Arc::clone(&met), Arc::clone(&listed));
        let peer = Peer::start(wire, move |got| {
            let in_time = match got.method() {
                "initialize" => met.pass(3),
                "tools/list" => listed.pass(3),
                _ => true,
            };
            (!in_time).then(|| vec![Do::Refuse(-32000)])
        });
        peers.push(peer.await);
    }
    let names = ["one", "two", "three"];
    let entries: Vec<_> = names
        .iter()
        .zip(&peers)
        .map(|(name, peer)| entry_of(name, peer))
        .collect();
    let engine = Engine::start(settings(), &entries, Ledger::memory());
    let catalogue = engine.listed_catalogue().await;
    for name in names {
        assert!(catalogue.tool(&format!("x_{name}_count")).is_some(), "{name}");
    }
    engine.shutdown().await;
}
