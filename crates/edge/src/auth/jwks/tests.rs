//! Keys as issuers write them, and what they can verify.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaKeyPair};
use serde_json::{Value, json};

use super::super::token::tests::{Signer, encode};
use super::*;

fn set(keys: &[Value]) -> Vec<Jwk> {
    read(json!({"keys": keys}).to_string().as_bytes()).unwrap_or_default()
}

#[test]
fn rsa_keys_verify_what_their_pair_signed_and_nothing_else() {
    let pair = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
    // RSAPublicKey in DER (RFC 8017 appendix A.1.1): two integers, the first of 2048 bits behind a zero byte.
    let der = pair.public_key().as_ref();
    let (n, e) = (&der[9..265], &der[267..]);
    let jwk = json!({"kty": "RSA", "kid": "a", "alg": "RS256", "use": "sig", "n": encode(n), "e": encode(e)});
    let keys = set(&[jwk]);
    let key = find(&keys, Some("a"), Algorithm::Rs256).unwrap();
    let sign = |encoding, message: &[u8]| {
        let mut signature = vec![0; pair.public_modulus_len()];
        pair.sign(encoding, &SystemRandom::new(), message, &mut signature)
            .unwrap();
        signature
    };
    let signature = sign(&RSA_PKCS1_SHA256, b"message");
    assert!(key.verifies(Algorithm::Rs256, b"message", &signature));
    assert!(!key.verifies(Algorithm::Rs256, b"massage", &signature));
    assert!(!key.verifies(Algorithm::Es256, b"message", &signature));
    assert!(!key.verifies(Algorithm::Rs256, b"message", &sign(&RSA_PSS_SHA256, b"message")));
    assert!(!key.verifies(Algorithm::Rs256, b"message", b""));
}

#[test]
fn a_key_is_found_by_its_id_and_by_what_it_is_for() {
    let (one, two, ed) = (Signer::es256(), Signer::es256(), Signer::ed_dsa());
    let keys = set(&[one.jwk("one"), two.jwk("two"), ed.jwk("ed")]);
    assert!(find(&keys, Some("two"), Algorithm::Es256).is_some());
    assert!(find(&keys, Some("ed"), Algorithm::EdDsa).is_some());
    assert!(
        find(&keys, Some("ed"), Algorithm::Es256).is_none(),
        "another kind of key"
    );
    assert!(find(&keys, Some("three"), Algorithm::Es256).is_none());
    assert!(find(&keys, None, Algorithm::EdDsa).is_some(), "there is only one");
    assert!(find(&keys, None, Algorithm::Es256).is_none(), "there are two");
}

#[test]
fn keys_for_other_uses_and_keys_that_are_too_small_are_passed_over() {
    let base = Signer::es256().jwk("a");
    let with = |name: &str, value: Value| {
        let mut jwk = base.clone();
        jwk[name] = value;
        jwk
    };
    assert_eq!(set(std::slice::from_ref(&base)).len(), 1);
    for jwk in [
        with("use", json!("enc")),
        with("key_ops", json!(["sign"])),
        with("alg", json!("RS256")),
        with("crv", json!("P-384")),
        with("kty", json!("RSA")),
        with("x", json!("AAAA")),
        with("kid", json!(7)),
        json!({"kty": "oct", "kid": "a", "k": "c2VjcmV0"}),
        json!({"kty": "RSA", "kid": "a", "n": encode([255_u8; 128]), "e": "AQAB"}),
        json!({"kty": "OKP", "crv": "X25519", "kid": "a", "x": encode([1_u8; 32])}),
        json!("a"),
    ] {
        assert_eq!(set(std::slice::from_ref(&jwk)), [], "{jwk}");
        assert_eq!(set(&[jwk.clone(), base.clone()]).len(), 1, "its siblings stay: {jwk}");
    }
    assert_eq!(read(b"{}"), Err("it is no set of keys"));
    assert_eq!(
        read(br#"{"keys":[]}"#),
        Err("none of its keys is for RS256, ES256 or EdDSA")
    );
}
