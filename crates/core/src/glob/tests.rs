//! The same answers as Go's `path.Match`.

use proptest::prelude::*;

use super::*;

#[test]
fn pinned_cases_are_answered_as_go_answers_them() {
    let cases: serde_json::Value = serde_json::from_str(include_str!("cases.json")).unwrap();
    for case in cases.as_array().unwrap() {
        let pattern = case["pattern"].as_str().unwrap();
        let name = case["name"].as_str().unwrap();
        match Glob::parse(pattern) {
            Err(_) => assert!(case["error"].as_bool().unwrap(), "{pattern} was refused"),
            Ok(glob) => {
                assert!(!case["error"].as_bool().unwrap(), "{pattern} was accepted");
                assert_eq!(
                    glob.matches(name),
                    case["match"].as_bool().unwrap(),
                    "{pattern} on {name}"
                );
            }
        }
    }
}

/// A pattern as parts, so that its text and its meaning are made apart.
#[derive(Debug, Clone)]
enum Part {
    Star,
    Any,
    Letter(char),
    Class(bool, Vec<(char, char)>),
}

impl Part {
    fn text(&self) -> String {
        let quoted = |c: &char| {
            if c.is_alphanumeric() {
                c.to_string()
            } else {
                format!("\\{c}")
            }
        };
        match self {
            Self::Star => "*".to_owned(),
            Self::Any => "?".to_owned(),
            Self::Letter(letter) => quoted(letter),
            Self::Class(negated, ranges) => {
                let ranges = ranges.iter().map(|(low, high)| {
                    if low == high {
                        quoted(low)
                    } else {
                        format!("{}-{}", quoted(low), quoted(high))
                    }
                });
                format!("[{}{}]", if *negated { "^" } else { "" }, ranges.collect::<String>())
            }
        }
    }
}

/// The slow reference: every way of laying the parts over the name is tried.
fn fits(parts: &[Part], name: &[char]) -> bool {
    let Some((part, parts)) = parts.split_first() else {
        return name.is_empty();
    };
    let first = name.first();
    match part {
        Part::Star => fits(parts, name) || (first.is_some() && fits_star(parts, name)),
        Part::Any => first.is_some() && fits(parts, &name[1..]),
        Part::Letter(letter) => first == Some(letter) && fits(parts, &name[1..]),
        Part::Class(negated, ranges) => {
            first.is_some_and(|first| ranges.iter().any(|(low, high)| low <= first && first <= high) != *negated)
                && fits(parts, &name[1..])
        }
    }
}

fn fits_star(parts: &[Part], name: &[char]) -> bool {
    (1..=name.len()).any(|skipped| fits(parts, &name[skipped..]))
}

fn letter() -> impl Strategy<Value = char> {
    prop::sample::select(vec!['a', 'b', 'c', '_', '-', '*', '?', '[', ']', '\\', '^'])
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        2 => Just(Part::Star),
        1 => Just(Part::Any),
        4 => letter().prop_map(Part::Letter),
        2 => (any::<bool>(), prop::collection::vec((letter(), letter()), 1..3)).prop_map(|(n, r)| Part::Class(n, r)),
    ]
}

proptest! {
    #[test]
    fn patterns_match_as_the_slow_reference_does(
        parts in prop::collection::vec(part(), 0..7),
        name in prop::collection::vec(letter(), 0..8),
    ) {
        let text: String = parts.iter().map(Part::text).collect();
        let glob = Glob::parse(&text).unwrap();
        let whole: String = name.iter().collect();
        prop_assert_eq!(glob.matches(&whole), fits(&parts, &name), "{} on {}", text, whole);
    }

    #[test]
    fn a_name_with_every_character_escaped_matches_itself_alone(name in "\\PC{0,8}", other in "\\PC{0,8}") {
        let pattern: String = name.chars().flat_map(|c| ['\\', c]).collect();
        let glob = Glob::parse(&pattern).unwrap();
        prop_assert!(glob.matches(&name));
        prop_assert_eq!(glob.matches(&other), name == other);
    }

    #[test]
    fn what_is_said_of_beginnings_holds_for_the_names_that_begin_so(
        parts in prop::collection::vec(part(), 0..6),
        name in prop::collection::vec(letter(), 1..8),
        more in prop::collection::vec(letter(), 1..5),
    ) {
        let text: String = parts.iter().map(Part::text).collect();
        let glob = Glob::parse(&text).unwrap();
        let whole: String = name.iter().collect();
        let longer: String = name.iter().chain(&more).collect();
        if glob.matches(&longer) {
            prop_assert!(glob.may_match_after(&whole), "{} after {}", text, whole);
            prop_assert!(longer.starts_with(glob.head()), "{} begins {} with {:?}", text, longer, glob.head());
        }
        if glob.takes_all_after(&whole) {
            prop_assert!(glob.matches(&longer), "{} takes all after {}, and not {}", text, whole, longer);
            prop_assert!(glob.may_match_after(&whole));
        }
    }

    #[test]
    fn no_pattern_and_no_name_panic(pattern in "[\\[\\]*?^\\\\a-cé/!-]{0,12}", name in any::<String>()) {
        if let Ok(glob) = Glob::parse(&pattern) {
            let first = glob.matches(&name);
            prop_assert_eq!(glob.matches(&name), first);
        }
    }
}

#[test]
fn beginnings_are_told_apart() {
    // The pattern, a beginning, whether it takes all after it, and whether it may match anything after it.
    let cases = [
        ("*", "x_a_", true, true),
        ("", "", false, false),
        ("x_a_*", "x_a_", true, true),
        ("x_*", "x_a_", true, true),
        ("x_a_", "x_a_", false, false),
        ("x_a_b", "x_a_", false, true),
        ("x_b_*", "x_a_", false, false),
        ("*_get", "x_a_", false, true),
        ("x_?_get", "x_a_", false, true),
        ("x_[b-d]_*", "x_a_", false, false),
        ("x_[^b-d]_*", "x_a_", true, true),
        ("x_é*", "x_a_", false, false),
        ("x_a", "x_a_", false, false),
        ("*a*b*", "x_a_b_", true, true),
        ("X_A_*", "x_a_", false, false),
        ("", "x_", false, false),
    ];
    for (pattern, beginning, all, any) in cases {
        let glob = Glob::parse(pattern).unwrap();
        let said = (glob.takes_all_after(beginning), glob.may_match_after(beginning));
        assert_eq!(said, (all, any), "{pattern} after {beginning}");
    }
}

#[test]
fn what_go_does_beyond_ideal_globs() {
    let cases = [
        // `*` never takes a slash, and the first fit of a part counts.
        ("*[^b]*c", "a/c", false),
        ("[^a]", "/", true),
        ("?", "/", false),
        ("*[^é]b", "éb", true),
        ("[é-ü]", "ö", true),
        ("[z-a]", "m", false),
        ("a\\*b", "a*b", true),
        ("", "", true),
        ("", "a", false),
        ("**", "a/b", false),
    ];
    for (pattern, name, wanted) in cases {
        assert_eq!(
            Glob::parse(pattern).unwrap().matches(name),
            wanted,
            "{pattern} on {name}"
        );
    }
}
