//! Requests bent out of shape, byte by byte: each is answered by name or by its status, and harms nobody.

use std::sync::LazyLock;

use crate::gateway::{BOTH, Folder, Gateway, JSON, initialize, rpc};
use crate::http::{Response, Wire};

static GATEWAY: LazyLock<Gateway> = LazyLock::new(|| Folder::new("surface: [meta, direct]", "{}").serve());

/// `ping` in a session, with one text of the request replaced.
fn bent(session: &str, from: &str, to: &str) -> Option<Response> {
    let whole = GATEWAY.posting(&[session], rpc("1", "ping", "").as_bytes());
    let whole = String::from_utf8(whole).expect("text");
    assert!(whole.contains(from), "{from}");
    let mut wire = Wire::open(GATEWAY.address);
    wire.write(whole.replacen(from, to, 1).as_bytes());
    wire.response()
}

#[test]
fn b047_lengths_and_codings_that_two_readers_could_read_differently_are_refused() {
    let session = GATEWAY.session();
    let body = rpc("1", "ping", "");
    let length = format!("Content-Length: {}", body.len());
    let chunked = format!(
        "Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
        body.len()
    );
    let all = format!("{length}\r\n\r\n{body}");
    let refused = [
        (length.as_str(), format!("Content-Length: +{}", body.len())),
        (&length, format!("Content-Length: -{}", body.len())),
        (&length, format!("Content-Length: 0x{:x}", body.len())),
        (&length, format!("{length}, {}", body.len())),
        (&length, format!("{length}\r\nContent-Length: 3")),
        (&length, "Content-Length: 99999999999999999999999".to_owned()),
        (&length, "Content-Length: ".to_owned()),
        (&length, "Content-Length : 5".to_owned()),
        (&all, chunked.replace("chunked", "gzip, chunked")),
        (&all, chunked.replace("chunked", "chunked, identity")),
        (&all, chunked.replace("chunked", "identity")),
        (&all, chunked.replace("chunked", "xchunked")),
        (&all, chunked.replace("chunked", "chunked;q=1")),
        (
            &all,
            chunked.replace("chunked", "chunked\r\nTransfer-Encoding: chunked"),
        ),
        (
            &all,
            chunked.replace(
                &format!("\r\n\r\n{:x}\r\n", body.len()),
                "\r\n\r\nFFFFFFFFFFFFFFFFF\r\n",
            ),
        ),
        (
            &all,
            chunked.replace(&format!("\r\n\r\n{:x}\r\n", body.len()), "\r\n\r\n-5\r\n"),
        ),
        (
            &all,
            chunked.replace(&format!("\r\n\r\n{:x}\r\n", body.len()), "\r\n\r\n\r\n"),
        ),
        ("Accept: ", "Accept: application/json,\r\n ".to_owned()),
        ("Accept: ", "X: a\0b\r\nAccept: ".to_owned()),
        ("Accept: ", "X: a\rb\r\nAccept: ".to_owned()),
        (" HTTP/1.1", " HTTP/1.2".to_owned()),
        (" HTTP/1.1", " HTTP/9.9".to_owned()),
    ];
    for (from, to) in refused {
        let response = bent(&session, from, &to);
        let status = response.map(|response| response.status);
        assert!([Some(400), None].contains(&status), "{to:?}: {status:?}");
    }
    for (from, to) in [
        (all.as_str(), chunked.clone()),
        (&all, chunked.replace("chunked", "Chunked")),
    ] {
        assert_eq!(
            bent(&session, from, &to).map(|response| response.status),
            Some(200),
            "{to:?}"
        );
    }
    assert!(GATEWAY.legacy(&session, "ping", "").result().is_object());
}

#[test]
fn accept_header_and_content_type_are_read_as_http_means_them() {
    let session = GATEWAY.session();
    for (accept, status, events) in [
        ("application/json, text/event-stream", 200, false),
        ("TEXT/EVENT-STREAM", 200, true),
        ("text/event-stream, application/json;q=0", 200, true),
        ("application/json;q=0.5,text/event-stream", 200, false),
        ("*/*", 200, false),
        ("*/*;q=0.1", 200, false),
        ("application/*", 200, false),
        ("text/event-stream;q=0", 406, false),
        ("*/*; q=0.000", 406, false),
        ("text/html", 406, false),
        ("junk/;;,,", 406, false),
    ] {
        let line = format!("Accept: {accept}");
        let response = bent(&session, BOTH, &line).expect("a response");
        assert_eq!(response.status, status, "{accept}");
        if status == 200 {
            let kind = response.header("content-type");
            assert_eq!(kind == Some("text/event-stream"), events, "{accept}: {kind:?}");
            assert!(response.result().is_object(), "{accept}");
        }
    }
    for (kind, status) in [
        ("application/json;charset=UTF-8", 200),
        ("APPLICATION/JSON", 200),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=x", 415),
        ("application/json, text/html", 415),
        ("application/json-seq", 415),
        ("", 415),
    ] {
        let response = bent(&session, JSON, &format!("Content-Type: {kind}")).expect("a response");
        assert_eq!(response.status, status, "{kind}");
    }
}

