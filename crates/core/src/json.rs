//! JSON as a tree that keeps every digit: numbers stay the tokens they were written as (I11).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::exact::{self, Exact};

mod number;
mod reader;
mod writer;

/// A JSON value. Cloning one does not copy what it holds.
#[derive(Clone, PartialEq, Eq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as its token.
    Number(Number),
    /// A string.
    Text(Arc<str>),
    /// An array.
    List(Arc<[Json]>),
    /// An object; a name stands once.
    Map(Arc<BTreeMap<Arc<str>, Json>>),
}

/// The token of a number, as it was written. Two tokens are one value only when they are one text: `1.0` is not `1`.
#[derive(Clone, PartialEq, Eq)]
pub struct Number(Arc<str>);

impl Number {
    /// A token of JSON's grammar.
    #[must_use]
    pub fn parse(token: &str) -> Option<Self> {
        number::is_token(token).then(|| Self(token.into()))
    }

    /// The token.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether two tokens stand for one number of mathematics, however many digits they have.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.0 == other.0 || number::is_same(&self.0, &other.0)
    }
}

impl From<i128> for Number {
    fn from(value: i128) -> Self {
        Self(value.to_string().into())
    }
}

impl Json {
    /// Reads a text that has exactly one reading.
    ///
    /// # Errors
    /// As [`Exact::parse`].
    pub fn parse(text: &str) -> Result<Self, exact::Error> {
        Ok(Self::of(&Exact::parse(text)?))
    }

    /// The tree of a text that was read strictly before.
    #[must_use]
    pub fn of(exact: &Exact) -> Self {
        reader::read(exact.as_str())
    }

    /// A string.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    /// An object of some members.
    #[must_use]
    pub fn object<K: Into<Arc<str>>>(members: impl IntoIterator<Item = (K, Self)>) -> Self {
        Self::Map(Arc::new(
            members.into_iter().map(|(name, value)| (name.into(), value)).collect(),
        ))
    }

    /// The canonical text, as [`Exact`] has it.
    #[must_use]
    pub fn to_text(&self) -> String {
        writer::write(self)
    }

    /// The value as canonical JSON.
    ///
    /// # Errors
    /// [`exact::Error::TooDeep`] for a value that was put together deeper than a text may be.
    pub fn to_exact(&self) -> Result<Exact, exact::Error> {
        Exact::parse(&self.to_text())
    }

    /// A member of an object.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Map(members) => members.get(name),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) | Self::List(_) => None,
        }
    }

    /// The value at a JSON pointer (RFC 6901), `""` or `/a/0`.
    #[must_use]
    pub fn at(&self, pointer: &str) -> Option<&Self> {
        let mut value = self;
        let Some(rest) = pointer.strip_prefix('/') else {
            return pointer.is_empty().then_some(self);
        };
        for step in rest.split('/') {
            let step = step.replace("~1", "/").replace("~0", "~");
            value = match value {
                Self::Map(members) => members.get(step.as_str())?,
                Self::List(items) => {
                    let is_index = step == "0" || !step.starts_with('0') && step.bytes().all(|b| b.is_ascii_digit());
                    items.get(step.parse::<usize>().ok().filter(|_| is_index)?)?
                }
                Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) => return None,
            };
        }
        Some(value)
    }

    /// Whether two values are equal where numbers are compared as numbers: `200` and `200.0` are.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(left), Self::Number(right)) => left.is_same_as(right),
            (Self::List(left), Self::List(right)) => {
                left.len() == right.len()
                    && left
                        .iter()
                        .zip(right.iter())
                        .all(|(left, right)| left.is_same_as(right))
            }
            (Self::Map(left), Self::Map(right)) => {
                left.len() == right.len()
                    && left
                        .iter()
                        .zip(right.iter())
                        .all(|(left, right)| left.0 == right.0 && left.1.is_same_as(right.1))
            }
            (left, right) => left == right,
        }
    }

    /// What kind of value it is, with its article, for messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::List(_) => "an array",
            Self::Map(_) => "an object",
        }
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests;
