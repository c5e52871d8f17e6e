//! Small texts: summaries, compact JSON, example invocations.

use proptest::prelude::*;
use serde_json::Value;

use super::super::answer::compact;
use super::super::invocation::of_tool;
use super::super::page::summary;

#[test]
fn a_summary_is_the_first_line_and_at_most_120_characters() {
    assert_eq!(summary(""), "");
    assert_eq!(summary("\n  One.  \r\nTwo."), "One.");
    assert_eq!(summary(&"é".repeat(120)), "é".repeat(120));
    let cut = summary(&"é".repeat(121));
    assert_eq!((cut.chars().count(), cut.ends_with('…')), (120, true));
    assert_eq!(
        summary(&format!("{} {}", "a".repeat(118), "b".repeat(9))),
        format!("{}…", "a".repeat(118))
    );
}

#[test]
fn an_example_uses_what_the_schema_names() {
    let schema = r#"{"type":"object","required":["s","n","m","b","l","o","d","c","e","x","u"],"properties":{
        "s":{"type":"string"},"n":{"type":"number"},"m":{"type":"integer","minimum":3},"b":{"type":"boolean"},
        "l":{"type":"array"},"o":{"type":"object"},"d":{"type":"integer","default":9007199254740993},"c":{"const":"k"},
        "e":{"enum":["one","two"]},"x":{"examples":[1.50]}}}"#;
    assert_eq!(
        of_tool("t", schema),
        r#"{"tool":"call_tool","arguments":{"name":"t","arguments":{"s":"<s>","n":0,"m":3,"b":false,"l":[],"o":{},"d":9007199254740993,"c":"k","e":"one","x":1.50,"u":"<u>"}}}"#
    );
    for odd in [
        "{}",
        "[]",
        r#"{"required":7,"properties":[]}"#,
        r#"{"required":["a",1]}"#,
    ] {
        assert_eq!(
            of_tool("t", odd),
            r#"{"tool":"call_tool","arguments":{"name":"t","arguments":{}}}"#,
            "{odd}"
        );
    }
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".*".prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(".*", inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn compact_takes_only_blanks_between_tokens(value in json()) {
        prop_assert_eq!(compact(&serde_json::to_string_pretty(&value).unwrap()), value.to_string());
    }
}
