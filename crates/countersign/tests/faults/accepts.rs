//! What is accepted from callers and what is asked of servers are two things.

use crate::gateway::{BOTH, Folder, Gateway, JSON, call, modern, rpc};
use crate::http::request;
use crate::upstream::{Era, Script, Upstream};

const ACCEPTED: &str = "application/json, text/event-stream";

fn pair(era: Era) -> (Upstream, Gateway) {
    let upstream = Script::with_tools(era, &["t"]).exact_accept().start();
    let gateway = Gateway::over("surface: direct", &[("u", upstream.address)]);
    (upstream, gateway)
}

#[test]
fn b015_servers_are_asked_for_both_types_whatever_the_caller_accepts() {
    for era in [Era::Legacy, Era::Modern] {
        let (upstream, gateway) = pair(era);
        let (session, host) = (gateway.session(), gateway.host());
        let body = rpc("1", "tools/call", &format!("{{{}}}", call("x_u_t", "{}")));
        let accepts: &[&[&str]] = &[
            &[],
            &["Accept: */*"],
            &["Accept: application/json"],
            &["Accept: text/event-stream"],
            &["Accept: text/event-stream, application/json"],
            &["Accept: application/json;q=0.1, text/*;q=0.9"],
            &["Accept: application/json", "Accept: text/event-stream"],
            &["ACCEPT: Application/JSON"],
        ];
        for accept in accepts {
            let mut lines = vec![host.as_str(), JSON, &session];
            lines.extend(*accept);
            let response = gateway.raw(&request("POST /mcp", &lines, body.as_bytes()));
            assert_eq!(response.status, 200, "{accept:?}");
            assert_eq!(response.result()["content"][0]["text"], "done", "{accept:?}");
        }
        let seen = upstream.seen();
        assert_eq!(upstream.seen_of("tools/call").len(), accepts.len());
        for request in seen {
            assert_eq!(request.headers("accept"), [ACCEPTED], "{}", request.head);
        }
    }
}

#[test]
fn b015_a_caller_that_takes_no_answer_is_told_so_and_the_server_is_not_asked() {
    let (upstream, gateway) = pair(Era::Legacy);
    let (session, host) = (gateway.session(), gateway.host());
    let body = rpc("1", "tools/call", &format!("{{{}}}", call("x_u_t", "{}")));
    for accept in ["Accept: text/html", "Accept: image/*, text/html", "Accept: "] {
        let lines = [host.as_str(), JSON, &session, accept];
        let response = gateway.raw(&request("POST /mcp", &lines, body.as_bytes()));
        assert_eq!(response.status, 406, "{accept}");
        assert!(response.message().contains("accept"), "{}", response.message());
    }
    assert!(upstream.seen_of("tools/call").is_empty());
}

#[test]
fn b015_no_configured_header_takes_the_place_of_the_protocols_own() {
    let upstream = Script::with_tools(Era::Modern, &["t"]).exact_accept().start();
    let address = upstream.address;
    let headers = r#"{"Accept": "*/*", "Content-Type": "text/plain", "X-Team": "blue"}"#;
    let mcp = format!(r#"{{"mcpServers": {{"u": {{"url": "http://{address}/mcp", "headers": {headers}}}}}}}"#);
    let folder = Folder::new("surface: direct", &mcp);
    let checked = folder.run(&["check"]);
    if !checked.status.success() {
        // Refusing such an entry is as good as overruling it, as long as it is named.
        let said = String::from_utf8_lossy(&checked.stderr).to_lowercase();
        assert!(said.contains("accept") || said.contains("content-type"), "{said}");
        return;
    }
    let gateway = folder.serve();
    gateway.listed(1);
    let body = modern("tools/call", &call("x_u_t", "{}"));
    let response = gateway.post(
        &[
            "MCP-Protocol-Version: 2026-07-28",
            "Mcp-Method: tools/call",
            "Mcp-Name: x_u_t",
            BOTH,
        ],
        &body,
    );
    assert_eq!(response.result()["content"][0]["text"], "done");
    let seen = upstream.last_of("tools/call");
    assert_eq!(seen.headers("accept"), [ACCEPTED]);
    assert_eq!(seen.headers("content-type"), ["application/json"]);
    assert_eq!(seen.headers("x-team"), ["blue"]);
}
