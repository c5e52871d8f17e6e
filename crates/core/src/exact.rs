//! JSON that has exactly one reading: what is judged, hashed, shown and sent agree (I4).

use std::fmt;
use std::sync::Arc;

pub(crate) mod escapes;
mod reader;
mod taken;

pub(crate) use reader::Seen;

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of some bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        use sha2::Digest as _;
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// The digest that 64 hex digits of either case stand for.
    #[must_use]
    pub fn of_hex(text: &str) -> Option<Self> {
        let mut bytes = [0_u8; 32];
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        for (place, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(2 * place..2 * place + 2)?, 16).ok()?;
        }
        Some(Self(bytes))
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The digest as 64 lower-case hex digits.
    #[must_use]
    pub fn hex(&self) -> String {
        const DIGITS: [char; 16] = [
            '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
        ];
        let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied();
        // Every call is recorded with its digest, so no byte is worth an allocation of its own.
        let mut text = String::with_capacity(64);
        text.extend(
            self.0
                .iter()
                .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
                .flatten(),
        );
        text
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.hex())
    }
}

/// Canonical JSON: keys sorted by code point, number tokens as written, no blanks, minimal
/// string escapes. Two texts are the same call exactly when their canonical bytes are equal.
///
/// RFC 8785 is not used: it reads numbers as doubles, so two big integers would be one.
#[derive(Clone, PartialEq, Eq)]
pub struct Exact {
    text: Arc<str>,
}

/// Why a text has no exact reading. Positions are byte offsets into the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Not JSON.
    #[error("not valid JSON at byte {at}: {what}")]
    Syntax {
        /// Where.
        at: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// Two members of one object have one name.
    #[error("duplicate key `{key}` at `{pointer}`")]
    DuplicateKey {
        /// The key.
        key: String,
        /// JSON pointer of the object.
        pointer: String,
    },
    /// A string holds half of a surrogate pair.
    #[error("lone surrogate in a string at byte {at}")]
    LoneSurrogate {
        /// Where.
        at: usize,
    },
    /// Deeper than [`MAX_DEPTH`].
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// The root is not an object.
    #[error("expected a JSON object, found {found}")]
    NotAnObject {
        /// `null`, `an array`, `a string`, `a number` or `a boolean`.
        found: &'static str,
    },
}

/// How many arrays and objects may stand inside each other.
pub const MAX_DEPTH: usize = 128;

impl Exact {
    /// Reads any JSON value strictly.
    ///
    /// # Errors
    /// [`Error`], naming what has more than one reading and where.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let text = reader::read(text, |_| {})?;
        Ok(Self { text: text.into() })
    }

    /// Reads a JSON object strictly; arguments of a call are one.
    ///
    /// # Errors
    /// As [`Exact::parse`], and [`Error::NotAnObject`].
    pub fn object(text: &str) -> Result<Self, Error> {
        let exact = Self::parse(text)?;
        match kind(exact.as_str()) {
            "an object" => Ok(exact),
            found => Err(Error::NotAnObject { found }),
        }
    }

    /// `{}`: what absent arguments mean.
    #[must_use]
    pub fn empty_object() -> Self {
        Self { text: "{}".into() }
    }

    /// The canonical text: what is hashed, shown and sent.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// SHA-256 over the canonical text, made when it is asked for.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(self.text.as_bytes())
    }
}

impl fmt::Debug for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Reads an object strictly and shows each of its members, at every depth, in the order of their ends.
pub(crate) fn walk<'t>(text: &'t str, seen: impl FnMut(Seen<'_, 't>)) -> Result<(), Error> {
    reader::read(text, seen)?;
    match kind(text) {
        "an object" => Ok(()),
        found => Err(Error::NotAnObject { found }),
    }
}

/// What kind of value a JSON text holds, judged by its first character.
pub(crate) fn kind(text: &str) -> &'static str {
    match text.trim_ascii_start().bytes().next() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

#[cfg(test)]
mod tests;
