//! The token endpoint: what is asked of it, and what it gives or refuses (RFC 6749, 5).

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign_core::secret::Secret;
use countersign_fetch::{Document, Fetcher, Post, Trust, form};
use http::HeaderValue;
use serde_json::{Map, Value};

use super::challenge::scopes;
use super::client::{Client, Method};

/// A token as it is sent: one header.
#[derive(Debug)]
pub(crate) struct Token {
    /// `Bearer …`
    pub(crate) header: HeaderValue,
    /// Tells one token of a grant from the next.
    pub(crate) number: u64,
    /// From when on it should be renewed before it is used.
    pub(crate) due: Option<Instant>,
    /// When it ends, by our clock.
    pub(crate) ends: Option<Instant>,
    /// Whether its server has ever taken it.
    pub(crate) accepted: AtomicBool,
}

impl Token {
    /// A token that is good for as long as its server said; `None` when it can be in no header.
    pub(crate) fn new(text: &Secret, number: u64, left: Option<Duration>) -> Option<Self> {
        let mut header = HeaderValue::from_str(&format!("Bearer {}", text.reveal())).ok()?;
        header.set_sensitive(true);
        let now = Instant::now();
        let due = left.and_then(|left| now.checked_add(left.saturating_sub(margin(left))));
        Some(Self {
            header,
            number,
            due,
            ends: left.and_then(|left| now.checked_add(left)),
            accepted: AtomicBool::new(false),
        })
    }

    /// Its server has taken it.
    pub(crate) fn accept(&self) {
        self.accepted.store(true, Ordering::Relaxed);
    }

    /// Whether it came of a renewal and was never taken: another renewal would bring no better one.
    pub(crate) fn is_useless(&self) -> bool {
        self.number > 1 && !self.accepted.load(Ordering::Relaxed)
    }

    /// Whether it should be renewed before it is used.
    pub(crate) fn is_due(&self) -> bool {
        self.due.is_some_and(|due| Instant::now() >= due)
    }

    /// Whether it has ended by our clock.
    pub(crate) fn has_ended(&self) -> bool {
        self.ends.is_some_and(|ends| Instant::now() >= ends)
    }
}

/// How long before its end a token is renewed: half a minute, or less of a token that lives for minutes.
fn margin(left: Duration) -> Duration {
    (left / 10).min(Duration::from_secs(30))
}

/// What a token endpoint gave. Nothing of it has been checked.
#[derive(Debug)]
pub(crate) struct Issued {
    /// `access_token`
    pub(crate) access: Option<Secret>,
    /// `refresh_token`
    pub(crate) refresh: Option<Secret>,
    /// `expires_in`
    pub(crate) lifetime: Option<Duration>,
    /// `scope`
    pub(crate) scopes: Option<Vec<String>>,
    /// `token_type`
    kind: Option<String>,
}

impl Issued {
    fn of(object: &Map<String, Value>) -> Self {
        let text = |name: &str| object.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let secret = |name: &str| text(name).map(Secret::hidden);
        // Some write the number as a text, some with a fraction.
        let seconds = object.get("expires_in").and_then(|value| match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.parse().ok(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        });
        Self {
            access: secret("access_token"),
            refresh: secret("refresh_token"),
            lifetime: seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            scopes: text("scope").map(scopes),
            kind: text("token_type").map(str::to_owned),
        }
    }

    /// The access token, if it is one that can be used.
    ///
    /// # Errors
    /// What is wrong with the answer.
    pub(crate) fn usable(&self) -> Result<&Secret, String> {
        let access = self
            .access
            .as_ref()
            .ok_or("its authorization server gave no `access_token`")?;
        match &self.kind {
            Some(kind) if !kind.eq_ignore_ascii_case("bearer") && !kind.eq_ignore_ascii_case("n_a") => {
                Err("its authorization server gives tokens of a type other than `Bearer`".to_owned())
            }
            // Some leave it out, though RFC 6749 requires it.
            Some(_) | None => Ok(access),
        }
    }
}

/// Why a token endpoint gave nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It says no: what was presented is good no longer. The text is its error code.
    Final(String),
    /// It could not be asked, or could not answer; it may later.
    Later(String),
}

impl Refusal {
    /// Why, for a person.
    pub(crate) fn reason(self) -> String {
        match self {
            Self::Final(code) => format!("its authorization server refuses: {code}"),
            Self::Later(reason) => reason,
        }
    }
}

/// Where tokens are asked for, and as whom.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Desk<'a> {
    pub(crate) fetcher: &'a Fetcher,
    pub(crate) trust: &'a Trust,
    pub(crate) endpoint: &'a str,
    pub(crate) client: &'a Client,
}

