//! Every stable code has a page in `docs/codes/`, and every page a code.

use std::collections::BTreeSet;

use super::{File, Problem};

const PAGES: &str = "docs/codes/";

/// Files whose words `Self::Name => "word"` are all codes.
const WORDS: &[&str] = &["crates/core/src/refusal.rs", "crates/core/src/outcome.rs"];
/// What stands right before a code where the edge and the engine name one of their own.
const BEFORE: &[&str] = &["Failure::new(", "code: "];

pub(super) fn problems(files: &[File]) -> Vec<Problem> {
    let mut codes = BTreeSet::new();
    for file in files
        .iter()
        .filter(|file| file.path.ends_with(".rs") && !file.path.contains("/tests"))
    {
        if WORDS.contains(&file.path.as_str()) {
            codes.extend(file.text.lines().filter_map(word_of_arm));
        } else if file.path.starts_with("crates/edge/src/") || file.path.starts_with("crates/engine/src/") {
            codes.extend(BEFORE.iter().flat_map(|before| words_after(&file.text, before)));
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

/// The word of `Self::Name => "word",`. An arm of several names groups codes and is none itself.
fn word_of_arm(line: &str) -> Option<String> {
    let (name, rest) = line.trim().split_once(" => ")?;
    let name = name.strip_prefix("Self::")?;
    if name.contains('|') {
        return None;
    }
    quoted(rest)
}

/// The literals that follow a text, on the same line or the next.
fn words_after(text: &str, before: &str) -> Vec<String> {
    text.split(before)
        .skip(1)
        .filter_map(|rest| quoted(rest.trim_start()))
        .collect()
}

fn quoted(text: &str) -> Option<String> {
    let (word, _) = text.strip_prefix('"')?.split_once('"')?;
    let is_code = !word.is_empty()
        && word
            .chars()
            .all(|c| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit());
    is_code.then(|| word.to_owned())
}
