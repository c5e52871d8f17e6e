//! Headers of callers: bounded, read once, and none of them travels on.

use std::sync::LazyLock;

use crate::gateway::{BOTH, Gateway, JSON, MODERN, call, initialize, modern, rpc};
use crate::http::{Response, Wire, request};
use crate::upstream::{Era, Script, Upstream};

const TOOLS: &str = r#"{"tools":[
 {"name":"plain","inputSchema":{"type":"object"}},
 {"name":"mirrors","inputSchema":{"type":"object","properties":{
  "region":{"type":"string","x-mcp-header":"Region"},
  "count":{"type":"integer","x-mcp-header":"Count"},
  "dry":{"type":"boolean","x-mcp-header":"Dry"}}}},
 {"name":"steals","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"X\r\nX-Admin"}}}},
 {"name":"takes","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"Authorization"}}}}
]}"#;

static PAIR: LazyLock<(Upstream, Gateway)> = LazyLock::new(|| {
    let upstream = Script::new(Era::Modern).answer("tools/list", TOOLS).start();
    let legacy = Script::with_tools(Era::Legacy, &["t"]).start();
    let gateway = Gateway::over(
        "surface: [meta, direct]",
        &[("u", upstream.address), ("old", legacy.address)],
    );
    LEGACY.set(legacy).ok();
    (upstream, gateway)
});
static LEGACY: std::sync::OnceLock<Upstream> = std::sync::OnceLock::new();

/// A modern call of a tool with some more header lines.
fn calling(name: &str, arguments: &str, more: &[&str]) -> Response {
    let named = format!("Mcp-Name: {name}");
    let mut lines = vec![MODERN, "Mcp-Method: tools/call", &named];
    lines.extend(more);
    PAIR.1.post(&lines, &modern("tools/call", &call(name, arguments)))
}

/// What a caller may send and no server may get.
const FORGED: &[&str] = &[
    "Authorization: Bearer caller-token",
    "Proxy-Authorization: Basic Y2FsbGVyLXRva2Vu",
    "Cookie: sid=caller-token",
    "X-Admin: 1",
    "X-Forwarded-For: 6.6.6.6",
    "X-Forwarded-Host: evil.example",
    "Forwarded: host=evil.example",
    "Via: 1.1 evil",
    "X-Api-Key: caller-token",
    "Referer: http://evil.example/caller-token",
    "User-Agent: caller-token",
    "Keep-Alive: timeout=1",
    "TE: trailers",
    "Trailer: X-Admin",
    "Upgrade: h2c",
    "Proxy-Connection: keep-alive",
    "X-Foo: bar",
    "Mcp-Param-Region: forged",
    "Mcp-Param-Admin: forged",
    "Last-Event-ID: forged",
    "Traceparent: 00-forged",
    "Accept-Encoding: gzip",
    "X-HTTP-Method-Override: DELETE",
];

#[test]
fn b047_nothing_of_a_callers_headers_reaches_a_server() {
    let (upstream, gateway) = &*PAIR;
    let session = gateway.session();
    let mut modern_lines: Vec<&str> = FORGED.to_vec();
    modern_lines.extend([
        "Connection: keep-alive, X-Foo, Mcp-Method, Authorization",
        "Mcp-Session-Id: forged",
    ]);
    assert_eq!(
        calling("x_u_plain", "{}", &modern_lines).result()["content"][0]["text"],
        "done"
    );
    let mut legacy_lines: Vec<&str> = FORGED.to_vec();
    legacy_lines.extend([
        "Connection: X-Foo",
        "Mcp-Method: forged",
        "Mcp-Name: forged",
        session.as_str(),
    ]);
    for tool in ["x_u_plain", "x_old_t"] {
        let body = rpc("1", "tools/call", &format!("{{{}}}", call(tool, "{}")));
        assert_eq!(
            gateway.post(&legacy_lines, &body).result()["content"][0]["text"],
            "done",
            "{tool}"
        );
    }

    let allowed = [
        "host",
        "user-agent",
        "accept",
        "content-type",
        "content-length",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "mcp-session-id",
    ];
    for server in [upstream, LEGACY.get().expect("started")] {
        for seen in server.seen() {
            for name in seen.header_names() {
                assert!(
                    allowed.contains(&name.as_str()) || name.starts_with("mcp-param-"),
                    "{}",
                    seen.head
                );
            }
            let head = seen.head.to_lowercase();
            assert!(
                !head.contains("forged") && !head.contains("caller-token") && !head.contains("evil"),
                "{head}"
            );
            assert_eq!(seen.headers("host"), [server.address.to_string()]);
        }
    }
    let seen = upstream.wait("the call", |seen| seen.headers("mcp-name") == ["plain"]);
    assert_eq!(seen.headers("mcp-method"), ["tools/call"]);
    assert_eq!(
        seen.headers("mcp-session-id"),
        Vec::<&str>::new(),
        "2026-07-28 has none"
    );
    let seen = LEGACY.get().expect("started").last_of("tools/call");
    assert_eq!(seen.headers("mcp-session-id"), ["upstream-session-1"]);
    assert_eq!(seen.headers("mcp-name"), Vec::<&str>::new());
}

