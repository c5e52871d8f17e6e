//! Each principal that brings a credential of its own sees its own tools, calls under its own name, and hears of its
//! own changes.

use std::sync::Arc;
use std::time::Duration;

use countersign_core::admit::{Ask, Origin};
use countersign_core::auth::Auth;
use countersign_core::catalogue::Availability;
use countersign_core::exact::{Digest, Exact};
use countersign_core::principal::{Authentication, Caller, Principal};
use countersign_core::secret::Secret;
use countersign_core::server::{ServerEntry, Start};
use countersign_engine::{Change, Engine, Outcome};
use countersign_store::Ledger;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::TryRecvError;

use crate::guarded::Guarded;
use crate::{Fixture, passage, result, settings, until};

fn guarded(name: &str, server: &Guarded) -> Arc<ServerEntry> {
    let base = crate::entry(name, std::path::Path::new("/"), Start::Boot, "");
    Arc::new(ServerEntry {
        transport: server.transport(),
        auth: Auth::ForwardToken,
        digest: Digest::of(format!("guarded {name}").as_bytes()),
        ..(*base).clone()
    })
}

pub(crate) fn person(name: &str) -> Caller {
    Caller {
        principal: Arc::new(Principal::of(name, "agent", Authentication::LocalOnly)),
        ..crate::caller()
    }
}

fn start(entries: &[Arc<ServerEntry>]) -> Arc<Engine> {
    Engine::start(settings(), entries, Ledger::memory())
}

fn present(engine: &Engine, caller: &Caller, token: &str) {
    engine.present(&caller.principal, &Secret::hidden(token), None);
}

fn sees(engine: &Engine, caller: &Caller, tool: &str) -> bool {
    engine.world(caller).catalogue.tool(tool).is_some()
}

async fn call(engine: &Engine, caller: &Caller, name: &str) -> Outcome {
    let ask = Ask::Tool {
        name: name.to_owned(),
        arguments: Exact::empty_object(),
    };
    engine.call(caller, ask, Origin::Direct, passage()).await
}

/// Whose tools changed, as far as it was told.
fn told(changes: &mut Receiver<Change>) -> Vec<Option<String>> {
    let mut whose = Vec::new();
    loop {
        match changes.try_recv() {
            Ok(Change::Tools { to }) => whose.push(to.map(|to| to.to_string())),
            Ok(_) => {}
            Err(TryRecvError::Empty) => return whose,
            Err(other) => panic!("{other}"),
        }
    }
}

#[tokio::test]
async fn two_people_never_see_each_others_tools_and_call_under_their_own_names() {
    let server = Guarded::start().await;
    server.shows("ada's", &["common", "adas"]);
    server.shows("ben's", &["common", "bens"]);
    let engine = start(&[guarded("far", &server)]);
    let (ada, ben, local) = (person("ada"), person("ben"), crate::caller());
    for caller in [&ada, &ben, &local] {
        let world = engine.listing_world(caller).await;
        let far = world.catalogue.server("far").unwrap();
        assert_eq!(far.availability, Availability::AuthRequired);
        assert!(world.catalogue.tool("x_far_common").is_none());
    }
    assert!(server.heard().is_empty(), "nobody is asked without a credential");

    present(&engine, &ada, "ada's");
    let world = engine.listing_world(&ada).await;
    assert_eq!(world.catalogue.server("far").unwrap().availability, Availability::Ready);
    assert!(sees(&engine, &ada, "x_far_adas") && !sees(&engine, &ada, "x_far_bens"));
    for other in [&ben, &local] {
        engine.listing_world(other).await;
        assert!(!sees(&engine, other, "x_far_common"), "{:?}", other.principal);
    }
    present(&engine, &ben, "ben's");
    engine.listing_world(&ben).await;
    assert!(sees(&engine, &ben, "x_far_bens") && !sees(&engine, &ben, "x_far_adas"));
    assert!(!sees(&engine, &local, "x_far_common"));

    assert!(result(call(&engine, &ada, "x_far_common").await).contains("common for ada's"));
    assert!(result(call(&engine, &ben, "x_far_common").await).contains("common for ben's"));
    assert!(matches!(call(&engine, &ben, "x_far_adas").await, Outcome::Refused(_)));
    assert!(matches!(
        call(&engine, &local, "x_far_common").await,
        Outcome::AuthRequired(_)
    ));
    let calls = [("ada's", "common"), ("ben's", "common")].map(|(token, tool)| (token.to_owned(), tool.to_owned()));
    assert_eq!(server.calls(), calls);
    engine.shutdown().await;
}

