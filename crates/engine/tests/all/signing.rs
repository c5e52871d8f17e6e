//! A person's way through a sign-in, as the engine has it: the link, the browser, the way back, and out again.

use std::sync::Arc;
use std::time::Duration;

use countersign_core::admit::{Ask, Origin};
use countersign_core::auth::{Auth, OAuth};
use countersign_core::exact::{Digest, Exact};
use countersign_core::principal::Caller;
use countersign_core::secret::Secret;
use countersign_core::server::{ServerEntry, Start};
use countersign_engine::{AskedBy, AuthRequired, Callback, Change, Engine, Outcome, Settings, SignedIn, Stuck};
use countersign_store::Ledger;

use crate::guarded::Guarded;
use crate::views::person;
use crate::{CEILING, passage, result, settings, until};

fn entry(name: &str, server: &Guarded) -> Arc<ServerEntry> {
    let base = crate::entry(name, std::path::Path::new("/"), Start::Boot, "");
    Arc::new(ServerEntry {
        transport: server.transport(),
        auth: Auth::OAuth(Box::new(OAuth {
            allowed_hosts: vec![server.address.to_string()],
            ..OAuth::default()
        })),
        digest: Digest::of(format!("signing {name}").as_bytes()),
        ..(*base).clone()
    })
}

fn start(server: &Guarded) -> (Arc<Engine>, Ledger) {
    let settings = Settings {
        pages: Some("http://127.0.0.1:8090".to_owned()),
        ..settings()
    };
    let ledger = Ledger::memory();
    (Engine::start(settings, &[entry("far", server)], ledger.clone()), ledger)
}

async fn call(engine: &Engine, caller: &Caller, name: &str, arguments: &str) -> Outcome {
    let ask = Ask::Tool {
        name: name.to_owned(),
        arguments: Exact::object(arguments).unwrap(),
    };
    engine.call(caller, ask, Origin::Direct, passage()).await
}

fn required(outcome: Outcome) -> AuthRequired {
    match outcome {
        Outcome::AuthRequired(required) => *required,
        other => panic!("{other:?}"),
    }
}

fn ticket(required: &AuthRequired) -> String {
    let link = required.link.as_ref().unwrap().reveal();
    let ticket = link.strip_prefix("http://127.0.0.1:8090/oauth/start?ticket=");
    ticket.unwrap().to_owned()
}

fn browser() -> Secret {
    Secret::hidden("browser")
}

/// Goes to the server's own page and comes back with a code.
async fn sign_in(engine: &Engine, ticket: &str, code: &str) -> Result<SignedIn, Stuck> {
    let url = engine.go(ticket, None, &browser()).await?;
    let callback = back(&url, code);
    engine.come_back(callback, Some(&browser())).await
}

fn back(url: &Secret, code: &str) -> Callback {
    let state = url
        .reveal()
        .split(['?', '&'])
        .find_map(|field| field.strip_prefix("state="));
    Callback {
        state: state.unwrap().to_owned(),
        answer: Ok(Secret::hidden(code)),
        iss: None,
    }
}

