//! Where things stand in the folder's files, for explanations.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use countersign_core::toolset::{List, Place};
use serde::Serialize;

use crate::folder::{CATALOGUE_FILE, Files, GATEWAY_FILE, IDENTITIES_FILE};
use crate::jsonc;
use crate::problem::Source;
use crate::tree::{Node, Value};
use crate::yaml;

/// Where something stands, as a person finds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct At {
    /// The file's name within the folder.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The way to it within the file, such as `toolsetPresets.safe.include[1]`; empty for the file as a whole.
    pub path: String,
}

/// The files of the folder, to be asked where something stands. What a reference stands for is nowhere in it.
pub struct Places {
    files: BTreeMap<&'static str, (Source, Node)>,
}

enum Step<'s> {
    Key(&'s str),
    Item(usize),
}

impl Places {
    pub(crate) fn of(files: &Files) -> Self {
        let mut read = BTreeMap::new();
        for name in [GATEWAY_FILE, CATALOGUE_FILE, IDENTITIES_FILE] {
            let Some(Ok(source)) = files.source(name) else { continue };
            let parse = if name == CATALOGUE_FILE {
                jsonc::parse
            } else {
                yaml::parse
            };
            if let (Some(node), _) = parse(&source) {
                read.insert(name, (source, node));
            }
        }
        Self { files: read }
    }

    /// A key of `countersign.yaml`.
    #[must_use]
    pub fn of_gateway(&self, key: &str) -> Option<At> {
        self.find(GATEWAY_FILE, &[Step::Key(key)])
    }

    /// A preset of `countersign.yaml`.
    #[must_use]
    pub fn preset(&self, name: &str) -> Option<At> {
        self.find(GATEWAY_FILE, &[Step::Key(PRESETS), Step::Key(name)])
    }

    /// A rule of a preset.
    #[must_use]
    pub fn rule(&self, preset: &str, place: &Place) -> Option<At> {
        let list = match place.list {
            List::Include => "include",
            List::Exclude => "exclude",
        };
        let mut steps = vec![Step::Key(PRESETS), Step::Key(preset), Step::Key(list)];
        for (depth, number) in place.path.iter().enumerate() {
            if depth > 0 {
                steps.push(Step::Key("all"));
            }
            steps.push(Step::Item(*number));
        }
        self.find(GATEWAY_FILE, &steps)
    }

    /// A server's entry in `mcp.json`.
    #[must_use]
    pub fn server(&self, name: &str) -> Option<At> {
        let under = |list: &str| self.find(CATALOGUE_FILE, &[Step::Key(list), Step::Key(name)]);
        under("mcpServers").or_else(|| under("servers"))
    }

    /// A key of a server's entry, under the first of its spellings that is there.
    #[must_use]
    pub fn of_server(&self, name: &str, spellings: &[&str]) -> Option<At> {
        let under = |list: &str, key: &str| {
            let steps = [Step::Key(list), Step::Key(name), Step::Key(key)];
            self.find(CATALOGUE_FILE, &steps)
        };
        let mut spellings = spellings.iter();
        spellings.find_map(|key| under("mcpServers", key).or_else(|| under("servers", key)))
    }

    /// A key of `identities.yaml`, by its number in the list, or a member of it.
    #[must_use]
    pub fn key(&self, number: usize, member: Option<&str>) -> Option<At> {
        let mut steps = vec![Step::Key("keys"), Step::Item(number)];
        steps.extend(member.map(Step::Key));
        self.find(IDENTITIES_FILE, &steps)
    }

    /// An issuer of `identities.yaml`, by its number in the list.
    #[must_use]
    pub fn issuer(&self, number: usize) -> Option<At> {
        self.find(IDENTITIES_FILE, &[Step::Key("issuers"), Step::Item(number)])
    }

    fn find(&self, file: &str, steps: &[Step<'_>]) -> Option<At> {
        let (source, mut node) = self.files.get(file).map(|(source, root)| (source, root))?;
        let (mut span, mut path) = (node.span.clone(), String::new());
        for step in steps {
            match (step, &node.value) {
                (Step::Key(key), Value::Map(_)) => {
                    let member = node.member(key)?;
                    let dot = if path.is_empty() { "" } else { "." };
                    path.push_str(&format!("{dot}{key}"));
                    (span, node) = (member.key_span.clone(), &member.node);
                }
                (Step::Item(number), Value::List(items)) => {
                    node = items.get(*number)?;
                    path.push_str(&format!("[{number}]"));
                    span = node.span.clone();
                }
                (Step::Key(_) | Step::Item(_), _) => return None,
            }
        }
        let place = source.place(span);
        Some(At {
            file: file.to_owned(),
            line: place.line,
            column: place.column,
            path,
        })
    }
}

const PRESETS: &str = "toolsetPresets";

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        if self.path.is_empty() {
            return Ok(());
        }
        write!(f, " {}", self.path)
    }
}

/// The texts stay out: they may hold credentials that are written as they are.
impl fmt::Debug for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Places")
            .field("files", &self.files.keys())
            .finish_non_exhaustive()
    }
}
