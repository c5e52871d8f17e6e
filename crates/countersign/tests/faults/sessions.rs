//! Sessions: whose they are, and what may come before they are settled.

use std::sync::{Arc, Barrier, LazyLock};

use crate::gateway::{Folder, Gateway, call, initialize, rpc};
use crate::http::{Wire, request};
use crate::pipes::Pipe;
use crate::upstream::{Era, Script, Upstream};

static PAIR: LazyLock<(Upstream, Gateway)> = LazyLock::new(|| {
    let upstream = Script::with_tools(Era::Legacy, &["t"]).start();
    let gateway = Gateway::over("surface: direct", &[("u", upstream.address)]);
    (upstream, gateway)
});

#[test]
fn b008_ids_of_others_unknown_ids_and_garbage_are_404_and_in_the_trail() {
    let (upstream, gateway) = &*PAIR;
    let other = Folder::new("", "{}").serve();
    let own = gateway.session();
    let foreign = other.session();
    let id = own.trim_start_matches("Mcp-Session-Id: ");
    let ids = [
        foreign.trim_start_matches("Mcp-Session-Id: ").to_owned(),
        "00000000-dead-beef-0000-000000000000".to_owned(),
        "0".repeat(64),
        id.to_uppercase(),
        format!("{id}0"),
        id[..63].to_owned(),
        format!("{id}, {id}"),
        format!("\"{id}\""),
        "../../etc/passwd".to_owned(),
        "' OR 1=1 --".to_owned(),
        "*".to_owned(),
        "null".to_owned(),
        "upstream-session-1".to_owned(),
        "a".repeat(10_000),
    ];
    let host = gateway.host();
    let body = rpc("1", "tools/call", &format!("{{{}}}", call("x_u_t", "{}")));
    for id in &ids {
        let line = format!("Mcp-Session-Id: {id}");
        let response = gateway.post(&[&line], &body);
        assert_eq!(response.status, 404, "{id}: {response:?}");
        assert_eq!(response.json()["id"], 1);
        assert!(!response.answer().contains(id.as_str()), "the id is not said back");
        let notice = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(gateway.post(&[&line], notice).status, 404, "{id}");
        assert_eq!(
            gateway.exchange("DELETE /mcp", &[&host, &line], b"").status,
            404,
            "{id}"
        );
        let stream = gateway.exchange("GET /mcp", &[&host, &line, "Accept: text/event-stream"], b"");
        assert_eq!(stream.status, 405, "{id}");
    }
    let empty = gateway.post(&["Mcp-Session-Id:"], &body);
    assert!([400, 404].contains(&empty.status), "{empty:?}");
    let huge = format!("Mcp-Session-Id: {}", "a".repeat(20_000));
    assert_eq!(gateway.post(&[&huge], &body).status, 431);
    assert!(
        upstream
            .seen_of("tools/call")
            .iter()
            .all(|seen| !seen.body.contains("etc/passwd"))
    );

    let trail = gateway.trail();
    let refused: Vec<_> = trail
        .iter()
        .filter(|entry| entry["kind"] == "session_refused")
        .collect();
    assert!(refused.len() >= ids.len(), "{refused:?}");
    for method in ["POST", "GET", "DELETE"] {
        assert!(refused.iter().any(|entry| entry["method"] == method), "{method}");
    }
    let trail = serde_json::to_string(&trail).expect("JSON");
    assert!(
        ids.iter()
            .filter(|id| id.len() >= 63)
            .all(|id| !trail.contains(id.as_str())),
        "no id is kept"
    );
}

#[test]
fn b008_a_session_serves_no_other_endpoint_and_no_other_road() {
    let (_, gateway) = &*PAIR;
    let (session, host) = (gateway.session(), gateway.host());
    let list = rpc("1", "tools/list", "{}");
    for path in [
        "/mcp/w/team/reader",
        "/mcp/",
        "//mcp",
        "/MCP",
        "/mcp/x",
        "/",
        "/mcp%2f",
        "/%6dcp",
        "/mcp;x=1",
    ] {
        for method in ["POST", "GET", "DELETE"] {
            let lines = [
                host.as_str(),
                "Content-Type: application/json",
                "Accept: text/event-stream",
                &session,
            ];
            let response = gateway.exchange(&format!("{method} {path}"), &lines, list.as_bytes());
            assert_eq!(response.status, 404, "{method} {path}");
            assert!(!response.text().contains("tools"), "{}", response.text());
        }
    }
    // A modern request has no session: the header gives nothing and takes nothing.
    let lines = [
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Method: tools/list",
        session.as_str(),
    ];
    assert_eq!(gateway.post(&lines, &list).status, 400, "the metadata is still missing");
    assert!(
        gateway
            .legacy(&session, "tools/list", "{}")
            .result()
            .to_string()
            .contains("x_u_t"),
        "it stands"
    );
}

#[test]
fn b008_a_session_that_ended_is_gone_for_every_connection() {
    let (_, gateway) = &*PAIR;
    let (session, host) = (gateway.session(), gateway.host());
    let mut wire = Wire::open(gateway.address);
    let ping = gateway.posting(&[&session], rpc("1", "ping", "").as_bytes());
    wire.write(&ping);
    assert_eq!(wire.response().expect("a response").status, 200);
    assert_eq!(gateway.exchange("DELETE /mcp", &[&host, &session], b"").status, 204);
    wire.write(&ping);
    assert_eq!(wire.response().expect("a response").status, 404);
}

