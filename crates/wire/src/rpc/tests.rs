//! Tests of `rpc`.

use super::{
    Body, Fault, Message, error, error_object, has_batches, notification, one_line, parse, parse_upstream, raw_error,
    request, result, salvage,
};
use crate::codes;
use crate::version::Version;
use proptest::prelude::*;

fn one(text: &str) -> Message<'_> {
    match parse(text.as_bytes()).unwrap() {
        Body::One(message) => message,
        Body::Batch(_) => panic!("a batch"),
    }
}

fn refused(text: impl AsRef<[u8]>) -> (i64, Option<String>, String) {
    let fault = parse(text.as_ref()).unwrap_err();
    (fault.code, fault.id, fault.message)
}

#[test]
fn requests_keep_their_raw_parts() {
    let text = r#"{"params":{ "name" : "x","arguments":{"n":12345678901234567890.10}},"id":"\u0031","method":"tools\/call","jsonrpc":"2.0","vendor":1}"#;
    let Message::Request { id, method, params } = one(text) else {
        panic!("not a request")
    };
    assert_eq!((id.get(), method.as_ref()), (r#""\u0031""#, "tools/call"));
    assert_eq!(
        params.unwrap().get(),
        r#"{ "name" : "x","arguments":{"n":12345678901234567890.10}}"#
    );
}

#[test]
fn ids_are_strings_or_integers() {
    for id in ["0", "-7", "123456789012345678901234567890", r#""""#, r#""a\n""#] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        assert!(
            matches!(one(&text), Message::Request { id: raw, .. } if raw.get() == id),
            "{id}"
        );
    }
    for id in ["null", "1.0", "1e3", "true", "[1]", "{}"] {
        let (code, id_back, _) = refused(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
        assert_eq!((code, id_back), (codes::INVALID_REQUEST, None), "{id}");
    }
}

#[test]
fn notifications_and_responses_are_told_apart() {
    assert!(matches!(
        one(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
        Message::Notification { params: None, .. }
    ));
    assert!(
        matches!(one(r#"{"jsonrpc":"2.0","id":1,"result":null}"#), Message::Response { outcome: Ok(raw), .. } if raw.get() == "null")
    );
    assert!(matches!(
        one(r#"{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":""}}"#),
        Message::Response { outcome: Err(_), .. }
    ));
}

#[test]
fn malformed_envelopes_are_refused_with_the_id_where_there_is_one() {
    let id = Some("7".to_owned());
    for (text, code, id) in [
        (r#"{"id":7,"method":"a"}"#, codes::INVALID_REQUEST, id.clone()),
        (
            r#"{"jsonrpc":"1.0","id":7,"method":"a"}"#,
            codes::INVALID_REQUEST,
            id.clone(),
        ),
        (
            r#"{"jsonrpc":2.0,"id":7,"method":"a"}"#,
            codes::INVALID_REQUEST,
            id.clone(),
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":5}"#,
            codes::INVALID_REQUEST,
            id.clone(),
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"a","result":1}"#,
            codes::INVALID_REQUEST,
            id.clone(),
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"a","params":[1]}"#,
            codes::INVALID_PARAMS,
            id.clone(),
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"a","params":null}"#,
            codes::INVALID_PARAMS,
            id,
        ),
        (
            r#"{"jsonrpc":"2.0","method":"a","params":"x"}"#,
            codes::INVALID_PARAMS,
            None,
        ),
        (r#"{"jsonrpc":"2.0","id":7}"#, codes::INVALID_REQUEST, None),
        (
            r#"{"jsonrpc":"2.0","id":7,"result":1,"error":{}}"#,
            codes::INVALID_REQUEST,
            None,
        ),
        (r#"{"jsonrpc":"2.0","id":7,"error":"x"}"#, codes::INVALID_REQUEST, None),
        (
            r#"{"jsonrpc":"2.0","id":null,"error":{}}"#,
            codes::INVALID_REQUEST,
            None,
        ),
        (r#"{"jsonrpc":"2.0","result":{}}"#, codes::INVALID_REQUEST, None),
        ("null", codes::INVALID_REQUEST, None),
        ("\"x\"", codes::INVALID_REQUEST, None),
    ] {
        let (got, id_back, _) = refused(text);
        assert_eq!((got, id_back), (code, id), "{text}");
    }
    assert!(
        refused(r#"{"jsonrpc":"2.0","id":7,"method":"a","params":[1]}"#)
            .2
            .contains("by position")
    );
}

#[test]
fn bodies_with_more_than_one_reading_are_refused_and_still_answered() {
    let seven = Some("7".to_owned());
    for (text, code, id) in [
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"a","params":{"arguments":{"p":1,"p":2}}}"#,
            codes::INVALID_REQUEST,
            seven.clone(),
        ),
        (
            r#"{"jsonrpc":"2.0","params":{"name":"a","name":"b"},"method":"a","id":7}"#,
            codes::INVALID_REQUEST,
            seven.clone(),
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"a","m\u0065thod":"b"}"#,
            codes::INVALID_REQUEST,
            seven.clone(),
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"a","id":8}"#,
            codes::INVALID_REQUEST,
            None,
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"a","params":{"x":NaN}}"#,
            codes::PARSE_ERROR,
            seven.clone(),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"a","params":{"x":-Infinity},"\u0069d":7}"#,
            codes::PARSE_ERROR,
            seven.clone(),
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"a"} x"#,
            codes::PARSE_ERROR,
            seven.clone(),
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"a"}{}"#,
            codes::PARSE_ERROR,
            seven.clone(),
        ),
        (r#"{"jsonrpc":"2.0","id":7,"meth"#, codes::PARSE_ERROR, seven.clone()),
        (r#"{"jsonrpc":"2.0","id":7"#, codes::PARSE_ERROR, None),
        (r#"{"jsonrpc":"2.0","params":{"id":9},"x"#, codes::PARSE_ERROR, None),
        (
            "\u{FEFF}{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"a\"}",
            codes::PARSE_ERROR,
            seven.clone(),
        ),
        ("", codes::PARSE_ERROR, None),
    ] {
        let (got, id_back, message) = refused(text);
        assert_eq!((got, id_back), (code, id), "{text}: {message}");
    }
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"a","params":{{"x":{}{}}}}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    assert_eq!(
        (refused(&deep).0, refused(&deep).1),
        (codes::INVALID_REQUEST, seven.clone())
    );
    let mut bytes = br#"{"jsonrpc":"2.0","id":7,"method":"a","params":{"x":""#.to_vec();
    bytes.extend([0xC3, 0x28]);
    bytes.extend(br#""}}"#);
    assert_eq!((refused(&bytes).0, refused(&bytes).1), (codes::PARSE_ERROR, seven));
}

#[test]
fn b044_texts_pass_and_a_lone_surrogate_is_answered_by_id() {
    let text = "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"arguments\":{\"t\":\"Đ × ★ 漢字 \\ud83d\\ude00 \u{2028} \\u0000\"}}}";
    let Message::Request {
        params: Some(params), ..
    } = one(text)
    else {
        panic!("not a request")
    };
    assert!(text.contains(params.get()));
    let (code, id, message) =
        refused(r#"{"jsonrpc":"2.0","id":"a\"b","method":"tools/call","params":{"arguments":{"t":"\ud800"}}}"#);
    assert_eq!((code, id.as_deref()), (codes::PARSE_ERROR, Some(r#""a\"b""#)));
    assert!(message.contains("lone surrogate"), "{message}");
    // An id that is itself broken is not sent back.
    assert_eq!(refused(r#"{"jsonrpc":"2.0","id":"\ud800","method":"ping"}"#).1, None);
}

#[test]
fn batches_are_read_as_batches() {
    assert!(
        has_batches(Version::V2025_03_26) && !has_batches(Version::V2025_06_18) && !has_batches(Version::V2024_11_05)
    );
    let text = r#" [{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"}]"#;
    assert!(matches!(parse(text.as_bytes()).unwrap(), Body::Batch(items) if items.len() == 2));
    for text in [
        "[]",
        "[1]",
        "[[]]",
        r#"[{"jsonrpc":"2.0","id":1,"method":"a"},null]"#,
        r#"[{"id":1}]"#,
    ] {
        assert_eq!(refused(text).0, codes::INVALID_REQUEST, "{text}");
    }
}

#[test]
fn b053_messages_of_upstreams_are_read_leniently() {
    let text = "\u{FEFF}{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"a\":1,\"a\":\"\\ud800\"}}\r\n";
    assert!(
        matches!(parse_upstream(text).unwrap(), Message::Response { outcome: Ok(raw), .. } if raw.get() == r#"{"a":1,"a":"\ud800"}"#)
    );
    assert!(matches!(
        parse_upstream(r#"{"jsonrpc":"2.0","id":null,"error":{}}"#).unwrap(),
        Message::Response { outcome: Err(_), .. }
    ));
    assert!(matches!(
        parse_upstream(r#"{"jsonrpc":"2.0","method":"x","params":null}"#).unwrap(),
        Message::Notification { params: None, .. }
    ));
    assert!(matches!(
        parse_upstream(r#"{"jsonrpc":"2.0","id":1,"method":"x","params":null}"#).unwrap(),
        Message::Request { params: None, .. }
    ));
    for text in [
        "Starting…",
        "",
        "{",
        "[]",
        r#"{"jsonrpc":"2.0","id":1,"id":2,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"result":{}}"#,
        r#"{"id":1,"result":{}}"#,
    ] {
        assert!(parse_upstream(text).is_err(), "{text}");
    }
}

#[test]
fn messages_are_written_compactly() {
    assert_eq!(result("\"a\"", "{ }"), r#"{"jsonrpc":"2.0","id":"a","result":{ }}"#);
    assert_eq!(
        raw_error("1", r#"{"code":5}"#),
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":5}}"#
    );
    assert_eq!(
        error(None, -32700, "a \"b\"", None),
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"a \"b\""}}"#
    );
    assert_eq!(
        error_object(1, "m", Some("[1]")),
        r#"{"code":1,"message":"m","data":[1]}"#
    );
    assert_eq!(
        request("1", "a/\"b", Some("{}")),
        r#"{"jsonrpc":"2.0","id":1,"method":"a/\"b","params":{}}"#
    );
    assert_eq!(
        request("1", "ping", None),
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#
    );
    assert_eq!(
        notification("n", Some("{}")),
        r#"{"jsonrpc":"2.0","method":"n","params":{}}"#
    );
    assert_eq!(notification("n", None), r#"{"jsonrpc":"2.0","method":"n"}"#);
    assert_eq!(
        Fault::new(-32600, "x").of("9").render(),
        r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32600,"message":"x"}}"#
    );
    assert_eq!(one_line("{\r\n \"a\":\"\\n\"}"), "{   \"a\":\"\\n\"}");
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        drop(parse(&bytes));
        let text = String::from_utf8_lossy(&bytes);
        drop((parse_upstream(&text), salvage::id(&text)));
    }

    #[test]
    fn broken_messages_are_survived_and_never_answered_to_a_wrong_id(
        cut in 0_usize..140, noise in prop::collection::vec((0_usize..140, any::<u8>()), 0..4),
    ) {
        let mut bytes = br#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a","arguments":{"id":"\"x","t":[1,{"k":null}]}},"id":4711,"z":"\u0041"}"#.to_vec();
        for (at, byte) in noise {
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
        }
        bytes.truncate(cut);
        match parse(&bytes) {
            Ok(_) => {}
            Err(fault) => {
                if let Some(id) = fault.id {
                    prop_assert!(serde_json::from_str::<serde_json::Value>(&id).is_ok());
                }
            }
        }
    }

    #[test]
    fn what_is_written_is_read_back(method in any::<String>(), id in any::<String>(), key in any::<String>()) {
        let raw_id = crate::object::quote(&id);
        let params = format!("{{{}:1}}", crate::object::quote(&key));
        let text = request(&raw_id, &method, Some(&params));
        let message = one(&text);
        let Message::Request { id, method: read, params: Some(raw) } = message else { panic!("not a request: {message:?}") };
        prop_assert_eq!((id.get(), read.as_ref(), raw.get()), (raw_id.as_str(), method.as_str(), params.as_str()));
    }
}
