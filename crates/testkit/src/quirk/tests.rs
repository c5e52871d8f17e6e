//! Tests of `quirk`: odd as they are, all its texts are JSON, in either era.

use serde_json::value::RawValue;

use super::{Era, Quirk, Reply};

#[test]
fn every_answer_is_json_and_keeps_its_bytes() {
    let quirk = Quirk::new(Era::Both);
    let metas = ["{}", r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#];
    let calls = super::cases::TOOLS.iter().map(|case| {
        let name = case
            .definition
            .split(r#""name":""#)
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap();
        format!(r#""method":"tools/call","params":{{"name":"{name}","_meta":"#)
    });
    let lists = [
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "prompts/list",
        "server/discover",
    ]
    .map(|method| format!(r#""method":"{method}","params":{{"_meta":"#));
    for head in calls.chain(lists) {
        for meta in metas {
            let message = format!(
                r#"{{"jsonrpc":"2.0","id":"\u0041","{}{meta}}}}}"#,
                head.trim_start_matches('"')
            );
            match quirk.reply(&message, "{}") {
                Reply::Message(reply) => {
                    serde_json::from_str::<Box<RawValue>>(&reply).expect(&reply);
                    assert!(reply.starts_with(r#"{"jsonrpc":"2.0","id":"\u0041","#), "{reply}");
                }
                Reply::Never => assert!(message.contains("hang")),
                Reply::Nothing => panic!("{message}"),
            }
        }
    }
}

#[test]
fn a_cancelled_call_is_counted() {
    let quirk = Quirk::new(Era::Legacy);
    let cancelled = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert_eq!(quirk.reply(cancelled, "{}"), Reply::Nothing);
    let asked = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"cancels"}}"#;
    let Reply::Message(reply) = quirk.reply(asked, "{}") else {
        panic!("no answer")
    };
    assert!(reply.contains(r#"{"cancels":1}"#), "{reply}");
}
