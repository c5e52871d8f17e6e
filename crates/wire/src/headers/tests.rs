//! Tests of `headers`.

use super::{Seen, check, decode, encode, name_member};
use crate::codes;
use proptest::prelude::*;
use serde_json::value::RawValue;

const VERSION: &str = "2026-07-28";

fn verdict(
    version: Option<&str>,
    method: Option<&str>,
    name: Option<&str>,
    body_method: &str,
    params: Option<&str>,
) -> Result<(), String> {
    let params = params.map(|text| RawValue::from_string(text.to_owned()).unwrap());
    check(Seen { version, method, name }, VERSION, body_method, params.as_deref()).map_err(|fault| {
        assert_eq!(fault.code, codes::HEADER_MISMATCH);
        fault.message
    })
}

#[test]
fn headers_that_agree_pass() {
    let call = Some(r#"{"name":"x_git_log","arguments":{}}"#);
    for (name, method, params) in [
        (Some("x_git_log"), "tools/call", call),
        (Some(" x_git_log\t"), "tools/call", call),
        (Some("=?base64?eF9naXRfbG9n?="), "tools/call", call),
        (Some("=?base64?w6Q=?="), "prompts/get", Some(r#"{"name":"\u00e4"}"#)),
        (
            Some("file:///a%20b"),
            "resources/read",
            Some(r#"{"uri":"file:\/\/\/a%20b"}"#),
        ),
        (Some("t1"), "tasks/get", Some(r#"{"taskId":"t1"}"#)),
        (None, "tools/list", None),
        (Some("whatever"), "tools/list", None),
        (None, "tools/call", Some("{}")),
        (None, "tools/call", None),
    ] {
        assert_eq!(
            verdict(Some(VERSION), Some(method), name, method, params),
            Ok(()),
            "{method} {name:?}"
        );
    }
}

#[test]
fn headers_that_disagree_are_refused_by_name() {
    let call = Some(r#"{"name":"a"}"#);
    for (version, method, name, named) in [
        (None, Some("tools/call"), Some("a"), "MCP-Protocol-Version"),
        (
            Some("2025-11-25"),
            Some("tools/call"),
            Some("a"),
            "MCP-Protocol-Version",
        ),
        (Some(VERSION), None, Some("a"), "Mcp-Method"),
        (Some(VERSION), Some("Tools/Call"), Some("a"), "Mcp-Method"),
        (Some(VERSION), Some("tools/list"), Some("a"), "Mcp-Method"),
        (Some(VERSION), Some("tools/call"), None, "Mcp-Name"),
        (Some(VERSION), Some("tools/call"), Some("A"), "Mcp-Name"),
        (Some(VERSION), Some("tools/call"), Some(""), "Mcp-Name"),
        (Some(VERSION), Some("tools/call"), Some("=?base64?YQ?="), "Mcp-Name"),
        (Some(VERSION), Some("tools/call"), Some("=?base64?Y!==?="), "Mcp-Name"),
        (Some(VERSION), Some("tools/call"), Some("=?BASE64?YQ==?="), "Mcp-Name"),
    ] {
        let message = verdict(version, method, name, "tools/call", call).unwrap_err();
        assert!(message.contains(named), "{message}");
    }
    assert!(
        verdict(
            Some(VERSION),
            Some("tools/call"),
            Some("a"),
            "tools/call",
            Some(r#"{"name":5}"#)
        )
        .is_err()
    );
    assert_eq!(name_member("tools/list"), None);
}

#[test]
fn b047_a_header_value_cannot_hold_a_line_end() {
    for text in [
        "a\r\nX-Admin: 1",
        "\0",
        "a\tb",
        " a",
        "a ",
        "é",
        "\u{7f}",
        "=?base64?YQ==?=",
        "=?base64?",
    ] {
        let value = encode(text);
        assert!(value.bytes().all(|byte| (0x21..=0x7E).contains(&byte)), "{value}");
        assert_eq!(decode(&value).as_deref(), Some(text));
    }
    assert_eq!(encode("plain text"), "plain text");
    assert_eq!(encode(""), "");
}

#[test]
fn a_value_that_lacks_a_half_of_the_sentinel_is_plain() {
    for value in ["=?base64?SGVsbG8=", "SGVsbG8=?=", "=?base64?=", "=?Base64?YQ==?="] {
        assert_eq!(decode(value).as_deref(), Some(value));
    }
    assert_eq!(decode("=?base64??=").as_deref(), Some(""));
    assert_eq!(decode("=?base64?SGVsbG8?="), None);
    assert_eq!(decode("=?base64?/w==?="), None);
}

proptest! {
    #[test]
    fn values_round_trip(text in any::<String>()) {
        let value = encode(&text);
        prop_assert!(value.bytes().all(|byte| (0x20..=0x7E).contains(&byte)));
        prop_assert_eq!(decode(value.trim()).map(std::borrow::Cow::into_owned), Some(text));
    }
}
