//! Records without credentials: values under telling keys are masked, at every depth (spec 4.6, I10).

use crate::json::Json;

/// What stands in place of a value that is not kept.
pub const MASK: &str = "[redacted]";

/// Parts of keys whose values are never kept, without `_`, `-` and blanks, in lower case.
const TELLING: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "authorization",
    "apikey",
    "accesskey",
    "privatekey",
    "credential",
    "cookie",
    "bearer",
    "jwt",
];

/// Keys that are telling only when they are the whole key.
const WHOLE: &[&str] = &["auth", "pwd", "pass", "pin", "otp"];

/// The value as it may be kept: whatever stands under a telling key is masked whole.
#[must_use]
pub fn redacted(value: &Json) -> Json {
    match value {
        Json::Map(members) => Json::object(members.iter().map(|(key, value)| {
            let kept = if is_telling(key) {
                Json::text(MASK)
            } else {
                redacted(value)
            };
            (key.clone(), kept)
        })),
        Json::List(items) => Json::List(items.iter().map(redacted).collect()),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => value.clone(),
    }
}

/// Whether a key says that its value is a credential.
#[must_use]
pub fn is_telling(key: &str) -> bool {
    let folded: String = key
        .chars()
        .filter(|c| !matches!(c, '_' | '-' | '.' | ' '))
        .flat_map(char::to_lowercase)
        .collect();
    WHOLE.contains(&folded.as_str()) || TELLING.iter().any(|telling| folded.contains(telling))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i10_values_under_telling_keys_are_masked_at_every_depth() {
        let value = Json::parse(
            r#"{"user":"ada","Password":"p","nested":[{"api-key":{"a":1},"X-Auth-Token":7,"keyboard":"k"}],"auth":"b","author":"c","client_secret":null}"#,
        )
        .unwrap();
        assert_eq!(
            redacted(&value).to_text(),
            r#"{"Password":"[redacted]","auth":"[redacted]","author":"c","client_secret":"[redacted]","nested":[{"X-Auth-Token":"[redacted]","api-key":"[redacted]","keyboard":"k"}],"user":"ada"}"#
        );
    }
}