impl Desk<'_> {
    /// Asks for a token.
    ///
    /// # Errors
    /// [`Refusal`]
    pub(crate) async fn ask(self, fields: &[(&str, &str)]) -> Result<Issued, Refusal> {
        let document = self.post(fields).await?;
        answer(&document)
    }

    /// Posts fields, and with them what shows who the client is (RFC 6749, 2.3.1).
    pub(crate) async fn post(self, fields: &[(&str, &str)]) -> Result<Document, Refusal> {
        let mut fields = fields.to_vec();
        let id = self.client.id.reveal();
        let secret = self.client.secret.as_ref().map_or("", Secret::reveal);
        let mut authorization = None;
        match self.client.method {
            Method::Basic => {
                // The form encoding of one value is the part after the name.
                let encoded = |text: &str| form(&[("", text)]).split_off(1);
                let pair = STANDARD.encode(format!("{}:{}", encoded(id), encoded(secret)));
                authorization = Some(Secret::hidden(format!("Basic {pair}")));
            }
            Method::Post => fields.extend([("client_id", id), ("client_secret", secret)]),
            Method::None => fields.push(("client_id", id)),
            Method::Nobody => {}
        }
        let posted = self
            .fetcher
            .post(self.endpoint, Post::Form(&fields), authorization.as_ref(), self.trust);
        posted.await.map_err(|error| Refusal::Later(error.to_string()))
    }
}

fn answer(document: &Document) -> Result<Issued, Refusal> {
    let object: Option<Map<String, Value>> = serde_json::from_slice(&document.body).ok();
    let status = document.status;
    if status.is_success() {
        let unreadable = || Refusal::Later("its authorization server's answer is no JSON object".to_owned());
        let object = object.ok_or_else(unreadable)?;
        // Some say no with a good status.
        if object.contains_key("access_token") || !object.contains_key("error") {
            return Ok(Issued::of(&object));
        }
        return Err(Refusal::Final(error_code(&object)));
    }
    match object {
        Some(object) if status.is_client_error() && object.contains_key("error") => {
            let code = error_code(&object);
            let passing = ["temporarily_unavailable", "server_error", "slow_down"].contains(&code.as_str());
            if passing || status == http::StatusCode::TOO_MANY_REQUESTS {
                Err(Refusal::Later(format!("its authorization server is busy: {code}")))
            } else {
                Err(Refusal::Final(code))
            }
        }
        Some(_) | None => Err(Refusal::Later(format!(
            "its authorization server answered HTTP {}",
            status.as_u16()
        ))),
    }
}

/// The error code, as far as it is one: it is shown to people.
fn error_code(object: &Map<String, Value>) -> String {
    object
        .get("error")
        .and_then(Value::as_str)
        .map_or_else(|| "an error without a code".to_owned(), code)
}

/// A code that somebody else wrote, fit to be shown.
pub(crate) fn code(text: &str) -> String {
    let is_code = !text.is_empty()
        && text.len() <= 64
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    if is_code {
        text.to_owned()
    } else {
        "an error without a code".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(status: u16, body: &str) -> Document {
        Document {
            status: http::StatusCode::from_u16(status).unwrap(),
            headers: http::HeaderMap::new(),
            body: body.to_owned().into(),
        }
    }

    #[test]
    fn answers_of_token_endpoints_are_read() {
        let issued = answer(&document(
            200,
            r#"{"access_token":"a","token_type":"bearer","expires_in":"3600","refresh_token":"r","scope":"x y","id_token":"bad"}"#,
        ))
        .unwrap();
        assert_eq!(issued.usable().unwrap().reveal(), "a");
        assert_eq!(issued.refresh.unwrap().reveal(), "r");
        assert_eq!(issued.lifetime, Some(Duration::from_secs(3600)));
        assert_eq!(issued.scopes.unwrap(), ["x", "y"]);
        for (status, body, refusal) in [
            (
                400,
                r#"{"error":"invalid_grant","error_description":"x"}"#,
                Refusal::Final("invalid_grant".into()),
            ),
            (
                401,
                r#"{"error":"invalid_client"}"#,
                Refusal::Final("invalid_client".into()),
            ),
            (
                200,
                r#"{"error":"bad_refresh_token"}"#,
                Refusal::Final("bad_refresh_token".into()),
            ),
            (
                400,
                r#"{"error":"<script>"}"#,
                Refusal::Final("an error without a code".into()),
            ),
            (
                400,
                r#"{"error":"temporarily_unavailable"}"#,
                Refusal::Later("its authorization server is busy: temporarily_unavailable".into()),
            ),
            (
                503,
                "",
                Refusal::Later("its authorization server answered HTTP 503".into()),
            ),
            (
                400,
                "no",
                Refusal::Later("its authorization server answered HTTP 400".into()),
            ),
        ] {
            assert_eq!(answer(&document(status, body)).unwrap_err(), refusal, "{status} {body}");
        }
        let half = answer(&document(200, r#"{"refresh_token":"r"}"#)).unwrap();
        assert!(half.usable().is_err() && half.refresh.is_some());
        let other = answer(&document(200, r#"{"access_token":"a","token_type":"mac"}"#)).unwrap();
        assert!(other.usable().is_err());
    }

    #[test]
    fn a_token_is_due_before_it_ends() {
        let token = |left| Token::new(&Secret::hidden("a"), 1, left).unwrap();
        assert!(!token(None).is_due() && !token(None).has_ended());
        assert!(token(Some(Duration::ZERO)).is_due() && token(Some(Duration::ZERO)).has_ended());
        let hour = token(Some(Duration::from_secs(3600)));
        assert!(!hour.is_due());
        assert_eq!(hour.ends.unwrap() - hour.due.unwrap(), Duration::from_secs(30));
        assert!(Token::new(&Secret::hidden("a\nb"), 1, None).is_none());
        assert!(!format!("{:?}", token(None)).contains("Bearer"));
    }
}
