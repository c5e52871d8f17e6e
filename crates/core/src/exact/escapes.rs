//! Minimal string escapes: written one way, and read back.

/// Writes a character of a string; says whether it needed an escape.
pub(crate) fn push(out: &mut String, character: char) -> bool {
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\0'..'\u{20}' => out.push_str(&format!("\\u{:04x}", u32::from(character))),
        plain => {
            out.push(plain);
            return false;
        }
    }
    true
}

/// The characters that a string in canonical escapes stands for.
pub(crate) fn decode(canonical: &str) -> impl Iterator<Item = char> + '_ {
    let mut rest = canonical.chars();
    std::iter::from_fn(move || {
        let character = rest.next()?;
        if character != '\\' {
            return Some(character);
        }
        match rest.next()? {
            'b' => Some('\u{8}'),
            'f' => Some('\u{c}'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'u' => {
                let code = rest
                    .by_ref()
                    .take(4)
                    .try_fold(0, |code, digit| Some(code * 16 + digit.to_digit(16)?));
                char::from_u32(code?)
            }
            quoted => Some(quoted),
        }
    })
}
