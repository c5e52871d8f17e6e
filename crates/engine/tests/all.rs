//! The engine over a real child process: one way for every call, and snapshots that follow the server.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "helpers of tests fail as tests do"
)]

#[path = "all/faults.rs"]
mod faults;
#[path = "all/guarded.rs"]
mod guarded;
#[path = "../../upstream/tests/all/peer.rs"]
#[expect(dead_code, reason = "the tests of connections use all of it")]
mod peer;
#[path = "all/signing.rs"]
mod signing;
#[path = "all/views.rs"]
mod views;
#[path = "all/workflows.rs"]
mod workflows;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use countersign_core::admit::{Ask, Origin};
use countersign_core::catalogue::{Availability, Naming};
use countersign_core::effect::AnnotationTrust;
use countersign_core::exact::{Digest, Exact};
use countersign_core::names::ServerName;
use countersign_core::outcome::Fate;
use countersign_core::principal::{Caller, Endpoint, Principal};
use countersign_core::refusal::Code;
use countersign_core::secret::Secret;
use countersign_core::server::{EnvMode, ServerEntry, Sharing, Start, Transport};
use countersign_core::stages::Toolset;
use countersign_engine::{Abilities, Passage};
use countersign_engine::{Change, Engine, Outcome, Settings, UpstreamSettings};
use countersign_store::Ledger;
use tokio_util::sync::CancellationToken;

/// A ceiling for conditions that are waited for; nothing is measured by it.
const CEILING: Duration = Duration::from_secs(60);

struct Fixture {
    folder: tempfile::TempDir,
    ledger: Ledger,
}

impl Fixture {
    fn new(tools: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("tools"), tools).unwrap();
        let ledger = Ledger::sqlite(&folder.path().join("state.db")).unwrap();
        Self { folder, ledger }
    }

    fn start(&self, entries: &[Arc<ServerEntry>]) -> Arc<Engine> {
        Engine::start(settings(), entries, self.ledger.clone())
    }

    fn entry(&self, name: &str, start: Start, seed: &str) -> Arc<ServerEntry> {
        entry(name, self.folder.path(), start, seed)
    }

    fn lines(&self, file: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.path().join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

fn entry(name: &str, folder: &Path, start: Start, seed: &str) -> Arc<ServerEntry> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server.py");
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
            command: Secret::plain("python3"),
            args: vec![
                Secret::plain(script.display().to_string()),
                Secret::plain(folder.display().to_string()),
            ],
            env: BTreeMap::new(),
            env_mode: EnvMode::Clean,
            env_passthrough: Vec::new(),
            cwd: None,
        },
        digest: Digest::of(format!("{name}{seed}").as_bytes()),
    })
}

fn settings() -> Settings {
    Settings {
        naming: Naming {
            prefix: "x".to_owned(),
            max_length: 64,
        },
        presets: Arc::default(),
        upstream: UpstreamSettings {
            connect_timeout: CEILING,
            call_timeout: CEILING,
            response_bytes: 1 << 20,
            idle: CEILING,
            warden: None,
            vault_key: None,
        },
        listed_as: Principal::local().key().clone(),
        debounce: Duration::from_millis(10),
        shown: Arc::new(serde_json::json!({})),
        pages: None,
        hash: "hash".to_owned(),
        workflows: countersign_engine::Workflows::default(),
    }
}

fn caller() -> Caller {
    Caller {
        principal: Arc::new(Principal::local()),
        endpoint: Endpoint::Main,
        toolset: Toolset::Unscoped { because: "test" },
    }
}

fn passage() -> Passage {
    let (to_caller, _) = countersign_engine::way(1);
    Passage {
        abilities: Abilities::default(),
        progress_token: None,
        log_level: None,
        meta: Vec::new(),
        extra: Vec::new(),
        to_caller,
        cancel: CancellationToken::new(),
    }
}

async fn call(engine: &Engine, name: &str, arguments: &str) -> Outcome {
    let ask = Ask::Tool {
        name: name.to_owned(),
        arguments: Exact::object(arguments).unwrap(),
    };
    engine.call(&caller(), ask, Origin::Direct, passage()).await
}

fn result(outcome: Outcome) -> String {
    match outcome {
        Outcome::Result { result, .. } => result.get().to_owned(),
        other => panic!("{other:?}"),
    }
}

