//! What a refusal asks for: the `Bearer` challenge of a `WWW-Authenticate` header (RFC 6750, RFC 9728).

use std::time::Duration;

use countersign_core::server::Transport;
use countersign_wire::rpc;
use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, StatusCode};

use super::site::Site;
use crate::http::{Link, Way};

/// A server's challenge, as far as it is used here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// Where the server's own metadata is.
    pub(crate) resource_metadata: Option<String>,
    /// The scopes that the request needed.
    pub(crate) scopes: Vec<String>,
    /// The error code.
    pub(crate) error: Option<String>,
}

/// How many parameters of one header are looked at.
const PARAMETERS: usize = 64;

/// How long a server may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks a server without a credential, to hear what it wants. A ping does nothing, should it be answered.
pub(crate) async fn challenge(way: Way<'_>, site: &Site) -> Option<Challenge> {
    let (Transport::Http { url, headers } | Transport::Sse { url, headers }) = &site.entry.transport else {
        return None;
    };
    let link = Link::new(way, url, headers, None).ok()?;
    let asked = async {
        match &site.entry.transport {
            Transport::Sse { .. } => link.get(None, None).await,
            Transport::Http { .. } | Transport::Stdio { .. } => {
                link.post(link.headers(None), rpc::request("0", "ping", None)).await
            }
        }
    };
    let response = tokio::time::timeout(PATIENCE, asked).await.ok()?.ok()?;
    let refused = response.status() == StatusCode::UNAUTHORIZED;
    refused.then(|| Challenge::of(response.headers())).flatten()
}

impl Challenge {
    /// The first `Bearer` challenge of an answer.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let values = headers.get_all(WWW_AUTHENTICATE).iter();
        values.filter_map(|value| value.to_str().ok()).find_map(Self::parse)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut found: Option<Self> = None;
        let mut bearer = false;
        let mut rest = text;
        for _ in 0..PARAMETERS {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            let (word, after) = token(rest);
            if word.is_empty() {
                break;
            }
            let Some(value) = after.trim_start().strip_prefix('=') else {
                // A word without a value begins the next challenge.
                if found.is_some() {
                    break;
                }
                bearer = word.eq_ignore_ascii_case("bearer");
                if bearer {
                    found = Some(Self::default());
                }
                rest = after;
                continue;
            };
            let (value, after) = value_of(value.trim_start());
            if bearer && let Some(challenge) = &mut found {
                challenge.take(word, value);
            }
            rest = after;
        }
        found
    }

    fn take(&mut self, name: &str, value: String) {
        match name.to_ascii_lowercase().as_str() {
            "resource_metadata" => self.resource_metadata = Some(value),
            "scope" => self.scopes = scopes(&value),
            "error" => self.error = Some(value),
            _ => {}
        }
    }

    /// Whether the token was good and its scopes were not (RFC 6750, 3.1).
    pub(crate) fn lacks_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }
}

/// Scopes out of a list with blanks between, as far as each is one (RFC 6749, appendix A.4).
pub(crate) fn scopes(text: &str) -> Vec<String> {
    let is_scope = |word: &&str| {
        word.bytes()
            .all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e))
    };
    let mut scopes: Vec<String> = Vec::new();
    for word in text.split([' ', '\t']).filter(|word| !word.is_empty()).filter(is_scope) {
        if !scopes.iter().any(|scope| scope == word) {
            scopes.push(word.to_owned());
        }
    }
    scopes
}

fn token(text: &str) -> (&str, &str) {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~/".contains(c);
    let end = text.find(|c| !is_token(c)).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

fn value_of(text: &str) -> (String, &str) {
    let Some(mut rest) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        let (value, after) = text.split_at_checked(end).unwrap_or((text, ""));
        return (value.to_owned(), after);
    };
    let mut value = String::new();
    loop {
        let mut chars = rest.chars();
        match chars.next() {
            None => return (value, ""),
            Some('"') => return (value, chars.as_str()),
            Some('\\') => value.extend(chars.next()),
            Some(other) => value.push(other),
        }
        rest = chars.as_str();
    }
}

#[cfg(test)]
mod tests {
    use super::{Challenge, scopes};

    fn parsed(text: &str) -> Option<(Option<String>, Vec<String>, Option<String>)> {
        Challenge::parse(text).map(|c| (c.resource_metadata, c.scopes, c.error))
    }

    #[test]
    fn challenges_are_read_however_they_are_written() {
        let (some, none) = (|text: &str| Some(text.to_owned()), None::<String>);
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for (text, read) in [
            (r#"Bearer"#, Some((none.clone(), vec![], none.clone()))),
            (
                r#"Bearer resource_metadata="https://a/x?y=1,2", scope="a b a", error="invalid_token""#,
                Some((some("https://a/x?y=1,2"), words("a b"), some("invalid_token"))),
            ),
            (
                r#"bearer realm="x, y" , Error = insufficient_scope,scope=c"#,
                Some((none.clone(), words("c"), some("insufficient_scope"))),
            ),
            (
                r#"Basic realm="Bearer", Bearer scope="a""#,
                Some((none.clone(), words("a"), none.clone())),
            ),
            (
                r#"Bearer scope="a", DPoP algs="ES256", scope="evil""#,
                Some((none.clone(), words("a"), none.clone())),
            ),
            (r#"Bearer scope="a\"b""#, Some((none.clone(), vec![], none))),
            (
                r#"Bearer resource_metadata="unclosed"#,
                Some((some("unclosed"), vec![], None)),
            ),
            ("Negotiate", None),
            ("", None),
            (",,, = ,", None),
        ] {
            assert_eq!(parsed(text), read, "{text}");
        }
        assert_eq!(scopes(" a  b\ta "), ["a", "b"]);
    }
}
