//! The reader against serde_json, and what it says of what is no JSON.

use std::fmt::Write as _;
use std::sync::Arc;

use expect_test::expect;
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};
use serde_json::{Map, Value as Json};

use super::parse;
use crate::problem::Source;
use crate::tree::{Node, Value};

fn source(text: &str) -> Source {
    Source {
        name: "mcp.json".to_owned(),
        text: Arc::from(text),
    }
}

fn json_of(node: &Node) -> Json {
    match &node.value {
        Value::Null => Json::Null,
        Value::Boolean(value) => Json::from(*value),
        Value::Number(token) => serde_json::from_str(token).unwrap(),
        Value::Text(text) => Json::from(text.as_str()),
        Value::List(items) => items.iter().map(json_of).collect(),
        Value::Map(members) => members
            .iter()
            .map(|member| (member.key.clone(), json_of(&member.node)))
            .collect(),
    }
}

fn good(text: &str) -> Json {
    let (node, problems) = parse(&source(text));
    assert!(problems.is_empty(), "{problems:?}");
    json_of(&node.unwrap())
}

#[test]
fn b057_jsonc() {
    let text = "// head\n{\n  // a comment with \"quotes\" and { braces\n  \"a\": [1, 2, /* inner, */ 3,],\n  \"b\": {\"c\": null,}, // tail\n  \"url\": \"http://x//y\", /* \n lines */\n}\n// end without newline";
    assert_eq!(
        good(text),
        serde_json::json!({"a": [1, 2, 3], "b": {"c": null}, "url": "http://x//y"})
    );

    let twice = "{\n  \"a\": 1, // first\n  \"b\": {\"x\": 1, \"x\": 2},\n  \"a\": 3,\n  \"\\u0061\": 4,\n}";
    let (node, problems) = parse(&source(twice));
    assert!(node.is_some());
    expect![[r#"
        [
            Error: mcp.json:3:17: duplicate key `x`; it stands on line 3 already,
            Error: mcp.json:4:3: duplicate key `a`; it stands on line 2 already,
            Error: mcp.json:5:3: duplicate key `a`; it stands on line 2 already,
        ]"#]]
    .assert_eq(&format!("{problems:#?}"));
}

#[test]
fn what_is_no_json_is_said_with_its_place() {
    let deep = "[".repeat(100);
    let mut table = String::new();
    for text in [
        "",
        " ",
        "// only",
        "/* open",
        "{",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1 \"b\":2}",
        "{a: 1}",
        "{'a': 1}",
        "{,}",
        "[,]",
        "[1,,2]",
        "[1 2]",
        "{\"a\":1}}",
        "{\"a\":1} x",
        "\"open",
        "\"line\nbreak\"",
        "\"\t\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u+123\"",
        "\"\\ud800\"",
        "\"\\ud800\\u0041\"",
        "\"\\udc00\"",
        "01",
        "-",
        "1.",
        ".5",
        "+1",
        "1e",
        "0x10",
        "1_000",
        "NaN",
        "Infinity",
        "-Infinity",
        "True",
        "undefined",
        "yes",
        "'x'",
        "# yaml",
        "{\u{feff}}",
        "{\"é\": é}",
        "\u{a0}{}",
        &deep,
    ] {
        let (node, problems) = parse(&source(text));
        assert!(node.is_none(), "{text}");
        writeln!(
            table,
            "{:24} {}",
            text.escape_debug().to_string().chars().take(24).collect::<String>(),
            problems[0]
        )
        .unwrap();
    }
    expect![[r#"
                                 mcp.json:1:1: expected a value, found the end of the file
                                 mcp.json:1:2: expected a value, found the end of the file
        // only                  mcp.json:1:8: expected a value, found the end of the file
        /* open                  mcp.json:1:1: this comment `/*` is never closed
        {                        mcp.json:1:1: this `{` is never closed
        {\"a\"                   mcp.json:1:5: expected `:` after the key, found the end of the file
        {\"a\":                  mcp.json:1:6: expected a value, found the end of the file
        {\"a\":1                 mcp.json:1:1: this `{` is never closed
        {\"a\":1 \"b\":2}        mcp.json:1:8: expected `,` or `}`, found `\"`
        {a: 1}                   mcp.json:1:2: expected a key in double quotes or `}`, found `a`
        {\'a\': 1}               mcp.json:1:2: expected a key in double quotes or `}`, found `'`; text stands in double quotes
        {,}                      mcp.json:1:2: expected a key in double quotes or `}`, found `,`
        [,]                      mcp.json:1:2: expected a value, found `,`
        [1,,2]                   mcp.json:1:4: expected a value, found `,`
        [1 2]                    mcp.json:1:4: expected `,` or `]`, found `2`
        {\"a\":1}}               mcp.json:1:8: expected the end of the file, found `}`
        {\"a\":1} x              mcp.json:1:9: expected the end of the file, found `x`
        \"open                   mcp.json:1:1: this string is never closed
        \"line\nbreak\"          mcp.json:1:1: this string is not closed on its line
        \"\t\"                   mcp.json:1:2: a control character stands in a string; write it as an escape such as `\t`
        \"\\x\"                  mcp.json:1:2: unknown escape in a string; write `\\` for a backslash
        \"\\u12\"                mcp.json:1:2: `\u` needs four hexadecimal digits
        \"\\u+123\"              mcp.json:1:2: `\u` needs four hexadecimal digits
        \"\\ud800\"              mcp.json:1:2: half of a surrogate pair stands in a string
        \"\\ud800\\u0041\"       mcp.json:1:2: half of a surrogate pair stands in a string
        \"\\udc00\"              mcp.json:1:2: half of a surrogate pair stands in a string
        01                       mcp.json:1:1: malformed number
        -                        mcp.json:1:1: malformed number
        1.                       mcp.json:1:1: malformed number
        .5                       mcp.json:1:1: expected a value, found `.`
        +1                       mcp.json:1:1: expected a value, found `+`
        1e                       mcp.json:1:1: malformed number
        0x10                     mcp.json:1:1: malformed number
        1_000                    mcp.json:1:1: malformed number
        NaN                      mcp.json:1:1: expected a value; text stands in double quotes
        Infinity                 mcp.json:1:1: expected a value; text stands in double quotes
        -Infinity                mcp.json:1:1: malformed number
        True                     mcp.json:1:1: expected a value; text stands in double quotes
        undefined                mcp.json:1:1: expected a value; text stands in double quotes
        yes                      mcp.json:1:1: expected a value; text stands in double quotes
        \'x\'                    mcp.json:1:1: expected a value, found `'`; text stands in double quotes
        # yaml                   mcp.json:1:1: expected a value, found `#`
        {\u{feff}}               mcp.json:1:2: expected a key in double quotes or `}`, found `\u{feff}`
        {\"é\": é}               mcp.json:1:7: expected a value, found `é`
        \u{a0}{}                 mcp.json:1:1: expected a value, found `\u{a0}`
        [[[[[[[[[[[[[[[[[[[[[[[[ mcp.json:1:66: values are nested deeper than 64 levels
    "#]].assert_eq(&table);
}

#[test]
fn places_are_the_bytes_of_the_values() {
    let text = "{ \"é\": [\"ü\", 12] }";
    let (node, _) = parse(&source(text));
    let node = node.unwrap();
    let member = node.member("é").unwrap();
    assert_eq!(text.get(member.key_span.clone()).unwrap(), "\"é\"");
    assert_eq!(text.get(member.node.span.clone()).unwrap(), "[\"ü\", 12]");
    let place = source(text).place(member.node.span.clone());
    assert_eq!((place.line, place.column), (1, 8));
}

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        any::<f64>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(Json::from),
        any::<String>().prop_map(Json::from),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|members| Json::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #[test]
    fn valid_json_is_read_as_serde_json_reads_it(json in any_json()) {
        for text in [json.to_string(), format!("{json:#}")] {
            assert_eq!(good(&text), serde_json::from_str::<Json>(&text).unwrap());
        }
    }

    #[test]
    fn any_text_is_read_or_complained_of(text in any::<String>()) {
        let (node, problems) = parse(&source(&text));
        assert!(node.is_some() || !problems.is_empty());
    }

    #[test]
    fn what_is_nearly_json_is_accepted_only_when_serde_json_accepts_it(text in "[\\[\\]{}\":,0-9a-z\\\\u.eE+ -]{0,16}") {
        let (node, problems) = parse(&source(&text));
        let commas: String = text.split_whitespace().collect();
        let trailing = commas.contains(",]") || commas.contains(",}");
        if let (Some(node), true, false) = (node, problems.is_empty(), trailing) {
            assert_eq!(serde_json::from_str::<Json>(&text).ok(), Some(json_of(&node)), "{text}");
        } else if problems.is_empty() {
            assert!(trailing, "{text}");
        }
    }
}
