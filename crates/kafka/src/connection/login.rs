//! Logging in over a connection.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};

use super::BrokerConnection;
use crate::error::Error;
use crate::messages::{SaslAuthenticateRequest, SaslHandshakeRequest};
use crate::options::{Login, Mechanism, PasswordOrigin, UserPassword};
use crate::sasl::{GIVE_UP, Scram, ScramError, bearer, nonce, plain};
use crate::wire::{ApiRequest as _, Blob};

/// The part of a session's lifetime after which a new connection is made: brokers end the old one at its end.
const SESSION_PART: f64 = 0.8;

/// The most of a broker's words that an error repeats.
const MOST_WORDS: usize = 200;

impl BrokerConnection {
    /// Logs in by `login`.
    pub(super) async fn log_in(&mut self, login: &Login, deadline: Instant) -> Result<(), Error> {
        let credentials = self.credentials(login, deadline).await?;
        self.shake_hands(login.mechanism, deadline).await?;
        match login.mechanism {
            Mechanism::Plain => {
                let refused = || self.refused(login, "a name or a password must not have a zero character");
                let message = plain(&credentials).ok_or_else(refused)?;
                self.step(login, message, deadline).await.map(drop)
            }
            Mechanism::ScramSha256 | Mechanism::ScramSha512 => self.scram(login, credentials, deadline).await,
            Mechanism::OAuthBearer => self.bear_token(login, &credentials, deadline).await,
        }
    }

    async fn credentials(&self, login: &Login, deadline: Instant) -> Result<UserPassword, Error> {
        let late = |_| self.late("a password or a token");
        let read = timeout_at(deadline, login.password.read()).await.map_err(late)?;
        let path = match &login.password {
            PasswordOrigin::File(path) => path.clone(),
            PasswordOrigin::Given(_) | PasswordOrigin::Provider(_) => PathBuf::new(),
        };
        let password = read.map_err(|source| match &login.password {
            PasswordOrigin::Provider(_) => Error::Token { source },
            _ => Error::Password { path, source },
        })?;
        Ok(UserPassword { user: login.user.clone(), password })
    }

    fn late(&self, asked: &'static str) -> Error {
        Error::NoAnswer { broker: self.broker().clone(), asked, within: self.stream.patience() }
    }

    async fn shake_hands(&mut self, mechanism: Mechanism, deadline: Instant) -> Result<(), Error> {
        let version = self.version::<SaslHandshakeRequest>()?;
        let request = SaslHandshakeRequest { mechanism: mechanism.name().to_owned() };
        let answer = self.ask(&request, version, deadline).await?;
        let broker = self.broker().clone();
        match answer.error_code {
            0 => Ok(()),
            33 => Err(Error::Mechanism { broker, mechanism, offered: answer.mechanisms }),
            code => Err(Error::Refused { broker, asked: SaslHandshakeRequest::NAME, code }),
        }
    }

    /// A broker that does not accept a token first says why, and refuses when it has been heard.
    async fn bear_token(
        &mut self,
        login: &Login,
        credentials: &UserPassword,
        deadline: Instant,
    ) -> Result<(), Error> {
        let refused = || self.refused(login, "a token must have visible characters of ASCII only");
        let message = bearer(credentials).ok_or_else(refused)?;
        let why = self.step(login, message, deadline).await?;
        if why.is_empty() {
            return Ok(());
        }
        let _refusal = self.step(login, Bytes::from_static(GIVE_UP), deadline).await;
        Err(self.refused(login, &String::from_utf8_lossy(&why)))
    }

    async fn scram(
        &mut self,
        login: &Login,
        credentials: UserPassword,
        deadline: Instant,
    ) -> Result<(), Error> {
        let nonce = nonce().map_err(|source| self.cheated(login, source))?;
        let exchange = match login.mechanism {
            Mechanism::ScramSha512 => Scram::sha512(credentials, nonce),
            _ => Scram::sha256(credentials, nonce),
        };
        let challenge = self.step(login, exchange.first(), deadline).await?;
        // A million iterations take a second.
        let proving = spawn_blocking(move || exchange.prove(&challenge));
        let late = |_| self.late(SaslAuthenticateRequest::NAME);
        let proven = timeout_at(deadline, proving).await.map_err(late)?;
        let proven =
            proven.unwrap_or(Err(ScramError::System)).map_err(|source| self.cheated(login, source))?;
        let last = self.step(login, proven.message.clone(), deadline).await?;
        proven.check(&last).map_err(|source| self.cheated(login, source))
    }

    /// One step of the mechanism: our bytes, and the broker's.
    async fn step(&mut self, login: &Login, bytes: Bytes, deadline: Instant) -> Result<Bytes, Error> {
        let version = self.version::<SaslAuthenticateRequest>()?;
        let request = SaslAuthenticateRequest { auth_bytes: Blob(bytes) };
        let answer = self.ask(&request, version, deadline).await?;
        if answer.error_code != 0 {
            let said = answer.error_message.filter(|said| !said.is_empty());
            let said = said.unwrap_or_else(|| format!("error {}", answer.error_code));
            return Err(self.refused(login, &said));
        }
        if let Ok(lifetime @ 1..) = u64::try_from(answer.session_lifetime_ms) {
            // A lifetime beyond what a clock can say is none.
            let used = Duration::from_millis(lifetime).mul_f64(SESSION_PART);
            self.session_until = Instant::now().checked_add(used);
        }
        Ok(answer.auth_bytes.0)
    }

    fn refused(&self, login: &Login, said: &str) -> Error {
        let said = said.chars().filter(|c| !c.is_control()).take(MOST_WORDS).collect();
        let (broker, user, mechanism) = (self.broker().clone(), login.user.clone(), login.mechanism);
        Error::Login { broker, user, mechanism, said }
    }

    fn cheated(&self, login: &Login, source: ScramError) -> Error {
        Error::Scram { broker: self.broker().clone(), user: login.user.clone(), source }
    }
}
