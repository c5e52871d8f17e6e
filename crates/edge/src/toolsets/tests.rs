//! Every way of declaring a toolset narrows.

use std::sync::Arc;

use countersign_core::stages::Toolset;
use countersign_core::toolset::{Bounds, Error, Origin, Selectors};
use serde_json::value::RawValue;

use super::within_meta;

fn within(before: &Toolset, origin: Origin, declared: Result<Selectors, Error>) -> Toolset {
    before.clone().narrowed(origin, declared)
}

const OPEN: Toolset = Toolset::Unscoped { because: "a test" };

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).expect("JSON")
}

fn selectors(text: &str) -> Selectors {
    Selectors::parse_header([text]).expect("selectors")
}

fn said(toolset: &Toolset) -> String {
    match toolset {
        Toolset::Unscoped { .. } => "unscoped".to_owned(),
        Toolset::Within(bounds) => bounds.to_string(),
        Toolset::Bad(error) => format!("bad: {error}"),
    }
}

#[test]
fn meta_names_selectors_as_one_text_or_as_an_array() {
    let cases = [
        (r#""server:a, preset:b""#, "header [server:a,preset:b]"),
        (r#"["server:a","preset:b"]"#, "header [server:a,preset:b]"),
        (
            r#""""#,
            "bad: toolset [] is empty; use \"preset:none\" for an agent without tools",
        ),
        (
            "[]",
            "bad: toolset [] is empty; use \"preset:none\" for an agent without tools",
        ),
    ];
    for (value, expected) in cases {
        assert_eq!(said(&within_meta(OPEN, &raw(value))), expected, "{value}");
    }
    for wrong in ["7", "null", "{}", "true", r#"["server:a",7]"#, r#"[["server:a"]]"#] {
        let toolset = said(&within_meta(OPEN, &raw(wrong)));
        assert!(
            toolset.starts_with("bad: toolset [") && toolset.contains("is malformed"),
            "{wrong}: {toolset}"
        );
    }
}

#[test]
fn i2_no_way_of_declaring_a_toolset_widens() {
    let bound = Toolset::Within(Arc::new(Bounds::of(Origin::Bound, selectors("preset:read-only"))));
    let header = within(&bound, Origin::Header, Ok(selectors("server:a")));
    let meta = within_meta(header.clone(), &raw(r#"["server:b"]"#));
    let argument = within(&meta, Origin::Argument, Ok(selectors("preset:full")));
    assert_eq!(
        said(&argument),
        "bound [preset:read-only] header [server:a] header [server:b] argument [preset:full]"
    );
    // What is bad stays bad, whatever is declared after it.
    let bad = within_meta(header, &raw("7"));
    for after in [
        within(&bad, Origin::Header, Ok(selectors("preset:full"))),
        within_meta(bad.clone(), &raw(r#""preset:full""#)),
        within(&bad, Origin::Argument, Ok(selectors("server:a"))),
    ] {
        assert_eq!(said(&after), said(&bad));
    }
    let empty = within(&bound, Origin::Header, Selectors::parse_header([""]));
    assert!(said(&empty).starts_with("bad: toolset [] is empty"), "{}", said(&empty));
}
