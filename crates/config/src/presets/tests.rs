//! Presets as operators write them, and everything that is wrong with them.

#![expect(
    clippy::needless_pass_by_value,
    reason = "a table reads better without a reference at each row"
)]

use expect_test::{Expect, expect};

use crate::load::tests::{read, written};

fn broken(text: &str, expected: Expect) {
    match read(&[("countersign.yaml", text), ("mcp.json", "{}")]) {
        Ok(config) => panic!("was accepted: {config:?}"),
        Err(problems) => expected.assert_eq(&written(&problems)),
    }
}

/// One preset `p` with these members.
fn of(members: &str, expected: Expect) {
    broken(&format!("toolsetPresets:\n  p: {members}\n"), expected);
}

#[test]
fn every_kind_of_rule_is_read_and_shown_as_it_was_written() {
    let text = r#"
toolsetPresets:
  base:
    include: [{server: mcp-kubernetes}, {tool: x_a_b}]
  safe-ops:
    description: The base without its writes
    include:
      - preset: base
      - preset: read-only
      - pattern: "core_*"
      - workflow: triage
      - readOnly: true
      - label: example.io/group=infrastructure
      - label: example.io/group
      - label: example.io/group=
      - access: read
      - effect: read_only
      - all: [{server: a}, {all: [{readOnly: true}, {preset: base}]}]
    exclude:
      - pattern: "*_[dp]*"
      - all: [{server: a}, {pattern: "x_a_?"}]
"#;
    let config = read(&[("countersign.yaml", text), ("mcp.json", "{}")]).unwrap();
    let names: Vec<&str> = config.gateway.presets.all().map(|(preset, _)| &*preset.name).collect();
    assert_eq!(names, ["read-only", "none", "full", "base", "safe-ops"]);
    let shown = serde_json::to_string(&config.shown["gateway"]["toolsetPresets"]["safe-ops"]).unwrap();
    expect![[r#"{"description":"The base without its writes","exclude":[{"pattern":"*_[dp]*"},{"all":[{"server":"a"},{"pattern":"x_a_?"}]}],"include":[{"preset":"base"},{"preset":"read-only"},{"pattern":"core_*"},{"workflow":"triage"},{"readOnly":true},{"label":"example.io/group=infrastructure"},{"label":"example.io/group"},{"label":"example.io/group="},{"access":"read"},{"effect":"read_only"},{"all":[{"server":"a"},{"all":[{"readOnly":true},{"preset":"base"}]}]}]}"#]]
        .assert_eq(&shown);
}

#[test]
fn no_presets_are_the_built_in_ones() {
    for text in ["", "toolsetPresets:\n", "toolsetPresets: {}\n"] {
        let config = read(&[("countersign.yaml", text), ("mcp.json", "{}")]).unwrap();
        assert_eq!(config.gateway.presets.all().count(), 3);
    }
}

#[test]
fn built_in_presets_cannot_be_redefined() {
    broken(
        "toolsetPresets:\n  full: {include: [{server: a}]}\n  none: {include: []}\n  read-only: {include: [{readOnly: true}]}\n",
        expect![[r#"
            conf/countersign.yaml:2:3: `toolsetPresets.full` is a built-in preset and cannot be redefined
                give it another name: `read-only`, `none` and `full` are built in
            conf/countersign.yaml:3:3: `toolsetPresets.none` is a built-in preset and cannot be redefined
                give it another name: `read-only`, `none` and `full` are built in
            conf/countersign.yaml:4:3: `toolsetPresets.read-only` is a built-in preset and cannot be redefined
                give it another name: `read-only`, `none` and `full` are built in
        "#]],
    );
}

#[test]
fn a_rule_sets_exactly_one_key() {
    of(
        "{include: [{}, {server: a, readOnly: true}, x_a_*, null]}",
        expect![[r#"
            conf/countersign.yaml:2:17: `toolsetPresets.p.include[0]` sets no key
                a rule sets exactly one of `tool`, `pattern`, `server`, `workflow`, `readOnly`, `preset`, `label`, `access`, `effect`, `all`
            conf/countersign.yaml:2:21: `toolsetPresets.p.include[1]` sets more than one key: `server`, `readOnly`
                write one rule for each, which is a union; `all: [rule, …]` is what every one of them selects
            conf/countersign.yaml:2:50: `toolsetPresets.p.include[2]` must be a rule such as `server: NAME`, not a string
                a rule sets exactly one of `tool`, `pattern`, `server`, `workflow`, `readOnly`, `preset`, `label`, `access`, `effect`, `all`
            conf/countersign.yaml:2:57: `toolsetPresets.p.include[3]` must be a rule such as `server: NAME`, not null
                a rule sets exactly one of `tool`, `pattern`, `server`, `workflow`, `readOnly`, `preset`, `label`, `access`, `effect`, `all`
        "#]],
    );
    of(
        "{include: [{servr: a}, {server: a, exclude: b}]}",
        expect![[r#"
        conf/countersign.yaml:2:18: `toolsetPresets.p.include[0].servr` is not a known key
            did you mean `server`?
        conf/countersign.yaml:2:41: `toolsetPresets.p.include[1].exclude` is not a known key
            known here: `tool`, `pattern`, `server`, `workflow`, `readOnly`, `preset`, `label`, `access`, `effect`, `all`
    "#]],
    );
    of(
        "{include: [{server: a}], exclude: [{server: a}, {all: [{tool: a, pattern: b}]}]}",
        expect![[r#"
            conf/countersign.yaml:2:61: `toolsetPresets.p.exclude[1].all[0]` sets more than one key: `tool`, `pattern`
                write one rule for each, which is a union; `all: [rule, …]` is what every one of them selects
        "#]],
    );
}

#[test]
fn a_pattern_that_does_not_compile_is_refused() {
    of(
        r#"{include: [{server: a}, {pattern: "x_[a"}], exclude: [{pattern: "a\\"}, {pattern: "[]a]"}]}"#,
        expect![[r#"
            conf/countersign.yaml:2:40: `toolsetPresets.p.include[1].pattern` does not compile: glob `x_[a` is malformed
                patterns are those of Go's `path.Match`, over the whole exposed name: `*`, `?`, `[a-z]`, `[^a]`, `\`
            conf/countersign.yaml:2:70: `toolsetPresets.p.exclude[0].pattern` does not compile: glob `a\` is malformed
                patterns are those of Go's `path.Match`, over the whole exposed name: `*`, `?`, `[a-z]`, `[^a]`, `\`
            conf/countersign.yaml:2:88: `toolsetPresets.p.exclude[1].pattern` does not compile: glob `[]a]` is malformed
                patterns are those of Go's `path.Match`, over the whole exposed name: `*`, `?`, `[a-z]`, `[^a]`, `\`
        "#]],
    );
}

#[test]
fn values_of_rules_are_checked() {
    of(
        "{include: [{readOnly: false}], exclude: [{readOnly: 1}]}",
        expect![[r#"
            conf/countersign.yaml:2:28: `toolsetPresets.p.include[0].readOnly` must be true: `readOnly: false` is not a rule
                to keep writing tools out, select the read-only ones, or write `all: [{server: NAME}, {readOnly: true}]`
            conf/countersign.yaml:2:58: `toolsetPresets.p.exclude[0].readOnly` must be `true` or `false`, not a number
        "#]],
    );
    of(
        r#"{include: [{tool: ""}, {pattern: ""}, {server: "a b"}, {workflow: "a,b"}, {label: "=x"}, {effect: mutating}, {access: "a b"}]}"#,
        expect![[r#"
            conf/countersign.yaml:2:24: `toolsetPresets.p.include[0].tool` must not be empty: it would select nothing
            conf/countersign.yaml:2:39: `toolsetPresets.p.include[1].pattern` must not be empty: it would select nothing
            conf/countersign.yaml:2:53: `toolsetPresets.p.include[2].server` must be one name, without blanks and commas
            conf/countersign.yaml:2:72: `toolsetPresets.p.include[3].workflow` must be one name, without blanks and commas
            conf/countersign.yaml:2:88: `toolsetPresets.p.include[4].label` has no key
                write `<key>=<value>`, `<key>` or `<key>=`
            conf/countersign.yaml:2:104: `toolsetPresets.p.include[5].effect` must be `read_only`, not `mutating`
                to leave tools out, write the rule that selects them under `exclude`
            conf/countersign.yaml:2:124: `toolsetPresets.p.include[6].access` must be one name, without blanks and commas
        "#]],
    );
    of(
        "{include: {server: a}, exclude: a}",
        expect![[r#"
        conf/countersign.yaml:2:16: `toolsetPresets.p.include` must be a list, not a map
        conf/countersign.yaml:2:38: `toolsetPresets.p.exclude` must be a list, not a string
    "#]],
    );
    of(
        "[{server: a}]",
        expect![[r#"
        conf/countersign.yaml:2:6: `toolsetPresets.p` must be a map, not a list
    "#]],
    );
    of(
        "{description: 1, include: [{tool: 1}], other: x}",
        expect![[r#"
        conf/countersign.yaml:2:20: `toolsetPresets.p.description` must be a string, not a number
            put the value in double quotes
        conf/countersign.yaml:2:40: `toolsetPresets.p.include[0].tool` must be a string, not a number
            put the value in double quotes
        conf/countersign.yaml:2:45: `toolsetPresets.p.other` is not a known key
            known here: `description`, `include`, `exclude`
    "#]],
    );
    of(
        "{description: no rules}",
        expect![[r#"
        conf/countersign.yaml:2:6: `toolsetPresets.p` needs a list `include`
            write `include: [{server: NAME}]`, or remove the preset; `preset:none` selects nothing
    "#]],
    );
}

#[test]
fn compositions_are_checked_as_a_whole() {
    of(
        "{include: [{server: a}], exclude: [{preset: none}, {all: [{preset: p}, {server: a}]}]}",
        expect![[r#"
            conf/countersign.yaml:2:41: `toolsetPresets.p.exclude[0]` composes a preset, which only `include` may do
                write the rules of that preset here, or leave them out where it is included
            conf/countersign.yaml:2:64: `toolsetPresets.p.exclude[1].all[0]` composes a preset, which only `include` may do
                write the rules of that preset here, or leave them out where it is included
        "#]],
    );
    of(
        "{include: [{preset: read_only}, {all: [{preset: q}]}, {all: []}]}",
        expect![[r#"
            conf/countersign.yaml:2:17: `toolsetPresets.p.include[0]` names unknown preset `read_only`
                did you mean `read-only`?
            conf/countersign.yaml:2:45: `toolsetPresets.p.include[1].all[0]` names unknown preset `q`
                did you mean `p`?
            conf/countersign.yaml:2:60: `toolsetPresets.p.include[2]` needs at least one rule
                write `all: [rule, rule]`
        "#]],
    );
    broken(
        "toolsetPresets:
  a: {include: [{server: x}, {preset: b}]}
  b: {include: [{all: [{server: x}, {preset: c}]}]}
  c: {include: [{preset: b}, {preset: a}]}
  self: {include: [{preset: self}]}
  behind: {include: [{preset: self}, {preset: a}]}
  fine: {include: [{preset: full}]}
",
        expect![[r#"
            conf/countersign.yaml:3:37: `toolsetPresets.b.include[0].all[1]` composes itself: b → c → b
                take one of the compositions out
            conf/countersign.yaml:5:20: `toolsetPresets.self.include[0]` composes itself: self → self
                take one of the compositions out
        "#]],
    );
}

#[test]
fn a_preset_has_a_name_that_a_selector_can_say() {
    broken(
        "toolsetPresets:\n  a b: {include: []}\n  \"a,b\": {include: []}\n  \"\": {include: []}\n",
        expect![[r#"
            conf/countersign.yaml:2:3: `toolsetPresets.a b` has a name that no selector can say: use no blanks and no commas
                a selector says it as `preset:<name>`
            conf/countersign.yaml:3:3: `toolsetPresets.a,b` has a name that no selector can say: use no blanks and no commas
                a selector says it as `preset:<name>`
            conf/countersign.yaml:4:3: `toolsetPresets.` has a name that no selector can say: use no blanks and no commas
                a selector says it as `preset:<name>`
        "#]],
    );
}

#[test]
fn a_very_deep_intersection_and_a_very_long_chain_are_read() {
    let deep = format!("{}{{server: a}}{}", "{all: [".repeat(20), "]}".repeat(20));
    let chain: String = (1..300)
        .map(|number| format!("  p{number}: {{include: [{{preset: p{}}}]}}\n", number - 1))
        .collect();
    let text = format!("toolsetPresets:\n  p0: {{include: [{deep}]}}\n{chain}");
    let config = read(&[("countersign.yaml", &text), ("mcp.json", "{}")]).unwrap();
    assert_eq!(config.gateway.presets.all().count(), 303);
}
