//! Presets beside what the configuration's own tests say of them.

use super::*;

#[test]
fn built_in_presets_come_first_and_are_told_apart() {
    let presets = Presets::build(vec![
        preset("zoo", vec![], vec![]),
        preset("ant", rules(&["preset: zoo"]), vec![]),
    ])
    .unwrap();
    let all: Vec<(&str, bool)> = presets
        .all()
        .map(|(preset, built_in)| (&*preset.name, built_in))
        .collect();
    assert_eq!(
        all,
        [
            ("read-only", true),
            ("none", true),
            ("full", true),
            ("ant", false),
            ("zoo", false)
        ]
    );
    assert!(presets.get("ant").is_some() && presets.get("Ant").is_none());
}

#[test]
fn a_preset_may_compose_built_in_ones_and_later_ones() {
    let world = world(
        &[member("a", &[("get", Some(true)), ("put", None)])],
        vec![
            preset("first", rules(&["preset: second"]), rules(&["pattern: core_*"])),
            preset("second", rules(&["preset: read-only", "preset: third"]), vec![]),
            preset("third", rules(&["tool: x_a_put"]), vec![]),
        ],
    );
    let world = world.narrowed(Origin::Header, Ok(selectors("preset:first")));
    assert_eq!(shown(&world), "x_a_get x_a_put");
}

#[test]
fn diamonds_of_compositions_are_evaluated_once_each() {
    // Without that, a hundred of them would take longer than anybody waits.
    let mut presets = vec![preset("p0", rules(&["tool: x_a_get"]), vec![])];
    for number in 1..100 {
        let below = format!("preset: p{}", number - 1);
        presets.push(preset(&format!("p{number}"), rules(&[&below, &below]), vec![]));
    }
    let mut waiting = member("b", &[]);
    waiting.awaits = true;
    let fleet = [member("a", &[("get", None)]), waiting];
    let world = world(&fleet, presets).narrowed(Origin::Header, Ok(selectors("preset:p99")));
    assert_eq!(shown(&world), "x_a_get");
}

#[test]
fn rules_are_said_as_they_are_written() {
    let texts = [
        "tool: x_a_b",
        "pattern: x_*",
        "server: a",
        "workflow: w",
        "readOnly: true",
        "preset: p",
        "label: k",
        "label: k=",
        "label: k=v=w",
        "access: read",
        "effect: read_only",
    ];
    for text in texts {
        assert_eq!(rule(text).to_string(), text);
    }
    let all = Rule::All(vec![rule("server: a"), Rule::All(vec![rule("readOnly: true")])]);
    assert_eq!(all.to_string(), "all: [server: a, all: [readOnly: true]]");
}
