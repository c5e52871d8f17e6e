//! Signing in to servers: discovery, grants, renewal, and what is never sent.

use std::sync::Arc;
use std::time::Duration;

use countersign_core::auth::{Auth, ExchangedAt, OAuth, OAuthClient, TokenExchange};
use countersign_core::exact::Digest;
use countersign_core::secret::Secret;
use countersign_core::server::{PrivateNetwork, ServerEntry, Sharing};
use countersign_core::time::Millis;
use countersign_store::Ledger;
use countersign_upstream::{
    Answer, Error, Returned, Routes, Settings, SignInError, Standing, VaultKey, client_document,
};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::authority::{World, bench, name, oauth, oauth_of, query, returned, routes, sign_in};
use crate::support::{Bench, not_sent, principal, result, settings, soon};

const RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";
const AUTHORITY: &str = "/.well-known/oauth-authorization-server";

/// Why a call was not made by a principal that must sign in.
fn unsigned(answer: Answer) -> String {
    match answer {
        Answer::NotSent(Error::AuthRequired { server, reason }) => {
            assert_eq!(server, name());
            reason
        }
        other => panic!("no sign-in is required: {other:?}"),
    }
}

fn now() -> i64 {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

#[tokio::test]
async fn a_principal_signs_in_and_nobody_else_is_signed_in_by_it() {
    let world = World::start().await;
    // Even where the entry says that one session is for all.
    let shared = ServerEntry {
        sharing: Sharing::Shared,
        ..world.entry(oauth())
    };
    let bench = bench(shared, settings(), Ledger::memory());
    let (alice, bob) = (principal("alice"), principal("bob"));
    assert_eq!(bench.upstreams.standing(&name(), alice.key()), Standing::Required);
    assert!(matches!(bench.list(&alice).await, Err(Error::AuthRequired { .. })));
    unsigned(bench.call(&alice, "count", "{}").await);
    assert!(world.state().asked.is_empty(), "nothing is sent without a credential");

    let begun = sign_in(&bench, &alice).await;
    assert!(
        begun
            .url
            .starts_with(&format!("{}/authorize?tenant=1&response_type=code&", world.url))
    );
    let asked = query(&begun);
    for (field, value) in [
        ("client_id", "dyn"),
        ("redirect_uri", "http://127.0.0.1:8090/oauth/callback"),
        ("code_challenge_method", "S256"),
        ("resource", &format!("{}/mcp", world.url)),
        ("scope", "tools"),
        ("state", begun.state.reveal()),
    ] {
        assert_eq!(asked[field], value, "{field}");
    }
    {
        let state = world.state();
        let (redeemed, authorization) = &state.token_requests[0];
        assert_eq!(redeemed["code"], "code");
        assert_eq!(redeemed["resource"], format!("{}/mcp", world.url));
        assert_eq!(redeemed["redirect_uri"], asked["redirect_uri"]);
        assert!(redeemed["code_verifier"].len() >= 43);
        // "dyn:dyn%20secret"
        assert_eq!(authorization.as_deref(), Some("Basic ZHluOmR5biUyMHNlY3JldA=="));
        let registration = &state.registrations[0];
        assert_eq!(registration["application_type"], "native");
        assert_eq!(
            registration["redirect_uris"],
            json!(["http://127.0.0.1:8090/oauth/callback"])
        );
    }

    assert_eq!(bench.list(&alice).await.unwrap().tools.len(), 1);
    result(bench.call(&alice, "count", "{}").await);
    assert_eq!(world.calls("tools/call"), [Some("access-1".to_owned())]);
    assert_eq!(bench.upstreams.standing(&name(), alice.key()), Standing::SignedIn);
    assert_eq!(bench.upstreams.standing(&name(), bob.key()), Standing::Required);
    unsigned(bench.call(&bob, "count", "{}").await);
    assert_eq!(world.calls("tools/call").len(), 1);

    sign_in(&bench, &bob).await;
    result(bench.call(&bob, "count", "{}").await);
    result(bench.call(&alice, "count", "{}").await);
    let tokens = world.calls("tools/call");
    assert_eq!(tokens[1..], [Some("access-2".to_owned()), Some("access-1".to_owned())]);
    assert_eq!(world.state().registrations.len(), 1, "one client for one issuer");
}

#[tokio::test]
async fn b074_a_token_that_its_server_refuses_is_renewed_once_and_the_call_runs_once() {
    let world = World::start().await;
    let bench = world.bench();
    let alice = principal("alice");
    sign_in(&bench, &alice).await;
    bench.list(&alice).await.unwrap();
    // By our clock it lives for an hour; its server has another clock.
    world.state().good.clear();
    let calls = (0..8).map(|_| bench.call(&alice, "count", "{}"));
    for answer in join_all(calls).await {
        result(answer);
    }
    assert_eq!(world.grants("refresh_token"), 1, "one renewal for all");
    let tokens = world.calls("tools/call");
    let of = |token: &str| tokens.iter().filter(|sent| sent.as_deref() == Some(token)).count();
    assert_eq!(of("access-2"), 8, "{tokens:?}");
    assert_eq!(tokens.len(), 8 + of("access-1"));
}

#[tokio::test]
async fn b074_a_token_that_has_ended_by_our_clock_is_renewed_before_it_is_sent() {
    let world = World::start().await;
    world.state().lifetime = 0;
    let bench = world.bench();
    let alice = principal("alice");
    sign_in(&bench, &alice).await;
    world.state().lifetime = 3600;
    result(bench.call(&alice, "count", "{}").await);
    assert_eq!(world.calls("tools/call"), [Some("access-2".to_owned())]);
    assert_eq!(world.calls("initialize"), [Some("access-2".to_owned())]);
}

#[tokio::test]
async fn i5_a_call_that_is_refused_again_with_a_new_token_is_given_back_unrun() {
    let world = World::start().await;
    let bench = world.bench();
    let alice = principal("alice");
    sign_in(&bench, &alice).await;
    bench.list(&alice).await.unwrap();
    for _ in 0..2 {
        world
            .state()
            .refusals
            .push_back((401, "Bearer error=\"invalid_token\"".to_owned()));
    }
    unsigned(bench.call(&alice, "count", "{}").await);
    assert_eq!(world.calls("tools/call").len(), 2, "once, and once more");
    // The grant is kept: its server may come to its senses.
    result(bench.call(&alice, "count", "{}").await);
    assert_eq!(world.calls("tools/call").len(), 3);
    assert_eq!(world.grants("refresh_token"), 1);
}

#[tokio::test]
async fn i5_a_call_whose_answer_is_lost_is_not_sent_again_for_want_of_a_token() {
    let world = World::start().await;
    let bench = world.bench();
    let alice = principal("alice");
    sign_in(&bench, &alice).await;
    bench.list(&alice).await.unwrap();
    world.state().refusals.push_back((502, String::new()));
    let answer = bench.call(&alice, "count", "{}").await;
    assert!(matches!(answer, Answer::Lost { .. }), "{answer:?}");
    assert_eq!(world.calls("tools/call").len(), 1);
}

#[tokio::test]
async fn b072_what_a_renewal_gave_is_kept_before_it_is_looked_at() {
    let world = World::start().await;
    let bench = world.bench();
    let alice = principal("alice");
    sign_in(&bench, &alice).await;
    bench.list(&alice).await.unwrap();
    // The refresh token is used up by this answer, and nothing else of it can be used.
    for bad in [
        json!({"refresh_token": "rotated-1", "id_token": "signed with a key that nobody knows"}),
        json!({"refresh_token": "rotated-2", "access_token": "x", "token_type": "mac"}),
    ] {
        let rotated = bad["refresh_token"].as_str().unwrap().to_owned();
        {
            let mut state = world.state();
            state.good.clear();
            state.token_answers.push_back((200, bad));
            state.refresh = Some(rotated);
        }
        let reason = not_sent(bench.call(&alice, "count", "{}").await);
        assert!(reason.starts_with("server fake is unavailable: its "), "{reason}");
    }
    result(bench.call(&alice, "count", "{}").await);
    let state = world.state();
    let presented = state
        .token_requests
        .iter()
        .filter_map(|(fields, _)| fields.get("refresh_token"));
    assert_eq!(
        presented.collect::<Vec<_>>(),
        ["refresh-1", "rotated-1", "rotated-2"],
        "none twice"
    );
}

#[tokio::test]
async fn b072_a_renewal_that_nobody_waits_for_is_kept_all_the_same() {
    let world = World::start().await;
    let bench = world.bench();
    let alice = principal("alice");
    sign_in(&bench, &alice).await;
    bench.list(&alice).await.unwrap();
    world.state().good.clear();
    let (passage, end) = crate::support::passage();
    let cancelled = async {
        soon("the renewal", async {
            while world.calls("tools/call").is_empty() {
                tokio::task::yield_now().await;
            }
        })
        .await;
        end.cancel.cancel();
    };
    tokio::join!(bench.call_with(&alice, "count", "{}", passage), cancelled);
    result(bench.call(&alice, "count", "{}").await);
    let state = world.state();
    let presented: Vec<_> = state
        .token_requests
        .iter()
        .filter_map(|(fields, _)| fields.get("refresh_token"))
        .collect();
    assert_eq!(
        presented.len(),
        presented.iter().collect::<std::collections::BTreeSet<_>>().len(),
        "none twice"
    );
}

#[tokio::test]
async fn a_server_that_cannot_renew_now_is_asked_again_later_and_not_by_every_call() {
    let world = World::start().await;
    let bench = world.bench();
    let alice = principal("alice");
    sign_in(&bench, &alice).await;
    bench.list(&alice).await.unwrap();
    world.state().good.clear();
    world.state().token_answers.push_back((503, Value::Null));
    for _ in 0..3 {
        let reason = not_sent(bench.call(&alice, "count", "{}").await);
        assert!(reason.starts_with("server fake is unavailable: its "), "{reason}");
    }
    assert_eq!(world.grants("refresh_token"), 1);
    assert_eq!(bench.upstreams.standing(&name(), alice.key()), Standing::SignedIn);
}

#[tokio::test]
async fn a_renewal_that_is_refused_ends_the_sign_in() {
    let world = World::start().await;
    let bench = world.bench();
    let alice = principal("alice");
    sign_in(&bench, &alice).await;
    bench.list(&alice).await.unwrap();
    {
        let mut state = world.state();
        state.good.clear();
        state.refresh = None;
    }
    let reason = unsigned(bench.call(&alice, "count", "{}").await);
    assert!(reason.contains("invalid_grant"), "{reason}");
    assert_eq!(bench.upstreams.standing(&name(), alice.key()), Standing::Required);
    unsigned(bench.call(&alice, "count", "{}").await);
    assert!(matches!(bench.list(&alice).await, Err(Error::AuthRequired { .. })));
    assert_eq!(
        world.grants("refresh_token"),
        1,
        "a token that was refused is not presented again"
    );
    sign_in(&bench, &alice).await;
    result(bench.call(&alice, "count", "{}").await);
}

#[tokio::test]
async fn scopes_that_were_missing_are_asked_for_with_the_former_ones_and_not_for_ever() {
    let world = World::start().await;
    let bench = world.bench();
    let alice = principal("alice");
    sign_in(&bench, &alice).await;
    bench.list(&alice).await.unwrap();
    let lacks = || {
        (
            403,
            r#"Bearer error="insufficient_scope", scope="write tools""#.to_owned(),
        )
    };
    world.state().refusals.push_back(lacks());
    let reason = unsigned(bench.call(&alice, "count", "{}").await);
    assert!(reason.contains("did not grant"), "{reason}");
    assert_eq!(
        bench.upstreams.standing(&name(), alice.key()),
        Standing::SignedIn,
        "it does for the rest"
    );
    assert!(bench.upstreams.lacks_scope(&name(), alice.key()));
    let again = sign_in(&bench, &alice).await;
    assert_eq!(query(&again)["scope"], "tools write");
    assert!(!bench.upstreams.lacks_scope(&name(), alice.key()));
    world.state().refusals.push_back(lacks());
    let reason = not_sent(bench.call(&alice, "count", "{}").await);
    assert!(
        reason.contains("HTTP 403"),
        "asking again would change nothing: {reason}"
    );
    assert_eq!(world.calls("tools/call").len(), 2);
}

#[tokio::test]
async fn an_answer_of_another_authorization_server_is_not_redeemed() {
    let world = World::start().await;
    world.edit(AUTHORITY, "authorization_response_iss_parameter_supported", json!(true));
    let bench = world.bench();
    let alice = principal("alice");
    let begin = || async { bench.upstreams.sign_in(&name(), alice.key(), &routes()).await.unwrap() };
    for iss in [None, Some("https://evil.example"), Some(&*format!("{}/", world.url))] {
        let begun = begin().await;
        let finished = bench.upstreams.finish_sign_in(returned(&begun, "code", iss)).await;
        assert_eq!(finished, Err(SignInError::OtherIssuer { server: name() }), "{iss:?}");
        // An error of the wrong server says nothing either.
        let begun = begin().await;
        let error = Returned {
            code: Err("access_denied".to_owned()),
            ..returned(&begun, "", iss)
        };
        let finished = bench.upstreams.finish_sign_in(error).await;
        assert_eq!(finished, Err(SignInError::OtherIssuer { server: name() }), "{iss:?}");
    }
    assert!(world.state().token_requests.is_empty(), "no code was sent anywhere");

    let begun = begin().await;
    let denied = Returned {
        code: Err("access_denied".to_owned()),
        ..returned(&begun, "", Some(&world.url))
    };
    let finished = bench.upstreams.finish_sign_in(denied).await.unwrap_err();
    assert!(finished.to_string().contains("access_denied"), "{finished}");
    let begun = begin().await;
    bench
        .upstreams
        .finish_sign_in(returned(&begun, "code", Some(&world.url)))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_state_is_good_once_and_a_bad_code_signs_nobody_in() {
    let world = World::start().await;
    let bench = world.bench();
    let alice = principal("alice");
    let unknown = Returned {
        state: Secret::hidden("made up"),
        code: Ok(Secret::hidden("code")),
        iss: None,
    };
    assert_eq!(
        bench.upstreams.finish_sign_in(unknown).await,
        Err(SignInError::UnknownState)
    );
    let begun = bench.upstreams.sign_in(&name(), alice.key(), &routes()).await.unwrap();
    let failed = bench
        .upstreams
        .finish_sign_in(returned(&begun, "stolen", None))
        .await
        .unwrap_err();
    assert!(failed.to_string().contains("invalid_grant"), "{failed}");
    let again = bench.upstreams.finish_sign_in(returned(&begun, "code", None)).await;
    assert_eq!(again, Err(SignInError::UnknownState));
    assert_eq!(bench.upstreams.standing(&name(), alice.key()), Standing::Required);
    let shown = format!("{begun:?}");
    assert!(
        !shown.contains(&format!("state: \"{}", begun.state.reveal())),
        "{shown}"
    );
}

/// A case by its name, what is bent, and words of the refusal.
type Bent<'a> = (&'a str, &'a dyn Fn(&World), &'a str);

#[tokio::test]
async fn b075_discovery_follows_nobody_inside_and_takes_no_metadata_of_somebody_else() {
    let inside = "http://169.254.169.254/latest";
    let cases: [Bent<'_>; 12] = [
        (
            "challenge",
            &|world| world.state().challenge = format!("Bearer resource_metadata=\"{inside}\""),
            "is refused: it is not https",
        ),
        (
            "mapped",
            &|world| world.edit(RESOURCE, "authorization_servers", json!(["https://[::ffff:10.0.0.1]"])),
            "an IPv4-mapped address",
        ),
        (
            "other port",
            &|world| world.edit(RESOURCE, "authorization_servers", json!(["http://127.0.0.1:1"])),
            "is refused: it is not https",
        ),
        (
            "other resource",
            &|world| world.edit(RESOURCE, "resource", json!("https://else.example/mcp")),
            "another address",
        ),
        (
            "no authority",
            &|world| world.edit(RESOURCE, "authorization_servers", json!([])),
            "names no authorization server",
        ),
        (
            "other issuer",
            &|world| world.edit(AUTHORITY, "issuer", json!("https://evil.example")),
            "another issuer",
        ),
        (
            "no PKCE",
            &|world| world.edit(AUTHORITY, "code_challenge_methods_supported", json!(["plain"])),
            "PKCE with S256",
        ),
        (
            "script",
            &|world| world.edit(AUTHORITY, "authorization_endpoint", json!("javascript:alert(1)")),
            "is no https address",
        ),
        (
            "token inside",
            &|world| world.edit(AUTHORITY, "token_endpoint", json!(inside)),
            "is no https address",
        ),
        (
            "no token",
            &|world| world.edit(AUTHORITY, "token_endpoint", Value::Null),
            "names no token endpoint",
        ),
        (
            "registration inside",
            &|world| world.edit(AUTHORITY, "registration_endpoint", json!(inside)),
            "is refused: it is not https",
        ),
        (
            "no registration",
            &|world| world.edit(AUTHORITY, "registration_endpoint", Value::Null),
            "set `clientId`",
        ),
    ];
    for (case, bend, words) in cases {
        let world = World::start().await;
        bend(&world);
        let bench = world.bench();
        let failed = bench
            .upstreams
            .sign_in(&name(), principal("alice").key(), &routes())
            .await;
        let failed = failed.unwrap_err().to_string();
        assert!(
            failed.starts_with("server fake cannot be signed in to: "),
            "{case}: {failed}"
        );
        assert!(failed.contains(words), "{case}: {failed}");
    }
}

#[tokio::test]
async fn metadata_is_found_where_the_challenge_says_and_at_every_place_of_the_specification() {
    let world = World::start().await;
    let bench = world.bench();
    let alice = principal("alice");
    let issuer = format!("{}/tenant", world.url);
    {
        let mut state = world.state();
        let mut own = state.documents.remove(RESOURCE).unwrap();
        own["authorization_servers"] = json!([issuer]);
        state.documents.insert("/own".to_owned(), own);
        state.challenge = "Bearer resource_metadata=\"{url}/own\", scope=\"challenged\"".to_owned();
        let mut authority = state.documents.remove(AUTHORITY).unwrap();
        authority["issuer"] = json!(issuer);
        authority["scopes_supported"] = json!(["tools", "offline_access"]);
        state
            .documents
            .insert("/tenant/.well-known/openid-configuration".to_owned(), authority);
    }
    let begun = bench.upstreams.sign_in(&name(), alice.key(), &routes()).await.unwrap();
    assert_eq!(
        (begun.issuer.as_str(), query(&begun)["scope"].as_str()),
        (issuer.as_str(), "challenged offline_access")
    );
    assert_eq!(query(&begun)["prompt"], "consent");

    // Without metadata of its own a server is its own authorization server, as before 2025-06-18.
    let world = World::start().await;
    world.state().documents.remove(RESOURCE);
    let bench = world.bench();
    let begun = bench.upstreams.sign_in(&name(), alice.key(), &routes()).await.unwrap();
    assert_eq!(begun.issuer, world.url);
    assert!(!query(&begun).contains_key("scope"));
    assert_eq!(query(&begun)["resource"], format!("{}/mcp", world.url));
}

#[tokio::test]
async fn the_gateway_is_what_the_operator_registered_else_its_document_else_it_registers() {
    let alice = principal("alice");
    let public = Routes {
        callback: "https://gw.example/oauth/callback".to_owned(),
        client_document: Some("https://gw.example/oauth/client".to_owned()),
    };
    let document: Value = serde_json::from_str(&client_document(&public).unwrap()).unwrap();
    assert_eq!(document["client_id"], "https://gw.example/oauth/client");
    assert_eq!(document["redirect_uris"], json!(["https://gw.example/oauth/callback"]));
    assert_eq!(document["token_endpoint_auth_method"], "none");
    assert_eq!(client_document(&routes()), None);

    let world = World::start().await;
    world.edit(AUTHORITY, "client_id_metadata_document_supported", json!(true));
    let client = OAuthClient {
        id: Secret::plain("mine"),
        secret: Some(Secret::hidden("sesame")),
    };
    let pinned = OAuth {
        issuer: Some(Secret::plain(&world.url)),
        client: Some(client),
        scopes: Some(vec!["only".to_owned()]),
        redirect: Some(Secret::plain("https://gw.example/mine")),
        ..OAuth::default()
    };
    let operator = bench(world.entry(oauth_of(pinned)), settings(), Ledger::memory());
    let begun = operator.upstreams.sign_in(&name(), alice.key(), &public).await.unwrap();
    let asked = query(&begun);
    assert_eq!(
        (&*asked["client_id"], &*asked["scope"], &*asked["redirect_uri"]),
        ("mine", "only", "https://gw.example/mine")
    );
    operator
        .upstreams
        .finish_sign_in(returned(&begun, "code", None))
        .await
        .unwrap();
    // "mine:sesame"
    let authorization = world.state().token_requests[0].1.clone();
    assert_eq!(authorization.as_deref(), Some("Basic bWluZTpzZXNhbWU="));

    let found = world.bench();
    let begun = found.upstreams.sign_in(&name(), alice.key(), &public).await.unwrap();
    assert_eq!(query(&begun)["client_id"], "https://gw.example/oauth/client");
    found
        .upstreams
        .finish_sign_in(returned(&begun, "code", None))
        .await
        .unwrap();
    let redeemed = world.state().token_requests[1].clone();
    assert_eq!(
        (&*redeemed.0["client_id"], redeemed.1),
        ("https://gw.example/oauth/client", None)
    );
    assert!(world.state().registrations.is_empty());

    // Nobody outside can read a document on this machine.
    let begun = found.upstreams.sign_in(&name(), alice.key(), &routes()).await.unwrap();
    assert_eq!(query(&begun)["client_id"], "dyn");
}

#[tokio::test]
async fn a_pinned_issuer_is_used_whatever_the_server_names() {
    let world = World::start().await;
    world.edit(RESOURCE, "authorization_servers", json!(["https://evil.example"]));
    let pinned = OAuth {
        issuer: Some(Secret::plain(&world.url)),
        ..OAuth::default()
    };
    let bench = bench(world.entry(oauth_of(pinned)), settings(), Ledger::memory());
    let begun = bench
        .upstreams
        .sign_in(&name(), principal("alice").key(), &routes())
        .await
        .unwrap();
    assert_eq!(begun.issuer, world.url);
}

#[tokio::test]
async fn signing_out_ends_the_session_and_gives_the_tokens_back() {
    let world = World::start().await;
    let bench = world.bench();
    let alice = principal("alice");
    sign_in(&bench, &alice).await;
    result(bench.call(&alice, "count", "{}").await);
    assert!(bench.upstreams.sign_out(&name(), alice.key()).await.unwrap());
    assert_eq!(bench.upstreams.standing(&name(), alice.key()), Standing::Required);
    unsigned(bench.call(&alice, "count", "{}").await);
    assert!(!bench.upstreams.sign_out(&name(), alice.key()).await.unwrap());
    bench.upstreams.shutdown().await;
    let revoked = world.state().revoked.clone();
    assert_eq!(revoked.len(), 1);
    assert_eq!(revoked[0]["token"], "refresh-1");
    assert_eq!(world.calls("tools/call").len(), 1);
}

fn keyed(byte: u8) -> Settings {
    Settings {
        vault_key: Some(VaultKey::parse(&format!("{byte:02x}").repeat(32)).unwrap()),
        ..settings()
    }
}

async fn reopened(world: &World, path: &std::path::Path, settings: Settings) -> (Bench, Ledger) {
    let ledger = Ledger::sqlite(path).unwrap();
    (bench(world.entry(oauth()), settings, ledger.clone()), ledger)
}

#[tokio::test]
async fn sign_ins_outlive_the_process_sealed_and_only_with_their_key() {
    let world = World::start().await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.db");
    let alice = principal("alice");
    let (first, ledger) = reopened(&world, &path, keyed(7)).await;
    sign_in(&first, &alice).await;
    world.state().good.clear();
    result(first.call(&alice, "count", "{}").await);
    first.upstreams.shutdown().await;
    ledger.close().await;
    for file in std::fs::read_dir(dir.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        for secret in ["access-1", "access-2", "refresh-1", "refresh-2", "dyn secret"] {
            assert!(
                !bytes.windows(secret.len()).any(|window| window == secret.as_bytes()),
                "{secret}"
            );
        }
    }

    for wrong in [keyed(8), settings()] {
        let (other, ledger) = reopened(&world, &path, wrong).await;
        assert_eq!(other.upstreams.standing(&name(), alice.key()), Standing::Required);
        other.upstreams.shutdown().await;
        ledger.close().await;
    }

    let (second, ledger) = reopened(&world, &path, keyed(7)).await;
    assert_eq!(second.upstreams.standing(&name(), alice.key()), Standing::SignedIn);
    world.state().good.clear();
    result(second.call(&alice, "count", "{}").await);
    assert!(
        world
            .state()
            .token_requests
            .iter()
            .any(|(fields, _)| fields.get("refresh_token").is_some_and(|it| it == "refresh-2"))
    );
    assert!(second.upstreams.sign_out(&name(), alice.key()).await.unwrap());
    sign_in(&second, &principal("bob")).await;
    assert_eq!(world.state().registrations.len(), 1, "the client is kept too");
    second.upstreams.shutdown().await;
    ledger.close().await;

    let (third, ledger) = reopened(&world, &path, keyed(7)).await;
    assert_eq!(third.upstreams.standing(&name(), alice.key()), Standing::Required);
    third.upstreams.shutdown().await;
    ledger.close().await;
}

#[tokio::test]
async fn a_token_is_never_sent_to_another_address_than_it_was_granted_for() {
    let (world, other) = (World::start().await, World::start().await);
    let bench = world.bench();
    let alice = principal("alice");
    sign_in(&bench, &alice).await;
    let moved = ServerEntry {
        digest: Digest::of(b"2"),
        ..other.entry(oauth())
    };
    bench.upstreams.apply(&[Arc::new(moved)]);
    assert_eq!(bench.upstreams.standing(&name(), alice.key()), Standing::Required);
    unsigned(bench.call(&alice, "count", "{}").await);
    assert!(other.state().asked.is_empty());
    let back = ServerEntry {
        digest: Digest::of(b"3"),
        timeout: Some(Duration::from_secs(20)),
        ..world.entry(oauth())
    };
    bench.upstreams.apply(&[Arc::new(back)]);
    result(bench.call(&alice, "count", "{}").await);
}

#[tokio::test]
async fn the_newest_token_of_a_caller_is_forwarded_until_it_ends_and_to_nobody_else() {
    let world = World::start().await;
    let bench = bench(world.entry(Auth::ForwardToken), settings(), Ledger::memory());
    let (alice, bob) = (principal("alice"), principal("bob"));
    let later = Some(Millis(now() + 3_600_000));
    let reason = unsigned(bench.call(&alice, "count", "{}").await);
    assert!(reason.contains("no token that could be forwarded"), "{reason}");
    for token in ["one", "two", "three"] {
        world.state().good.insert(token.to_owned());
    }
    let present = |who: &countersign_core::principal::Principal, token: &str, ends| {
        bench.upstreams.present(who.key(), &Secret::hidden(token), ends);
    };
    present(&alice, "one", later);
    assert_eq!(bench.upstreams.standing(&name(), alice.key()), Standing::SignedIn);
    result(bench.call(&alice, "count", "{}").await);
    present(&alice, "two", Some(Millis(now() + 7_200_000)));
    present(&alice, "two", Some(Millis(now() + 7_200_000)));
    result(bench.call(&alice, "count", "{}").await);
    // An older one, of a connection that has not been renewed.
    present(&alice, "one", later);
    result(bench.call(&alice, "count", "{}").await);
    // One that has ended is no token.
    present(&bob, "three", Some(Millis(now() - 1)));
    unsigned(bench.call(&bob, "count", "{}").await);
    let sent = world.calls("tools/call");
    assert_eq!(sent, ["one", "two", "two"].map(|token| Some(token.to_owned())));
    // What its server refuses is not renewed here.
    world.state().good.clear();
    let reason = unsigned(bench.call(&alice, "count", "{}").await);
    assert!(reason.contains("the caller connected with"), "{reason}");
    let failed = bench
        .upstreams
        .sign_in(&name(), alice.key(), &routes())
        .await
        .unwrap_err();
    assert!(failed.to_string().contains("has no sign-in"), "{failed}");
}

#[tokio::test]
async fn a_forwarded_token_is_dropped_when_it_ends() {
    let world = World::start().await;
    let bench = bench(world.entry(Auth::ForwardToken), settings(), Ledger::memory());
    let alice = principal("alice");
    bench
        .upstreams
        .present(alice.key(), &Secret::hidden("brief"), Some(Millis(now() + 50)));
    soon("the end of the token", async {
        while bench.upstreams.standing(&name(), alice.key()) == Standing::SignedIn {
            tokio::task::yield_now().await;
        }
    })
    .await;
    unsigned(bench.call(&alice, "count", "{}").await);
    assert!(world.state().asked.is_empty());
}

fn exchange(world: &World) -> Auth {
    Auth::TokenExchange(Box::new(TokenExchange {
        at: ExchangedAt::Issuer(Secret::plain(&world.url)),
        client: Some(OAuthClient {
            id: Secret::plain("gw"),
            secret: Some(Secret::hidden("sesame")),
        }),
        audience: Some(Secret::plain("tools")),
        resource: Some(Secret::plain("https://tools.example/")),
        scopes: vec!["a".to_owned(), "b".to_owned()],
        subject_token_type: Some("urn:ietf:params:oauth:token-type:jwt".to_owned()),
        allowed_hosts: Vec::new(),
    }))
}

#[tokio::test]
async fn a_callers_token_is_exchanged_once_and_again_when_its_server_refuses_what_came_of_it() {
    let world = World::start().await;
    let bench = bench(world.entry(exchange(&world)), settings(), Ledger::memory());
    let (alice, bob) = (principal("alice"), principal("bob"));
    unsigned(bench.call(&alice, "count", "{}").await);
    assert!(world.state().token_requests.is_empty());
    bench
        .upstreams
        .present(alice.key(), &Secret::hidden("alices"), Some(Millis(now() + 3_600_000)));
    for answer in join_all((0..4).map(|_| bench.call(&alice, "count", "{}"))).await {
        result(answer);
    }
    bench.list(&alice).await.unwrap();
    {
        let state = world.state();
        assert_eq!(state.token_requests.len(), 1, "exchanged once");
        let (fields, authorization) = &state.token_requests[0];
        for (field, value) in [
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("subject_token", "alices"),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:jwt"),
            ("audience", "tools"),
            ("resource", "https://tools.example/"),
            ("scope", "a b"),
        ] {
            assert_eq!(fields[field], value, "{field}");
        }
        // "gw:sesame"
        assert_eq!(authorization.as_deref(), Some("Basic Z3c6c2VzYW1l"));
    }
    assert!(
        world
            .calls("tools/call")
            .iter()
            .all(|token| token.as_deref() == Some("access-1")),
        "never the caller's own"
    );
    world.state().good.clear();
    result(bench.call(&alice, "count", "{}").await);
    assert_eq!(world.state().token_requests.len(), 2);

    bench
        .upstreams
        .present(bob.key(), &Secret::hidden("bobs"), Some(Millis(now() + 3_600_000)));
    world
        .state()
        .token_answers
        .push_back((400, json!({"error": "invalid_request"})));
    let reason = unsigned(bench.call(&bob, "count", "{}").await);
    assert!(reason.contains("invalid_request"), "{reason}");
}

#[tokio::test]
async fn an_address_that_must_not_lead_inside_is_screened_at_every_connection() {
    let world = World::start().await;
    let screened = ServerEntry {
        private_network: PrivateNetwork::Screened,
        ..world.entry(Auth::None)
    };
    let bench = bench(screened, settings(), Ledger::memory());
    let reason = not_sent(bench.call(&principal("alice"), "count", "{}").await);
    assert!(reason.contains("leads to a loopback address"), "{reason}");
    assert!(world.state().asked.is_empty());
}
