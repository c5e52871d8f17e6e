//! Tokens as strangers make them, and claims at the edges of their times.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::*;

/// Signs tokens in tests.
#[derive(Debug)]
pub(crate) enum Signer {
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
}

pub(crate) fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl Signer {
    pub(crate) fn es256() -> Self {
        Self::Es256(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap())
    }

    pub(crate) fn ed_dsa() -> Self {
        Self::EdDsa(Ed25519KeyPair::generate().unwrap())
    }

    pub(crate) fn algorithm(&self) -> &'static str {
        match self {
            Self::Es256(_) => "ES256",
            Self::EdDsa(_) => "EdDSA",
        }
    }

    pub(crate) fn jwk(&self, kid: &str) -> Value {
        match self {
            Self::Es256(pair) => {
                let point = pair.public_key().as_ref();
                json!({"kty": "EC", "crv": "P-256", "kid": kid, "x": encode(&point[1..33]), "y": encode(&point[33..])})
            }
            Self::EdDsa(pair) => json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": encode(pair.public_key())}),
        }
    }

    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> String {
        self.sign_text(&header.to_string(), &claims.to_string())
    }

    pub(crate) fn sign_text(&self, header: &str, claims: &str) -> String {
        let signed = format!("{}.{}", encode(header), encode(claims));
        let signature = match self {
            Self::Es256(pair) => pair
                .sign(&SystemRandom::new(), signed.as_bytes())
                .unwrap()
                .as_ref()
                .to_vec(),
            Self::EdDsa(pair) => pair.sign(signed.as_bytes()).as_ref().to_vec(),
        };
        format!("{signed}.{}", encode(signature))
    }
}

const NOW: i64 = 1_785_240_000_000;

fn claims(value: Value) -> Claims {
    let Value::Object(map) = value else {
        panic!("{value} is no object")
    };
    Claims(map)
}

fn checked(value: Value, leeway: i64) -> Result<i64, String> {
    let expected = Expected {
        audience: "gateway",
        leeway,
        now: NOW,
    };
    claims(value).check(expected).map_err(|fault| fault.to_string())
}

#[test]
fn b074_times_are_judged_with_the_leeway_and_no_more() {
    let now = NOW / 1000;
    for (change, leeway, expected) in [
        (json!({"exp": now + 1}), 0, Ok(())),
        (json!({"exp": now}), 0, Err("the token has expired")),
        (json!({"exp": now - 59}), 60_000, Ok(())),
        (json!({"exp": now - 60}), 60_000, Err("the token has expired")),
        (json!({"exp": 1_785_240_001.5}), 0, Ok(())),
        (json!({"exp": now + 9, "iat": now + 30}), 60_000, Ok(())),
        (json!({"exp": now + 9, "iat": now + 60}), 60_000, Ok(())),
        (
            json!({"exp": now + 900, "iat": now + 61}),
            60_000,
            Err("the token is not valid yet (`iat`)"),
        ),
        (
            json!({"exp": now + 900, "nbf": now + 61}),
            60_000,
            Err("the token is not valid yet (`nbf`)"),
        ),
        (
            json!({"exp": now + 900, "nbf": now + 1}),
            0,
            Err("the token is not valid yet (`nbf`)"),
        ),
        (json!({}), 60_000, Err("the token's claim `exp` is missing")),
        (
            json!({"exp": "soon"}),
            60_000,
            Err("the token's claim `exp` is no time"),
        ),
        (json!({"exp": null}), 60_000, Err("the token's claim `exp` is no time")),
        (json!({"exp": 1e300}), 60_000, Err("the token's claim `exp` is no time")),
        (
            json!({"exp": now + 9, "nbf": "x"}),
            60_000,
            Err("the token's claim `nbf` is no time"),
        ),
    ] {
        let mut value = json!({"aud": "gateway"});
        value
            .as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        let found = checked(value.clone(), leeway).map(drop);
        assert_eq!(found, expected.map_err(str::to_owned), "{value}");
    }
}

#[test]
fn the_audience_must_be_this_gateway() {
    for (aud, is_taken) in [
        (json!("gateway"), true),
        (json!(["other", "gateway"]), true),
        (json!("gateway2"), false),
        (json!("Gateway"), false),
        (json!([]), false),
        (json!([["gateway"]]), false),
        (json!({"gateway": true}), false),
        (Value::Null, false),
    ] {
        let found = checked(json!({"aud": aud, "exp": NOW / 1000 + 9}), 0);
        assert_eq!(found.is_ok(), is_taken, "{aud}: {found:?}");
    }
}

#[test]
fn only_public_key_algorithms_are_taken_and_none_is_none() {
    let signer = Signer::es256();
    for alg in [
        "none", "None", "NONE", "HS256", "HS512", "RS1", "ES256K", "PS256", "es256", "",
    ] {
        let token = signer.sign(&json!({"alg": alg}), &json!({"iss": "x"}));
        assert_eq!(
            Token::read(&token).unwrap_err(),
            Fault::Algorithm(alg.to_owned()),
            "{alg}"
        );
    }
    let unsigned = format!("{}.{}.", encode(r#"{"alg":"none"}"#), encode("{}"));
    assert_eq!(Token::read(&unsigned).unwrap_err(), Fault::Algorithm("none".to_owned()));
    let critical = signer.sign(&json!({"alg": "ES256", "crit": ["exp"]}), &json!({}));
    assert_eq!(Token::read(&critical).unwrap_err(), Fault::Critical);
}

#[test]
fn what_has_two_readings_or_is_no_token_is_malformed() {
    let signer = Signer::es256();
    let good = signer.sign(&json!({"alg": "ES256"}), &json!({}));
    let (signed, _) = good.rsplit_once('.').unwrap();
    for text in [
        String::new(),
        "a.b".to_owned(),
        "a.b.c.d".to_owned(),
        format!("{signed}.!!"),
        format!("{good}=="),
        format!("{}.{}", good, "x"),
        signer.sign_text(r#"{"alg":"ES256","alg":"RS256"}"#, "{}"),
        signer.sign_text(r#"{"alg":"ES256"}"#, r#"{"sub":"carol","sub":"root"}"#),
        signer.sign_text(r#"{"alg":"ES256"}"#, r#"{"sub":"carol","s\u0075b":"root"}"#),
        signer.sign_text(r#"{"alg":"ES256"}"#, "[]"),
        signer.sign_text(r#"{"alg":"ES256","kid":7}"#, "{}"),
        signer.sign_text("{}", "{}"),
        format!("ey{}", "a".repeat(20_000)),
    ] {
        assert!(matches!(Token::read(&text), Err(Fault::Malformed(_))), "{text:.80}");
    }
    assert!(Token::read(&good).is_ok());
}

#[test]
fn claims_that_break_a_line_of_the_trail_are_refused() {
    let claims =
        claims(json!({"a": "x", "b": "", "c": "x\ny", "d": 7, "e": "y".repeat(257), "azp": null, "client_id": "code"}));
    assert_eq!(claims.text("a"), Ok("x"));
    for name in ["b", "c", "d", "e", "missing"] {
        assert!(claims.text(name).is_err(), "{name}");
    }
    assert_eq!(claims.first(["azp", "client_id"].into_iter()), Ok(Some("code")));
    assert_eq!(claims.first(["azp"].into_iter()), Ok(None));
    assert!(claims.first(["d", "a"].into_iter()).is_err());
}
