//! Tests of `bridge`.

use super::{Kind, error_for, result_for, tool_error_for};
use crate::version::Version::{self, V2025_06_18, V2025_11_25, V2026_07_28};
use proptest::prelude::*;

const ME: &str = r#"{"name":"me"}"#;

#[test]
fn modern_callers_get_what_they_need() {
    let own = r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"me"}}"#;
    for (kind, result, expected) in [
        (Kind::Plain, "{}", format!(r#"{{"resultType":"complete",{own}}}"#)),
        (
            Kind::Plain,
            r#"{"content":[ {"type":"new" , "n":1.0} ]}"#,
            format!(r#"{{"content":[ {{"type":"new" , "n":1.0}} ],"resultType":"complete",{own}}}"#),
        ),
        (
            Kind::Plain,
            r#"{"resultType":"task","taskId":"1"}"#,
            format!(r#"{{"resultType":"task","taskId":"1",{own}}}"#),
        ),
        (
            Kind::Plain,
            r#"{"resultType":null}"#,
            format!(r#"{{"resultType":"complete",{own}}}"#),
        ),
        (
            Kind::Cacheable,
            r#"{"tools":[]}"#,
            format!(r#"{{"tools":[],"resultType":"complete","ttlMs":0,"cacheScope":"private",{own}}}"#),
        ),
        (
            Kind::Cacheable,
            r#"{"ttlMs":500,"cacheScope":"public"}"#,
            format!(r#"{{"ttlMs":500,"cacheScope":"private","resultType":"complete",{own}}}"#),
        ),
        (
            Kind::Cacheable,
            r#"{"ttlMs":-1}"#,
            format!(r#"{{"ttlMs":0,"resultType":"complete","cacheScope":"private",{own}}}"#),
        ),
        (
            Kind::Cacheable,
            r#"{"resultType":"input_required","requestState":"x"}"#,
            format!(r#"{{"resultType":"input_required","requestState":"x",{own}}}"#),
        ),
        (
            Kind::Plain,
            r#"{"_meta":{"a":1,"io.modelcontextprotocol/serverInfo":{"name":"up"}},"x":2}"#,
            r#"{"_meta":{"a":1,"io.modelcontextprotocol/serverInfo":{"name":"me"}},"x":2,"resultType":"complete"}"#
                .to_owned(),
        ),
        (
            Kind::Plain,
            r#"{"_meta":null}"#,
            format!(r#"{{{own},"resultType":"complete"}}"#),
        ),
        (Kind::Plain, "[1]", "[1]".to_owned()),
    ] {
        assert_eq!(result_for(V2026_07_28, kind, result, ME), expected);
    }
}

#[test]
fn legacy_callers_get_nothing_of_the_other_era() {
    for (result, expected) in [
        ("{ \"content\" : [] }", "{ \"content\" : [] }"),
        (r#"{"resultType":"complete","content":[]}"#, r#"{"content":[]}"#),
        (
            r#"{"tools":[], "ttlMs":5,"cacheScope":"public","resultType":"complete"}"#,
            r#"{"tools":[]}"#,
        ),
        (
            r#"{"a":1,"_meta":{"io.modelcontextprotocol/serverInfo":{}}}"#,
            r#"{"a":1}"#,
        ),
        (
            r#"{"_meta":{ "k" : 1 , "io.modelcontextprotocol/serverInfo":{}},"a":1}"#,
            r#"{"_meta":{ "k" : 1},"a":1}"#,
        ),
        (
            r#"{"_meta":{"io.modelcontextprotocol/related-task":{}}}"#,
            r#"{"_meta":{"io.modelcontextprotocol/related-task":{}}}"#,
        ),
        (
            r#"{"resultType":"complete","content":[{"type":"text","text":"x"}],"structuredContent":[1]}"#,
            r#"{"content":[{"type":"text","text":"x"}]}"#,
        ),
        (
            r#"{"resultType":"complete","content":[ ],"structuredContent":"é"}"#,
            r#"{"content":[{"type":"text","text":"\"é\""}]}"#,
        ),
        (
            r#"{"resultType":"complete","structuredContent":null}"#,
            r#"{"content":[{"type":"text","text":"null"}]}"#,
        ),
        (
            r#"{"content":[],"structuredContent":{"a":[]}}"#,
            r#"{"content":[],"structuredContent":{"a":[]}}"#,
        ),
        (
            r#"{"content":[],"structuredContent":[1]}"#,
            r#"{"content":[],"structuredContent":[1]}"#,
        ),
        (r#"{"a":1,"a":2}"#, r#"{"a":1,"a":2}"#),
    ] {
        for caller in [V2025_06_18, V2025_11_25] {
            assert_eq!(result_for(caller, Kind::Plain, result, ME), expected, "{result}");
        }
    }
}

#[test]
fn error_codes_are_exchanged() {
    let missing = r#"{"code":-32002,"message":"gone","data":{"uri":"a"}}"#;
    for (caller, method, error, expected) in [
        (
            V2026_07_28,
            "resources/read",
            missing,
            r#"{"code":-32602,"message":"gone","data":{"uri":"a"}}"#,
        ),
        (
            V2026_07_28,
            "tools/call",
            missing,
            r#"{"code":-32602,"message":"gone","data":{"uri":"a"}}"#,
        ),
        (
            V2026_07_28,
            "tools/call",
            r#"{"code":-32042,"message":"","data":{"elicitations":[]}}"#,
            r#"{"code":-32603,"message":"","data":{"elicitations":[]}}"#,
        ),
        (V2025_11_25, "resources/read", missing, missing),
        (V2025_11_25, "tools/call", r#"{"code":-32042}"#, r#"{"code":-32042}"#),
        (
            V2025_11_25,
            "resources/read",
            r#"{"code":-32602,"message":"Resource Not Found"}"#,
            r#"{"code":-32002,"message":"Resource Not Found"}"#,
        ),
        (
            V2025_11_25,
            "resources/read",
            r#"{"code":-32602,"message":"m","data":{"uri":"a"}}"#,
            r#"{"code":-32002,"message":"m","data":{"uri":"a"}}"#,
        ),
        (
            V2025_11_25,
            "resources/read",
            r#"{"code":-32602,"message":"uri must be a string"}"#,
            r#"{"code":-32602,"message":"uri must be a string"}"#,
        ),
        (
            V2025_11_25,
            "tools/call",
            r#"{"code":-32602,"message":"not found"}"#,
            r#"{"code":-32602,"message":"not found"}"#,
        ),
        (
            V2026_07_28,
            "tools/call",
            r#"{"message":"no code","x":[ ]}"#,
            r#"{"message":"no code","x":[ ]}"#,
        ),
        (V2026_07_28, "tools/call", "\"text\"", "\"text\""),
    ] {
        assert_eq!(error_for(caller, method, error), expected);
    }
}

#[test]
fn codes_of_the_hop_to_the_upstream_are_not_passed_on() {
    for caller in [V2025_11_25, V2026_07_28] {
        for code in [-32020, -32022] {
            let error = format!(r#"{{"code":{code},"message":"m"}}"#);
            assert_eq!(
                error_for(caller, "tools/call", &error),
                r#"{"code":-32603,"message":"m"}"#
            );
        }
    }
}

#[test]
fn a_lacking_capability_is_a_tool_error_for_a_legacy_caller() {
    let lacking = r#"{"code":-32021,"message":"need sampling","data":{"requiredCapabilities":{}}}"#;
    let text = tool_error_for(V2025_11_25, lacking).unwrap();
    assert!(text.contains("need sampling") && text.contains(r#""isError":true"#));
    assert_eq!(tool_error_for(V2026_07_28, lacking), None);
    assert_eq!(error_for(V2026_07_28, "tools/call", lacking), lacking);
    assert_eq!(tool_error_for(V2025_11_25, r#"{"code":-32602,"message":"m"}"#), None);
}

fn versions() -> impl Strategy<Value = Version> {
    prop::sample::select(vec![V2025_06_18, V2025_11_25, V2026_07_28])
}

proptest! {
    #[test]
    fn bridging_twice_changes_nothing_more(caller in versions(), cacheable in any::<bool>(),
        names in prop::collection::hash_set(prop::sample::select(vec!["resultType", "ttlMs", "cacheScope", "_meta", "structuredContent", "content", "x"]), 0..7),
        values in prop::collection::vec(prop::sample::select(vec!["1", "null", "[ ]", "{ }", "\"complete\"", r#"{"io.modelcontextprotocol/serverInfo":1, "a":2}"#]), 7),
    ) {
        let kind = if cacheable { Kind::Cacheable } else { Kind::Plain };
        let members: Vec<String> = names.iter().zip(&values).map(|(name, value)| format!(" \"{name}\" : {value}")).collect();
        let result = format!("{{{} }}", members.join(" ,"));
        let once = result_for(caller, kind, &result, ME);
        prop_assert_eq!(&result_for(caller, kind, &once, ME), &once);
        prop_assert!(serde_json::from_str::<serde_json::Value>(&once).is_ok());
        if names.contains("x") {
            let before = crate::object::Object::parse(&result).unwrap().get("x").unwrap().get().to_owned();
            prop_assert_eq!(crate::object::Object::parse(&once).unwrap().get("x").unwrap().get(), before);
        }
    }
}
