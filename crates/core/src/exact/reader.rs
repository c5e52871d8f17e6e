//! The strict reader: one pass writes canonical JSON and refuses whatever has a second reading.

use std::cmp::Ordering;

use super::escapes::{decode, push};
use super::{Error, MAX_DEPTH};

/// One member of an object, shown while the text is read.
#[derive(Debug)]
pub(crate) struct Seen<'r, 't> {
    /// 1 for the members of the root object.
    pub(crate) depth: usize,
    /// The key between its quotes, in canonical escapes.
    pub(crate) key: &'r str,
    /// The value as written.
    pub(crate) value: &'t str,
    /// Where the value begins in the text.
    pub(crate) at: usize,
}

/// Reads one value; the answer is its canonical text.
pub(super) fn read<'t>(text: &'t str, seen: impl FnMut(Seen<'_, 't>)) -> Result<String, Error> {
    let mut reader = Reader {
        text,
        at: 0,
        out: String::with_capacity(text.len()),
        members: Vec::new(),
        path: Vec::new(),
        unsorted: Vec::new(),
        seen,
    };
    reader.blanks();
    reader.value()?;
    reader.blanks();
    if reader.at < text.len() {
        return Err(reader.wrong("text after the value"));
    }
    Ok(reader.finish())
}

/// A member of an object, as places in the output.
#[derive(Debug, Clone, Copy)]
struct Member {
    start: usize,
    key_end: usize,
    end: usize,
    /// Whether the key holds an escape, so that its bytes do not sort like its characters.
    escaped: bool,
}

/// An object whose members stand in another order than the canonical one.
#[derive(Debug)]
struct Unsorted {
    start: usize,
    end: usize,
    members: Vec<Member>,
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Key { start: usize, end: usize },
    Index(usize),
}

struct Reader<'t, F> {
    text: &'t str,
    at: usize,
    /// Canonical but for the order of members in the objects of `unsorted`.
    out: String,
    /// Members of all objects that are still open, innermost last.
    members: Vec<Member>,
    /// INVARIANT: its length is the depth, held to `MAX_DEPTH` by `enter`, which bounds recursion.
    path: Vec<Step>,
    unsorted: Vec<Unsorted>,
    seen: F,
}

impl<'t, F: FnMut(Seen<'_, 't>)> Reader<'t, F> {
    fn value(&mut self) -> Result<(), Error> {
        match self.peek() {
            Some(b'{') => self.object(),
            Some(b'[') => self.array(),
            Some(b'"') => self.string().map(|_| ()),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(0xEF) if self.rest().starts_with('\u{FEFF}') => Err(self.wrong("a byte order mark is not allowed")),
            Some(_) => Err(self.wrong("expected a value")),
            None => Err(self.wrong("the text ends before the value does")),
        }
    }

    fn object(&mut self) -> Result<(), Error> {
        let start = self.out.len();
        let first = self.members.len();
        self.enter(b'{')?;
        let mut sorted = true;
        let mut empty = true;
        while !self.ends(b'}', &mut empty)? {
            let member = self.member()?;
            if let Some(previous) = self.members.get(first..).and_then(<[_]>::last) {
                sorted = sorted && self.order(previous, &member) == Ordering::Less;
            }
            self.members.push(member);
        }
        self.path.pop();
        if sorted {
            self.members.truncate(first);
            return Ok(());
        }
        let mut members = self.members.split_off(first);
        members.sort_by(|left, right| self.order(left, right));
        for pair in members.windows(2) {
            if let [left, right] = pair
                && self.order(left, right) == Ordering::Equal
            {
                return Err(Error::DuplicateKey {
                    key: decode(self.key(left)).collect(),
                    pointer: self.pointer(),
                });
            }
        }
        self.unsorted.push(Unsorted {
            start,
            end: self.out.len(),
            members,
        });
        Ok(())
    }

    fn member(&mut self) -> Result<Member, Error> {
        let start = self.out.len();
        if self.peek() != Some(b'"') {
            return Err(self.wrong("expected a key in double quotes"));
        }
        let escaped = self.string()?;
        let key_end = self.out.len();
        self.blanks();
        if !self.take(b':') {
            return Err(self.wrong("expected `:` after a key"));
        }
        self.out.push(':');
        self.blanks();
        self.step(Step::Key {
            start: start + 1,
            end: key_end - 1,
        });
        let at = self.at;
        self.value()?;
        let key = self.out.get(start + 1..key_end - 1).unwrap_or_default();
        let value = self.text.get(at..self.at).unwrap_or_default();
        (self.seen)(Seen {
            depth: self.path.len(),
            key,
            value,
            at,
        });
        Ok(Member {
            start,
            key_end,
            end: self.out.len(),
            escaped,
        })
    }

    fn array(&mut self) -> Result<(), Error> {
        self.enter(b'[')?;
        let mut empty = true;
        let mut index = 0;
        while !self.ends(b']', &mut empty)? {
            self.step(Step::Index(index));
            self.value()?;
            index += 1;
        }
        self.path.pop();
        Ok(())
    }

    fn enter(&mut self, opening: u8) -> Result<(), Error> {
        if self.path.len() >= MAX_DEPTH {
            return Err(Error::TooDeep);
        }
        self.path.push(Step::Index(0));
        self.at += 1;
        self.out.push(char::from(opening));
        Ok(())
    }

    fn step(&mut self, step: Step) {
        if let Some(last) = self.path.last_mut() {
            *last = step;
        }
    }

