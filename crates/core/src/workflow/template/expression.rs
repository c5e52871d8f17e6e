//! One expression: a way into a value is followed as it is, everything else is minijinja's, without any function that
//! could reach the environment, files or the network.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use minijinja::value::Value;
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior};

use super::path::{Path, Step};
use super::{Names, Reference, Root, value};
use crate::json::Json;

/// How many steps of the machine one expression may take.
const FUEL: u64 = 100_000;

/// How long an expression may be, in bytes. It bounds how often a text can be doubled.
const LONGEST: usize = 4_096;

/// One expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Expression {
    text: Arc<str>,
    path: Option<Path>,
}

/// What is wrong with an expression, and the way out.
type Wrong = (String, Option<&'static str>);

impl Expression {
    /// Reads an expression; it is compiled, so that what it is does not show first when it runs.
    pub(super) fn parse(text: &str) -> Result<Self, Wrong> {
        if text.len() > LONGEST {
            return Err((format!("it is longer than {LONGEST} bytes"), None));
        }
        let path = Path::parse(text);
        if path.is_none() {
            let compiled = MACHINE.compile_expression(text);
            compiled.map_err(|error| (said(&error), hint(text)))?;
            if let Some(unknown) = unknown_words(text) {
                return Err((unknown, None));
            }
        }
        Ok(Self {
            text: text.into(),
            path,
        })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// What it names.
    pub(super) fn references(&self) -> BTreeSet<Reference> {
        if let Some(path) = &self.path {
            let member = path.steps.first().and_then(|step| match step {
                Step::Member(name) => Some(Arc::clone(name)),
                Step::Index(_) => None,
            });
            return BTreeSet::from([Reference::Member(path.root, member)]);
        }
        let Ok(compiled) = MACHINE.compile_expression(&self.text) else {
            return BTreeSet::new();
        };
        let is_known = |name: &str| MACHINE.globals().any(|(global, _)| global == name);
        let reference = |name: String| {
            let mut parts = name.split('.');
            let first = parts.next().unwrap_or_default();
            match Root::find(first) {
                Some(root) => Some(Reference::Member(root, parts.next().map(Into::into))),
                None => (!is_known(first)).then(|| Reference::Unknown(first.into())),
            }
        };
        compiled
            .undeclared_variables(true)
            .into_iter()
            .filter_map(reference)
            .collect()
    }

    /// Works it out.
    ///
    /// # Errors
    /// What is wrong, in lower case.
    pub(super) fn evaluate(&self, names: &Names) -> Result<Json, String> {
        if let Some(path) = &self.path {
            return path.follow(names);
        }
        let compiled = MACHINE.compile_expression(&self.text).map_err(|error| said(&error))?;
        let names = Json::object([
            (Root::Input.word(), names.input.clone()),
            (Root::Results.word(), names.results.clone()),
            (Root::Vars.word(), names.vars.clone()),
        ]);
        let found = compiled.eval(value::of(&names)).map_err(|error| said(&error))?;
        value::read(&found)
    }
}

/// Everything an expression can do.
static MACHINE: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut machine = Environment::new();
    machine.set_undefined_behavior(UndefinedBehavior::Strict);
    machine.set_fuel(Some(FUEL));
    machine.set_recursion_limit(50);
    // It would show everything that an expression can name.
    machine.remove_global("debug");
    machine.add_filter("tojson", to_json);
    machine
});

/// `tojson`: the text of a value, with every digit.
fn to_json(found: &Value) -> Result<String, Error> {
    let text = value::read(found).map_err(|what| Error::new(ErrorKind::BadSerialization, what))?;
    Ok(text.to_text())
}

/// An error of the machine in our words: its own without its kind's repetition.
fn said(error: &Error) -> String {
    match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    }
}

/// Filters and tests are looked up when an expression runs; asking for each now tells of a slip early.
fn unknown_words(text: &str) -> Option<String> {
    let mut quote = None;
    let mut last = "";
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let (head, tail) = rest.split_at_checked(character.len_utf8())?;
        match quote {
            Some(closing) => {
                let skipped = if character == '\\' {
                    tail.chars().next().map_or(0, char::len_utf8)
                } else {
                    0
                };
                rest = tail.get(skipped..).unwrap_or_default();
                if character == closing {
                    quote = None;
                }
                continue;
            }
            None if matches!(character, '"' | '\'') => quote = Some(character),
            None if character == '_' || character.is_ascii_alphabetic() => {
                let is_inner = |c: char| c == '_' || c.is_ascii_alphanumeric();
                let length = rest.find(|c: char| !is_inner(c)).unwrap_or(rest.len());
                let (word, after) = rest.split_at_checked(length)?;
                let asked = match last {
                    "|" => format!("none|{word}"),
                    "is" if word != "not" => format!("none is {word}"),
                    _ => String::new(),
                };
                if let Some(unknown) = unknown(&asked) {
                    return Some(unknown);
                }
                // `is not defined` asks for `defined`.
                if !(last == "is" && word == "not") {
                    last = word;
                }
                rest = after;
                continue;
            }
            None => {}
        }
        if !character.is_whitespace() {
            last = head;
        }
        rest = tail;
    }
    None
}

/// The machine's own word for a filter or test that it does not know.
fn unknown(asked: &str) -> Option<String> {
    if asked.is_empty() {
        return None;
    }
    let error = MACHINE.compile_expression(asked).ok()?.eval(()).err()?;
    matches!(error.kind(), ErrorKind::UnknownFilter | ErrorKind::UnknownTest).then(|| said(&error))
}

/// Texts from systems whose expressions look alike.
fn hint(text: &str) -> Option<&'static str> {
    if text.starts_with('.') {
        return Some("write names without the dot in front, as in `{{ input.name }}`");
    }
    None
}
