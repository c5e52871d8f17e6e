//! Text with `{{ expressions }}` in it: read once, checked, and worked out without losing a digit (spec 7).

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::Place;
use crate::json::Json;

mod expression;
mod path;
mod scan;
mod value;

use expression::Expression;

/// How many bytes one worked out text may have.
pub const LARGEST: usize = 4 * 1024 * 1024;

/// A text that may hold expressions.
#[derive(Clone, PartialEq, Eq)]
pub struct Template {
    source: Arc<str>,
    at: Place,
    parts: Arc<[Part]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(Arc<str>),
    Expression(Expression),
}

/// A value whose texts may hold expressions, at any depth.
#[derive(Clone, PartialEq, Eq)]
pub enum Shape {
    /// A value without an expression.
    Constant(Json),
    /// A text with at least one.
    Template(Template),
    /// An array.
    List(Vec<Shape>),
    /// An object.
    Map(Vec<(Arc<str>, Shape)>),
}

/// What expressions can name.
#[derive(Debug, Clone)]
pub struct Names {
    /// The arguments of the run.
    pub input: Json,
    /// What steps answered, by step.
    pub results: Json,
    /// The item of each loop around, and in a clean-up what failed.
    pub vars: Json,
}

/// One of the three values that expressions can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Root {
    /// `input`
    Input,
    /// `results`
    Results,
    /// `vars`
    Vars,
}

impl Root {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Input, Self::Results, Self::Vars];

    /// The name in expressions.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Results => "results",
            Self::Vars => "vars",
        }
    }

    fn find(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|root| root.word() == word)
    }
}

/// A name that an expression uses, as far as it can be read from the text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reference {
    /// A member of one of the three values; `None` where the whole value is used or the member is worked out.
    Member(Root, Option<Arc<str>>),
    /// Something else, which does not exist.
    Unknown(Arc<str>),
}

/// Why a text is no template, or cannot be worked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where the text stands in its file.
    pub at: Place,
    /// The expression, when it is one.
    pub expression: Option<Arc<str>>,
    /// What is wrong, in lower case.
    pub what: String,
    /// The way out, where there is one.
    pub help: Option<&'static str>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.expression {
            Some(expression) => write!(f, "expression `{}` ({}): {}", shown(expression), self.at, self.what),
            None => write!(f, "template ({}): {}", self.at, self.what),
        }
    }
}

/// At most 200 characters of a text, for a message.
pub(super) fn shown(text: &str) -> String {
    let head: String = text.chars().take(200).collect();
    if head.len() < text.len() { head + "…" } else { head }
}

impl Template {
    /// Reads a text; every expression in it is compiled.
    ///
    /// # Errors
    /// [`Fault`], for the first thing that is wrong.
    pub fn parse(text: &str, at: &Place) -> Result<Self, Fault> {
        let fault = |expression: Option<&str>, what: String, help| Fault {
            at: at.clone(),
            expression: expression.map(Into::into),
            what,
            help,
        };
        let pieces = scan::pieces(text).map_err(|(what, help)| fault(None, what.to_owned(), help))?;
        let mut parts = Vec::with_capacity(pieces.len());
        for piece in pieces {
            parts.push(match piece {
                scan::Piece::Literal(literal) => Part::Literal(literal.into()),
                scan::Piece::Expression(inner) => {
                    Part::Expression(Expression::parse(inner).map_err(|(what, help)| fault(Some(inner), what, help))?)
                }
            });
        }
        Ok(Self {
            source: text.into(),
            at: at.clone(),
            parts: parts.into(),
        })
    }

    /// The text as written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Where it stands.
    #[must_use]
    pub fn at(&self) -> &Place {
        &self.at
    }

    /// The text, when it holds no expression.
    #[must_use]
    pub fn literal(&self) -> Option<&str> {
        match &*self.parts {
            [] => Some(""),
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// What its expressions name.
    #[must_use]
    pub fn references(&self) -> BTreeSet<Reference> {
        let expressions = self.parts.iter().filter_map(|part| match part {
            Part::Expression(expression) => Some(expression.references()),
            Part::Literal(_) => None,
        });
        expressions.flatten().collect()
    }

    /// Whether it is one expression, so that its value keeps its type.
    #[must_use]
    pub fn is_one_expression(&self) -> bool {
        self.only().is_some()
    }

    /// The expression, when nothing but blanks stands around it.
    fn only(&self) -> Option<&Expression> {
        let mut only = None;
        for part in self.parts.iter() {
            match part {
                Part::Expression(expression) if only.is_none() => only = Some(expression),
                Part::Literal(text) if text.trim().is_empty() => {}
                Part::Expression(_) | Part::Literal(_) => return None,
            }
        }
        only
    }

    /// Works it out. A text that is one expression keeps the value's type; any other gives a string.
    ///
    /// # Errors
    /// [`Fault`], naming the expression.
    pub fn evaluate(&self, names: &Names) -> Result<Json, Fault> {
        if let Some(expression) = self.only() {
            return self.value(expression, names);
        }
        let mut out = String::new();
        for part in self.parts.iter() {
            match part {
                Part::Literal(text) => out.push_str(text),
                Part::Expression(expression) => match self.value(expression, names)? {
                    Json::Text(text) => out.push_str(&text),
                    other @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::List(_) | Json::Map(_)) => {
                        out.push_str(&other.to_text());
                    }
                },
            }
            if out.len() > LARGEST {
                return Err(Fault {
                    at: self.at.clone(),
                    expression: None,
                    what: format!("its text would be longer than {} MiB", LARGEST >> 20),
                    help: None,
                });
            }
        }
        Ok(Json::Text(out.into()))
    }

    fn value(&self, expression: &Expression, names: &Names) -> Result<Json, Fault> {
        expression.evaluate(names).map_err(|what| Fault {
            at: self.at.clone(),
            expression: Some(expression.text().into()),
            what,
            help: None,
        })
    }
}

impl Shape {
    /// Works out every expression in it.
    ///
    /// # Errors
    /// The first [`Fault`].
    pub fn evaluate(&self, names: &Names) -> Result<Json, Fault> {
        Ok(match self {
            Self::Constant(value) => value.clone(),
            Self::Template(template) => template.evaluate(names)?,
            Self::List(items) => {
                let items: Result<Vec<Json>, Fault> = items.iter().map(|item| item.evaluate(names)).collect();
                Json::List(items?.into())
            }
            Self::Map(members) => {
                let members = members
                    .iter()
                    .map(|(name, shape)| Ok((Arc::clone(name), shape.evaluate(names)?)));
                Json::object(members.collect::<Result<Vec<_>, Fault>>()?)
            }
        })
    }

    /// Every template in it.
    #[must_use]
    pub fn templates(&self) -> Vec<&Template> {
        match self {
            Self::Constant(_) => Vec::new(),
            Self::Template(template) => vec![template],
            Self::List(items) => items.iter().flat_map(Self::templates).collect(),
            Self::Map(members) => members.iter().flat_map(|(_, shape)| shape.templates()).collect(),
        }
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.source)
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(value) => value.fmt(f),
            Self::Template(template) => template.fmt(f),
            Self::List(items) => f.debug_list().entries(items).finish(),
            Self::Map(members) => f.debug_map().entries(members.iter().map(|(k, v)| (k, v))).finish(),
        }
    }
}

#[cfg(test)]
mod tests;
