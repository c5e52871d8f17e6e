//! The tree itself passes, and each rule catches what it is for.

use super::{File, Problem, codes, links, sources};

fn file(path: &str, text: &str) -> File {
    File {
        path: path.to_owned(),
        text: text.to_owned(),
    }
}

fn texts(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn the_tree_is_tidy() {
    let problems = super::problems(&super::root()).unwrap();
    assert!(problems.is_empty(), "{}", texts(&problems).join("\n"));
}

#[test]
fn i1_a_second_road_to_an_upstream_is_found() {
    let files = [
        file(
            "crates/engine/src/call.rs",
            "//! x\nlet a = self.upstreams.call(recorded, passage).await;\n",
        ),
        file(
            "crates/engine/src/other.rs",
            "//! x\nlet b = upstreams.call(recorded, passage).await;\n",
        ),
    ];
    let problems = texts(&sources::problems(&files));
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(
        problems[0].starts_with("crates/engine/src/other.rs:2: "),
        "{problems:?}"
    );
}

#[test]
fn i1_no_road_at_all_is_found_too() {
    let problems = texts(&sources::problems(&[file("crates/engine/src/call.rs", "//! x\n")]));
    assert_eq!(problems.len(), 1, "{problems:?}");
}

#[test]
fn a_file_without_its_first_line_is_found() {
    let problems = sources::problems(&[file("crates/edge/src/a.rs", "use std::fmt;\n")]);
    assert_eq!(
        texts(&problems)[0],
        "crates/edge/src/a.rs:1: starts without a `//!` line that says the file's one job"
    );
}

#[test]
fn a_long_file_is_found_and_its_tests_do_not_count() {
    let long = format!("//! x\n{}", "fn a() {}\n".repeat(501));
    assert_eq!(sources::problems(&[file("crates/edge/src/a.rs", &long)]).len(), 1);
    let tested = format!("//! x\n#[cfg(test)]\nmod tests {{\n{}}}\n", "fn a() {}\n".repeat(501));
    assert!(sources::problems(&[file("crates/edge/src/a.rs", &tested)]).is_empty());
    assert!(sources::problems(&[file("crates/edge/src/a/tests.rs", &long)]).is_empty());
}

#[test]
fn a_code_without_a_page_and_a_page_without_a_code_are_found() {
    let files = [
        file(
            "crates/core/src/refusal.rs",
            "//! x\nSelf::ToolNotFound => \"tool_not_found\",\n",
        ),
        file("docs/codes/bad_arguments.md", "# x\n"),
    ];
    let problems = texts(&codes::problems(&files));
    assert_eq!(problems.len(), 2, "{problems:?}");
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let files = [file(
        "README.md",
        "[a](docs/none.md) [b](https://example.org) [c](#here)\n```\n[d](x.md)\n```\n",
    )];
    let problems = texts(&links::problems(&super::root(), &files));
    assert_eq!(problems, ["README.md:1: links to `docs/none.md`, which does not exist"]);
}
