//! What cannot be guessed: states, verifiers and their challenges (RFC 7636).

use aws_lc_rs::{digest, rand};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use countersign_core::secret::Secret;

/// 256 random bits as text that any address can carry.
///
/// # Errors
/// When the system gives no randomness.
pub(crate) fn token() -> Result<Secret, String> {
    let mut bytes = [0_u8; 32];
    rand::fill(&mut bytes).map_err(|_error| "the system gives no randomness".to_owned())?;
    Ok(Secret::hidden(URL_SAFE_NO_PAD.encode(bytes)))
}

/// The challenge for a verifier, method S256.
pub(crate) fn challenge(verifier: &Secret) -> String {
    URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, verifier.reveal().as_bytes()))
}

/// SHA-256, hex.
pub(crate) fn hash(text: &str) -> String {
    let digest = digest::digest(&digest::SHA256, text.as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::{Secret, challenge, token};

    #[test]
    fn the_challenge_is_the_one_of_rfc_7636() {
        let verifier = Secret::hidden("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert_eq!(challenge(&verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        let (one, two) = (token().unwrap(), token().unwrap());
        assert_eq!(one.reveal().len(), 43);
        assert_ne!(one.reveal(), two.reveal());
    }
}