#[tokio::test]
async fn a_call_leads_to_a_link_and_the_sign_in_to_the_tools_of_that_person_alone() {
    let server = Guarded::start().await;
    server.shows("adas-code", &["one"]);
    let (engine, ledger) = start(&server);
    let (ada, ben) = (person("ada"), person("ben"));
    let asked = required(call(&engine, &ada, "x_far_one", "{}").await);
    assert_eq!((asked.server.as_str(), asked.asked_by), ("far", AskedBy::Call));
    let link = asked.link.as_ref().unwrap().reveal().to_owned();
    assert!(
        asked.sentence().starts_with("auth_required: server \"far\""),
        "{}",
        asked.sentence()
    );
    assert!(asked.sentence().contains(&link));
    assert!(!format!("{asked:?}").contains(&ticket(&asked)), "a link is not printed");
    let login = required(call(&engine, &ada, "core_auth_login", r#"{"server":"far"}"#).await);
    assert_eq!(login.asked_by, AskedBy::Login);
    assert_eq!(ticket(&login), ticket(&asked), "one link as long as it is good");
    assert_ne!(
        ticket(&required(call(&engine, &ben, "x_far_one", "{}").await)),
        ticket(&asked)
    );

    let invitation = engine.invitation(&ticket(&asked), None).unwrap();
    assert_eq!((invitation.server.as_str(), &*invitation.subject), ("far", "ada"));
    let mut changes = engine.changes();
    let done = sign_in(&engine, &ticket(&asked), "adas-code").await.unwrap();
    assert_eq!((done.server.as_str(), &*done.subject), ("far", "ada"));
    assert!(result(call(&engine, &ada, "x_far_one", "{}").await).contains("one for adas-code"));
    assert!(matches!(
        call(&engine, &ben, "x_far_one", "{}").await,
        Outcome::AuthRequired(_)
    ));
    let login = result(call(&engine, &ada, "core_auth_login", r#"{"server":"far"}"#).await);
    assert!(
        login.contains(r#""structuredContent":{"server":"far","status":"signed_in"}"#),
        "{login}"
    );

    let key = ada.principal.key();
    let (mut signed_in, mut listed) = (0, 0);
    let wait = async {
        while listed == 0 {
            match changes.recv().await.unwrap() {
                Change::SignedIn { to, server } if to == *key && server.as_str() == "far" => signed_in += 1,
                Change::Tools { to } if to.as_ref() == Some(key) => listed += 1,
                other => panic!("{other:?}"),
            }
        }
    };
    tokio::time::timeout(CEILING, wait).await.unwrap();
    assert_eq!((signed_in, listed), (1, 1));

    let trail = ledger.recent(100).await.unwrap();
    let text = format!("{trail:?}");
    for secret in [ticket(&asked), "adas-code".to_owned(), "oauth/start".to_owned()] {
        assert!(!text.contains(&secret), "{secret} is in the trail");
    }
    let kinds: Vec<&str> = trail.iter().map(|entry| entry.kind.as_str()).collect();
    assert!(
        kinds.contains(&"signed_in") && kinds.contains(&"auth_required"),
        "{kinds:?}"
    );
    engine.shutdown().await;
}

#[tokio::test]
async fn a_link_works_once_for_its_principal_and_ends_in_its_browser() {
    let server = Guarded::start().await;
    server.shows("code", &["one"]);
    let (engine, _) = start(&server);
    let (ada, ben) = (person("ada"), person("ben"));
    let link = ticket(&required(call(&engine, &ada, "x_far_one", "{}").await));
    assert_eq!(engine.invitation("0", None).unwrap_err(), Stuck::Expired);
    let bens = Some(ben.principal.key());
    assert_eq!(engine.invitation(&link, bens).unwrap_err(), Stuck::NotYours);
    assert_eq!(engine.go(&link, bens, &browser()).await.unwrap_err(), Stuck::NotYours);
    assert!(engine.invitation(&link, Some(ada.principal.key())).is_ok());

    let url = engine.go(&link, None, &browser()).await.unwrap();
    assert_eq!(engine.go(&link, None, &browser()).await.unwrap_err(), Stuck::Expired);
    assert_eq!(engine.invitation(&link, None).unwrap_err(), Stuck::Expired);
    let other = Secret::hidden("another");
    for wrong in [None, Some(&other)] {
        let stuck = engine.come_back(back(&url, "code"), wrong).await.unwrap_err();
        assert_eq!(stuck, Stuck::WrongBrowser);
    }
    assert!(server.exchanged().is_empty(), "no code was spent");
    let unknown = Callback {
        state: "unknown".to_owned(),
        ..back(&url, "code")
    };
    assert_eq!(
        engine.come_back(unknown, Some(&browser())).await.unwrap_err(),
        Stuck::Expired
    );
    engine.come_back(back(&url, "code"), Some(&browser())).await.unwrap();
    let again = engine.come_back(back(&url, "code"), Some(&browser())).await;
    assert_eq!(again.unwrap_err(), Stuck::Expired);
    assert_eq!(server.exchanged(), ["code"]);
    engine.shutdown().await;
}

#[tokio::test]
async fn a_sign_in_that_is_refused_says_so_and_leaves_everything_as_it_was() {
    let server = Guarded::start().await;
    let (engine, _) = start(&server);
    let ada = person("ada");
    let link = ticket(&required(call(&engine, &ada, "x_far_one", "{}").await));
    let url = engine.go(&link, None, &browser()).await.unwrap();
    let refused = Callback {
        answer: Err("access_denied".to_owned()),
        ..back(&url, "")
    };
    let stuck = engine.come_back(refused, Some(&browser())).await.unwrap_err();
    let Stuck::Refused { server: at, reason } = stuck else {
        panic!("{stuck:?}")
    };
    assert_eq!(at.as_str(), "far");
    assert!(reason.contains("access_denied"), "{reason}");
    let next = ticket(&required(call(&engine, &ada, "x_far_one", "{}").await));
    assert_ne!(next, link);
    engine.shutdown().await;
}

#[tokio::test]
async fn signing_out_takes_the_tools_away_and_tells_that_person() {
    let server = Guarded::start().await;
    server.shows("code", &["one"]);
    let (engine, _) = start(&server);
    let ada = person("ada");
    let sees = |engine: &Engine| engine.world(&ada).catalogue.tool("x_far_one").is_some();
    let out = |status: &str| format!(r#""structuredContent":{{"server":"far","status":"{status}"}}"#);
    let told = result(call(&engine, &ada, "core_auth_logout", r#"{"server":"far"}"#).await);
    assert!(told.contains(&out("not_signed_in")), "{told}");
    let link = ticket(&required(call(&engine, &ada, "x_far_one", "{}").await));
    sign_in(&engine, &link, "code").await.unwrap();
    until(&engine, sees).await;
    let mut changes = engine.changes();
    let told = result(call(&engine, &ada, "core_auth_logout", r#"{"server":"far"}"#).await);
    assert!(told.contains(&out("signed_out")), "{told}");
    until(&engine, |engine| !sees(engine)).await;
    let change = tokio::time::timeout(CEILING, changes.recv()).await.unwrap().unwrap();
    assert!(matches!(change, Change::Tools { to: Some(to) } if to == *ada.principal.key()));
    assert!(matches!(
        call(&engine, &ada, "x_far_one", "{}").await,
        Outcome::AuthRequired(_)
    ));
    engine.shutdown().await;
}

#[tokio::test]
async fn who_waits_for_a_sign_in_is_told_when_it_is_done() {
    let server = Guarded::start().await;
    server.shows("code", &["one"]);
    let (engine, _) = start(&server);
    let ada = person("ada");
    let asked = required(call(&engine, &ada, "x_far_one", "{}").await);
    let far = asked.server.clone();
    assert!(!engine.until_signed_in(&ada.principal, &far, Duration::ZERO).await);
    let (waiting, of) = (Arc::clone(&engine), Arc::clone(&ada.principal));
    let waits = tokio::spawn(async move { waiting.until_signed_in(&of, &far, CEILING).await });
    sign_in(&engine, &ticket(&asked), "code").await.unwrap();
    assert!(waits.await.unwrap());
    engine.shutdown().await;
}

#[tokio::test]
async fn without_an_address_for_its_pages_the_gateway_says_what_to_set() {
    let server = Guarded::start().await;
    let engine = Engine::start(settings(), &[entry("far", &server)], Ledger::memory());
    let asked = required(call(&engine, &person("ada"), "x_far_one", "{}").await);
    assert!(asked.link.is_none());
    assert!(asked.sentence().contains("public_url"), "{}", asked.sentence());
    assert!(engine.client_document().is_none());
    engine.shutdown().await;
}

#[tokio::test]
async fn core_tools_for_sign_ins_name_what_is_wrong() {
    let server = Guarded::start().await;
    let fixture = crate::Fixture::new("echo");
    let forwarded = Arc::new(ServerEntry {
        auth: Auth::ForwardToken,
        digest: Digest::of(b"forwarded"),
        name: countersign_core::names::ServerName::parse("sent").unwrap(),
        ..(*entry("far", &server)).clone()
    });
    let entries = [fixture.entry("small", Start::Boot, ""), forwarded];
    let engine = Engine::start(settings(), &entries, Ledger::memory());
    let ada = person("ada");
    for (tool, server, code) in [
        ("core_auth_login", "none", "server_not_found"),
        ("core_auth_login", "small", "sign_in_not_needed"),
        ("core_auth_logout", "small", "sign_in_not_needed"),
        ("core_auth_logout", "sent", "sign_in_by_token"),
    ] {
        let told = result(call(&engine, &ada, tool, &format!(r#"{{"server":"{server}"}}"#)).await);
        assert!(told.contains(&format!(r#""code":"{code}""#)), "{tool} {server}: {told}");
    }
    let asked = required(call(&engine, &ada, "core_auth_login", r#"{"server":"sent"}"#).await);
    assert!(asked.link.is_none());
    assert!(
        asked.sentence().contains("its caller's own token"),
        "{}",
        asked.sentence()
    );
    engine.shutdown().await;
}