#[test]
fn b047_mirrored_arguments_are_coded_so_that_no_value_ends_its_line() {
    let (upstream, gateway) = &*PAIR;
    let session = gateway.session();
    let values = [
        ("eu", "eu"),
        ("a\\r\\nX-Admin: 1", "=?base64?YQ0KWC1BZG1pbjogMQ==?="),
        ("a\\nX-Admin: 1", "=?base64?YQpYLUFkbWluOiAx?="),
        ("a\\rb", "=?base64?YQ1i?="),
        ("\\u0000", "=?base64?AA==?="),
        ("a\\u007f", "=?base64?YX8=?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
        ("\u{10e}\u{6f22}", "=?base64?xI7msaI=?="),
        ("", ""),
    ];
    for (value, header) in values {
        let arguments = format!(r#"{{"region":"{value}","count":3,"dry":true}}"#);
        // A legacy caller mirrors nothing itself; the gateway does towards the server.
        let body = rpc("1", "tools/call", &format!("{{{}}}", call("x_u_mirrors", &arguments)));
        assert_eq!(
            gateway.post(&[&session], &body).result()["content"][0]["text"],
            "done",
            "{value}"
        );
        let seen = upstream
            .seen_of("tools/call")
            .into_iter()
            .rfind(|seen| seen.param(&["name"]) == "\"mirrors\"");
        let seen = seen.expect("the call");
        if !value.contains('\u{10e}') {
            assert_eq!(seen.headers("mcp-param-region"), [header], "{value}: {}", seen.head);
        }
        assert_eq!(seen.headers("mcp-param-count"), ["3"]);
        assert_eq!(seen.headers("mcp-param-dry"), ["true"]);
        assert!(seen.headers("x-admin").is_empty(), "{}", seen.head);
        // A modern caller must mirror them itself, coded alike.
        let line = format!("Mcp-Param-Region: {}", seen.headers("mcp-param-region")[0]);
        let response = calling(
            "x_u_mirrors",
            &arguments,
            &[&line, "Mcp-Param-Count: 3", "Mcp-Param-Dry: true"],
        );
        assert_eq!(response.result()["content"][0]["text"], "done", "{value}");
    }
}

#[test]
fn b047_mirrored_headers_that_lie_are_refused_and_reach_no_server() {
    let (upstream, _) = &*PAIR;
    let arguments = r#"{"region":"lies-eu","count":3}"#;
    let good = ["Mcp-Param-Region: lies-eu", "Mcp-Param-Count: 3"];
    let cases: &[&[&str]] = &[
        &[],
        &["Mcp-Param-Region: lies-us", good[1]],
        &[good[0]],
        &[good[0], "Mcp-Param-Count: 4"],
        &[good[0], good[0], good[1]],
        &[good[0], "Mcp-Param-Region: lies-us", good[1]],
        &[good[0], good[1], "Mcp-Param-Dry: true"],
        &["Mcp-Param-Region: =?base64?***?=", good[1]],
        &["Mcp-Param-Region: =?base64?bGllcy11cw==?=", good[1]],
        &["Mcp-Param-Region: =?BASE64?bGllcy1ldQ==?=", good[1]],
        &[good[0], "Mcp-Param-Count: 3, 3"],
    ];
    for more in cases {
        let response = calling("x_u_mirrors", arguments, more);
        assert_eq!((response.status, response.code()), (400, -32020), "{more:?}");
    }
    assert!(
        !upstream
            .seen_of("tools/call")
            .iter()
            .any(|seen| seen.body.contains("lies-"))
    );
}

#[test]
fn b047_header_names_that_a_server_picks_cannot_end_their_line_or_take_a_credentials_place() {
    let (upstream, gateway) = &*PAIR;
    let session = gateway.session();
    for tool in ["x_u_steals", "x_u_takes"] {
        let body = rpc("1", "tools/call", &format!("{{{}}}", call(tool, r#"{"a":"picked"}"#)));
        gateway.post(&[&session], &body);
    }
    for seen in upstream.seen() {
        assert!(
            seen.headers("x-admin").is_empty() && seen.headers("authorization").is_empty(),
            "{}",
            seen.head
        );
    }
}

#[test]
fn b047_headers_of_the_protocol_may_not_stand_twice_and_must_be_text() {
    let (upstream, gateway) = &*PAIR;
    let (session, host) = (gateway.session(), gateway.host());
    let list = rpc("1", "tools/list", "{}");
    let doubles: &[[&str; 2]] = &[
        [&session, &session],
        [&session, "Mcp-Session-Id: 0123"],
        ["MCP-Protocol-Version: 2025-11-25", "MCP-Protocol-Version: 2025-11-25"],
        ["MCP-Protocol-Version: 2025-11-25", "mcp-protocol-version: 2026-07-28"],
        ["Mcp-Name: a", "Mcp-Name: a"],
        ["Mcp-Method: tools/list", "Mcp-Method: tools/call"],
        ["X-Countersign-Surface: meta", "X-Countersign-Surface: direct"],
    ];
    for pair in doubles {
        let mut lines = vec![session.as_str()];
        lines.retain(|line| !pair.contains(line));
        lines.extend(pair);
        let response = gateway.post(&lines, &list);
        assert_eq!(response.status, 400, "{pair:?}");
        assert!(response.message().contains("more than once"), "{}", response.message());
    }
    for line in ["Content-Type: application/json", "Content-Type: text/plain"] {
        assert_eq!(gateway.post(&[&session, line], &list).status, 415, "doubled {line}");
    }
    for name in ["Mcp-Session-Id", "Mcp-Name", "Mcp-Method", "MCP-Protocol-Version"] {
        let mut bytes = format!("POST /mcp HTTP/1.1\r\n{host}\r\n{JSON}\r\n{BOTH}\r\n{name}: ").into_bytes();
        bytes.extend_from_slice(&[0xff, 0xfe]);
        bytes.extend_from_slice(format!("\r\nContent-Length: {}\r\n\r\n{list}", list.len()).as_bytes());
        assert_eq!(gateway.raw(&bytes).status, 400, "{name}");
    }
    assert!(
        upstream
            .seen_of("tools/call")
            .iter()
            .all(|seen| !seen.body.contains("\"cursor\""))
    );
}

#[test]
fn b047_names_in_headers_are_compared_decoded_and_never_written_back_raw() {
    let name = "a\\r\\nX-Admin: 1";
    let body = modern("tools/call", &call(name, "{}"));
    let lines = [
        MODERN,
        "Mcp-Method: tools/call",
        "Mcp-Name: =?base64?YQ0KWC1BZG1pbjogMQ==?=",
    ];
    let response = PAIR.1.post(&lines, &body);
    assert_eq!(response.code(), -32602, "{response:?}");
    assert!(response.header("x-admin").is_none());
    for lie in [
        "Mcp-Name: a",
        "Mcp-Name: a X-Admin: 1",
        "Mcp-Name: =?base64?YQ==?=",
        "Mcp-Name: =?base64?!?=",
    ] {
        let response = PAIR.1.post(&[MODERN, "Mcp-Method: tools/call", lie], &body);
        assert_eq!((response.status, response.code()), (400, -32020), "{lie}");
    }
}

#[test]
fn b047_headers_are_bounded_in_number_and_size_before_the_body_is_parsed() {
    let (_, gateway) = &*PAIR;
    let host = gateway.host();
    let many: Vec<String> = (0..300).map(|number| format!("X-Many-{number}: {number}")).collect();
    let same: Vec<String> = (0..300).map(|_| "X-Same: 1".to_owned()).collect();
    let long = vec![format!("X-Long: {}", "a".repeat(64 * 1024))];
    let longer = vec![format!("X-Longer: {}", "a".repeat(1024 * 1024))];
    let name = vec![format!("{}: 1", "n".repeat(64 * 1024))];
    let sum: Vec<String> = (0..60)
        .map(|number| format!("X-Sum-{number}: {}", "a".repeat(2000)))
        .collect();
    for lines in [many, same, long, longer, name, sum] {
        let mut all = vec![host.as_str(), JSON, BOTH];
        all.extend(lines.iter().map(String::as_str));
        let response = gateway.exchange("POST /mcp", &all, b"{not json");
        assert!(
            [431, 400].contains(&response.status),
            "{}: {response:?}",
            &lines[0][..20]
        );
        assert_ne!(response.header("content-type"), Some("text/event-stream"));
        assert!(
            !String::from_utf8_lossy(&response.body).contains("JSON at"),
            "the body was not parsed"
        );
    }
    let target = format!("GET /{} HTTP/1.1\r\n{host}\r\n\r\n", "a".repeat(200_000));
    assert!([414, 431, 400].contains(&gateway.raw(target.as_bytes()).status));
    let fits: Vec<String> = (0..40)
        .map(|number| format!("X-Fits-{number}: {}", "a".repeat(500)))
        .collect();
    let lines: Vec<&str> = fits.iter().map(String::as_str).collect();
    assert_eq!(gateway.post(&lines, &initialize("2025-11-25")).status, 200);
}

/// Requests that two readers could cut in two ways. Each is refused, or its connection ends with it: what follows is
/// never taken for a request.
#[test]
fn b047_a_request_with_two_lengths_is_the_last_of_its_connection() {
    let (_, gateway) = &*PAIR;
    let host = gateway.host();
    let body = initialize("2025-11-25");
    let chunked = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let smuggled = format!("GET /smuggled HTTP/1.1\r\n{host}\r\n\r\n");
    let length = body.len();
    let heads = [
        format!("Transfer-Encoding: chunked\r\nContent-Length: {length}"),
        format!("Content-Length: {length}\r\nTransfer-Encoding: chunked"),
        "Content-Length: 4\r\nTransfer-Encoding: chunked".to_owned(),
        "Transfer-Encoding: chunked\r\nContent-Length: 4".to_owned(),
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity".to_owned(),
        "Transfer-Encoding: identity, chunked".to_owned(),
        "Transfer-Encoding: chunked, chunked".to_owned(),
        "Transfer-Encoding: xchunked".to_owned(),
        "Transfer-Encoding: chunked, gzip".to_owned(),
        "Transfer-Encoding : chunked".to_owned(),
        "Transfer-Encoding:\u{b}chunked".to_owned(),
        "Transfer-Encoding: \u{0}chunked".to_owned(),
        "X: y\r\n Transfer-Encoding: chunked".to_owned(),
        format!("Content-Length: {length}\r\nContent-Length: {}", length + 1),
        format!("Content-Length: {length}, {length}"),
        format!("Content-Length: +{length}"),
        format!("Content-Length: -{length}"),
        format!("Content-Length: 0x{length:x}"),
        format!("Content-Length: {length}\u{0}"),
        "Content-Length: ".to_owned(),
        "Content-Length: 99999999999999999999".to_owned(),
    ];
    for lines in heads {
        let mut wire = Wire::open(gateway.address);
        let request = format!("POST /mcp HTTP/1.1\r\n{host}\r\n{JSON}\r\n{BOTH}\r\n{lines}\r\n\r\n");
        let is_chunked = lines.to_lowercase().contains("transfer-encoding");
        wire.write(
            &[
                request.as_bytes(),
                if is_chunked { &chunked } else { &body }.as_bytes(),
                smuggled.as_bytes(),
            ]
            .concat(),
        );
        let first = wire.response();
        let status = first.as_ref().map(|response| response.status);
        assert!(matches!(status, Some(200 | 400..=499) | None), "{lines:?}: {first:?}");
        if let Some(second) = wire.response() {
            panic!("{lines:?}: {status:?} and then {}", second.status);
        }
    }
}

#[test]
fn b047_lines_that_are_no_headers_are_refused() {
    let (_, gateway) = &*PAIR;
    let (session, host) = (gateway.session(), gateway.host());
    let list = rpc("1", "tools/list", "{}");
    let lines = [
        " X-Folded: first",
        "X-Fold: a\r\n b",
        "X-Fold: a\r\n\tMcp-Session-Id: b",
        "X-Nul: a\u{0}b",
        "X-Nul\u{0}: a",
        "X-Bare: a\rX-Admin: 1",
        "X Space: a",
        "X-Space : a",
        ": nameless",
        "no colon",
        "X-Control: a\u{1}b",
        "X-Delete: a\u{7f}b",
        "X-\u{e9}: a",
    ];
    for line in lines {
        let bytes = request("POST /mcp", &[&host, JSON, BOTH, &session, line], list.as_bytes());
        let mut wire = Wire::open(gateway.address);
        wire.write(&bytes);
        let status = wire.response().map(|response| response.status);
        assert!(matches!(status, Some(400..=499) | None), "{line:?}: {status:?}");
    }
    for version in ["HTTP/0.9", "HTTP/2.0", "HTTP/1.2", "HTTP/9.9", "http/1.1", "HTTP/1.1 X"] {
        let mut wire = Wire::open(gateway.address);
        wire.write(format!("GET /health {version}\r\n{host}\r\n\r\n").as_bytes());
        let status = wire.response().map(|response| response.status);
        assert!(matches!(status, Some(400..=505) | None), "{version}: {status:?}");
    }
}

#[test]
fn b047_chunked_bodies_are_read_whole() {
    let (_, gateway) = &*PAIR;
    let host = gateway.host();
    let body = initialize("2025-11-25");
    let chunks: String = body
        .as_bytes()
        .chunks(7)
        .map(|chunk| format!("{:x};ext=1\r\n{}\r\n", chunk.len(), String::from_utf8_lossy(chunk)))
        .collect();
    let bytes = format!(
        "POST /mcp HTTP/1.1\r\n{host}\r\n{JSON}\r\n{BOTH}\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}0\r\nX-Trailer: forged\r\n\r\n"
    );
    assert_eq!(gateway.raw(bytes.as_bytes()).status, 200);
    let broken = format!(
        "POST /mcp HTTP/1.1\r\n{host}\r\n{JSON}\r\n{BOTH}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{body}\r\n0\r\n\r\n"
    );
    assert_eq!(gateway.raw(broken.as_bytes()).status, 400);
}

#[test]
fn b047_pipelined_requests_are_answered_in_order() {
    let (_, gateway) = &*PAIR;
    let session = gateway.session();
    let mut wire = Wire::open(gateway.address);
    let requests: Vec<u8> = (0..20)
        .flat_map(|id| gateway.posting(&[&session], rpc(&id.to_string(), "ping", "").as_bytes()))
        .collect();
    wire.write(&requests);
    for id in 0..20 {
        assert_eq!(wire.response().expect("a response").json()["id"], id);
    }
}

#[test]
fn b047_a_header_that_asks_for_an_unknown_narrowing_is_refused_and_not_ignored() {
    let (_, gateway) = &*PAIR;
    let session = gateway.session();
    for header in ["X-Countersign-Specialist: ", "x-countersign-specialist: a"] {
        let response = gateway.post(&[&session, header], &rpc("1", "tools/list", "{}"));
        assert_eq!(response.status, 400, "{header}");
        assert!(response.message().contains("not supported"), "{}", response.message());
    }
}

#[test]
fn b047_no_header_of_a_server_reaches_a_caller() {
    let lines = "Set-Cookie: sid=of-the-server\r\nAccess-Control-Allow-Origin: *\r\nLocation: http://evil.example\r\n\
                 WWW-Authenticate: Bearer realm=evil\r\nX-Evil: 1\r\nMcp-Session-Id: of-the-server\r\nServer: evil\r\n";
    let upstream = Script::with_tools(Era::Legacy, &["t"]).head(lines).start();
    let gateway = Gateway::over("surface: direct", &[("u", upstream.address)]);
    let session = gateway.session();
    let response = gateway.legacy(&session, "tools/call", &format!("{{{}}}", call("x_u_t", "{}")));
    assert_eq!(response.result()["content"][0]["text"], "done");
    let known = [
        "cache-control",
        "x-content-type-options",
        "content-type",
        "content-length",
        "date",
    ];
    for (name, _) in &response.headers {
        assert!(known.contains(&name.as_str()), "{name}");
    }
}

#[test]
fn b047_names_of_prompts_and_resources_in_headers_must_be_those_of_the_body() {
    for (method, params, good) in [
        ("prompts/get", r#""name":"p""#, "p"),
        ("resources/read", r#""uri":"test://r""#, "test://r"),
        ("resources/read", r#""uri":"test://\u00e9""#, "=?base64?dGVzdDovL8Op?="),
    ] {
        for lie in ["Mcp-Name: other", "Mcp-Name:", "X-Nothing: 1"] {
            let lines = [MODERN, &format!("Mcp-Method: {method}"), lie];
            let response = PAIR.1.post(&lines, &modern(method, params));
            assert_eq!((response.status, response.code()), (400, -32020), "{method} {lie}");
        }
        let lines = [MODERN, "Mcp-Method: tools/call", &format!("Mcp-Name: {good}")];
        let response = PAIR.1.post(&lines, &modern(method, params));
        assert_eq!(
            (response.status, response.code()),
            (400, -32020),
            "{method} under another method"
        );
    }
}
