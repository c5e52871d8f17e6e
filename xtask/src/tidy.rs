//! The rules of the tree and the walk that applies them.

mod codes;
mod links;
mod sources;
mod walls;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// One breach of a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    /// The file, from the root of the repository; for a wall, the crate.
    pub(crate) place: String,
    /// The line, counted from 1; 0: the whole file.
    pub(crate) line: usize,
    /// What is wrong and what to do.
    pub(crate) text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.place, self.text),
            line => write!(f, "{}:{line}: {}", self.place, self.text),
        }
    }
}

/// A text file of the tree.
#[derive(Debug)]
pub(crate) struct File {
    /// Path from the root, with `/`.
    pub(crate) path: String,
    /// Its text.
    pub(crate) text: String,
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// Everything that breaks a rule, in a stable order.
pub(crate) fn problems(root: &Path) -> anyhow::Result<Vec<Problem>> {
    let files = files(root)?;
    let mut problems = sources::problems(&files);
    problems.extend(codes::problems(&files));
    problems.extend(links::problems(root, &files));
    problems.extend(walls::problems(root)?);
    problems.sort();
    Ok(problems)
}

/// Folders that hold nothing of ours.
const SKIPPED: &[&str] = &[
    ".git",
    "target",
    "node_modules",
    ".cache",
    ".venv",
    "__pycache__",
    "results",
];

fn files(root: &Path) -> anyhow::Result<Vec<File>> {
    let mut found = Vec::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                if !SKIPPED.contains(&name.as_str()) && !name.starts_with("target-") {
                    open.push(path);
                }
            } else if name != ".git"
                && let Ok(text) = std::fs::read_to_string(&path)
            {
                let path = path.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
                found.push(File { path, text });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}
