//! Text of every kind, in every piece, on every road; what is no text is answered and never met with silence.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::gateway::{Folder, Gateway, call, rpc};
use crate::http::{Wire, member};
use crate::pipes::{Pipe, lines_of, server};
use crate::upstream::{Era, Script};

/// A gateway over HTTP in front of a server over pipes, which writes byte by byte.
static GATEWAY: LazyLock<Gateway> = LazyLock::new(|| {
    let folder = Folder::new("surface: [meta, direct]", "{}");
    let entry = server(&folder.home, "s", "");
    folder.write("mcp.json", &format!(r#"{{"mcpServers": {{"s": {{{entry}}}}}}}"#));
    let gateway = folder.serve();
    gateway.listed(1);
    gateway
});

/// JSON strings, each with what it stands for.
const TEXTS: &[(&str, &str)] = &[
    (
        "\u{110} \u{d7} \u{2605} \u{6f22}\u{5b57} \\ud83d\\ude00",
        "\u{110} \u{d7} \u{2605} \u{6f22}\u{5b57} \u{1f600}",
    ),
    (
        "\u{1f600}\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}",
        "\u{1f600}\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}",
    ),
    ("a\u{2028}b\u{2029}c\u{85}d", "a\u{2028}b\u{2029}c\u{85}d"),
    ("\\u2028\\u2029", "\u{2028}\u{2029}"),
    ("nul \\u0000 end", "nul \u{0} end"),
    (
        "\\u0001\\u001f\\u007f\u{7f}\\b\\f\\n\\r\\t",
        "\u{1}\u{1f}\u{7f}\u{7f}\u{8}\u{c}\n\r\t",
    ),
    ("\\\" \\\\ \\/", "\" \\ /"),
    (
        "\u{feff}bom \u{fffd} \u{fffe} \u{ffff}",
        "\u{feff}bom \u{fffd} \u{fffe} \u{ffff}",
    ),
    (
        "\u{202e}rtl \u{200b} e\u{301} \u{e9}",
        "\u{202e}rtl \u{200b} e\u{301} \u{e9}",
    ),
    ("\u{10ffff} \\udbff\\udfff \u{e000}", "\u{10ffff} \u{10ffff} \u{e000}"),
    ("\\u00E9\\u00e9", "\u{e9}\u{e9}"),
];

fn echo(id: &str, tool: &str, text: &str) -> String {
    rpc(
        id,
        "tools/call",
        &format!("{{{}}}", call(tool, &format!(r#"{{"t":"{text}","{text}":1}}"#))),
    )
}

#[test]
fn b044_every_text_round_trips_over_http_and_pipes_in_any_pieces() {
    let session = GATEWAY.session();
    let folder = Folder::new("surface: [meta, direct]", "{}");
    let entry = server(&folder.home, "p", "");
    folder.write("mcp.json", &format!(r#"{{"mcpServers": {{"s": {{{entry}}}}}}}"#));
    let mut pipe = Pipe::open(&folder);
    for (text, meant) in TEXTS {
        let wanted = json!({"t": meant, (*meant): 1});
        let body = echo("1", "x_s_echo", text);
        let mut wire = Wire::open(GATEWAY.address);
        wire.dribble(&GATEWAY.posting(&[&session], body.as_bytes()));
        assert_eq!(
            wire.response().expect("a response").result()["structuredContent"],
            wanted,
            "{text}"
        );
        let chunks: Vec<u8> = body
            .bytes()
            .flat_map(|byte| [&b"1\r\n"[..], &[byte], b"\r\n"].concat())
            .collect();
        let head = format!(
            "POST /mcp HTTP/1.1\r\n{}\r\n{session}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
            GATEWAY.host()
        );
        let response = GATEWAY.raw(&[head.as_bytes(), &chunks, b"0\r\n\r\n"].concat());
        assert_eq!(response.result()["structuredContent"], wanted, "{text}, in chunks");
        let inner = format!(r#"{{"name":"x_s_echo","arguments":{{"t":"{text}"}}}}"#);
        let through = GATEWAY.legacy(&session, "tools/call", &format!("{{{}}}", call("call_tool", &inner)));
        assert_eq!(
            through.result()["structuredContent"],
            json!({"t": meant}),
            "{text}, through call_tool"
        );
        assert_eq!(
            pipe.ask(body.as_bytes())["result"]["structuredContent"],
            wanted,
            "{text}, over pipes"
        );
    }
    // The server over pipes gets one line a message, whatever the text holds.
    for line in lines_of(&folder.home, "p") {
        assert!(serde_json::from_str::<Value>(&line).is_ok(), "{line}");
    }
}

#[test]
fn b044_text_of_servers_over_http_passes_in_any_pieces() {
    let structured = r#"{"t":"Đ × ★ 漢字 😀 \ud83d\ude00 \u0000","u":"a b"}"#;
    for (era, script) in [
        ("plain", Script::with_tools(Era::Legacy, &["t"])),
        ("events", Script::with_tools(Era::Legacy, &["t"]).events()),
    ] {
        let result = format!(r#"{{"content":[],"structuredContent":{structured}}}"#);
        let upstream = script.answer("tools/call t", &result).dribbles().start();
        let gateway = Gateway::over("surface: direct", &[("u", upstream.address)]);
        let session = gateway.session();
        let response = gateway.legacy(&session, "tools/call", &format!("{{{}}}", call("x_u_t", "{}")));
        assert_eq!(response.raw_result(), result, "{era}");
    }
}

#[test]
fn b044_what_is_no_text_is_answered_with_the_id_that_can_be_read() {
    let session = GATEWAY.session();
    let lone = [
        r#"{"t":"\ud800"}"#,
        r#"{"t":"\udc00\ud800"}"#,
        r#"{"t":"\ud83d"}"#,
        r#"{"t":"\ud83dx"}"#,
        r#"{"\ud800":1}"#,
        r#"{"a":[{"b":"\uDFFF"}]}"#,
    ];
    let folder = Folder::new("", "{}");
    let mut pipe = Pipe::open(&folder);
    let mut bodies: Vec<Vec<u8>> = lone
        .iter()
        .map(|arguments| rpc("41", "tools/call", &format!("{{{}}}", call("x_s_echo", arguments))).into_bytes())
        .collect();
    for bad in [
        &b"\xff"[..],
        b"\xc3",
        b"\xed\xa0\x80",
        b"\xf8\x88\x80\x80\x80",
        b"\xc0\xaf",
        b"\xf4\x90\x80\x80",
        b"\x80",
    ] {
        let body = rpc(
            "41",
            "tools/call",
            &format!("{{{}}}", call("x_s_echo", r#"{"t":"HERE"}"#)),
        )
        .into_bytes();
        let at = body
            .windows(4)
            .position(|window| window == b"HERE")
            .expect("it is there");
        bodies.push([&body[..at], bad, &body[at + 4..]].concat());
    }
    for control in [&b"\x00"[..], b"\x01", b"\x1f", b"\t"] {
        let body = rpc(
            "41",
            "tools/call",
            &format!("{{{}}}", call("x_s_echo", r#"{"t":"HERE"}"#)),
        )
        .into_bytes();
        let at = body
            .windows(4)
            .position(|window| window == b"HERE")
            .expect("it is there");
        bodies.push([&body[..at], control, &body[at + 4..]].concat());
    }
    for body in bodies {
        let shown = String::from_utf8_lossy(&body).into_owned();
        let response = GATEWAY.raw(&GATEWAY.posting(&[&session], &body));
        assert_eq!((response.status, response.code()), (400, -32700), "{shown}");
        assert_eq!(response.json()["id"], 41, "{shown}");
        let answer = pipe.ask(&body);
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(41), &json!(-32700)),
            "{shown}"
        );
    }
    for bad in [
        &b"\xef\xbb\xbf{}"[..],
        b"\xff\xfe{\x00}\x00",
        b"{",
        b"",
        b"\x00",
        b"nonsense",
        b"[",
        b"\"text\"",
        b"7",
    ] {
        let response = GATEWAY.raw(&GATEWAY.posting(&[&session], bad));
        assert_eq!(response.status, 400, "{bad:?}");
        assert!([-32700, -32600].contains(&response.code()), "{bad:?}");
    }
    assert!(
        pipe.ask(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)["result"].is_object(),
        "the pipe goes on"
    );
}

#[test]
fn b044_answers_that_cannot_be_decoded_end_their_own_call_and_no_other() {
    let session = GATEWAY.session();
    for tool in ["latin", "broken", "cut"] {
        for params in [
            format!("{{{}}}", call(&format!("x_s_{tool}"), "{}")),
            format!("{{{}}}", call("call_tool", &format!(r#"{{"name":"x_s_{tool}"}}"#))),
        ] {
            let result = GATEWAY.legacy(&session, "tools/call", &params).result();
            assert_eq!(result["isError"], true, "{tool}: {result}");
            assert_eq!(
                result["structuredContent"]["code"], "outcome_unknown",
                "{tool}: {result}"
            );
        }
        let echoed = GATEWAY.post(&[&session], &echo("1", "x_s_echo", "on")).result();
        assert_eq!(
            echoed["structuredContent"]["t"], "on",
            "the server goes on after {tool}"
        );
    }
    let starts = lines_of(&GATEWAY.folder.home, "s")
        .iter()
        .filter(|line| line.contains("\"initialize\""))
        .count();
    assert!(starts <= 2, "no answer of that kind restarts the server: {starts}");
}

#[test]
fn b044_a_lone_surrogate_of_a_server_passes_as_it_was_written() {
    let session = GATEWAY.session();
    let response = GATEWAY.legacy(&session, "tools/call", &format!("{{{}}}", call("x_s_surrogate", "{}")));
    assert_eq!(member(&response.raw_result(), "structuredContent"), r#"{"t":"\ud800"}"#);
}
