//! The command line agrees with itself and with the documents.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{CommandFactory as _, Parser as _};

use super::LowArgs;

/// The documents that show commands: name and text.
fn documents() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    let mut open = vec![root.join("docs")];
    while let Some(folder) = open.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                paths.push(path);
            }
        }
    }
    let read = |path: PathBuf| (path.display().to_string(), fs::read_to_string(&path).unwrap());
    paths.into_iter().map(read).collect()
}

/// The lines of all blocks of one language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let blocks = text.split(fence.as_str()).skip(1);
    blocks
        .map(|rest| rest.split("```").next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn definition_of_the_command_line_is_sound() {
    LowArgs::command().debug_assert();
}

#[test]
fn every_documented_command_is_one() {
    let mut seen = 0;
    for (name, text) in documents() {
        for line in blocks(&text, "sh").iter().flat_map(|block| block.lines()) {
            let line = line.replace("cargo run --release -- ", "countersign ");
            if !line.starts_with("countersign ") {
                continue;
            }
            // A quoted argument is one word; the documents use single quotes only.
            let quoted = line.split('\'').enumerate();
            let words: Vec<String> = quoted
                .flat_map(|(place, part)| {
                    let whole = vec![part.to_owned()];
                    if place % 2 == 1 {
                        whole
                    } else {
                        part.split_whitespace().map(str::to_owned).collect()
                    }
                })
                .collect();
            if let Err(error) = LowArgs::try_parse_from(&words) {
                panic!("{name}: `{line}`: {error}");
            }
            seen += 1;
        }
    }
    assert!(seen > 10, "the documents show commands: {seen}");
}

#[test]
fn every_documented_json_is_json() {
    for (name, text) in documents() {
        for block in blocks(&text, "json") {
            if let Err(error) = serde_json::from_str::<serde_json::Value>(&block) {
                panic!("{name}: {error}: {block}");
            }
        }
    }
}
