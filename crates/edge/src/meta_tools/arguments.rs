//! A strict reader of a meta-tool's arguments: every wrong one is named, with what it must be.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use countersign_core::exact::Exact;
use serde_json::value::RawValue;

use super::MetaTool;
use super::answer::Failure;

/// How many entries one page may hold.
pub(super) const LIMITS: RangeInclusive<usize> = 1..=500;

/// Reads arguments one by one and gathers what is wrong with them; nothing that it gave counts
/// before [`Reader::finish`] has said that nothing is.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    tool: MetaTool,
    members: BTreeMap<String, &'a RawValue>,
    wrong: BTreeSet<String>,
    problems: Vec<String>,
}

/// Which part of the matches is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    /// How many at most.
    pub(super) limit: usize,
    /// How many to pass over.
    pub(super) offset: usize,
}

impl<'a> Reader<'a> {
    /// Takes the arguments; unknown names are problems.
    pub(super) fn of(tool: MetaTool, arguments: &'a Exact) -> Self {
        let mut reader = Self {
            tool,
            members: BTreeMap::new(),
            wrong: BTreeSet::new(),
            problems: Vec::new(),
        };
        match serde_json::from_str(arguments.as_str()) {
            Ok(members) => reader.members = members,
            Err(_) => reader.problem(
                "arguments",
                format!("the arguments must be an object, found {}", found(arguments.as_str())),
            ),
        }
        let unknown: Vec<String> = reader
            .members
            .keys()
            .filter(|name| !tool.arguments().contains(&name.as_str()))
            .cloned()
            .collect();
        for name in unknown {
            reader.problem(&name, format!("unknown argument `{name}`"));
        }
        reader
    }

    /// Whether everything that was read is right.
    ///
    /// # Errors
    /// `bad_arguments`, naming each wrong argument and all that the tool takes.
    pub(super) fn finish(self) -> Result<(), Failure> {
        if self.problems.is_empty() {
            return Ok(());
        }
        let allowed = self.tool.arguments();
        let sentence = format!(
            "{}: {}; allowed arguments: {}",
            self.tool.name(),
            self.problems.join("; "),
            allowed.join(", ")
        );
        Err(Failure::bad_arguments(
            sentence,
            self.wrong.into_iter().collect(),
            allowed,
        ))
    }

    /// A text that must be there and not be empty.
    pub(super) fn needed(&mut self, name: &str) -> String {
        let text = self.text(name);
        match text {
            Some(text) => text,
            None if self.wrong.contains(name) => String::new(),
            None => {
                self.problem(
                    name,
                    format!("`{name}` is required and must be a string that is not empty"),
                );
                String::new()
            }
        }
    }

    /// A text; an empty one is none, since clients fill optional texts with `""`.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        let raw = self.raw(name)?;
        match serde_json::from_str::<String>(raw) {
            Ok(text) => Some(text).filter(|text| !text.is_empty()),
            Err(_) => {
                self.mistyped(name, "a string", raw);
                None
            }
        }
    }

    /// `true` or `false`.
    pub(super) fn flag(&mut self, name: &str, default: Flag) -> bool {
        let default = matches!(default, Flag::On);
        match self.raw(name) {
            None => default,
            Some("true") => true,
            Some("false") => false,
            Some(raw) => {
                self.mistyped(name, "`true` or `false`", raw);
                default
            }
        }
    }

    /// `limit` and `offset`.
    pub(super) fn window(&mut self, limit: usize) -> Window {
        Window {
            limit: self.whole("limit", limit, LIMITS),
            offset: self.whole("offset", 0, 0..=usize::MAX),
        }
    }

    /// An object whose values are strings.
    pub(super) fn texts(&mut self, name: &str) -> BTreeMap<String, String> {
        let Some(raw) = self.raw(name) else {
            return BTreeMap::new();
        };
        let Ok(members) = serde_json::from_str::<BTreeMap<String, &RawValue>>(raw) else {
            self.mistyped(name, "an object of strings", raw);
            return BTreeMap::new();
        };
        let mut texts = BTreeMap::new();
        for (key, value) in members {
            match serde_json::from_str(value.get()) {
                Ok(text) => drop(texts.insert(key, text)),
                Err(_) => {
                    let sentence = format!("`{name}.{key}` must be a string, found {}", found(value.get()));
                    self.problem(name, sentence);
                }
            }
        }
        texts
    }

    /// A list of strings. An empty one is one, since it may not mean the same as none.
    pub(super) fn list(&mut self, name: &str) -> Option<Vec<String>> {
        let raw = self.raw(name)?;
        let Ok(elements) = serde_json::from_str::<Vec<&RawValue>>(raw) else {
            self.mistyped(name, ARRAY, raw);
            return None;
        };
        let mut list = Vec::with_capacity(elements.len());
        for element in elements {
            match serde_json::from_str(element.get()) {
                Ok(text) => list.push(text),
                Err(_) => {
                    let sentence = format!("`{name}` must be {ARRAY}, found {} in it", found(element.get()));
                    self.problem(name, sentence);
                    return None;
                }
            }
        }
        Some(list)
    }

    /// An object with one reading; absent means empty.
    pub(super) fn object(&mut self, name: &str) -> Exact {
        let Some(raw) = self.raw(name) else {
            return Exact::empty_object();
        };
        match Exact::object(raw) {
            Ok(object) => object,
            Err(_) => {
                self.mistyped(name, "an object", raw);
                Exact::empty_object()
            }
        }
    }

    fn whole(&mut self, name: &str, default: usize, range: RangeInclusive<usize>) -> usize {
        let Some(raw) = self.raw(name) else { return default };
        // JSON Schema calls 5.0 an integer too, and some clients write whole numbers so.
        let digits = match raw.split_once('.') {
            Some((whole, fraction)) if fraction.bytes().all(|byte| byte == b'0') => whole,
            Some(_) | None => raw,
        };
        match digits.parse() {
            Ok(number) if range.contains(&number) => number,
            Ok(_) | Err(_) => {
                let (least, most) = (*range.start(), *range.end());
                let wanted = if most == usize::MAX {
                    format!("a whole number that is at least {least}")
                } else {
                    format!("a whole number from {least} to {most}")
                };
                self.mistyped(name, &wanted, raw);
                default
            }
        }
    }

    fn raw(&self, name: &str) -> Option<&'a str> {
        self.members.get(name).map(|raw| raw.get())
    }

    fn mistyped(&mut self, name: &str, wanted: &str, raw: &str) {
        self.problem(name, format!("`{name}` must be {wanted}, found {}", found(raw)));
    }

    fn problem(&mut self, name: &str, sentence: String) {
        self.wrong.insert(name.to_owned());
        self.problems.push(sentence);
    }
}

/// What a list must be.
const ARRAY: &str = "an array of strings";

/// What a flag is when it is not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flag {
    /// `true`
    On,
    /// `false`
    Off,
}

/// What stands there, in words; a short number as written, since it may be out of range only.
fn found(raw: &str) -> String {
    let words = match raw.as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        Some(_) if raw.len() <= 24 => raw,
        Some(_) => "a number",
        None => "nothing",
    };
    words.to_owned()
}
