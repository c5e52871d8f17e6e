//! What the whole gateway opens at its servers, and leaves behind: sessions and processes.

use std::fs;
use std::net::TcpListener;

use serde_json::json;

use crate::gateway::{Folder, Gateway, catalogue, initialize, until};
use crate::http::request;
use crate::pipes::Pipe;
use crate::upstream::{Era, Script};

#[test]
fn b011_probes_and_callers_use_the_one_session_that_there_is_and_it_is_deleted_at_the_end() {
    let upstream = Script::with_tools(Era::Legacy, &["one"]).start();
    let gateway = Gateway::over("", &[("far", upstream.address)]);
    let host = gateway.host();
    for _ in 0..30 {
        for path in ["GET /health", "GET /ready"] {
            assert_eq!(gateway.raw(&request(path, &[&host], b"")).status, 200);
        }
        gateway.core("core_server_list", "{}");
        gateway.modern("tools/call", Some("x_far_one"), r#""name":"x_far_one","arguments":{}"#);
    }
    let deleted = |seen: &[crate::upstream::Seen]| seen.iter().filter(|seen| seen.http_method() == "DELETE").count();
    assert_eq!(upstream.seen_of("initialize").len(), 1);
    assert_eq!(deleted(&upstream.seen()), 0);
    drop(gateway);
    assert_eq!(deleted(&upstream.seen()), 1, "what was opened is closed");
}

#[test]
fn b026_a_client_over_pipes_is_answered_while_its_server_is_down_and_told_when_it_is_up() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    drop(listener);
    let folder = Folder::new("surface: direct", &catalogue(&[("far", address)]));
    // `open` waits for the answer to `initialize`.
    let mut pipe = Pipe::open(&folder);
    pipe.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    let listed = pipe.ask(br#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    assert!(!listed.to_string().contains("x_far_one"), "{listed}");
    let called =
        pipe.ask(br#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"list_tools","arguments":{}}}"#);
    assert_eq!(called["id"], json!(3), "calls are answered too: {called}");

    let _upstream = Script::with_tools(Era::Legacy, &["one"]).start_at(address);
    pipe.said("notifications/tools/list_changed");
    let listed = pipe.ask(br#"{"jsonrpc":"2.0","id":4,"method":"tools/list"}"#);
    assert!(listed.to_string().contains("x_far_one"), "{listed}");
}

/// A server whose process has a child of its own, as those behind `npx` have.
const WRAPPED: &str = r#"
import json, os, subprocess, sys
helper = subprocess.Popen(["sleep", "1000"])
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method = message["method"]
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "pids", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        result = {"content": [], "structuredContent": {"pids": [os.getpid(), helper.pid], "gateway": os.getppid()}}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

/// Whether a process is there at all, dead ones that nobody has reaped included.
fn is_there(pid: u64) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok()
}

fn is_dead(pid: u64) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "))
}

/// A gateway over the wrapped server.
fn wrapped() -> Gateway {
    let folder = Folder::new("", r#"{"mcpServers": {}}"#);
    let script = folder.dir.join("wrapped.py");
    fs::write(&script, WRAPPED).expect("written");
    let python = &*crate::pipes::PYTHON;
    let entry = json!({"mcpServers": {"kid": {"command": python, "args": ["-I", script]}}});
    folder.write("mcp.json", &entry.to_string());
    let gateway = folder.serve();
    gateway.listed(1);
    gateway
}

#[test]
fn b051_fifty_sessions_that_nobody_ends_share_one_process_group_and_leave_none() {
    let gateway = wrapped();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..50 {
        let response = gateway.post(&[], &initialize("2025-11-25"));
        let session = format!(
            "Mcp-Session-Id: {}",
            response.header("mcp-session-id").expect("a session")
        );
        let called = gateway.legacy(&session, "tools/call", r#"{"name":"x_kid_pids","arguments":{}}"#);
        let pids = called.result()["structuredContent"]["pids"].clone();
        seen.extend(
            pids.as_array()
                .expect("pids")
                .iter()
                .filter_map(serde_json::Value::as_u64),
        );
    }
    assert_eq!(seen.len(), 2, "one server and its own child: {seen:?}");
    assert!(seen.iter().all(|pid| is_there(*pid) && !is_dead(*pid)), "they live");
    drop(gateway);
    // The helper's new parent reaps it.
    until("the whole group is gone", || {
        seen.iter().all(|pid| !is_there(*pid) || is_dead(*pid))
    });
}

#[test]
fn b051_a_gateway_that_is_killed_leaves_no_process_of_its_servers() {
    let gateway = wrapped();
    let called = gateway.modern(
        "tools/call",
        Some("x_kid_pids"),
        r#""name":"x_kid_pids","arguments":{}"#,
    );
    let told = called.result()["structuredContent"].clone();
    let killed = std::process::Command::new("kill")
        .args(["-KILL", &told["gateway"].to_string()])
        .status();
    assert!(killed.expect("kill runs").success());
    let pids: Vec<u64> = told["pids"]
        .as_array()
        .expect("pids")
        .iter()
        .filter_map(serde_json::Value::as_u64)
        .collect();
    assert_eq!(pids.len(), 2);
    // The server ends with its input; its helper knows nothing of that.
    until("the whole group is gone", || {
        pids.iter().all(|pid| !is_there(*pid) || is_dead(*pid))
    });
}
