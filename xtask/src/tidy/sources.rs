//! Rules about the text of source files.

use super::{File, Problem};

/// Most lines of production code in one file.
const MOST_LINES: usize = 500;

/// Files that may be longer, each with its reason.
const LONGER: &[(&str, &str)] = &[];

/// Words that must not be in Rust code, and why. Written in two halves so that this file passes its own rule.
const FORBIDDEN: &[(&str, &str, &str)] = &[
    (
        "#[ign",
        "ore",
        "a test that does not run proves nothing: fix it or remove it",
    ),
    ("to", "do!(", "unfinished code does not land"),
    ("unimpl", "emented!(", "unfinished code does not land"),
    ("TO", "DO", "open ends live in the issue list, not in the code"),
    ("FIX", "ME", "open ends live in the issue list, not in the code"),
];

/// Texts that would tie the repository to one machine or to a folder that a clone lacks.
const FOREIGN: &[(&str, &str)] = &[
    ("../sha", "red"),
    ("/work/sha", "red"),
    ("/work/ma", "in"),
    ("/work/w", "t/"),
    ("/work/scr", "atch"),
    ("/root/.car", "go"),
];

pub(super) fn problems(files: &[File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in files {
        foreign(file, &mut problems);
        if file.path.ends_with(".rs") {
            rust(file, &mut problems);
        }
    }
    one_door(files, &mut problems);
    problems
}

fn problem(file: &File, line: usize, text: String) -> Problem {
    Problem {
        place: file.path.clone(),
        line,
        text,
    }
}

fn foreign(file: &File, problems: &mut Vec<Problem>) {
    for (number, line) in (1..).zip(file.text.lines()) {
        for (start, end) in FOREIGN {
            let word = format!("{start}{end}");
            if line.contains(&word) {
                problems.push(problem(
                    file,
                    number,
                    format!("names `{word}`, which a clone does not have"),
                ));
            }
        }
    }
}

fn rust(file: &File, problems: &mut Vec<Problem>) {
    if file.path.ends_with("/mod.rs") {
        problems.push(problem(
            file,
            0,
            "is a `mod.rs`: name the file after its module, beside the folder".to_owned(),
        ));
    }
    if !file.text.starts_with("//! ") {
        problems.push(problem(
            file,
            1,
            "starts without a `//!` line that says the file's one job".to_owned(),
        ));
    }
    let lines = production_lines(file);
    let excused = LONGER.iter().any(|(path, _)| *path == file.path);
    if lines > MOST_LINES && !excused {
        problems.push(problem(
            file,
            0,
            format!("has {lines} lines of production code; the most is {MOST_LINES}: split it"),
        ));
    }
    for (number, line) in (1..).zip(file.text.lines()) {
        for (start, end, why) in FORBIDDEN {
            let word = format!("{start}{end}");
            if line.contains(&word) {
                problems.push(problem(file, number, format!("`{word}`: {why}")));
            }
        }
        if file.path.starts_with("crates/core/src/") && ["HashMap", "HashSet"].iter().any(|name| line.contains(name)) {
            problems.push(problem(
                file,
                number,
                "the core uses no hash tables, their order is random: use BTreeMap".to_owned(),
            ));
        }
    }
}

/// Lines that are not tests: a `tests.rs` has none, a file ends where its `#[cfg(test)] mod … {` begins.
fn production_lines(file: &File) -> usize {
    let in_tests = |part: &str| part == "tests" || part == "tests.rs" || part == "benches";
    if file.path.split('/').any(in_tests) {
        return 0;
    }
    let lines: Vec<&str> = file.text.lines().collect();
    let is_tests =
        |pair: &[&str]| matches!(pair, [a, b] if a.trim() == "#[cfg(test)]" && b.contains("mod ") && b.ends_with('{'));
    lines.windows(2).position(is_tests).unwrap_or(lines.len())
}

/// INVARIANT I1: one place of the engine reaches an upstream; the guard is this count.
fn one_door(files: &[File], problems: &mut Vec<Problem>) {
    let engine = files
        .iter()
        .filter(|file| file.path.starts_with("crates/engine/src/") && !file.path.ends_with("tests.rs"));
    let mut seen_engine = false;
    let mut doors = 0;
    for file in engine {
        seen_engine = true;
        for (number, line) in (1..).zip(file.text.lines()) {
            if !line.trim_start().starts_with("//") && line.contains("upstreams.call(") {
                doors += 1;
                if doors > 1 {
                    problems.push(problem(
                        file,
                        number,
                        "is a second road to an upstream (I1): go through the first".to_owned(),
                    ));
                }
            }
        }
    }
    if seen_engine && doors == 0 {
        let text = "no line calls `upstreams.call(`: this guard of I1 no longer sees the door, update it".to_owned();
        problems.push(Problem {
            place: "crates/engine".to_owned(),
            line: 0,
            text,
        });
    }
}
