//! Credentials in, callers or reasons out; the reasons are what the trail says.

use std::time::Duration;

use countersign_core::catalogue::Naming;
use countersign_core::identity::Key;
use countersign_core::principal::Standing;
use countersign_engine::{Bind, Binding, UpstreamSettings};
use countersign_store::Ledger;
use http::HeaderValue;
use serde_json::{Value, json};

use super::source::tests::{Issuer as Idp, keys};
use super::token::tests::{Signer, encode};
use super::*;

const PEER: ([u8; 4], u16) = ([192, 0, 2, 1], 4711);

struct Place {
    engine: Arc<Engine>,
    memory: Arc<Memory>,
    auth: Auth,
    idp: Arc<Idp>,
    signer: Signer,
}

fn engine() -> Arc<Engine> {
    let limit = Duration::from_secs(10);
    let settings = countersign_engine::Settings {
        naming: Naming {
            prefix: "x".to_owned(),
            max_length: 64,
        },
        upstream: UpstreamSettings {
            connect_timeout: limit,
            call_timeout: limit,
            response_bytes: 1000,
            idle: limit,
            warden: None,
            vault_key: None,
        },
        presets: Arc::default(),
        pages: None,
        listed_as: Principal::local().key().clone(),
        debounce: Duration::ZERO,
        shown: Arc::default(),
        hash: String::new(),
        workflows: countersign_engine::Workflows::default(),
    };
    Engine::start(settings, &[], Ledger::memory())
}

fn key(name: &str, secret: &str, subject: &str) -> Key {
    Key {
        name: name.into(),
        sha256: Digest::of(secret.as_bytes()),
        subject: subject.into(),
        caller_id: None,
        standing: Standing {
            roles: ["ops".into()].into(),
            plan: Some("pro".into()),
            groups: Arc::default(),
        },
        toolset: None,
    }
}

fn identities(issuer: &str) -> Identities {
    let mut bounded = key("bounded", "key-of-bounded", "carol");
    bounded.caller_id = Some("desk".into());
    bounded.toolset = Some(vec!["preset:read-only".to_owned()]);
    Identities {
        keys: vec![key("plain", "key-of-plain", "carol"), bounded],
        issuers: vec![Issuer {
            issuer: issuer.into(),
            audience: "gateway".into(),
            jwks_url: Some(format!("{issuer}/keys").into()),
            subject_claim: "sub".into(),
            roles_claim: Some("roles".into()),
            client_claims: vec!["azp".into(), "client_id".into()],
            leeway: Duration::from_secs(60),
        }],
    }
}

fn binders(issuer: &str) -> Binders {
    Binders {
        writers: vec!["plain".into()],
        actor_tokens: Some(ActorTokens {
            issuer: issuer.into(),
            jwks_url: Some(format!("{issuer}/keys").into()),
            audience: "actors".into(),
            session_claim: "sid".into(),
        }),
    }
}

async fn place() -> Place {
    let idp = Idp::start().await;
    let signer = Signer::es256();
    idp.serve(&[("/keys", keys(&[("k", &signer)]))]);
    let memory = Memory::new();
    let auth = Auth::new(
        Some(&identities(&idp.url)),
        &binders(&idp.url),
        Proxies::default(),
        &memory,
    );
    Place {
        engine: engine(),
        memory,
        auth,
        idp,
        signer,
    }
}

fn headers(lines: &[&str]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(AUTHORIZATION, HeaderValue::from_str(line).unwrap());
    }
    headers
}

impl Place {
    async fn admit(&self, bearer: &str) -> Result<Admitted, Denied> {
        let headers = headers(&[&format!("Bearer {bearer}")]);
        self.auth.admit(&self.engine, &headers, PEER.into()).await
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "a test reads better without a reference at each change"
    )]
    fn claims(&self, change: Value) -> Value {
        let now = self.memory.clock.now() / 1000;
        let mut claims = json!({"iss": self.idp.url, "aud": "gateway", "sub": "carol", "exp": now + 300, "iat": now});
        claims
            .as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        claims
    }

    fn token(&self, change: Value) -> String {
        let header = json!({"alg": self.signer.algorithm(), "kid": "k"});
        self.signer.sign(&header, &self.claims(change))
    }

    async fn reason(&self, bearer: &str) -> String {
        match self.admit(bearer).await {
            Ok(admitted) => panic!("was let in: {admitted:?}"),
            Err(denied) => denied.to_string(),
        }
    }

    async fn bind(&self, toolset: Option<&[&str]>) {
        let bind = Bind {
            session: "s1".to_owned(),
            subject: "dave".to_owned(),
            toolset: toolset.map(|list| list.iter().map(|&selector| selector.to_owned()).collect()),
            roles: vec!["dev".to_owned()],
            plan: None,
            expires_at: None,
        };
        self.engine.bind(bind).await.unwrap();
    }
}

