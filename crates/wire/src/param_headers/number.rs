//! Equality of two JSON number tokens as numbers, exactly: no doubles, so that big integers stay apart.

/// Whether both are numbers of one value; `1`, `1.0` and `10e-1` are.
pub(super) fn equal(one: &str, other: &str) -> bool {
    match (normal(one), normal(other)) {
        (Some(one), Some(other)) => one == other,
        (_, _) => false,
    }
}

/// Sign, digits without zeros at either end, and the power of ten of the last digit.
#[derive(PartialEq, Eq)]
struct Normal {
    negative: bool,
    digits: String,
    exponent: i64,
}

fn normal(token: &str) -> Option<Normal> {
    let is_number = token.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    if !is_number || crate::scan::check(token).is_err() {
        return None;
    }
    let (negative, rest) = token.strip_prefix('-').map_or((false, token), |rest| (true, rest));
    let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = [whole, fraction].concat();
    let digits = all.trim_start_matches('0').trim_end_matches('0');
    if digits.is_empty() {
        return Some(Normal {
            negative: false,
            digits: String::new(),
            exponent: 0,
        });
    }
    let zeros = all.len().checked_sub(all.trim_end_matches('0').len())?;
    let exponent: i64 = exponent.trim_end().parse().ok()?;
    let exponent = exponent
        .checked_add(i64::try_from(zeros).ok()?)?
        .checked_sub(i64::try_from(fraction.len()).ok()?)?;
    Some(Normal {
        negative,
        digits: digits.to_owned(),
        exponent,
    })
}
