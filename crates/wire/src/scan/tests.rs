//! Tests of `scan`.

use super::{Error, MAX_DEPTH, check, is_visible, plain};
use proptest::prelude::*;

#[test]
fn accepts_what_has_one_reading() {
    for text in [
        "null",
        " true ",
        "false",
        "0",
        "-0",
        "-12.50e+3",
        "1E9",
        "1e999",
        r#""""#,
        "[]",
        "{}",
        "[1,[2,{}],\"x\"]\r\n",
        r#"{"a":{"a":{"a":[]}},"b":[{"a":1},{"a":2}]}"#,
        r#""\ud83d\ude00 \u0000 \u2028 \/ \b\f\n\r\t\\\"""#,
        "\"Đ × ★ 漢字 😀 \u{2028}\u{7f}\"",
        "123456789012345678901234567890",
    ] {
        assert_eq!(check(text), Ok(()), "{text}");
    }
}

#[test]
fn refuses_what_is_not_json() {
    for text in [
        "",
        " ",
        "nul",
        "NaN",
        "Infinity",
        "-Infinity",
        "01",
        "1.",
        ".5",
        "+1",
        "1e",
        "--1",
        "-",
        "'a'",
        "{a:1}",
        "[1,]",
        "[,1]",
        r#"{"a":1,}"#,
        r#"{"a" 1}"#,
        r#"{"a":}"#,
        "[1 2]",
        "{} {}",
        "[]x",
        "\"a",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"\\u12",
        "\"a\nb\"",
        "\"a\0b\"",
        "\u{FEFF}{}",
        "//x\n{}",
        "{\"a\":1",
        "[",
        "{",
        "\"\\",
        "\u{a0}1",
    ] {
        assert!(
            matches!(check(text), Err(Error::Syntax { .. })),
            "{text:?}: {:?}",
            check(text)
        );
    }
}

#[test]
fn duplicate_keys_are_refused_at_every_level_and_in_every_spelling() {
    for text in [
        r#"{"a":1,"a":2}"#,
        r#"{"a":1,"b":2,"a":1}"#,
        r#"{"x":{"arguments":{"p":[{"k":1,"k":2}]}}}"#,
        r#"{"a":1,"\u0061":2}"#,
        r#"{"\ud83d\ude00":1,"😀":2}"#,
        r#"{"":1,"":2}"#,
        r#"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"\u0062":1}"#,
    ] {
        assert!(matches!(check(text), Err(Error::DuplicateKey(_))), "{text}");
    }
}

#[test]
fn a_large_hostile_object_is_read_in_reasonable_work() {
    let members: Vec<String> = (0..200_000).map(|n| format!("\"k{n}\":0")).collect();
    assert_eq!(check(&format!("{{{}}}", members.join(","))), Ok(()));
    assert_eq!(
        check(&format!("{{{},\"k7\":1}}", members.join(","))),
        Err(Error::DuplicateKey("k7".to_owned()))
    );
}

#[test]
fn b044_lone_surrogates_are_refused() {
    for text in [
        r#""\ud800""#,
        r#""\udc00""#,
        r#""\ud800x""#,
        r#""\ud800\n""#,
        r#""\ud800\ud800""#,
        r#""\udbff\u0041""#,
        r#"{"\udfff":1}"#,
        r#"[["a\ud83d"]]"#,
    ] {
        assert!(matches!(check(text), Err(Error::LoneSurrogate { .. })), "{text}");
    }
}

#[test]
fn depth_is_bounded() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert_eq!(check(&nested(MAX_DEPTH)), Ok(()));
    assert_eq!(check(&nested(MAX_DEPTH + 1)), Err(Error::TooDeep));
    assert_eq!(check(&"[".repeat(1_000_000)), Err(Error::TooDeep));
    assert_eq!(check(&"{\"a\":".repeat(1_000_000)), Err(Error::TooDeep));
    // Siblings do not add up.
    assert_eq!(check(&format!("[{}]", vec![nested(100); 50].join(","))), Ok(()));
}

#[test]
fn string_ends_are_found_at_every_offset() {
    for length in 0..40 {
        let filler = "x".repeat(length);
        assert_eq!(check(&format!("\"{filler}\"")), Ok(()));
        assert_eq!(check(&format!("\"{filler}\\n{filler}\"")), Ok(()));
        assert!(check(&format!("\"{filler}\u{1f}{filler}\"")).is_err());
        assert!(check(&format!("\"{filler}\"{filler}\"")).is_err());
        assert_eq!(check(&format!("\"{filler}é{filler}\u{80}\u{ff}\"")), Ok(()));
    }
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let text = String::from_utf8_lossy(&bytes);
        // What passes here, a lenient reader reads too.
        if check(&text).is_ok() {
            prop_assert!(serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok());
        }
    }

    #[test]
    fn json_like_noise_is_survived_and_agrees_with_serde(text in r#"[{}\[\]:,"\\ua0-9eE.+\-tfn \n]{0,40}"#) {
        let ours = check(&text);
        let theirs = serde_json::from_str::<serde_json::Value>(&text);
        match &ours {
            Ok(()) => prop_assert!(theirs.is_ok() || text.contains(['e', 'E', '0', '9']), "{text}"),
            Err(Error::Syntax { .. }) => prop_assert!(theirs.is_err(), "{text}"),
            Err(Error::DuplicateKey(_) | Error::LoneSurrogate { .. } | Error::TooDeep) => {}
        }
    }

    #[test]
    fn i4_the_scan_and_the_exact_reader_accept_the_same_texts(
        text in r#"(\{("(a|b|\\u0061|\\ud83d\\ude00|\\ud800)":(1|-0\.0|1e5|01|null|\[\]|"\\n"|\{"a":1,"a":2\}) ?,?){0,3}\}|[\[\]]{1,4}| ?[0-9.eE+\-]{1,5}|"[^\\\\"]{0,3}")"#,
    ) {
        prop_assert_eq!(check(&text).is_ok(), countersign_core::exact::Exact::parse(&text).is_ok(), "{}", text);
    }
}

proptest! {
    #[test]
    fn plain_ends_at_the_first_byte_that_is_not(bytes in prop::collection::vec(prop_oneof![Just(0x21), Just(0x23), Just(b'"'), Just(b'\\'), Just(0x1F), Just(0x20), Just(0x7F), Just(0x80), Just(0xFF), any::<u8>(), Just(b'a'), Just(b'b')], 0..40)) {
        let first = bytes.iter().position(|byte| *byte < 0x20 || matches!(byte, b'"' | b'\\'));
        prop_assert_eq!(plain(&bytes), first.unwrap_or(bytes.len()));
    }

    #[test]
    fn visible_is_ascii_that_needs_no_escape(text in "[ !#-~]{0,20}[\x00-\u{80}\u{2028}]?[ !#-~]{0,20}") {
        let expected = text.bytes().all(|byte| matches!(byte, 0x20..=0x7E) && byte != b'"' && byte != b'\\');
        prop_assert_eq!(is_visible(&text), expected);
    }
}
