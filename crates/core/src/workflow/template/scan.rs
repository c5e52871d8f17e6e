//! Where expressions begin and end in a text. Braces inside of strings and of maps do not end one.

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'t> {
    /// Text that stands for itself.
    Literal(&'t str),
    /// What stands between `{{` and `}}`, without the blanks around it.
    Expression(&'t str),
}

/// What is wrong with a text, and the way out.
pub(super) type Wrong = (&'static str, Option<&'static str>);

/// The parts of a text, in order; no literal is empty.
pub(super) fn pieces(text: &str) -> Result<Vec<Piece<'_>>, Wrong> {
    let mut pieces = Vec::new();
    let mut rest = text;
    let mut trims = false;
    loop {
        let start = rest.find("{{");
        let (before, after) = match start {
            Some(start) => rest.split_at(start),
            None => (rest, ""),
        };
        if before.contains("{%") || before.contains("{#") {
            return Err((
                "it holds `{%` or `{#`, and only `{{ expressions }}` are worked out",
                Some("for the text itself write `{{ '{%' }}`"),
            ));
        }
        let (inside, trims_before) = match after.strip_prefix("{{-") {
            Some(inside) => (inside, true),
            None => (after.strip_prefix("{{").unwrap_or(after), false),
        };
        let mut literal = before;
        if trims {
            literal = literal.trim_start();
        }
        if trims_before {
            literal = literal.trim_end();
        }
        if !literal.is_empty() {
            pieces.push(Piece::Literal(literal));
        }
        if start.is_none() {
            return Ok(pieces);
        }
        let (inner, after) = expression(inside).ok_or((
            "a `{{` has no `}}`",
            Some("close the expression; for the text itself write `{{ '{{' }}`"),
        ))?;
        (trims, rest) = (inner.ends_with('-'), after);
        let inner = inner.strip_suffix('-').unwrap_or(inner).trim();
        if inner.is_empty() {
            return Err(("an expression is empty", None));
        }
        pieces.push(Piece::Expression(inner));
    }
}

/// The expression that a text begins with, and what follows its `}}`.
fn expression(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0_usize;
    let mut quote = None;
    let mut escaped = false;
    for (place, character) in text.char_indices() {
        if let Some(closing) = quote {
            if escaped {
                escaped = false;
            } else if character == '\\' {
                escaped = true;
            } else if character == closing {
                quote = None;
            }
            continue;
        }
        match character {
            '"' | '\'' => quote = Some(character),
            '{' | '[' | '(' => depth += 1,
            '}' if depth == 0 => {
                let (inner, rest) = text.split_at_checked(place)?;
                return rest.strip_prefix("}}").map(|rest| (inner, rest));
            }
            '}' | ']' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}
