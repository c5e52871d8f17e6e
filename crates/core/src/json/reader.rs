//! The tree of canonical text. The text was read strictly before, so nothing is checked twice.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Json, Number};
use crate::exact::escapes::decode;

/// The tree of canonical text.
pub(super) fn read(text: &str) -> Json {
    Reader { text, at: 0 }.value()
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    /// INVARIANT: `Exact` bounds the depth of its text, which bounds the recursion.
    fn value(&mut self) -> Json {
        match self.peek() {
            Some(b'{') => self.object(),
            Some(b'[') => self.array(),
            Some(b'"') => Json::Text(self.string()),
            Some(b't') => self.word(4, Json::Bool(true)),
            Some(b'f') => self.word(5, Json::Bool(false)),
            Some(b'n') | None => self.word(4, Json::Null),
            Some(_) => {
                let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
                let length = rest.iter().position(|byte| matches!(byte, b',' | b']' | b'}'));
                let end = self.at + length.unwrap_or(rest.len());
                let token = self.text.get(self.at..end).unwrap_or_default();
                self.at = end;
                Json::Number(Number(token.into()))
            }
        }
    }

    fn object(&mut self) -> Json {
        let mut members = BTreeMap::new();
        self.at += 1;
        while !self.ends(b'}') {
            let name = self.string();
            // The colon.
            self.at += 1;
            members.insert(name, self.value());
        }
        Json::Map(Arc::new(members))
    }

    fn array(&mut self) -> Json {
        let mut items = Vec::new();
        self.at += 1;
        while !self.ends(b']') {
            items.push(self.value());
        }
        Json::List(items.into())
    }

    /// Whether the object or array ends here; passes a comma otherwise.
    fn ends(&mut self, closing: u8) -> bool {
        match self.peek() {
            Some(byte) if byte == closing => {
                self.at += 1;
                true
            }
            Some(b',') => {
                self.at += 1;
                false
            }
            Some(_) => false,
            None => true,
        }
    }

    fn string(&mut self) -> Arc<str> {
        let start = self.at + 1;
        let mut end = start;
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(end).filter(|byte| **byte != b'"') {
            end += if *byte == b'\\' { 2 } else { 1 };
        }
        self.at = end + 1;
        let inside = self.text.get(start..end).unwrap_or_default();
        if inside.contains('\\') {
            decode(inside).collect::<String>().into()
        } else {
            inside.into()
        }
    }

    fn word(&mut self, length: usize, value: Json) -> Json {
        self.at += length;
        value
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}
