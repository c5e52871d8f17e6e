//! The session table: who finds what, and who makes room.

use std::sync::Arc;
use std::time::Duration;

use countersign_core::principal::{Authentication, Caller, Endpoint, Principal};
use countersign_core::stages::Toolset;
use countersign_engine::Abilities;
use countersign_wire::version::Version;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Full, Limits, Sessions, fresh_id};
use crate::hearer::Hearer;
use crate::session::Session;

const LIMITS: Limits = Limits {
    total: 4,
    per_principal: 3,
    idle: DAY,
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn caller(subject: &str) -> Caller {
    Caller {
        principal: Arc::new(Principal::of(subject, "test", Authentication::LocalOnly)),
        endpoint: Endpoint::Main,
        toolset: Toolset::Unscoped { because: "test" },
    }
}

fn session(id: &str, caller: &Caller) -> Session {
    Session::new(id.to_owned(), caller, Version::NEWEST_LEGACY, Abilities::default())
}

fn opened(sessions: &Sessions, id: &str, caller: &Caller) -> Result<Vec<String>, Full> {
    let (_, evicted) = sessions.open(session(id, caller), LIMITS)?;
    Ok(evicted.iter().map(|session| session.id.clone()).collect())
}

#[test]
fn b008_session_of_another_principal_does_not_exist() {
    let sessions = Sessions::default();
    opened(&sessions, "one", &caller("alice")).expect("opens");
    assert!(sessions.find("one", &caller("alice")).is_some());
    assert!(sessions.find("one", &caller("bob")).is_none());
    assert!(sessions.find("two", &caller("alice")).is_none());
}

#[test]
fn b009_session_is_bound_to_the_identity_alone() {
    let sessions = Sessions::default();
    opened(&sessions, "one", &caller("alice")).expect("opens");
    // A caller made anew, as after a refreshed token.
    assert!(sessions.find("one", &caller("alice")).is_some());
}

#[test]
fn least_recently_used_idle_session_of_the_same_principal_makes_room() {
    let sessions = Sessions::default();
    let (alice, bob) = (caller("alice"), caller("bob"));
    for id in ["a1", "a2", "a3"] {
        assert_eq!(opened(&sessions, id, &alice), Ok(Vec::new()));
    }
    sessions.find("a1", &alice).expect("is open");
    assert_eq!(opened(&sessions, "a4", &alice), Ok(vec!["a2".to_owned()]));
    assert_eq!(opened(&sessions, "b1", &bob), Ok(Vec::new()));
    // The table is full now, and only bob's own session can make room for bob.
    assert_eq!(opened(&sessions, "b2", &bob), Ok(vec!["b1".to_owned()]));
    assert_eq!(sessions.count(), 4);
    assert_eq!(opened(&sessions, "c1", &caller("carol")), Err(Full::Total(4)));
}

#[test]
fn session_with_a_call_under_way_is_never_evicted() {
    let sessions = Sessions::default();
    let alice = caller("alice");
    let (busy, _) = sessions.open(session("a1", &alice), LIMITS).expect("opens");
    let ticket = busy.calls.enter("1", &CancellationToken::new());
    for id in ["a2", "a3"] {
        opened(&sessions, id, &alice).expect("opens");
    }
    assert_eq!(opened(&sessions, "a4", &alice), Ok(vec!["a2".to_owned()]));
    drop(ticket);
    assert_eq!(opened(&sessions, "a5", &alice), Ok(vec!["a1".to_owned()]));
}

#[test]
fn b018_ids_are_short_visible_and_differ() {
    let (one, other) = (fresh_id().expect("randomness"), fresh_id().expect("randomness"));
    assert_eq!(one.len(), 64);
    assert!(one.bytes().all(|byte| byte.is_ascii_graphic()));
    assert_ne!(one, other);
}

#[test]
fn b001_session_whose_client_listens_is_never_evicted() {
    let sessions = Sessions::default();
    let alice = caller("alice");
    let mut streams = Vec::new();
    for id in ["a1", "a2", "a3"] {
        let (session, _) = sessions.open(session(id, &alice), LIMITS).expect("opens");
        let (sender, receiver) = mpsc::channel(1);
        session.open_stream(sender, Hearer::of_all(alice.clone()));
        streams.push(receiver);
    }
    let full = opened(&sessions, "a4", &alice).expect_err("there is no room");
    assert_eq!(full, Full::PerPrincipal(3));
    assert!(
        full.to_string().contains("`limits.sessions_per_principal` (3)"),
        "{full}"
    );
    streams.remove(1);
    assert_eq!(opened(&sessions, "a4", &alice), Ok(vec!["a2".to_owned()]));
}

/// What `expired` takes out, in no order.
fn expired(sessions: &Sessions, now: Instant, idle: Duration) -> Vec<String> {
    let (expired, _) = sessions.expired(now, idle);
    let mut ids: Vec<String> = expired.iter().map(|session| session.id.clone()).collect();
    ids.sort();
    ids
}

#[test]
fn b001_session_that_nothing_uses_ends_after_its_time_and_no_sooner() {
    let sessions = Sessions::default();
    let alice = caller("alice");
    opened(&sessions, "a1", &alice).expect("opens");
    let opened_at = Instant::now();
    let second = Duration::from_secs(1);
    assert_eq!(expired(&sessions, opened_at + DAY - second, DAY), Vec::<String>::new());
    assert!(sessions.find("a1", &alice).is_some());
    assert_eq!(expired(&sessions, opened_at + DAY + second, DAY), ["a1"]);
    assert!(sessions.find("a1", &alice).is_none());
    assert_eq!(
        (sessions.count(), sessions.expired(opened_at + DAY * 2, DAY).1),
        (0, None)
    );
}

#[test]
fn b001_session_with_a_stream_or_a_call_stays_and_its_time_begins_when_they_end() {
    let sessions = Sessions::default();
    let alice = caller("alice");
    let (listens, _) = sessions.open(session("listens", &alice), LIMITS).expect("opens");
    let (waits, _) = sessions.open(session("waits", &alice), LIMITS).expect("opens");
    let (sender, receiver) = mpsc::channel(1);
    listens.open_stream(sender, Hearer::of_all(alice));
    let ticket = waits.calls.enter("1", &CancellationToken::new());
    let start = Instant::now() + Duration::from_secs(1);
    let none = Vec::<String>::new();
    for days in 1..10 {
        assert_eq!(expired(&sessions, start + DAY * days, DAY), none, "day {days}");
    }
    drop((receiver, ticket));
    assert_eq!(
        expired(&sessions, start + DAY * 10, DAY),
        none,
        "they may have ended just now"
    );
    assert_eq!(expired(&sessions, start + DAY * 11, DAY), ["listens", "waits"]);
}

#[test]
fn memory_growth_what_ended_leaves_nothing_behind_and_a_shorter_time_holds_for_all() {
    let sessions = Sessions::default();
    let alice = caller("alice");
    for number in 0..1000 {
        let (session, _) = sessions
            .open(session(&number.to_string(), &alice), LIMITS)
            .expect("opens");
        if number % 2 == 0 {
            assert!(sessions.close(&session));
            assert!(!sessions.close(&session), "it ends once");
        }
    }
    assert_eq!(sessions.count(), 3);
    assert_eq!(sessions.table().queue.len(), 3);
    sessions.reconsider();
    assert_eq!(sessions.table().queue.len(), 3);
    let now = Instant::now() + Duration::from_secs(2);
    assert_eq!(expired(&sessions, now, Duration::from_secs(60)), Vec::<String>::new());
    sessions.reconsider();
    assert_eq!(expired(&sessions, now, Duration::from_secs(1)).len(), 3);
    let table = sessions.table();
    assert!(table.queue.is_empty() && table.by_id.is_empty() && table.by_principal.is_empty());
}
