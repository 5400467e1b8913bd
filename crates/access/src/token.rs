//! Bearer tokens, of which the policy knows the hash alone.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, SHA256_OUTPUT_LEN, digest};
use serde::Deserialize;

/// The longest token that is looked at, in bytes: what a caller sends is hashed.
const LONGEST: usize = 1_024;

/// A bearer token. Its `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct CallerToken(String);

impl CallerToken {
    /// The token of 32 bytes, which have to be random: the hash in the policy has no salt, and is as hard to invert as the
    /// token is to guess.
    #[must_use]
    pub fn of_random(bytes: [u8; 32]) -> Self {
        Self(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// The token itself, for its holder.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Its SHA-256 in hexadecimal digits, for the policy.
    #[must_use]
    pub fn sha256(&self) -> String {
        TokenHash::of(&self.0).map(|hash| hash.to_string()).unwrap_or_default()
    }
}

impl fmt::Debug for CallerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallerToken(hidden)")
    }
}

/// The SHA-256 of a token. It is no secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct TokenHash([u8; SHA256_OUTPUT_LEN]);

/// A text that is no hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("sha256 is refused: it has 64 hexadecimal digits; `kafka-assigner access token` makes one")]
pub(crate) struct InvalidHash;

impl TokenHash {
    /// The hash of a token; `None` for one that is longer than any.
    pub(crate) fn of(token: &str) -> Option<Self> {
        (token.len() <= LONGEST).then(|| {
            Self(digest(&SHA256, token.as_bytes()).as_ref().try_into().expect("a SHA-256 has 32 bytes"))
        })
    }
}

impl TryFrom<String> for TokenHash {
    type Error = InvalidHash;

    fn try_from(text: String) -> Result<Self, InvalidHash> {
        let digits: Option<Vec<u8>> =
            text.chars().map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok())).collect();
        let bytes: Vec<u8> = digits
            .ok_or(InvalidHash)?
            .chunks(2)
            .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit))
            .collect();
        let is_whole = text.len() == 2 * SHA256_OUTPUT_LEN;
        bytes.try_into().ok().filter(|_| is_whole).map(Self).ok_or(InvalidHash)
    }
}

impl fmt::Display for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_what_sha256sum_prints() {
        let password = TokenHash::of("password").unwrap();
        assert_eq!(password.to_string(), "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8");
        assert_eq!(TokenHash::try_from(password.to_string().to_uppercase()), Ok(password));
    }

    #[test]
    fn what_is_no_hash_is_refused() {
        for text in ["", "5e", &"5".repeat(63), &"5".repeat(65), &"g".repeat(64), &"é".repeat(32)] {
            assert_eq!(TokenHash::try_from(text.to_owned()), Err(InvalidHash), "{text:?}");
        }
    }

    #[test]
    fn a_token_is_not_shown_and_a_huge_one_is_not_hashed() {
        let token = CallerToken::of_random([7; 32]);
        assert_eq!(token.reveal().len(), 43);
        assert!(!format!("{token:?}").contains(token.reveal()));
        assert_eq!(TokenHash::of(&"x".repeat(1_025)), None);
    }
}
