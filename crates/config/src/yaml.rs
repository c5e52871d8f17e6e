//! YAML as a tree with places. The only place that knows the YAML crate.

#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{DefaultMessageFormatter, DuplicateKeyPolicy, Location, MessageFormatter as _, Options, Spanned};

use crate::problem::{Problem, Source};
use crate::tree::{MAX_DEPTH, Member, Members, Node, Value};

/// Reads a whole file; an empty one is null. Duplicate keys are problems beside the tree, which keeps the first.
pub(crate) fn parse(source: &Source) -> (Option<Node>, Vec<Problem>) {
    match serde_saphyr::from_str_with_options::<Spanned<Tree>>(&source.text, options()) {
        Ok(tree) => {
            let mut problems = Vec::new();
            let node = node(source, tree, &mut problems);
            (Some(node), problems)
        }
        Err(error) => (None, vec![problem(source, &error)]),
    }
}

enum Tree {
    Null,
    Boolean(bool),
    Number(String),
    Text(String),
    List(Vec<Spanned<Tree>>),
    Map(Vec<(Spanned<Tree>, Spanned<Tree>)>),
}

/// A settings file is small; a file that grows under aliases is stopped early.
fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_nodes: 20_000,
            max_events: 60_000,
            max_depth: MAX_DEPTH,
            max_aliases: 200,
            max_anchors: 200,
            max_documents: 2,
            max_total_scalar_bytes: 4 * 1024 * 1024,
            max_merge_keys: 100,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 10_000,
            max_replay_stack_depth: 8,
        },
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        strict_booleans: true,
        with_snippet: false,
    }
}

fn node(source: &Source, tree: Spanned<Tree>, problems: &mut Vec<Problem>) -> Node {
    let span = span(tree.referenced);
    let value = match tree.value {
        Tree::Null => Value::Null,
        Tree::Boolean(value) => Value::Boolean(value),
        Tree::Number(token) => Value::Number(token),
        Tree::Text(text) => Value::Text(text),
        Tree::List(items) => Value::List(items.into_iter().map(|item| node(source, item, problems)).collect()),
        Tree::Map(entries) => {
            let mut members = Members::default();
            for (key, value) in entries {
                let key_span = self::span(key.referenced);
                let node = node(source, value, problems);
                match key_text(key.value) {
                    Some(key) => members.add(source, Member { key, key_span, node }, problems),
                    None => problems.push(
                        source
                            .problem(key_span, "a key must be a string")
                            .with_help("a text that begins with `{` stands in quotes, such as `\"{{ input.name }}\"`"),
                    ),
                }
            }
            members.into_value()
        }
    };
    Node { span, value }
}

fn key_text(key: Tree) -> Option<String> {
    match key {
        Tree::Text(text) | Tree::Number(text) => Some(text),
        Tree::Boolean(value) => Some(value.to_string()),
        Tree::Null | Tree::List(_) | Tree::Map(_) => None,
    }
}

fn span(location: Location) -> Range<usize> {
    let number = |value: Option<u64>| value.and_then(|value| usize::try_from(value).ok()).unwrap_or_default();
    let start = number(location.span().byte_offset());
    start..start + number(location.span().byte_len())
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "another crate's open list: every error has a text"
)]
fn problem(source: &Source, error: &serde_saphyr::Error) -> Problem {
    let error = error.without_snippet();
    let too_much = "it is larger, deeper or has more aliases than a settings file may";
    let what = match error {
        serde_saphyr::Error::Budget { .. }
        | serde_saphyr::Error::AliasReplayLimitExceeded { .. }
        | serde_saphyr::Error::AliasReplayStackDepthExceeded { .. } => too_much.to_owned(),
        serde_saphyr::Error::MultipleDocuments { .. } => "only one document may stand in it".to_owned(),
        serde_saphyr::Error::RecursiveReferencesRequireWeakTypes { .. } => {
            "an alias stands inside of what it stands for, so that its value would have no end".to_owned()
        }
        other => DefaultMessageFormatter.format_message(other).into_owned(),
    };
    let what = format!("not valid YAML: {what}");
    match error.location() {
        Some(location) => source.problem(place(source, location), what),
        None => Problem::of_file(&source.name, what),
    }
}

/// Errors of the scanner know line and column only.
fn place(source: &Source, location: Location) -> Range<usize> {
    if location.span().byte_offset().is_some() {
        return span(location);
    }
    let number = |value: u64| usize::try_from(value.saturating_sub(1)).unwrap_or_default();
    let mut start = 0;
    for line in source.text.split_inclusive('\n').take(number(location.line())) {
        start += line.len();
    }
    let line = source.text.get(start..).unwrap_or_default();
    start += line
        .chars()
        .take(number(location.column()))
        .map(char::len_utf8)
        .sum::<usize>();
    start..start
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Number(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Number(value.to_string()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Tree, E> {
        Ok(Tree::Number(value.to_string()))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Tree, E> {
        Ok(Tree::Number(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Tree::Number(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Tree, E> {
        Ok(Tree::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Tree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Tree::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Tree, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(Tree::Map(entries))
    }
}
