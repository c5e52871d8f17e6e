//! The examples of the reference pages load.

use std::path::Path;

use super::written;
use crate::environment::Environment;
use crate::folder::Files;
use crate::load::evaluate;

/// The blocks of a page that begin with that fence.
fn blocks(page: &str, fence: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/reference")
        .join(page);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let fence = format!("\n```{fence}\n");
    let parts = text.split(&fence).skip(1);
    parts
        .map(|part| part.split("\n```").next().unwrap().to_owned())
        .collect()
}

fn environment() -> Environment {
    Environment::with_variables([
        ("GITHUB_TOKEN", "x"),
        ("SEARCH_KEY", "x"),
        ("SEARCH_URL", "https://search.example.com/mcp"),
        ("HOME", "/home/me"),
    ])
    .with_files([("/run/secrets/search", "x")])
}

#[test]
fn every_example_of_the_settings_page_loads() {
    let blocks = blocks("countersign-yaml.md", "yaml");
    assert!(blocks.len() >= 3);
    for block in blocks {
        let files = Files::of("conf", &[("countersign.yaml", &block), ("mcp.json", "{}")]);
        match evaluate(&files, &environment()).result {
            Ok(config) => assert!(config.warnings.is_empty(), "{block}\n{:?}", config.warnings),
            Err(problems) => panic!("{block}\n{}", written(&problems)),
        }
    }
}

#[test]
fn every_example_of_the_catalogue_page_loads() {
    let blocks = blocks("mcp-json.md", "jsonc");
    assert!(blocks.len() >= 5);
    for block in blocks {
        let files = Files::of("conf", &[("mcp.json", &block)]);
        match evaluate(&files, &environment()).result {
            Ok(config) => assert!(config.warnings.is_empty(), "{block}\n{:?}", config.warnings),
            Err(problems) => panic!("{block}\n{}", written(&problems)),
        }
    }
}
