//! The members of an object whose text was checked before, found without reading their insides again.

use std::iter;

use serde::de::value::{BorrowedStrDeserializer, Error, MapDeserializer};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::value::RawValue;

use crate::outline::Member;
use crate::scan::{name_of, plain};

/// The members of an object, in order; `None` when the text is no object. The text must have been
/// read as JSON: of another one the answer means nothing.
pub(crate) fn members(text: &str) -> Option<Vec<Member<'_>>> {
    let mut skimmer = Skimmer { text, at: 0 };
    skimmer.blanks();
    skimmer.take(b'{')?;
    let mut members = Vec::with_capacity(8);
    loop {
        skimmer.blanks();
        let start = skimmer.at;
        match skimmer.peek()? {
            b'"' => {}
            b'}' => return Some(members),
            _ => {
                skimmer.at += 1;
                continue;
            }
        }
        let escaped = skimmer.string();
        let name = name_of(text.get(start..skimmer.at)?, escaped)?;
        skimmer.blanks();
        skimmer.take(b':')?;
        skimmer.blanks();
        let start = skimmer.at;
        skimmer.value()?;
        members.push((name, raw(text.get(start..skimmer.at)?)?));
    }
}

struct Skimmer<'a> {
    text: &'a str,
    at: usize,
}

impl Skimmer<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        let taken = (self.peek()? == byte).then_some(());
        self.at += 1;
        taken
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Passes a string; true when it holds escapes.
    fn string(&mut self) -> bool {
        self.at += 1;
        let mut escaped = false;
        loop {
            self.at += plain(self.text.as_bytes().get(self.at..).unwrap_or_default());
            match self.peek() {
                Some(b'\\') => {
                    escaped = true;
                    self.at += 2;
                }
                Some(_) => {
                    self.at += 1;
                    return escaped;
                }
                None => return escaped,
            }
        }
    }

    fn value(&mut self) -> Option<()> {
        match self.peek()? {
            b'"' => {
                self.string();
            }
            b'{' | b'[' => self.nested()?,
            _ => {
                while !matches!(self.peek()?, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r') {
                    self.at += 1;
                }
            }
        }
        Some(())
    }

    fn nested(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'"' => {
                    self.string();
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Some(());
            }
        }
    }
}

/// A checked text as a raw value. `serde_json` makes one of what a deserializer hands to it under the name
/// that it asks for, and only its own deserializer reads the text first.
pub(crate) fn raw(text: &str) -> Option<&RawValue> {
    <&RawValue>::deserialize(Checked(text)).ok()
}

struct Checked<'de>(&'de str);

impl<'de> Deserializer<'de> for Checked<'de> {
    type Error = Error;

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Error> {
        let text = BorrowedStrDeserializer::new(self.0);
        visitor.visit_map(MapDeserializer::new(iter::once((name, text))))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Error> {
        Err(de::Error::custom("only raw values are made of checked texts"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests;
