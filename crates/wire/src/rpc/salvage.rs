//! The id of a body that was refused, so that its sender gets an answer and does not wait for ever.

use crate::scan;

/// The raw id of a message that may be broken; `None` unless exactly one string or integer `id`
/// stands at the top level of an object.
pub(super) fn id(text: &str) -> Option<String> {
    let mut walker = Walker {
        bytes: text.as_bytes(),
        at: 0,
    };
    let mut found = None;
    let text_between = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    walker.take_bom();
    walker.expect(b'{')?;
    while let Some((from, to)) = walker.string() {
        let name = text_between(from, to);
        if walker.expect(b':').is_none() {
            break;
        }
        let Some((from, to)) = walker.value() else { break };
        let delimiter = walker.peek();
        // A number at the end of a cut-off text may have lost digits.
        if name_is_id(name) && matches!(delimiter, Some(b',' | b'}')) {
            if found.is_some() {
                return None;
            }
            found = Some(text_between(from, to));
        }
        if walker.expect(b',').is_none() {
            break;
        }
    }
    found.filter(|raw| is_whole_id(raw)).map(str::to_owned)
}

/// The names at the top level of an object, up to where it is broken or cut off.
pub(super) fn names(text: &str) -> Vec<String> {
    let mut walker = Walker {
        bytes: text.as_bytes(),
        at: 0,
    };
    let mut names = Vec::new();
    walker.take_bom();
    if walker.expect(b'{').is_none() {
        return names;
    }
    while let Some((from, to)) = walker.string() {
        let name = text.get(from..to).and_then(|name| serde_json::from_str(name).ok());
        if walker.expect(b':').is_none() {
            break;
        }
        names.extend(name);
        if walker.value().is_none() || walker.expect(b',').is_none() {
            break;
        }
    }
    names
}

fn name_is_id(token: &str) -> bool {
    token == r#""id""# || (token.contains('\\') && serde_json::from_str::<String>(token).is_ok_and(|name| name == "id"))
}

fn is_whole_id(raw: &str) -> bool {
    super::is_id(raw) && scan::check(raw).is_ok()
}

/// Passes over tokens without judging them.
struct Walker<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Walker<'_> {
    fn take_bom(&mut self) {
        if self.bytes.starts_with(b"\xEF\xBB\xBF") {
            self.at = 3;
        }
    }

    fn peek(&mut self) -> Option<u8> {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied()
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek() == Some(byte)).then(|| self.at += 1)
    }

    /// The place of the next token, if it is a string.
    fn string(&mut self) -> Option<(usize, usize)> {
        if self.peek() != Some(b'"') {
            return None;
        }
        let start = self.at;
        self.at += 1;
        loop {
            match self.bytes.get(self.at)? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Some((start, self.at))
    }

    /// The place of the next value: a string, a balanced array or object, or a bare word.
    fn value(&mut self) -> Option<(usize, usize)> {
        match self.peek()? {
            b'"' => self.string(),
            b'{' | b'[' => self.balanced(),
            _ => {
                let start = self.at;
                while !matches!(
                    self.bytes.get(self.at)?,
                    b',' | b'}' | b']' | b'"' | b' ' | b'\t' | b'\n' | b'\r'
                ) {
                    self.at += 1;
                }
                Some((start, self.at))
            }
        }
    }

    fn balanced(&mut self) -> Option<(usize, usize)> {
        let start = self.at;
        let mut open = 0_usize;
        loop {
            match self.bytes.get(self.at)? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => open += 1,
                b'}' | b']' => open = open.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
            if open == 0 {
                return Some((start, self.at));
            }
        }
    }
}
