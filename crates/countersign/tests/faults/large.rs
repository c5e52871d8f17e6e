//! Large payloads and slow peers: passed whole or refused by name, with bounded memory, and nobody else waits.

use std::sync::LazyLock;

use crate::gateway::{Gateway, call, rpc};
use crate::http::{Wire, request};
use crate::upstream::{Era, Script, Upstream};

const MIB: usize = 1024 * 1024;

static PAIR: LazyLock<(Upstream, Gateway)> = LazyLock::new(|| {
    let of = |mib: usize| {
        format!(
            r#"{{"content":[{{"type":"text","text":"{}"}}]}}"#,
            "x".repeat(mib * MIB)
        )
    };
    let upstream = Script::with_tools(Era::Legacy, &["t", "mid", "large", "huge"])
        .events()
        .answer("tools/call mid", &of(8))
        .answer("tools/call large", &of(20))
        .answer("tools/call huge", &of(22))
        .start();
    let yaml = "surface: direct\nlimits: {request_bytes: 8MiB, response_bytes: 21MiB}";
    let gateway = Gateway::over(yaml, &[("u", upstream.address)]);
    (upstream, gateway)
});

fn calling(tool: &str, arguments: &str) -> String {
    rpc(
        "1",
        "tools/call",
        &format!("{{{}}}", call(&format!("x_u_{tool}"), arguments)),
    )
}

fn serves(gateway: &Gateway, session: &str) {
    let response = gateway.post(&[session], &calling("t", "{}"));
    assert_eq!(response.result()["content"][0]["text"], "done");
}

#[test]
fn b017_large_arguments_and_answers_pass_whole_and_over_the_limit_the_limit_is_named() {
    let (upstream, gateway) = &*PAIR;
    let session = gateway.session();
    let argument = format!(r#"{{"text":"{}"}}"#, "y".repeat(6 * MIB));
    let response = gateway.post(&[&session], &calling("t", &argument));
    assert_eq!(response.result()["content"][0]["text"], "done");
    let sent = upstream
        .seen_of("tools/call")
        .into_iter()
        .find(|seen| seen.body.len() > 6 * MIB)
        .expect("it came");
    assert_eq!(sent.param(&["arguments"]).len(), argument.len());

    let response = gateway.post(&[&session], &calling("large", "{}"));
    let text = response.result()["content"][0]["text"].as_str().expect("a text").len();
    assert_eq!(text, 20 * MIB);

    let over = format!(r#"{{"text":"{}"}}"#, "y".repeat(9 * MIB));
    let response = gateway.post(&[&session], &calling("t", &over));
    assert_eq!(response.status, 413);
    assert!(response.message().contains("limits.request_bytes"), "{response:?}");
    // The same in chunks, whose length nobody announced.
    let body = calling("t", &over);
    let (host, kind) = (gateway.host(), "Content-Type: application/json");
    let lines = [
        host.as_str(),
        kind,
        "Accept: application/json",
        &session,
        "Transfer-Encoding: chunked",
    ];
    let mut head = request("PUT /mcp", &lines, b"");
    head.splice(..3, *b"POST");
    let mut wire = Wire::open(gateway.address);
    wire.write(&head);
    for piece in body.as_bytes().chunks(MIB) {
        wire.write(format!("{:x}\r\n", piece.len()).as_bytes());
        wire.write(piece);
        wire.write(b"\r\n");
    }
    wire.write(b"0\r\n\r\n");
    assert_eq!(wire.response().expect("a response").status, 413);

    let response = gateway.post(&[&session], &calling("huge", "{}"));
    assert_eq!(response.status, 200);
    assert!(response.answer().contains("limits.response_bytes"));
    serves(gateway, &session);
}

#[test]
fn b017_slow_readers_of_large_answers_hold_up_nobody_and_memory_stays_bounded() {
    let (_, gateway) = &*PAIR;
    let session = gateway.session();
    let slow: Vec<Wire> = (0..6)
        .map(|_| {
            let mut wire = Wire::open(gateway.address);
            wire.write(&gateway.posting(&[&session], calling("mid", "{}").as_bytes()));
            assert_eq!(wire.head().expect("a response").status, 200);
            wire
        })
        .collect();
    for _ in 0..20 {
        serves(gateway, &session);
    }
    // Each waits with its one answer, and with nothing besides it.
    let resident = gateway.resident();
    assert!(resident < 6 * 3 * 8 * MIB + 150 * MIB, "{} MiB", resident / MIB);
    drop(slow);
    serves(gateway, &session);
}

#[test]
fn b017_slow_senders_hold_up_nobody() {
    let (_, gateway) = &*PAIR;
    let session = gateway.session();
    let whole = gateway.posting(&[&session], calling("t", "{}").as_bytes());
    let body_at = whole
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .expect("a head")
        + 4;
    let slow: Vec<Wire> = (0..200)
        .map(|number| {
            let mut wire = Wire::open(gateway.address);
            let length = match number % 4 {
                0 => 0,
                1 => 30,
                2 => body_at,
                _ => whole.len() - 1,
            };
            wire.write(&whole[..length]);
            wire
        })
        .collect();
    for _ in 0..20 {
        serves(gateway, &session);
    }
    // Whoever goes on in the end is answered.
    for (number, mut wire) in slow.into_iter().enumerate() {
        if number % 4 == 3 {
            wire.write(&whole[whole.len() - 1..]);
            assert_eq!(wire.response().expect("a response").status, 200);
        }
    }
}

#[test]
fn b017_callers_that_close_their_sending_side_harm_nobody() {
    let (_, gateway) = &*PAIR;
    let session = gateway.session();
    let whole = gateway.posting(&[&session], calling("t", "{}").as_bytes());
    for length in [0, 1, 40, whole.len() - 1, whole.len()] {
        let mut wire = Wire::open(gateway.address);
        wire.write(&whole[..length]);
        wire.close_sending();
        if let Some(response) = wire.response() {
            assert!([200, 400, 408].contains(&response.status), "{length}: {response:?}");
        }
    }
    serves(gateway, &session);
}
