//! The book's rules: one listing at a time, the latest turn goes on, nothing known is lost.

use std::collections::BTreeMap;

use countersign_core::effect::AnnotationTrust;
use countersign_core::exact::Digest;
use countersign_core::secret::Secret;
use countersign_core::server::{EnvMode, Sharing, Transport};

use super::*;

fn entry(name: &str, seed: &str, start: Start) -> Arc<ServerEntry> {
    Arc::new(ServerEntry {
        name: ServerName::parse(name).unwrap(),
        labels: BTreeMap::new(),
        tool_prefix: None,
        description: None,
        timeout: None,
        start,
        trust: AnnotationTrust::Ignored,
        sharing: Sharing::PerPrincipal,
        auth: countersign_core::server::Auth::None,
        access: Vec::new(),
        family: None,
        private_network: countersign_core::server::PrivateNetwork::Allowed,
        transport: Transport::Stdio {
            command: Secret::plain("true"),
            args: Vec::new(),
            env: BTreeMap::new(),
            env_mode: EnvMode::Clean,
            env_passthrough: Vec::new(),
            cwd: None,
        },
        digest: Digest::of(seed.as_bytes()),
    })
}

fn listing(protocol: &str) -> Arc<Listing> {
    Arc::new(Listing {
        protocol: protocol.to_owned(),
        ..Listing::default()
    })
}

fn failed() -> Unlisted {
    Unlisted::Unavailable {
        reason: "no".to_owned(),
    }
}

fn availability(book: &Book) -> Availability {
    book.servers().remove(0).availability
}

#[test]
fn only_one_listing_of_a_server_is_under_way() {
    let mut book = Book::default();
    let a = entry("a", "1", Start::Boot);
    assert_eq!(book.apply(&[Arc::clone(&a)], |_| true), std::slice::from_ref(&a.name));
    assert!(book.begin(&a.name, None).is_some());
    assert!(book.begin(&a.name, None).is_none());
    assert_eq!(
        book.end(&a, Ok(listing("1"))),
        Next::Again(0),
        "a change was announced meanwhile"
    );
    assert_eq!(availability(&book), Availability::Ready);
}

#[test]
fn a_failed_server_is_retried_by_the_latest_turn_alone() {
    let mut book = Book::default();
    let a = entry("a", "1", Start::Boot);
    book.apply(&[Arc::clone(&a)], |_| true);
    let (_, first) = book.begin(&a.name, None).unwrap();
    assert_eq!(book.end(&a, Err(failed())), Next::Retry(1));
    let (_, second) = book.begin(&a.name, None).unwrap();
    assert_eq!(book.end(&a, Err(failed())), Next::Retry(2));
    assert!(book.begin(&a.name, Some(first)).is_none());
    assert!(book.begin(&a.name, Some(second)).is_some());
}

#[test]
fn a_listing_that_went_well_needs_no_other() {
    let mut book = Book::default();
    let a = entry("a", "1", Start::Boot);
    book.apply(&[Arc::clone(&a)], |_| true);
    assert!(book.is_pending());
    let (_, turn) = book.begin(&a.name, None).unwrap();
    assert_eq!(book.end(&a, Ok(listing("1"))), Next::Rest);
    assert!(!book.is_pending());
    assert!(book.begin(&a.name, Some(turn)).is_none());
}

#[test]
fn i12_a_server_that_goes_down_keeps_its_last_listing() {
    let mut book = Book::default();
    let a = entry("a", "1", Start::Boot);
    book.apply(&[Arc::clone(&a)], |_| true);
    book.begin(&a.name, None).unwrap();
    book.end(&a, Ok(listing("kept")));
    book.down(&a.name, "gone");
    let server = book.servers().remove(0);
    assert_eq!(
        server.availability,
        Availability::Unavailable {
            reason: "gone".to_owned()
        }
    );
    assert_eq!(server.listing.protocol, "kept");
}

#[test]
fn an_unchanged_entry_is_not_listed_again() {
    let mut book = Book::default();
    let (a, b) = (entry("a", "1", Start::Boot), entry("b", "1", Start::Boot));
    book.apply(&[Arc::clone(&a), b], |_| true);
    book.begin(&a.name, None).unwrap();
    book.end(&a, Ok(listing("1")));
    let due = book.apply(&[a, entry("b", "2", Start::Boot)], |_| true);
    assert_eq!(due.iter().map(ServerName::as_str).collect::<Vec<_>>(), ["b"]);
    assert_eq!(availability(&book), Availability::Ready);
}

