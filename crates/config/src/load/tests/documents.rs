//! Every example of the two files in the documents loads, without a warning.

use std::path::{Path, PathBuf};

use super::written;
use crate::environment::Environment;
use crate::folder::Files;
use crate::load::evaluate;

/// The documents, with their texts.
fn pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths: Vec<PathBuf> = vec![root.join("README.md")];
    let mut open = vec![root.join("docs")];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                paths.push(path);
            }
        }
    }
    let read = |path: PathBuf| (path.display().to_string(), std::fs::read_to_string(&path).unwrap());
    paths.into_iter().map(read).collect()
}

/// The blocks that begin with that fence, each after the name of its page.
fn blocks(fence: &str) -> Vec<(String, String)> {
    let fence = format!("\n```{fence}\n");
    let mut blocks = Vec::new();
    for (page, text) in pages() {
        for part in text.split(&fence).skip(1) {
            blocks.push((page.clone(), part.split("\n```").next().unwrap().to_owned()));
        }
    }
    blocks
}

fn environment() -> Environment {
    Environment::with_variables([
        ("DOCS_TOKEN", "x"),
        ("GITHUB_TOKEN", "x"),
        ("SEARCH_KEY", "x"),
        ("SEARCH_URL", "https://search.example.com/mcp"),
        ("HOME", "/home/me"),
    ])
    .with_files([("/run/secrets/search", "x")])
}

fn loads(page: &str, block: &str, files: &Files) {
    match evaluate(files, &environment()).result {
        Ok(config) => assert!(config.warnings.is_empty(), "{page}\n{block}\n{:?}", config.warnings),
        Err(problems) => panic!("{page}\n{block}\n{}", written(&problems)),
    }
}

#[test]
fn every_example_of_countersign_yaml_loads() {
    let blocks = blocks("yaml");
    assert!(blocks.len() >= 3);
    for (page, block) in blocks {
        // A block of another file says so in its first line.
        let name = if block.starts_with("# identities.yaml\n") {
            "identities.yaml"
        } else {
            "countersign.yaml"
        };
        loads(&page, &block, &Files::of("conf", &[(name, &block), ("mcp.json", "{}")]));
    }
}

#[test]
fn every_example_of_a_workflow_loads() {
    let blocks = blocks("yaml workflow");
    assert!(blocks.len() >= 3);
    for (page, block) in blocks {
        let files = Files::of("conf", &[("mcp.json", "{}")]).with_workflows(&[("example", &block)]);
        let loaded = evaluate(&files, &environment()).result.unwrap();
        assert!(loaded.set_aside.is_empty(), "{page}\n{block}\n{:?}", loaded.set_aside);
        assert_eq!(loaded.workflows.len(), 1, "{page}\n{block}");
    }
}

#[test]
fn every_example_of_mcp_json_loads() {
    let blocks = blocks("jsonc");
    assert!(blocks.len() >= 6);
    for (page, block) in blocks {
        loads(&page, &block, &Files::of("conf", &[("mcp.json", &block)]));
    }
}
