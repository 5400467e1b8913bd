//! OAUTHBEARER (RFC 7628): a token that somebody else has made.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;

use bytes::Bytes;

use crate::options::UserPassword;

/// The future of a token.
pub type TokenFuture<'a> = Pin<Box<dyn Future<Output = io::Result<String>> + Send + 'a>>;

/// A program that has tokens, such as one that asks an identity provider.
///
/// It is asked at every login, which is each new connection and each end of a session, within the patience of the
/// connection; one that keeps a token until shortly before its end spares the identity provider.
pub trait TokenProvider: Send + Sync {
    /// The token that is good now. Its future may be dropped at any time.
    fn token(&self) -> TokenFuture<'_>;
}

/// Shows no token.
impl fmt::Debug for dyn TokenProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenProvider")
    }
}

/// The client's word after the broker has said why it refuses: then comes the refusal itself.
pub(crate) const GIVE_UP: &[u8] = b"\x01";

/// The one message. `None` where the token has a character that no token has, or the user one that ends it.
pub(crate) fn bearer(credentials: &UserPassword) -> Option<Bytes> {
    let UserPassword { user, password: token } = credentials;
    let is_clean = !token.is_empty() && token.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    let is_nobody = !user.contains([',', '=', '\x01']);
    let identity = if user.is_empty() { String::new() } else { format!("a={user}") };
    (is_clean && is_nobody).then(|| format!("n,{identity},\x01auth=Bearer {token}\x01\x01").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_has_the_token_and_perhaps_an_identity() {
        let of = |user: &str, token: &str| {
            bearer(&UserPassword { user: user.to_owned(), password: token.to_owned() })
        };
        assert_eq!(of("", "abc.def").unwrap(), &b"n,,\x01auth=Bearer abc.def\x01\x01"[..]);
        assert_eq!(of("me", "abc").unwrap(), &b"n,a=me,\x01auth=Bearer abc\x01\x01"[..]);
        for (user, token) in [("", ""), ("", "a\x01b"), ("", "a\nb"), ("a,b", "abc"), ("", "é")] {
            assert_eq!(of(user, token), None, "{user:?} {token:?}");
        }
    }
}
