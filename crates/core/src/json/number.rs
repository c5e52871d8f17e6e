//! Tokens of numbers: JSON's grammar, and equality that no rounding touches.

/// Whether a text is a number of JSON.
pub(super) fn is_token(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    are_digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(are_digits)
        && exponent.is_none_or(|exponent| are_digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)))
}

/// Whether two tokens stand for the same number.
pub(super) fn is_same(left: &str, right: &str) -> bool {
    match (parts(left), parts(right)) {
        (Some(left), Some(right)) => left == right,
        (None, _) | (_, None) => false,
    }
}

/// Sign, significant digits without zeros around them, and the power of ten of the last one.
fn parts(token: &str) -> Option<(bool, String, i64)> {
    let (is_negative, text) = match token.strip_prefix('-') {
        Some(text) => (true, text),
        None => (false, token),
    };
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        // An exponent beyond these digits is a number that nobody can compare.
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok().filter(|e| e.abs() < 1 << 40)?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: String = whole.chars().chain(fraction.chars()).collect();
    let significant = digits.trim_start_matches('0');
    let trimmed = significant.trim_end_matches('0');
    if trimmed.is_empty() {
        return Some((false, String::new(), 0));
    }
    let dropped = i64::try_from(significant.len() - trimmed.len()).ok()?;
    let power = exponent + dropped - i64::try_from(fraction.len()).ok()?;
    Some((is_negative, trimmed.to_owned(), power))
}
