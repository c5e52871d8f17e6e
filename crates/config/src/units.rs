//! Sizes such as `10MiB` and durations such as `90s` or `1h30m`.

use std::time::Duration;

/// Bytes of `10MiB`, `512KiB`, `1GB` or `4096B`.
pub(crate) fn size(text: &str) -> Option<usize> {
    let (number, unit) = number_and_rest(text)?;
    let factor: u64 = match unit {
        "B" => 1,
        "KB" | "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    usize::try_from(number.checked_mul(factor)?).ok()
}

/// A duration: numbers with the units `d`, `h`, `m`, `s`, `ms`, from large to small, each once.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total: u64 = 0;
    let mut smaller_than = u64::MAX;
    while !rest.is_empty() {
        let (number, tail) = number_and_rest(rest)?;
        let unit_length = tail.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (unit, tail) = tail.split_at_checked(unit_length)?;
        let milliseconds = match unit {
            "d" => 86_400_000,
            "h" => 3_600_000,
            "m" => 60_000,
            "s" => 1_000,
            "ms" => 1,
            _ => return None,
        };
        if milliseconds >= smaller_than {
            return None;
        }
        smaller_than = milliseconds;
        total = total.checked_add(number.checked_mul(milliseconds)?)?;
        rest = tail;
    }
    (!text.is_empty()).then_some(Duration::from_millis(total))
}

fn number_and_rest(text: &str) -> Option<(u64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at_checked(digits)?;
    Some((number.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::{duration, size};

    #[test]
    fn sizes_need_a_known_unit_and_fit() {
        for (text, bytes) in [
            ("10MiB", Some(10 << 20)),
            ("100KiB", Some(100 << 10)),
            ("1GB", Some(1_000_000_000)),
            ("7B", Some(7)),
            ("10", None),
            ("10Mi", None),
            ("10 MiB", None),
            ("-1MiB", None),
            ("1.5MiB", None),
            ("MiB", None),
            ("", None),
            ("99999999999999999999GiB", None),
            ("99999999999GiB", None),
        ] {
            assert_eq!(size(text), bytes, "{text}");
        }
    }

    #[test]
    fn durations_go_from_large_to_small() {
        for (text, milliseconds) in [
            ("120s", Some(120_000)),
            ("10m", Some(600_000)),
            ("1h30m", Some(5_400_000)),
            ("1d", Some(86_400_000)),
            ("250ms", Some(250)),
            ("1s500ms", Some(1_500)),
            ("0s", Some(0)),
            ("30m1h", None),
            ("1s1s", None),
            ("120", None),
            ("1.5s", None),
            ("s", None),
            ("", None),
            ("1 s", None),
            ("5min", None),
            ("99999999999999999d", None),
        ] {
            assert_eq!(duration(text).map(|found| found.as_millis()), milliseconds, "{text}");
        }
    }
}
