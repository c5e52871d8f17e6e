//! Calls that say something before they answer: taken back, lost on the way, taken up again, through a proxy.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use crate::gateway::{Gateway, MODERN, call, rpc, until};
use crate::http::{Wire, request};
use crate::upstream::{Era, Held, Script, Upstream};

static PAIR: LazyLock<(Upstream, Gateway)> = LazyLock::new(|| {
    let upstream = Script::with_tools(Era::Legacy, &["slow", "t"]).holds("slow").start();
    let gateway = Gateway::over("surface: direct", &[("u", upstream.address)]);
    (upstream, gateway)
});

const DONE: &str = r#"{"content":[{"type":"text","text":"done"}]}"#;
const EVENTS: &str = "Accept: text/event-stream";

/// A call of the slow tool; the mark finds it again at its server.
fn slow(id: &str, token: &str, mark: &str) -> String {
    let meta = if token.is_empty() {
        String::new()
    } else {
        format!(r#","_meta":{{"progressToken":{token}}}"#)
    };
    let arguments = format!(r#"{{"mark":"{mark}"}}"#);
    rpc(id, "tools/call", &format!("{{{}{meta}}}", call("x_u_slow", &arguments)))
}

/// Makes the call; it is under way at its server when this returns.
fn begin(gateway: &Gateway, upstream: &Upstream, session: &str, body: &str, mark: &str) -> (Wire, Held) {
    let mut wire = Wire::open(gateway.address);
    wire.write(&gateway.posting(&[session], body.as_bytes()));
    (wire, upstream.held(&format!("\"{mark}\"")))
}

/// What is left of a stream.
fn rest(wire: &mut Wire) -> Vec<(String, String)> {
    std::iter::from_fn(|| wire.raw_event()).collect()
}

fn resume(gateway: &Gateway, session: &str, last: &str) -> Wire {
    let (host, last) = (gateway.host(), format!("Last-Event-ID: {last}"));
    let mut wire = Wire::open(gateway.address);
    wire.write(&request("GET /mcp", &[&host, EVENTS, session, &last], b""));
    let head = wire.head().expect("a response");
    assert_eq!(
        (head.status, head.header("content-type")),
        (200, Some("text/event-stream"))
    );
    wire
}

/// What a client of a session gets before anything is pushed: nothing, so that the session's end is the next thing.
fn holds_nothing(gateway: &Gateway, session: &str, wire: &mut Wire) {
    let host = gateway.host();
    assert_eq!(gateway.exchange("DELETE /mcp", &[&host, session], b"").status, 204);
    assert_eq!(rest(wire), Vec::new());
}

fn progress_of(data: &str) -> i64 {
    let message: serde_json::Value = serde_json::from_str(data).expect("a message");
    message["params"]["progress"].as_i64().unwrap_or(-1)
}

#[test]
fn b077_a_lost_stream_is_taken_up_after_the_last_event_and_no_other_is() {
    let (upstream, gateway) = &*PAIR;
    let session = gateway.session();
    let (mut lost, mut first) = begin(gateway, upstream, &session, &slow("1", "\"p1\"", "b077-1"), "b077-1");
    let (mut other, mut second) = begin(gateway, upstream, &session, &slow("2", "2", "b077-2"), "b077-2");
    for done in 1..=3 {
        first.progress(done);
        second.progress(10 * done);
    }
    assert_eq!(lost.head().expect("a response").header("x-accel-buffering"), Some("no"));
    let (priming, data) = lost.raw_event().expect("an event");
    assert_eq!(data, "", "the first event says nothing but its id");
    let seen: Vec<(String, String)> = (0..3).map(|_| lost.raw_event().expect("an event")).collect();
    assert_eq!(
        seen.iter().map(|(_, data)| progress_of(data)).collect::<Vec<_>>(),
        [1, 2, 3]
    );
    drop(lost);
    for done in 4..=5 {
        first.progress(done);
        second.progress(10 * done);
    }

    let mut resumed = resume(gateway, &session, &seen[2].0);
    let next = |wire: &mut Wire| progress_of(&wire.raw_event().expect("an event").1);
    assert_eq!((next(&mut resumed), next(&mut resumed)), (4, 5));
    // It is lost again, from within what came before.
    drop(resumed);
    assert!(first.answer(DONE));
    let mut again = resume(gateway, &session, &seen[0].0);
    let left = rest(&mut again);
    assert_eq!(left.len(), 5, "{left:?}");
    assert_eq!(
        left[..4].iter().map(|(_, data)| progress_of(data)).collect::<Vec<_>>(),
        [2, 3, 4, 5]
    );
    assert!(left[4].1.contains(r#""id":1,"result""#), "{left:?}");
    // The whole of it is kept for a while, and nothing comes after its last event.
    assert_eq!(rest(&mut resume(gateway, &session, &priming)).len(), 6);
    assert_eq!(rest(&mut resume(gateway, &session, &left[4].0)), Vec::new());

    assert!(second.answer(DONE));
    other.head().expect("a response");
    let all = rest(&mut other);
    assert_eq!(
        all[1..6].iter().map(|(_, data)| progress_of(data)).collect::<Vec<_>>(),
        [10, 20, 30, 40, 50],
        "the other stream was never disturbed"
    );
    let mut ids: Vec<&String> = all.iter().chain(&left).map(|(id, _)| id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), all.len() + left.len(), "no id is given twice in a session");
}

#[test]
fn b078_an_event_id_of_another_session_or_of_nobody_replays_nothing() {
    let (upstream, gateway) = &*PAIR;
    let owner = gateway.session();
    let (mut wire, mut held) = begin(gateway, upstream, &owner, &slow("1", "1", "b078"), "b078");
    held.progress(1);
    assert!(held.answer(DONE));
    wire.head().expect("a response");
    let id = rest(&mut wire)[0].0.clone();
    let (stream, number) = id.rsplit_once('-').expect("an id");
    let foreign = [
        id.clone(),
        "17".to_owned(),
        "0".to_owned(),
        format!("{stream}-99"),
        format!("{stream}-18446744073709551616"),
        stream.to_owned(),
        format!("-{number}"),
        format!("{} {id}", id.to_uppercase()),
        "a".repeat(8000),
        "../../x".to_owned(),
        "\u{e4}".to_owned(),
    ];
    for (at, id) in foreign.iter().enumerate() {
        let thief = gateway.session();
        let mut stolen = resume(gateway, &thief, id);
        holds_nothing(gateway, &thief, &mut stolen);
        if at > 0 {
            let session = gateway.session();
            let mut own = resume(gateway, &session, id);
            holds_nothing(gateway, &session, &mut own);
        }
    }
    let trail = gateway.trail();
    assert!(trail.iter().any(|entry| entry["kind"] == "stream_refused"), "{trail:?}");
    // Twice the header is no id at all; and the owner has not lost anything.
    assert_eq!(rest(&mut resume(gateway, &owner, &id)).len(), 2);
    let host = gateway.host();
    let last = format!("Last-Event-ID: {id}");
    let nobody = gateway.exchange("GET /mcp", &[&host, EVENTS, &last], b"");
    assert_eq!(nobody.status, 405, "without a session there is no stream");
    assert_eq!(gateway.exchange("DELETE /mcp", &[&host, &owner], b"").status, 204);
    assert_eq!(
        gateway
            .exchange("GET /mcp", &[&host, EVENTS, &owner, &last], b"")
            .status,
        405
    );
}

#[test]
fn b077_older_clients_get_ids_and_no_event_without_a_message() {
    let (upstream, gateway) = &*PAIR;
    for version in ["2025-03-26", "2025-06-18"] {
        let session = gateway.session_of(version);
        let (mut wire, mut held) = begin(gateway, upstream, &session, &slow("1", "1", version), version);
        held.progress(1);
        wire.head().expect("a response");
        let (id, data) = wire.raw_event().expect("an event");
        assert_eq!(progress_of(&data), 1, "{version}");
        drop(wire);
        assert!(held.answer(DONE));
        let left = rest(&mut resume(gateway, &session, &id));
        assert!(left.len() == 1 && left[0].1.contains("done"), "{version}: {left:?}");
    }
}

#[test]
fn b020_a_cancelled_call_is_cancelled_with_the_servers_id_and_never_answered() {
    let (upstream, gateway) = &*PAIR;
    let (session, other) = (gateway.session(), gateway.session());
    for (at, id) in ["101", "\"101\"", "\"a b\"", "9007199254740993", "-5"]
        .iter()
        .enumerate()
    {
        let mark = format!("b020-{at}");
        let (mut wire, mut held) = begin(gateway, upstream, &session, &slow(id, "\"t\"", &mark), &mark);
        held.progress(1);
        wire.head().expect("a response");
        assert_eq!(wire.raw_event().expect("an event").1, "");
        assert_eq!(progress_of(&wire.raw_event().expect("an event").1), 1);
        let cancel = |session: &str, id: &str| {
            let params = format!(r#"{{"requestId":{id},"reason":"changed my mind"}}"#);
            let notice = format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#);
            assert_eq!(gateway.post(&[session], &notice).status, 202);
        };
        // Whose call it is and how its id is written both matter.
        cancel(&other, id);
        cancel(&session, if id.starts_with('"') { "101" } else { "\"101\"" });
        cancel(&session, "null");
        let sent = |upstream: &Upstream| {
            let cancelled = upstream.seen_of("notifications/cancelled");
            cancelled
                .iter()
                .map(|seen| seen.param(&["requestId"]))
                .collect::<Vec<_>>()
        };
        assert!(!sent(upstream).contains(&held.id()), "nobody took it back yet");
        cancel(&session, id);
        until("the server is told", || sent(upstream).contains(&held.id()));
        assert_eq!(rest(&mut wire), Vec::new(), "no result for {id}");
        held.answer(DONE);
        cancel(&session, id);
    }
    assert!(gateway.legacy(&session, "ping", "").result().is_object());
}

#[test]
fn b020_closing_a_modern_stream_takes_its_call_back() {
    let (upstream, gateway) = &*PAIR;
    for closes_early in [true, false] {
        let mark = format!("b020-modern-{closes_early}");
        let arguments = format!(r#"{{"mark":"{mark}"}}"#);
        let params = format!(
            r#"{},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}},"progressToken":5}}"#,
            call("x_u_slow", &arguments)
        );
        let body = rpc("1", "tools/call", &format!("{{{params}}}"));
        let mut wire = Wire::open(gateway.address);
        let lines = [MODERN, "Mcp-Method: tools/call", "Mcp-Name: x_u_slow"];
        wire.write(&gateway.posting(&lines, body.as_bytes()));
        let mut held = upstream.held(&format!("\"{mark}\""));
        if !closes_early {
            held.progress(1);
            wire.head().expect("a response");
            assert_eq!(wire.event().expect("a message")["params"]["progressToken"], 5);
        }
        drop(wire);
        let id = held.id();
        upstream.wait("the server is told", |seen| {
            seen.method() == "notifications/cancelled" && seen.param(&["requestId"]) == id
        });
    }
}

#[test]
fn b021_every_form_of_token_comes_back_as_it_was_and_without_one_nothing_is_said() {
    let (upstream, gateway) = &*PAIR;
    let session = gateway.session();
    let tokens = [
        "\"p1\"",
        "7",
        "0",
        "\"\"",
        "9007199254740993",
        "\"\\u00e4 \\\"x\\\"\"",
        "-1",
    ];
    for (at, token) in tokens.iter().enumerate() {
        let mark = format!("b021-{at}");
        let (mut wire, mut held) = begin(gateway, upstream, &session, &slow("1", token, &mark), &mark);
        held.progress(1);
        wire.head().expect("a response");
        wire.raw_event().expect("an event");
        let (_, data) = wire.raw_event().expect("an event");
        let wanted: serde_json::Value = serde_json::from_str(token).expect("JSON");
        let message: serde_json::Value = serde_json::from_str(&data).expect("JSON");
        assert_eq!(message["params"]["progressToken"], wanted, "{token}");
        assert!(held.answer(DONE));
        assert_eq!(rest(&mut wire).len(), 1);
    }
    // A server that speaks of a token nobody gave is not heard.
    let (mut wire, mut held) = begin(gateway, upstream, &session, &slow("1", "", "b021-none"), "b021-none");
    held.say(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p1","progress":1}}"#);
    assert!(held.answer(DONE));
    let response = wire.response().expect("a response");
    assert_eq!(
        response.header("content-type"),
        Some("application/json"),
        "{response:?}"
    );
}

/// nginx with its defaults in front of a gateway.
struct Nginx {
    child: Child,
    address: std::net::SocketAddr,
    _folder: tempfile::TempDir,
}

impl Nginx {
    /// Nothing where nginx is not installed; a machine that must run everything fails then.
    fn start(gateway: &Gateway) -> Option<Self> {
        let program = ["/usr/sbin/nginx", "/usr/local/bin/nginx", "/opt/homebrew/bin/nginx"]
            .into_iter()
            .find(|path| Path::new(path).exists());
        let Some(program) = program else {
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "nginx is not installed");
            return None;
        };
        let folder = tempfile::tempdir().expect("made");
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = free.local_addr().expect("bound");
        drop(free);
        let place = folder.path().display();
        let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {place}/{name};"))
            .concat();
        let text = format!(
            "daemon off; pid {place}/pid; error_log {place}/error.log; worker_processes 1;
            events {{}}
            http {{ access_log off; {paths}
              server {{ listen {address};
                location / {{ proxy_pass http://{}; proxy_set_header Host {}; }} }} }}",
            gateway.address, gateway.address
        );
        std::fs::write(folder.path().join("nginx.conf"), text).expect("written");
        let child = Command::new(program)
            .arg("-p")
            .arg(folder.path())
            .arg("-c")
            .arg(folder.path().join("nginx.conf"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nginx starts");
        until("nginx listens", || std::net::TcpStream::connect(address).is_ok());
        Some(Self {
            child,
            address,
            _folder: folder,
        })
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let id = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &id]).status().ok();
        self.child.wait().ok();
    }
}

#[test]
fn b016_events_come_through_a_buffering_proxy_one_by_one_before_the_answer() {
    let (upstream, gateway) = &*PAIR;
    let Some(nginx) = Nginx::start(gateway) else { return };
    let session = gateway.session();
    let mut wire = Wire::open(nginx.address);
    wire.write(&gateway.posting(&[&session], slow("1", "\"p\"", "b016").as_bytes()));
    let mut held = upstream.held("\"b016\"");
    held.progress(1);
    let head = wire.head().expect("a response");
    assert_eq!(
        (head.status, head.header("content-type"), head.header("cache-control")),
        (200, Some("text/event-stream"), Some("no-store"))
    );
    let mut event = || {
        let mut text = String::new();
        while !text.ends_with("\n\n") {
            text.push_str(&String::from_utf8(wire.chunk().expect("more")).expect("text"));
        }
        text
    };
    let mut seen = event();
    // Each is read before the next one is said: nothing is held back.
    for done in 2..=3 {
        while !seen.contains(&format!(r#""progress":{}"#, done - 1)) {
            seen = event();
        }
        held.progress(done);
    }
    assert!(event().contains(r#""progress":3"#));
    assert!(held.answer(DONE));
    assert!(event().contains(r#""result""#));

    // The standing stream comes through as well, and it opens before anything is said on it.
    let host = gateway.host();
    let mut standing = Wire::open(nginx.address);
    standing.write(&request("GET /mcp", &[&host, EVENTS, &session], b""));
    assert_eq!(standing.head().expect("a response").status, 200);
}
