//! The stages of `countersign explain`, as a person sees them.

use countersign_core::toolset::Selectors;
use expect_test::expect;
use serde_json::value::RawValue;

use super::super::report::{Refused, Sends};
use super::*;
use crate::scene::Rule;

fn at(file: &str, line: usize, path: &str) -> Option<At> {
    Some(At {
        file: file.to_owned(),
        line,
        column: 1,
        path: path.to_owned(),
    })
}

fn whom() -> Whom {
    Whom {
        name: "ci".to_owned(),
        subject: "builder".to_owned(),
        connection: "ci".to_owned(),
        authentication: "key",
        roles: Vec::new(),
        plan: None,
        from: at("identities.yaml", 2, "keys[0]"),
    }
}

fn layers(answer: &'static str) -> Vec<Layer> {
    let toolset = |text: &str| Selectors::parse_header([text]).unwrap();
    vec![
        Layer {
            origin: "key",
            toolset: toolset("server:notes"),
            from: at("identities.yaml", 5, "keys[0].toolset"),
            answer: "selects",
            selector: Some("server:notes".to_owned()),
            rules: Vec::new(),
        },
        Layer {
            origin: "header",
            toolset: toolset("preset:safe,preset:read-only"),
            from: None,
            answer,
            selector: (answer != "does_not_select").then(|| "preset:safe".to_owned()),
            rules: vec![Rule {
                preset: "safe".to_owned(),
                place: "exclude[0]".to_owned(),
                rule: "pattern: *_delete".to_owned(),
                from: at("countersign.yaml", 9, "toolsetPresets.safe.exclude[0]"),
            }],
        },
    ]
}

#[test]
fn every_stage_stands_with_its_reason_and_its_line() {
    let mut toolset = Stage::of(
        "toolset",
        "within",
        "key [server:notes] header [preset:safe,preset:read-only]",
    );
    toolset.toolsets = layers("selects");
    let passed = Report {
        whom: whom(),
        tool: "x_notes_add".to_owned(),
        runs: true,
        stages: vec![
            Stage::of("view", "visible", "server notes publishes it as `add`").at(at("mcp.json", 3, "servers.notes")),
            toolset,
            Stage::of("rights", "allowed", "no authz.yaml"),
            Stage::of("gate", "runs", "no write gate is configured"),
        ],
        refusal: None,
        sends: Some(Sends {
            server: Some("notes".to_owned()),
            tool: "add".to_owned(),
            arguments: RawValue::from_string("{\"n\":1.0}".to_owned()).unwrap(),
        }),
        notes: Vec::new(),
    };
    expect![[r#"
        ci (a key of builder) calls x_notes_add

        STAGE    ANSWER   WHY                                     WHERE
        view     visible  server notes publishes it as `add`      mcp.json:3 servers.notes
        toolset  within
                          key [server:notes]                      identities.yaml:5 keys[0].toolset
                            server:notes selects it
                          header [preset:safe,preset:read-only]   --toolset
                            preset:safe selects it
                              safe exclude[0]: pattern: *_delete  countersign.yaml:9 toolsetPresets.safe.exclude[0]
        rights   allowed  no authz.yaml
        gate     runs     no write gate is configured

        Would run: `add` on server notes with
          {"n":1.0}
    "#]]
    .assert_eq(&report(&passed));
}

#[test]
fn a_refusal_stands_with_what_the_caller_would_be_told() {
    let mut toolset = Stage::of("toolset", "outside_toolset", "tool \"x_notes_delete\" is outside");
    toolset.toolsets = layers("leaves_out");
    let refused = Report {
        whom: Whom {
            authentication: "bound",
            ..whom()
        },
        tool: "x_notes_delete".to_owned(),
        runs: false,
        stages: vec![
            Stage::of("view", "visible", "server notes publishes it"),
            toolset,
            Stage::of("gate", NOT_REACHED, ""),
        ],
        refusal: Some(Refused {
            code: "outside_toolset",
            sentence: "tool \"x_notes_delete\" is outside\u{1b}[31m".to_owned(),
            nearest: vec!["x_notes_add".to_owned()],
        }),
        sends: None,
        notes: vec!["server chat waits for a sign-in".to_owned()],
    };
    expect![[r#"
        ci (a Session of builder) calls x_notes_delete

        STAGE    ANSWER           WHY                                     WHERE
        view     visible          server notes publishes it
        toolset  outside_toolset
                                  key [server:notes]                      identities.yaml:5 keys[0].toolset
                                    server:notes selects it
                                  header [preset:safe,preset:read-only]   --toolset
                                    preset:safe leaves it out
                                      safe exclude[0]: pattern: *_delete  countersign.yaml:9 toolsetPresets.safe.exclude[0]
        gate     -

        Would be refused (outside_toolset): tool "x_notes_delete" is outside�[31m
          to choose from: x_notes_add
        Note: server chat waits for a sign-in
    "#]]
    .assert_eq(&report(&refused));
}