/// Waits for a change after which a condition holds.
async fn until(engine: &Engine, holds: impl Fn(&Engine) -> bool) {
    let mut changes = engine.changes();
    let wait = async {
        while !holds(engine) {
            tokio::select! {
                _ = changes.recv() => {}
                () = tokio::time::sleep(Duration::from_millis(5)) => {}
            }
        }
    };
    tokio::time::timeout(CEILING, wait).await.unwrap();
}

#[tokio::test]
async fn i6_a_call_and_a_refusal_each_leave_one_line() {
    let fixture = Fixture::new("echo");
    let engine = fixture.start(&[fixture.entry("small", Start::Boot, "")]);
    let told = result(call(&engine, "x_small_echo", r#"{"b":1,"a":9007199254740993}"#).await);
    assert!(told.contains(r#"{\"a\": 9007199254740993, \"b\": 1}"#), "{told}");
    let Outcome::Refused(refusal) = call(&engine, "x_small_ecko", "{}").await else {
        panic!("not refused")
    };
    assert_eq!(
        (refusal.code, refusal.nearest),
        (Code::ToolNotFound, vec!["x_small_echo".to_owned()])
    );

    let entries = fixture.ledger.recent(10).await.unwrap();
    let lines: Vec<_> = entries
        .iter()
        .map(|e| {
            (
                e.kind.as_str(),
                e.server.as_str(),
                e.subject.as_str(),
                e.fate.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        lines,
        [
            ("refused", "", "x_small_ecko", None),
            ("call", "small", "echo", Some("done"))
        ]
    );
    assert_eq!(fixture.lines("calls"), ["echo"]);
    engine.shutdown().await;
}

#[tokio::test]
async fn i6_a_mutating_call_that_cannot_be_recorded_is_not_made() {
    let fixture = Fixture::new("echo");
    let engine = fixture.start(&[fixture.entry("small", Start::Boot, "")]);
    engine.listed_catalogue().await;
    let database = rusqlite::Connection::open(fixture.folder.path().join("state.db")).unwrap();
    database.execute_batch("DROP TABLE trail").unwrap();
    let outcome = call(&engine, "x_small_echo", "{}").await;
    assert!(matches!(outcome, Outcome::Unrecorded { .. }), "{outcome:?}");
    assert!(fixture.lines("calls").is_empty());
    engine.shutdown().await;
}

#[tokio::test]
async fn i5_a_call_whose_server_dies_has_an_unknown_outcome_and_is_not_sent_again() {
    let fixture = Fixture::new("die echo");
    let engine = fixture.start(&[fixture.entry("small", Start::Boot, "")]);
    let outcome = call(&engine, "x_small_die", "{}").await;
    assert!(
        matches!(
            outcome,
            Outcome::Failed {
                fate: Fate::OutcomeUnknown,
                ..
            }
        ),
        "{outcome:?}"
    );
    assert_eq!(fixture.lines("calls"), ["die"]);
    let entry = fixture.ledger.recent(1).await.unwrap().remove(0);
    assert_eq!(entry.fate.as_deref(), Some("outcome_unknown"));

    // While the server is down a call says so and is not sent; it is started anew by itself.
    let restarted = async {
        while matches!(
            call(&engine, "x_small_echo", "{}").await,
            Outcome::Failed {
                fate: Fate::NotSent,
                ..
            }
        ) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(CEILING, restarted).await.unwrap();
    assert_eq!(fixture.lines("calls"), ["die", "echo"]);
    engine.shutdown().await;
}

#[tokio::test]
async fn a_list_change_reaches_callers_when_the_list_differs() {
    let fixture = Fixture::new("change");
    let engine = fixture.start(&[fixture.entry("small", Start::Boot, "")]);
    engine.listed_catalogue().await;
    let mut changes = engine.changes();
    result(call(&engine, "x_small_change", "{}").await);
    let change = tokio::time::timeout(CEILING, changes.recv()).await.unwrap().unwrap();
    assert!(matches!(change, Change::Tools { .. }), "{change:?}");
    assert!(engine.catalogue().tool("x_small_added").is_some());
    engine.shutdown().await;
}

#[tokio::test]
async fn i12_a_server_that_does_not_start_leaves_the_others_alone() {
    let good = Fixture::new("echo");
    let bad = tempfile::tempdir().unwrap();
    std::fs::write(bad.path().join("broken"), "").unwrap();
    let entries = [
        good.entry("good", Start::Boot, ""),
        entry("bad", bad.path(), Start::Boot, ""),
    ];
    let engine = good.start(&entries);
    result(call(&engine, "x_good_echo", "{}").await);
    until(&engine, |engine| {
        matches!(
            engine.catalogue().server("bad").unwrap().availability,
            Availability::Unavailable { .. }
        )
    })
    .await;
    let readiness = engine.readiness().await;
    assert!(readiness.ready);
    assert_eq!(
        readiness
            .servers
            .iter()
            .map(|s| (s.name.as_str(), s.tools))
            .collect::<Vec<_>>(),
        [("bad", 0), ("good", 1)]
    );
    engine.shutdown().await;
}

/// A server over HTTP in a thread, until `stop` is dropped: then nothing listens at its address.
fn over_http(listener: &std::net::TcpListener, stop: &std::sync::mpsc::Receiver<()>) {
    use std::io::{BufRead, BufReader, Read, Write};
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        if stop.try_recv() == Err(std::sync::mpsc::TryRecvError::Disconnected) {
            return;
        }
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let (mut head, mut length) = (String::new(), 0);
        while reader.read_line(&mut head).unwrap() > 2 {
            let line = head.lines().last().unwrap().to_ascii_lowercase();
            length = line
                .strip_prefix("content-length: ")
                .map_or(length, |length| length.parse().unwrap());
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let message: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
        let mut answer = match message["method"].as_str() {
            Some("initialize") => serde_json::json!({"result": {
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "far", "version": "1"}
            }}),
            Some("tools/list") => serde_json::json!({"result": {"tools": [
                {"name": "echo", "inputSchema": {"type": "object"}}
            ]}}),
            Some(_) | None => serde_json::json!({"error": {"code": -32601, "message": "no such method"}}),
        };
        answer["jsonrpc"] = "2.0".into();
        answer["id"] = message["id"].clone();
        let text = if message["id"].is_null() {
            // Notifications are taken; there is no stream.
            let status = if message.is_null() {
                "405 Method Not Allowed"
            } else {
                "202 Accepted"
            };
            format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        } else {
            let (body, kind) = (answer.to_string(), "Content-Type: application/json");
            let length = body.len();
            format!("HTTP/1.1 200 OK\r\n{kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
        };
        stream.write_all(text.as_bytes()).unwrap();
    }
}

#[tokio::test]
async fn a_server_over_http_that_went_away_is_shown_as_such_after_a_call_failed() {
    let fixture = Fixture::new("echo");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (up, stop) = std::sync::mpsc::channel();
    let server = std::thread::spawn(move || over_http(&listener, &stop));
    let mut far = Arc::unwrap_or_clone(fixture.entry("far", Start::Boot, ""));
    far.transport = Transport::Http {
        url: Secret::plain(format!("http://{address}/mcp")),
        headers: BTreeMap::new(),
    };
    let engine = fixture.start(&[Arc::new(far)]);
    let state = |engine: &Engine| engine.catalogue().server("far").unwrap().availability.clone();
    until(&engine, |engine| state(engine) == Availability::Ready).await;

    drop(up);
    drop(std::net::TcpStream::connect(address).unwrap());
    server.join().unwrap();
    let Outcome::Failed { sentence, .. } = call(&engine, "x_far_echo", "{}").await else {
        panic!("it did not fail")
    };
    assert!(
        sentence.starts_with("server far is unavailable: it cannot be reached"),
        "{sentence}"
    );
    until(&engine, |engine| {
        matches!(state(engine), Availability::Unavailable { .. })
    })
    .await;
    assert!(
        engine.catalogue().tool("x_far_echo").is_some(),
        "its last listing stays"
    );
    engine.shutdown().await;
}

#[tokio::test]
async fn a_lazy_server_starts_with_the_first_listing() {
    let fixture = Fixture::new("echo");
    let engine = fixture.start(&[fixture.entry("small", Start::Lazy, "")]);
    assert!(fixture.lines("starts").is_empty());
    assert!(engine.listed_catalogue().await.tool("x_small_echo").is_some());
    assert!(!fixture.lines("starts").is_empty());
    engine.shutdown().await;
}

#[tokio::test]
async fn b055_an_edit_of_one_server_leaves_the_other_connected() {
    let (kept, edited) = (Fixture::new("echo"), Fixture::new("echo"));
    let engine = kept.start(&[
        kept.entry("kept", Start::Boot, ""),
        edited.entry("edited", Start::Boot, "1"),
    ]);
    engine.listed_catalogue().await;
    let starts = kept.lines("starts").len();
    std::fs::write(edited.folder.path().join("tools"), "echo more").unwrap();
    engine.apply(
        settings(),
        &[
            kept.entry("kept", Start::Boot, ""),
            edited.entry("edited", Start::Boot, "2"),
        ],
    );
    until(&engine, |engine| engine.catalogue().tool("x_edited_more").is_some()).await;
    result(call(&engine, "x_kept_echo", "{}").await);
    assert_eq!(kept.lines("starts").len(), starts);
    engine.shutdown().await;
}

#[tokio::test]
async fn core_tools_name_what_is_wrong_with_their_arguments() {
    let fixture = Fixture::new("echo");
    let engine = fixture.start(&[]);
    let wrong = [
        (
            "core_server_get",
            r#"{"name":"a"}"#,
            "unknown argument `name`; allowed arguments: server",
        ),
        ("core_server_get", "{}", "`server` is required and must be a string"),
        (
            "core_server_stop",
            r#"{"server":1}"#,
            "`server` is required and must be a string",
        ),
        ("core_config_get", r#"{"a":1}"#, "unknown argument `a`; it takes none"),
        (
            "core_events",
            r#"{"limit":0}"#,
            "`limit` must be a whole number from 1 to 200",
        ),
        (
            "core_events",
            r#"{"limit":"a"}"#,
            "`limit` must be a whole number from 1 to 200",
        ),
        (
            "core_events",
            r#"{"limit":1e30}"#,
            "`limit` must be a whole number from 1 to 200",
        ),
    ];
    for (tool, arguments, what) in wrong {
        let told: serde_json::Value = serde_json::from_str(&result(call(&engine, tool, arguments).await)).unwrap();
        assert_eq!(told["isError"], true, "{tool} {arguments}");
        assert_eq!(told["structuredContent"]["code"], "bad_arguments");
        assert_eq!(told["structuredContent"]["message"], format!("{tool}: {what}"));
    }
    engine.shutdown().await;
}

#[tokio::test]
async fn a_suspended_server_is_neither_started_nor_stopped_by_hand() {
    let fixture = Fixture::new("echo");
    let engine = fixture.start(&[fixture.entry("small", Start::Boot, "")]);
    engine.listed_catalogue().await;
    let mut entry = (*fixture.entry("small", Start::Suspended, "")).clone();
    entry.digest = Digest::of(b"suspended");
    let settings = settings();
    engine.apply(settings, &[Arc::new(entry)]);
    until(&engine, |engine| engine.catalogue().tool("x_small_echo").is_none()).await;
    for tool in ["core_server_start", "core_server_stop", "core_server_restart"] {
        let told = result(call(&engine, tool, r#"{"server":"small"}"#).await);
        assert!(told.contains("server_suspended"), "{told}");
    }
    // Nothing brought back what the entry switched off.
    let catalogue = engine.listed_catalogue().await;
    assert!(catalogue.tool("x_small_echo").is_none());
    assert_eq!(catalogue.server("small").unwrap().availability, Availability::Suspended);
    engine.shutdown().await;
}

#[tokio::test]
async fn core_tools_stop_and_start_a_server_through_the_same_door() {
    let fixture = Fixture::new("echo");
    let engine = fixture.start(&[fixture.entry("small", Start::Boot, "")]);
    engine.listed_catalogue().await;
    assert!(result(call(&engine, "core_server_stop", r#"{"server":"small"}"#).await).contains("stopped"));
    until(&engine, |engine| engine.catalogue().tool("x_small_echo").is_none()).await;
    let told = result(call(&engine, "core_server_start", r#"{"server":"small"}"#).await);
    assert!(told.contains(r#""state":"ready""#), "{told}");
    assert!(engine.catalogue().tool("x_small_echo").is_some());
    let events = result(call(&engine, "core_events", r#"{"limit":2}"#).await);
    assert!(
        events.contains("core_server_start") && events.contains("core_events"),
        "{events}"
    );
    engine.shutdown().await;
}