    /// Whether the object or array ends here; otherwise the next element begins.
    fn ends(&mut self, closing: u8, empty: &mut bool) -> Result<bool, Error> {
        self.blanks();
        if self.take(closing) {
            self.out.push(char::from(closing));
            return Ok(true);
        }
        if *empty {
            *empty = false;
        } else if self.take(b',') {
            self.out.push(',');
            self.blanks();
        } else {
            return Err(self.wrong("expected `,` or the end of the object or array"));
        }
        Ok(false)
    }

    /// Copies a string with minimal escapes; says whether one is left.
    fn string(&mut self) -> Result<bool, Error> {
        self.at += 1;
        self.out.push('"');
        let mut escaped = false;
        loop {
            let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
            let run = rest
                .iter()
                .position(|b| matches!(b, b'"' | b'\\' | 0..0x20))
                .unwrap_or(rest.len());
            self.copy(run);
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    let character = self.escape()?;
                    escaped |= push(&mut self.out, character);
                }
                Some(_) => return Err(self.wrong("a control character in a string must be escaped")),
                None => return Err(self.wrong("the string does not end")),
            }
        }
        self.at += 1;
        self.out.push('"');
        Ok(escaped)
    }

    fn escape(&mut self) -> Result<char, Error> {
        let at = self.at;
        self.at += 1;
        let character = match self.peek() {
            Some(plain @ (b'"' | b'\\' | b'/')) => char::from(plain),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let high = self.hex(at)?;
                return match high {
                    0xD800..=0xDBFF if self.rest().starts_with("\\u") => {
                        self.at += 1;
                        let low = self.hex(at)?;
                        char::decode_utf16([high, low]).next().and_then(Result::ok)
                    }
                    unit => char::from_u32(unit.into()),
                }
                .ok_or(Error::LoneSurrogate { at });
            }
            _ => {
                return Err(Error::Syntax {
                    at,
                    what: "unknown escape in a string",
                });
            }
        };
        self.at += 1;
        Ok(character)
    }

    /// Reads `u` and four hex digits.
    fn hex(&mut self, at: usize) -> Result<u16, Error> {
        let digits = self
            .text
            .get(self.at + 1..self.at + 5)
            .filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
        self.at += 5;
        unit.ok_or(Error::Syntax {
            at,
            what: "`\\u` needs four hex digits",
        })
    }

    fn number(&mut self) -> Result<(), Error> {
        let bytes = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let digits = |from: usize| bytes.iter().skip(from).take_while(|b| b.is_ascii_digit()).count();
        let mut length = usize::from(bytes.first() == Some(&b'-'));
        length += match bytes.get(length) {
            Some(b'0') => 1,
            Some(b'1'..=b'9') => digits(length),
            _ => return Err(self.wrong("expected a digit")),
        };
        if bytes.get(length) == Some(&b'.') {
            length += 1 + digits(length + 1);
            if bytes.get(length - 1) == Some(&b'.') {
                return Err(self.wrong("expected a digit after the point of a number"));
            }
        }
        if matches!(bytes.get(length), Some(b'e' | b'E')) {
            length += 1 + usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
            let exponent = digits(length);
            if exponent == 0 {
                return Err(self.wrong("expected a digit in the exponent of a number"));
            }
            length += exponent;
        }
        self.copy(length);
        Ok(())
    }

    fn word(&mut self, word: &'static str) -> Result<(), Error> {
        if !self.rest().starts_with(word) {
            return Err(self.wrong("expected a value"));
        }
        self.copy(word.len());
        Ok(())
    }

    fn copy(&mut self, length: usize) {
        self.out
            .push_str(self.text.get(self.at..self.at + length).unwrap_or_default());
        self.at += length;
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self, byte: u8) -> bool {
        let taken = self.peek() == Some(byte);
        self.at += usize::from(taken);
        taken
    }

    fn wrong(&self, what: &'static str) -> Error {
        Error::Syntax { at: self.at, what }
    }

    fn key(&self, member: &Member) -> &str {
        self.out.get(member.start + 1..member.key_end - 1).unwrap_or_default()
    }

    /// The order of the decoded keys; UTF-8 sorts by code point.
    fn order(&self, left: &Member, right: &Member) -> Ordering {
        let (left_key, right_key) = (self.key(left), self.key(right));
        if left.escaped || right.escaped {
            decode(left_key).cmp(decode(right_key))
        } else {
            left_key.cmp(right_key)
        }
    }

    /// JSON pointer (RFC 6901) of the object or array that is being read.
    fn pointer(&self) -> String {
        let mut pointer = String::new();
        for step in &self.path {
            pointer.push('/');
            match *step {
                Step::Index(index) => pointer.push_str(&index.to_string()),
                Step::Key { start, end } => {
                    let key: String = decode(self.out.get(start..end).unwrap_or_default()).collect();
                    pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
                }
            }
        }
        pointer
    }

    fn finish(mut self) -> String {
        if self.unsorted.is_empty() {
            return self.out;
        }
        self.unsorted.sort_by_key(|object| object.start);
        let mut text = String::with_capacity(self.out.len());
        self.sort_into(&mut text, 0, self.out.len());
        text
    }

    /// Copies a part of the output, with every object in it in order.
    ///
    /// Moving each byte once, here, keeps nested unsorted objects from costing their depth squared.
    fn sort_into(&self, text: &mut String, from: usize, to: usize) {
        let mut at = from;
        while let Some(object) = self
            .unsorted
            .get(self.unsorted.partition_point(|object| object.start < at))
            && object.start < to
        {
            text.push_str(self.out.get(at..object.start).unwrap_or_default());
            let mut separator = '{';
            for member in &object.members {
                text.push(separator);
                self.sort_into(text, member.start, member.end);
                separator = ',';
            }
            text.push('}');
            at = object.end;
        }
        text.push_str(self.out.get(at..to).unwrap_or_default());
    }
}
