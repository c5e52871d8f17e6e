//! The command line agrees with itself and with the documents.

use clap::{CommandFactory as _, Parser as _};

use super::LowArgs;

const DOCUMENTS: [(&str, &str); 3] = [
    ("README.md", include_str!("../../../../README.md")),
    (
        "docs/getting-started.md",
        include_str!("../../../../docs/getting-started.md"),
    ),
    ("CONTRIBUTING.md", include_str!("../../../../CONTRIBUTING.md")),
];

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
    for (name, text) in DOCUMENTS {
        for line in blocks(text, "sh").iter().flat_map(|block| block.lines()) {
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
    for (name, text) in DOCUMENTS {
        for block in blocks(text, "json") {
            if let Err(error) = serde_json::from_str::<serde_json::Value>(&block) {
                panic!("{name}: {error}: {block}");
            }
        }
    }
}