#[tokio::test]
async fn a_change_of_one_persons_tools_is_told_to_that_person_alone() {
    let server = Guarded::start().await;
    server.shows("ada's", &["one"]);
    server.shows("ben's", &["one"]);
    let engine = start(&[guarded("far", &server)]);
    let (ada, ben) = (person("ada"), person("ben"));
    for (caller, token) in [(&ada, "ada's"), (&ben, "ben's")] {
        present(&engine, caller, token);
        engine.listing_world(caller).await;
    }
    let mut changes = engine.changes();
    server.shows("ada's", &["one", "two"]);
    server.announces_to("ada's").await;
    until(&engine, |engine| sees(engine, &ada, "x_far_two")).await;
    assert!(!sees(&engine, &ben, "x_far_two"));
    assert_eq!(server.count("ben's", "tools/list"), 1, "nobody listed for ben again");
    until(&engine, |_| !changes.is_empty()).await;
    assert_eq!(told(&mut changes), [Some(ada.principal.key().to_string())]);
    assert!(engine.concerns(Some(ada.principal.key()), ada.principal.key()));
    assert!(!engine.concerns(Some(ada.principal.key()), ben.principal.key()));
    engine.shutdown().await;
}

#[tokio::test]
async fn what_everybody_shares_changes_for_those_who_have_more_too() {
    let (server, fixture) = (Guarded::start().await, Fixture::new("change"));
    server.shows("ada's", &["mine"]);
    let engine = start(&[fixture.entry("small", Start::Boot, ""), guarded("far", &server)]);
    let (ada, local) = (person("ada"), crate::caller());
    present(&engine, &ada, "ada's");
    engine.listing_world(&ada).await;
    let mut changes = engine.changes();
    result(call(&engine, &local, "x_small_change").await);
    until(&engine, |engine| sees(engine, &local, "x_small_added")).await;
    until(&engine, |engine| sees(engine, &ada, "x_small_added")).await;
    assert!(sees(&engine, &ada, "x_far_mine"));
    until(&engine, |_| changes.len() >= 2).await;
    let mut whose = told(&mut changes);
    whose.sort();
    assert_eq!(whose, [None, Some(ada.principal.key().to_string())]);
    assert!(engine.concerns(None, local.principal.key()));
    assert!(!engine.concerns(None, ada.principal.key()), "ada is told of her own");
    engine.shutdown().await;
}

#[tokio::test]
async fn people_who_are_shown_the_same_share_one_snapshot_and_its_definitions() {
    let server = Guarded::start().await;
    let engine = start(&[guarded("far", &server)]);
    let people: Vec<Caller> = (0..20).map(|number| person(&format!("p{number}"))).collect();
    for (number, caller) in people.iter().enumerate() {
        let token = format!("t{number}");
        server.shows(&token, &["one", "two"]);
        present(&engine, caller, &token);
        engine.listing_world(caller).await;
    }
    let first = engine.world(&people[0]).catalogue;
    for caller in &people {
        let catalogue = engine.world(caller).catalogue;
        assert!(Arc::ptr_eq(&first, &catalogue), "{:?}", caller.principal);
    }
    // One who is shown more shares the definitions that are equal byte for byte.
    let odd = person("odd");
    server.shows("odd's", &["one", "three"]);
    present(&engine, &odd, "odd's");
    let catalogue = engine.listing_world(&odd).await.catalogue;
    assert!(!Arc::ptr_eq(&first, &catalogue));
    let definition = |catalogue: &countersign_core::catalogue::Catalogue| {
        Arc::clone(&catalogue.tool("x_far_one").unwrap().definition)
    };
    assert!(Arc::ptr_eq(&definition(&first), &definition(&catalogue)));
    engine.shutdown().await;
}

#[tokio::test]
async fn a_credential_that_is_refused_takes_the_tools_away_and_a_new_one_brings_them_back() {
    let server = Guarded::start().await;
    server.shows("old", &["one"]);
    let engine = start(&[guarded("far", &server)]);
    let ada = person("ada");
    present(&engine, &ada, "old");
    engine.listing_world(&ada).await;
    let mut changes = engine.changes();
    server.refuses("old");
    let Outcome::AuthRequired(required) = call(&engine, &ada, "x_far_one").await else {
        panic!("it ran")
    };
    assert_eq!(required.server.as_str(), "far");
    assert!(
        required.link.is_none(),
        "nobody signs in to a server that takes its caller's token"
    );
    until(&engine, |engine| !sees(engine, &ada, "x_far_one")).await;
    until(&engine, |_| !changes.is_empty()).await;
    assert_eq!(told(&mut changes), [Some(ada.principal.key().to_string())]);
    // The same token again is no reason to ask again.
    let asked = server.heard().len();
    present(&engine, &ada, "old");
    assert!(matches!(
        call(&engine, &ada, "x_far_one").await,
        Outcome::AuthRequired(_)
    ));
    assert_eq!(server.heard().len(), asked);
    server.shows("new", &["one"]);
    present(&engine, &ada, "new");
    assert!(
        result(call(&engine, &ada, "x_far_one").await).contains("one for new"),
        "the call waits for the list"
    );
    engine.shutdown().await;
}

