//! Logging in.

use std::sync::Mutex;

use tokio::sync::Semaphore;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::Channel;
use tonic::{Code, Status};

use super::fault::AttemptError;
use super::options::Password;
use super::password_source::PasswordSource;
use super::wire::AuthenticateRequest;
use super::wire::auth_client::AuthClient;
use crate::error::Error;

/// A token that etcd gives for a password; it expires, and a member that restarts forgets it.
pub(super) type Token = MetadataValue<Ascii>;

/// A user with the token that etcd gave for it last.
#[derive(Debug)]
pub(super) struct Credentials {
    user: String,
    password: PasswordSource,
    token: Mutex<Option<Token>>,
    /// One log-in at a time: etcd makes each one slow on purpose, and a thousand calls may need it at once.
    logging_in: Semaphore,
}

impl Credentials {
    pub(super) const fn new(user: String, password: PasswordSource) -> Self {
        Self { user, password, token: Mutex::new(None), logging_in: Semaphore::const_new(1) }
    }

    /// The current token, after logging in if there is none; `None` where etcd has authentication switched off.
    pub(super) async fn token(&self, channel: Channel) -> Result<Option<Token>, AttemptError> {
        if let Some(token) = self.current() {
            return Ok(Some(token));
        }
        let _turn = self.logging_in.acquire().await.expect("the semaphore is never closed");
        if let Some(token) = self.current() {
            return Ok(Some(token));
        }
        let token = self.log_in(channel).await?;
        self.token.lock().expect("no panic while it is held").clone_from(&token);
        Ok(token)
    }

    /// Drops a token that etcd refused, unless a newer one has taken its place.
    pub(super) fn forget(&self, refused: Option<&Token>) {
        let mut token = self.token.lock().expect("no panic while it is held");
        if token.as_ref() == refused {
            *token = None;
        }
    }

    fn current(&self) -> Option<Token> {
        self.token.lock().expect("no panic while it is held").clone()
    }

    async fn log_in(&self, channel: Channel) -> Result<Option<Token>, AttemptError> {
        let Password(password) = self.password.read().await.map_err(AttemptError::Refused)?;
        let request = AuthenticateRequest { name: self.user.clone(), password };
        match AuthClient::new(channel).authenticate(request).await {
            Ok(answer) => parse(&answer.into_inner().token).map(Some),
            Err(status) if is_off(&status) => Ok(None),
            Err(status) => Err(status.into()),
        }
    }
}

fn is_off(status: &Status) -> bool {
    status.code() == Code::FailedPrecondition && status.message().contains("authentication is not enabled")
}

fn parse(token: &str) -> Result<Token, AttemptError> {
    token
        .parse()
        .map_err(|_| AttemptError::Refused(Error::Invalid("etcd gave an unreadable token".to_owned())))
}
