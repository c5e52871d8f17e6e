//! One strict pass over a JSON text: it has exactly one reading, or the place where it has not.

use std::borrow::Cow;

use crate::outline::{Member, Outline};

/// How many arrays and objects may stand inside each other.
pub(crate) const MAX_DEPTH: usize = 128;

/// Objects with at most this many members are compared pair by pair; larger ones are sorted,
/// so that a hostile object costs n log n and not n².
const PAIRWISE: usize = 8;

/// Why a text has no single reading. Positions are byte offsets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    /// Not JSON.
    #[error("not valid JSON at byte {at}: {what}")]
    Syntax {
        /// Where.
        at: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// Two members of one object have one name.
    #[error("duplicate key `{0}`")]
    DuplicateKey(String),
    /// A string holds half of a surrogate pair.
    #[error("lone surrogate in a string at byte {at}")]
    LoneSurrogate {
        /// Where.
        at: usize,
    },
    /// Deeper than [`MAX_DEPTH`].
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

/// Checks one JSON value with nothing but blanks around it.
///
/// # Errors
/// [`Error`], the first in reading order; duplicate keys when their object ends.
pub(crate) fn check(text: &str) -> Result<(), Error> {
    Scanner::new(text, 0, Inside::OneReading).whole()
}

/// As [`check`]; of an object, the members of what stands at most `levels` deep are kept.
///
/// # Errors
/// As [`check`].
pub(crate) fn outline(text: &str, levels: usize) -> Result<Outline<'_>, Error> {
    let is_object = text.trim_start().starts_with('{');
    let mut scanner = Scanner::new(text, if is_object { levels } else { 0 }, Inside::OneReading);
    scanner.whole()?;
    Ok(scanner.outline)
}

/// The members of an object, names that stand twice included. `None` is no verdict: it is no object, or one that
/// another reader may still take.
pub(crate) fn members(text: &str) -> Option<Vec<Member<'_>>> {
    let mut scanner = Scanner::new(text, 1, Inside::Anything);
    scanner.whole().ok()?;
    scanner.outline.into_only()
}

/// What is looked for deeper inside than the members that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    /// Names that stand twice.
    OneReading,
    /// Nothing but JSON.
    Anything,
}

struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    inside: Inside,
    /// Names and values of all open objects, the innermost last: one allocation for a whole text.
    open: Vec<(Cow<'a, str>, &'a str)>,
    levels: usize,
    outline: Outline<'a>,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str, levels: usize, inside: Inside) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            depth: 0,
            inside,
            open: Vec::with_capacity(16),
            levels,
            outline: Outline::default(),
        }
    }

    fn whole(&mut self) -> Result<(), Error> {
        self.value()?;
        self.blanks();
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.syntax("text after the value")),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn syntax(&self, what: &'static str) -> Error {
        Error::Syntax { at: self.at, what }
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Result<(), Error> {
        self.blanks();
        match self.peek() {
            Some(b'{') => {
                self.enter()?;
                self.object()?;
                self.depth -= 1;
                Ok(())
            }
            Some(b'[') => {
                self.enter()?;
                self.array()?;
                self.depth -= 1;
                Ok(())
            }
            Some(b'"') => self.string().map(|_| ()),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            Some(_) => Err(self.syntax("expected a value")),
            None => Err(self.syntax("the text ends where a value should be")),
        }
    }

    fn enter(&mut self) -> Result<(), Error> {
        if self.depth == MAX_DEPTH {
            return Err(Error::TooDeep);
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Error> {
        if self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
            self.at += word.len();
            Ok(())
        } else {
            Err(self.syntax("expected a value"))
        }
    }

    fn array(&mut self) -> Result<(), Error> {
        self.blanks();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.value()?;
            self.blanks();
            match self.next() {
                Some(b',') => {}
                Some(b']') => return Ok(()),
                Some(_) | None => {
                    self.at = self.at.saturating_sub(1);
                    return Err(self.syntax("expected `,` or `]`"));
                }
            }
        }
    }

    fn object(&mut self) -> Result<(), Error> {
        let begin = self.at - 1;
        let first = self.open.len();
        let kept = self.depth <= self.levels;
        let named = kept || self.inside == Inside::OneReading;
        self.blanks();
        if self.peek() == Some(b'}') {
            self.at += 1;
            if kept {
                self.keep(begin, first);
            }
            return Ok(());
        }
        loop {
            let (token, escaped) = self.key()?;
            self.blanks();
            let from = self.at;
            self.value()?;
            if named {
                let value = if kept { self.text.get(from..self.at) } else { None };
                // The token was checked, so that decoding it succeeds.
                let name = name_of(token, escaped).unwrap_or_default();
                self.open.push((name, value.unwrap_or_default()));
            }
            self.blanks();
            match self.next() {
                Some(b',') => {}
                Some(b'}') => break,
                Some(_) | None => {
                    self.at = self.at.saturating_sub(1);
                    return Err(self.syntax("expected `,` or `}`"));
                }
            }
        }
        if self.inside == Inside::OneReading
            && let Some(name) = duplicate(self.open.get(first..).unwrap_or_default())
        {
            return Err(Error::DuplicateKey(name.to_owned()));
        }
        if kept {
            self.keep(begin, first);
        } else {
            self.open.truncate(first);
        }
        Ok(())
    }

    fn keep(&mut self, begin: usize, first: usize) {
        let object = self.text.get(begin..self.at).unwrap_or_default();
        self.outline.add(object, self.open.drain(first..));
    }

    /// The token of a member's name, up to its colon; true when it holds escapes.
    fn key(&mut self) -> Result<(&'a str, bool), Error> {
        self.blanks();
        if self.peek() != Some(b'"') {
            return Err(self.syntax("expected a member name in double quotes"));
        }
        let start = self.at;
        let escaped = self.string()?;
        let token = self.text.get(start..self.at).unwrap_or_default();
        self.blanks();
        if self.peek() != Some(b':') {
            return Err(self.syntax("expected `:`"));
        }
        self.at += 1;
        Ok((token, escaped))
    }

    /// Passes a string; true when it holds escapes.
    fn string(&mut self) -> Result<bool, Error> {
        self.at += 1;
        let mut escaped = false;
        loop {
            self.at += plain(self.bytes.get(self.at..).unwrap_or_default());
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(escaped);
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(_) => return Err(self.syntax("control character in a string")),
                None => return Err(self.syntax("the text ends inside a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Error> {
        let start = self.at;
        self.at += 1;
        match self.next() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(()),
            Some(b'u') => match self.hex4()? {
                0xD800..=0xDBFF => {
                    let second = self.bytes.get(self.at..self.at + 2) == Some(b"\\u");
                    if !second {
                        return Err(Error::LoneSurrogate { at: start });
                    }
                    self.at += 2;
                    match self.hex4()? {
                        0xDC00..=0xDFFF => Ok(()),
                        _ => Err(Error::LoneSurrogate { at: start }),
                    }
                }
                0xDC00..=0xDFFF => Err(Error::LoneSurrogate { at: start }),
                _ => Ok(()),
            },
            Some(_) | None => {
                self.at = start;
                Err(self.syntax("unknown escape in a string"))
            }
        }
    }

    fn hex4(&mut self) -> Result<u32, Error> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.syntax("expected four hex digits"));
            };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }

    fn number(&mut self) -> Result<(), Error> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.syntax("expected a digit")),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn some_digits(&mut self) -> Result<(), Error> {
        let start = self.at;
        self.digits();
        if self.at == start {
            Err(self.syntax("expected a digit"))
        } else {
            Ok(())
        }
    }
}

