//! An issuer's public keys (RFC 7517), and what each of them can verify.

#[cfg(test)]
mod tests;

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

/// How many keys of one issuer are looked at.
const KEYS: usize = 100;

/// The algorithms that are taken. Those with shared secrets are none of them: the gateway holds public keys alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    /// RSA, PKCS #1 v1.5, SHA-256; keys of 2048 to 8192 bits.
    Rs256,
    /// ECDSA, P-256, SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    /// The algorithm of that name (RFC 7518, RFC 8037, RFC 9864).
    pub(super) fn parse(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "ES256" => Some(Self::Es256),
            "EdDSA" | "Ed25519" => Some(Self::EdDsa),
            _ => None,
        }
    }

    /// Its usual name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }
}

/// One public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Jwk {
    kid: Option<String>,
    material: Material,
}

/// INVARIANT: what a key can verify follows from its kind alone, so that a token cannot choose (RFC 8725 section 3.1).
#[derive(Debug, Clone, PartialEq, Eq)]
enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

#[derive(Debug, Deserialize)]
struct Document {
    keys: Vec<serde_json::Value>,
}

#[derive(Debug, Deserialize)]
struct Written {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    key_ops: Option<Vec<String>>,
    n: Option<String>,
    e: Option<String>,
    crv: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// Reads a set of keys. Keys of other kinds or for other uses are passed over.
///
/// # Errors
/// When it is no set of keys, or none of them can be used.
pub(super) fn read(text: &[u8]) -> Result<Vec<Jwk>, &'static str> {
    let document: Document = serde_json::from_slice(text).map_err(|_error| "it is no set of keys")?;
    let keys: Vec<Jwk> = document
        .keys
        .into_iter()
        .take(KEYS)
        .filter_map(|key| serde_json::from_value(key).ok().and_then(usable))
        .collect();
    if keys.is_empty() {
        return Err("none of its keys is for RS256, ES256 or EdDSA");
    }
    Ok(keys)
}

fn usable(key: Written) -> Option<Jwk> {
    let signs = key.usage.as_deref().is_none_or(|usage| usage == "sig");
    let verifies = key.key_ops.is_none_or(|ops| ops.iter().any(|op| op == "verify"));
    if !signs || !verifies {
        return None;
    }
    let bytes = |text: Option<String>| URL_SAFE_NO_PAD.decode(text?).ok();
    let material = match (key.kty.as_str(), key.crv.as_deref()) {
        ("RSA", _) => {
            let significant = |bytes: Vec<u8>| -> Vec<u8> { bytes.into_iter().skip_while(|byte| *byte == 0).collect() };
            let (n, e) = (significant(bytes(key.n)?), significant(bytes(key.e)?));
            (n.len() >= 256 && n.len() <= 1024 && !e.is_empty()).then_some(Material::Rsa { n, e })
        }
        ("EC", Some("P-256")) => {
            let (x, y) = (bytes(key.x)?, bytes(key.y)?);
            let point = [&[4_u8][..], &x, &y].concat();
            (x.len() == 32 && y.len() == 32).then_some(Material::P256(point))
        }
        ("OKP", Some("Ed25519")) => bytes(key.x).filter(|x| x.len() == 32).map(Material::Ed25519),
        _ => None,
    }?;
    let jwk = Jwk { kid: key.kid, material };
    let is_for = |alg: &str| Algorithm::parse(alg).is_some_and(|algorithm| jwk.algorithm() == algorithm);
    key.alg.as_deref().is_none_or(is_for).then_some(jwk)
}

/// The key that a token names. One that names none is taken only where there is no choice.
pub(super) fn find<'k>(keys: &'k [Jwk], kid: Option<&str>, algorithm: Algorithm) -> Option<&'k Jwk> {
    let mut fitting = keys
        .iter()
        .filter(|key| key.algorithm() == algorithm && (kid.is_none() || key.kid.as_deref() == kid));
    let first = fitting.next();
    first.filter(|_| kid.is_some() || fitting.next().is_none())
}

impl Jwk {
    fn algorithm(&self) -> Algorithm {
        match self.material {
            Material::Rsa { .. } => Algorithm::Rs256,
            Material::P256(_) => Algorithm::Es256,
            Material::Ed25519(_) => Algorithm::EdDsa,
        }
    }

    /// Whether the message was signed with this key's private half.
    pub(super) fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        if self.algorithm() != algorithm {
            return false;
        }
        match &self.material {
            Material::Rsa { n, e } => {
                let key = RsaPublicKeyComponents { n, e };
                key.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature).is_ok()
            }
            Material::P256(point) => {
                let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
                key.verify(message, signature).is_ok()
            }
            Material::Ed25519(key) => UnparsedPublicKey::new(&ED25519, key).verify(message, signature).is_ok(),
        }
    }
}