#[test]
fn b017_a_body_that_is_announced_too_large_is_refused_before_it_is_sent() {
    let host = GATEWAY.host();
    let mut wire = Wire::open(GATEWAY.address);
    let head = format!(
        "POST /mcp HTTP/1.1\r\n{host}\r\n{JSON}\r\n{BOTH}\r\nExpect: 100-continue\r\nContent-Length: 99999999\r\n\r\n"
    );
    wire.write(head.as_bytes());
    let response = wire.response().expect("a response");
    assert_eq!(response.status, 413, "and not 100: {response:?}");
    assert!(response.message().contains("limits.request_bytes"));
}

#[test]
fn messages_that_are_almost_right_are_refused_with_their_id_and_place() {
    let session = GATEWAY.session();
    let post = |body: &str| {
        let response = GATEWAY.post(&[&session], body);
        (
            response.status,
            if response.body.is_empty() { 0 } else { response.code() },
        )
    };
    for id in ["1.5", "1e3", "null", "{}", "[]", "true", "\"\\ud800\""] {
        let (status, code) = post(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
        assert!(
            status == 400 && [-32600, -32700].contains(&code),
            "{id}: {status} {code}"
        );
    }
    for id in [
        "0",
        "-0",
        "123456789012345678901234567890",
        "\"\"",
        "\"\\u0000\"",
        "\"1\"",
    ] {
        let response = GATEWAY.post(
            &[&session],
            &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#),
        );
        let echoed = crate::http::member(response.text(), "id");
        assert_eq!(
            (response.status, echoed.as_str()),
            (200, id),
            "an id comes back as it was written"
        );
    }
    for method in [
        "\"\"",
        "\"Ping\"",
        "\"ping \"",
        "\"ping\\u0000\"",
        "\"initialize\\u0000\"",
        "\"rpc.discover\"",
    ] {
        let (status, code) = post(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":{method}}}"#));
        assert_eq!((status, code), (200, -32601), "{method}");
    }
    let many = "[".repeat(200_000);
    for (body, code) in [
        ("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", -32700),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","id":2}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":null}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, -32602),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":[]}}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"progressToken":{}}}}"#,
            -32602,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#, -32600),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}"#,
            -32600,
        ),
        (r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, -32600),
        (r#"{"id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"} {}"#, -32700),
        (r#"{"jsonrpc":"2.0","id":NaN,"method":"ping"}"#, -32700),
        (r#"{'jsonrpc':'2.0','id':1,'method':'ping'}"#, -32700),
    ] {
        assert_eq!(post(body), (400, code), "{body}");
    }
    assert_eq!(post(&many).0, 400);
    assert_eq!(
        post(r#"{"jsonrpc":"2.0","id":77,"result":{}}"#),
        (202, 0),
        "nobody awaits it"
    );
    assert!(GATEWAY.legacy(&session, "ping", "").result().is_object());
}

#[test]
fn b091_many_requests_in_one_write_and_many_connections_are_all_answered() {
    let session = GATEWAY.session();
    let one = GATEWAY.posting(&[&session], rpc("1", "ping", "").as_bytes());
    let mut wire = Wire::open(GATEWAY.address);
    wire.write(&one.repeat(300));
    for number in 0..300 {
        assert_eq!(wire.response().map(|response| response.status), Some(200), "{number}");
    }
    let mut wires: Vec<Wire> = (0..200).map(|_| Wire::open(GATEWAY.address)).collect();
    for wire in &mut wires {
        wire.write(&one);
    }
    assert!(
        wires
            .iter_mut()
            .all(|wire| wire.response().is_some_and(|response| response.status == 200))
    );
    // Nobody reads what these are answered.
    for _ in 0..20 {
        let mut wire = Wire::open(GATEWAY.address);
        wire.write(&GATEWAY.posting(&[], initialize("2025-11-25").as_bytes()));
        drop(wire);
    }
    assert!(GATEWAY.legacy(&session, "ping", "").result().is_object());
    let log = GATEWAY.log.all();
    assert!(!log.contains("panicked"), "{log}");
}
