//! Where keys, presets, servers and workflows stand in their files.

use countersign_core::toolset::{List, Place};
use expect_test::expect;

use super::Places;
use crate::folder::Files;

const GATEWAY: &str = "\
surface: direct
pins: {mode: off}
toolsetPresets:
  safe:
    include:
      - server: notes
      - all:
          - readOnly: true
          - label: tier=infra
    exclude: [{pattern: \"*_delete\"}]
";

const CATALOGUE: &str = r#"{
  // Comments are fine.
  "servers": {
    "notes": {
      "command": "notes",
      "trust_annotations": true
    },
    "a.b": {"command": "x"}
  }
}"#;

const IDENTITIES: &str = "\
keys:
  - name: ci
    key_sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
    subject: builder
    toolset: [preset:safe]
issuers:
  - {issuer: \"https://idp.example.com\", audience: countersign}
";

fn rule(list: List, path: &[usize]) -> Place {
    Place {
        list,
        path: path.to_vec(),
    }
}

#[test]
fn everything_that_decides_has_a_place() {
    let files = Files::of(
        "conf",
        &[
            ("countersign.yaml", GATEWAY),
            ("mcp.json", CATALOGUE),
            ("identities.yaml", IDENTITIES),
        ],
    );
    let places = Places::of(&files);
    let trust = ["trustAnnotations", "trust_annotations"];
    let found = [
        places.of_gateway("pins"),
        places.preset("safe"),
        places.rule("safe", &rule(List::Include, &[0])),
        places.rule("safe", &rule(List::Include, &[1])),
        places.rule("safe", &rule(List::Include, &[1, 1])),
        places.rule("safe", &rule(List::Exclude, &[0])),
        places.server("notes"),
        places.server("a.b"),
        places.of_server("notes", &trust),
        places.key(0, None),
        places.key(0, Some("toolset")),
        places.issuer(0),
    ];
    let rows: Vec<String> = found
        .iter()
        .map(|at| {
            at.as_ref()
                .map_or("nowhere".to_owned(), |at| format!("{at} (column {})", at.column))
        })
        .collect();
    expect![[r#"
        countersign.yaml:2 pins (column 1)
        countersign.yaml:4 toolsetPresets.safe (column 3)
        countersign.yaml:6 toolsetPresets.safe.include[0] (column 9)
        countersign.yaml:7 toolsetPresets.safe.include[1] (column 9)
        countersign.yaml:9 toolsetPresets.safe.include[1].all[1] (column 13)
        countersign.yaml:10 toolsetPresets.safe.exclude[0] (column 15)
        mcp.json:4 servers.notes (column 5)
        mcp.json:8 servers.a.b (column 5)
        mcp.json:6 servers.notes.trust_annotations (column 7)
        identities.yaml:2 keys[0] (column 5)
        identities.yaml:5 keys[0].toolset (column 5)
        identities.yaml:7 issuers[0] (column 5)"#]]
    .assert_eq(&rows.join("\n"));

    let nowhere = [
        places.of_gateway("nothing"),
        places.preset("other"),
        places.rule("safe", &rule(List::Include, &[7])),
        places.rule("safe", &rule(List::Include, &[0, 0])),
        places.server("none"),
        places.of_server("a.b", &trust),
        places.key(1, None),
        Places::of(&Files::of("conf", &[])).server("notes"),
    ];
    assert!(nowhere.iter().all(Option::is_none), "{nowhere:?}");
    assert!(!format!("{places:?}").contains("9f86d08"));
}
