//! Definitions that a server lists again are shared, not read again.

use super::*;

fn elements(raw: &[&str]) -> Elements {
    Elements {
        raw: raw.iter().map(|raw| Box::from(*raw)).collect(),
        problem: None,
    }
}

const ONE: &str = r#"{"name":"one","inputSchema":{"type":"object"}}"#;
const TWO: &str = r#"{"name":"two","inputSchema":{"type":"object"}}"#;
const TWO_CHANGED: &str = r#"{"name":"two","description":"other","inputSchema":{"type":"object"}}"#;

#[test]
fn what_stayed_the_same_is_shared_and_what_changed_is_read() {
    let mut problems = Vec::new();
    let before = TOOLS.read(&elements(&[ONE, TWO]), &[], &mut problems);
    let after = TOOLS.read(&elements(&[TWO_CHANGED, ONE, ONE, "{}"]), &before, &mut problems);
    let names: Vec<&str> = after.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["two", "one"]);
    assert!(Arc::ptr_eq(&after[1], &before[0]));
    assert_eq!(after[0].description, "other");
    let named: Vec<&str> = problems.iter().map(|problem| problem.name.as_str()).collect();
    assert_eq!(named, ["one", "#3"], "a repetition and a bad one are named as ever");
}