#[test]
fn b008_session_ids_are_never_guessable_from_one_another() {
    let (_, gateway) = &*PAIR;
    let ids: std::collections::BTreeSet<String> = (0..50).map(|_| gateway.session()).collect();
    assert_eq!(ids.len(), 50);
    for id in &ids {
        let id = id.trim_start_matches("Mcp-Session-Id: ");
        assert!(
            id.len() >= 32 && id.len() <= 128 && id.bytes().all(|byte| byte.is_ascii_graphic()),
            "{id}"
        );
    }
}

#[test]
fn b091_thirty_two_clients_at_once_each_get_every_answer() {
    let (upstream, gateway) = &*PAIR;
    let start = Arc::new(Barrier::new(32));
    let address = gateway.address;
    let before = upstream.seen_of("initialize").len();
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..32)
            .map(|number| {
                let start = Arc::clone(&start);
                scope.spawn(move || client(gateway, &mut Wire::open(address), &start, number))
            })
            .collect();
        for client in clients {
            client.join().expect("a client that got its answers");
        }
    });
    assert!(
        upstream.seen_of("initialize").len() <= before + 1,
        "one connection serves them all"
    );
}

/// One client: a third sends in order, a third pipelines, a third asks before it says that it is ready.
fn client(gateway: &Gateway, wire: &mut Wire, start: &Barrier, number: usize) {
    start.wait();
    wire.write(&gateway.posting(&[], initialize("2025-11-25").as_bytes()));
    let response = wire.response().expect("no reset");
    assert_eq!(response.status, 200, "client {number}");
    let session = format!("Mcp-Session-Id: {}", response.header("mcp-session-id").expect("an id"));
    let initialized = gateway.posting(
        &[&session],
        br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    );
    let list = gateway.posting(&[&session], rpc("2", "tools/list", "{}").as_bytes());
    let params = format!("{{{}}}", call("x_u_t", &format!(r#"{{"client":{number}}}"#)));
    let calling = gateway.posting(&[&session], rpc("3", "tools/call", &params).as_bytes());
    let order = match number % 3 {
        0 | 1 => [("initialized", &initialized), ("list", &list), ("call", &calling)],
        _ => [("list", &list), ("call", &calling), ("initialized", &initialized)],
    };
    if number % 3 == 1 {
        wire.write(
            &order
                .iter()
                .flat_map(|(_, bytes)| bytes.iter().copied())
                .collect::<Vec<u8>>(),
        );
    }
    for (what, bytes) in order {
        if number % 3 != 1 {
            wire.write(bytes);
        }
        let response = wire
            .response()
            .unwrap_or_else(|| panic!("client {number}: reset at {what}"));
        match what {
            "initialized" => assert_eq!(response.status, 202, "client {number}"),
            "list" => assert!(response.result().to_string().contains("x_u_t"), "client {number}"),
            _ => assert_eq!(response.result()["content"][0]["text"], "done", "client {number}"),
        }
    }
}

#[test]
fn b091_handshakes_written_byte_by_byte_are_served() {
    let (_, gateway) = &*PAIR;
    let mut wire = Wire::open(gateway.address);
    wire.dribble(&gateway.posting(&[], initialize("2025-06-18").as_bytes()));
    assert_eq!(
        wire.response().expect("a response").result()["protocolVersion"],
        "2025-06-18"
    );
}

#[test]
fn b091_a_gateway_whose_servers_are_still_starting_initializes_at_once() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("binds");
    let address = silent.local_addr().expect("bound");
    let mcp = crate::gateway::catalogue(&[("silent", address)]);
    let gateway = Folder::new("surface: meta", &mcp).serve();
    // The server takes connections and never answers: none of this may wait for it.
    let session = gateway.session();
    let notice = gateway.post(&[&session], r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!(notice.status, 202);
    assert!(
        gateway
            .legacy(&session, "tools/list", "{}")
            .result()
            .to_string()
            .contains("call_tool")
    );
    assert!(gateway.legacy(&session, "ping", "").result().is_object());
    let host = gateway.host();
    assert_eq!(gateway.raw(&request("GET /health", &[&host], b"")).status, 200);
    drop(silent);
}

#[test]
fn b008_a_caller_cannot_choose_the_id_of_its_session() {
    let (_, gateway) = &*PAIR;
    let other = gateway.session();
    for chosen in [other.as_str(), "Mcp-Session-Id: chosen-by-the-caller"] {
        let response = gateway.post(&[chosen], &initialize("2025-11-25"));
        assert_eq!(response.status, 200);
        let given = format!("Mcp-Session-Id: {}", response.header("mcp-session-id").expect("an id"));
        assert_ne!(given, chosen);
    }
    assert!(
        gateway.legacy(&other, "ping", "").result().is_object(),
        "the other session stands"
    );
}

#[test]
fn b091_a_whole_handshake_in_one_write_over_pipes_is_answered() {
    let folder = Folder::new("surface: direct", &crate::gateway::catalogue(&[("u", PAIR.0.address)]));
    let mut pipe = Pipe::open(&folder);
    let initialize = initialize("2025-06-18").replacen("\"id\":0", "\"id\":10", 1);
    let lines = [
        initialize,
        rpc("11", "tools/list", "{}"),
        rpc("12", "tools/call", &format!("{{{}}}", call("x_u_t", "{}"))),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
        rpc("13", "ping", ""),
    ];
    pipe.write(format!("{}\n", lines.join("\n")).as_bytes());
    let mut ids = Vec::new();
    for _ in 0..4 {
        let answer = pipe.answer();
        assert!(answer.get("result").is_some(), "{answer}");
        ids.push(answer["id"].as_i64().expect("an id"));
    }
    ids.sort_unstable();
    assert_eq!(ids, [10, 11, 12, 13]);
}