/// The name that a string token stands for; `None` for one that is no text.
pub(crate) fn name_of(token: &str, escaped: bool) -> Option<Cow<'_, str>> {
    if escaped {
        serde_json::from_str(token).ok().map(Cow::Owned)
    } else {
        token.get(1..token.len().saturating_sub(1)).map(Cow::Borrowed)
    }
}

/// A name that stands twice.
fn duplicate<'k>(members: &'k [(Cow<'_, str>, &str)]) -> Option<&'k str> {
    let names = || members.iter().map(|(name, _)| name.as_ref());
    if members.len() <= PAIRWISE {
        let mut earlier = names().enumerate();
        return earlier
            .find(|(index, name)| names().take(*index).any(|earlier| earlier == *name))
            .map(|(_, name)| name);
    }
    let mut sorted: Vec<&str> = names().collect();
    sorted.sort_unstable();
    sorted
        .iter()
        .zip(sorted.iter().skip(1))
        .find(|(one, next)| one == next)
        .map(|(name, _)| *name)
}

/// How many bytes at the start are neither a quote, a backslash nor a control character.
pub(crate) fn plain(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut skipped = 0;
    for word in words {
        let found = ends(u64::from_le_bytes(*word));
        if found != 0 {
            return skipped + usize::try_from(found.trailing_zeros() / 8).unwrap_or_default();
        }
        skipped += 8;
    }
    let found = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1F));
    skipped + found.unwrap_or(rest.len())
}

/// Whether a text can stand between quotes as it is: visible ASCII without quotes and backslashes.
pub(crate) fn is_visible(text: &str) -> bool {
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let is_word = |word: &[u8; 8]| {
        let word = u64::from_le_bytes(*word);
        (ends(word) | zeros(word ^ (ONES * 0x7F)) | (word & HIGH)) == 0
    };
    let is_byte = |byte: &u8| matches!(byte, 0x20..=0x7E) && !matches!(byte, b'"' | b'\\');
    words.iter().all(is_word) && rest.iter().all(is_byte)
}

const ONES: u64 = u64::MAX / 255;
const HIGH: u64 = ONES << 7;

/// The high bit of the first of eight bytes that ends a run of plain string bytes, and maybe of later ones.
fn ends(word: u64) -> u64 {
    let control = word.wrapping_sub(ONES * 0x20) & !word & HIGH;
    zeros(word ^ (ONES * 0x22)) | zeros(word ^ (ONES * 0x5C)) | control
}

/// The high bit of the first byte that is zero, and maybe of later ones: a borrow only goes up (the zero-byte
/// test of "Bit Twiddling Hacks").
fn zeros(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGH
}

#[cfg(test)]
mod tests;
