//! One member taken out of an object that is canonical already, without reading it again.

use std::ops::Range;

use super::Exact;
use super::escapes::push;

impl Exact {
    /// The value of a member of the root object as canonical text, and the object without the member.
    ///
    /// What is left is canonical too: taking a member out moves no other. Nothing is parsed; the bytes
    /// up to the member's end are looked at once.
    #[must_use]
    pub fn taken(&self, key: &str) -> Option<(&str, Self)> {
        let text = self.as_str();
        let found = find(text, key)?;
        let before = text.get(..found.member.start)?;
        let after = text.get(found.member.end..)?;
        // One of the two commas around the member goes with it.
        let rest = match before.strip_suffix(',') {
            Some(before) => format!("{before}{after}"),
            None => format!("{before}{}", after.strip_prefix(',').unwrap_or(after)),
        };
        let rest = Self { text: rest.into() };
        Some((text.get(found.value)?, rest))
    }
}

struct Found {
    member: Range<usize>,
    value: Range<usize>,
}

/// Where a member of the root object stands in canonical text.
fn find(text: &str, key: &str) -> Option<Found> {
    let bytes = text.as_bytes();
    let mut wanted = String::with_capacity(key.len());
    for character in key.chars() {
        push(&mut wanted, character);
    }
    let mut at = 1;
    while bytes.first() == Some(&b'{') && bytes.get(at) == Some(&b'"') {
        let key_end = string_end(bytes, at)?;
        let value = key_end + 1;
        let end = value_end(bytes, value)?;
        if text.get(at + 1..key_end - 1) == Some(&wanted) {
            return Some(Found {
                member: at..end,
                value: value..end,
            });
        }
        at = end + 1;
    }
    None
}

/// The place behind the string that begins at a place.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The place behind the value that begins at a place.
fn value_end(bytes: &[u8], start: usize) -> Option<usize> {
    let (mut at, mut depth) = (start, 0_usize);
    loop {
        match bytes.get(at)? {
            b'"' => at = string_end(bytes, at)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' if depth > 0 => {
                depth -= 1;
                at += 1;
            }
            b'}' | b',' if depth == 0 => return Some(at),
            _ => at += 1,
        }
    }
}
