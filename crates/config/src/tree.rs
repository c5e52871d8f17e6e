//! A file's values with their places, the same for YAML and JSON.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::problem::{Problem, Source};

/// How deep values may be nested.
pub(crate) const MAX_DEPTH: usize = 64;

/// How many problems of one kind a file is told of; each costs a walk through the file.
pub(crate) const MAX_PROBLEMS: usize = 100;

/// A value and the bytes it stands at.
#[cfg_attr(test, derive(Debug))]
pub(crate) struct Node {
    pub(crate) span: Range<usize>,
    pub(crate) value: Value,
}

#[cfg_attr(test, derive(Debug))]
pub(crate) enum Value {
    Null,
    Boolean(bool),
    /// The token of a number, as written in JSON.
    Number(String),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Member>),
}

/// One key of a map with its value.
#[cfg_attr(test, derive(Debug))]
pub(crate) struct Member {
    pub(crate) key: String,
    pub(crate) key_span: Range<usize>,
    pub(crate) node: Node,
}

impl Node {
    /// What kind of value it is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "null",
            Value::Boolean(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::Text(_) => "a string",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }

    /// The value of that key, when this is a map that has it.
    pub(crate) fn member(&self, key: &str) -> Option<&Member> {
        match &self.value {
            Value::Map(members) => members.iter().find(|member| member.key == key),
            Value::Null | Value::Boolean(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => None,
        }
    }

    /// The text, when this is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            Value::Null | Value::Boolean(_) | Value::Number(_) | Value::List(_) | Value::Map(_) => None,
        }
    }
}

/// The members of a map while it is read. The first of two equal keys stays.
#[derive(Default)]
pub(crate) struct Members {
    members: Vec<Member>,
    starts: BTreeMap<String, usize>,
}

impl Members {
    /// Adds a member, or complains that its key is there already.
    pub(crate) fn add(&mut self, source: &Source, member: Member, problems: &mut Vec<Problem>) {
        match self.starts.get(&member.key) {
            Some(_) if problems.len() >= MAX_PROBLEMS => {}
            Some(start) => {
                let line = source.place(*start..*start).line;
                let what = format!("duplicate key `{}`; it stands on line {line} already", member.key);
                problems.push(source.problem(member.key_span, what));
            }
            None => {
                self.starts.insert(member.key.clone(), member.key_span.start);
                self.members.push(member);
            }
        }
    }

    /// The map.
    pub(crate) fn into_value(self) -> Value {
        Value::Map(self.members)
    }
}
