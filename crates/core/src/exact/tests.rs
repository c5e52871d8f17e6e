//! One reading, or none.

use std::collections::BTreeMap;

use expect_test::expect;
use proptest::prelude::*;

use super::*;

fn canonical(text: &str) -> String {
    Exact::parse(text).unwrap().as_str().to_owned()
}

fn refusal(text: &str) -> String {
    Exact::parse(text).unwrap_err().to_string()
}

#[test]
fn canonical_text_of_each_kind_of_value() {
    let cases = [
        (" null ", "null"),
        ("[ true ,\tfalse\r\n]", "[true,false]"),
        (r#"{"b":1,"a":2}"#, r#"{"a":2,"b":1}"#),
        (r#"{ }"#, "{}"),
        ("[]", "[]"),
        (
            r#"{"b":{"d":[{"z":0,"y":1}],"c":2},"a":{"f":3,"e":4}}"#,
            r#"{"a":{"e":4,"f":3},"b":{"c":2,"d":[{"y":1,"z":0}]}}"#,
        ),
        (r#"[{"b":1,"a":2},{"b":3,"a":4}]"#, r#"[{"a":2,"b":1},{"a":4,"b":3}]"#),
        // Keys sort by code point, not by UTF-16 unit and not by their escaped text.
        ("{\"\u{FFFD}\":1,\"\u{1F600}\":2}", "{\"\u{FFFD}\":1,\"\u{1F600}\":2}"),
        (r#"{"a":1,"\"":2,"Z":3,"\n":4}"#, r#"{"\n":4,"\"":2,"Z":3,"a":1}"#),
        (r#"{"aa":1,"a":2,"":3}"#, r#"{"":3,"a":2,"aa":1}"#),
    ];
    for (text, wanted) in cases {
        assert_eq!(canonical(text), wanted, "{text}");
    }
}

#[test]
fn numbers_stay_as_written() {
    for number in [
        "0",
        "-0",
        "1.0",
        "1",
        "1e400",
        "1E+5",
        "-1.5e-7",
        "9007199254740993",
        "0.10",
        "123456789012345678901234567890",
    ] {
        assert_eq!(canonical(number), number);
    }
    assert_ne!(
        Exact::parse("1").unwrap().digest(),
        Exact::parse("1.0").unwrap().digest()
    );
    assert_ne!(
        Exact::parse("9007199254740993").unwrap(),
        Exact::parse("9007199254740992").unwrap()
    );
    assert_ne!(Exact::parse("-0").unwrap(), Exact::parse("0").unwrap());
}

#[test]
fn strings_keep_only_the_escapes_they_need() {
    let cases = [
        (r#""\u0041\/""#, r#""A/""#),
        (r#""\u000A\u0008\u000c\u000D\u0009""#, r#""\n\b\f\r\t""#),
        (r#""\u0000\u001F\u007f""#, "\"\\u0000\\u001f\u{7f}\""),
        (r#""\u0022\u005C""#, r#""\"\\""#),
        (r#""\ud83d\ude00""#, "\"\u{1F600}\""),
        (r#""\u2028 Đ × ★ 漢字""#, "\"\u{2028} Đ × ★ 漢字\""),
        (r#""\uFEFF""#, "\"\u{FEFF}\""),
    ];
    for (text, wanted) in cases {
        assert_eq!(canonical(text), wanted, "{text}");
    }
}

const BROKEN: &[&str] = &[
    "",
    " ",
    "{",
    "[",
    "[1",
    "[1,",
    "[1,]",
    "[,1]",
    "{,}",
    r#"{"a"}"#,
    r#"{"a":}"#,
    r#"{"a":1,}"#,
    "{a:1}",
    "{'a':1}",
    "\u{FEFF}{}",
    "{}{}",
    "{} x",
    "nul",
    "nulll",
    "True",
    "NaN",
    "Infinity",
    "-",
    "-a",
    "+1",
    "01",
    "-01",
    "1.",
    ".5",
    "1e",
    "1e+",
    "0x10",
    "1_000",
    r#"""#,
    r#""\"#,
    r#""\x""#,
    r#""\u12""#,
    r#""\u12g4""#,
    r#""\u+123""#,
    "\"\u{1}\"",
    "\"\n\"",
    r#""\ud800""#,
    r#""\udc00""#,
    r#""\ud800\u0041""#,
    r#""\ud800\ud800""#,
    r#""\ud800x""#,
    r#""\ud800\n""#,
    "[1] // no",
];

#[test]
fn texts_without_a_single_reading_are_refused() {
    let refusals: Vec<String> = BROKEN
        .iter()
        .map(|text| format!("{text:?}: {}", refusal(text)))
        .collect();
    expect![[r#"
        "": not valid JSON at byte 0: the text ends before the value does
        " ": not valid JSON at byte 1: the text ends before the value does
        "{": not valid JSON at byte 1: expected a key in double quotes
        "[": not valid JSON at byte 1: the text ends before the value does
        "[1": not valid JSON at byte 2: expected `,` or the end of the object or array
        "[1,": not valid JSON at byte 3: the text ends before the value does
        "[1,]": not valid JSON at byte 3: expected a value
        "[,1]": not valid JSON at byte 1: expected a value
        "{,}": not valid JSON at byte 1: expected a key in double quotes
        "{\"a\"}": not valid JSON at byte 4: expected `:` after a key
        "{\"a\":}": not valid JSON at byte 5: expected a value
        "{\"a\":1,}": not valid JSON at byte 7: expected a key in double quotes
        "{a:1}": not valid JSON at byte 1: expected a key in double quotes
        "{'a':1}": not valid JSON at byte 1: expected a key in double quotes
        "\u{feff}{}": not valid JSON at byte 0: a byte order mark is not allowed
        "{}{}": not valid JSON at byte 2: text after the value
        "{} x": not valid JSON at byte 3: text after the value
        "nul": not valid JSON at byte 0: expected a value
        "nulll": not valid JSON at byte 4: text after the value
        "True": not valid JSON at byte 0: expected a value
        "NaN": not valid JSON at byte 0: expected a value
        "Infinity": not valid JSON at byte 0: expected a value
        "-": not valid JSON at byte 0: expected a digit
        "-a": not valid JSON at byte 0: expected a digit
        "+1": not valid JSON at byte 0: expected a value
        "01": not valid JSON at byte 1: text after the value
        "-01": not valid JSON at byte 2: text after the value
        "1.": not valid JSON at byte 0: expected a digit after the point of a number
        ".5": not valid JSON at byte 0: expected a value
        "1e": not valid JSON at byte 0: expected a digit in the exponent of a number
        "1e+": not valid JSON at byte 0: expected a digit in the exponent of a number
        "0x10": not valid JSON at byte 1: text after the value
        "1_000": not valid JSON at byte 1: text after the value
        "\"": not valid JSON at byte 1: the string does not end
        "\"\\": not valid JSON at byte 1: unknown escape in a string
        "\"\\x\"": not valid JSON at byte 1: unknown escape in a string
        "\"\\u12\"": not valid JSON at byte 1: `\u` needs four hex digits
        "\"\\u12g4\"": not valid JSON at byte 1: `\u` needs four hex digits
        "\"\\u+123\"": not valid JSON at byte 1: `\u` needs four hex digits
        "\"\u{1}\"": not valid JSON at byte 1: a control character in a string must be escaped
        "\"\n\"": not valid JSON at byte 1: a control character in a string must be escaped
        "\"\\ud800\"": lone surrogate in a string at byte 1
        "\"\\udc00\"": lone surrogate in a string at byte 1
        "\"\\ud800\\u0041\"": lone surrogate in a string at byte 1
        "\"\\ud800\\ud800\"": lone surrogate in a string at byte 1
        "\"\\ud800x\"": lone surrogate in a string at byte 1
        "\"\\ud800\\n\"": lone surrogate in a string at byte 1
        "[1] // no": not valid JSON at byte 4: text after the value"#]]
    .assert_eq(&refusals.join("\n"));
}

#[test]
fn duplicate_keys_are_refused_with_their_object() {
    let texts = [
        r#"{"a":1,"a":1}"#,
        r#"{"a":1,"b":2,"a":3}"#,
        r#"{"a":1,"\u0061":2}"#,
        r#"{"p/q":[0,{"~":{"x":1,"x":2}}]}"#,
        r#"{"":0,"":0}"#,
        r#"{"b":{"k\n":1,"k\u000a":2}}"#,
    ];
    let refusals: Vec<String> = texts.iter().map(|text| refusal(text)).collect();
    expect![[r#"
        duplicate key `a` at ``
        duplicate key `a` at ``
        duplicate key `a` at ``
        duplicate key `x` at `/p~1q/1/~0`
        duplicate key `` at ``
        duplicate key `k
        ` at `/b`"#]]
    .assert_eq(&refusals.join("\n"));
}

#[test]
fn depth_is_bounded_at_128_levels() {
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}"), (r#"[{"b":0,"a":"#, "}]")] {
        let levels = open.matches(['[', '{']).count();
        let nested = |depth: usize| format!("{}1{}", open.repeat(depth / levels), close.repeat(depth / levels));
        assert!(Exact::parse(&nested(MAX_DEPTH)).is_ok());
        assert_eq!(Exact::parse(&nested(MAX_DEPTH + levels)), Err(Error::TooDeep));
    }
    assert_eq!(Exact::parse(&"[".repeat(1_000_000)), Err(Error::TooDeep));
}

#[test]
fn b041_null_arguments_are_not_an_object() {
    let found = |text: &str| Exact::object(text).map_err(|error| error.to_string());
    assert_eq!(found(" {} "), Ok(Exact::empty_object()));
    assert_eq!(Exact::parse("{}").unwrap(), Exact::empty_object());
    for (text, kind) in [
        ("null", "null"),
        ("[]", "an array"),
        ("'x'", ""),
        ("\"x\"", "a string"),
        ("1", "a number"),
        ("true", "a boolean"),
    ] {
        if !kind.is_empty() {
            assert_eq!(found(text), Err(format!("expected a JSON object, found {kind}")));
        }
        assert!(found(text).is_err());
    }
}

/// A value, with keys that are sorted and single by construction.
#[derive(Debug, Clone)]
enum Tree {
    Word(&'static str),
    Number(String),
    Text(String),
    List(Vec<Tree>),
    Members(BTreeMap<String, Tree>),
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c]{0,2}",
        "[\u{0}-\u{22}\\\\/é\u{7f}\u{2028}\u{FFFD}\u{1F600}]{0,4}",
        any::<String>(),
    ]
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        prop::sample::select(vec!["null", "true", "false"]).prop_map(Tree::Word),
        prop::sample::select(vec!["0", "-0", "1", "1.0", "1e2", "1E2", "9007199254740993", "-12.50"])
            .prop_map(|number| Tree::Number(number.to_owned())),
        any::<i64>().prop_map(|number| Tree::Number(number.to_string())),
        text().prop_map(Tree::Text),
    ];
    leaf.prop_recursive(5, 48, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Tree::List),
            prop::collection::btree_map(text(), inner, 0..5).prop_map(Tree::Members),
        ]
    })
}

/// The slow reference: the canonical text straight from the tree.
fn reference(tree: &Tree) -> String {
    let quoted = |text: &String| serde_json::to_string(text).unwrap();
    match tree {
        Tree::Word(word) => (*word).to_owned(),
        Tree::Number(number) => number.clone(),
        Tree::Text(text) => quoted(text),
        Tree::List(list) => format!("[{}]", list.iter().map(reference).collect::<Vec<_>>().join(",")),
        Tree::Members(members) => {
            let members = members
                .iter()
                .map(|(key, value)| format!("{}:{}", quoted(key), reference(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
    }
}

/// Choices that a spelling makes, from a list that repeats.
struct Noise<'n> {
    choices: &'n [u8],
    at: usize,
}

impl Noise<'_> {
    fn next(&mut self) -> u8 {
        self.at += 1;
        self.choices[self.at % self.choices.len()]
    }

    fn blank(&mut self) -> &'static str {
        ["", "", "", " ", "\n\t", "\r "][usize::from(self.next()) % 6]
    }

    /// One of the many spellings of a string.
    fn spell(&mut self, text: &str) -> String {
        let mut out = String::from("\"");
        for character in text.chars() {
            let must = matches!(character, '"' | '\\') || character < ' ';
            if must || self.next().is_multiple_of(3) {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    out.push_str(&if self.next().is_multiple_of(2) {
                        format!("\\u{unit:04x}")
                    } else {
                        format!("\\u{unit:04X}")
                    });
                }
            } else {
                out.push(character);
            }
        }
        out + "\""
    }

    /// One of the many texts of a value: blanks, escapes and the order of members vary.
    fn write(&mut self, tree: &Tree) -> String {
        let inner = match tree {
            Tree::Word(word) => (*word).to_owned(),
            Tree::Number(number) => number.clone(),
            Tree::Text(text) => self.spell(text),
            Tree::List(list) => {
                let list: Vec<String> = list.iter().map(|value| self.write(value)).collect();
                format!("[{}{}]", list.join(","), self.blank())
            }
            Tree::Members(members) => {
                let mut members: Vec<(&String, &Tree)> = members.iter().collect();
                for place in (1..members.len()).rev() {
                    members.swap(place, usize::from(self.next()) % (place + 1));
                }
                let members: Vec<String> = members
                    .into_iter()
                    .map(|(key, value)| {
                        format!(
                            "{}{}{}:{}",
                            self.blank(),
                            self.spell(key),
                            self.blank(),
                            self.write(value)
                        )
                    })
                    .collect();
                format!("{{{}{}}}", members.join(","), self.blank())
            }
        };
        format!("{}{inner}{}", self.blank(), self.blank())
    }
}

proptest! {
    #[test]
    fn i4_every_spelling_of_a_value_has_the_same_canonical_text(
        tree in tree(),
        choices in prop::collection::vec(any::<u8>(), 1..40),
    ) {
        let spelled = Noise { choices: &choices, at: 0 }.write(&tree);
        let exact = Exact::parse(&spelled).unwrap();
        prop_assert_eq!(exact.as_str(), reference(&tree));
        prop_assert_eq!(exact.digest(), Digest::of(reference(&tree).as_bytes()));
        // Idempotent: the canonical text is its own.
        prop_assert_eq!(&Exact::parse(exact.as_str()).unwrap(), &exact);
        // The meaning is kept, as another reader sees it.
        let before: serde_json::Value = serde_json::from_str(&spelled).unwrap();
        let after: serde_json::Value = serde_json::from_str(exact.as_str()).unwrap();
        prop_assert_eq!(before, after);
    }

    #[test]
    fn whatever_is_accepted_is_json_to_another_reader(text in "[\\[\\]{}:,\"\\\\ua0-9eE.+\\- tfnrlsuN\u{FEFF}]{0,24}") {
        let ours = Exact::parse(&text);
        let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text);
        if let Ok(exact) = &ours {
            prop_assert!(theirs.is_ok(), "{}", text);
            prop_assert_eq!(&Exact::parse(exact.as_str()).unwrap(), exact);
        }
        if let Err(Error::Syntax { .. }) = ours {
            prop_assert!(theirs.is_err(), "{}", text);
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in any::<String>()) {
        drop(Exact::parse(&text));
        drop(Exact::parse(&format!("{{\"{text}\":\"{text}\\u{text}\"}}")));
    }

    #[test]
    fn what_is_left_when_a_member_is_taken_is_canonical_and_lacks_only_that_member(
        members in prop::collection::btree_map(text(), tree(), 1..6),
        place in any::<prop::sample::Index>(),
    ) {
        let key = members.keys().nth(place.index(members.len())).unwrap().clone();
        let whole = Exact::object(&reference(&Tree::Members(members.clone()))).unwrap();
        let mut others = members;
        let value = others.remove(&key).unwrap();
        let (taken, rest) = whole.taken(&key).unwrap();
        prop_assert_eq!(taken, reference(&value));
        prop_assert_eq!(rest, Exact::object(&reference(&Tree::Members(others))).unwrap());
    }

    #[test]
    fn a_member_that_is_said_twice_is_refused_however_it_is_spelled(
        key in text(),
        others in prop::collection::btree_map("[a-e]{3}", Just(Tree::Word("null")), 0..4),
        choices in prop::collection::vec(any::<u8>(), 1..40),
    ) {
        let mut noise = Noise { choices: &choices, at: 0 };
        let others: Vec<String> = others.keys().filter(|other| **other != key).map(|other| noise.spell(other) + ":0,").collect();
        let twice = format!("{{{}:1,{}{}:2}}", noise.spell(&key), others.concat(), noise.spell(&key));
        let is_duplicate = matches!(Exact::parse(&twice), Err(Error::DuplicateKey { key: named, .. }) if named == key);
        prop_assert!(is_duplicate, "{}", twice);
    }
}

#[test]
fn a_member_is_taken_out_of_an_object() {
    let taken = |text: &str, key: &str| match Exact::object(text).unwrap().taken(key) {
        Some((value, rest)) => format!("{value} of {}", rest.as_str()),
        None => "nothing".to_owned(),
    };
    let cases = [
        (r#"{"a":"x"}"#, "a", r#""x" of {}"#),
        (r#"{"a":"x","b":1,"c":[]}"#, "a", r#""x" of {"b":1,"c":[]}"#),
        (r#"{"a":"x","b":1,"c":[]}"#, "b", r#"1 of {"a":"x","c":[]}"#),
        (r#"{"a":"x","b":1,"c":[]}"#, "c", r#"[] of {"a":"x","b":1}"#),
        (r#"{"b":{"a":1},"c":["a",{"a":2}]}"#, "a", "nothing"),
        (
            r#"{"b":"\"a\":1,{[","a":{"b":"}"}}"#,
            "a",
            r#"{"b":"}"} of {"b":"\"a\":1,{["}"#,
        ),
        (r#"{"\u0061":null}"#, "a", "null of {}"),
        (r#"{"\"":"\\","z":1}"#, "\"", r#""\\" of {"z":1}"#),
        (r#"{"\n":1e400,"é":2}"#, "é", r#"2 of {"\n":1e400}"#),
        (r#"{"ab":1}"#, "a", "nothing"),
        ("{}", "a", "nothing"),
    ];
    for (text, key, wanted) in cases {
        assert_eq!(taken(text, key), wanted, "{text}");
    }
    assert!(Exact::parse("[1]").unwrap().taken("a").is_none());
}

#[test]
fn a_digest_is_shown_as_lower_case_hex() {
    // The digest of the empty text, as FIPS 180-4 and every other tool give it.
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(Digest::of(b"").hex(), empty);
}
