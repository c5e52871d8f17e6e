//! Strings of JSON: escapes, surrogate pairs, and nothing that has two readings.

use super::{Parser, Read};

impl Parser<'_> {
    /// Reads the string that begins at the cursor.
    pub(super) fn string(&mut self) -> Read<String> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            let run = self.at;
            self.skip(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\');
            text.push_str(self.since(run));
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => text.push(self.escape()?),
                Some(b'\n' | b'\r') => {
                    return Err(self.wrong(start..self.at, "this string is not closed on its line"));
                }
                Some(_) => {
                    let what = "a control character stands in a string; write it as an escape such as `\\t`";
                    return Err(self.wrong(self.at..self.at + 1, what));
                }
                None => return Err(self.wrong(start..self.at, "this string is never closed")),
            }
        }
    }

    fn escape(&mut self) -> Read<char> {
        let start = self.at;
        self.at += 1;
        let letter = self.byte();
        self.at += 1;
        match letter {
            Some(b'"') => Ok('"'),
            Some(b'\\') => Ok('\\'),
            Some(b'/') => Ok('/'),
            Some(b'b') => Ok('\u{8}'),
            Some(b'f') => Ok('\u{c}'),
            Some(b'n') => Ok('\n'),
            Some(b'r') => Ok('\r'),
            Some(b't') => Ok('\t'),
            Some(b'u') => self.unicode(start),
            Some(_) | None => {
                self.at -= 1;
                Err(self.wrong(
                    start..self.at,
                    "unknown escape in a string; write `\\\\` for a backslash",
                ))
            }
        }
    }

    /// The character of `\uXXXX`, or of two of them that are a surrogate pair.
    fn unicode(&mut self, start: usize) -> Read<char> {
        let first = self.four_digits(start)?;
        let code = if (0xD800..0xDC00).contains(&first) && self.rest().starts_with("\\u") {
            self.at += 2;
            let second = self.four_digits(start)?;
            if !(0xDC00..0xE000).contains(&second) {
                return Err(self.lone_surrogate(start));
            }
            0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00)
        } else {
            first
        };
        char::from_u32(code).ok_or_else(|| self.lone_surrogate(start))
    }

    fn four_digits(&mut self, start: usize) -> Read<u32> {
        let digits = self.source.text.get(self.at..self.at + 4).unwrap_or_default();
        match u32::from_str_radix(digits, 16) {
            Ok(code) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                self.at += 4;
                Ok(code)
            }
            Ok(_) | Err(_) => Err(self.wrong(start..self.at, "`\\u` needs four hexadecimal digits")),
        }
    }

    fn lone_surrogate(&self, start: usize) -> Box<crate::problem::Problem> {
        self.wrong(start..self.at, "half of a surrogate pair stands in a string")
    }
}
