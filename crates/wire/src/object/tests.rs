//! Tests of `object`.

use super::{Edit, Error, Object, edit, quote};
use proptest::prelude::*;

#[test]
fn members_are_read_in_order_with_their_own_bytes() {
    let text = "\n { \"b\" : 1.50 , \"\\u0061\\n\":{ \"x\" : [ 1 ,2 ] } , \"c\":\"\\ud800\" }\r";
    let object = Object::parse(text).unwrap();
    let members: Vec<_> = object
        .iter()
        .map(|(name, value)| (name.to_owned(), value.get()))
        .collect();
    assert_eq!(
        members,
        [
            ("b".to_owned(), "1.50"),
            ("a\n".to_owned(), "{ \"x\" : [ 1 ,2 ] }"),
            ("c".to_owned(), "\"\\ud800\"")
        ]
    );
    assert_eq!((object.len(), object.is_empty()), (3, false));
    assert!(object.text("c").is_none() && object.text("b").is_none() && object.get("z").is_none());
}

#[test]
fn texts_are_decoded() {
    let object = Object::parse(r#"{"a":"\u0041\ud83d\ude00","b":"plain","c":null}"#).unwrap();
    assert_eq!(object.text("a").as_deref(), Some("A😀"));
    assert!(matches!(object.text("b"), Some(std::borrow::Cow::Borrowed("plain"))));
    assert_eq!(object.text("c"), None);
}

#[test]
fn what_is_not_an_object_or_has_two_readings_is_refused() {
    for text in [
        "",
        "[]",
        "null",
        "\"{}\"",
        "{",
        "{}{}",
        "{} x",
        "{\"a\":}",
        "{\"a\":1,}",
    ] {
        assert_eq!(Object::parse(text).unwrap_err(), Error::NotAnObject, "{text}");
    }
    assert_eq!(
        Object::parse(r#"{"a":1,"\u0061":2}"#).unwrap_err(),
        Error::DuplicateKey("a".to_owned())
    );
    let many: Vec<String> = (0..40).map(|n| format!("\"k{}\":0", n % 39)).collect();
    assert_eq!(
        Object::parse(&format!("{{{}}}", many.join(","))).unwrap_err(),
        Error::DuplicateKey("k0".to_owned())
    );
}

#[test]
fn edits_leave_all_other_bytes() {
    let text = " { \"a\" : 1 ,\n \"b\":[ 1,  2 ] , \"\\u0063\" : \"x\" } ";
    for (edits, expected) in [
        (vec![], text),
        (
            vec![Edit::Set("b", "0")],
            " { \"a\" : 1 ,\n \"b\":0 , \"\\u0063\" : \"x\" } ",
        ),
        (
            vec![Edit::Set("c", "0")],
            " { \"a\" : 1 ,\n \"b\":[ 1,  2 ] , \"\\u0063\" : 0 } ",
        ),
        (vec![Edit::Remove("a")], " {\"b\":[ 1,  2 ] , \"\\u0063\" : \"x\" } "),
        (vec![Edit::Remove("b")], " { \"a\" : 1 , \"\\u0063\" : \"x\" } "),
        (
            vec![Edit::Remove("c"), Edit::Remove("zz")],
            " { \"a\" : 1 ,\n \"b\":[ 1,  2 ] } ",
        ),
        (
            vec![Edit::Default("a", "9"), Edit::Default("d", "9")],
            " { \"a\" : 1 ,\n \"b\":[ 1,  2 ] , \"\\u0063\" : \"x\",\"d\":9 } ",
        ),
        (vec![Edit::Remove("a"), Edit::Remove("b"), Edit::Remove("c")], " { } "),
        (
            vec![
                Edit::Remove("a"),
                Edit::Remove("b"),
                Edit::Remove("c"),
                Edit::Set("q\"", "{}"),
            ],
            " {\"q\\\"\":{} } ",
        ),
    ] {
        assert_eq!(edit(text, &edits).unwrap(), expected, "{edits:?}");
    }
    assert_eq!(
        edit(
            "{}",
            &[Edit::Default("a", "1"), Edit::Set("b", "2"), Edit::Set("b", "3")]
        )
        .unwrap(),
        r#"{"a":1,"b":3}"#
    );
    assert_eq!(edit("[]", &[]).unwrap_err(), Error::NotAnObject);
}

#[test]
fn b044_quoting_survives_every_character() {
    for text in [
        "Đ × ★ 漢字 😀",
        "\u{2028}\u{2029}",
        "\0",
        "\u{1}\u{1f}\u{7f}\u{8}\u{c}",
        "\"\\/\n\r\t",
        "",
        "\u{FEFF}\u{10FFFF}",
    ] {
        let token = quote(text);
        assert_eq!(serde_json::from_str::<String>(&token).unwrap(), text);
        assert!(!token.contains(['\u{2028}', '\u{2029}', '\0', '\n']));
    }
}

proptest! {
    #[test]
    fn quoting_round_trips(text in any::<String>()) {
        prop_assert_eq!(serde_json::from_str::<String>(&quote(&text)).unwrap(), text);
    }

    #[test]
    fn an_edit_changes_its_member_only(
        members in prop::collection::btree_map("[a-e\"\\\\é]{0,3}", r#"(0|"[a-z ]{0,5}"|\[ ?1 ?\]|\{ "a" : 1\.0 \})"#, 0..6),
        blank in "[ \n\t]{0,2}",
        name in "[a-e]{0,2}",
        which in 0..3,
    ) {
        let inner: Vec<String> = members.iter().map(|(name, value)| format!("{blank}{}{blank}:{blank}{value}{blank}", quote(name))).collect();
        let text = format!("{blank}{{{}{blank}}}{blank}", inner.join(","));
        let change = match which {
            0 => Edit::Set(&name, "[true]"),
            1 => Edit::Default(&name, "[true]"),
            _ => Edit::Remove(&name),
        };
        let edited = edit(&text, &[change]).unwrap();
        let before = Object::parse(&text).unwrap();
        let after = Object::parse(&edited).unwrap();
        let rest = |object: &Object<'_>| object.iter().filter(|(member, _)| *member != name).map(|(member, value)| (member.to_owned(), value.get().to_owned())).collect::<Vec<_>>();
        prop_assert_eq!(rest(&before), rest(&after));
        let expected = match which {
            0 => Some("[true]"),
            1 => Some(before.get(&name).map_or("[true]", |raw| raw.get())),
            _ => None,
        };
        prop_assert_eq!(after.get(&name).map(|raw| raw.get()), expected);
        if before.get(&name).is_none() && which == 2 {
            prop_assert_eq!(edited, text);
        }
    }

    #[test]
    fn any_text_is_survived(text in any::<String>()) {
        drop(edit(&text, &[Edit::Set("a", "1"), Edit::Remove("b")]));
    }
}
