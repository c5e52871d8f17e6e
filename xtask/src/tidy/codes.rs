//! Every stable code has a page in `docs/codes/`, and every page a code.

use std::collections::BTreeSet;

use super::{File, Problem};

const PAGES: &str = "docs/codes/";

pub(super) fn problems(files: &[File]) -> Vec<Problem> {
    let mut codes = BTreeSet::new();
    for file in files
        .iter()
        .filter(|file| file.path.starts_with("crates/") && file.path.ends_with(".rs"))
    {
        if file.path == "crates/core/src/refusal.rs" {
            codes.extend(file.text.lines().filter_map(word_of_arm));
        } else if file.path.starts_with("crates/edge/src/") && !file.path.ends_with("tests.rs") {
            codes.extend(file.text.lines().filter_map(word_of_constant));
        }
    }
    let pages: BTreeSet<String> = files
        .iter()
        .filter_map(|file| file.path.strip_prefix(PAGES)?.strip_suffix(".md"))
        .filter(|name| *name != "README")
        .map(str::to_owned)
        .collect();
    let without_page = codes.difference(&pages).map(|code| {
        (
            code,
            "is a stable code without a page: say what it means and what to do",
        )
    });
    let without_code = pages
        .difference(&codes)
        .map(|code| (code, "is a page of a code that does not exist: remove it"));
    without_page
        .chain(without_code)
        .map(|(code, text)| Problem {
            place: format!("{PAGES}{code}.md"),
            line: 0,
            text: text.to_owned(),
        })
        .collect()
}

/// The word of `Self::Name => "word",`.
fn word_of_arm(line: &str) -> Option<String> {
    let (name, rest) = line.trim().split_once(" => ")?;
    name.strip_prefix("Self::")?;
    quoted(rest)
}

/// The word of `const CODE_NAME: &str = "word";`, the form in which the edge names codes of its own.
fn word_of_constant(line: &str) -> Option<String> {
    let (name, rest) = line.split_once(": &str = ")?;
    name.contains("const CODE_").then(|| quoted(rest)).flatten()
}

fn quoted(text: &str) -> Option<String> {
    let (word, _) = text.strip_prefix('"')?.split_once('"')?;
    let is_code = !word.is_empty()
        && word
            .chars()
            .all(|c| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit());
    is_code.then(|| word.to_owned())
}
