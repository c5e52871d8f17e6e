//! Links between documents lead somewhere.

use std::path::Path;

use super::{File, Problem};

pub(super) fn problems(root: &Path, files: &[File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with(".md")) {
        let folder = Path::new(&file.path).parent().unwrap_or_else(|| Path::new(""));
        let mut in_code = false;
        for (number, line) in (1..).zip(file.text.lines()) {
            if line.trim_start().starts_with("```") {
                in_code = !in_code;
            }
            if in_code {
                continue;
            }
            for target in targets(line) {
                let path = target.split(['#', '?']).next().unwrap_or_default();
                let here = path.is_empty()
                    || files
                        .iter()
                        .any(|file| Path::new(&file.path) == normal(&folder.join(path)));
                if !here && !root.join(folder).join(path).exists() {
                    let text = format!("links to `{target}`, which does not exist");
                    problems.push(Problem {
                        place: file.path.clone(),
                        line: number,
                        text,
                    });
                }
            }
        }
    }
    problems
}

/// The relative targets of `[text](target)` in a line.
fn targets(line: &str) -> Vec<&str> {
    line.split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', ' ']).next())
        .filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
        .collect()
}

fn normal(path: &Path) -> std::path::PathBuf {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => drop(parts.pop()),
            std::path::Component::CurDir => {}
            part @ (std::path::Component::Prefix(_)
            | std::path::Component::RootDir
            | std::path::Component::Normal(_)) => parts.push(part),
        }
    }
    parts.iter().collect()
}
