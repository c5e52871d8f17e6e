//! A signed token (RFC 7519, compact JWS): read strictly, and its signature checked against an issuer's keys.

#[cfg(test)]
pub(super) mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use countersign_core::exact::Exact;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::jwks::{Algorithm, Jwk};

/// How long a token may be, in bytes.
const LONGEST: usize = 16 * 1024;

/// Why a token is none that this gateway takes. The texts go to the trail; they show nothing of the signature.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    /// It is no token.
    #[error("the token is malformed: {0}")]
    Malformed(&'static str),
    /// Its algorithm is not taken.
    #[error("the token's `alg` is `{0}`, which is none of RS256, ES256 and EdDSA")]
    Algorithm(String),
    /// It asks for something that is not understood.
    #[error("the token's header has `crit`, and what it names is not understood")]
    Critical,
    /// Its issuer is not trusted.
    #[error("the token's issuer `{0}` is not one of `identities.yaml`")]
    Issuer(String),
    /// It was made for somebody else.
    #[error("the token is for another audience than `{0}`")]
    Audience(String),
    /// No key of its issuer has its id.
    #[error("the issuer `{issuer}` has no key `{kid}` for {algorithm}")]
    UnknownKey {
        /// The issuer.
        issuer: String,
        /// `kid`, or nothing.
        kid: String,
        /// The algorithm.
        algorithm: &'static str,
    },
    /// It was not signed with that key.
    #[error("the token's signature is wrong")]
    Signature,
    /// A claim is missing or is not what it must be.
    #[error("the token's claim `{name}` {what}")]
    Claim {
        /// The claim.
        name: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Its time is over.
    #[error("the token has expired")]
    Expired,
    /// Its time has not come.
    #[error("the token is not valid yet (`{0}`)")]
    TooEarly(&'static str),
    /// No binding is in force for its Session.
    #[error("the session `{0}` has no binding, or its binding has ended")]
    NoBinding(String),
}

#[derive(Debug, Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    crit: Option<Value>,
}

/// A token whose signature nobody has checked yet.
#[derive(Debug)]
pub(super) struct Token<'t> {
    pub(super) algorithm: Algorithm,
    pub(super) kid: Option<String>,
    pub(super) claims: Claims,
    signed: &'t str,
    signature: Vec<u8>,
}

/// The claims of a token.
#[derive(Debug)]
pub(super) struct Claims(Map<String, Value>);

/// Whether a bearer looks like a token at all; what does not is a key.
pub(super) fn looks_like_one(bearer: &str) -> bool {
    bearer.starts_with("ey") && bearer.bytes().filter(|byte| *byte == b'.').count() == 2
}

impl<'t> Token<'t> {
    /// Reads a token. Nothing of it is believed yet.
    pub(super) fn read(text: &'t str) -> Result<Self, Fault> {
        if text.len() > LONGEST {
            return Err(Fault::Malformed("it is too long"));
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(Fault::Malformed("it has no three parts"))?;
        let (header, claims) = signed
            .split_once('.')
            .ok_or(Fault::Malformed("it has no three parts"))?;
        if claims.contains('.') {
            return Err(Fault::Malformed("it has more than three parts"));
        }
        let header: Header = serde_json::from_str(object(header)?.as_str())
            .map_err(|_error| Fault::Malformed("its header has no `alg`, or a `kid` that is no text"))?;
        let algorithm = Algorithm::parse(&header.alg).ok_or_else(|| Fault::Algorithm(shown(&header.alg)))?;
        if header.crit.is_some() {
            return Err(Fault::Critical);
        }
        let claims = serde_json::from_str(object(claims)?.as_str())
            .map_err(|_error| Fault::Malformed("its claims are no object"))?;
        Ok(Self {
            algorithm,
            kid: header.kid,
            claims: Claims(claims),
            signed,
            signature: bytes(signature)?,
        })
    }

    /// Checks the signature.
    pub(super) fn verify(&self, key: &Jwk) -> Result<(), Fault> {
        if key.verifies(self.algorithm, self.signed.as_bytes(), &self.signature) {
            Ok(())
        } else {
            Err(Fault::Signature)
        }
    }
}

/// What a token must say to be taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected<'e> {
    pub(super) audience: &'e str,
    /// In milliseconds.
    pub(super) leeway: i64,
    /// The time, in milliseconds since the Unix epoch.
    pub(super) now: i64,
}

