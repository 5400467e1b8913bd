//! Logging in.

mod bearer;
mod scram;

pub(crate) use bearer::{GIVE_UP, bearer};
pub use bearer::{TokenFuture, TokenProvider};
pub use scram::ScramError;
pub(crate) use scram::{Scram, nonce};

use bytes::Bytes;

use crate::options::UserPassword;

/// The one message of PLAIN (RFC 4616). `None` where user or password has the character that separates them.
pub(crate) fn plain(credentials: &UserPassword) -> Option<Bytes> {
    let UserPassword { user, password } = credentials;
    let is_clean = !user.contains('\0') && !password.contains('\0');
    is_clean.then(|| format!("\0{user}\0{password}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_is_the_user_and_the_password() {
        let of = |user: &str, password: &str| {
            plain(&UserPassword { user: user.to_owned(), password: password.to_owned() })
        };
        assert_eq!(of("me", "secret").unwrap(), &b"\0me\0secret"[..]);
        assert_eq!(of("me", "a\0b"), None);
    }
}
