//! SCRAM (RFC 5802, RFC 7677): both sides prove that they know the password, and neither tells it.
//!
//! Names and passwords are taken byte for byte, as Kafka's brokers and its own client do: they do not normalise
//! (SASLprep), so a client that did could not log in with a password that normalising changes.

use std::num::NonZeroU32;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::{digest, hmac, pbkdf2};

use crate::options::UserPassword;

/// Fewer rounds make a password easy to guess for whoever sees the exchange; RFC 7677 asks for so many at least.
const LEAST_ITERATIONS: u32 = 4096;

/// More rounds are an attack: a million take about a second.
const MOST_ITERATIONS: u32 = 1_000_000;

/// The broker's part of a login is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScramError {
    /// A message that is none of SCRAM.
    #[error("its message is not one of SCRAM")]
    Malformed,
    /// A mandatory extension that nobody here knows.
    #[error("it asks for an extension that this client does not have")]
    Extension,
    /// A nonce that is not ours with more behind it.
    #[error("its nonce does not continue ours")]
    Nonce,
    /// The number of rounds is out of bounds.
    #[error("it asks for {0} iterations, and 4096 to 1000000 are accepted")]
    Iterations(u32),
    /// The signature is wrong: it does not know the password.
    #[error("its signature is wrong")]
    Signature,
    /// The broker's word for its refusal.
    #[error("it ends the exchange with an error")]
    Refused,
    /// No random numbers, or no thread to compute on.
    #[error("the system has no random numbers, or is stopping")]
    System,
}

/// A hash with what is built on it.
#[derive(Clone, Copy)]
struct Hash {
    digest: &'static digest::Algorithm,
    hmac: hmac::Algorithm,
    pbkdf2: pbkdf2::Algorithm,
}

/// An exchange that was begun.
pub(crate) struct Scram {
    hash: Hash,
    credentials: UserPassword,
    nonce: String,
}

/// An exchange of which the broker's signature is still to come.
pub(crate) struct Proven {
    /// The last message of the client.
    pub(crate) message: Bytes,
    server_key: hmac::Key,
    signed: String,
}

/// A new nonce, of 18 random bytes.
pub(crate) fn nonce() -> Result<String, ScramError> {
    let mut bytes = [0; 18];
    SystemRandom::new().fill(&mut bytes).map_err(|_| ScramError::System)?;
    Ok(STANDARD.encode(bytes))
}

impl Scram {
    pub(crate) fn sha256(credentials: UserPassword, nonce: String) -> Self {
        let hash =
            Hash { digest: &digest::SHA256, hmac: hmac::HMAC_SHA256, pbkdf2: pbkdf2::PBKDF2_HMAC_SHA256 };
        Self { hash, credentials, nonce }
    }

    pub(crate) fn sha512(credentials: UserPassword, nonce: String) -> Self {
        let hash =
            Hash { digest: &digest::SHA512, hmac: hmac::HMAC_SHA512, pbkdf2: pbkdf2::PBKDF2_HMAC_SHA512 };
        Self { hash, credentials, nonce }
    }

    /// The first message, without channel binding.
    pub(crate) fn first(&self) -> Bytes {
        format!("n,,{}", self.first_bare()).into()
    }

    fn first_bare(&self) -> String {
        let user = self.credentials.user.replace('=', "=3D").replace(',', "=2C");
        format!("n={user},r={}", self.nonce)
    }

    /// The second message, after the broker's first. Takes up to a second of computing: never on a runtime's thread.
    ///
    /// # Errors
    /// [`ScramError`] where the broker's message is wrong.
    pub(crate) fn prove(&self, server_first: &[u8]) -> Result<Proven, ScramError> {
        let text = str::from_utf8(server_first).map_err(|_| ScramError::Malformed)?;
        let challenge = Challenge::read(text, &self.nonce)?;
        let salted = self.salted(&challenge);
        let client_key = self.keyed(&salted, b"Client Key");
        let stored_key = digest::digest(self.hash.digest, client_key.as_ref());
        let without_proof = format!("c=biws,r={}", challenge.nonce);
        let signed = format!("{},{text},{without_proof}", self.first_bare());
        let signature = self.keyed(stored_key.as_ref(), signed.as_bytes());
        let proof: Vec<u8> = client_key.as_ref().iter().zip(signature.as_ref()).map(|(a, b)| a ^ b).collect();
        let message = format!("{without_proof},p={}", STANDARD.encode(proof)).into();
        let server_key = hmac::Key::new(self.hash.hmac, self.keyed(&salted, b"Server Key").as_ref());
        Ok(Proven { message, server_key, signed })
    }

    fn salted(&self, challenge: &Challenge<'_>) -> Vec<u8> {
        let mut salted = vec![0; self.hash.digest.output_len()];
        let password = self.credentials.password.as_bytes();
        pbkdf2::derive(self.hash.pbkdf2, challenge.iterations, &challenge.salt, password, &mut salted);
        salted
    }

    fn keyed(&self, key: &[u8], text: &[u8]) -> hmac::Tag {
        hmac::sign(&hmac::Key::new(self.hash.hmac, key), text)
    }
}

impl Proven {
    /// Checks the broker's last message; the comparison takes the same time for every signature.
    ///
    /// # Errors
    /// [`ScramError`] where the broker does not know the password, or refuses ours.
    pub(crate) fn check(&self, server_final: &[u8]) -> Result<(), ScramError> {
        let text = str::from_utf8(server_final).map_err(|_| ScramError::Malformed)?;
        if text.starts_with("e=") {
            return Err(ScramError::Refused);
        }
        let signature = text.split(',').next().and_then(|part| part.strip_prefix("v="));
        let signature = STANDARD.decode(signature.ok_or(ScramError::Malformed)?);
        let signature = signature.map_err(|_| ScramError::Malformed)?;
        hmac::verify(&self.server_key, self.signed.as_bytes(), &signature).map_err(|_| ScramError::Signature)
    }
}

/// The broker's first message.
struct Challenge<'a> {
    nonce: &'a str,
    salt: Vec<u8>,
    iterations: NonZeroU32,
}

impl<'a> Challenge<'a> {
    /// Reads `r=…,s=…,i=…`, with extensions behind it that may be passed over.
    fn read(text: &'a str, own_nonce: &str) -> Result<Self, ScramError> {
        if text.starts_with("m=") {
            return Err(ScramError::Extension);
        }
        let mut parts = text.split(',');
        let mut part =
            |name| parts.next().and_then(|part| part.strip_prefix(name)).ok_or(ScramError::Malformed);
        let (nonce, salt, iterations) = (part("r=")?, part("s=")?, part("i=")?);
        if nonce.strip_prefix(own_nonce).is_none_or(str::is_empty) {
            return Err(ScramError::Nonce);
        }
        let salt = STANDARD.decode(salt).map_err(|_| ScramError::Malformed)?;
        if salt.is_empty() {
            return Err(ScramError::Malformed);
        }
        Ok(Self { nonce, salt, iterations: rounds(iterations)? })
    }
}

fn rounds(text: &str) -> Result<NonZeroU32, ScramError> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let rounds = text.parse::<u32>().ok().filter(|_| is_number).ok_or(ScramError::Malformed)?;
    let within = (LEAST_ITERATIONS..=MOST_ITERATIONS).contains(&rounds);
    NonZeroU32::new(rounds).filter(|_| within).ok_or(ScramError::Iterations(rounds))
}

#[cfg(test)]
#[path = "scram_test.rs"]
mod scram_test;
