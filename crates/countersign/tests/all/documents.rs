//! The documents promise nothing that no test shows.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The texts of all Rust files below a folder.
fn sources(folder: &Path, found: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder").map_while(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push_str(&fs::read_to_string(&path).expect("text"));
        }
    }
}

#[test]
fn every_test_named_in_the_documents_exists() {
    let mut code = String::new();
    sources(&root().join("crates"), &mut code);
    let mut seen = 0;
    for document in ["ARCHITECTURE.md", "docs/threats.md"] {
        let text = fs::read_to_string(root().join(document)).expect("the document");
        let names = text.split('`').skip(1).step_by(2);
        // Sentences in snake case are names of tests; shorter words are names of other things.
        for name in names.filter(|name| {
            name.matches('_').count() >= 3 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        }) {
            assert!(
                code.contains(&format!("fn {name}(")),
                "{document} names `{name}`, which is no test"
            );
            seen += 1;
        }
    }
    assert!(seen > 40, "the documents name tests: {seen}");
}

#[test]
fn every_threat_has_one_number_and_a_test() {
    let text = fs::read_to_string(root().join("docs/threats.md")).expect("the document");
    let threats: Vec<&str> = text.split("\n**T").skip(1).collect();
    for (place, threat) in threats.iter().enumerate() {
        assert!(
            threat.starts_with(&format!("{}. ", place + 1)),
            "numbers follow each other: {threat}"
        );
        assert!(
            threat.contains("Test: ") || threat.contains("Test:\n") || threat.contains("Tests:"),
            "T{} names no test",
            place + 1
        );
    }
}
