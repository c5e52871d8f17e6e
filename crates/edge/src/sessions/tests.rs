//! The session table: who finds what, and who makes room.

use std::sync::Arc;

use countersign_core::principal::{Authentication, Caller, Endpoint, Principal};
use countersign_core::stages::Toolset;
use countersign_engine::Abilities;
use countersign_wire::version::Version;
use tokio_util::sync::CancellationToken;

use super::{Full, Limits, Sessions, fresh_id};
use crate::session::Session;

const LIMITS: Limits = Limits {
    total: 4,
    per_principal: 3,
};

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
    assert_eq!(opened(&sessions, "c1", &caller("carol")), Err(Full));
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
