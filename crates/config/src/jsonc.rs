//! JSON with comments and trailing commas, read strictly: one reading, every place known.

mod string;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::problem::{Problem, Source};
use crate::tree::{MAX_DEPTH, Member, Members, Node, Value};

/// Reads a whole file. Duplicate keys are problems beside the tree, which keeps the first.
pub(crate) fn parse(source: &Source) -> (Option<Node>, Vec<Problem>) {
    let mut parser = Parser {
        source,
        at: 0,
        duplicates: Vec::new(),
    };
    match parser.file() {
        Ok(node) => (Some(node), parser.duplicates),
        Err(problem) => {
            parser.duplicates.push(*problem);
            (None, parser.duplicates)
        }
    }
}

struct Parser<'s> {
    source: &'s Source,
    at: usize,
    duplicates: Vec<Problem>,
}

type Read<T> = Result<T, Box<Problem>>;

impl Parser<'_> {
    fn file(&mut self) -> Read<Node> {
        self.blanks()?;
        let node = self.value(0)?;
        self.blanks()?;
        match self.byte() {
            None => Ok(node),
            Some(_) => Err(self.unexpected("the end of the file")),
        }
    }

    fn value(&mut self, depth: usize) -> Read<Node> {
        let start = self.at;
        if depth > MAX_DEPTH {
            return Err(self.wrong(
                start..start,
                format!("values are nested deeper than {MAX_DEPTH} levels"),
            ));
        }
        let value = match self.byte() {
            Some(b'{') => self.map(depth)?,
            Some(b'[') => self.list(depth)?,
            Some(b'"') => Value::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b'a'..=b'z' | b'A'..=b'Z') => self.word()?,
            Some(_) | None => return Err(self.unexpected("a value")),
        };
        Ok(Node {
            span: start..self.at,
            value,
        })
    }

    fn map(&mut self, depth: usize) -> Read<Value> {
        let start = self.at;
        self.at += 1;
        let mut members = Members::default();
        loop {
            self.blanks()?;
            match self.byte() {
                Some(b'}') => break,
                Some(b'"') => {}
                None => return Err(self.unclosed(start, "`{`")),
                Some(_) => return Err(self.unexpected("a key in double quotes or `}`")),
            }
            let key_start = self.at;
            let key = self.string()?;
            let key_span = key_start..self.at;
            self.blanks()?;
            if self.byte() != Some(b':') {
                return Err(self.unexpected("`:` after the key"));
            }
            self.at += 1;
            self.blanks()?;
            let node = self.value(depth + 1)?;
            members.add(self.source, Member { key, key_span, node }, &mut self.duplicates);
            self.blanks()?;
            match self.byte() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                None => return Err(self.unclosed(start, "`{`")),
                Some(_) => return Err(self.unexpected("`,` or `}`")),
            }
        }
        self.at += 1;
        Ok(members.into_value())
    }

    fn list(&mut self, depth: usize) -> Read<Value> {
        let start = self.at;
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.blanks()?;
            match self.byte() {
                Some(b']') => break,
                None => return Err(self.unclosed(start, "`[`")),
                Some(_) => items.push(self.value(depth + 1)?),
            }
            self.blanks()?;
            match self.byte() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                None => return Err(self.unclosed(start, "`[`")),
                Some(_) => return Err(self.unexpected("`,` or `]`")),
            }
        }
        self.at += 1;
        Ok(Value::List(items))
    }

    fn word(&mut self) -> Read<Value> {
        let start = self.at;
        self.skip(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        match self.since(start) {
            "true" => Ok(Value::Boolean(true)),
            "false" => Ok(Value::Boolean(false)),
            "null" => Ok(Value::Null),
            _ => Err(self.wrong(start..self.at, "expected a value; text stands in double quotes")),
        }
    }

    fn number(&mut self) -> Read<Value> {
        let start = self.at;
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        let whole = self.at;
        let mut good = self.digits();
        let token = self.since(whole);
        good &= token.len() == 1 || !token.starts_with('0');
        if self.byte() == Some(b'.') {
            self.at += 1;
            good &= self.digits();
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.byte(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            good &= self.digits();
        }
        let tail = self.at;
        self.skip(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'+' | b'-'));
        if good && tail == self.at {
            Ok(Value::Number(self.since(start).to_owned()))
        } else {
            Err(self.wrong(start..self.at, "malformed number"))
        }
    }

    /// Skips digits; whether there was one.
    fn digits(&mut self) -> bool {
        let start = self.at;
        self.skip(|byte| byte.is_ascii_digit());
        self.at > start
    }

    /// Skips blanks and comments.
    fn blanks(&mut self) -> Read<()> {
        loop {
            self.skip(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
            let rest = self.rest();
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                match rest.get(2..).and_then(|body| body.find("*/")) {
                    Some(end) => self.at += end + 4,
                    None => return Err(self.unclosed(self.at, "comment `/*`")),
                }
            } else {
                return Ok(());
            }
        }
    }

    fn skip(&mut self, wanted: impl Fn(u8) -> bool) {
        self.at += self.rest().bytes().take_while(|byte| wanted(*byte)).count();
    }

    fn byte(&self) -> Option<u8> {
        self.source.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &str {
        self.source.text.get(self.at..).unwrap_or_default()
    }

    fn since(&self, start: usize) -> &str {
        self.source.text.get(start..self.at).unwrap_or_default()
    }

    fn wrong(&self, span: Range<usize>, what: impl Into<String>) -> Box<Problem> {
        Box::new(self.source.problem(span, what))
    }

    fn unexpected(&self, wanted: &str) -> Box<Problem> {
        match self.rest().chars().next() {
            None => self.wrong(
                self.at..self.at,
                format!("expected {wanted}, found the end of the file"),
            ),
            Some('\'') => self.wrong(
                self.at..self.at + 1,
                format!("expected {wanted}, found `'`; text stands in double quotes"),
            ),
            Some(found) => {
                let span = self.at..self.at + found.len_utf8();
                self.wrong(span, format!("expected {wanted}, found `{}`", found.escape_debug()))
            }
        }
    }

    fn unclosed(&self, start: usize, what: &str) -> Box<Problem> {
        self.wrong(start..start + 1, format!("this {what} is never closed"))
    }
}
