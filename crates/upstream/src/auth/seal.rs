//! The seal over what is kept on disk: AES-256-GCM, each value bound to its place.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

/// How a sealed value begins, so that another form can come later.
const FORM: u8 = 1;

/// The key that tokens are sealed with on disk (`COUNTERSIGN_KEY`).
#[derive(Clone, PartialEq, Eq)]
pub struct VaultKey([u8; 32]);

/// Why a text is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "`COUNTERSIGN_KEY` must be 32 random bytes as base64 or as 64 hex digits, such as `openssl rand -base64 32` prints"
)]
pub struct BadKey;

impl VaultKey {
    /// A key from its text: 32 bytes as base64 or hex; blanks around it do not count.
    ///
    /// # Errors
    /// [`BadKey`], which does not show the text.
    pub fn parse(text: &str) -> Result<Self, BadKey> {
        let text = text.trim();
        if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let mut key = [0; 32];
            for (place, byte) in key.iter_mut().enumerate() {
                let digits = text.get(place * 2..place * 2 + 2).ok_or(BadKey)?;
                *byte = u8::from_str_radix(digits, 16).map_err(|_error| BadKey)?;
            }
            return Ok(Self(key));
        }
        [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD]
            .iter()
            .find_map(|alphabet| alphabet.decode(text).ok()?.try_into().ok())
            .map(Self)
            .ok_or(BadKey)
    }

    /// Seals a value for its place.
    pub(crate) fn seal(&self, place: &str, value: &str) -> Option<Vec<u8>> {
        let key = RandomizedNonceKey::new(&AES_256_GCM, &self.0).ok()?;
        let mut body = value.as_bytes().to_vec();
        let nonce = key
            .seal_in_place_append_tag(Aad::from(place.as_bytes()), &mut body)
            .ok()?;
        let mut sealed = vec![FORM];
        sealed.extend_from_slice(nonce.as_ref());
        sealed.extend_from_slice(&body);
        Some(sealed)
    }

    /// Opens what was sealed for a place; `None` for another key, another place, or anything else.
    pub(crate) fn open(&self, place: &str, sealed: &[u8]) -> Option<String> {
        let (form, rest) = sealed.split_first()?;
        let (nonce, body) = rest.split_at_checked(NONCE_LEN)?;
        if *form != FORM {
            return None;
        }
        let key = RandomizedNonceKey::new(&AES_256_GCM, &self.0).ok()?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut body = body.to_vec();
        let plain = key.open_in_place(nonce, Aad::from(place.as_bytes()), &mut body).ok()?;
        String::from_utf8(plain.to_vec()).ok()
    }
}

impl fmt::Debug for VaultKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

#[cfg(test)]
mod tests {
    use super::{BadKey, VaultKey};

    #[test]
    fn a_key_is_read_from_base64_and_hex() {
        let hex = "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF";
        let key = VaultKey::parse(hex).unwrap();
        for text in [
            "ABEiM0RVZneImaq7zN3u/wARIjNEVWZ3iJmqu8zd7v8=",
            "  ABEiM0RVZneImaq7zN3u/wARIjNEVWZ3iJmqu8zd7v8\n",
            "ABEiM0RVZneImaq7zN3u_wARIjNEVWZ3iJmqu8zd7v8",
        ] {
            assert_eq!(VaultKey::parse(text), Ok(key.clone()), "{text}");
        }
        for bad in [
            "",
            "short",
            "ABEiM0RVZneImaq7zN3u/w==",
            &hex.replacen('0', "", 1),
            &format!("{hex}00"),
            "zz",
        ] {
            assert_eq!(VaultKey::parse(bad), Err(BadKey), "{bad}");
        }
        assert!(!format!("{key:?} {BadKey}").contains("1122"));
    }

    #[test]
    fn what_is_sealed_opens_in_its_place_with_its_key_alone() {
        let key = VaultKey([7; 32]);
        let sealed = key.seal("grant/a/alice", "secret").unwrap();
        assert_ne!(sealed, key.seal("grant/a/alice", "secret").unwrap(), "no nonce twice");
        assert!(!sealed.windows(6).any(|window| window == b"secret"));
        assert_eq!(key.open("grant/a/alice", &sealed).as_deref(), Some("secret"));
        assert_eq!(key.open("grant/a/bob", &sealed), None);
        assert_eq!(VaultKey([8; 32]).open("grant/a/alice", &sealed), None);
        for end in 0..sealed.len() {
            assert_eq!(key.open("grant/a/alice", &sealed[..end]), None);
        }
        for place in 0..sealed.len() {
            let mut bent = sealed.clone();
            bent[place] ^= 1;
            assert_eq!(key.open("grant/a/alice", &bent), None);
        }
    }
}
