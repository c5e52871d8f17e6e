//! Callers that are told apart, over real sockets.

use std::sync::Arc;

use countersign_core::exact::Digest;
use countersign_core::identity::{Binders, Identities, Key};
use countersign_core::principal::Standing;
use countersign_edge::Settings;

use super::gateway::{Events, Gateway, Response, initialize, modern};

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
const CAROL: &str = "Authorization: Bearer key-of-carol";
const DAVE: &str = "Authorization: Bearer key-of-dave";

fn key(subject: &str) -> Key {
    Key {
        name: format!("{subject}s-key").into(),
        sha256: Digest::of(format!("key-of-{subject}").as_bytes()),
        subject: subject.into(),
        caller_id: None,
        standing: Standing::default(),
        toolset: None,
    }
}

fn settings(subjects: &[&str]) -> Settings {
    Settings {
        identities: Some(Arc::new(Identities {
            keys: subjects.iter().map(|subject| key(subject)).collect(),
            issuers: Vec::new(),
        })),
        bindings: Binders {
            writers: vec!["carols-key".into()],
            actor_tokens: None,
        },
        ..Settings::default()
    }
}

async fn gateway() -> Gateway {
    Gateway::start(settings(&["carol", "dave"]), &[]).await
}

impl Gateway {
    async fn session_of(&self, bearer: &str) -> String {
        let response = self.post(&[bearer], &initialize("2025-11-25", "{}")).await;
        assert_eq!(response.status, 200, "{response:?}");
        format!(
            "Mcp-Session-Id: {}",
            response.header("mcp-session-id").expect("a session id")
        )
    }

    async fn bindings(&self, target: &str, lines: &[&str], body: &str) -> Response {
        let all = self.usual(lines);
        self.raw(target, &all, body).await
    }
}

