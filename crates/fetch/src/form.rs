//! `application/x-www-form-urlencoded`, for bodies and queries.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stays as it is: RFC 3986's unreserved characters.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Fields as `name=value&…`; a blank becomes `%20`, which forms and queries both take.
#[must_use]
pub fn form(fields: &[(&str, &str)]) -> String {
    let pairs = fields.iter().map(|(name, value)| {
        format!(
            "{}={}",
            utf8_percent_encode(name, ENCODED),
            utf8_percent_encode(value, ENCODED)
        )
    });
    pairs.collect::<Vec<_>>().join("&")
}