#[tokio::test]
async fn a_key_is_its_subject_with_its_roles_connection_and_toolset() {
    let place = place().await;
    let plain = place.admit("key-of-plain").await.unwrap();
    assert_eq!(
        (plain.principal.subject(), plain.principal.connection()),
        ("carol", "plain")
    );
    assert_eq!(plain.principal.standing().roles.as_ref(), ["ops".into()]);
    assert_eq!(plain.toolset, UNSCOPED);
    let bounded = place.admit("key-of-bounded").await.unwrap();
    assert_eq!(bounded.principal.connection(), "desk");
    let Toolset::Within(bounds) = bounded.toolset else {
        panic!("is bounded")
    };
    assert_eq!(bounds.to_string(), "key [preset:read-only]");
    assert_ne!(plain.principal.key(), bounded.principal.key());
    for wrong in ["key-of-plai", "key-of-plain1", "KEY-OF-PLAIN", "x"] {
        assert_eq!(place.reason(wrong).await, "the key is none of `identities.yaml`");
    }
}

#[tokio::test]
async fn only_one_bearer_is_a_credential() {
    let place = place().await;
    for (lines, expected) in [
        (&[][..], "the request has no `authorization` header"),
        (
            &["Bearer a", "Bearer key-of-plain"],
            "header `authorization` is there more than once",
        ),
        (
            &["Basic a2V5"],
            "header `authorization` must be `Bearer` and a key or token",
        ),
        (
            &["key-of-plain"],
            "header `authorization` must be `Bearer` and a key or token",
        ),
        (&["Bearer"], "header `authorization` must hold one key or token"),
        (
            &["Bearer a, Bearer b"],
            "header `authorization` must hold one key or token",
        ),
    ] {
        let denied = place
            .auth
            .admit(&place.engine, &headers(lines), PEER.into())
            .await
            .unwrap_err();
        assert_eq!(denied.to_string(), expected, "{lines:?}");
    }
    let spelled = place
        .auth
        .admit(&place.engine, &headers(&["bearer  key-of-plain"]), PEER.into())
        .await;
    assert!(spelled.is_ok());
}

#[tokio::test]
async fn a_token_is_the_person_that_its_issuer_names() {
    let place = place().await;
    let token = place.token(json!({"azp": "claude", "roles": ["ops", "dev"], "groups": ["g"]}));
    let admitted = place.admit(&token).await.unwrap();
    assert_eq!(
        (admitted.principal.subject(), admitted.principal.connection()),
        ("carol", "claude")
    );
    assert_eq!(
        admitted.principal.standing().roles.as_ref(),
        ["ops".into(), "dev".into()]
    );
    assert_eq!(admitted.principal.standing().groups.as_ref(), ["g".into()]);
    assert!(admitted.until.is_some());
    assert!(!format!("{admitted:?}").contains(&token), "tokens are never shown");
    // Another token of the same person is the same principal (I3 of sessions, b009).
    let refreshed = place.token(json!({"azp": "claude", "jti": "2"}));
    assert_eq!(
        place.admit(&refreshed).await.unwrap().principal.key(),
        admitted.principal.key()
    );
    assert_eq!(place.idp.asked(), 1, "keys are fetched once");
}