impl Claims {
    /// `iss`, as far as it is a text.
    pub(super) fn issuer(&self) -> &str {
        self.0.get("iss").and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether `aud` holds an audience.
    pub(super) fn is_for(&self, audience: &str) -> bool {
        match self.0.get("aud") {
            Some(Value::String(one)) => one == audience,
            Some(Value::Array(many)) => many.iter().any(|one| one.as_str() == Some(audience)),
            None | Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => false,
        }
    }

    /// Checks audience and times; gives when it ends, leeway included, in milliseconds since the Unix epoch.
    pub(super) fn check(&self, expected: Expected<'_>) -> Result<i64, Fault> {
        if !self.is_for(expected.audience) {
            return Err(Fault::Audience(expected.audience.to_owned()));
        }
        let ends = self.time("exp")?.ok_or_else(|| claim("exp", "is missing"))?;
        let ends = ends.saturating_add(expected.leeway);
        if expected.now >= ends {
            return Err(Fault::Expired);
        }
        for name in ["nbf", "iat"] {
            if let Some(begins) = self.time(name)?
                && begins.saturating_sub(expected.leeway) > expected.now
            {
                return Err(Fault::TooEarly(name));
            }
        }
        Ok(ends)
    }

    /// A time in milliseconds; the claim counts seconds, perhaps with a fraction (RFC 7519 section 2).
    fn time(&self, name: &'static str) -> Result<Option<i64>, Fault> {
        let Some(value) = self.0.get(name) else { return Ok(None) };
        let whole = value.as_i64().and_then(|seconds| seconds.checked_mul(1000));
        let time = whole.or_else(|| milliseconds(value.as_f64()?));
        time.map(Some).ok_or_else(|| claim(name, "is no time"))
    }

    /// A text that must be there and fit into a line of the trail.
    pub(super) fn text(&self, name: &str) -> Result<&str, Fault> {
        let text = self.0.get(name).ok_or_else(|| claim(name, "is missing"))?;
        let text = text.as_str().ok_or_else(|| claim(name, "is no text"))?;
        let fits = !text.is_empty() && text.chars().count() <= 256 && !text.chars().any(char::is_control);
        if fits {
            Ok(text)
        } else {
            Err(claim(name, "is empty, too long, or holds control characters"))
        }
    }

    /// The texts of a claim: a list of them, or one.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<&str>, Fault> {
        let no_texts = || claim(name, "is no list of texts");
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::String(one)) => Ok(vec![one]),
            Some(Value::Array(many)) => many.iter().map(|one| one.as_str().ok_or_else(no_texts)).collect(),
            Some(Value::Bool(_) | Value::Number(_) | Value::Object(_)) => Err(no_texts()),
        }
    }

    /// The first of some claims that is there.
    pub(super) fn first<'c>(&self, names: impl Iterator<Item = &'c str>) -> Result<Option<&str>, Fault> {
        for name in names {
            if self.0.get(name).is_some_and(|value| !value.is_null()) {
                return self.text(name).map(Some);
            }
        }
        Ok(None)
    }
}

fn claim(name: &str, what: &'static str) -> Fault {
    Fault::Claim {
        name: name.to_owned(),
        what,
    }
}

/// One part of a token as JSON that has one reading: two readers of doubled claims could see two callers.
fn object(part: &str) -> Result<Exact, Fault> {
    let bytes = bytes(part)?;
    let text = str::from_utf8(&bytes).map_err(|_error| Fault::Malformed("it is not UTF-8"))?;
    Exact::parse(text).map_err(|_error| Fault::Malformed("it is not JSON with one reading"))
}

fn bytes(part: &str) -> Result<Vec<u8>, Fault> {
    URL_SAFE_NO_PAD
        .decode(part)
        .map_err(|_error| Fault::Malformed("it is not base64url"))
}

#[expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "the range is checked, and a fraction of a millisecond does not matter"
)]
fn milliseconds(seconds: f64) -> Option<i64> {
    (seconds.is_finite() && seconds.abs() < 1e12).then_some((seconds * 1000.0) as i64)
}

/// At most 200 characters of a stranger's text.
pub(super) fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}
