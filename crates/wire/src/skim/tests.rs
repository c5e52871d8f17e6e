//! Tests of `skim`: it finds what a full reading finds.

use super::members;
use crate::object::Object;
use crate::scan;
use proptest::prelude::*;

fn shown(text: &str) -> Option<Vec<(String, String)>> {
    let members = members(text)?;
    Some(
        members
            .into_iter()
            .map(|(name, value)| (name.into_owned(), value.get().to_owned()))
            .collect(),
    )
}

#[test]
fn members_are_found_with_their_own_bytes() {
    let text = " { \"a\" : 1.50 , \"\\u0062\\\"\":{\"x\":\"}]\\\"{\",\"y\":[{},[]]} ,\"c\":\"\\\\\",\"d\":[\"]\"],\"e\":-0e1} ";
    let expected = [
        ("a", "1.50"),
        ("b\"", "{\"x\":\"}]\\\"{\",\"y\":[{},[]]}"),
        ("c", "\"\\\\\""),
        ("d", "[\"]\"]"),
        ("e", "-0e1"),
    ];
    let expected: Vec<_> = expected
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    assert_eq!(shown(text), Some(expected));
    assert_eq!(shown("{}"), Some(Vec::new()));
    assert_eq!(shown("[]"), None);
    assert_eq!(shown("1"), None);
}

proptest! {
    #[test]
    fn what_was_checked_is_skimmed_as_it_is_read(
        text in r#"\{ ?("(a|b|\\u0061|c\\"|\\\\|é|)" ?: ?(1|-0\.0|1e5|true|null|\[\]|"[a\\"]?\\\\"|"\\"\}"|\[1, ?\{"a":"\]"\}\]|\{ ?"a":1\}) ?,? ?){0,4}\} ?"#,
    ) {
        if scan::check(&text).is_ok() {
            let read = Object::parse(&text).unwrap();
            let read: Vec<_> = read.iter().map(|(name, value)| (name.to_owned(), value.get().to_owned())).collect();
            prop_assert_eq!(shown(&text), Some(read), "{}", text);
        }
    }

    #[test]
    fn noise_is_survived(text in r#"[{}\[\]:,"\\ua0-9eE.+\-tfné \n]{0,40}"#) {
        let skimmed = shown(&text);
        if scan::check(&text).is_ok() {
            prop_assert_eq!(skimmed.is_some(), text.trim_start().starts_with('{'), "{}", text);
        }
    }
}
