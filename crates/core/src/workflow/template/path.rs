//! Expressions that only lead to a value, such as `results.pods.items[0]`: followed in the tree itself, so that the
//! value is the one that was answered, to the last digit.

use std::sync::Arc;

use super::{Names, Root};
use crate::json::Json;

/// The way to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) root: Root,
    pub(super) steps: Arc<[Step]>,
}

/// One step of a way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Member(Arc<str>),
    /// Counted from the end when it is negative.
    Index(isize),
}

impl Path {
    /// The way that an expression is; `None` when it is more than a way.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (root, mut rest) = word(text)?;
        let root = Root::find(root)?;
        let mut steps = Vec::new();
        loop {
            rest = rest.trim_start();
            if rest.is_empty() {
                return Some(Self {
                    root,
                    steps: steps.into(),
                });
            }
            if let Some(after) = rest.strip_prefix('.') {
                let (name, after) = word(after.trim_start())?;
                // A call of a method is more than a way.
                if after.trim_start().starts_with('(') {
                    return None;
                }
                steps.push(Step::Member(name.into()));
                rest = after;
            } else {
                let (step, after) = index(rest.strip_prefix('[')?.trim_start())?;
                steps.push(step);
                rest = after.trim_start().strip_prefix(']')?;
            }
        }
    }

    /// The value that it leads to.
    ///
    /// # Errors
    /// Where the way ends too early.
    pub(super) fn follow(&self, names: &Names) -> Result<Json, String> {
        let mut value = match self.root {
            Root::Input => &names.input,
            Root::Results => &names.results,
            Root::Vars => &names.vars,
        };
        let mut way = self.root.word().to_owned();
        for step in self.steps.iter() {
            let next = match (step, value) {
                (Step::Member(name), Json::Map(members)) => members.get(name),
                (Step::Index(index), Json::List(items)) => at(*index, items.len()).and_then(|place| items.get(place)),
                (
                    Step::Member(_) | Step::Index(_),
                    Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::List(_) | Json::Map(_),
                ) => None,
            };
            let Some(next) = next else {
                return Err(missing(&way, step, value));
            };
            match step {
                Step::Member(name) => {
                    way.push('.');
                    way.push_str(name);
                }
                Step::Index(index) => way.push_str(&format!("[{index}]")),
            }
            value = next;
        }
        Ok(value.clone())
    }
}

fn at(index: isize, length: usize) -> Option<usize> {
    if index < 0 {
        length.checked_sub(index.unsigned_abs())
    } else {
        usize::try_from(index).ok()
    }
}

fn missing(way: &str, step: &Step, value: &Json) -> String {
    match (step, value) {
        (Step::Member(name), Json::Map(members)) => {
            let known: Vec<&str> = members.keys().take(12).map(|key| &**key).collect();
            let known = if known.is_empty() {
                "it is empty".to_owned()
            } else {
                format!("it has {}", known.join(", "))
            };
            format!("`{way}` has no member `{name}`; {known}")
        }
        (Step::Index(index), Json::List(items)) => {
            format!("`{way}` has no element {index}; it has {}", items.len())
        }
        (Step::Member(name), other) => format!("`{way}` is {}, which has no member `{name}`", other.kind()),
        (Step::Index(index), other) => format!("`{way}` is {}, which has no element {index}", other.kind()),
    }
}

/// A name that a text begins with, and what follows.
fn word(text: &str) -> Option<(&str, &str)> {
    let is_inner = |c: char| c == '_' || c.is_ascii_alphanumeric();
    let length = text.find(|c: char| !is_inner(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at_checked(length)?;
    (!name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit())).then_some((name, rest))
}

/// What stands in brackets: a number, or a string without an escape.
fn index(text: &str) -> Option<(Step, &str)> {
    for quote in ['"', '\''] {
        if let Some(inside) = text.strip_prefix(quote) {
            let (name, rest) = inside.split_once(quote)?;
            return (!name.contains('\\')).then_some((Step::Member(name.into()), rest));
        }
    }
    let length = text.find(']')?;
    let (number, rest) = text.split_at_checked(length)?;
    let number = number.trim();
    let digits = number.strip_prefix('-').unwrap_or(number);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    Some((Step::Index(number.parse().ok().filter(|_| is_number)?), rest))
}
