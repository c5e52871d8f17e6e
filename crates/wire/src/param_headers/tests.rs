//! Tests of `param_headers`.

use super::{ParamHeader, check, for_arguments, of_schema};
use crate::codes;

fn header(name: &str, path: &[&str]) -> ParamHeader {
    ParamHeader {
        name: name.to_owned(),
        path: path.iter().map(|part| (*part).to_owned()).collect(),
    }
}

#[test]
fn annotations_are_found_through_properties_only() {
    for (schema, expected) in [
        (r#"{"type":"object"}"#, vec![]),
        (
            r#"{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"Region"}}}"#,
            vec![header("Region", &["a"])],
        ),
        (
            r#"{"properties":{"o":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"},"b":{"type":["boolean","null"],"x-mcp-header":"B!"}}}}}"#,
            vec![header("B!", &["o", "b"]), header("N", &["o", "n"])],
        ),
        // A property of that name and data are no annotations.
        (r#"{"properties":{"x-mcp-header":{"type":"string"}}}"#, vec![]),
        (
            r#"{"properties":{"a":{"default":{"x-mcp-header":1},"enum":[{"x-mcp-header":1}]}}}"#,
            vec![],
        ),
        (
            r#"{"properties":{"a":{"type":"string","x-mcp-h\u0065ader":"E"}}}"#,
            vec![header("E", &["a"])],
        ),
    ] {
        assert_eq!(of_schema(schema), Ok(expected), "{schema}");
    }
}

#[test]
fn bad_annotations_are_refused_with_the_reason() {
    let property = |inner: &str| format!(r#"{{"properties":{{"a":{{{inner}}}}}}}"#);
    for (schema, reason) in [
        (property(r#""type":"string","x-mcp-header":"a b""#), "not a header name"),
        (
            property(r#""type":"string","x-mcp-header":"a\r\nb""#),
            "not a header name",
        ),
        (property(r#""type":"string","x-mcp-header":"é""#), "not a header name"),
        (property(r#""type":"string","x-mcp-header":"""#), "not a header name"),
        (property(r#""type":"string","x-mcp-header":7"#), "not a string"),
        (property(r#""type":"number","x-mcp-header":"A""#), "type"),
        (property(r#""type":"object","x-mcp-header":"A""#), "type"),
        (property(r#""type":["string","integer"],"x-mcp-header":"A""#), "type"),
        (property(r#""x-mcp-header":"A""#), "type"),
        (
            property(r#""type":"array","items":{"type":"string","x-mcp-header":"A"}"#),
            "properties",
        ),
        (
            property(r#""anyOf":[{"type":"string","x-mcp-header":"A"}]"#),
            "properties",
        ),
        (
            r#"{"$defs":{"d":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}}"#.to_owned(),
            "properties",
        ),
        (
            r#"{"oneOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}"#.to_owned(),
            "properties",
        ),
        (r#"{"x-mcp-header":"A"}"#.to_owned(), "root"),
        (
            r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}"#
                .to_owned(),
            "two properties",
        ),
        (
            format!(
                r#"{{"properties":{{{}}}}}"#,
                (0..65)
                    .map(|n| format!(r#""p{n}":{{"type":"string","x-mcp-header":"H{n}"}}"#))
                    .collect::<Vec<_>>()
                    .join(",")
            ),
            "more than 64",
        ),
        (r#"["x-mcp-header"]"#.to_owned(), "not an object"),
        (r#"{"x-mcp-header""#.to_owned(), "not JSON"),
    ] {
        let error = of_schema(&schema).unwrap_err();
        assert!(error.contains(reason), "{schema}: {error}");
    }
}

#[test]
fn arguments_are_mirrored() {
    let headers = [header("S", &["s"]), header("N", &["o", "n"]), header("B", &["b"])];
    let all = |arguments: &str| {
        for_arguments(&headers, arguments)
            .into_iter()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        all(r#"{"s":"x","o":{"n":12345678901234567890},"b":false}"#),
        [
            "Mcp-Param-S: x",
            "Mcp-Param-N: 12345678901234567890",
            "Mcp-Param-B: false"
        ]
    );
    assert_eq!(all(r#"{"s":null,"o":{},"b":[]}"#), Vec::<String>::new());
    assert_eq!(all(r#"{"o":5}"#), Vec::<String>::new());
    assert_eq!(
        all(r#"{"s":"a\r\nX-Admin: 1"}"#),
        ["Mcp-Param-S: =?base64?YQ0KWC1BZG1pbjogMQ==?="]
    );
}

#[test]
fn headers_of_callers_must_mirror_the_arguments() {
    let headers = [header("V", &["v"])];
    let verdict = |arguments: &str, given: Option<&str>| {
        let seen = |name: &str| (name == "Mcp-Param-V").then(|| given.map(str::to_owned)).flatten();
        check(&headers, arguments, &seen).map_err(|fault| {
            assert_eq!(fault.code, codes::HEADER_MISMATCH);
            assert!(fault.message.contains("Mcp-Param-V"));
        })
    };
    for (arguments, given) in [
        (r#"{"v":"Hello"}"#, Some("Hello")),
        (r#"{"v":"Hello"}"#, Some("=?base64?SGVsbG8=?=")),
        (r#"{"v":"=?base64?SGVsbG8="}"#, Some("=?base64?SGVsbG8=")),
        (r#"{"v":42}"#, Some("42")),
        (r#"{"v":42}"#, Some("42.0")),
        (r#"{"v":4.2e1}"#, Some("42")),
        (r#"{"v":420}"#, Some("42e1")),
        (r#"{"v":-0}"#, Some("0")),
        (r#"{"v":true}"#, Some("true")),
        (r#"{"v":null}"#, None),
        ("{}", None),
    ] {
        assert_eq!(verdict(arguments, given), Ok(()), "{arguments} {given:?}");
    }
    for (arguments, given) in [
        (r#"{"v":"Hello"}"#, None),
        (r#"{"v":"Hello"}"#, Some("hello")),
        (r#"{"v":"Hello"}"#, Some("=?base64?SGVsbG8?=")),
        (r#"{"v":"Hello"}"#, Some("=?base64?SGVs!!!bG8=?=")),
        (r#"{"v":"42"}"#, Some("42.0")),
        (r#"{"v":42}"#, Some("042")),
        (r#"{"v":42}"#, Some("0x2a")),
        (r#"{"v":9007199254740993}"#, Some("9007199254740992")),
        (r#"{"v":1}"#, Some("-1")),
        (r#"{"v":1}"#, Some("1e99999999999999999999")),
        (r#"{"v":true}"#, Some("True")),
        (r#"{"v":null}"#, Some("null")),
        ("{}", Some("")),
    ] {
        assert_eq!(verdict(arguments, given), Err(()), "{arguments} {given:?}");
    }
}