#[tokio::test]
async fn a_request_without_a_good_credential_is_401_and_says_where_to_get_one() {
    let gateway = gateway().await;
    let metadata = format!("http://{}/.well-known/oauth-protected-resource/mcp", gateway.address);
    for (lines, error) in [
        (&[][..], ""),
        (&["Authorization: Bearer wrong"], r#", error="invalid_token""#),
    ] {
        let response = gateway.post(lines, LIST).await;
        assert_eq!(response.status, 401, "{response:?}");
        let expected = format!(r#"Bearer resource_metadata="{metadata}"{error}"#);
        assert_eq!(response.header("www-authenticate"), Some(expected.as_str()));
    }
    let trail = gateway.ledger.recent(10).await.expect("reads");
    let reasons: Vec<_> = trail
        .iter()
        .map(|entry| (entry.kind.as_str(), entry.reason.as_str()))
        .collect();
    assert_eq!(
        reasons,
        [
            ("credential_refused", "the key is none of `identities.yaml`"),
            ("credential_refused", "the request has no `authorization` header"),
        ]
    );
}

#[tokio::test]
async fn b071_where_to_get_a_credential_is_built_from_public_url_alone() {
    let public_url = Some("https://gw.example".to_owned());
    let allowed_hosts = vec!["internal".to_owned()];
    let gateway = Gateway::start(
        Settings {
            public_url,
            allowed_hosts,
            ..settings(&["carol"])
        },
        &[],
    )
    .await;
    let lines = [
        "Host: internal",
        "Content-Type: application/json",
        "X-Forwarded-Proto: http",
        "X-Forwarded-Host: evil.example",
        "Forwarded: host=evil.example;proto=http",
    ];
    let response = gateway.raw("POST /mcp", &lines, LIST).await;
    assert_eq!(
        response.header("www-authenticate"),
        Some(r#"Bearer resource_metadata="https://gw.example/.well-known/oauth-protected-resource/mcp""#)
    );
    for path in ["", "/mcp"] {
        let target = format!("GET /.well-known/oauth-protected-resource{path}");
        let response = gateway.raw(&target, &lines, "").await;
        assert_eq!(response.status, 200, "{response:?}");
        assert_eq!(response.json()["resource"], "https://gw.example/mcp");
    }
    let other = gateway
        .raw("GET /.well-known/oauth-protected-resource/other", &lines, "")
        .await;
    assert_eq!(other.status, 404);
}

#[tokio::test]
async fn b071_a_public_url_with_a_path_is_named_whole() {
    let public_url = Some("https://gw.example/tools".to_owned());
    let gateway = Gateway::start(
        Settings {
            public_url,
            ..settings(&["carol"])
        },
        &[],
    )
    .await;
    let response = gateway.post(&[], LIST).await;
    assert_eq!(
        response.header("www-authenticate"),
        Some(r#"Bearer resource_metadata="https://gw.example/.well-known/oauth-protected-resource/tools/mcp""#)
    );
    let host = gateway.host();
    let target = "GET /.well-known/oauth-protected-resource/tools/mcp";
    assert_eq!(
        gateway.raw(target, &[&host], "").await.json()["resource"],
        "https://gw.example/tools/mcp"
    );
}

#[tokio::test]
async fn get_without_a_stream_is_405_before_anyone_is_asked_who_they_are() {
    let gateway = gateway().await;
    let response = gateway.raw("GET /mcp", &gateway.usual(&[]), "").await;
    assert_eq!(response.status, 405);
    let session = gateway.session_of(CAROL).await;
    let response = gateway.raw("GET /mcp", &gateway.usual(&[&session]), "").await;
    assert_eq!(response.status, 401, "whose session it is must be known");
}

#[tokio::test]
async fn b008_sessions_of_two_persons_do_not_exist_for_each_other() {
    let gateway = gateway().await;
    let session = gateway.session_of(CAROL).await;
    assert_eq!(gateway.post(&[CAROL, &session], LIST).await.status, 200);
    assert_eq!(gateway.post(&[DAVE, &session], LIST).await.status, 404);
    let delete = |bearer| gateway.raw_delete(bearer, &session);
    assert_eq!(delete(DAVE).await.status, 404);
    assert_eq!(delete("Accept: x").await.status, 401);
    assert_eq!(delete(CAROL).await.status, 204);
}

impl Gateway {
    async fn raw_delete(&self, line: &str, session: &str) -> Response {
        self.raw("DELETE /mcp", &[&self.host(), line, session], "").await
    }
}

#[tokio::test]
async fn an_edit_ends_the_sessions_of_those_who_are_no_longer_let_in_and_no_others() {
    let gateway = gateway().await;
    let (carol, dave) = (gateway.session_of(CAROL).await, gateway.session_of(DAVE).await);
    gateway.edge.apply(settings(&["carol", "erin"]));
    assert_eq!(gateway.post(&[CAROL, &carol], LIST).await.status, 200);
    assert_eq!(gateway.post(&[DAVE, &dave], LIST).await.status, 401);
    gateway.edge.apply(settings(&["carol", "dave"]));
    assert_eq!(
        gateway.post(&[DAVE, &dave], LIST).await.status,
        404,
        "it has ended for good"
    );
}

#[tokio::test]
async fn sessions_per_principal_are_counted_for_each_principal() {
    let settings = Settings {
        sessions_per_principal: 1,
        ..settings(&["carol", "dave"])
    };
    let gateway = Gateway::start(settings, &[]).await;
    let dave = gateway.session_of(DAVE).await;
    let first = gateway.session_of(CAROL).await;
    let second = gateway.session_of(CAROL).await;
    assert_eq!(gateway.post(&[CAROL, &first], LIST).await.status, 404);
    assert_eq!(gateway.post(&[CAROL, &second], LIST).await.status, 200);
    assert_eq!(gateway.post(&[DAVE, &dave], LIST).await.status, 200);
}

#[tokio::test]
async fn failed_keys_are_throttled_and_good_ones_are_not() {
    let gateway = gateway().await;
    for _ in 0..5 {
        assert_eq!(gateway.post(&["Authorization: Bearer wrong"], LIST).await.status, 401);
    }
    let response = gateway.post(&["Authorization: Bearer wrong"], LIST).await;
    assert_eq!(response.status, 429, "{response:?}");
    assert!(
        response
            .header("retry-after")
            .is_some_and(|seconds| seconds.parse::<u32>().is_ok())
    );
    gateway.session_of(CAROL).await;
    // Behind a proxy each client has an address of its own.
    let other = ["Authorization: Bearer wrong", "X-Forwarded-For: 198.51.100.7"];
    assert_eq!(gateway.post(&other, LIST).await.status, 401);
}

#[tokio::test]
async fn strangers_learn_whether_the_gateway_is_ready_and_no_more() {
    let gateway = gateway().await;
    let host = gateway.host();
    let stranger = gateway.raw("GET /ready", &[&host], "").await;
    assert_eq!((stranger.status, stranger.body.as_str()), (200, r#"{"ready":true}"#));
    let known = gateway.raw("GET /ready", &[&host, CAROL], "").await;
    assert!(known.json()["servers"].is_array());
}

#[tokio::test]
async fn bindings_are_written_by_their_writers_only() {
    let gateway = gateway().await;
    let body = r#"{"subject":"erin","toolset":["preset:unknown"],"expires_at":"2999-01-01T00:00:00Z"}"#;
    let put = |lines: Vec<&'static str>, body: &'static str| {
        let gateway = &gateway;
        async move { gateway.bindings("PUT /session-bindings/a%2Fb", &lines, body).await }
    };
    assert_eq!(put(vec![], body).await.status, 401);
    assert_eq!(put(vec![DAVE], body).await.status, 403);
    let created = put(vec![CAROL], body).await;
    assert_eq!(created.status, 201, "{created:?}");
    assert_eq!(created.json()["session"], "a/b");
    assert_eq!(created.json()["expires_at"], "2999-01-01T00:00:00Z");
    let again = put(vec![CAROL], body).await;
    assert_eq!(
        (again.status, again.json()),
        (200, created.json()),
        "the same words, the same binding"
    );
    let other = put(vec![CAROL], r#"{"subject":"frank"}"#).await;
    assert_eq!(other.status, 409);
    assert_eq!(other.header("content-type"), Some("application/problem+json"));
    assert!(!other.body.contains("erin"));
    let empty = put(vec![CAROL], r#"{"subject":"erin","toolset":[]}"#).await;
    assert_eq!(empty.status, 400);
    assert_eq!(
        empty.json()["detail"],
        r#"toolset [] is empty; use "preset:none" for an agent without tools"#
    );
    assert_eq!(
        put(vec![CAROL], r#"{"subject":"erin","expires_at":"2001-01-01T00:00:00Z"}"#)
            .await
            .status,
        400
    );

    let get = |bearer: &'static str| gateway.raw_binding("GET", bearer);
    assert_eq!(get(CAROL).await.json(), created.json());
    assert_eq!(get(DAVE).await.status, 403);
    assert_eq!(gateway.raw_binding("POST", CAROL).await.status, 405);
    assert_eq!(gateway.raw_binding("DELETE", CAROL).await.status, 204);
    assert_eq!(get(CAROL).await.status, 404);
    assert_eq!(gateway.raw_binding("DELETE", CAROL).await.status, 404);
    let trail = gateway.ledger.recent(20).await.expect("reads");
    let bound = trail
        .iter()
        .find(|entry| entry.kind == "session_bound")
        .expect("is recorded");
    assert_eq!(bound.reason, "bound to `erin` with toolset=[preset:unknown]");
}

impl Gateway {
    async fn raw_binding(&self, method: &str, line: &str) -> Response {
        self.raw(&format!("{method} /session-bindings/a%2Fb"), &[&self.host(), line], "")
            .await
    }
}

#[tokio::test]
async fn without_identities_nobody_can_write_bindings_and_the_answer_says_what_to_configure() {
    let gateway = Gateway::start(Settings::default(), &[]).await;
    let response = gateway
        .bindings("PUT /session-bindings/s", &[], r#"{"subject":"erin"}"#)
        .await;
    assert_eq!(response.status, 401);
    assert!(
        response.body.contains("identities.yaml") && response.body.contains("bindings.writers"),
        "{response:?}"
    );
}

/// Reads a stream to its end; one that does not end is an error of its own.
async fn ends(stream: &mut Events) {
    while stream.next().await.is_some() {}
}

#[tokio::test]
async fn open_streams_end_with_what_let_their_caller_in() {
    let gateway = gateway().await;
    let (carol, dave) = (gateway.session_of(CAROL).await, gateway.session_of(DAVE).await);
    let mut streams = Vec::new();
    for (bearer, session) in [(CAROL, &carol), (DAVE, &dave)] {
        let mut stream = gateway.stream("GET /mcp", &gateway.usual(&[bearer, session]), "").await;
        assert_eq!(stream.head().await.status, 200);
        streams.push(stream);
    }
    let lines = [
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Method: subscriptions/listen",
        DAVE,
    ];
    let body = modern("subscriptions/listen", r#""notifications":{"toolsListChanged":true}"#);
    let mut listening = gateway.stream("POST /mcp", &gateway.usual(&lines), &body).await;
    listening.next_of("notifications/subscriptions/acknowledged").await;

    gateway.edge.apply(settings(&["carol"]));
    ends(&mut listening).await;
    let [carols, daves] = streams.as_mut_slice() else {
        panic!("two streams")
    };
    ends(daves).await;
    gateway.edge.apply(settings(&[]));
    ends(carols).await;
}