#[tokio::test]
async fn b074_tokens_that_are_not_for_now_or_not_for_us_are_refused_for_a_reason() {
    let place = place().await;
    let now = place.memory.clock.now() / 1000;
    for (change, expected) in [
        (
            json!({"aud": "other"}),
            "the token is for another audience than `gateway`",
        ),
        (json!({"aud": null}), "the token is for another audience than `gateway`"),
        (json!({"exp": now - 61}), "the token has expired"),
        (json!({"nbf": now + 90}), "the token is not valid yet (`nbf`)"),
        (json!({"iat": now + 90}), "the token is not valid yet (`iat`)"),
        (
            json!({"iss": "https://evil.example"}),
            "the token's issuer `https://evil.example` is not one of `identities.yaml`",
        ),
        (json!({"sub": null}), "the token's claim `sub` is no text"),
        (json!({"roles": 7}), "the token's claim `roles` is no list of texts"),
    ] {
        assert_eq!(place.reason(&place.token(change)).await, expected);
    }
    assert!(place.admit(&place.token(json!({"iat": now + 30}))).await.is_ok());
}

#[tokio::test]
async fn signatures_algorithms_and_key_ids_are_checked() {
    let place = place().await;
    let claims = place.claims(json!({}));
    let forged = Signer::es256().sign(&json!({"alg": "ES256", "kid": "k"}), &claims);
    assert_eq!(place.reason(&forged).await, "the token's signature is wrong");
    let none = format!("{}.{}.", encode(r#"{"alg":"none"}"#), encode(claims.to_string()));
    assert!(place.reason(&none).await.contains("`alg` is `none`"));
    let shared = place.signer.sign(&json!({"alg": "HS256", "kid": "k"}), &claims);
    assert!(place.reason(&shared).await.contains("`alg` is `HS256`"));
    let unknown = place.signer.sign(&json!({"alg": "ES256", "kid": "other"}), &claims);
    assert!(place.reason(&unknown).await.contains("has no key `other` for ES256"));
    assert!(place.admit(&place.token(json!({}))).await.is_ok());
}

#[tokio::test]
async fn a_key_that_its_issuer_takes_back_ends_what_it_signed() {
    let place = place().await;
    let (old, new) = (place.token(json!({})), Signer::es256());
    assert!(place.admit(&old).await.is_ok());
    place.idp.serve(&[("/keys", keys(&[("new", &new)]))]);
    let signed = new.sign(&json!({"alg": "ES256", "kid": "new"}), &place.claims(json!({})));
    assert!(place.admit(&signed).await.is_ok());
    assert!(place.reason(&old).await.contains("has no key `k`"));
}

#[tokio::test]
async fn an_actor_is_the_person_of_its_binding_within_its_toolset() {
    let place = place().await;
    let token = place.token(json!({"aud": "actors", "sid": "s1"}));
    assert_eq!(
        place.reason(&token).await,
        "the session `s1` has no binding, or its binding has ended"
    );
    place.bind(Some(&["preset:read-only", "tool:x_a_b"])).await;
    let admitted = place.admit(&token).await.unwrap();
    assert_eq!(admitted.principal.subject(), "dave");
    assert_eq!(admitted.principal.standing().roles.as_ref(), ["dev".into()]);
    let Toolset::Within(bounds) = admitted.toolset else {
        panic!("is bounded")
    };
    assert_eq!(bounds.to_string(), "bound [preset:read-only,tool:x_a_b]");
    place.bind(None).await;
    assert!(matches!(
        place.admit(&token).await.unwrap().toolset,
        Toolset::Unscoped { .. }
    ));
    place.engine.unbind("s1").await.unwrap();
    assert_eq!(
        place.reason(&token).await,
        "the session `s1` has no binding, or its binding has ended"
    );
    let no_session = place.token(json!({"aud": "actors"}));
    assert_eq!(place.reason(&no_session).await, "the token's claim `sid` is missing");
}

#[tokio::test]
async fn a_persons_own_token_is_never_bound_and_one_for_both_is_an_actors() {
    let place = place().await;
    place.bind(Some(&["preset:none"])).await;
    let person = place.admit(&place.token(json!({"sid": "s1"}))).await.unwrap();
    assert_eq!((person.principal.subject(), &person.toolset), ("carol", &UNSCOPED));
    let both = place
        .admit(&place.token(json!({"sid": "s1", "aud": ["gateway", "actors"]})))
        .await
        .unwrap();
    assert_eq!(both.principal.subject(), "dave");
}

#[tokio::test]
async fn what_fails_again_and_again_is_not_looked_at_and_what_is_good_still_is() {
    let place = place().await;
    for _ in 0..5 {
        assert!(matches!(place.admit("wrong").await, Err(Denied::UnknownKey)));
    }
    assert!(matches!(place.admit("wrong").await, Err(Denied::Throttled { .. })));
    for number in 5..50 {
        assert!(
            matches!(place.admit(&format!("wrong-{number}")).await, Err(Denied::UnknownKey)),
            "{number}"
        );
    }
    assert!(matches!(place.admit("wrong-50").await, Err(Denied::Throttled { .. })));
    assert!(place.admit("key-of-plain").await.is_ok());
}

#[tokio::test]
async fn an_expired_token_does_not_block_the_address_of_its_bearer() {
    let place = place().await;
    let now = place.memory.clock.now() / 1000;
    for number in 0..60 {
        let token = place.token(json!({"exp": now - 100, "jti": number}));
        assert_eq!(place.reason(&token).await, "the token has expired");
    }
    assert!(place.admit(&place.token(json!({}))).await.is_ok());
}

#[tokio::test]
async fn without_identities_everyone_is_local_but_actors_are_not() {
    let place = place().await;
    let open = Auth::new(None, &Binders::default(), Proxies::default(), &place.memory);
    for lines in [&[][..], &["Bearer whatever"]] {
        let admitted = open.admit(&place.engine, &headers(lines), PEER.into()).await.unwrap();
        assert_eq!(admitted.principal.key(), Principal::local().key());
    }
    let with_actors = Auth::new(None, &binders(&place.idp.url), Proxies::default(), &place.memory);
    assert!(
        with_actors
            .admit(&place.engine, &headers(&[]), PEER.into())
            .await
            .is_ok()
    );
    let token = place.token(json!({"aud": "actors", "sid": "s1"}));
    let unbound = with_actors
        .admit(&place.engine, &headers(&[&format!("Bearer {token}")]), PEER.into())
        .await;
    assert!(unbound.is_err(), "an actor without a binding is not `local`");
}

#[tokio::test]
async fn writers_are_named_by_key_or_subject_and_an_actor_is_none() {
    let place = place().await;
    let plain = place.admit("key-of-plain").await.unwrap().principal;
    let bounded = place.admit("key-of-bounded").await.unwrap().principal;
    assert!(place.auth.may_bind(&plain));
    assert!(!place.auth.may_bind(&bounded));
    let writers = vec!["carol".into()];
    let by_subject = Binders {
        writers,
        ..binders(&place.idp.url)
    };
    let auth = Auth::new(
        Some(&identities(&place.idp.url)),
        &by_subject,
        Proxies::default(),
        &place.memory,
    );
    let person = place.admit(&place.token(json!({}))).await.unwrap().principal;
    assert!(auth.may_bind(&plain) && auth.may_bind(&bounded) && auth.may_bind(&person));
    let bound = bound_person(
        &Binding {
            session: "s".into(),
            subject: "carol".into(),
            toolset: None,
            roles: Vec::new(),
            plan: None,
            expires_at: Millis(0),
        },
        &"https://actors".into(),
    );
    assert!(!auth.may_bind(&bound));
}

#[tokio::test]
async fn an_edit_keeps_principals_that_it_does_not_name() {
    let place = place().await;
    let plain = place.admit("key-of-plain").await.unwrap().principal;
    let bounded = place.admit("key-of-bounded").await.unwrap().principal;
    let person = place.admit(&place.token(json!({}))).await.unwrap().principal;
    let mut edited = identities(&place.idp.url);
    edited.keys.retain(|key| &*key.name != "bounded");
    edited.keys[0].sha256 = Digest::of(b"another secret");
    let auth = Auth::new(
        Some(&edited),
        &binders(&place.idp.url),
        Proxies::default(),
        &place.memory,
    );
    assert!(auth.still_knows(&plain), "its key was rotated");
    assert!(!auth.still_knows(&bounded));
    assert!(auth.still_knows(&person));
    edited.issuers.clear();
    let auth = Auth::new(
        Some(&edited),
        &binders(&place.idp.url),
        Proxies::default(),
        &place.memory,
    );
    assert!(!auth.still_knows(&person));
}
