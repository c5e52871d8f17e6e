//! Values keep their numbers as they were written.

use proptest::prelude::*;

use super::*;

#[test]
fn every_digit_of_a_number_stays() {
    for text in [
        "1",
        "1.0",
        "-0",
        "1e3",
        "1.50",
        "9007199254740993",
        "123456789012345678901234567890123456789012345",
        "0.1234567890123456789012345",
        "1E+400",
    ] {
        assert_eq!(Json::parse(text).unwrap().to_text(), text);
    }
}

#[test]
fn a_pointer_leads_to_its_value() {
    let value = Json::parse(r#"{"a":{"b/c":[10,{"~":true}]},"":null}"#).unwrap();
    for (pointer, found) in [
        ("", Some(r#"{"":null,"a":{"b/c":[10,{"~":true}]}}"#)),
        ("/a/b~1c/0", Some("10")),
        ("/a/b~1c/1/~0", Some("true")),
        ("/", Some("null")),
        ("/a/b~1c/01", None),
        ("/a/b~1c/2", None),
        ("/a/x", None),
        ("a", None),
    ] {
        assert_eq!(value.at(pointer).map(Json::to_text).as_deref(), found, "{pointer}");
    }
}

#[test]
fn numbers_are_the_same_whatever_their_spelling() {
    for (left, right, same) in [
        ("200", "200.0", true),
        ("2e2", "200", true),
        ("0", "-0.0", true),
        ("0.1", "1e-1", true),
        ("9007199254740993", "9007199254740992", false),
        ("1", "-1", false),
        ("1", "10", false),
        ("100000000000000000000000000000000000001", "1e38", false),
    ] {
        let [left, right] = [left, right].map(|text| Json::parse(&format!("[{text}]")).unwrap());
        assert_eq!(left.is_same_as(&right), same, "{left:?} {right:?}");
    }
}

#[test]
fn tokens_are_those_of_the_grammar() {
    for good in ["0", "-1", "1.5", "1e5", "1E-5", "10.00"] {
        assert!(Number::parse(good).is_some(), "{good}");
    }
    for bad in ["", "01", "1.", ".5", "+1", "0x1", "1e", "1_000", "NaN", "--1", "1e+"] {
        assert!(Number::parse(bad).is_none(), "{bad}");
    }
}

fn texts() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|value| value.to_string()),
        "-?(0|[1-9][0-9]{0,40})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?",
        any::<String>().prop_map(|text| serde_json::Value::from(text).to_string()),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(|items| format!("[{}]", items.join(","))),
            proptest::collection::btree_map(any::<String>(), inner, 0..6).prop_map(|members| {
                let members: Vec<String> = members
                    .into_iter()
                    .map(|(name, value)| format!("{}:{value}", serde_json::Value::from(name)))
                    .collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn i11_a_tree_is_the_text_it_was_read_from(text in texts()) {
        let exact = Exact::parse(&text).unwrap();
        prop_assert_eq!(Json::of(&exact).to_text(), exact.as_str());
    }
}