#[test]
fn what_was_listed_for_an_entry_that_changed_meanwhile_is_dropped() {
    let mut book = Book::default();
    let old = entry("a", "1", Start::Boot);
    book.apply(&[Arc::clone(&old)], |_| true);
    book.begin(&old.name, None).unwrap();
    let new = entry("a", "2", Start::Boot);
    book.apply(&[Arc::clone(&new)], |_| true);
    assert!(
        book.begin(&new.name, None).is_none(),
        "the running listing is repeated instead"
    );
    assert_eq!(book.end(&old, Ok(listing("old"))), Next::Again(0));
    assert_eq!(availability(&book), Availability::Unlisted);
    assert_eq!(book.servers().remove(0).listing.protocol, "");
}

#[test]
fn suspended_and_stopped_servers_are_not_listed_and_lazy_ones_wait_for_a_use() {
    let mut book = Book::default();
    let (lazy, off) = (entry("lazy", "1", Start::Lazy), entry("off", "1", Start::Suspended));
    assert!(book.apply(&[Arc::clone(&lazy), Arc::clone(&off)], |_| true).is_empty());
    assert_eq!(book.lazy(), std::slice::from_ref(&lazy.name));
    assert!(book.begin(&off.name, None).is_none());
    book.set(&lazy.name, Availability::Stopped);
    assert!(book.begin(&lazy.name, None).is_none());
    assert!(book.lazy().is_empty());
    assert!(!book.is_pending());
}

#[test]
fn a_removed_server_is_forgotten() {
    let mut book = Book::default();
    let a = entry("a", "1", Start::Boot);
    book.apply(&[Arc::clone(&a)], |_| true);
    book.begin(&a.name, None).unwrap();
    book.apply(&[], |_| true);
    assert_eq!(book.end(&a, Ok(listing("1"))), Next::Rest);
    assert!(book.servers().is_empty());
}

#[test]
fn a_listing_that_brings_nothing_new_changes_no_snapshot_and_is_counted() {
    let mut book = Book::default();
    let a = entry("a", "1", Start::Boot);
    book.apply(&[Arc::clone(&a)], |_| true);
    for (protocol, unchanged) in [("1", 0), ("1", 1), ("1", 2), ("2", 0)] {
        let before = book.revision();
        book.begin(&a.name, None).unwrap();
        assert_eq!(book.end(&a, Ok(listing(protocol))), Next::Rest);
        assert_eq!(book.unchanged(&a.name), unchanged);
        assert_eq!(book.revision() > before, unchanged == 0);
    }
}

fn signed_in(name: &str) -> Arc<ServerEntry> {
    let mut entry = (*entry(name, "1", Start::Boot)).clone();
    entry.auth = countersign_core::server::Auth::OAuth(Box::default());
    Arc::new(entry)
}

#[test]
fn a_server_that_waits_for_a_sign_in_is_not_listed_and_keeps_nobody_waiting() {
    let mut book = Book::default();
    let a = signed_in("a");
    assert!(book.apply(&[Arc::clone(&a)], |_| false).is_empty());
    assert!(book.begin(&a.name, None).is_none());
    assert_eq!(availability(&book), Availability::AuthRequired);
    assert!(!book.is_pending());
    assert!(book.open(&a.name));
    assert!(!book.open(&a.name), "it can be asked already");
    assert!(book.is_pending());
    assert!(book.begin(&a.name, None).is_some());
}

#[test]
fn what_was_published_for_a_grant_goes_with_it() {
    let mut book = Book::default();
    let a = signed_in("a");
    book.apply(&[Arc::clone(&a)], |_| true);
    book.begin(&a.name, None).unwrap();
    book.end(&a, Ok(listing("mine")));
    book.begin(&a.name, None).unwrap();
    assert!(book.close(&a.name));
    assert_eq!(book.servers().remove(0).listing.protocol, "");
    assert_eq!(
        book.end(&a, Ok(listing("late"))),
        Next::Rest,
        "the listing under way is dropped"
    );
    assert_eq!(book.servers().remove(0).listing.protocol, "");
    assert!(!book.is_open());
}

#[test]
fn a_server_that_refuses_the_grant_waits_for_another() {
    let mut book = Book::default();
    let a = signed_in("a");
    book.apply(&[Arc::clone(&a)], |_| true);
    let (_, turn) = book.begin(&a.name, None).unwrap();
    assert_eq!(book.end(&a, Err(Unlisted::AuthRequired)), Next::Rest);
    assert_eq!(availability(&book), Availability::AuthRequired);
    assert!(book.begin(&a.name, Some(turn)).is_none());
}