#[tokio::test]
async fn what_a_person_has_is_forgotten_when_nobody_uses_it_and_is_there_again_with_its_next_use() {
    let server = Guarded::start().await;
    server.shows("ada's", &["one"]);
    let mut settings = settings();
    settings.upstream.idle = Duration::from_millis(50);
    let engine = Engine::start(settings, &[guarded("far", &server)], Ledger::memory());
    let ada = person("ada");
    let kept = engine.keep(&ada.principal).unwrap();
    present(&engine, &ada, "ada's");
    engine.listing_world(&ada).await;
    assert!(sees(&engine, &ada, "x_far_one"));
    drop(kept);
    until(&engine, |engine| !sees(engine, &ada, "x_far_one")).await;
    assert!(result(call(&engine, &ada, "x_far_one").await).contains("one for ada's"));
    engine.shutdown().await;
}

#[tokio::test]
async fn readiness_counts_who_is_signed_in_and_names_nobody() {
    let server = Guarded::start().await;
    server.shows("ada's", &["one"]);
    let engine = start(&[guarded("far", &server)]);
    let ada = person("ada");
    present(&engine, &ada, "ada's");
    engine.listing_world(&ada).await;
    let readiness = serde_json::to_string(&engine.readiness().await.servers).unwrap();
    assert_eq!(
        readiness,
        r#"[{"name":"far","state":"auth_required","tools":0,"signed_in":1}]"#
    );
    engine.shutdown().await;
}

#[tokio::test]
async fn core_tools_show_each_caller_how_the_server_stands_for_it() {
    let server = Guarded::start().await;
    server.shows("ada's", &["one"]);
    let engine = start(&[guarded("far", &server)]);
    let (ada, ben) = (person("ada"), person("ben"));
    present(&engine, &ada, "ada's");
    engine.listing_world(&ada).await;
    let shown = |outcome| result(outcome);
    assert!(shown(call(&engine, &ada, "core_server_list").await).contains(r#""state":"ready""#));
    assert!(shown(call(&engine, &ben, "core_server_list").await).contains(r#""state":"auth_required""#));
    engine.shutdown().await;
}

#[tokio::test]
async fn a_stopped_server_is_stopped_for_everybody_and_starts_again_for_everybody() {
    let server = Guarded::start().await;
    server.shows("ada's", &["one"]);
    let engine = start(&[guarded("far", &server)]);
    let (ada, local) = (person("ada"), crate::caller());
    present(&engine, &ada, "ada's");
    engine.listing_world(&ada).await;
    let by_hand = |tool: &'static str| {
        let ask = Ask::Tool {
            name: tool.to_owned(),
            arguments: Exact::object(r#"{"server":"far"}"#).unwrap(),
        };
        engine.call(&local, ask, Origin::Direct, passage())
    };
    result(by_hand("core_server_stop").await);
    until(&engine, |engine| !sees(engine, &ada, "x_far_one")).await;
    result(by_hand("core_server_start").await);
    until(&engine, |engine| sees(engine, &ada, "x_far_one")).await;
    assert!(!sees(&engine, &local, "x_far_one"));
    engine.shutdown().await;
}

#[tokio::test]
async fn a_server_that_keeps_one_person_waiting_holds_up_nobody_else() {
    let (server, fixture) = (Guarded::start().await, Fixture::new("echo"));
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut entry = (*guarded("silent", &server)).clone();
    entry.transport = countersign_core::server::Transport::Http {
        url: Secret::plain(format!("http://{}/mcp", silent.local_addr().unwrap())),
        headers: std::collections::BTreeMap::new(),
    };
    let engine = start(&[fixture.entry("small", Start::Boot, ""), Arc::new(entry)]);
    let (ada, ben) = (person("ada"), person("ben"));
    present(&engine, &ada, "ada's");
    engine.listing_world(&ben).await;
    result(call(&engine, &ben, "x_small_echo").await);
    result(call(&engine, &ada, "x_small_echo").await);
    engine.shutdown().await;
}
